/*
 * Reads a record through a cursor and writes it anew, word by word up to the counts of a sample;
 * what follows them is copied. Lengths are checked before anything is written.
 */
#include "export/perf_record.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "base/perf_abi.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER_BYTES = PERF_ABI_HEADER_BYTES,
	WORD_BYTES = PERF_ABI_WORD_BYTES,
	MAX_BYTES = PERF_ABI_MAX_RECORD_BYTES,
	MAX_NAME_BYTES = 4095,
	MAX_READ = 4096, /* counts in a sample */
	NO_PID = -1,
	RECORD_FINISHED_ROUND = 68, /* enum perf_user_event_type of the tool */
};

struct perf_layout perf_layout_written(const struct perf_layout *l)
{
	struct perf_layout out = *l;

	out.sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU | PERF_SAMPLE_IP;
	if (l->sample_type & PERF_SAMPLE_STACK_USER)
		out.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (l->has_weight)
		out.sample_type |= PERF_SAMPLE_PERIOD;
	if (l->sample_type & PERF_SAMPLE_READ)
		out.read_format |= PERF_FORMAT_ID;
	out.has_sample_id = true;
	return out;
}

struct work {
	struct buf *out;
	const struct perf_origin *o;
	struct cursor c;
	size_t start; /* of the record in out */
};

static void copy(struct work *w, size_t len)
{
	const uint8_t *p = cursor_bytes(&w->c, len);

	if (p)
		buf_add(w->out, p, len);
}

static uint64_t count_of(const struct perf_origin *o, uint64_t id, uint64_t count)
{
	return o->count ? o->count(o->arg, id, count) : count;
}

static void copy_times(struct work *w)
{
	const uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	uint64_t format = w->o->layout.read_format;

	copy(w, (size_t)WORD_BYTES * (unsigned)__builtin_popcountll(format & times));
}

/* Without a group the times follow the count and precede its id. */
static void put_single(struct work *w)
{
	uint64_t format = w->o->layout.read_format, count = cursor_le64(&w->c);

	buf_le64(w->out, count_of(w->o, w->o->id, count));
	copy_times(w);
	if (format & PERF_FORMAT_ID)
		copy(w, WORD_BYTES);
	else
		buf_le64(w->out, w->o->id);
	if (format & PERF_FORMAT_LOST)
		copy(w, WORD_BYTES);
}

static void put_counts(struct work *w)
{
	const struct perf_origin *o = w->o;
	uint64_t format = o->layout.read_format, nr;

	if (!(format & PERF_FORMAT_GROUP)) {
		put_single(w);
		return;
	}
	nr = cursor_le64(&w->c);
	w->c.underflow |= nr > MAX_READ;
	buf_le64(w->out, nr);
	copy_times(w);
	for (uint64_t i = 0; i < nr && cursor_ok(&w->c); i++) {
		uint64_t count = cursor_le64(&w->c), id = 0;

		if (format & PERF_FORMAT_ID)
			id = cursor_le64(&w->c);
		else if (o->member)
			id = o->member(o->arg, i);
		buf_le64(w->out, count_of(o, id, count));
		buf_le64(w->out, id);
		if (format & PERF_FORMAT_LOST)
			copy(w, WORD_BYTES);
	}
}

/* The number of words before the user part. */
static uint64_t kernel_words(struct cursor c, uint64_t nr)
{
	uint64_t i = 0;

	while (i < nr && cursor_le64(&c) != PERF_CONTEXT_USER)
		i++;
	return i;
}

static void put_chain(struct work *w)
{
	bool has_chain = w->o->layout.sample_type & PERF_SAMPLE_CALLCHAIN;
	bool has_stack = w->o->layout.sample_type & PERF_SAMPLE_STACK_USER;
	uint64_t nr = has_chain ? cursor_le64(&w->c) : 0, nr_kept = nr;

	w->c.underflow |= nr > w->c.left / WORD_BYTES;
	if (!cursor_ok(&w->c) || (!has_chain && !has_stack))
		return;
	if (w->o->chain)
		nr_kept = 0;
	else if (w->o->drops_user)
		nr_kept = kernel_words(w->c, nr);
	buf_le64(w->out, w->o->chain ? w->o->nr_chain : nr_kept);
	for (size_t i = 0; w->o->chain && i < w->o->nr_chain; i++)
		buf_le64(w->out, w->o->chain[i]);
	copy(w, (size_t)nr_kept * WORD_BYTES);
	cursor_skip(&w->c, (size_t)(nr - nr_kept) * WORD_BYTES);
}

/* Empty registers and stack. */
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

/* A stack that is too long: its size, its inner end, the size of what is valid. */
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

