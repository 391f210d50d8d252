/*
 * A session, or those of a job, as a database, with the tables of schemas/sqlite.md: the spec, the
 * counts of each iteration, points over time, and each sample with its stack. Rows go straight into
 * the file: memory grows with stacks, tasks and things of one session, and with functions.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/cause.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "counts/functions.h"
#include "counts/latency.h"
#include "counts/tally.h"
#include "exports/exports.h"
#include "exports/functions.h"
#include "exports/lanes.h"
#include "exports/lines.h"
#include "exports/rows.h"
#include "exports/sqlite/file.h"
#include "exports/sqlite/regions.h"
#include "exports/sqlite/schema.h"
#include "profile/processes.h"
#include "profile/regions.h"
#include "region_notes.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "report/weights.h"
#include "samples.h"
#include "screen/latency.h"
#include "sizes.h"
#include "spec/spec.h"
#include "tables.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NUMBERED = 16 << 20, VALUE_BYTES = 4096 };

/* A numbered key: a thing of an event, or a task with a name. */
struct numbered {
	uint32_t a, b, c, d, e;
};

/* How many numbers are taken. */
struct numbers {
	uint64_t things, tasks, objects, stacks, regions, latencies, functions;
};

/* The file, and what its sessions share. */
struct whole {
	struct sqlite_file *file;
	struct numbers before; /* of the sessions before */
	struct dict comms;     /* uint32_t: numbers of texts that are in the table */
};

/* A session in it. */
struct database {
	struct whole *whole;
	const struct export_lane *lane;
	struct job *j; /* of the lane */
	const struct input *opened;
	struct sqlite_file *file;
	struct dict thing, task; /* struct numbered */
	struct report_stacks *stacks;
	struct report_weights *weights; /* owned; by event */
	struct profile_about about;
	int error; /* of latencies and functions */
	struct err *e;
};

/* Sets *out to the key's number. 1: it is new; 0: it exists; -ENOMEM; -EFBIG. */
static int number(struct dict *d, const void *key, uint32_t *out)
{
	size_t before = d->nr;

	*out = dict_add(d, key);
	if (*out == DICT_NONE)
		return before == MAX_NUMBERED ? -EFBIG : -ENOMEM;
	return d->nr > before;
}

/* --- the session ----------------------------------------------------------------------------- */

static void put_session(struct database *d)
{
	const struct profile_facts *f = d->opened->facts;
	const struct trace_info none = {.tool = NULL}, *info = f->info ? f->info : &none;
	const struct clock_triple *clocks = &d->about.clocks;
	char session[33], boot[33];

	str_hex16(f->head.session_id, session);
	str_hex16(f->head.boot_id, boot);
	SQLITE_PUT(d->file, SQLITE_SESSION, sqlite_text(session), sqlite_text(boot),
		   sqlite_text(f->head.host), sqlite_text(f->head.machine),
		   sqlite_text(info->kernel), sqlite_text(info->cpu_model), sqlite_text(info->tool),
		   sqlite_text(d->opened->config_name), sqlite_text(info->spec_json),
		   sqlite_u64(f->is_sampling),
		   sqlite_maybe(d->about.start_ns != 0, d->about.start_ns),
		   sqlite_maybe(d->about.has_clocks, clocks->realtime_ns - clocks->monotonic_ns));
}

/* Of host.json. */
static struct sqlite_cell text_or_null(const char *text)
{
	return *text ? sqlite_text(text) : sqlite_none();
}

static struct sqlite_cell number_of(int64_t v)
{
	return v == HOSTS_ABSENT ? sqlite_none() : sqlite_i64(v);
}

/* The last column, the time at which the job began, is set by sqlite_schema_views. */
static void put_host(struct sqlite_file *f, uint32_t number, const char *host,
		     const struct hosts_part *p)
{
	SQLITE_PUT(f, SQLITE_HOSTS, sqlite_u64(number), sqlite_text(host), number_of(p->rank),
		   text_or_null(p->node), text_or_null(p->job), text_or_null(p->step),
		   sqlite_text(hosts_status_name(p->status)), text_or_null(p->reason),
		   number_of(p->exit_status), number_of(p->clock_offset_ns),
		   number_of(p->clock_error_ns), sqlite_none());
}

