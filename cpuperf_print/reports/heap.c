/*
 * The report heap: who allocates, holds and frees memory: a row for each function, with all events
 * of the group heap beside each other.
 */
#include "base/array.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "numbers.h"
#include "report/flat.h"
#include "reports/columns.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 25, NO_EVENT = -1, LINE_BYTES = 1024 };

/* In the order of the columns. Rows are sorted by the first that the session has. */
static const struct {
	const char *event, *header;
} amounts[] = {
    {"peak", "peak"},           {"live", "live"},
    {"leaked", "leaked"},       {"unreachable", "unreachable"},
    {"allocated", "allocated"}, {"freed", "freed"},
    {"temporary", "temporary"}, {"overhead", "overhead"},
    {"resident", "resident"},   {"untouched", "untouched"},
    {"path_peak", "path peak"}, {"max", "largest"},
};
enum {
	PEAK,
	LIVE,
	LEAKED,
	UNREACHABLE,
	ALLOCATED,
	FREED,
	TEMPORARY,
	NR_AMOUNTS = ARRAY_NR(amounts),
	LARGEST = NR_AMOUNTS - 1,
	NR_SUMS = NR_AMOUNTS - 2 /* of others the largest counts: they have no deviation */
};

struct line {
	uint32_t column[REPORT_NR_COLUMNS], file; /* the key; without the event */
	const struct report_flat_row *row;        /* the first of them */
	struct report_weight weight[NR_AMOUNTS];
};

struct heap {
	struct job *j;
	unsigned columns;
	int event[NR_AMOUNTS]; /* its number, or NO_EVENT */
	int first;             /* by which rows are sorted */
	struct dict holders;   /* processes with a share of the peak; uint32_t */
	struct report_flat *flat;
	struct dict lines;
	struct line **sorted; /* owned */
	struct report_stats stats;
};

static bool is_heap(const struct trace_event *e)
{
	return strcmp(e->group, "heap") == 0 && (e->rate || e->frequency);
}

bool reports_has_heap(const struct profile_facts *f)
{
	return ARRAY_ANY(e, f->events, f->nr_events, is_heap(e));
}

bool reports_has_others(const struct profile_facts *f)
{
	return !reports_has_heap(f) ||
	       ARRAY_ANY(e, f->events, f->nr_events,
			 strcmp(e->group, "heap") != 0 && (e->rate || e->frequency));
}

static const struct report_weight *all_of(const struct heap *h, int amount)
{
	return &h->stats.event[h->event[amount]].counted;
}

/* The events of the session that are selected. */
static void find_events(struct heap *h)
{
	const struct profile_facts *f = job_input(h->j)->facts;

	h->first = NO_EVENT;
	for (int i = 0; i < NR_AMOUNTS; i++) {
		h->event[i] = NO_EVENT;
		for (uint32_t k = 0; k < f->nr_events; k++)
			if (is_heap(&f->events[k]) &&
			    strcmp(f->events[k].name, amounts[i].event) == 0 &&
			    (h->stats.event[k].counted.samples ||
			     !h->stats.event[k].omitted.samples))
				h->event[i] = (int)k;
		if (h->first == NO_EVENT && h->event[i] != NO_EVENT && all_of(h, i)->samples)
			h->first = i;
	}
}

static int add_row(struct heap *h, const struct report_flat_row *row)
{
	struct line key = {.file = row->file}, *line;
	int amount = 0;

	while (amount < NR_AMOUNTS && h->event[amount] != (int)row->column[REPORT_EVENT])
		amount++;
	if (amount == NR_AMOUNTS) /* of another event */
		return 0;
	if (amount == PEAK && row->self.weight &&
	    dict_add(&h->holders, &row->column[REPORT_PID]) == DICT_NONE)
		return -ENOMEM;
	memcpy(key.column, row->column, sizeof(key.column));
	key.column[REPORT_EVENT] = 0;
	if (!(h->columns & 1 << REPORT_PID))
		key.column[REPORT_PID] = 0;
	line = dict_get(&h->lines, &key);
	if (!line)
		return -ENOMEM;
	line->row = line->row ?: row;
	report_weight_add(&line->weight[amount],
			  h->j->selection->by_total ? &row->total : &row->self);
	return 0;
}

