/*
 * Perfetto's own format, a stream of packets: a description of the session and its clocks, counters
 * over time, samples with their stacks in the order of the files, and at the end the tasks they
 * belong to. Readers sort packets by time (CLOCK_MONOTONIC).
 */
#include "exports/perfetto/perfetto.h"
#include "base/array.h"
#include "base/order.h"
#include "counts/series.h"

#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "export/proto.h"
#include "exports/exports.h"
#include "exports/lines.h"
#include "exports/regions.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "samples.h"
#include "trace/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fields of messages in the public definitions. */
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP };
enum { UUID_MSB = 1, UUID_LSB };
enum { SYSTEM_UTSNAME = 1, SYSTEM_HZ = 3, SYSTEM_TOOL, SYSTEM_PAGE_BYTES = 6 };
enum { UTSNAME_SYSNAME = 1, UTSNAME_VERSION, UTSNAME_RELEASE, UTSNAME_MACHINE };
enum { CONFIG_DATA_SOURCE = 2, DATA_SOURCE_CONFIG = 1 };
enum { SOURCE_NAME = 1, SOURCE_PERF_EVENT = 111, PERF_EVENT_TIMEBASE = 15 };
enum { DEFAULTS_PERF_SAMPLE = 12, DEFAULTS_CLOCK = 58, PERF_SAMPLE_TIMEBASE = 1 };
enum { TIMEBASE_PERIOD = 1, TIMEBASE_FREQUENCY, TIMEBASE_NAME = 10, TIMEBASE_CLOCK };
enum { PERF_CLOCK_MONOTONIC = 2 };
enum {
	PROCESS_PID = 1,
	PROCESS_CMDLINE,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID,
	THREAD_NAME = 5
};
enum { EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_NAME = 23, TYPE_INSTANT = 3 };
enum {
	SAMPLE_CPU = 1,
	SAMPLE_PID,
	SAMPLE_TID,
	SAMPLE_STACK,
	SAMPLE_MODE,
	SAMPLE_COUNT,
	SAMPLE_LOST = 17
};
enum { MODE_UNKNOWN = 0, MODE_KERNEL, MODE_USER };

enum {
	PARTS = REPORT_BY_STACK | REPORT_BY_ADDRESS | REPORT_BY_CPU | REPORT_BY_PID |
		REPORT_BY_TID | REPORT_BY_COMM | REPORT_BY_CMDLINE | REPORT_BY_ITERATION
};
enum { NO_SEQUENCE = UINT32_MAX };

/* The running count of an event on a CPU, from the kernel's counter at the start of the iteration.
 */
struct count {
	uint32_t event, iteration, cpu;
	uint64_t value;
};

/* A thread, as it was last seen. */
struct thread {
	uint32_t pid, tid, comm, cmdline;
	uint64_t time_ns;
};

struct perfetto {
	struct perfetto_out out;
	struct job *j; /* of the lane */
	struct err *e;
	struct profile_about about;
	uint64_t snapshot_ns;  /* the last clocks that were written */
	uint32_t *sequence_of; /* owned; by event; NO_SEQUENCE: it is not sampled */
	uint32_t nr_sequences; /* sequences of samples */
	struct report_stacks *stacks;
	struct perfetto_interned *interned;
	struct report_stats stats;
	struct dict counts;  /* struct count */
	struct dict threads; /* struct thread */
	struct profile_lookup *lookup;
};

static const struct input *opened_of(const struct perfetto *p)
{
	return job_input(p->j);
}

/* The time of packets without a time of their own: the start of the session, if it is recorded. */
static uint64_t start_of(const struct perfetto *p)
{
	uint64_t start_ns = p->about.start_ns ? p->about.start_ns : p->snapshot_ns;

	return start_ns ? start_ns : 1;
}

/* --- facts ----------------------------------------------------------------------------------- */

static void put_timebase(struct buf *b, uint32_t field, const struct trace_event *event)
{
	PROTO_MESSAGE(b, field) {
		if (event->frequency)
			proto_uint(b, TIMEBASE_FREQUENCY, event->frequency);
		else
			proto_uint(b, TIMEBASE_PERIOD, event->rate);
		proto_text(b, TIMEBASE_NAME, event->label);
		proto_uint(b, TIMEBASE_CLOCK, PERF_CLOCK_MONOTONIC);
	}
}

