/*
 * Any bytes as records, of events with any attrs: each taken apart by itself, and all of them in
 * the stream of a file. The input is two attrs, then frames: ring (3: ticks), CPU, length, bytes;
 * raw bytes of samples are read by the fields that some text in it describes. What is asserted
 * holds for every input.
 */
#include "base/buf.h"
#include "base/crc32c.h"
#include "profile/fields.h"
#include "profile/records.h"
#include "trace/format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ATTR_BYTES = 128, NR_ATTRS = 2, NR_TICKS_FRAME = 3, MAX_BYTES = 1 << 22 };

static void require(bool truth)
{
	if (!truth)
		abort();
}

static volatile uint32_t touched; /* so that reading is not optimised away */

static void touch(const struct trace_record *r, const void *at, uint64_t len)
{
	const uint8_t *p = at;

	if (!len)
		return;
	require(p >= r->bytes && len <= r->len && (size_t)(p - r->bytes) <= r->len - len);
	touched ^= crc32c(0, p, len);
}

static void check_fields(const struct trace_record *r, const char *format)
{
	struct profile_field f;
	struct profile_value v;

	while (profile_field_next(&format, &f)) {
		require(f.name_len > 0);
		if (!profile_field_value(&f, r->raw, r->raw_len, &v) || v.kind == PROFILE_NUMBER)
			continue;
		touch(r, v.bytes, v.len);
		require(v.kind == PROFILE_BYTES || strnlen((const char *)v.bytes, v.len) == v.len);
	}
}

/* All that it says is within its bytes. */
static void check_record(const struct trace_record *r, const char *format)
{
	struct trace_branch b;

	touch(r, r->bytes, r->len);
	touch(r, r->read_values, 8 * r->nr_read * r->read_stride);
	touch(r, r->callchain, 8 * r->nr_callchain);
	touch(r, r->raw, r->raw_len);
	touch(r, r->branches, 24 * r->nr_branches);
	touch(r, r->regs, 8 * (uint64_t)r->nr_regs);
	touch(r, r->stack, r->stack_len);
	if (r->name)
		touch(r, r->name, strlen(r->name) + 1);
	for (uint64_t i = 0; i < r->nr_branches; i++)
		trace_record_branch(r, i, &b);
	require(r->build_id_len <= TRACE_MAX_BUILD_ID_BYTES);
	if (r->has & TRACE_HAS_RAW)
		check_fields(r, format);
}

/* Each record in memory of its own size. */
static void check_alone(const struct trace_layout *l, const uint8_t *p, size_t len,
			const char *format)
{
	struct trace_record r;
	struct trace_place place;
	uint32_t kind;
	size_t size;

	for (; len && (size = trace_record_size(p, len, &kind)); p += size, len -= size) {
		uint8_t *copy = malloc(size);

		require(copy != NULL);
		memcpy(copy, p, size);
		if (trace_record_decode(l, copy, size, &r) == 0)
			check_record(&r, format);
		else
			require(r.has == 0 && r.name == NULL);
		require(r.len == size && r.kind == kind);
		trace_layout_id_place(l, &place);
		touched ^= (uint32_t)trace_record_word(&place, copy, size);
		free(copy);
	}
}

static void add_frame(struct buf *b, uint16_t kind, const struct buf *payload)
{
	size_t at = b->len;
	uint32_t crc;

	buf_le32(b, TRACE_FRAME_SYNC);
	buf_le16(b, kind);
	buf_le16(b, 0);
	buf_le32(b, (uint32_t)payload->len);
	require(buf_error(b) == 0);
	crc = crc32c(crc32c(0, b->data + at + 4, 8), payload->data, payload->len);
	buf_le32(b, crc);
	buf_add(b, payload->data, payload->len);
	buf_fill(b, 0, -payload->len % 8);
}

static void add_records(struct buf *b, uint8_t ring, uint8_t cpu, const uint8_t *p, size_t len)
{
	struct buf payload;

	buf_init(&payload, MAX_BYTES);
	if (ring == NR_TICKS_FRAME) {
		len -= len % TRACE_READING_BYTES;
		buf_le32(&payload, TRACE_TICK);
		buf_le32(&payload, TRACE_READING_BYTES);
		buf_le64(&payload, len / TRACE_READING_BYTES);
	} else {
		len -= len % 8;
		buf_le32(&payload, ring);
		buf_le32(&payload, cpu);
	}
	buf_add(&payload, p, len);
	add_frame(b, ring == NR_TICKS_FRAME ? TRACE_FRAME_READINGS : TRACE_FRAME_RECORDS, &payload);
	buf_fini(&payload);
}