static int compare(const void *a, const void *b, void *heap)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;
	const struct heap *h = heap;
	int order = 0;

	for (int i = h->first; i < NR_AMOUNTS && !order; i++)
		order = order_u64(y->weight[i].weight, x->weight[i].weight);
	return order ?: order_u64((uintptr_t)x->row, (uintptr_t)y->row);
}

static int sort(struct heap *h)
{
	h->sorted = dict_pointers(&h->lines);
	if (h->sorted)
		qsort_r(h->sorted, h->lines.nr, sizeof(*h->sorted), compare, h);
	return h->sorted ? 0 : -ENOMEM;
}

static bool is_exact(const struct heap *h)
{
	return h->event[ALLOCATED] != NO_EVENT && !all_of(h, ALLOCATED)->random;
}

/* Each allocation was a sample, though fewer could have been taken: what has none is nothing. */
static bool is_whole(const struct heap *h)
{
	bool is_adaptive = false;

	for (int i = 0; i < NR_AMOUNTS; i++) {
		if (h->event[i] == NO_EVENT)
			continue;
		if (all_of(h, i)->random)
			return false;
		is_adaptive |=
		    (job_event(h->j, (uint32_t)h->event[i])->flags & TRACE_EVENT_ADAPTIVE) != 0;
	}
	return is_adaptive;
}

/* To people: not what a command leaks, if it is what is live at its end. */
static bool is_shown(const struct heap *h, int amount)
{
	if (h->event[amount] == NO_EVENT || !all_of(h, amount)->samples)
		return false;
	return amount != LEAKED || h->event[LIVE] == NO_EVENT ||
	       all_of(h, LEAKED)->weight != all_of(h, LIVE)->weight;
}

static struct grid *make_grid(const struct heap *h)
{
	struct grid_column columns[2 + NR_AMOUNTS + REPORT_NR_COLUMNS] = {
	    {"share", amounts[h->first].header, NULL, GRID_SHARE, GRID_ALL}};
	size_t nr = 1, added;

	for (int i = 0; i < NR_AMOUNTS; i++)
		columns[nr++] =
		    (struct grid_column){.name = amounts[i].event,
					 .header = i == h->first ? "" : amounts[i].header,
					 .unit = "B",
					 .kind = i >= NR_SUMS ? GRID_AMOUNT : GRID_ESTIMATE,
					 .audience = is_shown(h, i) ? GRID_ALL : GRID_ONLY_MACHINES,
					 .leaves = i == h->first ? 0 : (unsigned)(NR_AMOUNTS - i)};
	columns[nr++] = (struct grid_column){
	    "allocations", "calls", NULL, GRID_COUNT, is_exact(h) ? GRID_ALL : GRID_ONLY_MACHINES,
	    .leaves = 1};
	added = reports_add_columns(h->columns, columns + nr);
	for (size_t i = nr; i < nr + added; i++)
		if (strcmp(columns[i].name, "object") == 0)
			columns[i].leaves = 2;
	return reports_grid(h->j, columns, nr + added);
}

static void put_line(const struct heap *h, const struct line *line, struct grid *g)
{
	struct interval share = reports_share_of(&line->weight[h->first], all_of(h, h->first));

	grid_row(g);
	if (!line->weight[h->first].weight && h->j->output->form == GRID_PEOPLE)
		grid_none(g);
	else
		grid_share(g, &share);
	for (int i = 0; i < NR_AMOUNTS; i++) {
		const struct report_weight *w = &line->weight[i];
		struct interval estimate;

		if (h->event[i] == NO_EVENT) {
			grid_na(g);
			continue;
		}
		estimate = reports_estimate_among(w, all_of(h, i),
						  job_event(h->j, (uint32_t)h->event[i])->rate);
		if (!w->weight && h->j->output->form == GRID_PEOPLE)
			grid_none(g);
		else if (i >= NR_SUMS)
			grid_count(g, w->weight);
		else
			grid_estimate(g, 1, &estimate);
	}
	is_exact(h) ? grid_count(g, line->weight[ALLOCATED].samples) : grid_na(g);
	reports_put_columns(h->j, h->columns, line->row, g);
}

