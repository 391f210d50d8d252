/*
 * In a session that samples, and in one whose events have paces of their own, readings come in
 * streams: at these paces and the timebase's, in samples, at the boundaries. The ticks of a stream
 * are computed like iterations. Times and events from the file are not trusted.
 */
#include "counts/series.h"

#include "base/array.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sum.h"
#include "counts/latency.h"
#include "counts/slices.h"
#include "counts/stream.h"
#include "counts/tally.h"
#include "profile/filter.h"
#include "profile/iterator.h"
#include "profile/records.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FURTHER = PROFILE_MAX_PARTS - 1, MAX_PARTS = 1 << 16 /* of latencies */ };

/* Where the readings of an event are stored. AT_ENDS: at the boundaries only, which make one tick.
 */
enum source { IN_TICKS, IN_SAMPLES, AT_ENDS, NR_SOURCES };

/* Samples of an event in the current slice of time. */
struct counter {
	uint64_t start_ns, end_ns; /* the slice; 0: none yet */
	uint64_t nr, weight;
	uint64_t longest_ns;        /* without a sample */
	struct counts_slice before; /* from sample to sample: not emitted yet; end_ns 0: none */
};

struct series {
	const struct counts_series_config *config;
	const struct profile_facts *facts;
	struct profile_iterator *iterator; /* owned */
	struct table *table;
	bool is_streamed;    /* it has more readings than those of iterations' ends */
	struct table *whole; /* owned; the iteration, if it is streamed; NULL: no totals */
	uint64_t origin_ns;
	bool has_origin;
	struct dict parts; /* of latencies: their names, which number them */
	bool *is_of_all;   /* owned; by column: the iteration has points of a target on any CPU */
	/* The current trace: */
	const struct profile_trace *trace;
	const struct counts_stream *tick; /* whose tick is being emitted; NULL: none */
	struct counts_stream stream[NR_SOURCES];
	uint8_t *source;             /* owned; by event: enum source */
	uint64_t *read_ns;           /* owned; by event: its last tick, or the trace's start */
	struct counter *counter;     /* owned; of each event */
	struct counts_slices *keeps; /* its samples; NULL: they are not kept */
};

bool counts_series_value(const struct counts_series_point *p, double *out)
{
	return p->is_samples ? unit_number(EVENT_COUNT, "samples", p->cell, out)
			     : unit_number(p->of->kind, p->of->unit, p->cell, out);
}

const char *counts_series_unit(const struct counts_series_point *p,
			       char text[COUNTS_SERIES_UNIT_BYTES])
{
	struct unit u = p->is_samples ? unit_shown(EVENT_COUNT, "samples")
				      : unit_shown(p->of->kind, p->of->unit);

	snprintf(text, COUNTS_SERIES_UNIT_BYTES, "%s%s", u.name, u.per);
	return text;
}

/* --- points ---------------------------------------------------------------------------------- */

/* A point must lie in the window; to_ns 0: to the end. */
static bool is_in_time(const struct series *s, const struct counts_series_point *p)
{
	const struct profile_filter *f = s->config->filter;

	if (f->from_ns && (p->start_ns < s->origin_ns || p->start_ns - s->origin_ns < f->from_ns))
		return false;
	return !f->to_ns || p->end_ns < s->origin_ns || p->end_ns - s->origin_ns <= f->to_ns;
}

static int emit(const struct series *s, struct counts_series_point *p)
{
	const struct profile_filter *f = s->config->filter;
	const struct trace_event ev = {.group = p->of->group, .name = p->of->name};

	p->origin_ns = s->origin_ns;
	if ((!s->config->has_all_events && !profile_filter_has_event(f, &ev)) ||
	    !is_in_time(s, p) || (p->cpu != COUNTS_NO_CPU && !profile_ranges_has(&f->cpus, p->cpu)))
		return 0;
	return s->config->point(s->config->arg, p);
}

