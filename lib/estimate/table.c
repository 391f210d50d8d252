/*
 * Tables of cells, and their summary.
 */
#include "estimate/table.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/sum.h"
#include "estimate/unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MAX_NAMES_BYTES = 64 << 20 };

struct table *table_new(size_t nr_columns, size_t nr_rows)
{
	struct table *t = mem_zalloc(sizeof(*t));
	size_t nr_cells;

	if (t)
		arena_init(&t->thing_names, MAX_NAMES_BYTES);
	if (!t || __builtin_mul_overflow(nr_columns, nr_rows, &nr_cells))
		goto fail;
	t->nr_columns = t->nr_events = nr_columns;
	t->nr_rows = nr_rows;
	t->columns = mem_calloc(nr_columns, sizeof(*t->columns));
	t->row_trace = mem_calloc(nr_rows, sizeof(*t->row_trace));
	t->row_cpu = mem_calloc(nr_rows, sizeof(*t->row_cpu));
	t->cells = mem_calloc(nr_cells, sizeof(*t->cells));
	t->totals = mem_calloc(nr_columns, sizeof(*t->totals));
	t->sums = mem_calloc(nr_columns, sizeof(*t->sums));
	if (!t->columns || !t->row_trace || !t->row_cpu || !t->cells || !t->totals || !t->sums)
		goto fail;
	for (size_t row = 0; row < nr_rows; row++)
		t->row_trace[row] = (uint32_t)row;
	return t;
fail:
	table_free(t);
	return NULL;
}

/* The first operand that is not measured; NULL if all are. */
static const struct table_column *missing_operand(const struct table *t, const struct metric *m)
{
	const struct expr_step *operand;

	for (size_t i = 0; (operand = metric_operand(m, &i));)
		if (t->columns[operand->operand].reason)
			return &t->columns[operand->operand];
	return NULL;
}

void table_reason(const struct table_column *c, struct buf *out)
{
	if (c->missing && *c->reason)
		buf_printf(out, "%s: ", c->missing);
	if (c->reason)
		buf_adds(out, c->reason);
}

enum { IN_ROW_0 = 1 << EVENT_SCOPE_SYSTEM | 1 << EVENT_SCOPE_THINGS };

bool table_scopes_meet(unsigned scopes)
{
	return !(scopes & ~(unsigned)IN_ROW_0) || !(scopes & (scopes - 1));
}

static unsigned scopes_of(const struct table *t, const struct metric *m)
{
	const struct expr_step *operand;
	unsigned scopes = 0;

	for (size_t i = 0; (operand = metric_operand(m, &i));)
		scopes |= 1u << (t->columns[operand->operand].scope & 31); /* from outside */
	return scopes;
}

void table_set_metrics(struct table *t, const struct metric_set *metrics)
{
	t->nr_events = t->nr_columns - metrics->nr;
	for (size_t i = 0; i < metrics->nr; i++) {
		const struct metric *m = &metrics->item[i];
		const struct table_column *missing = missing_operand(t, m);
		unsigned scopes = scopes_of(t, m);

		t->columns[t->nr_events + i] = (struct table_column){
		    .group = "metric",
		    .name = m->name,
		    .label = m->name,
		    .unit = m->unit,
		    .kind = EVENT_VALUE, /* it does not add up */
		    .reason = missing ? missing->reason : NULL,
		    .missing = missing ? missing->label : NULL,
		    .metric = m,
		    .scope = scopes & IN_ROW_0 ? EVENT_SCOPE_SYSTEM : EVENT_SCOPE_CPU,
		    .is_total_only = !table_scopes_meet(scopes),
		};
	}
}

int table_add_sampling(struct table *t)
{
	bool is_sampling = false;

	for (size_t i = 0; i < t->nr_columns; i++)
		is_sampling |= sampled_event_is_sampled(&t->columns[i].sampling);
	if (!is_sampling)
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
	mem_free(t->sums);
	mem_free(t->things);
	latencies_fini(&t->latencies);
	arena_fini(&t->thing_names);
	mem_free(t->sampled);
	mem_free(t->sampled_totals);
	mem_free(t->row_sampling);
	mem_free(t);
}

struct cell *table_cell(const struct table *t, size_t row, size_t column)
{
	return &t->cells[row * t->nr_columns + column];
}

const char *table_kind_name(const struct table_column *c)
{
	if (c->metric)
		return "metric";
	return c->kind == EVENT_VALUE ? "value" : c->kind == EVENT_SHARE ? "share" : "count";
}

bool table_is_of_cpu(const struct table_column *c)
{
	return c->scope == EVENT_SCOPE_CPU || c->scope == EVENT_SCOPE_PACKAGE;
}

