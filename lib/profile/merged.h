/*
 * All records of a session in the order of time: those of the traces of each CPU, iteration by
 * iteration, and of the common file. Opens the files of one iteration at a time; memory is that of
 * records.h for each. Knows nothing of what is in a record.
 */
#ifndef PROFILE_MERGED_H
#define PROFILE_MERGED_H

#include "profile/records.h"

struct profile_merged;

/* Borrowed until the next. */
struct profile_merged_item {
	const struct profile_item *item;   /* a record or a reading */
	const struct profile_trace *trace; /* NULL: of the common file */
};

/* Opens the common file and the files of the first iteration. What is wrong with a file is told to
 * problem (of the common file: to the session's), and it is left out. 0 or -ENOMEM. */
int profile_merged_open(struct profile_session *s, profile_problem_fn *problem, void *arg,
			struct profile_merged **out);
void profile_merged_close(struct profile_merged *m); /* NULL is fine */
/* CLOCK_MONOTONIC when the first iteration began; 0: not known. */
uint64_t profile_merged_start_ns(const struct profile_merged *m);
/* The next item: 1; 0 after the last; -ENOMEM. */
int profile_merged_next(struct profile_merged *m, struct profile_merged_item *out);

#endif
