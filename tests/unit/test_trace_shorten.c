/*
 * A common file is shortened while it grows: what remains, that it is complete, and that a failure
 * at any step leaves the file as it was.
 */
#include "inject.h"
#include "kit.h"
#include "test_processes.h"

#include "base/array.h"
#include "trace/shorten.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const struct trace_period now = {100, UINT64_MAX};
static const char id_bytes[] = "0123456789";

struct scene {
	struct folder folder;
	struct trace_writer *writer;
	struct trace_packer *packer;
	struct trace_file *file;
	struct trace_shorten how;
};

/* One frame of a process that lives from … to; to 0: it does not end. */
static void add_process(struct scene *s, uint32_t pid, uint64_t from_ns, uint64_t to_ns)
{
	const struct step steps[] = {
	    {.op = FORK, .time_ns = from_ns, .pid = pid, .tid = pid, .ppid = 1, .ptid = 1},
	    {.op = EXEC, .time_ns = from_ns, .pid = pid, .tid = pid, .text = "program"},
	    {.op = MAP,
	     .time_ns = from_ns,
	     .pid = pid,
	     .tid = pid,
	     .start = 4096,
	     .end = 8192,
	     .text = "/lib/x",
	     .inode = 7},
	    {.op = EXIT, .time_ns = to_ns, .pid = pid, .tid = pid, .ppid = 1, .ptid = 1},
	};
	struct tape t;
	struct buf *b;

	tape_init(&t);
	for (size_t i = 0; i < ARRAY_NR(steps) - !to_ns; i++)
		tape_add(&t, &steps[i]);
	b = &t.records[false];
	assert_int_equal(trace_file_records(s->file, TRACE_RING_SIDE_BAND, 0,
					    &(struct trace_span){{b->data + 8}, {b->len - 8}},
					    NULL),
			 0);
	tape_fini(&t);
}

static void append(struct scene *s)
{
	assert_int_equal(trace_file_append(s->file, s->writer, NULL), 0);
	trace_writer_more(s->writer);
}

static void add_cmdline(struct scene *s, uint32_t pid, uint64_t ns, uint32_t flags)
{
	trace_writer_cmdline(
	    s->writer,
	    &(struct trace_cmdline){
		.pid = pid, .flags = flags, .from_ns = ns, .to_ns = ns, .text = "a", .len = 2});
	append(s);
}

static void add_build_id(struct scene *s, uint64_t inode, char id, uint64_t from_ns, uint64_t to_ns)
{
	trace_writer_build_id(s->writer, &(struct trace_build_id){.major = 1,
								  .inode = inode,
								  .from_ns = from_ns,
								  .to_ns = to_ns,
								  .id = (const uint8_t *)&id,
								  .id_len = 1,
								  .path = "/lib/x",
								  .path_len = 6});
	append(s);
}

static void scene_init(struct scene *s, int level)
{
	*s = (struct scene){.writer = trace_writer_new()};
	folder_init(&s->folder);
	s->packer = trace_packer_new(level);
	assert_int_equal(trace_writer_begin(s->writer, &sample_head), 0);
	assert_int_equal(
	    trace_file_create(s->writer, s->folder.fd, "t", "some/t", s->packer, &s->file, NULL),
	    0);
	trace_writer_more(s->writer);
	s->how = (struct trace_shorten){.dirfd = s->folder.fd,
					.name = "t",
					.temporary = ".t.tmp",
					.path = "some/t",
					.periods = &now,
					.nr_periods = 1,
					.packer = level ? s->packer : NULL};
	add_process(s, 5, 10, 20);
	add_process(s, 6, 11, 0);
	for (uint32_t i = 0; i < 200; i++)
		add_process(s, 1000 + i, 30, 40);
	add_cmdline(s, 5, 15, 0);
	add_cmdline(s, 5, 15, TRACE_CMDLINE_IS_COMMAND);
	add_cmdline(s, 6, 15, 0);
	trace_writer_kallsyms(s->writer, id_bytes, sizeof(id_bytes));
	append(s);
	add_build_id(s, 7, 'a', 10, 20);
	add_build_id(s, 8, 'b', 10, 20);
	add_build_id(s, 7, 'a', 15, 30);
	add_build_id(s, 7, 'a', 50, 60);
}

static void scene_fini(struct scene *s)
{
	trace_file_abandon(s->file);
	trace_writer_free(s->writer);
	trace_packer_free(s->packer);
	folder_fini(&s->folder);
}