/* What is damaged there is named, and all else is in the database. */
static void put_own_host(struct database *d, uint32_t number)
{
	const struct input *o = d->opened;
	struct hosts_part part;
	struct err problem = {0};

	if (o->part) {
		part = *o->part;
	} else if (export_rows_part(o, &part, &problem)) {
		problems_add(&d->j->output->problems, true, &problem);
		hosts_part_init(&part);
	}
	put_host(d->file, number, *part.host ? part.host : o->facts->head.host, &part);
}

/* Of a job: those without a session have a row in one table only. */
static void put_failed(struct sqlite_file *f, const struct job *j)
{
	const struct hosts_list *list = &j->inputs->jobs[job_input(j)->job].list;
	uint32_t number = (uint32_t)j->nr;

	for (size_t i = 0; i < list->nr; i++) {
		const struct hosts_part *p = &list->entry[i].part;

		if (p->status == HOSTS_FAILED && parts_is_selected(j->selection, p->host, p->rank))
			put_host(f, ++number, p->host, p);
	}
}

/* A row for each is written with the first session: all have the same events. */
static void put_events(struct database *d, const struct table *t)
{
	char unit[COUNTS_SERIES_UNIT_BYTES];

	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct table_column *c = &t->columns[i];
		const struct trace_event *ev = c->metric ? NULL : &d->opened->facts->events[i];
		const struct sqlite_cell state =
		    sqlite_text(ev ? reading_state_name(ev->state) : NULL);

		SQLITE_PUT(d->file, SQLITE_HOST_EVENTS, sqlite_u64(i), state,
			   sqlite_text(c->reason));
		if (d->lane->number > 1)
			continue;
		SQLITE_PUT(
		    d->file, SQLITE_EVENTS, sqlite_u64(i), sqlite_text(c->group),
		    sqlite_text(c->name), sqlite_text(c->label), sqlite_text(c->unit),
		    sqlite_text(table_kind_name(c)), sqlite_text(export_rows_scope(c)),
		    sqlite_real(c->scale > 0 ? c->scale : 1),
		    sqlite_maybe(ev && ev->rate, ev ? ev->rate : 0),
		    sqlite_maybe(ev && ev->frequency, ev ? ev->frequency : 0),
		    sqlite_maybe(ev, ev ? ev->flags : 0), sqlite_text(ev ? ev->source : NULL),
		    sqlite_text(ev ? ev->description : NULL), state, sqlite_text(c->reason),
		    sqlite_text(counts_series_unit(&(struct counts_series_point){.of = c}, unit)));
	}
}

/* --- counts ---------------------------------------------------------------------------------- */

static struct sqlite_cell value_of(const struct table_column *c, const struct cell *cell)
{
	if (!cell_has_value(cell))
		return sqlite_none();
	return cell->is_real || cell->is_metric || c->kind == EVENT_SHARE ? sqlite_real(cell->value)
									  : sqlite_u64(cell->count);
}

static struct sqlite_cell raw_of(const struct table_column *c, const struct cell *cell)
{
	return sqlite_maybe(export_rows_has_raw(c, cell), cell->raw);
}

static struct sqlite_cell base_of(const struct table_column *c, const struct cell *cell)
{
	return sqlite_maybe(export_rows_has_base(c, cell), cell->base);
}

/* A CPU, pid, tid or thread. */
static struct sqlite_cell known(uint32_t number)
{
	return sqlite_maybe(number != TRACE_UNKNOWN, number);
}

/* Where a number of a table belongs: cells of a row. */
struct place {
	struct sqlite_cell trace, cpu; /* none: a total */
	struct sqlite_cell thing;      /* its number, or none */
};

static struct place place_of(const struct table *t, size_t column, size_t row)
{
	return (struct place){.trace = sqlite_u64(t->row_trace[row]),
			      .cpu = table_is_of_cpu(&t->columns[column]) ? known(t->row_cpu[row])
									  : sqlite_none()};
}

static void put_count(struct database *d, const struct table *t, size_t column,
		      const struct cell *cell, struct place at)
{
	const struct table_column *c = &t->columns[column];
	char state[CELL_STATE_BYTES];

	if (cell->state != CELL_NONE)
		SQLITE_PUT(d->file, SQLITE_COUNTS, sqlite_u64(t->iteration), at.trace, at.cpu,
			   sqlite_u64(column), at.thing, sqlite_text(cell_state_text(cell, state)),
			   value_of(c, cell), raw_of(c, cell), base_of(c, cell),
			   sqlite_maybe(cell->is_perf, cell->enabled_ns),
			   sqlite_maybe(cell->is_perf, cell->running_ns),
			   sqlite_maybe(cell->span_ns != 0, cell->span_ns));
}

