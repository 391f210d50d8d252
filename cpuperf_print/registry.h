/*
 * All that --report and --output-format name: one row each. Options, completions, refusals and
 * running follow from the rows.
 *
 * A run has three parts: inputs.h, selection.h (of what) and output.h (where to, in which form). A
 * row says what it needs and supports, and plan.h follows it.
 */
#ifndef CPUPERF_PRINT_REGISTRY_H
#define CPUPERF_PRINT_REGISTRY_H

#include "base/opt.h"
#include "screen/grid.h"

struct err;
struct job;
struct summary_format;

enum registry_kind {
	REGISTRY_FORM,   /* --output-format: how reports are printed */
	REGISTRY_EXPORT, /* --output-format: a file of another program, in place of a report */
	REGISTRY_REPORT, /* --report */
};

/* Samples, and with them the names of functions. */
enum registry_samples {
	REGISTRY_NO_SAMPLES,
	REGISTRY_SAMPLES_IF_ANY, /* samples of sessions that have some, besides counts */
	REGISTRY_SAMPLES,        /* sessions without samples are refused */
};

/* Several sessions. */
enum registry_sessions {
	REGISTRY_EACH,         /* one after the other */
	REGISTRY_ONE,          /* refused */
	REGISTRY_SUM,          /* added up; with --by-session EACH, or ONE for exports */
	REGISTRY_SIDE_BY_SIDE, /* added up; with --by-session printed at once if comparable */
	REGISTRY_LANES, /* one, or those of a job, each by itself in one output; see takes_any */
};

enum registry_diff {
	REGISTRY_NO_DIFF,
	REGISTRY_DIFF_IF_ANY, /* compares with the sessions of --diff */
	REGISTRY_DIFF,        /* requires --diff */
};

/* Options that have no effect: a warning names them. */
enum {
	REGISTRY_IGNORES_TASKS = 1 << 0,
	REGISTRY_IGNORES_EVENTS = 1 << 1,
	REGISTRY_IGNORES_TIMES = 1 << 2,
	REGISTRY_IGNORES_NAMES = 1 << 3, /* those that shape names and stacks */
	REGISTRY_IGNORES_SAMPLE_FILTER =
	    REGISTRY_IGNORES_TASKS | REGISTRY_IGNORES_EVENTS | REGISTRY_IGNORES_TIMES,
};

struct registry_row {
	const char *name, *help;
	enum registry_kind kind;
	enum registry_samples samples;
	enum registry_sessions sessions;
	enum registry_diff diff;
	unsigned ignores;
	bool takes_any; /* several sessions, whatever they measured; REGISTRY_LANES, REGISTRY_SUM */
	bool is_binary; /* not printed to a terminal */
	bool is_folder; /* --output-file is required, and is a folder that the export fills */
	bool
	    roots_in_state; /* of sessions that sample waits, unless --group-by or --sort is used */
	bool lists_samples; /* one by one, or over time: those that the kernel added up are missing
			     */
	bool omits_latencies; /* and functions */
	bool omits_functions;
	bool adds_states;    /* as if by --group-by=state, but for the frame */
	bool keeps_events;   /* never adds states up: each event has its own columns */
	bool says_regions;   /* what regions lack, where it has them */
	bool omits_idle;     /* in an answer, of the machine: the idle task is no part of it */
	bool needs_regions;  /* prints nothing by default where no program had marks or labels */
	bool compares_parts; /* of a job: all at once, with --by-host and --by-session, too */
	bool sums_jobs;      /* adds up the parts of a job, though not other sessions */
	bool reads_in_turn;  /* names of a session only while its samples are read */
	bool ignores_inline; /* it shows what is inlined by itself */
	bool ignores_common; /* reads no records of the common file, which is only checked */
	/* Prints the job: 0 or -errno with *e. NULL for forms. */
	int (*print)(struct job *j, struct err *e);
	const struct cases_format *cases; /* of the comparison as test cases */
	/* Of forms: */
	enum grid_form form;
	const struct summary_format *summary; /* prints the summary */
	bool is_markdown;                     /* of text: tables, and blocks of code */
	bool is_document;                     /* of ndjson: rows are items of one object */
	bool is_summary_only;                 /* prints no other report */
};

/* The row of an --output-format or a --report. NULL with *e: there is none. */
const struct registry_row *registry_find_format(const char *name, struct err *e);
const struct registry_row *registry_find_report(const char *name, struct err *e);
/* "output-format" or "report". */
const char *registry_option(const struct registry_row *row);
/* For struct opt_row. */
bool registry_format_choice(size_t i, struct opt_choice *out);
bool registry_report_choice(size_t i, struct opt_choice *out);

/* Names of the rows that match, as "text, csv, ndjson". Cut if they are too long. */
typedef bool registry_match_fn(const struct registry_row *row);
enum { REGISTRY_NAMES_BYTES = 256 };
const char *registry_names(char buf[REGISTRY_NAMES_BYTES], registry_match_fn *match);

#endif
