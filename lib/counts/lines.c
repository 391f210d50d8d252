/*
 * A point is spread over the slices that it overlaps. If a later time has no slice, pairs of slices
 * are joined. Amounts of several CPUs add up; the covered time is that of one CPU.
 */
#include "counts/lines.h"

#include "base/arena.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	NR = COUNTS_LINES_SLICES,
	FIRST_WIDTH_NS = 1000000,
	MAX_NAMES_BYTES = 16 << 20,
	NS_PER_S = 1000000000
};

/* A count: its amount; a share: part and whole; a value: times ns, and these. */
struct slice {
	double amount, base;
	double covered_ns; /* of the CPU that covers most */
	uint32_t part;     /* the first CPU's trace plus 1; 0: none yet */
	double part_ns;    /* covered by it */
	uint32_t run;      /* the last CPU, and the time it has covered since */
	double run_ns;
};

struct extremes {
	double min, max;
	bool has_any;
};

struct line {
	struct counts_line shown; /* must be first */
	struct extremes points, totals;
	uint32_t part;
	bool is_mixed; /* it contains several CPUs */
	struct slice slice[NR];
};

/* A line and its key. */
struct entry {
	uint32_t column, cpu, number;
	uint32_t kind;     /* 0; 1: samples; 2: of a thing */
	struct line *line; /* owned */
};

struct counts_lines {
	const struct metric_set *metrics;
	size_t nr_events;
	struct cell *cells; /* owned; by event: the operands of metrics */
	bool each_cpu;
	uint64_t nr_cpus;
	struct dict entries; /* struct entry */
	struct line **order; /* owned; the lines to show */
	size_t nr_order;
	struct arena names;
	uint64_t base_ns, width_ns; /* of the slices */
	uint64_t origin_ns;
	bool has_base, has_points;
	uint64_t first_ns, last_ns; /* of all points */
	uint64_t nr_skipped;
};

struct counts_lines *counts_lines_new(size_t nr_events, const struct metric_set *metrics,
				      bool each_cpu, uint64_t nr_cpus)
{
	struct counts_lines *l = mem_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	arena_init(&l->names, MAX_NAMES_BYTES);
	dict_init(&l->entries, sizeof(struct entry), DICT_KEY(struct entry, kind), DICT_MAX);
	l->metrics = metrics;
	l->nr_events = nr_events;
	l->each_cpu = each_cpu;
	l->nr_cpus = nr_cpus;
	l->width_ns = FIRST_WIDTH_NS;
	l->cells = mem_calloc(nr_events + 1, sizeof(*l->cells));
	if (l->cells)
		return l;
	counts_lines_free(l);
	return NULL;
}

static struct line *line_at(const struct counts_lines *l, uint32_t i)
{
	const struct entry *e = dict_at(&l->entries, i);

	return e ? e->line : NULL;
}

void counts_lines_free(struct counts_lines *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->entries.nr; i++)
		mem_free(line_at(l, i));
	dict_fini(&l->entries);
	mem_free(l->order);
	mem_free(l->cells);
	arena_fini(&l->names);
	mem_free(l);
}

/* --- which line ------------------------------------------------------------------------------ */

static struct line *add_line(struct counts_lines *l, const struct entry *key,
			     const struct table_column *of)
{
	struct line *line = mem_zalloc(sizeof(*line));
	struct entry *e = line ? dict_get(&l->entries, key) : NULL;

	if (!e) {
		mem_free(line);
		return NULL;
	}
	e->line = line;
	line->shown =
	    (struct counts_line){.column = key->column,
				 .cpu = key->cpu,
				 .number = key->number,
				 .of = *of,
				 .unit = unit_shown(of->kind, of->unit),
				 .is_samples = key->kind == 1,
				 .limit = table_limit_shown(of, l->nr_cpus, key->kind != 2),
				 .quality = {.running = 1}};
	return line;
}

static struct line *find(const struct counts_lines *l, const struct entry *key)
{
	return line_at(l, dict_find(&l->entries, key));
}

