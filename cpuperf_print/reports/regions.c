/*
 * The report regions: what a program's marks (cpuperf/mark.h) say about it, with its samples in
 * them. Times of regions are measured, not sampled.
 */
#include "profile/regions.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/functions.h"
#include "reports/reports.h"
#include "screen/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_FOR_PEOPLE = 40, MAX_EVENTS = 8, TEXT_BYTES = 64 << 10, LABEL_BYTES = 128 };

/* A path by the number of its text. */
struct key {
	uint32_t text; /* key */
	uint32_t region;
};

struct report {
	struct job *j;
	const struct profile_processes *processes;
	struct report_stats stats;
	struct report_weight *weights; /* owned; of each region and event, with regions inside */
	struct dict keys;              /* struct key */
	uint32_t *order;               /* owned; regions, the longest first */
	uint32_t events[MAX_EVENTS];   /* those that sample */
	size_t nr, nr_events;          /* nr: of regions */
	uint64_t nr_put, nr_left;
	char names[MAX_EVENTS][LABEL_BYTES]; /* of columns */
};

static struct report_weight *weight_of(const struct report *r, uint32_t region, size_t event)
{
	return &r->weights[(size_t)region * r->nr_events + event];
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report *r = arg;
	const struct key *key = dict_at(&r->keys, dict_find(&r->keys, &e->key.region));

	for (size_t i = 0; key && i < r->nr_events; i++)
		if (r->events[i] == e->key.event)
			report_weight_add(weight_of(r, key->region, i), &e->weight);
	return 0;
}

static void find_events(struct report *r)
{
	const struct profile_facts *f = job_input(r->j)->facts;

	for (uint32_t i = 0; i < f->nr_events && r->nr_events < MAX_EVENTS; i++)
		if ((f->events[i].rate || f->events[i].frequency) &&
		    profile_filter_has_event(&r->j->selection->filter, &f->events[i]))
			r->events[r->nr_events++] = i;
}

static int make_keys(struct report *r)
{
	BUF_AUTO(text, TEXT_BYTES);

	dict_init(&r->keys, sizeof(struct key), DICT_KEY(struct key, text), r->nr);
	for (uint32_t i = 0; i < r->nr; i++) {
		uint32_t number;
		struct key *key;

		buf_reset(&text);
		profile_region_text(r->processes, i, &text);
		number = buf_error(&text) ? UINT32_MAX
					  : report_functions_text_number(r->j->inputs->functions,
									 buf_str(&text));
		key = number == UINT32_MAX ? NULL : dict_get(&r->keys, &number);
		if (!key)
			return -ENOMEM;
		key->region = i;
	}
	return 0;
}

/* A region has the samples of those inside. */
static void add_inner(struct report *r)
{
	for (uint32_t i = (uint32_t)r->nr; i-- > 1;) {
		uint32_t parent = profile_region(r->processes, i)->parent;

		for (size_t e = 0; parent && e < r->nr_events; e++)
			report_weight_add(weight_of(r, parent, e), weight_of(r, i, e));
	}
}

static int compare(const void *a, const void *b, void *processes)
{
	const struct profile_region *x = profile_region(processes, *(const uint32_t *)a);
	const struct profile_region *y = profile_region(processes, *(const uint32_t *)b);

	return -order_u64(x->wall_ns, y->wall_ns) ?: order_u64(x->number, y->number);
}

static int read_all(struct report *r, struct err *e)
{
	const struct report_sink sink = {.parts = REPORT_BY_REGION, .entry = add_entry, .arg = r};
	int rc = samples_load_names(r->j, e);

	if (rc)
		return rc;
	r->processes = job_input(r->j)->processes;
	r->nr = profile_nr_regions(r->processes);
	find_events(r);
	r->weights = mem_calloc(r->nr * r->nr_events + 1, sizeof(*r->weights));
	r->order = mem_calloc(r->nr, sizeof(*r->order));
	if (!r->weights || !r->order || make_keys(r))
		return err_set(e, -ENOMEM, "out of memory");
	rc = samples_read(r->j, r->j->first, r->j->nr, &sink, &r->stats, e);
	add_inner(r);
	for (uint32_t i = 0; i < r->nr; i++)
		r->order[i] = i;
	qsort_r(r->order, r->nr, sizeof(*r->order), compare, (void *)r->processes);
	return rc;
}

static double mean_of(const struct profile_region *p)
{
	return p->calls ? (double)p->wall_ns / (double)p->calls : NAN;
}

static double deviation_of(const struct profile_region *p)
{
	double mean = mean_of(p), n = (double)p->calls;
	double variance = p->calls > 1 ? (p->squares - n * mean * mean) / (n - 1) : NAN;

	return variance < 0 ? 0 : sqrt(variance); /* rounding */
}

static void put_ns(struct grid *g, double ns)
{
	if (isfinite(ns))
		grid_count(g, (uint64_t)(ns + 0.5));
	else
		grid_none(g);
}

