/*
 * A record is taken through a cursor and put together anew, word by word up to the counts of a
 * sample; what is behind them is copied as it is. Lengths are checked before anything is written.
 */
#include "export/perf_record.h"

#include "base/buf.h"
#include "base/cursor.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER_BYTES = 8,
	WORD_BYTES = 8,
	MAX_BYTES = 65528, /* of a record: its size has 16 bits, and is a multiple of 8 */
	MAX_NAME_BYTES = 4095,
	MAX_READ = 4096, /* counts in a sample */
	NO_PID = -1,
};

/* enum perf_event_type, enum perf_user_event_type of the tool, PERF_RECORD_MISC_… */
enum {
	RECORD_MMAP = 1,
	RECORD_FORK = 7,
	RECORD_READ = 8,
	RECORD_SAMPLE = 9,
	RECORD_LOST_SAMPLES = 13,
	RECORD_FINISHED_ROUND = 68,
	MISC_KERNEL = 1,
	MISC_FORK_EXEC = 1 << 13, /* the tool's: maps are not copied */
};

/* enum perf_event_sample_format */
enum {
	SAMPLE_IP = 1 << 0,
	SAMPLE_TID = 1 << 1,
	SAMPLE_TIME = 1 << 2,
	SAMPLE_ADDR = 1 << 3,
	SAMPLE_READ = 1 << 4,
	SAMPLE_CALLCHAIN = 1 << 5,
	SAMPLE_ID = 1 << 6,
	SAMPLE_CPU = 1 << 7,
	SAMPLE_PERIOD = 1 << 8,
	SAMPLE_STREAM_ID = 1 << 9,
	SAMPLE_STACK_USER = 1 << 13,
	SAMPLE_IDENTIFIER = 1 << 16,
	/* words between the IP and the CPU */
	SAMPLE_HEAD = SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR,
};

/* enum perf_event_read_format */
enum {
	READ_ENABLED = 1 << 0,
	READ_RUNNING = 1 << 1,
	READ_ID = 1 << 2,
	READ_GROUP = 1 << 3,
	READ_LOST = 1 << 4,
};

struct perf_layout perf_layout_told(const struct perf_layout *l)
{
	struct perf_layout told = *l;

	told.sample_type |= SAMPLE_IDENTIFIER | SAMPLE_CPU | SAMPLE_IP;
	if (l->sample_type & SAMPLE_STACK_USER)
		told.sample_type |= SAMPLE_CALLCHAIN;
	if (l->sample_type & SAMPLE_READ)
		told.read_format |= READ_ID;
	told.has_sample_id = true;
	return told;
}

struct work {
	struct buf *out;
	const struct perf_origin *o;
	struct cursor c;
	size_t start; /* of the record in out */
};

static unsigned nr_words(uint64_t sample_type, uint64_t of)
{
	return (unsigned)__builtin_popcountll(sample_type & of);
}

static void copy(struct work *w, size_t len)
{
	const uint8_t *p = cursor_bytes(&w->c, len);

	if (p)
		buf_add(w->out, p, len);
}

static void put_cpu(struct work *w)
{
	if (w->o->layout.sample_type & SAMPLE_CPU)
		copy(w, WORD_BYTES);
	else
		buf_le64(w->out, w->o->cpu);
}

static uint64_t told_count(const struct perf_origin *o, uint64_t id, uint64_t count)
{
	return o->count ? o->count(o->arg, id, count) : count;
}

static uint64_t member_id(const struct perf_origin *o, uint64_t i)
{
	return o->member ? o->member(o->arg, i) : 0;
}

static void put_count(struct work *w, uint64_t i)
{
	uint64_t format = w->o->layout.read_format, count = cursor_le64(&w->c);
	uint64_t id = format & READ_ID ? cursor_le64(&w->c) : member_id(w->o, i);

	buf_le64(w->out, told_count(w->o, id, count));
	buf_le64(w->out, id);
	if (format & READ_LOST)
		copy(w, WORD_BYTES);
}