/* When the event, or the thing, was read before the tick, if it has a pace of its own. */
static bool was_read_at(const struct series *s, const struct counts_series_point *p, uint64_t *ns)
{
	const uint32_t key[] = {p->column, p->thing ? p->thing->number : 0};
	const struct profile_thing *thing;

	if (!s->tick || p->of->metric || !s->facts->events[p->column].every_ns)
		return false;
	thing = p->thing ? dict_at(&s->tick->things, dict_find(&s->tick->things, key)) : NULL;
	*ns = thing && thing->pair.has_start ? thing->pair.start.time_ns : s->read_ns[p->column];
	return true;
}

/* A cell without a span (a value, no reading) covers the whole time: since it was read before. */
static int emit_cell(const struct series *s, const struct table *t, size_t i,
		     const struct cell *cell, struct counts_series_point *p)
{
	uint64_t since_ns;

	if (cell->state == CELL_NONE)
		return 0;
	p->column = (uint32_t)i;
	p->of = &t->columns[i];
	p->cell = cell;
	p->iteration = t->iteration;
	p->end_ns = cell->time_ns ? cell->time_ns : t->end_ns;
	p->start_ns = t->start_ns;
	if (!cell->span_ns && was_read_at(s, p, &since_ns))
		p->start_ns = since_ns;
	p->start_ns = p->start_ns < p->end_ns ? p->start_ns : p->end_ns;
	if (cell->span_ns && cell->span_ns <= p->end_ns)
		p->start_ns = p->end_ns - cell->span_ns;
	return emit(s, p);
}

static int emit_row_cell(struct series *s, const struct table *t, size_t row, size_t i)
{
	struct counts_series_point p = {.trace = t->row_trace[row],
					.cpu = table_is_of_cpu(&t->columns[i]) ? t->row_cpu[row]
									       : COUNTS_NO_CPU};

	s->is_of_all[i] |= p.cpu == COUNTS_NO_CPU && table_cell(t, row, i)->state != CELL_NONE;
	return emit_cell(s, t, i, table_cell(t, row, i), &p);
}

static int emit_things(const struct series *s)
{
	const struct table *t = s->table;
	int rc = 0;

	for (size_t k = 0; k < t->nr_things && rc == 0; k++) {
		struct counts_series_point p = {
		    .trace = t->row_trace[0], .cpu = COUNTS_NO_CPU, .thing = &t->things[k]};

		if (s->tick && !s->tick->has_things[t->things[k].column])
			continue; /* it is read at another pace */
		rc = emit_cell(s, t, t->things[k].column, &t->things[k].cell, &p);
	}
	return rc;
}

/* --- a tally --------------------------------------------------------------------------------- */

/* In place of which there are points of more readings. */
static bool is_total_hidden(const struct series *s, const struct table *t, size_t i)
{
	return s->is_streamed && !s->config->has_totals && i < t->nr_events &&
	       s->facts->events[i].every_ns;
}

/* Points of a target on any CPU are totals already. */
static int emit_totals(struct series *s, const struct table *t)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr_columns && rc == 0; i++) {
		struct counts_series_point p = {.cpu = COUNTS_NO_CPU, .is_total = true};

		if (table_has_total(t, i) && !s->is_of_all[i] && !is_total_hidden(s, t, i))
			rc = emit_cell(s, t, i, &t->totals[i], &p);
	}
	memset(s->is_of_all, false, t->nr_columns);
	return rc;
}

static int end_iteration(struct series *s)
{
	struct table *t = s->table;
	int rc = 0;

	if (!t->nr_rows)
		return 0;
	table_total(t);
	for (size_t row = 0; row < t->nr_rows && rc == 0; row++)
		for (size_t i = 0; i < t->nr_columns && rc == 0; i++)
			if (!t->columns[i].is_total_only)
				rc = emit_row_cell(s, t, row, i);
	rc = rc ?: emit_totals(s, t) ?: emit_things(s);
	t->nr_rows = 0;
	return rc;
}

