/*
 * A thread that calls a function at a steady pace.
 */
#include "session/pacer.h"

#include "base/clock.h"
#include "base/thread.h"

int pacer_init(struct pacer *p, uint64_t period_ns, bool (*tick)(void *arg), void *arg)
{
	*p = (struct pacer){.period_ns = period_ns, .tick = tick, .arg = arg};
	return thread_cond_init(&p->wake) ?: -pthread_mutex_init(&p->lock, NULL);
}

void pacer_fini(struct pacer *p)
{
	pacer_stop(p);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
}

/* The next deadline in the future. */
static uint64_t next_deadline(struct pacer *p, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	deadline_ns += p->period_ns;
	if (now_ns < deadline_ns)
		return deadline_ns;
	p->missed += (now_ns - deadline_ns) / p->period_ns + 1;
	return deadline_ns + ((now_ns - deadline_ns) / p->period_ns + 1) * p->period_ns;
}

static void *run(void *arg)
{
	struct pacer *p = arg;
	uint64_t deadline_ns = clock_monotonic_ns() + p->period_ns;

	pacer_lock(p);
	for (;;) {
		while (!p->is_stopping && clock_monotonic_ns() < deadline_ns)
			(void)thread_cond_wait(&p->wake, &p->lock, deadline_ns);
		if (p->is_stopping)
			break;
		p->ticks += p->tick(p->arg);
		deadline_ns = next_deadline(p, deadline_ns);
	}
	pacer_unlock(p);
	return NULL;
}

int pacer_start(struct pacer *p)
{
	int rc = thread_start_blocked(&p->thread, run, p);

	p->is_running = rc == 0;
	return rc;
}

void pacer_stop(struct pacer *p)
{
	if (!p->is_running)
		return;
	pacer_lock(p);
	p->is_stopping = true;
	pthread_cond_signal(&p->wake);
	pacer_unlock(p);
	pthread_join(p->thread, NULL);
	p->is_running = false;
}

void pacer_lock(struct pacer *p)
{
	pthread_mutex_lock(&p->lock);
}

void pacer_unlock(struct pacer *p)
{
	pthread_mutex_unlock(&p->lock);
}
