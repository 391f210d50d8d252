/*
 * The report hosts: the hosts and ranks of a job, and which of them differs beyond chance. Each
 * quantity (the time, the CPU time, each event over time, each function's share of an event) of
 * each part is a test, and so is each of each host where it has several parts; Holm's correction is
 * over all. Half of the error rate is that of the two times, which matter most.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "estimate/chance.h"
#include "estimate/table.h"
#include "estimate/unit.h"
#include "numbers.h"
#include "report/diff.h"
#include "report/functions.h"
#include "reports/hosts_read.h"
#include "reports/reports.h"
#include "samples.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	TOP = 40,
	MAX_FUNCTIONS = 200,
	MIN_SAMPLES = 5, /* of a function, for each part */
	NAME_BYTES = 512,
	MAX_NAMED = 3, /* in the headline */
};

enum kind { WALL, CPU, COLUMN, FUNCTION };

/* Samples of a function in a part. */
struct sampled_row {
	uint32_t event, function, part; /* key */
	uint64_t samples, weight;
	double squares;
};

/* Of all parts. */
struct function_row {
	uint32_t event, function; /* key */
	const struct report_function *is;
	uint64_t samples, weight;
};

struct quantity {
	enum kind kind;
	uint32_t column; /* COLUMN; FUNCTION: the event */
	uint32_t function;
};

/* A part, or the parts of a host. */
struct unit_of {
	size_t first, nr;
	bool is_host;
	size_t strangest; /* its test with the smallest p, then the largest |z| */
	bool has_test;
};

struct test {
	size_t quantity, unit;
	struct outliers_item item;
	struct outlier found;
	double adjusted;
};

struct report {
	struct job *j;
	struct hosts_read read;
	struct report_stats stats;
	struct dict sampled;         /* struct sampled_row */
	struct dict functions;       /* struct function_row */
	struct report_weight *whole; /* owned; of each event and part */
	struct quantity *quantities; /* owned */
	size_t nr_quantities;
	struct unit_of *units; /* owned; parts, then hosts */
	size_t nr_units, nr_parts, nr_hosts;
	struct test *tests; /* owned */
	size_t nr_tests, tests_room;
	bool has_ranks;
};

/* --- samples ------------------------------------------------------------------------------------
 */

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report *r = arg;
	const struct report_weight *w = &e->weight;
	const struct sampled_row key = {.event = e->key.event,
					.function = e->frames[0].function->number,
					.part = e->key.session - (uint32_t)r->j->first};
	const struct function_row all = {.event = key.event, .function = key.function};
	struct function_row *function = dict_get(&r->functions, &all);
	struct sampled_row *row = dict_get(&r->sampled, &key);

	if (!row || !function)
		return -ENOMEM;
	row->samples += w->samples;
	row->weight += w->weight;
	row->squares += w->squares;
	function->is = e->frames[0].function;
	function->samples += w->samples;
	function->weight += w->weight;
	report_weight_add(&r->whole[key.event * r->j->nr + key.part], w);
	return 0;
}

static int read_samples(struct report *r, struct err *e)
{
	const struct report_sink sink = {.parts = REPORT_BY_SESSION, .entry = add_entry, .arg = r};
	const struct profile_facts *f = job_input(r->j)->facts;

	dict_init(&r->sampled, sizeof(struct sampled_row), DICT_KEY(struct sampled_row, part),
		  DICT_MAX);
	dict_init(&r->functions, sizeof(struct function_row),
		  DICT_KEY(struct function_row, function), DICT_MAX);
	r->whole = mem_calloc(f->nr_events * r->j->nr + 1, sizeof(*r->whole));
	if (!r->whole)
		return err_set(e, -ENOMEM, "out of memory");
	if (ARRAY_ANY(x, &r->j->inputs->item[r->j->first], r->j->nr, !x->facts->is_sampling))
		return 0;
	return samples_load_names(r->j, e)
		   ?: samples_read(r->j, r->j->first, r->j->nr, &sink, &r->stats, e);
}

/* --- quantities ---------------------------------------------------------------------------------
 */

/* By name, not by number: numbers are given as names are found, by several threads. */
static int by_weight(const void *a, const void *b)
{
	const struct function_row *x = a, *y = b;

	return order_u64(y->weight, x->weight)
		   ?: order_u64(x->event, y->event) ?: report_function_compare(x->is, y->is);
}

