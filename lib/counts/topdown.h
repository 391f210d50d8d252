/*
 * The top-down view of a session: the formulas (counts/formulas.h) whose events were measured, over
 * all iterations.
 */
#ifndef COUNTS_TOPDOWN_H
#define COUNTS_TOPDOWN_H

#include "counts/formulas.h"
#include "estimate/table.h"
#include "profile/session.h"

struct err;
struct profile_filter;
struct counts_topdown;

/* A formula over all code or a part of it. */
struct counts_topdown_value {
	const struct counts_formula_row *row;
	const char *part; /* "", "user", "kernel" */
	/* Over all iterations, or their mean if a CPU has no number in one; check cell_has_value.
	 * total.limit: it is unusual. */
	struct cell total;
	struct spread spread;   /* over the iterations that were not cut */
	double running;         /* the smallest running share of an iteration */
	struct table_column of; /* without a total: of.reason is why it is not measured */
	const char *hint;       /* what an unusual total may mean; NULL */
};

/* Rewinds and reads the session. The filter's CPUs and iterations apply. 0; -ENOMEM, -EFBIG with
 * *e.
 */
int counts_topdown_read(struct profile_session *s, const struct profile_filter *filter,
			struct counts_topdown **out, struct err *e);
void counts_topdown_free(struct counts_topdown *t); /* NULL is fine */
/* In the order of the table, all code before its parts. 0: no formula has its events. */
size_t counts_topdown_nr(const struct counts_topdown *t);
const struct counts_topdown_value *counts_topdown_at(const struct counts_topdown *t, size_t i);

#endif
