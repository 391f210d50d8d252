/*
 * The parts of the painter. Each paints into its rectangle of the canvas.
 */
#ifndef DASHBOARD_PAINT_PARTS_H
#define DASHBOARD_PAINT_PARTS_H

#include "dashboard/paint.h"

struct buf;

/* A part of the canvas: the lines [y, y + height), over its whole width. */
struct paint_area {
	unsigned y, height;
};

enum { PAINT_TEXT_BYTES = 256, PAINT_LINE_BYTES = 4096 };

/* A number as model_number has it, with its unit in short; rates without "/s". */
void paint_number(struct buf *out, const struct table_column *c, double x, bool as_count);

/* Lines that the table needs if it gets all it wants. */
unsigned paint_table_need(const struct model *m);
void paint_table(struct model *m, struct canvas *c, struct paint_area area);

/* In which of nr steps from 0 to max is x? What is less is in the first, more in the last. */
unsigned paint_step(double x, double max, unsigned nr);
/* "▂▃▅": the last width numbers of the series, scaled to their maximum. upto: entries of the
 * history that are shown. */
void paint_spark(const struct model *m, struct canvas *c, unsigned x, unsigned y, unsigned width,
		 size_t series);
void paint_bar(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
	       double part);
/* Of the history: entries up to the iteration that is shown. */
size_t paint_nr_entries(const struct model *m);

/* What is to be known of the selected cell, and below it its history. */
unsigned paint_detail_lines(const struct model *m); /* without the chart */
void paint_detail(const struct model *m, struct canvas *c, struct paint_area area);

/* What is of the machine, and bars of its CPUs. */
unsigned paint_machine_need(const struct model *m, unsigned width);
void paint_machine(const struct model *m, struct canvas *c, struct paint_area area);
/* Disks, processes …: lines that they would take. */
unsigned paint_things_need(const struct model *m);
void paint_things(const struct model *m, struct canvas *c, struct paint_area area);

void paint_overlay(const struct model *m, struct canvas *c);

#endif