/* The largest share of the line in any of the events. */
static double largest_share(const struct heap *h, const struct line *line)
{
	double largest = 0;

	for (int i = 0; i < NR_AMOUNTS; i++) {
		const struct report_weight *w = &line->weight[i];
		double share;

		if (h->event[i] == NO_EVENT || !w->weight)
			continue;
		share = (double)w->weight / (double)all_of(h, i)->weight;
		largest = share > largest ? share : largest;
	}
	return largest;
}

/* " at 3.200 s"; of several processes each had its own. */
static void add_peak_time(const struct heap *h, struct buf *line)
{
	const struct profile_facts *f = job_input(h->j)->facts;

	if (h->holders.nr > 1)
		buf_printf(line, " (the sum of the peaks of %zu processes)", h->holders.nr);
	for (uint32_t i = 0; i < f->nr_events; i++) {
		const struct report_event_stats *s = &h->stats.event[i];

		if (strcmp(f->events[i].group, "heap") != 0 ||
		    strcmp(f->events[i].name, "peak_time") != 0 || !s->has_value || h->j->nr > 1)
			continue;
		buf_printf(line, "%s at %s", h->holders.nr > 1 ? ", the largest one" : "",
			   HUMAN(s->value, "ns"));
		return;
	}
}

/* What was allocated is counted, too; 0: not of what is selected. The others are only estimated. */
static double exact_amount(const struct heap *h, int amount)
{
	const struct report_event_stats *s = &h->stats.event[h->event[amount]];

	if (amount != ALLOCATED || s->omitted.samples || !s->sampled.has_residual)
		return 0;
	return (double)s->sampled.n.weight + (double)s->sampled.residual;
}

/* Of a few samples, a number of percent means nothing. */
static void add_error(const struct interval *estimate, struct buf *line)
{
	const double half = interval_half(estimate) / estimate->share;

	if (half < 1)
		buf_printf(line, " ± %s %%", DECIMAL(100 * half, half >= 0.0005 ? 1 : 3));
	else
		buf_printf(line, " (%s to %s)", HUMAN(fmax(estimate->low, 0), "B"),
			   HUMAN(estimate->high, "B"));
}

/* From the session's start on, what is freed was allocated; what is freed at once always was. */
static bool was_allocated_here(const struct heap *h, int amount)
{
	const struct profile_filter *f = &h->j->selection->filter;

	return amount == TEMPORARY || (amount == FREED && !f->iterations.nr && !f->from_ns);
}

/* The samples of what is freed and of what was allocated are of the same blocks: by its share of
 * the sampled ones it is a part of what is known exactly, and not more than that. False: it is not
 * known. */
static bool is_part_of_exact(const struct heap *h, int amount, struct interval *estimate)
{
	const struct report_weight *part = all_of(h, amount), *all;
	double exact;

	if (!was_allocated_here(h, amount) || h->event[ALLOCATED] == NO_EVENT)
		return false;
	all = all_of(h, ALLOCATED);
	exact = all->random ? exact_amount(h, ALLOCATED) : 0;
	if (exact <= 0 || part->weight > all->weight)
		return false;
	*estimate = reports_share_of(part, all);
	estimate->share *= exact;
	estimate->low *= exact;
	estimate->high *= exact;
	return true;
}

static void add_amount(const struct heap *h, int amount, struct buf *line)
{
	const struct report_weight *all = all_of(h, amount);
	struct interval estimate = reports_estimate_among(all, all, 0);
	const double exact = all->random ? exact_amount(h, amount) : 0;
	const bool is_part = all->random && is_part_of_exact(h, amount, &estimate);

	if (amount >= NR_SUMS)
		buf_adds(line, reports_of_largest(job_event(h->j, (uint32_t)h->event[amount])));
	if (amount != LARGEST)
		buf_printf(line, "%s ", amounts[amount].header);
	buf_adds(line, HUMAN(exact > 0 ? exact
			     : is_part ? estimate.share
				       : (double)all->weight,
			     "B"));
	if (all->random && exact <= 0)
		add_error(&estimate, line);
	if (h->stats.event[h->event[amount]].is_of_last)
		buf_adds(line, " in the last iteration");
	if (amount == PEAK)
		add_peak_time(h, line);
	if (amount == ALLOCATED && all->random && all->random < all->samples)
		buf_printf(line, " (%s calls exactly, then %s samples)",
			   COMMAS(all->samples - all->random), COMMAS(all->random));
	else if (amount == ALLOCATED)
		buf_printf(line, all->random ? " (%s samples)" : " in %s calls",
			   COMMAS(all->samples));
}

