/*
 * /proc/TID/syscall, schedstat, fd and the thread's stack.
 */
#include "session/seen.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/perf_abi.h"
#include "proc/call.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "session/delays.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	MAX_STACKS = 10, /* per call of seen_look */
	MAX_LOOKS = 32,
	MAX_PAUSE_NS = 1000000000,
	LINE_BYTES = 256,
	PAGE_BYTES = 4096, /* the least that memory is mapped by */
};

/* ---- which threads */

static struct seen_thread *slot_of(struct seen *s, uint32_t tid)
{
	return &s->slot[tid % SEEN_SLOTS];
}

void seen_switch(struct seen *s, uint32_t pid, uint32_t tid, bool is_blocked, uint64_t time_ns)
{
	struct seen_thread *t = slot_of(s, tid);

	if (t->tid == tid && time_ns <= t->switch_ns)
		return;
	*t = (struct seen_thread){
	    .pid = pid, .tid = tid, .is_blocked = is_blocked, .switch_ns = time_ns};
}

void seen_add(struct seen *s, uint32_t tid)
{
	struct seen_thread *t = slot_of(s, tid);

	if (t->tid != tid)
		*t = (struct seen_thread){.pid = TRACE_UNKNOWN, .tid = tid, .is_blocked = true};
}

struct tree {
	struct seen *seen;
	uint32_t pid[SEEN_SLOTS]; /* processes that were found; more than there are slots: no */
	size_t nr, at;
};

static int add_child(uint32_t pid, void *arg)
{
	struct tree *t = arg;

	if (t->nr == SEEN_SLOTS)
		return 1;
	t->pid[t->nr++] = pid;
	return 0;
}

static int add_thread(uint32_t tid, void *arg)
{
	const struct tree *t = arg;

	seen_add(t->seen, tid);
	(void)proc_each_child(PROC(t->seen->root, t->pid[t->at], tid), add_child, arg);
	return 0;
}

void seen_add_tree(struct seen *s, uint32_t pid)
{
	struct tree t = {.seen = s, .pid = {pid}, .nr = 1};

	for (; t.at < t.nr; t.at++)
		(void)proc_each_thread(PROC(s->root, t.pid[t.at]), add_thread, &t);
}

void seen_renew(struct seen *s)
{
	s->since_ns = clock_monotonic_ns();
	for (size_t i = 0; i < SEEN_SLOTS; i++) {
		struct seen_thread *t = &s->slot[i];

		*t = (struct seen_thread){.pid = t->pid, .tid = t->tid, .is_blocked = true};
	}
}

/* ---- where a thread is */

static bool read_call(const struct seen *s, uint32_t tid, struct proc_call *out)
{
	return proc_call_load(PROC(s->root, tid), out) == 0 && !out->is_running && out->sp &&
	       out->pc;
}

/* ---- why */

static const struct {
	long number;
	enum trace_reason reason;
} calls[] = {
#define CALL(name, reason)                                                                         \
	{                                                                                          \
		SYS_##name, TRACE_REASON_##reason                                                  \
	}
    CALL(nanosleep, SLEEP),
    CALL(clock_nanosleep, SLEEP),
    CALL(futex, FUTEX),
    CALL(epoll_pwait, EPOLL),
    CALL(ppoll, POLL),
    CALL(pselect6, SELECT),
    CALL(wait4, CHILD),
    CALL(waitid, CHILD),
    CALL(rt_sigtimedwait, SIGNAL),
    CALL(rt_sigsuspend, SIGNAL),
    CALL(flock, FILE_LOCK),
    CALL(semtimedop, SEMAPHORE),
    CALL(semop, SEMAPHORE),
    CALL(msgrcv, MESSAGE_QUEUE),
    CALL(msgsnd, MESSAGE_QUEUE),
    CALL(mq_timedreceive, MESSAGE_QUEUE),
    CALL(mq_timedsend, MESSAGE_QUEUE),
    CALL(accept, SOCKET),
    CALL(accept4, SOCKET),
    CALL(connect, SOCKET),
    CALL(recvfrom, SOCKET),
    CALL(recvmsg, SOCKET),
    CALL(recvmmsg, SOCKET),
    CALL(sendto, SOCKET),
    CALL(sendmsg, SOCKET),
    CALL(sendmmsg, SOCKET),
    CALL(fsync, DISK),
    CALL(fdatasync, DISK),
    CALL(sync, DISK),
    CALL(syncfs, DISK),
    CALL(io_getevents, DISK),
#ifdef SYS_io_uring_enter
    CALL(io_uring_enter, IO_URING),
#endif
#ifdef SYS_epoll_pwait2
    CALL(epoll_pwait2, EPOLL),
#endif
    {449, TRACE_REASON_FUTEX}, /* futex_waitv */
    {455, TRACE_REASON_FUTEX}, /* futex_wait */
#ifdef SYS_epoll_wait          /* those that younger machines do not have */
    CALL(epoll_wait, EPOLL),
    CALL(poll, POLL),
    CALL(select, SELECT),
    CALL(pause, SIGNAL),
    CALL(vfork, VFORK),
#endif
#undef CALL
};

