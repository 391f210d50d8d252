/*
 * Fuzzes the trace reader: any bytes, all frames, all decoders. What it asserts holds for every
 * input. A mutator of its own mends checksums after most mutations, or nothing would ever get
 * behind them. Must not know more of the format than format.h says.
 */
#include "base/crc32c.h"
#include "base/err.h"
#include "trace/format.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size); /* of libFuzzer */

static void require(bool truth)
{
	if (!truth)
		abort();
}

/* Text from a trace: nothing that a terminal would act on. */
static void check_text(const char *s)
{
	for (; *s; s++) {
		require((unsigned char)*s >= 0x20 && *s != 0x7f);
		require((unsigned char)*s != 0xc2 || (unsigned char)s[1] >= 0xa0);
	}
}

/* The same of text that is made of lines. */
static void check_lines(const char *s)
{
	for (; *s; s++) {
		require((unsigned char)*s >= 0x20 || *s == '\t' || *s == '\n');
		require(*s != 0x7f);
	}
}

static volatile uint32_t touched; /* so that reading is not optimised away */

static void check_events(const struct trace_frame *f)
{
	struct trace_events e;

	if (trace_decode_events(f, &e) != 0)
		return;
	require(e.nr <= TRACE_MAX_EVENTS);
	for (size_t i = 0; i < e.nr; i++) {
		const struct trace_event *v = &e.item[i];
		const char *const text[] = {v->group,       v->name,   v->label, v->unit,
					    v->description, v->source, v->reason};

		for (size_t k = 0; k < sizeof(text) / sizeof(text[0]); k++)
			check_text(text[k]);
		check_lines(v->format);
		require(!v->attr == !v->attr_bytes);
		touched ^= crc32c(0, v->attr, v->attr_bytes); /* all of it is there */
	}
	trace_events_fini(&e);
}

static void check_info(const struct trace_frame *f)
{
	struct trace_info_owned i;

	if (trace_decode_info(f, &i) != 0)
		return;
	check_text(i.info.tool);
	check_text(i.info.kernel);
	check_text(i.info.cpu_model);
	check_text(i.info.config_name);
	check_text(i.info.model_name);
	check_text(i.info.spec_json);
	trace_info_fini(&i);
}

static void check_note(const struct trace_frame *f)
{
	struct trace_note note;
	char text[40];

	if (trace_decode_note(f, &note, text, sizeof(text)) == 0)
		check_text(note.text);
}

/* Where places in the payload of the frame end, in the file. */
static uint64_t end_of(const struct trace_frame *f)
{
	return f->offset + TRACE_FRAME_HEADER_BYTES + f->length;
}

static void check_readings(const struct trace_frame *f)
{
	enum trace_boundary boundary;
	struct reading r;
	size_t nr;

	if (trace_decode_readings(f, &boundary, &nr) != 0)
		return;
	for (size_t i = 0; i < nr; i++) {
		trace_decode_reading(f, i, &r);
		require(trace_reading_offset(f, i) + TRACE_READING_BYTES <= end_of(f));
	}
}

static void check_records(const struct trace_frame *f)
{
	const uint8_t *records;
	enum trace_ring ring;
	uint32_t cpu;
	size_t len;

	if (trace_decode_records(f, &ring, &cpu, &records, &len) != 0)
		return;
	require(ring <= TRACE_RING_MADE && len % 8 == 0 && len <= f->length);
	require(trace_record_offset(f, len) <= end_of(f));
	touched ^= crc32c(cpu, records, len);
}

static void check_lists(const struct trace_frame *f)
{
	struct trace_histogram h;
	struct trace_sampling s;
	struct trace_ids ids;

	if (trace_decode_ids(f, &ids) == 0) {
		require(ids.nr <= TRACE_MAX_ITEMS && ids.nr * TRACE_ID_BYTES <= f->length);
		touched ^= crc32c(0, ids.item, ids.nr * sizeof(*ids.item));
		trace_ids_fini(&ids);
	}
	if (trace_decode_sampling(f, &s) == 0) {
		require(s.nr <= TRACE_MAX_ITEMS && s.nr * TRACE_SAMPLED_BYTES <= f->length);
		touched ^= crc32c(0, s.item, s.nr * sizeof(*s.item));
		trace_sampling_fini(&s);
	}
	if (trace_decode_histogram(f, &h) == 0) {
		require(h.nr <= TRACE_HISTOGRAM_BUCKETS && h.nr * TRACE_BUCKET_BYTES <= f->length);
		touched ^= crc32c(0, h.bucket, h.nr * sizeof(*h.bucket));
		trace_histogram_fini(&h);
	}
}

