/*
 * A session as a database, with the tables of schemas/sqlite.md: the spec, the counts of each
 * iteration, points over time, and each sample with its stack. Rows go straight into the file:
 * memory grows with stacks, functions, tasks and things only.
 */
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "counts/series.h"
#include "counts/tally.h"
#include "exports/exports.h"
#include "exports/lines.h"
#include "exports/sqlite/file.h"
#include "exports/sqlite/schema.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "report/weights.h"
#include "samples.h"
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLICE_NS = 100000000, MAX_NUMBERED = 16 << 20, BUILD_ID_BYTES = 2 * 20 + 1 };

/* A numbered key: a thing of an event, or a task with a name. */
struct numbered {
	uint32_t a, b, c;
};

struct database {
	struct job *j;
	const struct input *opened;
	struct sqlite_file *file;
	struct sqlite_rows iterations, traces, notes, things, counts, sampled, series, samples,
	    losses;
	struct dict thing, task; /* struct numbered */
	struct report_stacks *stacks;
	bool *has_comm;                 /* owned, while comms are written */
	struct report_weights *weights; /* owned; by event */
	struct profile_about about;
	struct err *e;
};

/* Sets *out to the key's number. 1: it is new; 0: it exists; -ENOMEM; -EFBIG. */
static int number(struct dict *d, const struct numbered *key, uint32_t *out)
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
	struct sqlite_rows r;
	char session[33], boot[33];

	str_hex16(f->head.session_id, session);
	str_hex16(f->head.boot_id, boot);
	sqlite_rows_open(&r, d->file, "session", 12);
	sqlite_text(&r, session);
	sqlite_text(&r, boot);
	sqlite_text(&r, f->head.host);
	sqlite_text(&r, f->head.machine);
	sqlite_text(&r, info->kernel);
	sqlite_text(&r, info->cpu_model);
	sqlite_text(&r, info->tool);
	sqlite_text(&r, d->opened->config_name);
	sqlite_text(&r, info->spec_json);
	sqlite_u64(&r, f->is_sampling);
	sqlite_maybe(&r, d->about.start_ns != 0, d->about.start_ns);
	sqlite_maybe(&r, d->about.has_clocks,
		     d->about.clocks.realtime_ns - d->about.clocks.monotonic_ns);
	sqlite_row_end(&r);
	sqlite_rows_close(&r);
}

static const char *kind_of(const struct table_column *c)
{
	if (c->metric)
		return "metric";
	return c->kind == EVENT_VALUE ? "value" : c->kind == EVENT_SHARE ? "share" : "count";
}

static const char *scope_of(const struct table_column *c)
{
	static const char *const names[] = {[EVENT_SCOPE_CPU] = "cpu",
					    [EVENT_SCOPE_SYSTEM] = "system",
					    [EVENT_SCOPE_PACKAGE] = "package",
					    [EVENT_SCOPE_THINGS] = "each"};

	return c->scope >= EVENT_SCOPE_CPU && c->scope <= EVENT_SCOPE_THINGS && !c->metric
		   ? names[c->scope]
		   : NULL;
}

/* ev NULL: a metric. */
static void put_event(struct sqlite_rows *r, size_t i, const struct table_column *c,
		      const struct trace_event *ev)
{
	const struct counts_series_point point = {.of = c};
	char unit[COUNTS_SERIES_UNIT_BYTES];

	sqlite_u64(r, i);
	sqlite_text(r, c->group);
	sqlite_text(r, c->name);
	sqlite_text(r, c->label);
	sqlite_text(r, c->unit);
	sqlite_text(r, kind_of(c));
	sqlite_text(r, scope_of(c));
	sqlite_real(r, c->scale > 0 ? c->scale : 1);
	sqlite_maybe(r, ev && ev->rate, ev ? ev->rate : 0);
	sqlite_maybe(r, ev && ev->frequency, ev ? ev->frequency : 0);
	sqlite_maybe(r, ev, ev ? ev->flags : 0);
	sqlite_text(r, ev ? ev->source : NULL);
	sqlite_text(r, ev ? ev->description : NULL);
	sqlite_text(r, ev ? reading_state_name(ev->state) : NULL);
	sqlite_text(r, c->reason);
	sqlite_text(r, counts_series_unit(&point, unit));
	sqlite_row_end(r);
}

