#include "attach/thread.h"

#include "attach/machine.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/root.h"
#include "proc/call.h"
#include "proc/keys.h"
#include "proc/proc.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	STOP_NS = 50000000,
	STEP_NS = 5000000000, /* between two system calls of a call */
	SPIN_NS = 2000000,
	TLS_BYTES = 4096,       /* on both sides of the thread pointer */
	CALL_BYTES = 256 << 10, /* of stack that a call uses */
};

struct state {
	struct attach_state own;
	bool is_called; /* its registers are not its own */
	uint8_t tls[2 * TLS_BYTES];
	uint64_t tls_at, tls_bytes;
};

/* --- waiting */

/* The status of a stop. False: it stops no more; its end, which may come meanwhile, remains. */
static bool take_stop(pid_t tid, int *status)
{
	siginfo_t info = {.si_pid = 0};

	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) || info.si_pid != tid)
		return false;
	*status = info.si_status << 8 | 0x7f; /* as waitpid has it */
	return true;
}

/* The status, within the time. The end of a process remains for its parent, which may be this one.
 * 0; -EAGAIN: it does not stop; -ESRCH: it has ended. */
static int await(pid_t tid, uint64_t limit_ns, int *status)
{
	const uint64_t start = clock_monotonic_ns();
	const struct timespec pause = {0, 50000};

	for (;;) {
		siginfo_t info = {.si_pid = 0};
		uint64_t past;

		if (waitid(P_PID, (id_t)tid, &info,
			   WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) &&
		    errno != EINTR)
			return -ESRCH;
		if (info.si_pid == tid && info.si_code != CLD_TRAPPED &&
		    info.si_code != CLD_STOPPED)
			return -ESRCH;
		if (info.si_pid == tid && take_stop(tid, status))
			return 0;
		past = clock_monotonic_ns() - start;
		if (past > limit_ns)
			return -EAGAIN;
		if (past < SPIN_NS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
}

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

static bool is_call_stop(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* --- the interrupted system call */

static bool has_pending_signal(pid_t tid)
{
	uint64_t pending = 0, shared = 0, blocked = 0;
	struct proc_key keys[] = {{"SigPnd", &pending, .kind = PROC_HEX},
				  {"ShdPnd", &shared, .kind = PROC_HEX},
				  {"SigBlk", &blocked, .kind = PROC_HEX}};

	return proc_keys_load(PROC(&root_live, (uint32_t)tid), "status", keys, ARRAY_NR(keys)) ==
		   0 &&
	       (pending | shared) & ~blocked;
}

/* Some calls end by any interruption, also by ours: they are repeated, unless a signal came. Not
 * those that have begun what goes on without them. */
static bool must_repeat(pid_t tid, const struct attach_state *st, struct user_regs_struct *out)
{
	static const int once[] = {SYS_connect, SYS_close};

	return attach_state_repeats(st, out) && !has_pending_signal(tid) &&
	       !ARRAY_ANY(x, once, ARRAY_NR(once), st->call == *x);
}

struct attach_waiting attach_waiting_of(pid_t tid)
{
	struct proc_call c;

	if (proc_call_load(PROC(&root_live, (uint32_t)tid), &c) || c.is_running || c.number < 0)
		return (struct attach_waiting){.number = -1};
	return (struct attach_waiting){c.number, c.argument[0], c.sp, c.pc};
}

void attach_repeat(pid_t tid, const struct attach_waiting *before)
{
	struct attach_state *st = mem_zalloc(sizeof(*st));
	struct user_regs_struct own;

	if (st) {
		st->before = *before;
		if (attach_state_take(st, tid) == 0 && must_repeat(tid, st, &own))
			(void)attach_regs_set(tid, &own);
	}
	mem_free(st);
}

/* --- stopping */

/* In a restartable sequence, or with a shadow of its stack, a thread is left alone. */
static bool has_sequence(pid_t tid)
{
	struct {
		uint64_t pointer;
		uint32_t size, signature, flags, pad;
	} rseq = {0};
	uint64_t section = 0;

	if (ptrace((enum __ptrace_request)0x420f /* PTRACE_GET_RSEQ_CONFIGURATION */, tid,
		   sizeof(rseq), &rseq) < 0 ||
	    !rseq.pointer)
		return false;
	errno = 0;
	section = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, rseq.pointer + 8, NULL);
	return errno || section;
}

/* From an earlier attempt, in which it did not stop. */
static bool is_ours(pid_t tid)
{
	uint64_t tracer;

	return proc_status_number(PROC(&root_live, (uint32_t)tid), "TracerPid", &tracer) &&
	       (tracer == (uint64_t)getpid() || tracer == (uint64_t)gettid());
}

static int take(struct attach_thread *t, int status, bool is_anywhere)
{
	struct state *st = t->state;

	if (!is_event_stop(status)) { /* a signal came first: it is delivered */
		ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)WSTOPSIG(status));
		return -EAGAIN;
	}
	if (attach_state_take(&st->own, t->tid) == 0 &&
	    (is_anywhere || (WSTOPSIG(status) == SIGTRAP && !has_sequence(t->tid))))
		return 0;
	ptrace(PTRACE_DETACH, t->tid, NULL, NULL); /* the process may be stopped */
	return -EAGAIN;
}