static void put_sampled(struct database *d, const struct table *t, size_t column,
			const struct sampled *s, struct place at)
{
	uint64_t expected;

	if (!s || s->claim == SAMPLED_NONE)
		return;
	expected = sampled_nr_expected(&t->columns[column].sampling, s);
	SQLITE_PUT(d->file, SQLITE_SAMPLED, sqlite_u64(t->iteration), at.trace, at.cpu,
		   sqlite_u64(column), sqlite_u64(s->n.samples), sqlite_u64(s->n.idle),
		   sqlite_u64(s->n.weight), sqlite_maybe(s->n.lost != SAMPLED_UNKNOWN, s->n.lost),
		   sqlite_u64(s->n.throttled),
		   sqlite_maybe(s->claim == SAMPLED_COMPARED && expected, expected),
		   s->has_residual ? sqlite_i64(s->residual) : sqlite_none());
}

static void put_row(struct database *d, const struct table *t, size_t row)
{
	const struct table_sampling none = {.idle_ns = UINT64_MAX},
				    *s = t->row_sampling ? &t->row_sampling[row] : &none;

	SQLITE_PUT(d->file, SQLITE_TRACES, sqlite_u64(t->iteration), sqlite_u64(t->row_trace[row]),
		   known(t->row_cpu[row]), sqlite_maybe(s->ring_bytes != 0, s->ring_bytes),
		   sqlite_maybe(s->idle_ns != UINT64_MAX, s->idle_ns), sqlite_u64(s->lost),
		   sqlite_u64(s->ticks), sqlite_u64(s->ticks_missed));
	for (size_t i = 0; i < t->nr_columns; i++) {
		if (table_is_in_total(t, row, i))
			continue;
		put_count(d, t, i, table_cell(t, row, i), place_of(t, i, row));
		put_sampled(d, t, i, table_sampled(t, row, i), place_of(t, i, row));
	}
}

/* The thing's number in the database. Its row is written at its first use. */
static int number_thing(struct database *d, size_t event, uint32_t of_event, const char *name,
			uint64_t *out)
{
	uint32_t place;
	const struct numbered key = {(uint32_t)event, of_event, hash_bytes(0, name, strlen(name)),
				     0, 0};
	int rc = number(&d->thing, &key, &place);

	if (rc < 0)
		return rc;
	*out = d->whole->before.things + place;
	if (rc)
		SQLITE_PUT(d->file, SQLITE_THINGS, sqlite_u64(*out), sqlite_u64(event),
			   sqlite_u64(of_event), sqlite_text(name));
	return 0;
}

static int put_iteration(struct database *d, const struct table *t)
{
	const struct place total = {.trace = sqlite_none()};
	const uint32_t divisor = export_rows_divisor(t);
	int rc = 0;

	SQLITE_PUT(d->file, SQLITE_ITERATIONS, sqlite_u64(t->iteration), sqlite_u64(t->start_ns),
		   sqlite_maybe(t->end_ns != 0, t->end_ns),
		   sqlite_maybe(t->realtime_ns != 0, t->realtime_ns), sqlite_u64(t->is_cut),
		   sqlite_text(cause_name(t->cause)), sqlite_u64(t->gap_ns),
		   sqlite_maybe(divisor, divisor));
	for (size_t row = 0; row < t->nr_rows; row++)
		put_row(d, t, row);
	for (size_t i = 0; i < t->nr_columns; i++) {
		if (!table_has_total(t, i))
			continue;
		put_count(d, t, i, &t->totals[i], total);
		put_sampled(d, t, i, t->sampled ? &t->sampled_totals[i] : NULL, total);
	}
	for (size_t k = 0; k < t->nr_things && rc == 0; k++) {
		const struct table_thing *thing = &t->things[k];
		uint64_t of;

		rc = number_thing(d, thing->column, thing->number, thing->name, &of);
		if (rc == 0)
			put_count(d, t, thing->column, &thing->cell,
				  (struct place){.thing = sqlite_u64(of)});
	}
	return rc ?: sqlite_file_error(d->file, d->e);
}