/* What a command leaks, where it is what is live at its end: no column of its own. */
static void add_leaked(const struct heap *h, struct buf *line)
{
	if (h->event[LEAKED] == NO_EVENT || is_shown(h, LEAKED))
		return;
	if (all_of(h, LEAKED)->samples)
		buf_adds(line, ", all of it leaked");
	else
		buf_adds(line, is_whole(h) ? ", leaked 0 B" : ", leaked: no sample");
}

/* "heap: peak 3.000 MB, live 1.500 MB, allocated 4.000 MB in 400 calls" */
static void put_heading(const struct heap *h)
{
	BUF_AUTO(line, LINE_BYTES);
	bool is_first = true;

	if (h->j->output->form != GRID_PEOPLE)
		return;
	buf_adds(&line, "heap: ");
	for (int i = 0; i < NR_AMOUNTS; i++) {
		if (!is_shown(h, i))
			continue;
		buf_adds(&line, is_first ? "" : ", ");
		add_amount(h, i, &line);
		if (i == LIVE)
			add_leaked(h, &line);
		is_first = false;
	}
	if (!job_is_tight(h->j))
		buf_addc(&h->j->output->text, '\n');
	reports_headline(h->j, &line);
}

/* "Functions by share of peak: 3 of at least 1 %, 2 of 0.5 to 1 %, …" */
static void put_bands(const struct heap *h, struct grid *g)
{
	static const struct {
		double min;
		const char *name;
	} bands[] = {{.01, "of at least 1 %"},
		     {.005, "of 0.5 to 1 %"},
		     {.001, "of 0.1 to 0.5 %"},
		     {0, "of less"}};
	const double all = (double)all_of(h, h->first)->weight;
	const bool is_of_functions = h->columns == (1u << REPORT_FUNCTION | 1u << REPORT_OBJECT);
	size_t nr[ARRAY_NR(bands)] = {0}, k;
	BUF_AUTO(text, LINE_BYTES);

	for (size_t i = 0; i < h->lines.nr; i++) {
		const uint64_t weight = h->sorted[i]->weight[h->first].weight;

		for (k = 0; (double)weight < bands[k].min * all; k++)
			;
		nr[k] += weight != 0;
	}
	buf_printf(&text, "%s by share of %s: ", is_of_functions ? "Functions" : "Rows",
		   amounts[h->first].header);
	for (k = 0; k < ARRAY_NR(bands); k++)
		buf_printf(&text, "%s%zu %s", k ? ", " : "", nr[k], bands[k].name);
	grid_line(g, buf_str(&text));
}

static int put_lines(struct heap *h, struct err *e)
{
	const uint64_t top = reports_top(h->j, TOP);
	const double min = reports_min_share(h->j, 1);
	struct reports_rest rest = {.nr = 0};
	struct grid *g = make_grid(h);
	struct interval share;
	uint64_t rank = 0;

	for (size_t i = 0; g && i < h->lines.nr; i++) {
		const struct line *line = h->sorted[i];
		double largest = largest_share(h, line);
		bool is_small = largest < min;

		if (largest <= 0)
			continue;
		if (rank < top && !is_small)
			put_line(h, line, g);
		else
			reports_rest_add(&rest, &line->weight[h->first], rank >= top, is_small);
		rank++;
	}
	if (g && h->lines.nr) {
		share = reports_share_of(&rest.weight, all_of(h, h->first));
		reports_rest_put(h->j, &rest, h->j->selection->by_total ? NULL : &share, g);
		if (h->j->selection->top != UINT64_MAX && h->first < NR_SUMS &&
		    h->j->output->form == GRID_PEOPLE)
			put_bands(h, g);
		reports_stack_notes(h->j, &h->stats, g);
	}
	return reports_end(h->j, g, g ? 0 : -ENOMEM, e);
}

