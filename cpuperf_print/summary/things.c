/*
 * The things (disks, processes …) of a whole session: what each counted over all iterations, as a
 * table of one iteration.
 */
#include "base/mem.h"
#include "summary/summary.h"

void summary_add_things(struct summary *s)
{
	const struct table *t = s->table;

	if (!t->nr_things)
		return;
	for (size_t i = 0; i < t->nr_events; i++)
		s->spans_ns[i] += t->totals[i].span_ns;
	s->are_things_short |= sums_add_things(&s->things, t) != 0;
}

/* The event's number in this table: only what the widths of its columns depend on. */
static void add_to_event(struct cell *event, const struct cell *thing)
{
	event->is_short |= thing->is_short;
	event->nr_without += !cell_has_value(thing);
}

/* The strings are borrowed. */
static void fill(const struct summary *s, struct table *all)
{
	for (uint32_t k = 0; k < s->things.things.nr; k++) {
		const struct sums_thing *from = dict_at(&s->things.things, k);
		struct table_thing *to = &all->things[all->nr_things++];

		*to = (struct table_thing){.column = from->column, .number = k, .name = from->name};
		sums_cell(&from->sum, all->columns[from->column].kind, s->spans_ns[from->column],
			  &to->cell);
		add_to_event(&all->cells[from->column], &to->cell);
	}
}

void summary_put_things(struct summary *s)
{
	struct table all = *s->table;

	if (!s->things.things.nr)
		return;
	all.nr_things = 0;
	all.things = mem_calloc(s->things.things.nr, sizeof(*all.things));
	all.cells = mem_calloc(all.nr_columns, sizeof(*all.cells));
	if (all.things && all.cells) {
		fill(s, &all);
		buf_adds(s->out, "\nMost active over all iterations (rates and means):\n");
		screen_things(s->screen, &all, s->out);
	}
	if (s->are_things_short)
		buf_adds(s->out, "(things that were too many to add up are missing)\n");
	mem_free(all.things);
	mem_free(all.cells);
}