/* Writes the first packet of a sequence, which sets its clock. event: that of its samples, or NULL.
 */
static void put_first(const struct perfetto_out *out, uint32_t sequence,
		      const struct trace_event *event)
{
	struct buf *b = out->text;

	PERFETTO_PACKET(out, sequence, SEQUENCE_CLEARED, 0) {
		proto_bool(b, PACKET_FIRST_ON_SEQUENCE, true);
		PROTO_MESSAGE(b, PACKET_DEFAULTS) {
			proto_uint(b, DEFAULTS_CLOCK,
				   out->lane->name ? CLOCK_ID_REALTIME : CLOCK_ID_MONOTONIC);
			if (event) {
				PROTO_MESSAGE(b, DEFAULTS_PERF_SAMPLE) {
					put_timebase(b, PERF_SAMPLE_TIMEBASE, event);
				}
			}
		}
	}
}

static void put_clock(struct buf *b, unsigned id, uint64_t time_ns)
{
	PROTO_MESSAGE(b, SNAPSHOT_CLOCK) {
		proto_uint(b, CLOCK_ID, id);
		proto_uint(b, CLOCK_TIMESTAMP, time_ns);
	}
}

static void put_snapshot(const struct perfetto_out *out, const struct clock_triple *c)
{
	struct buf *b = out->text;

	PERFETTO_PACKET(out, SEQUENCE_FACTS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_CLOCK_SNAPSHOT) {
			put_clock(b, CLOCK_ID_MONOTONIC, c->monotonic_ns);
			if (c->boottime_ns)
				put_clock(b, CLOCK_ID_BOOTTIME, c->boottime_ns);
			if (c->realtime_ns)
				put_clock(b, CLOCK_ID_REALTIME, c->realtime_ns);
			proto_uint(b, SNAPSHOT_PRIMARY,
				   c->boottime_ns ? CLOCK_ID_BOOTTIME : CLOCK_ID_MONOTONIC);
		}
	}
}

/* Of a job, all of whose times are of one clock. */
static void put_starter_clock(const struct perfetto_out *out)
{
	struct buf *b = out->text;

	PERFETTO_PACKET(out, SEQUENCE_FACTS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_CLOCK_SNAPSHOT) {
			put_clock(b, CLOCK_ID_REALTIME, out->lane->origin_ns);
			proto_uint(b, SNAPSHOT_PRIMARY, CLOCK_ID_REALTIME);
		}
	}
}

static uint64_t load_be64(const uint8_t *p)
{
	uint64_t v = 0;

	for (size_t i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

static void put_uuid(const struct perfetto_out *out, const uint8_t id[16])
{
	struct buf *b = out->text;

	PERFETTO_PACKET(out, SEQUENCE_FACTS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_TRACE_UUID) {
			proto_uint(b, UUID_MSB, load_be64(id));
			proto_uint(b, UUID_LSB, load_be64(id + 8));
		}
	}
}

/* Unknown values are omitted. The kernel's text is its release and, if recorded, its version. */
static void put_utsname(struct buf *b, const struct input *o)
{
	const struct trace_info *info = o->facts->info;
	const char *kernel = info ? info->kernel : "", *machine = o->facts->head.machine;
	size_t release = strcspn(kernel, " ");

	PROTO_MESSAGE(b, SYSTEM_UTSNAME) {
		proto_text(b, UTSNAME_SYSNAME, "Linux");
		if (kernel[release])
			proto_text(b, UTSNAME_VERSION, kernel + release + 1);
		if (release)
			proto_bytes(b, UTSNAME_RELEASE, kernel, release);
		if (*machine)
			proto_text(b, UTSNAME_MACHINE, machine);
	}
}

static void put_system(const struct perfetto_out *out, const struct input *o)
{
	const struct trace_info *info = o->facts->info;
	struct buf *b = out->text;

	PERFETTO_PACKET(out, SEQUENCE_FACTS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_SYSTEM_INFO) {
			put_utsname(b, o);
			if (info && info->user_hz)
				proto_uint(b, SYSTEM_HZ, info->user_hz);
			if (info)
				proto_text(b, SYSTEM_TOOL, info->tool);
			if (info && info->page_bytes)
				proto_uint(b, SYSTEM_PAGE_BYTES, info->page_bytes);
		}
	}
}

