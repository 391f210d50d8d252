/*
 * Instants and values in --report=regions: for people a table of their own, for programs rows of
 * the same table, by the column "kind".
 */
#ifndef REPORTS_REGION_INSTANTS_H
#define REPORTS_REGION_INSTANTS_H

#include "report/region_sums.h"
#include "samples.h"

enum { REPORTS_REGION_INSTANTS_COLUMNS = 10 };

/* Adds the columns for programs, the last ones of the table. Returns how many. */
size_t reports_region_instants_columns(struct grid_column *columns);
/* For programs: the cells of a region in these columns. */
void reports_region_instants_none(struct grid *g);

/* Which rows there are, of one session. */
struct reports_region_instants {
	struct job *j;
	const struct report_region_sums *sums;
	const struct profile_processes *processes;
	bool by_thread;
	size_t nr_before; /* columns of regions, before that of the thread or path */
	/* Appends the cells of the columns of a thread. */
	void (*put_thread)(const struct report_region_thread *t, struct grid *g);
};
/* For people: a heading and a table, if there are any. For programs: rows of *g. 0 or -errno with
 * *e. */
int reports_region_instants_put(const struct reports_region_instants *r, struct grid *g,
				struct err *e);

#endif
