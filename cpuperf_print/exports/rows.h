/*
 * What the rows of exported tables have in common, whichever engine reads them.
 */
#ifndef CPUPERF_PRINT_EXPORTS_ROWS_H
#define CPUPERF_PRINT_EXPORTS_ROWS_H

#include "estimate/table.h"
#include "job.h"

struct profile_object;
struct report_stacks;
struct report_stats;

/* "cpu", "system", "package", "each"; NULL: a metric. */
const char *export_rows_scope(const struct table_column *c);
/* Whether the cell of a column has a number, as it was counted. */
bool export_rows_has_raw(const struct table_column *c, const struct cell *cell);
/* The same of what a share is a part of. */
bool export_rows_has_base(const struct table_column *c, const struct cell *cell);

/* By how much rates were divided in the iteration (max_own_cpu); 0: the session never does. */
uint32_t export_rows_divisor(const struct table *t);
/* What host.json beside the session's files says; all absent where there is none. 0 or -errno with
 * *e. */
int export_rows_part(const struct input *o, struct hosts_part *part, struct err *e);

/* "file", "memory", "vdso". */
const char *export_rows_object_kind(const struct profile_object *o);
/* Hexadecimal; NULL: it has none. */
enum { EXPORT_ROWS_BUILD_ID_BYTES = 2 * 20 + 1 };
const char *export_rows_build_id(const struct profile_object *o,
				 char text[EXPORT_ROWS_BUILD_ID_BYTES]);

/* Calls put with each number of what is missing of the samples of the job's first input. event:
 * EXPORT_ROWS_NO_EVENT: of all. */
#define EXPORT_ROWS_NO_EVENT UINT32_MAX
typedef void export_rows_loss_fn(void *arg, const char *what, uint32_t event, uint64_t nr);
void export_rows_losses(const struct job *j, const struct report_stats *stats,
			const struct report_stacks *stacks, export_rows_loss_fn *put, void *arg);
/* Warns if stacks are truncated because there are too many. */
void export_rows_warn_full(struct job *j, const struct report_stacks *stacks);

#endif
