/*
 * Entries that are kept in memory, added up by stack, thread and CPU: those of all iterations, and
 * of the last ones by iteration. They can be passed to sinks again and again. One thread.
 *
 * Stacks have a limit, beyond which callers, thread and CPU are dropped, which the screen says.
 * Sums of rows (sums.h) are exact.
 */
#ifndef REPORT_KEPT_H
#define REPORT_KEPT_H

#include "report/entry.h"

struct report_kept;
struct report_functions;

enum { REPORT_KEPT_ITERATIONS = 8, REPORT_KEPT_USUAL = 100000 };

/* At most about max stacks; of further ones only the sampled function is kept, and neither thread
 * nor CPU. NULL without memory. */
struct report_kept *report_kept_new(struct report_functions *functions, size_t max);
void report_kept_free(struct report_kept *k); /* NULL is fine */
/* Receives entries, in any order of iterations. */
const struct report_sink *report_kept_sink(struct report_kept *k);
/* Passes what it has to a sink, which gets all parts of keys that report_kept_sink has except the
 * iteration: entries of iterations from `from` on, as far as there are fewer than
 * REPORT_KEPT_ITERATIONS; with 0 of all. 0, -ENOMEM or what the sink returned. */
int report_kept_pass(const struct report_kept *k, uint32_t from, const struct report_sink *to);
/* Samples whose callers, thread and CPU were not kept. */
uint64_t report_kept_nr_cut(const struct report_kept *k);

#endif
