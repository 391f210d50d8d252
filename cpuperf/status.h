/*
 * The line on a terminal that shows the progress of a sampling session. It is overwritten in place,
 * and erased before other output.
 */
#ifndef CPUPERF_STATUS_H
#define CPUPERF_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct output;
struct session_progress;

struct status {
	struct output *out; /* borrowed */
	bool is_wanted, is_shown;
	uint64_t samples, elapsed_ns; /* at the previous update */
};

/* Shows nothing if stderr is not a terminal. */
void status_init(struct status *s, struct output *out, bool is_wanted);
/* Skipped while earlier output is queued. */
void status_show(struct status *s, const struct session_progress *p);
void status_erase(struct status *s);

#endif