/* Those with enough samples, which does not depend on whether a part differs. */
static int add_functions(struct report *r)
{
	const size_t nr = r->functions.nr;
	MEM_AUTO struct function_row *rows = mem_calloc(nr + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		rows[i] = *(struct function_row *)dict_at(&r->functions, i);
	order_sort(rows, nr, sizeof(*rows), by_weight);
	for (size_t i = 0, added = 0; i < nr && added < MAX_FUNCTIONS; i++) {
		if (rows[i].samples < MIN_SAMPLES * r->j->nr)
			continue;
		r->quantities[r->nr_quantities++] =
		    (struct quantity){FUNCTION, rows[i].event, rows[i].function};
		added++;
	}
	return 0;
}

static int make_quantities(struct report *r)
{
	const struct table *t = r->read.table;

	r->quantities = mem_calloc(2 + t->nr_columns + MAX_FUNCTIONS, sizeof(*r->quantities));
	if (!r->quantities)
		return -ENOMEM;
	r->quantities[r->nr_quantities++] = (struct quantity){.kind = WALL};
	r->quantities[r->nr_quantities++] = (struct quantity){.kind = CPU};
	for (uint32_t i = 0; i < t->nr_columns; i++)
		r->quantities[r->nr_quantities++] = (struct quantity){COLUMN, i, 0};
	return add_functions(r);
}

static int make_units(struct report *r)
{
	const struct job *j = r->j;

	r->units = mem_calloc(2 * j->nr + 1, sizeof(*r->units));
	if (!r->units)
		return -ENOMEM;
	for (size_t i = 0; i < j->nr; i++) {
		r->units[r->nr_units++] = (struct unit_of){.first = i, .nr = 1};
		r->has_ranks |= input_rank(&j->inputs->item[j->first + i]) != TRACE_UNKNOWN;
	}
	r->nr_parts = r->nr_units;
	for (size_t i = 0; i < j->nr;) {
		size_t nr = parts_of_host(j->inputs, j->first + i, j->first + j->nr);

		r->units[r->nr_units++] = (struct unit_of){.first = i, .nr = nr, .is_host = true};
		r->nr_hosts++;
		i += nr;
	}
	if (r->nr_hosts == r->nr_parts) /* the same again */
		r->nr_units = r->nr_parts;
	return 0;
}

/* What could not be read is missing, too. */
static enum hosts_status status_of(const struct report *r, const struct unit_of *u)
{
	enum hosts_status status = HOSTS_OK;

	for (size_t i = u->first; i < u->first + u->nr; i++) {
		const struct input *o = &r->j->inputs->item[r->j->first + i];

		if (o->part && o->part->status != HOSTS_OK)
			return o->part->status;
		if (input_is_damaged(o))
			status = HOSTS_PARTIAL;
	}
	return status;
}

/* The share of a function in the samples of a unit. */
static struct outliers_item function_of(const struct report *r, const struct quantity *q,
					const struct unit_of *u)
{
	struct report_weight part = {.samples = 0}, all = {.samples = 0};
	struct interval share;
	double error;

	for (size_t i = u->first; i < u->first + u->nr; i++) {
		const struct sampled_row key = {q->column, q->function, (uint32_t)i, 0, 0, 0};
		const uint32_t at = dict_find(&r->sampled, &key);
		const struct sampled_row *row = at == DICT_NONE ? NULL : dict_at(&r->sampled, at);

		report_weight_add(&all, &r->whole[q->column * r->j->nr + i]);
		part.weight += row ? row->weight : 0;
		part.samples += row ? row->samples : 0;
		part.squares += row ? row->squares : 0;
	}
	if (!all.samples)
		return (struct outliers_item){.value = NAN};
	part.random = part.squares > 0 ? part.samples : 0;
	/* rows are not known by function */
	part.rows = all.rows = (struct interval_segments){0};
	share = reports_share_of(&part, &all);
	error = (share.high - share.low) / 2 / 1.96;
	return (struct outliers_item){share.share, error * error};
}

/* Counts of a host's parts add up; other numbers have a mean. */
static struct outliers_item column_of(const struct report *r, uint32_t column,
				      const struct unit_of *u)
{
	const struct table_column *c = &r->read.table->columns[column];
	const bool adds_up = !c->metric && c->kind == EVENT_COUNT;
	struct outliers_item sum = {.value = 0};

	for (size_t i = u->first; i < u->first + u->nr; i++) {
		sum.value += r->read.part[i].columns[column].value;
		sum.variance += r->read.part[i].columns[column].variance;
	}
	if (!adds_up) {
		sum.value /= (double)u->nr;
		sum.variance /= (double)u->nr * (double)u->nr;
	}
	return sum;
}

static struct outliers_item time_of(const struct report *r, enum kind kind, const struct unit_of *u)
{
	struct outliers_item item = {.value = 0};

	for (size_t i = u->first; i < u->first + u->nr; i++) {
		const struct hosts_read_part *p = &r->read.part[i];

		item.value = kind == CPU ? item.value + p->cpu_ns : fmax(item.value, p->wall_ns);
	}
	return item;
}

static struct outliers_item item_of(const struct report *r, const struct quantity *q,
				    const struct unit_of *u)
{
	if (q->kind == FUNCTION)
		return function_of(r, q, u);
	return q->kind == COLUMN ? column_of(r, q->column, u) : time_of(r, q->kind, u);
}

/* --- tests --------------------------------------------------------------------------------------
 */

/* Times of a part that began late or ended early are no times of its work, and functions of one
 * whose files are damaged may have no names. */
static bool is_comparable(const struct report *r, const struct quantity *q, const struct unit_of *u)
{
	const enum hosts_status status = status_of(r, u);

	if (q->kind == COLUMN || status == HOSTS_OK)
		return true;
	return q->kind == FUNCTION && status == HOSTS_LATE;
}

/* Of the units from first to end. */
static int test_quantity(struct report *r, size_t quantity, size_t first, size_t end)
{
	MEM_AUTO struct outliers_item *items = mem_calloc(end - first + 1, sizeof(*items));
	MEM_AUTO struct outlier *found = mem_calloc(end - first + 1, sizeof(*found));
	size_t nr = 0, before = r->nr_tests;

	if (!items || !found)
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		struct outliers_item item = item_of(r, &r->quantities[quantity], &r->units[i]);
		struct test *t;

		if (!isfinite(item.value) ||
		    !is_comparable(r, &r->quantities[quantity], &r->units[i]))
			continue;
		t = MEM_ADD(r->tests, r->nr_tests, r->tests_room);
		if (!t)
			return -ENOMEM;
		*t = (struct test){.quantity = quantity, .unit = i, .item = item};
		items[nr++] = item;
	}
	if (outliers_find(items, nr, found))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		r->tests[before + i].found = found[i];
	return 0;
}

