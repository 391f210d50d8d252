/*
 * The end of an iteration that samples: rings are cut at the boundary, all files get their ends,
 * and what is missing is noted.
 */
#include "session/sampling.h"

#include "base/log.h"
#include "session/sampling_internal.h"

#include <inttypes.h>
#include <stdio.h>

static void sum_up(struct sampling *g, uint32_t t)
{
	const struct sampler *m = &g->samplers[t];
	struct trace_sampling *r = &g->results[t];
	const struct paced_counts ticks = paced_counts(g->paced);

	r->ring_bytes = m->ring.base ? g->ring_bytes : 0;
	r->max_rate_start = g->max_rate;
	r->lost = m->scan.lost;
	r->ticks = ticks.taken;
	r->ticks_missed = ticks.missed;
	r->held = m->ring.base ? m->held : (struct trace_held){.wanted_ns = 0};
	r->divisor = g->plan->spec->max_own_cpu ? g->plan->divisor : 0;
	r->item = m->sampled;
	r->nr = m->scan.nr_events;
}

/* Ends the file, also after an error. */
static int finish_trace(struct sampling *g, const struct session_iteration *it, uint32_t t,
			struct err *e)
{
	struct trace_writer *w = g->recorder->writer;
	struct trace_file *file = g->samplers[t].file;
	const struct trace_sampling *r = &g->results[t];
	struct trace_totals totals = {.start_ns = it->start_ns,
				      .end_ns = it->end_ns,
				      .is_cut = it->is_cut,
				      .cause = it->cause,
				      .lost = r->lost};

	if (!file)
		return 0;
	for (size_t i = 0; i < r->nr; i++)
		totals.throttled += r->item[i].throttled;
	g->samplers[t].file = NULL;
	g->closed_bytes += trace_file_bytes(file);
	trace_writer_more(w);
	trace_writer_clocks(w, &it->clocks);
	recorder_add_readings(g->recorder, w, TRACE_END, it->traces[t].end);
	if (t == 0) {
		recorder_add_things(w, TRACE_END, it->things_end);
		session_things_write(it->things_end, &g->counters->uses, w, UINT64_MAX);
		recorder_add_histograms(w, it);
	}
	trace_writer_sampling(w, r);
	if (it->window && t == 0)
		trace_writer_window(w, it->window);
	if (it->traces[t].cpu == PLAN_ANY_CPU)
		recorder_add_target(w, it);
	notes_write(g->notes, t, w);
	return trace_file_finish(file, w, &totals, e);
}

static void note_losses(struct sampling *g, uint32_t iteration)
{
	uint64_t lost = 0, full = 0;

	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		lost += g->samplers[t].side_band_lost;
		full += g->samplers[t].lasting_full;
	}
	if (lost)
		notes_add(g->notes, 0,
			  "%llu records of tasks and mappings were lost: some samples will have "
			  "no name",
			  (unsigned long long)lost);
	if (full)
		notes_add(g->notes, 0,
			  "iteration %u: samples of %" PRIu64 " waits that lasted at its end found "
			  "no room and are missing",
			  iteration, full);
	paced_note_missing(g->paced, iteration, g->notes);
}

/* Samples that could not be added up. They are in the trace, one by one. */
static void note_added(struct sampling *g, const struct session_iteration *it)
{
	struct aggregate_counts all = {0};

	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		all.samples += g->samplers[t].added.samples;
		all.full += g->samplers[t].added.full;
		all.failed += g->samplers[t].added.failed;
	}
	if (all.full)
		notes_add(g->notes, 0,
			  "iteration %u: %" PRIu64 " samples found no room in the kernel's table "
			  "of stacks and were written one by one; %" PRIu64 " were added up",
			  it->iteration, all.full, all.samples);
	if (all.failed)
		notes_add(g->notes, 0,
			  "iteration %u: %" PRIu64 " samples, whose stack the kernel could not "
			  "read, were not added up",
			  it->iteration, all.failed);
}

/* A flight recorder whose rings were too small for its span. */
static void note_held(struct sampling *g, const struct session_iteration *it)
{
	uint64_t wanted_ns = 0, least_ns = UINT64_MAX;
	uint32_t cpu = 0;

	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		const struct trace_held *held = &g->results[t].held;
		uint64_t ns = held->to_ns - held->from_ns;

		if (!held->wanted_ns || ns >= held->wanted_ns || !held->is_full || ns >= least_ns)
			continue;
		least_ns = ns;
		wanted_ns = held->wanted_ns;
		cpu = g->counters->cpus[t].cpu;
	}
	if (wanted_ns)
		notes_add(g->notes, 0,
			  "iteration %u holds the last %" PRIu64 " of %" PRIu64
			  " ms of CPU %u: its buffer of %" PRIu64 " KiB is full; raise mib of "
			  "flight_recorder, or the limit of locked memory",
			  it->iteration, least_ns / 1000000, wanted_ns / 1000000, cpu,
			  g->ring_bytes >> 10);
}