/* Pids of the records, cmdlines and intervals, in words. */
static void describe(const struct scene *s, struct buf *out, bool *is_whole)
{
	struct trace_reader *r;
	struct trace_frame f;
	int rc;

	buf_init(out, 1 << 16);
	assert_int_equal(trace_reader_open(s->folder.fd, "t", &r, NULL), 0);
	while ((rc = trace_reader_next(r, &f, NULL)) == 1) {
		struct trace_cmdline c;
		struct trace_build_id b;

		if (f.kind == TRACE_FRAME_RECORDS)
			buf_printf(out, "%u ", *(const uint32_t *)(const void *)(f.payload + 16));
		else if (trace_decode_cmdline(&f, &c) == 0)
			buf_printf(out, "cmdline %u,%u ", c.pid, c.flags);
		else if (trace_decode_build_id(&f, &b) == 0)
			buf_printf(out, "id %c %d-%d ", *b.id, (int)b.from_ns, (int)b.to_ns);
		else if (f.kind == TRACE_FRAME_KALLSYMS)
			buf_adds(out, "kallsyms ");
	}
	assert_int_equal(rc, 0);
	*is_whole = trace_reader_is_whole(r);
	trace_reader_close(r);
}

static void assert_content(const struct scene *s, bool wants_whole, const char *want)
{
	struct buf got;
	bool is_whole;

	describe(s, &got, &is_whole);
	assert_string_equal(buf_str(&got), want);
	assert_int_equal(is_whole, wants_whole);
	buf_fini(&got);
}

static bool has_copy(const struct scene *s)
{
	return faccessat(s->folder.fd, ".t.tmp", F_OK, 0) == 0;
}

/* What is appended meanwhile and later follows; the end frame agrees with all. */
static void check_content(int level)
{
	struct trace_totals totals = {.end_ns = 1};
	struct trace_copy copy;
	struct scene s;
	uint64_t before;

	scene_init(&s, level);
	before = trace_file_bytes(s.file);
	assert_int_equal(trace_shorten_begin(&copy, &s.how, before, NULL), 0);
	add_process(&s, 9, 200, 210);
	assert_int_equal(trace_shorten_end(&copy, s.file, NULL), 0);
	assert_false(has_copy(&s));
	assert_true(trace_file_bytes(s.file) < before / 4);
	add_process(&s, 10, 220, 230);
	assert_int_equal(trace_file_finish(s.file, s.writer, &totals, NULL), 0);
	s.file = NULL;
	assert_content(&s, true,
		       "6 cmdline 5,2 cmdline 6,0 kallsyms id a 10-30 id a 50-60 id b 10-20 9 10 ");
	scene_fini(&s);
}

TEST(content)
{
	check_content(0);
	check_content(3);
}

static int shorten_once(struct scene *s)
{
	struct trace_copy copy;
	int rc = trace_shorten_begin(&copy, &s->how, trace_file_bytes(s->file), NULL);

	return rc ? rc : trace_shorten_end(&copy, s->file, NULL);
}

/* {time, value, name, kind, depth} */
#define MARKS(scene, thread, nr_lost, ...)                                                         \
	do {                                                                                       \
		const struct trace_mark marks_[] = {__VA_ARGS__};                                  \
		trace_writer_marks((scene)->writer,                                                \
				   &(struct trace_marks){.pid = 1,                                 \
							 .tid = (thread),                          \
							 .object = 1,                              \
							 .lost = (nr_lost),                        \
							 .mark = marks_,                           \
							 .nr = ARRAY_NR(marks_)});                 \
		append(scene);                                                                     \
	} while (0)

static void describe_marks(const struct scene *s, struct buf *out)
{
	struct trace_reader *r;
	struct trace_frame f;

	assert_int_equal(trace_reader_open(s->folder.fd, "t", &r, NULL), 0);
	while (trace_reader_next(r, &f, NULL) == 1) {
		struct trace_marks m;

		if (trace_decode_marks(&f, &m))
			continue;
		buf_printf(out, "%u-%d:", m.tid, (int)m.lost);
		for (size_t i = 0; i < m.nr; i++)
			buf_printf(out, " %d/%u/%u", (int)m.mark[i].time_ns, m.mark[i].kind,
				   m.mark[i].depth);
		buf_addc(out, '\n');
		trace_marks_fini(&m);
	}
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
}

/* Regions that ended before the remaining samples go; those that are open, what else holds, and the
 * number of lost marks stay. */
