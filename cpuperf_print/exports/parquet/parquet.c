/*
 * Adds a session to a store, with the tables of schemas/store.md: facts, the counts of each
 * iteration, each sample, and what they add up to. Rows go straight into the files: memory grows
 * with stacks, functions and regions only.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/cause.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "counts/functions.h"
#include "counts/latency.h"
#include "exports/exports.h"
#include "exports/functions.h"
#include "exports/lines.h"
#include "exports/parquet/facts.h"
#include "exports/parquet/store.h"
#include "exports/regions.h"
#include "exports/rows.h"
#include "options.h"
#include "profile/processes.h"
#include "profile/regions.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "report/states.h"
#include "report/weights.h"
#include "samples.h"
#include "screen/latency.h"
#include "tables.h"
#include "trace/record.h"

#include <errno.h>
#include <string.h>

enum { MAX_STACK_TEXT_BYTES = PARQUET_TEXT_BYTES, MAX_REGION_BYTES = 64 << 10, VALUE_BYTES = 4096 };

struct addition {
	struct job *j;
	const struct input *opened;
	struct store *store;
	struct profile_about about;
	struct report_stacks *stacks;
	struct report_weights *weights; /* owned; by event */
	char **regions;                 /* owned; paths by number, made when they are used */
	uint64_t nr_latencies, nr_functions;
	int error; /* of latencies and functions */
	struct err *e;
};

/* Of a session without the realtime clock: since its machine's boot. */
static struct parquet_cell time_of(const struct addition *a, uint64_t monotonic_ns)
{
	uint64_t realtime_ns = profile_about_realtime(&a->about, monotonic_ns);

	return parquet_u64(realtime_ns ? realtime_ns : monotonic_ns);
}

static struct parquet_cell maybe_time(const struct addition *a, uint64_t monotonic_ns)
{
	return monotonic_ns ? time_of(a, monotonic_ns) : parquet_none();
}

/* A CPU, pid or tid. */
static struct parquet_cell known(uint32_t number)
{
	return parquet_maybe(number != TRACE_UNKNOWN, number);
}

/* --- counts ---------------------------------------------------------------------------------- */

static void put_events(struct addition *a, const struct table *t)
{
	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct table_column *c = &t->columns[i];
		const struct trace_event *ev = c->metric ? NULL : &a->opened->facts->events[i];

		STORE_PUT(a->store, STORE_EVENTS, parquet_text(c->label), parquet_text(c->group),
			  parquet_text(c->name), parquet_text(c->unit),
			  parquet_text(table_kind_name(c)), parquet_text(export_rows_scope(c)),
			  parquet_real(c->scale > 0 ? c->scale : 1),
			  parquet_maybe(ev && ev->rate, ev ? ev->rate : 0),
			  parquet_maybe(ev && ev->frequency, ev ? ev->frequency : 0),
			  parquet_text(ev ? ev->source : NULL),
			  parquet_text(ev ? reading_state_name(ev->state) : NULL),
			  parquet_text(c->reason));
	}
}

/* What a number of a table is of. */
struct place {
	struct parquet_cell cpu;
	const struct table_thing *thing; /* or NULL */
	bool is_total;
};

static void put_count(struct addition *a, const struct table *t, size_t column,
		      const struct cell *cell, struct place at)
{
	const struct table_column *c = &t->columns[column];
	char state[CELL_STATE_BYTES];

	if (cell->state == CELL_NONE)
		return;
	STORE_PUT(a->store, STORE_COUNTS, time_of(a, t->end_ns ? t->end_ns : t->start_ns),
		  parquet_u64(t->iteration), at.cpu, parquet_text(c->label),
		  parquet_text(at.thing ? at.thing->name : NULL),
		  parquet_maybe(at.thing, at.thing ? at.thing->number : 0),
		  parquet_bool(at.is_total), parquet_text(c->unit),
		  parquet_text(cell_state_text(cell, state)),
		  cell_has_value(cell) ? parquet_real(cell->value) : parquet_none(),
		  parquet_maybe(export_rows_has_raw(c, cell), cell->raw),
		  parquet_maybe(export_rows_has_base(c, cell), cell->base),
		  parquet_maybe(cell->is_perf, cell->enabled_ns),
		  parquet_maybe(cell->is_perf, cell->running_ns),
		  parquet_maybe(cell->span_ns != 0, cell->span_ns));
}

