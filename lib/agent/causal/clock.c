/*
 * Samples of each thread by its CPU time, and the sleeping by which it pays. A perf event sends the
 * signal exactly after each interval. Where this user may open none, a timer does, which the kernel
 * ends at its tick, and misses where threads take turns between ticks. So a sample stands for all
 * CPU time since the last one, not for one interval.
 *
 * In the handler all signals are blocked: a handler of the program that leaves by a jump would
 * leave a debt half changed.
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
	INTERVAL_NS = 1000000,
	FIRST_SIGNAL = 62, /* downwards; the agent of the heap begins at 63 */
	LAST_SIGNAL = 40,
	MAX_SLEEPS = 16,
	MAX_PERCENT = 100,
	MAX_FD = 1 << 16,
	COOKIE = 0x43415355,
};

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

/* False: nothing was owed. */
static bool pay(struct agent_thread *t)
{
	const uint64_t owed = causal_debts_owed(&t->debt, &agent.shared->all_ns);
	uint64_t begin, slept;

	if (!owed || agent_is_over())
		return false;
	begin = agent_now(CLOCK_MONOTONIC);
	sleep_until(begin + owed);
	slept = agent_now(CLOCK_MONOTONIC) - begin;
	causal_debts_slept(&t->debt, owed, slept);
	t->slept_ns += slept;
	return true;
}

/* What others run meanwhile is owed, too. But not for ever: one that runs may wait for this thread
 * without sleeping. */
void agent_pay(struct agent_thread *t)
{
	const int error = errno;
	int left = MAX_SLEEPS;

	if (__atomic_load_n(&agent.is_late, __ATOMIC_RELAXED))
		agent_find_again();
	if (!agent.shared || !t->is_on || t->is_busy ||
	    causal_debts_all(&agent.shared->all_ns) <= t->debt.paid_ns)
		return;
	t->is_busy = 1;
	while (pay(t) && --left)
		;
	agent_publish(t);
	t->is_busy = 0;
	errno = error;
}

void agent_woken(struct agent_thread *t, uint64_t since_ns, uint64_t slept_ns)
{
	const int error = errno;
	const uint64_t blocked = agent_now(CLOCK_MONOTONIC) - since_ns;
	const uint64_t slept = t->slept_ns - slept_ns;

	if (t->is_busy)
		return;
	t->is_busy = 1;
	causal_debts_woken(&t->debt, &agent.shared->all_ns, blocked > slept ? blocked - slept : 0);
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

static void sample(struct agent_thread *t, uintptr_t address)
{
	const uint64_t now = agent_now(CLOCK_THREAD_CPUTIME_ID), ns = now - t->cpu_ns;
	const uint64_t experiment = __atomic_load_n(&agent.shared->experiment, __ATOMIC_RELAXED);
	const uint32_t at = agent_find(address), percent = (uint32_t)(experiment >> 32);

	t->cpu_ns = now;
	__atomic_fetch_add(&agent.shared->sampled_ns, ns, __ATOMIC_RELAXED);
	if (at != CAUSAL_MEMORY_NONE)
		__atomic_fetch_add(&agent_candidates()[at].ns, ns, __ATOMIC_RELAXED);
	if (at != CAUSAL_MEMORY_NONE && at == (uint32_t)experiment && percent <= MAX_PERCENT &&
	    !agent_is_over())
		causal_debts_ran(&t->debt, &agent.shared->all_ns, ns, percent);
}

static bool is_ours(const struct agent_thread *t, const siginfo_t *info)
{
	return info->si_code == SI_TIMER
		   ? info->si_value.sival_int == COOKIE
		   : info->si_code == POLL_IN && t->has_fd && info->si_fd == t->fd;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct agent_thread *t = &agent_thread;
	const int error = errno;

	(void)number;
	/* one that finds a debt half changed is of the next sample's time */
	if (is_ours(t, info) && t->is_on && !t->is_busy) {
		t->is_busy = 1;
		sample(t, where(context));
		(void)pay(t);
		agent_publish(t);
		t->is_busy = 0;
	}
	errno = error;
}

/* --- the signal */

static int (*real_sigaction)(int number, const struct sigaction *action, struct sigaction *old);

/* The program has no handler of our signal, whatever it wants. */
AGENT_EXPORTED int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	if (!real_sigaction)
		real_sigaction = (__typeof__(real_sigaction))dlsym(RTLD_NEXT, "sigaction");
	if (!number || number != agent.signal)
		return real_sigaction(number, action, old);
	if (old)
		*old = (struct sigaction){.sa_handler = SIG_DFL};
	return 0;
}