/* Cells of a CPU that is not selected enter no total. */
static void add_row(const struct series *s, struct table *t, const struct profile_trace *trace)
{
	size_t row = t->nr_rows;

	counts_tally_add(t, trace);
	if (!profile_ranges_has(&s->config->filter->cpus, trace->head.cpu))
		counts_tally_clear_cpu(t, row);
}

/* Its operands have several paces, so that only whole iterations have its number. */
static bool is_of_paces(const struct series *s, const struct table_column *c)
{
	const struct expr_step *operand;
	uint64_t every_ns = UINT64_MAX;

	for (size_t k = 0; (operand = metric_operand(c->metric, &k));) {
		const struct trace_event *ev = &s->facts->events[operand->operand];

		if (ev->state != READING_OK)
			continue;
		if (every_ns != UINT64_MAX && every_ns != ev->every_ns)
			return true;
		every_ns = ev->every_ns;
	}
	return false;
}

static int emit_metrics_of_paces(struct series *s, const struct table *t)
{
	int rc = 0;

	for (size_t i = t->nr_events; i < t->nr_columns; i++)
		for (size_t row = 0; row < t->nr_rows && rc == 0; row++)
			if (!t->columns[i].is_total_only && is_of_paces(s, &t->columns[i]))
				rc = emit_row_cell(s, t, row, i);
	return rc;
}

/* Emits what only the whole iteration of a streamed session has. */
static int end_whole(struct series *s)
{
	struct table *t = s->whole;
	int rc = 0;

	if (t && t->nr_rows) {
		table_total(t);
		if (!s->facts->is_sampling)
			rc = emit_metrics_of_paces(s, t);
		rc = rc ?: emit_totals(s, t);
		t->nr_rows = 0;
	}
	return rc;
}

/* --- ticks ----------------------------------------------------------------------------------- */

/* An event that is not measured has one point, at the ends. */
static bool is_event_due(const struct series *s, enum source source, size_t i)
{
	const struct table_column *c = &s->table->columns[i];

	if (source != AT_ENDS && !s->stream[source].has_things[i])
		return false; /* it is read at another pace */
	if (s->trace->events[i].state == READING_OK || cell_has_value(table_cell(s->table, 0, i)))
		return true;
	return source == AT_ENDS && (table_is_of_cpu(c) || s->trace->head.trace == 0);
}

/* A metric is due where all measured operands are read; a tick needs at least one. Operands that
 * are read at different paces yield no number. */
static bool is_metric_due(const struct series *s, enum source source, size_t i)
{
	const struct table_column *c = &s->table->columns[i];
	enum metric_has has = metric_has(c->metric, table_cell(s->table, 0, 0));
	const struct expr_step *operand;
	bool has_any = source == AT_ENDS;

	if (c->is_total_only || (has != METRIC_ALL && has != METRIC_LACKS) || is_of_paces(s, c))
		return false;
	for (size_t k = 0; (operand = metric_operand(c->metric, &k));) {
		bool is_measured = s->trace->events[operand->operand].state == READING_OK;

		if (is_measured &&
		    (s->source[operand->operand] != source ||
		     (source != AT_ENDS && !s->stream[source].has_things[operand->operand])))
			return false;
		has_any |= is_measured;
	}
	return has_any;
}

/* Emits the numbers of a tick. */
static int emit_tick(void *arg, const struct counts_stream *st, const struct profile_trace *tick)
{
	struct series *s = arg;
	struct table *t = s->table;
	enum source source = (enum source)(st - s->stream);
	int rc = 0;

	t->nr_rows = 0;
	counts_tally_add(t, tick);
	table_total(t);
	s->tick = source == AT_ENDS ? NULL : st;
	for (size_t i = 0; i < t->nr_columns && rc == 0; i++)
		if (i < t->nr_events ? is_event_due(s, source, i) : is_metric_due(s, source, i))
			rc = emit_row_cell(s, t, 0, i);
	rc = rc ?: emit_things(s);
	for (size_t i = 0; i < t->nr_events; i++)
		if (st->has_things[i])
			s->read_ns[i] = st->read_ns[i];
	s->tick = NULL;
	t->nr_rows = 0;
	return rc;
}

