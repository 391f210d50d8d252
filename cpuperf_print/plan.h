/*
 * What a run prints, from its options.
 */
#ifndef CPUPERF_PRINT_PLAN_H
#define CPUPERF_PRINT_PLAN_H

#include "base/opt.h"

struct err;
struct options;
struct registry_row;
struct selection;

struct plan {
	const struct registry_row *format;
	const struct registry_row *print[OPT_MAX_STRINGS]; /* reports, in order, or the export */
	size_t nr;                                         /* 0: plan_default decides */
	bool is_default;                                   /* no report was asked for */
	bool is_brief; /* the summary is followed by a report of more interest */
	bool uses_samples;
};

/* Checks options against the rows of what they name. -EINVAL with *e if they exclude each other. */
int plan_init(struct plan *p, const struct options *options, const struct selection *selection,
	      struct err *e);
/* Chooses reports if none is named: are_sampled: all sessions have samples. */
void plan_default(struct plan *p, const struct options *options, bool are_sampled,
		  bool have_regions);

#endif