static bool is_time(const struct report *r, const struct test *t)
{
	return r->quantities[t->quantity].kind <= CPU;
}

static int correct(struct report *r)
{
	const size_t nr = r->nr_tests;
	MEM_AUTO double *p = mem_calloc(3 * nr + 1, sizeof(*p));
	size_t nr_times = 0;
	double weight;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		nr_times += is_time(r, &r->tests[i]);
	weight = nr_times && nr > 2 * nr_times ? (double)(nr - nr_times) / (double)nr_times : 1;
	for (size_t i = 0; i < nr; i++) {
		p[i] = r->tests[i].found.p;
		p[nr + i] = is_time(r, &r->tests[i]) ? weight : 1;
	}
	if (chance_holm(p, p + nr, nr, p + 2 * nr, NULL))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		r->tests[i].adjusted = p[2 * nr + i];
	return 0;
}

static bool is_stranger(const struct test *a, const struct test *b)
{
	if (a->adjusted != b->adjusted)
		return a->adjusted < b->adjusted;
	return fabs(a->found.z) > fabs(b->found.z);
}

static int test_all(struct report *r)
{
	int rc = 0;

	for (size_t q = 0; q < r->nr_quantities && rc == 0; q++)
		rc = test_quantity(r, q, 0, r->nr_parts)
			 ?: test_quantity(r, q, r->nr_parts, r->nr_units);
	rc = rc ?: correct(r);
	for (size_t i = 0; i < r->nr_tests && rc == 0; i++) {
		struct unit_of *u = &r->units[r->tests[i].unit];

		if (!u->has_test || is_stranger(&r->tests[i], &r->tests[u->strangest]))
			u->strangest = i;
		u->has_test = true;
	}
	return rc;
}

static bool is_significant(const struct test *t)
{
	return t->adjusted < DIFF_SIGNIFICANCE;
}

/* --- printing -----------------------------------------------------------------------------------
 */

static const struct input *input_of(const struct report *r, const struct unit_of *u)
{
	return &r->j->inputs->item[r->j->first + u->first];
}

