/*
 * A trace that grows: the same bytes as one that is written at once, good up to its last whole
 * frame at any moment and after any failure, and never over what is not ours.
 */
#include "kit.h"
#include "test_trace.h"

#include "trace/file.h"

/* A span that wraps after so many bytes. */
static struct trace_span span_at(const void *records, size_t len, size_t wrap)
{
	return (struct trace_span){{records, (const char *)records + wrap}, {wrap, len - wrap}};
}

/* The sample, frame by frame; -errno of the first call that fails. Every call is made. */
static int grow(struct trace_writer *w, struct trace_file *f, size_t wrap, struct err *e)
{
	struct trace_span span = span_at(sample_record, sizeof(sample_record), wrap);
	int rc = trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, e), more;

	trace_writer_more(w);
	sample_gather_tick(w);
	more = trace_file_append(f, w, e);
	rc = rc ? rc : more;
	trace_writer_more(w);
	sample_gather_end(w);
	more = trace_file_finish(f, w, &sample_totals, e);
	return rc ? rc : more;
}

static int create(struct trace_writer *w, const struct folder *d, struct trace_file **f,
		  struct err *e)
{
	int rc = sample_gather_start(w);

	return rc ? err_set(e, rc, "not begun")
		  : trace_file_create(w, d->fd, "t", "some/path", NULL, f, e);
}

static int write_sample(const struct folder *d, size_t wrap, struct err *e)
{
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f = NULL;
	int rc = w ? create(w, d, &f, e) : err_set(e, -ENOMEM, "no memory");

	if (rc == 0)
		rc = grow(w, f, wrap, e);
	trace_writer_free(w);
	return rc;
}

/* Wherever the ring wraps. */
TEST(bytes)
{
	struct buf want, got;
	struct folder d;

	folder_init(&d);
	sample_bytes(&want);
	for (size_t wrap = 0; wrap <= sizeof(sample_record); wrap += 8) {
		assert_int_equal(write_sample(&d, wrap, NULL), 0);
		load_file(d.fd, "t", &got);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len);
		buf_fini(&got);
	}
	buf_fini(&want);
	folder_fini(&d);
}

/* Frames of the file, all of them sound. */
static size_t count_frames(const struct folder *d, bool *is_whole)
{
	struct trace_reader *r;
	struct trace_frame f;
	struct err e = {0};
	size_t nr = 0;
	int rc;

	assert_int_equal(trace_reader_open(d->fd, "t", &r, &e), 0);
	while ((rc = trace_reader_next(r, &f, &e)) == 1)
		assert_int_equal(f.kind, sample_kinds[nr++]);
	assert_int_equal(rc, 0);
	*is_whole = trace_reader_is_whole(r);
	trace_reader_close(r);
	return nr;
}

static uint64_t file_size(const struct folder *d)
{
	struct stat st;

	assert_int_equal(fstatat(d->fd, "t", &st, AT_SYMLINK_NOFOLLOW), 0);
	return (uint64_t)st.st_size;
}

static void expect_frames(const struct folder *d, const struct trace_file *f, size_t nr)
{
	bool is_whole;

	assert_int_equal(count_frames(d, &is_whole), nr);
	assert_false(is_whole);
	if (f)
		assert_int_equal(trace_file_bytes(f), file_size(d));
}

/* At every moment the file is there, and good as far as it goes. */
TEST(grows)
{
	struct trace_span span = span_at(sample_record, sizeof(sample_record), 8), none = {0};
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f = NULL;
	struct folder d;

	folder_init(&d);
	assert_int_equal(create(w, &d, &f, NULL), 0);
	expect_frames(&d, f, 5);
	assert_int_equal(trace_file_append(f, w, NULL), 0); /* create took what was there */
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 5, &none, NULL), 0);
	expect_frames(&d, f, 5);
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, NULL), 0);
	expect_frames(&d, f, 6);
	trace_writer_more(w);
	sample_gather_tick(w);
	expect_frames(&d, f, 6);
	assert_int_equal(trace_file_append(f, w, NULL), 0);
	expect_frames(&d, f, 8);
	trace_file_abandon(f);
	expect_frames(&d, NULL, 8);
	trace_file_abandon(NULL);
	trace_writer_free(w);
	folder_fini(&d);
}

