/*
 * The report imbalance: how unequally the parts of a job share their time, in all and in each
 * region that the program marks. In the words of likwid and Score-P: max / mean - 1, and the load
 * imbalance (max - mean) / max, the part of the time that the others wait for the slowest one.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes.h"
#include "profile/regions.h"
#include "report/region_sums.h"
#include "reports/hosts_read.h"
#include "reports/reports.h"
#include "trace/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 40, PATH_BYTES = 64 << 10, MAX_PATHS = 1 << 16 };
#define MAX_PATH_BYTES ((size_t)64 << 20)

/* A region by its path, or a time of all. */
struct line {
	const char *path; /* key */
	double *ns;       /* owned; by part */
	uint64_t calls;
	bool is_region;
	struct imbalance of;
};

struct report {
	struct job *j;
	struct dict lines; /* struct line */
	bool has_ranks;
};

static struct line *get_line(struct report *r, const char *path)
{
	struct line *l = dict_get(&r->lines, path);

	if (l && !l->ns)
		l->ns = mem_calloc(r->j->nr + 1, sizeof(*l->ns));
	return l && l->ns ? l : NULL;
}

static int add_time(struct report *r, const char *name, size_t part, double ns)
{
	struct line *l = get_line(r, name);

	if (!l)
		return -ENOMEM;
	l->ns[part] = ns;
	return 0;
}

static int add_times(struct report *r, const struct hosts_read *h)
{
	int rc = 0;

	for (size_t i = 0; i < h->nr && rc == 0; i++)
		rc = add_time(r, "wall", i, h->part[i].wall_ns);
	if (ARRAY_ANY(x, h->part, h->nr, !isfinite(x->cpu_ns)))
		return rc;
	for (size_t i = 0; i < h->nr && rc == 0; i++)
		rc = add_time(r, "CPU", i, h->part[i].cpu_ns);
	return rc;
}

/* The text has an end that no name of a time has: a region may be called "wall". */
static int add_region(struct report *r, const struct input *o, size_t part,
		      const struct report_region_sum *s)
{
	BUF_AUTO(path, PATH_BYTES);
	struct line *l;

	if (!s->calls || profile_region_is_trial(o->processes, s->region))
		return 0;
	profile_region_text(o->processes, s->region, &path);
	buf_adds(&path, "\n");
	l = buf_error(&path) ? NULL : get_line(r, buf_str(&path));
	if (!l)
		return -ENOMEM;
	l->is_region = true;
	l->ns[part] += (double)s->wall_ns;
	l->calls += s->calls;
	return 0;
}

static int add_regions(struct report *r, size_t part)
{
	struct input *o = &r->j->inputs->item[r->j->first + part];
	struct profile_filter filter = *job_filter(r->j, o);
	struct report_region_sums sums = {.by_thread = false};
	const bool is_own = !o->processes;
	int rc;

	if (!o->facts->has_regions)
		return 0;
	filter.from_ns = filter.to_ns = 0;
	rc = inputs_load_processes(o)
		 ?: report_region_sums_read(&sums, o->processes, &filter, 0, false);
	for (uint32_t i = 0; rc == 0 && i < sums.sums.nr; i++)
		rc = add_region(r, o, part, dict_at(&sums.sums, i));
	report_region_sums_fini(&sums);
	if (is_own)
		inputs_end_names(r->j->inputs, o);
	return rc;
}

/* The times of all, then regions by the time that their slowest part takes. */
static int compare(const void *a, const void *b)
{
	const struct line *const *x = a, *const *y = b;

	if ((*x)->is_region != (*y)->is_region)
		return (*x)->is_region ? 1 : -1;
	if ((*x)->is_region && (*x)->of.max != (*y)->of.max)
		return (*x)->of.max < (*y)->of.max ? 1 : -1;
	return strcmp((*y)->path, (*x)->path);
}