static void put_row(struct addition *a, const struct table *t, size_t row)
{
	for (size_t i = 0; i < t->nr_columns; i++) {
		bool is_of_cpu = table_is_of_cpu(&t->columns[i]);

		if (!table_is_in_total(t, row, i))
			put_count(a, t, i, table_cell(t, row, i),
				  (struct place){.cpu = is_of_cpu ? known(t->row_cpu[row])
								  : parquet_none(),
						 .is_total = !is_of_cpu});
	}
}

static int put_iteration(struct addition *a, const struct table *t)
{
	const uint32_t divisor = export_rows_divisor(t);

	STORE_PUT(a->store, STORE_ITERATIONS, parquet_u64(t->iteration), time_of(a, t->start_ns),
		  maybe_time(a, t->end_ns), parquet_bool(t->is_cut),
		  parquet_text(cause_name(t->cause)), parquet_u64(t->gap_ns),
		  parquet_maybe(divisor, divisor));
	for (size_t row = 0; row < t->nr_rows; row++)
		put_row(a, t, row);
	for (size_t i = 0; i < t->nr_columns; i++)
		if (table_has_total(t, i))
			put_count(a, t, i, &t->totals[i], (struct place){.is_total = true});
	for (size_t k = 0; k < t->nr_things; k++)
		put_count(a, t, t->things[k].column, &t->things[k].cell,
			  (struct place){.thing = &t->things[k]});
	return store_error(a->store, a->e);
}

static void put_latency(struct addition *a, uint32_t iteration, const struct latencies_row *row)
{
	const struct histogram *h = row->histogram;
	struct parquet_cell quantiles[SCREEN_LATENCY_NR];
	uint64_t number = a->nr_latencies++;

	for (size_t i = 0; i < SCREEN_LATENCY_NR; i++)
		quantiles[i] =
		    parquet_real(histogram_quantile(h, screen_latency_quantiles[i].quantile).ns);
	_Static_assert(SCREEN_LATENCY_NR == 4, "a column for each");
	STORE_PUT(a->store, STORE_LATENCIES, parquet_u64(number), parquet_u64(iteration),
		  parquet_text(a->opened->facts->events[row->event].label), parquet_text(row->part),
		  parquet_text(row->what), parquet_u64(h->count), parquet_u64(h->sum_ns),
		  parquet_u64(h->max_ns), quantiles[0], quantiles[1], quantiles[2], quantiles[3]);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (h->bucket[i])
			STORE_PUT(a->store, STORE_LATENCY_BUCKETS, parquet_u64(number),
				  parquet_u64(histogram_low(i)), parquet_u64(histogram_low(i + 1)),
				  parquet_u64(h->bucket[i]));
}

static struct parquet_cell maybe(bool holds, uint64_t n)
{
	return holds ? parquet_u64(n) : parquet_none();
}

static void put_function(struct addition *a, uint32_t iteration, const struct counts_functions *l,
			 const struct counts_function *f)
{
	const bool has = f->has_times, has_mean = has && f->timed;
	struct parquet_cell quantiles[EXPORT_NR_QUANTILES];
	uint64_t number = a->nr_functions++;
	double ns[EXPORT_NR_QUANTILES];
	char name[ELF_MAX_NAME_BYTES];

	export_function_quantiles(f, ns);
	for (size_t i = 0; i < EXPORT_NR_QUANTILES; i++)
		quantiles[i] = isfinite(ns[i]) ? parquet_real(ns[i]) : parquet_none();
	_Static_assert(EXPORT_NR_QUANTILES == 4, "a column for each");
	elf_demangle(counts_function_name(l, f), name);
	STORE_PUT(
	    a->store, STORE_FUNCTION_CALLS, parquet_u64(number), parquet_u64(iteration),
	    parquet_text(a->opened->facts->events[f->event].label), parquet_text(name),
	    parquet_text(counts_function_name(l, f)), parquet_text(counts_function_object(l, f)),
	    parquet_u64(f->address), parquet_text(counts_function_way(f)), parquet_u64(f->calls),
	    parquet_u64(f->timed), maybe(has, f->wall_ns), maybe(has, f->self_ns),
	    maybe(f->has_cpu, f->cpu_ns), maybe(has_mean, f->max_ns), maybe(f->cost_ns, f->cost_ns),
	    quantiles[0], quantiles[1], quantiles[2], quantiles[3]);
	for (size_t i = 0; i < f->nr; i++)
		STORE_PUT(a->store, STORE_FUNCTION_CALL_BUCKETS, parquet_u64(number),
			  parquet_u64(histogram_low(f->bucket[i].number)),
			  parquet_u64(histogram_low(f->bucket[i].number + 1)),
			  parquet_u64(f->bucket[i].count));
}

