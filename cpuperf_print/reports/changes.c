/*
 * The report changes: sessions in the order of builds, as they are named. Of each function's share,
 * each event and the time of a command it says at which session its level changed
 * (estimate/change.h). p is adjusted by Holm over all that is tested; then each side of a change is
 * tested for further ones, likewise.
 */
#include "base/cause.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "estimate/chance.h"
#include "estimate/change.h"
#include "numbers.h"
#include "profile/filter.h"
#include "report/flat.h"
#include "report/functions.h"
#include "reports/reports.h"
#include "screen/grid.h"
#include "tables.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_FOR_PEOPLE = 40, MAX_SERIES = 1 << 20 };
/* Of the event's samples, on the average: smaller functions are not tested. */
#define MIN_PERCENT  0.5
#define SIGNIFICANCE 0.05

enum kind { TIME, EVENT, FUNCTION };
static const char *const kinds[] = {"time", "event", "function"};

/* A number of each session. */
struct series {
	struct {
		uint32_t kind, event, function;
	} key;
	double *values; /* owned; by session; NAN: it has none */
};

/* A part of a series, and its change. */
struct segment {
	uint32_t series;
	size_t first, nr;
	struct change change;
	double p; /* adjusted */
};

struct report {
	struct job *j;
	bool are_runs; /* of a command: what is counted is of a run, else of a second */
	struct dict series;
	double *wholes; /* owned; of samples, by event and session */
	size_t nr_tested;
	struct segment *found; /* owned */
	size_t nr_found, room;
	struct grid *g;
};

static const struct grid_column columns[] = {
    {"kind", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"was", NULL, NULL, GRID_TEXT, GRID_ONLY_PEOPLE},
    {"is", NULL, NULL, GRID_TEXT, GRID_ONLY_PEOPLE},
    {"was", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"is", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"unit", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"p", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"object", NULL, NULL, GRID_TEXT, GRID_ALL, 1},
    {"number", NULL, NULL, GRID_NUMBER, GRID_ALL},
    {"since", NULL, NULL, GRID_TEXT, GRID_ALL},
};

/* --- series ---------------------------------------------------------------------------------- */

/* NULL: no memory, or too many. */
static double *values_of(struct report *r, enum kind kind, uint32_t event, uint32_t function)
{
	const struct series key = {.key = {kind, event, function}};
	struct series *s = dict_get(&r->series, &key);

	if (!s || s->values)
		return s ? s->values : NULL;
	s->values = mem_calloc(r->j->nr, sizeof(*s->values));
	for (size_t i = 0; i < r->j->nr && s->values; i++)
		s->values[i] = kind == FUNCTION ? 0 : NAN;
	return s->values;
}

/* What a session's iterations add up to. */
struct sum {
	double value, seconds, nr;
};

static void add_cell(struct sum *s, const struct table *t, size_t column)
{
	const struct cell *cell = &t->totals[column];
	double seconds =
	    cell->span_ns ? (double)cell->span_ns / 1e9 : (double)(t->end_ns - t->start_ns) / 1e9;

	if (!cell_has_value(cell) || !isfinite(cell->value))
		return;
	s->value += cell->value;
	s->seconds += seconds;
	s->nr++;
}

static double level(const struct report *r, const struct table_column *c, const struct sum *s)
{
	bool is_count = !c->metric && c->kind == EVENT_COUNT;

	if (is_count && !r->are_runs)
		return s->seconds > 0 ? s->value / s->seconds : NAN;
	return s->nr > 0 ? s->value / s->nr : NAN;
}

/* sums: by column, and one for the time. */
static int put_session(struct report *r, size_t session, const struct table *t,
		       const struct sum *sums)
{
	const struct profile_filter *filter = &r->j->selection->filter;
	const struct profile_facts *facts = job_input(r->j)->facts;
	double *time = r->are_runs ? values_of(r, TIME, 0, 0) : NULL;

	if (r->are_runs && !time)
		return -ENOMEM;
	if (time && sums[t->nr_columns].nr > 0)
		time[session] = sums[t->nr_columns].value / sums[t->nr_columns].nr;
	for (size_t i = 0; i < t->nr_columns; i++) {
		double *values;

		if (i < facts->nr_events && !profile_filter_has_event(filter, &facts->events[i]))
			continue;
		values = values_of(r, EVENT, (uint32_t)i, 0);
		if (!values)
			return -ENOMEM;
		values[session] = level(r, &t->columns[i], &sums[i]);
	}
	return 0;
}

