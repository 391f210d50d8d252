/*
 * A trace that is in no file: what a writer gathered in memory, then what a feed gives; and a set
 * of such traces in place of a session's folder.
 */
#include "kit.h"
#include "profile/iterator.h"
#include "test_trace.h"

#include "trace/reader.h"

enum { NR_TRACES = 3, NR_FRAMES = 2 };

static unsigned nr_closed;

struct feed {
	uint32_t nr;
	uint8_t payload[16];
};

static int next(void *arg, struct trace_frame *out, struct err *e)
{
	struct feed *f = arg;

	if (f->nr == NR_FRAMES)
		return 0;
	if (f->nr == NR_FRAMES - 1 && f->payload[15])
		return err_set(e, -EIO, "the feed has failed");
	*out = (struct trace_frame){
	    .kind = 99, .offset = f->nr++, .payload = f->payload, .length = sizeof(f->payload)};
	return 1;
}

static uint64_t bytes(const void *arg)
{
	return ((const struct feed *)arg)->nr;
}

static bool is_whole(const void *arg)
{
	return ((const struct feed *)arg)->nr == NR_FRAMES;
}

static void close_feed(void *arg)
{
	nr_closed++;
	mem_free(arg);
}

static const struct trace_feed feed = {next, bytes, is_whole, close_feed};

static struct trace_writer *writer;
static const void *frames;
static size_t frames_len;

static int open_fed(uint32_t number, bool fails, struct trace_reader **out)
{
	const struct trace_head head = {.trace = number, .session_id = {7}};
	struct feed *f = mem_zalloc(sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->payload[15] = fails;
	return trace_reader_open_feed(&head, frames, frames_len, &feed, f, "made", out);
}

TEST(both_parts)
{
	static const uint16_t kinds[] = {TRACE_FRAME_INFO, TRACE_FRAME_EVENTS, TRACE_FRAME_NOTE, 99,
					 99};
	struct trace_reader *r;
	struct trace_frame f;

	nr_closed = 0;
	assert_int_equal(open_fed(4, false, &r), 0);
	assert_int_equal(trace_reader_head(r)->trace, 4);
	for (size_t i = 0; i < NR(kinds); i++) {
		assert_false(trace_reader_is_whole(r));
		assert_int_equal(trace_reader_next(r, &f, NULL), 1);
		assert_int_equal(f.kind, kinds[i]);
	}
	assert_int_equal(trace_reader_next(r, &f, NULL), 0);
	assert_int_equal(trace_reader_bytes(r), NR_FRAMES);
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	assert_int_equal(nr_closed, 1);
}

TEST(a_feed_fails)
{
	struct trace_reader *r;
	struct trace_frame f;
	struct err e = {0};
	int rc;

	assert_int_equal(open_fed(0, true, &r), 0);
	while ((rc = trace_reader_next(r, &f, &e)) == 1)
		;
	assert_int_equal(rc, -EIO);
	assert_string_equal(e.msg, "the feed has failed");
	assert_false(trace_reader_is_whole(r));
	trace_reader_close(r);
}

static int open_of_set(const void *arg, size_t number, struct trace_reader **out, struct err *e)
{
	int rc = open_fed(number == NR_TRACES ? TRACE_COMMON : (uint32_t)number, false, out);

	(void)arg;
	return rc ? err_set(e, rc, "out of memory") : 0;
}

static void no_problem(void *arg, bool is_loss, const struct err *e)
{
	(void)arg;
	fail_msg("%d %s", is_loss, e->msg);
}

static int read_set(void *arg)
{
	static const struct trace_set set = {.name = "made", .nr = NR_TRACES, .open = open_of_set};
	struct profile_session *s;
	struct profile_iterator *it;
	struct profile_trace t;
	size_t nr = 0;
	int rc = profile_session_open_set(&set, no_problem, NULL, &s, NULL);

	(void)arg;
	if (rc)
		return rc;
	it = profile_iterator_new(s);
	while ((rc = profile_iterator_next(it, &t)) == 1)
		assert_int_equal(t.head.trace, nr++);
	profile_iterator_free(it);
	assert_true(rc || nr == NR_TRACES);
	profile_session_close(s);
	return rc;
}

TEST(sets)
{
	inject_every(read_set, NULL, 8, 0);
}

HOOK(before_all)
{
	writer = trace_writer_new();
	assert_non_null(writer);
	assert_int_equal(
	    trace_writer_set_common(writer, &sample_info, sample_events, NR(sample_events)), 0);
	trace_writer_more(writer);
	trace_writer_common(writer);
	trace_writer_note(writer, &(struct trace_note){.text = "a note"});
	assert_int_equal(trace_writer_bytes(writer, &frames, &frames_len), 0);
}

HOOK(after_all)
{
	trace_writer_free(writer);
}