/* Whose first argument is a file that decides what they wait for. */
static const long file_calls[] = {SYS_read,   SYS_write,   SYS_readv,   SYS_writev,
				  SYS_preadv, SYS_pwritev, SYS_pread64, SYS_pwrite64};

/* By the first letters of the link in /proc/PID/fd. */
static const struct {
	const char *name;
	enum trace_reason reason;
} files[] = {
    {"pipe:", TRACE_REASON_PIPE},
    {"socket:", TRACE_REASON_SOCKET},
    {"anon_inode:[eventfd]", TRACE_REASON_EVENTFD},
    {"anon_inode:[timerfd]", TRACE_REASON_TIMERFD},
    {"anon_inode:[signalfd]", TRACE_REASON_SIGNAL},
    {"anon_inode:inotify", TRACE_REASON_INOTIFY},
    {"/dev/pts/", TRACE_REASON_TERMINAL},
    {"/dev/tty", TRACE_REASON_TERMINAL},
};

static enum trace_reason reason_of_file(const struct seen *s, uint32_t tid, uint64_t fd)
{
	char name[32], link[LINE_BYTES];

	snprintf(name, sizeof(name), "fd/%" PRIu64, fd);
	if (proc_read_link(PROC(s->root, tid), name, link, sizeof(link)) < 0)
		return TRACE_REASON_CALL;
	for (size_t i = 0; i < ARRAY_NR(files); i++)
		if (strncmp(link, files[i].name, strlen(files[i].name)) == 0)
			return files[i].reason;
	return TRACE_REASON_FILE;
}

/* By a signal or a tracer, in whatever it did. */
static bool is_stopped(const struct seen *s, uint32_t tid)
{
	char text[PROC_STAT_BYTES];
	struct proc_stat stat;

	return proc_stat_load(PROC(s->root, tid), text, &stat, NULL, 0) == 0 &&
	       (stat.state == 'T' || stat.state == 't');
}

static enum trace_reason reason_of(const struct seen *s, uint32_t tid, const struct proc_call *c)
{
	if (is_stopped(s, tid))
		return TRACE_REASON_STOPPED;
	if (c->number < 0)
		return TRACE_REASON_PAGE_FAULT;
	for (size_t i = 0; i < ARRAY_NR(calls); i++)
		if (calls[i].number == c->number)
			return calls[i].reason;
	for (size_t i = 0; i < ARRAY_NR(file_calls); i++)
		if (file_calls[i] == c->number)
			return reason_of_file(s, tid, c->argument[0]);
	return TRACE_REASON_CALL;
}

/* ---- its stack */

#if defined(__x86_64__)
/* The instruction puts the address after it into rcx; rax is -ENOSYS until the call returns. */
static void set_regs(const struct proc_call *c, struct seen_wait *w)
{
	w->regs[PERF_REG_X86_SP] = c->sp;
	w->regs[PERF_REG_X86_IP] = c->pc;
	w->regs[PERF_REG_X86_CX] = c->number >= 0 ? c->pc : 0;
	w->regs[PERF_REG_X86_AX] = (uint64_t)-ENOSYS;
}
#elif defined(__aarch64__)
static void set_regs(const struct proc_call *c, struct seen_wait *w)
{
	w->regs[PERF_REG_ARM64_SP] = c->sp;
	w->regs[PERF_REG_ARM64_PC] = c->pc;
}
#endif

