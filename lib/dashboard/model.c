/*
 * The dashboard's model: iterations in, cells of all rows out.
 */
#include "dashboard/model.h"

#include "base/array.h"
#include "base/mem.h"
#include "estimate/chance.h"
#include "estimate/unit.h"
#include "screen/absent.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NO_ROW = UINT32_MAX, MAX_SERIES = 1 << 20, MAX_FOLDED_ROWS = 256 };

/* --- groups of CPUs ----------------------------------------------------------------------------
 */

static int reserve(struct model *m, struct model_dimension *dim, size_t nr)
{
	dim->groups = mem_calloc(nr ? nr : 1, sizeof(*dim->groups));
	dim->first_row = m->nr_rows;
	return dim->groups ? 0 : -ENOMEM;
}

static int add_member(struct model_group *g, uint32_t trace)
{
	uint32_t *added = MEM_ADD(g->traces, g->nr, g->room);

	if (!added)
		return -ENOMEM;
	*added = trace;
	return 0;
}

/* Writes the name of the CPU's group of this kind; false if unknown. */
static bool name_group(const struct model_cpu *cpu, enum model_view view,
		       char name[MODEL_NAME_BYTES])
{
	if (view == MODEL_PACKAGES && cpu->package >= 0)
		snprintf(name, MODEL_NAME_BYTES, "package %d", cpu->package);
	else if (view == MODEL_NODES && cpu->node >= 0)
		snprintf(name, MODEL_NAME_BYTES, "node %d", cpu->node);
	else if (view == MODEL_TYPES && cpu->type)
		snprintf(name, MODEL_NAME_BYTES, "%s", cpu->type);
	else
		return false;
	return true;
}

static int add_view(struct model *m, enum model_view view)
{
	struct model_dimension *dim = &m->dimensions[view];
	int rc = reserve(m, dim, m->facts.nr_cpus);

	for (uint32_t i = 0; i < m->facts.nr_cpus && rc == 0; i++) {
		char name[MODEL_NAME_BYTES];
		size_t g = 0;

		if (!name_group(&m->facts.cpus[i], view, name))
			continue;
		while (g < dim->nr && strcmp(dim->groups[g].name, name) != 0)
			g++;
		if (g == dim->nr)
			memcpy(dim->groups[dim->nr++].name, name, sizeof(name));
		rc = add_member(&dim->groups[g], i);
	}
	m->nr_rows += (uint32_t)dim->nr;
	return rc;
}

static int add_fold_group(struct model *m, struct model_dimension *dim, uint32_t first, size_t nr)
{
	const struct model_cpu *cpus = &m->facts.cpus[first];
	struct model_group *g = &dim->groups[dim->nr++];
	bool is_range = true;
	int rc = 0;

	for (uint32_t i = 0; i < nr && rc == 0; i++) {
		rc = add_member(g, first + i);
		is_range = is_range && cpus[i].cpu == cpus[0].cpu + i;
	}
	snprintf(g->name, sizeof(g->name), "%u%s%u", cpus[0].cpu, is_range ? "-" : "…",
		 cpus[nr - 1].cpu);
	return rc;
}

/* Groups of size CPUs each; none if there would be more than any screen has lines. */
static int add_fold(struct model *m, struct model_dimension *dim, size_t size)
{
	size_t nr_cpus = m->facts.nr_cpus, nr = (nr_cpus + size - 1) / size;
	int rc;

	if (nr_cpus <= size / 2 || nr > MAX_FOLDED_ROWS)
		return 0;
	rc = reserve(m, dim, nr);
	for (size_t first = 0; first < nr_cpus && rc == 0; first += size)
		rc = add_fold_group(m, dim, (uint32_t)first,
				    nr_cpus - first < size ? nr_cpus - first : size);
	m->nr_rows += (uint32_t)dim->nr;
	return rc;
}

/* --- memory ------------------------------------------------------------------------------------
 */

struct table *model_new_table(const struct model *m)
{
	struct table *t = table_new(m->nr_columns, m->facts.nr_cpus + m->facts.has_target);

	if (!t)
		return NULL;
	memcpy(t->columns, m->facts.events, m->facts.nr_events * sizeof(*t->columns));
	table_set_metrics(t, &m->facts.metrics);
	return t;
}

static int init_frame(const struct model *m, struct model_frame *f)
{
	size_t nr_groups = m->nr_rows - 1 - m->facts.nr_cpus;

	f->table = model_new_table(m);
	f->groups = mem_calloc(nr_groups * m->nr_columns + 1, sizeof(*f->groups));
	f->row_of = mem_calloc(m->facts.nr_cpus + 1, sizeof(*f->row_of));
	f->rows = mem_calloc(m->facts.nr_cpus + 1, sizeof(*f->rows));
	return f->table && f->groups && f->row_of && f->rows ? 0 : -ENOMEM;
}

