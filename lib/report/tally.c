/*
 * A tally session as tables.
 */
#include "report/tally.h"

#include "base/err.h"

#include <errno.h>

/* Of an iteration: all CPUs there can be, and all events of a spec. */
enum { MAX_CELLS = 4 << 20 };

static void set_columns(struct table *t, const struct profile_facts *f)
{
	for (size_t i = 0; i < f->nr_events; i++) {
		const struct trace_event *e = &f->events[i];

		t->columns[i] = (struct table_column){
		    .group = e->group,
		    .name = e->name,
		    .label = *e->label ? e->label : e->name,
		    .unit = e->unit,
		    .kind = e->kind,
		    .scope = e->scope,
		    .scale = e->scale,
		    .reason = e->state != READING_OK ? e->reason : NULL,
		};
	}
}

int report_tally_new(const struct profile_facts *f, struct table **out, struct err *e)
{
	struct table *t;

	if (f->nr_events && f->max_rows > MAX_CELLS / f->nr_events)
		return err_set(e, -EFBIG, "%zu traces of %zu events are too many for a table",
			       f->max_rows, f->nr_events);
	t = table_new(f->nr_events, f->max_rows);
	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	t->nr_rows = 0;
	set_columns(t, f);
	*out = t;
	return 0;
}

static void set_pair(struct table *t, size_t row, size_t i, const struct profile_trace *trace,
		     const struct profile_pair *p)
{
	table_set(t, row, i, trace->events[i].state, p->has_start ? &p->start : NULL,
		  p->has_end ? &p->end : NULL);
}

/* The first part that is there makes the cell, the others join it. */
static void set_cell(struct table *t, size_t row, size_t i, const struct profile_trace *trace)
{
	const struct profile_pair *first = &trace->pairs[i], *p = trace->further;
	bool is_set = first->has_end;

	set_pair(t, row, i, trace, first);
	if (!p)
		return;
	p += i * (PROFILE_MAX_PARTS - 1);
	for (size_t k = 0; k < PROFILE_MAX_PARTS - 1; k++, p++) {
		if (!p->has_end)
			continue;
		if (is_set)
			table_join(t, row, i, p->has_start ? &p->start : NULL, &p->end);
		else
			set_pair(t, row, i, trace, p);
		is_set = true;
	}
}

size_t report_tally_add(struct table *t, const struct profile_trace *trace)
{
	size_t row = t->nr_rows++, nr = 0;

	t->row_trace[row] = trace->head.trace;
	t->row_cpu[row] = trace->head.cpu;
	if (row == 0) {
		t->iteration = trace->head.iteration;
		t->is_cut = false;
		table_set_time(t, trace->start_ns, trace->end_ns, &trace->clocks);
	}
	t->is_cut |= trace->is_cut;
	for (size_t i = 0; i < t->nr_columns; i++) {
		set_cell(t, row, i, trace);
		nr += cell_has_value(table_cell(t, row, i));
	}
	return nr;
}

bool report_tally_is_next(const struct table *t, const struct profile_trace *trace)
{
	return t->nr_rows && t->iteration != trace->head.iteration;
}
