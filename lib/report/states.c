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

bool report_states_have(const struct profile_facts *f, const struct profile_filter *filter,
			enum report_state least)
{
	for (uint32_t i = 0; i < f->nr_events; i++)
		if (report_states_of(f, filter, i) > least)
			return true;
	return false;
}

uint32_t report_states_event(const struct profile_facts *f, const struct profile_filter *filter,
			     uint32_t event, enum report_sum sum)
{
	const enum report_state above = sum == REPORT_SUM_WAITS ? REPORT_ON_CPU : REPORT_NO_STATE;
	uint32_t first = 0;

	if (!sum || report_states_of(f, filter, event) <= above)
		return event;
	while (report_states_of(f, filter, first) <= above)
		first++;
	return first;
}

static const char *const words[TRACE_NR_REASONS] = {
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
    [TRACE_REASON_STOPPED] = "stopped",
    [TRACE_REASON_PREEMPTED] = "preempted",
    [TRACE_REASON_YIELD] = "yield",
    [TRACE_REASON_EXIT] = "exit",
    [TRACE_REASON_KERNEL_LOCK] = "kernel lock",
    [TRACE_REASON_RCU] = "RCU",
    [TRACE_REASON_FUSE] = "FUSE",
    [TRACE_REASON_PERF_EVENT] = "perf event",
    [TRACE_REASON_NEW_THREAD] = "new thread",
    [TRACE_REASON_KERNEL_THREAD] = "kernel thread",
};

const char *report_seen_reason(uint32_t reason)
{
	return words[reason];
}

