/*
 * How a trace comes to its name: whole, owner-only, never over what is not ours; and what is left
 * when memory or the file system fails at any point of writing and reading: nothing.
 */
#include "kit.h"
#include "test_trace.h"

#include "base/mem.h"
#include "base/sys.h"

static int commit(const struct folder *f, const char *name, struct err *e)
{
	struct trace_writer *w = trace_writer_new();
	int rc = w ? sample_gather(w) : -ENOMEM;

	if (rc == 0)
		rc = trace_writer_commit(w, f->fd, name, "some/path", &sample_totals, e);
	trace_writer_free(w);
	return rc;
}

TEST(mode)
{
	static const mode_t masks[] = {0, 022, 077};
	struct folder f;
	struct stat st;

	folder_init(&f);
	for (size_t i = 0; i < NR(masks); i++) {
		mode_t old = umask(masks[i]);

		assert_int_equal(commit(&f, "t", NULL), 0);
		umask(old);
		assert_int_equal(fstatat(f.fd, "t", &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
		unlinkat(f.fd, "t", 0);
	}
	folder_fini(&f);
}

TEST(replaces_traces)
{
	struct buf before, after;
	struct folder f;

	folder_init(&f);
	sample_bytes(&before);
	write_file(&f, "t", before.data, TRACE_HEADER_BYTES); /* a cut one, too */
	assert_int_equal(commit(&f, "t", NULL), 0);
	load_file(f.fd, "t", &after);
	assert_int_equal(after.len, before.len);
	assert_memory_equal(after.data, before.data, before.len);
	assert_int_equal(folder_entries(&f, false), 1);
	buf_fini(&before);
	buf_fini(&after);
	folder_fini(&f);
}

static void make_text(const struct folder *f)
{
	write_file(f, "t", "letter to a friend", 18);
}

static void make_empty(const struct folder *f)
{
	write_file(f, "t", "", 0);
}

static void make_short(const struct folder *f)
{
	write_file(f, "t", TRACE_MAGIC, 7);
}

static void make_folder(const struct folder *f)
{
	assert_int_equal(mkdirat(f->fd, "t", 0700), 0);
}

static void make_fifo(const struct folder *f)
{
	assert_int_equal(mkfifoat(f->fd, "t", 0600), 0);
}

static void make_link(const struct folder *f)
{
	assert_int_equal(commit(f, "other", NULL), 0);
	assert_int_equal(symlinkat("other", f->fd, "t"), 0);
}

static void make_dangling_link(const struct folder *f)
{
	assert_int_equal(symlinkat("other", f->fd, "t"), 0);
}

TEST(refuses)
{
	static void (*const make[])(const struct folder *f) = {
	    make_text, make_empty, make_short,        make_folder,
	    make_fifo, make_link,  make_dangling_link};

	for (size_t i = 0; i < NR(make); i++) {
		struct stat before, after;
		struct err e = {0};
		struct folder f;
		size_t nr;

		folder_init(&f);
		make[i](&f);
		nr = folder_entries(&f, false);
		assert_int_equal(fstatat(f.fd, "t", &before, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(commit(&f, "t", &e), -EEXIST);
		assert_int_equal(fstatat(f.fd, "t", &after, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(before.st_ino, after.st_ino);
		assert_int_equal(before.st_size, after.st_size);
		assert_int_equal(folder_entries(&f, false), nr);
		assert_non_null(strstr(e.msg, "some/path"));
		assert_non_null(strstr(e.msg, "not written by cpuperf"));
		folder_fini(&f);
	}
}

TEST(no_folder)
{
	struct err e = {0};
	struct folder f;

	folder_init(&f);
	assert_int_equal(commit(&f, "no/folder", &e), -ENOENT);
	assert_non_null(strstr(e.msg, "some/path"));
	assert_non_null(strstr(e.msg, "No such file or directory"));
	folder_fini(&f);
}

/* The nth call of any kind fails, or all from the nth on. */
static struct {
	unsigned countdown;
	int code;
	bool for_ever, fired, io_fired, close_fired, unlink_fired;
} failure;

static int fails(void)
{
	if (failure.countdown > 1) {
		failure.countdown--;
		return 0;
	}
	if (failure.countdown == 0)
		return 0;
	failure.countdown = failure.for_ever;
	failure.fired = true;
	return failure.code;
}

static int fail_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	int rc = fails();

	return rc ? rc : sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static ssize_t fail_read(int fd, void *buf, size_t len)
{
	int rc = fails();

	failure.io_fired |= rc != 0;
	return rc ? rc : sys_kernel_ops.read(fd, buf, len);
}

static ssize_t fail_pread(int fd, void *buf, size_t len, off_t at)
{
	int rc = fails();

	failure.io_fired |= rc != 0;
	return rc ? rc : sys_kernel_ops.pread(fd, buf, len < 100 ? len : 100, at);
}

/* In small pieces, so that it can fail in the middle. */
static ssize_t fail_write(int fd, const void *buf, size_t len)
{
	int rc = fails();

	failure.io_fired |= rc != 0;
	return rc ? rc : sys_kernel_ops.write(fd, buf, len < 300 ? len : 300);
}

static int fail_close(int fd)
{
	int rc = fails();

	failure.close_fired |= rc != 0;
	sys_kernel_ops.close(fd); /* as the kernel does, error or not */
	return rc;
}

static int fail_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	int rc = fails();

	return rc ? rc : sys_kernel_ops.fstatat(dirfd, path, st, flags);
}

static int fail_renameat2(int olddir, const char *old, int newdir, const char *new, unsigned flags)
{
	int rc = fails();

	return rc ? rc : sys_kernel_ops.renameat2(olddir, old, newdir, new, flags);
}

static int fail_unlinkat(int dirfd, const char *path, int flags)
{
	int rc = fails();

	failure.unlink_fired |= rc != 0;
	return rc ? rc : sys_kernel_ops.unlinkat(dirfd, path, flags);
}

static int fail_getrandom(void *buf, size_t len)
{
	int rc = fails();

	return rc ? rc : sys_kernel_ops.getrandom(buf, len);
}

static const struct sys_ops failing_ops = {
    .openat = fail_openat,
    .read = fail_read,
    .pread = fail_pread,
    .write = fail_write,
    .close = fail_close,
    .fstatat = fail_fstatat,
    .renameat2 = fail_renameat2,
    .unlinkat = fail_unlinkat,
    .getrandom = fail_getrandom,
};

static int read_all(const struct folder *f, struct err *e)
{
	struct trace_info_owned info;
	struct trace_events events;
	struct trace_frame frame;
	struct trace_reader *r;
	int rc = trace_reader_open(f->fd, "t", &r, e);

	if (rc)
		return rc;
	while ((rc = trace_reader_next(r, &frame, e)) > 0) {
		int rc_info = trace_decode_info(&frame, &info);
		int rc_events = trace_decode_events(&frame, &events);

		if (rc_info == 0)
			trace_info_fini(&info);
		if (rc_events == 0)
			trace_events_fini(&events);
		if (rc_info == -ENOMEM || rc_events == -ENOMEM) {
			rc = err_set(e, -ENOMEM, "no memory to decode");
			break;
		}
	}
	if (rc == 0)
		assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	return rc;
}

static size_t open_descriptors(void)
{
	struct folder f = {.path = "/proc/self/fd"};

	return folder_entries(&f, false);
}

/* Writes and reads with one failure; true if there was one. existing: over an older trace. */
static bool try_failure(const struct folder *f, unsigned n, int code, bool for_ever, bool existing)
{
	size_t nr_open = open_descriptors(), nr;
	struct err e = {0};
	int rc;

	folder_entries(f, true);
	if (existing)
		assert_int_equal(commit(f, "t", NULL), 0);
	memset(&failure, 0, sizeof(failure));
	failure.countdown = n;
	failure.code = code;
	failure.for_ever = for_ever;
	sys_set_ops(&failing_ops);
	rc = commit(f, "t", &e);
	if (rc == 0)
		rc = read_all(f, &e);
	sys_set_ops(NULL);
	assert_int_equal(open_descriptors(), nr_open);
	assert_int_equal(e.code, rc);
	if (code == -EINTR && failure.io_fired)
		assert_int_equal(rc, 0); /* begun again */
	if (rc == 0)
		assert_true(!failure.fired || failure.close_fired || code == -EINTR);
	else
		assert_true(e.msg[0]);
	nr = folder_entries(f, false);
	if (!failure.unlink_fired) {
		assert_true(nr <= 1);
		if (nr == 1 || existing) /* under the name: the old one or the new one, whole */
			assert_int_equal(read_all(f, NULL), 0);
	}
	return failure.fired;
}

TEST(every_system_call)
{
	static const int codes[] = {-EIO, -ENOSPC, -EINTR, -ENOMEM};
	struct folder f;

	folder_init(&f);
	for (size_t i = 0; i < NR(codes); i++) {
		for (unsigned variant = 0; variant < 4; variant++) {
			unsigned n = 1;

			if (codes[i] == -EINTR && variant & 1)
				continue; /* for ever interrupted is for ever waiting */
			while (try_failure(&f, n, codes[i], variant & 1, variant & 2))
				n++;
			assert_true(n > 20);
		}
	}
	folder_fini(&f);
}

static unsigned alloc_countdown;
static size_t nr_allocs, nr_live;
static bool alloc_fired;

static bool alloc_fails(void)
{
	nr_allocs++;
	if (!alloc_countdown || --alloc_countdown)
		return false;
	alloc_fired = true;
	return true;
}

static void *fail_alloc(size_t size)
{
	if (alloc_fails())
		return NULL;
	nr_live++;
	return malloc(size);
}

static void *fail_resize(void *p, size_t size)
{
	if (alloc_fails())
		return NULL;
	nr_live += !p;
	return realloc(p, size);
}

static void fail_release(void *p)
{
	nr_live--;
	free(p);
}

static const struct mem_ops failing_mem = {fail_alloc, fail_resize, fail_release};

TEST(every_allocation)
{
	struct folder f;
	unsigned n = 0;

	folder_init(&f);
	mem_set_ops(&failing_mem);
	do {
		struct err e = {0};
		int rc;

		folder_entries(&f, true);
		alloc_fired = false;
		alloc_countdown = ++n;
		rc = commit(&f, "t", &e);
		if (rc == 0)
			rc = read_all(&f, &e);
		alloc_countdown = 0;
		assert_int_equal(rc, alloc_fired ? -ENOMEM : 0);
		assert_int_equal(nr_live, 0);
		assert_int_equal(folder_entries(&f, false), faccessat(f.fd, "t", F_OK, 0) == 0);
	} while (alloc_fired);
	mem_set_ops(NULL);
	assert_true(n > 10);
	folder_fini(&f);
}

/* From the second trace on, the writer asks for no memory. */
TEST(steady_state)
{
	struct trace_writer *w;
	struct folder f;
	size_t before = 0;

	folder_init(&f);
	mem_set_ops(&failing_mem);
	w = trace_writer_new();
	assert_int_equal(sample_begin(w), 0);
	for (int i = 0; i < 10; i++) {
		if (i == 1)
			before = nr_allocs;
		assert_int_equal(trace_writer_begin(w, &sample_head), 0);
		trace_writer_clocks(w, &sample_clocks);
		trace_writer_readings(w, TRACE_START, sample_start, NR(sample_start));
		trace_writer_readings(w, TRACE_END, sample_end, NR(sample_end));
		assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, NULL), 0);
	}
	assert_int_equal(nr_allocs, before);
	trace_writer_free(w);
	mem_set_ops(NULL);
	folder_fini(&f);
}
