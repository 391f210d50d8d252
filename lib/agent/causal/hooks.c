/*
 * What threads call to wait for each other, and to wake. Who wakes pays before; who was woken by
 * another thread, or by the end of a process, is spared what was paid meanwhile. Other waits, as
 * for files and timers, end from outside, and are not here.
 *
 * What stands behind is found by name. The prototypes are those of the C library but for types of
 * pointers, so its headers are not included.
 */
#include "agent/causal/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#define IF_0(r)   ((r) == 0)
#define IF_PID(r) ((r) > 0)
#define ALWAYS(r) ((void)(r), true)

/* type, name, parameters, arguments, whether it wakes others, whether its wait was ended by them */
#define WAITS(X)                                                                                   \
	X(int, pthread_rwlock_rdlock, (void *of), (of), 0, IF_0)                                   \
	X(int, pthread_rwlock_wrlock, (void *of), (of), 0, IF_0)                                   \
	X(int, pthread_mutex_timedlock, (void *of, const void *until), (of, until), 0, IF_0)       \
	X(int, pthread_cond_wait, (void *of, void *mutex), (of, mutex), 1, IF_0)                   \
	X(int, pthread_cond_timedwait, (void *of, void *mutex, const void *until),                 \
	  (of, mutex, until), 1, IF_0)                                                             \
	X(int, pthread_cond_clockwait, (void *of, void *mutex, int clock, const void *until),      \
	  (of, mutex, clock, until), 1, IF_0)                                                      \
	X(int, pthread_barrier_wait, (void *of), (of), 1, AS_WOKEN)                                \
	X(int, pthread_join, (unsigned long thread, void **result), (thread, result), 0, IF_0)     \
	X(int, mtx_lock, (void *of), (of), 0, IF_0) /* C11's call others within the library */     \
	X(int, mtx_timedlock, (void *of, const void *until), (of, until), 0, IF_0)                 \
	X(int, cnd_wait, (void *of, void *mutex), (of, mutex), 1, IF_0)                            \
	X(int, cnd_timedwait, (void *of, void *mutex, const void *until), (of, mutex, until), 1,   \
	  IF_0)                                                                                    \
	X(int, thrd_join, (unsigned long thread, int *result), (thread, result), 0, IF_0)          \
	X(int, sem_wait, (void *of), (of), 0, IF_0)                                                \
	X(int, sem_timedwait, (void *of, const void *until), (of, until), 0, IF_0)                 \
	X(int, sem_clockwait, (void *of, int clock, const void *until), (of, clock, until), 0,     \
	  IF_0)                                                                                    \
	X(int, sigsuspend, (const void *mask), (mask), 0, ALWAYS) /* shells, for children */       \
	X(int, wait, (int *status), (status), 0, IF_PID)                                           \
	X(int, waitpid, (int pid, int *status, int flags), (pid, status, flags), 0, IF_PID)        \
	X(int, wait3, (int *status, int flags, void *usage), (status, flags, usage), 0, IF_PID)    \
	X(int, wait4, (int pid, int *status, int flags, void *usage), (pid, status, flags, usage), \
	  0, IF_PID)                                                                               \
	X(int, waitid, (int kind, unsigned int id, void *info, int flags),                         \
	  (kind, id, info, flags), 0, IF_0)
#define AS_WOKEN(r) ((r) <= 0) /* PTHREAD_BARRIER_SERIAL_THREAD is -1 */

#define WAKES(X)                                                                                   \
	X(int, pthread_mutex_unlock, (void *of), (of))                                             \
	X(int, pthread_rwlock_unlock, (void *of), (of))                                            \
	X(int, pthread_cond_signal, (void *of), (of))                                              \
	X(int, pthread_cond_broadcast, (void *of), (of))                                           \
	X(int, mtx_unlock, (void *of), (of))                                                       \
	X(int, cnd_signal, (void *of), (of))                                                       \
	X(int, cnd_broadcast, (void *of), (of))                                                    \
	X(int, sem_post, (void *of), (of))

