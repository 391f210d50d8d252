/*
 * Lines of kallsyms that were packed beforehand: they read as those that are packed, or not, when
 * they are written; a packer for them alone leaves all else as it is; what is no such frame harms
 * no file.
 */
#include "kit.h"
#include "test_trace.h"

#include "trace/file.h"

static char kallsyms[20000];

HOOK(before_all)
{
	size_t len = 0;

	while (len < sizeof(kallsyms) - 40)
		len += (size_t)snprintf(kallsyms + len, 40, "ffffffff81%06zx T symbol_%zu\n", len,
					len);
}

static const struct trace_symbol_range range = {0xffffffff81000000, 0xffffffff8100ffff};
static bool with_range;

/* A packed frame in memory of its own, and its range before it. */
static struct buf pack(int level, const char *text, size_t len)
{
	struct trace_packer *p = trace_packer_new(level);
	const void *frame;
	struct buf out;
	size_t frame_len;

	buf_init(&out, 1 << 20);
	if (trace_packer_kallsyms(p, with_range ? &range : NULL, text, len, &frame, &frame_len))
		buf_add(&out, frame, frame_len);
	trace_packer_free(p);
	return out;
}

static struct trace_file *create(struct trace_writer *w, const struct folder *d,
				 struct trace_packer *p)
{
	struct trace_file *f;

	assert_int_equal(sample_gather_start(w), 0);
	assert_int_equal(trace_file_create(w, d->fd, "t", "some/path", p, &f, NULL), 0);
	return f;
}

static void finish(struct trace_writer *w, struct trace_file *f)
{
	trace_writer_more(w);
	sample_gather_end(w);
	assert_int_equal(trace_file_finish(f, w, &sample_totals, NULL), 0);
}

/* The next frame of kallsyms. */
static void expect_kallsyms(struct trace_reader *r, bool is_packed, const char *want,
			    size_t want_len)
{
	struct trace_frame f;
	const char *text;
	size_t len;

	do
		assert_int_equal(trace_reader_next(r, &f, NULL), 1);
	while (f.kind != TRACE_FRAME_KALLSYMS);
	assert_int_equal(f.is_packed, is_packed);
	assert_int_equal(trace_decode_kallsyms(&f, &text, &len), 0);
	assert_int_equal(len, want_len);
	assert_memory_equal(text, want, len);
}

/* Up to the end, which agrees with what was read. */
static void expect_whole(struct trace_reader *r)
{
	struct trace_frame f;
	int rc;

	while ((rc = trace_reader_next(r, &f, NULL)) == 1)
		assert_true(f.kind != TRACE_FRAME_RECORDS || !f.is_packed);
	assert_int_equal(rc, 0);
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
}

/* In files of any packer, of whatever level they are; lines that are gathered are packed by a
 * packer for all frames only. */
TEST(read_back)
{
	static const int levels[] = {0, 1, 9};

	for (size_t i = 0; i < NR(levels); i++)
		for (size_t k = 0; k < NR(levels); k++) {
			struct trace_packer *p = trace_packer_new(levels[k]);
			struct buf frame = pack(levels[i], kallsyms, strlen(kallsyms));
			struct trace_writer *w = trace_writer_new();
			struct trace_reader *r;
			struct trace_file *f;
			struct folder d;

			folder_init(&d);
			f = create(w, &d, p);
			assert_in_range(frame.len, 100, strlen(kallsyms) / 2);
			assert_int_equal(trace_file_packed(f, frame.data, frame.len, NULL), 0);
			trace_writer_more(w);
			trace_writer_kallsyms(w, kallsyms, 2000);
			assert_int_equal(trace_file_append(f, w, NULL), 0);
			assert_int_equal(trace_file_packed(f, frame.data, frame.len, NULL), 0);
			finish(w, f);
			assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
			expect_kallsyms(r, true, kallsyms, strlen(kallsyms));
			expect_kallsyms(r, levels[k] > 0, kallsyms, 2000);
			expect_kallsyms(r, true, kallsyms, strlen(kallsyms));
			expect_whole(r);
			buf_fini(&frame);
			trace_packer_free(p);
			trace_writer_free(w);
			folder_fini(&d);
		}
}

