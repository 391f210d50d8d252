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
	bool (*tick)(void *arg); /* called with the lock held; true: something was read */
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool is_running, is_stopping;
	uint64_t ticks;  /* deadlines at which tick read something */
	uint64_t missed; /* deadlines that had passed when the previous tick ended */
};

/* No thread yet. 0 or -errno. */
int pacer_init(struct pacer *p, uint64_t period_ns, bool (*tick)(void *arg), void *arg);
void pacer_fini(struct pacer *p);
/* Starts the thread. Afterwards, ticks, missed and the data of tick may be used only under the
 * lock. 0 or -errno. */
int pacer_start(struct pacer *p);
/* Ends the thread; nothing if it does not run. */
void pacer_stop(struct pacer *p);

void pacer_lock(struct pacer *p);
void pacer_unlock(struct pacer *p);

#endif
