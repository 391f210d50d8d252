/*
 * The report what-if: by how much a program would end earlier if a function, or a region that it
 * marks, were faster, by a replay of what ended what (causal/graph.h).
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "numbers.h"
#include "profile/regions.h"
#include "region_notes.h"
#include "report/functions.h"
#include "reports/reports.h"
#include "reports/what_if_graph.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>

enum { TOP = 10, CANDIDATES = 200, LINE_BYTES = 4096, TEXT_BYTES = 64 << 10, USUAL_PERCENT = 25 };

/* A row: a function, a region, or what matches an option. */
struct row {
	const struct report_function *is; /* NULL: it is none */
	const struct what_if_region *in;  /* the same */
	const char *glob;                 /* of options */
	bool is_region;                   /* in is set, or the glob is for regions */
	double share;                     /* of its time that is cut */
	uint64_t own_ns;                  /* not of options */
	double own, all; /* ns by which the program ends earlier; own: NAN but for functions */
};

struct report {
	struct job *j;
	struct what_if *w; /* owned */
	struct row *rows;  /* owned; functions, then regions, or as the options */
	size_t nr, room, nr_functions;
};

static bool is_meant(const void *arg, const struct report_function *f)
{
	const struct row *row = arg;

	return row->is ? f == row->is : fnmatch(row->glob, f->name, 0) == 0;
}

static const char *name_of(const struct row *row)
{
	return row->is ? row->is->name : row->in ? row->in->name : row->glob;
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

static int by_time(const void *a, const void *b)
{
	const struct what_if_region *const *x = a, *const *y = b;

	return order_u64((*y)->ns, (*x)->ns) ?: strcmp((*x)->name, (*y)->name);
}

static int by_saved(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->is ? order_reals(&y->own, &x->own) : 0)
		   ?: order_reals(&y->all, &x->all)
		   ?: x->is ? report_function_compare(x->is, y->is) : strcmp(name_of(x), name_of(y));
}

static struct row *new_row(struct report *r, const struct row *row)
{
	struct row *to = MEM_ADD(r->rows, r->nr, r->room);

	if (to) {
		*to = *row;
		to->own = NAN;
	}
	return to;
}

static int add_row(struct report *r, const struct row *row)
{
	struct row *to = new_row(r, row);

	if (!to)
		return -ENOMEM;
	to->own = row->is ? saved_by(r, row, false) : NAN;
	to->all = row->in ? what_if_saved_in(r->w, row->in, row->share) : saved_by(r, row, true);
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
	r->nr_functions = r->nr;
	return rc;
}

/* The same of regions, behind them. */
static int add_regions(struct report *r, double share)
{
	size_t nr;
	const struct what_if_region *all = what_if_regions(r->w, &nr);
	MEM_AUTO const struct what_if_region **list = mem_calloc(nr + 1, sizeof(*list));
	int rc = list ? 0 : -ENOMEM;

	if (rc)
		return rc;
	for (size_t i = 0; i < nr; i++)
		list[i] = &all[i];
	order_sort(list, nr, sizeof(const struct what_if_region *), by_time);
	for (size_t i = 0; i < nr && i < CANDIDATES && list[i]->ns && rc == 0; i++)
		rc = add_row(r, &(struct row){.in = list[i],
					      .is_region = true,
					      .share = share,
					      .own_ns = list[i]->ns});
	order_sort(r->rows + r->nr_functions, r->nr - r->nr_functions, sizeof(*r->rows), by_saved);
	return rc;
}

/* ---- regions of an option */

