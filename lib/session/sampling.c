/*
 * Sampling, over all CPUs of a session. The session's thread empties the rings and writes the
 * files; a second one reads misc events at the timebase's pace (paced.h); a third one surveys
 * (surveyor.h). They share three things, each with a lock: the collectors, the queue of paced
 * readings, and the common file.
 */
#include "session/sampling.h"

#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "bpf/waits.h"
#include "interpreters/interpreters.h"
#include "pmu/ops.h"
#include "runtimes/runtimes.h"
#include "session/sampling_internal.h"
#include "whole/sums.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
	NS_PER_S = 1000000000,
	MAX_COMMON_BYTES = 1 << 30,
	MAX_UNWOUND_BYTES = 64 << 20, /* of samples that wait */
	MAX_NAMES = 1 << 22,          /* as many threads as there can be */
};

static int init_cpus(struct sampling *g)
{
	size_t nr = g->nr_cpus;
	int rc = 0;

	g->samplers = mem_calloc(nr, sizeof(*g->samplers));
	g->results = mem_calloc(nr, sizeof(*g->results));
	g->fds = mem_calloc(1 + 2 * nr, sizeof(*g->fds));
	if (!g->samplers || !g->results || !g->fds)
		return -ENOMEM;
	for (uint32_t t = 0; t < nr && rc == 0; t++)
		rc = sampler_init(&g->samplers[t], &g->counters->cpus[t], &g->pack_until_ns);
	return rc;
}

static void fini_cpus(struct sampling *g)
{
	for (uint32_t t = 0; g->samplers && t < g->nr_cpus; t++)
		sampler_fini(&g->samplers[t]);
	mem_free(g->samplers);
	mem_free(g->results);
	mem_free(g->fds);
	mem_free(g->copy);
}

static int make_copy(struct sampling *g, uint64_t bytes)
{
	if (!g->plan->spec->flight.span_ns)
		return 0;
	mem_free(g->copy);
	g->copy = mem_alloc(bytes);
	g->touched_bytes = 0;
	if (!g->copy)
		return -ENOMEM;
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		g->samplers[t].copy = g->copy;
	return 0;
}

/* What ran before is not the command's, whose mappings the kernel records. */
static bool is_known(void *arg)
{
	const struct sampling *g = arg;

	return g->plan->target.is_command || atomic_load(&g->surveyor.is_surveyed);
}

/* Without it samples keep their bytes. */
static void make_whole(struct sampling *g)
{
	const struct spec_flight *flight = &g->plan->spec->flight;
	const struct whole_config config = {.machine = g->plan->host->machine,
					    .nr_cpus = g->nr_cpus,
					    .max_bytes = MAX_UNWOUND_BYTES,
					    .keep_ns = flight->span_ns + flight->after_ns,
					    .is_ready = is_known,
					    .arg = g};
	bool is_wanted = false;

	for (size_t i = 0; i < g->plan->nr_events; i++)
		is_wanted |= spec_event_is_sampled(g->plan->events[i].asked) &&
			     g->plan->events[i].asked->is_unwound;
	if (!is_wanted || whole_new(&config, &g->whole))
		return;
	g->surveyor.whole = g->whole;
	dict_init(&g->names, sizeof(struct whole_name), DICT_KEY(struct whole_name, tid),
		  MAX_NAMES);
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		g->samplers[t].whole = g->whole;
		g->samplers[t].names = &g->names;
	}
}

static void on_mapping(void *arg, uint32_t pid, const char *path)
{
	struct sampling *g = arg;

	source_uses_look_at(&g->counters->uses, pid);
	if (g->runtimes)
		runtimes_see(g->runtimes, pid, path);
}

