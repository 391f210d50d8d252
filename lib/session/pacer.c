/*
 * A thread that calls a function at steady paces.
 */
#include "session/pacer.h"

#include "base/clock.h"
#include "base/thread.h"

int pacer_init(struct pacer *p, void (*tick)(void *arg), void *arg)
{
	*p = (struct pacer){.tick = tick, .arg = arg};
	return thread_cond_init(&p->wake) ?: -pthread_mutex_init(&p->lock, NULL);
}

void pacer_fini(struct pacer *p)
{
	pacer_stop(p);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
}

static uint64_t earliest(const struct pacer *p)
{
	uint64_t ns = UINT64_MAX;

	for (size_t i = 0; i < p->nr_paces; i++)
		ns = p->paces[i].deadline_ns < ns ? p->paces[i].deadline_ns : ns;
	return ns;
}

static void miss(struct pacer_pace *pace, uint64_t nr)
{
	pace->missed += nr;
	pace->deadline_ns += nr * pace->period_ns;
}

/* To the next deadline in the future. */
static void advance(struct pacer_pace *pace, uint64_t now_ns)
{
	pace->ticks += pace->is_due;
	pace->is_due = false;
	pace->deadline_ns += pace->period_ns;
	if (now_ns >= pace->deadline_ns)
		miss(pace, (now_ns - pace->deadline_ns) / pace->period_ns + 1);
}

void pacer_pass(struct pacer_pace *pace, uint64_t now_ns)
{
	if (now_ns >= pace->deadline_ns)
		miss(pace, (now_ns - pace->deadline_ns) / pace->period_ns);
}

/* One that comes to be due meanwhile is late, and not missed. */
static void call(struct pacer *p)
{
	const uint64_t now_ns = clock_monotonic_ns();
	uint64_t end_ns;

	for (size_t i = 0; i < p->nr_paces; i++)
		p->paces[i].is_due = p->paces[i].deadline_ns <= now_ns;
	p->tick(p->arg);
	end_ns = clock_monotonic_ns();
	for (size_t i = 0; i < p->nr_paces; i++)
		if (p->paces[i].deadline_ns <= now_ns)
			advance(&p->paces[i], end_ns);
}

static void *run(void *arg)
{
	struct pacer *p = arg;

	pacer_lock(p);
	for (;;) {
		uint64_t due_ns = earliest(p);

		while (!p->is_stopping && clock_monotonic_ns() < due_ns)
			(void)thread_cond_wait(&p->wake, &p->lock, due_ns);
		if (p->is_stopping)
			break;
		call(p);
	}
	pacer_unlock(p);
	return NULL;
}

int pacer_start(struct pacer *p, struct pacer_pace *paces, size_t nr, uint64_t origin_ns)
{
	int rc;

	for (size_t i = 0; i < nr; i++)
		paces[i].deadline_ns = origin_ns + paces[i].period_ns;
	p->paces = paces;
	p->nr_paces = nr;
	rc = thread_start_blocked(&p->thread, run, p);
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
