/*
 * From tables to iterations.
 */
#include "api/iteration.h"

#include "base/mem.h"

#include <errno.h>

/* What fn gets, with what the accessors look up. */
struct iteration {
	struct cpuperf_iteration shown; /* first: the program has its address */
	const struct api_feed *feed;
};

static const struct iteration *iteration_of(const struct cpuperf_iteration *it)
{
	return (const struct iteration *)it;
}

const struct cpuperf_event *cpuperf_iteration_event(const struct cpuperf_iteration *it,
						    size_t event)
{
	return it && event < it->nr_events ? &iteration_of(it)->feed->events[event] : NULL;
}

uint32_t cpuperf_iteration_cpu(const struct cpuperf_iteration *it, size_t row)
{
	return it && row < it->nr_cpus ? iteration_of(it)->feed->table->row_cpu[row]
				       : (uint32_t)CPUPERF_ANY_CPU;
}

const struct cpuperf_cell *cpuperf_iteration_cell(const struct cpuperf_iteration *it, size_t event,
						  size_t row)
{
	return it && event < it->nr_events && row < it->nr_cpus
		   ? &iteration_of(it)->feed->cells[row * it->nr_events + event]
		   : NULL;
}

const struct cpuperf_cell *cpuperf_iteration_total(const struct cpuperf_iteration *it, size_t event)
{
	return it && event < it->nr_events
		   ? &iteration_of(it)->feed->cells[it->nr_cpus * it->nr_events + event]
		   : NULL;
}

const struct cpuperf_thing *cpuperf_iteration_thing(const struct cpuperf_iteration *it, size_t i)
{
	return it && i < it->nr_things ? &iteration_of(it)->feed->things[i] : NULL;
}

static void describe(const struct table_column *col, struct cpuperf_event *out)
{
	*out = (struct cpuperf_event){.size = sizeof(*out),
				      .group = col->group,
				      .name = col->name,
				      .label = col->label,
				      .unit = col->unit,
				      .description = "",
				      .kind = col->metric ? CPUPERF_METRIC
							  : (enum cpuperf_kind)col->kind,
				      .works = !col->reason,
				      .reason = col->reason};
}

int api_feed_init(struct api_feed *f, struct table *t, size_t max_rows)
{
	f->table = t;
	f->events = mem_calloc(t->nr_columns, sizeof(*f->events));
	f->cells = mem_calloc(t->nr_columns, (max_rows + 1) * sizeof(*f->cells));
	if (!f->events || !f->cells)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr_columns; i++)
		describe(&t->columns[i], &f->events[i]);
	return 0;
}

void api_feed_fini(struct api_feed *f)
{
	mem_free(f->events);
	mem_free(f->cells);
	mem_free(f->things);
	mem_free(f->thing_cells);
	*f = (struct api_feed){0};
}

static void set_cell(struct cpuperf_cell *out, const struct cell *c, const struct sampled *s)
{
	*out = (struct cpuperf_cell){.size = sizeof(*out),
				     .has_value = cell_has_value(c),
				     .state = cell_is_partial(c) && c->state == CELL_OK
						  ? "partial"
						  : cell_state_name(c->state),
				     .value = c->value,
				     .raw = c->raw,
				     .enabled_ns = c->enabled_ns,
				     .running_ns = c->running_ns,
				     .span_ns = c->span_ns,
				     .coverage = -1};
	if (!s || s->claim == SAMPLED_NONE)
		return;
	out->samples = s->n.samples;
	out->lost = s->n.lost;
	out->residual = s->residual;
	out->coverage = sampled_coverage(s);
}

static int grow_things(struct api_feed *f, size_t nr)
{
	size_t room = 2 * nr;
	struct cpuperf_thing *things;
	struct cpuperf_cell *cells;

	if (nr <= f->things_room)
		return 0;
	things = mem_resize(f->things, room * sizeof(*things));
	if (!things)
		return -ENOMEM;
	f->things = things;
	cells = mem_resize(f->thing_cells, room * sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	f->thing_cells = cells;
	f->things_room = room;
	return 0;
}

static int set_things(struct api_feed *f)
{
	const struct table *t = f->table;

	if (grow_things(f, t->nr_things))
		return -ENOMEM;
	for (size_t i = 0; i < t->nr_things; i++) {
		set_cell(&f->thing_cells[i], &t->things[i].cell, NULL);
		f->things[i] = (struct cpuperf_thing){.size = sizeof(f->things[i]),
						      .event = t->things[i].column,
						      .number = t->things[i].number,
						      .name = t->things[i].name,
						      .cell = &f->thing_cells[i]};
	}
	return 0;
}

int api_feed_pass(struct api_feed *f)
{
	const struct table *t = f->table;
	size_t nr = t->nr_rows * t->nr_columns;
	const struct iteration it = {.shown = {.size = sizeof(it.shown),
					       .number = t->iteration,
					       .start_ns = t->start_ns,
					       .end_ns = t->end_ns,
					       .nr_events = t->nr_columns,
					       .nr_cpus = t->nr_rows,
					       .nr_things = t->nr_things},
				     .feed = f};

	if (!f->fn)
		return 0;
	for (size_t i = 0; i < nr; i++)
		set_cell(&f->cells[i], &t->cells[i], t->sampled ? &t->sampled[i] : NULL);
	for (size_t i = 0; i < t->nr_columns; i++)
		set_cell(&f->cells[nr + i], &t->totals[i],
			 t->sampled ? &t->sampled_totals[i] : NULL);
	return set_things(f) ?: f->fn(&it.shown, f->arg);
}