static int read_session(struct report *r, size_t session, struct err *e)
{
	struct tables x;
	int rc = tables_open(&x, r->j, &r->j->inputs->item[session], e);
	struct sum *sums = rc ? NULL : mem_calloc(x.t->nr_columns + 1, sizeof(*sums));

	if (rc == 0 && !sums)
		rc = -ENOMEM;
	while (rc == 0 && (rc = tables_next(&x, e)) == 1) {
		for (size_t i = 0; i < x.t->nr_columns; i++)
			add_cell(&sums[i], x.t, i);
		sums[x.t->nr_columns].value += (double)(x.t->end_ns - x.t->start_ns);
		sums[x.t->nr_columns].nr++;
		rc = 0;
	}
	rc = rc ?: put_session(r, session, x.t, sums);
	mem_free(sums);
	tables_close(&x);
	return rc;
}

/* Each iteration of each session ended with what it measured. */
static int find_runs(struct report *r, struct err *e)
{
	int rc = 0;

	r->are_runs = true;
	for (size_t i = 0; i < r->j->nr && rc == 0 && r->are_runs; i++) {
		struct tables x;

		rc = tables_open(&x, r->j, &r->j->inputs->item[i], e);
		while (rc == 0 && r->are_runs && (rc = tables_next(&x, e)) == 1) {
			r->are_runs = x.t->cause == CAUSE_RUN || x.t->cause == CAUSE_END;
			rc = 0;
		}
		tables_close(&x);
	}
	return rc;
}

/* --- functions ------------------------------------------------------------------------------- */

static double *whole(const struct report *r, const struct report_flat_row *row)
{
	return &r->wholes[row->column[REPORT_EVENT] * r->j->nr + row->column[REPORT_SESSION]];
}

static int add_rows(struct report *r, const struct report_flat_row *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		*whole(r, &rows[i]) += (double)rows[i].self.weight;
	for (size_t i = 0; i < nr; i++) {
		double *values = values_of(r, FUNCTION, rows[i].column[REPORT_EVENT],
					   rows[i].column[REPORT_FUNCTION]);

		if (!values)
			return -ENOMEM;
		if (*whole(r, &rows[i]) > 0)
			values[rows[i].column[REPORT_SESSION]] =
			    (double)rows[i].self.weight / *whole(r, &rows[i]);
	}
	return 0;
}

static int read_functions(struct report *r, struct err *e)
{
	struct report_flat *flat = report_flat_new(
	    r->j->inputs->functions, 1u << REPORT_FUNCTION | 1u << REPORT_SESSION, false);
	struct report_stats stats = {.nr_events = 0};
	const struct report_flat_row *rows = NULL;
	size_t nr = 0;
	int rc = flat ? 0 : -ENOMEM;

	r->wholes =
	    mem_calloc((job_input(r->j)->facts->nr_events + 1) * r->j->nr, sizeof(*r->wholes));
	if (!r->wholes)
		rc = -ENOMEM;
	if (rc == 0) {
		struct report_sink sink = *report_flat_sink(flat);

		sink.takes_maxima = false; /* shares are compared */
		rc = samples_read(r->j, r->j->first, r->j->nr, &sink, &stats, e);
	}
	if (rc == 0)
		rows = report_flat_rows(flat, &nr);
	if (rc == 0)
		rc = rows ? add_rows(r, rows, nr) : -ENOMEM;
	report_stats_fini(&stats);
	report_flat_free(flat);
	return rc;
}

/* --- tests ----------------------------------------------------------------------------------- */

static double mean_of(const struct series *s, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += s->values[i] / (double)nr;
	return sum;
}