/* A program of 32 bits has other calls and registers. */
static bool is_usable(const struct proc_call *c)
{
	return c->sp > UINT32_MAX;
}

/* What can be read of the stack: it may end within the last pages. */
static uint32_t read_stack(struct seen *s, uint32_t tid, uint64_t sp)
{
	struct iovec to = {s->stack, s->stack_bytes};
	struct iovec from[SEEN_STACK_BYTES / PAGE_BYTES + 2];
	uint64_t at = sp, left = s->stack_bytes;
	unsigned long nr = 0;
	ssize_t len;

	while (left && nr < ARRAY_NR(from)) { /* a part is read whole, or not at all */
		uint64_t bytes = PAGE_BYTES - at % PAGE_BYTES;

		bytes = bytes < left ? bytes : left;
		from[nr++] = (struct iovec){(void *)(uintptr_t)at, (size_t)bytes}; // NOLINT
		at += bytes;
		left -= bytes;
	}
	len = process_vm_readv((pid_t)tid, &to, 1, from, nr, 0);
	return len > 0 ? (uint32_t)len & ~7u : 0;
}

/* The process of a thread; TRACE_UNKNOWN: it cannot be read. */
static uint32_t read_pid(const struct seen *s, uint32_t tid)
{
	uint64_t pid;

	return proc_status_number(PROC(s->root, tid), "Tgid", &pid) ? (uint32_t)pid : TRACE_UNKNOWN;
}

/* False: it is not blocked, not there any more, or not this user's to look at. */
static bool look(struct seen *s, struct seen_thread *t, struct seen_wait *w)
{
	struct reading before;
	struct proc_call c;

	if (t->pid == TRACE_UNKNOWN)
		t->pid = read_pid(s, t->tid);
	*w = (struct seen_wait){.pid = t->pid, .tid = t->tid};
	if (!delays_read_thread(s->root, t->tid, &before))
		return false;
	w->time_ns = clock_monotonic_ns(); /* it may be woken after the call is read */
	if (!read_call(s, t->tid, &c))
		return false;
	w->has_stack = before.running_ns != t->runs;
	if (w->has_stack && !is_usable(&c))
		return false;
	if (w->has_stack) {
		w->reason = reason_of(s, t->tid, &c);
		w->stack = s->stack;
		w->stack_bytes = read_stack(s, t->tid, c.sp);
		w->regs_abi = PERF_SAMPLE_REGS_ABI_64;
		set_regs(&c, w);
	}
	if (!delays_read_thread(s->root, t->tid, &w->delay) || (w->has_stack && !w->stack_bytes))
		return false;
	return w->delay.running_ns == before.running_ns; /* it has not run meanwhile */
}

/* The older a wait is, the longer the pause to the next look. */
static uint64_t next_due(const struct seen *s, const struct seen_thread *t, uint64_t now_ns)
{
	uint64_t since_ns = t->switch_ns ? t->switch_ns : s->since_ns;
	uint64_t pause_ns = since_ns ? (now_ns - since_ns) / 4 : MAX_PAUSE_NS;

	pause_ns = pause_ns < SEEN_PERIOD_NS ? SEEN_PERIOD_NS : pause_ns;
	return now_ns + (pause_ns < MAX_PAUSE_NS ? pause_ns : MAX_PAUSE_NS);
}

void seen_look(struct seen *s, uint64_t now_ns, seen_fn *fn, void *arg)
{
	unsigned stacks = 0, looks = 0;

	s->due_ns = now_ns + SEEN_PERIOD_NS;
	/* the next call goes on behind the last one */
	for (size_t i = 0; i < SEEN_SLOTS && looks < MAX_LOOKS && stacks < MAX_STACKS; i++) {
		struct seen_thread *t = &s->slot[s->next++ % SEEN_SLOTS];
		struct seen_wait w;

		if (!t->tid || !t->is_blocked || now_ns < t->due_ns)
			continue;
		looks++;
		t->due_ns = next_due(s, t, now_ns);
		if (!look(s, t, &w))
			continue;
		stacks += w.has_stack;
		t->runs = w.delay.running_ns;
		fn(arg, &w);
	}
}