static void put_source(struct buf *b, const struct trace_event *event)
{
	PROTO_MESSAGE(b, CONFIG_DATA_SOURCE) {
		PROTO_MESSAGE(b, DATA_SOURCE_CONFIG) {
			proto_text(b, SOURCE_NAME, "linux.perf");
			PROTO_MESSAGE(b, SOURCE_PERF_EVENT) {
				put_timebase(b, PERF_EVENT_TIMEBASE, event);
			}
		}
	}
}

static void put_config(struct perfetto *p)
{
	const struct profile_facts *facts = opened_of(p)->facts;
	struct buf *b = p->out.text;

	PERFETTO_PACKET(&p->out, SEQUENCE_FACTS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_TRACE_CONFIG) {
			for (uint32_t i = 0; i < facts->nr_events; i++)
				if (p->sequence_of[i] != NO_SEQUENCE)
					put_source(b, job_event(p->j, i));
		}
	}
}

/* The track that holds those of a lane. */
static void put_lane(const struct perfetto_out *out)
{
	struct buf *b = out->text;

	PERFETTO_PACKET(out, SEQUENCE_FACTS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_TRACK_DESCRIPTOR) {
			proto_uint(b, TRACK_UUID, perfetto_uuid(out, UUID_LANE, 0, 0));
			proto_text(b, TRACK_NAME, out->lane->name);
		}
	}
}

/* A trace is of one machine, so of a job there is nothing of any machine; what is of the trace is
 * in the first lane. */
static void put_facts(struct perfetto *p)
{
	const struct input *o = opened_of(p);
	const struct perfetto_out *out = &p->out;
	const bool is_first = out->lane->number <= 1;

	put_first(out, SEQUENCE_FACTS, NULL);
	put_first(out, SEQUENCE_COUNTERS, NULL);
	put_first(out, SEQUENCE_REGIONS, NULL);
	for (uint32_t i = 0; i < o->facts->nr_events; i++)
		if (p->sequence_of[i] != NO_SEQUENCE)
			put_first(out, SEQUENCE_SAMPLES + p->sequence_of[i], job_event(p->j, i));
	if (is_first)
		put_uuid(out, o->facts->head.session_id);
	if (!out->lane->name)
		put_system(out, o);
	else if (is_first)
		put_starter_clock(out);
	if (out->lane->name)
		put_lane(out);
	if (is_first && p->nr_sequences)
		put_config(p);
}

/* --- notes ----------------------------------------------------------------------------------- */

/* Writes a note as an event without duration at the start. */
static void put_note(void *arg, const char *line)
{
	struct perfetto *p = arg;
	struct buf *b = p->out.text;

	PERFETTO_PACKET(&p->out, SEQUENCE_FACTS, SEQUENCE_NEEDS_STATE, start_of(p)) {
		PROTO_MESSAGE(b, PACKET_TRACK_EVENT) {
			proto_uint(b, EVENT_TYPE, TYPE_INSTANT);
			proto_uint(b, EVENT_TRACK, perfetto_uuid(&p->out, UUID_NOTES, 0, 0));
			proto_text(b, EVENT_NAME, line);
		}
	}
}

static void put_notes(struct perfetto *p)
{
	struct buf *b = p->out.text;
	char text[EXPORT_LANE_NAME_BYTES];

	PERFETTO_PACKET(&p->out, SEQUENCE_FACTS, 0, 0) {
		PROTO_MESSAGE(b, PACKET_TRACK_DESCRIPTOR) {
			proto_uint(b, TRACK_UUID, perfetto_uuid(&p->out, UUID_NOTES, 0, 0));
			proto_text(b, TRACK_NAME, "cpuperf");
			perfetto_put_parent(&p->out);
		}
	}
	if (p->out.lane->name)
		put_note(p, export_lane_clock(p->out.lane, text));
	export_session_lines(p->j, p->j->first, &p->about, put_note, p);
	if (p->stats.event)
		export_samples_lines(p->j, &p->stats, put_note, p);
	export_unread_lines(p->j, put_note, p);
	if (p->stacks && report_stacks_is_full(p->stacks))
		put_note(p, "too many stacks: some lack their innermost frames");
}

