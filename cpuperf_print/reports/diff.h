/*
 * What the parts of the comparison share. Knows nothing of how it is printed.
 */
#ifndef CPUPERF_PRINT_REPORTS_DIFF_H
#define CPUPERF_PRINT_REPORTS_DIFF_H

#include "job.h"
#include "report/comparable.h"
#include "report/flat.h"

/* What all sessions tell of the objects whose functions were asked for; rows: those of one session,
 * by function. 0 or -ENOMEM. */
int diff_names_add(struct report_comparable *c, const struct job *j, size_t session,
		   const struct report_flat_row *rows, size_t nr);
/* Which objects are compared as a whole, and why: a line each for people, warnings for programs. */
void diff_names_tell(const struct report_comparable *c, struct job *j);

/* A replicate: an iteration, or a session. */
struct diff_replicate {
	uint64_t duration_ns;
	bool is_cut; /* it, or an iteration of it, ended early: it is not the same work */
};
/* Of sessions [first, first + nr); by_iteration: there is one. Owned by the caller. 0 or -ENOMEM.
 */
int diff_replicates_load(struct job *j, size_t first, size_t nr, bool by_iteration,
			 struct diff_replicate **out);

#endif