/* Of one event the times stand behind the count, before its id. */
static void put_single(struct work *w)
{
	uint64_t format = w->o->layout.read_format, count = cursor_le64(&w->c);

	buf_le64(w->out, told_count(w->o, w->o->id, count));
	copy(w, (size_t)WORD_BYTES * nr_words(format, READ_ENABLED | READ_RUNNING));
	if (format & READ_ID)
		copy(w, WORD_BYTES);
	else
		buf_le64(w->out, w->o->id);
	if (format & READ_LOST)
		copy(w, WORD_BYTES);
}

static void put_group(struct work *w)
{
	uint64_t format = w->o->layout.read_format, nr = cursor_le64(&w->c);

	w->c.underflow |= nr > MAX_READ;
	buf_le64(w->out, nr);
	copy(w, (size_t)WORD_BYTES * nr_words(format, READ_ENABLED | READ_RUNNING));
	for (uint64_t i = 0; i < nr && cursor_ok(&w->c); i++)
		put_count(w, i);
}

static void put_counts(struct work *w)
{
	if (w->o->layout.read_format & READ_GROUP)
		put_group(w);
	else
		put_single(w);
}

/* Words up to where the program's begin. */
static uint64_t kernel_words(struct cursor c, uint64_t nr)
{
	const uint64_t context_user = (uint64_t)-512;
	uint64_t i = 0;

	while (i < nr && cursor_le64(&c) != context_user)
		i++;
	return i;
}

static void put_chain(struct work *w)
{
	bool has_chain = w->o->layout.sample_type & SAMPLE_CALLCHAIN;
	bool has_stack = w->o->layout.sample_type & SAMPLE_STACK_USER;
	uint64_t nr = has_chain ? cursor_le64(&w->c) : 0, kept = nr;

	w->c.underflow |= nr > w->c.left / WORD_BYTES;
	if (!cursor_ok(&w->c) || (!has_chain && !has_stack))
		return;
	if (w->o->chain)
		kept = 0;
	else if (w->o->drops_user)
		kept = kernel_words(w->c, nr);
	buf_le64(w->out, w->o->chain ? w->o->nr_chain : kept);
	for (size_t i = 0; w->o->chain && i < w->o->nr_chain; i++)
		buf_le64(w->out, w->o->chain[i]);
	copy(w, (size_t)kept * WORD_BYTES);
	cursor_skip(&w->c, (size_t)(nr - kept) * WORD_BYTES);
}

/* No registers, no stack. */
static int put_empty_dump(struct work *w)
{
	const uint8_t *dump = w->o->dump;

	if (dump < w->c.at || dump > w->c.at + w->c.left)
		return -EINVAL;
	copy(w, (size_t)(dump - w->c.at));
	cursor_skip(&w->c, w->o->dump_len);
	buf_le64(w->out, 0);
	buf_le64(w->out, 0);
	return 0;
}

static size_t excess_of(const struct work *w, size_t rest)
{
	size_t len = w->out->len - w->start + rest;

	return len > MAX_BYTES ? len - MAX_BYTES : 0;
}

/* Of a stack that is too long: its size, what is near, how much of it is true. */
static int put_cut_stack(struct work *w, size_t excess)
{
	const uint8_t *stack = w->o->stack;
	uint64_t size, is_true;
	struct cursor c;

	if (!stack || stack < w->c.at + WORD_BYTES || stack > w->c.at + w->c.left)
		return -E2BIG;
	copy(w, (size_t)(stack - w->c.at) - WORD_BYTES);
	size = cursor_le64(&w->c);
	if (size < excess || size > w->c.left)
		return -E2BIG;
	c = w->c;
	cursor_skip(&c, (size_t)size);
	is_true = cursor_le64(&c);
	size -= excess;
	buf_le64(w->out, size);
	copy(w, (size_t)size);
	buf_le64(w->out, is_true < size ? is_true : size);
	w->c = c;
	return 0;
}

static int put_rest(struct work *w)
{
	bool is_dropped = w->o->chain && w->o->dump;
	size_t excess = is_dropped ? 0 : excess_of(w, w->c.left);
	int rc = excess ? put_cut_stack(w, excess) : is_dropped ? put_empty_dump(w) : 0;

	copy(w, w->c.left);
	return rc == 0 && excess_of(w, 0) ? -E2BIG : rc;
}

