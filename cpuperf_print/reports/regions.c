/*
 * The report regions: what a program's marks (cpuperf/mark.h) say about it, with its samples in
 * them. Times of regions are measured, not sampled; those on CPU and of waits are. Labels of
 * goroutines are regions that only samples show: they have no calls, and no times of their own.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "numbers.h"
#include "region_notes.h"
#include "report/functions.h"
#include "report/region_sums.h"
#include "reports/region_counts.h"
#include "reports/region_instants.h"
#include "reports/reports.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROWS_FOR_PEOPLE = 40,
	ROWS_WHEN_BRIEF = 8,
	MAX_EVENTS = 8,
	TEXT_BYTES = 64 << 10,
	LABEL_BYTES = 128,
	NAMES_FOR_PEOPLE = 10,
	NR_TIMES = 12 /* columns of calls */
};

/* A path by the number of its text. */
struct key {
	uint32_t text; /* key */
	uint32_t region;
};

struct report {
	struct job *j;
	const struct profile_processes *processes;
	struct report_region_sums sums;
	struct reports_region_counts counts;
	struct report_stats stats;
	struct report_weight *weights; /* owned; of each sum and event, with regions inside */
	size_t weights_room;           /* sums */
	bool *within;                  /* owned; profile_regions_within */
	bool has_labels;               /* among the sums */
	struct dict keys;              /* struct key */
	uint32_t *order;               /* owned; sums, sorted */
	uint32_t *outer;               /* owned; of each sum: the one around it, or DICT_NONE */
	uint32_t events[MAX_EVENTS];   /* those that sample */
	size_t nr_events;
	bool by_thread;
	size_t nr_before; /* columns before those of the thread and path */
	uint64_t nr_put, nr_left;
	uint32_t last_left;                                                         /* a sum */
	char names[MAX_EVENTS][LABEL_BYTES], sample_names[MAX_EVENTS][LABEL_BYTES]; /* of columns */
};

static const struct report_region_sum *sum_at(const struct report *r, uint32_t i)
{
	return dict_at(&r->sums.sums, i);
}

static const struct report_region_thread *thread_of(const struct report *r, uint32_t number)
{
	return dict_at(&r->sums.threads, number - 1);
}

static struct report_weight *weight_of(const struct report *r, uint32_t sum, size_t event)
{
	return &r->weights[(size_t)sum * (r->nr_events + 1) + event];
}

/* Of the innermost region with calls that were selected, from region outwards. */
static uint32_t find_sum(const struct report *r, uint32_t thread, uint32_t region)
{
	uint32_t sum = DICT_NONE;

	for (; region && sum == DICT_NONE; region = profile_region(r->processes, region)->parent)
		sum = report_region_sums_find(&r->sums, thread, region);
	return sum;
}

static bool is_label(const struct report *r, uint32_t region)
{
	return profile_region(r->processes, region)->is_label;
}

/* Of all sums, those that were added last begin without samples. False: no memory. */
static bool make_weights(struct report *r)
{
	size_t before = r->weights_room;
	void *grown = mem_grow(r->weights, r->sums.sums.nr, &r->weights_room,
			       sizeof(*r->weights) * (r->nr_events + 1));

	if (!grown)
		return false;
	r->weights = grown;
	memset(r->weights + before * (r->nr_events + 1), 0,
	       (r->weights_room - before) * (r->nr_events + 1) * sizeof(*r->weights));
	return true;
}

/* The thread of a sample; 0: none. One that has labels alone is added. */
static uint32_t find_thread(struct report *r, const struct report_entry *e, bool has_label)
{
	struct report_region_thread t = {
	    .pid = e->key.pid, .tid = e->key.tid, .thread = e->key.thread};
	uint32_t number = report_region_sums_thread(&r->sums, t.pid, t.tid);

	if (number || !has_label)
		return number;
	snprintf(t.comm, sizeof(t.comm), "%s",
		 report_functions_text(r->j->inputs->functions, e->key.comm));
	return report_region_sums_add_thread(&r->sums, &t);
}

