/*
 * The tables of a session, one of each iteration, of what the options want: what reports and
 * exports of counts share. Knows nothing of formats.
 */
#ifndef CPUPERF_PRINT_TABLES_H
#define CPUPERF_PRINT_TABLES_H

#include "job.h"
#include "metric/table.h"

/* Adds a trace as a row of the iteration in hand. Of a CPU that is not wanted the first row keeps
 * what is of the machine. */
void tables_add_row(struct job *j, struct table *t, const struct profile_trace *trace);

struct tables {
	struct table *t; /* the iteration in hand; before the first, columns without rows */
	struct job *j;
	struct profile_iterator *iterator; /* owned */
	struct profile_trace trace;        /* read, and of the next iteration */
	bool has_trace;
	/* Told of each trace of a CPU that is wanted, before its iteration is given; NULL: nobody.
	 */
	void (*on_trace)(void *arg, const struct profile_trace *trace);
	void *arg;
};

/* From the session's first trace on. 0 or -errno with *e. */
int tables_open(struct tables *x, struct job *j, const struct input *o, struct err *e);
void tables_close(struct tables *x); /* also if opening failed */
/* The next iteration, its totals filled: 1; 0 after the last; -errno with *e. */
int tables_next(struct tables *x, struct err *e);

#endif
