/*
 * Rows of the screen of live functions, computed from the samples that are kept.
 */
#ifndef CPUPERF_PRINT_LIVE_VIEW_H
#define CPUPERF_PRINT_LIVE_VIEW_H

#include "base/arena.h"
#include "base/dict.h"
#include "dashboard/top.h"
#include "live/filter.h"

struct report_functions;
struct report_kept;

/* Zero-initialise. */
struct view {
	struct report_functions *functions;
	const struct report_kept *kept;
	struct live_filter filter;
	struct dict rows, processes;
	struct arena names;
	struct top_row *shown; /* owned */
	size_t nr;
};

void view_fini(struct view *v);
/* Computes shown and nr: the answer to the question, of iterations from recent_from on, and of all;
 * valid until the next. 0 or -errno. */
int view_make(struct view *v, const struct top_question *q, uint32_t recent_from);

#endif