static void put_events(struct database *d, const struct table *t)
{
	struct sqlite_rows r;

	sqlite_rows_open(&r, d->file, "events", 16);
	for (size_t i = 0; i < t->nr_columns; i++)
		put_event(&r, i, &t->columns[i],
			  i < t->nr_events ? &d->opened->facts->events[i] : NULL);
	sqlite_rows_close(&r);
}

/* --- counts ---------------------------------------------------------------------------------- */

static void put_value(struct sqlite_rows *r, const struct table_column *c, const struct cell *cell)
{
	if (!cell_has_value(cell))
		sqlite_none(r);
	else if (cell->is_real || cell->is_metric || c->kind == EVENT_SHARE)
		sqlite_real(r, cell->value);
	else
		sqlite_u64(r, cell->count);
}

static void put_raw(struct sqlite_rows *r, const struct table_column *c, const struct cell *cell)
{
	bool holds = cell_has_value(cell) && !c->metric;

	sqlite_maybe(r, holds, cell->raw);
	sqlite_maybe(r, holds && c->kind == EVENT_SHARE, cell->base);
}

static void put_times(struct sqlite_rows *r, const struct cell *cell, bool holds)
{
	sqlite_maybe(r, holds, cell->enabled_ns);
	sqlite_maybe(r, holds, cell->running_ns);
}

/* The place of a cell: a trace or the total; the number of a thing, or none. */
struct place {
	bool has_trace, has_thing;
	size_t row;
	uint32_t thing;
};

static uint32_t cpu_of(const struct table *t, const struct table_column *c, const struct place *p)
{
	return p->has_trace && table_is_of_cpu(c) ? t->row_cpu[p->row] : TABLE_ALL_CPUS;
}

static void put_cpu(struct sqlite_rows *r, uint32_t cpu)
{
	sqlite_maybe(r, cpu != TABLE_ALL_CPUS, cpu);
}

static void put_count(struct database *d, const struct table *t, size_t column,
		      const struct cell *cell, const struct place *p)
{
	const struct table_column *c = &t->columns[column];
	struct sqlite_rows *r = &d->counts;
	char state[CELL_STATE_BYTES];

	if (cell->state == CELL_NONE)
		return;
	sqlite_u64(r, t->iteration);
	sqlite_maybe(r, p->has_trace, p->has_trace ? t->row_trace[p->row] : 0);
	put_cpu(r, cpu_of(t, c, p));
	sqlite_u64(r, column);
	sqlite_maybe(r, p->has_thing, p->thing);
	sqlite_text(r, cell_state_text(cell, state));
	put_value(r, c, cell);
	put_raw(r, c, cell);
	put_times(r, cell, cell->is_perf);
	sqlite_maybe(r, cell->span_ns != 0, cell->span_ns);
	sqlite_row_end(r);
}

static void put_sampled(struct database *d, const struct table *t, size_t column,
			const struct sampled *s, const struct place *p)
{
	struct sqlite_rows *r = &d->sampled;
	uint64_t expected;

	if (!s || s->claim == SAMPLED_NONE)
		return;
	expected = sampled_nr_expected(&t->columns[column].sampling, s);
	sqlite_u64(r, t->iteration);
	sqlite_maybe(r, p->has_trace, p->has_trace ? t->row_trace[p->row] : 0);
	put_cpu(r, cpu_of(t, &t->columns[column], p));
	sqlite_u64(r, column);
	sqlite_u64(r, s->n.samples);
	sqlite_u64(r, s->n.idle);
	sqlite_u64(r, s->n.weight);
	sqlite_maybe(r, s->n.lost != SAMPLED_UNKNOWN, s->n.lost);
	sqlite_u64(r, s->n.throttled);
	sqlite_maybe(r, s->claim == SAMPLED_COMPARED && expected, expected);
	if (s->has_residual)
		sqlite_i64(r, s->residual);
	else
		sqlite_none(r);
	sqlite_row_end(r);
}

