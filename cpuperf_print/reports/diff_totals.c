/*
 * The headline of the comparison: wall and CPU time of the command, the total of each event, and
 * the quantiles of latencies. A run is the iterations of one start of the command; of the whole
 * machine, an iteration. The replicates are the runs of the one session per side, or the means of
 * each session's runs.
 */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "estimate/unit.h"
#include "numbers.h"
#include "profile/iterator.h"
#include "reports/diff.h"
#include "reports/reports.h"
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { WAS, IS, NR_SIDES };
enum { WALL, CPU, NR_TIMES }; /* amounts before those of the events */

struct run {
	struct trace_target target; /* of its last iteration */
	uint32_t cause;             /* the same */
	bool is_cut;                /* it was ended, or did not end while it was measured */
	double measured_s;          /* the length of its iterations */
	double *amount;             /* nr_amounts; NAN: not measured */
	double *latency;            /* owned; nr_latencies, likewise */
	size_t nr_latencies;
};

struct runs {
	struct run *item; /* owned, with the amounts */
	size_t nr, room;
	struct latencies open;   /* of the last run, if it goes on */
	struct latencies all[2]; /* of all runs; of those that are not cut */
	double *latency;         /* owned; nr_latencies: of the runs that are used */
	size_t nr_latencies;
};

/* An amount that is compared. */
struct total {
	char name[DIFF_TOTALS_NAME_BYTES];
	const char *unit;
	bool is_latency;
};

struct diff_totals {
	struct job *j;
	bool by_iteration, are_runs, are_rates, of_machine;
	struct amount *amounts; /* owned; with their values */
	struct total *shown;    /* owned; by amount */
	size_t nr_amounts;      /* of the times and the events of the session */
	struct diff_functions functions;
	struct dict kinds;     /* of latencies: their numbers follow the amounts */
	size_t nr_shown;       /* those that are compared */
	struct runs *sessions; /* owned; by input */
	char text[NR_SIDES][TRACE_TARGET_BYTES];
	size_t nr_cut[NR_SIDES], nr_failed[NR_SIDES], nr_runs[NR_SIDES];
	double seconds[NR_SIDES]; /* measured of a run, on the average */
};

static size_t first_of(const struct job *j, int side)
{
	return side == IS ? 0 : j->inputs->nr;
}

static size_t nr_of(const struct job *j, int side)
{
	return side == IS ? j->inputs->nr : j->inputs->nr_diff;
}

static size_t nr_inputs(const struct job *j)
{
	return j->inputs->nr + j->inputs->nr_diff;
}

/* --- runs ------------------------------------------------------------------------------------ */

static void free_runs(struct runs *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		mem_free(r->item[i].amount);
		mem_free(r->item[i].latency);
	}
	mem_free(r->item);
	mem_free(r->latency);
	latencies_fini(&r->open);
	latencies_fini(&r->all[0]);
	latencies_fini(&r->all[1]);
}

/* The run of the next iteration: the last one unless it has ended. NULL: no memory. */
static struct run *next_run(struct runs *r, size_t nr_amounts)
{
	struct run *run;

	if (r->nr && !(r->item[r->nr - 1].target.flags & TRACE_TARGET_HAS_ENDED))
		return &r->item[r->nr - 1];
	run = MEM_ADD(r->item, r->nr, r->room);
	if (!run)
		return NULL;
	*run = (struct run){.amount = mem_calloc(nr_amounts, sizeof(double))};
	for (size_t i = 0; i < nr_amounts && run->amount; i++)
		run->amount[i] = NAN;
	return run->amount ? run : NULL;
}

struct reading_run {
	const struct diff_totals *t;
	struct trace_target target;
	bool has_target;
	struct latencies functions; /* of the iteration */
	int error;                  /* of these */
};

static void see_trace(void *arg, const struct profile_trace *trace)
{
	struct reading_run *r = arg;

	if (trace->nr_functions && !r->error)
		r->error = diff_functions_add(&r->t->functions, trace, &r->functions);
	if (!trace->target)
		return;
	r->has_target = true;
	r->target = *trace->target;
}

