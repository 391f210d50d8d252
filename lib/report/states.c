/*
 * States by event, and reasons by a table of the kernel's functions.
 */
#include "report/states.h"

#include "base/array.h"
#include "base/perf_abi.h"
#include "profile/filter.h"
#include "profile/samples.h"
#include "profile/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const report_state_names[REPORT_NR_STATES] = {
    [REPORT_NO_STATE] = "",
    [REPORT_ON_CPU] = "on CPU",
    [REPORT_IN_QUEUE] = "waiting for a CPU",
    [REPORT_BLOCKED] = "blocked",
    [REPORT_WAITING] = "blocked or waiting for a CPU",
    [REPORT_UNKNOWN] = "unknown (lost records)",
    [REPORT_IDLE] = "idle",
};

static enum report_state state_of(const struct trace_event *ev)
{
	static const enum report_state of_wait[PERF_ABI_NR_WAITS] = {REPORT_BLOCKED,
								     REPORT_IN_QUEUE};
	struct perf_event_attr a = {.size = 0};
	int wait;

	if (!ev->attr_bytes || (!ev->rate && !ev->frequency))
		return REPORT_NO_STATE;
	memcpy(&a, ev->attr, ev->attr_bytes < sizeof(a) ? ev->attr_bytes : sizeof(a));
	wait = perf_abi_wait(a.type, a.config, a.config1);
	if (wait >= 0)
		return of_wait[wait];
	return a.type == PERF_TYPE_SOFTWARE &&
		       (a.config == PERF_COUNT_SW_CPU_CLOCK || a.config == PERF_COUNT_SW_TASK_CLOCK)
		   ? REPORT_ON_CPU
		   : REPORT_NO_STATE;
}

static enum report_state selected(const struct profile_facts *f,
				  const struct profile_filter *filter, uint32_t event)
{
	return profile_filter_has_event(filter, &f->events[event]) ? state_of(&f->events[event])
								   : REPORT_NO_STATE;
}

enum report_state report_states_of(const struct profile_facts *f,
				   const struct profile_filter *filter, uint32_t event)
{
	const enum report_state state = selected(f, filter, event);

	for (uint32_t i = 0; i < event && state; i++)
		if (selected(f, filter, i) == state)
			return REPORT_NO_STATE;
	return state;
}

uint32_t report_states_event(const struct profile_facts *f, const struct profile_filter *filter,
			     uint32_t event)
{
	uint32_t first = 0;

	if (!report_states_of(f, filter, event))
		return event;
	while (!report_states_of(f, filter, first))
		first++;
	return first;
}

/* In the order of strcmp. */
static const struct named {
	const char *function, *reason;
} reasons[] = {
    {"__cond_resched", "preempted"},
    {"__do_sys_pause", "signal"},
    {"__do_wait", "child"},
    {"__folio_lock", "disk"},
    {"__futex_wait", "futex"},
    {"__io_cqring_wait", "io_uring"},
    {"__lock_sock", "socket"},
    {"__mutex_lock", "kernel lock"},
    {"__mutex_lock_slowpath", "kernel lock"},
    {"__refrigerator", "stopped"},
    {"__skb_wait_for_more_packets", "socket"},
    {"__wait_on_buffer", "disk"},
    {"__wait_rcu_gp", "RCU"},
    {"anon_pipe_read", "pipe"},
    {"anon_pipe_write", "pipe"},
    {"arm64_preempt_schedule_irq", "preempted"},
    {"balance_dirty_pages", "disk"},
    {"blkdev_issue_flush", "disk"},
    {"do_epoll_wait", "epoll"},
    {"do_exit", "exit"},
    {"do_freezer_trap", "stopped"},
    {"do_jobctl_trap", "stopped"},
    {"do_mem_abort", "page fault"},
    {"do_mq_timedreceive", "message queue"},
    {"do_mq_timedsend", "message queue"},
    {"do_msgrcv", "message queue"},
    {"do_msgsnd", "message queue"},
    {"do_nanosleep", "sleep"},
    {"do_notify_resume", "preempted"},
    {"do_page_fault", "page fault"},
    {"do_poll", "poll"},
    {"do_sched_yield", "yield"},
    {"do_select", "select"},
    {"do_semtimedop", "semaphore"},
    {"do_signal_stop", "stopped"},
    {"do_sigtimedwait", "signal"},
    {"do_sys_poll", "poll"},
    {"do_user_addr_fault", "page fault"},
    {"do_wait", "child"},
    {"el1_interrupt", "preempted"},
    {"ep_poll", "epoll"},
    {"eventfd_read", "eventfd"},
    {"exc_page_fault", "page fault"},
    {"exit_to_user_mode_loop", "preempted"},
    {"exit_to_user_mode_prepare", "preempted"},
    {"exit_to_usermode_loop", "preempted"},
    {"fcntl_setlk", "file lock"},
    {"fifo_open", "pipe"},
    {"fifo_pipe_read", "pipe"},
    {"fifo_pipe_write", "pipe"},
    {"folio_wait_bit", "disk"},
    {"folio_wait_bit_common", "disk"},
    {"fuse_get_req", "FUSE"},
    {"futex_do_wait", "futex"},
    {"futex_lock_pi", "futex"},
    {"futex_wait", "futex"},
    {"futex_wait_multiple", "futex"},
    {"futex_wait_queue", "futex"},
    {"futex_wait_queue_me", "futex"},
    {"futex_wait_requeue_pi", "futex"},
    {"handle_mm_fault", "page fault"},
    {"handle_userfault", "page fault"},
    {"hrtimer_nanosleep", "sleep"},
    {"inet_csk_accept", "socket"},
    {"inet_stream_connect", "socket"},
    {"inotify_read", "inotify"},
    {"io_cqring_wait", "io_uring"},
    {"io_schedule", "disk"},
    {"io_schedule_timeout", "disk"},
    {"irqentry_exit", "preempted"},
    {"irqentry_exit_cond_resched", "preempted"},
    {"irqentry_exit_to_user_mode", "preempted"},
    {"jbd2_log_wait_commit", "disk"},
    {"kernel_clone", "vfork"},
    {"kernel_wait4", "child"},
    {"kthread", "kernel thread"},
    {"locks_lock_inode_wait", "file lock"},
    {"mutex_lock", "kernel lock"},
    {"n_tty_read", "terminal"},
    {"n_tty_write", "terminal"},
    {"perf_read", "perf event"},
    {"pipe_read", "pipe"},
    {"pipe_wait", "pipe"},
    {"pipe_write", "pipe"},
    {"preempt_schedule", "preempted"},
    {"preempt_schedule_irq", "preempted"},
    {"preempt_schedule_notrace", "preempted"},
    {"preempt_schedule_thunk", "preempted"},
    {"ptrace_stop", "stopped"},
    {"raw_irqentry_exit_cond_resched", "preempted"},
    {"read_events", "disk"},
    {"request_wait_answer", "FUSE"},
    {"ret_from_fork", "kernel thread"},
    {"rwsem_down_read_slowpath", "kernel lock"},
    {"rwsem_down_write_slowpath", "kernel lock"},
    {"schedule_tail", "new thread"},
    {"signalfd_read_iter", "signal"},
    {"sigsuspend", "signal"},
    {"sk_stream_wait_memory", "socket"},
    {"sk_wait_data", "socket"},
    {"skb_recv_datagram", "socket"},
    {"sock_alloc_send_pskb", "socket"},
    {"submit_bio_wait", "disk"},
    {"synchronize_rcu", "RCU"},
    {"synchronize_rcu_expedited", "RCU"},
    {"timerfd_read", "timerfd"},
    {"timerfd_read_iter", "timerfd"},
    {"tty_read", "terminal"},
    {"unix_accept", "socket"},
    {"unix_stream_connect", "socket"},
    {"unix_stream_read_generic", "socket"},
    {"unix_wait_for_peer", "socket"},
    {"wait_for_partner", "pipe"},
    {"wait_for_vfork_done", "vfork"},
    {"wait_on_page_bit", "disk"},
    {"worker_thread", "kernel thread"},
};