/* What no caller should do is refused, and harms nothing. */
TEST(misuse)
{
	static const uint8_t records[TRACE_FILE_RECORDS_BYTES + 8];
	static const struct trace_span rows[] = {
	    {{records, records}, {4, 4}},
	    {{records, records}, {12, 0}},
	    {{records, records}, {TRACE_FILE_RECORDS_BYTES, 8}},
	    {{records, records}, {8, TRACE_FILE_RECORDS_BYTES}},
	    {{records, records}, {TRACE_FILE_RECORDS_BYTES + 8, 0}},
	    {{records, records}, {8, SIZE_MAX - 7}},
	};
	const struct trace_span most = {{records, records}, {TRACE_FILE_RECORDS_BYTES - 8, 8}};
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f = NULL;
	struct err e = {0};
	struct folder d;
	uint64_t bytes;

	folder_init(&d);
	assert_int_equal(trace_file_create(w, d.fd, "t", "t", NULL, &f, &e), -EINVAL);
	assert_string_equal(e.msg, "no trace was begun");
	assert_int_equal(folder_entries(&d, false), 0);
	assert_int_equal(create(w, &d, &f, NULL), 0);
	bytes = trace_file_bytes(f);
	for (size_t i = 0; i < NR(rows); i++) {
		err_clear(&e);
		assert_int_equal(trace_file_records(f, TRACE_RING_MADE, 0, &rows[i], &e), -EINVAL);
		assert_string_equal(e.source, "some/path");
	}
	assert_int_equal(sample_begin(w), 0);
	assert_int_equal(trace_file_append(f, w, NULL), -EINVAL); /* another trace's header */
	trace_writer_more(w);
	trace_writer_records(w, TRACE_RING_MADE, 0, records, 4);
	assert_int_equal(trace_file_append(f, w, NULL), -EINVAL);
	assert_int_equal(trace_file_bytes(f), bytes);
	assert_int_equal(trace_file_records(f, TRACE_RING_MADE, 0, &most, NULL), 0);
	assert_int_equal(trace_file_bytes(f), bytes + TRACE_FILE_RECORDS_BYTES + 24);
	assert_int_equal(trace_file_bytes(f), file_size(&d));
	trace_file_abandon(f);
	trace_writer_free(w);
	folder_fini(&d);
}

/* A disk with room for so many bytes more. */
static struct {
	uint64_t room;
	bool cannot_cut;
	unsigned nr_writes, refused; /* refused: the number of one that finds no room at all */
} disk;

static ssize_t small_writev(int fd, const struct iovec *piece, int nr)
{
	size_t len = piece->iov_len < disk.room ? piece->iov_len : (size_t)disk.room;

	(void)nr;
	if (++disk.nr_writes == disk.refused || !len)
		return -ENOSPC;
	disk.room -= len;
	return sys_kernel_ops.write(fd, piece->iov_base, len);
}

static int small_ftruncate(int fd, off_t len)
{
	return disk.cannot_cut ? -EIO : sys_kernel_ops.ftruncate(fd, len);
}

/* After the failure each call says the same, and none writes but the last, which tries the end. */
static void check_sticks(struct trace_writer *w, struct trace_file *f)
{
	struct trace_span span = span_at(sample_record, sizeof(sample_record), 0);
	unsigned nr_writes = disk.nr_writes;
	struct err e[3] = {0};

	disk.room = 1 << 20;
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, &e[0]), -ENOSPC);
	trace_writer_more(w);
	sample_gather_tick(w);
	assert_int_equal(trace_file_append(f, w, &e[1]), -ENOSPC);
	assert_int_equal(disk.nr_writes, nr_writes);
	disk.room = 0;
	assert_int_equal(trace_file_finish(f, w, &sample_totals, &e[2]), -ENOSPC);
	assert_int_equal(disk.nr_writes, nr_writes + 2); /* what was gathered, and the end alone */
	for (size_t i = 0; i < NR(e); i++) {
		assert_string_equal(e[i].source, "some/path");
		assert_string_equal(e[i].msg, "cannot be written: No space left on device");
	}
}