static void put_row(struct database *d, const struct table *t, size_t row)
{
	const struct place p = {.has_trace = true, .row = row};
	const struct table_sampling none = {.idle_ns = UINT64_MAX},
				    *s = t->row_sampling ? &t->row_sampling[row] : &none;
	struct sqlite_rows *r = &d->traces;

	sqlite_u64(r, t->iteration);
	sqlite_u64(r, t->row_trace[row]);
	put_cpu(r, t->row_cpu[row]);
	sqlite_maybe(r, s->ring_bytes != 0, s->ring_bytes);
	sqlite_maybe(r, s->idle_ns != UINT64_MAX, s->idle_ns);
	sqlite_u64(r, s->lost);
	sqlite_u64(r, s->ticks);
	sqlite_u64(r, s->ticks_missed);
	sqlite_row_end(r);
	for (size_t i = 0; i < t->nr_columns; i++)
		put_count(d, t, i, table_cell(t, row, i), &p);
	for (size_t i = 0; i < t->nr_events; i++)
		put_sampled(d, t, i, table_sampled(t, row, i), &p);
}

static void put_total(struct database *d, const struct table *t, size_t column)
{
	const struct place p = {.has_trace = false};

	put_count(d, t, column, &t->totals[column], &p);
	put_sampled(d, t, column, t->sampled ? &t->sampled_totals[column] : NULL, &p);
}

/* The thing's number in the database. Its row is written at its first use. */
static int number_thing(struct database *d, size_t event, uint32_t of_event, const char *name,
			uint32_t *out)
{
	const struct numbered key = {(uint32_t)event, of_event, hash_bytes(0, name, strlen(name))};
	int rc = number(&d->thing, &key, out);

	if (rc != 1)
		return rc;
	sqlite_u64(&d->things, *out);
	sqlite_u64(&d->things, event);
	sqlite_u64(&d->things, of_event);
	sqlite_text(&d->things, name);
	sqlite_row_end(&d->things);
	return 0;
}

static int put_iteration(struct database *d, const struct table *t)
{
	struct sqlite_rows *r = &d->iterations;
	int rc = 0;

	sqlite_u64(r, t->iteration);
	sqlite_u64(r, t->start_ns);
	sqlite_maybe(r, t->end_ns != 0, t->end_ns);
	sqlite_maybe(r, t->realtime_ns != 0, t->realtime_ns);
	sqlite_u64(r, t->is_cut);
	sqlite_row_end(r);
	for (size_t row = 0; row < t->nr_rows; row++)
		put_row(d, t, row);
	for (size_t i = 0; i < t->nr_columns; i++)
		if (table_has_total(t, i))
			put_total(d, t, i);
	for (size_t k = 0; k < t->nr_things && rc == 0; k++) {
		const struct table_thing *thing = &t->things[k];
		struct place p = {.has_thing = true};

		rc = number_thing(d, thing->column, thing->number, thing->name, &p.thing);
		if (rc == 0)
			put_count(d, t, thing->column, &thing->cell, &p);
	}
	return rc ? rc : sqlite_file_error(d->file, d->e);
}

static void take_trace(void *arg, const struct profile_trace *trace)
{
	struct database *d = arg;

	profile_about_add(&d->about, trace);
	for (size_t i = 0; i < trace->nr_notes; i++) {
		sqlite_u64(&d->notes, trace->head.iteration);
		sqlite_u64(&d->notes, trace->head.trace);
		sqlite_text(&d->notes, trace->notes[i]);
		sqlite_row_end(&d->notes);
	}
}