/* In the order of strcmp. */
static const struct named {
	const char *function;
	enum trace_reason reason;
} reasons[] = {
    {"__cond_resched", TRACE_REASON_PREEMPTED},
    {"__do_sys_pause", TRACE_REASON_SIGNAL},
    {"__do_wait", TRACE_REASON_CHILD},
    {"__folio_lock", TRACE_REASON_DISK},
    {"__futex_wait", TRACE_REASON_FUTEX},
    {"__ia32_sys_pause", TRACE_REASON_SIGNAL},
    {"__io_cqring_wait", TRACE_REASON_IO_URING},
    {"__lock_sock", TRACE_REASON_SOCKET},
    {"__mutex_lock", TRACE_REASON_KERNEL_LOCK},
    {"__mutex_lock_slowpath", TRACE_REASON_KERNEL_LOCK},
    {"__refrigerator", TRACE_REASON_STOPPED},
    {"__skb_wait_for_more_packets", TRACE_REASON_SOCKET},
    {"__wait_on_buffer", TRACE_REASON_DISK},
    {"__wait_rcu_gp", TRACE_REASON_RCU},
    {"__x64_sys_pause", TRACE_REASON_SIGNAL},
    {"anon_pipe_read", TRACE_REASON_PIPE},
    {"anon_pipe_write", TRACE_REASON_PIPE},
    {"arm64_preempt_schedule_irq", TRACE_REASON_PREEMPTED},
    {"balance_dirty_pages", TRACE_REASON_DISK},
    {"blkdev_issue_flush", TRACE_REASON_DISK},
    {"do_epoll_wait", TRACE_REASON_EPOLL},
    {"do_exit", TRACE_REASON_EXIT},
    {"do_freezer_trap", TRACE_REASON_STOPPED},
    {"do_jobctl_trap", TRACE_REASON_STOPPED},
    {"do_mem_abort", TRACE_REASON_PAGE_FAULT},
    {"do_mq_timedreceive", TRACE_REASON_MESSAGE_QUEUE},
    {"do_mq_timedsend", TRACE_REASON_MESSAGE_QUEUE},
    {"do_msgrcv", TRACE_REASON_MESSAGE_QUEUE},
    {"do_msgsnd", TRACE_REASON_MESSAGE_QUEUE},
    {"do_nanosleep", TRACE_REASON_SLEEP},
    {"do_notify_resume", TRACE_REASON_PREEMPTED},
    {"do_page_fault", TRACE_REASON_PAGE_FAULT},
    {"do_poll", TRACE_REASON_POLL},
    {"do_sched_yield", TRACE_REASON_YIELD},
    {"do_select", TRACE_REASON_SELECT},
    {"do_semtimedop", TRACE_REASON_SEMAPHORE},
    {"do_signal_stop", TRACE_REASON_STOPPED},
    {"do_sigtimedwait", TRACE_REASON_SIGNAL},
    {"do_sys_poll", TRACE_REASON_POLL},
    {"do_user_addr_fault", TRACE_REASON_PAGE_FAULT},
    {"do_wait", TRACE_REASON_CHILD},
    {"el1_interrupt", TRACE_REASON_PREEMPTED},
    {"ep_poll", TRACE_REASON_EPOLL},
    {"eventfd_read", TRACE_REASON_EVENTFD},
    {"exc_page_fault", TRACE_REASON_PAGE_FAULT},
    {"exit_to_user_mode_loop", TRACE_REASON_PREEMPTED},
    {"exit_to_user_mode_prepare", TRACE_REASON_PREEMPTED},
    {"exit_to_usermode_loop", TRACE_REASON_PREEMPTED},
    {"fcntl_setlk", TRACE_REASON_FILE_LOCK},
    {"fifo_open", TRACE_REASON_PIPE},
    {"fifo_pipe_read", TRACE_REASON_PIPE},
    {"fifo_pipe_write", TRACE_REASON_PIPE},
    {"folio_wait_bit", TRACE_REASON_DISK},
    {"folio_wait_bit_common", TRACE_REASON_DISK},
    {"fuse_get_req", TRACE_REASON_FUSE},
    {"futex_do_wait", TRACE_REASON_FUTEX},
    {"futex_lock_pi", TRACE_REASON_FUTEX},
    {"futex_wait", TRACE_REASON_FUTEX},
    {"futex_wait_multiple", TRACE_REASON_FUTEX},
    {"futex_wait_queue", TRACE_REASON_FUTEX},
    {"futex_wait_queue_me", TRACE_REASON_FUTEX},
    {"futex_wait_requeue_pi", TRACE_REASON_FUTEX},
    {"handle_mm_fault", TRACE_REASON_PAGE_FAULT},
    {"handle_userfault", TRACE_REASON_PAGE_FAULT},
    {"hrtimer_nanosleep", TRACE_REASON_SLEEP},
    {"inet_csk_accept", TRACE_REASON_SOCKET},
    {"inet_stream_connect", TRACE_REASON_SOCKET},
    {"inotify_read", TRACE_REASON_INOTIFY},
    {"io_cqring_wait", TRACE_REASON_IO_URING},
    {"io_schedule", TRACE_REASON_DISK},
    {"io_schedule_timeout", TRACE_REASON_DISK},
    {"irqentry_exit", TRACE_REASON_PREEMPTED},
    {"irqentry_exit_cond_resched", TRACE_REASON_PREEMPTED},
    {"irqentry_exit_to_user_mode", TRACE_REASON_PREEMPTED},
    {"jbd2_log_wait_commit", TRACE_REASON_DISK},
    {"kernel_clone", TRACE_REASON_VFORK},
    {"kernel_wait4", TRACE_REASON_CHILD},
    {"kthread", TRACE_REASON_KERNEL_THREAD},
    {"locks_lock_inode_wait", TRACE_REASON_FILE_LOCK},
    {"mutex_lock", TRACE_REASON_KERNEL_LOCK},
    {"n_tty_read", TRACE_REASON_TERMINAL},
    {"n_tty_write", TRACE_REASON_TERMINAL},
    {"perf_read", TRACE_REASON_PERF_EVENT},
    {"pipe_read", TRACE_REASON_PIPE},
    {"pipe_wait", TRACE_REASON_PIPE},
    {"pipe_write", TRACE_REASON_PIPE},
    {"preempt_schedule", TRACE_REASON_PREEMPTED},
    {"preempt_schedule_irq", TRACE_REASON_PREEMPTED},
    {"preempt_schedule_notrace", TRACE_REASON_PREEMPTED},
    {"preempt_schedule_thunk", TRACE_REASON_PREEMPTED},
    {"ptrace_stop", TRACE_REASON_STOPPED},
    {"raw_irqentry_exit_cond_resched", TRACE_REASON_PREEMPTED},
    {"read_events", TRACE_REASON_DISK},
    {"request_wait_answer", TRACE_REASON_FUSE},
    {"ret_from_fork", TRACE_REASON_KERNEL_THREAD},
    {"rwsem_down_read_slowpath", TRACE_REASON_KERNEL_LOCK},
    {"rwsem_down_write_slowpath", TRACE_REASON_KERNEL_LOCK},
    {"schedule_tail", TRACE_REASON_NEW_THREAD},
    {"signalfd_read_iter", TRACE_REASON_SIGNAL},
    {"sigsuspend", TRACE_REASON_SIGNAL},
    {"sk_stream_wait_memory", TRACE_REASON_SOCKET},
    {"sk_wait_data", TRACE_REASON_SOCKET},
    {"skb_recv_datagram", TRACE_REASON_SOCKET},
    {"sock_alloc_send_pskb", TRACE_REASON_SOCKET},
    {"submit_bio_wait", TRACE_REASON_DISK},
    {"synchronize_rcu", TRACE_REASON_RCU},
    {"synchronize_rcu_expedited", TRACE_REASON_RCU},
    {"timerfd_read", TRACE_REASON_TIMERFD},
    {"timerfd_read_iter", TRACE_REASON_TIMERFD},
    {"tty_read", TRACE_REASON_TERMINAL},
    {"unix_accept", TRACE_REASON_SOCKET},
    {"unix_stream_connect", TRACE_REASON_SOCKET},
    {"unix_stream_read_generic", TRACE_REASON_SOCKET},
    {"unix_wait_for_peer", TRACE_REASON_SOCKET},
    {"wait_for_partner", TRACE_REASON_PIPE},
    {"wait_for_vfork_done", TRACE_REASON_VFORK},
    {"wait_on_page_bit", TRACE_REASON_DISK},
    {"worker_thread", TRACE_REASON_KERNEL_THREAD},
};

const char *report_reason_at(size_t i, const char **function)
{
	*function = i < ARRAY_NR(reasons) ? reasons[i].function : NULL;
	return *function ? words[reasons[i].reason] : NULL;
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
		return words[row->reason];
	for (size_t i = 0; i < ARRAY_NR(calls); i++) {
		size_t len = strlen(calls[i]);

		if (strncmp(name, calls[i], len) == 0)
			return memmove(buf, name + len, strlen(name + len) + 1);
	}
	return "";
}

const char *report_reason(enum report_state state, const struct report_frame *frames, size_t nr,
			  char buf[REPORT_REASON_BYTES])
{
	const char *reason = "";

	if (state == REPORT_ON_CPU)
		return frames[0].function->is_kernel                               ? "kernel mode"
		       : strcmp(frames[0].function->name, REPORT_NOT_SAMPLED) == 0 ? "not sampled"
										   : "user mode";
	for (size_t i = 0; i < nr && state && frames[i].function->is_kernel && !*reason; i++)
		reason = reason_of(frames[i].function->name, buf);
	return reason;
}