/* A target that ran already, or goes on, or was killed, did a part of its work. */
static bool has_reached_end(const struct trace_target *t)
{
	const unsigned flags = TRACE_TARGET_IS_COMMAND | TRACE_TARGET_HAS_ENDED;

	return (t->flags & flags) == flags && !WIFSIGNALED(t->status);
}

/* It was ended, or is of another cause than the first. */
static bool is_partial(const struct diff_totals *t, const struct runs *r, const struct run *run)
{
	return t->of_machine ? run->cause != r->item[0].cause : !has_reached_end(&run->target);
}

static int add_latencies(const struct diff_totals *t, struct latencies *to,
			 const struct latencies *from)
{
	const struct trace_event *events = t->j->inputs->item[0].facts->events;

	for (uint32_t i = 0; i < from->rows.nr; i++) {
		const struct latencies_row *row = dict_at(&from->rows, i);
		struct histogram *h;

		if (!profile_filter_has_event(&t->j->selection->filter, &events[row->event]))
			continue;
		h = latencies_get(to, row->event, row->part, row->what);
		if (!h)
			return -ENOMEM;
		histogram_merge(h, row->histogram);
	}
	return 0;
}

/* The last run has ended: its histograms become numbers, since there may be many runs. */
static int end_run(struct diff_totals *t, struct runs *r)
{
	struct run *run = &r->item[r->nr - 1];
	bool is_whole = !run->is_cut && !is_partial(t, r, run);
	int rc = diff_latencies_numbers(&t->kinds, &r->open, &run->latency, &run->nr_latencies) ?:
		 latencies_merge(&r->all[0], &r->open) ?:
		 is_whole ? latencies_merge(&r->all[1], &r->open) : 0;

	latencies_fini(&r->open);
	return rc;
}

/* Adds an iteration to its run. */
static int add_table(struct diff_totals *t, struct runs *r, const struct table *table,
		     const struct reading_run *reading)
{
	const struct trace_target *target = &reading->target;
	const struct profile_filter *filter = &t->j->selection->filter;
	const struct trace_event *events = t->j->inputs->item[0].facts->events;
	struct run *run = next_run(r, t->nr_amounts);

	if (!run)
		return -ENOMEM;
	run->target = *target;
	run->cause = table->cause;
	if (table->end_ns > table->start_ns)
		run->measured_s += (double)(table->end_ns - table->start_ns) / 1e9;
	run->is_cut |= table->is_cut;
	run->amount[WALL] =
	    target->end_ns > target->start_ns ? (double)(target->end_ns - target->start_ns) : NAN;
	if ((target->flags & TRACE_TARGET_HAS_ENDED) && !t->of_machine)
		run->amount[CPU] = (double)(target->user_ns + target->system_ns);
	for (size_t i = 0; i < table->nr_events; i++) {
		double *to = &run->amount[NR_TIMES + i];

		if (table->columns[i].kind == EVENT_COUNT && cell_has_value(&table->totals[i]) &&
		    profile_filter_has_event(filter, &events[i]))
			*to = (isnan(*to) ? 0 : *to) + table->totals[i].value;
	}
	return reading->error
		   ?: add_latencies(t, &r->open, &table->latencies)
		   ?: add_latencies(t, &r->open, &reading->functions)
		   ?: target->flags & TRACE_TARGET_HAS_ENDED ? end_run(t, r)
							     : 0;
}