static int refuse_region(const struct report *r, const char *glob, struct err *e)
{
	enum { NR_NAMES = 5 };
	size_t nr, nr_named = 0;
	const struct what_if_region *all = what_if_regions(r->w, &nr);
	const char *nearest = NULL;
	size_t distance = 0;
	BUF_AUTO(names, LINE_BYTES);

	if (!nr) {
		err_set(e, -ENODATA, "--speedup=region:%.100s: the session has no regions", glob);
		err_hint(e, "as root: cpuperf --spec-file=wall --regions -- PROGRAM");
		return e->code;
	}
	for (size_t i = 0; i < nr; i++) {
		if (profile_region_is_trial_name(all[i].name))
			continue;
		str_nearest_offer(glob, all[i].name, &nearest, &distance);
		if (nr_named++ < NR_NAMES)
			buf_printf(&names, "%s%.100s", names.len ? ", " : "", all[i].name);
	}
	err_set(e, -ENODATA, "--speedup=region:%.100s: no region matches", glob);
	if (nearest)
		err_hint(e, "did you mean \"%.100s\"? There are %.520s%s", nearest, buf_str(&names),
			 nr_named > NR_NAMES ? " …" : "");
	else
		err_hint(e, "there are %.520s%s", buf_str(&names), nr_named > NR_NAMES ? " …" : "");
	return e->code;
}

static int add_matching_regions(struct report *r, const struct selection_speedup *s, struct err *e)
{
	const struct profile_processes *p = what_if_processes(r->w);
	const struct profile_globs globs = {.item = {s->glob}, .nr = 1};
	const size_t nr = profile_nr_regions(p);
	MEM_AUTO bool *within = profile_regions_within(p, &globs);
	struct row *row;

	if (!within)
		return err_set(e, -ENOMEM, "out of memory");
	if (!memchr(within, true, nr))
		return refuse_region(r, s->glob, e);
	row = new_row(r, &(struct row){.glob = s->glob, .is_region = true, .share = s->share});
	if (!row)
		return err_set(e, -ENOMEM, "out of memory");
	row->all = what_if_saved_within(r->w, within, s->share);
	return 0;
}

/* ---- */

static int add_option(struct report *r, const struct selection_speedup *s, struct err *e)
{
	if (s->is_region)
		return add_matching_regions(r, s, e);
	return add_row(r, &(struct row){.glob = s->glob, .share = s->share})
		   ? err_set(e, -ENOMEM, "out of memory")
		   : 0;
}

