/*
 * The processes that a filter selects: by --tree-of and --cmdline.
 */
#ifndef PROFILE_CHOICE_H
#define PROFILE_CHOICE_H

#include "profile/filter.h"

struct profile_process;
struct profile_processes;

/* Constant once made, so that any number of threads read it. Zeroed: selects everything. */
struct profile_choice {
	const struct profile_filter *filter; /* borrowed */
	bool *has; /* owned; by the number of the process; NULL: all are selected */
	size_t nr;
};

/* 0 or -ENOMEM, with nothing owned. */
int profile_choice_make(struct profile_choice *c, const struct profile_filter *f,
			const struct profile_processes *p);
void profile_choice_fini(struct profile_choice *c);
bool profile_choice_has(const struct profile_choice *c, const struct profile_process *process);

#endif