int sampling_new(const struct sampling_config *config, struct sampling **out)
{
	const struct counters *counters = config->counters;
	struct sampling *g = mem_zalloc(sizeof(*g));
	int rc;

	if (!g)
		return -ENOMEM;
	g->config = *config;
	g->plan = counters->plan;
	g->counters = counters;
	g->recorder = config->recorder;
	g->notes = config->notes;
	g->paced = config->paced;
	g->nr_cpus = counters->nr_cpus;
	rc = common_init(&g->common);
	if (rc)
		goto no_common;
	rc = surveyor_init(&g->surveyor, g->plan, &g->common, g->notes);
	if (rc)
		goto no_surveyor;
	rc = init_cpus(g) ?: idle_init(&g->idle, g->plan->host, counters->nr_cpus);
	if (rc)
		goto no_cpus;
	g->paced->samplers = g->samplers;
	g->delays.root = g->seen.root = &g->plan->host->root;
	g->delays.event = UINT32_MAX;
	config->counters->uses.core.add_wait = sampling_add_lasting;
	config->counters->uses.core.sampling = g;
	config->counters->uses.core.file = common_file(&g->common);
	mapped_listen(&g->surveyor.mapped, on_mapping, g);
	buf_init(&g->unwound, TRACE_FILE_RECORDS_BYTES);
	make_whole(g);
	*out = g;
	return 0;
no_cpus:
	idle_fini(&g->idle);
	fini_cpus(g);
	surveyor_fini(&g->surveyor);
no_surveyor:
	common_fini(&g->common);
no_common:
	mem_free(g);
	return rc;
}

void sampling_free(struct sampling *g)
{
	if (!g)
		return;
	sampling_close_files(g);
	whole_free(g->whole);
	dict_fini(&g->names);
	buf_fini(&g->unwound);
	idle_fini(&g->idle);
	fini_cpus(g);
	surveyor_fini(&g->surveyor);
	common_fini(&g->common);
	mem_free(g);
}

/* Waits that are found by records of switches: how long threads waited for a CPU is read, as the
 * last of their events; those that are blocked are looked at if stacks are wanted. A command does
 * not run yet. What else there is may wait, and have no switch for long. */
static void follow_switches(struct sampling *g)
{
	const struct plan_target *target = &g->plan->target;
	const struct perf_event_attr *attr = NULL;

	for (size_t i = 0; i < g->plan->nr_events; i++)
		if (plan_is_by_switches(g->plan, &g->plan->events[i]))
			g->delays.event = (uint32_t)i;
	if (g->delays.event == UINT32_MAX)
		return;
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		g->samplers[t].tids = g->samplers[t].scan.tids = &g->delays.tids;
		attr = attr ?: sampler_seen_attr(&g->samplers[t]);
	}
	g->seen.is_on = attr != NULL;
	if (!attr)
		return;
	g->seen.stack_bytes =
	    attr->sample_stack_user < SEEN_STACK_BYTES ? attr->sample_stack_user : SEEN_STACK_BYTES;
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		g->samplers[t].seen = &g->seen;
	for (size_t i = 0; i < target->nr_ids && !target->is_command; i++)
		seen_add(&g->seen, (uint32_t)target->ids[i]);
}

bool sampling_is_unrecorded(const struct sampling *g)
{
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		if (g->samplers[t].is_unrecorded)
			return true;
	return false;
}

bool sampling_is_surveyed(const struct sampling *g)
{
	return surveyor_is_done(&g->surveyor);
}

void sampling_add_process(struct sampling *g, uint32_t pid)
{
	if (g->common.file)
		surveyor_add_process(&g->surveyor, pid);
}

int sampling_open_rings(struct sampling *g, uint64_t ring_bytes)
{
	int rc = make_copy(g, ring_bytes);

	g->ring_bytes = ring_bytes;
	for (uint32_t t = 0; t < g->nr_cpus && rc == 0; t++)
		if (g->counters->cpus[t].is_open)
			rc = sampler_open(&g->samplers[t], &g->counters->probe, ring_bytes);
	if (rc)
		sampling_close_rings(g);
	else
		follow_switches(g);
	return rc;
}

void sampling_close_rings(struct sampling *g)
{
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		sampler_close(&g->samplers[t]);
}

int sampling_reopen(struct sampling *g, uint32_t trace)
{
	struct sampler *m = &g->samplers[trace];
	int rc;

	sampler_close(m);
	rc = sampler_open(m, &g->counters->probe, g->ring_bytes);
	if (rc == 0)
		sampler_hold(m);
	return rc;
}