TEST(marks)
{
	enum { B = TRACE_MARK_BEGIN, E = TRACE_MARK_END, INSTANT = TRACE_MARK_INSTANT };
	struct trace_totals totals = {.end_ns = 1};
	struct scene s;
	BUF_AUTO(got, 10000);

	scene_init(&s, 3);
	MARKS(&s, 5, 2, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {30, 0, 0, E, 1});
	MARKS(&s, 5, 1, {40, 0, 2, B, 1}, {50, 0, 0, INSTANT, 2}, {60, 0, 2, B, 2},
	      {70, 0, 0, E, 2});
	MARKS(&s, 6, 0, {40, 0, 2, B, 0}, {50, 0, 0, E, 0});
	MARKS(&s, 7, 0, {40, 0, 2, B, 0}, {50, 0, 0, TRACE_MARK_PAUSE, 0});
	MARKS(&s, 8, 0, {45, 0, 2, B, 0});
	MARKS(&s, 9, 3, {40, 0, 2, B, 0}, {50, 0, 0, E, 0});
	MARKS(&s, 5, 0, {90, 0, 2, E, 1}, {110, 0, 2, B, 1});
	MARKS(&s, 5, 0, {120, 0, 2, E, 1});
	for (int times = 0; times < 2; times++) { /* again: it is the same */
		assert_int_equal(shorten_once(&s), 0);
		buf_reset(&got);
		if (times)
			assert_int_equal(trace_file_finish(s.file, s.writer, &totals, NULL), 0);
	}
	s.file = NULL;
	describe_marks(&s, &got);
	assert_string_equal(buf_str(&got), "7-0: 40/1/0 50/7/0\n"
					   "5-3: 10/1/0 40/1/1\n"
					   "5-0: 90/3/1 110/1/1\n"
					   "5-0: 120/3/1\n"
					   "8-0: 45/1/0\n"
					   "9-3:\n");
	scene_fini(&s);
}

static const struct trace_mark extremes[] = {
    {UINT64_MAX - 5, UINT64_MAX, 1, TRACE_MARK_INT, 0},
    {UINT64_MAX - 5, (uint64_t)INT64_MAX, UINT32_MAX, TRACE_MARK_COUNT, UINT32_MAX},
    {UINT64_MAX, (uint64_t)INT64_MIN, 0, TRACE_MARK_END, 127},
};

/* All is read as it was written, in few bytes. */
TEST(marks_are_short)
{
	struct trace_mark usual[1000];
	struct trace_reader *r;
	struct trace_frame f;
	struct trace_marks m;
	struct scene s;
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_NR(usual); i++)
		usual[i] = (struct trace_mark){10000000000 + 900 * i, 0, i % 2 ? 0 : 3,
					       i % 2 ? TRACE_MARK_END : TRACE_MARK_BEGIN, 1};
	scene_init(&s, 0);
	trace_writer_marks(s.writer, &(struct trace_marks){1, 2, 3, 4, extremes, 3});
	trace_writer_marks(s.writer, &(struct trace_marks){1, 2, 3, 4, usual, 1000});
	append(&s);
	assert_int_equal(trace_reader_open(s.folder.fd, "t", &r, NULL), 0);
	while (trace_reader_next(r, &f, NULL) == 1) {
		const struct trace_mark *want = nr ? usual : extremes;

		if (trace_decode_marks(&f, &m))
			continue;
		assert_int_equal(m.pid, 1);
		assert_int_equal(m.lost, 4);
		assert_int_equal(m.nr, nr ? 1000 : 3);
		for (size_t i = 0; i < m.nr; i++) {
			assert_int_equal(m.mark[i].time_ns, want[i].time_ns);
			assert_int_equal(m.mark[i].value, want[i].value);
			assert_int_equal(m.mark[i].name, want[i].name);
			assert_int_equal(m.mark[i].kind, want[i].kind);
			assert_int_equal(m.mark[i].depth, want[i].depth);
		}
		if (nr++)
			assert_true(f.length < 5 * 1000);
		trace_marks_fini(&m);
	}
	assert_int_equal(nr, 2);
	trace_reader_close(r);
	scene_fini(&s);
}

