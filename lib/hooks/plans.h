/*
 * Which bytes of a file's functions the agent replaces to count their calls (patch/plan.h), where
 * the compiler has prepared nothing. Decided by the recorder, once for all processes: it has the
 * whole file, with its symbols and its unwind table, and may take its time. The agent compares the
 * bytes before it writes. Files are hostile.
 */
#ifndef HOOKS_PLANS_H
#define HOOKS_PLANS_H

#include "patch/plan.h"

struct elf_file;
struct elf_reader;
struct functions_place;

struct hooks_plan {
	const struct functions_place *place; /* in: of this file; borrowed */
	/* Out. Addresses are the file's. */
	struct patch_plan plan;
	const char *refused; /* why there is none; constant; NULL: there is one */
};

/* For all that are measured of the file. path: as it was opened by the reader. 0 or -ENOMEM. */
int hooks_plans_make(const struct elf_file *f, const char *path, struct elf_reader *reader,
		     struct hooks_plan *plans, size_t nr);

#endif
