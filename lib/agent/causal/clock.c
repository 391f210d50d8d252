/*
 * Samples of each thread by its CPU time, and the sleeping by which it pays. A perf event sends the
 * signal exactly after each interval. Where this user may open none, a timer does, which the kernel
 * ends at its tick, and misses where threads take turns between ticks. So a sample stands for all
 * CPU time since the last one, not for one interval.
 *
 * In the handler all signals are blocked: a handler of the program that leaves by a jump would
 * leave a debt half changed.
 *
 * In a process that runs already each thread ends it at its next signal when the recorder has died.
 */
#include "agent/causal/agent.h"
#include "base/perf_abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	FIRST_SIGNAL = 60, /* downwards; the agent of the heap begins at 63, and Java has 62 */
	LAST_SIGNAL = 40,
	MAX_SLEEPS = 16,
	MAX_PERCENT = 100,
	DIGITS = 10, /* of a thread's number */
};

static uint32_t nr_inside; /* the handler */

uint64_t agent_now(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void agent_publish(const struct agent_thread *t)
{
	if (t->is_first)
		__atomic_store_n(&agent.shared->behind_ns, causal_debts_behind(&t->debt),
				 __ATOMIC_RELAXED);
}

/* Ends also when the recorder dies: the kernel then wakes one of those who wait for its word, which
 * wakes the others. */
static void sleep_until(uint64_t ns)
{
	const struct timespec at = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	uint32_t *owner = &agent.shared->owner, was;
	long rc;

	do {
		was = __atomic_load_n(owner, __ATOMIC_RELAXED);
		if (was & CAUSAL_MEMORY_DIED) {
			(void)syscall(SYS_futex, owner, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
			return;
		}
		rc = syscall(SYS_futex, owner, FUTEX_WAIT_BITSET, was, &at, NULL,
			     FUTEX_BITSET_MATCH_ANY);
	} while (rc == 0 || errno == EINTR || errno == EAGAIN);
}

/* It was behind by so much before. */
static void count_paid(const struct agent_thread *t, uint64_t before_ns)
{
	const uint64_t now_ns = causal_debts_behind(&t->debt);

	if (now_ns > before_ns && agent.nr_regions)
		agent_regions_paid(t, now_ns - before_ns);
}

/* False: nothing was owed. */
static bool pay(struct agent_thread *t)
{
	const uint64_t before = causal_debts_behind(&t->debt),
		       owed = causal_debts_owed(&t->debt, &agent.shared->all_ns);
	uint64_t begin, slept;

	if (!owed || agent_is_over())
		return false;
	begin = agent_now(CLOCK_MONOTONIC);
	sleep_until(begin + owed);
	slept = agent_now(CLOCK_MONOTONIC) - begin;
	causal_debts_slept(&t->debt, owed, slept);
	count_paid(t, before);
	t->slept_ns += slept;
	return true;
}

/* What others run meanwhile is owed, too. But not for ever: one that runs may wait for this thread
 * without sleeping. */
void agent_pay(void)
{
	struct agent_thread *t;
	const int error = errno;
	int left = MAX_SLEEPS;

	if (__atomic_load_n(&agent.is_late, __ATOMIC_RELAXED))
		agent_find_again();
	t = agent_here();
	if (!t || t->is_busy || causal_debts_all(&agent.shared->all_ns) <= t->debt.paid_ns)
		return;
	t->is_busy = 1;
	while (pay(t) && --left)
		;
	agent_publish(t);
	t->is_busy = 0;
	errno = error;
}

/* Of another session it knows nothing any more. */
void agent_woken(struct agent_thread *t, uint64_t since_ns, uint64_t slept_ns)
{
	const int error = errno;
	const uint64_t blocked = agent_now(CLOCK_MONOTONIC) - since_ns;
	const uint64_t slept = t->slept_ns - slept_ns;
	uint64_t before;

	if (t->is_busy || !t->is_on || t->session != agent.session)
		return;
	t->is_busy = 1;
	before = causal_debts_behind(&t->debt);
	causal_debts_woken(&t->debt, &agent.shared->all_ns, blocked > slept ? blocked - slept : 0);
	count_paid(t, before);
	agent_publish(t);
	t->is_busy = 0;
	errno = error;
}

static uintptr_t where(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
	return (uintptr_t)context->uc_mcontext.pc;
#endif
}

/* The candidates that run at the address; how many. */
static uint32_t find_candidates(const struct agent_thread *t, uintptr_t address,
				uint32_t out[CAUSAL_OPEN_MAX])
{
	if (agent.are_regions)
		return agent_regions_open(t, out);
	*out = agent_find(address);
	return *out != CAUSAL_MEMORY_NONE;
}

static void sample(struct agent_thread *t, uintptr_t address)
{
	const uint64_t now = agent_now(CLOCK_THREAD_CPUTIME_ID), ns = now - t->cpu_ns;
	const uint64_t experiment = __atomic_load_n(&agent.shared->experiment, __ATOMIC_RELAXED);
	const uint32_t percent = (uint32_t)(experiment >> 32);
	const uint64_t before = causal_debts_behind(&t->debt);
	uint32_t found[CAUSAL_OPEN_MAX];
	const uint32_t nr = find_candidates(t, address, found);
	bool is_tried = false;

	t->cpu_ns = now;
	__atomic_fetch_add(&agent.shared->sampled_ns, ns, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < nr; i++) {
		__atomic_fetch_add(&agent_candidates()[found[i]].ns, ns, __ATOMIC_RELAXED);
		is_tried |= found[i] == (uint32_t)experiment;
	}
	if (is_tried && percent <= MAX_PERCENT && !agent_is_over())
		causal_debts_ran(&t->debt, &agent.shared->all_ns, ns, percent);
	count_paid(t, before);
}

static bool is_ours(const struct agent_thread *t, const siginfo_t *info)
{
	return info->si_code == SI_TIMER
		   ? info->si_value.sival_int == AGENT_COOKIE
		   : info->si_code == POLL_IN && t->source &&
			 1 + (uint32_t)info->si_fd ==
			     __atomic_load_n(&t->source->fd, __ATOMIC_RELAXED);
}

/* Each one that has arrived, also if it is no sample. */
static void count_signal(struct agent_thread *t)
{
	if (++t->nr_signals % AGENT_SIGNALS == 0 && t->source)
		agent_source_allow(t->source);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct agent_thread *t = &agent_thread;
	const int error = errno;
	bool is_on, is_its;

	(void)number;
	__atomic_fetch_add(&nr_inside, 1, __ATOMIC_SEQ_CST);
	is_on = agent_here() != NULL;
	is_its = is_ours(t, info);
	if (is_its)
		count_signal(t);
	/* one that finds a debt half changed is of the next sample's time */
	if (is_on && is_its && !t->is_busy) {
		t->is_busy = 1;
		sample(t, where(context));
		(void)pay(t);
		agent_publish(t);
		if (t->session && agent_is_over()) {
			t->is_on = false;
			agent_source_leave(t->source);
		}
		t->is_busy = 0;
	}
	__atomic_fetch_sub(&nr_inside, 1, __ATOMIC_SEQ_CST);
	errno = error;
}

void agent_clock_forget(void)
{
	__atomic_store_n(&nr_inside, 0, __ATOMIC_SEQ_CST);
}

bool agent_clock_is_inside(void)
{
	return __atomic_load_n(&nr_inside, __ATOMIC_SEQ_CST) > 0;
}

/* --- the signal */

static int (*real_sigaction)(int number, const struct sigaction *action, struct sigaction *old);

/* The action that the program wants of our signal. */
static struct sigaction wanted = {.sa_handler = SIG_DFL};

/* The program has no handler of our signal, until the session is over. */
AGENT_EXPORTED int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	if (!real_sigaction)
		(void)agent_behind((void **)&real_sigaction, "sigaction");
	if (!number || number != agent.signal)
		return real_sigaction(number, action, old);
	if (old)
		*old = wanted;
	if (action)
		wanted = *action;
	return 0;
}

AGENT_EXPORTED sighandler_t signal(int number, sighandler_t handler)
{
	static sighandler_t (*real)(int number, sighandler_t handler);
	const sighandler_t before = wanted.sa_handler;

	if (number && number == agent.signal) {
		wanted = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
		return before;
	}
	if (!real)
		(void)agent_behind((void **)&real, "signal");
	return real(number, handler);
}

bool agent_clock_take(const uint32_t *nr_blocking)
{
	struct sigaction action = {.sa_sigaction = on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK},
			 before;
	int best = 0;

	if (agent.signal)
		return true;
	sigfillset(&action.sa_mask);
	for (int number = FIRST_SIGNAL; number >= LAST_SIGNAL; number--)
		if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
		    (!best || nr_blocking[number] < nr_blocking[best]))
			best = number;
	if (!best || sigaction(best, &action, NULL))
		return false;
	agent.signal = best;
	return true;
}

