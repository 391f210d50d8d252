/*
 * The samples of one measured CPU.
 */
#include "session/sampler.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "bpf/waits.h"
#include "session/mapped.h"
#include "session/sample_record.h"
#include "session/seen.h"
#include "session/source_uses.h"
#include "session/stacks.h"
#include "trace/record.h"
#include "trace/waker.h"
#include "trace/writer.h"
#include "whole/sums.h"
#include "whole/whole.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_KEPT_BYTES = 1 << 30, /* the most that a ring gathers between two reads of its head */
	MAX_LASTING_BYTES = 64 << 20,
	APART_BYTES = 64 << 10, /* a frame of them packs well, and a CPU's memory is small */
};
#define MAX_APART_NS UINT64_C(500000000) /* half of what a reader sorts within */

int sampler_init(struct sampler *s, struct session_cpu *cpu, const uint64_t *pack_until_ns)
{
	size_t nr = cpu->plan->nr_parts, nr_ids = cpu->plan->target.nr_ids;

	nr_ids = nr_ids ? nr_ids : 1;
	*s = (struct sampler){
	    .cpu = cpu, .pack_until_ns = pack_until_ns, .span_ns = cpu->plan->spec->flight.span_ns};
	buf_init(&s->kept, MAX_KEPT_BYTES);
	buf_init(&s->apart, APART_BYTES + PERF_ABI_MAX_RECORD_BYTES);
	buf_init(&s->lasting, MAX_LASTING_BYTES + PERF_ABI_MAX_RECORD_BYTES);
	s->events = mem_calloc(nr, sizeof(*s->events));
	s->counts = mem_calloc(nr, sizeof(*s->counts));
	s->sampled = mem_calloc(nr, sizeof(*s->sampled));
	/* unwound samples have others, and what is interpreted has one */
	s->ids = mem_calloc(2 * nr * nr_ids + 1, sizeof(*s->ids));
	s->scan_ids = mem_calloc(nr * nr_ids, sizeof(*s->scan_ids));
	s->side_band_fds = mem_calloc(nr_ids, sizeof(*s->side_band_fds));
	if (s->events && s->counts && s->sampled && s->ids && s->scan_ids && s->side_band_fds)
		return 0;
	sampler_fini(s);
	return -ENOMEM;
}

void sampler_fini(struct sampler *s)
{
	sampler_close(s);
	trace_file_abandon(s->file);
	buf_fini(&s->kept);
	buf_fini(&s->apart);
	buf_fini(&s->lasting);
	mem_free(s->events);
	mem_free(s->counts);
	mem_free(s->sampled);
	mem_free(s->ids);
	mem_free(s->scan_ids);
	mem_free(s->side_band_fds);
	whole_sums_free(s->sums);
	*s = (struct sampler){0};
}

static void start_counting(struct sampler *s)
{
	for (uint32_t i = 0; i < s->scan.nr_events; i++) {
		struct pmu_scan_event *c = &s->counts[i];

		c->samples = c->idle = c->weight = c->throttled = c->unthrottled = 0;
	}
	s->scan.lost = s->scan.records = s->side_band_lost = s->lasting_full = 0;
}

/* At how many bytes the thread that empties the ring is woken. */
static uint64_t wakeup_bytes(const struct sampler *s, const struct pmu_ring *ring)
{
	const uint64_t own =
	    ring == &s->ring && s->scan.nr_events ? s->events[0].attr->wakeup_watermark : 0;

	return own ?: ring->bytes / 4;
}

/* True if there is no time to pack: it took long already, or the ring fills fast. */
static bool is_urgent(const struct sampler *s, const struct pmu_ring *ring, uint64_t waiting)
{
	return waiting > wakeup_bytes(s, ring) + ring->bytes / 4 ||
	       clock_monotonic_ns() > *s->pack_until_ns;
}