/* NULL: too many lines (counted), or no memory (-ENOMEM in *rc). */
static struct line *line_of(struct counts_lines *l, const struct counts_series_point *p,
			    uint32_t cpu, int *rc)
{
	const struct entry key = {.column = p->column,
				  .cpu = cpu,
				  .number = p->thing ? p->thing->number : 0,
				  .kind = p->is_samples ? 1
					  : p->thing    ? 2
							: 0};
	struct line *line = find(l, &key);
	bool is_needed = cpu == COUNTS_NO_CPU && !p->thing;

	*rc = 0;
	if (!line && !is_needed && l->entries.nr >= COUNTS_MAX_LINES) {
		l->nr_skipped++;
		return NULL;
	}
	if (!line)
		line = add_line(l, &key, p->of);
	if (line && p->thing && (!line->shown.thing || !*line->shown.thing))
		line->shown.thing = arena_strdup(&l->names, p->thing->name);
	if (line && p->thing && !line->shown.thing)
		line = NULL;
	if (!line)
		*rc = -ENOMEM;
	return line;
}

/* --- slices ---------------------------------------------------------------------------------- */

/* Adds a part of the same time. Points of a CPU follow one another, or alternate with simultaneous
 * points of other CPUs. */
static void add_part(struct slice *to, const struct slice *from)
{
	to->amount += from->amount;
	to->base += from->base;
	to->part = to->part ? to->part : from->part;
	if (to->part == from->part)
		to->part_ns += from->covered_ns;
	to->run_ns = to->run == from->part ? to->run_ns + from->covered_ns : from->covered_ns;
	to->run = from->part;
	to->covered_ns = fmax(to->covered_ns, fmax(to->part_ns, to->run_ns));
}

/* Adds the next slice. */
static void join(struct slice *to, const struct slice *from)
{
	to->amount += from->amount;
	to->base += from->base;
	to->covered_ns += from->covered_ns;
	to->part_ns += from->part_ns;
	to->part = to->part ? to->part : from->part;
	to->run_ns = to->run == from->run ? to->run_ns + from->run_ns : from->run_ns;
	to->run = from->run;
}

/* Doubles the width until the time is within the slices. */
static void widen(struct counts_lines *l, uint64_t end_ns)
{
	while (end_ns > l->base_ns && (end_ns - l->base_ns - 1) / l->width_ns >= NR) {
		for (uint32_t k = 0; k < l->entries.nr; k++) {
			const struct entry *e = dict_at(&l->entries, k);
			struct slice *slice = e->line->slice;

			for (size_t i = 0; i < NR / 2; i++) {
				struct slice sum = slice[2 * i];

				join(&sum, &slice[2 * i + 1]);
				slice[i] = sum;
			}
			memset(&slice[NR / 2], 0, NR / 2 * sizeof(*slice));
		}
		l->width_ns *= 2;
	}
}

/* The slice that contains the whole point. */
static struct slice whole_of(const struct counts_series_point *p, const struct cell *c)
{
	double ns = (double)(p->end_ns - p->start_ns);
	struct slice s = {.covered_ns = ns, .part = p->trace + 1};

	if (p->of->metric || p->of->kind == EVENT_VALUE) {
		s.amount = c->value * ns;
		s.base = ns;
	} else if (p->of->kind == EVENT_SHARE && !p->is_samples) {
		s.amount = (double)c->raw;
		s.base = (double)c->base;
	} else {
		s.amount = c->value;
	}
	return s;
}

static void spread_over(const struct counts_lines *l, struct line *line,
			const struct counts_series_point *p, const struct slice *whole)
{
	uint64_t start = p->start_ns - l->base_ns, end = p->end_ns - l->base_ns;
	size_t first = start / l->width_ns, last = (end - 1) / l->width_ns;

	for (size_t i = first; i <= last && i < NR; i++) {
		uint64_t from = i * l->width_ns, to = from + l->width_ns;
		double part;

		from = from > start ? from : start;
		to = to < end ? to : end;
		part = (double)(to - from) / (double)(end - start);
		add_part(&line->slice[i], &(struct slice){.amount = whole->amount * part,
							  .base = whole->base * part,
							  .covered_ns = whole->covered_ns * part,
							  .part = whole->part});
	}
}