static int stop(struct attach_thread *t, pid_t tid, bool is_anywhere)
{
	struct state *st = mem_zalloc(sizeof(*st));
	int status, rc = 0;

	*t = (struct attach_thread){.tid = tid, .state = st};
	if (!st)
		return -ENOMEM;
	st->own.before = attach_waiting_of(tid);
	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD))
		rc = errno == EPERM && is_ours(tid) ? 0 : -errno;
	else
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	/* one that sleeps where nothing wakes it stays ours until it stops, or this thread ends */
	rc = rc ? rc : await(tid, STOP_NS, &status);
	rc = rc ? rc : take(t, status, is_anywhere);
	if (rc) {
		mem_free(st);
		t->state = NULL;
	}
	return rc;
}

int attach_thread_stop(struct attach_thread *t, pid_t tid)
{
	return stop(t, tid, false);
}

int attach_thread_halt(struct attach_thread *t, pid_t tid)
{
	return stop(t, tid, true);
}

void attach_thread_place(const struct attach_thread *t, struct attach_place *out)
{
	const struct state *st = t->state;

	attach_state_fill(&st->own, out);
	out->tls = st->own.tls;
	out->call = st->own.call;
}

/* Where the kernel looks at the result of the interrupted call, also for a signal's handler. */
static void return_exactly(struct attach_thread *t, const struct user_regs_struct *own)
{
	int status, sig = 0;

	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
	if (await(t->tid, STEP_NS, &status))
		return;
	if (!is_event_stop(status))
		sig = WSTOPSIG(status);
	(void)attach_regs_set(t->tid, own);
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)sig);
}

void attach_thread_release(struct attach_thread *t)
{
	struct state *st = t->state;
	struct user_regs_struct own, settled;

	if (!st)
		return;
	if (!st->is_called) {
		if (must_repeat(t->tid, &st->own, &own))
			(void)attach_regs_set(t->tid, &own);
		ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
	} else {
		/* at each moment it also goes on rightly alone */
		settled = attach_state_settled(&st->own);
		(void)ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(st->own.mask), &st->own.mask);
		attach_extended_set(t->tid, &st->own);
		(void)attach_regs_set(t->tid, &settled);
		if (!must_repeat(t->tid, &st->own, &own))
			own = st->own.regs;
		return_exactly(t, &own);
	}
	mem_free(st);
	t->state = NULL;
}

/* --- calls */

bool attach_find_ways(struct attach_space *s, struct attach_ways *out)
{
	const struct attach_object *loader = attach_space_of_kind(s, ATTACH_LOADER);

	*out = (struct attach_ways){0};
	if (!loader)
		return false;
	out->restorer = attach_restorer(s);
	out->returner = attach_returner(s);
	out->lock_start = loader->start;
	out->lock_end = loader->end;
	for (size_t i = 1; i < s->nr; i++) /* with the zeroed part of its data */
		if (s->mapping[i].start == out->lock_end && !s->mapping[i].inode &&
		    !*s->mapping[i].name)
			out->lock_end = s->mapping[i].end;
	return out->restorer;
}

static void remember_tls(const struct attach_space *s, struct state *st)
{
	const struct attach_mapping *m = attach_space_mapping(s, st->own.tls);
	uint64_t start = st->own.tls - TLS_BYTES, end = st->own.tls + TLS_BYTES;

	st->tls_bytes = 0;
	if (!m)
		return;
	st->tls_at = start > m->start ? start : m->start;
	end = end < m->end ? end : m->end;
	if (attach_space_read(s, st->tls_at, st->tls, end - st->tls_at))
		st->tls_bytes = end - st->tls_at;
}

/* The call is given up: what it wrote beside its stack are places in it, as where an error of the
 * loader goes on. */
static void repair_tls(const struct attach_space *s, const struct state *st, uint64_t sp)
{
	for (uint64_t i = 0; i + 8 <= st->tls_bytes; i += 8) {
		uint64_t before, now;

		memcpy(&before, st->tls + i, 8);
		if (attach_space_read(s, st->tls_at + i, &now, 8) && now != before &&
		    sp - now < CALL_BYTES)
			(void)attach_space_write(s, st->tls_at + i, &before, 8);
	}
}

