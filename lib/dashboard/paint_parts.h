/*
 * The parts of the painter. Each paints into its lines of the canvas.
 */
#ifndef DASHBOARD_PAINT_PARTS_H
#define DASHBOARD_PAINT_PARTS_H

#include "dashboard/paint.h"

struct buf;

/* The lines [y, y + height) of a canvas, at its full width. */
struct paint_area {
	unsigned y, height;
};

enum { PAINT_TEXT_BYTES = 256, PAINT_LINE_BYTES = 4096 };

/* Formats a value of model_number with a short unit; rates without "/s". */
void paint_number(struct buf *out, const struct table_column *c, double x, bool as_count);

/* Lines that the table needs to show all rows. */
unsigned paint_table_need(const struct model *m);
/* Columns that it needs to show all columns. */
unsigned paint_table_width(struct model *m, unsigned lines);
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

/* Values of the history: of a cell, or of a thing. */
struct paint_series {
	size_t column, series;
	bool is_of_thing;
	const struct thing_series_one *of; /* of a thing; NULL: it has none */
};
/* In the i-th entry; NaN: none. */
double paint_series_value(const struct model *m, const struct paint_series *s, size_t i);
/* What it can be at most, which charts do not exceed; NaN: there is no limit, or it is unknown. */
double paint_series_limit(const struct model *m, const struct paint_series *s);
void paint_chart(const struct model *m, struct canvas *c, struct paint_area area,
		 const struct paint_series *series);
/* "min … mean … max …" */
void paint_statistics(const struct model *m, struct buf *out, size_t column,
		      const struct history_total *t);
/* The page of a thing over time, in place of all other parts. */
void paint_over_time(struct model *m, struct canvas *c, struct paint_area area);

/* Details of the selected cell, above its chart. */
bool paint_has_detail(const struct model *m);
size_t paint_detail_column(const struct model *m);  /* SIZE_MAX: there is none */
unsigned paint_detail_lines(const struct model *m); /* without the chart */
void paint_detail(const struct model *m, struct canvas *c, struct paint_area area);

/* Values of the machine, and bars of its CPUs. */
unsigned paint_machine_need(const struct model *m, unsigned width);
void paint_machine(struct model *m, struct canvas *c, struct paint_area area);
/* Lines that the latencies of the displayed iteration need. */
unsigned paint_latency_need(const struct model *m);
void paint_latency(const struct model *m, struct canvas *c, struct paint_area area);
/* The same of regions. */
unsigned paint_regions_need(const struct model *m);
void paint_regions(const struct model *m, struct canvas *c, struct paint_area area);
/* The line of what cannot be measured; 0 lines: all is. */
unsigned paint_absent_need(const struct model *m);
void paint_absent(const struct model *m, struct canvas *c, struct paint_area area);
/* Lines that the tables of disks, processes … need. kinds: a bit 1 << n for the n-th kind. */
enum { PAINT_ALL_KINDS = ~0u };
unsigned paint_things_need(const struct model *m, unsigned kinds);
/* The bit of the kind with most lines; 0: there are not several. */
unsigned paint_things_largest(const struct model *m);
void paint_things(struct model *m, struct canvas *c, struct paint_area area, unsigned kinds);

void paint_overlay(struct model *m, struct canvas *c);
/* The first line of what is scrolled, so that the last one is at the bottom at most. */
unsigned paint_scrolled(const struct model_scroll *s);

#endif
