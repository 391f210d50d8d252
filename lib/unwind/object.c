/*
 * Sections of tables; the first that knows an address is used, and the most exact one comes first.
 * Stubs may have none.
 */
#include "unwind/object.h"

#include "base/array.h"
#include "base/mem.h"
#include "cfi/sframe.h"
#include "elf/file.h"
#include "elf/pclntab.h"
#include "unwind/fdes.h"
#include "unwind/go.h"
#include "unwind/stubs.h"

struct unwind_object {
	const struct elf_file *code; /* borrowed */
	struct unwind_fdes eh_frame, debug_frame;
	struct cfi_sframe sframe;
	struct unwind_stubs stubs;
	struct elf_pclntab go;
	bool is_go_tried, is_go;
};

struct unwind_object *unwind_object_open(const struct elf_file *code)
{
	struct unwind_object *o = mem_zalloc(sizeof(*o));
	struct elf_section s;

	if (!o)
		return NULL;
	o->code = code;
	unwind_fdes_init(&o->eh_frame, code, true);
	unwind_fdes_init(&o->debug_frame, code, false);
	if (elf_file_load_section(code, ".sframe", &s))
		(void)cfi_sframe_init(&o->sframe, s.data, s.size, s.address);
	return o;
}

void unwind_object_add_debug(struct unwind_object *o, const struct elf_file *debug)
{
	if (debug && !o->debug_frame.section.data)
		unwind_fdes_init(&o->debug_frame, debug, false);
}

void unwind_object_close(struct unwind_object *o)
{
	if (!o)
		return;
	unwind_fdes_fini(&o->eh_frame);
	unwind_fdes_fini(&o->debug_frame);
	mem_free(o);
}

static bool rules_in(struct unwind_fdes *fdes, const struct cfi_machine *m, uint64_t address,
		     struct cfi_rules *out)
{
	struct cfi_base base = cfi_section_base(&fdes->section);
	struct cfi_fde fde;

	return unwind_fdes_find(fdes, address, &fde) &&
	       cfi_program_run(m, &fde, &base, address, out);
}

/* To check such a table takes milliseconds: only if an address is in no other. */
static bool is_go(struct unwind_object *o)
{
	if (!o->is_go_tried)
		o->is_go = elf_pclntab_is_there(o->code) && elf_pclntab_open(o->code, &o->go);
	o->is_go_tried = true;
	return o->is_go;
}

bool unwind_object_rules(struct unwind_object *o, const struct cfi_machine *m, uint64_t address,
			 struct cfi_rules *out)
{
	return rules_in(&o->eh_frame, m, address, out) ||
	       rules_in(&o->debug_frame, m, address, out) ||
	       cfi_sframe_rules(&o->sframe, m, address, out) ||
	       (is_go(o) && unwind_go_rules(&o->go, m, address, out)) ||
	       unwind_stub_rules(&o->stubs, o->code, m, address, out);
}

void unwind_object_around(struct unwind_object *o, uint64_t address, uint64_t *start,
			  uint64_t *next)
{
	struct unwind_fdes *const all[] = {&o->eh_frame, &o->debug_frame};

	*start = 0;
	*next = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_NR(all); i++) {
		uint64_t from = 0, to = UINT64_MAX;

		unwind_fdes_around(all[i], address, &from, &to);
		*start = from > *start ? from : *start;
		*next = to < *next ? to : *next;
	}
}

bool unwind_object_begins(struct unwind_object *o, uint64_t first, uint64_t last)
{
	uint64_t start, next;

	unwind_object_around(o, last, &start, &next);
	return start >= first || (is_go(o) && elf_pclntab_begins(&o->go, first, last));
}

bool unwind_object_is_in(struct unwind_object *o, uint64_t address, const char *name,
			 uint64_t *offset)
{
	return is_go(o) && elf_pclntab_is_in(&o->go, address, name, offset);
}