/* 1: the session measured what is compared: a target, or the machine. */
static int read_session(struct diff_totals *t, size_t input, struct err *e)
{
	const struct input *o = &t->j->inputs->item[input];
	struct runs *runs = &t->sessions[input];
	struct reading_run reading = {.t = t};
	struct tables x;
	int rc = tables_open(&x, t->j, o, e);

	x.on_trace = see_trace;
	x.arg = &reading;
	while (rc == 0 && (rc = tables_next(&x, e)) == 1) {
		if (t->of_machine) {
			reading.target = (struct trace_target){.flags = TRACE_TARGET_HAS_ENDED};
			reading.has_target = true;
		}
		rc = reading.has_target ? add_table(t, runs, x.t, &reading) : 0;
		if (rc)
			err_set(e, rc, "the runs cannot be compared: %s", strerror(-rc));
		reading.has_target = false;
		latencies_fini(&reading.functions);
	}
	latencies_fini(&reading.functions);
	tables_close(&x);
	if (rc == 0 && runs->open.rows.nr && end_run(t, runs)) /* it goes on */
		rc = err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < runs->nr; i++)
		runs->item[i].is_cut |= is_partial(t, runs, &runs->item[i]);
	return rc < 0 ? rc : runs->nr > 0;
}

/* --- replicates ------------------------------------------------------------------------------ */

static bool has_whole(const struct runs *r)
{
	for (size_t i = 0; i < r->nr; i++)
		if (!r->item[i].is_cut)
			return true;
	return false;
}

/* A run of that side is compared: of those that reached their end, if rates are not. */
static bool is_used(const struct diff_totals *t, const struct run *run)
{
	return t->are_rates || !run->is_cut;
}

static double latency_of(const double *list, size_t nr, size_t i)
{
	return i < nr ? list[i] : NAN;
}

static double amount_of(const struct diff_totals *t, const struct run *run, size_t i)
{
	if (i >= t->nr_amounts)
		return latency_of(run->latency, run->nr_latencies, i - t->nr_amounts);
	if (!t->are_rates)
		return run->amount[i];
	return i == WALL ? NAN : run->amount[i] / run->measured_s;
}

/* The mean over the runs of a session that have the amount; NAN: none has. */
static double mean_of(const struct diff_totals *t, const struct runs *r, size_t i)
{
	struct spread s = {0};

	for (size_t k = 0; k < r->nr; k++) {
		double x = is_used(t, &r->item[k]) ? amount_of(t, &r->item[k], i) : NAN;

		if (isfinite(x))
			spread_add(&s, x);
	}
	return s.nr ? s.mean : NAN;
}

/* The replicates of a side that have the amount, into out. Returns how many. */
static size_t gather(const struct diff_totals *t, int side, size_t i, double *out)
{
	const struct runs *r = &t->sessions[first_of(t->j, side)];
	size_t nr = 0;

	if (t->by_iteration) {
		for (size_t k = 0; k < r->nr; k++) {
			out[nr] = is_used(t, &r->item[k]) ? amount_of(t, &r->item[k], i) : NAN;
			nr += isfinite(out[nr]);
		}
		return nr;
	}
	for (size_t k = 0; k < nr_of(t->j, side); k++) {
		out[nr] = i < t->nr_amounts
			      ? mean_of(t, &r[k], i)
			      : latency_of(r[k].latency, r[k].nr_latencies, i - t->nr_amounts);
		nr += isfinite(out[nr]);
	}
	return nr;
}

static size_t most_replicates(const struct diff_totals *t, int side)
{
	return t->by_iteration ? t->sessions[first_of(t->j, side)].nr : nr_of(t->j, side);
}

static struct total total_of(const struct diff_totals *t, size_t i)
{
	const struct trace_event *events = t->j->inputs->item[0].facts->events;
	struct total total = {.unit = "ns", .is_latency = i >= t->nr_amounts};

	if (total.is_latency) {
		diff_latencies_name(&t->kinds, t->j, i - t->nr_amounts, total.name);
		return total;
	}
	snprintf(total.name, sizeof(total.name), "%s",
		 i == WALL  ? "wall_time"
		 : i == CPU ? "cpu_time"
			    : events[i - NR_TIMES].label);
	if (i >= NR_TIMES)
		total.unit = events[i - NR_TIMES].unit;
	return total;
}