static void reach(struct extremes *x, double value)
{
	x->min = x->has_any ? fmin(x->min, value) : value;
	x->max = x->has_any ? fmax(x->max, value) : value;
	x->has_any = true;
}

/* --- points ---------------------------------------------------------------------------------- */

/* Metrics are computed later, in add_metrics. */
static int add_to(struct counts_lines *l, uint32_t cpu, const struct counts_series_point *p,
		  const struct cell *c)
{
	struct slice whole;
	double value;
	int rc;
	struct line *line = line_of(l, p, cpu, &rc);

	if (!line)
		return rc;
	cell_quality_add(&line->shown.quality, p->cell);
	line->shown.nr_points += cell_has_value(p->cell) && (!p->is_samples || p->cell->count);
	if (!unit_number(p->of->kind, p->of->unit, c, &value))
		return 0;
	reach(p->is_total ? &line->totals : &line->points, value);
	if (p->is_total)
		return 0;
	line->is_mixed |= line->part && line->part != p->trace + 1;
	line->part = p->trace + 1;
	if (p->of->metric || p->start_ns >= p->end_ns || p->start_ns < l->base_ns)
		return 0;
	whole = whole_of(p, c);
	spread_over(l, line, p, &whole);
	return 0;
}

/* The count estimated from samples. */
static struct cell estimate(const struct counts_series_point *p)
{
	struct cell c = *p->cell;

	c.count = c.raw = p->weight;
	c.value = (double)p->weight;
	cell_scale(EVENT_COUNT, p->of->scale, &c);
	return c;
}

static void note_time(struct counts_lines *l, const struct counts_series_point *p)
{
	if (!l->has_base) {
		l->base_ns = p->start_ns < p->origin_ns ? p->start_ns : p->origin_ns;
		l->origin_ns = p->origin_ns;
		l->has_base = true;
	}
	if (!cell_has_value(p->cell) || p->start_ns < l->base_ns)
		return;
	if (!l->has_points || p->start_ns < l->first_ns)
		l->first_ns = p->start_ns;
	if (!l->has_points || p->end_ns > l->last_ns)
		l->last_ns = p->end_ns;
	l->has_points = true;
	widen(l, p->end_ns);
}

int counts_lines_add(void *arg, const struct counts_series_point *p)
{
	struct counts_lines *l = arg;
	struct cell c = p->is_samples ? estimate(p) : *p->cell;
	int rc = 0;

	note_time(l, p);
	if (l->each_cpu && p->cpu != COUNTS_NO_CPU)
		rc = add_to(l, p->cpu, p, &c);
	return rc ? rc : add_to(l, COUNTS_NO_CPU, p, &c);
}

/* --- numbers --------------------------------------------------------------------------------- */

/* Parts of ticks are fractions: use a finer unit. */
static uint64_t whole_number(double x, double base)
{
	double fine = base < 0x1p20 ? 0x1p40 : base < 0x1p40 ? 0x1p20 : 1;

	return (uint64_t)fmin(fmax(round(x * fine), 0), 0x1p63);
}

/* A slice as a cell of its event; a count is scaled to span_ns. */
static struct cell cell_of(const struct table_column *c, const struct slice *s, double span_ns)
{
	struct cell cell = {.state = CELL_NONE}, share = {.state = CELL_OK};

	if (!s->part || !(s->covered_ns > 0))
		return cell;
	if (c->kind == EVENT_SHARE) {
		share.raw = whole_number(s->amount, s->base);
		share.base = whole_number(s->base, s->base);
		if (share.base)
			cell_total(EVENT_SHARE, &cell, &share);
		return cell;
	}
	cell.state = CELL_OK;
	cell.is_real = true;
	if (c->kind == EVENT_VALUE) {
		cell.value = s->amount / s->base;
		return cell;
	}
	cell.value = s->amount * (span_ns / s->covered_ns);
	cell.span_ns = (uint64_t)fmin(span_ns, 0x1p63); /* times of a file may be lies */
	return cell;
}

/* Joins the slices from … to, those at the ends in part; has, if not NULL, selects slices. */
static struct slice sum_of(const struct line *line, double from, double to, const bool *has)
{
	struct slice sum = {0};

