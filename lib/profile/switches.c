/*
 * Two passes over all records in order of time, with the phase of each thread. The first one
 * divides the time in which a thread was blocked and then waited for a CPU: between two readings of
 * how long it waited for CPUs, by how much of that its preemptions do not explain. What share each
 * wait has of it is not known: all have the same.
 */
#include "profile/switches.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/cause.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "profile/load.h"
#include "profile/merged.h"
#include "profile/samples.h"
#include "profile/session_internal.h"
#include "trace/writer.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MAX_THREADS = 1 << 22,
	CHUNK_BYTES = 512 << 10, /* of records in a frame */
	JOINED_NS = 100000000,   /* a sample stands for shorter waits until they add up to this */
	MAX_STACK_BYTES = 60000, /* so that a record has less than 64 KiB */
	RAW_BYTES = 12,          /* as of the programs in the kernel */
	OFF_CPU = 0,
	RUN_QUEUE = 1, /* perf_abi_wait */
};
static const uint64_t MADE_ID = (uint64_t)1 << 63; /* and the event's number */

/* What a thread does. */
enum phase { NOT_KNOWN, RUNS, IS_BLOCKED, IS_PREEMPTED, IS_NEW };

#define SUM(member) offsetof(struct profile_waits, member)

/* What a wait is made into. */
enum made { MADE_BLOCKED, MADE_QUEUE, MADE_BOTH, MADE_UNKNOWN, NR_MADE };
static const struct {
	int event; /* perf_abi_wait */
	enum trace_wait wait;
	size_t sum; /* in struct profile_waits */
} made[NR_MADE] = {
    [MADE_BLOCKED] = {OFF_CPU, TRACE_WAIT_OF_EVENT, SUM(blocked_ns)},
    [MADE_BOTH] = {OFF_CPU, TRACE_WAIT_BOTH, SUM(both_ns)},
    [MADE_QUEUE] = {RUN_QUEUE, TRACE_WAIT_OF_EVENT, SUM(queue_ns)},
    [MADE_UNKNOWN] = {OFF_CPU, TRACE_WAIT_IS_UNKNOWN, SUM(unknown_ns)},
};

struct thread {
	uint32_t tid; /* the key */
	uint32_t pid;
	enum phase phase;
	bool has_lost; /* records of this phase may be missing */
	bool has_ended;
	bool is_read; /* it was, when it had run for ran_ns */
	uint64_t ran_ns;
	uint64_t since_ns;                     /* of the phase, or of the iteration */
	uint64_t ns[NR_MADE], end_ns[NR_MADE]; /* waits without a sample yet: sum, and last end */
	uint8_t *sample;                       /* owned; its last sample; NULL: none */
	size_t sample_bytes;
	const struct trace_layout *layout; /* of the sample */
};

/* The share of waiting for a CPU in the time of waits that ended after the split before. */
struct split {
	uint64_t to_ns;
	double queue;    /* negative: not known */
	uint64_t ran_ns; /* of the thread, up to then */
};

/* The splits of all threads with this number, one after the other. */
struct splits {
	uint32_t tid;       /* the key */
	struct split *item; /* owned */
	size_t nr, room;
	size_t at;                    /* in the second pass: where waits that end now are */
	bool has_delay;               /* the delay at the last split is known */
	uint64_t delay_ns, nr_before; /* at the last split; the times it was switched in */
	uint64_t missing;             /* switches in, at the last reading that was not used */
	/* Since then: */
	uint64_t both_ns, queue_ns, nr_in;
	bool has_unknown; /* a wait in which it may have run */
};

/* A trace of the target, by iteration. */
struct part {
	uint32_t iteration;
	uint64_t start_ns, end_ns;
	bool is_run, is_command;
	struct trace_ids ids;           /* item is owned */
	struct trace_sampling sampling; /* without items */
	size_t at, bytes;               /* of the frames that were made */
};

/* One of the session's events of waits. */
struct wait_event {
	uint32_t event; /* index; UINT32_MAX: not sampled */
	struct trace_layout layout;
	uint64_t samples, ns; /* of the iteration */
};

struct profile_switches {
	struct part *parts; /* owned; by iteration */
	size_t nr_parts;
	const uint8_t *frames; /* mapped */
	size_t bytes;
	struct profile_waits waits;
};