static int put_counts(struct database *d)
{
	struct tables tables;
	int rc = tables_open(&tables, d->j, d->opened, d->e), got = 1;

	if (rc == 0) {
		tables.on_trace = take_trace;
		tables.arg = d;
		put_events(d, tables.t);
	}
	while (rc == 0 && (got = tables_next(&tables, d->e)) == 1)
		rc = put_iteration(d, tables.t);
	tables_close(&tables);
	return got < 0 ? got : rc;
}

/* --- series ---------------------------------------------------------------------------------- */

static int take_point(void *arg, const struct counts_series_point *p)
{
	struct database *d = arg;
	struct sqlite_rows *r = &d->series;
	char state[CELL_STATE_BYTES];
	uint32_t thing = 0;
	double value;
	int rc = 0;

	if (p->thing)
		rc = number_thing(d, p->column, p->thing->number, p->thing->name, &thing);
	if (rc)
		return rc;
	sqlite_u64(r, p->column);
	sqlite_u64(r, p->iteration);
	put_cpu(r, p->cpu);
	sqlite_maybe(r, p->thing != NULL, thing);
	sqlite_text(r, p->is_samples ? "samples" : kind_of(p->of));
	sqlite_u64(r, p->end_ns);
	sqlite_maybe(r, p->cell->span_ns != 0, p->cell->span_ns);
	sqlite_text(r, cell_state_text(p->cell, state));
	if (counts_series_value(p, &value))
		sqlite_real(r, value);
	else
		sqlite_none(r);
	put_raw(r, p->of, p->cell);
	put_times(r, p->cell, p->cell->is_perf && !p->of->metric);
	sqlite_maybe(r, p->is_samples, p->weight);
	sqlite_row_end(r);
	return sqlite_file_error(d->file, d->e);
}

static int put_series(struct database *d)
{
	const struct counts_series_config config = {.session = d->opened->session,
						    .metrics = &d->opened->spec.metric_set,
						    .filter = &d->j->selection->filter,
						    .slice_ns = SLICE_NS,
						    .has_totals = true,
						    .point = take_point,
						    .arg = d};

	return counts_series(&config, d->e);
}

/* --- samples --------------------------------------------------------------------------------- */

static int take_sample(struct database *d, const struct report_sample *s)
{
	const struct numbered key = {s->key.pid, s->key.tid, s->key.comm};
	struct sqlite_rows *r = &d->samples;
	uint32_t task;
	int rc = number(&d->task, &key, &task);

	if (rc < 0)
		return rc;
	sqlite_u64(r, s->time_ns);
	sqlite_u64(r, s->key.event);
	sqlite_u64(r, s->key.iteration);
	put_cpu(r, s->key.cpu);
	sqlite_u64(r, task);
	sqlite_u64(r, s->weight);
	sqlite_maybe(r, s->stack != REPORT_NO_STACK, s->stack);
	sqlite_row_end(r);
	rc = sqlite_file_error(d->file, d->e);
	return rc ? rc : report_weights_add(&d->weights[s->key.event], s->stack, s->weight);
}

static int take_samples(void *arg, const struct report_sample *samples, size_t nr)
{
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = take_sample(arg, &samples[i]);
	return rc;
}

static void put_comm(struct database *d, struct sqlite_rows *r, uint32_t comm)
{
	if (d->has_comm[comm])
		return;
	d->has_comm[comm] = true;
	sqlite_u64(r, comm);
	sqlite_text(r, report_functions_text(d->j->inputs->functions, comm));
	sqlite_row_end(r);
}

