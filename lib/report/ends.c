/*
 * Recognises functions by name, since a chain of frame pointers does not mark its end. Unexported
 * functions of a stripped C library have no names.
 */
#include "report/ends.h"

#include "base/array.h"
#include "base/str.h"

#include <string.h>

const char *report_end_name(enum report_end end)
{
	static const char *const names[REPORT_NR_ENDS] = {
	    [REPORT_END_WHOLE] = "whole",
	    [REPORT_END_LIMIT] = "truncated at kernel.perf_event_max_stack",
	    [REPORT_END_AGENT] = "deeper than the 1,024 functions that the agent follows",
	    [REPORT_END_POINTERS] = "ending at code without frame pointers",
	    [REPORT_END_PIECE] = "reaching beyond the recorded piece of stack",
	    [REPORT_END_BYTES] = "reaching beyond the recorded stack bytes",
	    [REPORT_END_TABLE] = "ending at code without unwind tables",
	    [REPORT_END_INVALID] = "with invalid frames",
	    [REPORT_END_UNSEEN] = "of waits ending at a function with a frame pointer",
	    [REPORT_END_REGS] = "without known registers",
	    [REPORT_END_DEPTH] = "deeper than reports can hold",
	    [REPORT_END_UNPROVEN] = "ending at methods whose callers are not certain",
	};

	return names[end];
}

/* From glibc, musl, bionic and Go. */
static const char *const starts[] = {
    "_start",
    "_start_c",
    "_dl_start",
    "_dl_start_user",
    "__libc_start_call_main",
    "libc_start_main_stage2",
    "__libc_init",
    "start_thread",
    "__pthread_start",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "__GI___clone",
    "__GI___clone3",
    "__start_context",
};
static const char *const start_prefixes[] = {
    "__libc_start_main", "_rt0_", "runtime.rt0_go", "runtime.goexit", "runtime.mstart",
};
static const char *const libraries[] = {
    "libc.so", "libc-2", "libpthread", "ld-linux", "ld-2", "ld-musl", "libc.musl", "ld64",
};

bool report_is_library(const char *object)
{
	return str_begins_with_any(object, libraries, ARRAY_NR(libraries));
}

enum report_start report_start_of(const char *name, const char *object, bool is_known)
{
	if (strcmp(object, "[unknown]") == 0)
		return REPORT_START_ABOVE;
	if (!is_known)
		return report_is_library(object) ? REPORT_START_LIBRARY : REPORT_START_NAMELESS;
	return ARRAY_ANY(x, starts, ARRAY_NR(starts), strcmp(name, *x) == 0) ||
		       str_begins_with_any(name, start_prefixes, ARRAY_NR(start_prefixes))
		   ? REPORT_START_YES
		   : REPORT_START_NO;
}

static const char *const switches[] = {
    "schedule", "__schedule", "__schedule_loop", "schedule_idle", "preempt_schedule_common",
};
static const char *const switch_prefixes[] = {"bpf_trace_run", "__bpf_trace_", "__traceiter_"};

bool report_is_switch(const char *name, const char *object)
{
	return strcmp(object, "[bpf]") == 0 ||
	       ARRAY_ANY(x, switches, ARRAY_NR(switches), strcmp(name, *x) == 0) ||
	       str_begins_with_any(name, switch_prefixes, ARRAY_NR(switch_prefixes));
}

uint64_t report_program_all(const struct report_program *p)
{
	return p->nr[REPORT_END_WHOLE] + report_program_incomplete(p);
}

uint64_t report_program_incomplete(const struct report_program *p)
{
	uint64_t nr = 0;

	for (int end = REPORT_END_WHOLE + 1; end < REPORT_NR_ENDS; end++)
		nr += p->nr[end];
	return nr;
}