bool table_has_total(const struct table *t, size_t column)
{
	const struct table_column *c = &t->columns[column];
	bool is_row_of_all = t->nr_rows == 1 && t->row_cpu[0] == TABLE_ALL_CPUS;

	return c->is_total_only || (table_is_of_cpu(c) && !is_row_of_all);
}

bool table_is_in_total(const struct table *t, size_t row, size_t column)
{
	return t->row_cpu[row] == TABLE_ALL_CPUS && table_has_total(t, column);
}

void table_set(struct table *t, size_t row, size_t column, uint32_t state,
	       const struct table_part *parts, size_t nr)
{
	const struct table_column *c = &t->columns[column];
	struct cell *cell = table_cell(t, row, column), part;
	struct reading start, end;
	size_t nr_read = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!parts[i].end || parts[i].end->state == READING_NONE)
			continue;
		if (parts[i].start && parts[i].times) {
			start = *parts[i].start;
			end = *parts[i].end;
			reading_set_times(&start, &end, parts[i].times);
			cell_make(c->kind, &start, &end, &part);
		} else {
			cell_make(c->kind, parts[i].start, parts[i].end, &part);
		}
		cell_scale(c->kind, c->scale, &part);
		if (nr_read++)
			cell_join(c->kind, cell, &part);
		else
			*cell = part;
	}
	if (nr_read)
		return;
	*cell = (struct cell){.state = CELL_NONE};
	if (row == 0 || c->scope == EVENT_SCOPE_CPU)
		cell->state = cell_state_of_reading(state);
	if (cell_has_value(cell)) /* a state makes no number */
		cell->state = CELL_NONE;
}

void table_drop_things(struct table *t)
{
	t->nr_things = 0;
	arena_fini(&t->thing_names);
	arena_init(&t->thing_names, MAX_NAMES_BYTES);
}

/* nr: the parts in the mean so far. */
static void add_to_mean(struct cell *mean, const struct cell *part, uint32_t nr)
{
	mean->value += (part->value - mean->value) / ((double)nr + 1);
	mean->is_real = true;
	mean->count = 0;
	if (part->time_ns > mean->time_ns)
		mean->time_ns = part->time_ns;
}

static void join(const struct table_column *c, struct cell *all, const struct cell *part,
		 uint32_t nr)
{
	switch (c->kind == EVENT_VALUE ? c->total : EVENT_TOTAL_SUM) {
	case EVENT_TOTAL_MEAN:
		add_to_mean(all, part, nr);
		break;
	case EVENT_TOTAL_LARGEST:
		if (part->value > all->value)
			*all = *part;
		break;
	default:
		cell_join(c->kind, all, part); /* nothing after an overflow */
	}
}

/* A sum is short of a thing without the value; the mean of those that have it is not. */
static bool is_missed(const struct table_column *c, const struct cell *part)
{
	return c->total == EVENT_TOTAL_SUM || part->state != CELL_NOT_SUPPORTED;
}

/* Of times what a thing can use at most in its span: of each CPU, or of one. */
static const struct bound {
	const char *name;
	bool is_of_cpus, has_sum; /* all things together can use no more */
} bounds[] = {
    {"process_cpu_time", true, true},
    {"cgroup_cpu_usage", true, false}, /* groups are in each other */
    {"disk_busy_time", false, false},
};

/* The kernel counts some in ticks, of each CPU, and a time is read a little after its clock. */
enum { SLACK_NS = 10000000, SLACK_PART = 100 };

double table_limit(const struct table_column *c, uint64_t nr_cpus, bool is_sum)
{
	const struct bound *b =
	    ARRAY_FIND(x, bounds, ARRAY_NR(bounds), c->name && strcmp(x->name, c->name) == 0);

	if (!b || (is_sum && !b->has_sum) || (b->is_of_cpus && !nr_cpus))
		return NAN;
	return b->is_of_cpus ? (double)nr_cpus : 1;
}

double table_limit_shown(const struct table_column *c, uint64_t nr_cpus, bool is_sum)
{
	static const uint64_t span_ns = 1000000000;
	const double nr = table_limit(c, nr_cpus, is_sum);
	const struct cell most = {
	    .state = CELL_OK, .value = nr * (double)span_ns, .span_ns = span_ns};
	double shown;

	return !isnan(nr) && unit_number(c->kind, c->unit, &most, &shown) ? shown : NAN;
}

static bool is_over(const struct table *t, size_t column, const struct cell *c, bool is_sum)
{
	const double nr = table_limit(&t->columns[column], t->nr_cpus, is_sum);
	double limit_ns;

	if (isnan(nr) || !cell_has_value(c))
		return false;
	limit_ns = nr * (double)c->span_ns;
	return c->value > limit_ns + limit_ns / SLACK_PART + (nr + 1) * SLACK_NS;
}