static void name_quantity(const struct report *r, const struct quantity *q, struct buf *out)
{
	const struct report_functions *f = r->j->inputs->functions;

	if (q->kind == COLUMN)
		buf_adds(out, r->read.table->columns[q->column].label);
	else if (q->kind == FUNCTION)
		buf_printf(out, "%s of %s", job_event(r->j, q->column)->label,
			   report_functions_at(f, q->function)->name);
	else
		buf_adds(out, q->kind == WALL ? "wall" : "CPU");
}

static void show_value(const struct report *r, const struct quantity *q, double x, struct buf *out)
{
	if (q->kind == COLUMN) {
		const struct table_column *c = &r->read.table->columns[q->column];
		const struct unit u = unit_shown(c->kind, c->unit);

		if (c->metric)
			screen_metric_human(out, x, c->unit);
		else
			screen_rate(out, x, &u);
	} else if (q->kind == FUNCTION) {
		buf_printf(out, "%s %%", DECIMAL(100 * x, 1));
	} else {
		screen_human(out, x, "ns");
	}
}

static void name_unit(const struct report *r, const struct unit_of *u, struct buf *out)
{
	const struct input *o = input_of(r, u);
	char text[PARTS_NAME_BYTES];

	if (u->is_host)
		buf_printf(out, "%s with its %zu ranks", input_host(o), u->nr);
	else
		buf_adds(out, o->part ? input_shown(o, text) : input_host(o));
}

static void show_p(double p, struct buf *out)
{
	if (p < 0.0001)
		buf_adds(out, "< 0.0001");
	else
		buf_adds(out, DECIMAL(p, 4));
}

/* "n5 differs beyond chance: wall 1.10 s, of the others 1.00 s (z 8.1, p 0.0003)". */
static void put_test(const struct report *r, const struct test *t, struct buf *out)
{
	const struct quantity *q = &r->quantities[t->quantity];

	name_unit(r, &r->units[t->unit], out);
	buf_adds(out, " differs beyond chance: ");
	name_quantity(r, q, out);
	buf_addc(out, ' ');
	show_value(r, q, t->item.value, out);
	buf_adds(out, ", the others ");
	show_value(r, q, t->found.usual, out);
	buf_printf(out, " (z %s%s, p ", t->found.z < 0 ? "-" : "",
		   isinf(t->found.z) ? "infinite" : DECIMAL(fabs(t->found.z), 1));
	show_p(t->adjusted, out);
	buf_addc(out, ')');
}

static int by_strangeness(const void *a, const void *b, void *arg)
{
	const struct report *r = arg;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct unit_of *u = &r->units[x], *v = &r->units[y];
	const bool is_u = u->has_test && is_significant(&r->tests[u->strangest]);
	const bool is_v = v->has_test && is_significant(&r->tests[v->strangest]);

	if (is_u != is_v)
		return is_u ? -1 : 1;
	if (is_u && is_stranger(&r->tests[u->strangest], &r->tests[v->strangest]))
		return -1;
	if (is_u && is_stranger(&r->tests[v->strangest], &r->tests[u->strangest]))
		return 1;
	return order_u64(x, y);
}

/* The units that differ come first. */
static size_t *make_order(const struct report *r)
{
	size_t *order = mem_calloc(r->nr_units + 1, sizeof(*order));

	for (size_t i = 0; i < r->nr_units && order; i++)
		order[i] = i;
	if (order)
		qsort_r(order, r->nr_units, sizeof(*order), by_strangeness, (void *)r);
	return order;
}

static const char *what_units(const struct report *r)
{
	return r->has_ranks ? "ranks" : "hosts";
}

static void put_headline(const struct report *r, const size_t *order)
{
	struct buf *out = &r->j->output->text;
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_units; i++)
		nr += r->units[i].has_test && is_significant(&r->tests[r->units[i].strangest]);
	if (r->nr_parts < OUTLIERS_MIN) {
		buf_printf(out,
			   "Whether one of %zu %s differs beyond chance cannot be told: that takes "
			   "at least %d\n",
			   r->nr_parts, r->nr_parts == 1 && !r->has_ranks ? "host" : what_units(r),
			   OUTLIERS_MIN);
	} else if (!nr) {
		buf_printf(out,
			   "None of %zu %s differs beyond chance (%zu quantities, 5 %% for any "
			   "false claim)\n",
			   r->nr_parts, what_units(r), r->nr_quantities);
	}
	for (size_t i = 0; i < nr && i < MAX_NAMED; i++) {
		put_test(r, &r->tests[r->units[order[i]].strangest], out);
		buf_addc(out, '\n');
	}
	if (nr > MAX_NAMED)
		buf_printf(out, "… and %zu more\n", nr - MAX_NAMED);
}