/* The end of the iteration for the CPU's samples. Those of a flight recorder are many: meanwhile
 * the side bands must not overflow. */
static int cut(struct sampling *g, const struct session_iteration *it, uint32_t t,
	       uint64_t until_ns, struct err *why)
{
	struct sampler *m = &g->samplers[t];

	if (m->span_ns && it->cause == CAUSE_REQUEST && !it->is_snapshot) {
		sampler_skip(m, until_ns);
		return 0;
	}
	m->after_ns = *it->trigger ? g->plan->spec->flight.after_ns : 0;
	for (uint32_t k = 0; m->span_ns && k < g->nr_cpus; k++)
		sampling_drain_side_band(g, k);
	return sampler_cut(m, until_ns, true, why);
}

static int write_stacks(struct sampling *g, uint32_t t, struct err *why)
{
	struct trace_writer *w = g->recorder->writer;

	return w ? sampler_write_stacks(&g->samplers[t], w, &g->common, why) : 0;
}

static int write_sums(struct sampling *g, uint32_t t, struct err *why)
{
	struct trace_writer *w = g->recorder->writer;

	return w ? sampler_write_sums(&g->samplers[t], w, why) : 0;
}

/* The last iteration may wait: nothing is measured any more. */
static void settle(struct sampling *g, const struct session_iteration *it)
{
	enum { MS = 1000000, PAUSE_MS = 100, LAST_MS = 2000 };
	const struct spec *spec = g->plan->spec;
	const bool is_last = it->is_cut || atomic_load(g->config.stop) ||
			     g->plan->target.has_runs ||
			     (spec->num_iterations && it->iteration + 1 >= spec->num_iterations);

	if (g->whole)
		whole_settle(g->whole,
			     clock_monotonic_ns() + (uint64_t)(is_last ? LAST_MS : PAUSE_MS) * MS);
}

static void note_unwound(struct sampling *g, uint32_t iteration)
{
	const struct whole_counts before = g->whole_before;
	struct whole_counts c;

	if (!g->whole)
		return;
	c = g->whole_before = whole_counts(g->whole);
	log_verbose(
	    1,
	    "stacks: %" PRIu64 " unwound, %" PRIu64 " kept as bytes (%" PRIu64
	    " of unknown mappings, %" PRIu64 " without a stack, %" PRIu64
	    " not unwound in time), in %" PRIu64 " us; tables were dropped %" PRIu64 " times",
	    c.unwound, c.kept, c.unknown, c.without_stack, c.late, c.unwind_ns / 1000, c.renewed);
	if (c.late > before.late)
		notes_add(g->notes, 0,
			  "iteration %u: %" PRIu64 " samples were not unwound in time and keep the "
			  "bytes of their stacks",
			  iteration, c.late - before.late);
	if (c.refused > before.refused)
		notes_add(
		    g->notes, 0,
		    "iteration %u: too many samples waited to be unwound, and others keep the "
		    "bytes of their stacks",
		    iteration);
}

/* Samples first, then the ends of all files: on a full disk the ends use the reserved room. */
static int record_all(struct sampling *g, const struct session_iteration *it, struct err *why)
{
	uint64_t max_rate = host_max_sample_rate(g->plan->host);
	int rc = why->code, one;

	sampling_touch_copy(g);
	rc = rc ?: sampling_write_delays(g, why);
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		uint64_t until_ns = sampling_cut_ns(g, t);

		one = cut(g, it, t, until_ns, why)
			  ?: sampling_write_ticks(g, t, until_ns, why) ?: write_stacks(g, t, why);
		sampler_resume(&g->samplers[t]);
		rc = rc ?: one;
		g->results[t].max_rate_end = max_rate;
		sum_up(g, t);
		snprintf(g->results[t].held.trigger, sizeof(g->results[t].held.trigger), "%s",
			 it->trigger);
	}
	settle(g, it);
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		one = sampling_write_unwound(g, t, why) ?: write_sums(g, t, why);
		rc = rc ?: one;
	}
	dict_fini(&g->names);
	note_unwound(g, it->iteration);
	g->max_rate = max_rate;
	note_added(g, it);
	note_held(g, it);
	if (rc && g->recorder->writer) {
		common_fail(&g->common, why); /* the survey would fill the reserve */
		session_output_release(g->recorder->output);
		notes_add(g->notes, 0, UNSAVED_FORMAT, UNSAVED_WHY(why));
	}
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		one = finish_trace(g, it, t, why);
		rc = rc ?: one;
	}
	return rc;
}

int sampling_record(struct sampling *g, const struct session_iteration *it, struct err *e)
{
	struct err why;
	int rc;

	surveyor_report(&g->surveyor);
	g->pack_until_ns = clock_monotonic_ns() + SAMPLING_PACK_NS;
	sampling_read_idle(g);
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		sampling_drain_side_band(g, t);
	mapped_wake(&g->surveyor.mapped);
	note_losses(g, it->iteration);
	why = g->error;
	rc = record_all(g, it, &why);
	if (rc && e)
		*e = why;
	paced_next_iteration(g->paced);
	return rc;
}
