/*
 * The formulas are metrics like those of a spec, added to the session's events, so that tables
 * compute them.
 */
#include "counts/topdown.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "counts/formulas.h"
#include "counts/tally.h"
#include "profile/filter.h"
#include "profile/iterator.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 };

struct counts_topdown {
	struct arena arena;
	const struct profile_facts *facts;
	struct counts_formulas formulas;
	struct counts_topdown_value value[COUNTS_MAX_FORMULAS];
	uint64_t nr_partial[COUNTS_MAX_FORMULAS]; /* iterations in which a CPU has no number */
	struct cell *sums;                        /* owned; by event, over the iterations */
	uint64_t nr_iterations;
	uint32_t cause; /* of the first */
};

size_t counts_topdown_nr(const struct counts_topdown *t)
{
	return t->formulas.nr;
}

const struct counts_topdown_value *counts_topdown_at(const struct counts_topdown *t, size_t i)
{
	return &t->value[i];
}

static void add_total(struct counts_topdown *t, size_t i, const struct table *table)
{
	struct counts_topdown_value *v = &t->value[i];
	const struct cell *cell = &table->totals[table->nr_events + i];

	t->nr_partial[i] += !cell_has_value(cell) || cell_is_short(cell);
	if (!cell_has_value(cell)) {
		v->total.state = v->spread.nr ? v->total.state : cell->state;
		v->of = table->columns[table->nr_events + i];
		return;
	}
	v->total = *cell;
	v->running = fmin(v->running, cell_running_share(cell));
	if (table_is_alike(table, t->cause) || !v->spread.nr)
		spread_add(&v->spread, cell->value);
}

static void end_iteration(struct counts_topdown *t, struct table *table)
{
	if (!table->nr_rows)
		return;
	table_total(table);
	if (!t->nr_iterations++)
		t->cause = table->cause;
	for (size_t i = 0; i < table->nr_events; i++)
		cell_total(table->columns[i].kind, &t->sums[i], &table->totals[i]);
	for (size_t i = 0; i < t->formulas.nr; i++)
		add_total(t, i, table);
	table->nr_rows = 0;
}

/* The value over all iterations. If events have no number in different iterations, their sums do
 * not match: then the mean of the iterations with a number. */
static void end_value(struct counts_topdown *t, size_t i)
{
	struct counts_topdown_value *v = &t->value[i];
	struct cell all;

	if (!v->spread.nr)
		return;
	metric_make(&t->formulas.metric[i], t->sums, 0, &all);
	if (!t->nr_partial[i] && cell_has_value(&all))
		v->total = all;
	else
		v->total.value = v->spread.mean;
	v->total.limit =
	    v->row->low && v->total.value < t->formulas.metric[i].warn_below.value    ? CELL_LOW
	    : v->row->high && v->total.value > t->formulas.metric[i].warn_above.value ? CELL_HIGH
										      : CELL_WITHIN;
	v->hint = v->total.limit == CELL_LOW    ? v->row->low_hint
		  : v->total.limit == CELL_HIGH ? v->row->high_hint
						: NULL;
}

static int read_traces(struct counts_topdown *t, struct profile_session *s,
		       const struct profile_filter *filter, struct err *e)
{
	const struct metric_set set = {t->formulas.metric, t->formulas.nr};
	struct profile_iterator *it;
	struct profile_trace trace;
	struct table *table;
	int rc = counts_tally_new(t->facts, &set, &table, e);

	if (rc)
		return rc;
	it = profile_iterator_new(s);
	while ((rc = profile_iterator_next(it, &trace)) == 1) {
		if (!profile_ranges_has(&filter->iterations, trace.head.iteration))
			continue;
		if (counts_tally_is_next(table, &trace))
			end_iteration(t, table);
		counts_tally_add(table, &trace);
		if (!profile_ranges_has(&filter->cpus, trace.head.cpu))
			counts_tally_clear_cpu(table, table->nr_rows - 1);
	}
	profile_iterator_free(it);
	if (rc == 0)
		end_iteration(t, table);
	table_free(table);
	for (size_t i = 0; i < t->formulas.nr; i++)
		end_value(t, i);
	return rc;
}

int counts_topdown_read(struct profile_session *s, const struct profile_filter *filter,
			struct counts_topdown **out, struct err *e)
{
	const struct profile_facts *facts = profile_session_facts(s);
	struct counts_topdown *t = mem_zalloc(sizeof(*t));
	int rc;

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	arena_init(&t->arena, MAX_BYTES);
	t->facts = facts;
	t->sums = mem_calloc(facts->nr_events + 1, sizeof(*t->sums));
	rc = t->sums ? counts_formulas_make(facts->events, facts->nr_events, false, &t->arena,
					    &t->formulas, e)
		     : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < t->formulas.nr; i++)
		t->value[i] = (struct counts_topdown_value){
		    .row = t->formulas.item[i].row, .part = t->formulas.item[i].part, .running = 1};
	if (rc == 0 && t->formulas.nr)
		rc = read_traces(t, s, filter, e);
	if (rc == 0)
		*out = t;
	else
		counts_topdown_free(t);
	return rc == -ENOMEM && e && !e->code ? err_set(e, rc, "out of memory") : rc;
}

void counts_topdown_free(struct counts_topdown *t)
{
	if (!t)
		return;
	mem_free(t->sums);
	arena_fini(&t->arena);
	mem_free(t);
}
