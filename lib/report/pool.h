/*
 * Entries in memory: what was read once from files is passed to further sinks, which receive what
 * they would from the files. Memory grows with distinct stacks and keys, not with samples.
 *
 * The navigator (cpuperf_print/navigator) answers from it: threads and events are filtered in
 * memory; each other selection (time, CPUs, regions) is a pass over the files of its own, of which
 * the last ones stay, up to 1 GiB. What a report needs without callers is taken from what was read
 * with them.
 */
#ifndef REPORT_POOL_H
#define REPORT_POOL_H

#include "report/entry.h"

struct report_pool;

/* Parts that a sink may lack though they were kept: they are 0 in what it receives. All others are
 * to be the same, since what is read depends on them. */
enum {
	REPORT_POOL_ALWAYS =
	    REPORT_BY_PID | REPORT_BY_TID | REPORT_BY_COMM | REPORT_BY_SESSION | REPORT_BY_STATE
};

/* The parts that are to be kept for such a sink. */
static inline unsigned report_pool_parts(const struct report_sink *sink)
{
	return sink->parts | REPORT_POOL_ALWAYS;
}

/* For sinks with entries like this one. max_bytes: then the sink returns -ENOSPC. NULL: no memory.
 */
struct report_pool *report_pool_new(const struct report_sink *like, size_t max_bytes);
void report_pool_free(struct report_pool *k); /* NULL is fine */
const struct report_sink *report_pool_sink(struct report_pool *k);
size_t report_pool_bytes(const struct report_pool *k);

/* count receives what is wanted and what is not, with a key as the sink receives it. */
struct report_pool_choice {
	bool (*is_wanted)(void *arg, const struct report_key *key);
	void (*count)(void *arg, const struct report_key *key, const struct report_weight *weight,
		      bool is_wanted);
	void *arg;
};
/* Passes the entries that are wanted to sink, when all are kept: nothing may be added afterwards.
 * Of entries with callers, a sink without REPORT_BY_STACK receives the sampled function.
 * 0, -ENOMEM, or what the sink returned. */
int report_pool_read(struct report_pool *k, const struct report_sink *sink,
		     const struct report_pool_choice *choice);

#endif