/* --- traces ---------------------------------------------------------------------------------- */

static int note_count(struct perfetto *p, const struct profile_trace *t, uint32_t event)
{
	const uint32_t key[] = {event, t->head.iteration, t->head.cpu};
	size_t before = p->counts.nr;
	struct count *c;

	if (p->sequence_of[event] == NO_SEQUENCE || !t->pairs[event].has_start)
		return 0;
	c = dict_get(&p->counts, key);
	if (!c)
		return -ENOMEM;
	if (p->counts.nr > before)
		c->value = t->pairs[event].start.raw;
	return 0;
}

static void put_lost(struct perfetto *p, const struct profile_trace *t)
{
	struct buf *b = p->out.text;

	PERFETTO_PACKET(&p->out, SEQUENCE_SAMPLES, SEQUENCE_NEEDS_STATE,
			t->end_ns ? t->end_ns : start_of(p)) {
		PROTO_MESSAGE(b, PACKET_PERF_SAMPLE) {
			if (t->head.cpu != COUNTS_NO_CPU)
				proto_uint(b, SAMPLE_CPU, t->head.cpu);
			proto_uint(b, SAMPLE_LOST, t->sampling->lost);
		}
	}
}

/* Readers require snapshots in order of time, before the packets to which they apply. */
static int put_trace(void *arg, const struct profile_trace *t)
{
	struct perfetto *p = arg;
	int rc = 0;

	if (!p->out.lane->name && t->has_clocks && t->clocks.monotonic_ns > p->snapshot_ns) {
		put_snapshot(&p->out, &t->clocks);
		p->snapshot_ns = t->clocks.monotonic_ns;
	}
	for (uint32_t i = 0; i < opened_of(p)->facts->nr_events && rc == 0; i++)
		rc = note_count(p, t, i);
	if (p->nr_sequences && t->sampling && t->sampling->lost)
		put_lost(p, t);
	return rc ?: output_flush(p->j->output, p->e);
}

/* --- threads --------------------------------------------------------------------------------- */

static int note_thread(struct perfetto *p, const struct report_sample *s)
{
	const uint32_t key[] = {s->key.pid, s->key.tid};
	struct thread *t = dict_get(&p->threads, key);

	if (!t)
		return -ENOMEM;
	if (s->time_ns >= t->time_ns) {
		t->comm = s->key.comm;
		t->cmdline = s->key.cmdline;
		t->time_ns = s->time_ns;
	}
	return 0;
}

/* A thread may have marks and no sample. */
static int note_marked_thread(void *arg, const struct profile_region_event *e)
{
	struct perfetto *p = arg;
	const uint32_t key[] = {e->pid, e->tid};
	struct report_functions *texts = p->j->inputs->functions;
	struct thread *t = dict_get(&p->threads, key);

	if (!t)
		return -ENOMEM;
	if (t->time_ns)
		return 0;
	t->comm = report_functions_text_number(texts, e->task->comm->name);
	t->cmdline = report_functions_text_number(
	    texts, profile_cmdline(opened_of(p)->processes, e->task->process->cmdline));
	t->time_ns = e->time_ns;
	return t->comm == UINT32_MAX || t->cmdline == UINT32_MAX ? -ENOMEM : 0;
}

/* The last name of a thread of that process. */
static const char *name_of(const struct perfetto *p, const struct thread *t, uint32_t tid)
{
	return profile_lookup_last_name(p->lookup, t->pid, tid, t->time_ns)
		   ?: report_functions_text(p->j->inputs->functions, t->comm);
}