static int put_functions(struct addition *a, const struct profile_trace *trace)
{
	struct counts_functions l = {.nr_skipped = 0};
	int rc = export_add_functions(&l, trace);

	for (uint32_t i = 0; i < l.rows.nr && rc == 0; i++)
		put_function(a, trace->head.iteration, &l, counts_functions_at(&l, i));
	counts_functions_fini(&l);
	return rc;
}

static struct parquet_cell real_of(const struct counts_value *v, uint64_t n)
{
	if (!counts_value_is_number(v))
		return parquet_none();
	return parquet_real(v->type == TRACE_VALUE_UNSIGNED ? (double)n : (double)(int64_t)n);
}

/* arg: the addition. */
static void put_value(void *arg, uint32_t iteration, const struct counts_values *l,
		      const struct counts_value *v)
{
	const struct addition *a = arg;
	const bool is_text = v->kind == TRACE_VALUE_TEXT || v->kind == TRACE_VALUE_LONG_TEXT;
	char name[ELF_MAX_NAME_BYTES];
	BUF_AUTO(text, VALUE_BYTES);
	uint64_t low, high;

	counts_value_ends(v, &low, &high);
	counts_value_put(l, v, &text);
	elf_demangle(counts_value_text(l, v->name), name);
	STORE_PUT(a->store, STORE_FUNCTION_VALUES, parquet_u64(iteration),
		  parquet_text(a->opened->facts->events[v->event].label), parquet_text(name),
		  parquet_text(counts_value_text(l, v->name)),
		  parquet_text(counts_value_text(l, v->object)), parquet_u64(v->address),
		  parquet_text(counts_value_text(l, v->field_name)),
		  parquet_text(counts_value_kind(v)), parquet_text(counts_value_type(v)),
		  is_text || counts_value_is_number(v) ? parquet_text(buf_str(&text))
						       : parquet_none(),
		  real_of(v, low), real_of(v, high), parquet_u64(v->calls), parquet_u64(v->timed),
		  maybe(v->timed, v->wall_ns), maybe(v->timed, v->max_ns), real_of(v, v->sum));
}

static void add_trace(void *arg, const struct profile_trace *trace)
{
	struct addition *a = arg;
	struct latencies l = {0};

	for (size_t i = 0; i < trace->nr_histograms && !a->error; i++)
		a->error = counts_latency_add_one(&l, &trace->histograms[i]);
	for (uint32_t i = 0; i < l.rows.nr && !a->error; i++)
		put_latency(a, trace->head.iteration, dict_at(&l.rows, i));
	latencies_fini(&l);
	a->error = a->error ?: put_functions(a, trace) ?: export_each_value(trace, put_value, a);
	for (size_t i = 0; i < trace->nr_notes; i++)
		STORE_PUT(a->store, STORE_NOTES, parquet_u64(trace->head.iteration),
			  parquet_u64(trace->head.trace), parquet_text(trace->notes[i]));
}

static int put_counts(struct addition *a)
{
	struct tables tables;
	int rc = tables_open(&tables, a->j, a->opened, a->e), got = 1;

	if (rc == 0) {
		tables.on_trace = add_trace;
		tables.arg = a;
		put_events(a, tables.t);
	}
	while (rc == 0 && (got = tables_next(&tables, a->e)) == 1)
		rc = put_iteration(a, tables.t);
	tables_close(&tables);
	return got < 0 ? got : rc ?: a->error;
}

/* --- samples --------------------------------------------------------------------------------- */