static void put_window(struct database *d, const struct profile_trace *trace)
{
	static const char *const clocks[] = {
	    [SPEC_REALTIME] = "realtime", [SPEC_PROCESS_CPUTIME] = "process_cputime"};
	const struct trace_window *w = trace->window;

	SQLITE_PUT(d->file, SQLITE_WINDOWS, sqlite_u64(trace->head.iteration),
		   sqlite_maybe(w->window != TRACE_NO_WINDOW, w->window), sqlite_u64(w->cycle),
		   sqlite_text(w->clock < ARRAY_NR(clocks) ? clocks[w->clock] : NULL),
		   sqlite_u64(w->gap_ns), sqlite_u64(w->start_late_ns), sqlite_u64(w->end_late_ns),
		   sqlite_u64(w->clock_ns));
}

static void put_held(struct database *d, const struct profile_trace *trace)
{
	const struct trace_held *h = &trace->sampling->held;

	SQLITE_PUT(d->file, SQLITE_HELD, sqlite_u64(trace->head.iteration),
		   sqlite_u64(trace->head.trace), known(trace->head.cpu), sqlite_u64(h->wanted_ns),
		   sqlite_u64(h->from_ns), sqlite_u64(h->to_ns), sqlite_u64(h->paused),
		   sqlite_u64(h->is_full), sqlite_text(*h->trigger ? h->trigger : NULL));
}

static void put_latency(struct database *d, uint32_t iteration, const struct latencies_row *row)
{
	const struct histogram *h = row->histogram;
	struct sqlite_cell quantiles[SCREEN_LATENCY_NR];
	uint64_t number = d->whole->before.latencies++;

	for (size_t i = 0; i < SCREEN_LATENCY_NR; i++)
		quantiles[i] =
		    sqlite_real(histogram_quantile(h, screen_latency_quantiles[i].quantile).ns);
	_Static_assert(SCREEN_LATENCY_NR == 4, "a column for each");
	SQLITE_PUT(d->file, SQLITE_LATENCIES, sqlite_u64(number), sqlite_u64(iteration),
		   sqlite_u64(row->event), sqlite_text(row->part), sqlite_text(row->what),
		   sqlite_u64(h->count), sqlite_u64(h->sum_ns), sqlite_u64(h->max_ns), quantiles[0],
		   quantiles[1], quantiles[2], quantiles[3]);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (h->bucket[i])
			SQLITE_PUT(d->file, SQLITE_BUCKETS, sqlite_u64(number),
				   sqlite_u64(histogram_low(i)), sqlite_u64(histogram_low(i + 1)),
				   sqlite_u64(h->bucket[i]));
}

/* One row for each part (system call, disk …) of the iteration: histograms of one part are added
 * up. */
static int put_latencies(struct database *d, const struct profile_trace *trace)
{
	struct latencies l = {0};
	int rc = 0;

	for (size_t i = 0; i < trace->nr_histograms && rc == 0; i++)
		rc = counts_latency_add_one(&l, &trace->histograms[i]);
	for (uint32_t i = 0; i < l.rows.nr && rc == 0; i++)
		put_latency(d, trace->head.iteration, dict_at(&l.rows, i));
	latencies_fini(&l);
	return rc;
}

static void put_function(struct database *d, uint32_t iteration, const struct counts_functions *l,
			 const struct counts_function *f)
{
	const bool has = f->has_times, has_mean = has && f->timed;
	struct sqlite_cell quantiles[EXPORT_NR_QUANTILES];
	uint64_t number = d->whole->before.functions++;
	double ns[EXPORT_NR_QUANTILES];
	char name[ELF_MAX_NAME_BYTES];

	export_function_quantiles(f, ns);
	for (size_t i = 0; i < EXPORT_NR_QUANTILES; i++)
		quantiles[i] = isfinite(ns[i]) ? sqlite_real(ns[i]) : sqlite_none();
	_Static_assert(EXPORT_NR_QUANTILES == 4, "a column for each");
	elf_demangle(counts_function_name(l, f), name);
	SQLITE_PUT(d->file, SQLITE_FUNCTION_CALLS, sqlite_u64(number), sqlite_u64(iteration),
		   sqlite_u64(f->event), sqlite_text(name), sqlite_text(counts_function_name(l, f)),
		   sqlite_text(counts_function_object(l, f)), sqlite_u64(f->address),
		   sqlite_text(counts_function_way(f)), sqlite_u64(f->calls), sqlite_u64(f->timed),
		   sqlite_maybe(has, f->wall_ns), sqlite_maybe(has, f->self_ns),
		   sqlite_maybe(f->has_cpu, f->cpu_ns), sqlite_maybe(has_mean, f->max_ns),
		   sqlite_maybe(f->cost_ns, f->cost_ns), quantiles[0], quantiles[1], quantiles[2],
		   quantiles[3]);
	for (size_t i = 0; i < f->nr; i++)
		SQLITE_PUT(d->file, SQLITE_FUNCTION_CALL_BUCKETS, sqlite_u64(number),
			   sqlite_u64(histogram_low(f->bucket[i].number)),
			   sqlite_u64(histogram_low(f->bucket[i].number + 1)),
			   sqlite_u64(f->bucket[i].count));
}