static int gather(struct heap *h)
{
	const struct report_flat_row *rows;
	size_t nr;
	int rc = 0;

	rows = report_flat_rows(h->flat, &nr);
	if (!rows)
		return -ENOMEM;
	find_events(h);
	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = add_row(h, &rows[i]);
	return rc ?: sort(h);
}

/* Of all that was measured. A negative share: it was not, or not all is shown. */
static struct interval estimate_of(const struct heap *h, int amount)
{
	enum { NONE_IN_20 = 3 }; /* with 95 %, less than 3 times the rate has no sample */
	struct interval found = {.share = -1};

	if (h->event[amount] != NO_EVENT && !h->stats.event[h->event[amount]].omitted.samples) {
		const struct report_weight *all = all_of(h, amount);
		const uint64_t rate = job_event(h->j, (uint32_t)h->event[amount])->rate;

		found = reports_estimate_among(all, all, 0);
		if (!all->samples && rate > 1 && !is_whole(h))
			found.high = NONE_IN_20 * (double)rate;
	}
	return found;
}

static void put_balance(const struct heap *h)
{
	const struct interval live = estimate_of(h, LIVE), peak = estimate_of(h, PEAK);

	reports_heap_balance(h->j, &live, &peak);
}

/* A program that allocates little may have no sample. */
static void say_rate(struct job *j)
{
	const struct profile_facts *f = job_input(j)->facts;

	for (size_t i = 0; i < f->nr_events; i++) {
		const struct trace_event *ev = &f->events[i];

		if (strcmp(ev->group, "heap") != 0 || ev->rate <= 1 ||
		    ev->flags & TRACE_EVENT_ADAPTIVE)
			continue;
		buf_printf(&j->output->text,
			   "One is taken per %s; --event=heap:live@1,heap:leaked@1 --callgraph "
			   "takes one of each allocation\n",
			   HUMAN((double)ev->rate, "B"));
		return;
	}
}

static void say_nothing(const struct heap *h)
{
	struct job *j = h->j;

	if (reports_has_heap(job_input(j)->facts) || j->output->form != GRID_PEOPLE) {
		reports_nothing(j, &h->stats, "samples of the heap");
		if (j->output->form == GRID_PEOPLE &&
		    !ARRAY_ANY(s, h->stats.event, h->stats.nr_events, s->omitted.samples))
			say_rate(j);
		put_balance(h);
	} else {
		buf_adds(&j->output->text, "\nNo heap: it is measured with --spec-file=heap, or "
					   "events of the group heap\n");
	}
}

/* Other events that the selection leaves are of no interest here. */
int reports_heap(struct job *j, struct err *e)
{
	struct heap h = {.j = j, .columns = reports_columns(j)};
	int rc = 0;

	if (j->inputs->nr_diff)
		return reports_heap_growth(j, e);
	if (h.columns & 1 << REPORT_FUNCTION)
		h.columns |= 1 << REPORT_OBJECT;
	dict_init(&h.lines, sizeof(struct line), DICT_KEY(struct line, file), DICT_MAX);
	dict_init(&h.holders, sizeof(uint32_t), sizeof(uint32_t), DICT_MAX);
	h.flat = report_flat_new(j->inputs->functions, h.columns | 1 << REPORT_PID,
				 reports_has_callers(j));
	if (!h.flat)
		rc = err_set(e, -ENOMEM, "out of memory");
	else if (!j->selection->by_total)
		report_flat_put_in_program(h.flat, false);
	if (rc == 0)
		rc = samples_read(j, j->first, j->nr, report_flat_sink(h.flat), &h.stats, e);
	if (rc == 0 && gather(&h))
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0) {
		if (h.first == NO_EVENT) {
			say_nothing(&h);
			h.first = 0;
		} else {
			put_heading(&h);
			put_balance(&h);
		}
		if (h.lines.nr || j->output->form != GRID_PEOPLE) /* machines get a header */
			rc = put_lines(&h, e);
		if (rc == 0 && h.first != NO_EVENT)
			rc = reports_heap_leaks(j, e) ?:
			     reports_heap_lives(j, e) ?:
			     reports_heap_sizes(j, e);
	}
	report_flat_free(h.flat);
	report_stats_fini(&h.stats);
	dict_fini(&h.lines);
	dict_fini(&h.holders);
	mem_free(h.sorted);
	return rc;
}
