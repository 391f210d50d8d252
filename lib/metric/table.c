/*
 * Tables of cells and what many of them come to. Knows nothing of how they are shown or of
 * where readings come from.
 */
#include "metric/table.h"

#include "base/mem.h"

#include <string.h>

struct table *table_new(size_t nr_columns, size_t nr_rows)
{
	struct table *t = mem_zalloc(sizeof(*t));
	size_t nr_cells;

	if (!t || __builtin_mul_overflow(nr_columns, nr_rows, &nr_cells))
		goto fail;
	t->nr_columns = nr_columns;
	t->nr_rows = nr_rows;
	t->columns = mem_calloc(nr_columns, sizeof(*t->columns));
	t->row_trace = mem_calloc(nr_rows, sizeof(*t->row_trace));
	t->row_cpu = mem_calloc(nr_rows, sizeof(*t->row_cpu));
	t->cells = mem_calloc(nr_cells, sizeof(*t->cells));
	t->totals = mem_calloc(nr_columns, sizeof(*t->totals));
	if (!t->columns || !t->row_trace || !t->row_cpu || !t->cells || !t->totals)
		goto fail;
	for (size_t row = 0; row < nr_rows; row++)
		t->row_trace[row] = (uint32_t)row;
	return t;
fail:
	table_free(t);
	return NULL;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	mem_free(t->columns);
	mem_free(t->row_trace);
	mem_free(t->row_cpu);
	mem_free(t->cells);
	mem_free(t->totals);
	mem_free(t);
}

struct cell *table_cell(const struct table *t, size_t row, size_t column)
{
	return &t->cells[row * t->nr_columns + column];
}

void table_set(struct table *t, size_t row, size_t column, uint32_t state,
	       const struct reading *start, const struct reading *end)
{
	const struct table_column *c = &t->columns[column];
	struct cell *cell = table_cell(t, row, column);

	cell_make(c->kind, start, end, cell);
	cell_scale(c->kind, c->scale, cell);
	if (end && end->state != READING_NONE)
		return;
	if (row == 0 || c->scope == EVENT_SCOPE_CPU)
		cell->state = cell_state_of_reading(state);
	if (cell_has_value(cell)) /* a state makes no number */
		cell->state = CELL_NONE;
}

void table_join(struct table *t, size_t row, size_t column, const struct reading *start,
		const struct reading *end)
{
	const struct table_column *c = &t->columns[column];
	struct cell part;

	cell_make(c->kind, start, end, &part);
	cell_scale(c->kind, c->scale, &part);
	cell_join(c->kind, table_cell(t, row, column), &part);
}

void table_set_time(struct table *t, uint64_t start_ns, uint64_t end_ns,
		    const struct clock_triple *clocks)
{
	t->start_ns = start_ns;
	t->end_ns = end_ns;
	t->realtime_ns =
	    clocks->realtime_ns ? clocks->realtime_ns + (end_ns - clocks->monotonic_ns) : 0;
}

void table_total(struct table *t)
{
	memset(t->totals, 0, t->nr_columns * sizeof(*t->totals));
	for (size_t row = 0; row < t->nr_rows; row++)
		for (size_t i = 0; i < t->nr_columns; i++)
			cell_total(t->columns[i].kind, &t->totals[i], table_cell(t, row, i));
}

struct table_summary *table_summary_new(size_t nr_columns)
{
	struct table_summary *s = mem_zalloc(sizeof(*s));

	if (s)
		s->column = mem_calloc(nr_columns, sizeof(*s->column));
	if (!s || !s->column) {
		table_summary_free(s);
		return NULL;
	}
	s->nr_columns = nr_columns;
	for (size_t i = 0; i < nr_columns; i++)
		s->column[i].min_running = 1;
	return s;
}

void table_summary_free(struct table_summary *s)
{
	if (!s)
		return;
	mem_free(s->column);
	mem_free(s);
}

static void add_cell(struct column_summary *s, const struct cell *c)
{
	double share = cell_running_share(c);

	s->nr_cells[c->state]++;
	if (!cell_has_value(c) || share >= 1)
		return;
	s->nr_multiplexed++;
	if (share < s->min_running)
		s->min_running = share;
}

/* Integers by their integers; shares have none. */
static bool is_less(const struct cell *a, const struct cell *b)
{
	return a->count != b->count ? a->count < b->count : a->value < b->value;
}

static void add_total(struct column_summary *s, const struct cell *total, bool is_cut)
{
	if (!cell_has_value(total))
		return;
	s->sum += total->count;
	s->real_sum += total->is_real ? total->value : 0;
	if (is_cut && s->spread.nr) {
		s->cut += total->count;
		return;
	}
	if (!s->spread.nr || is_less(total, &s->min))
		s->min = *total;
	if (!s->spread.nr || is_less(&s->max, total))
		s->max = *total;
	spread_add(&s->spread, total->value);
}

void table_summary_add(struct table_summary *s, const struct table *t)
{
	s->nr_iterations++;
	s->nr_cut += t->is_cut;
	if (t->is_cut)
		s->cut_ns = t->end_ns - t->start_ns;
	for (size_t i = 0; i < s->nr_columns; i++) {
		for (size_t row = 0; row < t->nr_rows; row++)
			add_cell(&s->column[i], table_cell(t, row, i));
		add_total(&s->column[i], &t->totals[i], t->is_cut);
	}
}