static int write_span(struct sampler *s, const struct pmu_view *v, uint64_t from, uint64_t to,
		      bool is_urgent, struct err *e)
{
	struct trace_span span = {.is_urgent = is_urgent};

	pmu_view_span(v, from, to, span.part, span.len);
	return trace_file_records(s->file, TRACE_RING_SAMPLES, s->cpu->cpu, &span, e);
}

/* The end of the records after from that fit in this many bytes. */
static uint64_t end_within(const struct pmu_view *v, uint64_t from, uint64_t to, uint64_t bytes)
{
	uint64_t at = from, more;

	while (at < to && (more = pmu_record_bytes(v, at, to)) && at + more - from <= bytes)
		at += more;
	return at;
}

/* On a full disk, writes what fits, in ever smaller pieces. */
static void write_what_fits(struct sampler *s, const struct pmu_view *v, uint64_t from, uint64_t to)
{
	enum { MIN_BYTES = 256 };

	for (uint64_t bytes = (to - from) / 2; bytes >= MIN_BYTES; bytes /= 2) {
		uint64_t end = end_within(v, from, to, bytes);
		struct err ignored = {0};

		trace_file_retry(s->file);
		if (write_span(s, v, from, end, true, &ignored) == 0)
			from = end;
	}
}

/* Passes records on to be unwound, as far as there is room; returns where the others begin. */
static uint64_t put(struct sampler *s, const struct pmu_view *v, uint64_t from, uint64_t to)
{
	const void *part[2];
	size_t len[2];

	if (!s->whole)
		return from;
	pmu_view_span(v, from, to, part, len);
	return from + whole_put(s->whole, s->cpu->trace, part, len);
}

static int write_records(struct sampler *s, const void *records, size_t len, struct err *e)
{
	const struct trace_span span = {.part = {records, NULL}, .len = {len, 0}};

	return len ? trace_file_records(s->file, TRACE_RING_SAMPLES, s->cpu->cpu, &span, e) : 0;
}

static struct pmu_view view_of(const struct buf *records)
{
	return (struct pmu_view){.data = (const uint8_t *)records->data, .mask = UINT64_MAX};
}

int sampler_write_apart(struct sampler *s, struct err *e)
{
	const struct pmu_view v = view_of(&s->apart);
	int rc = s->file ? write_records(s, s->apart.data, s->apart.len, e) : 0;

	if (rc)
		write_what_fits(s, &v, 0, s->apart.len);
	buf_reset(&s->apart);
	return rc;
}

/* Small frames cost more than what is in them: records wait until there are many. Without memory
 * they are written alone. */
static int put_apart(struct sampler *s, const void *record, size_t size, struct err *e)
{
	int rc = s->apart.len >= APART_BYTES ? sampler_write_apart(s, e) : 0;

	if (!s->apart.len)
		s->apart_ns = clock_monotonic_ns();
	buf_add(&s->apart, record, size);
	if (!buf_error(&s->apart))
		return rc;
	s->apart.error = 0; /* what it has is whole */
	return rc ?: sampler_write_apart(s, e) ?: write_records(s, record, size, e);
}

/* Adds up the records, and keeps those apart that cannot be. */
static int add_or_keep(struct sampler *s, const struct buf *records, struct err *e)
{
	const uint8_t *p = (const uint8_t *)records->data;
	uint32_t kind;
	size_t size;
	int rc = 0;

	for (size_t at = 0; rc == 0; at += size) {
		size = trace_record_size(p + at, records->len - at, &kind);
		if (!size)
			break;
		if (!whole_sums_add(s->sums, p + at, size))
			rc = put_apart(s, p + at, size, e);
	}
	return rc;
}

int sampler_write_unwound(struct sampler *s, struct buf *scratch, struct err *e)
{
	int rc = 0;

	while (rc == 0 && whole_take(s->whole, s->cpu->trace, scratch)) {
		if (s->file)
			rc = s->sums ? add_or_keep(s, scratch, e)
				     : write_records(s, scratch->data, scratch->len, e);
		buf_reset(scratch);
	}
	if (rc == 0 && s->apart.len && clock_monotonic_ns() > s->apart_ns + MAX_APART_NS)
		rc = sampler_write_apart(s, e);
	return rc;
}