/* The amounts that both sides have. */
static int compare(struct diff_totals *t)
{
	size_t room = most_replicates(t, WAS) + most_replicates(t, IS);
	size_t nr = t->nr_amounts + (size_t)t->kinds.nr * DIFF_LATENCY_NR;
	double *values;

	t->amounts = mem_calloc(nr, sizeof(*t->amounts) + room * sizeof(double));
	t->shown = mem_calloc(nr, sizeof(*t->shown));
	if (!t->amounts || !t->shown)
		return -ENOMEM;
	values = (double *)&t->amounts[nr];
	for (size_t i = 0; i < nr; i++, values += room) {
		size_t was = gather(t, WAS, i, values), is = gather(t, IS, i, values + was);

		if (!was || !is)
			continue;
		t->shown[t->nr_shown] = total_of(t, i);
		t->amounts[t->nr_shown++] =
		    (struct amount){.value = {values, values + was},
				    .nr = {was, is},
				    .is_primary = i == WALL,
				    .is_unjudged = i >= t->nr_amounts &&
						   !diff_latencies_is_judged(i - t->nr_amounts)};
	}
	return amounts_judge(t->amounts, t->nr_shown, t->by_iteration && !t->are_runs);
}

/* Those of each session, of the runs that are used. */
static int number_latencies(struct diff_totals *t)
{
	int rc = 0;

	for (size_t i = 0; i < nr_inputs(t->j) && rc == 0; i++) {
		struct runs *r = &t->sessions[i];

		rc = diff_latencies_numbers(&t->kinds, &r->all[!t->are_rates], &r->latency,
					    &r->nr_latencies);
	}
	return rc;
}

/* Rates are compared if a session has no run that reached its end, or if durations differ. */
static void look_at_runs(struct diff_totals *t)
{
	for (int side = WAS; side <= IS; side++) {
		const struct runs *of = &t->sessions[first_of(t->j, side)];
		struct spread seconds = {0};

		for (size_t i = 0; i < nr_of(t->j, side); i++) {
			t->are_rates |= !has_whole(&of[i]);
			for (size_t k = 0; k < of[i].nr; k++) {
				const struct run *run = &of[i].item[k];

				t->nr_runs[side]++;
				t->nr_cut[side] += run->is_cut;
				t->nr_failed[side] += !run->is_cut && run->target.status != 0;
				spread_add(&seconds, run->measured_s);
				memcpy(t->text[side], run->target.text, TRACE_TARGET_BYTES);
			}
		}
		t->seconds[side] = seconds.mean;
	}
	if (t->of_machine) /* iterations of other lengths */
		t->are_rates |= fabs(t->seconds[IS] - t->seconds[WAS]) > t->seconds[WAS] / 100;
}

/* 1: all measured a target. */
static int read_all(struct diff_totals *t, struct err *e)
{
	int rc = 1;

	for (size_t i = 0; i < nr_inputs(t->j) && rc == 1; i++)
		rc = t->j->inputs->item[i].import ? 0 : read_session(t, i, e);
	if (rc != 1)
		return rc;
	look_at_runs(t);
	rc = number_latencies(t) ?: compare(t);
	return rc ? err_set(e, rc, "the runs cannot be compared: %s", strerror(-rc)) : 1;
}

static bool has_latencies(const struct job *j)
{
	const struct profile_facts *facts = j->inputs->item[0].facts;

	return ARRAY_ANY(ev, facts->events, facts->nr_events, strcmp(ev->group, "latency") == 0) ||
	       reports_has_functions(facts);
}

int diff_totals_new(struct job *j, bool by_iteration, bool are_runs, struct diff_totals **out,
		    struct err *e)
{
	struct runs *sessions = mem_calloc(nr_inputs(j), sizeof(*sessions));
	struct diff_totals *t = sessions ? mem_zalloc(sizeof(*t)) : NULL;
	int rc;