/* Labels have no calls: their sums are made here, with those around them. */
static uint32_t add_label(struct report *r, uint32_t thread, uint32_t region)
{
	const uint32_t sum = report_region_sums_add(&r->sums, thread, region);

	r->has_labels = true;
	for (uint32_t i = region; i; i = profile_region(r->processes, i)->parent)
		if (!r->within || r->within[i])
			report_region_sums_add(&r->sums, thread, i);
	return sum;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report *r = arg;
	const struct key *key = dict_at(&r->keys, dict_find(&r->keys, &e->key.region));
	const bool has_label = key && is_label(r, key->region);
	uint32_t thread = r->by_thread ? find_thread(r, e, has_label) : REPORT_ALL_THREADS;
	uint32_t sum = DICT_NONE;

	if (key && (thread || !r->by_thread))
		sum = has_label ? add_label(r, thread, key->region)
				: find_sum(r, thread, key->region);
	if (!make_weights(r))
		return -ENOMEM;
	for (size_t i = 0; sum != DICT_NONE && i < r->nr_events; i++)
		if (r->events[i] == e->key.event)
			report_weight_add(weight_of(r, sum, i), &e->weight);
	return 0;
}

static void find_events(struct report *r)
{
	const struct profile_facts *f = job_input(r->j)->facts;

	for (uint32_t i = 0; i < f->nr_events && r->nr_events < MAX_EVENTS; i++)
		if (!samples_are_added_up(&f->events[i]) &&
		    (f->events[i].rate || f->events[i].frequency) &&
		    profile_filter_has_event(&r->j->selection->filter, &f->events[i]))
			r->events[r->nr_events++] = i;
}

