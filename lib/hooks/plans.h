/*
 * Which bytes of a file's functions the agent replaces to count their calls (patch/plan.h), and to
 * time them (patch/exits.h), where the compiler has prepared nothing. Decided by the recorder, once
 * for all processes: it has the whole file, with its symbols and its unwind table, and may take its
 * time. The agent compares the bytes before it writes. Files are hostile.
 */
#ifndef HOOKS_PLANS_H
#define HOOKS_PLANS_H

#include "patch/plan.h"

#include <stddef.h>

struct elf_file;
struct elf_reader;
struct functions_place;

struct hooks_plan {
	const struct functions_place *place; /* in: of this file; borrowed */
	/* Out. Addresses are the file's. */
	struct patch_plan plan;
	const char *refused; /* why there is none; constant; NULL: there is one */
	/* Where its calls end, which have times then: also replaced, all or none. */
	struct patch_plan *exits; /* owned */
	size_t nr_exits;
	const char *untimed; /* why none is; constant; NULL: all are, or it is refused */
};

/* For all that are measured of the file. path: as it was opened by the reader. is_timed: their ends
 * are wanted. 0 or -ENOMEM. To be ended by hooks_plans_fini also then. */
int hooks_plans_make(const struct elf_file *f, const char *path, struct elf_reader *reader,
		     bool is_timed, struct hooks_plan *plans, size_t nr);
void hooks_plans_fini(struct hooks_plan *plans, size_t nr);

#endif
