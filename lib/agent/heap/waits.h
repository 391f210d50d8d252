/*
 * The functions that may wait, and those that the program handles signals by: rows of the table of
 * wrappers.c.
 */
#ifndef AGENT_HEAP_WAITS_H
#define AGENT_HEAP_WAITS_H

#include "agent/heap/times.h"

/* --- waiting. IN_VAIN: a signal would end it also with SA_RESTART, or where the caller set a time
 * for it. */

#define WAITS_AS(interrupts)                                                                       \
	struct agent_wait wait_;                                                                   \
	const bool waits_ = AGENT_UNLIKELY(agent_wants_times());                                   \
                                                                                                   \
	if (waits_)                                                                                \
	agent_wait_begin(&wait_, AGENT_HERE, (uintptr_t)behind, interrupts)

#define WAITS         WAITS_AS(false)
#define WAITS_IN_VAIN WAITS_AS(true)

#define WAITED                                                                                     \
	if (waits_)                                                                                \
		agent_wait_end(&wait_);

/* Tries the lock first: where it is free, no clock is read. */
#define TRIES(try)                                                                                 \
	if (AGENT_UNLIKELY(agent_wants_times()) && REAL(try)) {                                    \
		int r_ = REAL(try)(of);                                                            \
                                                                                                   \
		if (r_ != AGENT_EBUSY)                                                             \
			return r_;                                                                 \
	}                                                                                          \
	WAITS

enum { AGENT_EBUSY = 16 };

/* --- sets of signals, of which the first word has all of them */

struct agent_signals {
	uint64_t word[16];
};

/* A copy of the set with our signal, or without it, in its place. */
#define CHANGED(set, change)                                                                       \
	struct agent_signals copy_;                                                                \
                                                                                                   \
	(set) = change(&copy_, (set))

#define WITHOUT_OURS(set) CHANGED(set, agent_signals_without)
#define WITH_OURS(set)    CHANGED(set, agent_signals_with)
#define WAITS_WITH_OURS(set)                                                                       \
	WITH_OURS(set);                                                                            \
	WAITS_IN_VAIN
#define WAITS_WITHOUT_OURS(set)                                                                    \
	WITHOUT_OURS(set);                                                                         \
	WAITS_IN_VAIN

/* Ours stays as it is; the program reads what it believes. */
#define MASKS(how, set)                                                                            \
	const struct agent_signals *wished_ = (set);                                               \
	CHANGED(set, agent_signals_without)
#define MASKED(how, old)                                                                           \
	if ((r) == 0)                                                                              \
		agent_signals_masked((how), wished_, (old));

/* The agent's own signal: the program's handler is remembered, the agent's stays in the kernel. */
#define IS_OURS(number) AGENT_UNLIKELY((number) && (number) == agent_times_signal())
#define HANDLES(number, handler)                                                                   \
	if (IS_OURS(number)) {                                                                     \
		void *was_ = (handler);                                                            \
                                                                                                   \
		if (agent_times_believe_handler(&was_))                                            \
			return was_;                                                               \
	}
#define HANDLES_BY(number, new, old)                                                               \
	if (IS_OURS(number) && agent_times_believe((new), (old)))                                  \
	return 0
#define IGNORES(number)                                                                            \
	void *ignored_ = (void *)1; /* SIG_IGN */                                                  \
                                                                                                   \
	if (IS_OURS(number) && agent_times_believe_handler(&ignored_))                             \
	return 0
#define LEAVES(number)                                                                             \
	if (IS_OURS(number))                                                                       \
	return 0
#define HOLDS(number, is_held)                                                                     \
	if (agent_signals_held((number), (is_held)))                                               \
	return 0

/* --- the rows: see wrappers.c */

/* The second is called by programs of 32 bits whose time has 64 (_TIME_BITS=64). */
#if defined(__i386__)
#define BOTH(X, type, name, wide, ...) X(type, name, __VA_ARGS__) X(type, wide, __VA_ARGS__)
#else
#define BOTH(X, type, name, wide, ...) X(type, name, __VA_ARGS__)
#endif