static void end_keeping(struct series *s, bool is_whole)
{
	if (s->keeps)
		counts_slices_end(s->keeps, is_whole);
	s->keeps = NULL;
}

static int add_reading(struct series *s, enum source source, const struct reading *r)
{
	if (source != AT_ENDS) /* not only samples must be read */
		end_keeping(s, false);
	s->source[r->event] = (uint8_t)source;
	return counts_stream_add(&s->stream[source], r);
}

/* --- samples --------------------------------------------------------------------------------- */

/* A slice of the trace, or an interval without samples. */
static int emit_slice(struct series *s, const struct counts_slice *k)
{
	const struct cell cell = {.state = CELL_OK,
				  .count = k->nr,
				  .value = (double)k->nr,
				  .raw = k->nr,
				  .time_ns = k->end_ns,
				  .span_ns = k->end_ns - k->start_ns};
	struct counts_series_point p = {.column = k->event,
					.of = &s->table->columns[k->event],
					.is_samples = true,
					.iteration = s->trace->head.iteration,
					.trace = s->trace->head.trace,
					.cpu = s->trace->head.cpu,
					.start_ns = k->start_ns,
					.end_ns = k->end_ns,
					.cell = &cell,
					.weight = k->weight};

	return emit(s, &p);
}

static int put_slice(struct series *s, const struct counts_slice *slice)
{
	const char *group = s->table->columns[slice->event].group;

	/* what an agent adds up is of processes: they have a trace of their own */
	if (slice->start_ns >= slice->end_ns ||
	    (!slice->nr && (strcmp(group, "heap") == 0 || strcmp(group, "resource") == 0)))
		return 0;
	if (s->keeps)
		counts_slices_add(s->keeps, slice);
	return emit_slice(s, slice);
}

/* What is counted now, of the whole slice or a part of it. */
static struct counts_slice counted(const struct series *s, uint32_t event, uint64_t start_ns,
				   uint64_t end_ns)
{
	const struct counter *k = &s->counter[event];

	return (struct counts_slice){.event = event,
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .nr = k->nr,
				     .weight = k->weight};
}