/* A thread that ran before the session. */
struct surveyed {
	uint32_t tid; /* the key */
	uint32_t pid;
};

struct maker {
	struct profile_session *session;
	const struct profile_facts *facts;
	struct profile_switches *out;
	struct wait_event events[2];
	struct trace_layout *layouts; /* owned; of each event */
	struct dict threads, splits, surveyed;
	uint64_t last_ns; /* of all records */
	bool is_first;    /* of the passes: nothing is made */
	size_t part;      /* the current one */
	bool has_begun;   /* the current one */
	struct buf records;
	struct trace_writer *writer;
	int fd;
};

static void ignore_problem(void *arg, bool is_loss, const struct err *problem)
{
	(void)arg;
	(void)is_loss;
	(void)problem;
}

/* ---- frames */

/* Writes what the writer has gathered. */
static int write_frames(struct maker *m)
{
	const void *bytes;
	size_t len;
	int rc = trace_writer_bytes(m->writer, &bytes, &len) ?: io_write_full(m->fd, bytes, len);

	trace_writer_more(m->writer);
	m->out->bytes += rc ? 0 : len;
	return rc;
}

static int write_records(struct maker *m)
{
	int rc = buf_error(&m->records);

	if (rc || !m->records.len)
		return rc;
	trace_writer_records(m->writer, TRACE_RING_SAMPLES, TRACE_UNKNOWN, m->records.data,
			     m->records.len);
	buf_reset(&m->records);
	return write_frames(m);
}

