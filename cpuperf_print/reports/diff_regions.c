/*
 * The regions of the comparison: the calls and times that the marks say, exactly, and what events
 * sampled in them.
 */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "profile/regions.h"
#include "report/diff.h"
#include "report/functions.h"
#include "reports/diff.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAS, IS, NR_SIDES };
enum { REGIONS_FOR_PEOPLE = 10, NAME_BYTES = 256 };
/* Of a region: its own numbers, those of events that sample, those that count, and last the wall
 * time per call. */
enum {
	MAX_EVENTS = 8,
	MAX_NUMBERS = REPORT_REGION_NR_OWN + MAX_EVENTS + PROFILE_MAX_REGION_COUNTS + 1
};

struct number {
	char name[NAME_BYTES], label[NAME_BYTES];
	const char *unit;
	bool is_per_call;
	bool is_count; /* per call; of the event with the number name of the amounts' */
	uint32_t counted;
	double scale; /* for people */
};

/* What stands at an index of the amounts. */
struct place {
	uint32_t path, number;
};

/* A path in the order of printing. */
struct order {
	uint32_t path;
	double wall_ns; /* of both sides */
};

struct diff_regions {
	struct job *j;
	struct diff_side side[NR_SIDES];
	bool by_iteration, are_runs, are_rates;
	struct report_region_amounts of;
	struct number number[MAX_NUMBERS];
	size_t nr_numbers;
	uint32_t events[MAX_EVENTS];
	size_t nr_events;
	size_t nr_used[NR_SIDES]; /* replicates */
	struct order *order;      /* owned; of.paths.nr */
	double *values;           /* owned; of the amounts */
	struct amount *amounts;   /* owned */
	struct place *places;     /* owned; of the amounts */
	size_t nr;
};

/* --- reading --------------------------------------------------------------------------------- */

static void add_number(struct diff_regions *r, const char *name, const char *label,
		       const char *unit, double scale)
{
	struct number *n = &r->number[r->nr_numbers++];

	snprintf(n->name, sizeof(n->name), "region_%.240s", name);
	snprintf(n->label, sizeof(n->label), "%.240s", label);
	n->unit = unit;
	n->scale = r->j->output->form == GRID_PEOPLE && scale > 0 ? scale : 1;
}

/* Those of the region are in the order of enum REPORT_REGION_… */
static void make_numbers(struct diff_regions *r)
{
	const struct profile_facts *f = r->j->inputs->item[0].facts;

	add_number(r, "calls", "calls", "calls", 1);
	add_number(r, "wall_ns", "wall", "ns", 1);
	add_number(r, "self_ns", "self", "ns", 1);
	for (uint32_t i = 0; i < f->nr_events && r->nr_events < MAX_EVENTS; i++) {
		const struct trace_event *ev = job_event(r->j, i);

		if ((!f->events[i].rate && !f->events[i].frequency) ||
		    !profile_filter_has_event(&r->j->selection->filter, &f->events[i]))
			continue;
		r->events[r->nr_events++] = i;
		add_number(r, ev->label, ev->label, ev->unit, ev->scale);
	}
}

static const struct trace_event *find_event(const struct diff_regions *r, const char *label)
{
	const struct profile_facts *f = r->j->inputs->item[0].facts;

	return ARRAY_FIND(ev, f->events, f->nr_events, strcmp(ev->label, label) == 0);
}

/* Those of events whose names were read with the calls. */
static void add_per_call(struct diff_regions *r)
{
	for (uint32_t i = 0; i < r->of.names.nr; i++) {
		const char *label = dict_text(&r->of.names, i);
		const struct trace_event *ev = find_event(r, label);
		struct number *n = &r->number[r->nr_numbers];
		char name[NAME_BYTES], shown[NAME_BYTES];

		snprintf(name, sizeof(name), "%.200s_per_call", label);
		snprintf(shown, sizeof(shown), "%.200s per call", label);
		add_number(r, name, shown, ev ? ev->unit : "", ev ? ev->scale : 1);
		n->is_per_call = n->is_count = true;
		n->counted = i;
	}
	add_number(r, "wall_ns_per_call", "wall per call", "ns", 1);
	r->number[r->nr_numbers - 1].is_per_call = true;
}