/* Counts the records from … to, and writes them in pieces of at most a reader's frame. */
static int move(struct sampler *s, const struct pmu_view *v, uint64_t from, uint64_t to,
		uint64_t *end, struct err *e)
{
	int rc;

	*end = pmu_scan_count(&s->scan, v, from, to, TRACE_FILE_RECORDS_BYTES);
	if (!s->file)
		return 0;
	from = put(s, v, from, *end);
	rc = from < *end ? sampler_write_apart(s, e) : 0;
	rc = rc ?: write_span(s, v, from, *end, is_urgent(s, &s->ring, to - from), e);
	if (rc)
		write_what_fits(s, v, from, *end);
	return rc;
}

/* The end of the records after at that are all on one side of the boundary. */
static uint64_t same_side(const struct sampler *s, const struct pmu_view *v, uint64_t at,
			  uint64_t head, uint64_t cut_ns, bool *is_before)
{
	uint64_t bytes, first = at;

	for (; at < head; at += bytes) {
		bool before = pmu_scan_time_ns(&s->scan, v, at) <= cut_ns;

		bytes = pmu_record_bytes(v, at, head);
		if (!bytes)
			return head;
		if (at == first)
			*is_before = before;
		else if (before != *is_before)
			break;
	}
	return at;
}

static int move_run(struct sampler *s, const struct pmu_view *v, uint64_t from, uint64_t to,
		    struct err *e)
{
	int rc = 0;

	while (from < to && rc == 0)
		rc = move(s, v, from, to, &from, e);
	return rc;
}

/* Those of waits that last go between them, by their times: a reader sorts only within a window. */
static int move_all(struct sampler *s, const struct pmu_view *v, uint64_t from, uint64_t to,
		    struct err *e)
{
	const struct pmu_view lasting = view_of(&s->lasting);
	uint64_t end;
	int rc = 0;

	while (from < to && rc == 0) {
		bool is_before = true;

		if (s->lasting_at == s->lasting.len)
			return move_run(s, v, from, to, e);
		end = same_side(s, v, from, to, pmu_scan_time_ns(&s->scan, &lasting, s->lasting_at),
				&is_before);
		if (is_before) {
			rc = move_run(s, v, from, end, e);
			from = end;
			continue;
		}
		end = same_side(s, &lasting, s->lasting_at, s->lasting.len,
				pmu_scan_time_ns(&s->scan, v, from), &is_before);
		rc = move_run(s, &lasting, s->lasting_at, end, e);
		s->lasting_at = end;
	}
	return rc;
}

static void peek(struct sampler *s, const struct pmu_view *v, uint64_t head)
{
	uint64_t at = s->peeked > s->ring.tail ? s->peeked : s->ring.tail, bytes;
	struct pmu_scan_switch sw;

	for (; s->seen && at < head && (bytes = pmu_record_bytes(v, at, head)); at += bytes)
		if (pmu_scan_switch(&s->scan, v, at, &sw))
			seen_switch(s->seen, sw.pid, sw.tid, sw.is_blocked, sw.time_ns);
	s->peeked = head;
}

void sampler_peek(struct sampler *s)
{
	struct pmu_view v;

	if (!s->ring.base || !s->seen)
		return;
	v = pmu_ring_view(&s->ring);
	peek(s, &v, pmu_ring_head(&s->ring));
}

/* Releases the ring piece by piece, since the kernel continues to write. */
int sampler_drain(struct sampler *s, struct err *e)
{
	struct pmu_view v;
	uint64_t head;
	int rc = 0;

	if (!s->ring.base || s->span_ns)
		return 0;
	v = pmu_ring_view(&s->ring);
	head = pmu_ring_head(&s->ring);
	peek(s, &v, head);
	if (s->lasting_at < s->lasting.len) {
		rc = move_all(s, &v, s->ring.tail, head, e);
		pmu_ring_release(&s->ring, head);
	}
	while (s->ring.tail < head && rc == 0) {
		uint64_t end;

		rc = move(s, &v, s->ring.tail, head, &end, e);
		pmu_ring_release(&s->ring, end);
	}
	return rc;
}

