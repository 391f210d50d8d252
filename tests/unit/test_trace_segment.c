/*
 * Segments: each iteration is read as if it were a trace of its own, whatever was cut or changed;
 * what is read of an iteration is never another one's.
 */
#include "kit.h"
#include "test_trace.h"

#include "trace/file.h"

enum { FIRST = 7, NR_PARTS = 4, MAX_KINDS = 16 };

static const uint16_t part_kinds[] = {
    TRACE_FRAME_INFO,     TRACE_FRAME_EVENTS,   TRACE_FRAME_ITERATION, TRACE_FRAME_CLOCKS,
    TRACE_FRAME_READINGS, TRACE_FRAME_READINGS, TRACE_FRAME_END};

static struct buf segment;
static size_t index_bytes; /* of its last frame */

/* Every reading tells its iteration. */
static void add_iteration(struct trace_writer *w, uint32_t iteration)
{
	struct reading r = {.event = 0, .state = READING_OK, .raw = 1000 + iteration};

	trace_writer_clocks(w, &sample_clocks);
	trace_writer_readings(w, TRACE_START, &r, 1);
	trace_writer_readings(w, TRACE_END, &r, 1);
}

static int add_all(struct trace_file *f, struct trace_writer *w, size_t nr, struct err *e)
{
	int rc = 0;

	for (uint32_t i = FIRST; i < FIRST + nr && rc == 0; i++) {
		trace_writer_iteration(w, i);
		add_iteration(w, i);
		rc = trace_segment_add(f, w, i, &sample_totals, e);
	}
	return rc;
}

static int write_segment(const struct folder *d, size_t nr, struct err *e)
{
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f = NULL;
	int rc = w ? sample_begin(w) : -ENOMEM, finished = 0;

	if (rc)
		err_set(e, rc, "no memory");
	else
		rc = trace_segment_create(w, d->fd, "t", "t", &f, e);
	if (rc == 0)
		rc = add_all(f, w, nr, e);
	if (f)
		finished = trace_segment_finish(f, w, e);
	trace_writer_free(w);
	return rc ? rc : finished;
}

HOOK(before_all)
{
	struct err e = {0};
	struct folder d;

	folder_init(&d);
	assert_int_equal(write_segment(&d, NR_PARTS, &e), 0);
	load_file(d.fd, "t", &segment);
	index_bytes = 16 + 8 + NR_PARTS * 16 + 8;
	folder_fini(&d);
}

HOOK(after_all)
{
	buf_fini(&segment);
}

/* Reads one iteration: whether it is whole. What is not damaged has its own numbers. */
static bool read_part(struct trace_reader *r, const struct trace_part *part)
{
	uint16_t kinds[MAX_KINDS];
	struct trace_frame f;
	size_t nr = 0, nr_damages = 0;
	int rc;

	assert_int_equal(trace_reader_select(r, part, NULL), 0);
	assert_int_equal(trace_reader_head(r)->iteration, part->iteration);
	assert_int_equal(trace_reader_head(r)->trace, sample_head.trace);
	while ((rc = trace_reader_next(r, &f, NULL)) != 0) {
		enum trace_boundary boundary;
		struct reading reading;
		size_t nr_readings;

		assert_true(rc == 1 || rc == -EILSEQ);
		nr_damages += rc != 1;
		if (rc != 1)
			continue;
		assert_true(nr < MAX_KINDS);
		kinds[nr++] = f.kind;
		if (trace_decode_readings(&f, &boundary, &nr_readings) || !nr_readings)
			continue;
		trace_decode_reading(&f, 0, &reading);
		assert_int_equal(reading.raw, 1000 + part->iteration);
	}
	if (!trace_reader_is_whole(r))
		return false;
	assert_int_equal(nr_damages, 0);
	assert_true(nr >= NR(part_kinds) - 2); /* what is common may be lost */
	assert_memory_equal(kinds + nr - (NR(part_kinds) - 2), part_kinds + 2,
			    sizeof(part_kinds) - 2 * sizeof(*part_kinds));
	return true;
}

struct outcome {
	size_t nr_parts, nr_whole;
	uint64_t strays;
	bool index_is_damaged;
};

static struct outcome read_bytes(const char *bytes, size_t len)
{
	char *exact = malloc(len); /* so that a read beyond it is seen */
	struct outcome o = {0};
	struct trace_parts parts;
	struct trace_reader *r;

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	if (trace_reader_open_mem(exact, len, "bytes", &r, NULL) == 0) {
		assert_int_equal(trace_reader_parts(r, &parts), 0);
		for (size_t i = 0; i < parts.nr; i++)
			o.nr_whole += read_part(r, &parts.item[i]);
		o.nr_parts = parts.nr;
		o.strays = parts.strays;
		o.index_is_damaged = parts.index_is_damaged;
		trace_parts_fini(&parts);
		trace_reader_close(r);
	}
	free(exact);
	return o;
}