static void add_header(struct buf *b)
{
	buf_add(b, TRACE_MAGIC, 8);
	buf_le32(b, TRACE_BYTE_ORDER);
	buf_le16(b, TRACE_VERSION);
	buf_le16(b, TRACE_HEADER_BYTES);
	buf_fill(b, 0, TRACE_HEADER_BYTES - 4 - b->len);
	buf_le32(b, crc32c(0, b->data, b->len));
}

static void no_problem(void *arg, bool is_loss, const struct err *problem)
{
	(void)arg;
	(void)is_loss;
	(void)problem;
}

/* What is late is said to be; the rest is in order: all, where everything waits for the end. */
static void read_items(struct profile_records *r, const struct profile_records_config *config,
		       const char *format)
{
	const struct profile_records_stats *stats = profile_records_stats(r);
	uint64_t nr = 0, nr_late = 0, youngest_ns = 0;
	struct profile_item item;
	int rc;

	for (; (rc = profile_records_next(r, &item)) == 1; nr++) {
		nr_late += item.time_ns < youngest_ns;
		if (item.time_ns > youngest_ns)
			youngest_ns = item.time_ns;
		require(item.kind == PROFILE_RECORD || item.kind == PROFILE_READING);
		if (item.kind == PROFILE_READING)
			require(item.reading.event < NR_ATTRS);
		else
			check_record(&item.record, format);
		if (item.id)
			require(!profile_member(config->ids, config->nr_ids, item.id, UINT64_MAX));
	}
	require(rc == 0 && nr == stats->nr_records + stats->nr_readings);
	require(nr_late == stats->nr_late);
	require(nr_late == 0 || config->window_ns != UINT64_MAX);
}

static void check_stream(const struct buf *b, const uint8_t *attrs, uint64_t window_ns,
			 const char *format)
{
	const struct trace_event events[NR_ATTRS] = {{.attr = attrs, .attr_bytes = ATTR_BYTES},
						     {.attr = attrs, .attr_bytes = 2 * ATTR_BYTES}};
	const struct trace_id ids[] = {
	    {.id = 1}, {.id = 2, .event = 1, .attr = 1}, {.id = 3, .event = 9}};
	struct profile_records_config config = {.events = events,
						.nr_events = NR_ATTRS,
						.window_ns = window_ns,
						.faults = {.name = "input", .problem = no_problem},
						.is_read_twice = true};

	for (config.nr_ids = 0; config.nr_ids <= 3; config.nr_ids += 3) {
		struct trace_reader *reader;
		struct profile_records *r;

		config.ids = config.nr_ids ? ids : NULL;
		require(trace_reader_open_mem(b->data, b->len, "input", &reader, NULL) == 0);
		require(profile_records_open(reader, &config, &r) == 0);
		read_items(r, &config, format);
		profile_records_close(r);
	}
}

static char *find_format(const uint8_t *data, size_t size)
{
	const char *start = memmem(data, size, "\tfield:", 7);
	char *format =
	    start ? strndup(start, size - (size_t)(start - (const char *)data)) : strdup("");

	require(format != NULL);
	return format;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t windows_ns[] = {0, PROFILE_WINDOW_NS, PROFILE_WINDOW_BY_TURNS_NS,
					      UINT64_MAX};
	struct trace_layout layouts[NR_ATTRS];
	bool is_known[NR_ATTRS];
	const uint8_t *attrs = data;
	char *format;
	struct buf b;

	if (size <= NR_ATTRS * ATTR_BYTES || size > MAX_BYTES / 2)
		return 0;
	format = find_format(data, size);
	buf_init(&b, MAX_BYTES);
	add_header(&b);
	for (size_t i = 0; i < NR_ATTRS; i++)
		is_known[i] = trace_layout_init(&layouts[i], attrs + i * ATTR_BYTES, ATTR_BYTES);
	data += NR_ATTRS * ATTR_BYTES;
	size -= NR_ATTRS * ATTR_BYTES;
	while (size >= 4) {
		size_t len = data[2] | (size_t)data[3] << 8;

		if (len > size - 4)
			len = size - 4;
		for (size_t i = 0; i < NR_ATTRS; i++)
			if (is_known[i])
				check_alone(&layouts[i], data + 4, len, format);
		add_records(&b, data[0] & 3, data[1], data + 4, len);
		data += 4 + len;
		size -= 4 + len;
	}
	check_stream(&b, attrs, windows_ns[attrs[12] & 3], format);
	buf_fini(&b);
	free(format);
	return 0;
}