/* The first one with a number replaces the cell. */
static void add_to_cell(struct table *t, size_t column, const struct cell *part)
{
	struct cell *all = table_cell(t, 0, column);
	uint32_t nr_with = all->nr_with, nr_without = all->nr_without;
	bool has_rest = all->has_rest || part->has_rest;
	bool is_short = !has_rest && (all->is_short || part->is_short);
	bool has_over = all->is_over || part->is_over;

	if (!cell_has_value(part)) {
		if (all->state == CELL_NONE)
			all->state = part->state;
		all->nr_without += is_missed(&t->columns[column], part);
		return;
	}
	if (nr_with)
		join(&t->columns[column], all, part, nr_with);
	else
		*all = *part;
	all->nr_with = nr_with + 1;
	all->nr_without = nr_without;
	all->is_short = is_short;
	all->has_rest = has_rest;
	all->is_over = has_over || is_over(t, column, all, true);
}

void table_thing_gone(struct table *t, size_t column)
{
	struct cell *sum = table_cell(t, 0, column);

	sum->is_short |= t->columns[column].kind != EVENT_VALUE && !sum->has_rest;
}

int table_add_thing(struct table *t, size_t column, uint32_t number, const char *name,
		    const struct reading *start, const struct reading *end)
{
	const struct reading born = {.state = READING_OK, .time_ns = t->start_ns};
	const struct table_column *c = &t->columns[column];
	struct table_thing *thing;
	const char *copy;

	if (!end || !reading_is_of_thing(end)) {
		if (start && start->state == READING_OK && !(start->flags & READING_ENDED))
			table_thing_gone(t, column);
		return 0;
	}
	copy = arena_strdup(&t->thing_names, name);
	thing = copy ? MEM_ADD(t->things, t->nr_things, t->things_room) : NULL;
	if (!thing)
		return -ENOMEM;
	*thing = (struct table_thing){.column = column, .number = number, .name = copy};
	cell_make(c->kind, start ? start : &born, end, &thing->cell);
	/* counts before its first reading do not belong to this iteration */
	if (end->state == READING_OK && !start && end->flags & READING_OLD &&
	    c->kind != EVENT_VALUE)
		thing->cell = (struct cell){.state = CELL_NOT_COUNTED, .time_ns = end->time_ns};
	cell_scale(c->kind, c->scale, &thing->cell);
	thing->cell.is_over = is_over(t, column, &thing->cell, false);
	thing->cell.has_rest = end->flags & READING_REST && cell_has_value(&thing->cell);
	if (c->kind != EVENT_VALUE || !(end->flags & READING_ENDED))
		add_to_cell(t, column, &thing->cell);
	return 0;
}

void table_set_sampling(struct table *t, size_t row, const struct table_sampling *sampling)
{
	if (!t->sampled)
		return;
	memset(&t->sampled[row * t->nr_columns], 0, t->nr_columns * sizeof(*t->sampled));
	t->row_sampling[row] = *sampling;
}

struct sampled_event table_sampling(const struct table *t, size_t row, size_t column)
{
	struct sampled_event ev = t->columns[column].sampling;

	if (t->row_sampling && t->row_sampling[row].divisor)
		ev.period *= t->row_sampling[row].divisor;
	if (t->row_sampling && t->row_sampling[row].divisor)
		ev.frequency /= t->row_sampling[row].divisor;
	return ev;
}

void table_add_sampled(struct table *t, size_t row, size_t column, const struct sampled_counts *n)
{
	struct sampled_event ev;
	struct sampled *s;

	if (!t->sampled || column >= t->nr_columns ||
	    !sampled_event_is_sampled(&t->columns[column].sampling))
		return;
	ev = table_sampling(t, row, column);
	s = &t->sampled[row * t->nr_columns + column];
	sampled_counts_add(&s->n, n);
	sampled_make(&ev, &s->n, table_cell(t, row, column), t->row_sampling[row].idle_ns, s);
	if (t->row_sampling[row].held_to_ns)
		sampled_hold(s);
}

const struct sampled *table_sampled(const struct table *t, size_t row, size_t column)
{
	return t->sampled ? &t->sampled[row * t->nr_columns + column] : NULL;
}

uint64_t table_lost(const struct table *t)
{
	uint64_t lost = 0;

	for (size_t row = 0; t->sampled && row < t->nr_rows; row++)
		sum_add(&lost, t->row_sampling[row].lost);
	return lost;
}