static int put_function_calls(struct database *d, const struct profile_trace *trace)
{
	struct counts_functions l = {.nr_skipped = 0};
	int rc = export_add_functions(&l, trace);

	for (uint32_t i = 0; i < l.rows.nr && rc == 0; i++)
		put_function(d, trace->head.iteration, &l, counts_functions_at(&l, i));
	counts_functions_fini(&l);
	return rc;
}

static struct sqlite_cell end_of(const struct counts_value *v, uint64_t n)
{
	if (!counts_value_is_number(v))
		return sqlite_none();
	return v->type == TRACE_VALUE_SIGNED ? sqlite_i64((int64_t)n) : sqlite_u64(n);
}

/* arg: the database. */
static void put_value(void *arg, uint32_t iteration, const struct counts_values *l,
		      const struct counts_value *v)
{
	const struct database *d = arg;
	const bool is_text = v->kind == TRACE_VALUE_TEXT || v->kind == TRACE_VALUE_LONG_TEXT;
	const bool is_number = counts_value_is_number(v);
	char name[ELF_MAX_NAME_BYTES];
	BUF_AUTO(text, VALUE_BYTES);
	uint64_t low, high;

	counts_value_ends(v, &low, &high);
	counts_value_put(l, v, &text);
	elf_demangle(counts_value_text(l, v->name), name);
	SQLITE_PUT(d->file, SQLITE_FUNCTION_VALUES, sqlite_u64(iteration), sqlite_u64(v->event),
		   sqlite_text(name), sqlite_text(counts_value_text(l, v->name)),
		   sqlite_text(counts_value_text(l, v->object)), sqlite_u64(v->address),
		   sqlite_text(counts_value_text(l, v->field_name)),
		   sqlite_text(counts_value_kind(v)), sqlite_text(counts_value_type(v)),
		   is_text || is_number ? sqlite_text(buf_str(&text)) : sqlite_none(),
		   end_of(v, low), end_of(v, high), sqlite_u64(v->calls), sqlite_u64(v->timed),
		   sqlite_maybe(v->timed, v->wall_ns), sqlite_maybe(v->timed, v->max_ns),
		   !is_number                        ? sqlite_none()
		   : v->type == TRACE_VALUE_UNSIGNED ? sqlite_u64(v->sum)
						     : sqlite_i64((int64_t)v->sum));
}

static void put_heap_sizes(struct database *d, const struct profile_trace *trace)
{
	struct sizes_sums s = {.of = {{0}}};

	sizes_add(&s, trace);
	for (uint32_t i = 0; i < SIZES_NR_CLASSES; i++) {
		struct sqlite_cell cell[SIZES_NR_PARTS];

		for (size_t k = 0; k < SIZES_NR_PARTS; k++)
			cell[k] = sqlite_maybe(s.has_part[k], s.of[k][i]);
		if (sizes_has_class(&s, i))
			SQLITE_PUT(d->file, SQLITE_HEAP_SIZES, sqlite_u64(trace->head.iteration),
				   sqlite_u64(sizes_low(i)), sqlite_u64(sizes_high(i)),
				   cell[SIZES_CALLS], cell[SIZES_BYTES], cell[SIZES_LIVE_CALLS],
				   cell[SIZES_LIVE_BYTES]);
	}
}