/* Whole frames of the first len bytes of the sample. */
static size_t frames_within(const struct buf *bytes, uint64_t len)
{
	struct trace_reader *r = open_bytes(bytes);
	struct trace_frame f;
	size_t nr = 0;

	while (trace_reader_next(r, &f, NULL) == 1 &&
	       f.offset + trace_frame_total_bytes(f.length) <= len)
		nr++;
	trace_reader_close(r);
	return nr;
}

/* The writes that make the sample: a failed one takes its frames along. */
static const size_t steps[] = {5, 6, 8, 11, 12};

static size_t frames_kept(size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < NR(steps) && steps[i] <= nr; i++)
		kept = steps[i];
	return kept;
}

static void try_full_disk(const struct folder *d, const struct buf *bytes, uint64_t room)
{
	struct trace_span span = span_at(sample_record, sizeof(sample_record), 16);
	size_t kept = frames_kept(frames_within(bytes, room));
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f = NULL;
	struct err e = {0};
	int rc;

	folder_entries(d, true);
	disk.room = room;
	rc = create(w, d, &f, &e);
	if (kept == 0) {
		assert_int_equal(rc, -ENOSPC);
		assert_string_equal(e.msg, "cannot be written: No space left on device");
		assert_int_equal(folder_entries(d, false), 0);
		trace_writer_free(w);
		return;
	}
	assert_int_equal(rc, 0);
	rc = trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, NULL);
	trace_writer_more(w);
	sample_gather_tick(w);
	if (rc == 0)
		rc = trace_file_append(f, w, NULL);
	if (rc) {
		expect_frames(d, f, kept);
		check_sticks(w, f);
	} else {
		trace_writer_more(w);
		sample_gather_end(w);
		rc = trace_file_finish(f, w, &sample_totals, NULL);
	}
	assert_int_equal(rc, -ENOSPC);
	expect_frames(d, NULL, kept);
	trace_writer_free(w);
}

/* Full after every byte, in pieces, in the middle of frames. */
TEST(full_disk)
{
	struct sys_ops ops = sys_kernel_ops;
	struct folder d;
	struct buf bytes;
	bool is_whole;

	folder_init(&d);
	sample_bytes(&bytes);
	ops.writev = small_writev;
	ops.ftruncate = small_ftruncate;
	sys_set_ops(&ops);
	for (uint64_t room = 0; room < bytes.len; room++)
		try_full_disk(&d, &bytes, room);
	disk.room = bytes.len;
	assert_int_equal(write_sample(&d, 24, NULL), 0);
	assert_int_equal(count_frames(&d, &is_whole), SAMPLE_NR_FRAMES);
	assert_true(is_whole);
	sys_set_ops(NULL);
	buf_fini(&bytes);
	folder_fini(&d);
}

/* What is large finds no room, what is small does: records, and the end. */
TEST(end_on_full_disk)
{
	struct trace_span span = span_at(sample_record, sizeof(sample_record), 16);
	struct trace_writer *w = trace_writer_new();
	struct sys_ops ops = sys_kernel_ops;
	struct trace_file *f = NULL;
	struct err e[2] = {0};
	struct folder d;
	struct trace_reader *r;
	struct trace_frame frame;
	unsigned nr_records = 0;

	folder_init(&d);
	assert_int_equal(create(w, &d, &f, NULL), 0);
	ops.writev = small_writev;
	sys_set_ops(&ops);
	disk.room = 20; /* half a frame */
	assert_false(trace_file_retry(f));
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, &e[0]), -ENOSPC);
	disk.room = 1 << 20;
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, NULL), -ENOSPC);
	assert_true(trace_file_retry(f));
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, NULL), 0);
	disk.room = 20;
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, NULL), -ENOSPC);
	disk.room = 1 << 20;
	trace_writer_more(w);
	sample_gather_end(w);
	assert_int_equal(trace_file_finish(f, w, &sample_totals, &e[1]), -ENOSPC);
	sys_set_ops(NULL);
	assert_string_equal(e[1].msg, "cannot be written: No space left on device");
	assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
	while (trace_reader_next(r, &frame, NULL) == 1)
		nr_records += frame.kind == TRACE_FRAME_RECORDS;
	assert_int_equal(nr_records, 1);
	assert_true(trace_reader_is_whole(r) && trace_reader_is_short(r));
	trace_reader_close(r);
	trace_writer_free(w);
	folder_fini(&d);
}