	for (size_t i = (size_t)from; i < NR && (double)i < to; i++) {
		double part = fmin(to, (double)i + 1) - fmax(from, (double)i);
		struct slice s = line->slice[i];

		s.amount *= part;
		s.base *= part;
		s.covered_ns *= part;
		if (part > 0 && (!has || has[i]))
			join(&sum, &s);
	}
	return sum;
}

/* The value of a metric whose operands accrue over span_ns. */
static double metric_value(const struct counts_lines *l, const struct line *line, double from,
			   double to, const bool *has, uint64_t span_ns)
{
	const struct metric *m = line->shown.of.metric;
	const struct expr_step *operand;
	struct cell out;

	for (size_t i = 0; (operand = metric_operand(m, &i));) {
		const struct line *of =
		    find(l, &(struct entry){.column = (uint32_t)operand->operand,
					    .cpu = line->shown.cpu});
		struct slice s = of ? sum_of(of, from, to, has) : (struct slice){0};

		l->cells[operand->operand] = of ? cell_of(&of->shown.of, &s, (double)span_ns)
						: (struct cell){.state = CELL_NONE};
	}
	metric_make(m, l->cells, span_ns, &out);
	return cell_has_value(&out) ? out.value : NAN;
}

/* The number over slices from … to, which may be fractions; NAN: none. */
static double value_of(const struct counts_lines *l, const struct line *line, double from,
		       double to)
{
	const struct table_column *of = &line->shown.of;
	struct slice s;
	struct cell c;
	double x;

	if (of->metric)
		return metric_value(l, line, from, to, NULL, NS_PER_S);
	s = sum_of(line, from, to, NULL);
	c = cell_of(of, &s, s.covered_ns);
	return unit_number(of->kind, of->unit, &c, &x) ? x : NAN;
}

/* --- lines ----------------------------------------------------------------------------------- */

static struct extremes extremes_of_slices(const struct counts_lines *l, const struct line *line)
{
	struct extremes x = {0};

	for (size_t i = 0; i < NR; i++) {
		double value = value_of(l, line, (double)i, (double)i + 1);

		if (!isnan(value))
			reach(&x, value);
	}
	return x;
}

/* The mean over the slices in which it has a number; the others contain only some operands. */
static double mean_of_metric(const struct counts_lines *l, const struct line *line,
			     uint64_t span_ns)
{
	bool has[NR];

	for (size_t i = 0; i < NR; i++)
		has[i] = !isnan(value_of(l, line, (double)i, (double)i + 1));
	return metric_value(l, line, 0, NR, has, span_ns);
}

/* True if twice the time does not yield the same value. */
static bool is_rate(const struct counts_lines *l, const struct line *line, double mean)
{
	double twice;

	if (!line->shown.of.metric || isnan(mean))
		return false;
	twice = mean_of_metric(l, line, 2 * (uint64_t)NS_PER_S);
	return fabs(twice - mean) > 1e-6 * fabs(mean);
}

static bool is_within(const struct extremes *x, double mean)
{
	double room = 1e-9 * fabs(mean);

	return x->has_any && x->min - room <= mean && mean <= x->max + room;
}

/* A point's number covers its own interval only, and if an operand misses a CPU for a time, points
 * and slices may cover different CPUs. */
static struct extremes extremes_of(const struct counts_lines *l, const struct line *line,
				   double mean)
{
	const struct extremes *x = line->totals.has_any ? &line->totals
				   : line->is_mixed     ? NULL
							: &line->points;
	bool is_good = x && x->has_any &&
		       (!line->shown.of.metric || (!*line->shown.unit.per && is_within(x, mean)));

	return is_good ? *x : extremes_of_slices(l, line);
}

static void make_numbers(const struct counts_lines *l, struct line *line)
{
	double mean =
	    line->shown.of.metric ? mean_of_metric(l, line, NS_PER_S) : value_of(l, line, 0, NR);
	struct extremes x;

	if (is_rate(l, line, mean))
		line->shown.unit.per = "/s";
	x = extremes_of(l, line, mean);
	if (!x.has_any || isnan(mean))
		return;
	line->shown.has_number = true;
	line->shown.min = x.min;
	line->shown.mean = mean;
	line->shown.max = x.max;
}