static void put_not_whole(const struct report *r)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_parts; i++)
		nr += status_of(r, &r->units[i]) != HOSTS_OK;
	if (nr)
		buf_printf(&r->j->output->text,
			   "%zu of %zu %s began late or %s not whole: times are compared without "
			   "%s\n",
			   nr, r->nr_parts, what_units(r), str_plural(nr, "is", "are"),
			   str_plural(nr, "it", "them"));
}

static void put_imbalance(const struct report *r, enum kind kind)
{
	struct buf *out = &r->j->output->text;
	MEM_AUTO double *values = mem_calloc(r->nr_parts + 1, sizeof(*values));
	MEM_AUTO size_t *units = mem_calloc(r->nr_parts + 1, sizeof(*units));
	struct imbalance b;
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_parts && values && units; i++) {
		if (status_of(r, &r->units[i]) != HOSTS_OK)
			continue;
		units[nr] = i;
		values[nr++] = time_of(r, kind, &r->units[i]).value;
	}
	if (nr < 2 || ARRAY_ANY(x, values, nr, !isfinite(*x)))
		return;
	outliers_imbalance(values, nr, &b);
	buf_printf(out, "Imbalance of %s: max/mean - 1 = %s %%, (max - mean)/max = %s %%; most: ",
		   kind == CPU ? "CPU time" : "wall time", DECIMAL(100 * b.over, 1),
		   DECIMAL(100 * b.idle, 1));
	name_unit(r, &r->units[units[b.slowest]], out);
	buf_printf(out, ", %s\n", HUMAN(b.max, "ns"));
}

static void put_heading(const struct report *r, const size_t *order)
{
	struct buf *out = &r->j->output->text;

	buf_printf(out, "\n%zu host%s", r->nr_hosts, str_plural(r->nr_hosts, "", "s"));
	if (r->has_ranks)
		buf_printf(out, ", %zu rank%s", r->nr_parts, str_plural(r->nr_parts, "", "s"));
	buf_addc(out, '\n');
	put_headline(r, order);
	put_not_whole(r);
	if (r->nr_parts > 1) {
		put_imbalance(r, WALL);
		put_imbalance(r, CPU);
	}
	screen_wrap_lines(out, 0, output_columns(r->j->output));
}

static void put_ns(struct grid *g, double ns)
{
	if (isfinite(ns))
		grid_count(g, (uint64_t)llround(ns));
	else
		grid_none(g);
}

static void put_place(const struct report *r, const struct unit_of *u, struct grid *g)
{
	const struct input *o = input_of(r, u);
	const uint32_t rank = input_rank(o);

	grid_text(g, input_host(o));
	if (u->is_host || rank == TRACE_UNKNOWN)
		grid_none(g);
	else
		grid_count(g, rank);
	grid_text(g, o->part && *o->part->node ? o->part->node : o->facts->head.host);
}

