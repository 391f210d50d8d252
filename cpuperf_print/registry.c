/*
 * The rows of formats and reports, in the order in which help lists them.
 */
#include "registry.h"

#include "base/err.h"
#include "base/str.h"
#include "exports/exports.h"
#include "reports/reports.h"
#include "screen/cases.h"
#include "summary/summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct registry_row rows[] = {
    {.name = "text",
     .help = "for people; the default",
     .kind = REGISTRY_FORM,
     .form = GRID_PEOPLE,
     .summary = &summary_text},
    {.name = "csv",
     .help = "a table with a header",
     .kind = REGISTRY_FORM,
     .form = GRID_CSV,
     .summary = &summary_rows},
    {.name = "ndjson",
     .help = "one JSON object per row",
     .kind = REGISTRY_FORM,
     .form = GRID_NDJSON,
     .summary = &summary_rows},
    {.name = "json",
     .help = "one JSON document: the rows of ndjson, their units, and problems",
     .kind = REGISTRY_FORM,
     .form = GRID_NDJSON,
     .is_document = true,
     .summary = &summary_rows},
    {.name = "markdown",
     .help = "text for pull requests: GitHub-flavoured Markdown",
     .kind = REGISTRY_FORM,
     .form = GRID_PEOPLE,
     .is_markdown = true,
     .summary = &summary_text},
    {.name = "raw",
     .help = "the stored records with their file offsets; only for the summary of one session",
     .omits_latencies = true,
     .kind = REGISTRY_FORM,
     .form = GRID_PEOPLE,
     .summary = &summary_raw,
     .lists_samples = true,
     .is_summary_only = true,
     .sessions = REGISTRY_ONE},

    {.name = "folded",
     .help = "one line per stack, for flame graphs",
     .omits_latencies = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .reads_in_turn = true,
     .print = export_folded},
    {.name = "svg",
     .help = "a flame graph as a picture, of each event",
     .omits_latencies = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .print = export_svg},
    {.name = "dot",
     .help = "who called whom, for Graphviz: a graph of each event",
     .omits_latencies = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .print = export_dot},
    {.name = "pprof",
     .help = "for go tool pprof and other readers of profile.proto; gzipped",
     .omits_latencies = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SIDE_BY_SIDE,
     .is_binary = true,
     .says_regions = true,
     .print = export_pprof},
    {.name = "otlp",
     .help = "OpenTelemetry's profiles (v1development), for its collectors",
     .omits_latencies = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_ONE,
     .is_binary = true,
     .says_regions = true,
     .print = export_otlp},
    {.name = "speedscope",
     .help = "a profile for each event and thread",
     .omits_latencies = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SIDE_BY_SIDE,
     .says_regions = true,
     .reads_in_turn = true,
     .print = export_speedscope},
    {.name = "perfetto",
     .help = "a trace for ui.perfetto.dev: samples, threads, counters",
     .omits_functions = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_LANES,
     .takes_any = true,
     .is_binary = true,
     .says_regions = true,
     .reads_in_turn = true,
     .print = export_perfetto},
    {.name = "chrome",
     .help = "the same as JSON, for chrome://tracing",
     .omits_functions = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_LANES,
     .takes_any = true,
     .says_regions = true,
     .reads_in_turn = true,
     .print = export_chrome},
    {.name = "openmetrics",
     .help = "the counts up to each iteration, and times of regions, for Prometheus and others",
     .kind = REGISTRY_EXPORT,
     .sessions = REGISTRY_LANES,
     .ignores = REGISTRY_IGNORES_SAMPLE_FILTER,
     .says_regions = true,
     .reads_in_turn = true,
     .print = export_openmetrics},
    {.name = "prometheus",
     .help = "the counts of all iterations, and times of regions, in its classic text",
     .kind = REGISTRY_EXPORT,
     .sessions = REGISTRY_LANES,
     .ignores = REGISTRY_IGNORES_SAMPLE_FILTER,
     .says_regions = true,
     .reads_in_turn = true,
     .print = export_prometheus},
    {.name = "sqlite",
     .help = "a database of the whole session, or of a job's",
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_LANES,
     .ignores = REGISTRY_IGNORES_SAMPLE_FILTER,
     .is_binary = true,
     .says_regions = true,
     .reads_in_turn = true,
     .print = export_sqlite},
    {.name = "parquet",
     .help = "adds sessions to a store, a folder of Parquet files, for SQL engines",
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_EACH,
     .ignores = REGISTRY_IGNORES_SAMPLE_FILTER,
     .is_folder = true,
     .says_regions = true,
     .reads_in_turn = true,
     .print = export_parquet},
    {.name = "html",
     .help = "one page for any browser; works offline",
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_SUM,
     .diff = REGISTRY_DIFF_IF_ANY,
     .takes_any = true,
     .roots_in_state = true,
     .is_binary = true,
     .says_regions = true,
     .print = export_html},
    {.name = "junit",
     .help = "the comparison of --diff as test cases, for CI; requires --fail-over",
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_SUM,
     .diff = REGISTRY_DIFF,
     .says_regions = true,
     .print = reports_diff_cases,
     .cases = &cases_junit},
    {.name = "github",
     .help = "the same as annotations of GitHub's workflows",
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_SUM,
     .diff = REGISTRY_DIFF,
     .says_regions = true,
     .print = reports_diff_cases,
     .cases = &cases_github},
    {.name = "perf-data",
     .help = "for perf script and perf report",
     .omits_latencies = true,
     .kind = REGISTRY_EXPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_ONE,
     .ignores = REGISTRY_IGNORES_NAMES,
     .lists_samples = true,
     .is_binary = true,
     .print = export_perf_data},

    {.name = "summary",
     .help = "counts, and samples taken and lost",
     .kind = REGISTRY_REPORT,
     .ignores = REGISTRY_IGNORES_SAMPLE_FILTER,
     .says_regions = true,
     .reads_in_turn = true,
     .sums_jobs = true,
     .print = summary_print},
    {.name = "hosts",
     .help = "the hosts and ranks of a job: times, imbalance, and which differs beyond chance",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_SUM,
     .keeps_events = true,
     .compares_parts = true,
     .reads_in_turn = true,
     .print = reports_hosts},
    {.name = "imbalance",
     .help = "how unequally the parts of a job share their time, in all and by region",
     .kind = REGISTRY_REPORT,
     .sessions = REGISTRY_SUM,
     .ignores = REGISTRY_IGNORES_TIMES,
     .compares_parts = true,
     .reads_in_turn = true,
     .print = reports_imbalance},
    {.name = "heat",
     .help = "one event of each part of a job over time: --event chooses it",
     .kind = REGISTRY_REPORT,
     .sessions = REGISTRY_SUM,
     .ignores = REGISTRY_IGNORES_TASKS,
     .compares_parts = true,
     .reads_in_turn = true,
     .print = reports_heat},
    {.name = "records",
     .help = "every record",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .lists_samples = true,
     .print = reports_records},
    {.name = "flat",
     .help = "functions",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SIDE_BY_SIDE,
     .omits_idle = true,
     .reads_in_turn = true,
     .print = reports_flat},
    {.name = "tree",
     .help = "callers to callees",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .reads_in_turn = true,
     .print = reports_tree},
    {.name = "callers",
     .help = "functions to their callers",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .reads_in_turn = true,
     .print = reports_callers},
    {.name = "calls",
     .help = "each function between its callers and callees",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .reads_in_turn = true,
     .print = reports_calls},
    {.name = "stacks",
     .help = "whole stacks, most frequent first",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .reads_in_turn = true,
     .print = reports_stacks},
    {.name = "annotate",
     .help = "source lines and instructions of the functions with most samples: --function",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .ignores_inline = true,
     .print = reports_annotate},
    {.name = "branches",
     .help = "branch sources and targets",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .reads_in_turn = true,
     .print = reports_branches},
    {.name = "threads",
     .help = "time by thread",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SIDE_BY_SIDE,
     .reads_in_turn = true,
     .print = reports_threads},
    {.name = "waits",
     .help = "time by thread, state (on CPU, waiting for a CPU, blocked) and reason",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SIDE_BY_SIDE,
     .adds_states = true,
     .reads_in_turn = true,
     .print = reports_waits},
    {.name = "locks",
     .help = "locks at which threads waited: where, how often and long, and who held them",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .keeps_events = true,
     .lists_samples = true,
     .print = reports_locks},
    {.name = "heap",
     .help =
	 "memory by the function that allocated it: at the peak, live, allocated, freed at once",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .diff = REGISTRY_DIFF_IF_ANY,
     .reads_in_turn = true,
     .print = reports_heap},
    {.name = "sizes",
     .help = "sampled allocations of the heap by the size of a block",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .ignores = REGISTRY_IGNORES_SAMPLE_FILTER,
     .reads_in_turn = true,
     .print = reports_sizes},
    {.name = "lifetimes",
     .help = "how long blocks of the heap lived, by the function that allocated them",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES,
     .sessions = REGISTRY_SUM,
     .print = reports_lifetimes},
    {.name = "memory",
     .help =
	 "which memory a target has mapped, by kind and object: at the start, the peak, the end",
     .kind = REGISTRY_REPORT,
     .ignores = REGISTRY_IGNORES_SAMPLE_FILTER,
     .ignores_common = true,
     .reads_in_turn = true,
     .print = reports_memory},
    {.name = "regions",
     .help = "the regions that a program marks (cpuperf/mark.h): calls, times, samples",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_ONE,
     .keeps_events = true,
     .needs_regions = true,
     .says_regions = true,
     .print = reports_regions},
    {.name = "diff",
     .help = "significant changes; the default with --diff",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_SUM,
     .diff = REGISTRY_DIFF,
     .says_regions = true,
     .print = reports_diff},
    {.name = "series",
     .help = "counts and misc events over time",
     .kind = REGISTRY_REPORT,
     .ignores = REGISTRY_IGNORES_TASKS,
     .ignores_common = true,
     .lists_samples = true,
     .reads_in_turn = true,
     .print = reports_series},
    {.name = "latency",
     .help = "quantiles of how long things took: the events of the group latency",
     .kind = REGISTRY_REPORT,
     .sessions = REGISTRY_SUM,
     .ignores = REGISTRY_IGNORES_TASKS,
     .ignores_common = true,
     .reads_in_turn = true,
     .print = reports_latency},
    {.name = "functions",
     .help = "calls of functions and how long they take: the events of the group function",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_SUM,
     .ignores = REGISTRY_IGNORES_TASKS,
     .keeps_events = true,
     .reads_in_turn = true,
     .print = reports_functions},
    {.name = "changes",
     .help = "at which of many sessions, in the order of builds, functions and events changed",
     .kind = REGISTRY_REPORT,
     .samples = REGISTRY_SAMPLES_IF_ANY,
     .sessions = REGISTRY_SUM,
     .keeps_events = true,
     .print = reports_changes},
    {.name = "top-down",
     .help = "how well the CPUs ran: ipc, misses",
     .kind = REGISTRY_REPORT,
     .ignores = REGISTRY_IGNORES_TASKS,
     .ignores_common = true,
     .reads_in_turn = true,
     .print = reports_topdown},
};

