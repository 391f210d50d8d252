/*
 * A mapped file: its code and debug file, their symbols, and the function at an address.
 */
#include "base/mem.h"
#include "elf/demangle.h"
#include "elf/finder.h"
#include "elf/pclntab.h"
#include "profile/processes.h"
#include "symbol/room.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)PROFILE_MAX_BUILD_ID_BYTES == (int)ELF_MAX_BUILD_ID_BYTES,
	       "a build-id is copied");

/* A debug file has the addresses of the sections, but not their offsets in the program. */
static void find_code_pages(struct symbol_object *o)
{
	const uint64_t page = 4096;
	struct elf_section s;
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < elf_file_nr_sections(o->debug); i++) {
		if (!elf_file_section(o->debug, i, &s) || !(s.flags & SHF_EXECINSTR) ||
		    s.size > UINT64_MAX - page - s.address)
			continue;
		low = s.address < low ? s.address : low;
		high = s.address + s.size > high ? s.address + s.size : high;
	}
	if (low >= high)
		return;
	o->code_start = low & ~(page - 1);
	o->code_end = (high + page - 1) & ~(page - 1);
}

struct symbol_object *symbol_object_new(const struct symbols_config *config,
					const struct profile_object *object)
{
	struct elf_wanted w = {
	    .path = object->path,
	    .build_id.len = object->build_id_len,
	    .major = object->major,
	    .minor = object->minor,
	    .inode = object->inode,
	};
	struct symbol_object *o = mem_zalloc(sizeof(*o));

	if (!o)
		return NULL;
	if (profile_object_is_file(object) && config->finder) {
		memcpy(w.build_id.bytes, object->build_id, sizeof(w.build_id.bytes));
		o->code = elf_finder_code(config->finder, &w);
		o->debug = elf_finder_debug(config->finder, &w);
	} else if (object->kind == PROFILE_OBJECT_VDSO) {
		o->code = config->vdso;
	}
	if (symbol_elf_load(o->code, o->debug, &o->symbols)) {
		symbol_object_free(o);
		return NULL;
	}
	if (o->code)
		elf_frame_table_init(&o->frames, o->code);
	else if (o->debug)
		find_code_pages(o);
	o->is_go = o->code && elf_pclntab_is_there(o->code);
	return o;
}

void symbol_object_free(struct symbol_object *o)
{
	if (!o)
		return;
	symbol_elf_fini(&o->symbols);
	if (o->variables)
		symbol_elf_fini(o->variables);
	mem_free(o->variables);
	mem_free(o);
}

const struct symbol_elf *symbol_object_load_variables(struct symbol_object *o)
{
	struct symbol_elf *v = mem_zalloc(sizeof(*v));

	if (v && symbol_elf_load_data(o->code, o->debug, v)) {
		mem_free(v);
		return NULL;
	}
	atomic_store_explicit(&o->variables, v, memory_order_release);
	return v;
}

bool symbol_object_address(const struct symbol_object *o, const struct profile_mapping *m,
			   uint64_t address, uint64_t *out)
{
	uint64_t offset = m->offset + (address - m->start);

	if (o->code && elf_file_address(o->code, offset, out))
		return true;
	/* only if all of it was mapped: else the part is unknown */
	if (!o->code && o->code_end && m->end - m->start == o->code_end - o->code_start) {
		*out = o->code_start + (address - m->start);
		return true;
	}
	*out = offset;
	return false;
}

static const struct symbol_function *add_named(struct symbol_object *o, struct symbol_functions *f,
					       const struct profile_object *object, size_t i)
{
	const struct symbol_entry *e = &o->symbols.table.entry[i];
	static const char stub[] = "@plt";
	char linkage[SYMBOL_ELF_MAX_NAME_BYTES + sizeof(stub)];
	char name[ELF_MAX_NAME_BYTES + sizeof(stub)];
	const struct symbol_function draft = {
	    .name = name,
	    .linkage_name = linkage,
	    .object = object->name,
	    .object_path = object->shown_path,
	    .is_known = true,
	};

	symbol_elf_name(&o->symbols, e, linkage);
	elf_demangle(linkage, name);
	if (e->group != SYMBOL_ELF_PLAIN) {
		memcpy(linkage + strlen(linkage), stub, sizeof(stub));
		memcpy(name + strlen(name), stub, sizeof(stub));
	}
	return symbol_functions_add(f, &draft, &o->symbols.table.function[i]);
}

static const struct symbol_function *find_unknown(struct symbol_object *o,
						  struct symbol_functions *f,
						  const struct profile_object *object,
						  uint64_t address, bool is_address)
{
	struct symbol_function_key key = {.space = symbol_space(SPACE_OBJECT, object->number),
					  .address = address};
	char name[512];
	const struct symbol_function draft = {
	    .name = name, .object = object->name, .object_path = object->shown_path};
	const struct symbol_function *fn;

	if (is_address)
		elf_frame_table_find(&o->frames, address, &key.address);
	fn = symbol_functions_find(f, &key);
	if (fn)
		return fn;
	snprintf(name, sizeof(name), "[unknown] (%.400s+0x%" PRIx64 ")", object->name, key.address);
	return symbol_functions_add_key(f, &draft, &key);
}

const struct elf_file *symbol_object_lines_file(const struct symbol_object *o)
{
	return o->debug ? o->debug : o->is_go ? o->code : NULL;
}

bool symbol_object_extent(const struct symbol_object *o, uint64_t address, uint64_t *start,
			  uint64_t *end)
{
	ptrdiff_t i = symbol_table_find(&o->symbols.table, address);
	const struct symbol_entry *e = i < 0 ? NULL : &o->symbols.table.entry[i];

	if (!e)
		return o->code && elf_frame_table_extent(&o->frames, address, start, end);
	*start = e->start;
	*end = e->start + e->size;
	return true;
}

static const struct symbol_function *get_named(struct symbol_object *o, struct symbol_functions *f,
					       const struct profile_object *object, ptrdiff_t i)
{
	const struct symbol_function *fn =
	    atomic_load_explicit(&o->symbols.table.function[i], memory_order_acquire);

	return fn ? fn : add_named(o, f, object, (size_t)i);
}

const struct symbol_function *symbol_object_named(struct symbol_object *o,
						  struct symbol_functions *f,
						  const struct profile_object *object,
						  uint64_t address, uint64_t *start)
{
	ptrdiff_t i = symbol_table_find(&o->symbols.table, address);

	if (i < 0)
		return NULL;
	*start = o->symbols.table.entry[i].start;
	return get_named(o, f, object, i);
}

const struct symbol_function *symbol_object_function(struct symbol_object *o,
						     struct symbol_functions *f,
						     const struct profile_mapping *m,
						     uint64_t address)
{
	uint64_t at;
	bool is_address = symbol_object_address(o, m, address, &at);
	ptrdiff_t i = is_address ? symbol_table_find(&o->symbols.table, at) : -1;

	return i < 0 ? find_unknown(o, f, m->object, at, is_address)
		     : get_named(o, f, m->object, i);
}
