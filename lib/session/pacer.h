/*
 * A thread that calls a function at a steady pace, on absolute deadlines. It reads misc events
 * during sampling, so that a slow disk delays no reading.
 */
#ifndef SESSION_PACER_H
#define SESSION_PACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct pacer {
	uint64_t period_ns;
	bool (*tick)(void *arg); /* with the lock held; true: something was read */
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool is_running, is_stopping;
	uint64_t ticks;  /* deadlines at which tick read something */
	uint64_t missed; /* deadlines that had passed before the one before was done */
};

/* No thread yet. 0 or -errno. */
int pacer_init(struct pacer *p, uint64_t period_ns, bool (*tick)(void *arg), void *arg);
void pacer_fini(struct pacer *p);
/* 0 or -errno. From here on what tick uses, and ticks and missed, are used under the lock alone. */
int pacer_start(struct pacer *p);
/* Ends the thread; nothing if it does not run. */
void pacer_stop(struct pacer *p);

/* A thread that leaves all signals to the others. 0 or -errno. */
int pacer_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg);

void pacer_lock(struct pacer *p);
void pacer_unlock(struct pacer *p);

#endif