void table_set_time(struct table *t, uint64_t start_ns, uint64_t end_ns,
		    const struct clock_triple *clocks)
{
	t->start_ns = start_ns;
	t->end_ns = end_ns;
	t->realtime_ns = clocks->realtime_ns && end_ns
			     ? clocks->realtime_ns + (end_ns - clocks->monotonic_ns)
			     : 0;
}

static uint64_t span_of(const struct table *t)
{
	return t->end_ns > t->start_ns ? t->end_ns - t->start_ns : 0;
}

/* Some rows of a table; NULL: the first nr. */
struct rows {
	const uint32_t *row;
	size_t nr;
};

static size_t row_at(const struct rows *rows, size_t i)
{
	return rows->row ? rows->row[i] : i;
}

/* Whether its operands are in different rows: of a target, what is counted is in the row of all
 * CPUs, and what is sampled in those of the CPUs. */
static bool is_apart(const struct table *t, const struct table_column *c, const struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		size_t row = row_at(rows, i);

		if (t->row_cpu[row] == TABLE_ALL_CPUS &&
		    metric_has(c->metric, table_cell(t, row, 0)) == METRIC_SOME)
			return true;
	}
	return false;
}

/* An operand over the rows that are whole for the metric; how many are not: a row in which an
 * operand has no number would make a wrong total. may_lack: blank ones do not count. */
static uint32_t sum_whole(struct table *t, const struct table_column *c, size_t operand,
			  const struct rows *rows, bool may_lack)
{
	enum event_kind kind = t->columns[operand].kind;
	uint32_t nr_others = 0;

	t->sums[operand] = (struct cell){.state = CELL_NONE};
	for (size_t i = 0; i < rows->nr; i++) {
		size_t row = row_at(rows, i);
		enum metric_has has = metric_has(c->metric, table_cell(t, row, 0));

		if (has == METRIC_SOME ? may_lack : has != METRIC_LACKS)
			cell_total(kind, &t->sums[operand], table_cell(t, row, operand));
		else
			nr_others++;
	}
	return nr_others;
}

static void total_metric(struct table *t, size_t i, const struct rows *rows, struct cell *total)
{
	const struct table_column *c = &t->columns[i];
	const bool may_lack = c->is_total_only || is_apart(t, c, rows);
	const struct expr_step *operand;
	uint32_t nr_others = 0;

	for (size_t k = 0; (operand = metric_operand(c->metric, &k));)
		nr_others = sum_whole(t, c, operand->operand, rows, may_lack);
	metric_make(c->metric, t->sums, span_of(t), total);
	total->nr_without += nr_others;
	if (total->state == CELL_NONE && nr_others)
		total->state = CELL_NA;
}

static void total_events(const struct table *t, const struct rows *rows, struct cell *totals)
{
	memset(totals, 0, t->nr_columns * sizeof(*totals));
	for (size_t k = 0; k < rows->nr; k++) {
		size_t row = row_at(rows, k);

		for (size_t i = 0; i < t->nr_events; i++)
			cell_total(t->columns[i].kind, &totals[i], table_cell(t, row, i));
	}
}

void table_total(struct table *t)
{
	const struct rows all = {NULL, t->nr_rows};

	total_events(t, &all, t->totals);
	for (size_t i = t->nr_events; i < t->nr_columns; i++) {
		for (size_t row = 0; row < t->nr_rows; row++) {
			struct cell *cell = table_cell(t, row, i);

			*cell = (struct cell){.state = CELL_NONE};
			if (!t->columns[i].is_total_only)
				metric_make(t->columns[i].metric, table_cell(t, row, 0), span_of(t),
					    cell);
		}
		total_metric(t, i, &all, &t->totals[i]);
	}
	if (!t->sampled)
		return;
	memset(t->sampled_totals, 0, t->nr_columns * sizeof(*t->sampled_totals));
	for (size_t row = 0; row < t->nr_rows; row++)
		for (size_t i = 0; i < t->nr_columns; i++)
			sampled_total(&t->sampled_totals[i], table_sampled(t, row, i));
}

void table_total_of(struct table *t, const uint32_t *rows, size_t nr, struct cell *cells)
{
	const struct rows some = {rows, nr};

	total_events(t, &some, cells);
	for (size_t i = t->nr_events; i < t->nr_columns; i++)
		total_metric(t, i, &some, &cells[i]);
}

static int copy_things(struct table *to, const struct table *from)
{
	table_drop_things(to);
	for (size_t i = 0; i < from->nr_things; i++) {
		const char *name = arena_strdup(&to->thing_names, from->things[i].name);
		struct table_thing *thing =
		    name ? MEM_ADD(to->things, to->nr_things, to->things_room) : NULL;

		if (!thing)
			return -ENOMEM;
		*thing = from->things[i];
		thing->name = name;
	}
	return 0;
}

