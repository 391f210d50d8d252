/*
 * Records of samples, made word by word in the order of enum perf_abi_field.
 */
#include "profile/wait_samples.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <errno.h>
#include <string.h>

enum {
	CHUNK_BYTES = 512 << 10, /* of records in a frame */
	JOINED_NS = 100000000,
	MAX_STACK_BYTES = 60000, /* so that a record has less than 64 KiB */
	RAW_BYTES = 12,          /* as of the programs in the kernel */
	OFF_CPU = 0,
	RUN_QUEUE = 1, /* perf_abi_wait */
};
/* Of the last samples of all threads; later ones have none. */
static const size_t MAX_LAST_BYTES = (size_t)1 << 30;

#define SUM(member) offsetof(struct profile_waits, member)

static const struct {
	int event; /* perf_abi_wait */
	enum trace_wait wait;
	size_t sum; /* in struct profile_waits */
} made[WAIT_SAMPLES_NR] = {
    [WAIT_SAMPLES_BLOCKED] = {OFF_CPU, TRACE_WAIT_OF_EVENT, SUM(blocked_ns)},
    [WAIT_SAMPLES_BOTH] = {OFF_CPU, TRACE_WAIT_BOTH, SUM(both_ns)},
    [WAIT_SAMPLES_QUEUE] = {RUN_QUEUE, TRACE_WAIT_OF_EVENT, SUM(queue_ns)},
    [WAIT_SAMPLES_UNKNOWN] = {OFF_CPU, TRACE_WAIT_IS_UNKNOWN, SUM(unknown_ns)},
};

/* ---- frames */

/* Writes what the writer has gathered. */
static int write_frames(struct wait_samples *w)
{
	const void *bytes;
	size_t len;
	int rc = trace_writer_bytes(w->writer, &bytes, &len) ?: io_write_full(w->fd, bytes, len);

	trace_writer_more(w->writer);
	w->bytes += rc ? 0 : len;
	return rc;
}

static int write_records(struct wait_samples *w)
{
	int rc = buf_error(&w->records);

	if (rc || !w->records.len)
		return rc;
	trace_writer_records(w->writer, TRACE_RING_SAMPLES, TRACE_UNKNOWN, w->records.data,
			     w->records.len);
	buf_reset(&w->records);
	return write_frames(w);
}

/* The id that samples of an event have if they are made. */
static uint64_t made_id(const struct wait_samples_event *e)
{
	return TRACE_MADE_ID | e->event;
}

static void add_id(const struct wait_samples_event *e, struct trace_id *ids, size_t *nr)
{
	if (e->event == UINT32_MAX)
		return;
	ids[*nr] = (struct trace_id){.id = made_id(e), .event = e->event, .group = (uint32_t)*nr};
	++*nr;
}

/* The same, if it is much. */
static int write_some(struct wait_samples *w)
{
	return w->records.len < CHUNK_BYTES ? buf_error(&w->records) : write_records(w);
}