static void put_process(struct perfetto *p, const struct thread *t)
{
	const char *cmdline = samples_cmdline(p->j, t->cmdline);
	const struct export_lane *lane = p->out.lane;
	struct buf *b = p->out.text;
	char text[EXPORT_LANE_NAME_BYTES];

	PERFETTO_PACKET(&p->out, SEQUENCE_FACTS, 0, start_of(p)) {
		PROTO_MESSAGE(b, PACKET_TRACK_DESCRIPTOR) {
			proto_uint(b, TRACK_UUID, perfetto_uuid(&p->out, UUID_PROCESS, t->pid, 0));
			PROTO_MESSAGE(b, TRACK_PROCESS) {
				proto_int(b, PROCESS_PID, (int32_t)export_lane_task(lane, t->pid));
				if (cmdline) /* one text: its arguments are joined */
					proto_text(b, PROCESS_CMDLINE, cmdline);
				proto_text(b, PROCESS_NAME,
					   export_lane_name(lane, name_of(p, t, t->pid), text));
			}
		}
	}
}

static void put_thread(struct perfetto *p, const struct thread *t)
{
	const struct export_lane *lane = p->out.lane;
	struct buf *b = p->out.text;

	PERFETTO_PACKET(&p->out, SEQUENCE_FACTS, 0, start_of(p)) {
		PROTO_MESSAGE(b, PACKET_TRACK_DESCRIPTOR) {
			proto_uint(b, TRACK_UUID,
				   perfetto_uuid(&p->out, UUID_THREAD, t->pid, t->tid));
			proto_uint(b, TRACK_PARENT,
				   perfetto_uuid(&p->out, UUID_PROCESS, t->pid, 0));
			PROTO_MESSAGE(b, TRACK_THREAD) {
				proto_int(b, THREAD_PID, (int32_t)export_lane_task(lane, t->pid));
				proto_int(b, THREAD_TID, (int32_t)export_lane_task(lane, t->tid));
				proto_text(b, THREAD_NAME, name_of(p, t, t->tid));
			}
		}
	}
}

/* A process is described by its main thread; if that was not seen, by any other. */
static int compare_threads(const void *x, const void *y)
{
	const struct thread *a = x, *b = y;

	return order_u64(a->pid, b->pid) ?: order_u64(a->tid != a->pid, b->tid != b->pid) ?: order_u64(a->tid, b->tid);
}

/* Skips the idle task, which readers name themselves, but for a job's: it is 0 nowhere. */
static int put_threads(struct perfetto *p)
{
	int rc = 0;

	if (!p->threads.nr)
		return 0;
	p->lookup = profile_lookup_new(opened_of(p)->processes);
	if (!p->lookup)
		return -ENOMEM;
	qsort(p->threads.items, p->threads.nr, sizeof(struct thread), compare_threads);
	for (size_t i = 0; i < p->threads.nr && rc == 0; i++) {
		const struct thread *t = (const struct thread *)p->threads.items + i;

		if (!t->pid && !p->out.lane->name)
			continue;
		if (!i || t[-1].pid != t->pid)
			put_process(p, t);
		put_thread(p, t);
		rc = output_flush(p->j->output, p->e);
	}
	return rc;
}

/* --- samples --------------------------------------------------------------------------------- */

static void put_sample(struct perfetto *p, const struct report_sample *s, uint64_t count)
{
	struct buf *b = p->out.text;
	unsigned mode = MODE_UNKNOWN;

	if (s->stack != REPORT_NO_STACK)
		mode = report_stacks_at(p->stacks, s->stack)->frame.function->is_kernel
			   ? MODE_KERNEL
			   : MODE_USER;
	PROTO_MESSAGE(b, PACKET_PERF_SAMPLE) {
		if (s->key.cpu != TRACE_UNKNOWN)
			proto_uint(b, SAMPLE_CPU, s->key.cpu);
		proto_uint(b, SAMPLE_PID, export_lane_task(p->out.lane, s->key.pid));
		proto_uint(b, SAMPLE_TID, export_lane_task(p->out.lane, s->key.tid));
		if (s->stack != REPORT_NO_STACK)
			proto_uint(b, SAMPLE_STACK, s->stack);
		proto_uint(b, SAMPLE_MODE, mode);
		proto_uint(b, SAMPLE_COUNT, count);
	}
}

