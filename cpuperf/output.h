/*
 * Queues for what a session prints: results, messages (the log) and the status
 * line (standard error), so that slow readers do not delay measuring. Streams that are the same
 * file share a queue, which preserves their order.
 */
#ifndef CPUPERF_OUTPUT_H
#define CPUPERF_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct outlet;

struct output_queue {
	struct outlet *outlet; /* owned; NULL: the stream shares another queue */
	bool is_given_up;      /* a wait timed out and is_impatient returned true */
};

enum { OUTPUT_NR_QUEUES = 3 };

struct output {
	struct output_queue queue[OUTPUT_NR_QUEUES];
	struct output_queue *results, *status, *messages;
	atomic_ullong nr_missed; /* messages that did not fit */
	/* Whether to stop waiting for a reader that accepts nothing. */
	bool (*is_impatient)(void *arg);
	void *arg;
};

/* Diverts the log to a queue. results_fd: borrowed until output_close. 0 or -errno with *e. *o must
 * not move afterwards. */
int output_open(struct output *o, int results_fd, bool (*is_impatient)(void *arg), void *arg,
		struct err *e);
/* Writes what is queued, as long as readers accept it, and restores the log. */
void output_close(struct output *o);

/* False: dropped, because the queue is full. */
bool output_table(struct output *o, const char *text, size_t len);
/* The number of tables written. */
uint64_t output_nr_tables(const struct output *o);
/* No reader of the results is left. */
bool output_is_broken(const struct output *o);
/* Waits until each queue is empty or its reader accepts nothing for a moment. */
void output_settle(struct output *o);
/* Waits until all results are written. 0, -errno, or -ETIMEDOUT: the reader accepts nothing. */
int output_flush(struct output *o);
/* Queues the summary and flushes. 0, -ENOMEM, or as output_flush. */
int output_summary(struct output *o, const char *text, size_t len);

/* Standard error has output queued. */
bool output_is_behind(const struct output *o);
bool output_status(struct output *o, const char *text, size_t len);

#endif