void agent_clock_give_back(void)
{
	const int number = agent.signal;

	agent.signal = 0;
	(void)sigaction(number, &wanted, NULL);
	wanted = (struct sigaction){.sa_handler = SIG_DFL};
}

/* --- threads */

void agent_clock_begin(uint64_t paid_ns)
{
	struct agent_thread *t = &agent_thread;
	const int error = errno;
	uint64_t set;

	t->session = __atomic_load_n(&agent.session, __ATOMIC_SEQ_CST);
	t->cpu_ns = agent_now(CLOCK_THREAD_CPUTIME_ID);
	t->debt.paid_ns = paid_ns;
	t->source =
	    agent_may_begin() ? agent_source_open((pid_t)syscall(SYS_gettid), t->session) : NULL;
	if (t->source)
		agent_regions_begin(t, false);
	t->is_on = t->source;
	if (t->is_on) {
		agent_source_allow(t->source);
		set = UINT64_C(1) << (t->source->signal - 1);
		(void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set));
	}
	agent_publish(t);
	errno = error;
}

/* Not while it changes a debt of the session before: then later. */
void agent_clock_renew(struct agent_thread *t)
{
	const uint32_t session = __atomic_load_n(&agent.session, __ATOMIC_SEQ_CST);
	const int error = errno;

	if (t->is_busy)
		return;
	t->is_busy = 1;
	t->is_on = false;
	t->source = agent_is_measuring() ? agent_source_find((pid_t)syscall(SYS_gettid)) : NULL;
	if (t->source) {
		agent_source_allow(t->source);
		t->cpu_ns = agent_now(CLOCK_THREAD_CPUTIME_ID);
		t->debt = (struct causal_debt){causal_debts_all(&agent.shared->all_ns), 0};
		agent_regions_begin(t, true);
		t->is_on = true;
	}
	t->session = session;
	t->is_busy = 0;
	errno = error;
}