/* Threads that get another name, or execute another program. The time is a record's last word. */
static void note_names(struct sampler *s, const struct pmu_view *v, uint64_t at, uint64_t to)
{
	struct whole_name *name;
	uint64_t bytes, ns;

	for (; at < to && (bytes = pmu_record_bytes(v, at, to)); at += bytes) {
		const bool is_name = (uint32_t)pmu_view_word(v, at) == PERF_RECORD_COMM;
		uint32_t tid;

		if (!is_name || bytes < 3 * sizeof(uint64_t))
			continue;
		tid = (uint32_t)(pmu_view_word(v, at + sizeof(uint64_t)) >> 32);
		ns = pmu_view_word(v, at + bytes - sizeof(uint64_t));
		name = dict_get(s->names, &tid);
		if (name && ns > name->from_ns)
			name->from_ns = ns;
	}
}

int sampler_drain_side_band(struct sampler *s, struct trace_file *common, struct mapped *mapped,
			    struct err *e)
{
	struct pmu_scan scan = {0}; /* no events: counts only lost records */
	struct pmu_view v;
	uint64_t head, at;
	int rc = 0;

	if (!s->side_band.base)
		return 0;
	v = pmu_ring_view(&s->side_band);
	head = pmu_ring_head(&s->side_band);
	if (s->sums)
		note_names(s, &v, s->side_band.tail, head);
	if (common)
		mapped_scan(mapped, &s->side_band, s->side_band.tail, head);
	for (at = s->side_band.tail; at < head && rc == 0;) {
		uint64_t end = pmu_scan_count(&scan, &v, at, head, TRACE_FILE_RECORDS_BYTES);
		struct trace_span span = {.is_urgent = is_urgent(s, &s->side_band, head - at)};

		pmu_view_span(&v, at, end, span.part, span.len);
		if (s->whole)
			whole_add_side(s->whole, span.part, span.len);
		if (common)
			rc =
			    trace_file_records(common, TRACE_RING_SIDE_BAND, s->cpu->cpu, &span, e);
		at = end;
	}
	s->side_band_lost += scan.lost;
	pmu_ring_release(&s->side_band, head);
	return rc;
}

/* Copies records for the next iteration. */
static int keep(struct sampler *s, const struct pmu_view *v, uint64_t from, uint64_t to,
		struct err *e)
{
	const void *part[2];
	size_t len[2];

	pmu_view_span(v, from, to, part, len);
	buf_add(&s->kept, part[0], len[0]);
	buf_add(&s->kept, part[1], len[1]);
	return buf_error(&s->kept)
		   ? err_set(e, buf_error(&s->kept), "the samples between two iterations: %s",
			     strerror(-buf_error(&s->kept)))
		   : 0;
}

static void forget_lasting(struct sampler *s)
{
	buf_reset(&s->lasting);
	s->lasting_at = 0;
}

/* The last event of that kind: its samples are those of the programs. NULL: there is none. */
static const struct sampler_event *event_of_wait(const struct sampler *s, enum waits_kind kind)
{
	for (uint32_t i = s->scan.nr_events; i-- > 0;) {
		const struct perf_event_attr *a = s->events[i].attr;

		if (perf_abi_wait(a->type, a->config, a->config1) == (int)kind)
			return &s->events[i];
	}
	return NULL;
}

/* Adds a record, of which id and period are set here. ev NULL: nothing. */
static void add_made(struct sampler *s, const struct sampler_event *ev,
		     const struct sample_record *made)
{
	struct sample_record r = *made;

	if (!ev || !s->ring.base)
		return;
	if (s->lasting_at == s->lasting.len)
		forget_lasting(s);
	r.id = ev->id;
	r.period = ev->attr->sample_period;
	if (s->lasting.len > MAX_LASTING_BYTES || buf_error(&s->lasting) ||
	    !sample_record_add(&s->lasting, ev->attr, &r))
		s->lasting_full++;
}

