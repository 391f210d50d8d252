/*
 * Rows of the screen of live functions, computed from the samples that are kept.
 */
#ifndef CPUPERF_PRINT_LIVE_VIEW_H
#define CPUPERF_PRINT_LIVE_VIEW_H

#include "base/arena.h"
#include "base/dict.h"
#include "dashboard/top.h"
#include "live/filter.h"
#include "report/entry.h"

struct follow;
struct report_functions;

/* Zero-initialise. */
struct view {
	struct report_functions *functions;
	const struct follow *follow; /* what was read */
	struct live_filter filter;
	struct dict rows;
	struct report_weight all[TOP_NR_SPANS];
	struct arena names;
	struct top_row *shown; /* owned */
	size_t nr;
};

void view_fini(struct view *v);
/* Computes shown and nr: the answer to the question, of iterations from recent_from on, and of all;
 * valid until the next. 0 or -errno. */
int view_make(struct view *v, const struct top_question *q, uint32_t recent_from);

#endif