/* What an older recorder wrote; and what none did. */
TEST(marks_of_others)
{
	static const uint8_t old[] = {1, 0, 0, 0, 2,  0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0,
				      0, 0, 0, 0, 28, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0,
				      7, 0, 0, 0, 0,  0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0};
	static const struct {
		size_t len;
		uint8_t tail[14]; /* behind the head: the number, and the marks */
		int rc;
	} cases[] = {
	    {6, {1, 0, 0, 0, 3, 9}, 0},
	    {5, {1, 0, 0, 0, 3}, -EINVAL},                /* cut */
	    {6, {2, 0, 0, 0, 3, 9}, -EINVAL},             /* another number */
	    {6, {1, 0, 0, 0, 0, 9}, -EINVAL},             /* no kind */
	    {6, {1, 0, 0, 0, 13, 9}, -EINVAL},            /* an unknown kind */
	    {6, {0xff, 0xff, 0xff, 0xff, 3, 9}, -EINVAL}, /* too many */
	    {8, {2, 0, 0, 0, 3, 9, 3, 0}, 0},
	    {12, {1, 0, 0, 0, 0x23, 9, 0x80, 0x80, 0x80, 0x80, 0x10}, -EINVAL}, /* of 33 bits */
	};
	uint8_t payload[24 + 14] = {1, 0, 0, 0, 2};
	struct trace_frame f = {
	    .kind = TRACE_FRAME_LONG_MARKS, .payload = old, .length = sizeof(old)};
	struct trace_marks m;

	assert_int_equal(trace_decode_marks(&f, &m), 0);
	assert_int_equal(m.nr, 1);
	assert_int_equal(m.lost, 4);
	assert_int_equal(m.mark[0].time_ns, 9);
	assert_int_equal(m.mark[0].value, 7);
	assert_int_equal(m.mark[0].name, 5);
	assert_int_equal(m.mark[0].kind, 2);
	assert_int_equal(m.mark[0].depth, 6);
	trace_marks_fini(&m);
	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		memcpy(payload + 24, cases[i].tail, cases[i].len);
		f = (struct trace_frame){.kind = TRACE_FRAME_MARKS,
					 .payload = payload,
					 .length = (uint32_t)(24 + cases[i].len)};
		assert_int_equal(trace_decode_marks(&f, &m), cases[i].rc);
		if (!cases[i].rc)
			trace_marks_fini(&m);
	}
}

/* Dropped, or the name taken by another file: nothing has changed. */
TEST(dropped)
{
	struct trace_copy copy;
	struct err e = {0};
	struct scene s;
	struct buf got;
	bool is_whole;
	uint64_t bytes;

	scene_init(&s, 0);
	bytes = trace_file_bytes(s.file);
	assert_int_equal(trace_shorten_begin(&copy, &s.how, bytes, NULL), 0);
	assert_true(has_copy(&s));
	trace_shorten_drop(&copy);
	assert_false(has_copy(&s));
	assert_int_equal(trace_shorten_begin(&copy, &s.how, bytes, NULL), 0);
	assert_int_equal(renameat(s.folder.fd, "t", s.folder.fd, "other"), 0);
	close(openat(s.folder.fd, "t", O_CREAT | O_WRONLY, 0600));
	assert_int_equal(trace_shorten_end(&copy, s.file, &e), -ESTALE);
	assert_false(has_copy(&s));
	assert_string_equal(e.source, "some/t");
	assert_int_equal(renameat(s.folder.fd, "other", s.folder.fd, "t"), 0);
	add_process(&s, 9, 200, 210);
	describe(&s, &got, &is_whole);
	assert_non_null(strstr(buf_str(&got), "5 6 1000 1001 "));
	buf_fini(&got);
	scene_fini(&s);
}

/* Whatever fails: the file is the old one or the new one, and grows on. */
TEST(failures)
{
	for (int is_alloc = 0; is_alloc < 2; is_alloc++) {
		int rc = -1;

		for (unsigned nth = 1; rc; nth++) {
			struct scene s;
			struct buf got;
			bool is_whole;

			scene_init(&s, 0);
			if (is_alloc)
				inject_mem(nth);
			else
				inject_sys(nth, -EIO);
			rc = shorten_once(&s);
			inject_stop();
			assert_true(rc <= 0);
			assert_false(has_copy(&s));
			add_process(&s, 9, 200, 210);
			describe(&s, &got, &is_whole);
			assert_int_equal(strncmp(buf_str(&got), "5 6 ", 4) == 0, rc != 0);
			assert_string_equal(buf_str(&got) + got.len - 2, "9 ");
			buf_fini(&got);
			scene_fini(&s);
		}
	}
}
