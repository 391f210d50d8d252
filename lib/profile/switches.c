/*
 * Two passes over all records in order of time: through the threads' phases, which make samples.
 */
#include "profile/switches.h"

#include "base/cause.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/load.h"
#include "profile/merged.h"
#include "profile/phases.h"
#include "profile/samples.h"
#include "profile/session_internal.h"
#include "profile/wait_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A trace of the target, by iteration. */
struct part {
	uint32_t iteration;
	uint64_t start_ns, end_ns;
	bool is_run, is_command;
	struct trace_ids ids;           /* item is owned */
	struct trace_sampling sampling; /* without items */
	size_t at, bytes;               /* of the frames that were made */
	/* What a clock counted of its tasks, what records show of that, and in how many runs. */
	uint64_t counted_ns, ran_ns, nr_runs;
};

struct profile_switches {
	struct part *parts; /* owned; by iteration */
	size_t nr_parts;
	const uint8_t *frames; /* mapped */
	size_t bytes;
	struct profile_waits waits;
	bool has_waits;
};

struct maker {
	struct profile_session *session;
	const struct profile_facts *facts;
	struct profile_switches *out;
	struct wait_samples samples;
	struct phases phases;
	uint64_t last_ns; /* of all records */
	bool is_first;    /* of the passes: nothing is made */
	size_t part;      /* the current one */
	bool *has_count;  /* owned; of the traces of the current iteration, in the first pass */
	bool has_begun;   /* the current one */
};

static void ignore_problem(void *arg, bool is_loss, const struct err *problem)
{
	(void)arg;
	(void)is_loss;
	(void)problem;
}

static struct part *current(const struct maker *m)
{
	return m->part < m->out->nr_parts ? &m->out->parts[m->part] : NULL;
}

/* A task's clock counts a while before the record of its switch in, and after that of its switch
 * out: measuring itself. What records do not show is divided equally among the runs, if it is not
 * so much that something else is missing. */
static uint64_t run_ns(const struct part *p)
{
	enum { MAX_RUN_NS = 50000 };
	uint64_t ns =
	    p->nr_runs && p->counted_ns > p->ran_ns ? (p->counted_ns - p->ran_ns) / p->nr_runs : 0;

	return ns < MAX_RUN_NS ? ns : 0;
}

/* In the first pass: a trace of the iteration, which is read whole before its records. */
static void add_count(struct maker *m, const struct profile_trace *trace)
{
	const uint32_t nr = trace->head.trace, event = wait_samples_any_clock(&m->samples);
	const struct profile_pair *pair;

	if (!m->is_first || nr >= m->facts->nr_traces || m->has_count[nr] || event == UINT32_MAX)
		return;
	m->has_count[nr] = true;
	pair = &trace->pairs[event];
	if (pair->has_start && pair->has_end && pair->end.raw > pair->start.raw)
		current(m)->counted_ns += pair->end.raw - pair->start.raw;
}

/* Nothing was recorded between two iterations, if there is a gap. */
static void begin_phases(struct maker *m)
{
	const struct part *p = current(m);

	m->phases.run_ns = p && !m->is_first ? run_ns(p) : 0;
	memset(m->has_count, 0, m->facts->nr_traces * sizeof(*m->has_count));
	if (p)
		phases_begin(&m->phases, p->start_ns, p->is_command,
			     m->part && p->start_ns > p[-1].end_ns);
}

static int begin_part(struct maker *m)
{
	struct part *p = current(m);

	m->has_begun = true;
	p->at = m->samples.bytes;
	return m->is_first ? 0 : wait_samples_begin(&m->samples, &p->ids);
}

static int end_part(struct maker *m)
{
	struct part *p = current(m);
	int rc = m->has_begun ? 0 : begin_part(m);

	if (!p->end_ns) /* the recorder was killed */
		p->end_ns = m->last_ns;
	/* the next run is of other processes */
	rc = rc ?: phases_end(&m->phases, p->end_ns, p->is_run);
	if (m->is_first) {
		p->ran_ns = m->phases.ran_ns;
		p->nr_runs = m->phases.nr_runs;
	}
	if (rc == 0 && !m->is_first)
		rc = wait_samples_end(&m->samples, p->start_ns, p->end_ns, &p->sampling);
	p->bytes = m->samples.bytes - p->at;
	m->part++;
	m->has_begun = false;
	begin_phases(m);
	return rc;
}

/* Of a task that was found. On a busy machine it may be after the last iteration. */
static bool is_surveyed(const struct profile_item *item)
{
	return item->kind == PROFILE_RECORD && item->ring == TRACE_RING_MADE &&
	       (item->record.kind == PERF_RECORD_FORK || item->record.kind == PERF_RECORD_EXIT);
}

