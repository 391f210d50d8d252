/*
 * The sessions and perf.data files that are read, and their names: tasks, mappings and symbols.
 */
#ifndef CPUPERF_PRINT_INPUTS_H
#define CPUPERF_PRINT_INPUTS_H

#include "base/buf.h"
#include "parts.h"
#include "perf_kernel.h"
#include "profile/session.h"
#include "report/states.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <stdatomic.h>

struct counts_slices;
struct elf_file;
struct elf_finder;
struct elf_finder_config;
struct import;
struct pool;
struct profile_growth;
struct options;
struct problems;
struct profile_filter;
struct report_functions;
struct report_rules;
struct selection;
struct symbol_living;

struct input {
	const char *path;
	char *named; /* owned; path, if iterations were named with it; else NULL */
	char *found; /* owned; path, if a folder was named; else NULL */
	/* Of a job: borrowed, and the job's number in inputs.jobs. NULL: a session by itself. */
	struct hosts_part *part;
	size_t job;
	/* "FILE@2-4": the list, borrowed; NULL: the iterations of the selection. */
	const char *iterations;
	struct profile_filter *filter; /* owned; after inputs_select, with that list */
	bool is_perf_data;             /* else a session file */
	struct input_problems *report; /* owned; the argument of input_add_problem */
	struct import *import;         /* of perf.data; else NULL */
	struct cpsession manifest;
	struct spec spec; /* its metrics and its target */
	struct profile_session *session;
	const struct profile_facts *facts;
	char *config_name; /* owned; safe to print */
	char *title; /* owned; safe to print: what was measured, but the machine; NULL: that */
	uint64_t start_ns;            /* of its first iteration, CLOCK_MONOTONIC; 0: not known */
	struct counts_slices *slices; /* owned, of what is shown over time; NULL: not kept */
	/* After inputs_load_processes: */
	struct buf kallsyms; /* from the common file, until the names are loaded */
	struct profile_processes *processes;
	/* After inputs_add_states, owned: the events as they are shown where states are added
	 * up. Those of another event's quantity have no rate. */
	struct trace_event *by_state;
	/* After inputs_load_names: */
	struct symbols *symbols;
	struct symbol_living *living; /* owned: of its processes */
	unsigned nr_readers;          /* between inputs_begin_names and inputs_end_names */
	uint32_t owner;               /* of its manifest, or perf.data */
	bool is_same_boot;            /* recorded here since the last boot */
	const struct elf_file *vdso;  /* of the recording machine; NULL: not known */
};

/* Zero-initialise. */
struct inputs {
	const struct options *options;
	struct problems *problems;
	struct input *item; /* owned; those to print, then those of --diff */
	size_t nr, nr_diff;
	struct parts_job *jobs; /* owned */
	size_t nr_jobs;
	/* After inputs_load_names: */
	struct elf_finder *finder;
	struct report_functions *functions;

	struct elf_file *vdso; /* of this machine */
	struct perf_kernel kernel;
	bool wants_names; /* inputs_load_names will be called */
	/* Names of a session are in memory only while its samples are read: inputs_begin_names.
	 * What is printed must bear that. */
	bool is_in_turn;
	struct profile_growth *growth; /* owned; after inputs_grow_names */
	struct pool *pool; /* borrowed: samples stay in memory for the next report; NULL: not */
	const atomic_uint *cancel; /* borrowed: as of struct report_run */
};

/* Opens all, which must be different sessions, or iterations of one (--diff=@2); of jobs, the parts
 * that are selected. Those that cannot be read are named by parts_put_faults. options and problems
 * are borrowed. inputs_fini in any case. -errno with *e, or *e empty if the errors were
 * logged. */
int inputs_open(struct inputs *in, const struct options *options, const struct selection *s,
		bool wants_names, struct problems *problems, struct err *e);
void inputs_fini(struct inputs *in);
/* A profile_problem_fn; report: that of an input. In a job a file is named with its folder. */
void input_add_problem(void *report, bool is_loss, const struct err *problem);
/* What was read of it so far was not all there. */
bool input_is_damaged(const struct input *o);
/* Opens the first input anew, without names, as its session has grown. -errno with *e, or *e empty
 * if the errors were logged: it stays as it was. */
int inputs_reopen(struct inputs *in, struct err *e);
/* Makes the filters of inputs with iterations of their own. -errno with *e. */
int inputs_select(struct inputs *in, const struct profile_filter *filter, struct err *e);
/* Some input has iterations of its own: parts of sessions are compared. */
bool inputs_have_parts(const struct inputs *in);
/* Loads names, once, and start_ns. Functions are called and merged by rules, which are borrowed.
 * -errno with *e. */
int inputs_load_names(struct inputs *in, const struct report_rules *rules, struct err *e);
/* Loads the names of an input if they are not in memory, and removes them again at the last end:
 * around the reading of its samples. Names of functions stay. -errno with *e: without an end. */
int inputs_begin_names(struct inputs *in, struct input *o, struct err *e);
void inputs_end_names(struct inputs *in, struct input *o);
/* Loads the names of the first input, which is in progress, or what they have more than last time;
 * of tasks that ended before unused_ns there are none afterwards. They stay over inputs_reopen.
 * -errno with *e. */
int inputs_grow_names(struct inputs *in, uint64_t unused_ns, struct err *e);
/* Reads the common file of the input, once: tasks and mappings. 0 or -ENOMEM. */
int inputs_load_processes(struct input *o);
/* Fills by_state of all inputs, once. -EINVAL with *e: one samples no time; -ENOMEM with *e. */
int inputs_add_states(struct inputs *in, const struct profile_filter *filter, enum report_sum sum,
		      struct err *e);
/* So that the next inputs_add_states fills it by another filter. */
void inputs_forget_states(struct inputs *in);
/* Reports the damage of the input's common file. -ENOMEM with *e. */
int inputs_check_common(const struct input *o, struct err *e);
/* -EINVAL with *e unless all inputs have the events of the first. */
int inputs_check_same_events(const struct inputs *in, struct err *e);
/* The same as a question. */
bool inputs_are_alike(const struct inputs *in);
/* -EINVAL with *e unless each pattern of --event matches an event of some input. */
int inputs_check_event_globs(const struct inputs *in, const struct profile_filter *filter,
			     struct err *e);
/* There is a common file: tasks, mappings, regions. */
bool input_has_common(const struct input *o);
/* Some of the inputs have samples. */
bool inputs_are_sampled(const struct inputs *in);
/* The name in its spec, else the file name. */
const char *input_name(const struct input *o);
/* The command that was measured, its program without the folder, or the processes or control group;
 * else its name. */
const char *input_title(const struct input *o);
/* Where programs and debug files are, by the options. */
struct elf_finder_config inputs_finder_config(const struct inputs *in);

#endif
