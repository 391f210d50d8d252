/*
 * Any records, of events with any attrs, made such as a perf.data file has them: what the decoder
 * of records reads of the one, it reads of the other too. The input is as that of fuzz_record: two
 * attrs, then frames: two bytes, length, bytes. What is asserted holds for every input.
 */
#include "base/buf.h"
#include "export/perf_record.h"
#include "trace/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	ATTR_BYTES = 128,
	NR_ATTRS = 2,
	MAX_BYTES = 1 << 20,
	OUR_ID = 4711,
	MAX_RECORD_BYTES = 65528,
};

static void require(bool truth)
{
	if (!truth)
		abort();
}

static uint64_t member(void *arg, uint64_t i)
{
	(void)arg;
	return i;
}

static void same(const uint8_t *a, const uint8_t *b, uint64_t len)
{
	require(len == 0 || memcmp(a, b, len) == 0);
}

static struct perf_layout layout_of(const struct trace_layout *l)
{
	return (struct perf_layout){l->sample_type, l->read_format, l->has_sample_id};
}

static struct trace_layout told(const struct trace_layout *l)
{
	const struct perf_layout from = layout_of(l), to = perf_layout_written(&from);
	struct trace_layout out = *l;

	out.sample_type = to.sample_type;
	out.read_format = to.read_format;
	out.has_sample_id = to.has_sample_id;
	return out;
}

static void check_sample(const struct trace_record *a, const struct trace_record *b)
{
	require(a->ip == b->ip || !(a->has & TRACE_HAS_IP));
	require(a->pid == b->pid && a->tid == b->tid && a->time_ns == b->time_ns);
	require(a->addr == b->addr && a->period == b->period && a->weight == b->weight);
	require(a->nr_read == b->nr_read && a->nr_callchain == b->nr_callchain);
	require(a->raw_len == b->raw_len && a->nr_branches == b->nr_branches);
	require(a->nr_regs == b->nr_regs && a->data_src == b->data_src);
	for (uint64_t i = 0; i < a->nr_read; i++)
		same(a->read_values + 8 * i * a->read_stride,
		     b->read_values + 8 * i * b->read_stride, 8);
	same(a->callchain, b->callchain, 8 * a->nr_callchain);
	same(a->raw, b->raw, a->raw_len);
	same(a->branches, b->branches, 24 * a->nr_branches);
	same(a->regs, b->regs, 8 * (uint64_t)a->nr_regs);
	require(b->stack_len <= a->stack_len);
	same(a->stack, b->stack, b->stack_len);
}

static void check_added(const struct trace_layout *l, const struct trace_record *a,
			const struct buf *out)
{
	const struct trace_layout to = told(l);
	struct trace_record b;

	require(out->len % 8 == 0 && out->len <= MAX_RECORD_BYTES);
	require(trace_record_decode(&to, (const uint8_t *)out->data, out->len, &b) == 0);
	require(b.len == out->len && b.kind == a->kind && b.misc == a->misc);
	require(trace_word(b.bytes, a->kind == PERF_RECORD_SAMPLE ? 1 : b.len / 8 - 1) == OUR_ID);
	if (a->kind == PERF_RECORD_SAMPLE)
		check_sample(a, &b);
	else if (a->name)
		require(b.name && strcmp(a->name, b.name) == 0);
}

/* What the decoder refuses may come to anything, but within its bytes. */
static void check_record(const struct trace_layout *l, const uint8_t *p, size_t len, bool is_before)
{
	struct perf_origin o = {.layout = layout_of(l),
				.id = OUR_ID,
				.cpu = 3,
				.member = member,
				.is_before = is_before};
	struct trace_record r;
	struct buf out;
	bool has_sense = trace_record_decode(l, p, len, &r) == 0;
	int rc;

	buf_init(&out, MAX_BYTES);
	o.stack = r.stack;
	rc = perf_record_add(&out, &o, p, len);
	if (has_sense) {
		bool is_known = trace_record_kind_name(r.kind) != NULL;

		require(rc == 0 || (rc == -E2BIG && len > MAX_RECORD_BYTES / 2) ||
			r.nr_read > 4096 || !is_known);
		if (rc == 0 && !is_before && is_known)
			check_added(l, &r, &out);
	}
	require(rc == 0 || out.len == 0);
	buf_fini(&out);
}

/* Each in memory of its own size. */
static void check_all(const struct trace_layout *l, const uint8_t *p, size_t len, bool is_before)
{
	uint32_t kind;
	size_t size;

	for (; len && (size = trace_record_size(p, len, &kind)); p += size, len -= size) {
		uint8_t *copy = malloc(size);

		require(copy != NULL);
		memcpy(copy, p, size);
		check_record(l, copy, size, is_before);
		free(copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_layout layouts[NR_ATTRS];
	bool is_known[NR_ATTRS];

	if (size <= NR_ATTRS * ATTR_BYTES)
		return 0;
	for (size_t i = 0; i < NR_ATTRS; i++)
		is_known[i] = trace_layout_init(&layouts[i], data + i * ATTR_BYTES, ATTR_BYTES);
	data += NR_ATTRS * ATTR_BYTES;
	size -= NR_ATTRS * ATTR_BYTES;
	while (size >= 4) {
		size_t len = data[2] | (size_t)data[3] << 8;

		if (len > size - 4)
			len = size - 4;
		for (size_t i = 0; i < NR_ATTRS; i++)
			if (is_known[i])
				check_all(&layouts[i], data + 4, len, data[1] & 1);
		data += 4 + len;
		size -= 4 + len;
	}
	return 0;
}