void sampling_hold(struct sampling *g)
{
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		sampler_hold(&g->samplers[t]);
}

void sampling_add_lasting(const struct waits_lasting *wait, void *arg)
{
	struct sampling *g = arg;

	for (uint32_t t = 0; t < g->nr_cpus; t++)
		if (g->counters->cpus[t].cpu == wait->cpu)
			sampler_add_lasting(&g->samplers[t], wait);
}

void sampling_boundary(struct sampling *g, uint64_t boundary_ns)
{
	const struct plan_target *target = &g->plan->target;

	g->boundary_ns = boundary_ns;
	/* a command that has ended is not reaped yet */
	for (size_t i = 0; i < target->nr_ids; i++)
		delays_add(&g->delays, (uint32_t)target->ids[i]);
	delays_read(&g->delays);
}

const struct trace_sampling *sampling_result(const struct sampling *g, uint32_t trace)
{
	return &g->results[trace];
}

/* A ring that is emptied too late loses samples, so this thread raises its priority if permitted.
 * Threads that it starts from then on inherit it. */
static void raise_priority(struct sampling *g)
{
	enum { NICE = -10 };

	g->nice = getpriority(PRIO_PROCESS, 0);
	/* a niceness set on purpose is not changed */
	g->is_raised = g->nice <= 0 && g->nice > NICE && setpriority(PRIO_PROCESS, 0, NICE) == 0;
}

static void shorten(void *common, struct trace_shorten *how)
{
	common_shorten(common, how);
}

int sampling_prepare_files(struct sampling *g, struct err *e)
{
	int level = spec_zstd_level(g->plan->spec);

	if (!g->recorder->writer)
		return 0;
	if (level) {
		g->packer = trace_packer_new(level);
		if (!g->packer)
			return err_set(e, -ENOMEM, "no memory for compression");
	}
	session_output_set_shorten(g->recorder->output, shorten, &g->common);
	return common_prepare(&g->common, g->recorder, level, e);
}

/* Ends the threads and the common file, whose totals cover the whole session. */
static int finish_common(struct sampling *g, struct err *e)
{
	enum { MAX_NOTES = 64 };
	const char *notes[SURVEYOR_NR_NOTES + MAX_NOTES + 1];
	bool is_late;
	size_t nr;

	paced_stop(g->paced);
	if (g->counters->interpreters)
		interpreters_stop(g->counters->interpreters);
	mapped_listen(&g->surveyor.mapped, NULL, NULL);
	is_late = runtimes_stop(g->runtimes) != 0;
	g->runtimes = NULL;
	surveyor_end(&g->surveyor);
	nr = source_uses_end(&g->counters->uses, notes + SURVEYOR_NR_NOTES, MAX_NOTES);
	if (is_late)
		notes[SURVEYOR_NR_NOTES + nr++] = "methods of Java that were compiled last have no "
						  "names: to read them took too long";
	if (!g->common.file)
		return 0;
	for (size_t i = 0; i < nr; i++)
		notes_add_late(g->notes, notes[SURVEYOR_NR_NOTES + i]);
	surveyor_notes(&g->surveyor, notes);
	return common_finish(&g->common, g->started_ns, notes, SURVEYOR_NR_NOTES + nr, e);
}

/* A stopped session, and one whose command has ended, does not wait for an incomplete survey of a
 * busy machine. */
int sampling_finish(struct sampling *g, struct err *e)
{
	if (atomic_load(g->config.stop) || g->plan->target.has_runs)
		surveyor_stop(&g->surveyor);
	return finish_common(g, e);
}

void sampling_close_files(struct sampling *g)
{
	surveyor_stop(&g->surveyor);
	if (g->common.file) /* the session failed */
		session_output_release(g->recorder->output);
	(void)finish_common(g, NULL);
	if (g->is_raised)
		(void)setpriority(PRIO_PROCESS, 0, g->nice);
	g->is_raised = false;
	trace_packer_free(g->packer);
	trace_packer_free(g->stacks);
	g->packer = g->stacks = NULL;
}

void sampling_enable(const struct sampling *g, uint32_t trace)
{
	sampler_enable(&g->samplers[trace]);
}