/* The ids precede the records, since they say what these are. */
static int begin_part(struct maker *m)
{
	struct part *p = &m->out->parts[m->part];
	size_t nr = p->ids.nr;
	struct trace_id *ids = mem_calloc(nr + ARRAY_NR(m->events), sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	m->has_begun = true;
	p->at = m->out->bytes;
	if (m->is_first) {
		mem_free(ids);
		return 0;
	}
	if (nr)
		memcpy(ids, p->ids.item, nr * sizeof(*ids));
	for (size_t i = 0; i < ARRAY_NR(m->events); i++) {
		struct wait_event *e = &m->events[i];

		e->samples = e->ns = 0;
		if (e->event == UINT32_MAX)
			continue;
		ids[nr] = (struct trace_id){
		    .id = MADE_ID | e->event, .event = e->event, .group = (uint32_t)nr};
		nr++;
	}
	trace_writer_ids(m->writer, ids, nr);
	mem_free(ids);
	return write_frames(m);
}

static int end_part(struct maker *m)
{
	struct part *p = &m->out->parts[m->part];
	struct trace_sampled items[ARRAY_NR(m->events)];
	struct reading start[ARRAY_NR(m->events)], end[ARRAY_NR(m->events)];
	struct trace_sampling sampling = p->sampling;
	uint64_t span_ns = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
	int rc = m->is_first ? 0 : write_records(m);

	if (m->is_first)
		return 0;
	sampling.nr = 0;
	sampling.item = items;
	for (size_t i = 0; i < ARRAY_NR(m->events); i++) {
		const struct wait_event *e = &m->events[i];

		if (e->event == UINT32_MAX)
			continue;
		items[sampling.nr] = (struct trace_sampled){
		    .event = e->event, .samples = e->samples, .weight = e->ns};
		start[sampling.nr] = (struct reading){
		    .event = e->event, .state = READING_OK, .time_ns = p->start_ns};
		end[sampling.nr++] = (struct reading){.event = e->event,
						      .state = READING_OK,
						      .time_ns = p->end_ns,
						      .raw = e->ns,
						      .enabled_ns = span_ns,
						      .running_ns = span_ns};
	}
	trace_writer_readings(m->writer, TRACE_START, start, sampling.nr);
	trace_writer_readings(m->writer, TRACE_END, end, sampling.nr);
	trace_writer_sampling(m->writer, &sampling);
	rc = rc ?: write_frames(m);
	p->bytes = m->out->bytes - p->at;
	return rc;
}

/* ---- samples */

static void put_word(struct buf *b, uint64_t v)
{
	buf_le64(b, v);
}

static void put_raw(struct buf *b, uint64_t ns, enum trace_wait wait)
{
	buf_le32(b, RAW_BYTES);
	buf_le64(b, ns);
	buf_le32(b, wait);
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

/* A sample of a wait, with the stack of r; in the order of enum perf_abi_field. */
static void put_sample(struct buf *b, const struct wait_event *e, const struct thread *t,
		       const struct trace_record *r, enum made kind)
{
	const struct trace_layout *l = &e->layout;
	bool has_regs = r->kind && t->layout->user_regs == l->user_regs;
	uint64_t nr = r->nr_callchain * 8 <= MAX_STACK_BYTES / 2 ? r->nr_callchain : 0, ip = 0;
	size_t at = b->len;
	uint16_t size;

	(void)trace_record_pc(r, &ip);
	buf_le32(b, PERF_RECORD_SAMPLE);
	buf_le16(b, r->kind ? r->misc : PERF_RECORD_MISC_USER);
	buf_le16(b, 0);
	if (perf_abi_has(l->sample_type, PERF_ABI_IDENTIFIER))
		put_word(b, MADE_ID | e->event);
	if (perf_abi_has(l->sample_type, PERF_ABI_IP))
		put_word(b, ip);
	buf_le32(b, t->pid);
	buf_le32(b, t->tid);
	put_word(b, t->end_ns[kind]);
	if (perf_abi_has(l->sample_type, PERF_ABI_CALLCHAIN)) {
		put_word(b, nr);
		buf_add(b, r->callchain, (size_t)nr * sizeof(uint64_t));
	}
	put_raw(b, t->ns[kind], made[kind].wait);
	if (perf_abi_has(l->sample_type, PERF_ABI_REGS_USER))
		put_regs(b, r, has_regs);
	if (perf_abi_has(l->sample_type, PERF_ABI_STACK_USER))
		put_stack(b, r, has_regs);
	size = htole16((uint16_t)(b->len - at));
	if (!buf_error(b))
		memcpy(b->data + at + 6, &size, sizeof(size));
}

/* The fields that put_sample writes. */
static bool is_writable(const struct trace_layout *l)
{
	const uint64_t needed = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;

	return (l->sample_type & needed) == needed &&
	       !(l->sample_type &
		 ~(needed | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN |
		   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER));
}

/* Makes a sample of the waits of one kind. 0 or -errno. */
static int make_sample(struct maker *m, struct thread *t, enum made kind)
{
	struct wait_event *e = &m->events[made[kind].event];
	struct trace_record r = {0};

	if (!t->ns[kind] || e->event == UINT32_MAX) {
		t->ns[kind] = 0;
		return 0;
	}
	if (t->sample && trace_record_decode(t->layout, t->sample, t->sample_bytes, &r))
		r = (struct trace_record){0};
	put_sample(&m->records, e, t, &r, kind);
	e->samples++;
	e->ns += t->ns[kind];
	*(uint64_t *)((char *)&m->out->waits + made[kind].sum) += t->ns[kind];
	t->ns[kind] = 0;
	return m->records.len < CHUNK_BYTES ? buf_error(&m->records) : write_records(m);
}

static int make_samples(struct maker *m, struct thread *t)
{
	return ARRAY_RUN(kind, NR_MADE, make_sample(m, t, (enum made)kind));
}

/* ---- threads */

static int add_part(struct maker *m, struct thread *t, enum made kind, uint64_t ns, uint64_t to_ns)
{
	t->ns[kind] += ns;
	t->end_ns[kind] = to_ns;
	return t->ns[kind] < JOINED_NS ? 0 : make_sample(m, t, kind);
}

/* The first split at that time or later; NULL: there is none. Times must not fall. */
static const struct split *find_split(struct splits *s, uint64_t ns)
{
	while (s->at < s->nr && s->item[s->at].to_ns < ns)
		s->at++;
	return s->at < s->nr ? &s->item[s->at] : NULL;
}

/* The share of waiting for a CPU in a wait that ends then; negative: not known. */
static double queue_share(struct splits *s, uint64_t to_ns)
{
	const struct split *split = find_split(s, to_ns);

	return split ? split->queue : -1;
}

static int add_wait(struct maker *m, struct thread *t, enum made kind, uint64_t to_ns)
{
	uint64_t ns = to_ns > t->since_ns ? to_ns - t->since_ns : 0, queue_ns;
	struct splits *s = dict_get(&m->splits, &t->tid);
	double share;

	if (!s)
		return -ENOMEM;
	if (m->is_first) {
		s->both_ns += kind == MADE_BOTH ? ns : 0;
		s->queue_ns += kind == MADE_QUEUE ? ns : 0;
		s->has_unknown |= kind == MADE_UNKNOWN;
		return 0;
	}
	share = kind == MADE_BOTH ? queue_share(s, to_ns) : -1;
	if (share < 0)
		return add_part(m, t, kind, ns, to_ns);
	queue_ns = (uint64_t)(share * (double)ns);
	queue_ns = queue_ns < ns ? queue_ns : ns;
	return add_part(m, t, MADE_QUEUE, queue_ns, to_ns)
		   ?: add_part(m, t, MADE_BLOCKED, ns - queue_ns, to_ns);
}

/* Ends the time since the last split, with this reading. */
static int add_split(struct splits *s, const struct reading *r, double queue)
{
	struct split *new = MEM_ADD(s->item, s->nr, s->room);

	if (!new)
		return -ENOMEM;
	*new = (struct split){r->time_ns, queue, r->enabled_ns};
	s->both_ns = s->queue_ns = s->nr_in = s->missing = 0;
	s->has_unknown = false;
	s->has_delay = true;
	s->delay_ns = r->raw;
	s->nr_before = r->running_ns;
	return 0;
}

/* In the first pass: a new thread has not waited for a CPU before. */
static int begin_splits(struct maker *m, uint32_t tid, uint64_t ns)
{
	struct splits *s = m->is_first ? dict_get(&m->splits, &tid) : NULL;

	return s ? add_split(s, &(struct reading){.time_ns = ns}, -1) : m->is_first ? -ENOMEM : 0;
}

/* In the first pass: how long a thread has waited for CPUs. Only a reading divides waits that has
 * as many switches in as the records have: one may fall between the time of the reading and the
 * reading, and after a thread's exit there is no record. */
static int add_delay(struct maker *m, const struct reading *r)
{
	struct splits *s = m->is_first ? dict_get(&m->splits, &r->instance) : NULL;
	uint64_t missing;
	double rest;

	if (!s)
		return m->is_first ? -ENOMEM : 0;
	missing = r->running_ns - s->nr_before - s->nr_in;
	rest = (double)r->raw - (double)s->delay_ns - (double)s->queue_ns;
	if (s->has_delay && !missing && !s->has_unknown)
		return add_split(s, r,
				 s->both_ns && rest > 0 ? fmin(rest / (double)s->both_ns, 1) : 0);
	if (s->has_delay && missing != s->missing) {
		s->missing = missing;
		return 0;
	}
	return add_split(s, r, -1);
}

/* The time up to to_ns in which the thread waited in its phase. in: it is switched in. */
static int end_phase(struct maker *m, struct thread *t, uint64_t to_ns, bool in)
{
	if (t->has_lost && t->phase != RUNS)
		return add_wait(m, t, MADE_UNKNOWN, to_ns);
	switch (t->phase) {
	case IS_BLOCKED:
		return add_wait(m, t, MADE_BOTH, to_ns);
	case IS_PREEMPTED:
		return add_wait(m, t, MADE_QUEUE, to_ns);
	case IS_NEW: /* without a switch in it may not be a thread of the target */
		return in ? add_wait(m, t, MADE_QUEUE, to_ns) : 0;
	case NOT_KNOWN: /* it waited when the session began */
		return in ? add_wait(m, t, MADE_BOTH, to_ns) : 0;
	case RUNS:
		break;
	}
	return 0;
}

static void begin_phase(struct thread *t, enum phase phase, uint64_t ns)
{
	t->phase = phase;
	t->since_ns = ns;
	t->has_lost = false;
}

/* NULL without memory, and for too many threads. */
static struct thread *get_thread(struct maker *m, const struct trace_record *r)
{
	struct thread *t = dict_get(&m->threads, &r->tid);

	if (!t)
		return NULL;
	if (t->has_ended || (t->pid && t->pid != r->pid)) { /* its number has a new owner */
		mem_free(t->sample);
		*t = (struct thread){.tid = r->tid};
	}
	if (!t->pid)
		t->since_ns = m->out->parts[m->part].start_ns;
	t->pid = r->pid;
	return t;
}

static int add_switch(struct maker *m, struct thread *t, const struct trace_record *r)
{
	bool is_out = r->misc & PERF_RECORD_MISC_SWITCH_OUT;
	bool is_preempted = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	int rc = 0;

	if (is_out ? t->phase == IS_BLOCKED || t->phase == IS_PREEMPTED : t->phase == RUNS)
		rc = add_wait(m, t, MADE_UNKNOWN, r->time_ns); /* the other switch is lost */
	else if (!is_out)
		rc = end_phase(m, t, r->time_ns, true);
	begin_phase(t, !is_out ? RUNS : is_preempted ? IS_PREEMPTED : IS_BLOCKED, r->time_ns);
	if (m->is_first && !is_out) {
		struct splits *s = dict_get(&m->splits, &t->tid);

		if (!s)
			return -ENOMEM;
		s->nr_in++;
	}
	return rc;
}

/* Before the next samples, what waited has the stack of the last one. */
static int store_sample(struct maker *m, struct thread *t, const struct profile_item *item)
{
	const struct trace_record *r = &item->record;
	int rc = make_samples(m, t);
	uint8_t *grown;

	if (rc)
		return rc;
	if (t->phase == NOT_KNOWN)
		begin_phase(t, RUNS, r->time_ns);
	if (m->is_first)
		return 0;
	grown = mem_resize(t->sample, r->len);
	if (!grown)
		return -ENOMEM;
	memcpy(grown, r->bytes, r->len);
	t->sample = grown;
	t->sample_bytes = r->len;
	t->layout = &m->layouts[item->id->event];
	return 0;
}

/* From the last record before to the loss the CPU may have switched any thread. */
static void add_loss(struct maker *m)
{
	for (uint32_t i = 0; i < m->threads.nr; i++)
		((struct thread *)dict_at(&m->threads, i))->has_lost = true;
}

static int end_thread(struct maker *m, struct thread *t)
{
	int rc = make_samples(m, t);

	mem_free(t->sample);
	t->sample = NULL;
	t->has_ended = true;
	return rc;
}

/* ---- the session */

/* In the second pass: a thread of which there is no record waited, if it has not run. */
static int add_asleep(struct maker *m, struct thread *t, uint64_t to_ns)
{
	const struct surveyed *s = dict_at(&m->surveyed, dict_find(&m->surveyed, &t->tid));
	struct splits *splits = dict_at(&m->splits, dict_find(&m->splits, &t->tid));
	const struct split *next = splits && !m->is_first ? find_split(splits, to_ns) : NULL;

	if (t->phase != NOT_KNOWN || !t->is_read || !next || next->ran_ns != t->ran_ns ||
	    (!t->pid && !s))
		return 0;
	t->pid = t->pid ? t->pid : s->pid;
	return add_wait(m, t, MADE_BOTH, to_ns);
}

/* A thread of the target exists. What a command's process waited before exec, when its records
 * begin, is no time of the command. */
static int add_reading(struct maker *m, const struct reading *r)
{
	struct thread *t = dict_get(&m->threads, &r->instance);
	const struct part *p = &m->out->parts[m->part < m->out->nr_parts ? m->part : m->part - 1];

	if (!t)
		return -ENOMEM;
	if (t->phase == NOT_KNOWN && p->is_command && !t->pid)
		return 0;
	if (!t->pid && !t->since_ns)
		t->since_ns = p->start_ns;
	t->is_read = true;
	t->ran_ns = r->enabled_ns;
	return add_delay(m, r);
}

/* What a thread did in the gap is not known, nor how long it waited there for a CPU. */
static void skip_gap(struct maker *m, uint64_t start_ns)
{
	for (uint32_t i = 0; i < m->threads.nr; i++) {
		struct thread *t = dict_at(&m->threads, i);

		begin_phase(t, NOT_KNOWN, start_ns);
		t->is_read = false;
	}
	for (uint32_t i = 0; i < m->splits.nr && m->is_first; i++)
		((struct splits *)dict_at(&m->splits, i))->has_delay = false;
}

/* Waits that last at the end of the iteration count in it up to there. */
static int close_part(struct maker *m)
{
	struct part *p = &m->out->parts[m->part];
	int rc = m->has_begun ? 0 : begin_part(m);

	if (!p->end_ns) /* the recorder was killed */
		p->end_ns = m->last_ns;
	for (uint32_t i = 0; i < m->threads.nr && rc == 0; i++) {
		struct thread *t = dict_at(&m->threads, i);

		if (t->has_ended)
			continue;
		rc = end_phase(m, t, p->end_ns, false) ?: add_asleep(m, t, p->end_ns) ?: make_samples(m, t);
		if (t->since_ns < p->end_ns)
			t->since_ns = p->end_ns;
		if (p->is_run && rc == 0) /* the next iteration is of other processes */
			rc = end_thread(m, t);
	}
	rc = rc ?: end_part(m);
	m->part++;
	m->has_begun = false;
	if (m->part < m->out->nr_parts && m->out->parts[m->part].start_ns > p->end_ns)
		skip_gap(m, m->out->parts[m->part].start_ns);
	return rc;
}

static int add_task(struct maker *m, const struct profile_item *item)
{
	const struct trace_record *r = &item->record;
	struct thread *t;

	const bool is_exec = r->kind == PERF_RECORD_COMM && r->misc & PERF_RECORD_MISC_COMM_EXEC;

	if (r->kind != PERF_RECORD_FORK && r->kind != PERF_RECORD_EXIT && !is_exec)
		return 0;
	if (item->ring == TRACE_RING_MADE) {
		struct surveyed *s = dict_get(&m->surveyed, &r->tid);

		if (s)
			s->pid = r->pid;
		return s ? 0 : -ENOMEM;
	}
	t = get_thread(m, r);
	if (!t)
		return -ENOMEM;
	if (r->kind == PERF_RECORD_EXIT)
		return end_thread(m, t);
	if (is_exec && t->phase != NOT_KNOWN)
		return 0;
	if (r->time_ns < m->out->parts[m->part].start_ns) { /* it may have run since */
		begin_phase(t, NOT_KNOWN, m->out->parts[m->part].start_ns);
		return 0;
	}
	begin_phase(t, is_exec ? RUNS : IS_NEW, r->time_ns);
	return is_exec ? 0 : begin_splits(m, r->tid, r->time_ns);
}

static int add_record(struct maker *m, const struct profile_item *item)
{
	const struct trace_record *r = &item->record;
	bool is_sample = r->kind == PERF_RECORD_SAMPLE && item->id && item->layout;
	struct thread *t;

	if (r->kind == PERF_RECORD_LOST)
		add_loss(m);
	if ((!is_sample && r->kind != PERF_RECORD_SWITCH) || !(r->has & TRACE_HAS_TID) || !r->tid ||
	    r->tid == TRACE_UNKNOWN)
		return 0;
	t = get_thread(m, r);
	if (!t)
		return -ENOMEM;
	if (t->has_ended)
		return 0;
	return is_sample ? store_sample(m, t, item) : add_switch(m, t, r);
}

/* The current iteration has ended when this happened. */
static bool is_over(const struct maker *m, const struct profile_merged_item *item)
{
	const struct part *p = &m->out->parts[m->part];

	return (p->end_ns && item->item->time_ns > p->end_ns) ||
	       (item->trace && item->trace->head.iteration > p->iteration);
}

static int add_item(struct maker *m, const struct profile_merged_item *item)
{
	const struct profile_trace *trace = item->trace;
	int rc = 0;

	if (item->item->kind == PROFILE_RECORD)
		m->last_ns = item->item->time_ns;
	while (rc == 0 && m->part < m->out->nr_parts && is_over(m, item))
		rc = close_part(m);
	if (rc == 0 && item->item->kind == PROFILE_READING &&
	    item->item->reading.flags & READING_OF_THREAD)
		return add_reading(m, &item->item->reading);
	if (rc || item->item->kind != PROFILE_RECORD || m->part == m->out->nr_parts)
		return rc;
	if (rc == 0 && !m->has_begun)
		rc = begin_part(m);
	return rc ?: trace ? add_record(m, item->item) : add_task(m, item->item);
}

static void free_threads(struct maker *m)
{
	for (uint32_t i = 0; i < m->threads.nr; i++)
		mem_free(((struct thread *)dict_at(&m->threads, i))->sample);
	dict_fini(&m->threads);
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
	while (rc == 0 && (got = profile_merged_next(merged, &item)) == 1)
		rc = add_item(m, &item);
	profile_merged_close(merged);
	rc = rc ?: got;
	while (rc == 0 && m->part < m->out->nr_parts)
		rc = close_part(m);
	free_threads(m);
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

/* True if the session has events of waits by switches, all of which can be made. */
static bool find_events(struct maker *m)
{
	bool is_found = false;

	for (size_t i = 0; i < ARRAY_NR(m->events); i++)
		m->events[i].event = UINT32_MAX;
	for (uint32_t i = 0; i < m->facts->nr_events; i++) {
		const struct trace_event *ev = &m->facts->events[i];
		struct trace_layout *l = &m->layouts[i];
		struct perf_event_attr a = {.size = 0};
		int wait;

		if (!ev->attr_bytes || !trace_layout_init(l, ev->attr, ev->attr_bytes) ||
		    !l->is_by_switches || !is_writable(l))
			continue;
		memcpy(&a, ev->attr, ev->attr_bytes < sizeof(a) ? ev->attr_bytes : sizeof(a));
		wait = perf_abi_wait(a.type, a.config, a.config1);
		if ((size_t)wait >= ARRAY_NR(m->events))
			continue;
		m->events[wait].event = i;
		m->events[wait].layout = *l;
		is_found = true;
	}
	return is_found;
}

static int map_frames(struct maker *m)
{
	void *base;

	if (!m->out->bytes)
		return 0;
	base = mmap(NULL, m->out->bytes, PROT_READ, MAP_PRIVATE, m->fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	m->out->frames = base;
	return 0;
}

static int make(struct maker *m, struct err *e)
{
	int rc = load_parts(m);

	if (rc || !m->out->nr_parts)
		return rc;
	m->writer = trace_writer_new();
	if (!m->writer)
		return -ENOMEM;
	return io_open_temporary(&m->fd, e)
		   ?: read_all(m, true) ?: read_all(m, false) ?: map_frames(m);
}

int profile_switches_make(struct profile_session *s, struct profile_switches **out, struct err *e)
{
	struct maker m = {.session = s, .facts = profile_session_facts(s), .fd = -1};
	int rc = -ENOMEM;

	*out = NULL;
	m.layouts = mem_calloc(m.facts->nr_events + 1, sizeof(*m.layouts));
	if (!m.layouts || !find_events(&m)) {
		rc = m.layouts ? 0 : rc;
		mem_free(m.layouts);
		return rc ? err_set(e, rc, "out of memory") : 0;
	}
	dict_init(&m.threads, sizeof(struct thread), sizeof(uint32_t), MAX_THREADS);
	dict_init(&m.splits, sizeof(struct splits), sizeof(uint32_t), MAX_THREADS);
	dict_init(&m.surveyed, sizeof(struct surveyed), sizeof(uint32_t), MAX_THREADS);
	buf_init(&m.records, 2 * CHUNK_BYTES);
	m.out = mem_zalloc(sizeof(*m.out));
	if (m.out)
		rc = make(&m, e);
	for (uint32_t i = 0; i < m.splits.nr; i++)
		mem_free(((struct splits *)dict_at(&m.splits, i))->item);
	dict_fini(&m.splits);
	dict_fini(&m.surveyed);
	buf_fini(&m.records);
	trace_writer_free(m.writer);
	io_close(&m.fd);
	mem_free(m.layouts);
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
	return &w->waits;
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

int profile_switches_add(const struct profile_switches *w, struct trace_reader *r,
			 struct trace_reader **out)
{
	static const struct trace_feed feed = {next_frame, file_bytes, is_whole, close_file};
	const struct trace_head *head = trace_reader_head(r);
	const struct part *p =
	    w && head->cpu == TRACE_ANY_CPU
		? ARRAY_FIND(x, w->parts, w->nr_parts, x->iteration == head->iteration)
		: NULL;

	*out = r;
	if (!p || !p->bytes)
		return 0;
	return trace_reader_open_feed(head, w->frames + p->at, p->bytes, &feed, r, "", out);
}