/* Of a session without counts no memory is used for them. */
static size_t max_counts(const struct job *j)
{
	const struct inputs *in = j->inputs;

	for (size_t i = 0; i < in->nr + in->nr_diff; i++)
		if (profile_regions_stats(in->item[i].processes)->has_counts)
			return PROFILE_MAX_REGION_COUNTS;
	return 0;
}

static size_t first_of(const struct diff_regions *r, int side)
{
	return side == IS ? r->side[WAS].nr_replicates : 0;
}

static int read_calls(struct diff_regions *r, int side)
{
	const struct diff_side *s = &r->side[side];
	MEM_AUTO struct report_region_times *times =
	    mem_calloc(s->nr_replicates + 1, sizeof(*times));
	int rc = times ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->nr_replicates && r->by_iteration && rc == 0; i++)
		times[i] = s->replicates[i].times;
	for (size_t i = 0; i < s->nr && rc == 0; i++) {
		const struct input *o = &r->j->inputs->item[s->first + i];

		rc = report_region_amounts_read(&r->of, o->processes, job_filter(r->j, o),
						o->start_ns, first_of(r, side) + i,
						r->by_iteration ? times : NULL, s->nr_replicates);
	}
	return rc;
}

static void read_samples(struct diff_regions *r, int side)
{
	const struct diff_side *s = &r->side[side];

	for (size_t i = 0; i < s->nr_rows; i++) {
		const struct report_flat_row *row = &s->rows[i];
		size_t replicate = r->by_iteration
				       ? row->column[REPORT_ITERATION]
				       : row->column[REPORT_SESSION] - (uint32_t)s->first;

		for (size_t k = 0; k < r->nr_events && replicate < s->nr_replicates; k++)
			if (r->events[k] == row->column[REPORT_EVENT])
				report_region_amounts_add(&r->of, row->column[REPORT_REGION],
							  first_of(r, side) + replicate, k,
							  (double)row->self.weight);
	}
}

/* --- amounts --------------------------------------------------------------------------------- */

/* Replicates that were cut did less work. */
static bool is_used(const struct diff_regions *r, int side, size_t replicate)
{
	const struct diff_replicate *of = &r->side[side].replicates[replicate];

	return r->are_rates ? of->duration_ns > 0 : !of->is_cut;
}

/* NAN: the replicate has none. */
static double value_of(const struct diff_regions *r, int side, size_t replicate,
		       const struct place *at)
{
	const struct number *n = &r->number[at->number];
	size_t i = first_of(r, side) + replicate;

	if (n->is_count)
		return n->scale * report_region_amounts_count(&r->of, at->path, i, n->counted);
	if (n->is_per_call)
		return report_region_amounts_mean_ns(&r->of, at->path, i);
	return n->scale * report_region_amounts_at(&r->of, at->path, i, at->number) /
	       (r->are_rates ? (double)r->side[side].replicates[replicate].duration_ns / 1e9 : 1);
}

/* Of the replicates that have the number. Returns how many. */
static size_t gather(const struct diff_regions *r, int side, const struct place *at, double *out)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->side[side].nr_replicates; i++) {
		out[nr] = is_used(r, side, i) ? value_of(r, side, i, at) : NAN;
		nr += isfinite(out[nr]);
	}
	return nr;
}

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return x->wall_ns < y->wall_ns   ? 1
	       : x->wall_ns > y->wall_ns ? -1
					 : order_u64(x->path, y->path);
}

static void sort(struct diff_regions *r)
{
	for (uint32_t i = 0; i < r->of.paths.nr; i++) {
		r->order[i].path = i;
		for (size_t k = 0; k < r->of.nr_replicates; k++)
			r->order[i].wall_ns +=
			    report_region_amounts_at(&r->of, i, k, REPORT_REGION_WALL);
	}
	order_sort(r->order, r->of.paths.nr, sizeof(*r->order), compare_order);
}