static int emit_samples(struct series *s, uint32_t event, uint64_t start_ns, uint64_t end_ns)
{
	const struct counts_slice slice = counted(s, event, start_ns, end_ns);

	return put_slice(s, &slice);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_near(uint64_t a_ns, uint64_t b_ns, uint64_t within_ns)
{
	return (a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns) < within_ns;
}

/* The slice of a time of the trace. A rest of less than half a slice at the trace's ends belongs to
 * the slice beside it: a sample in it would look like a burst. */
static void find_slice(const struct series *s, uint64_t time_ns, uint64_t *start_ns,
		       uint64_t *end_ns)
{
	const struct profile_trace *t = s->trace;
	const uint64_t slice_ns = s->config->slice_ns, half_ns = slice_ns / 2;
	uint64_t from_ns = time_ns, to_ns;

	if (time_ns >= s->origin_ns)
		from_ns -= (time_ns - s->origin_ns) % slice_ns;
	if (from_ns >= slice_ns && is_near(from_ns, t->end_ns, half_ns))
		from_ns -= slice_ns;
	to_ns = from_ns;
	sum_add(&to_ns, slice_ns);
	if (is_near(to_ns, t->start_ns, half_ns))
		sum_add(&to_ns, slice_ns);
	*start_ns =
	    from_ns < t->start_ns || is_near(from_ns, t->start_ns, half_ns) ? t->start_ns : from_ns;
	*end_ns = to_ns > t->end_ns || is_near(to_ns, t->end_ns, half_ns) ? t->end_ns : to_ns;
}

/* Ends the current slice, and the interval without samples up to a time, which is one point. */
static int end_slice(struct series *s, uint32_t event, uint64_t until_ns)
{
	struct counter *k = &s->counter[event];
	int rc = emit_samples(s, event, k->start_ns, k->end_ns);

	*k = (struct counter){.start_ns = k->end_ns,
			      .end_ns = until_ns < k->end_ns ? k->end_ns : until_ns};
	return rc ? rc : emit_samples(s, event, k->start_ns, k->end_ns);
}

static void add_sample(struct counter *k, const struct trace_record *r)
{
	k->nr++;
	sum_add(&k->weight, r->period ? r->period : 1);
}

/* A slice excludes its end, but the trace's last slice includes it. */
static int count_in_slice(struct series *s, uint32_t event, const struct trace_record *r,
			  uint64_t time_ns)
{
	struct counter *k = &s->counter[event];
	uint64_t start_ns, end_ns;
	int rc = 0;

	if (time_ns >= k->end_ns && k->end_ns < s->trace->end_ns) {
		find_slice(s, time_ns, &start_ns, &end_ns);
		rc = end_slice(s, event, start_ns);
		k->start_ns = k->end_ns;
		k->end_ns = end_ns;
	}
	add_sample(k, r);
	return rc;
}

/* end_ns is the last sample's time. */
static int count_from_last(struct series *s, uint32_t event, const struct trace_record *r,
			   uint64_t time_ns)
{
	struct counter *k = &s->counter[event];
	int rc = 0;

	time_ns = time_ns < k->end_ns ? k->end_ns : time_ns;
	if (time_ns - k->end_ns > k->longest_ns)
		k->longest_ns = time_ns - k->end_ns;
	k->end_ns = time_ns;
	add_sample(k, r);
	if (time_ns - k->start_ns < s->config->slice_ns)
		return 0;
	rc = put_slice(s, &k->before);
	*k = (struct counter){.start_ns = time_ns,
			      .end_ns = time_ns,
			      .longest_ns = k->longest_ns,
			      .before = counted(s, event, k->start_ns, time_ns)};
	return rc;
}

/* What is less than half a slice belongs to the one before. */
static int end_before(struct series *s, struct counter *k)
{
	struct counts_slice *before = &k->before;

	if (before->end_ns && k->end_ns - k->start_ns < s->config->slice_ns / 2) {
		before->end_ns = k->start_ns = k->end_ns;
		before->nr += k->nr;
		sum_add(&before->weight, k->weight);
	}
	return put_slice(s, before);
}

/* The rest after the last sample is unknown; a long rest contains few events. */
static int end_from_last(struct series *s, uint32_t event, uint64_t end_ns)
{
	struct counter *k = &s->counter[event];
	uint64_t rest_ns = end_ns > k->end_ns ? end_ns - k->end_ns : 0;
	int rc = end_before(s, k) ?: emit_samples(s, event, k->start_ns, k->end_ns);

	k->nr = k->weight = 0;
	if (rc || rest_ns / 2 <= k->longest_ns)
		return rc;
	return emit_samples(s, event, k->end_ns, end_ns);
}

/* When its samples were taken is not known. */
static bool is_aggregated(const struct series *s, uint32_t event)
{
	return s->facts->events[event].flags & TRACE_EVENT_AGGREGATED;
}

/* Intervals between samples of different CPUs are meaningless. */
static bool is_from_sample_to_sample(const struct series *s)
{
	return s->config->from_sample_to_sample && s->trace->head.cpu != COUNTS_NO_CPU;
}

static int count_sample(struct series *s, uint32_t event, const struct profile_item *item)
{
	const struct profile_trace *t = s->trace;
	uint64_t time_ns = item->time_ns;

	time_ns = time_ns < t->start_ns ? t->start_ns : least(time_ns, t->end_ns);
	return is_from_sample_to_sample(s) ? count_from_last(s, event, &item->record, time_ns)
					   : count_in_slice(s, event, &item->record, time_ns);
}

/* Adds the counts of the timebase's group as readings at the sample's time. */
static int add_counts(struct series *s, const struct profile_item *item)
{
	const struct profile_trace *t = s->trace;
	const struct trace_record *r = &item->record;
	int rc = 0;

	for (uint64_t i = 0; i < r->nr_read && rc == 0; i++) {
		const struct trace_id *id = profile_member(t->ids, t->nr_ids, item->id, i);

		if (!id || id->event >= s->facts->nr_events)
			continue;
		rc = add_reading(s, IN_SAMPLES,
				 &(struct reading){
				     .event = id->event,
				     .instance = id->instance,
				     .state = READING_OK,
				     .time_ns = item->time_ns,
				     .raw = trace_word(r->read_values, i * r->read_stride),
				     .enabled_ns = r->read_enabled_ns,
				     .running_ns = r->read_running_ns,
				 });
	}
	return rc;
}

/* --- a trace of a streamed session ----------------------------------------------------------- */

static int add_item(struct series *s, const struct profile_item *item)
{
	bool is_sample = item->kind == PROFILE_RECORD && item->ring == TRACE_RING_SAMPLES &&
			 item->record.kind == PERF_RECORD_SAMPLE && item->id &&
			 item->id->event < s->facts->nr_events &&
			 !is_aggregated(s, item->id->event);
	/* samples of a trace of many CPUs have their own CPU */
	bool is_wanted = s->trace->head.cpu != COUNTS_NO_CPU ||
			 profile_ranges_has(&s->config->filter->cpus, item->cpu);

	if (item->kind == PROFILE_READING)
		return add_reading(s, IN_TICKS, &item->reading);
	if (!is_sample || !is_wanted)
		return 0;
	return count_sample(s, item->id->event, item)
		   ?: (item->record.has & TRACE_HAS_READ ? add_counts(s, item) : 0);
}

/* A tick that replaces the end of a killed session was added before. */
static int end_pair(struct series *s, size_t event, const struct profile_pair *p)
{
	enum source source = s->source[event];

	if (!p->has_end || (source != AT_ENDS && p->is_tick))
		return 0;
	/* with a tick just before the end there would be an interval too short for a number */
	if (source == IN_TICKS)
		counts_stream_renew(&s->stream[source], &p->end,
				    s->facts->events[event].every_ns / TRACE_LATE_PART);
	return add_reading(s, source, &p->end);
}

/* The readings at the trace's end complete the last tick of each stream. */
static int end_streams(struct series *s)
{
	const struct profile_trace *t = s->trace;
	size_t nr = s->facts->nr_events;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = end_pair(s, i, &t->pairs[i]);
	for (size_t i = 0; t->further && i < nr * FURTHER && rc == 0; i++)
		rc = end_pair(s, i / FURTHER, &t->further[i]);
	for (size_t k = 0; k < t->nr_things && rc == 0; k++)
		rc = end_pair(s, t->things[k].event, &t->things[k].pair);
	s->stream[AT_ENDS].end_ns = t->end_ns;
	for (enum source k = 0; k < NR_SOURCES && rc == 0; k++)
		rc = counts_stream_end(&s->stream[k]);
	return rc;
}

/* The trace of a target has no samples: those are in the traces of the CPUs. */
static int end_samples(struct series *s)
{
	int rc = 0;

	for (uint32_t i = 0; !s->trace->target && i < s->facts->nr_events && rc == 0; i++)
		if (sampled_event_is_sampled(&s->table->columns[i].sampling) &&
		    !is_aggregated(s, i) && s->trace->events[i].state == READING_OK)
			rc = is_from_sample_to_sample(s) ? end_from_last(s, i, s->trace->end_ns)
							 : end_slice(s, i, s->trace->end_ns);
	return rc;
}

static bool is_canceled(const struct series *s)
{
	const atomic_uint *cancel = s->config->cancel;

	return cancel && atomic_load_explicit(cancel, memory_order_relaxed);
}

static int read_items(struct series *s, bool *are_intact)
{
	struct profile_records *records;
	struct profile_item item;
	int rc = profile_iterator_records(s->iterator, &records), got;

	if (rc != 1)
		return rc;
	rc = 0;
	while (rc == 0 && (got = profile_records_next(records, &item)) == 1)
		rc = is_canceled(s) ? -ECANCELED : add_item(s, &item);
	*are_intact = profile_records_are_intact(records);
	profile_records_close(records);
	return rc ? rc : got;
}

static int read_samples(struct series *s)
{
	const struct trace_head *head = &s->trace->head;
	bool are_intact = false;
	int rc;

	/* those of a trace of several CPUs are selected by these */
	s->keeps = head->cpu != COUNTS_NO_CPU ? s->config->slices : NULL;
	if (s->keeps)
		counts_slices_begin(s->keeps, head->iteration, head->trace);
	rc = read_items(s, &are_intact) ?: end_samples(s);
	end_keeping(s, rc == 0 && are_intact);
	return rc;
}

static int emit_kept(struct series *s, const struct counts_slices_trace *kept)
{
	int rc = 0;

	for (size_t i = 0; i < kept->nr && rc == 0; i++)
		rc = emit_slice(s, &kept->item[i]);
	return rc;
}

static int read_streamed(struct series *s, const struct profile_trace *trace)
{
	const struct counts_slices_trace *kept =
	    counts_slices_find(s->config->slices, trace->head.iteration, trace->head.trace);
	int rc = s->whole && counts_tally_is_next(s->whole, trace) ? end_whole(s) : 0;

	s->trace = trace;
	if (s->whole)
		add_row(s, s->whole, trace);
	memset(s->source, AT_ENDS, s->facts->nr_events);
	for (size_t i = 0; i < s->facts->nr_events; i++) {
		s->counter[i] =
		    (struct counter){.start_ns = trace->start_ns, .end_ns = trace->start_ns};
		s->read_ns[i] = trace->start_ns;
	}
	for (enum source k = 0; k < NR_SOURCES && rc == 0; k++)
		rc = counts_stream_begin(&s->stream[k], trace, k != IN_SAMPLES);
	s->stream[AT_ENDS].is_open = true;
	return rc ?: (kept ? emit_kept(s, kept) : read_samples(s)) ?: end_streams(s);
}

/* --- latencies ------------------------------------------------------------------------------- */

/* The quantiles of an event are its things: those of each part have numbers of their own. */
static int emit_latency(struct series *s, const struct profile_trace *trace,
			const struct latencies_row *row)
{
	static const struct {
		double quantile;
		const char *name;
	} quantiles[] = {{0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {1, "max"}};
	const struct trace_event *ev = &s->facts->events[row->event];
	const struct table_column of = {.group = ev->group,
					.name = ev->name,
					.label = s->table->columns[row->event].label,
					.unit = "ns",
					.kind = EVENT_VALUE,
					.scope = EVENT_SCOPE_SYSTEM};
	uint32_t part = dict_add(&s->parts, row->part);
	char name[LATENCIES_NAME_BYTES + sizeof(" p50")];
	int rc = part == DICT_NONE ? -ENOMEM : 0;

	for (size_t i = 0; i < ARRAY_NR(quantiles) && rc == 0; i++) {
		double ns = quantiles[i].quantile < 1
				? histogram_quantile(row->histogram, quantiles[i].quantile).ns
				: (double)row->histogram->max_ns;
		const struct cell cell = {.state = CELL_OK,
					  .is_real = true,
					  .value = round(ns),
					  .raw = (uint64_t)round(ns),
					  .time_ns = trace->end_ns,
					  .span_ns = trace->end_ns - trace->start_ns};
		const struct table_thing thing = {.column = row->event,
						  .number = part * (uint32_t)ARRAY_NR(quantiles) +
							    (uint32_t)i,
						  .name = name};
		struct counts_series_point p = {.column = row->event,
						.of = &of,
						.thing = &thing,
						.iteration = trace->head.iteration,
						.trace = trace->head.trace,
						.cpu = COUNTS_NO_CPU,
						.start_ns = trace->start_ns,
						.end_ns = trace->end_ns,
						.cell = &cell};

		snprintf(name, sizeof(name), "%s%s%s", row->part, row->part[0] ? " " : "",
			 quantiles[i].name);
		rc = emit(s, &p);
	}
	return rc;
}

/* Of the iteration: the histograms are in one of its traces. */
static int emit_latencies(struct series *s, const struct profile_trace *trace)
{
	struct latencies l = {0};
	int rc = 0;

	for (size_t i = 0; i < trace->nr_histograms && rc == 0; i++)
		if (trace->histograms[i].event < s->facts->nr_events)
			rc = counts_latency_add(&l, &trace->histograms[i], false);
	for (uint32_t i = 0; i < l.rows.nr && rc == 0 && trace->start_ns < trace->end_ns; i++)
		rc = emit_latency(s, trace, dict_at(&l.rows, i));
	latencies_fini(&l);
	return rc;
}

/* --- all ------------------------------------------------------------------------------------- */

static int init(struct series *s, struct err *e)
{
	size_t nr = s->facts->nr_events + 1;
	int rc = counts_tally_new(s->facts, s->config->metrics, &s->table, e);

	dict_init_texts(&s->parts, sizeof(const char *), MAX_PARTS,
			MAX_PARTS * LATENCIES_NAME_BYTES);
	if (rc == 0 && s->is_streamed && (s->config->has_totals || !s->facts->is_sampling))
		rc = counts_tally_new(s->facts, s->config->metrics, &s->whole, e);
	if (rc)
		return rc;
	s->is_of_all = mem_calloc(s->table->nr_columns + 1, sizeof(*s->is_of_all));
	s->source = mem_calloc(nr, sizeof(*s->source));
	s->read_ns = mem_calloc(nr, sizeof(*s->read_ns));
	s->counter = mem_calloc(nr, sizeof(*s->counter));
	for (enum source k = 0; k < NR_SOURCES && rc == 0; k++)
		rc = counts_stream_init(&s->stream[k], s->facts, emit_tick, s);
	return rc ?: s->is_of_all && s->source && s->read_ns && s->counter ? 0 : -ENOMEM;
}

static void fini(struct series *s)
{
	for (size_t i = 0; i < NR_SOURCES; i++)
		counts_stream_fini(&s->stream[i]);
	mem_free(s->is_of_all);
	mem_free(s->source);
	mem_free(s->read_ns);
	mem_free(s->counter);
	table_free(s->table);
	table_free(s->whole);
	dict_fini(&s->parts);
}

static int read_all(struct series *s)
{
	const struct counts_series_config *c = s->config;
	struct profile_trace trace;
	int rc = 0, got;

	s->iterator = profile_iterator_new(c->session);
	while (rc == 0 && (got = profile_iterator_next(s->iterator, &trace)) == 1) {
		if (!s->has_origin)
			s->origin_ns = trace.start_ns;
		s->has_origin = true;
		if (c->trace)
			c->trace(c->trace_arg, &trace);
		if (!profile_ranges_has(&c->filter->iterations, trace.head.iteration))
			continue;
		if (is_canceled(s)) {
			rc = -ECANCELED;
			continue;
		}
		if (s->is_streamed) {
			rc = read_streamed(s, &trace) ?: emit_latencies(s, &trace);
			continue;
		}
		if (counts_tally_is_next(s->table, &trace))
			rc = end_iteration(s);
		rc = rc ?: emit_latencies(s, &trace);
		add_row(s, s->table, &trace);
	}
	profile_iterator_free(s->iterator);
	s->trace = NULL; /* it ends here */
	return rc ?: got ?: s->is_streamed ? end_whole(s) : end_iteration(s);
}

int counts_series(const struct counts_series_config *config, struct err *e)
{
	struct series s = {.config = config, .facts = profile_session_facts(config->session)};
	int rc;

	s.is_streamed = s.facts->is_sampling || s.facts->has_paces;
	rc = init(&s, e) ?: read_all(&s);

	fini(&s);
	return rc == -ENOMEM && e && !e->code ? err_set(e, rc, "out of memory") : rc;
}
