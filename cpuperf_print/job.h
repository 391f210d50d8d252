/*
 * One run of the program: the sessions that are open, what was asked for, and where output goes.
 * What all reports work with. Knows nothing of any report.
 */
#ifndef CPUPERF_PRINT_JOB_H
#define CPUPERF_PRINT_JOB_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/index.h"
#include "options.h"
#include "pager.h"
#include "profile/filter.h"
#include "profile/session.h"
#include "report/engine.h"
#include "report/rules.h"
#include "screen/grid.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <pthread.h>

struct import;

struct opened {
	const char *path;
	bool is_perf_data;     /* else a session file */
	struct import *import; /* of perf.data */
	struct cpsession manifest;
	struct spec spec; /* its metrics */
	struct profile_session *session;
	const struct profile_facts *facts;
	char *config_name; /* owned; safe to show */
	uint64_t start_ns; /* of its first iteration; 0: not known */
	/* When a report asks for names: */
	struct profile_processes *processes;
	struct symbols *symbols;
	bool is_same_boot;           /* recorded here, since the last boot */
	const struct elf_file *vdso; /* the recorder's; NULL: not known */
};

struct job {
	const struct options *options;
	enum grid_form form;
	bool is_export;              /* for other programs: no table */
	bool is_terminal, has_color; /* the output */
	unsigned width;              /* of the terminal; 0: none */
	struct profile_filter filter;
	struct report_rules rules;
	uint64_t top; /* UINT64_MAX: as the report likes */
	uint32_t max_depth;
	double min_percent; /* negative: as the report likes */
	uint64_t nr_threads;
	double fail_over; /* negative: not asked for */

	struct opened *sessions; /* those to print, then those of --diff */
	size_t nr_sessions, nr_diff;
	struct elf_finder *finder;
	struct elf_file *vdso; /* ours */
	bool wants_names;      /* a report will ask job_know_names */
	struct buf kallsyms;   /* of the kernel that runs; for perf.data: perf_kernel.c */
	pthread_t kallsyms_reader;
	bool is_reading_kallsyms, has_read_kallsyms;
	struct report_functions *functions;

	struct arena columns; /* of the grids that were made */
	struct buf out;
	const char *out_name;
	int out_fd;
	struct pager pager;
	uint64_t all_bytes, read_bytes; /* of the files in hand: the progress */
	uint64_t started_ns;
	bool has_progress; /* a line on the terminal */
	uint64_t nr_records;
	const char *session_shown; /* machines: in each row; NULL: all rows are of the same */
	bool has_header;           /* of the report in hand */
	bool is_brief;             /* the summary is followed by what matters more */
	struct index told;         /* problems, by their hashes */
	/* Where problems go while the terminal has another use; NULL: to the log. */
	void (*tell)(void *arg, const struct err *problem);
	void *tell_arg;
	bool lost;         /* something of the sessions could not be read */
	struct buf unread; /* what: a line each, with a NUL behind it; not more than some */
	size_t nr_unread;
	bool is_over; /* a change is beyond --fail-over */
};

/* What makes no sense is -EINVAL with *e. options are borrowed. */
int job_init(struct job *j, const struct options *options, struct err *e);
void job_fini(struct job *j);
/* Opens the sessions, each another: -errno with *e, or already told. */
int job_open(struct job *j, struct err *e);
/* What the reports by name need, once: tasks, mappings, symbols of each session. */
int job_know_names(struct job *j, struct err *e);

/* A profile_problem_fn; arg is the job. */
void job_problem(void *arg, bool is_loss, const struct err *problem);

/* Writes what waits in out: all of it, or once it is much. */
int job_write(struct job *j, struct err *e);
int job_flush(struct job *j, struct err *e);

/* Gives all samples of sessions [first, first + nr) to a sink. stats->event: NULL at first, to be
 * freed with mem_free. */
int job_read_samples(struct job *j, size_t first, size_t nr, const struct report_sink *sink,
		     struct report_stats *stats, struct err *e);

/* -EINVAL with *e: one of them only counts. */
int job_check_samples(const struct job *j, const char *report, struct err *e);
/* Events of all sessions are those of the first: -EINVAL with *e if not. */
int job_check_same_events(const struct job *j, struct err *e);

#endif