void sampler_add_lasting(struct sampler *s, const struct waits_lasting *wait)
{
	const struct sampler_event *ev = event_of_wait(s, wait->kind);
	const struct sample_record r = {.wait_ns = wait->ns,
					.wait_version = TRACE_WAKER_LASTS,
					.futex = wait->futex,
					.owner = wait->owner,
					.time_ns = wait->time_ns,
					.pid = wait->pid,
					.tid = wait->tid,
					.cpu = wait->cpu,
					.kernel = wait->kernel,
					.nr_kernel = wait->nr_kernel,
					.user = wait->user,
					.nr_user = wait->nr_user,
					.regs_abi = wait->regs_abi,
					.regs = wait->regs,
					.interpreted =
					    s->scan.interpreted_id ? wait->interpreted : NULL,
					.interpreted_bytes = wait->interpreted_bytes,
					.interpreted_id = s->scan.interpreted_id,
					.stack = wait->stack,
					.stack_bytes = wait->stack_bytes};

	add_made(s, ev, &r);
}

const struct perf_event_attr *sampler_seen_attr(const struct sampler *s)
{
	const uint64_t needed = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_RAW;
	const struct sampler_event *ev = s->ring.base ? event_of_wait(s, WAITS_OFF_CPU) : NULL;

	return ev && (ev->attr->sample_type & needed) == needed ? ev->attr : NULL;
}

void sampler_add_seen(struct sampler *s, const struct seen_wait *w)
{
	const struct sample_record r = {.wait_version =
					    trace_wait_word(TRACE_WAIT_IS_SEEN, w->reason, true),
					.time_ns = w->time_ns,
					.pid = w->pid,
					.tid = w->tid,
					.cpu = s->cpu->cpu,
					.regs_abi = w->regs_abi,
					.regs = w->regs,
					.stack = w->stack,
					.stack_bytes = w->stack_bytes};

	add_made(s, event_of_wait(s, WAITS_OFF_CPU), &r);
}

/* Divides the records from *at to at cut_ns, up to the next one on the other side of it. */
static int cut_records(struct sampler *s, const struct pmu_view *v, uint64_t *at, uint64_t to,
		       uint64_t cut_ns, bool is_wanted, struct err *e)
{
	bool is_before = true;
	uint64_t from = *at;

	*at = same_side(s, v, from, to, cut_ns, &is_before);
	if (!is_before)
		return keep(s, v, from, *at, e);
	return is_wanted ? move_all(s, v, from, *at, e) : 0;
}

static int cut_ring(struct sampler *s, uint64_t cut_ns, bool is_wanted, struct err *e)
{
	struct pmu_view v = pmu_ring_view(&s->ring);
	uint64_t head = pmu_ring_head(&s->ring), at = s->ring.tail;
	int rc = 0;

	peek(s, &v, head);
	while (at < head && rc == 0) {
		rc = cut_records(s, &v, &at, head, cut_ns, is_wanted, e);
		pmu_ring_release(&s->ring, at);
	}
	pmu_ring_release(&s->ring, head);
	return rc;
}

static int cut_lasting(struct sampler *s, uint64_t cut_ns, bool is_wanted, struct err *e)
{
	struct pmu_view v = view_of(&s->lasting);
	int rc = 0;

	for (uint64_t at = s->lasting_at; at < s->lasting.len && rc == 0;) {
		s->lasting_at = s->lasting.len; /* nothing goes between them */
		rc = cut_records(s, &v, &at, s->lasting.len, cut_ns, is_wanted, e);
	}
	forget_lasting(s);
	return rc;
}

/* A record of the kernel's pause: not of the iteration's samples. In an overwritten ring nothing
 * else is lost in this way. */