/* When the CPU's samplers were read for these readings; without samplers, the boundary. */
static uint64_t read_ns(const struct sampling *g, uint32_t trace, const struct reading *readings)
{
	const struct sampler *m = &g->samplers[trace];
	uint64_t latest_ns = 0;

	for (uint32_t i = 0; i < m->scan.nr_events; i++) {
		uint64_t ns = readings[m->events[i].part].time_ns;

		latest_ns = ns > latest_ns ? ns : latest_ns;
	}
	return latest_ns ? latest_ns : g->boundary_ns;
}

uint64_t sampling_cut_ns(const struct sampling *g, uint32_t trace)
{
	return read_ns(g, trace, g->samplers[trace].cpu->end);
}

/* While a target does not run, it is not idle, and its clock stands still. */
void sampling_read_idle(struct sampling *g)
{
	bool has_target = g->plan->target.nr_ids;

	idle_read(&g->idle);
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		g->results[t].idle_ns =
		    has_target ? UINT64_MAX : idle_since(&g->idle, t, g->counters->cpus[t].cpu);
}

/* Drops what the CPU recorded before these readings. What is added up was held for them. */
static int drop_before(struct sampling *g, uint32_t trace, const struct reading *readings,
		       struct err *e)
{
	struct sampler *m = &g->samplers[trace];
	int rc = sampler_cut(m, read_ns(g, trace, readings), false, e);

	sampler_resume(m);
	return rc;
}

/* Drops what was recorded before the CPUs' end readings. */
static int drop_earlier(struct sampling *g, struct err *e)
{
	int rc = 0;

	sampling_read_idle(g);
	for (uint32_t t = 0; t < g->nr_cpus && rc == 0; t++)
		rc = drop_before(g, t, g->counters->cpus[t].end, e);
	return rc;
}

void sampling_begin_cpu(struct sampling *g, uint32_t trace)
{
	(void)drop_before(g, trace, g->counters->cpus[trace].start, &g->error);
}

int sampling_restart(struct sampling *g, struct err *e)
{
	int rc;

	g->pause_ns = 0;
	if (g->plan->target.has_runs) {
		surveyor_add_command(&g->surveyor);
		surveyor_add_programs(&g->surveyor);
		if (g->runtimes)
			runtimes_follow(g->runtimes, g->plan->target.ids[0]);
	}
	rc = drop_earlier(g, e);
	if (g->runtimes)
		runtimes_lose(g->runtimes); /* what was mapped meanwhile */
	seen_renew(&g->seen);               /* after the last records from before the gap */
	if (g->seen.is_on && g->plan->target.is_command && !g->plan->target.has_runs)
		seen_add_tree(&g->seen, (uint32_t)g->plan->target.ids[0]);
	return rc;
}

/* Threads whose delays are read may end soon: the first pauses are short. */
static void set_drain_due(struct sampling *g, uint64_t now_ns)
{
	enum { FIRST_NS = 4000000 };
	uint64_t longest_ns = g->plan->spec->flush_interval_ns;

	g->pause_ns = g->delays.event == UINT32_MAX ? longest_ns
		      : g->pause_ns                 ? 2 * g->pause_ns
						    : FIRST_NS;
	if (g->pause_ns > longest_ns)
		g->pause_ns = longest_ns;
	g->drain_due_ns = now_ns + g->pause_ns;
}

static void add_code(void *common, const struct trace_code *code)
{
	(void)common_add_code(common, code); /* an error sticks there */
}

static void add_compiled(void *common, const struct trace_compiled *change)
{
	(void)common_add_compiled(common, change); /* an error sticks there */
}

/* Records of all that is mapped on the machine arrive. */
static bool has_side_bands(const struct sampling *g)
{
	return !ARRAY_ANY(s, g->samplers, g->nr_cpus, !s->side_band.base);
}

/* Interpreted methods are found in these alone. */
static bool keeps_stacks(const struct plan *p)
{
	for (size_t i = 0; i < p->nr_events; i++)
		if (spec_event_is_sampled(p->events[i].asked) &&
		    p->events[i].asked->flags & SPEC_USER_STACK)
			return true;
	return false;
}

