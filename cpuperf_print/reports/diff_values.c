/*
 * Arguments and results of functions in the comparison: of each the mean, if it is a number, and
 * of its most frequent values how many calls had them, and how long these took. They are found by
 * names alone: a new build has other addresses.
 *
 * The sessions are read twice: an argument that has a range in any of them has nothing but ranges,
 * and which values are frequent is known at the end.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "counts/values.h"
#include "elf/demangle.h"
#include "profile/session.h"
#include "reports/diff.h"
#include "reports/reports.h"
#include "trace/reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { WAS, IS, NR_SIDES };
enum { VALUES_OF_ARGUMENT = 10, VALUES_FOR_PEOPLE = 5, MAX_ROWS = 1024, NAME_BYTES = 4096 };
enum { MAX_BYTES = 256 << 20 };

/* What is compared. */
enum number { MEAN, CALLS, TIME, NR_NUMBERS };
static const struct {
	const char *name, *label, *unit;
} numbers[NR_NUMBERS] = {
    [MEAN] = {"mean", "mean", ""},
    [CALLS] = {"calls", "calls", "calls"},
    [TIME] = {"ns_per_call", "time per call", "ns"},
};

/* Of a value, or of all numbers of an argument, in a replicate. */
struct sums {
	double calls, timed, wall_ns, sum;
};

struct argument {
	size_t row, nr_rows; /* those that are compared */
};

/* What stands at an index of the amounts. */
struct place {
	uint32_t argument, row; /* row: of the argument's; MEAN has none */
	enum number number;
};

struct diff_values {
	struct job *j;
	struct diff_side side[NR_SIDES];
	bool by_iteration, are_runs, are_rates;
	struct counts_values all;
	struct counts_value *row; /* owned; those that are compared, argument by argument */
	size_t nr_rows;
	struct argument *argument;    /* owned */
	size_t nr_arguments, nr_left; /* left: beyond the limit */
	size_t nr_replicates;         /* of both sides */
	size_t reading;               /* the replicate; of iterations the first one */
	size_t nr_reading;            /* of the session that is read */
	struct sums *sums;            /* owned; by row, then by argument; and by replicate */
	double *values;               /* owned; of the amounts */
	struct amount *amounts;       /* owned */
	struct place *places;         /* owned; of the amounts */
	size_t nr;
};

/* --- reading --------------------------------------------------------------------------------- */

/* By names. */
static struct trace_value nameable(const struct trace_value *v)
{
	struct trace_value by_name = *v;

	by_name.address = 0;
	by_name.object = "";
	return by_name;
}

static int see_trace(void *arg, const struct profile_trace *t)
{
	struct diff_values *d = arg;
	int rc = 0;

	for (size_t i = 0; i < t->nr_values && rc == 0; i++) {
		const struct trace_value v = nameable(&t->values[i].value);

		if (profile_filter_has_event(&d->j->selection->filter, &t->events[v.event]))
			rc = counts_values_add(&d->all, &v);
	}
	return rc;
}

static struct sums *sums_at(const struct diff_values *d, size_t row, size_t replicate)
{
	return &d->sums[row * d->nr_replicates + replicate];
}

/* NULL: it is not compared. */
static const struct argument *find_argument(const struct diff_values *d,
					    const struct counts_value *key)
{
	return ARRAY_FIND(a, d->argument, d->nr_arguments,
			  counts_value_compare_field(&d->row[a->row], key) == 0);
}

static void add(struct sums *to, const struct trace_value *v)
{
	to->calls += (double)v->calls;
	to->timed += (double)v->timed;
	to->wall_ns += (double)v->wall_ns;
	to->sum += v->type == TRACE_VALUE_UNSIGNED ? (double)v->sum : (double)(int64_t)v->sum;
}

static int add_value(struct diff_values *d, const struct trace_value *v, size_t replicate)
{
	const struct argument *a;
	struct counts_value key;

	if (counts_values_key(&d->all, v, &key))
		return -ENOMEM;
	a = find_argument(d, &key);
	if (!a)
		return 0;
	if (counts_value_is_number(&key))
		add(sums_at(d, d->nr_rows + (size_t)(a - d->argument), replicate), v);
	for (size_t i = a->row; i < a->row + a->nr_rows; i++)
		if (counts_value_has(&d->row[i], &key))
			add(sums_at(d, i, replicate), v);
	return 0;
}

static int add_trace(void *arg, const struct profile_trace *t)
{
	struct diff_values *d = arg;
	const size_t of = d->by_iteration ? t->head.iteration : 0;
	int rc = 0;

	for (size_t i = 0; i < t->nr_values && of < d->nr_reading && rc == 0; i++) {
		const struct trace_value v = nameable(&t->values[i].value);

		rc = add_value(d, &v, d->reading + of);
	}
	return rc;
}

static int read_side(struct diff_values *d, int side,
		     int (*fn)(void *, const struct profile_trace *))
{
	const struct diff_side *s = &d->side[side];
	int rc = 0;

	d->reading = side == IS ? d->side[WAS].nr_replicates : 0;
	d->nr_reading = d->by_iteration ? s->nr_replicates : 1;
	for (size_t i = 0; i < s->nr && rc == 0; i++, d->reading++) {
		const struct input *o = &d->j->inputs->item[s->first + i];

		rc = o->import ? 0 : reports_each_trace(d->j, o, fn, d);
	}
	return rc;
}

