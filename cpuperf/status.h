/*
 * The line on a terminal that tells how far a session is: one, that is written over, and erased
 * before anything else is said there. Knows nothing of sessions but their progress.
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
	uint64_t samples, elapsed_ns; /* of the progress before */
};

/* is_wanted: nothing is shown all the same if stderr is no terminal. */
void status_init(struct status *s, struct output *out, bool is_wanted);
/* A terminal that takes nothing at the moment gets no line. */
void status_show(struct status *s, const struct session_progress *p);
void status_erase(struct status *s);

#endif
