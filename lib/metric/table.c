/*
 * Tables of cells and what many of them come to. Knows nothing of how they are shown or of
 * where readings come from.
 */
#include "metric/table.h"

#include "base/mem.h"

#include <errno.h>
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

static bool is_sampling(const struct table *t)
{
	for (size_t i = 0; i < t->nr_columns; i++)
		if (sampled_event_is_sampled(&t->columns[i].sampling))
			return true;
	return false;
}

int table_add_sampling(struct table *t)
{
	if (!is_sampling(t))
		return 0;
	t->sampled = mem_calloc(t->nr_rows * t->nr_columns, sizeof(*t->sampled));
	t->sampled_totals = mem_calloc(t->nr_columns, sizeof(*t->sampled_totals));
	t->row_sampling = mem_calloc(t->nr_rows, sizeof(*t->row_sampling));
	return t->sampled && t->sampled_totals && t->row_sampling ? 0 : -ENOMEM;
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
	mem_free(t->sampled);
	mem_free(t->sampled_totals);
	mem_free(t->row_sampling);
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

void table_set_sampling(struct table *t, size_t row, const struct table_sampling *sampling)
{
	if (!t->sampled)
		return;
	memset(&t->sampled[row * t->nr_columns], 0, t->nr_columns * sizeof(*t->sampled));
	t->row_sampling[row] = *sampling;
}

void table_add_sampled(struct table *t, size_t row, size_t column, const struct sampled_counts *n)
{
	struct sampled *s;

	if (!t->sampled || column >= t->nr_columns ||
	    !sampled_event_is_sampled(&t->columns[column].sampling))
		return;
	s = &t->sampled[row * t->nr_columns + column];
	sampled_counts_add(&s->n, n);
	sampled_make(&t->columns[column].sampling, &s->n, table_cell(t, row, column),
		     t->row_sampling[row].idle_ns, s);
}

const struct sampled *table_sampled(const struct table *t, size_t row, size_t column)
{
	return t->sampled ? &t->sampled[row * t->nr_columns + column] : NULL;
}

uint64_t table_lost(const struct table *t)
{
	uint64_t lost = 0;

	for (size_t row = 0; t->sampled && row < t->nr_rows; row++)
		if (__builtin_add_overflow(lost, t->row_sampling[row].lost, &lost))
			return UINT64_MAX;
	return lost;
}

void table_set_time(struct table *t, uint64_t start_ns, uint64_t end_ns,
		    const struct clock_triple *clocks)
{
	t->start_ns = start_ns;
	t->end_ns = end_ns;
	t->realtime_ns =
	    clocks->realtime_ns ? clocks->realtime_ns + (end_ns - clocks->monotonic_ns) : 0;
}

static void total_samples(struct table *t)
{
	memset(t->sampled_totals, 0, t->nr_columns * sizeof(*t->sampled_totals));
	for (size_t row = 0; row < t->nr_rows; row++)
		for (size_t i = 0; i < t->nr_columns; i++)
			sampled_total(&t->sampled_totals[i], table_sampled(t, row, i));
}

void table_total(struct table *t)
{
	memset(t->totals, 0, t->nr_columns * sizeof(*t->totals));
	for (size_t row = 0; row < t->nr_rows; row++)
		for (size_t i = 0; i < t->nr_columns; i++)
			cell_total(t->columns[i].kind, &t->totals[i], table_cell(t, row, i));
	if (t->sampled)
		total_samples(t);
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

static void add_samples(struct table_summary *s, const struct table *t)
{
	if (__builtin_add_overflow(s->lost, table_lost(t), &s->lost))
		s->lost = UINT64_MAX;
	for (size_t i = 0; i < s->nr_columns; i++)
		sampled_total(&s->column[i].sampled, &t->sampled_totals[i]);
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
	if (t->sampled)
		add_samples(s, t);
}