static int put_tasks(struct database *d)
{
	struct sqlite_rows tasks, comms;
	const struct numbered *task = d->task.items;
	uint32_t last = 0;

	for (size_t i = 0; i < d->task.nr; i++)
		last = task[i].c > last ? task[i].c : last;
	d->has_comm = mem_calloc((size_t)last + 1, sizeof(*d->has_comm));
	if (!d->has_comm)
		return -ENOMEM;
	sqlite_rows_open(&tasks, d->file, "tasks", 4);
	sqlite_rows_open(&comms, d->file, "comms", 2);
	for (size_t i = 0; i < d->task.nr; i++) {
		put_comm(d, &comms, task[i].c);
		sqlite_u64(&tasks, i);
		sqlite_u64(&tasks, task[i].a);
		sqlite_u64(&tasks, task[i].b);
		sqlite_u64(&tasks, task[i].c);
		sqlite_row_end(&tasks);
	}
	sqlite_rows_close(&tasks);
	sqlite_rows_close(&comms);
	return 0;
}

static void put_objects(struct database *d)
{
	static const char *const kinds[] = {[PROFILE_OBJECT_FILE] = "file",
					    [PROFILE_OBJECT_ANON] = "memory",
					    [PROFILE_OBJECT_VDSO] = "vdso"};
	const struct profile_processes *p = d->opened->processes;
	struct sqlite_rows r;

	sqlite_rows_open(&r, d->file, "objects", 5);
	for (uint32_t i = 0; i < profile_nr_objects(p); i++) {
		const struct profile_object *o = profile_object(p, i);
		char build_id[BUILD_ID_BYTES] = "";

		for (unsigned k = 0; k < o->build_id_len; k++)
			snprintf(build_id + 2 * k, 3, "%02x", o->build_id[k]);
		sqlite_u64(&r, o->number);
		sqlite_text(&r, o->name);
		sqlite_text(&r, o->shown_path);
		sqlite_text(&r, kinds[o->kind]);
		sqlite_text(&r, o->build_id_len ? build_id : NULL);
		sqlite_row_end(&r);
	}
	sqlite_rows_close(&r);
}

static void put_functions(struct database *d)
{
	struct sqlite_rows r;

	sqlite_rows_open(&r, d->file, "functions", 6);
	for (uint32_t i = 0; i < report_functions_nr(d->j->inputs->functions); i++) {
		const struct report_function *f = report_functions_at(d->j->inputs->functions, i);

		sqlite_u64(&r, f->number);
		sqlite_text(&r, f->name);
		sqlite_text(&r, f->object);
		sqlite_u64(&r, f->is_kernel);
		sqlite_u64(&r, f->is_known);
		sqlite_none(&r); /* the object; set at the end to the one of that name */
		sqlite_row_end(&r);
	}
	sqlite_rows_close(&r);
}

static int put_stacks(struct database *d)
{
	bool *is_recursive =
	    report_weights_recursive(d->stacks, report_functions_nr(d->j->inputs->functions));
	struct sqlite_rows r;

	if (!is_recursive)
		return -ENOMEM;
	sqlite_rows_open(&r, d->file, "stacks", 7);
	for (uint32_t i = 1; i < report_stacks_nr(d->stacks); i++) {
		const struct report_stack_node *n = report_stacks_at(d->stacks, i);

		sqlite_u64(&r, i);
		sqlite_maybe(&r, n->parent != REPORT_NO_STACK, n->parent);
		sqlite_u64(&r, n->depth);
		sqlite_u64(&r, n->frame.function->number);
		sqlite_text(&r, n->frame.file);
		sqlite_maybe(&r, n->frame.file != NULL, n->frame.line);
		sqlite_u64(&r, is_recursive[i]);
		sqlite_row_end(&r);
	}
	sqlite_rows_close(&r);
	mem_free(is_recursive);
	return sqlite_file_error(d->file, d->e);
}

