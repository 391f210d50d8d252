/*
 * The names that a session could give its traces, in the folder of its prefix: what stands under
 * one of them is known before anything is measured. Knows nothing of what may stand there.
 */
#ifndef SESSION_NAMES_H
#define SESSION_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct names {
	const char *base; /* the last part of the prefix */
	uint64_t nr_iterations;
	uint32_t nr_traces;
	bool is_segmented; /* its traces are <base>.s<number>.<trace>.cpuperf */
};

/* Looks through the folder once; check gets each of the names that is there. 0 or what it gave
 * other than 0, which ends the search; -errno. dirfd stays the caller's. */
typedef int names_check_fn(void *arg, const char *name);
int names_find(const struct names *n, int dirfd, names_check_fn *check, void *arg);

#endif