	*out = NULL;
	if (!t) {
		mem_free(sessions);
		return err_set(e, -ENOMEM, "out of memory");
	}
	*t = (struct diff_totals){
	    .j = j,
	    .by_iteration = by_iteration,
	    .are_runs = are_runs,
	    .nr_amounts = NR_TIMES + j->inputs->item[0].facts->nr_events,
	    .sessions = sessions,
	};
	diff_latencies_init(&t->kinds);
	rc = diff_functions_choose(&t->functions, j);
	rc = rc ? err_set(e, rc, "the functions cannot be compared: %s", strerror(-rc))
		: read_all(t, e);
	if (rc == 0 && (!j->inputs->item[0].facts->is_sampling || has_latencies(j))) {
		for (size_t i = 0; i < nr_inputs(j); i++)
			free_runs(&sessions[i]);
		memset(sessions, 0, nr_inputs(j) * sizeof(*sessions));
		t->of_machine = true;
		rc = read_all(t, e);
	}
	if (rc == 1)
		*out = t;
	else
		diff_totals_free(t);
	return rc < 0 ? rc : 0;
}

void diff_totals_free(struct diff_totals *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < nr_inputs(t->j); i++)
		free_runs(&t->sessions[i]);
	mem_free(t->sessions);
	mem_free(t->amounts);
	mem_free(t->shown);
	dict_fini(&t->kinds);
	diff_functions_fini(&t->functions);
	mem_free(t);
}

const struct amount *diff_totals_list(const struct diff_totals *t, size_t *nr)
{
	*nr = t->nr_shown;
	return t->amounts;
}

const char *diff_totals_name(const struct diff_totals *t, size_t i)
{
	return t->shown[i].name;
}

bool diff_totals_is_latency(const struct diff_totals *t, size_t i)
{
	return t->shown[i].is_latency;
}

bool diff_totals_are_rates(const struct diff_totals *t)
{
	return t->are_rates;
}

/* --- text ------------------------------------------------------------------------------------ */

/* "3 runs each", or why nothing is judged. */
static void add_replicates(const struct diff_totals *t, struct buf *b, const struct amount *a)
{
	const char *what = !t->by_iteration ? "session" : t->of_machine ? "iteration" : "run";

	if (a->is_tested)
		buf_printf(b, "; %zu %ss now, %zu before%s", a->nr[IS], what, a->nr[WAS],
			   t->by_iteration ? ", of one session each" : "");
	else if (a->nr[WAS] == 1 && a->nr[IS] == 1)
		buf_printf(b, "; one %s each: no judgement", what);
	else
		buf_printf(b, "; one %s %s: no judgement", what, a->nr[IS] == 1 ? "now" : "before");
}

static void put_names(const struct diff_totals *t, struct buf *b)
{
	buf_printf(b, "\n%s", t->of_machine ? "Whole machine" : t->text[WAS]);
	if (strcmp(t->text[WAS], t->text[IS]) != 0)
		buf_printf(b, " → %s", t->text[IS]);
	buf_adds(b, ": ");
}

static void put_wall(const struct amount *a, struct buf *b)
{
	buf_printf(b, "%s → %s wall", HUMAN(a->mean[WAS], "ns"), HUMAN(a->mean[IS], "ns"));
	if (isfinite(a->relative)) {
		buf_adds(b, ", ");
		diff_amount_change(b, a);
	}
	if (a->is_tested) {
		buf_addc(b, ' ');
		diff_amount_interval(b, a);
		buf_printf(b, ", %s, p %s", diff_amount_verdict(a),
			   a->adjusted < 0.001 ? "" : "= ");
		diff_amount_p(b, a);
	}
}