int wait_samples_begin(struct wait_samples *w, const struct trace_ids *from)
{
	size_t nr = from->nr;
	MEM_AUTO struct trace_id *ids =
	    mem_calloc(nr + ARRAY_NR(w->events) + WAIT_SAMPLES_CLOCKS, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	if (nr)
		memcpy(ids, from->item, nr * sizeof(*ids));
	for (size_t i = 0; i < ARRAY_NR(w->events); i++) {
		struct wait_samples_event *e = &w->events[i];

		e->samples = e->ns = 0;
		add_id(e, ids, &nr);
	}
	for (size_t i = 0; i < WAIT_SAMPLES_CLOCKS; i++)
		add_id(&w->clocks[i], ids, &nr);
	trace_writer_ids(w->writer, ids, nr);
	return write_frames(w);
}

int wait_samples_end(struct wait_samples *w, uint64_t start_ns, uint64_t end_ns,
		     const struct trace_sampling *of)
{
	struct trace_sampled items[ARRAY_NR(w->events)];
	struct reading start[ARRAY_NR(w->events)], end[ARRAY_NR(w->events)];
	struct trace_sampling sampling = *of;
	uint64_t span_ns = end_ns > start_ns ? end_ns - start_ns : 0;
	int rc = write_records(w);

	sampling.nr = 0;
	sampling.item = items;
	for (size_t i = 0; i < ARRAY_NR(w->events); i++) {
		const struct wait_samples_event *e = &w->events[i];

		if (e->event == UINT32_MAX)
			continue;
		items[sampling.nr] = (struct trace_sampled){
		    .event = e->event, .samples = e->samples, .weight = e->ns};
		start[sampling.nr] =
		    (struct reading){.event = e->event, .state = READING_OK, .time_ns = start_ns};
		end[sampling.nr++] = (struct reading){.event = e->event,
						      .state = READING_OK,
						      .time_ns = end_ns,
						      .raw = e->ns,
						      .enabled_ns = span_ns,
						      .running_ns = span_ns};
	}
	trace_writer_readings(w->writer, TRACE_START, start, sampling.nr);
	trace_writer_readings(w->writer, TRACE_END, end, sampling.nr);
	trace_writer_sampling(w->writer, &sampling);
	return rc ?: write_frames(w);
}

/* ---- samples */

static void put_word(struct buf *b, uint64_t v)
{
	buf_le64(b, v);
}

static void put_raw(struct buf *b, uint64_t ns, uint32_t word)
{
	buf_le32(b, RAW_BYTES);
	buf_le64(b, ns);
	buf_le32(b, word);
}

static void put_regs(struct buf *b, const struct trace_record *r, bool has_regs)
{
	put_word(b, has_regs ? r->regs_abi : 0);
	if (has_regs && r->regs_abi)
		buf_add(b, r->regs, (size_t)r->nr_regs * sizeof(uint64_t));
}

static void put_stack(struct buf *b, const struct trace_record *r, bool has_regs)
{
	size_t len = has_regs && r->stack && r->stack_len <= MAX_STACK_BYTES - 8 * r->nr_callchain
			 ? (size_t)r->stack_len
			 : 0;

	put_word(b, len + (-len & 7));
	if (!len)
		return;
	buf_add(b, r->stack, len);
	buf_fill(b, 0, -len & 7);
	put_word(b, len);
}

/* Its fields before the task; returns where it begins. */
static size_t begin_sample(struct buf *b, const struct wait_samples_event *e, uint16_t misc,
			   uint64_t ip)
{
	size_t at = b->len;

	buf_le32(b, PERF_RECORD_SAMPLE);
	buf_le16(b, misc);
	buf_le16(b, 0);
	if (perf_abi_has(e->layout.sample_type, PERF_ABI_IDENTIFIER))
		put_word(b, made_id(e));
	if (perf_abi_has(e->layout.sample_type, PERF_ABI_IP))
		put_word(b, ip);
	return at;
}

static void end_sample(struct buf *b, size_t at)
{
	uint16_t size = htole16((uint16_t)(b->len - at));

	if (!buf_error(b))
		memcpy(b->data + at + 6, &size, sizeof(size));
}

/* A sample of waits of one kind, with the stack of r. */
static void put_sample(struct buf *b, const struct wait_samples_event *e,
		       const struct wait_samples_thread *t, uint32_t pid, uint32_t tid,
		       const struct trace_record *r, enum wait_samples_kind kind)
{
	const struct trace_layout *l = &e->layout;
	bool has_regs = r->kind && t->layout->user_regs == l->user_regs;
	uint64_t nr = r->nr_callchain * 8 <= MAX_STACK_BYTES / 2 ? r->nr_callchain : 0, ip = 0;
	size_t at;

	(void)trace_record_pc(r, &ip);
	at = begin_sample(b, e, r->kind ? r->misc : PERF_RECORD_MISC_USER, ip);
	buf_le32(b, pid);
	buf_le32(b, tid);
	put_word(b, t->end_ns[kind]);
	if (perf_abi_has(l->sample_type, PERF_ABI_CALLCHAIN)) {
		put_word(b, nr);
		buf_add(b, r->callchain, (size_t)nr * sizeof(uint64_t));
	}
	put_raw(b, t->ns[kind],
		trace_wait_word(made[kind].wait,
				kind == WAIT_SAMPLES_QUEUE ? TRACE_REASON_NONE : t->reason,
				r->is_seen));
	if (perf_abi_has(l->sample_type, PERF_ABI_REGS_USER))
		put_regs(b, r, has_regs);
	if (perf_abi_has(l->sample_type, PERF_ABI_STACK_USER))
		put_stack(b, r, has_regs);
	end_sample(b, at);
}

/* A sample of a clock, of a thread whose place is not known. */
static void put_rest(struct buf *b, const struct wait_samples_event *e, uint32_t pid, uint32_t tid,
		     uint64_t ns, uint64_t time_ns)
{
	const uint64_t type = e->layout.sample_type;
	const size_t at = begin_sample(b, e, PERF_RECORD_MISC_USER, 0);

	buf_le32(b, pid);
	buf_le32(b, tid);
	put_word(b, time_ns);
	if (perf_abi_has(type, PERF_ABI_STREAM_ID))
		put_word(b, 0);
	put_word(b, ns);
	if (perf_abi_has(type, PERF_ABI_CALLCHAIN))
		put_word(b, 0);
	if (perf_abi_has(type, PERF_ABI_REGS_USER))
		put_word(b, 0);
	if (perf_abi_has(type, PERF_ABI_STACK_USER))
		put_word(b, 0);
	end_sample(b, at);
}

/* Makes a sample of the waits of one kind. 0 or -errno. */
static int make_sample(struct wait_samples *w, struct wait_samples_thread *t, uint32_t pid,
		       uint32_t tid, enum wait_samples_kind kind)
{
	struct wait_samples_event *e = &w->events[made[kind].event];
	struct trace_record r = {0};

	if (!t->ns[kind] || e->event == UINT32_MAX) {
		t->ns[kind] = 0;
		return 0;
	}
	if (t->last && trace_record_decode(t->layout, t->last, t->last_bytes, &r))
		r = (struct trace_record){0};
	put_sample(&w->records, e, t, pid, tid, &r, kind);
	e->samples++;
	e->ns += t->ns[kind];
	*(uint64_t *)((char *)&w->waits + made[kind].sum) += t->ns[kind];
	w->waits.seen_ns += t->reason && made[kind].event == OFF_CPU ? t->ns[kind] : 0;
	t->ns[kind] = 0;
	return write_some(w);
}

int wait_samples_clock(const struct wait_samples *w, uint32_t event)
{
	for (int i = 0; i < WAIT_SAMPLES_CLOCKS; i++)
		if (w->clocks[i].event == event)
			return i;
	return -1;
}

uint32_t wait_samples_any_clock(const struct wait_samples *w)
{
	return w->clocks[0].event != UINT32_MAX ? w->clocks[0].event : w->clocks[1].event;
}

int wait_samples_rest(struct wait_samples *w, unsigned clock, uint32_t pid, uint32_t tid,
		      uint64_t ns, uint64_t time_ns)
{
	const struct wait_samples_event *e = &w->clocks[clock];

	if (e->event == UINT32_MAX)
		return 0;
	put_rest(&w->records, e, pid, tid, ns, time_ns);
	return write_some(w);
}

int wait_samples_make(struct wait_samples *w, struct wait_samples_thread *t, uint32_t pid,
		      uint32_t tid)
{
	return ARRAY_RUN(kind, WAIT_SAMPLES_NR,
			 make_sample(w, t, pid, tid, (enum wait_samples_kind)kind));
}

int wait_samples_add(struct wait_samples *w, struct wait_samples_thread *t, uint32_t pid,
		     uint32_t tid, enum wait_samples_kind kind, uint64_t ns, uint64_t end_ns)
{
	t->ns[kind] += ns;
	t->end_ns[kind] = end_ns;
	return t->ns[kind] < w->joined_ns ? 0 : make_sample(w, t, pid, tid, kind);
}

void wait_samples_drop(struct wait_samples *w, struct wait_samples_thread *t)
{
	w->last_bytes -= t->last_bytes;
	mem_free(t->last);
	t->last = NULL;
	t->last_bytes = 0;
}

/* Samples of an event may have a whole callchain in place of registers and stack bytes. */
static struct trace_layout unwound_of(const struct trace_layout *l)
{
	struct trace_layout unwound = *l;

	unwound.sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	unwound.user_regs = unwound.nr_user_regs = 0;
	return unwound;
}

static const struct trace_layout *layout_of(struct wait_samples *w, const struct trace_record *r,
					    uint32_t event)
{
	struct trace_layout *l = &w->layouts[2 * event];

	if (!(l->sample_type & PERF_SAMPLE_STACK_USER) || r->has & TRACE_HAS_USER_STACK)
		return l;
	l[1] = unwound_of(l);
	return &l[1];
}

int wait_samples_keep(struct wait_samples *w, struct wait_samples_thread *t,
		      const struct trace_record *r, uint32_t event)
{
	uint8_t *grown;

	if (!w->has_waits)
		return 0;
	if (r->len > MAX_LAST_BYTES - w->last_bytes + t->last_bytes) {
		wait_samples_drop(w, t);
		return 0;
	}
	grown = mem_resize(t->last, r->len);
	if (!grown)
		return -ENOMEM;
	memcpy(grown, r->bytes, r->len);
	w->last_bytes += r->len - t->last_bytes;
	t->last = grown;
	t->last_bytes = r->len;
	t->layout = layout_of(w, r, event);
	return 0;
}

/* ---- the events */

/* The fields that put_sample writes, or put_rest. more: what else it may. */
static bool is_writable(const struct trace_layout *l, uint64_t own, uint64_t more)
{
	const uint64_t needed = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | own;

	return (l->sample_type & needed) == needed &&
	       !(l->sample_type &
		 ~(needed | more | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN |
		   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER));
}

/* True if all of the session's events of waits by switches can be made, and there is one. */
static bool find_events(struct wait_samples *w, const struct profile_facts *facts)
{
	bool is_found = false;

	for (uint32_t i = 0; i < facts->nr_events; i++) {
		const struct trace_event *ev = &facts->events[i];
		struct trace_layout *l = &w->layouts[2 * i];
		struct perf_event_attr a = {.size = 0};
		int wait;

		if (!ev->attr_bytes || !trace_layout_init(l, ev->attr, ev->attr_bytes) ||
		    !l->is_by_switches || !is_writable(l, PERF_SAMPLE_RAW, 0))
			continue;
		memcpy(&a, ev->attr, ev->attr_bytes < sizeof(a) ? ev->attr_bytes : sizeof(a));
		wait = perf_abi_wait(a.type, a.config, a.config1);
		if ((size_t)wait >= ARRAY_NR(w->events))
			continue;
		w->events[wait].event = i;
		w->events[wait].layout = *l;
		is_found = true;
	}
	return is_found;
}

/* Without identifiers, samples of all events would be the clock's. True if there is one. */
static bool find_clocks(struct wait_samples *w, const struct profile_facts *facts)
{
	bool is_found = false;

	for (uint32_t i = 0; i < facts->nr_events; i++) {
		const struct trace_event *ev = &facts->events[i];
		const struct trace_layout *l = &w->layouts[2 * i];
		struct wait_samples_event *e = &w->clocks[l->config == PERF_COUNT_SW_TASK_CLOCK];

		if (l->is_completed && e->event == UINT32_MAX && ev->attr_bytes &&
		    is_writable(l, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD,
				PERF_SAMPLE_STREAM_ID)) {
			*e = (struct wait_samples_event){.event = i, .layout = *l};
			is_found = true;
		}
	}
	return is_found;
}

bool wait_samples_init(struct wait_samples *w, const struct profile_facts *facts, int *rc)
{
	*w = (struct wait_samples){.events = {{.event = UINT32_MAX}, {.event = UINT32_MAX}},
				   .clocks = {{.event = UINT32_MAX}, {.event = UINT32_MAX}},
				   .joined_ns = facts->has_regions ? 1 : JOINED_NS,
				   .fd = -1};
	buf_init(&w->records, 2 * CHUNK_BYTES);
	w->layouts = mem_calloc(2 * (facts->nr_events + 1), sizeof(*w->layouts));
	*rc = w->layouts ? 0 : -ENOMEM;
	if (!w->layouts)
		return false;
	w->has_waits = find_events(w, facts);
	return find_clocks(w, facts) || w->has_waits;
}

void wait_samples_fini(struct wait_samples *w)
{
	buf_fini(&w->records);
	trace_writer_free(w->writer);
	io_close(&w->fd);
	mem_free(w->layouts);
}

int wait_samples_open(struct wait_samples *w, struct err *e)
{
	w->writer = trace_writer_new();
	return w->writer ? io_open_temporary(&w->fd, e) : -ENOMEM;
}
