/* What was interpreted at a sample, from its record. */
#include "kit.h"

#include "trace/interpreted.h"
#include "trace/trace.h"

#include "base/buf.h"

enum { MAX_BYTES = 65536 };

static struct trace_interpreted out;

static uint32_t language = 1;

static void add_record(struct buf *b, uint32_t nr, uint32_t nr_there)
{
	buf_le32(b, 9); /* PERF_RECORD_SAMPLE, and its size, which is not read again */
	buf_le32(b, 0);
	buf_le64(b, 900);
	buf_le32(b, 12);
	buf_le32(b, 13);
	buf_le64(b, 7777);
	buf_le32(b, 40 + 16 * nr_there + 4);
	buf_le32(b, language);
	buf_le32(b, nr);
	buf_le32(b, 1);
	buf_le32(b, 0);
	buf_le64(b, 0x5000);
	buf_le64(b, 0x6000);
	for (uint32_t i = 0; i < nr_there; i++) {
		buf_le64(b, 100 + i);
		buf_le32(b, i - 1);
		buf_le32(b, i % 2 | i << 8);
	}
	buf_le32(b, 0);
}

/* Of a copy of exactly that length, so that a read behind it is found. */
static int decode(const struct buf *b, size_t len)
{
	uint8_t *copy = malloc(len + 1);
	int rc;

	memcpy(copy, b->data, len);
	rc = trace_interpreted_decode(copy, len, &out);
	free(copy);
	return rc;
}

TEST(a_record_has_its_frames)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	add_record(&b, 3, 3);
	assert_int_equal(decode(&b, b.len), 0);
	assert_int_equal(out.pid, 12);
	assert_int_equal(out.tid, 13);
	assert_int_equal(out.time_ns, 7777);
	assert_int_equal(out.language, 1);
	assert_true(out.is_partial);
	assert_int_equal(out.loop_begin, 0x5000);
	assert_int_equal(out.loop_end, 0x6000);
	assert_int_equal(out.nr, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(out.frame[i].code, 100 + i);
		assert_int_equal(out.frame[i].instruction, (int32_t)i - 1);
		assert_int_equal(out.frame[i].nr_entries, i % 2 ? 1 + i : 0);
	}
	buf_fini(&b);
}

TEST(a_truncated_record_is_refused)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	add_record(&b, 3, 3);
	for (size_t len = 0; len < b.len - sizeof(uint32_t); len++)
		assert_int_equal(decode(&b, len), -EINVAL);
	buf_fini(&b);
}

TEST(a_number_of_frames_is_not_believed)
{
	static const uint32_t wrong[] = {4, TRACE_INTERPRETED_MAX_FRAMES + 1, UINT32_MAX};
	struct buf b;

	buf_init(&b, MAX_BYTES);
	for (size_t i = 0; i < NR(wrong); i++) {
		buf_reset(&b);
		add_record(&b, wrong[i], 3);
		assert_int_equal(decode(&b, b.len), -EINVAL);
	}
	buf_reset(&b);
	add_record(&b, TRACE_INTERPRETED_MAX_FRAMES, TRACE_INTERPRETED_MAX_FRAMES);
	assert_int_equal(decode(&b, b.len), 0);
	assert_int_equal(out.nr, TRACE_INTERPRETED_MAX_FRAMES);
	buf_fini(&b);
}

/* Of JavaScript an address is where the instruction and the flags of Python are. */
TEST(a_frame_of_javascript_has_its_address)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	language = 2;
	add_record(&b, 2, 2);
	language = 1;
	assert_int_equal(decode(&b, b.len), 0);
	assert_int_equal(out.nr, 2);
	assert_int_equal(out.frame[1].code, 101);
	assert_int_equal(out.frame[0].at, UINT32_MAX);
	assert_int_equal(out.frame[1].at, UINT64_C(0x101) << 32);
	assert_int_equal(out.frame[1].instruction, -1);
	assert_int_equal(out.frame[1].nr_entries, 0);
	buf_fini(&b);
}

TEST(a_record_of_go_has_labels)
{
	out = (struct trace_interpreted){.pid = 12,
					 .tid = 13,
					 .time_ns = 50000000,
					 .language = TRACE_LANGUAGE_GO,
					 .nr = 1,
					 .frame = {{.code = 7}}};
	assert_int_equal(trace_interpreted_labels(&out), 7);
	assert_true(trace_interpreted_is_of(&out, 12, 13, 69999999));
	assert_true(trace_interpreted_is_of(&out, 12, 13, 30000001));
	assert_false(trace_interpreted_is_of(&out, 12, 13, 70000000));
	assert_false(trace_interpreted_is_of(&out, 12, 13, 30000000));
	assert_false(trace_interpreted_is_of(&out, 12, 14, 50000000));
	assert_false(trace_interpreted_is_of(&out, 11, 13, 50000000));
	out.nr = 0;
	assert_int_equal(trace_interpreted_labels(&out), 0);
	out.nr = 1;
	out.language = TRACE_LANGUAGE_PERL;
	assert_int_equal(trace_interpreted_labels(&out), 0);
}