/* What was gathered finds no room, the end does. */
TEST(end_alone_on_full_disk)
{
	struct trace_writer *w = trace_writer_new();
	struct sys_ops ops = sys_kernel_ops;
	struct trace_file *f = NULL;
	struct folder d;
	struct trace_reader *r;
	struct trace_frame frame;
	struct err e = {0};
	unsigned nr = 0;

	folder_init(&d);
	assert_int_equal(create(w, &d, &f, NULL), 0);
	trace_writer_more(w);
	sample_gather_end(w);
	ops.writev = small_writev;
	sys_set_ops(&ops);
	disk.room = 1 << 20;
	disk.refused = disk.nr_writes + 1;
	assert_int_equal(trace_file_finish(f, w, &sample_totals, &e), -ENOSPC);
	sys_set_ops(NULL);
	assert_string_equal(e.msg, "cannot be written: No space left on device");
	assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
	while (trace_reader_next(r, &frame, NULL) == 1)
		nr += frame.kind == TRACE_FRAME_READINGS;
	assert_int_equal(nr, 1); /* that of the begin */
	assert_true(trace_reader_is_whole(r) && trace_reader_is_short(r));
	trace_reader_close(r);
	trace_writer_free(w);
	folder_fini(&d);
}

/* It cannot even be cut back: the reader finds where. */
TEST(cannot_cut)
{
	struct sys_ops ops = sys_kernel_ops;
	struct trace_reader *r;
	struct trace_frame f;
	struct folder d;
	struct err e = {0};
	struct buf bytes;
	size_t nr = 0;
	int rc;

	folder_init(&d);
	sample_bytes(&bytes);
	ops.writev = small_writev;
	ops.ftruncate = small_ftruncate;
	sys_set_ops(&ops);
	disk.room = bytes.len - 8;
	disk.cannot_cut = true;
	assert_int_equal(write_sample(&d, 0, &e), -ENOSPC);
	disk.cannot_cut = false;
	sys_set_ops(NULL);
	assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
	while ((rc = trace_reader_next(r, &f, NULL)) == 1)
		nr++;
	assert_int_equal(rc, -EILSEQ);
	assert_int_equal(nr, SAMPLE_NR_FRAMES - 1);
	trace_reader_close(r);
	buf_fini(&bytes);
	folder_fini(&d);
}

/* Without our own calls, which fail here. */
static void make_old(const struct folder *d)
{
	int fd = openat(d->fd, "t", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, TRACE_MAGIC, 8), 8);
	close(fd);
}

/* Over an older trace, or (arg NULL) where nothing is. */
static int write_somewhere(void *arg)
{
	struct folder d;
	struct err e = {0};
	int rc;

	folder_init(&d);
	if (arg)
		make_old(&d);
	rc = write_sample(&d, 8, &e);
	assert_int_equal(e.code, rc);
	assert_true(folder_entries(&d, false) <= 1);
	folder_fini(&d);
	return rc;
}

TEST(every_failure)
{
	static bool over;

	inject_every(write_somewhere, NULL, 4, 6); /* openat, four or more writes, close */
	inject_every(write_somewhere, &over, 4, 11);
}

static int is_interrupted;

static ssize_t interrupted_writev(int fd, const struct iovec *piece, int nr)
{
	is_interrupted = !is_interrupted;
	return is_interrupted ? -EINTR : sys_kernel_ops.writev(fd, piece, nr);
}

TEST(interrupted)
{
	struct sys_ops ops = sys_kernel_ops;
	struct folder d;
	bool is_whole;

	folder_init(&d);
	ops.writev = interrupted_writev;
	sys_set_ops(&ops);
	assert_int_equal(write_sample(&d, 0, NULL), 0);
	sys_set_ops(NULL);
	assert_int_equal(count_frames(&d, &is_whole), SAMPLE_NR_FRAMES);
	assert_true(is_whole);
	folder_fini(&d);
}

