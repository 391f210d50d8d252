/*
 * Parts of the comparison.
 */
#ifndef CPUPERF_PRINT_REPORTS_DIFF_H
#define CPUPERF_PRINT_REPORTS_DIFF_H

#include "job.h"
#include "report/comparable.h"
#include "report/flat.h"

/* Adds the objects of an input: whether they have names, and their build-ids. rows: by function. 0
 * or -ENOMEM. */
int diff_names_add(struct report_comparable *c, const struct job *j, size_t session,
		   const struct report_flat_row *rows, size_t nr);
/* Reports which objects are compared as a whole, and why: lines in text, else warnings. */
void diff_names_report(const struct report_comparable *c, struct job *j);

/* A replicate: an iteration, or a session. */
struct diff_replicate {
	uint64_t duration_ns;
	bool is_cut; /* it, or an iteration of it, ended early: not the same work */
};
/* Loads the replicates of inputs [first, first + nr); by_iteration: of the one input. *out is owned
 * by the caller. 0 or -ENOMEM. */
int diff_replicates_load(struct job *j, size_t first, size_t nr, bool by_iteration,
			 struct diff_replicate **out);

#endif
