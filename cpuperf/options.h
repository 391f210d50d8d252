/*
 * The options of cpuperf: one table for parsing, help, man page and completions.
 */
#ifndef CPUPERF_OPTIONS_H
#define CPUPERF_OPTIONS_H

#include "base/opt.h"
#include "base/opt_std.h"
#include "push/options.h"
#include "versus/versus.h"

#include <stdbool.h>

struct as_part;
struct held;
struct rank;
struct reload;
struct spec_callgraph;
struct target_command;

enum { OPTIONS_MAX_OVERRIDES = 48 };

/* An output format of --list-events only: group:name per line; opens nothing. For completion. */
#define OPTIONS_FORMAT_NAMES "names"
/* The answer, or the verdict of --versus, as one document. */
#define OPTIONS_FORMAT_JSON "json"

enum { OPTIONS_METRICS_THINGS = 100, OPTIONS_MAX_METRICS_THINGS = 10000 };

/* An option that may have a value. */
struct option_asked {
	bool is;           /* it is given */
	const char *value; /* NULL: without one */
};

struct options {
	struct opt_std std;
	bool is_output_named; /* output is --output */
	const char *full;     /* the folder that has no room: the session is held; or NULL */
	bool until_end;       /* the iteration lasts until the command ends */
	bool has_no_perf;     /* the kernel refuses all perf events, and no spec was asked for:
				 TIMERS_SPEC */
	bool check_spec, list_specs, strict, live, no_live, top, run_spec_command;
	struct option_asked list_events;    /* a pattern */
	struct option_asked list_functions; /* [OBJECT:]GLOB */
	const char *describe_event;
	struct option_asked doctor; /* a program */
	bool is_bare;               /* there are no arguments */
	const char *spec_file;
	const char *pids, *cgroup; /* running processes; NULL: not given */
	struct opt_strings comms;
	const char *cpus; /* measure only these; NULL: all */
	bool no_children, wait_children, regions, attach, memory_map, short_tasks;
	struct opt_strings events;
	const char *control; /* NULL: none */
	bool has_trace_marker, is_trace_global;
	const char *metrics_listen; /* an address; NULL: metrics are not served */
	size_t metrics_things;      /* with series of their own, of each event; 0: the default */
	struct push_options push;
	struct versus_options versus;
	bool starts_disabled; /* --delay=-1 */
	const char *frequency, *period;
	const struct spec_callgraph *callgraph; /* NULL: as the spec has it */
	char *const *command_argv;              /* what follows "--"; NULL: nothing */
	struct target_command *command;         /* owned by main; NULL: no command is measured */
	struct target_command *later; /* the same, for a command of the spec: before it is known */
	const char *output;           /* the session's folder; NULL: the spec's paths are used */
	const struct held *held;      /* its folder if it is not saved; NULL: it is */
	const char *output_format;
	const char *output_file; /* NULL: standard output, or standard error for an answer */
	const char *save_spec;   /* NULL: not saved */
	const char *hosts;       /* a list, or @FILE; NULL: this machine */
	const char *hosts_program, *hosts_timeout; /* NULL: the default */
	const char *send;  /* a file; "": the one that is installed; NULL: none */
	bool is_silent;    /* results are not printed: another process prints those of all */
	struct rank *rank; /* NULL: the session is of no rank */
	const struct as_part *part; /* NULL: the session is no part of a job on hosts */
	const char *save_alerts;    /* NULL: not saved */
	struct reload *reload;      /* borrowed; NULL: SIGHUP ends the session */
	struct option_asked manual; /* a topic */
	const char *overrides[OPTIONS_MAX_OVERRIDES]; /* by index in key_rows; NULL: not given */
};

/* True: the options name a command, processes or a cgroup. */
static inline bool options_have_target(const struct options *o)
{
	return o->command_argv || o->pids || o->comms.nr || o->cgroup;
}

/* The option that overrides this key of the spec; NULL: not given. */
const char *options_override(const struct options *o, const char *key);

/* Made on the first call from the rows of options.c and the keys of spec/; never fails. */
const struct opt_table *cpuperf_options(void);

#endif