static void put_ip(struct work *w)
{
	if (w->o->layout.sample_type & SAMPLE_IP)
		copy(w, WORD_BYTES);
	else
		buf_le64(w->out, w->o->ip);
}

/* Readers take an id that stands here for the one at the record's end. */
static void put_ids(struct work *w, bool is_there)
{
	uint64_t type = w->o->layout.sample_type;

	if (type & SAMPLE_ID)
		buf_le64(w->out, w->o->id);
	if (is_there) {
		cursor_skip(&w->c, (size_t)WORD_BYTES * nr_words(type, SAMPLE_ID));
		copy(w, (size_t)WORD_BYTES * nr_words(type, SAMPLE_STREAM_ID));
	} else {
		buf_fill(w->out, '\0', (size_t)WORD_BYTES * nr_words(type, SAMPLE_STREAM_ID));
	}
}

static int put_sample(struct work *w)
{
	const struct perf_layout *l = &w->o->layout;

	if (l->sample_type & SAMPLE_IDENTIFIER)
		cursor_skip(&w->c, WORD_BYTES);
	buf_le64(w->out, w->o->id);
	put_ip(w);
	copy(w, (size_t)WORD_BYTES * nr_words(l->sample_type, SAMPLE_HEAD));
	put_ids(w, true);
	put_cpu(w);
	copy(w, (size_t)WORD_BYTES * nr_words(l->sample_type, SAMPLE_PERIOD));
	if (l->sample_type & SAMPLE_READ)
		put_counts(w);
	put_chain(w);
	return put_rest(w);
}

/* struct sample_id, of which each field is a word. */
enum {
	SAMPLE_ID_HEAD = SAMPLE_TID | SAMPLE_TIME,
	SAMPLE_ID_ALL =
	    SAMPLE_ID_HEAD | SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU | SAMPLE_IDENTIFIER,
};

static void put_id(struct work *w)
{
	const struct perf_layout *l = &w->o->layout;
	size_t len = (size_t)WORD_BYTES * nr_words(l->sample_type, SAMPLE_ID_HEAD);

	if (l->has_sample_id) {
		copy(w, len);
		put_ids(w, true);
		put_cpu(w);
	} else {
		buf_fill(w->out, '\0', len);
		put_ids(w, false);
		buf_le64(w->out, w->o->cpu);
	}
	buf_le64(w->out, w->o->id);
}

static int put_other(struct work *w, uint32_t kind)
{
	const struct perf_layout *l = &w->o->layout;
	size_t id_len =
	    l->has_sample_id ? (size_t)WORD_BYTES * nr_words(l->sample_type, SAMPLE_ID_ALL) : 0;

	if (kind == RECORD_READ && l->sample_type & SAMPLE_READ) {
		copy(w, WORD_BYTES); /* who */
		put_counts(w);
	}
	if (id_len > w->c.left)
		return -EINVAL;
	copy(w, w->c.left - id_len);
	put_id(w);
	cursor_skip(&w->c, w->c.left); /* an identifier that it had */
	return excess_of(w, 0) ? -E2BIG : 0;
}

/* Overwrites what was appended. */
static void set(struct work *w, size_t at, const void *data, size_t len)
{
	if (!buf_error(w->out) && w->start + at + len <= w->out->len)
		memcpy(w->out->data + w->start + at, data, len);
}

static void set_le16(struct work *w, size_t at, uint16_t v)
{
	v = htole16(v);
	set(w, at, &v, sizeof(v));
}

/* Times: in the id, and of a fork in its own fields. */
static void set_before(struct work *w, uint32_t kind, uint16_t misc)
{
	enum { FORK_TIME_AT = 24 };
	uint64_t type = w->o->layout.sample_type, zero = 0;
	size_t behind =
	    (size_t)WORD_BYTES * (2 + nr_words(type, SAMPLE_TIME | SAMPLE_ID | SAMPLE_STREAM_ID));

	if (type & SAMPLE_TIME)
		set(w, w->out->len - w->start - behind, &zero, sizeof(zero));
	if (kind != RECORD_FORK)
		return;
	set(w, FORK_TIME_AT, &zero, sizeof(zero));
	set_le16(w, 4, misc | MISC_FORK_EXEC);
}