/* Metrics whose operands have several paces, or mix CPUs and the machine, have no points. */
static int add_metrics(struct counts_lines *l)
{
	for (size_t i = 0; i < l->metrics->nr; i++) {
		const struct metric *m = &l->metrics->item[i];
		const struct entry key = {.column = (uint32_t)(l->nr_events + i),
					  .cpu = COUNTS_NO_CPU};
		const struct table_column of = {.group = "metric",
						.name = m->name,
						.label = m->name,
						.unit = m->unit,
						.kind = EVENT_VALUE,
						.metric = m};

		if (!find(l, &key) && !add_line(l, &key, &of))
			return -ENOMEM;
	}
	return 0;
}

/* True if the line of the same event by the other method (counts, samples) has more points. */
static bool is_coarse(const struct counts_lines *l, const struct counts_line *a)
{
	const struct line *b = find(l, &(struct entry){a->column, a->cpu, 0, !a->is_samples});

	if (a->thing || !b)
		return false;
	return a->is_samples ? b->shown.nr_points >= a->nr_points
			     : b->shown.nr_points > a->nr_points;
}

/* The machine's number is the highest CPU number. */
static int compare(const void *a, const void *b)
{
	const struct counts_line *x = &(*(struct line *const *)a)->shown,
				 *y = &(*(struct line *const *)b)->shown;

	return order_u64(x->column, y->column) ?: order_u64(x->thing != NULL, y->thing != NULL)
		   ?: order_u64(x->cpu + 1u, y->cpu + 1u)
		   ?: order_u64(!x->has_number, !y->has_number)
		   ?: (y->mean > x->mean) - (y->mean < x->mean)
		   ?: order_u64(x->number, y->number);
}

int counts_lines_end(struct counts_lines *l)
{
	int rc = add_metrics(l);

	l->order = rc == 0 ? mem_calloc(l->entries.nr + 1, sizeof(struct line *)) : NULL;
	if (!l->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->entries.nr; i++) {
		struct line *line = line_at(l, i);

		make_numbers(l, line);
		if (!is_coarse(l, &line->shown))
			l->order[l->nr_order++] = line;
	}
	qsort(l->order, l->nr_order, sizeof(struct line *), compare);
	return 0;
}

size_t counts_lines_nr(const struct counts_lines *l)
{
	return l->nr_order;
}

const struct counts_line *counts_lines_at(const struct counts_lines *l, size_t i)
{
	return &l->order[i]->shown;
}

uint64_t counts_lines_nr_skipped(const struct counts_lines *l)
{
	return l->nr_skipped;
}

uint64_t counts_lines_start_ns(const struct counts_lines *l)
{
	return l->first_ns > l->origin_ns ? l->first_ns - l->origin_ns : 0;
}

uint64_t counts_lines_span_ns(const struct counts_lines *l)
{
	return l->last_ns - l->first_ns;
}

void counts_lines_shape(const struct counts_lines *l, size_t i, double *out, size_t nr)
{
	/* the slices that points cover */
	uint64_t first = (l->first_ns - l->base_ns) / l->width_ns, ns = l->last_ns - l->base_ns;
	uint64_t end = ns / l->width_ns + (ns % l->width_ns != 0);
	double step = ((double)end - (double)first) / (double)nr;

	for (size_t k = 0; k < nr; k++)
		out[k] = step > 0 ? value_of(l, l->order[i], (double)first + step * (double)k,
					     (double)first + step * (double)(k + 1))
				  : NAN;
}

void counts_lines_shape_at(const struct counts_lines *l, size_t i, int64_t start_ns,
			   uint64_t span_ns, double *out, size_t nr)
{
	const double width = (double)l->width_ns, step = (double)span_ns / width / (double)nr;
	const double first = ((double)start_ns + (double)(l->origin_ns - l->base_ns)) / width;

	for (size_t k = 0; k < nr; k++) {
		double from = fmax(first + step * (double)k, 0);
		double to = fmin(first + step * (double)(k + 1), NR);

		out[k] = from < to ? value_of(l, l->order[i], from, to) : NAN;
	}
}

uint64_t counts_lines_origin_ns(const struct counts_lines *l)
{
	return l->origin_ns;
}
