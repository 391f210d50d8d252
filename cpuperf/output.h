/*
 * What a session says while it measures: results on standard output, messages in the log, the
 * status line on standard error. Each goes through a queue (the same one where two of them are the
 * same file, so that their order stays), so that measuring never waits for whoever reads.
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
	struct outlet *outlet; /* owned; NULL: another one's */
	bool is_given_up;      /* it was waited for, and nothing was taken */
};

enum { OUTPUT_NR_QUEUES = 3 };

struct output {
	struct output_queue queue[OUTPUT_NR_QUEUES];
	struct output_queue *results, *status, *messages;
	atomic_ullong nr_missed; /* messages that found no room */
	/* Whether a reader that takes nothing is waited for no longer. */
	bool (*is_impatient)(void *arg);
	void *arg;
};

/* From now on the log goes through here. 0 or -errno with *e. o stays where it is. */
int output_open(struct output *o, bool (*is_impatient)(void *arg), void *arg, struct err *e);
/* Waits for all that is left, while somebody takes it; then the log is as it was before. */
void output_close(struct output *o);

/* False: left out, because too much waits already. */
bool output_table(struct output *o, const char *text, size_t len);
/* How many tables are written. */
uint64_t output_nr_tables(const struct output *o);
/* Nobody can read results any more. */
bool output_is_broken(const struct output *o);
/* Waits until all queues are empty, or one of them was not read for a moment. */
void output_settle(struct output *o);
/* Waits until all results are written. 0, -errno, or -ETIMEDOUT: they are not taken. */
int output_flush(struct output *o);
/* After all tables, when all is written: 0, or as output_flush. */
int output_summary(struct output *o, const char *text, size_t len);

/* Something waits for standard error. */
bool output_is_behind(const struct output *o);
bool output_status(struct output *o, const char *text, size_t len);

#endif
