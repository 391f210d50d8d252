/*
 * Queues before results, standard error and the log.
 */
#include "output.h"

#include "base/err.h"
#include "base/log.h"
#include "base/outlet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_RESULTS_BYTES = 16 << 20,
	MAX_MESSAGES_BYTES = 256 << 10,
	QUIET_MS = 2000,
	RESULTS_PAUSE_MS = 50, /* so that short iterations do not each wake the thread */
};

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return a == b || (fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
			  x.st_ino == y.st_ino);
}

/* Queues a line with the number of messages that were dropped, if there is room. */
static void add_missed(struct output *o)
{
	unsigned long long nr = atomic_load(&o->nr_missed);
	char line[80];
	int len;

	if (!nr)
		return;
	len = snprintf(line, sizeof(line),
		       "cpuperf: warning: %llu message(s) before this one were dropped\n", nr);
	if (outlet_add(o->messages->outlet, line, (size_t)len, false))
		atomic_fetch_sub(&o->nr_missed, nr);
}

static void add_message(const char *line, size_t len, void *arg)
{
	struct output *o = arg;

	add_missed(o);
	if (!outlet_add(o->messages->outlet, line, len, false))
		atomic_fetch_add(&o->nr_missed, 1);
}

static void close_queues(struct output *o)
{
	for (size_t i = 0; i < OUTPUT_NR_QUEUES; i++)
		outlet_close(o->queue[i].outlet);
}

int output_open(struct output *o, int results_fd, bool (*is_impatient)(void *arg), void *arg,
		struct err *e)
{
	const int fd[OUTPUT_NR_QUEUES] = {results_fd, STDERR_FILENO, log_fd()};
	struct output_queue **const to[OUTPUT_NR_QUEUES] = {&o->results, &o->status, &o->messages};
	int rc = 0;

	*o = (struct output){.is_impatient = is_impatient, .arg = arg};
	for (size_t i = 0; i < OUTPUT_NR_QUEUES && rc == 0; i++) {
		size_t same = 0;

		while (!is_same_file(fd[same], fd[i]))
			same++;
		*to[i] = &o->queue[same];
		if (same == i)
			rc = outlet_new(fd[i], i ? MAX_MESSAGES_BYTES : MAX_RESULTS_BYTES,
					i ? 0 : RESULTS_PAUSE_MS, &o->queue[i].outlet);
	}
	if (rc) {
		close_queues(o);
		return err_set(e, rc, "nothing can be printed: %s", strerror(-rc));
	}
	log_divert(add_message, o);
	return 0;
}

bool output_table(struct output *o, const char *text, size_t len)
{
	return outlet_add(o->results->outlet, text, len, true);
}

uint64_t output_nr_tables(const struct output *o)
{
	return outlet_nr_written(o->results->outlet);
}

bool output_is_broken(const struct output *o)
{
	return outlet_is_broken(o->results->outlet);
}

/* Signals do not end outlet_wait: poll is_impatient between waits. */
static int flush(const struct output *o, struct output_queue *q)
{
	int rc = -ETIMEDOUT;

	while (!q->is_given_up && (rc = outlet_wait(q->outlet, QUIET_MS)) == -ETIMEDOUT)
		q->is_given_up = o->is_impatient(o->arg);
	return rc;
}

void output_settle(struct output *o)
{
	for (size_t i = 0; i < OUTPUT_NR_QUEUES; i++)
		if (o->queue[i].outlet)
			(void)outlet_wait(o->queue[i].outlet, QUIET_MS);
}

int output_flush(struct output *o)
{
	return flush(o, o->results);
}

int output_summary(struct output *o, const char *text, size_t len)
{
	if (!outlet_add(o->results->outlet, text, len, false))
		return -ENOMEM;
	return flush(o, o->results);
}

bool output_is_behind(const struct output *o)
{
	return !outlet_is_empty(o->status->outlet);
}

bool output_status(struct output *o, const char *text, size_t len)
{
	return outlet_add(o->status->outlet, text, len, false);
}

void output_close(struct output *o)
{
	(void)flush(o, o->messages);
	add_missed(o);
	log_divert(NULL, NULL);
	for (size_t i = 0; i < OUTPUT_NR_QUEUES; i++)
		if (o->queue[i].outlet)
			(void)flush(o, &o->queue[i]);
	close_queues(o);
}