static void check_function(const struct trace_frame *f)
{
	struct trace_function_owned v;

	if (trace_decode_function(f, &v) != 0)
		return;
	require(v.function.nr <= TRACE_HISTOGRAM_BUCKETS &&
		v.function.nr * TRACE_BUCKET_BYTES <= f->length);
	require(v.function.name[0]);
	check_text(v.function.name);
	check_text(v.function.object);
	touched ^= crc32c(0, v.function.bucket, v.function.nr * sizeof(*v.function.bucket));
	trace_function_fini(&v);
}

static void check_memory(const struct trace_frame *f)
{
	struct trace_memory_owned m;

	if (trace_decode_memory(f, &m) != 0)
		return;
	require(m.map.nr <= TRACE_MAX_ITEMS && m.map.nr * TRACE_MAPPING_MIN_BYTES <= f->length);
	for (size_t i = 0; i < m.map.nr; i++)
		check_text(m.map.row[i].object);
	trace_memory_fini(&m);
}

static void check_kallsyms(const struct trace_frame *f)
{
	struct trace_symbol_range range;
	const char *text;
	size_t len;

	if (trace_decode_symbol_range(f, &range) == 0)
		require(range.first <= range.last);
	if (trace_decode_kallsyms(f, &text, &len) == 0)
		touched ^= crc32c(0, text, len);
}

static void check_file_parts(const struct trace_frame *f)
{
	struct trace_file_parts p;
	uint64_t bytes = 0;

	if (trace_decode_file_parts(f, &p) != 0)
		return;
	require(p.nr && p.nr <= TRACE_MAX_FILE_PARTS);
	for (size_t i = 0; i < p.nr; i++)
		bytes += p.part[i].len;
	require(bytes == p.len && bytes <= f->length && bytes <= p.file_bytes);
	touched ^= crc32c(0, p.bytes, p.len) ^ crc32c(0, p.path, p.path_len);
	trace_file_parts_fini(&p);
}

static void check_frame(const struct trace_frame *f)
{
	struct clock_triple clocks;
	struct trace_totals totals;

	check_info(f);
	check_events(f);
	check_readings(f);
	check_note(f);
	check_records(f);
	check_lists(f);
	check_function(f);
	check_memory(f);
	check_kallsyms(f);
	check_file_parts(f);
	if (trace_decode_clocks(f, &clocks) == 0)
		require(f->kind == TRACE_FRAME_CLOCKS && f->length >= 24);
	if (trace_decode_end(f, &totals) == 0)
		require(f->kind == TRACE_FRAME_END && f->length >= 56);
}

/* Frames come in the order of the file, do not overlap, and lie within it; damages stand between
 * them, so there are no more of these than frames and one. A part is read in two pieces, what is
 * common to all and its own: each has one more between its frames, and each may end with the
 * refusal of another iteration, right behind a damage. */
static void read_frames(struct trace_reader *r, const uint8_t *data, size_t size, bool is_part)
{
	uint64_t at = TRACE_HEADER_BYTES;
	size_t nr_frames = 0, nr_damages = 0, max_more = is_part ? 4 : 1;
	bool is_packed = false;
	struct trace_frame f;
	struct err e = {0};
	int rc;

	while ((rc = trace_reader_next(r, &f, &e)) != 0) {
		if (rc != 1) {
			require(rc == -EILSEQ && (e.code == rc || e.code == -ENODATA) && e.msg[0]);
			err_clear(&e);
			require(++nr_damages <= nr_frames + max_more);
			continue;
		}
		nr_frames++;
		require(f.offset >= at && f.offset % 8 == 0);
		is_packed = f.is_packed;
		if (is_packed) { /* how long it is in the file is not told */
			require(trace_frame_total_bytes(f.length) <= TRACE_FRAME_MAX_BYTES);
			at = f.offset + TRACE_FRAME_HEADER_BYTES;
		} else {
			require(f.payload == data + f.offset + TRACE_FRAME_HEADER_BYTES);
			at = f.offset + trace_frame_total_bytes(f.length);
		}
		require(at <= size);
		check_frame(&f);
	}
	require(e.code == 0);
	require(!trace_reader_is_whole(r) ||
		(nr_damages == 0 && (is_packed || is_part || at == size)));
}

