/*
 * Samples that stay in memory for further reports of a run: each selection that was read from files
 * once. What a report needs beyond them is read from the files again.
 */
#ifndef CPUPERF_PRINT_POOL_H
#define CPUPERF_PRINT_POOL_H

#include "report/engine.h"

struct pool;

struct pool *pool_new(size_t max_bytes); /* of all; NULL: no memory */
void pool_free(struct pool *k);          /* NULL is fine */
/* Whether what is read from now on was not asked for: it is kept where there is room for it beside
 * the rest, else pool_read returns -ENOSPC. */
void pool_set_ahead(struct pool *k, bool is_ahead);
/* As report_engine_read. Not thread-safe. */
int pool_read(struct pool *k, const struct report_run *run, const struct report_input *input,
	      struct report_stats *stats);

#endif