/* The range is a frame before the lines. Who has read it knows where they are, and reads them
 * later. */
TEST(ranges)
{
	struct trace_packer *p = trace_packer_new(0);
	struct trace_writer *w = trace_writer_new();
	struct trace_symbol_range got;
	struct trace_reader *r;
	struct trace_frame f;
	struct trace_file *file;
	struct buf frames;
	struct folder d;
	uint64_t at;

	folder_init(&d);
	with_range = true;
	frames = pack(0, kallsyms, strlen(kallsyms));
	with_range = false;
	file = create(w, &d, p);
	assert_int_equal(trace_file_packed(file, frames.data, frames.len, NULL), 0);
	frames.data[16] = 1; /* a wrong checksum is the reader's matter */
	assert_int_equal(trace_file_packed(file, frames.data, frames.len - 8, NULL), -EINVAL);
	finish(w, file);
	assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
	trace_reader_omit(r, TRACE_FRAME_KALLSYMS);
	do
		assert_int_equal(trace_reader_next(r, &f, NULL), 1);
	while (f.kind != TRACE_FRAME_RANGE);
	assert_int_equal(trace_decode_symbol_range(&f, &got), 0);
	assert_memory_equal(&got, &range, sizeof(range));
	assert_int_equal(trace_reader_next(r, &f, NULL), 1);
	assert_true(f.kind == TRACE_FRAME_KALLSYMS && f.is_packed && !f.length);
	assert_int_equal(trace_decode_symbol_range(&f, &got), -EINVAL);
	at = f.offset;
	expect_whole(r);
	assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
	assert_true(trace_reader_pass_to(r, at, 0));
	expect_kallsyms(r, true, kallsyms, strlen(kallsyms));
	trace_reader_close(r);
	buf_fini(&frames);
	trace_packer_free(p);
	trace_writer_free(w);
	folder_fini(&d);
}

static int write_all(struct trace_file *f, struct trace_writer *w)
{
	const struct trace_span span = {{kallsyms, NULL}, {4000, 0}};
	int rc = trace_file_records(f, TRACE_RING_SIDE_BAND, 0, &span, NULL);

	trace_writer_more(w);
	trace_writer_records(w, TRACE_RING_MADE, UINT32_MAX, kallsyms, 4000);
	trace_writer_kallsyms(w, kallsyms, 4000);
	return rc ? rc : trace_file_append(f, w, NULL);
}

/* A packer of level 0: the bytes of a file without, but for what the header says. */
TEST(rest_is_plain)
{
	struct trace_packer *const packers[] = {NULL, trace_packer_new(0)};
	struct buf got[2];

	for (size_t i = 0; i < 2; i++) {
		struct trace_writer *w = trace_writer_new();
		struct trace_file *f;
		struct folder d;

		folder_init(&d);
		f = create(w, &d, packers[i]);
		assert_int_equal(write_all(f, w), 0);
		finish(w, f);
		load_file(d.fd, "t", &got[i]);
		trace_packer_free(packers[i]);
		trace_writer_free(w);
		folder_fini(&d);
	}
	assert_int_equal(got[0].data[16], 0);
	assert_int_equal(got[1].data[16], TRACE_FEATURE_ZSTD);
	assert_int_equal(got[0].len, got[1].len);
	assert_memory_equal(got[0].data + TRACE_HEADER_BYTES, got[1].data + TRACE_HEADER_BYTES,
			    got[0].len - TRACE_HEADER_BYTES);
	buf_fini(&got[0]);
	buf_fini(&got[1]);
}

/* What does not become smaller. */
TEST(not_worth_it)
{
	struct buf b;

	for (size_t len = 0; len < 30; len++) {
		b = pack(0, "ffffffff81000000 T a_symbol_1\n", len);
		assert_int_equal(b.len, 0);
		buf_fini(&b);
	}
}