const char *report_reason_at(size_t i, const char **function)
{
	*function = i < ARRAY_NR(reasons) ? reasons[i].function : NULL;
	return *function ? reasons[i].reason : NULL;
}

/* Entries of system calls, on all machines. */
static const char *const calls[] = {"__x64_sys_",        "__arm64_sys_",      "__ia32_sys_",
				    "__do_sys_",         "__se_sys_",         "__arm64_compat_sys_",
				    "__x32_compat_sys_", "__ia32_compat_sys_"};

/* key: the name up to its suffix (".isra.0"). */
static int compare(const void *key, const void *row)
{
	return strcmp(key, ((const struct named *)row)->function);
}

static const char *reason_of(const char *function, char buf[REPORT_REASON_BYTES])
{
	char name[REPORT_REASON_BYTES];
	const struct named *row;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(function, "."), function);
	row = bsearch(name, reasons, ARRAY_NR(reasons), sizeof(reasons[0]), compare);
	if (row)
		return row->reason;
	for (size_t i = 0; i < ARRAY_NR(calls); i++) {
		size_t len = strlen(calls[i]);

		if (strncmp(name, calls[i], len) == 0)
			return memmove(buf, name + len, strlen(name + len) + 1);
	}
	return "";
}

const char *report_seen_reason(uint32_t reason)
{
	static const char *const names[TRACE_NR_REASONS] = {
	    [TRACE_REASON_NONE] = "",
	    [TRACE_REASON_CALL] = "system call",
	    [TRACE_REASON_SLEEP] = "sleep",
	    [TRACE_REASON_FUTEX] = "futex",
	    [TRACE_REASON_PIPE] = "pipe",
	    [TRACE_REASON_SOCKET] = "socket",
	    [TRACE_REASON_EPOLL] = "epoll",
	    [TRACE_REASON_POLL] = "poll",
	    [TRACE_REASON_SELECT] = "select",
	    [TRACE_REASON_CHILD] = "child",
	    [TRACE_REASON_SIGNAL] = "signal",
	    [TRACE_REASON_FILE_LOCK] = "file lock",
	    [TRACE_REASON_SEMAPHORE] = "semaphore",
	    [TRACE_REASON_MESSAGE_QUEUE] = "message queue",
	    [TRACE_REASON_DISK] = "disk",
	    [TRACE_REASON_FILE] = "file",
	    [TRACE_REASON_IO_URING] = "io_uring",
	    [TRACE_REASON_EVENTFD] = "eventfd",
	    [TRACE_REASON_TIMERFD] = "timerfd",
	    [TRACE_REASON_INOTIFY] = "inotify",
	    [TRACE_REASON_TERMINAL] = "terminal",
	    [TRACE_REASON_VFORK] = "vfork",
	    [TRACE_REASON_PAGE_FAULT] = "page fault",
	};

	return names[reason];
}

const char *report_reason(enum report_state state, const struct report_frame *frames, size_t nr,
			  char buf[REPORT_REASON_BYTES])
{
	const char *reason = "";

	if (state == REPORT_ON_CPU)
		return frames[0].function->is_kernel ? "kernel mode" : "user mode";
	for (size_t i = 0; i < nr && state && frames[i].function->is_kernel && !*reason; i++)
		reason = reason_of(frames[i].function->name, buf);
	return reason;
}