/* The path of a region; NULL: in none, or no memory, which is an error of the addition. */
static const char *region_of(struct addition *a, uint32_t number)
{
	BUF_AUTO(path, MAX_REGION_BYTES);

	if (!number)
		return NULL;
	if (!a->regions)
		a->regions = mem_calloc(profile_nr_regions(a->opened->processes), sizeof(char *));
	if (a->regions && !a->regions[number]) {
		profile_region_text(a->opened->processes, number, &path);
		a->regions[number] = buf_error(&path) ? NULL : mem_strdup(buf_str(&path));
	}
	if (!a->regions || !a->regions[number])
		a->error = -ENOMEM;
	return a->error ? NULL : a->regions[number];
}

static int add_sample(struct addition *a, const struct report_sample *s)
{
	const struct profile_facts *facts = a->opened->facts;
	const struct report_function *f =
	    s->stack != REPORT_NO_STACK ? report_stacks_at(a->stacks, s->stack)->frame.function
					: NULL;
	enum report_state state =
	    report_states_of(facts, job_filter(a->j, a->opened), s->key.event);

	STORE_PUT(a->store, STORE_SAMPLES, time_of(a, s->time_ns), parquet_u64(s->key.iteration),
		  parquet_text(facts->events[s->key.event].label),
		  parquet_text(state != REPORT_NO_STATE ? report_state_names[state] : NULL),
		  known(s->key.cpu), known(s->key.pid), known(s->key.tid),
		  parquet_text(report_functions_text(a->j->inputs->functions, s->key.comm)),
		  parquet_u64(report_sample_nr(s)), parquet_u64(s->weight),
		  parquet_maybe(f, s->stack), parquet_text(f ? f->name : NULL),
		  parquet_text(f ? f->object : NULL), parquet_text(region_of(a, s->region)));
	return store_error(a->store, a->e) ?:
	       a->error ?:
	       report_weights_add(&a->weights[s->key.event], s->stack, report_sample_nr(s), s->weight);
}

static int add_samples(void *arg, const struct report_sample *samples, size_t nr)
{
	return ARRAY_RUN(i, nr, add_sample(arg, &samples[i]));
}

static void put_objects(struct addition *a)
{
	for (uint32_t i = 0; i < profile_nr_objects(a->opened->processes); i++) {
		const struct profile_object *o = profile_object(a->opened->processes, i);
		char build_id[EXPORT_ROWS_BUILD_ID_BYTES];

		STORE_PUT(a->store, STORE_OBJECTS, parquet_text(o->name),
			  parquet_text(o->shown_path), parquet_text(export_rows_object_kind(o)),
			  parquet_text(export_rows_build_id(o, build_id)));
	}
}

/* A semicolon would end the frame. */
static void add_frame(struct buf *b, const char *name)
{
	if (b->len)
		buf_addc(b, ';');
	for (; *name; name++)
		buf_addc(b, *name == ';' ? ':' : *name);
}

/* The outermost function first. chain has room for the frames. */
static void put_stack(struct addition *a, uint32_t number, uint32_t *chain, struct buf *text)
{
	const struct report_stack_node *n = report_stacks_at(a->stacks, number);
	uint32_t nr = 0;

	for (uint32_t at = number; at != REPORT_NO_STACK && nr < n->depth;
	     at = report_stacks_at(a->stacks, at)->parent)
		chain[nr++] = at;
	buf_reset(text);
	while (nr)
		add_frame(text, report_stacks_at(a->stacks, chain[--nr])->frame.function->name);
	STORE_PUT(a->store, STORE_STACKS, parquet_u64(number), parquet_u64(n->depth),
		  parquet_text(n->frame.function->name), parquet_text(n->frame.function->object),
		  parquet_text(n->frame.file), parquet_maybe(n->frame.file, n->frame.line),
		  parquet_text(buf_str(text)));
}

static bool has_samples(const struct addition *a, uint32_t stack)
{
	for (size_t event = 0; event < a->opened->facts->nr_events; event++)
		if (stack < a->weights[event].room &&
		    report_stack_weight_is_any(&a->weights[event].self[stack]))
			return true;
	return false;
}