/* All sessions have the number; a function is large enough. */
static bool is_tested(const struct report *r, const struct series *s)
{
	double mean = mean_of(s, r->j->nr);

	return r->j->nr >= CHANGE_MIN && isfinite(mean) &&
	       (s->key.kind != FUNCTION || mean >= reports_min_share(r->j, MIN_PERCENT));
}

/* Finds the change of each segment, and drops those without. 0 or -errno. */
static int find_changes(const struct report *r, struct segment *list, size_t *nr)
{
	size_t nr_left = 0;

	for (size_t i = 0; i < *nr; i++) {
		const struct series *s = dict_at(&r->series, list[i].series);
		int rc = change_find(s->values + list[i].first, list[i].nr, &list[i].change);

		if (rc < 0)
			return rc;
		if (rc == 1)
			list[nr_left++] = list[i];
	}
	*nr = nr_left;
	return 0;
}

static int adjust(struct segment *list, size_t nr)
{
	double *p = mem_calloc(2 * nr + 1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		p[i] = list[i].change.p;
	rc = chance_holm(p, NULL, nr, p + nr, NULL);
	for (size_t i = 0; i < nr && rc == 0; i++)
		list[i].p = p[nr + i];
	mem_free(p);
	return rc;
}

/* Adds what is significant to those found; the sides of it become *list. */
static int divide(struct report *r, struct segment **list, size_t *nr)
{
	struct segment *next = mem_calloc(2 * *nr + 1, sizeof(*next));
	size_t nr_next = 0;

	for (size_t i = 0; i < *nr && next; i++) {
		const struct segment *s = &(*list)[i];
		struct segment *found;

		if (s->p >= SIGNIFICANCE)
			continue;
		found = MEM_ADD(r->found, r->nr_found, r->room);
		if (!found) {
			mem_free(next);
			return -ENOMEM;
		}
		*found = *s;
		next[nr_next++] = (struct segment){s->series, s->first, s->change.at, {0}, 1};
		next[nr_next++] = (struct segment){
		    s->series, s->first + s->change.at, s->nr - s->change.at, {0}, 1};
	}
	mem_free(*list);
	*list = next;
	*nr = nr_next;
	return next ? 0 : -ENOMEM;
}

static int test(struct report *r)
{
	struct segment *list = mem_calloc(r->series.nr + 1, sizeof(*list));
	size_t nr = 0;
	int rc = list ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->series.nr && rc == 0; i++)
		if (is_tested(r, dict_at(&r->series, i)))
			list[nr++] = (struct segment){i, 0, r->j->nr, {0}, 1};
	r->nr_tested = nr;
	while (rc == 0 && nr)
		rc = find_changes(r, list, &nr) ?: adjust(list, nr) ?: divide(r, &list, &nr);
	mem_free(list);
	return rc;
}

/* --- output ---------------------------------------------------------------------------------- */

static double relative(const struct segment *s)
{
	double least = fmin(fabs(s->change.before), fabs(s->change.after));

	return fabs(s->change.after - s->change.before) / (least > 0 ? least : 1e-300);
}

static int compare(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;
	double dx = relative(x), dy = relative(y);

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return dx != dy ? (dx > dy ? -1 : 1)
			: order_u64(x->series, y->series) ?: order_u64(x->first, y->first);
}

struct shown {
	const char *event, *unit;
	double scale;
};

static struct shown shown_of(const struct report *r, const struct table *t, const struct series *s)
{
	const struct table_column *c = &t->columns[s->key.event];

	if (s->key.kind == TIME)
		return (struct shown){"wall_time", "ns", 1};
	if (s->key.kind == FUNCTION)
		return (struct shown){job_event(r->j, s->key.event)->label, "%", 100};
	return (struct shown){c->label, c->unit, 1};
}

static void put_value(struct grid *g, const struct report *r, const struct series *s,
		      const struct shown *shown, double v)
{
	BUF_AUTO(text, NUMBERS_BYTES);

	if (s->key.kind == FUNCTION)
		buf_printf(&text, "%.2f %%", v * shown->scale);
	else
		buf_adds(&text, HUMAN(v, shown->unit));
	if (s->key.kind == EVENT && !r->are_runs && strcmp(shown->unit, "%") != 0)
		buf_adds(&text, "/s");
	grid_text(g, buf_str(&text));
}