static void put_headline(const struct diff_totals *t, struct buf *b)
{
	put_names(t, b);
	if (t->of_machine)
		buf_printf(b, "iterations of %s s now, %s s before%s", DECIMAL(t->seconds[IS], 3),
			   DECIMAL(t->seconds[WAS], 3),
			   t->are_rates ? "; amounts per second are compared" : "");
	else if (t->are_rates)
		buf_printf(b,
			   "measured for %s s now, %s s before; did not reach its end: amounts per "
			   "second are compared",
			   DECIMAL(t->seconds[IS], 3), DECIMAL(t->seconds[WAS], 3));
	else if (t->nr_shown && t->amounts[0].is_primary)
		put_wall(&t->amounts[0], b);
	else
		buf_adds(b, "its wall time is not known");
	if (t->nr_shown)
		add_replicates(t, b, &t->amounts[0]);
	buf_addc(b, '\n');
	if (!t->are_rates && (t->nr_cut[IS] || t->nr_cut[WAS]))
		buf_printf(b, "%s are ignored: %zu now, %zu before\n",
			   t->of_machine ? "Iterations that were cut short"
					 : "Runs that did not reach their end",
			   t->nr_cut[IS], t->nr_cut[WAS]);
	if (t->nr_failed[IS] || t->nr_failed[WAS])
		buf_printf(b, "Runs that failed: %zu of %zu now, %zu of %zu before\n",
			   t->nr_failed[IS], t->nr_runs[IS], t->nr_failed[WAS], t->nr_runs[WAS]);
}

static const struct amount *find_amount(const struct diff_totals *t, const char *name)
{
	for (size_t i = 0; i < t->nr_shown; i++)
		if (strcmp(t->shown[i].name, name) == 0)
			return &t->amounts[i];
	return NULL;
}

static void put_cause(const struct diff_totals *t)
{
	const struct amount *cpu_time = find_amount(t, "cpu_time"),
			    *queue = find_amount(t, "run_queue_time");

	if (!cpu_time || !queue || t->are_rates || !t->amounts[0].is_primary ||
	    !diff_amount_is_of_queue(&t->amounts[0], cpu_time, queue))
		return;
	buf_printf(&t->j->output->text,
		   "Threads waited %s longer for a CPU: if for other programs, the sessions say "
		   "little; cpuperf --versus runs both in turns\n",
		   HUMAN(queue->mean[IS] - queue->mean[WAS], "ns"));
}

static void put_amount(const struct diff_totals *t, struct grid *g, size_t i)
{
	const struct total *total = &t->shown[i];

	grid_row(g);
	grid_text(g, total->name);
	diff_amount_put(g, &t->amounts[i], total->unit, t->are_rates && !total->is_latency);
}

int diff_totals_print(struct diff_totals *t, struct err *e)
{
	static const struct grid_column columns[] = {
	    {"total", NULL, NULL, GRID_TEXT, GRID_ALL},
	    DIFF_AMOUNT_COLUMNS,
	};
	size_t first = t->nr_shown && t->amounts[0].is_primary, nr_tested = 0;
	struct grid *g;
	size_t start;

	start = t->j->output->text.len;
	put_headline(t, &t->j->output->text);
	put_cause(t);
	reports_wrap(t->j, start);
	for (size_t i = first; i < t->nr_shown; i++)
		nr_tested += t->amounts[i].is_tested;
	if (first == t->nr_shown)
		return 0;
	g = reports_grid(t->j, columns, sizeof(columns) / sizeof(columns[0]));
	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = first; i < t->nr_shown; i++)
		put_amount(t, g, i);
	if (nr_tested > 1) {
		char line[NUMBERS_BYTES];

		snprintf(line, sizeof(line), "p is corrected for these %zu totals (Holm)%s",
			 nr_tested, t->of_machine ? "" : "; the wall time is tested alone");
		grid_line(g, line);
	}
	if (t->nr_shown && t->shown[t->nr_shown - 1].is_latency)
		grid_line(g, "Quantiles are of the replicates with enough latencies for an "
			     "interval; the longest (max) is not judged.");
	if (t->functions.nr_left)
		grid_line(g, "Of functions the ten with the most time are compared.");
	if (nr_tested && t->of_machine && t->by_iteration)
		grid_line(g, "Iterations do not show what varies from run to run: name several "
			     "sessions per side to cover that.");
	return reports_end(t->j, g, 0, e);
}