/* Without it code that runtimes compile has no names. */
static void start_runtimes(struct sampling *g)
{
	const struct plan_target *t = &g->plan->target;
	const struct runtimes_of of = {.root = &g->plan->host->root,
				       .ids = t->ids,
				       .nr_ids = t->nr_ids,
				       .has_children = !t->is_process_only,
				       .is_told = !t->nr_ids && has_side_bands(g),
				       .wants_methods = keeps_stacks(g->plan)};

	if (!g->common.file || t->is_cgroup || g->counters->probe.pmu != &pmu_kernel_ops)
		return;
	if (runtimes_start(&g->runtimes, &of, add_compiled, &g->common))
		log_verbose(1, "methods of Java have no names: a thread cannot be started");
}

int sampling_start(struct sampling *g, struct err *e)
{
	int rc = g->common.writer ? common_create(&g->common, g->recorder, e) : 0;

	if (rc)
		return rc;
	if (g->idle.is_contained && (!g->plan->target.nr_ids || g->plan->target.is_cgroup))
		notes_add(g->notes, 0,
			  "in a PID namespace: tasks outside it have no pid and cannot be "
			  "distinguished from idle CPUs");
	g->started_ns = clock_monotonic_ns();
	set_drain_due(g, g->started_ns);
	g->progress_due_ns = g->started_ns + NS_PER_S;
	g->max_rate = host_max_sample_rate(g->plan->host);
	g->pack_until_ns = g->started_ns + SAMPLING_PACK_NS;
	rc = drop_earlier(g, e);
	surveyor_add_command(&g->surveyor);
	if (rc == 0 && g->counters->interpreters)
		rc = interpreters_start(g->counters->interpreters, add_code, &g->common);
	if (rc == 0)
		start_runtimes(g);
	raise_priority(g); /* what reads runtimes and interpreters does not have it */
	if (rc == 0 && g->common.file && surveyor_start(&g->surveyor, g->nice))
		notes_add(g->notes, 0,
			  "cannot start a thread: tasks and symbols from before the start are "
			  "missing");
	if (rc == 0 && g->whole && g->surveyor.is_running)
		(void)whole_start(g->whole); /* without the thread samples keep their bytes */
	if (rc)
		return err_set(e, rc, "sampling cannot start: %s", strerror(-rc));
	return source_uses_start(&g->counters->uses, e);
}

/* Without memory stacks are written as they are. */
static struct trace_packer *packer_of(struct sampling *g, uint32_t t)
{
	if (g->packer || !sampler_adds_up(&g->samplers[t]))
		return g->packer;
	if (!g->stacks)
		g->stacks = trace_packer_new(0);
	return g->stacks;
}

static int create_trace(struct sampling *g, uint32_t iteration, uint32_t t,
			const struct session_things *things, struct trace_file **out, struct err *e)
{
	const struct session_cpu *cpu = &g->counters->cpus[t];
	struct trace_head head = recorder_head(g->recorder, iteration, t, cpu->cpu);
	struct trace_writer *w = g->recorder->writer;
	struct clock_triple now;
	int rc = trace_writer_begin(w, &head);

	if (rc)
		return err_set(e, rc, "a trace cannot be written: %s", strerror(-rc));
	clock_triple_now(&now);
	trace_writer_ids(w, g->samplers[t].ids, g->samplers[t].nr_ids);
	trace_writer_clocks(w, &now);
	recorder_add_readings(g->recorder, w, TRACE_START, cpu->start);
	if (t == 0) { /* each iteration's first trace names its things itself */
		recorder_add_things(w, TRACE_START, things);
		session_things_write(things, &g->counters->uses, w, UINT64_MAX);
		ticks_skip_names(&g->paced->ticks, things);
	}
	return session_output_create(g->recorder->output, w, iteration, t, packer_of(g, t), out, e);
}

/* A trace without a file (its name was taken) drops the gathered data. What waits is older. */
static int append(struct sampling *g, uint32_t t, struct err *e)
{
	struct sampler *s = &g->samplers[t];

	return s->file
		   ? sampler_write_apart(s, e) ?: trace_file_append(s->file, g->recorder->writer, e)
		   : 0;
}