static void set_mode(struct work *w, uint16_t misc)
{
	enum { MODE_MASK = 7, MODE_USER = 2 };

	if (w->o->is_user_ip && !(w->o->layout.sample_type & SAMPLE_IP))
		set_le16(w, 4, (uint16_t)((misc & ~MODE_MASK) | MODE_USER));
}

int perf_record_add(struct buf *out, const struct perf_origin *o, const uint8_t *p, size_t len)
{
	struct work w = {.out = out, .o = o, .start = out->len};
	uint32_t kind;
	uint16_t misc;
	int rc;

	cursor_init(&w.c, p, len);
	kind = cursor_le32(&w.c);
	misc = cursor_le16(&w.c);
	cursor_skip(&w.c, 2);
	buf_add(out, p, cursor_ok(&w.c) ? HEADER_BYTES : 0);
	rc = kind == RECORD_SAMPLE ? put_sample(&w) : put_other(&w, kind);
	if (rc == 0 && (!cursor_ok(&w.c) || len % WORD_BYTES))
		rc = -EINVAL;
	if (rc) {
		buf_cut(out, w.start);
		return rc;
	}
	set_le16(&w, 6, (uint16_t)(out->len - w.start));
	if (kind == RECORD_SAMPLE)
		set_mode(&w, misc);
	else if (o->is_before)
		set_before(&w, kind, misc);
	return 0;
}

static void put_header(struct buf *out, uint32_t kind, uint16_t misc, size_t len)
{
	buf_le32(out, kind);
	buf_le16(out, misc);
	buf_le16(out, (uint16_t)len);
}

/* The id of a side-band record. */
static void put_side_band_id(struct buf *out, uint32_t pid, uint64_t time_ns, uint32_t cpu,
			     uint64_t id)
{
	buf_le32(out, pid);
	buf_le32(out, pid);
	buf_le64(out, time_ns);
	buf_le64(out, cpu);
	buf_le64(out, id);
}

enum { SIDE_BAND_ID_BYTES = 4 * WORD_BYTES };

void perf_record_kernel(struct buf *out, const struct perf_kernel_range *r, uint64_t id)
{
	size_t name_len = strnlen(r->name, MAX_NAME_BYTES);
	size_t room = (name_len + WORD_BYTES) & ~(size_t)(WORD_BYTES - 1);

	put_header(out, RECORD_MMAP, MISC_KERNEL,
		   HEADER_BYTES + 4 * WORD_BYTES + room + SIDE_BAND_ID_BYTES);
	buf_le32(out, (uint32_t)NO_PID);
	buf_le32(out, 0);
	buf_le64(out, r->start);
	buf_le64(out, r->len);
	buf_le64(out, r->offset);
	buf_add(out, r->name, name_len);
	buf_fill(out, '\0', room - name_len);
	put_side_band_id(out, 0, 0, 0, id);
}

void perf_record_forget(struct buf *out, uint32_t pid, uint64_t time_ns, uint32_t cpu, uint64_t id)
{
	put_header(out, RECORD_FORK, MISC_FORK_EXEC,
		   HEADER_BYTES + 3 * WORD_BYTES + SIDE_BAND_ID_BYTES);
	for (int i = 0; i < 4; i++) /* pid, ppid, tid, ptid */
		buf_le32(out, pid);
	buf_le64(out, time_ns);
	put_side_band_id(out, pid, time_ns, cpu, id);
}

void perf_record_round(struct buf *out)
{
	put_header(out, RECORD_FINISHED_ROUND, 0, HEADER_BYTES);
}

void perf_record_lost_samples(struct buf *out, uint64_t nr, uint64_t time_ns, uint32_t cpu,
			      uint64_t id)
{
	put_header(out, RECORD_LOST_SAMPLES, 0, HEADER_BYTES + WORD_BYTES + SIDE_BAND_ID_BYTES);
	buf_le64(out, nr);
	put_side_band_id(out, 0, time_ns, cpu, id);
}