int table_copy_events(struct table *to, const struct table *from)
{
	to->nr_rows = from->nr_rows;
	memcpy(to->row_trace, from->row_trace, from->nr_rows * sizeof(*to->row_trace));
	memcpy(to->row_cpu, from->row_cpu, from->nr_rows * sizeof(*to->row_cpu));
	for (size_t row = 0; row < from->nr_rows; row++)
		memcpy(table_cell(to, row, 0), table_cell(from, row, 0),
		       from->nr_events * sizeof(*to->cells));
	to->iteration = from->iteration;
	to->start_ns = from->start_ns;
	to->end_ns = from->end_ns;
	to->realtime_ns = from->realtime_ns;
	to->is_cut = from->is_cut;
	to->cause = from->cause;
	to->gap_ns = from->gap_ns;
	to->regions = from->regions;
	latencies_fini(&to->latencies);
	return copy_things(to, from) ?: latencies_merge(&to->latencies, &from->latencies);
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
	latencies_fini(&s->latencies);
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

/* Compares counts, else values: shares have no count. */
static bool is_less(const struct cell *a, const struct cell *b)
{
	return a->count != b->count ? a->count < b->count : a->value < b->value;
}

static void add_total(struct column_summary *s, const struct cell *total, bool is_alike)
{
	if (!cell_has_value(total))
		return;
	s->nr_partial += cell_is_short(total);
	if (cell_is_shorter(total, &s->least))
		s->least = *total;
	s->sum += total->count;
	s->real_sum += total->is_real ? total->value : 0;
	if (!is_alike && s->spread.nr) {
		s->cut += total->count;
		return;
	}
	if (!s->spread.nr || is_less(total, &s->min))
		s->min = *total;
	if (!s->spread.nr || is_less(&s->max, total))
		s->max = *total;
	spread_add(&s->spread, total->value);
}

/* Iterations come in order; those without room in a span are only counted. */
static void add_iteration(struct table_beyond *b, uint32_t iteration)
{
	struct table_span *last = b->nr_spans ? &b->span[b->nr_spans - 1] : NULL;

	b->nr_iterations++;
	if (last && last->last + 1 == iteration)
		last->last = iteration;
	else if (b->nr_spans < TABLE_MAX_SPANS)
		b->span[b->nr_spans++] = (struct table_span){iteration, iteration};
	else
		return;
	b->nr_in_spans++;
}

static void add_beyond(struct table_beyond *b, const struct table *t, size_t i,
		       enum cell_limit limit)
{
	bool is_beyond = t->totals[i].limit == limit;

	for (size_t row = 0; row < t->nr_rows; row++) {
		if (table_cell(t, row, i)->limit != limit)
			continue;
		cpuset_add(&b->cpus, t->row_cpu[row]);
		is_beyond = true;
	}
	if (is_beyond)
		add_iteration(b, t->iteration);
}

static void add_samples(struct table_summary *s, const struct table *t)
{
	sum_add(&s->lost, table_lost(t));
	for (size_t i = 0; i < s->nr_columns; i++)
		sampled_total(&s->column[i].sampled, &t->sampled_totals[i]);
}

void table_summary_add(struct table_summary *s, const struct table *t)
{
	uint64_t span_ns = t->end_ns > t->start_ns ? t->end_ns - t->start_ns : 0;
	bool is_alike;

	sum_add(&s->measured_ns, span_ns);
	sum_add(&s->gap_ns, t->gap_ns);
	s->last_cause = t->cause;
	if (!s->nr_iterations++)
		s->cause = t->cause;
	is_alike = table_is_alike(t, s->cause);
	s->nr_cut += t->is_cut;
	s->nr_other += !t->is_cut && !is_alike;
	if (!is_alike)
		s->cut_ns = span_ns;
	for (size_t i = 0; i < s->nr_columns; i++) {
		for (size_t row = 0; row < t->nr_rows; row++)
			add_cell(&s->column[i], table_cell(t, row, i));
		if (t->columns[i].is_total_only) /* it stands for the cells */
			add_cell(&s->column[i], &t->totals[i]);
		add_total(&s->column[i], &t->totals[i], is_alike);
		add_beyond(&s->column[i].low, t, i, CELL_LOW);
		add_beyond(&s->column[i].high, t, i, CELL_HIGH);
	}
	(void)latencies_merge(&s->latencies, &t->latencies); /* without memory less is shown */
	if (t->sampled)
		add_samples(s, t);
}
