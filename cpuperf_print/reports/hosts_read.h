/*
 * What each part of a job used and counted: its time, its CPU time, and each column of its tables.
 */
#ifndef CPUPERF_PRINT_REPORTS_HOSTS_READ_H
#define CPUPERF_PRINT_REPORTS_HOSTS_READ_H

#include "estimate/outliers.h"
#include "job.h"

struct table;

struct hosts_read_part {
	double wall_ns; /* of its command, or of what was measured */
	double cpu_ns;  /* NAN: not known */
	/* By column of the table: a count per second, or the mean, in the unit that is shown; value
	 * NAN: it has no number. Owned. */
	struct outliers_item *columns;
};

struct hosts_read {
	struct table *table;          /* owned; its columns are those of all parts */
	struct hosts_read_part *part; /* owned; nr */
	size_t nr;
};

/* Of the inputs of the job from first on. 0 or -errno with *e; hosts_read_free in any case. */
int hosts_read_all(struct job *j, struct hosts_read *out, struct err *e);
void hosts_read_free(struct hosts_read *h);

#endif
