/*
 * A session as tables.
 */
#include "counts/tally.h"

#include "base/err.h"
#include "counts/latency.h"

#include <errno.h>
#include <string.h>

/* Cells of an iteration: the largest number of CPUs with all events of a spec. */
enum { MAX_CELLS = 4 << 20 };

_Static_assert((int)SAMPLED_OS == TRACE_EVENT_OS && (int)SAMPLED_USER == TRACE_EVENT_USER &&
		   (int)SAMPLED_NO_IDLE == TRACE_EVENT_NO_IDLE &&
		   (int)SAMPLED_GUEST == TRACE_EVENT_GUEST && (int)SAMPLED_HOST == TRACE_EVENT_HOST,
	       "flags have one number each");
_Static_assert(sizeof(((struct table_sampling *)0)->trigger) == TRACE_TRIGGER_BYTES, "one size");
_Static_assert((int)PROFILE_MAX_PARTS == TABLE_MAX_PARTS, "a table takes all parts of an event");

static void set_columns(struct table *t, const struct trace_event *events, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct trace_event *e = &events[i];

		t->columns[i] = (struct table_column){
		    .group = e->group,
		    .name = e->name,
		    .label = *e->label ? e->label : e->name,
		    .unit = e->unit,
		    .kind = e->kind,
		    .scope = e->scope,
		    .total = e->flags >> TRACE_EVENT_TOTAL_SHIFT & 3,
		    .scale = e->scale,
		    .reason = e->state != READING_OK ? e->reason : NULL,
		    .sampling = sampled_event(e->group, e->name, e->rate, e->frequency, e->flags),
		};
	}
}

int counts_tally_new(const struct profile_facts *f, const struct metric_set *metrics,
		     struct table **out, struct err *e)
{
	size_t nr = f->nr_events + metrics->nr;
	struct table *t;

	if (nr && f->max_rows > MAX_CELLS / nr)
		return err_set(e, -EFBIG, "%zu traces of %zu events are too many for a table",
			       f->max_rows, nr);
	t = table_new(nr, f->max_rows);
	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	t->nr_cpus = f->info ? f->info->nr_cpus : 0;
	set_columns(t, f->events, f->nr_events);
	table_set_metrics(t, metrics);
	if (table_add_sampling(t)) {
		table_free(t);
		return err_set(e, -ENOMEM, "out of memory");
	}
	t->nr_rows = 0;
	*out = t;
	return 0;
}

static struct table_part part_of(const struct profile_pair *p)
{
	return (struct table_part){p->has_start ? &p->start : NULL, p->has_end ? &p->end : NULL};
}

static void set_cell(struct table *t, size_t row, size_t i, const struct profile_trace *trace)
{
	const struct profile_pair *further = trace->further;
	struct table_part parts[TABLE_MAX_PARTS];
	size_t nr = 1;

	parts[0] = part_of(&trace->pairs[i]);
	if (further)
		for (further += i * (TABLE_MAX_PARTS - 1); nr < TABLE_MAX_PARTS; nr++)
			parts[nr] = part_of(further++);
	table_set(t, row, i, trace->events[i].state, parts, nr);
}

void counts_tally_samples(struct table *t, size_t row, const struct trace_sampling *s)
{
	static const struct trace_sampling nothing = {.idle_ns = UINT64_MAX};

	struct table_sampling sampling;

	s = s ? s : &nothing;
	sampling = (struct table_sampling){.ring_bytes = s->ring_bytes,
					   .max_rate_start = s->max_rate_start,
					   .max_rate_end = s->max_rate_end,
					   .idle_ns = s->idle_ns,
					   .lost = s->lost,
					   .ticks = s->ticks,
					   .ticks_missed = s->ticks_missed,
					   .held_from_ns = s->held.from_ns,
					   .held_to_ns = s->held.to_ns,
					   .paused = s->held.paused,
					   .divisor = s->divisor};
	memcpy(sampling.trigger, s->held.trigger, sizeof(sampling.trigger));
	table_set_sampling(t, row, &sampling);
	for (size_t i = 0; i < s->nr; i++)
		table_add_sampled(t, row, s->item[i].event,
				  &(struct sampled_counts){.samples = s->item[i].samples,
							   .idle = s->item[i].idle,
							   .weight = s->item[i].weight,
							   .lost = s->item[i].lost,
							   .throttled = s->item[i].throttled});
}

/* Without memory the remaining things are skipped, and the event has the sum of those before. */
static void add_things(struct table *t, const struct profile_trace *trace)
{
	int rc = 0;

	table_drop_things(t);
	for (size_t k = 0; k < trace->nr_things && rc == 0; k++) {
		const struct profile_thing *thing = &trace->things[k];
		struct table_part p = part_of(&thing->pair);

		rc = table_add_thing(t, thing->event, thing->number, thing->name, p.start, p.end);
	}
}

/* The heap's are of sizes, and no latencies. */
static bool is_of_sizes(const struct table *t, const struct trace_histogram *h)
{
	return strcmp(t->columns[h->event].group, "heap") == 0;
}

void counts_tally_latencies(struct table *t, const struct trace_histogram *h, size_t nr)
{
	latencies_fini(&t->latencies);
	for (size_t i = 0; i < nr; i++)
		if (h[i].event < t->nr_events && !is_of_sizes(t, &h[i]))
			(void)counts_latency_add(&t->latencies, &h[i], false);
}

size_t counts_tally_add(struct table *t, const struct profile_trace *trace)
{
	size_t row = t->nr_rows++, nr = 0;

	t->row_trace[row] = trace->head.trace;
	t->row_cpu[row] = trace->head.cpu;
	if (row == 0) {
		t->iteration = trace->head.iteration;
		t->is_cut = false;
		t->cause = trace->cause;
		t->gap_ns = trace->window ? trace->window->gap_ns : 0;
		table_set_time(t, trace->start_ns, trace->end_ns, &trace->clocks);
	}
	t->is_cut |= trace->is_cut;
	for (size_t i = 0; i < t->nr_events; i++) {
		set_cell(t, row, i, trace);
		nr += cell_has_value(table_cell(t, row, i));
	}
	if (row == 0) {
		add_things(t, trace);
		counts_tally_latencies(t, trace->histograms, trace->nr_histograms);
	}
	counts_tally_samples(t, row, trace->sampling);
	return nr;
}

void counts_tally_clear_cpu(struct table *t, size_t row)
{
	for (size_t i = 0; i < t->nr_events; i++)
		if (table_is_of_cpu(&t->columns[i]))
			*table_cell(t, row, i) = (struct cell){.state = CELL_NONE};
	counts_tally_samples(t, row, NULL);
}

bool counts_tally_is_next(const struct table *t, const struct profile_trace *trace)
{
	return t->nr_rows && t->iteration != trace->head.iteration;
}
