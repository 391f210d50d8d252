/*
 * Places of samples in the rows of their clocks, for intervals: chance enters only between
 * neighbours of a row (estimate/interval.h).
 */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct profile_sample;

enum { REPORT_NR_ROWS = 256 };

/*
 * The samples of one clock, in their order. Tasks that inherit an event have one each, and Linux
 * does not stop them where one such task follows another on a CPU: it exchanges them, and the
 * clock of one goes on with the other (perf_event_context_sched_out in kernel/events/core.c). So
 * the samples of a thread are of several clocks, and those of a clock of several threads. Where
 * samples do not say which (older sessions), those of a thread are taken for one clock's: of
 * threads that take turns intervals are too narrow then.
 */
struct report_row_key {
	uint32_t iteration, trace, cpu, tid, event;
	uint32_t session; /* in no hash: copies of a session have the same intervals */
	uint64_t clock;   /* as samples say; then tid is not of the key; 0: they do not */
};

/* One of another key in its place ends a row: what comes later is in a new one. Numbers depend on
 * samples alone, not on which thread reads them, so that a report is the same each time. */
struct report_row {
	struct report_row_key key;
	uint64_t number;         /* 0: there is none */
	uint64_t place, time_ns; /* of its last sample */
};

/* Zero-initialise. */
struct report_rows {
	struct report_row row[REPORT_NR_ROWS];
};

struct report_place_in_row {
	uint64_t row, place; /* as of struct report_count */
};

/* The place of a sample, which is the next of its key. The clocks of CPUs begin together, at
 * start_ns, and stay in step, so that where the CPUs change phase together all are off alike: they
 * have one number, and places by time. Those of another session began at another time: each host's
 * have a number of their own. */
void report_rows_find(struct report_rows *rows, const struct report_row_key *key, bool is_in_step,
		      uint64_t start_ns, const struct profile_sample *s,
		      struct report_place_in_row *out);

#endif
