/*
 * Sums over the iterations of a session: one per event and CPU, and one per thing.
 */
#ifndef EXPOSE_SUMS_H
#define EXPOSE_SUMS_H

#include "base/dict.h"
#include "estimate/table.h"

/* One event on one CPU, or one thing, over all iterations. */
struct sums_sum {
	unsigned __int128 count;
	double real; /* where cells are real numbers */
	unsigned __int128 raw, base;
	uint64_t enabled_ns, running_ns;
	uint64_t realtime_ns;               /* of the last iteration with a number; 0: not known */
	uint64_t nr_states[CELL_NR_STATES]; /* iterations in each state, without the partial ones */
	uint64_t nr_partial;
	uint64_t nr_things[CELL_NR_STATES]; /* things in each state, last iteration */
	struct cell last;                   /* the last one with a number */
	bool has_value, is_perf;
	bool is_sampled;
	struct sampled_counts sampled;
};

struct sums_thing {
	size_t column;    /* the key: this and */
	const char *name; /* among the names */
	struct sums_sum sum;
};

struct sums_cpu {
	uint32_t number;
	uint64_t lost, ticks, ticks_missed;
};

/* Zero-initialise, then sums_init. */
struct sums {
	struct sums_cpu *cpus; /* owned */
	size_t nr_cpus, cpus_room;
	struct sums_sum *sums;                       /* owned: sums_at */
	struct dict things;                          /* struct sums_thing */
	struct dict names;                           /* const char *; of things */
	struct table_summary *summary;               /* owned */
	uint64_t start_realtime_ns, end_realtime_ns; /* 0: not known */
	uint64_t end_ns; /* of the last iteration, by the session's clock */
	uint64_t measured_ns;
	bool is_sampling;
	bool omits_things; /* set by the caller */
};

/* For tables of nr_columns columns. 0 or -ENOMEM; sums_fini in any case. */
int sums_init(struct sums *x, size_t nr_columns);
void sums_fini(struct sums *x);
/* Adds an iteration whose totals are filled. 0, -ENOMEM, or -EFBIG: CPUs or things are too many. */
int sums_add(struct sums *x, const struct table *t);
/* Its things alone; likewise. */
int sums_add_things(struct sums *x, const struct table *t);
/* The cell of a sum over span_ns: a count's rate is that of all this time, a value is the mean of
 * the iterations that have it. */
void sums_cell(const struct sums_sum *s, enum event_kind kind, uint64_t span_ns, struct cell *out);

/* Adds a cell of an iteration that ended at realtime_ns. */
void sums_sum_add(struct sums_sum *s, const struct cell *c, uint64_t realtime_ns);
/* Adds what another one counted. */
void sums_sum_merge(struct sums_sum *s, const struct sums_sum *other);

/* The sum of an event on the CPU at index cpu; events without a CPU are at 0. */
static inline struct sums_sum *sums_at(const struct sums *x, size_t column, size_t cpu)
{
	return &x->sums[column * x->cpus_room + cpu];
}

#endif
