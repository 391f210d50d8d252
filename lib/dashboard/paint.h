/*
 * Paints the dashboard on a canvas of any size. The caller passes the time.
 */
#ifndef DASHBOARD_PAINT_H
#define DASHBOARD_PAINT_H

#include "dashboard/canvas.h"
#include "dashboard/model.h"

struct paint_state {
	uint64_t now_ns;     /* CLOCK_MONOTONIC; live sessions */
	bool is_ended;       /* asked to end, or ended */
	uint64_t nr_read;    /* replay: iterations in the history */
	const char *problem; /* why the screen cannot do something now; NULL */
};

/* Paints all of the canvas, and stores the positions of its parts in the model. */
void paint(struct model *m, const struct paint_state *s, struct canvas *c);

#endif