static void put_line(const struct report *r, const struct line *l, struct grid *g)
{
	const struct input *o = &r->j->inputs->item[r->j->first + l->of.slowest];
	const uint32_t rank = input_rank(o);
	size_t len = strlen(l->path) - l->is_region;
	BUF_AUTO(name, PATH_BYTES);

	buf_add(&name, l->path, len);
	grid_row(g);
	grid_text(g, l->is_region ? "region" : "time");
	grid_count(g, (uint64_t)llround(l->of.mean));
	grid_count(g, (uint64_t)llround(l->of.max));
	grid_percent(g, l->of.over);
	grid_percent(g, l->of.idle);
	grid_text(g, input_host(o));
	rank == TRACE_UNKNOWN ? grid_none(g) : grid_count(g, rank);
	l->is_region ? grid_count(g, l->calls) : grid_none(g);
	grid_text(g, buf_str(&name));
}

static int put_all(struct report *r, struct err *e)
{
	const struct grid_column columns[] = {
	    {"kind", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"mean_ns", "mean", "ns", GRID_AMOUNT, GRID_ALL},
	    {"max_ns", "max", "ns", GRID_AMOUNT, GRID_ALL},
	    {"over_percent", "max/mean - 1", "%", GRID_PERCENT, GRID_ALL},
	    {"idle_percent", "(max - mean)/max", "%", GRID_PERCENT, GRID_ALL},
	    {"slowest_host", "slowest", NULL, GRID_TEXT, GRID_ALL},
	    {"slowest_rank", "rank", NULL, GRID_NUMBER,
	     r->has_ranks ? GRID_ALL : GRID_ONLY_MACHINES},
	    {"calls", NULL, NULL, GRID_COUNT, GRID_ALL, .leaves = 1},
	    {"name", "of", NULL, GRID_TEXT, GRID_ALL},
	};
	const uint64_t top = reports_top(r->j, TOP);
	struct reports_rest rest = {.nr = 0};
	MEM_AUTO const struct line **list = mem_calloc(r->lines.nr + 1, sizeof(*list));
	struct grid *g = reports_grid(r->j, columns, ARRAY_NR(columns));

	if (!list || !g) {
		grid_free(g);
		return err_set(e, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < r->lines.nr; i++) {
		struct line *l = dict_at(&r->lines, i);

		outliers_imbalance(l->ns, r->j->nr, &l->of);
		list[i] = l;
	}
	order_sort(list, r->lines.nr, sizeof(*list), compare);
	for (size_t i = 0; i < r->lines.nr; i++) {
		if (i < top) {
			put_line(r, list[i], g);
			continue;
		}
		rest.nr++;
		rest.is_beyond_top = true;
	}
	if (r->j->output->form == GRID_PEOPLE)
		buf_printf(&r->j->output->text, "\nImbalance between %zu %s\n", r->j->nr,
			   r->has_ranks ? "ranks" : "hosts");
	reports_rest_put(r->j, &rest, NULL, g);
	return reports_end(r->j, g, 0, e);
}

int reports_imbalance(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	struct hosts_read read;
	int rc = hosts_read_all(j, &read, e);

	dict_init_texts(&r.lines, sizeof(struct line), MAX_PATHS, MAX_PATH_BYTES);
	for (size_t i = 0; i < j->nr; i++)
		r.has_ranks |= input_rank(&j->inputs->item[j->first + i]) != TRACE_UNKNOWN;
	if (rc == 0)
		rc = add_times(&r, &read);
	for (size_t i = 0; i < j->nr && rc == 0; i++)
		rc = add_regions(&r, i);
	if (rc == -ENOMEM)
		err_set(e, rc, "out of memory");
	rc = rc ?: put_all(&r, e);
	for (uint32_t i = 0; i < r.lines.nr; i++)
		mem_free(((struct line *)dict_at(&r.lines, i))->ns);
	dict_fini(&r.lines);
	hosts_read_free(&read);
	return rc;
}