enum { NR_ROWS = sizeof(rows) / sizeof(rows[0]) };

const char *registry_option(const struct registry_row *row)
{
	return row->kind == REGISTRY_REPORT ? "report"
	       : row->kind == REGISTRY_VIEW ? "view"
					    : "output-format";
}

static const struct registry_row *find(const char *option, const char *what, const char *name,
				       struct err *e)
{
	const char *near = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < NR_ROWS; i++) {
		if (strcmp(registry_option(&rows[i]), option) != 0)
			continue;
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
		str_nearest_offer(name, rows[i].name, &near, &distance);
	}
	err_set(e, -EINVAL, "--%s=%s: no such %s", option, name, what);
	if (strstr(name, "flame"))
		err_hint(e, "--output-format=html has a flame graph; svg is one as a picture");
	else if (near)
		err_hint(e, "did you mean %s? (--help=all lists all)", near);
	else
		err_hint(e, "--help=all lists all");
	return NULL;
}

const struct registry_row *registry_find_format(const char *name, struct err *e)
{
	return find("output-format", "format", name, e);
}

const struct registry_row *registry_find_report(const char *name, struct err *e)
{
	return find("report", "report", name, e);
}

static bool choice(const char *option, size_t i, struct opt_choice *out)
{
	for (size_t k = 0; k < NR_ROWS; k++) {
		if (strcmp(registry_option(&rows[k]), option) != 0 || i--)
			continue;
		*out = (struct opt_choice){rows[k].name, rows[k].help};
		return true;
	}
	return false;
}

bool registry_format_choice(size_t i, struct opt_choice *out)
{
	return choice("output-format", i, out);
}

bool registry_report_choice(size_t i, struct opt_choice *out)
{
	return choice("report", i, out);
}

const char *registry_names(char buf[REGISTRY_NAMES_BYTES], registry_match_fn *match)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < NR_ROWS && len < REGISTRY_NAMES_BYTES; i++)
		if (match(&rows[i]))
			len += (size_t)snprintf(buf + len, REGISTRY_NAMES_BYTES - len, "%s%s",
						len ? ", " : "", rows[i].name);
	return buf;
}
