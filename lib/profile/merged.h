/*
 * All records of a session in order of time: those of the traces of each CPU, iteration by
 * iteration, and of the common file. Opens the files of one iteration at a time; each needs the
 * memory stated in records.h. Independent of the content of records.
 */
#ifndef PROFILE_MERGED_H
#define PROFILE_MERGED_H

#include "profile/records.h"

struct profile_merged;

/* Borrowed until the next. */
struct profile_merged_item {
	const struct profile_item *item;   /* a record or a reading */
	const struct profile_trace *trace; /* NULL: from the common file */
};

/* Opens the common file and the files of the first iteration. Problems of a trace are reported to
 * problem, those of the common file to the session's function; the file is skipped. 0 or -ENOMEM.
 */
int profile_merged_open(struct profile_session *s, profile_problem_fn *problem, void *arg,
			struct profile_merged **out);
void profile_merged_close(struct profile_merged *m); /* NULL is fine */
/* CLOCK_MONOTONIC when the first iteration began; 0: unknown. */
uint64_t profile_merged_start_ns(const struct profile_merged *m);
/* The same, with readings of threads (READING_OF_THREAD), which are skipped otherwise. */
int profile_merged_open_all(struct profile_session *s, profile_problem_fn *problem, void *arg,
			    struct profile_merged **out);
/* The next item: 1; 0 after the last; -ENOMEM. */
int profile_merged_next(struct profile_merged *m, struct profile_merged_item *out);

#endif