static int add_sample(struct perfetto *p, const struct report_sample *s)
{
	const uint32_t key[] = {s->key.event, s->key.iteration, s->key.cpu};
	uint32_t sequence = p->sequence_of[s->key.event];
	struct count *count = dict_get(&p->counts, key);
	struct buf *b = p->out.text;
	int rc = 0;

	if (sequence == NO_SEQUENCE)
		return 0;
	if (!count || note_thread(p, s))
		return -ENOMEM;
	count->value += s->weight;
	PERFETTO_PACKET(&p->out, SEQUENCE_SAMPLES + sequence, SEQUENCE_NEEDS_STATE, s->time_ns) {
		rc = perfetto_intern(p->interned, sequence, s->stack, b);
		put_sample(p, s, count->value);
	}
	return rc;
}

static int add_samples(void *arg, const struct report_sample *samples, size_t nr)
{
	struct perfetto *p = arg;

	return ARRAY_RUN(i, nr, add_sample(p, &samples[i])) ?: output_flush(p->j->output, p->e);
}

static int read_samples(struct perfetto *p)
{
	struct report_sink sink = {.parts = PARTS, .samples = add_samples, .arg = p};

	p->stacks = report_stacks_new();
	p->interned = p->stacks ? perfetto_interned_new(p->stacks, p->nr_sequences) : NULL;
	if (!p->interned)
		return -ENOMEM;
	if (p->j->selection->with_lines)
		sink.parts |= REPORT_BY_LINE;
	sink.stacks = p->stacks;
	return samples_read(p->j, p->j->first, 1, &sink, &p->stats, p->e);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int number_sequences(struct perfetto *p)
{
	const struct profile_facts *facts = opened_of(p)->facts;

	p->sequence_of = mem_calloc(facts->nr_events + 1, sizeof(*p->sequence_of));
	if (!p->sequence_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < facts->nr_events; i++)
		p->sequence_of[i] = facts->is_sampling && export_is_sampled(job_event(p->j, i))
					? p->nr_sequences++
					: NO_SEQUENCE;
	return 0;
}

static int write_all(struct perfetto *p)
{
	int rc = number_sequences(p);

	if (rc)
		return rc;
	put_facts(p);
	rc = export_about_read(opened_of(p), put_trace, p, &p->about, p->e);
	if (rc == 0 && !p->snapshot_ns && !p->out.lane->name)
		put_snapshot(&p->out, &(struct clock_triple){.monotonic_ns = start_of(p)});
	if (rc == 0)
		rc = perfetto_put_counters(&p->out, p->e);
	if (rc == 0 && p->nr_sequences)
		rc = read_samples(p);
	if (rc == 0)
		rc = export_regions(p->j, opened_of(p), note_marked_thread, p, p->e)
			 ?: put_threads(p);
	if (rc == 0)
		rc = perfetto_put_regions(&p->out, p->e);
	if (rc == 0)
		put_notes(p);
	return rc;
}

/* arg: how many sequences there are before the lane's. */
static int put_session(void *arg, struct export_lane *lane, struct err *e)
{
	uint32_t *nr_sequences = arg;
	struct perfetto p = {
	    .out = {lane, &lane->j.output->text, *nr_sequences}, .j = &lane->j, .e = e};
	int rc;

	dict_init(&p.counts, sizeof(struct count), DICT_KEY(struct count, cpu), DICT_MAX);
	dict_init(&p.threads, sizeof(struct thread), DICT_KEY(struct thread, tid), DICT_MAX);
	rc = write_all(&p);
	*nr_sequences += SEQUENCE_SAMPLES + p.nr_sequences;
	profile_about_fini(&p.about);
	mem_free(p.sequence_of);
	perfetto_interned_free(p.interned);
	report_stacks_free(p.stacks);
	report_stats_fini(&p.stats);
	dict_fini(&p.counts);
	dict_fini(&p.threads);
	profile_lookup_free(p.lookup);
	return rc ? err_set(e, rc, "the trace cannot be written: %s", strerror(-rc)) : 0;
}

int export_perfetto(struct job *j, struct err *e)
{
	uint32_t nr_sequences = 0;

	return export_lanes_check_tasks(j, e) ?: export_lanes(j, put_session, &nr_sequences, e);
}