static bool is_pause(const struct pmu_view *v, uint64_t at)
{
	return (uint32_t)pmu_view_word(v, at) == PERF_RECORD_LOST;
}

/* Writes the records from … to of the copy that are later than from_ns and not later than until_ns.
 * Records without a time are those of their neighbours. */
static int move_span(struct sampler *s, const struct pmu_view *v, uint64_t from, uint64_t from_ns,
		     uint64_t until_ns, struct err *e)
{
	uint64_t to = s->ring.bytes, begin = from, bytes, ns = 0;
	int rc = 0;

	for (uint64_t at = from; at < to && rc == 0; at += bytes) {
		ns = pmu_scan_time_ns(&s->scan, v, at) ?: ns;
		bytes = pmu_record_bytes(v, at, to);
		if (ns > from_ns && ns <= until_ns && !is_pause(v, at))
			continue;
		if (ns > from_ns && ns <= until_ns)
			s->held.paused += pmu_view_word(v, at + 16);
		rc = move_all(s, v, begin, at, e);
		begin = at + bytes;
	}
	return rc ?: move_all(s, v, begin, to, e);
}

/* The time of the first record that has one; 0: none has. */
static uint64_t oldest_ns(const struct sampler *s, const struct pmu_view *v, uint64_t from)
{
	uint64_t ns = 0;

	for (uint64_t at = from; at < s->ring.bytes && !ns;
	     at += pmu_record_bytes(v, at, s->ring.bytes))
		ns = pmu_scan_time_ns(&s->scan, v, at);
	return ns;
}

/* Later records than cut_ns stay in the ring. */
static int cut_held(struct sampler *s, uint64_t cut_ns, bool is_wanted, struct err *e)
{
	uint64_t from, from_ns = s->begin_ns, span_ns = s->span_ns + s->after_ns;
	struct pmu_view v = {s->copy, UINT64_MAX};
	bool has_all;

	s->begin_ns = cut_ns;
	s->held = (struct trace_held){.wanted_ns = span_ns, .to_ns = cut_ns};
	if (!is_wanted)
		return 0;
	from = pmu_ring_copy(&s->ring, s->cpu->is_open, s->copy, &has_all);
	if (from_ns + span_ns < cut_ns)
		from_ns = cut_ns - span_ns;
	if (!has_all) {
		/* samples of that very time may be overwritten */
		uint64_t oldest = oldest_ns(s, &v, from);

		s->held.is_full = oldest > from_ns;
		from_ns = oldest > from_ns ? oldest : from_ns;
	}
	s->held.from_ns = from_ns < cut_ns ? from_ns : cut_ns;
	return move_span(s, &v, from, from_ns, cut_ns, e);
}

uint64_t sampler_held_bytes(const struct sampler *s)
{
	return s->span_ns && s->ring.base ? pmu_ring_used(&s->ring) : 0;
}

/* Where samples contain the group's counts, PERF_FORMAT_LOST is not requested: it would lengthen
 * every sample. Then the ring's loss is the event's if no other shares the ring, or if it is 0;
 * else the event's is unknown. */
static uint64_t lost_of(const struct sampler *s, struct sampler_event *event)
{
	uint64_t now = s->cpu->lost[event->part], before = event->lost_before;

	event->lost_before = now;
	if (s->span_ns) /* only pauses count as lost, see held */
		return s->scan.lost;
	if (now != UINT64_MAX)
		return now - (before <= now ? before : 0);
	return s->scan.nr_events == 1 || s->scan.lost == 0 ? s->scan.lost : UINT64_MAX;
}

void sampler_hold(struct sampler *s)
{
	for (uint32_t i = 0; i < s->scan.nr_events; i++)
		if (s->events[i].aggregate)
			aggregate_hold(s->events[i].aggregate, s->cpu->trace);
}

void sampler_resume(struct sampler *s)
{
	for (uint32_t i = 0; i < s->scan.nr_events; i++)
		if (s->events[i].aggregate)
			aggregate_resume(s->events[i].aggregate, s->cpu->trace);
}