AGENT_EXPORTED sighandler_t signal(int number, sighandler_t handler)
{
	static sighandler_t (*real)(int number, sighandler_t handler);

	if (number && number == agent.signal)
		return SIG_DFL;
	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "signal");
	return real(number, handler);
}

void agent_clock_init(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART},
			 before;

	sigfillset(&action.sa_mask);
	for (int number = FIRST_SIGNAL; number >= LAST_SIGNAL && !agent.signal; number--)
		if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
		    sigaction(number, &action, NULL) == 0)
			agent.signal = number;
}

/* --- what sends it */

/* Among the upper half of the descriptors that the program may have, of which most stay free. */
static int move_up(int fd)
{
	struct rlimit limit = {0};
	int moved;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > MAX_FD)
		limit.rlim_cur = MAX_FD;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, (int)limit.rlim_cur / 2);
	close(fd);
	if (moved < 0 || moved < (int)(limit.rlim_cur / 4 * 3))
		return moved;
	close(moved);
	return -1;
}

static bool open_event(struct agent_thread *t)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .sample_period = INTERVAL_NS,
				       .wakeup_events = 1,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
	const int opened =
	    (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	t->fd = opened < 0 ? -1 : move_up(opened);
	if (t->fd < 0)
		return false;
	t->has_fd = fcntl(t->fd, F_SETFL, O_RDONLY | O_ASYNC) == 0 &&
		    fcntl(t->fd, F_SETSIG, agent.signal) == 0 &&
		    fcntl(t->fd, F_SETOWN_EX, &owner) == 0 &&
		    ioctl(t->fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
	if (!t->has_fd)
		close(t->fd);
	return t->has_fd;
}

static bool make_timer(struct agent_thread *t)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = agent.signal};
	const struct itimerspec every = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};

	event.sigev_value.sival_int = COOKIE;
	event._sigev_un._tid = (int)syscall(SYS_gettid);
	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &t->timer))
		return false;
	t->has_timer = true;
	return syscall(SYS_timer_settime, t->timer, 0, &every, NULL) == 0;
}

void agent_clock_begin(uint64_t paid_ns)
{
	struct agent_thread *t = &agent_thread;
	const uint64_t set = agent.signal ? UINT64_C(1) << (agent.signal - 1) : 0;
	const int error = errno;

	t->cpu_ns = agent_now(CLOCK_THREAD_CPUTIME_ID);
	t->debt.paid_ns = paid_ns;
	t->is_on = agent.signal && (open_event(t) || make_timer(t));
	if (t->is_on)
		(void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set));
	__atomic_fetch_add(t->is_on ? &agent.shared->nr_threads : &agent.shared->nr_unsampled, 1,
			   __ATOMIC_RELAXED);
	agent_publish(t);
	errno = error;
}

void agent_clock_forget(void)
{
	struct agent_thread *t = &agent_thread;

	t->has_timer = false;
	if (t->has_fd)
		close(t->fd);
	t->has_fd = false;
}

/* The second number of "cpu_ns queued_ns slices". */
void agent_clock_count_queued(void)
{
	char text[128] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	const char *at = text;
	uint64_t ns = 0;

	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0) {
		while (*at && *at != ' ')
			at++;
		for (at += *at == ' '; *at >= '0' && *at <= '9'; at++)
			ns = ns * 10 + (uint64_t)(*at - '0');
	}
	close(fd);
	__atomic_fetch_add(&agent.shared->queued_ns, ns, __ATOMIC_RELAXED);
}

void agent_clock_end(void)
{
	struct agent_thread *t = &agent_thread;

	if (!t->is_on)
		return;
	agent_clock_count_queued();
	agent_pay(t);
	t->is_on = false;
	if (t->has_timer)
		(void)syscall(SYS_timer_delete, t->timer);
	agent_clock_forget();
}
