/*
 * Libraries that run in our threads (libdw, the demangler) expect the default of most systems.
 */
#include "base/thread.h"

#include <signal.h>
#include <time.h>

enum { STACK_BYTES = 8 << 20, NS_PER_S = 1000000000 };

int thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return -rc;
	rc =
	    pthread_attr_setstacksize(&attr, STACK_BYTES) ?: pthread_create(thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return -rc;
}

int thread_start_blocked(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = thread_start(thread, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int rc = pthread_condattr_init(&attr);

	if (rc)
		return -rc;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc = pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return -rc;
}

int thread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
	struct timespec t = {.tv_sec = (time_t)(until_ns / NS_PER_S),
			     .tv_nsec = (long)(until_ns % NS_PER_S)};

	if (until_ns == UINT64_MAX)
		return -pthread_cond_wait(cond, lock);
	return -pthread_cond_timedwait(cond, lock, &t);
}