static int add_rows(struct report *r, struct err *e)
{
	const struct selection *s = r->j->selection;
	double share = USUAL_PERCENT / 100.0;
	int rc = 0;

	for (size_t i = 0; i < s->nr_speedups && rc == 0; i++) {
		if (s->speedup[i].glob)
			rc = add_option(r, &s->speedup[i], e);
		else
			share = s->speedup[i].share;
	}
	if (rc || r->nr)
		return rc;
	return add_functions(r, share) || add_regions(r, share)
		   ? err_set(e, -ENOMEM, "out of memory")
		   : 0;
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
	    {"region", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
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

/* For people, as in an option. */
static void put_name(const struct report *r, struct grid *g, const struct row *row)
{
	const bool is_people = r->j->output->form == GRID_PEOPLE;
	BUF_AUTO(name, LINE_BYTES);

	buf_printf(&name, "region:%.2000s", name_of(row));
	grid_text(g, row->is ? row->is->object : "");
	if (row->is_region)
		grid_text(g, is_people ? buf_str(&name) : "");
	else
		grid_text(g, name_of(row));
	grid_text(g, row->is_region ? name_of(row) : "");
}

static void put_row(const struct report *r, struct grid *g, const struct row *row)
{
	grid_row(g);
	grid_percent(g, row->share);
	row->is || row->in ? grid_count(g, row->own_ns) : grid_none(g);
	put_saved(r, g, row->own, row->share);
	put_saved(r, g, row->all, row->share);
	put_name(r, g, row);
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

/* ---- what names do not say */

static void note(const struct report *r, struct grid *g, const struct buf *line)
{
	struct err e = {0};

	if (r->j->output->form == GRID_PEOPLE) {
		grid_line(g, buf_str(line));
		return;
	}
	err_set(&e, -ENODATA, "%s", buf_str(line));
	problems_add(&r->j->output->problems, false, &e);
}

/* A function of an option: it may be none, and a region may have its name. */
static void note_function(const struct report *r, struct grid *g, const struct row *row)
{
	const bool is_known = what_if_has(r->w, is_meant, row),
		   is_region = what_if_find_region(r->w, row->glob);
	BUF_AUTO(b, LINE_BYTES);

	if (!is_known)
		buf_printf(&b, "No function in the samples matches \"%.200s\"", row->glob);
	if (is_region)
		buf_printf(&b, "%s region has that name%s: --speedup='region:%.200s:%g%%'",
			   is_known ? "A" : "; a", is_known ? ", too" : "", row->glob,
			   100 * row->share);
	if (b.len)
		note(r, g, &b);
}

static bool is_in_itself(const struct profile_processes *p, uint32_t path)
{
	uint32_t i = profile_region(p, path)->parent;

	while (i != PROFILE_NO_REGION &&
	       strcmp(profile_region(p, i)->name, profile_region(p, path)->name) != 0)
		i = profile_region(p, i)->parent;
	return i != PROFILE_NO_REGION;
}

/* Of an option that is a name: regions at several places may have it. */
static void note_places(const struct report *r, struct grid *g, const struct row *row)
{
	enum { NR_PATHS = 5 };
	const struct profile_processes *p = what_if_processes(r->w);
	size_t nr = 0;
	BUF_AUTO(b, TEXT_BYTES);

	for (uint32_t i = 1; i < profile_nr_regions(p); i++) {
		if (strcmp(profile_region(p, i)->name, row->glob) != 0 || is_in_itself(p, i))
			continue;
		if (nr++ >= NR_PATHS)
			continue;
		buf_adds(&b, nr > 1 ? "\", \"" : "Regions of that name are meant together: \"");
		profile_region_text(p, i, &b);
	}
	buf_adds(&b, "\"");
	if (nr > NR_PATHS)
		buf_printf(&b, " and %zu more", nr - NR_PATHS);
	buf_printf(&b, ". One alone: --speedup='region:OUTER > %s:%g%%'", row->glob,
		   100 * row->share);
	if (nr > 1 && buf_error(&b) == 0)
		note(r, g, &b);
}

struct line {
	const struct report *r;
	struct grid *g;
};

/* For people in parentheses, as other reports have it. */
static void put_line(void *arg, const char *text)
{
	const struct line *line = arg;
	const bool is_people = line->r->j->output->form == GRID_PEOPLE;
	BUF_AUTO(b, TEXT_BYTES);

	buf_printf(&b, is_people ? "(%s)" : "%s", text);
	note(line->r, line->g, &b);
}

/* Which those are of which region_notes has the number. */
static void note_closed(struct line *line)
{
	size_t nr, nr_named = 0;
	const struct what_if_region *all = what_if_regions(line->r->w, &nr);
	BUF_AUTO(b, LINE_BYTES);

	buf_adds(&b, "without an end of their own: ");
	for (size_t i = 0; i < nr; i++)
		if (all[i].nr_closed)
			buf_printf(&b, "%s%s", nr_named++ ? ", " : "", all[i].name);
	if (nr_named && buf_error(&b) == 0)
		put_line(line, buf_str(&b));
}

static void put_notes(const struct report *r, struct grid *g)
{
	struct line line = {r, g};
	bool has_regions = false;

	for (size_t i = 0; i < r->nr; i++) {
		const struct row *row = &r->rows[i];

		has_regions |= row->is_region;
		if (row->glob)
			(row->is_region ? note_places : note_function)(r, g, row);
	}
	if (has_regions) {
		region_notes(r->j, put_line, &line);
		note_closed(&line);
	}
}

static int put_rows(struct report *r, struct err *e)
{
	const uint64_t top = r->j->selection->nr_speedups ? UINT64_MAX : reports_top(r->j, TOP);
	struct grid *g = make_grid(r);

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (r->j->output->form == GRID_PEOPLE)
		put_path(r);
	for (size_t i = 0; i < r->nr_functions && i < top; i++)
		put_row(r, g, &r->rows[i]);
	for (size_t i = r->nr_functions; i < r->nr && i - r->nr_functions < top; i++)
		put_row(r, g, &r->rows[i]);
	put_notes(r, g);
	return reports_end(r->j, g, 0, e);
}

/* ---- */

int reports_what_if(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	int rc = what_if_new(j, &r.w, e);

	rc = rc ?: add_rows(&r, e) ?: put_rows(&r, e);
	what_if_free(r.w);
	mem_free(r.rows);
	return rc;
}