/* Whether a call, which begins, waits for the loader. */
static bool waits_for_loader(const struct attach_entry *entry, const struct attach_ways *w)
{
	return entry->number == SYS_futex && entry->argument >= w->lock_start &&
	       entry->argument < w->lock_end;
}

static bool is_of_memory(uint64_t call)
{
	return call == SYS_futex || call == SYS_brk || call == SYS_mmap || call == SYS_munmap ||
	       call == SYS_mprotect || call == SYS_madvise || call == SYS_sched_yield ||
	       call == SYS_mremap;
}

/* Follows the call from one system call to the next until it returns. */
static int follow(struct attach_thread *t, struct attach_space *s, const struct attach_ways *w,
		  bool is_entry, uint64_t *result)
{
	struct state *st = t->state;
	struct attach_entry entry;
	bool has_lock = false;
	int status, rc;

	for (;; is_entry = !is_entry) {
		if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL))
			return -ESRCH;
		rc = await(t->tid, STEP_NS, &status);
		if (rc)
			return rc == -EAGAIN ? -ETIMEDOUT : rc;
		if (!is_call_stop(status)) {
			int sig = WSTOPSIG(status);

			/* none but those of errors are not blocked, and the stop of a process */
			if (!is_event_stop(status) &&
			    (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE))
				return -EFAULT;
			is_entry = !is_entry;
			continue;
		}
		if (!is_entry)
			continue;
		rc = attach_entry_of(t->tid, &entry);
		if (rc)
			return rc;
		if (entry.sp == st->own.return_sp &&
		    (st->own.has_result || entry.number == SYS_rt_sigreturn)) {
			*result = entry.result;
			return 0;
		}
		has_lock |= !is_of_memory(entry.number);
		if (!has_lock && waits_for_loader(&entry, w)) {
			t->lock = entry.argument;
			repair_tls(s, st, st->own.frame);
			return -EAGAIN;
		}
	}
}

static void abandon(struct attach_thread *t)
{
	int status;

	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	if (await(t->tid, STEP_NS, &status) == 0)
		ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
	mem_free(t->state);
	t->state = NULL;
}

/* Lets the interrupted system call begin again, and stops the thread there, if it must. 0; -EINTR:
 * a signal came first, and it is released; -errno. */
static int enter(struct attach_thread *t)
{
	struct state *st = t->state;
	int status, rc;

	if (!attach_state_must_enter(&st->own))
		return 0;
	if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL))
		return -ESRCH;
	rc = await(t->tid, STEP_NS, &status);
	if (rc)
		return rc == -EAGAIN ? -ETIMEDOUT : rc;
	if (is_call_stop(status)) {
		attach_state_entered(&st->own, t->tid);
		return 0;
	}
	ptrace(PTRACE_DETACH, t->tid, NULL,
	       (void *)(long)(is_event_stop(status) ? 0 : WSTOPSIG(status)));
	mem_free(st);
	t->state = NULL;
	return -EINTR;
}

/* Before the first call. */
static int prepare(struct attach_thread *t, struct attach_space *s)
{
	struct state *st = t->state;
	int rc = enter(t);

	rc = rc ? rc : attach_state_keep(&st->own, t->tid);
	if (rc == 0)
		remember_tls(s, st);
	return rc;
}

int attach_thread_call(struct attach_thread *t, struct attach_space *s, const struct attach_ways *w,
		       const struct attach_call *call)
{
	struct state *st = t->state;
	const uint64_t all = ~UINT64_C(0);
	struct attach_call with = *call;
	struct user_regs_struct r;
	uint64_t result = 0;
	bool is_entry;
	int rc;

	rc = st->is_called ? 0 : prepare(t, s);
	if (rc == -ETIMEDOUT)
		abandon(t);
	if (rc)
		return rc;
	if (call->result)
		*call->result = 0;
	if (with.has_mask)
		with.argument[1] = st->own.mask;
	if (!attach_frame_push(s, &st->own, w, &with, &r))
		return -EBUSY;
	/* after a system call's beginning comes its end, also if it is none */
	is_entry = !st->is_called && !st->own.is_within;
	/* at each moment the thread returns rightly alone */
	rc = attach_regs_set(t->tid, &r);
	if (rc)
		return rc;
	st->is_called = true;
	(void)ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(all), &all);
	rc = follow(t, s, w, is_entry, &result);
	if (rc == 0 && call->result)
		*call->result = result;
	if (rc == -ETIMEDOUT)
		abandon(t);
	return rc;
}