TEST(index)
{
	struct outcome o = read_bytes(segment.data, segment.len);

	assert_int_equal(o.nr_parts, NR_PARTS);
	assert_int_equal(o.nr_whole, NR_PARTS);
	o = read_bytes(segment.data, segment.len - index_bytes);
	assert_int_equal(o.nr_parts, NR_PARTS);
	assert_int_equal(o.nr_whole, NR_PARTS);
	assert_int_equal(o.strays, 0);
}

/* Without its index it is the same, part for part. */
TEST(rebuilt)
{
	struct trace_parts by_index, by_frames;
	struct trace_reader *r;

	assert_int_equal(trace_reader_open_mem(segment.data, segment.len, "a", &r, NULL), 0);
	assert_true(trace_reader_is_segment(r));
	assert_int_equal(trace_reader_parts(r, &by_index), 0);
	trace_reader_close(r);
	assert_int_equal(
	    trace_reader_open_mem(segment.data, segment.len - index_bytes, "b", &r, NULL), 0);
	assert_int_equal(trace_reader_parts(r, &by_frames), 0);
	trace_reader_close(r);
	assert_int_equal(by_index.nr, by_frames.nr);
	assert_memory_equal(by_index.item, by_frames.item, by_index.nr * sizeof(*by_index.item));
	trace_parts_fini(&by_index);
	trace_parts_fini(&by_frames);
}

/* What stands before a cut is good. */
TEST(cut)
{
	size_t nr_whole = 0;

	for (size_t len = TRACE_HEADER_BYTES; len <= segment.len; len++) {
		struct outcome o = read_bytes(segment.data, len);

		assert_true(o.nr_parts >= o.nr_whole && o.nr_parts <= o.nr_whole + 1);
		assert_true(o.nr_whole >= nr_whole);
		nr_whole = o.nr_whole;
		if (len < segment.len - index_bytes)
			continue;
		assert_int_equal(o.strays, 0);
		assert_int_equal(o.index_is_damaged,
				 len > segment.len - index_bytes && len < segment.len);
	}
	assert_int_equal(nr_whole, NR_PARTS);
}

/* One byte is wrong: it costs the iteration it is in, and where there is no index the next one, if
 * the byte is in the frame with which that begins. */
static void check_flips(size_t len, size_t least_whole)
{
	char *bytes = malloc(len);

	assert_non_null(bytes);
	for (size_t at = TRACE_HEADER_BYTES; at < len; at++) {
		struct outcome o;

		memcpy(bytes, segment.data, len);
		bytes[at] ^= 0x10;
		o = read_bytes(bytes, len);
		if (o.nr_whole < least_whole)
			fail_msg("byte %zu of %zu: %zu whole", at, len, o.nr_whole);
	}
	free(bytes);
}

TEST(flips)
{
	check_flips(segment.len, NR_PARTS - 1);
	check_flips(segment.len - index_bytes, NR_PARTS - 1);
}

/* Two bytes are wrong, of the end of an iteration and of the begin of the next: neither has the
 * other's numbers (read_part sees to that). */
TEST(lost_border)
{
	struct trace_parts parts;
	struct trace_reader *r;

	assert_int_equal(trace_reader_open_mem(segment.data, segment.len, "a", &r, NULL), 0);
	assert_int_equal(trace_reader_parts(r, &parts), 0);
	trace_reader_close(r);
	for (size_t i = 1; i < parts.nr; i++) {
		struct buf b;
		struct outcome o;

		buf_init(&b, segment.len);
		buf_add(&b, segment.data, segment.len - index_bytes);
		b.data[parts.item[i].from - 8] ^= 1;
		b.data[parts.item[i].from + 20] ^= 1;
		o = read_bytes(b.data, b.len);
		assert_int_equal(o.nr_whole, NR_PARTS - 2);
		assert_true(o.strays > 0);
		buf_fini(&b);
	}
	trace_parts_fini(&parts);
}