static void add_trace(void *arg, const struct profile_trace *trace)
{
	struct database *d = arg;

	profile_about_add(&d->about, trace);
	d->error = d->error
		       ?: put_latencies(d, trace)
		       ?: put_function_calls(d, trace)
		       ?: export_each_value(trace, put_value, d);
	put_heap_sizes(d, trace);
	if (trace->window && trace->head.trace == 0)
		put_window(d, trace);
	if (trace->sampling && trace->sampling->held.wanted_ns)
		put_held(d, trace);
	for (size_t i = 0; i < trace->nr_notes; i++)
		SQLITE_PUT(d->file, SQLITE_NOTES, sqlite_u64(trace->head.iteration),
			   sqlite_u64(trace->head.trace), sqlite_text(trace->notes[i]));
}

static int put_counts(struct database *d)
{
	struct tables tables;
	int rc = tables_open(&tables, d->j, d->opened, d->e), got = 1;

	if (rc == 0) {
		tables.on_trace = add_trace;
		tables.arg = d;
		put_events(d, tables.t);
	}
	while (rc == 0 && (got = tables_next(&tables, d->e)) == 1)
		rc = put_iteration(d, tables.t);
	tables_close(&tables);
	return got < 0 ? got : rc ?: d->error;
}

/* --- series ---------------------------------------------------------------------------------- */

static int put_point(void *arg, const struct counts_series_point *p)
{
	struct database *d = arg;
	const bool has_times = p->cell->is_perf && !p->of->metric;
	char state[CELL_STATE_BYTES];
	uint64_t thing = 0;
	double value = 0;
	bool has_value = counts_series_value(p, &value);
	int rc =
	    p->thing ? number_thing(d, p->column, p->thing->number, p->thing->name, &thing) : 0;

	if (rc)
		return rc;
	SQLITE_PUT(d->file, SQLITE_SERIES, sqlite_u64(p->column), sqlite_u64(p->iteration),
		   known(p->cpu), sqlite_maybe(p->thing != NULL, thing),
		   sqlite_text(p->is_samples ? "samples" : table_kind_name(p->of)),
		   sqlite_u64(p->end_ns), sqlite_maybe(p->cell->span_ns != 0, p->cell->span_ns),
		   sqlite_text(cell_state_text(p->cell, state)),
		   has_value ? sqlite_real(value) : sqlite_none(), raw_of(p->of, p->cell),
		   base_of(p->of, p->cell), sqlite_maybe(has_times, p->cell->enabled_ns),
		   sqlite_maybe(has_times, p->cell->running_ns),
		   sqlite_maybe(p->is_samples, p->weight));
	return sqlite_file_error(d->file, d->e);
}

/* --- samples --------------------------------------------------------------------------------- */

static struct sqlite_cell stack_of(const struct database *d, uint32_t stack)
{
	return sqlite_maybe(stack != REPORT_NO_STACK, d->whole->before.stacks + stack);
}

static int add_sample(struct database *d, const struct report_sample *s)
{
	const struct numbered key = {s->key.pid, s->key.tid, s->key.comm, s->key.cmdline,
				     s->key.thread};
	uint32_t task;
	int rc = number(&d->task, &key, &task);

	if (rc < 0)
		return rc;
	SQLITE_PUT(d->file, SQLITE_SAMPLES, sqlite_u64(s->time_ns), sqlite_u64(s->key.event),
		   sqlite_u64(s->key.iteration), known(s->key.cpu),
		   sqlite_u64(d->whole->before.tasks + task), sqlite_u64(s->weight),
		   stack_of(d, s->stack),
		   sqlite_maybe(s->region, d->whole->before.regions + s->region),
		   sqlite_u64(report_sample_nr(s)));
	return sqlite_file_error(d->file, d->e)
		   ?: report_weights_add(&d->weights[s->key.event], s->stack, report_sample_nr(s),
					 s->weight);
}

static int add_samples(void *arg, const struct report_sample *samples, size_t nr)
{
	return ARRAY_RUN(i, nr, add_sample(arg, &samples[i]));
}

/* NULL: not known. */
static struct sqlite_cell cmdline_of(const struct database *d, uint32_t number)
{
	const char *text = samples_cmdline(d->j, number);

	return text ? sqlite_text(text) : sqlite_none();
}

static int put_tasks(struct database *d)
{
	const struct numbered *task = d->task.items;
	uint32_t at;
	int rc = 0;

	for (size_t i = 0; i < d->task.nr && rc >= 0; i++) {
		rc = number(&d->whole->comms, &task[i].c, &at);
		if (rc == 1)
			SQLITE_PUT(
			    d->file, SQLITE_COMMS, sqlite_u64(task[i].c),
			    sqlite_text(report_functions_text(d->j->inputs->functions, task[i].c)));
		SQLITE_PUT(d->file, SQLITE_TASKS, sqlite_u64(d->whole->before.tasks + i),
			   known(task[i].a), known(task[i].b), sqlite_u64(task[i].c),
			   cmdline_of(d, task[i].d), known(task[i].e));
	}
	return rc < 0 ? rc : 0;
}