#define EACH_WAIT(X)                                                                               \
	/* time */                                                                                 \
	BOTH(X, int, nanosleep, __nanosleep64, (const void *time, void *rest), (time, rest),       \
	     WAITS_IN_VAIN, WAITED)                                                                \
	BOTH(X, int, clock_nanosleep, __clock_nanosleep_time64,                                    \
	     (int clock, int flags, const void *time, void *rest), (clock, flags, time, rest),     \
	     WAITS_IN_VAIN, WAITED)                                                                \
	X(int, usleep, (unsigned int us), (us), WAITS_IN_VAIN, WAITED)                             \
	X(unsigned int, sleep, (unsigned int seconds), (seconds), WAITS_IN_VAIN, WAITED)           \
	BOTH(X, int, thrd_sleep, __thrd_sleep64, (const void *time, void *rest), (time, rest),     \
	     WAITS_IN_VAIN, WAITED)                                                                \
	/* descriptors */                                                                          \
	X(int, poll, (void *fds, unsigned long nr, int ms), (fds, nr, ms), WAITS_IN_VAIN, WAITED)  \
	X(int, __poll_chk, (void *fds, unsigned long nr, int ms, size_t bytes),                    \
	  (fds, nr, ms, bytes), WAITS_IN_VAIN, WAITED)                                             \
	BOTH(X, int, ppoll, __ppoll64,                                                             \
	     (void *fds, unsigned long nr, const void *time, const void *mask),                    \
	     (fds, nr, time, mask), WAITS_WITH_OURS(mask), WAITED)                                 \
	X(int, __ppoll_chk,                                                                        \
	  (void *fds, unsigned long nr, const void *time, const void *mask, size_t bytes),         \
	  (fds, nr, time, mask, bytes), WAITS_WITH_OURS(mask), WAITED)                             \
	BOTH(X, int, select, __select64, (int nr, void *in, void *out, void *other, void *time),   \
	     (nr, in, out, other, time), WAITS_IN_VAIN, WAITED)                                    \
	BOTH(X, int, pselect, __pselect64,                                                         \
	     (int nr, void *in, void *out, void *other, const void *time, const void *mask),       \
	     (nr, in, out, other, time, mask), WAITS_WITH_OURS(mask), WAITED)                      \
	X(int, epoll_wait, (int fd, void *events, int nr, int ms), (fd, events, nr, ms),           \
	  WAITS_IN_VAIN, WAITED)                                                                   \
	X(int, epoll_pwait, (int fd, void *events, int nr, int ms, const void *mask),              \
	  (fd, events, nr, ms, mask), WAITS_WITH_OURS(mask), WAITED)                               \
	BOTH(X, int, epoll_pwait2, __epoll_pwait2_time64,                                          \
	     (int fd, void *events, int nr, const void *time, const void *mask),                   \
	     (fd, events, nr, time, mask), WAITS_WITH_OURS(mask), WAITED)                          \
	X(int, connect, (int fd, const void *address, unsigned int bytes), (fd, address, bytes),   \
	  WAITS_IN_VAIN, WAITED)                                                                   \
	X(int, flock, (int fd, int what), (fd, what), WAITS, WAITED)                               \
	X(int, lockf, (int fd, int what, long bytes), (fd, what, bytes), WAITS, WAITED)            \
	X(int, lockf64, (int fd, int what, int64_t bytes), (fd, what, bytes), WAITS, WAITED)       \
	X(int, fsync, (int fd), (fd), WAITS, WAITED)                                               \
	X(int, fdatasync, (int fd), (fd), WAITS, WAITED)                                           \
	/* processes */                                                                            \
	X(int, wait, (int *status), (status), WAITS, WAITED)                                       \
	X(int, waitpid, (int pid, int *status, int flags), (pid, status, flags), WAITS, WAITED)    \
	BOTH(X, int, wait3, __wait3_time64, (int *status, int flags, void *usage),                 \
	     (status, flags, usage), WAITS, WAITED)                                                \
	BOTH(X, int, wait4, __wait4_time64, (int pid, int *status, int flags, void *usage),        \
	     (pid, status, flags, usage), WAITS, WAITED)                                           \
	X(int, waitid, (int kind, unsigned int id, void *info, int flags),                         \
	  (kind, id, info, flags), WAITS, WAITED)                                                  \
	/* other threads */                                                                        \
	X(int, pthread_mutex_lock, (void *of), (of), TRIES(pthread_mutex_trylock), WAITED)         \
	BOTH(X, int, pthread_mutex_timedlock, __pthread_mutex_timedlock64,                         \
	     (void *of, const void *until), (of, until), WAITS, WAITED)                            \
	BOTH(X, int, pthread_mutex_clocklock, __pthread_mutex_clocklock64,                         \
	     (void *of, int clock, const void *until), (of, clock, until), WAITS, WAITED)          \
	X(int, pthread_rwlock_rdlock, (void *of), (of), TRIES(pthread_rwlock_tryrdlock), WAITED)   \
	X(int, pthread_rwlock_wrlock, (void *of), (of), TRIES(pthread_rwlock_trywrlock), WAITED)   \
	X(int, pthread_cond_wait, (void *of, void *mutex), (of, mutex), WAITS, WAITED)             \
	BOTH(X, int, pthread_cond_timedwait, __pthread_cond_timedwait64,                           \
	     (void *of, void *mutex, const void *until), (of, mutex, until), WAITS, WAITED)        \
	BOTH(X, int, pthread_cond_clockwait, __pthread_cond_clockwait64,                           \
	     (void *of, void *mutex, int clock, const void *until), (of, mutex, clock, until),     \
	     WAITS, WAITED)                                                                        \
	X(int, pthread_barrier_wait, (void *of), (of), WAITS, WAITED)                              \
	X(int, pthread_join, (unsigned long thread, void **result), (thread, result), WAITS,       \
	  WAITED)                                                                                  \
	BOTH(X, int, pthread_timedjoin_np, __pthread_timedjoin_np64,                               \
	     (unsigned long thread, void **result, const void *until), (thread, result, until),    \
	     WAITS, WAITED)                                                                        \
	X(int, thrd_join, (unsigned long thread, int *result), (thread, result), WAITS, WAITED)    \
	X(int, mtx_lock, (void *of), (of), WAITS, WAITED)                                          \
	X(int, cnd_wait, (void *of, void *mutex), (of, mutex), WAITS, WAITED)                      \
	BOTH(X, int, cnd_timedwait, __cnd_timedwait64, (void *of, void *mutex, const void *until), \
	     (of, mutex, until), WAITS, WAITED)                                                    \
	X(int, sem_wait, (void *of), (of), WAITS, WAITED)                                          \
	BOTH(X, int, sem_timedwait, __sem_timedwait64, (void *of, const void *until), (of, until), \
	     WAITS_IN_VAIN, WAITED)                                                                \
	BOTH(X, int, sem_clockwait, __sem_clockwait64, (void *of, int clock, const void *until),   \
	     (of, clock, until), WAITS_IN_VAIN, WAITED)                                            \
	/* other processes */                                                                      \
	X(int, semop, (int id, void *what, size_t nr), (id, what, nr), WAITS_IN_VAIN, WAITED)      \
	BOTH(X, int, semtimedop, __semtimedop64,                                                   \
	     (int id, void *what, size_t nr, const void *time), (id, what, nr, time),              \
	     WAITS_IN_VAIN, WAITED)                                                                \
	X(int, msgsnd, (int id, const void *from, size_t bytes, int flags),                        \
	  (id, from, bytes, flags), WAITS_IN_VAIN, WAITED)                                         \
	X(long, msgrcv, (int id, void *to, size_t bytes, long type, int flags),                    \
	  (id, to, bytes, type, flags), WAITS_IN_VAIN, WAITED)                                     \
	/* signals */                                                                              \
	X(int, pause, (void), (), WAITS_IN_VAIN, WAITED)                                           \
	X(int, sigsuspend, (const void *mask), (mask), WAITS_WITH_OURS(mask), WAITED)              \
	X(int, sigwait, (const void *set, int *number), (set, number), WAITS_WITHOUT_OURS(set),    \
	  WAITED)                                                                                  \
	X(int, sigwaitinfo, (const void *set, void *info), (set, info), WAITS_WITHOUT_OURS(set),   \
	  WAITED)                                                                                  \
	BOTH(X, int, sigtimedwait, __sigtimedwait64,                                               \
	     (const void *set, void *info, const void *time), (set, info, time),                   \
	     WAITS_WITHOUT_OURS(set), WAITED)                                                      \
	X(int, sigprocmask, (int how, const void *set, void *old), (how, set, old),                \
	  MASKS(how, set), MASKED(how, old))                                                       \
	X(int, pthread_sigmask, (int how, const void *set, void *old), (how, set, old),            \
	  MASKS(how, set), MASKED(how, old))                                                       \
	X(int, sigaction, (int number, const void *new, void *old), (number, new, old),            \
	  HANDLES_BY(number, new, old), NOTHING)                                                   \
	X(void *, signal, (int number, void *handler), (number, handler),                          \
	  HANDLES(number, handler), NOTHING)                                                       \
	X(void *, bsd_signal, (int number, void *handler), (number, handler),                      \
	  HANDLES(number, handler), NOTHING)                                                       \
	X(void *, __sysv_signal, (int number, void *handler), (number, handler),                   \
	  HANDLES(number, handler), NOTHING)                                                       \
	X(void *, sysv_signal, (int number, void *handler), (number, handler),                     \
	  HANDLES(number, handler), NOTHING)                                                       \
	X(void *, sigset, (int number, void *handler), (number, handler),                          \
	  HANDLES(number, handler), NOTHING)                                                       \
	X(int, sigignore, (int number), (number), IGNORES(number), NOTHING)                        \
	X(int, siginterrupt, (int number, int interrupts), (number, interrupts), LEAVES(number),   \
	  NOTHING)                                                                                 \
	X(int, sighold, (int number), (number), HOLDS(number, true), NOTHING)                      \
	X(int, sigrelse, (int number), (number), HOLDS(number, false), NOTHING)

/* Those that are only called. */
#define EACH_TRY(X)                                                                                \
	X(int, pthread_mutex_trylock, (void *))                                                    \
	X(int, pthread_rwlock_tryrdlock, (void *))                                                 \
	X(int, pthread_rwlock_trywrlock, (void *))

#endif