static void put_event_weights(struct database *d, struct sqlite_rows *r, size_t event)
{
	const struct report_weights *w = &d->weights[event];

	for (uint32_t i = 1; i < report_stacks_nr(d->stacks); i++) {
		if (!w->total[i].samples)
			continue;
		sqlite_u64(r, event);
		sqlite_u64(r, i);
		sqlite_u64(r, w->self[i].samples);
		sqlite_u64(r, w->self[i].weight);
		sqlite_u64(r, w->total[i].samples);
		sqlite_u64(r, w->total[i].weight);
		sqlite_row_end(r);
	}
}

static int put_weights(struct database *d)
{
	struct sqlite_rows r;
	int rc = 0;

	sqlite_rows_open(&r, d->file, "weights", 6);
	for (size_t i = 0; i < d->opened->facts->nr_events && rc == 0; i++) {
		if (!d->weights[i].room)
			continue;
		rc = report_weights_add_up(&d->weights[i], d->stacks);
		if (rc == 0)
			put_event_weights(d, &r, i);
	}
	sqlite_rows_close(&r);
	return rc ? rc : sqlite_file_error(d->file, d->e);
}

/* --- losses ---------------------------------------------------------------------------------- */

static void put_loss(struct database *d, const char *what, bool has_event, size_t event,
		     uint64_t nr)
{
	if (!nr)
		return;
	sqlite_text(&d->losses, what);
	sqlite_maybe(&d->losses, has_event, event);
	sqlite_u64(&d->losses, nr);
	sqlite_row_end(&d->losses);
}

static void put_program(struct database *d, const struct report_program *p)
{
	const char *comm = report_functions_text(d->j->inputs->functions, p->comm);
	char what[256];

	for (enum report_end end = REPORT_END_WHOLE + 1; end < REPORT_NR_ENDS; end++) {
		snprintf(what, sizeof(what), "incomplete stacks of %s: %s", comm,
			 report_end_name(end));
		put_loss(d, what, false, 0, p->nr[end]);
	}
}

static void put_losses(struct database *d, const struct report_stats *stats)
{
	for (size_t i = 0; i < stats->nr_events; i++) {
		const struct report_event_stats *s = &stats->event[i];
		const struct trace_event *ev = &d->opened->facts->events[i];
		const struct sampled_event sampling =
		    sampled_event(ev->group, ev->name, ev->rate, ev->frequency, ev->flags);

		put_loss(d, "samples omitted", true, i, s->left.samples);
		put_loss(d, "samples missing", true, i,
			 s->is_short ? sampled_nr_missing(&sampling, &s->sampled) : 0);
		put_loss(d, "pauses by the kernel", true, i, s->sampled.n.throttled);
	}
	put_loss(d, "records lost", false, 0, stats->nr_lost);
	for (uint32_t i = 0; i < stats->programs.nr; i++)
		put_program(d, dict_at(&stats->programs, i));
	put_loss(d, "too many stacks: the rest are truncated", false, 0,
		 report_stacks_is_full(d->stacks));
}

static void put_unread(void *arg, const char *line)
{
	put_loss(arg, line, false, 0, 1);
}

static void warn_full(struct database *d)
{
	struct err problem = {0};

	if (!report_stacks_is_full(d->stacks))
		return;
	err_set(&problem, -EFBIG, "more than %d stacks: the rest are truncated", REPORT_MAX_STACKS);
	problems_add(&d->j->output->problems, false, &problem);
}

static int put_samples(struct database *d)
{
	struct report_sink sink = {.parts = REPORT_BY_ITERATION | REPORT_BY_CPU | REPORT_BY_PID |
					    REPORT_BY_TID | REPORT_BY_COMM | REPORT_BY_STACK,
				   .samples = take_samples,
				   .arg = d};
	struct report_stats stats = {.nr_events = 0};
	int rc = 0;

	if (d->j->selection->with_lines)
		sink.parts |= REPORT_BY_LINE;
	sink.stacks = d->stacks = report_stacks_new();
	d->weights = mem_calloc(d->opened->facts->nr_events + 1, sizeof(*d->weights));
	if (!d->stacks || !d->weights)
		rc = -ENOMEM;
	if (rc == 0)
		rc = samples_read(d->j, d->j->first, 1, &sink, &stats, d->e);
	if (rc == 0)
		rc = put_tasks(d);
	if (rc == 0) {
		put_objects(d);
		put_functions(d);
		put_losses(d, &stats);
		warn_full(d);
		rc = put_stacks(d);
	}
	if (rc == 0)
		rc = put_weights(d);
	report_stats_fini(&stats);
	return rc;
}

