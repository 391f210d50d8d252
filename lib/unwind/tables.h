/*
 * The unwind tables of all mapped objects: from an address to its row, cached. Not thread-safe.
 */
#ifndef UNWIND_TABLES_H
#define UNWIND_TABLES_H

#include "cfi/row.h"
#include "unwind/mapping.h"

#include <stdbool.h>

struct elf_file;
struct elf_finder;
struct unwind_machine;
struct unwind_tables;

/* Arguments are borrowed, but for maps, which is copied. vdso: the file of vdso mappings; NULL:
 * none. NULL: no memory. */
struct unwind_tables *unwind_tables_new(struct elf_finder *finder, const struct unwind_maps *maps,
					const struct elf_file *vdso,
					const struct unwind_machine *m);
void unwind_tables_free(struct unwind_tables *t); /* NULL is fine */

enum { UNWIND_NO_OBJECT = UINT32_MAX };

/* An address in an object. */
struct unwind_at {
	uint32_t object;  /* the object's number; not set of code that has none */
	uint64_t address; /* in its file */
};

/* The row of an address (in memory) within a mapping, valid until the next lookup. Never NULL:
 * without a file for this machine, a row of kind CFI_ROW_UNKNOWN. */
const struct cfi_row *unwind_tables_find(struct unwind_tables *t, const struct cfi_machine *m,
					 const struct unwind_mapping *mapping, uint64_t address,
					 struct unwind_at *at);
/* Whether the call that returns behind an address, found at at, is that by which Go's runtime goes
 * on with a stack of its own (runtime.systemstack, on x86-64). Tables do not lead back from there.
 */
bool unwind_tables_leaves_stack(const struct unwind_tables *t, const struct unwind_at *at);
/* The same by which it calls C (runtime.asmcgocall), on the thread's stack: what C calls need not
 * keep frame pointers, and so nothing leads back. */
bool unwind_tables_calls_c(const struct unwind_tables *t, const struct unwind_at *at);
/* Whether behind that address a function begins that stands for a call of C (up to Go 1.20,
 * runtime.systemstack_switch): where C calls Go, the frame on the goroutine's stack returns to it,
 * as if it were about to return to what called C. */
bool unwind_tables_resumes(const struct unwind_tables *t, const struct unwind_at *at);
/* Whether behind that address glibc's code begins that a function of makecontext returns to
 * (__start_context, on x86-64): that function was called by nobody. */
bool unwind_tables_starts_context(const struct unwind_tables *t, const struct unwind_at *at);
/* What the call that returns behind an address, found at call, says of code without a row, found at
 * bare. */
enum unwind_leads {
	UNWIND_LEADS_ELSEWHERE, /* to another function, or it is no call */
	UNWIND_LEADS_ASIDE,     /* to other code without a row, which may go on there by a jump;
				   or its bytes cannot be read */
	UNWIND_MAY_LEAD,        /* to where a pointer or a stub leads */
	UNWIND_LEADS, /* to *to, before that code, and no other function is known between */
};
enum unwind_leads unwind_tables_leads(struct unwind_tables *t, const struct unwind_at *call,
				      const struct unwind_at *bare, uint64_t *to);
/* Whether code without a row has pushed its caller's frame pointer, and is about to set its own. */
bool unwind_tables_has_pushed(const struct unwind_tables *t, const struct unwind_at *at);
/* Steps to the caller by a hard row, found at at. As cfi_rules_apply. */
enum cfi_end unwind_tables_step(struct unwind_tables *t, const struct unwind_at *at,
				struct cfi_frame *f);

#endif
