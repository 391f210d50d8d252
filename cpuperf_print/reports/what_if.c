/*
 * The report what-if: by how much a program would end earlier if a function were faster, by a
 * replay of what ended what (causal/graph.h).
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "numbers.h"
#include "report/functions.h"
#include "reports/reports.h"
#include "reports/what_if_graph.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>

enum { TOP = 10, CANDIDATES = 200, LINE_BYTES = 1024, USUAL_PERCENT = 25 };

/* A row: a function, or the functions of an option. */
struct row {
	const struct report_function *is; /* NULL: those that match */
	const char *glob;                 /* of options */
	double share;                     /* of its time that is cut */
	uint64_t own_ns;
	double own, all; /* ns by which the program ends earlier; own is NAN for options */
};

struct report {
	struct job *j;
	struct what_if *w; /* owned */
	struct row *rows;  /* owned */
	size_t nr, room;
};

static bool is_meant(const void *arg, const struct report_function *f)
{
	const struct row *row = arg;

	return row->is ? f == row->is : fnmatch(row->glob, f->name, 0) == 0;
}

static double saved_by(struct report *r, const struct row *row, bool has_callees)
{
	return what_if_saved_by(r->w, is_meant, row, row->share, has_callees);
}

static int by_own(const void *a, const void *b)
{
	const struct what_if_function *x = a, *y = b;

	return order_u64(y->ns, x->ns) ?: x->ns ? report_function_compare(x->is, y->is) : 0;
}

static int by_saved(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return order_reals(&y->own, &x->own)
		   ?: order_reals(&y->all, &x->all) ?: report_function_compare(x->is, y->is);
}

static int add_row(struct report *r, const struct row *row)
{
	struct row *to = MEM_ADD(r->rows, r->nr, r->room);

	if (!to)
		return -ENOMEM;
	*to = *row;
	to->own = row->is ? saved_by(r, row, false) : NAN;
	to->all = saved_by(r, row, true);
	return 0;
}

/* Of the functions with most time. */
static int add_functions(struct report *r, double share)
{
	size_t nr;
	const struct what_if_function *all = what_if_functions(r->w, &nr);
	MEM_AUTO struct what_if_function *f = mem_calloc(nr + 1, sizeof(*f));
	int rc = f ? 0 : -ENOMEM;

	if (rc)
		return rc;
	for (size_t i = 0; i < nr; i++)
		f[i] = all[i];
	order_sort(f, nr, sizeof(*f), by_own);
	for (size_t i = 0; i < nr && i < CANDIDATES && f[i].ns && rc == 0; i++)
		rc = add_row(r, &(struct row){.is = f[i].is, .share = share, .own_ns = f[i].ns});
	order_sort(r->rows, r->nr, sizeof(*r->rows), by_saved);
	return rc;
}

static int add_rows(struct report *r)
{
	const struct selection *s = r->j->selection;
	double share = USUAL_PERCENT / 100.0;
	int rc = 0;

	for (size_t i = 0; i < s->nr_speedups && rc == 0; i++) {
		if (s->speedup[i].glob)
			rc = add_row(r, &(struct row){.glob = s->speedup[i].glob,
						      .share = s->speedup[i].share});
		else
			share = s->speedup[i].share;
	}
	return rc ?: r->nr ? rc : add_functions(r, share);
}

/* ---- what is printed */

static struct grid *make_grid(const struct report *r)
{
	const struct grid_column columns[] = {
	    {"faster", NULL, "%", GRID_PERCENT, GRID_ALL, .leaves = 1},
	    {"own_time", "on CPU", "ns", GRID_AMOUNT, GRID_ALL, .leaves = 2},
	    {"saves", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"saves_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"saves_with_callees", "with callees", NULL, GRID_SHARE, GRID_ALL},
	    {"saves_with_callees_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ALL, .leaves = 3},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
	};

	return reports_grid(r->j, columns, ARRAY_NR(columns));
}

static void put_saved(const struct report *r, struct grid *g, double ns, double share)
{
	struct interval of;

	if (isnan(ns)) {
		grid_none(g);
		grid_none(g);
		return;
	}
	of = what_if_share(r->w, ns, share);
	grid_share(g, &of);
	grid_count(g, (uint64_t)(fmax(ns, 0) + 0.5));
}

static void put_row(const struct report *r, struct grid *g, const struct row *row)
{
	grid_row(g);
	grid_percent(g, row->share);
	row->is ? grid_count(g, row->own_ns) : grid_none(g);
	put_saved(r, g, row->own, row->share);
	put_saved(r, g, row->all, row->share);
	grid_text(g, row->is ? row->is->object : "");
	grid_text(g, row->is ? row->is->name : row->glob);
}

/* What the longest path consists of: by how much the end moves if a little of each is cut. */
static void put_path(struct report *r)
{
	enum { LITTLE = 1000 };
	const double little = 1.0 / LITTLE, all = what_if_run_ns(r->w) / LITTLE;
	const double ran = what_if_saved(r->w, &(struct causal_cut){.ran_all = little});
	const double queued = what_if_saved(r->w, &(struct causal_cut){.queued = little});
	const double later = what_if_saved(r->w, &(struct causal_cut){.later = little});
	BUF_AUTO(b, LINE_BYTES);

	buf_printf(&b,
		   "%s until %s ended. Longest path: %s %% on a CPU, %s %% waiting for one, %s %% "
		   "waiting for timers, devices and what was not measured, %s %% not explained.",
		   HUMAN(what_if_run_ns(r->w), "ns"), what_if_target(r->w)->text,
		   DECIMAL(100 * ran / all, 1), DECIMAL(100 * queued / all, 1),
		   DECIMAL(100 * later / all, 1),
		   DECIMAL(100 * fmax(0, 1 - (ran + queued + later) / all), 1));
	reports_headline(r->j, &b);
}

static int put_rows(struct report *r, struct err *e)
{
	const uint64_t top = r->j->selection->nr_speedups ? UINT64_MAX : reports_top(r->j, TOP);
	struct grid *g = make_grid(r);

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (r->j->output->form == GRID_PEOPLE)
		put_path(r);
	for (size_t i = 0; i < r->nr && i < top; i++)
		put_row(r, g, &r->rows[i]);
	return reports_end(r->j, g, 0, e);
}

/* ---- */

int reports_what_if(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	int rc = what_if_new(j, &r.w, e);

	if (rc == 0 && add_rows(&r))
		rc = err_set(e, -ENOMEM, "out of memory");
	rc = rc ?: put_rows(&r, e);
	what_if_free(r.w);
	mem_free(r.rows);
	return rc;
}
