/*
 * A thread that waits for work, and between two rounds for its period.
 */
#include "session/syncer.h"

#include "base/clock.h"
#include "base/thread.h"

/* Syncs what is queued, with the lock released. The file that grows all the time remains queued. */
static void do_round(struct syncer *s)
{
	struct sync_work work = s->work;
	struct err e = {0};
	uint64_t start_ns = clock_monotonic_ns(), took_ns;
	int rc;

	s->has_work = s->is_steady;
	s->is_urgent = false;
	s->work.first = s->is_steady && work.end ? work.end - 1 : UINT64_MAX;
	pthread_mutex_unlock(&s->lock);
	rc = s->round(s->arg, &work, &e);
	took_ns = clock_monotonic_ns() - start_ns;
	pthread_mutex_lock(&s->lock);
	if (took_ns > s->slowest_ns)
		s->slowest_ns = took_ns;
	if (rc)
		s->error = e;
}

static void *run(void *arg)
{
	struct syncer *s = arg;
	uint64_t due_ns = 0;

	pthread_mutex_lock(&s->lock);
	while (!s->error.code) {
		while (!s->is_stopping && !s->has_work)
			pthread_cond_wait(&s->wake, &s->lock);
		while (!s->is_stopping && !s->is_urgent && clock_monotonic_ns() < due_ns)
			(void)thread_cond_wait(&s->wake, &s->lock, due_ns);
		if (!s->has_work)
			break;
		/* before the round: a stop during a round causes another */
		if (s->is_stopping)
			s->is_steady = false;
		due_ns = clock_monotonic_ns() + s->period_ns;
		do_round(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void fini(struct syncer *s)
{
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
}

int syncer_start(struct syncer *s)
{
	int rc = thread_cond_init(&s->wake) ?: -pthread_mutex_init(&s->lock, NULL);

	if (rc) /* impossible with Linux mutexes */
		return rc;
	s->work = (struct sync_work){SYNC_NOTHING};
	rc = thread_start_blocked(&s->thread, run, s);
	if (rc)
		fini(s);
	s->is_running = rc == 0;
	return rc;
}

static int failed(const struct syncer *s, struct err *e)
{
	if (s->error.code && e)
		*e = s->error;
	return s->error.code;
}

static bool is_urgent(const struct syncer *s, const struct sync_work *work, uint64_t now_ns)
{
	return s->is_steady && work->num_iterations > s->work.num_iterations &&
	       now_ns - s->urgent_ns >= s->period_ns;
}

int syncer_post(struct syncer *s, const struct sync_work *work, struct err *e)
{
	uint64_t now_ns = clock_monotonic_ns();
	int rc;

	pthread_mutex_lock(&s->lock);
	if (is_urgent(s, work, now_ns)) {
		s->is_urgent = true;
		s->urgent_ns = now_ns;
	}
	s->work.num_iterations = work->num_iterations;
	s->work.nr_recorded = work->nr_recorded;
	s->work.removed = work->removed;
	s->work.is_last |= work->is_last;
	if (work->first < s->work.first)
		s->work.first = work->first;
	if (work->end > s->work.end)
		s->work.end = work->end;
	if (!s->has_work || s->is_urgent)
		pthread_cond_signal(&s->wake);
	s->has_work = true;
	rc = failed(s, e);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

uint64_t syncer_slowest_ns(struct syncer *s)
{
	uint64_t ns;

	pthread_mutex_lock(&s->lock);
	ns = s->slowest_ns;
	s->slowest_ns = 0;
	pthread_mutex_unlock(&s->lock);
	return ns;
}

int syncer_stop(struct syncer *s, struct err *e)
{
	int rc;

	if (!s->is_running)
		return 0;
	pthread_mutex_lock(&s->lock);
	s->is_stopping = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->is_running = false;
	rc = failed(s, e);
	fini(s);
	return rc;
}
