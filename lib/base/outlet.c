/*
 * A queue of texts, and a thread that writes them in pieces.
 */
#include "base/outlet.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sys.h"
#include "base/thread.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

struct text {
	struct text *next;
	size_t len;
	bool is_counted;
	char data[];
};

struct outlet {
	int fd;
	size_t max_bytes;
	unsigned pause_ms;
	pthread_t thread;

	pthread_mutex_t lock;                  /* guards what follows; not held while writing */
	pthread_cond_t changed;                /* any of it changed; CLOCK_MONOTONIC */
	pthread_cond_t wake;                   /* for the thread; CLOCK_MONOTONIC */
	bool is_pausing;                       /* the thread lets texts accumulate */
	unsigned nr_waiting;                   /* callers of outlet_wait: do not pause */
	struct text *first;                    /* owned, with its successors; being written */
	struct text **end;                     /* where to link the next one */
	size_t nr_bytes;                       /* of all of them */
	uint64_t nr_bytes_written, nr_written; /* texts with is_counted */
	int error;
	bool is_closing; /* the thread must exit */
	bool is_left;    /* and frees the outlet */
};

/* --- the thread --------------------------------------------------------------------------------
 */

static void drop_first(struct outlet *o)
{
	struct text *t = o->first;

	o->first = t->next;
	if (!o->first)
		o->end = &o->first;
	o->nr_bytes -= t->len;
	mem_free(t);
}

