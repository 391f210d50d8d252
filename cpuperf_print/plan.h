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
	bool is_brief;  /* the summary is followed by a report of more interest */
	bool is_answer; /* as a document: struct answer */
	bool uses_samples;
	const struct registry_row
	    *pushed; /* the export that makes profiles for --push; NULL: nothing is pushed */
};

/* Checks options against the rows of what they name. -EINVAL with *e if they exclude each other. */
int plan_init(struct plan *p, const struct options *options, const struct selection *selection,
	      struct err *e);
/* What the sessions contain. */
struct plan_contents {
	bool are_sampled;    /* all have samples */
	bool have_regions;   /* one has */
	bool have_functions; /* the first has events of the group function */
	bool have_heap;      /* the first has samples of the heap … */
	bool have_others;    /* … and of something else */
	bool are_one;        /* one session of cpuperf, that is no job */
	bool are_job;        /* parts of a job, at least 2 */
	bool have_parts; /* iterations are compared with others of the same or another session */
};
/* Chooses reports if none is named. */
void plan_default(struct plan *p, const struct options *options, const struct plan_contents *c);

#endif