static void put_row(const struct report *r, const struct table *t, const struct segment *at)
{
	const struct series *s = dict_at(&r->series, at->series);
	const struct report_function *f =
	    s->key.kind == FUNCTION ? report_functions_at(r->j->inputs->functions, s->key.function)
				    : NULL;
	const struct shown shown = shown_of(r, t, s);
	size_t since = at->first + at->change.at;
	BUF_AUTO(p, NUMBERS_BYTES);

	grid_row(r->g);
	grid_text(r->g, kinds[s->key.kind]);
	grid_text(r->g, shown.event);
	put_value(r->g, r, s, &shown, at->change.before);
	put_value(r->g, r, s, &shown, at->change.after);
	grid_real(r->g, at->change.before * shown.scale);
	grid_real(r->g, at->change.after * shown.scale);
	grid_text(r->g, shown.unit);
	buf_printf(&p, "%.2g", at->p);
	grid_text(r->g, buf_str(&p));
	grid_text(r->g, f ? f->name : "");
	grid_text(r->g, f ? f->object : "");
	grid_count(r->g, since + 1);
	grid_text(r->g, r->j->inputs->item[since].path);
}

static void put_heading(const struct report *r)
{
	struct buf *out = &r->j->output->text;

	if (r->j->output->form != GRID_PEOPLE)
		return;
	buf_printf(out, "\nChanges over %zu %s, in the order in which they are named: ", r->j->nr,
		   str_plural(r->j->nr, "session", "sessions"));
	buf_printf(out, "%zu significant of %zu series tested; %s\n", r->nr_found, r->nr_tested,
		   r->are_runs ? "what was counted is of one run"
			       : "what was counted is per second");
}

static int put(struct report *r, struct err *e)
{
	uint64_t top = reports_top(r->j, ROWS_FOR_PEOPLE);
	struct reports_rest rest = {0};
	struct tables x;
	int rc = tables_open(&x, r->j, job_input(r->j), e);

	if (rc == 0) {
		put_heading(r);
		if (r->nr_found)
			qsort(r->found, r->nr_found, sizeof(*r->found), compare);
		r->g = reports_grid(r->j, columns, sizeof(columns) / sizeof(columns[0]));
		rc = r->g ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < r->nr_found && rc == 0; i++)
		if (i < top)
			put_row(r, x.t, &r->found[i]);
		else
			rest.nr++, rest.is_beyond_top = true;
	if (rc == 0)
		reports_rest_put(r->j, &rest, NULL, r->g);
	if (rc == 0 && !r->nr_found && r->j->output->form == GRID_PEOPLE)
		grid_free(r->g);
	else
		rc = r->g ? reports_end(r->j, r->g, rc, e) : rc;
	tables_close(&x);
	return rc;
}

static void warn_few(struct job *j)
{
	struct err problem = {0};

	if (j->nr >= CHANGE_MIN)
		return;
	err_set(&problem, -EINVAL, "--report=changes finds nothing in fewer than %d sessions",
		CHANGE_MIN);
	err_hint(&problem, "name them in the order of builds; --diff compares few");
	problems_add(&j->output->problems, false, &problem);
}

int reports_changes(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	int rc;

	warn_few(j);
	dict_init(&r.series, sizeof(struct series), sizeof(((struct series *)0)->key), MAX_SERIES);
	rc = find_runs(&r, e);
	for (size_t i = 0; i < j->nr && rc == 0; i++)
		rc = read_session(&r, i, e);
	if (rc == 0 && job_input(j)->facts->is_sampling)
		rc = read_functions(&r, e);
	rc = rc ?: test(&r) ?: put(&r, e);
	if (rc && !e->code)
		err_set(e, rc, "changes cannot be found: %s", strerror(-rc));
	for (uint32_t i = 0; i < r.series.nr; i++)
		mem_free(((struct series *)dict_at(&r.series, i))->values);
	dict_fini(&r.series);
	mem_free(r.wholes);
	mem_free(r.found);
	return rc;
}
