/*
 * The bytes of the format are a promise: the sample gives the golden trace to the byte, the
 * golden trace reads as the sample (test_trace_roundtrip says what that is), and the dump in
 * schemas/trace-format.md is of this very file. It breaks on purpose when the format changes.
 */
#include "kit.h"
#include "paths.h"
#include "test_trace.h"

#define HEX "0123456789abcdef"

static void load_path(const char *path, struct buf *out)
{
	load_file(AT_FDCWD, path, out);
}

TEST(bytes)
{
	struct buf golden, made;

	load_path(TEST_DATA_DIR "/traces/golden.cpuperf", &golden);
	sample_bytes(&made);
	for (size_t i = 0; i < golden.len && i < made.len; i++)
		if (golden.data[i] != made.data[i])
			fail_msg("the golden trace differs at offset 0x%zx", i);
	assert_int_equal(made.len, golden.len);
	buf_fini(&made);
	buf_fini(&golden);
}

TEST(content)
{
	static const uint64_t raw[3][3] = {{100, 10, 0}, {400, 30, 0}, {15}};
	static const size_t want_nr[] = {3, 3, 1};
	const char *path = TEST_DATA_DIR "/traces/golden.cpuperf";
	struct trace_reader *r;
	struct trace_frame f;
	struct err e = {0};

	assert_int_equal(trace_reader_open(AT_FDCWD, path, &r, &e), 0);
	assert_string_equal(trace_reader_head(r)->host, "box");
	assert_int_equal(trace_reader_head(r)->cpu, 5);
	for (size_t i = 0; i < SAMPLE_NR_FRAMES; i++) {
		enum trace_boundary boundary;
		struct reading reading;
		size_t nr;

		assert_int_equal(trace_reader_next(r, &f, &e), 1);
		assert_int_equal(f.kind, sample_kinds[i]);
		if (trace_decode_readings(&f, &boundary, &nr) != 0)
			continue;
		assert_int_equal(nr, want_nr[boundary]);
		for (size_t k = 0; k < want_nr[boundary]; k++) {
			trace_decode_reading(&f, k, &reading);
			assert_int_equal(reading.raw, raw[boundary][k]);
		}
	}
	assert_int_equal(trace_reader_next(r, &f, &e), 0);
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
}

/* The golden trace of the time before sampling: what its events lack reads as none. */
TEST(older)
{
	const char *path = TEST_DATA_DIR "/traces/tally.cpuperf";
	struct trace_events events = {0};
	struct trace_reader *r;
	struct trace_frame f;
	size_t nr = 0;

	assert_int_equal(trace_reader_open(AT_FDCWD, path, &r, NULL), 0);
	for (; trace_reader_next(r, &f, NULL) == 1; nr++)
		if (f.kind == TRACE_FRAME_EVENTS)
			assert_int_equal(trace_decode_events(&f, &events), 0);
	assert_int_equal(nr, 7);
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	assert_int_equal(events.nr, 3);
	for (size_t i = 0; i < events.nr; i++) {
		assert_true(events.item[i].scale == sample_events[i].scale);
		assert_int_equal(events.item[i].frequency, 0);
		assert_string_equal(events.item[i].format, "");
	}
	trace_events_fini(&events);
}

/* "00000010  01 02 …  what it is": compares the bytes; the number of them, 0 if no such line. */
static size_t check_dump_line(const char *line, const struct buf *golden)
{
	size_t offset = strtoul(line, NULL, 16), nr = 0;
	const char *at;

	if (strspn(line, HEX) != 8 || line[8] != ' ' || line[9] != ' ')
		return 0;
	for (at = line + 10; strspn(at, HEX) == 2; at += at[2] == ' ' ? 3 : 2, nr++) {
		assert_true(offset + nr < golden->len);
		if ((uint8_t)golden->data[offset + nr] != strtoul(at, NULL, 16))
			fail_msg("the dump of trace-format.md is wrong at %08zx", offset + nr);
	}
	return nr;
}

TEST(document)
{
	struct buf golden, text;
	size_t nr = 0;

	load_path(TEST_DATA_DIR "/traces/golden.cpuperf", &golden);
	load_path(SOURCE_DIR "/schemas/trace-format.md", &text);
	for (char *line = text.data; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		nr += check_dump_line(line, &golden);
	}
	assert_int_equal(nr, golden.len); /* all of the file is explained */
	buf_fini(&text);
	buf_fini(&golden);
}
