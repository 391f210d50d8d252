/*
 * Which iterations of a session in progress were read, which wait, and which are dropped because
 * the reader is too slow for all. Pure: its inputs are numbers of iterations.
 *
 * What still waits when it is older than the last seconds is dropped, and the screen says from how
 * many iterations the shares are.
 */
#ifndef CPUPERF_PRINT_LIVE_BACKLOG_H
#define CPUPERF_PRINT_LIVE_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BACKLOG_MAX_RANGES = 64, BACKLOG_LAST = 8 };

/* Iterations first <= i < end. */
struct backlog_range {
	uint32_t first, end;
	uint64_t begun_ns; /* the first one began then or later */
};

/* Zero-initialise. */
struct backlog {
	struct backlog_range waiting[BACKLOG_MAX_RANGES]; /* the newest last */
	size_t nr_waiting;
	uint32_t end;     /* iterations below it were read, wait, or are dropped */
	uint32_t history; /* iterations below it had ended before there was a reader */
	uint32_t nr_read, nr_dropped;
	uint32_t last[BACKLOG_LAST]; /* read: iteration + 1, by iteration % BACKLOG_LAST; 0: none */
};

/* There is no room for a further range. */
bool backlog_is_full(const struct backlog *b);
/* Iterations first <= i < end wait, which began at begun_ns or later; first is not below those
 * added before. The first call adds what had ended before there was a reader. */
void backlog_add(struct backlog *b, uint32_t first, uint32_t end, uint64_t begun_ns);
/* Takes the newest iterations that wait, `most` at most, which then count as read. Returns how many
 * they are, from *first on. */
uint32_t backlog_take(struct backlog *b, uint32_t most, uint32_t *first);
/* If an iteration up to `from` still waits that ended after the reader began, the reader is too
 * slow: drops all before `from`. What had ended earlier may wait as long as the reader keeps up. */
void backlog_drop(struct backlog *b, uint32_t from);
uint32_t backlog_nr_waiting(const struct backlog *b);
/* The first of the newest nr iterations, less than BACKLOG_LAST; of more if none of these was
 * read: from the newest that was. */
uint32_t backlog_recent_from(const struct backlog *b, uint32_t nr);
/* How many iterations were read from `from` on; from: as backlog_recent_from returned it. */
uint32_t backlog_nr_read_from(const struct backlog *b, uint32_t from);

#endif