static void put_objects(struct database *d)
{
	const struct profile_processes *p = d->opened->processes;

	for (uint32_t i = 0; i < profile_nr_objects(p); i++) {
		const struct profile_object *o = profile_object(p, i);
		char build_id[EXPORT_ROWS_BUILD_ID_BYTES];

		SQLITE_PUT(d->file, SQLITE_OBJECTS,
			   sqlite_u64(d->whole->before.objects + o->number), sqlite_text(o->name),
			   sqlite_text(o->shown_path), sqlite_text(export_rows_object_kind(o)),
			   sqlite_text(export_rows_build_id(o, build_id)));
	}
}

/* The last column, the object, is set by sqlite_schema_views. */
static void put_functions(struct sqlite_file *file, const struct report_functions *functions)
{
	for (uint32_t i = 0; functions && i < report_functions_nr(functions); i++) {
		const struct report_function *f = report_functions_at(functions, i);

		SQLITE_PUT(file, SQLITE_FUNCTIONS, sqlite_u64(f->number), sqlite_text(f->name),
			   sqlite_text(f->object), sqlite_u64(f->is_kernel),
			   sqlite_u64(f->is_known), sqlite_none());
	}
}

static int put_stacks(struct database *d)
{
	bool *is_recursive =
	    report_weights_recursive(d->stacks, report_functions_nr(d->j->inputs->functions));

	if (!is_recursive)
		return -ENOMEM;
	for (uint32_t i = 1; i < report_stacks_nr(d->stacks); i++) {
		const struct report_stack_node *n = report_stacks_at(d->stacks, i);

		SQLITE_PUT(d->file, SQLITE_STACKS, stack_of(d, i), stack_of(d, n->parent),
			   sqlite_u64(n->depth), sqlite_u64(n->frame.function->number),
			   sqlite_text(n->frame.file),
			   sqlite_maybe(n->frame.file != NULL, n->frame.line),
			   sqlite_u64(is_recursive[i]));
	}
	mem_free(is_recursive);
	return sqlite_file_error(d->file, d->e);
}

static int put_weights(struct database *d)
{
	int rc = 0;

	for (size_t event = 0; event < d->opened->facts->nr_events && rc == 0; event++) {
		struct report_weights *w = &d->weights[event];

		if (!w->room)
			continue;
		rc = report_weights_add_up(w, d->stacks);
		for (uint32_t i = 1; i < report_stacks_nr(d->stacks) && rc == 0; i++)
			if (report_stack_weight_is_any(&w->total[i]))
				SQLITE_PUT(d->file, SQLITE_WEIGHTS, sqlite_u64(event),
					   stack_of(d, i), sqlite_u64(w->self[i].samples),
					   sqlite_u64(w->self[i].weight),
					   sqlite_u64(w->total[i].samples),
					   sqlite_u64(w->total[i].weight));
	}
	return rc ?: sqlite_file_error(d->file, d->e);
}

/* --- losses ---------------------------------------------------------------------------------- */

static void put_loss(void *arg, const char *what, uint32_t event, uint64_t nr)
{
	struct database *d = arg;

	SQLITE_PUT(d->file, SQLITE_LOSSES, sqlite_text(what),
		   sqlite_maybe(event != EXPORT_ROWS_NO_EVENT, event), sqlite_u64(nr));
}

static void put_unread(void *arg, const char *line)
{
	put_loss(arg, line, EXPORT_ROWS_NO_EVENT, 1);
}

