/*
 * Which samples and names are meant, and how many rows: options, parsed.
 */
#ifndef CPUPERF_PRINT_SELECTION_H
#define CPUPERF_PRINT_SELECTION_H

#include "profile/filter.h"
#include "report/entry.h"
#include "report/idle.h"
#include "report/rules.h"
#include "report/states.h"

struct err;
struct opt_choice;
struct options;

enum { SELECTION_USUAL_ROWS = 24 };

enum { SELECTION_MAX_SPEEDUPS = 16 };

struct selection_speedup {
	char *glob;     /* owned; NULL: each function and region */
	bool is_region; /* the glob is for regions, not functions */
	double share;   /* of its time that is cut, 0 to 1 */
};

struct selection {
	struct profile_filter filter;
	struct selection_speedup speedup[SELECTION_MAX_SPEEDUPS];
	size_t nr_speedups;
	struct profile_globs hosts;  /* of the parts of a job */
	struct profile_ranges ranks; /* the same */
	struct report_rules rules;
	unsigned columns; /* of --sort: bits, 1 << enum report_column; 0: not given */
	uint64_t top;     /* UINT64_MAX: the report's default */
	uint64_t rows;    /* of the terminal, to which text is shortened; 0: it is not */
	uint32_t max_depth;
	double min_percent, fail_over; /* negative: not given */
	unsigned nr_threads;           /* 0: as many as CPUs */
	bool each_iteration;           /* of the summary */
	bool by_session, by_host, by_count, within, has_no_totals, with_inlined, with_native,
	    with_wakers, with_lines;
	bool without_marks;    /* --subtract-marks */
	enum report_root root; /* of each stack */
	enum report_sum sum;   /* root or columns need states */
	struct report_idle_rules idle_rules;
	bool shows_idle; /* waits for work are rows of an answer */
	bool by_total;   /* --sort=total: rows are ordered by total, not by self */
};

/* -EINVAL with *e for an option that cannot be parsed. selection_fini in any case. */
int selection_init(struct selection *s, const struct options *options, struct err *e);
/* The values of --group-by; for struct opt_row. */
bool selection_root_choice(size_t i, struct opt_choice *out);
/* The values of --idle. */
bool selection_idle_choice(size_t i, struct opt_choice *out);
void selection_fini(struct selection *s);

#endif