static int add_task(struct maker *m, const struct profile_item *item)
{
	return item->ring == TRACE_RING_MADE ? 0 : phases_add_task(&m->phases, &item->record);
}

static int add_record(struct maker *m, const struct profile_item *item)
{
	const struct trace_record *r = &item->record;
	bool is_sample = r->kind == PERF_RECORD_SAMPLE && item->id && item->layout;

	if (r->kind == PERF_RECORD_LOST)
		phases_add_loss(&m->phases);
	if ((!is_sample && r->kind != PERF_RECORD_SWITCH) || !(r->has & TRACE_HAS_TID) || !r->tid ||
	    r->tid == TRACE_UNKNOWN)
		return 0;
	if (!is_sample)
		return phases_add_switch(&m->phases, r);
	/* programs in the kernel write it when the wait ends, also of a thread that has ended */
	if (item->layout->is_wait && r->wait != TRACE_WAIT_IS_SEEN)
		return 0;
	return r->wait == TRACE_WAIT_IS_SEEN ? phases_add_seen(&m->phases, r, item->id->event)
					     : phases_add_sample(&m->phases, r, item->id->event);
}

/* The current iteration has ended when this happened. */
static bool is_over(const struct maker *m, const struct profile_merged_item *item)
{
	const struct part *p = current(m);

	return (p->end_ns && item->item->time_ns > p->end_ns) ||
	       (item->trace && item->trace->head.iteration > p->iteration);
}

/* It was recorded when the iteration before had ended and its events still counted: in the gap up
 * to the current one, where what came after it is not known. */
static bool is_of_gap(const struct maker *m, const struct profile_merged_item *item)
{
	const struct part *p = current(m);

	return item->trace->head.iteration < p->iteration && item->item->time_ns < p->start_ns;
}

static int add_item(struct maker *m, const struct profile_merged_item *item)
{
	const struct profile_trace *trace = item->trace;
	int rc = 0;

	if (!trace && is_surveyed(item->item))
		rc = phases_add_surveyed(&m->phases, &item->item->record);
	if (item->item->kind == PROFILE_RECORD)
		m->last_ns = item->item->time_ns;
	while (rc == 0 && current(m) && is_over(m, item))
		rc = end_part(m);
	if (rc == 0 && item->item->kind == PROFILE_READING &&
	    item->item->reading.flags & READING_OF_THREAD)
		return phases_add_reading(&m->phases, &item->item->reading);
	if (rc || item->item->kind != PROFILE_RECORD || !current(m) ||
	    (trace && is_of_gap(m, item)))
		return rc;
	if (!m->has_begun)
		rc = begin_part(m);
	if (trace)
		add_count(m, trace);
	return rc ?: trace ? add_record(m, item->item) : add_task(m, item->item);
}

static int read_all(struct maker *m, bool is_first)
{
	struct profile_merged_item item;
	struct profile_merged *merged;
	int rc = profile_merged_open_all(m->session, ignore_problem, NULL, &merged), got = 0;

	if (rc)
		return rc;
	m->is_first = is_first;
	m->part = 0;
	phases_begin_pass(&m->phases, is_first);
	begin_phases(m);
	while (rc == 0 && (got = profile_merged_next(merged, &item)) == 1)
		rc = add_item(m, &item);
	profile_merged_close(merged);
	rc = rc ?: got;
	while (rc == 0 && current(m))
		rc = end_part(m);
	return rc;
}

/* Loads the target's trace of an iteration. 1; 0: it cannot be read; -ENOMEM. */
static int load_part(struct maker *m, size_t file, struct profile_load *l)
{
	struct profile_faults faults = {.problem = ignore_problem};
	struct part *p = &m->out->parts[m->out->nr_parts];
	char name[NAME_MAX + 1];
	struct trace_reader *r;
	int rc = profile_session_open_file(m->session, file, &faults, name, &r);

	if (rc != 1)
		return rc;
	rc = trace_reader_head(r)->cpu == TRACE_ANY_CPU ? profile_load_trace(l, r, name) : 0;
	trace_reader_close(r);
	if (rc != 1)
		return rc;
	*p = (struct part){.iteration = l->trace.head.iteration,
			   .start_ns = l->trace.start_ns,
			   .end_ns = l->trace.end_ns,
			   .is_run = l->trace.cause == CAUSE_RUN,
			   .is_command =
			       l->trace.target && l->trace.target->flags & TRACE_TARGET_IS_COMMAND,
			   .ids = l->ids,
			   .sampling = l->sampling};
	p->sampling.item = NULL;
	l->ids = (struct trace_ids){0};
	m->out->nr_parts++;
	return 1;
}