/* Adds the second number of "cpu_ns queued_ns slices", of a thread that may have ended. */
static void count_queued(const char *path)
{
	char text[128] = "";
	const int fd = agent_file_open(AT_FDCWD, path, 0);
	const char *at = text;
	uint64_t ns = 0;

	if (fd < 0)
		return;
	if (agent_file_read(fd, text, sizeof(text) - 1) > 0) {
		while (*at && *at != ' ')
			at++;
		for (at += *at == ' '; *at >= '0' && *at <= '9'; at++)
			ns = ns * 10 + (uint64_t)(*at - '0');
	}
	agent_file_close(fd);
	__atomic_fetch_add(&agent.shared->queued_ns, ns, __ATOMIC_RELAXED);
}

static void count_queued_of(uint32_t tid)
{
	static const char before[] = "/proc/self/task/", behind[] = "/schedstat";
	char path[sizeof(before) + DIGITS + sizeof(behind)], digits[DIGITS];
	size_t nr = 0, at = sizeof(before) - 1;

	for (; tid; tid /= 10)
		digits[nr++] = (char)('0' + tid % 10);
	memcpy(path, before, at);
	while (nr)
		path[at++] = digits[--nr];
	memcpy(path + at, behind, sizeof(behind));
	count_queued(path);
}

void agent_clock_end(void)
{
	struct agent_thread *t = agent_here();

	if (!t)
		return;
	agent_pay();
	t = agent_here(); /* the session may have ended meanwhile */
	if (!t)
		return;
	count_queued("/proc/thread-self/schedstat");
	t->is_on = false;
	agent_source_leave(t->source);
}

void agent_clock_end_all(void)
{
	uint32_t tid;

	for (uint32_t at = 0; (tid = agent_source_next(&at)) != 0;)
		count_queued_of(tid);
}
