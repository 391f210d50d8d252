/*
 * One mapped file: the finder's files, their symbols, and a function for each address.
 */
#include "base/mem.h"
#include "elf/finder.h"
#include "profile/processes.h"
#include "symbol/demangle.h"
#include "symbol/room.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

_Static_assert((int)PROFILE_MAX_BUILD_ID_BYTES == (int)ELF_MAX_BUILD_ID_BYTES,
	       "a build-id is copied");

static void find_files(struct symbol_object *o, const struct symbols_config *config,
		       const struct profile_object *object)
{
	struct elf_wanted w = {
	    .path = object->path,
	    .build_id.len = object->build_id_len,
	    .major = object->major,
	    .minor = object->minor,
	    .inode = object->inode,
	};

	memcpy(w.build_id.bytes, object->build_id, sizeof(w.build_id.bytes));
	o->code = elf_finder_code(config->finder, &w);
	o->debug = elf_finder_debug(config->finder, &w);
}

/* This process's own, which the kernel maps into all that are of the same kind: up to the end of
 * its section headers, which come last. */
static void find_vdso(struct symbol_object *o)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr head;
	uint64_t len;

	if (!at || sizeof(void *) != 8)
		return;
	memcpy(&head, at, sizeof(head));
	len = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
	if (!head.e_shoff || elf_file_open_mem(at, len, false, "[vdso]", &o->vdso, NULL))
		return;
	o->code = o->vdso;
}

struct symbol_object *symbol_object_new(const struct symbols_config *config,
					const struct profile_object *object)
{
	struct symbol_object *o = mem_zalloc(sizeof(*o));

	if (!o)
		return NULL;
	if (object->kind == PROFILE_OBJECT_FILE && config->finder)
		find_files(o, config, object);
	else if (object->kind == PROFILE_OBJECT_VDSO && config->is_same_boot)
		find_vdso(o);
	if (elf_symbols_load(o->code, o->debug, &o->symbols)) {
		symbol_object_free(o);
		return NULL;
	}
	if (o->code)
		frame_table_init(&o->frames, o->code);
	return o;
}

void symbol_object_free(struct symbol_object *o)
{
	if (!o)
		return;
	elf_symbols_fini(&o->symbols);
	elf_file_close(o->vdso);
	mem_free(o);
}

uint64_t symbol_object_address(const struct symbol_object *o, const struct profile_mapping *m,
			       uint64_t address)
{
	uint64_t offset = m->offset + (address - m->start), found;
	const struct elf_file *f = o->code ? o->code : o->debug;

	return f && elf_file_address(f, offset, &found) ? found : offset;
}

static const struct symbol_function *add_named(struct symbol_object *o, struct functions *f,
					       const struct profile_object *object, size_t i)
{
	const struct symbol_entry *e = &o->symbols.table.entry[i];
	char linkage[ELF_SYMBOLS_MAX_NAME_BYTES + 8], name[SYMBOL_MAX_NAME_BYTES + 8];
	const struct symbol_function draft = {
	    .name = name,
	    .linkage_name = linkage,
	    .object = object->name,
	    .object_path = object->shown_path,
	    .is_known = true,
	};

	elf_symbols_name(&o->symbols, e, linkage);
	symbol_demangle(linkage, name);
	if (e->group != ELF_SYMBOLS_PLAIN) {
		strcat(linkage, "@plt");
		strcat(name, "@plt");
	}
	return functions_add(f, &draft, &o->symbols.table.function[i]);
}

static const struct symbol_function *add_unknown(struct functions *f,
						 const struct profile_object *object,
						 const struct function_key *key)
{
	char name[512];
	const struct symbol_function draft = {
	    .name = name,
	    .object = object->name,
	    .object_path = object->shown_path,
	};

	snprintf(name, sizeof(name), "[unknown] (%.400s+0x%" PRIx64 ")", object->name,
		 key->address);
	return functions_add_key(f, &draft, key);
}

static const struct symbol_function *find_unknown(struct symbol_object *o, struct functions *f,
						  const struct profile_object *object,
						  uint64_t address)
{
	struct function_key key = {.space = symbol_space(SPACE_OBJECT, object->number),
				   .address = address};
	const struct symbol_function *fn;

	frame_table_find(&o->frames, address, &key.address);
	fn = functions_find(f, &key);
	return fn ? fn : add_unknown(f, object, &key);
}

const struct symbol_function *symbol_object_function(struct symbol_object *o, struct functions *f,
						     const struct profile_object *object,
						     uint64_t address)
{
	ptrdiff_t i = symbol_table_find(&o->symbols.table, address);
	const struct symbol_function *fn;

	if (i < 0)
		return find_unknown(o, f, object, address);
	fn = atomic_load_explicit(&o->symbols.table.function[i], memory_order_acquire);
	return fn ? fn : add_named(o, f, object, (size_t)i);
}