/* At the end: the places of the others remain. */
static void list_column(struct model *m, size_t i)
{
	m->is_listed[i] = true;
	m->columns[m->nr_shown_columns++] = i;
}

static bool is_of_table(const struct table_column *c)
{
	return c->scope == EVENT_SCOPE_CPU || c->scope == EVENT_SCOPE_PACKAGE || c->metric;
}

/* What cannot be measured has no column until a CPU has a number of it. */
static int init_columns(struct model *m)
{
	m->columns = mem_calloc(m->nr_columns + 1, sizeof(*m->columns));
	m->widths = mem_calloc(m->nr_columns + 1, sizeof(*m->widths));
	m->order = mem_calloc(m->nr_rows + 1, sizeof(*m->order));
	m->is_listed = mem_calloc(m->nr_columns + 1, sizeof(*m->is_listed));
	if (!m->columns || !m->widths || !m->order || !m->is_listed)
		return -ENOMEM;
	for (size_t i = 0; i < m->nr_columns; i++) {
		const struct table_column *c = &m->frames[0].table->columns[i];

		if (is_of_table(c) && !c->reason)
			list_column(m, i);
	}
	return 0;
}

static void list_measured(struct model *m, const struct table *t)
{
	for (size_t i = 0; i < m->nr_columns; i++)
		if (!m->is_listed[i] && is_of_table(&t->columns[i]) && !absent_is(t, NULL, i))
			list_column(m, i);
}

/* For all rows if there is room, else for the total only. */
static int init_history(struct model *m)
{
	size_t nr = (size_t)m->nr_rows * m->nr_columns;
	int rc = nr <= MAX_SERIES ? history_init(&m->history, nr) : -EFBIG;

	m->has_row_history = rc == 0;
	if (rc == -EFBIG)
		rc = history_init(&m->history, m->nr_columns);
	if (rc)
		return rc;
	m->baseline.spread = mem_calloc(m->history.nr_series, sizeof(*m->baseline.spread));
	return m->baseline.spread ? 0 : -ENOMEM;
}

static int init_all(struct model *m)
{
	int rc = 0;

	m->nr_rows = 1 + (uint32_t)m->facts.nr_cpus;
	for (enum model_view v = MODEL_PACKAGES; v < MODEL_NR_VIEWS && rc == 0; v++)
		rc = add_view(m, v);
	for (size_t i = 0; i < MODEL_NR_FOLDS && rc == 0; i++)
		rc = add_fold(m, &m->dimensions[MODEL_NR_VIEWS + i], (size_t)2 << i);
	for (size_t i = 0; i < 2 && rc == 0; i++)
		rc = init_frame(m, &m->frames[i]);
	if (rc == 0)
		rc = init_columns(m);
	return rc ? rc : init_history(m);
}

int model_init(struct model *m, const struct model_facts *facts)
{
	int rc;

	memset(m, 0, sizeof(*m)); /* large: no temporary on the stack */
	m->facts = *facts;
	m->nr_columns = facts->nr_events + facts->metrics.nr;
	m->sort_column = m->selected_line = SIZE_MAX;
	for (size_t i = 0; i < MODEL_MAX_BLOCKS; i++)
		m->blocks[i].sort = SIZE_MAX;
	m->processes.source = facts->processes;
	m->item = SIZE_MAX;
	m->has_chart = true;
	m->view = facts->has_target ? MODEL_TOTAL : MODEL_CPUS; /* CPUs have no counts of it */
	m->shown = &m->frames[0];
	m->spare = &m->frames[1];
	rc = init_all(m);
	if (rc)
		model_fini(m);
	return rc;
}

void model_fini(struct model *m)
{
	for (size_t i = 0; i < MODEL_NR_DIMENSIONS; i++) {
		for (size_t k = 0; k < m->dimensions[i].nr; k++)
			mem_free(m->dimensions[i].groups[k].traces);
		mem_free(m->dimensions[i].groups);
	}
	for (size_t i = 0; i < 2; i++) {
		table_free(m->frames[i].table);
		mem_free(m->frames[i].groups);
		mem_free(m->frames[i].row_of);
		mem_free(m->frames[i].rows);
	}
	history_fini(&m->history);
	thing_series_fini(&m->series);
	processes_fini(&m->processes);
	mem_free(m->baseline.spread);
	mem_free(m->columns);
	mem_free(m->is_listed);
	mem_free(m->widths);
	mem_free(m->order);
	memset(m, 0, sizeof(*m));
}

/* --- an iteration ------------------------------------------------------------------------------
 */