/* All zero: before the first. */
struct place {
	uint32_t of_table;
	struct source_at of_source;
};

/* The next stack that was added up for the event; false: there is none. */
static bool next_stack(const struct sampler *s, const struct sampler_event *ev, struct place *at,
		       struct aggregate_stack *out)
{
	if (ev->use)
		return ev->use->source->next(ev->use, s->cpu->plan->parts[ev->part].event,
					     &at->of_source, out);
	return ev->aggregate && aggregate_next(ev->aggregate, s->cpu->trace, &at->of_table, out);
}

/* Counts what was added up, as the samples of the ring are counted. */
static void count_stacks(struct sampler *s)
{
	s->added = (struct aggregate_counts){0};
	for (uint32_t i = 0; i < s->scan.nr_events; i++) {
		const struct aggregate *a = s->events[i].aggregate;
		struct pmu_scan_event *c = &s->counts[i];
		struct aggregate_counts n = {0};
		struct aggregate_stack st;
		struct place at = {0};

		if (a)
			n = aggregate_counts(a, s->cpu->trace);
		s->added.samples += n.samples;
		s->added.full += n.full;
		s->added.failed += n.failed;
		while (next_stack(s, &s->events[i], &at, &st)) {
			c->samples += st.samples;
			if (!s->events[i].is_maximum)
				c->weight += st.weight;
			else if (st.weight > c->weight)
				c->weight = st.weight;
			c->idle += st.tid ? 0 : st.samples;
		}
	}
}

/* Of frames that follow each other. */
struct items {
	struct buf stacks, places;
	bool has_places; /* some are known */
};

static void init_items(struct items *i)
{
	buf_init(&i->stacks, TRACE_FILE_RECORDS_BYTES);
	buf_init(&i->places, TRACE_FILE_RECORDS_BYTES);
	i->has_places = false;
}

static void fini_items(struct items *i)
{
	buf_fini(&i->stacks);
	buf_fini(&i->places);
}

static void add_places(struct items *i, const int16_t *sums)
{
	trace_add_places(&i->places, sums);
	i->has_places |= sums != NULL;
}

static bool are_many(const struct items *i)
{
	enum { MANY = TRACE_FILE_RECORDS_BYTES / 2 };

	return i->stacks.len > MANY || i->places.len > MANY;
}

static int append_stacks(struct sampler *s, struct trace_writer *w, struct items *items,
			 struct err *e)
{
	if (!items->stacks.len && !buf_error(&items->stacks))
		return 0;
	trace_writer_more(w);
	if (items->has_places)
		trace_writer_places(w, &items->places);
	trace_writer_stacks(w, s->cpu->cpu, &items->stacks);
	buf_reset(&items->stacks);
	buf_reset(&items->places);
	items->has_places = false;
	return sampler_write_apart(s, e) ?: trace_file_append(s->file, w, e);
}

static int write_event(struct sampler *s, uint32_t event, struct trace_writer *w,
		       struct common *common, struct items *items, struct err *e)
{
	const struct sampler_event *ev = &s->events[event];
	struct aggregate_stack st;
	struct place at = {0};
	int rc = 0;

	while (rc == 0 && next_stack(s, ev, &at, &st)) {
		stacks_add(&items->stacks, ev->attr, ev->id, s->cpu->cpu, &st);
		add_places(items, st.has_places ? st.sums : NULL);
		if (st.name)
			stacks_map_name(common, &st);
		if (are_many(items))
			rc = append_stacks(s, w, items, e);
	}
	return rc ?: append_stacks(s, w, items, e);
}

static bool adds_up(const struct sampler_event *ev)
{
	return ev->aggregate || ev->use;
}

bool sampler_adds_up(const struct sampler *s)
{
	return s->sums || ARRAY_ANY(ev, s->events, s->scan.nr_events, adds_up(ev));
}