/* --- what is compared ------------------------------------------------------------------------ */

static void choose_argument(struct diff_values *d, size_t first, size_t nr)
{
	struct argument *a = &d->argument[d->nr_arguments];

	*a = (struct argument){.row = d->nr_rows};
	for (size_t i = first; i < first + nr; i++) {
		if (i - first >= VALUES_OF_ARGUMENT && d->row[i].kind != TRACE_VALUE_RANGE)
			break;
		if (d->nr_rows == MAX_ROWS) {
			d->nr_left++;
			break;
		}
		d->row[d->nr_rows++] = d->row[i];
		a->nr_rows++;
	}
	d->nr_arguments += a->nr_rows > 0;
}

static int choose(struct diff_values *d)
{
	size_t nr;
	int rc = counts_values_rows(&d->all, &d->row, &nr);

	d->argument = rc ? NULL : mem_calloc(nr + 1, sizeof(*d->argument));
	if (!d->argument)
		return -ENOMEM;
	for (size_t i = 0, len; i < nr; i += len) {
		len = counts_values_of_field(d->row + i, nr - i);
		choose_argument(d, i, len);
	}
	return 0;
}

/* --- amounts --------------------------------------------------------------------------------- */

/* NAN: the replicate has none. */
static double value_of(const struct diff_values *d, int side, size_t replicate,
		       const struct place *at)
{
	const struct argument *a = &d->argument[at->argument];
	const struct diff_replicate *of = &d->side[side].replicates[replicate];
	const size_t row = at->number == MEAN ? d->nr_rows + at->argument : a->row + at->row;
	const struct sums *s =
	    sums_at(d, row, replicate + (side == IS ? d->side[WAS].nr_replicates : 0));

	if (d->are_rates ? !of->duration_ns : of->is_cut)
		return NAN;
	switch (at->number) {
	case MEAN:
		return s->calls > 0 ? s->sum / s->calls : NAN;
	case TIME:
		return s->timed > 0 ? s->wall_ns / s->timed : NAN;
	default:
		return d->are_rates ? s->calls * 1e9 / (double)of->duration_ns : s->calls;
	}
}

/* A change of what may be below 0 is no part of it. */
static bool is_comparable(const struct place *at, const double *value, size_t nr)
{
	return at->number != MEAN || !ARRAY_ANY(v, value, nr, *v < 0);
}

static void add_amount(struct diff_values *d, struct place at, double **values)
{
	size_t nr[NR_SIDES] = {0};
	double *first = *values;

	for (int side = WAS; side <= IS; side++)
		for (size_t i = 0; i < d->side[side].nr_replicates; i++) {
			**values = value_of(d, side, i, &at);
			nr[side] += isfinite(**values);
			*values += isfinite(**values);
		}
	if (!nr[WAS] || !nr[IS] || !is_comparable(&at, first, nr[WAS] + nr[IS])) {
		*values = first;
		return;
	}
	d->amounts[d->nr] =
	    (struct amount){.value = {first, first + nr[WAS]}, .nr = {nr[WAS], nr[IS]}};
	d->places[d->nr++] = at;
}

static int compare(struct diff_values *d)
{
	const size_t nr = d->nr_arguments + 2 * d->nr_rows;
	double *values;

	/* add_amount writes one more than it keeps */
	d->values = values = mem_calloc(nr * d->nr_replicates + 1, sizeof(*values));
	d->amounts = mem_calloc(nr + 1, sizeof(*d->amounts));
	d->places = mem_calloc(nr + 1, sizeof(*d->places));
	if (!d->values || !d->amounts || !d->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->nr_arguments; i++) {
		const struct argument *a = &d->argument[i];

		/* of pointers no mean says anything */
		if (d->row[a->row].type != TRACE_VALUE_POINTER)
			add_amount(d, (struct place){.argument = i, .number = MEAN}, &values);
		for (uint32_t k = 0; k < a->nr_rows; k++)
			for (enum number n = CALLS; n <= TIME; n++)
				add_amount(d, (struct place){i, k, n}, &values);
	}
	return amounts_judge(d->amounts, d->nr, d->by_iteration && !d->are_runs);
}

static int read_and_compare(struct diff_values *d)
{
	int rc = read_side(d, WAS, see_trace) ?: read_side(d, IS, see_trace) ?: choose(d);
	size_t nr = d->nr_rows + d->nr_arguments;

	if (rc || !nr)
		return rc;
	if (nr * d->nr_replicates > MAX_BYTES / sizeof(*d->sums))
		return -EFBIG;
	d->sums = mem_calloc(nr * d->nr_replicates + 1, sizeof(*d->sums));
	if (!d->sums)
		return -ENOMEM;
	return read_side(d, WAS, add_trace) ?: read_side(d, IS, add_trace) ?: compare(d);
}