static int load_parts(struct maker *m)
{
	size_t nr = profile_session_nr_files(m->session);
	struct trace_events events = {.item = (struct trace_event *)m->facts->events,
				      .nr = m->facts->nr_events};
	struct profile_faults faults = {.problem = ignore_problem};
	struct profile_load l;
	int rc;

	m->out->parts = mem_calloc(nr + 1, sizeof(*m->out->parts));
	if (!m->out->parts)
		return -ENOMEM;
	rc = profile_load_init(&l, &events, &faults);
	if (rc)
		return rc;
	for (size_t i = 0; i < nr && rc >= 0; i++)
		if (profile_session_file(m->session, i).trace + 1 == m->facts->nr_traces)
			rc = load_part(m, i, &l);
	profile_load_fini(&l);
	return rc < 0 ? rc : 0;
}

static int map_frames(struct maker *m)
{
	void *base;

	if (!m->samples.bytes)
		return 0;
	base = mmap(NULL, m->samples.bytes, PROT_READ, MAP_PRIVATE, m->samples.fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	m->out->frames = base;
	m->out->bytes = m->samples.bytes;
	m->out->waits = m->samples.waits;
	return 0;
}

static int make(struct maker *m, struct err *e)
{
	int rc = load_parts(m);

	if (rc || !m->out->nr_parts)
		return rc;
	return wait_samples_open(&m->samples, e)
		   ?: read_all(m, true) ?: read_all(m, false) ?: map_frames(m);
}

int profile_switches_make(struct profile_session *s, struct profile_switches **out, struct err *e)
{
	struct maker m = {.session = s, .facts = profile_session_facts(s)};
	int rc;

	*out = NULL;
	if (!wait_samples_init(&m.samples, m.facts, &rc)) {
		wait_samples_fini(&m.samples);
		return rc ? err_set(e, rc, "out of memory") : 0;
	}
	phases_init(&m.phases, &m.samples);
	m.out = mem_zalloc(sizeof(*m.out));
	if (m.out)
		m.out->has_waits = m.samples.has_waits;
	m.has_count = mem_calloc(m.facts->nr_traces + 1, sizeof(*m.has_count));
	rc = m.out && m.has_count ? make(&m, e) : -ENOMEM;
	mem_free(m.has_count);
	phases_fini(&m.phases);
	wait_samples_fini(&m.samples);
	if (rc) {
		profile_switches_free(m.out);
		return err_set(e, rc, "%s", strerror(-rc));
	}
	*out = m.out;
	return 0;
}

void profile_switches_free(struct profile_switches *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nr_parts; i++)
		trace_ids_fini(&w->parts[i].ids);
	if (w->frames)
		munmap((void *)w->frames, w->bytes);
	mem_free(w->parts);
	mem_free(w);
}

const struct profile_waits *profile_switches_waits(const struct profile_switches *w)
{
	return w->has_waits ? &w->waits : NULL;
}

/* ---- a trace with what was made: first that, then the frames of the file */

static int next_frame(void *arg, struct trace_frame *out, struct err *e)
{
	int rc;

	do
		rc = trace_reader_next(arg, out, e);
	while (rc == 1 && (out->kind == TRACE_FRAME_IDS || out->kind == TRACE_FRAME_SAMPLING));
	return rc;
}

static uint64_t file_bytes(const void *arg)
{
	return trace_reader_bytes(arg);
}

static bool is_whole(const void *arg)
{
	return trace_reader_is_whole(arg);
}

static void close_file(void *arg)
{
	trace_reader_close(arg);
}

static int compare_part(const void *iteration, const void *part)
{
	const uint32_t *a = iteration;
	const struct part *b = part;

	return order_u64(*a, b->iteration);
}

int profile_switches_add(const struct profile_switches *w, struct trace_reader *r,
			 struct trace_reader **out)
{
	static const struct trace_feed feed = {next_frame, file_bytes, is_whole, close_file};
	const struct trace_head *head = trace_reader_head(r);
	const struct part *p =
	    w && head->cpu == TRACE_ANY_CPU
		? bsearch(&head->iteration, w->parts, w->nr_parts, sizeof(*w->parts), compare_part)
		: NULL;

	*out = r;
	if (!p || !p->bytes)
		return 0;
	return trace_reader_open_feed(head, w->frames + p->at, p->bytes, &feed, r, "", out);
}