/* For people: a row for each part, and its strangest quantity. */
static int put_people(struct report *r, const size_t *order, struct err *e)
{
	const struct grid_column columns[] = {
	    {"host", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"rank", NULL, NULL, GRID_NUMBER, r->has_ranks ? GRID_ALL : GRID_ONLY_MACHINES},
	    {"node", NULL, NULL, GRID_TEXT, GRID_ALL, .leaves = 1},
	    {"status", NULL, NULL, GRID_TEXT, GRID_ALL, .leaves = 2},
	    {"wall", NULL, "ns", GRID_AMOUNT, GRID_ALL},
	    {"CPU", NULL, "ns", GRID_AMOUNT, GRID_ALL},
	    {"z", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"p", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"value", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"others", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"differs most in", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	const uint64_t top = reports_top(r->j, TOP);
	struct reports_rest rest = {.nr = 0};
	struct grid *g = reports_grid(r->j, columns, ARRAY_NR(columns));
	BUF_AUTO(text, NAME_BYTES);

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0, nr = 0; i < r->nr_units; i++) {
		const struct unit_of *u = &r->units[order[i]];
		const struct test *t = u->has_test ? &r->tests[u->strangest] : NULL;

		if (u->is_host && !(t && is_significant(t)))
			continue;
		if (nr++ >= top) {
			rest.nr++;
			rest.is_beyond_top = true;
			continue;
		}
		grid_row(g);
		put_place(r, u, g);
		grid_text(g, hosts_status_name(status_of(r, u)));
		put_ns(g, time_of(r, WALL, u).value);
		put_ns(g, time_of(r, CPU, u).value);
		if (!t || r->nr_parts < OUTLIERS_MIN)
			continue;
		grid_real(g, t->found.z);
		buf_reset(&text);
		show_p(t->adjusted, &text);
		grid_text(g, buf_str(&text));
		buf_reset(&text);
		show_value(r, &r->quantities[t->quantity], t->item.value, &text);
		grid_text(g, buf_str(&text));
		buf_reset(&text);
		show_value(r, &r->quantities[t->quantity], t->found.usual, &text);
		grid_text(g, buf_str(&text));
		buf_reset(&text);
		name_quantity(r, &r->quantities[t->quantity], &text);
		grid_text(g, buf_str(&text));
	}
	reports_rest_put(r->j, &rest, NULL, g);
	return reports_end(r->j, g, 0, e);
}

static void put_quantity(const struct report *r, const struct quantity *q, struct grid *g)
{
	static const char *const names[] = {"wall_ns", "cpu_ns", "rate", "share"};
	const struct table_column *c = &r->read.table->columns[q->column];
	const bool is_rate = q->kind == COLUMN && !c->metric && c->kind == EVENT_COUNT;
	const struct report_function *f =
	    q->kind == FUNCTION ? report_functions_at(r->j->inputs->functions, q->function) : NULL;

	grid_text(g, q->kind == COLUMN && !is_rate ? "mean" : names[q->kind]);
	if (q->kind == COLUMN)
		grid_text(g, c->label);
	else if (q->kind == FUNCTION)
		grid_text(g, job_event(r->j, q->column)->label);
	else
		grid_none(g);
	f ? grid_text(g, f->name) : grid_none(g);
	f ? grid_text(g, f->object) : grid_none(g);
}

/* For programs: each test. */
static int put_tests(struct report *r, struct err *e)
{
	static const struct grid_column columns[] = {
	    {"level", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"host", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"rank", NULL, NULL, GRID_NUMBER, GRID_ALL},
	    {"node_name", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"quantity", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"value", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"error", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"others", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"z", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"p", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"adjusted", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"differs", NULL, NULL, GRID_FLAG, GRID_ALL},
	};
	struct grid *g = reports_grid(r->j, columns, ARRAY_NR(columns));

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->nr_tests; i++) {
		const struct test *t = &r->tests[i];
		const struct unit_of *u = &r->units[t->unit];
		const bool is_told = r->nr_parts >= OUTLIERS_MIN;

		grid_row(g);
		grid_text(g, u->is_host || !r->has_ranks ? "host" : "rank");
		put_place(r, u, g);
		put_quantity(r, &r->quantities[t->quantity], g);
		grid_real(g, t->item.value);
		grid_real(g, sqrt(t->item.variance));
		is_told ? grid_real(g, t->found.usual) : grid_none(g);
		is_told &&isfinite(t->found.z) ? grid_real(g, t->found.z) : grid_none(g);
		is_told ? grid_real(g, t->found.p) : grid_none(g);
		is_told ? grid_real(g, t->adjusted) : grid_none(g);
		grid_flag(g, is_significant(t));
	}
	return reports_end(r->j, g, 0, e);
}

static int put_all(struct report *r, struct err *e)
{
	MEM_AUTO size_t *order = make_order(r);

	if (!order)
		return err_set(e, -ENOMEM, "out of memory");
	if (r->j->output->form != GRID_PEOPLE)
		return put_tests(r, e);
	put_heading(r, order);
	return put_people(r, order, e);
}

int reports_hosts(struct job *j, struct err *e)
{
	MEM_AUTO struct report *r = mem_zalloc(sizeof(*r));
	int rc;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->j = j;
	rc = hosts_read_all(j, &r->read, e) ?: read_samples(r, e);
	if (rc == 0 && (make_units(r) || make_quantities(r) || test_all(r)))
		rc = err_set(e, -ENOMEM, "out of memory");
	rc = rc ?: put_all(r, e);
	hosts_read_free(&r->read);
	report_stats_fini(&r->stats);
	dict_fini(&r->sampled);
	dict_fini(&r->functions);
	mem_free(r->whole);
	mem_free(r->quantities);
	mem_free(r->units);
	mem_free(r->tests);
	return rc;
}