/* Into the trace of the target, the last one. */
int sampling_write_delays(struct sampling *g, struct err *e)
{
	struct trace_writer *w = g->recorder->writer;

	if (!w || !g->delays.nr_readings)
		return 0;
	trace_writer_more(w);
	trace_writer_readings(w, TRACE_TICK, g->delays.readings, g->delays.nr_readings);
	g->delays.nr_readings = 0;
	return append(g, g->nr_cpus - 1, e);
}

/* What cannot be written ends the iteration at once (sampling_failed): its files have their ends.
 */
int sampling_begin(struct sampling *g, uint32_t iteration, const struct session_things *things,
		   struct err *e)
{
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		struct trace_file *file = NULL;
		struct err why = {0};
		int rc = 0;

		if (g->recorder->writer)
			rc = create_trace(g, iteration, t, things, &file, &why);
		rc = recorder_go_on_without(g->recorder, rc, &why, e);
		if (rc)
			return rc;
		(void)sampler_begin(&g->samplers[t], file, g->error.code ? NULL : &g->error);
	}
	if (!g->error.code)
		(void)sampling_write_delays(g, &g->error);
	return 0;
}

const struct err *sampling_failed(const struct sampling *g)
{
	return g->error.code ? &g->error : NULL;
}

static int write_queue(struct sampling *g, uint32_t t, struct ticks *ticks, uint64_t until_ns,
		       struct err *e)
{
	struct trace_writer *w = g->recorder->writer;
	const struct reading *readings;
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++) {
		size_t nr = ticks_next(ticks, t, until_ns, &readings);

		if (!nr)
			break;
		trace_writer_more(w);
		trace_writer_readings(w, TRACE_TICK, readings, nr);
		rc = append(g, t, e);
	}
	return rc;
}

/* Of a flight recorder: those that are older than its span. */
static void drop_older(struct sampling *g, uint64_t until_ns)
{
	const struct spec_flight *f = &g->plan->spec->flight;
	bool is_end = until_ns != UINT64_MAX;
	uint64_t now_ns = is_end ? until_ns : clock_monotonic_ns();
	uint64_t span_ns = f->span_ns + (is_end ? g->samplers[0].after_ns : f->after_ns);

	paced_drop_samples(g->paced, now_ns > span_ns ? now_ns - span_ns : 0);
}

/* Readings of sources with rates of their own, and of their clocks. A flight recorder keeps them
 * until its iteration ends. */
static int write_samples(struct sampling *g, uint64_t until_ns, struct err *e)
{
	struct trace_writer *w = g->recorder->writer;
	int rc = 0;

	paced_take_samples(g->paced, until_ns, false);
	trace_writer_more(w);
	if (paced_write_clocks(g->paced, w, UINT64_MAX))
		rc = append(g, 0, e);
	if (g->plan->spec->flight.span_ns)
		drop_older(g, until_ns);
	if (g->plan->spec->flight.span_ns && until_ns == UINT64_MAX)
		return rc;
	return rc ?: write_queue(g, 0, &g->paced->samples, until_ns, e);
}

/* Writes the queued readings up to that time, names first: the rest of the previous round, then
 * newer ones. Each batch is written before the next is collected, since a writer has a limit. */
int sampling_write_ticks(struct sampling *g, uint32_t t, uint64_t until_ns, struct err *e)
{
	struct trace_writer *w = g->recorder->writer;
	int rc = 0;

	if (!w)
		return 0;
	trace_writer_more(w);
	if (t == 0 && ticks_write_names(&g->paced->ticks, &g->counters->uses, w, until_ns))
		rc = append(g, t, e);
	rc = rc ?: write_queue(g, t, &g->paced->ticks, until_ns, e);
	return rc || t ? rc : write_samples(g, until_ns, e);
}

/* A flight recorder may run for days, with more tasks than shortening can remove. */
static struct trace_file *side_band_file(struct sampling *g)
{
	bool is_full = g->plan->spec->flight.span_ns && g->common.file &&
		       trace_file_bytes(g->common.file) > MAX_COMMON_BYTES;