static int put_samples(struct database *d)
{
	struct report_sink sink = {.parts = REPORT_BY_ITERATION | REPORT_BY_CPU | REPORT_BY_PID |
					    REPORT_BY_TID | REPORT_BY_COMM | REPORT_BY_CMDLINE |
					    REPORT_BY_STACK,
				   .samples = add_samples,
				   .arg = d};
	struct report_stats stats = {.nr_events = 0};
	int rc = 0;

	if (d->j->selection->with_lines)
		sink.parts |= REPORT_BY_LINE;
	sink.stacks = d->stacks = report_stacks_new();
	d->weights = mem_calloc(d->opened->facts->nr_events + 1, sizeof(*d->weights));
	if (!d->stacks || !d->weights)
		rc = -ENOMEM;
	rc = rc ?: samples_read(d->j, d->j->first, 1, &sink, &stats, d->e) ?: put_tasks(d);
	if (rc == 0) {
		put_objects(d);
		export_rows_losses(d->j, &stats, d->stacks, put_loss, d);
		export_rows_warn_full(d->j, d->stacks);
		rc = put_stacks(d);
	}
	if (rc == 0)
		rc = put_weights(d);
	report_stats_fini(&stats);
	return rc;
}

/* --- a session ------------------------------------------------------------------------------- */

/* The next session's numbers are beyond those of this one. */
static void take_numbers(struct database *d)
{
	struct numbers *n = &d->whole->before;
	const struct profile_processes *p = d->opened->processes;

	n->things += d->thing.nr;
	n->tasks += d->task.nr;
	n->objects += p ? profile_nr_objects(p) : 0;
	n->stacks += d->stacks ? report_stacks_nr(d->stacks) : 0;
	n->regions += p ? profile_nr_regions(p) : 0;
}

static int fill(struct database *d)
{
	int rc = profile_about_init(&d->about, d->opened->facts->nr_events) ?:
		 put_counts(d) ?:
		 tables_series(d->j, d->opened, put_point, d, d->e);

	if (rc == 0 && d->opened->facts->is_sampling)
		rc = put_samples(d);
	if (rc == 0 && input_has_common(d->opened))
		rc = sqlite_put_regions(d->file, d->j, d->opened, d->whole->before.regions, d->e);
	if (rc == 0) {
		put_session(d);
		region_notes(d->j, put_unread, d);
		take_numbers(d);
	}
	return rc ?: sqlite_file_error(d->file, d->e);
}

static int put_lane(void *arg, struct export_lane *lane, struct err *e)
{
	struct whole *w = arg;
	const uint32_t number = lane->number ? lane->number : 1;
	struct database d = {.whole = w,
			     .lane = lane,
			     .j = &lane->j,
			     .opened = job_input(&lane->j),
			     .file = w->file,
			     .e = e};
	int rc;

	dict_init(&d.thing, sizeof(struct numbered), sizeof(struct numbered), MAX_NUMBERED);
	dict_init(&d.task, sizeof(struct numbered), sizeof(struct numbered), MAX_NUMBERED);
	sqlite_file_set_host(w->file, number);
	put_own_host(&d, number);
	rc = fill(&d);
	if (rc && !e->code)
		err_set(e, rc, "cannot be exported: %s", strerror(-rc));
	report_stacks_free(d.stacks);
	for (size_t i = 0; i < d.opened->facts->nr_events && d.weights; i++)
		report_weights_fini(&d.weights[i]);
	mem_free(d.weights);
	profile_about_fini(&d.about);
	dict_fini(&d.thing);
	dict_fini(&d.task);
	return rc;
}

/* --- the file -------------------------------------------------------------------------------- */

static void put_unread_part(void *arg, const char *line)
{
	SQLITE_PUT(arg, SQLITE_LOSSES, sqlite_text(line), sqlite_none(), sqlite_u64(1));
}

static int make(struct whole *w, struct job *j, struct err *e)
{
	int rc;

	sqlite_file_run(w->file, sqlite_schema_tables);
	rc = sqlite_file_error(w->file, e) ?: export_lanes(j, put_lane, w, e);
	if (rc)
		return rc;
	put_functions(w->file, j->inputs->functions);
	if (job_input(j)->part)
		put_failed(w->file, j);
	if (j->nr > 1)
		sqlite_file_set_host(w->file, 0);
	export_loss_lines(j, put_unread_part, w->file);
	sqlite_file_run(w->file, sqlite_schema_views);
	return sqlite_file_write(w->file, j, e);
}

int export_sqlite(struct job *j, struct err *e)
{
	struct whole w = {.file = NULL};
	int rc = sqlite_file_open(&w.file, e);

	dict_init(&w.comms, sizeof(uint32_t), sizeof(uint32_t), MAX_NUMBERED);
	rc = rc ?: make(&w, j, e);
	sqlite_file_close(w.file);
	dict_fini(&w.comms);
	return rc;
}