/* Each iteration of a segment: within the file, in order, none of another number. */
static void read_parts(struct trace_reader *r, const uint8_t *data, size_t size)
{
	struct trace_parts parts;
	int rc = trace_reader_parts(r, &parts);

	require(rc == 0 || rc == -EFBIG);
	for (size_t i = 0; rc == 0 && i < parts.nr && i < 64; i++) {
		const struct trace_part *p = &parts.item[i];

		require(p->from >= p->head_bytes && p->to >= p->from && p->to <= size);
		require(!i || (p->iteration > p[-1].iteration && p->from >= p[-1].to));
		require(trace_reader_select(r, p, NULL) == 0);
		require(trace_reader_head(r)->iteration == p->iteration);
		read_frames(r, data, size, true);
	}
	if (rc == 0)
		trace_parts_fini(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_reader *r;
	struct err e = {0};
	int rc = trace_reader_open_mem(data, size, "input", &r, &e);

	if (rc) {
		require(rc == -EINVAL || rc == -EPROTO);
		require(e.code == rc || (rc == -EINVAL && e.code == -ENODATA)); /* it ends there */
		return 0;
	}
	check_text(trace_reader_head(r)->host);
	check_text(trace_reader_head(r)->machine);
	read_frames(r, data, size, false);
	trace_reader_close(r);
	require(trace_reader_open_mem(data, size, "input", &r, &e) == 0);
	if (trace_reader_is_segment(r))
		read_parts(r, data, size);
	trace_reader_close(r);
	return 0;
}

static void put_le32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Whether frames may be packed stays as it is. */
static void mend_header(uint8_t *p)
{
	static const uint8_t first[] = TRACE_MAGIC "\x04\x03\x02\x01\x01\0\xc0";
	uint32_t features = get_le32(p + 16) & TRACE_INCOMPATIBLE_KNOWN;

	memcpy(p, first, 16);
	put_le32(p + 16, features);
	put_le32(p + TRACE_HEADER_BYTES - 4, crc32c(0, p, TRACE_HEADER_BYTES - 4));
}

/* A right frame of what is at p, kind and payload kept; its size. A length that does not fit
 * becomes one that does. */
static size_t mend_frame(uint8_t *p, size_t left, uint8_t flags)
{
	uint32_t length = get_le32(p + 8);

	if (trace_frame_total_bytes(length) > left)
		length = (uint32_t)(left - TRACE_FRAME_HEADER_BYTES) & ~7u;
	put_le32(p, TRACE_FRAME_SYNC);
	p[5] = p[7] = 0;
	p[6] &= flags;
	put_le32(p + 8, length);
	memset(p + TRACE_FRAME_HEADER_BYTES + length, 0, -length % 8);
	put_le32(p + 12, crc32c(crc32c(0, p + 4, 8), p + TRACE_FRAME_HEADER_BYTES, length));
	return trace_frame_total_bytes(length);
}

/* One time in eight the damage stays. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint8_t flags;

	size = LLVMFuzzerMutate(data, size, max_size);
	if (seed % 8 == 0 || size < TRACE_HEADER_BYTES)
		return size;
	mend_header(data);
	flags = data[16] & TRACE_FEATURE_ZSTD ? TRACE_FRAME_PACKED : 0;
	for (size_t at = TRACE_HEADER_BYTES; size - at >= TRACE_FRAME_HEADER_BYTES;)
		at += mend_frame(data + at, size - at, flags);
	return size;
}