static void cut(struct buf *b)
{
	b->len -= 8;
}

static void cut_header(struct buf *b)
{
	b->len = 8;
}

static void make_empty(struct buf *b)
{
	b->len = 0;
}

static void lengthen(struct buf *b)
{
	buf_fill(b, 0, 8);
}

static void add_another(struct buf *b)
{
	struct buf copy = pack(0, kallsyms, strlen(kallsyms));

	buf_add(b, copy.data, copy.len);
	buf_fini(&copy);
}

static void break_sync(struct buf *b)
{
	b->data[0] ^= 1;
}

static void make_records(struct buf *b)
{
	b->data[4] = TRACE_FRAME_RECORDS;
}

static void make_plain(struct buf *b)
{
	b->data[6] = 0;
}

static void make_long(struct buf *b)
{
	b->data[11] = 1;
}

static const struct {
	const char *what;
	void (*spoil)(struct buf *b);
} oddities[] = {
    {"cut", cut},
    {"its header cut", cut_header},
    {"empty", make_empty},
    {"something behind it", lengthen},
    {"two frames", add_another},
    {"no frame", break_sync},
    {"of another kind", make_records},
    {"not packed", make_plain},
    {"a length that lies", make_long},
};

TEST(refused)
{
	struct trace_packer *p = trace_packer_new(0);
	struct trace_writer *w = trace_writer_new();
	struct trace_reader *r;
	struct trace_file *f;
	struct folder d;

	folder_init(&d);
	f = create(w, &d, p);
	for (size_t i = 0; i < NR(oddities); i++) {
		struct buf frame = pack(0, kallsyms, strlen(kallsyms));
		struct err e = {0};
		char *exact;

		print_message("%s\n", oddities[i].what);
		oddities[i].spoil(&frame);
		exact = mem_alloc(frame.len + !frame.len); /* ASan sees what is read behind */
		memcpy(exact, frame.data, frame.len);
		assert_int_equal(trace_file_packed(f, exact, frame.len, &e), -EINVAL);
		assert_string_equal(e.source, "some/path");
		mem_free(exact);
		buf_fini(&frame);
	}
	finish(w, f); /* and it is as good as before */
	assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
	expect_whole(r);
	trace_packer_free(p);
	trace_writer_free(w);
	folder_fini(&d);
}

/* A file whose header does not say that there may be such frames. */
TEST(no_packer)
{
	struct buf frame = pack(0, kallsyms, strlen(kallsyms));
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f;
	struct folder d;

	folder_init(&d);
	f = create(w, &d, NULL);
	assert_int_equal(trace_file_packed(f, frame.data, frame.len, NULL), -EINVAL);
	finish(w, f);
	buf_fini(&frame);
	trace_writer_free(w);
	folder_fini(&d);
}

static ssize_t full_writev(int fd, const struct iovec *piece, int nr)
{
	(void)fd;
	(void)piece;
	(void)nr;
	return -ENOSPC;
}

/* A full disk: as for all other frames. */
TEST(disk_full)
{
	struct buf frame = pack(0, kallsyms, strlen(kallsyms));
	struct trace_packer *p = trace_packer_new(0);
	struct trace_writer *w = trace_writer_new();
	struct sys_ops ops = sys_kernel_ops;
	struct trace_file *f;
	struct folder d;
	uint64_t before;

	folder_init(&d);
	f = create(w, &d, p);
	before = trace_file_bytes(f);
	ops.writev = full_writev;
	sys_set_ops(&ops);
	assert_int_equal(trace_file_packed(f, frame.data, frame.len, NULL), -ENOSPC);
	sys_set_ops(NULL);
	assert_int_equal(trace_file_packed(f, frame.data, frame.len, NULL), -ENOSPC);
	assert_int_equal(trace_file_bytes(f), before);
	trace_file_abandon(f);
	buf_fini(&frame);
	trace_packer_free(p);
	trace_writer_free(w);
	folder_fini(&d);
}