void *agent_behind(void **at, const char *name)
{
	void *found = __atomic_load_n(at, __ATOMIC_RELAXED);

	if (!found) {
		found = agent.is_beside ? agent_find_beside(name) : dlsym(RTLD_NEXT, name);
		__atomic_store_n(at, found, __ATOMIC_RELAXED);
	}
	return found;
}
#define FIND(name) AGENT_BEHIND(name)

#define DEFINE_WAIT(type, name, parameters, arguments, wakes, is_woken)                            \
	static type(*real_##name) parameters;                                                      \
	AGENT_EXPORTED type name parameters;                                                       \
	AGENT_EXPORTED type name parameters                                                        \
	{                                                                                          \
		struct agent_thread *t = agent_here();                                             \
		uint64_t since, slept;                                                             \
		type r;                                                                            \
                                                                                                   \
		if (!t)                                                                            \
			return FIND(name) arguments;                                               \
		if (wakes)                                                                         \
			agent_pay();                                                               \
		slept = t->slept_ns;                                                               \
		since = agent_now(CLOCK_MONOTONIC);                                                \
		r = FIND(name) arguments;                                                          \
		if (is_woken(r))                                                                   \
			agent_woken(t, since, slept);                                              \
		return r;                                                                          \
	}

#define DEFINE_WAKE(type, name, parameters, arguments)                                             \
	static type(*real_##name) parameters;                                                      \
	AGENT_EXPORTED type name parameters;                                                       \
	AGENT_EXPORTED type name parameters                                                        \
	{                                                                                          \
		agent_pay();                                                                       \
		return FIND(name) arguments;                                                       \
	}

WAITS(DEFINE_WAIT)
WAKES(DEFINE_WAKE)

/* One that is free costs no look at the clock. It is also taken where its owner has died
 * (EOWNERDEAD). */
static int (*real_pthread_mutex_lock)(void *of);
static int (*real_pthread_mutex_trylock)(void *of);
AGENT_EXPORTED int pthread_mutex_lock(void *of);
AGENT_EXPORTED int pthread_mutex_lock(void *of)
{
	struct agent_thread *t = agent_here();
	uint64_t since, slept;
	int r;

	if (!t)
		return FIND(pthread_mutex_lock)(of);
	r = FIND(pthread_mutex_trylock)(of);
	if (r != EBUSY)
		return r;
	slept = t->slept_ns;
	since = agent_now(CLOCK_MONOTONIC);
	r = FIND(pthread_mutex_lock)(of);
	if (r == 0)
		agent_woken(t, since, slept);
	return r;
}

/* --- threads */

enum { MAX_STARTS = 1024 };

/* What a new thread receives. */
struct start {
	uint32_t is_taken;
	void *(*function)(void *); /* of pthreads, or */
	int (*other)(void *);      /* of C11 */
	void *arg;
	uint64_t paid_ns;
	uint32_t session;
};

static struct start starts[MAX_STARTS];
static unsigned end_key;
static bool has_key;

extern int pthread_key_create(unsigned *key, void (*destructor)(void *));
extern int pthread_setspecific(unsigned key, const void *value);

/* However the thread ends. */
static void on_end(void *arg)
{
	(void)arg;
	agent_clock_end();
}

/* In the new thread. */
static struct start begin_thread(struct start *s)
{
	const struct start start = *s;

	__atomic_store_n(&s->is_taken, 0, __ATOMIC_RELEASE);
	if (start.session == __atomic_load_n(&agent.session, __ATOMIC_RELAXED))
		agent_clock_begin(start.paid_ns);
	if (has_key)
		(void)pthread_setspecific(end_key, &agent_thread);
	return start;
}

static void *run(void *of)
{
	const struct start start = begin_thread(of);

	return start.function(start.arg);
}

static int run_other(void *of)
{
	const struct start start = begin_thread(of);

	return start.other(start.arg);
}

static struct start *take_start(void)
{
	for (size_t i = 0; i < MAX_STARTS; i++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&starts[i].is_taken, &none, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &starts[i];
	}
	return NULL;
}

/* NULL: the thread is not sampled. */
static struct start *make_start(void *arg)
{
	struct agent_thread *t = agent_here();
	struct start *s = agent_may_begin() ? take_start() : NULL;

	if (!s) {
		if (agent_is_measuring())
			__atomic_fetch_add(&agent.shared->nr_unsampled, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	agent_pay();
	s->arg = arg;
	s->session = agent.session;
	s->paid_ns = t ? t->debt.paid_ns : causal_debts_all(&agent.shared->all_ns);
	return s;
}

static int started(struct start *s, int r)
{
	if (r)
		__atomic_store_n(&s->is_taken, 0, __ATOMIC_RELEASE);
	return r;
}

static int (*real_pthread_create)(unsigned long *thread, const void *attributes,
				  void *(*function)(void *), void *arg);
AGENT_EXPORTED int pthread_create(unsigned long *thread, const void *attributes,
				  void *(*function)(void *), void *arg);
AGENT_EXPORTED int pthread_create(unsigned long *thread, const void *attributes,
				  void *(*function)(void *), void *arg)
{
	struct start *s = make_start(arg);

	if (!s)
		return FIND(pthread_create)(thread, attributes, function, arg);
	s->function = function;
	return started(s, FIND(pthread_create)(thread, attributes, run, s));
}

static int (*real_thrd_create)(unsigned long *thread, int (*function)(void *), void *arg);
AGENT_EXPORTED int thrd_create(unsigned long *thread, int (*function)(void *), void *arg);
AGENT_EXPORTED int thrd_create(unsigned long *thread, int (*function)(void *), void *arg)
{
	struct start *s = make_start(arg);

	if (!s)
		return FIND(thrd_create)(thread, function, arg);
	s->other = function;
	return started(s, FIND(thrd_create)(thread, run_other, s));
}

/* --- signals: that of the samples stays unblocked */

static uint64_t without(const void *set, int number)
{
	return *(const uint64_t *)set & ~(UINT64_C(1) << (number - 1));
}

/* The C library's sets are longer than the kernel's. */
struct set {
	uint64_t word[16];
};

#define DEFINE_MASK(name)                                                                          \
	static int (*real_##name)(int how, const void *set, void *old);                            \
	AGENT_EXPORTED int name(int how, const void *set, void *old);                              \
	AGENT_EXPORTED int name(int how, const void *set, void *old)                               \
	{                                                                                          \
		const int ours = __atomic_load_n(&agent.signal, __ATOMIC_RELAXED);                 \
		struct set other = {{0}};                                                          \
                                                                                                   \
		if (!set || !ours || how == 1 /* SIG_UNBLOCK */)                                   \
			return FIND(name)(how, set, old);                                          \
		other.word[0] = without(set, ours);                                                \
		return FIND(name)(how, &other, old);                                               \
	}

DEFINE_MASK(pthread_sigmask)
DEFINE_MASK(sigprocmask)

#define FIND_WAIT(type, name, parameters, arguments, wakes, is_woken) (void)FIND(name);
#define FIND_WAKE(type, name, parameters, arguments)                  (void)FIND(name);

void agent_hooks_init(void)
{
	WAITS(FIND_WAIT)
	WAKES(FIND_WAKE)
	(void)FIND(pthread_mutex_lock);
	(void)FIND(pthread_mutex_trylock);
	(void)FIND(pthread_create);
	(void)FIND(thrd_create);
	(void)FIND(pthread_sigmask);
	(void)FIND(sigprocmask);
	has_key = pthread_key_create(&end_key, on_end) == 0;
}
