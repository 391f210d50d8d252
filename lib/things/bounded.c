/*
 * One thread, and a lock for what it shall do next. Who lets go last releases.
 */
#include "things/bounded.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>

struct bounded {
	void (*work)(void *arg);
	void (*release)(void *arg);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	bool is_busy, is_closed;
	bool is_left; /* closed while busy: the thread releases */
};

static void release(struct bounded *b)
{
	b->release(b->arg);
	pthread_cond_destroy(&b->asked);
	pthread_cond_destroy(&b->done);
	pthread_mutex_destroy(&b->lock);
	mem_free(b);
}

static void *work(void *arg)
{
	struct bounded *b = arg;
	bool is_left;

	pthread_mutex_lock(&b->lock);
	while (!b->is_closed) {
		if (!b->is_busy) {
			thread_cond_wait(&b->asked, &b->lock, UINT64_MAX);
			continue;
		}
		pthread_mutex_unlock(&b->lock);
		b->work(b->arg);
		pthread_mutex_lock(&b->lock);
		b->is_busy = false;
		pthread_cond_signal(&b->done);
	}
	is_left = b->is_left;
	pthread_mutex_unlock(&b->lock);
	if (is_left)
		release(b);
	return NULL;
}

static int start(struct bounded *b)
{
	int rc = -pthread_mutex_init(&b->lock, NULL);

	if (rc)
		return rc;
	rc = thread_cond_init(&b->asked);
	if (rc)
		goto no_asked;
	rc = thread_cond_init(&b->done);
	if (rc)
		goto no_done;
	rc = thread_start_blocked(&b->thread, work, b);
	if (rc == 0)
		return 0;
	pthread_cond_destroy(&b->done);
no_done:
	pthread_cond_destroy(&b->asked);
no_asked:
	pthread_mutex_destroy(&b->lock);
	return rc;
}

int bounded_new(void (*work_fn)(void *arg), void (*release_fn)(void *arg), void *arg,
		struct bounded **out)
{
	struct bounded *b = mem_zalloc(sizeof(*b));
	int rc;

	if (!b)
		return -ENOMEM;
	b->work = work_fn;
	b->release = release_fn;
	b->arg = arg;
	rc = start(b);
	if (rc)
		mem_free(b);
	else
		*out = b;
	return rc;
}

int bounded_run(struct bounded *b, uint64_t timeout_ns)
{
	uint64_t until = clock_monotonic_ns() + timeout_ns;
	int rc = 0;

	pthread_mutex_lock(&b->lock);
	if (b->is_busy) {
		pthread_mutex_unlock(&b->lock);
		return -EBUSY;
	}
	b->is_busy = true;
	pthread_cond_signal(&b->asked);
	while (b->is_busy && rc == 0)
		rc = thread_cond_wait(&b->done, &b->lock, until);
	rc = b->is_busy ? -ETIMEDOUT : 0;
	pthread_mutex_unlock(&b->lock);
	return rc;
}

bool bounded_is_busy(struct bounded *b)
{
	bool is_busy;

	pthread_mutex_lock(&b->lock);
	is_busy = b->is_busy;
	pthread_mutex_unlock(&b->lock);
	return is_busy;
}

void bounded_close(struct bounded *b)
{
	bool is_left;

	pthread_mutex_lock(&b->lock);
	b->is_closed = true;
	is_left = b->is_left = b->is_busy;
	pthread_cond_signal(&b->asked);
	if (is_left)
		pthread_detach(b->thread);
	pthread_mutex_unlock(&b->lock);
	if (is_left)
		return;
	pthread_join(b->thread, NULL);
	release(b);
}
