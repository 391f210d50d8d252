/*
 * The tables of reports and of exports.
 */
#include "reports.h"

#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

static const struct report reports[] = {
    {"summary", .print = report_summary_print},
    {"records", true, false, false, report_records_print},
    {"flat", true, true, true, report_flat_print},
    {"tree", true, true, false, report_tree_print},
    {"callers", true, true, false, report_callers_print},
    {"calls", true, true, false, report_calls_print},
    {"stacks", true, true, false, report_stacks_print},
    {"branches", true, true, false, report_branches_print},
    {"threads", true, true, true, report_threads_print},
    {"diff", true, true, false, report_diff_print},
    {"series", .print = report_series_print},
    {"top-down", .print = report_topdown_print},
};

static const struct report exports[] = {
    {"folded", true, true, .print = export_folded},
    {"perfetto", .print = export_perfetto, .is_binary = true},
    {"pprof", true, true, true, export_pprof, .is_binary = true},
    {"speedscope", true, true, true, .print = export_speedscope},
    {"chrome", .print = export_chrome},
    {"perf-data", true, .print = export_perf_data, .is_binary = true},
    {"openmetrics", .print = export_openmetrics},
    {"sqlite", .is_binary = true, .print = export_sqlite},
    {"html", .adds_up = true, .takes_diff = true, .is_binary = true, .print = export_html},
};

const struct report *report_find_export(const char *format)
{
	for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++)
		if (strcmp(exports[i].name, format) == 0)
			return &exports[i];
	return NULL;
}

const struct report *report_find(const char *name, struct err *e)
{
	const char *near = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		if (strcmp(reports[i].name, name) == 0)
			return &reports[i];
		str_nearest_offer(name, reports[i].name, &near, &distance);
	}
	err_set(e, -EINVAL, "--report=%s: no such report", name);
	if (near)
		err_hint(e, "did you mean %s? (--help lists all)", near);
	else
		err_hint(e, "--help lists all");
	return NULL;
}