/* Regions that are not selected may stand around those that are. */
static bool is_called(const struct diff_regions *r, uint32_t path)
{
	for (size_t i = 0; i < r->of.nr_replicates; i++)
		if (report_region_amounts_at(&r->of, path, i, REPORT_REGION_CALLS) > 0)
			return true;
	return false;
}

/* A region with none inside: its own time is all of it, and would be tested twice. */
static bool is_repeated(const struct diff_regions *r, uint32_t path, uint32_t number)
{
	if (number != REPORT_REGION_SELF)
		return false;
	for (size_t i = 0; i < r->of.nr_replicates; i++)
		if (report_region_amounts_at(&r->of, path, i, REPORT_REGION_SELF) <
		    report_region_amounts_at(&r->of, path, i, REPORT_REGION_WALL))
			return false;
	return true;
}

static void add_amounts(struct diff_regions *r, uint32_t path, double **values)
{
	for (uint32_t k = 0; k < r->nr_numbers; k++) {
		/* the wall time per call stands after the wall time */
		uint32_t last = (uint32_t)r->nr_numbers - 1, after = REPORT_REGION_WALL + 1;
		struct place at = {path, k == after ? last : k > after ? k - 1 : k};
		size_t was = gather(r, WAS, &at, *values), is = gather(r, IS, &at, *values + was);

		if (!was || !is || is_repeated(r, path, at.number))
			continue;
		r->amounts[r->nr] =
		    (struct amount){.value = {*values, *values + was}, .nr = {was, is}};
		r->places[r->nr++] = at;
		*values += was + is;
	}
}

static int compare(struct diff_regions *r)
{
	size_t nr = r->of.paths.nr * r->nr_numbers;
	double *values;

	if (nr * r->of.nr_replicates > REPORT_REGION_AMOUNTS_MAX_BYTES / sizeof(*values))
		return -EFBIG;
	r->order = mem_calloc(r->of.paths.nr + 1, sizeof(*r->order));
	/* gather writes one more than it keeps */
	r->values = values = mem_calloc(nr * r->of.nr_replicates + 1, sizeof(*values));
	r->amounts = mem_calloc(nr + 1, sizeof(*r->amounts));
	r->places = mem_calloc(nr + 1, sizeof(*r->places));
	if (!r->order || !r->values || !r->amounts || !r->places)
		return -ENOMEM;
	sort(r);
	for (size_t i = 0; i < r->of.paths.nr; i++)
		if (is_called(r, r->order[i].path))
			add_amounts(r, r->order[i].path, &values);
	return amounts_judge(r->amounts, r->nr, r->by_iteration && !r->are_runs);
}

static void count_used(struct diff_regions *r)
{
	for (int side = WAS; side <= IS; side++)
		for (size_t i = 0; i < r->side[side].nr_replicates; i++)
			r->nr_used[side] += is_used(r, side, i);
}

static bool has_marks(const struct diff_regions *r)
{
	for (size_t i = 0; i < r->side[WAS].nr + r->side[IS].nr; i++)
		if (profile_regions_stats(r->j->inputs->item[i].processes)->nr_marks &&
		    profile_nr_regions(r->j->inputs->item[i].processes) > 1)
			return true;
	return false;
}

