/*
 * The dashboard as cells of a canvas of any size. Knows nothing of terminals and of time: both
 * programs, and tests, say what time it is.
 */
#ifndef DASHBOARD_PAINT_H
#define DASHBOARD_PAINT_H

#include "dashboard/canvas.h"
#include "dashboard/model.h"

struct paint_state {
	uint64_t now_ns;     /* CLOCK_MONOTONIC; of a live session */
	bool is_ended;       /* it was asked to end, or is at its end */
	uint64_t nr_read;    /* replay: iterations that are in the history */
	const char *problem; /* what the screen cannot do at the moment; NULL */
};

/* Paints all of the canvas, and keeps in the model what is where. */
void paint(struct model *m, const struct paint_state *s, struct canvas *c);

#endif