/* Waits if the descriptor is non-blocking, which the parent may have set. */
static ssize_t write_piece(int fd, const char *p, size_t len)
{
	ssize_t n;

	while ((n = sys()->write(fd, p, len)) == -EINTR || n == -EAGAIN)
		if (n == -EAGAIN)
			(void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
	return n;
}

/* In pieces of at most PIPE_BUF, to notice that the reader makes progress. */
static void write_text(struct outlet *o, const struct text *t)
{
	bool goes_on = true;

	for (size_t at = 0; at < t->len && goes_on;) {
		size_t len = t->len - at < PIPE_BUF ? t->len - at : PIPE_BUF;
		ssize_t n = write_piece(o->fd, t->data + at, len);

		at += n > 0 ? (size_t)n : 0;
		pthread_mutex_lock(&o->lock);
		if (n < 0)
			o->error = (int)n;
		else
			o->nr_bytes_written += (size_t)n;
		goes_on = !o->error && !o->is_closing;
		pthread_cond_broadcast(&o->changed);
		pthread_mutex_unlock(&o->lock);
	}
}

static void release(struct outlet *o)
{
	while (o->first)
		drop_first(o);
	pthread_cond_destroy(&o->changed);
	pthread_cond_destroy(&o->wake);
	pthread_mutex_destroy(&o->lock);
	mem_free(o);
}

static uint64_t after_ms(unsigned ms)
{
	return clock_monotonic_ns() + (uint64_t)ms * NS_PER_MS;
}

static void pause_writing(struct outlet *o)
{
	uint64_t until_ns = after_ms(o->pause_ms);

	o->is_pausing = !o->is_closing && !o->nr_waiting;
	while (o->is_pausing && !thread_cond_wait(&o->wake, &o->lock, until_ns))
		;
	o->is_pausing = false;
}

/* Ends the thread's pause. Under the lock. */
static void wake_thread(struct outlet *o)
{
	o->is_pausing = false;
	pthread_cond_signal(&o->wake);
}

static void *run(void *arg)
{
	struct outlet *o = arg;
	bool has_written = false, is_left;
	const struct text *t;

	pthread_mutex_lock(&o->lock);
	for (;;) {
		if (!o->first && has_written && o->pause_ms)
			pause_writing(o);
		has_written = true;
		while (!o->first && !o->is_closing)
			pthread_cond_wait(&o->wake, &o->lock);
		if (o->is_closing)
			break;
		t = o->first;
		pthread_mutex_unlock(&o->lock);
		write_text(o, t);
		pthread_mutex_lock(&o->lock);
		o->nr_written += t->is_counted && !o->error;
		do
			drop_first(o);
		while (o->error && o->first);
		pthread_cond_broadcast(&o->changed);
	}
	is_left = o->is_left;
	pthread_mutex_unlock(&o->lock);
	if (is_left)
		release(o);
	return NULL;
}

/* Blocks all signals but SIGTTOU, which must stop a background process that writes to its
 * terminal. */
static int start(struct outlet *o)
{
	sigset_t mask, before;
	int rc;

	sigfillset(&mask);
	sigdelset(&mask, SIGTTOU);
	pthread_sigmask(SIG_SETMASK, &mask, &before);
	rc = thread_start(&o->thread, run, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* --- the callers
 * ------------------------------------------------------------------------------- */

int outlet_new(int fd, size_t max_bytes, unsigned pause_ms, struct outlet **out)
{
	struct outlet *o = mem_zalloc(sizeof(*o));
	int rc;

	if (!o)
		return -ENOMEM;
	o->fd = fd;
	o->max_bytes = max_bytes;
	o->pause_ms = pause_ms;
	o->end = &o->first;
	rc = thread_cond_init(&o->changed) ?: thread_cond_init(&o->wake);
	rc = rc ?: -pthread_mutex_init(&o->lock, NULL);
	if (rc) { /* never with the locks of Linux */
		mem_free(o);
		return rc;
	}
	rc = start(o);
	if (rc) {
		release(o);
		return rc;
	}
	*out = o;
	return 0;
}

static bool has_room(const struct outlet *o, size_t len)
{
	if (o->error)
		return false;
	return !o->first || o->is_pausing ||
	       (o->nr_bytes <= o->max_bytes && len <= o->max_bytes - o->nr_bytes);
}

bool outlet_add(struct outlet *o, const void *text, size_t len, bool is_counted)
{
	struct text *t = mem_alloc(sizeof(*t) + len);
	bool is_taken;

	if (!t)
		return false;
	t->next = NULL;
	t->len = len;
	t->is_counted = is_counted;
	if (len)
		memcpy(t->data, text, len);
	pthread_mutex_lock(&o->lock);
	is_taken = has_room(o, len);
	if (is_taken) {
		*o->end = t;
		o->end = &t->next;
		o->nr_bytes += len;
		if (!o->is_pausing || o->nr_bytes > o->max_bytes / 4)
			wake_thread(o);
	}
	pthread_mutex_unlock(&o->lock);
	if (!is_taken)
		mem_free(t);
	return is_taken;
}

uint64_t outlet_nr_written(struct outlet *o)
{
	uint64_t nr;

	pthread_mutex_lock(&o->lock);
	nr = o->nr_written;
	pthread_mutex_unlock(&o->lock);
	return nr;
}

bool outlet_is_empty(struct outlet *o)
{
	bool is_empty;

	pthread_mutex_lock(&o->lock);
	is_empty = !o->first;
	pthread_mutex_unlock(&o->lock);
	return is_empty;
}

bool outlet_is_broken(struct outlet *o)
{
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};
	int error;

	pthread_mutex_lock(&o->lock);
	error = o->error;
	pthread_mutex_unlock(&o->lock);
	return error || (poll(&p, 1, 0) == 1 && p.revents & (POLLERR | POLLHUP | POLLNVAL));
}

/* Until the queue is empty, or nothing was written for quiet_ms. */
static int wait_empty(struct outlet *o, unsigned quiet_ms)
{
	uint64_t until_ns = after_ms(quiet_ms);
	uint64_t before = o->nr_bytes_written;

	while (o->first) {
		int rc = thread_cond_wait(&o->changed, &o->lock, until_ns);

		if (o->nr_bytes_written != before) {
			before = o->nr_bytes_written;
			until_ns = after_ms(quiet_ms);
		} else if (rc && o->first) {
			return rc;
		}
	}
	return o->error;
}

int outlet_wait(struct outlet *o, unsigned quiet_ms)
{
	int rc;

	pthread_mutex_lock(&o->lock);
	o->nr_waiting++;
	wake_thread(o);
	rc = wait_empty(o, quiet_ms);
	o->nr_waiting--;
	pthread_mutex_unlock(&o->lock);
	return rc;
}

void outlet_close(struct outlet *o)
{
	pthread_t thread;
	bool is_held;

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	thread = o->thread;
	is_held = o->is_left = o->first != NULL;
	o->is_closing = true;
	wake_thread(o);
	pthread_mutex_unlock(&o->lock);
	if (is_held) {
		pthread_detach(thread);
		return;
	}
	pthread_join(thread, NULL);
	release(o);
}