int diff_regions_new(struct job *j, const struct diff_regions_options *o,
		     const struct diff_side side[2], struct diff_regions **out, struct err *e)
{
	struct diff_regions *r = mem_zalloc(sizeof(*r));
	int rc;

	*out = NULL;
	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->j = j;
	memcpy(r->side, side, sizeof(r->side));
	r->by_iteration = o->by_iteration;
	r->are_runs = o->are_runs;
	r->are_rates = o->are_rates;
	make_numbers(r);
	report_region_amounts_init(&r->of, j->inputs->functions,
				   side[WAS].nr_replicates + side[IS].nr_replicates, r->nr_events,
				   max_counts(j));
	if (!has_marks(r)) {
		diff_regions_free(r);
		return 0;
	}
	rc = read_calls(r, WAS) ?: read_calls(r, IS);
	if (rc == 0) {
		add_per_call(r);
		read_samples(r, WAS);
		read_samples(r, IS);
		count_used(r);
		rc = compare(r);
	}
	if (rc) {
		diff_regions_free(r);
		err_set(e, rc, "regions cannot be compared: %s", strerror(-rc));
		if (rc == -EFBIG)
			err_hint(e, "use --region=GLOB");
		return rc;
	}
	*out = r;
	return 0;
}

void diff_regions_free(struct diff_regions *r)
{
	if (!r)
		return;
	report_region_amounts_fini(&r->of);
	mem_free(r->order);
	mem_free(r->values);
	mem_free(r->amounts);
	mem_free(r->places);
	mem_free(r);
}

const struct amount *diff_regions_list(const struct diff_regions *r, size_t *nr)
{
	*nr = r->nr;
	return r->amounts;
}

const char *diff_regions_name(const struct diff_regions *r, size_t i)
{
	return r->number[r->places[i].number].name;
}

const char *diff_regions_path(const struct diff_regions *r, size_t i)
{
	return report_functions_text(r->j->inputs->functions,
				     report_region_amounts_text(&r->of, r->places[i].path));
}

bool diff_regions_has_limit(const struct diff_regions *r, size_t i)
{
	return !r->are_rates || r->number[r->places[i].number].is_per_call;
}

/* --- text ------------------------------------------------------------------------------------ */

static void put_heading(const struct diff_regions *r)
{
	const char *what = r->by_iteration ? "replicate" : "session";
	struct buf *b = &r->j->output->text;

	buf_printf(b, "\nRegions, with those inside them: %zu %s%s now, %zu before; ",
		   r->nr_used[IS], what, str_plural(r->nr_used[IS], "", "s"), r->nr_used[WAS]);
	diff_amounts_say_tested(r->amounts, r->nr, what, b);
	if (r->are_rates)
		buf_adds(b, "They did not do the same work: amounts per second are compared\n");
	for (int side = IS; side >= WAS; side--) {
		uint64_t lost = 0;

		for (size_t i = 0; i < r->side[side].nr; i++)
			lost += profile_regions_stats(
				    r->j->inputs->item[r->side[side].first + i].processes)
				    ->nr_lost;
		if (lost)
			buf_printf(b, "%s: %" PRIu64 " marks were lost\n",
				   side == IS ? "now" : "before", lost);
	}
}

static void put_amount(const struct diff_regions *r, struct grid *g, size_t i)
{
	const struct number *n = &r->number[r->places[i].number];

	grid_row(g);
	grid_text(g, n->label);
	diff_amount_put(g, &r->amounts[i], n->unit, r->are_rates && !n->is_per_call);
	grid_text(g, diff_regions_path(r, i));
}

int diff_regions_print(struct diff_regions *r, struct err *e)
{
	static const struct grid_column columns[] = {
	    {"number", NULL, NULL, GRID_TEXT, GRID_ALL},
	    DIFF_AMOUNT_COLUMNS,
	    {"region", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	uint64_t top = reports_top(r->j, REGIONS_FOR_PEOPLE), nr_regions = 0;
	struct grid *g = reports_grid(r->j, columns, sizeof(columns) / sizeof(columns[0]));
	struct reports_rest rest = {0};

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	put_heading(r);
	for (size_t i = 0; i < r->nr; i++) {
		bool is_first = !i || r->places[i].path != r->places[i - 1].path;

		nr_regions += is_first;
		if (nr_regions <= top || r->amounts[i].is_significant)
			put_amount(r, g, i);
		else if (is_first)
			reports_rest_add(&rest, &(struct report_weight){0}, true, false);
	}
	reports_rest_put(r->j, &rest, NULL, g);
	return reports_end(r->j, g, 0, e);
}
