/*
 * The branches of samples (last_branch): source and target function, number, mispredictions,
 * cycles. Independent of output.
 */
#ifndef REPORT_BRANCHES_H
#define REPORT_BRANCHES_H

#include "report/entry.h"

struct report_branches;

struct report_branch_row {
	const struct report_function *from, *to;
	uint32_t event;
	uint64_t nr, mispredicted, predicted; /* the rest is unknown */
	uint64_t cycles;                      /* sum; 0: unknown */
};

struct report_branches *report_branches_new(void);    /* NULL: no memory */
void report_branches_free(struct report_branches *b); /* NULL is fine */
const struct report_sink *report_branches_sink(struct report_branches *b);
/* By event and number, the largest first, equal ones by name. Owned by b. */
const struct report_branch_row *report_branches_rows(struct report_branches *b, size_t *nr);

#endif
