/*
 * The threads of a view over time, by what was counted of each, and how long its slices are.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_THREADS_H
#define CPUPERF_PRINT_NAVIGATOR_THREADS_H

#include "base/dict.h"

#include <stdint.h>

struct grid;
struct grid_column;
struct job;
struct report_entry;

struct thread {
	uint32_t event, session, pid, tid, thread; /* its key */
	uint32_t comm, slice;                      /* the last one, and when */
	uint32_t rank;                             /* by count, from 0, among those of the event */
	uint64_t count;
};

/* The parts of samples' keys that threads_add needs. */
extern const unsigned threads_parts;

void threads_init(struct dict *threads);
/* The number of the entry's thread, or DICT_NONE without memory. Entries may come in any order: the
 * later slice has the later name. */
uint32_t threads_add(struct dict *threads, const struct report_entry *e);
/* Once, after the last one: those with most of an event first. 0 or -ENOMEM. */
int threads_rank(struct dict *threads);
/* Of two numbers of threads, by event and rank, for qsort. */
int threads_compare(const struct dict *threads, uint32_t a, uint32_t b);

/* The shortest slice that is round and divides the time shown (of the longest session, or from
 * --from to --to) into at most nr; and when that time ends, since the session's start. 0, -ENOMEM
 * or what reading the files returned. */
int threads_slice(const struct job *j, unsigned nr, uint64_t *slice_ns, uint64_t *end_ns);

/* The first columns of each row, which threads_put and threads_put_name write. */
#define THREADS_NAME_COLUMNS                                                                       \
	{"session", NULL, NULL, GRID_TEXT, GRID_ALL}, {"host", NULL, NULL, GRID_TEXT, GRID_ALL},   \
	    {"comm", NULL, NULL, GRID_TEXT, GRID_ALL}, {"pid", NULL, NULL, GRID_COUNT, GRID_ALL},  \
	    {"tid", NULL, NULL, GRID_COUNT, GRID_ALL},                                             \
	{                                                                                          \
		"thread", NULL, NULL, GRID_COUNT, GRID_ALL                                         \
	}
#define THREADS_COLUMNS {"event", NULL, NULL, GRID_TEXT, GRID_ALL}, THREADS_NAME_COLUMNS
void threads_put(const struct job *j, struct grid *g, const struct thread *t);
void threads_put_name(const struct job *j, struct grid *g, const struct thread *t);

#endif
