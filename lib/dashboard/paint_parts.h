/*
 * The parts of the painter. Each paints into its lines of the canvas.
 */
#ifndef DASHBOARD_PAINT_PARTS_H
#define DASHBOARD_PAINT_PARTS_H

#include "dashboard/paint.h"

struct buf;

/* The lines [y, y + height) of the canvas, at full width. */
struct paint_area {
	unsigned y, height;
};

enum { PAINT_TEXT_BYTES = 256, PAINT_LINE_BYTES = 4096 };

/* Formats a value of model_number with a short unit; rates without "/s". */
void paint_number(struct buf *out, const struct table_column *c, double x, bool as_count);

/* Lines that the table needs to show all rows. */
unsigned paint_table_need(const struct model *m);
void paint_table(struct model *m, struct canvas *c, struct paint_area area);

/* The step of x among nr steps from 0 to max, clamped. */
unsigned paint_step(double x, double max, unsigned nr);
/* "▂▃▅": the last width values of the series before entry upto, scaled to their maximum. */
void paint_spark(const struct model *m, struct canvas *c, unsigned x, unsigned y, unsigned width,
		 size_t series);
void paint_bar(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
	       double part);
/* Entries of the history up to the displayed iteration. */
size_t paint_nr_entries(const struct model *m);

/* Details of the selected cell, above its chart. */
unsigned paint_detail_lines(const struct model *m); /* without the chart */
void paint_detail(const struct model *m, struct canvas *c, struct paint_area area);

/* Values of the machine, and bars of its CPUs. */
unsigned paint_machine_need(const struct model *m, unsigned width);
void paint_machine(const struct model *m, struct canvas *c, struct paint_area area);
/* Lines that the latencies of the displayed iteration need. */
unsigned paint_latency_need(const struct model *m);
void paint_latency(const struct model *m, struct canvas *c, struct paint_area area);
/* The same of regions. */
unsigned paint_regions_need(const struct model *m);
void paint_regions(const struct model *m, struct canvas *c, struct paint_area area);
/* The line of what cannot be measured; 0 lines: all is. */
unsigned paint_absent_need(const struct model *m);
void paint_absent(const struct model *m, struct canvas *c, struct paint_area area);
/* Lines that the tables of disks, processes … need. */
unsigned paint_things_need(const struct model *m);
void paint_things(const struct model *m, struct canvas *c, struct paint_area area);

void paint_overlay(const struct model *m, struct canvas *c);

#endif