int sampler_write_stacks(struct sampler *s, struct trace_writer *w, struct common *common,
			 struct err *e)
{
	struct items items;
	int rc = 0;

	if (!s->file)
		return 0;
	init_items(&items);
	for (uint32_t i = 0; i < s->scan.nr_events && rc == 0; i++)
		if (adds_up(&s->events[i]))
			rc = write_event(s, i, w, common, &items, e);
	fini_items(&items);
	return rc;
}

static int write_sums(struct sampler *s, struct trace_writer *w, struct items *items, struct err *e)
{
	struct whole_sum sum;
	uint32_t at = 0;
	int rc = 0;

	while (rc == 0 && whole_sums_next(s->sums, &at, &sum)) {
		const struct trace_added added = {sum.samples, sum.weight, sum.end_ns};

		trace_add_stack(&items->stacks, &added, sum.record, sum.size);
		add_places(items, sum.has_places ? sum.places : NULL);
		if (are_many(items))
			rc = append_stacks(s, w, items, e);
	}
	return rc ?: append_stacks(s, w, items, e);
}

int sampler_write_sums(struct sampler *s, struct trace_writer *w, struct err *e)
{
	struct items items;
	int rc = 0;

	if (!s->sums)
		return 0;
	init_items(&items);
	rc = sampler_write_apart(s, e);
	if (s->file)
		rc = rc ?: write_sums(s, w, &items, e);
	fini_items(&items);
	whole_sums_reset(s->sums);
	return rc;
}

static void sum_up(struct sampler *s)
{
	for (uint32_t i = 0; i < s->scan.nr_events; i++) {
		const struct pmu_scan_event *c = &s->counts[i];
		size_t part = s->events[i].part;

		s->sampled[i] = (struct trace_sampled){
		    .event = s->cpu->plan->parts[part].event,
		    .instance = session_cpu_instance(s->cpu, part),
		    .samples = c->samples,
		    .idle = c->idle,
		    .weight = c->weight,
		    .lost = lost_of(s, &s->events[i]),
		    .throttled = c->throttled,
		    .unthrottled = c->unthrottled,
		};
	}
}

int sampler_cut(struct sampler *s, uint64_t cut_ns, bool is_wanted, struct err *e)
{
	int rc = 0;

	if (!is_wanted)
		buf_reset(&s->kept);
	if (s->ring.base)
		rc = s->span_ns ? cut_held(s, cut_ns, is_wanted, e)
				: cut_ring(s, cut_ns, is_wanted, e);
	rc = rc ?: cut_lasting(s, cut_ns, is_wanted, e);
	count_stacks(s);
	sum_up(s);
	return rc;
}

void sampler_skip(struct sampler *s, uint64_t cut_ns)
{
	s->held = (struct trace_held){.wanted_ns = s->span_ns, .from_ns = cut_ns, .to_ns = cut_ns};
	forget_lasting(s);
	sum_up(s);
}

static uint64_t iteration_samples(const struct sampler *s)
{
	uint64_t samples = 0;

	for (uint32_t i = 0; i < s->scan.nr_events; i++)
		samples += s->counts[i].samples;
	return samples;
}

int sampler_begin(struct sampler *s, struct trace_file *file, struct err *e)
{
	struct pmu_view kept = view_of(&s->kept);
	int rc;

	s->samples += iteration_samples(s);
	s->lost += s->scan.lost;
	start_counting(s);
	s->file = file;
	rc = move_all(s, &kept, 0, s->kept.len, e);
	buf_reset(&s->kept);
	return rc;
}

uint64_t sampler_samples(const struct sampler *s)
{
	uint64_t samples = s->samples + iteration_samples(s);

	for (uint32_t i = 0; i < s->scan.nr_events; i++)
		if (s->events[i].aggregate)
			samples += aggregate_counts(s->events[i].aggregate, s->cpu->trace).samples;
	return samples;
}

uint64_t sampler_lost(const struct sampler *s)
{
	return s->lost + s->scan.lost;
}