static int make_keys(struct report *r)
{
	size_t nr = profile_nr_regions(r->processes);
	BUF_AUTO(text, TEXT_BYTES);

	dict_init(&r->keys, sizeof(struct key), DICT_KEY(struct key, text), nr);
	for (uint32_t i = 0; i < nr; i++) {
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

/* By the sum around each, then the longest first. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct report *r = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct report_region_sum *x = sum_at(r, i), *y = sum_at(r, k);

	return order_u64(x->thread, y->thread)
		   ?: order_u64(r->outer[i], r->outer[k])
		   ?: -order_u64(x->wall_ns, y->wall_ns)
		   ?: -order_u64(weight_of(r, i, 0)->weight, weight_of(r, k, 0)->weight)
		   ?: order_u64(x->region, y->region);
}

/* A region has the samples of those inside: add to the sums around it. */
static void add_inner(struct report *r, const struct report_weight *own)
{
	for (uint32_t i = 0; i < r->sums.sums.nr; i++)
		for (uint32_t to = r->outer[i]; to != DICT_NONE; to = r->outer[to])
			for (size_t e = 0; e < r->nr_events; e++)
				report_weight_add(weight_of(r, to, e),
						  &own[i * (r->nr_events + 1) + e]);
}

/* Which sum is around each; then all in order. */
static int make_order(struct report *r)
{
	const size_t nr = r->sums.sums.nr, bytes = (r->nr_events + 1) * sizeof(*r->weights);
	MEM_AUTO struct report_weight *own = mem_calloc(nr + 1, bytes); /* without regions inside */

	r->order = mem_calloc(nr + 1, sizeof(*r->order));
	r->outer = mem_calloc(nr + 1, sizeof(*r->outer));
	if (!own || !r->order || !r->outer)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const struct report_region_sum *s = sum_at(r, i);

		r->order[i] = i;
		r->outer[i] =
		    find_sum(r, s->thread, profile_region(r->processes, s->region)->parent);
	}
	memcpy(own, r->weights, nr * bytes);
	add_inner(r, own);
	qsort_r(r->order, nr, sizeof(*r->order), compare, r);
	return 0;
}

static int read_samples(struct report *r, struct err *e)
{
	const struct report_sink sink = {
	    .parts = REPORT_BY_REGION |
		     (r->by_thread ? REPORT_BY_PID | REPORT_BY_TID | REPORT_BY_COMM : 0),
	    .entry = add_entry,
	    .arg = r};
	int rc = 0;

	if (!make_weights(r) || make_keys(r))
		return err_set(e, -ENOMEM, "out of memory");
	if (job_input(r->j)->facts->is_sampling)
		rc = samples_read(r->j, r->j->first, r->j->nr, &sink, &r->stats, e);
	if (rc == 0 && make_order(r))
		rc = err_set(e, -ENOMEM, "out of memory");
	return rc;
}

static int read_all(struct report *r, struct err *e)
{
	const struct input *in = job_input(r->j);
	struct profile_filter filter = r->j->selection->filter;
	int rc = input_has_common(in) ? 0 : samples_check(r->j, e);

	rc = rc ?: samples_load_names(r->j, e);
	if (rc)
		return rc;
	r->processes = in->processes;
	r->by_thread = r->j->selection->root == REPORT_ROOT_THREAD;
	find_events(r);
	r->within = profile_regions_within(r->processes, &filter.regions);
	if (filter.regions.nr && !r->within)
		return err_set(e, -ENOMEM, "out of memory");
	filter.has_trials = true; /* for what marks cost */
	if (report_region_sums_read(&r->sums, r->processes, &filter, in->start_ns, r->by_thread))
		return err_set(e, -ENOMEM, "out of memory");
	reports_region_counts_init(&r->counts, &r->sums, r->processes, in->facts,
				   r->j->selection->without_marks);
	return read_samples(r, e);
}

static void put_ns(struct grid *g, double ns)
{
	if (isfinite(ns))
		grid_count(g, (uint64_t)(ns + 0.5));
	else
		grid_none(g);
}

static void put_times(const struct report *r, struct grid *g, const struct report_region_sum *s)
{
	static const double quantiles[] = {0.5, 0.9, 0.99};
	const bool is_timed = report_region_timed(s) > 0;

	if (!s->calls && is_label(r, s->region)) {
		for (size_t i = 0; i < NR_TIMES; i++)
			grid_none(g);
		return;
	}
	grid_count(g, s->calls);
	grid_count(g, s->wall_ns);
	grid_count(g, s->self_ns);
	put_ns(g, is_timed ? s->mean_ns : NAN);
	put_ns(g, is_timed ? (double)s->min_ns : NAN);
	for (size_t i = 0; i < ARRAY_NR(quantiles); i++)
		put_ns(g, report_region_quantile(&r->sums, s, quantiles[i]));
	put_ns(g, is_timed ? (double)s->max_ns : NAN);
	put_ns(g, report_region_deviation(s));
	grid_count(g, s->closed);
	grid_count(g, s->cut);
}

/* An amount is as uncertain as if nothing had been selected: how much was is chance, too. Of the
 * time on CPUs the whole is known, of waits only their samples are. */
static void put_estimate(const struct report *r, struct grid *g, uint32_t event,
			 const struct report_weight *w)
{
	const struct trace_event *ev = job_event(r->j, event);
	const struct report_event_stats *of = &r->stats.event[event];
	struct report_weight all = of->counted;
	struct interval i;
	double total = 1;

	report_weight_add(&all, &of->omitted);
	if (samples_is_wait(ev)) {
		uint32_t divisor = r->stats.divisor ? r->stats.divisor : 1;

		i = reports_estimate(w, all.random ? (double)ev->rate * divisor : 0);
	} else {
		i = reports_share_of(w, &all);
		total = (double)reports_amount(r->j, event, all.weight);
	}
	grid_estimate(g, total, &i);
}

static void put_samples(const struct report *r, struct grid *g, uint32_t sum)
{
	for (size_t e = 0; e < r->nr_events; e++) {
		const struct report_weight *w = weight_of(r, sum, e);
		struct interval share = reports_share(&r->stats, r->events[e], w);

		grid_share(g, &share);
		put_estimate(r, g, r->events[e], w);
		grid_count(g, w->samples);
	}
}

/* "name (pid/tid #number)". */
static void put_thread(const struct report_region_thread *t, struct grid *g)
{
	char text[REPORT_REGION_COMM_BYTES + 48];
	int len = snprintf(text, sizeof(text), "%s (%" PRIu32 "/%" PRIu32, t->comm, t->pid, t->tid);

	if (t->thread != TRACE_UNKNOWN)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " #%" PRIu32, t->thread);
	snprintf(text + len, sizeof(text) - (size_t)len, ")");
	grid_text(g, text);
}