int diff_values_new(struct job *j, const struct diff_regions_options *o,
		    const struct diff_side side[2], struct diff_values **out, struct err *e)
{
	struct diff_values *d = mem_zalloc(sizeof(*d));
	int rc = d ? 0 : -ENOMEM;

	*out = NULL;
	if (d) {
		d->j = j;
		memcpy(d->side, side, sizeof(d->side));
		d->by_iteration = o->by_iteration;
		d->are_runs = o->are_runs;
		d->are_rates = o->are_rates;
		d->nr_replicates = side[WAS].nr_replicates + side[IS].nr_replicates;
		rc = read_and_compare(d);
	}
	if (rc)
		err_set(e, rc, "values of arguments cannot be compared: %s", strerror(-rc));
	if (rc == 0 && d->nr)
		*out = d;
	else
		diff_values_free(d);
	return rc;
}

void diff_values_free(struct diff_values *d)
{
	if (!d)
		return;
	counts_values_fini(&d->all);
	mem_free(d->row);
	mem_free(d->argument);
	mem_free(d->sums);
	mem_free(d->values);
	mem_free(d->amounts);
	mem_free(d->places);
	mem_free(d);
}

const struct amount *diff_values_list(const struct diff_values *d, size_t *nr)
{
	*nr = d->nr;
	return d->amounts;
}

bool diff_values_has_limit(const struct diff_values *d, size_t i)
{
	return d->places[i].number == TIME;
}

/* --- text ------------------------------------------------------------------------------------ */

static void add_value_text(const struct diff_values *d, const struct counts_value *v, struct buf *b)
{
	const bool is_text = v->kind == TRACE_VALUE_TEXT || v->kind == TRACE_VALUE_LONG_TEXT;

	buf_adds(b, is_text ? " = \"" : " = ");
	counts_value_put(&d->all, v, b);
	if (is_text)
		buf_adds(b, v->kind == TRACE_VALUE_TEXT ? "\"" : "\"…");
	else if (!counts_value_is_number(v))
		buf_printf(b, "[%s]", counts_value_kind(v));
}

/* "handle(size = 1000)", "handle(size)" */
static void add_place(const struct diff_values *d, const struct place *at, struct buf *b)
{
	const struct argument *a = &d->argument[at->argument];
	const struct counts_value *v = &d->row[a->row + at->row];
	const char *symbol = counts_value_text(&d->all, v->name);
	char name[ELF_MAX_NAME_BYTES];

	buf_printf(b, "%s(%s", elf_demangle(symbol, name) ? name : symbol,
		   counts_value_text(&d->all, v->field_name));
	if (at->number != MEAN)
		add_value_text(d, v, b);
	buf_addc(b, ')');
}

void diff_values_name(const struct diff_values *d, size_t i, struct buf *b)
{
	add_place(d, &d->places[i], b);
	buf_printf(b, " %s", numbers[d->places[i].number].name);
}

static void put_heading(const struct diff_values *d)
{
	const char *what = d->are_runs ? "run" : d->by_iteration ? "iteration" : "session";
	struct buf *b = &d->j->output->text;
	size_t nr[NR_SIDES] = {0};

	for (int side = WAS; side <= IS; side++)
		for (size_t i = 0; i < d->side[side].nr_replicates; i++)
			nr[side] += d->are_rates ? d->side[side].replicates[i].duration_ns > 0
						 : !d->side[side].replicates[i].is_cut;
	buf_printf(b, "\nValues of arguments and results: %zu %s%s now, %zu before; ", nr[IS], what,
		   str_plural(nr[IS], "", "s"), nr[WAS]);
	diff_amounts_say_tested(d->amounts, d->nr, what, b);
	if (d->are_rates)
		buf_adds(b, "They did not do the same work: calls per second are compared\n");
}

int diff_values_print(struct diff_values *d, struct err *e)
{
	static const struct grid_column columns[] = {
	    {"number", NULL, NULL, GRID_TEXT, GRID_ALL},
	    DIFF_AMOUNT_COLUMNS,
	    {"value", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	const uint64_t top = reports_top(d->j, VALUES_FOR_PEOPLE);
	const size_t start = d->j->output->text.len;
	struct grid *g = reports_grid(d->j, columns, ARRAY_NR(columns));
	struct reports_rest rest = {0};

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	put_heading(d);
	reports_wrap(d->j, start);
	for (size_t i = 0; i < d->nr; i++) {
		const struct place *at = &d->places[i];
		BUF_AUTO(text, NAME_BYTES);

		if (at->row >= top && !d->amounts[i].is_significant) {
			if (at->number == CALLS)
				reports_rest_add(&rest, &(struct report_weight){0}, true, false);
			continue;
		}
		add_place(d, at, &text);
		grid_row(g);
		grid_text(g, numbers[at->number].label);
		diff_amount_put(g, &d->amounts[i], numbers[at->number].unit,
				d->are_rates && at->number == CALLS);
		grid_text(g, buf_str(&text));
	}
	reports_rest_put(d->j, &rest, NULL, g);
	if (d->nr_left)
		grid_line(g, "Of more values than these nothing is compared.");
	return reports_end(d->j, g, 0, e);
}