static void put_row(struct report *r, struct grid *g, uint32_t number)
{
	const struct profile_region *p = profile_region(r->processes, number);
	BUF_AUTO(path, TEXT_BYTES);

	grid_row(g);
	grid_count(g, p->calls);
	grid_count(g, p->wall_ns);
	grid_count(g, p->self_ns);
	put_ns(g, mean_of(p));
	put_ns(g, p->calls ? (double)p->min_ns : NAN);
	put_ns(g, (double)p->max_ns);
	put_ns(g, deviation_of(p));
	grid_count(g, p->closed);
	for (size_t e = 0; e < r->nr_events; e++) {
		const struct report_weight *w = weight_of(r, number, e);
		struct interval share = reports_share(&r->stats, r->events[e], w);

		grid_share(g, &share);
		grid_count(g, reports_amount(r->j, r->events[e], w->weight));
	}
	profile_region_text(r->processes, number, &path);
	grid_text(g, buf_str(&path));
	grid_tree(g, p->depth, p->name);
}

static void put_tree(struct report *r, struct grid *g, uint32_t parent)
{
	uint64_t top = reports_top(r->j, ROWS_FOR_PEOPLE);

	for (size_t i = 0; i < r->nr; i++) {
		const struct profile_region *p = profile_region(r->processes, r->order[i]);

		if (!p->number || p->parent != parent)
			continue;
		if (r->nr_put == top) {
			r->nr_left++;
			continue;
		}
		r->nr_put++;
		put_row(r, g, p->number);
		put_tree(r, g, p->number);
	}
}

static struct grid *make_grid(struct report *r)
{
	static const struct grid_column fixed[] = {
	    {"calls", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"wall_ns", "wall", "ns", GRID_AMOUNT, GRID_ALL},
	    {"self_ns", "self", "ns", GRID_AMOUNT, GRID_ALL},
	    {"mean_ns", "mean", "ns", GRID_AMOUNT, GRID_ALL},
	    {"min_ns", "min", "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"max_ns", "max", "ns", GRID_AMOUNT, GRID_ALL},
	    {"deviation_ns", "dev", "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"closed", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	};
	struct grid_column columns[ARRAY_NR(fixed) + 2 * MAX_EVENTS + 2];
	size_t nr = 0;

	for (; nr < ARRAY_NR(fixed); nr++)
		columns[nr] = fixed[nr];
	for (size_t e = 0; e < r->nr_events; e++) {
		const struct trace_event *event = job_event(r->j, r->events[e]);

		columns[nr++] = (struct grid_column){event->label, "share", NULL, GRID_SHARE,
						     e ? GRID_ONLY_MACHINES : GRID_ALL};
		snprintf(r->names[e], sizeof(r->names[e]), "%s_count", event->label);
		columns[nr++] = (struct grid_column){r->names[e], event->label, event->unit,
						     GRID_AMOUNT, GRID_ALL};
	}
	columns[nr++] = (struct grid_column){"path", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES};
	columns[nr++] = (struct grid_column){"region", NULL, NULL, GRID_TEXT, GRID_ALL};
	return reports_grid(r->j, columns, nr);
}

static void put_heading(const struct report *r)
{
	const struct profile_regions_stats *s = profile_regions_stats(r->processes);
	struct buf *text = &r->j->output->text;
	uint64_t closed = 0;

	if (r->j->output->form != GRID_PEOPLE)
		return;
	if (!s->nr_marks && !s->nr_lost) {
		buf_adds(text, "\nNo regions: the session was recorded without --regions, or no "
			       "program had marks\n");
		return;
	}
	for (uint32_t i = 1; i < r->nr; i++)
		closed += profile_region(r->processes, i)->closed;
	buf_printf(text, "\nRegions of %" PRIu64 " thread%s, with the regions inside them",
		   s->nr_threads, s->nr_threads == 1 ? "" : "s");
	if (s->nr_lost)
		buf_printf(text, "; %" PRIu64 " of %" PRIu64 " marks were lost", s->nr_lost,
			   s->nr_lost + s->nr_marks);
	if (closed)
		buf_printf(text, "; %" PRIu64 " without an end of their own", closed);
	if (s->nr_unmatched)
		buf_printf(text, "; %" PRIu64 " ends without a beginning", s->nr_unmatched);
	if (r->stats.nr_paused)
		buf_printf(text,
			   "; %" PRIu64 " samples omitted, taken while the program had paused "
			   "the measuring",
			   r->stats.nr_paused);
	buf_addc(text, '\n');
}

int reports_regions(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	int rc = read_all(&r, e);
	struct grid *g = rc ? NULL : make_grid(&r);

	if (rc == 0 && !g)
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0) {
		struct reports_rest rest = {.nr = 0};

		put_heading(&r);
		put_tree(&r, g, PROFILE_NO_REGION);
		rest.nr = r.nr_left;
		rest.is_beyond_top = r.nr_left > 0;
		reports_rest_put(j, &rest, NULL, g);
		rc = reports_end(j, g, 0, e);
	}
	dict_fini(&r.keys);
	mem_free(r.weights);
	mem_free(r.order);
	report_stats_fini(&r.stats);
	return rc;
}
