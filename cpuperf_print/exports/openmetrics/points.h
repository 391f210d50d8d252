/*
 * The lines of texts that were made one after the other, one of each iteration, as one text: a
 * series has all its points together, as OpenMetrics requires. Points are sorted on the disk, so
 * memory grows with series, not with iterations.
 */
#ifndef CPUPERF_PRINT_EXPORTS_OPENMETRICS_POINTS_H
#define CPUPERF_PRINT_EXPORTS_OPENMETRICS_POINTS_H

#include "base/buf.h"
#include "base/dict.h"

#include <stdio.h>

struct err;
struct export_spool;
struct openmetrics;
struct output;

/* All private. */
struct points {
	struct dict families; /* by name: their metadata */
	struct dict metrics;  /* by name and labels but le: whose points are side by side */
	struct dict series;   /* by all before the number */
	struct export_spool *spool;
	FILE *numbers;
	uint64_t numbers_bytes;
	struct buf key;
	struct err *e; /* of the first failure */
};

/* 0 or -errno with *e, which later failures fill, too; points_fini in any case. */
int points_init(struct points *p, struct err *e);
void points_fini(struct points *p);
/* Moves a line from the end of m's buffer: struct openmetrics' on_line, with a struct points. Lines
 * of a series must come in order of time. */
void points_add(void *p, const struct openmetrics *m);
/* Appends all to out, and writes it. Call once. 0 or -errno with *e. */
int points_put(struct points *p, struct output *out, struct err *e);

#endif