static void put_thread_cells(const struct report_region_thread *t, struct grid *g)
{
	grid_count(g, t->pid);
	grid_count(g, t->tid);
	put_thread(t, g);
}

static void put_row(struct report *r, struct grid *g, uint32_t number)
{
	const struct report_region_sum *s = sum_at(r, number);
	const struct profile_region *p = profile_region(r->processes, s->region);
	BUF_AUTO(path, TEXT_BYTES);

	grid_row(g);
	put_times(r, g, s);
	put_samples(r, g, number);
	reports_region_counts_put(&r->counts, g, number);
	if (r->by_thread)
		put_thread_cells(thread_of(r, s->thread), g);
	profile_region_text(r->processes, s->region, &path);
	grid_text(g, buf_str(&path));
	grid_tree(g, p->depth, p->name);
	reports_region_instants_none(g);
}

/* What the marks of the trial cost stands in the heading, and --subtract-marks subtracts it. */
static bool is_hidden(const struct report *r, uint32_t sum)
{
	return profile_region_is_trial(r->processes, sum_at(r, sum)->region);
}

/* The regions of a thread in that sum; DICT_NONE: the outermost ones. */
static void put_tree(struct report *r, struct grid *g, uint32_t thread, uint32_t outer)
{
	uint64_t top = r->j->is_brief ? ROWS_WHEN_BRIEF : reports_top(r->j, ROWS_FOR_PEOPLE);
	size_t nr = r->sums.sums.nr;
	size_t i = ORDER_FIRST(
	    k, nr,
	    sum_at(r, r->order[k])->thread > thread ||
		(sum_at(r, r->order[k])->thread == thread && r->outer[r->order[k]] >= outer));

	for (; i < nr && sum_at(r, r->order[i])->thread == thread && r->outer[r->order[i]] == outer;
	     i++) {
		if (is_hidden(r, r->order[i]))
			continue;
		if (r->nr_put == top) {
			r->nr_left++;
			r->last_left = r->order[i];
		} else {
			r->nr_put++;
			put_row(r, g, r->order[i]);
		}
		put_tree(r, g, thread, r->order[i]);
	}
}

static void put_all(struct report *r, struct grid *g)
{
	size_t nr = r->sums.threads.nr;

	if (!r->by_thread)
		put_tree(r, g, REPORT_ALL_THREADS, DICT_NONE);
	for (uint32_t i = 1; r->by_thread && i <= nr; i++)
		put_tree(r, g, i, DICT_NONE);
	if (r->nr_left == 1 && r->j->output->form == GRID_PEOPLE) {
		/* as long as the line that would name it */
		put_row(r, g, r->last_left);
		r->nr_left = 0;
	}
}

static size_t add_event_columns(struct report *r, struct grid_column *columns)
{
	size_t nr = 0;

	for (size_t e = 0; e < r->nr_events; e++) {
		const struct trace_event *event = job_event(r->j, r->events[e]);

		columns[nr++] = (struct grid_column){event->label, "share", NULL, GRID_SHARE,
						     GRID_ONLY_MACHINES};
		snprintf(r->names[e], sizeof(r->names[e]), "%s_count", event->label);
		/* the last one leaves first, after the extremes; the first one stays */
		columns[nr++] = (struct grid_column){
		    r->names[e],   event->label, event->unit,
		    GRID_ESTIMATE, GRID_ALL,     e ? 2 + (unsigned)(r->nr_events - e) : 0};
		snprintf(r->sample_names[e], sizeof(r->sample_names[e]), "%s_samples",
			 event->label);
		columns[nr++] = (struct grid_column){r->sample_names[e], NULL, NULL, GRID_COUNT,
						     GRID_ONLY_MACHINES};
	}
	return nr;
}