	if (is_full && !g->is_common_full)
		notes_add(g->notes, 0,
			  "the common file has 1 GiB: what begins or is mapped from now on will "
			  "have no name");
	g->is_common_full = is_full;
	return is_full ? NULL : g->common.file;
}

void sampling_drain_side_band(struct sampling *g, uint32_t t)
{
	const uint64_t lost = g->samplers[t].side_band_lost;

	common_lock(&g->common);
	if (sampler_drain_side_band(&g->samplers[t], side_band_file(g), &g->surveyor.mapped,
				    &g->common.error) &&
	    !g->error.code)
		g->error = g->common.error;
	common_unlock(&g->common);
	if (g->runtimes && g->samplers[t].side_band_lost != lost)
		runtimes_lose(g->runtimes);
}

/* poll said that one of the CPU's rings has enough records. */
static bool is_woken(const struct sampling *g, uint32_t t)
{
	return g->fds[1 + 2 * t].revents || g->fds[2 + 2 * t].revents;
}

/* The rings of these CPUs, or of all. Side bands first: processes with new mappings are queried
 * while samples are written. Errors stick in g->error. */
static void drain(struct sampling *g, bool is_all)
{
	for (uint32_t t = 0; t < g->nr_cpus && !g->error.code; t++)
		if (is_all || is_woken(g, t))
			sampling_drain_side_band(g, t);
	mapped_wake(&g->surveyor.mapped);
	for (uint32_t t = 0; t < g->nr_cpus && !g->error.code; t++)
		if (is_all || is_woken(g, t))
			(void)sampler_drain(&g->samplers[t], &g->error);
}

int sampling_write_unwound(struct sampling *g, uint32_t t, struct err *e)
{
	return g->whole ? sampler_write_unwound(&g->samplers[t], &g->unwound, e) : 0;
}

/* To be unwound: first all samples, then what was mapped when they were taken. */
static void drain_all(struct sampling *g)
{
	for (uint32_t t = 0; t < g->nr_cpus && !g->error.code; t++)
		(void)sampler_drain(&g->samplers[t], &g->error);
	for (uint32_t t = 0; t < g->nr_cpus && !g->error.code; t++)
		sampling_drain_side_band(g, t);
	mapped_wake(&g->surveyor.mapped);
	whole_go(g->whole);
	for (uint32_t t = 0; t < g->nr_cpus && !g->error.code; t++)
		(void)sampling_write_unwound(g, t, &g->error);
}

/* poll ignores descriptors below 0. */
static void set_fds(struct sampling *g)
{
	g->fds[0] = (struct pollfd){.fd = g->config.stop_fd, .events = POLLIN};
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		const struct sampler *m = &g->samplers[t];
		bool is_there = m->cpu->is_open && !m->is_hung_up;

		g->fds[1 + 2 * t] =
		    (struct pollfd){.fd = is_there && m->ring.base && !m->span_ns ? m->ring.fd : -1,
				    .events = POLLIN};
		g->fds[2 + 2 * t] = (struct pollfd){
		    .fd = is_there && m->side_band.base ? m->side_band.fd : -1, .events = POLLIN};
	}
}

static void report_progress(struct sampling *g, uint64_t now_ns)
{
	const struct spec *spec = g->plan->spec;
	uint64_t whole_ns = spec->duration_ns * spec->num_iterations;
	struct session_progress p = {.bytes_written = g->closed_bytes,
				     .elapsed_ns = now_ns - g->started_ns};

	g->progress_due_ns = now_ns + NS_PER_S;
	if (!g->config.on_progress)
		return;
	if (g->plan->target.until_end || !spec->num_iterations)
		p.left_ns = UINT64_MAX;
	else if (whole_ns > p.elapsed_ns)
		p.left_ns = whole_ns - p.elapsed_ns;
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		p.samples += sampler_samples(&g->samplers[t]);
		p.lost += sampler_lost(&g->samplers[t]);
		if (g->samplers[t].file)
			p.bytes_written += trace_file_bytes(g->samplers[t].file);
	}
	g->config.on_progress(&p, g->config.arg);
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Touches what the fullest ring needs of the copy, so that the kernel need not allocate it while
 * the ring is paused. A ring that is larger than its samples costs no more. */