/* Returns the number of CPUs without a row. */
static uint32_t find_rows(const struct model *m, struct model_frame *f)
{
	const struct table *t = f->table;
	uint32_t nr_missing = 0;

	for (size_t i = 0; i < m->facts.nr_cpus; i++)
		f->row_of[i] = NO_ROW;
	for (size_t row = 0; row < t->nr_rows; row++)
		if (t->row_trace[row] < m->facts.nr_cpus)
			f->row_of[t->row_trace[row]] = (uint32_t)row;
	for (size_t i = 0; i < m->facts.nr_cpus; i++)
		nr_missing += f->row_of[i] == NO_ROW;
	return nr_missing;
}

static struct cell *group_cells(const struct model *m, const struct model_frame *f, uint32_t row)
{
	return &f->groups[(row - 1 - m->facts.nr_cpus) * m->nr_columns];
}

/* Of a group's row; NULL: it is none. */
static const struct model_dimension *dimension_of(const struct model *m, uint32_t row)
{
	return ARRAY_FIND(dim, m->dimensions, MODEL_NR_DIMENSIONS,
			  dim->nr && row >= dim->first_row && row - dim->first_row < dim->nr);
}

/* Its total is that of all CPUs. */
static bool is_of_cpus(const struct table_column *c)
{
	return c->metric || c->scope == EVENT_SCOPE_CPU;
}

/* The share of a CPU without a row: its trace is lost or unreadable. */
static void add_missing(const struct model *m, const struct table *t, uint32_t nr,
			struct cell *totals)
{
	for (size_t i = 0; i < m->nr_columns && nr; i++)
		if (is_of_cpus(&t->columns[i]))
			totals[i].nr_without += nr;
}

static void total_group(const struct model *m, struct model_frame *f, const struct model_group *g,
			uint32_t row)
{
	size_t nr = 0;

	for (size_t i = 0; i < g->nr; i++)
		if (f->row_of[g->traces[i]] != NO_ROW)
			f->rows[nr++] = f->row_of[g->traces[i]];
	table_total_of(f->table, f->rows, nr, group_cells(m, f, row));
	add_missing(m, f->table, (uint32_t)(g->nr - nr), group_cells(m, f, row));
}

/* Takes over the table and computes what is displayed. */
static void make_frame(struct model *m, struct model_frame *f, struct table **t)
{
	struct table *old = f->table;

	f->table = *t;
	*t = old;
	f->is_set = true;
	table_total(f->table);
	list_measured(m, f->table);
	add_missing(m, f->table, find_rows(m, f), f->table->totals);
	for (size_t k = 0; k < MODEL_NR_DIMENSIONS; k++) {
		const struct model_dimension *dim = &m->dimensions[k];

		for (size_t i = 0; i < dim->nr; i++)
			total_group(m, f, &dim->groups[i], dim->first_row + (uint32_t)i);
	}
}

static const struct cell *frame_cell(const struct model *m, const struct model_frame *f,
				     uint32_t row, size_t column)
{
	if (row == 0)
		return &f->table->totals[column];
	if (row > m->facts.nr_cpus)
		return &group_cells(m, f, row)[column];
	if (f->row_of[row - 1] == NO_ROW)
		return NULL;
	return table_cell(f->table, f->row_of[row - 1], column);
}

bool model_is_percent(const struct table_column *c, bool as_count)
{
	return strcmp(as_count ? c->unit : unit_shown(c->kind, c->unit).name, "%") == 0;
}

double model_number(const struct table_column *c, const struct cell *cell, bool as_count)
{
	double x;

	if (!cell || !cell_has_value(cell))
		return NAN;
	if (as_count)
		return cell->value;
	return unit_number(c->kind, c->unit, cell, &x) ? x : NAN;
}

/* The trace of one of its CPUs is missing. */
static bool lacks_trace(const struct model *m, const struct model_frame *f, uint32_t row)
{
	const struct model_dimension *of = dimension_of(m, row);
	const struct model_group *g = of ? &of->groups[row - of->first_row] : NULL;

	if (row == 0)
		return ARRAY_ANY(at, f->row_of, m->facts.nr_cpus, *at == NO_ROW);
	return g && ARRAY_ANY(trace, g->traces, g->nr, f->row_of[*trace] == NO_ROW);
}

/* NaN: there is none, or it would look like one of all CPUs in statistics and charts. */
static double number_to_remember(const struct model *m, const struct model_frame *f, uint32_t row,
				 size_t column, bool lacks)
{
	const struct table_column *c = &f->table->columns[column];

	if (lacks && is_of_cpus(c))
		return NAN;
	return model_number(c, frame_cell(m, f, row, column), false);
}

/* --- things ------------------------------------------------------------------------------------
 */

struct cell model_thing_cell(const struct model *m, size_t column, const struct cell *cell)
{
	struct cell limited = *cell;
	double limit = (double)cell->span_ns *
		       table_limit(model_column(m, column), m->facts.nr_machine_cpus, false);

	if (limit > 0 && cell->value > limit)
		limited.value = limit;
	return limited;
}

