/*
 * Paints the screen of live functions on a canvas of any size.
 */
#ifndef DASHBOARD_PAINT_TOP_H
#define DASHBOARD_PAINT_TOP_H

#include "dashboard/paint.h"
#include "dashboard/top.h"

/* Paints all of the canvas, and stores the positions of its parts in the model. */
void paint_top(struct top *t, const struct paint_state *s, struct canvas *c);

#endif