/* A field of one word, if the record has it. Readers use an id among the fields like the one at the
 * end of the record, so all ids are the origin's. */
static void put_word(struct work *w, enum perf_abi_field f, bool is_there)
{
	bool is_id = f == PERF_ABI_IDENTIFIER || f == PERF_ABI_ID;

	if (is_there && !is_id) {
		copy(w, WORD_BYTES);
		return;
	}
	cursor_skip(&w->c, is_there ? WORD_BYTES : 0);
	if (is_id)
		buf_le64(w->out, w->o->id);
	else if (f == PERF_ABI_IP)
		buf_le64(w->out, w->o->ip);
	else if (f == PERF_ABI_PERIOD)
		buf_le64(w->out, w->o->weight);
	else
		buf_le64(w->out, f == PERF_ABI_CPU ? w->o->cpu : 0);
}

static int put_sample(struct work *w)
{
	uint64_t from = w->o->layout.sample_type;
	uint64_t to = perf_layout_written(&w->o->layout).sample_type;

	for (unsigned f = 0; f < PERF_ABI_READ; f++)
		if (perf_abi_has(to, (enum perf_abi_field)f))
			put_word(w, (enum perf_abi_field)f,
				 perf_abi_has(from, (enum perf_abi_field)f));
	if (perf_abi_has(from, PERF_ABI_READ))
		put_counts(w);
	put_chain(w);
	return put_rest(w);
}

static void put_id(struct work *w)
{
	const struct perf_layout *l = &w->o->layout;
	uint64_t to = perf_layout_written(l).sample_type;

	for (unsigned i = 0; i < PERF_ABI_NR_ID_FIELDS; i++) {
		enum perf_abi_field f = perf_abi_id_fields[i];

		if (perf_abi_has(to, f))
			put_word(w, f, l->has_sample_id && perf_abi_has(l->sample_type, f));
	}
}

static int put_other(struct work *w, uint32_t kind, const uint8_t *p, size_t len)
{
	const struct perf_layout *l = &w->o->layout;
	size_t id_len =
	    l->has_sample_id ? (size_t)WORD_BYTES * perf_abi_id_words(l->sample_type) : 0;
	const size_t behind = len - perf_abi_body_bytes(p, len, id_len);

	if (kind == PERF_RECORD_READ && l->sample_type & PERF_SAMPLE_READ) {
		copy(w, WORD_BYTES); /* pid, tid */
		put_counts(w);
	}
	if (behind > w->c.left)
		return -EINVAL;
	copy(w, w->c.left - behind);
	put_id(w);
	return excess_of(w, 0) ? -E2BIG : 0;
}

/* Overwrites a word in out. */
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

/* Sets the times to 0: in the trailing id and in the fields of a fork. */
static void set_before(struct work *w, uint32_t kind, uint16_t misc)
{
	enum { FORK_TIME_AT = 24 };
	uint64_t type = w->o->layout.sample_type, zero = 0;
	unsigned behind =
	    perf_abi_id_place(perf_layout_written(&w->o->layout).sample_type, PERF_ABI_TIME);

	if (type & PERF_SAMPLE_TIME)
		set(w, w->out->len - w->start - (size_t)WORD_BYTES * behind, &zero, sizeof(zero));
	if (kind != PERF_RECORD_FORK)
		return;
	set(w, FORK_TIME_AT, &zero, sizeof(zero));
	set_le16(w, 4, misc | PERF_RECORD_MISC_FORK_EXEC);
}

static void set_mode(struct work *w, uint16_t misc)
{
	if (w->o->is_user_ip && !(w->o->layout.sample_type & PERF_SAMPLE_IP))
		set_le16(
		    w, 4,
		    (uint16_t)((misc & ~PERF_RECORD_MISC_CPUMODE_MASK) | PERF_RECORD_MISC_USER));
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
	rc = kind == PERF_RECORD_SAMPLE ? put_sample(&w) : put_other(&w, kind, p, len);
	if (rc == 0 && (!cursor_ok(&w.c) || len % WORD_BYTES))
		rc = -EINVAL;
	if (rc) {
		buf_cut(out, w.start);
		return rc;
	}
	set_le16(&w, 6, (uint16_t)(out->len - w.start));
	if (kind == PERF_RECORD_SAMPLE)
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

/* The trailing id of a side-band record. */
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

	put_header(out, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL,
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
	put_header(out, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC,
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
	put_header(out, PERF_RECORD_LOST_SAMPLES, 0,
		   HEADER_BYTES + WORD_BYTES + SIDE_BAND_ID_BYTES);
	buf_le64(out, nr);
	put_side_band_id(out, 0, time_ns, cpu, id);
}