/* An index that was made to lie: nothing is read as what it is not. */
TEST(lying_index)
{
	size_t at = segment.len - index_bytes;
	char payload[8 + NR_PARTS * 16 + 8];

	for (size_t byte = 0; byte < sizeof(payload); byte++)
		for (int bit = 0; bit < 8; bit++) {
			struct buf b;

			memcpy(payload, segment.data + at + 16, sizeof(payload));
			payload[byte] ^= (char)(1 << bit);
			buf_init(&b, segment.len);
			buf_add(&b, segment.data, at);
			add_frame(&b, TRACE_FRAME_INDEX, 0, payload, sizeof(payload));
			(void)read_bytes(b.data, b.len);
			buf_fini(&b);
		}
}

/* An index that does not name the first iteration, which so stands in what is common to all: that
 * is told with the first one that is named, and the others are whole. */
TEST(index_without_first)
{
	size_t at = segment.len - index_bytes, item = 8 + 16;
	const char *old = segment.data + at + 16;
	char payload[8 + (NR_PARTS - 1) * 16 + 8];
	struct outcome o;
	struct buf b;

	memcpy(payload, old, 8);
	payload[4] = NR_PARTS - 1;
	memcpy(payload + 8, old + item, sizeof(payload) - 8);
	buf_init(&b, segment.len);
	buf_add(&b, segment.data, at);
	add_frame(&b, TRACE_FRAME_INDEX, 0, payload, sizeof(payload));
	o = read_bytes(b.data, b.len);
	assert_int_equal(o.nr_parts, NR_PARTS - 1);
	assert_int_equal(o.nr_whole, NR_PARTS - 2);
	buf_fini(&b);
}

TEST(select_refuses)
{
	const struct trace_part bad[] = {
	    {.head_bytes = 192, .from = 184, .to = 400},
	    {.head_bytes = 8, .from = 192, .to = 400},
	    {.head_bytes = 192, .from = 193, .to = 400},
	    {.head_bytes = 192, .from = 400, .to = 200},
	    {.head_bytes = 1 << 30, .from = 1 << 30, .to = 1 << 30},
	};
	struct trace_reader *r;
	struct err e = {0};
	struct buf plain;

	assert_int_equal(trace_reader_open_mem(segment.data, segment.len, "a", &r, NULL), 0);
	for (size_t i = 0; i < NR(bad); i++)
		assert_int_equal(trace_reader_select(r, &bad[i], NULL), -EINVAL);
	trace_reader_close(r);
	sample_bytes(&plain);
	assert_int_equal(trace_reader_open_mem(plain.data, plain.len, "b", &r, NULL), 0);
	assert_false(trace_reader_is_segment(r));
	assert_int_equal(trace_reader_select(r, &(struct trace_part){0, 192, 192, plain.len}, &e),
			 -EINVAL);
	assert_non_null(strstr(e.msg, "has no iteration 0 there"));
	trace_reader_close(r);
	buf_fini(&plain);
}

TEST(full)
{
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f;
	struct err e = {0};
	struct folder d;

	folder_init(&d);
	assert_non_null(w);
	assert_int_equal(sample_begin(w), 0);
	assert_int_equal(trace_segment_create(w, d.fd, "t", "t", &f, &e), 0);
	assert_int_equal(add_all(f, w, TRACE_SEGMENT_ITERATIONS - 1, &e), 0);
	assert_false(trace_segment_is_full(f));
	trace_writer_iteration(w, 5000);
	assert_int_equal(trace_segment_add(f, w, 5000, &sample_totals, &e), 0);
	assert_true(trace_segment_is_full(f));
	trace_writer_iteration(w, 5001);
	assert_int_equal(trace_segment_add(f, w, 5001, &sample_totals, &e), -EFBIG);
	assert_int_equal(trace_segment_finish(f, w, NULL), 0);
	trace_writer_free(w);
	folder_fini(&d);
}

static int write_somewhere(void *arg)
{
	struct err e = {0};
	struct folder d;
	int rc;

	(void)arg;
	folder_init(&d);
	rc = write_segment(&d, NR_PARTS, &e);
	assert_int_equal(rc, e.code);
	assert_true(folder_entries(&d, false) <= 1);
	folder_fini(&d);
	return rc;
}

static int list_parts(void *arg)
{
	struct trace_parts parts;
	struct trace_reader *r;
	int rc = trace_reader_open_mem(segment.data, segment.len - (arg ? index_bytes : 0), "a", &r,
				       NULL);

	if (rc)
		return rc;
	rc = trace_reader_parts(r, &parts);
	if (rc == 0)
		trace_parts_fini(&parts);
	trace_reader_close(r);
	return rc;
}

TEST(every_failure)
{
	static bool rebuilt;

	inject_every(write_somewhere, NULL, 5, 7); /* openat, five writes, close */
	inject_every(list_parts, NULL, 3, 0);
	inject_every(list_parts, &rebuilt, 3, 0);
}