static unsigned nr_writevs, nr_pieces;

static ssize_t counting_writev(int fd, const struct iovec *piece, int nr)
{
	nr_writevs++;
	nr_pieces += (unsigned)nr;
	return sys_kernel_ops.writev(fd, piece, nr);
}

/* Records go to the file in one call, from where they are; nothing asks for memory. */
TEST(one_call)
{
	struct trace_span span = span_at(sample_record, sizeof(sample_record), 8);
	struct trace_writer *w = trace_writer_new();
	struct sys_ops ops = sys_kernel_ops;
	struct trace_file *f = NULL;
	struct folder d;

	folder_init(&d);
	assert_int_equal(create(w, &d, &f, NULL), 0);
	ops.writev = counting_writev;
	sys_set_ops(&ops);
	inject_mem(1);
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 5, &span, NULL), 0);
	assert_false(inject.fired);
	inject_stop();
	assert_int_equal(nr_writevs, 1);
	assert_int_equal(nr_pieces, 4);
	trace_file_abandon(f);
	trace_writer_free(w);
	folder_fini(&d);
}

static int close_fails(int fd)
{
	sys_kernel_ops.close(fd);
	return -ENOSPC;
}

/* A network's file system may tell only at close that there was no room. */
TEST(close_tells)
{
	struct trace_writer *w = trace_writer_new();
	struct sys_ops ops = sys_kernel_ops;
	struct trace_file *f = NULL;
	struct err e = {0};
	struct folder d;

	folder_init(&d);
	assert_int_equal(create(w, &d, &f, NULL), 0);
	ops.close = close_fails;
	sys_set_ops(&ops);
	assert_int_equal(grow(w, f, 0, &e), -ENOSPC);
	sys_set_ops(NULL);
	assert_string_equal(e.source, "some/path");
	trace_writer_free(w);
	folder_fini(&d);
}

static void make_cut_trace(const struct folder *d)
{
	write_file(d, "t", TRACE_MAGIC, 8);
}

static void make_text(const struct folder *d)
{
	write_file(d, "t", "letter to a friend", 18);
}

static void make_folder(const struct folder *d)
{
	assert_int_equal(mkdirat(d->fd, "t", 0700), 0);
}

static void make_fifo(const struct folder *d)
{
	assert_int_equal(mkfifoat(d->fd, "t", 0600), 0);
}

static void make_link(const struct folder *d)
{
	write_file(d, "other", TRACE_MAGIC, 8);
	assert_int_equal(symlinkat("other", d->fd, "t"), 0);
}

static void make_dangling_link(const struct folder *d)
{
	assert_int_equal(symlinkat("other", d->fd, "t"), 0);
}

/* What may be replaced and what not; the rule itself is tested with io_create. */
TEST(existing)
{
	static const struct {
		void (*make)(const struct folder *d);
		int want;
	} rows[] = {
	    {make_cut_trace, 0},  {make_text, -EEXIST}, {make_folder, -EEXIST},
	    {make_fifo, -EEXIST}, {make_link, -EEXIST}, {make_dangling_link, -EEXIST},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct stat before, after;
		struct err e = {0};
		struct folder d;
		size_t nr;
		int old;

		folder_init(&d);
		rows[i].make(&d);
		/* held open, or its inode may be used again */
		old = openat(d.fd, "t", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		nr = folder_entries(&d, false);
		assert_int_equal(fstatat(d.fd, "t", &before, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(write_sample(&d, 0, &e), rows[i].want);
		assert_int_equal(e.code, rows[i].want);
		assert_int_equal(fstatat(d.fd, "t", &after, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(after.st_ino == before.st_ino, rows[i].want != 0);
		assert_int_equal(folder_entries(&d, false), nr);
		if (rows[i].want == 0)
			assert_int_equal(after.st_mode, S_IFREG | 0600);
		io_close(&old);
		folder_fini(&d);
	}
}
