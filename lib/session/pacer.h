/*
 * A thread that calls a function at steady paces, on absolute deadlines. It reads misc events
 * between two boundaries, so that a slow disk delays no reading of another kind.
 */
#ifndef SESSION_PACER_H
#define SESSION_PACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Paces begin together, so that those of which one divides the other are due together. */
struct pacer_pace {
	uint64_t period_ns;
	uint64_t deadline_ns;
	bool is_due;
	uint64_t ticks;  /* deadlines at which tick read something */
	uint64_t missed; /* deadlines that had passed when the previous tick ended */
};

struct pacer {
	struct pacer_pace *paces; /* borrowed */
	size_t nr_paces;
	/* Called with the lock held when some paces are due; sets is_due to false where it read
	 * nothing. */
	void (*tick)(void *arg);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool is_running, is_stopping;
};

/* No thread yet. 0 or -errno. */
int pacer_init(struct pacer *p, void (*tick)(void *arg), void *arg);
void pacer_fini(struct pacer *p);
/* Starts the thread, with at least one pace; of each, period_ns is set and the rest is 0. Their
 * periods begin at origin_ns. Afterwards, the paces and the data of tick may be used only under the
 * lock. 0 or -errno. */
int pacer_start(struct pacer *p, struct pacer_pace *paces, size_t nr, uint64_t origin_ns);
/* Ends the thread; nothing if it does not run. */
void pacer_stop(struct pacer *p);

/* Something else was read at now_ns, which stands for the last deadline before; those before that,
 * at which the thread did not run, are missed now and not later. Under the lock. */
void pacer_pass(struct pacer_pace *pace, uint64_t now_ns);

void pacer_lock(struct pacer *p);
void pacer_unlock(struct pacer *p);

#endif
