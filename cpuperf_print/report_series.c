/*
 * Counts and misc over time: for programs a row for each point, as they are read.
 */
#include "report/series.h"

#include "base/err.h"
#include "reports.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SLICE_NS = 100000000, ROWS_AT_ONCE = 256 };

struct points {
	struct job *j;
	struct grid *g;
	size_t nr_waiting;
	struct err *e;
};

static const struct grid_column point_columns[] = {
    {"time_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"monotonic_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"span_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"iteration", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"cpu", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"group", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"label", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"thing", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"thing_name", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"kind", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"state", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"value", NULL, NULL, GRID_REAL, GRID_ALL},
    {"unit", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"raw", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"base", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"enabled_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"running_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"weight", NULL, NULL, GRID_COUNT, GRID_ALL},
};

static const char *kind_of(const struct report_series_point *p)
{
	if (p->is_samples)
		return "samples";
	if (p->of->metric)
		return "metric";
	return p->of->kind == EVENT_VALUE   ? "value"
	       : p->of->kind == EVENT_SHARE ? "share"
					    : "count";
}

/* That of the value. */
static const char *unit_of(const struct report_series_point *p, char text[64])
{
	if (p->is_samples)
		return "samples/s";
	if (p->of->kind == EVENT_SHARE)
		return "%";
	if (p->of->kind != EVENT_COUNT || p->of->metric)
		return p->of->unit;
	snprintf(text, 64, "%s/s", p->of->unit);
	return text;
}

static void put_count(struct grid *g, bool holds, uint64_t n)
{
	holds ? grid_count(g, n) : grid_none(g);
}

static void put_names(struct grid *g, const struct report_series_point *p)
{
	grid_text(g, p->of->group);
	grid_text(g, p->of->name);
	grid_text(g, p->of->label);
	put_count(g, p->thing != NULL, p->thing ? p->thing->number : 0);
	p->thing ? grid_text(g, p->thing->name) : grid_none(g);
	grid_text(g, kind_of(p));
	grid_text(g, cell_state_name(p->cell->state));
}

static void put_numbers(struct grid *g, const struct report_series_point *p)
{
	const struct cell *c = p->cell;
	bool has_value = cell_has_value(c);
	double value;
	char unit[64];

	report_series_value(p, &value) ? grid_real(g, value) : grid_none(g);
	grid_text(g, unit_of(p, unit));
	put_count(g, has_value && !p->of->metric, c->raw);
	put_count(g, has_value && p->of->kind == EVENT_SHARE && !p->is_samples, c->base);
	put_count(g, c->is_perf && !p->of->metric, c->enabled_ns);
	put_count(g, c->is_perf && !p->of->metric, c->running_ns);
	put_count(g, p->is_samples, p->weight);
}

static int write_rows(struct points *w)
{
	int rc = grid_write(w->g, &w->j->out);

	w->nr_waiting = 0;
	if (rc)
		return err_set(w->e, rc, "cannot be printed: %s", strerror(-rc));
	return job_flush(w->j, w->e);
}

/* Totals of events are those of the rows. */
static int put_point(void *arg, const struct report_series_point *p)
{
	struct points *w = arg;
	struct grid *g = w->g;

	if (p->is_total && !p->of->metric)
		return 0;
	w->j->nr_records++;
	grid_row(g);
	put_count(g, p->end_ns >= p->origin_ns, p->end_ns - p->origin_ns);
	grid_count(g, p->end_ns);
	put_count(g, p->cell->span_ns != 0, p->cell->span_ns);
	grid_count(g, p->iteration);
	put_count(g, p->cpu != REPORT_NO_CPU, p->cpu);
	put_names(g, p);
	put_numbers(g, p);
	return ++w->nr_waiting < ROWS_AT_ONCE ? 0 : write_rows(w);
}

static int print_points(struct job *j, const struct opened *o, struct err *e)
{
	struct points w = {.j = j, .e = e};
	const struct report_series_config config = {.session = o->session,
						    .metrics = &o->spec.metric_set,
						    .filter = &j->filter,
						    .slice_ns = SLICE_NS,
						    .point = put_point,
						    .arg = &w};
	int rc;

	w.g = report_grid(j, point_columns, sizeof(point_columns) / sizeof(point_columns[0]),
			  "series");
	if (!w.g)
		return err_set(e, -ENOMEM, "out of memory");
	rc = report_series(&config, e);
	return report_end(j, w.g, rc, e);
}

int report_series_print(struct job *j, size_t first, size_t nr, struct err *e)
{
	(void)nr;
	return print_points(j, &j->sessions[first], e);
}