void sampling_touch_copy(struct sampling *g)
{
	uint64_t wanted = 0;

	for (uint32_t t = 0; g->copy && t < g->nr_cpus; t++) {
		uint64_t used = sampler_held_bytes(&g->samplers[t]);

		wanted = used > wanted ? used : wanted;
	}
	wanted += wanted / 8;
	if (wanted > g->ring_bytes)
		wanted = g->ring_bytes;
	if (wanted <= g->touched_bytes)
		return;
	memset(g->copy + g->ring_bytes - wanted, 1, wanted - g->touched_bytes);
	g->touched_bytes = wanted;
}

/* Into the first trace with such an event: readers sort by time. */
static void add_seen(void *arg, const struct seen_wait *w)
{
	struct sampling *g = arg;

	delays_put(&g->delays, &w->delay);
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		if (sampler_seen_attr(&g->samplers[t])) {
			sampler_add_seen(&g->samplers[t], w);
			return;
		}
}

/* Looks at threads that are blocked. */
static void look(struct sampling *g, uint64_t now_ns)
{
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		sampler_peek(&g->samplers[t]);
	seen_look(&g->seen, now_ns, add_seen, g);
	if (!g->error.code)
		(void)sampling_write_delays(g, &g->error);
}

bool sampling_is_early_flush(const struct sampling *g, uint64_t now_ns)
{
	return now_ns + g->pause_ns / 4 * 3 >= g->drain_due_ns;
}

bool sampling_is_early_progress(const struct sampling *g, uint64_t now_ns)
{
	return now_ns + earliest(g->pause_ns / 2, NS_PER_S / 8) >= g->progress_due_ns;
}

void sampling_wait(struct sampling *g, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t due_ns =
	    g->seen.is_on ? earliest(g->seen.due_ns, g->drain_due_ns) : g->drain_due_ns;
	uint64_t until_ns = earliest(deadline_ns, earliest(due_ns, g->progress_due_ns));
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_S),
				.tv_nsec = (long)(left_ns % NS_PER_S)};
	bool is_any = false;
	int rc;

	set_fds(g);
	rc = ppoll(g->fds, 1 + 2 * (nfds_t)g->nr_cpus, &left, NULL);
	now_ns = clock_monotonic_ns();
	g->pack_until_ns = now_ns + SAMPLING_PACK_NS;
	for (uint32_t t = 0; rc > 0 && t < g->nr_cpus && !g->error.code; t++) {
		short revents = g->fds[1 + 2 * t].revents | g->fds[2 + 2 * t].revents;

		/* an offline CPU's ring reports POLLHUP, which would wake the loop forever */
		g->samplers[t].is_hung_up |= (revents & ~POLLIN) != 0;
		is_any |= revents != 0;
	}
	if (!g->whole && is_any)
		drain(g, false);
	/* where one ring is reason to empty all, these are not due before the next pause is over */
	if (g->whole && is_any && g->delays.event == UINT32_MAX &&
	    sampling_is_early_flush(g, now_ns))
		g->drain_due_ns = now_ns;
	if (g->whole && (is_any || now_ns >= g->drain_due_ns))
		drain_all(g);
	if (g->seen.is_on && now_ns >= g->seen.due_ns)
		look(g, now_ns);
	if (now_ns >= g->drain_due_ns) {
		if (!g->whole)
			drain(g, true);
		for (uint32_t t = 0; t < g->nr_cpus && !g->error.code; t++)
			(void)sampling_write_ticks(g, t, UINT64_MAX, &g->error);
		delays_read(&g->delays);
		if (!g->error.code)
			(void)sampling_write_delays(g, &g->error);
		sampling_touch_copy(g);
		set_drain_due(g, now_ns);
		if (g->recorder->writer)
			session_output_grown(g->recorder->output, common_is_due(&g->common));
	}
	if (sampling_is_early_progress(g, now_ns))
		report_progress(g, now_ns);
}