/* Those in which samples end: the others are beginnings of these. */
static int put_stacks(struct addition *a)
{
	BUF_AUTO(text, MAX_STACK_TEXT_BYTES);
	uint32_t deepest = 0, *chain;

	for (uint32_t i = 1; i < report_stacks_nr(a->stacks); i++)
		if (report_stacks_at(a->stacks, i)->depth > deepest)
			deepest = report_stacks_at(a->stacks, i)->depth;
	chain = mem_calloc(deepest + 1, sizeof(*chain));
	if (!chain)
		return -ENOMEM;
	for (uint32_t i = 1; i < report_stacks_nr(a->stacks); i++)
		if (has_samples(a, i))
			put_stack(a, i, chain, &text);
	mem_free(chain);
	return store_error(a->store, a->e);
}

/* As --report=flat: a function that called itself counts once, where it is the outermost. */
static int put_flat_of(struct addition *a, const char *event, const struct report_weights *w,
		       const bool *is_recursive)
{
	struct report_functions *functions = a->j->inputs->functions;
	size_t nr = report_functions_nr(functions);
	struct report_stack_weight *self = mem_calloc(nr + 1, sizeof(*self));
	struct report_stack_weight *total = mem_calloc(nr + 1, sizeof(*total));

	for (uint32_t i = 1; i < report_stacks_nr(a->stacks) && self && total; i++) {
		uint32_t of = report_stacks_at(a->stacks, i)->frame.function->number;

		self[of].samples += w->self[i].samples;
		self[of].weight += w->self[i].weight;
		total[of].samples += is_recursive[i] ? 0 : w->total[i].samples;
		total[of].weight += is_recursive[i] ? 0 : w->total[i].weight;
	}
	for (uint32_t i = 0; i < nr && self && total; i++) {
		const struct report_function *f = report_functions_at(functions, i);

		if (report_stack_weight_is_any(&total[i]))
			STORE_PUT(a->store, STORE_FLAT, maybe_time(a, a->about.start_ns),
				  parquet_text(event), parquet_text(f->name),
				  parquet_text(f->object), parquet_u64(self[i].samples),
				  parquet_u64(self[i].weight), parquet_u64(total[i].samples),
				  parquet_u64(total[i].weight));
	}
	nr = self && total;
	mem_free(self);
	mem_free(total);
	return nr ? store_error(a->store, a->e) : -ENOMEM;
}

static int put_flat(struct addition *a)
{
	const struct profile_facts *facts = a->opened->facts;
	bool *is_recursive =
	    report_weights_recursive(a->stacks, report_functions_nr(a->j->inputs->functions));
	int rc = is_recursive ? 0 : -ENOMEM;

	for (size_t i = 0; i < facts->nr_events && rc == 0; i++) {
		struct report_weights *w = &a->weights[i];

		if (w->room)
			rc = report_weights_add_up(w, a->stacks)
				 ?: put_flat_of(a, facts->events[i].label, w, is_recursive);
	}
	mem_free(is_recursive);
	return rc;
}

static void put_loss(void *arg, const char *what, uint32_t event, uint64_t nr)
{
	struct addition *a = arg;

	STORE_PUT(a->store, STORE_LOSSES, parquet_text(what),
		  parquet_text(event != EXPORT_ROWS_NO_EVENT ? a->opened->facts->events[event].label
							     : NULL),
		  parquet_u64(nr));
}

static void put_unread(void *arg, const char *line)
{
	put_loss(arg, line, EXPORT_ROWS_NO_EVENT, 1);
}

static int put_samples(struct addition *a)
{
	struct report_sink sink = {.parts = REPORT_BY_ITERATION | REPORT_BY_CPU | REPORT_BY_PID |
					    REPORT_BY_TID | REPORT_BY_COMM | REPORT_BY_STACK,
				   .samples = add_samples,
				   .arg = a};
	struct report_stats stats = {.nr_events = 0};
	int rc = 0;

	if (a->j->selection->with_lines)
		sink.parts |= REPORT_BY_LINE;
	sink.stacks = a->stacks = report_stacks_new();
	a->weights = mem_calloc(a->opened->facts->nr_events + 1, sizeof(*a->weights));
	if (!a->stacks || !a->weights)
		rc = -ENOMEM;
	rc = rc ?: samples_read(a->j, a->j->first, 1, &sink, &stats, a->e);
	if (rc == 0) {
		put_objects(a);
		export_rows_losses(a->j, &stats, a->stacks, put_loss, a);
		export_rows_warn_full(a->j, a->stacks);
		rc = put_stacks(a);
	}
	rc = rc ?: put_flat(a);
	report_stats_fini(&stats);
	return rc;
}

