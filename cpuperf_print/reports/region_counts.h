/*
 * The columns of --report=regions with what events counted in the regions (region_counts of the
 * spec).
 */
#ifndef REPORTS_REGION_COUNTS_H
#define REPORTS_REGION_COUNTS_H

#include "report/region_sums.h"
#include "screen/grid.h"

struct buf;
struct profile_facts;

enum { REPORTS_REGION_COUNTS_MAX = PROFILE_MAX_REGION_COUNTS, REPORTS_REGION_COUNT_COLUMNS = 4 };

/* What the marks of a region count: in it, and in those around it. */
struct reports_region_marks {
	bool is_known;
	uint64_t own, around;
};

struct reports_region_counts {
	const struct report_region_sums *sums; /* borrowed */
	bool is_subtracted;
	struct reports_region_marks marks[REPORTS_REGION_COUNTS_MAX], wall;
	char names[REPORTS_REGION_COUNTS_MAX][REPORTS_REGION_COUNT_COLUMNS][160];
	const char *units[REPORTS_REGION_COUNTS_MAX]; /* NULL: numbers; else "ns" */
	uint32_t nr;                                  /* events */
};

/* Finds what marks themselves count, and subtracts it if asked. p: of the sums. Called first. */
void reports_region_counts_init(struct reports_region_counts *c, struct report_region_sums *sums,
				const struct profile_processes *p,
				const struct profile_facts *facts, bool subtracts);
/* Adds the columns; returns how many. They borrow from *c. */
size_t reports_region_counts_columns(struct reports_region_counts *c, struct grid_column *columns);
/* Adds the cells of the sum with that number. */
void reports_region_counts_put(const struct reports_region_counts *c, struct grid *g,
			       uint32_t number);
/* A line for each event: what marks themselves count, and one for the time they take. */
void reports_region_counts_heading(const struct reports_region_counts *c, struct buf *text);

#endif
