/*
 * Which events are states of a thread, and why it waits.
 */
#include "kit.h"

#include "base/perf_abi.h"
#include "profile/filter.h"
#include "profile/session.h"
#include "report/states.h"

#include <string.h>

static const struct perf_event_attr cpu_clock = {.type = PERF_TYPE_SOFTWARE,
						 .config = PERF_COUNT_SW_CPU_CLOCK},
				    task_clock = {.type = PERF_TYPE_SOFTWARE,
						  .config = PERF_COUNT_SW_TASK_CLOCK},
				    off_cpu = {.type = PERF_TYPE_SOFTWARE,
					       .config = PERF_COUNT_SW_BPF_OUTPUT,
					       .config1 = PERF_ABI_WAIT},
				    run_queue = {.type = PERF_TYPE_SOFTWARE,
						 .config = PERF_COUNT_SW_BPF_OUTPUT,
						 .config1 = PERF_ABI_WAIT + 1},
				    cycles = {.type = PERF_TYPE_HARDWARE,
					      .config = PERF_COUNT_HW_CPU_CYCLES};

#define EVENT(g, n, r, a)                                                                          \
	{                                                                                          \
		.group = (g), .name = (n), .rate = (r), .attr = &(a), .attr_bytes = sizeof(a)      \
	}

static const struct trace_event events[] = {
    EVENT("fixed", "cycles", 1000, cycles),
    EVENT("software", "task_clock", 0, task_clock), /* counted */
    EVENT("software", "cpu_clock", 1000, cpu_clock),
    EVENT("sched", "run_queue_time", 1000, run_queue),
    EVENT("software", "task_clock", 1000, task_clock), /* cpu_clock has the state */
    EVENT("sched", "off_cpu_time", 1000, off_cpu),
};
enum { NR = sizeof(events) / sizeof(events[0]) };
static const struct profile_facts facts = {.events = events, .nr_events = NR};

static void check(const struct profile_filter *filter, const enum report_state *states,
		  const uint32_t *counted)
{
	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(report_states_of(&facts, filter, i), states[i]);
		assert_int_equal(report_states_event(&facts, filter, i, REPORT_SUM_STATES),
				 counted[i]);
	}
}

/* What ran on a CPU, and what waited. */
TEST(waits_apart)
{
	static const struct profile_filter all;
	static const uint32_t counted[NR] = {0, 1, 2, 3, 4, 3};

	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(report_states_event(&facts, &all, i, REPORT_SUM_WAITS),
				 counted[i]);
		assert_int_equal(report_states_event(&facts, &all, i, REPORT_SUM_NONE), i);
	}
}

TEST(states)
{
	static const struct profile_filter all;
	static struct profile_filter some;
	struct err e = {0};

	check(&all,
	      (enum report_state[NR]){REPORT_NO_STATE, REPORT_NO_STATE, REPORT_ON_CPU,
				      REPORT_IN_QUEUE, REPORT_NO_STATE, REPORT_BLOCKED},
	      (uint32_t[NR]){0, 1, 2, 2, 4, 2});
	/* the event that is not selected has no state, so that another one has it */
	assert_int_equal(profile_globs_add(&some.events, "--event", "task_clock", &e), 0);
	assert_int_equal(profile_globs_add(&some.events, "--event", "sched:off_cpu_time", &e), 0);
	check(&some, (enum report_state[NR]){[4] = REPORT_ON_CPU, [5] = REPORT_BLOCKED},
	      (uint32_t[NR]){0, 1, 2, 3, 4, 4});
}

static const char *reason(enum report_state state, const char *stack)
{
	static char buf[REPORT_REASON_BYTES];
	struct report_function functions[8] = {{.number = 0}};
	struct report_frame frames[8];
	char text[256], *rest = text;
	size_t nr = 0;

	strcpy(text, stack);
	for (const char *name; (name = strsep(&rest, " ")); nr++) {
		functions[nr].is_kernel = *name != '+';
		functions[nr].name = name + !functions[nr].is_kernel;
		frames[nr] = (struct report_frame){.function = &functions[nr]};
	}
	return report_reason(state, frames, nr, buf);
}

TEST(reasons)
{
	static const struct {
		enum report_state state;
		const char *stack, *reason;
	} cases[] = {
	    {REPORT_BLOCKED, "futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex",
	     "futex"},
	    {REPORT_BLOCKED, "anon_pipe_read.constprop.0 vfs_read ksys_read", "pipe"},
	    /* the innermost function in the table */
	    {REPORT_BLOCKED, "folio_wait_bit_common filemap_fault handle_mm_fault exc_page_fault",
	     "disk"},
	    {REPORT_BLOCKED, "handle_mm_fault exc_page_fault", "page fault"},
	    {REPORT_BLOCKED, "wait_woken __x64_sys_foo do_syscall_64", "foo"},
	    {REPORT_BLOCKED, "wait_woken invoke_syscall __arm64_sys_foo", "foo"},
	    {REPORT_BLOCKED, "wait_woken something", ""},
	    /* functions of programs mean nothing */
	    {REPORT_BLOCKED, "wait_woken +anon_pipe_read", ""},
	    {REPORT_BLOCKED, "+anon_pipe_read", ""},
	    {REPORT_IN_QUEUE,
	     "exit_to_user_mode_loop irqentry_exit asm_sysvec_apic_timer_interrupt +main",
	     "preempted"},
	    {REPORT_IN_QUEUE, "__cond_resched __x64_sys_futex", "preempted"},
	    {REPORT_IN_QUEUE, "do_nanosleep hrtimer_nanosleep", "sleep"},
	    {REPORT_ON_CPU, "do_nanosleep +main", "kernel mode"},
	    {REPORT_ON_CPU, "+main", "user mode"},
	    {REPORT_IDLE, "cpu_idle", ""},
	    {REPORT_NO_STATE, "do_nanosleep", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(reason(cases[i].state, cases[i].stack), cases[i].reason);
}

/* They are searched by halves. */
TEST(table)
{
	const char *function, *before = "";
	const char *of;

	for (size_t i = 0; (of = report_reason_at(i, &function)); i++) {
		assert_true(strcmp(before, function) < 0);
		assert_string_equal(reason(REPORT_BLOCKED, function), of);
		before = function;
	}
	assert_null(function);
}