/* --- regions --------------------------------------------------------------------------------- */

static int put_region_event(void *arg, const struct profile_region_event *e)
{
	struct addition *a = arg;
	const struct parquet_cell value = e->has_value ? parquet_i64(e->value) : parquet_none();
	const struct parquet_cell region = parquet_text(region_of(a, e->region));
	uint64_t wall_ns = e->time_ns - e->begin_ns;

	if (e->kind == PROFILE_REGION_END)
		STORE_PUT(a->store, STORE_REGION_CALLS, time_of(a, e->begin_ns), region,
			  parquet_u64(e->pid), parquet_u64(e->tid), parquet_u64(wall_ns),
			  parquet_u64(wall_ns > e->inner_ns ? wall_ns - e->inner_ns : 0), value,
			  parquet_bool(e->is_closed), parquet_bool(e->is_cut));
	else if (e->kind != PROFILE_REGION_BEGIN)
		STORE_PUT(a->store, STORE_MARKS, time_of(a, e->time_ns), parquet_u64(e->pid),
			  parquet_u64(e->tid), region, parquet_text(e->name), value);
	return store_error(a->store, a->e) ?: a->error;
}

/* --- the session ----------------------------------------------------------------------------- */

static int fill(struct addition *a)
{
	const struct profile_facts *f = a->opened->facts;
	int rc = put_counts(a);

	if (rc == 0 && f->is_sampling)
		rc = put_samples(a);
	if (rc == 0 && input_has_common(a->opened))
		rc = export_regions(a->j, a->opened, put_region_event, a, a->e);
	if (rc == 0)
		export_unread_lines(a->j, put_unread, a);
	return rc ?:
	       store_put_facts(a->store, a->opened, &a->about, a->e) ?:
	       store_publish(a->store, a->e);
}

static void warn_added(struct job *j, const char *folder)
{
	struct err problem = {0};

	err_set_at(&problem, -EEXIST, job_input(j)->path, 0, 0,
		   "skipped: it is in the store already");
	err_hint(&problem, "to replace it, remove its files from %s", folder);
	problems_add(&j->output->problems, false, &problem);
}

/* A row of it would be incomplete, and stay so. */
static int check_ended(const struct input *o, struct err *e)
{
	if (!o->facts->is_in_progress)
		return 0;
	err_set_at(e, -EBUSY, o->path, 0, 0,
		   "is in progress: a store has sessions that have ended");
	err_hint(e, "add it when it has ended");
	return -EBUSY;
}

static int export_session(struct job *j, struct err *e)
{
	struct addition a = {.j = j, .opened = job_input(j), .e = e};
	const char *folder = j->output->options->output_file;
	char id[33];
	int rc = check_ended(a.opened, e) ?: export_about_read(a.opened, NULL, NULL, &a.about, e);

	str_hex16(a.opened->facts->head.session_id, id);
	if (rc == 0) {
		const struct store_session session = {
		    .id = id,
		    .host = a.opened->facts->head.host,
		    .realtime_ns = profile_about_realtime(&a.about, a.about.start_ns),
		    .config_name = a.opened->config_name};

		rc = store_open(folder, &session, &a.store, e);
		if (rc == 1)
			warn_added(j, folder);
		else
			rc = rc ?: fill(&a);
	}
	rc = rc < 0 ? rc : 0;
	if (rc && !e->code)
		err_set(e, rc, "cannot be exported: %s", strerror(-rc));
	store_close(a.store);
	for (size_t i = 0; i < a.opened->facts->nr_events && a.weights; i++)
		report_weights_fini(&a.weights[i]);
	for (size_t i = 0; a.regions && i < profile_nr_regions(a.opened->processes); i++)
		mem_free(a.regions[i]);
	report_stacks_free(a.stacks);
	mem_free(a.weights);
	mem_free(a.regions);
	profile_about_fini(&a.about);
	return rc;
}

int export_parquet(struct job *j, struct err *e)
{
	struct input *o = &j->inputs->item[j->first];
	const bool has_names = j->inputs->functions != NULL;
	int rc = has_names ? inputs_begin_names(j->inputs, o, e) : 0;

	if (rc)
		return rc;
	rc = export_session(j, e);
	if (has_names)
		inputs_end_names(j->inputs, o);
	return rc;
}