double model_thing_value(const struct model *m, const struct thing_series_one *one, size_t i)
{
	return thing_series_value(&m->series, one, m->history.nr - 1 - i);
}

bool model_is_item(const struct model *m, size_t column)
{
	const struct table_column *c = model_column(m, column);

	return c->scope == EVENT_SCOPE_SYSTEM && !c->metric &&
	       !absent_is(m->shown->table, NULL, column);
}

static void remember_things(struct model *m, const struct table *t)
{
	thing_series_begin(&m->series);
	for (size_t i = 0; i < t->nr_things; i++) {
		const struct table_thing *thing = &t->things[i];

		thing_series_set(&m->series, thing->column, thing->number,
				 model_number(&t->columns[thing->column], &thing->cell, false));
	}
}

static void remember(struct model *m, const struct model_frame *f)
{
	const struct table *t = f->table;
	const struct history_entry entry = {.iteration = t->iteration,
					    .is_cut = t->is_cut,
					    .span_s = (double)(t->end_ns - t->start_ns) / 1e9};
	uint32_t nr_rows = m->has_row_history ? m->nr_rows : 1;

	history_begin(&m->history, &entry);
	for (uint32_t row = 0; row < nr_rows; row++) {
		const bool lacks = lacks_trace(m, f, row);

		for (size_t i = 0; i < m->nr_columns; i++)
			history_set(&m->history, model_series(m, row, i),
				    number_to_remember(m, f, row, i, lacks));
	}
	remember_things(m, t);
	if (!m->first_start_ns || t->start_ns < m->first_start_ns)
		m->first_start_ns = t->start_ns;
	m->last_end_ns = t->end_ns;
	m->last_iteration = t->iteration;
	m->nr_lost += table_lost(t);
}

static void turn_frames(struct model *m)
{
	struct model_frame *spare = m->shown;

	m->shown = m->spare;
	m->spare = spare;
}

void model_add(struct model *m, struct table **t)
{
	make_frame(m, m->spare, t);
	remember(m, m->spare);
	if (!m->facts.is_replay && (!m->is_paused || !m->shown->is_set))
		turn_frames(m);
}

void model_show(struct model *m, struct table **t)
{
	make_frame(m, m->spare, t);
	turn_frames(m);
}

void model_forget(struct model *m)
{
	history_clear(&m->history);
	thing_series_clear(&m->series);
}

void model_note(struct model *m, const char *text)
{
	char *to = m->notes[m->nr_notes++ % MODEL_MAX_NOTES];

	snprintf(to, MODEL_NOTE_BYTES, "%s", text);
}

/* --- queries -----------------------------------------------------------------------------------
 */

size_t model_series(const struct model *m, uint32_t row, size_t column)
{
	return row * m->nr_columns + column;
}

const struct cell *model_cell(const struct model *m, uint32_t row, size_t column)
{
	return m->shown->is_set && row < m->nr_rows ? frame_cell(m, m->shown, row, column) : NULL;
}

const struct table_column *model_column(const struct model *m, size_t column)
{
	return &m->shown->table->columns[column];
}

const char *model_row_name(const struct model *m, uint32_t row, char text[MODEL_NAME_BYTES])
{
	const struct model_dimension *of = dimension_of(m, row);

	if (row == 0)
		return "all";
	if (row <= m->facts.nr_cpus) {
		snprintf(text, MODEL_NAME_BYTES, "%u", m->facts.cpus[row - 1].cpu);
		return text;
	}
	return of ? of->groups[row - of->first_row].name : "";
}

struct model_difference model_difference(const struct model *m, uint32_t row, size_t column)
{
	struct model_difference d = {.amount = NAN, .factor = NAN, .spread = MODEL_UNKNOWN};
	const struct cell *cell = model_cell(m, row, column);
	size_t series = model_series(m, row, column);
	const struct spread *base;
	double x, width;

	if (!m->baseline.is_set || series >= m->history.nr_series)
		return d;
	base = &m->baseline.spread[series];
	x = model_number(model_column(m, column), cell, false);
	if (!base->nr)
		return d;
	d.is_points = model_is_percent(model_column(m, column), m->is_counts);
	d.factor = d.is_points ? 1 : base->mean != 0 ? 100 / fabs(base->mean) : NAN;
	d.amount = x == base->mean ? 0 : (x - base->mean) * d.factor;
	if (base->nr < 2 || isnan(x))
		return d;
	/* beyond: so far from the mean that chance explains it in fewer than 5 of 100 iterations,
	 * by a t-test with this many iterations */
	width = spread_deviation(base) * sqrt(1 + 1 / (double)base->nr) *
		chance_student_inverse(0.05, (double)base->nr - 1);
	d.spread = fabs(x - base->mean) > width ? MODEL_BEYOND : MODEL_INSIDE;
	return d;
}