/* --- the file -------------------------------------------------------------------------------- */

/* Tables whose rows are written alternately. */
static const struct {
	const char *name;
	unsigned nr_columns;
	size_t offset;
} tables_of_rows[] = {
    {"iterations", 5, offsetof(struct database, iterations)},
    {"traces", 8, offsetof(struct database, traces)},
    {"notes", 3, offsetof(struct database, notes)},
    {"things", 4, offsetof(struct database, things)},
    {"counts", 12, offsetof(struct database, counts)},
    {"sampled", 11, offsetof(struct database, sampled)},
    {"series", 14, offsetof(struct database, series)},
    {"samples", 7, offsetof(struct database, samples)},
    {"losses", 3, offsetof(struct database, losses)},
};
enum { NR_TABLES = sizeof(tables_of_rows) / sizeof(tables_of_rows[0]) };

static struct sqlite_rows *rows_of(struct database *d, size_t i)
{
	return (struct sqlite_rows *)(void *)((char *)d + tables_of_rows[i].offset);
}

static void close_rows(struct database *d)
{
	for (size_t i = 0; i < NR_TABLES; i++)
		sqlite_rows_close(rows_of(d, i));
}

static int fill(struct database *d)
{
	int rc;

	for (size_t i = 0; i < NR_TABLES; i++)
		sqlite_rows_open(rows_of(d, i), d->file, tables_of_rows[i].name,
				 tables_of_rows[i].nr_columns);
	rc = sqlite_file_error(d->file, d->e);
	if (rc == 0)
		rc = profile_about_init(&d->about, d->opened->facts->nr_events);
	if (rc == 0)
		rc = put_counts(d);
	if (rc == 0)
		rc = put_series(d);
	if (rc == 0 && d->opened->facts->is_sampling)
		rc = put_samples(d);
	if (rc == 0) {
		put_session(d);
		export_unread_lines(d->j, put_unread, d);
	}
	close_rows(d);
	return rc ? rc : sqlite_file_error(d->file, d->e);
}

static int make(struct database *d)
{
	int rc;

	sqlite_file_run(d->file, sqlite_schema_tables);
	rc = sqlite_file_error(d->file, d->e);
	if (rc == 0)
		rc = fill(d);
	if (rc == 0) {
		sqlite_file_run(d->file, sqlite_schema_views);
		rc = sqlite_file_write(d->file, d->j, d->e);
	}
	return rc;
}

int export_sqlite(struct job *j, struct err *e)
{
	struct database d = {.j = j, .opened = job_input(j), .e = e};
	int rc = sqlite_file_open(&d.file, e);

	dict_init(&d.thing, sizeof(struct numbered), sizeof(struct numbered), MAX_NUMBERED);
	dict_init(&d.task, sizeof(struct numbered), sizeof(struct numbered), MAX_NUMBERED);
	if (rc == 0)
		rc = make(&d);
	if (rc && !e->code)
		err_set(e, rc, "cannot be exported: %s", strerror(-rc));
	sqlite_file_close(d.file);
	report_stacks_free(d.stacks);
	for (size_t i = 0; i < d.opened->facts->nr_events && d.weights; i++)
		report_weights_fini(&d.weights[i]);
	mem_free(d.weights);
	profile_about_fini(&d.about);
	dict_fini(&d.thing);
	dict_fini(&d.task);
	mem_free(d.has_comm);
	return rc;
}
