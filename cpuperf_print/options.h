/*
 * The command line of cpuperf_print.
 */
#ifndef CPUPERF_PRINT_OPTIONS_H
#define CPUPERF_PRINT_OPTIONS_H

#include "base/opt_std.h"
#include "push/options.h"

/* Strings point into argv; NULL: not given. */
struct options {
	struct opt_std std;
	struct opt_strings sessions, perf_data, reports, diff;
	struct opt_strings speedups;
	const char *last_session; /* of another folder, as none was named; or NULL */
	const char *output_format, *output_file;
	const char *sort, *group_by, *top, *rows, *min_percent, *max_depth, *fail_over, *threads;
	bool by_session, by_host, each_iteration, no_pager, counts, no_totals, within, live, open;
	const char *idle, *idle_rules;
	const char *serve; /* the address; NULL: not */
	bool stdio;        /* it is standard input and output */
	struct opt_strings merge, split, hide, only;
	bool merge_object, inlined, native, wakers, lines, debuginfod, subtract_marks;
	struct opt_strings hosts, events, comms, regions, cmdlines;
	const char *ranks, *pids, *tids, *trees, *cpus, *iterations, *from, *to;
	struct opt_strings debug_dirs, source_dirs, functions;
	bool source, assembly;
	const char *sysroot, *kallsyms;
	struct push_options push;
	bool push_waiting; /* what waits alone; no session */
};

extern const struct opt_table cpuperf_print_options;

#endif