static struct grid *make_grid(struct report *r)
{
	static const struct grid_column fixed[NR_TIMES] = {
	    {"calls", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"wall_ns", "wall", "ns", GRID_AMOUNT, GRID_ALL},
	    {"self_ns", "self", "ns", GRID_AMOUNT, GRID_ALL},
	    {"mean_ns", "mean", "ns", GRID_AMOUNT, GRID_ALL},
	    {"min_ns", "min", "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"p50_ns", "p50", "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"p90_ns", "p90", "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"p99_ns", "p99", "ns", GRID_AMOUNT, GRID_ALL, 2},
	    {"max_ns", "max", "ns", GRID_AMOUNT, GRID_ALL, 1},
	    {"deviation_ns", "dev", "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"closed", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"cut", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	};
	static const struct grid_column of_thread[] = {
	    {"pid", NULL, NULL, GRID_NUMBER, GRID_ONLY_MACHINES},
	    {"tid", NULL, NULL, GRID_NUMBER, GRID_ONLY_MACHINES},
	    {"thread", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	struct grid_column columns[GRID_MAX_COLUMNS];
	size_t nr = 0;

	for (; nr < ARRAY_NR(fixed); nr++) {
		columns[nr] = fixed[nr];
		if (!r->sums.nr_threads) /* labels have no calls */
			columns[nr].audience = GRID_ONLY_MACHINES;
	}
	nr += add_event_columns(r, &columns[nr]);
	nr += reports_region_counts_columns(&r->counts, &columns[nr]);
	r->nr_before = nr;
	for (size_t i = 0; r->by_thread && i < ARRAY_NR(of_thread); i++)
		columns[nr++] = of_thread[i];
	columns[nr++] = (struct grid_column){"path", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES};
	columns[nr++] = (struct grid_column){"region", NULL, NULL, GRID_TEXT, GRID_ALL};
	nr += reports_region_instants_columns(&columns[nr]);
	return reports_grid(r->j, columns, nr);
}

/* Each once; false: there are more. */
static bool add_names(const struct report *r, struct buf *out)
{
	const char *names[NAMES_FOR_PEOPLE];
	size_t nr = 0, k;

	for (uint32_t i = 1; i < profile_nr_regions(r->processes); i++) {
		const char *name = profile_region(r->processes, i)->name;

		for (k = 0; k < nr && strcmp(names[k], name) != 0; k++)
			;
		if (k < nr || profile_region_is_trial(r->processes, i))
			continue;
		if (nr == NAMES_FOR_PEOPLE)
			return false;
		buf_printf(out, "%s%s", nr ? ", " : "", name);
		names[nr++] = name;
	}
	return true;
}

/* A name that --region misspells. */
static void put_unmatched(const struct report *r)
{
	const struct profile_globs *globs = &r->j->selection->filter.regions;
	bool *within = profile_regions_within(r->processes, globs);
	bool is_people = r->j->output->form == GRID_PEOPLE, is_any = !within;
	BUF_AUTO(text, TEXT_BYTES);

	for (uint32_t i = 1; !is_any && i < profile_nr_regions(r->processes); i++)
		is_any = within[i];
	mem_free(within);
	if (is_any || profile_nr_regions(r->processes) == 1)
		return;
	buf_adds(&text, "No region matches --region; there are: ");
	if (!add_names(r, &text))
		buf_adds(&text, ", …");
	if (is_people)
		buf_printf(&r->j->output->text, "%s\n", buf_str(&text));
	else
		fprintf(stderr, "cpuperf_print: %s\n", buf_str(&text));
}

static void put_heading(const struct report *r)
{
	const struct profile_regions_stats *s = profile_regions_stats(r->processes);
	struct buf *text = &r->j->output->text;
	uint64_t closed = 0, cut = 0;

	if (r->j->output->form != GRID_PEOPLE) {
		region_notes_put(r->j);
		put_unmatched(r);
		return;
	}
	if (!s->nr_marks && !s->nr_lost && !profile_has_labels(r->processes)) {
		buf_adds(text, "\nNo regions: the session was recorded without --regions (labels "
			       "of Go: as root), no program had marks, or another cpuperf received "
			       "them\n");
		return;
	}
	for (uint32_t i = 0; i < r->sums.sums.nr; i++) {
		closed += sum_at(r, i)->closed;
		cut += sum_at(r, i)->cut;
	}
	if (r->sums.nr_threads)
		buf_printf(text, "\nRegions of %" PRIu64 " thread%s, with the regions inside them",
			   r->sums.nr_threads, r->sums.nr_threads == 1 ? "" : "s");
	else if (r->has_labels)
		buf_adds(text, "\nRegions by labels of goroutines, which samples alone show");
	else
		buf_printf(text, "\nNo regions: %s",
			   r->sums.instants.sums.nr ? "instants and values alone"
						    : "none ended in what was selected");
	if (s->nr_lost && !s->nr_notes) /* a note says it better */
		buf_printf(text, "; %" PRIu64 " of %" PRIu64 " marks were lost", s->nr_lost,
			   s->nr_lost + s->nr_marks);
	if (closed)
		buf_printf(text, "; %" PRIu64 " without an end of their own", closed);
	if (cut)
		buf_printf(text, "; %" PRIu64 " only partly in the time measured and selected",
			   cut);
	if (s->nr_unmatched)
		buf_printf(text, "; %" PRIu64 " ends without a beginning", s->nr_unmatched);
	if (r->stats.nr_paused)
		buf_printf(text,
			   "; %" PRIu64 " samples omitted, taken while the program had paused "
			   "the measuring",
			   r->stats.nr_paused);
	buf_addc(text, '\n');
	for (size_t i = 0; i < s->nr_notes; i++)
		buf_printf(text, "Note: %s\n", s->notes[i]);
	if (r->sums.nr_threads || r->has_labels)
		reports_region_counts_heading(&r->counts, text);
	put_unmatched(r);
}

static int put_tables(struct report *r, struct grid *g, struct err *e)
{
	struct reports_rest rest = {.nr = 0};
	const struct reports_region_instants instants = {.j = r->j,
							 .sums = &r->sums,
							 .processes = r->processes,
							 .by_thread = r->by_thread,
							 .nr_before = r->nr_before,
							 .put_thread = put_thread_cells};
	bool is_people = r->j->output->form == GRID_PEOPLE;
	int rc = 0;

	put_heading(r);
	put_all(r, g);
	rest.nr = r->nr_left;
	rest.is_beyond_top = r->nr_left > 0;
	reports_rest_put(r->j, &rest, NULL, g);
	if (!is_people)
		rc = reports_region_instants_put(&instants, g, e);
	if (is_people && !r->sums.nr_threads && !r->has_labels) { /* without its heading */
		grid_free(g);
		rc = output_flush(r->j->output, e);
	} else {
		rc = reports_end(r->j, g, rc, e);
	}
	return rc == 0 && is_people ? reports_region_instants_put(&instants, NULL, e) : rc;
}

int reports_regions(struct job *j, struct err *e)
{
	MEM_AUTO struct report *r = mem_zalloc(sizeof(*r));
	struct grid *g = NULL;
	int rc;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->j = j;
	rc = read_all(r, e);
	g = rc ? NULL : make_grid(r);
	if (rc == 0 && !g)
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = put_tables(r, g, e);
	report_region_sums_fini(&r->sums);
	dict_fini(&r->keys);
	mem_free(r->weights);
	mem_free(r->within);
	mem_free(r->order);
	mem_free(r->outer);
	report_stats_fini(&r->stats);
	return rc;
}
