/*
 * Counts and misc over time as counters of the Trace Event Format.
 */
#ifndef CPUPERF_PRINT_EXPORTS_SERIES_H
#define CPUPERF_PRINT_EXPORTS_SERIES_H

#include "exports/lanes.h"

struct json_writer;

/* How far the numbers of an event or metric can be trusted. */
struct export_series_note {
	const char *label;  /* NULL: it has no points */
	const char *reason; /* why there is no number; NULL */
	struct cell_quality quality;
};

struct export_series {
	const struct export_lane *lane; /* borrowed */
	struct job *j;
	const struct input *o;
	struct json_writer *out;
	struct export_series_note *notes; /* owned; one per event, then one per metric */
	size_t nr_notes;
	bool has_counters;
	struct buf name;
	struct err *e;
};

/* 0 or -ENOMEM with *e; end with export_series_fini in any case. */
int export_series_init(struct export_series *s, struct export_lane *lane, struct err *e);
void export_series_fini(struct export_series *s);
/* Reads the session and writes items of the open array. 0 or -errno with *e. */
int export_series_put(struct export_series *s, struct json_writer *out, struct err *e);
/* Afterwards: writes fields of the open object: numbers not counted, estimated and partial. */
void export_series_put_notes(const struct export_series *s, struct json_writer *out);

#endif
