#include "reports/region_instants.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "exports/lines.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_FOR_PEOPLE = 40, ROWS_WHEN_BRIEF = 8, TEXT_BYTES = 64 << 10 };

static const double quantiles[] = {0.5, 0.9, 0.99};

static const struct grid_column for_programs[REPORTS_REGION_INSTANTS_COLUMNS] = {
    {"kind", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"name", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"count", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
    {"per_second", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"value_mean", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"value_min", NULL, NULL, GRID_INTEGER, GRID_ONLY_MACHINES},
    {"value_p50", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"value_p90", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"value_p99", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"value_max", NULL, NULL, GRID_INTEGER, GRID_ONLY_MACHINES},
};

size_t reports_region_instants_columns(struct grid_column *columns)
{
	memcpy(columns, for_programs, sizeof(for_programs));
	return ARRAY_NR(for_programs);
}

void reports_region_instants_none(struct grid *g)
{
	grid_text(g, "region");
	for (size_t i = 1; i < ARRAY_NR(for_programs); i++)
		grid_none(g);
}

/* The time in which they were recorded and selected, in seconds; NaN: it is not known. */
static int find_span(const struct job *j, double *span_s, struct err *e)
{
	const struct input *in = job_input(j);
	struct profile_about about;
	uint64_t ns = 0;
	int rc = export_about_read(in, NULL, NULL, &about, e);

	if (rc == 0 && profile_region_time(in->processes, &j->selection->filter, about.start_ns,
					   about.end_ns, &ns))
		rc = err_set(e, -ENOMEM, "out of memory");
	*span_s = ns ? (double)ns / 1e9 : NAN;
	profile_about_fini(&about);
	return rc;
}

static const struct report_region_instant *instant_at(const struct reports_region_instants *r,
						      uint32_t number)
{
	return dict_at(&r->sums->instants.sums, number);
}

/* Of each thread the most frequent first. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct reports_region_instants *r = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct report_region_instant *x = instant_at(r, i), *y = instant_at(r, k);

	return order_u64(x->thread, y->thread) ?: -order_u64(x->nr, y->nr) ?: order_u64(i, k);
}

static void put_numbers(const struct reports_region_instants *r, struct grid *g, uint32_t number,
			double span_s)
{
	const struct report_region_instant *i = instant_at(r, number);

	grid_count(g, i->nr);
	grid_real(g, (double)i->nr / span_s);
	if (!i->is_value) {
		for (size_t k = 0; k < 3 + ARRAY_NR(quantiles); k++)
			grid_none(g);
		return;
	}
	grid_real(g, i->mean);
	grid_integer(g, i->min);
	for (size_t k = 0; k < ARRAY_NR(quantiles); k++)
		grid_real(
		    g, report_region_instants_quantile(&r->sums->instants, number, quantiles[k]));
	grid_integer(g, i->max);
}

static void put_row(const struct reports_region_instants *r, struct grid *g, uint32_t number,
		    double span_s)
{
	const struct report_region_instant *i = instant_at(r, number);
	const char *name = dict_text(&r->sums->instants.names, i->name);
	bool is_people = r->j->output->form == GRID_PEOPLE;
	BUF_AUTO(path, TEXT_BYTES);

	profile_region_text(r->processes, i->region, &path);
	grid_row(g);
	if (is_people)
		put_numbers(r, g, number, span_s);
	for (size_t k = 0; !is_people && k < r->nr_before; k++)
		grid_none(g);
	if (r->by_thread)
		r->put_thread(dict_at(&r->sums->threads, i->thread - 1), g);
	if (is_people) {
		grid_text(g, name);
		grid_text(g, buf_str(&path));
		return;
	}
	grid_text(g, buf_str(&path));
	grid_text(g, profile_region(r->processes, i->region)->name);
	grid_text(g, i->is_value ? "value" : "instant");
	grid_text(g, name);
	put_numbers(r, g, number, span_s);
}

static struct grid *make_grid(const struct reports_region_instants *r)
{
	static const struct grid_column columns[] = {
	    {"count", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"per_second", "per s", NULL, GRID_REAL, GRID_ALL},
	    {"mean", NULL, NULL, GRID_REAL, GRID_ALL},
	    {"min", NULL, NULL, GRID_INTEGER, GRID_ALL, 3},
	    {"p50", NULL, NULL, GRID_REAL, GRID_ALL, 1},
	    {"p90", NULL, NULL, GRID_REAL, GRID_ALL, 1},
	    {"p99", NULL, NULL, GRID_REAL, GRID_ALL, 2},
	    {"max", NULL, NULL, GRID_INTEGER, GRID_ALL, 3},
	    {"pid", NULL, NULL, GRID_NUMBER, GRID_ONLY_MACHINES},
	    {"tid", NULL, NULL, GRID_NUMBER, GRID_ONLY_MACHINES},
	    {"thread", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"name", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"region", "in region", NULL, GRID_TEXT, GRID_ALL},
	};
	enum { THREAD = 8, AFTER = 11 };
	struct grid_column own[ARRAY_NR(columns)];
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_NR(columns); i++)
		if (r->by_thread || i < THREAD || i >= AFTER)
			own[nr++] = columns[i];
	return reports_grid(r->j, own, nr);
}

static void put_rows(const struct reports_region_instants *r, struct grid *g, const uint32_t *order,
		     double span_s)
{
	uint64_t top = r->j->is_brief ? ROWS_WHEN_BRIEF : reports_top(r->j, ROWS_FOR_PEOPLE);
	size_t nr = r->sums->instants.sums.nr;
	struct reports_rest rest = {.is_beyond_top = true};

	for (size_t i = 0; i < nr; i++) {
		if (i < top)
			put_row(r, g, order[i], span_s);
		else
			rest.nr++;
	}
	reports_rest_put(r->j, &rest, NULL, g);
}

int reports_region_instants_put(const struct reports_region_instants *r, struct grid *g,
				struct err *e)
{
	const struct report_region_instants *s = &r->sums->instants;
	bool is_people = r->j->output->form == GRID_PEOPLE;
	uint32_t *order;
	double span_s;
	int rc;

	if (!s->sums.nr)
		return 0;
	order = mem_calloc(s->sums.nr, sizeof(*order));
	if (!order)
		return err_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < s->sums.nr; i++)
		order[i] = i;
	qsort_r(order, s->sums.nr, sizeof(*order), compare, (void *)r);
	rc = find_span(r->j, &span_s, e);
	if (rc == 0 && is_people) {
		buf_printf(&r->j->output->text,
			   "\nInstants and values, by the innermost region that they are in%s\n",
			   s->is_full ? "; some are omitted: there are too many names" : "");
		g = make_grid(r);
		rc = g ? 0 : err_set(e, -ENOMEM, "out of memory");
	}
	if (rc == 0)
		put_rows(r, g, order, span_s);
	mem_free(order);
	return rc == 0 && is_people ? reports_end(r->j, g, 0, e) : rc;
}
