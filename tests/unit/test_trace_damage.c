/*
 * Traces that were cut, flipped, made by others or made to hurt: what is whole is read as it was
 * written, the rest is named, and neither time nor memory is out of proportion to the file.
 */
#include "kit.h"
#include "test_trace.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sys.h"

#include <endian.h>

/* What a reader gave, in order. */
struct outcome {
	int open_rc;
	size_t nr;
	uint64_t offset[SAMPLE_NR_FRAMES + 1];
	uint16_t kind[SAMPLE_NR_FRAMES + 1];
	size_t nr_damages;
	char msg[512]; /* of the last damage, or of opening */
	bool whole;
};

static struct buf sample;
static struct outcome intact;

static void read_on(struct trace_reader *r, const uint8_t *bytes, struct outcome *o)
{
	struct trace_frame f;
	struct err e = {0};
	int rc;

	while ((rc = trace_reader_next(r, &f, &e)) != 0) {
		if (rc < 0) {
			assert_int_equal(rc, -EILSEQ);
			assert_true(e.code == -EILSEQ ||
				    (e.code == -ENODATA && strstr(e.msg, "ends inside")));
			snprintf(o->msg, sizeof(o->msg), "%s", e.msg);
			err_clear(&e);
			o->nr_damages++;
			continue;
		}
		assert_true(o->nr < NR(o->kind));
		assert_memory_equal(f.payload, bytes + f.offset + 16, f.length);
		o->offset[o->nr] = f.offset;
		o->kind[o->nr++] = f.kind;
	}
	o->whole = trace_reader_is_whole(r);
}

static struct outcome read_bytes(const uint8_t *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1); /* so that a read beyond it is seen */
	struct outcome o = {0};
	struct trace_reader *r;
	struct err e = {0};

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	o.open_rc = trace_reader_open_mem(exact, len, "bytes", &r, &e);
	if (o.open_rc == 0) {
		read_on(r, exact, &o);
		trace_reader_close(r);
	} else {
		snprintf(o.msg, sizeof(o.msg), "%s", e.msg);
	}
	free(exact);
	return o;
}

HOOK(before_all)
{
	sample_bytes(&sample);
	intact = read_bytes((const uint8_t *)sample.data, sample.len);
	assert_int_equal(intact.nr, SAMPLE_NR_FRAMES);
	assert_memory_equal(intact.kind, sample_kinds, sizeof(sample_kinds));
	assert_true(intact.whole);
}

HOOK(after_all)
{
	buf_fini(&sample);
}

/* The place at which intact frame i ends. */
static uint64_t frame_end(size_t i)
{
	return i + 1 < intact.nr ? intact.offset[i + 1] : sample.len;
}

static void check_cut(size_t len)
{
	struct outcome o = read_bytes((const uint8_t *)sample.data, len);
	size_t nr = 0;

	while (nr < intact.nr && frame_end(nr) <= len)
		nr++;
	assert_int_equal(o.open_rc, len < TRACE_HEADER_BYTES ? -EINVAL : 0);
	assert_int_equal(o.nr, o.open_rc ? 0 : nr);
	assert_memory_equal(o.offset, intact.offset, o.nr * sizeof(o.offset[0]));
	assert_false(o.whole);
	if (o.open_rc)
		assert_non_null(strstr(o.msg, len ? "truncated" : "not a cpuperf trace"));
	else if (len > (nr ? frame_end(nr - 1) : TRACE_HEADER_BYTES))
		assert_non_null(strstr(o.msg, "the file ends inside a frame"));
	else
		assert_int_equal(o.nr_damages, 0);
}

TEST(cut)
{
	for (size_t len = 0; len < sample.len; len++)
		check_cut(len);
}

/* One bit is wrong at at: the frame around it is lost and named, and no other. */
static void check_flipped(const uint8_t *bytes, size_t at)
{
	struct outcome o = read_bytes(bytes, sample.len);
	size_t lost = 0;
	char place[64];

	if (at < TRACE_HEADER_BYTES) {
		assert_int_equal(o.open_rc, -EINVAL);
		return;
	}
	while (frame_end(lost) <= at)
		lost++;
	snprintf(place, sizeof(place),
		 "damaged at offset %llu:", (unsigned long long)intact.offset[lost]);
	assert_int_equal(o.open_rc, 0);
	assert_int_equal(o.nr_damages, 1);
	assert_non_null(strstr(o.msg, place));
	snprintf(place, sizeof(place), "; %llu bytes skipped",
		 (unsigned long long)(frame_end(lost) - intact.offset[lost]));
	assert_non_null(strstr(o.msg, place));
	assert_int_equal(o.nr, SAMPLE_NR_FRAMES - 1);
	assert_memory_equal(o.offset, intact.offset, lost * sizeof(o.offset[0]));
	assert_memory_equal(o.offset + lost, intact.offset + lost + 1,
			    (o.nr - lost) * sizeof(o.offset[0]));
	assert_false(o.whole);
}

TEST(flip_every_bit)
{
	uint8_t *bytes = (uint8_t *)sample.data;

	for (size_t bit = 0; bit < sample.len * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		check_flipped(bytes, bit / 8);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* Bytes put in or taken out between frames, frames repeated or missing: never "whole". */
TEST(frames_moved)
{
	for (size_t i = 0; i < SAMPLE_NR_FRAMES; i++) {
		struct outcome o;
		struct buf b;
		size_t start = intact.offset[i], end = frame_end(i);

		buf_init(&b, 1 << 20);
		buf_add(&b, sample.data, start);
		buf_add(&b, sample.data + end, sample.len - end);
		o = read_bytes((uint8_t *)b.data, b.len);
		assert_int_equal(o.nr, SAMPLE_NR_FRAMES - 1);
		assert_int_equal(o.nr_damages, 0);
		assert_false(o.whole);

		buf_reset(&b);
		buf_add(&b, sample.data, end);
		buf_add(&b, sample.data + start, sample.len - start);
		o = read_bytes((uint8_t *)b.data, b.len);
		assert_int_equal(o.nr, SAMPLE_NR_FRAMES + 1);
		assert_false(o.whole);

		buf_reset(&b);
		buf_add(&b, sample.data, end);
		buf_fill(&b, 0, 8);
		buf_add(&b, sample.data + end, sample.len - end);
		o = read_bytes((uint8_t *)b.data, b.len);
		assert_int_equal(o.nr, SAMPLE_NR_FRAMES);
		assert_int_equal(o.nr_damages, 1);
		assert_non_null(strstr(o.msg, "; 8 bytes skipped"));
		assert_false(o.whole);
		buf_fini(&b);
	}
}

/* Each field of the end frame must agree with what was read. */
TEST(end_agrees)
{
	static const uint8_t readings[16 + 56] = {0, [4] = 56, [8] = 1};
	static const struct {
		uint64_t nr_frames, nr_readings, wrong_bytes;
		bool whole;
	} rows[] = {{1, 1, 0, true}, {2, 1, 0, false}, {1, 2, 0, false}, {1, 1, 8, false}};

	for (size_t i = 0; i < NR(rows); i++) {
		uint64_t end[7] = {1, 2, htole64(rows[i].nr_frames), htole64(rows[i].nr_readings)};
		struct outcome o;
		struct buf b;

		buf_init(&b, 4096);
		add_header_bytes(&b, 1, 0, 192);
		add_frame(&b, TRACE_FRAME_READINGS, 0, readings, sizeof(readings));
		end[6] = htole64(b.len + rows[i].wrong_bytes);
		add_frame(&b, TRACE_FRAME_END, 0, end, sizeof(end));
		o = read_bytes((uint8_t *)b.data, b.len);
		assert_int_equal(o.nr, 2);
		assert_int_equal(o.whole, rows[i].whole);
		buf_fini(&b);
	}
}

TEST(headers)
{
	static const struct {
		uint16_t version, header_bytes;
		uint32_t incompatible;
		int want;
		const char *msg;
	} rows[] = {
	    {1, 192, 0, 0, ""},
	    {1, 256, 0, 0, ""},
	    {1, 4096, 0, 0, ""},
	    {1, 4104, 0, -EINVAL, "header of this trace is damaged"},
	    {1, 188, 0, -EINVAL, "header of this trace is damaged"},
	    {1, 196, 0, -EINVAL, "header of this trace is damaged"},
	    {2, 192, 0, -EPROTO, "made by a newer cpuperf: format version 2"},
	    {2, 512, 0, -EPROTO, "made by a newer cpuperf: format version 2"},
	    {1, 192, 4, -EPROTO, "made by a newer cpuperf: format version 1, features 0x4"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct outcome o;
		struct buf b;

		buf_init(&b, 8192);
		add_header_bytes(&b, rows[i].version, rows[i].incompatible, rows[i].header_bytes);
		add_frame(&b, 77, 0, "x", 1);
		o = read_bytes((uint8_t *)b.data, b.len);
		assert_int_equal(o.open_rc, rows[i].want);
		assert_non_null(strstr(o.msg, rows[i].msg));
		assert_int_equal(o.nr, rows[i].want == 0);
		buf_fini(&b);
	}
}

TEST(byte_order)
{
	struct outcome o;
	struct buf b;

	buf_init(&b, 4096);
	add_header_bytes(&b, 1, 0, 192);
	b.data[8] = 1; /* big-endian, with a right checksum */
	b.data[11] = 4;
	b.len = 188;
	buf_le32(&b, crc32c(0, b.data, 188));
	o = read_bytes((uint8_t *)b.data, b.len);
	assert_int_equal(o.open_rc, -EINVAL);
	buf_fini(&b);
}

TEST(not_traces)
{
	static const char *const rows[] = {"", "#!/bin/sh\n", "\x89PNG\r\n", "PERFILE2",
					   "{\"num_traces\":1}"};

	for (size_t i = 0; i < NR(rows); i++) {
		struct outcome o = read_bytes((const uint8_t *)rows[i], strlen(rows[i]));

		assert_int_equal(o.open_rc, -EINVAL);
		assert_non_null(strstr(o.msg, "is not a cpuperf trace"));
	}
}

/* A flag that this version does not know makes no frame, whatever its checksum says. */
TEST(unknown_flags)
{
	struct outcome o;
	struct buf b;

	buf_init(&b, 4096);
	add_header_bytes(&b, 1, 0, 192);
	add_frame(&b, 77, 1, "12345678", 8);
	add_frame(&b, 78, 0, "12345678", 8);
	o = read_bytes((uint8_t *)b.data, b.len);
	assert_int_equal(o.nr, 1);
	assert_int_equal(o.kind[0], 78);
	assert_non_null(strstr(o.msg, "unknown flags; 24 bytes skipped"));
	buf_fini(&b);
}

/* FIFO, folder, device, link to nowhere: an error at once. Nobody opens the FIFO's other end. */
TEST(not_files)
{
	static const struct {
		const char *name;
		int want;
		const char *msg;
	} rows[] = {
	    {"fifo", -EINVAL, "not a regular file"},
	    {"folder", -EINVAL, "not a regular file"},
	    {"zero", -EINVAL, "not a regular file"},
	    {"nowhere", -ENOENT, "No such file"},
	    {"loop", -ELOOP, "a link that is not followed"},
	};
	struct folder f;

	folder_init(&f);
	assert_int_equal(mkfifoat(f.fd, "fifo", 0600), 0);
	assert_int_equal(mkdirat(f.fd, "folder", 0700), 0);
	assert_int_equal(symlinkat("/dev/zero", f.fd, "zero"), 0);
	assert_int_equal(symlinkat("loop", f.fd, "loop"), 0);
	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_reader *r = NULL;
		struct err e = {0};

		assert_int_equal(trace_reader_open(f.fd, rows[i].name, &r, &e), rows[i].want);
		assert_null(r);
		assert_string_equal(e.source, rows[i].name);
		assert_non_null(strstr(e.msg, rows[i].msg));
	}
	folder_fini(&f);
}

static uint64_t pread_bytes;

static ssize_t counting_pread(int fd, void *buf, size_t len, off_t at)
{
	ssize_t n = sys_kernel_ops.pread(fd, buf, len, at);

	if (n > 0)
		pread_bytes += (uint64_t)n;
	return n;
}

static size_t largest_bytes;

static void *counting_alloc(size_t size)
{
	if (size > largest_bytes)
		largest_bytes = size;
	return malloc(size);
}

static void *counting_resize(void *p, size_t size)
{
	if (size > largest_bytes)
		largest_bytes = size;
	return realloc(p, size);
}

static void set_size(const struct folder *f, off_t size)
{
	int fd = openat(f->fd, "t", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

/* From the file called t to its end; frames seen. */
static size_t read_file(const struct folder *f, size_t *nr_damages)
{
	struct trace_reader *r;
	struct trace_frame frame;
	size_t nr = 0;
	int rc;

	*nr_damages = 0;
	assert_int_equal(trace_reader_open(f->fd, "t", &r, NULL), 0);
	while ((rc = trace_reader_next(r, &frame, NULL)) != 0) {
		assert_true(rc == 1 || rc == -EILSEQ);
		*(rc == 1 ? &nr : nr_damages) += 1;
	}
	trace_reader_close(r);
	return nr;
}

/* A header, then sync words that claim everything up to the end, and beyond it, wherever one can
 * stand. */
static void make_false_frames(struct buf *b, size_t bytes, size_t beyond)
{
	const size_t most = 60 << 20;

	buf_init(b, 256 << 20);
	add_header_bytes(b, 1, 0, 192);
	for (size_t left = bytes; left >= 16; left -= 16) {
		buf_le32(b, TRACE_FRAME_SYNC);
		buf_le32(b, 1);
		buf_le32(b, (uint32_t)(left + beyond - 16 < most ? left + beyond - 16 : most));
		buf_le32(b, 0xdead);
	}
}

TEST(hostile_time)
{
	const struct sys_ops counting = {.openat = sys_kernel_ops.openat,
					 .pread = counting_pread,
					 .close = sys_kernel_ops.close,
					 .fstatat = sys_kernel_ops.fstatat};
	const size_t size = 24 << 20;
	struct folder f;
	struct buf b;
	size_t damages;
	uint64_t start = clock_thread_cpu_ns();

	folder_init(&f);
	make_false_frames(&b, size, 0);
	write_file(&f, "t", b.data, b.len);
	sys_set_ops(&counting);
	pread_bytes = 0;
	assert_int_equal(read_file(&f, &damages), 0);
	sys_set_ops(NULL);
	assert_int_equal(damages, 1);
	/* what the bound allows: the base, the factor, and each byte once for itself */
	assert_true(pread_bytes < (128u << 20) + 6 * size);
	assert_true(clock_thread_cpu_ns() - start < 20000000000u);
	buf_fini(&b);
	folder_fini(&f);
}

/* The bound does not cost an honest frame behind a page or two of nonsense. */
TEST(found_behind_false_frames)
{
	static const uint8_t payload[16 << 10];
	struct outcome o;
	struct buf b;

	make_false_frames(&b, 32 << 10, sizeof(payload));
	add_frame(&b, 77, 0, payload, sizeof(payload));
	o = read_bytes((uint8_t *)b.data, b.len);
	assert_int_equal(o.nr_damages, 1);
	assert_int_equal(o.nr, 1);
	assert_int_equal(o.kind[0], 77);
	buf_fini(&b);
}

/* A file that is nearly all hole: the search ends. */
TEST(endless)
{
	struct folder f;
	size_t damages;

	folder_init(&f);
	write_file(&f, "t", sample.data, sample.len);
	set_size(&f, (off_t)1 << 40);
	assert_int_equal(read_file(&f, &damages), SAMPLE_NR_FRAMES);
	assert_int_equal(damages, 1);
	folder_fini(&f);
}

/* Lengths of up to 4 GiB in a small file take no memory. */
TEST(memory)
{
	static const uint32_t lengths[] = {1000,      1 << 20,        (64 << 20) - 16, 64 << 20,
					   INT32_MAX, UINT32_MAX - 7, UINT32_MAX};
	const struct mem_ops counting = {counting_alloc, counting_resize, free};
	struct folder f;

	folder_init(&f);
	for (size_t i = 0; i < NR(lengths); i++) {
		size_t damages;
		struct buf b;

		buf_init(&b, 4096);
		add_header_bytes(&b, 1, 0, 192);
		add_frame(&b, 77, 0, "x", 1);
		memcpy(b.data + 200, &lengths[i], 4);
		write_file(&f, "t", b.data, b.len);
		buf_fini(&b);
		largest_bytes = 0;
		mem_set_ops(&counting);
		assert_int_equal(read_file(&f, &damages), 0);
		mem_set_ops(NULL);
		assert_int_equal(damages, 1);
		assert_in_range(largest_bytes, 1, 1024);
	}
	folder_fini(&f);
}

/* The file becomes shorter under the reader's eyes: what is left is read, and no signal comes. */
TEST(shrinking)
{
	enum { PAYLOAD = 100 << 10, FRAME = PAYLOAD + 16 };
	static const uint8_t payload[PAYLOAD];
	static const struct {
		off_t left;
		size_t nr, damages;
	} rows[] = {
	    {192 + 3 * FRAME, 3, 0},
	    {192 + 2 * FRAME, 2, 1},
	    {192 + 2 * FRAME + 8, 2, 1},
	    {192 + FRAME + 4096, 1, 1},
	    {100, 1, 1},
	};
	struct folder f;

	folder_init(&f);
	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_reader *r;
		struct trace_frame frame;
		size_t nr = 1, damages = 0;
		struct buf b;
		int rc;

		buf_init(&b, 1 << 20);
		add_header_bytes(&b, 1, 0, 192);
		for (int k = 0; k < 3; k++)
			add_frame(&b, 77, 0, payload, PAYLOAD);
		write_file(&f, "t", b.data, b.len);
		assert_int_equal(trace_reader_open(f.fd, "t", &r, NULL), 0);
		assert_int_equal(trace_reader_next(r, &frame, NULL), 1);
		set_size(&f, rows[i].left);
		while ((rc = trace_reader_next(r, &frame, NULL)) != 0)
			*(rc == 1 ? &nr : &damages) += 1;
		assert_int_equal(nr, rows[i].nr);
		assert_int_equal(damages, rows[i].damages);
		assert_false(trace_reader_is_whole(r));
		trace_reader_close(r);
		buf_fini(&b);
	}
	folder_fini(&f);
}

/* A things frame cut at every byte of its payload, with a right checksum around it: never a name
 * that is not all there, and never more than what is there. */
TEST(things_cut)
{
	static const uint8_t whole[] = {2, 0, 0, 0, 3, 0, 0, 0, 1,   0,   0,   0,   4,  0,
					0, 0, 0, 0, 0, 0, 3, 0, 's', 'd', 'a', 9,   0,  0,
					0, 0, 0, 5, 0, 0, 0, 4, 0,   'l', 'o', 'o', 'p'};

	for (uint32_t len = 0; len <= sizeof(whole); len++) {
		struct trace_things_owned owned;
		struct trace_reader *r;
		struct trace_frame f;
		struct buf b;
		int rc;

		buf_init(&b, 4096);
		add_header_bytes(&b, 1, 0, 192);
		add_frame(&b, TRACE_FRAME_THINGS, 0, whole, len);
		r = open_bytes(&b);
		assert_int_equal(trace_reader_next(r, &f, NULL), 1);
		assert_int_equal(f.length, len);
		f.payload = memcpy(test_malloc(len ? len : 1), f.payload, len);
		rc = trace_decode_things(&f, &owned);
		assert_int_equal(rc, len == sizeof(whole) ? 0 : -EINVAL);
		if (rc == 0) {
			assert_string_equal(owned.things.item[0].name, "sda");
			assert_string_equal(owned.things.item[1].name, "");
			assert_string_equal(owned.things.item[2].name, "loop");
			assert_int_equal(owned.things.item[2].number, 5);
			trace_things_fini(&owned);
		}
		test_free((void *)f.payload);
		trace_reader_close(r);
		buf_fini(&b);
	}
}

/* A histogram as the format describes it; then cut at every byte, with buckets out of order, beyond
 * the last, or of another width. */
TEST(histograms)
{
	/* event, bits, sum, max, what, part; then the list of buckets */
	static const uint8_t head[] = {3, 0, 0,   0,   4,    0,   0,   0,   0xe8, 3, 0, 0,
				       0, 0, 0,   0,   0xf4, 1,   0,   0,   0,    0, 0, 0,
				       6, 0, '9', ' ', 'b',  'a', 's', 'h', 0,    0};
	static const uint8_t list[] = {16, 0, 0, 0, 2, 0, 0, 0, 40, 0, 0,    0, 0, 0,
				       0,  0, 1, 0, 0, 0, 0, 0, 0,  0, 0x6f, 2, 0, 0,
				       0,  0, 0, 0, 2, 0, 0, 0, 0,  0, 0,    0};
	enum { AT_LIST = sizeof(head) };
	uint8_t bytes[sizeof(head) + sizeof(list)];
	uint32_t len = sizeof(bytes);

	memcpy(bytes, head, sizeof(head));
	memcpy(bytes + AT_LIST, list, sizeof(list));
	for (uint32_t cut = 0; cut <= len; cut++) {
		uint8_t *payload = memcpy(test_malloc(cut ? cut : 1), bytes, cut);
		struct trace_frame f = {
		    .kind = TRACE_FRAME_HISTOGRAM, .payload = payload, .length = cut};
		struct trace_histogram h;
		int rc = trace_decode_histogram(&f, &h);

		assert_int_equal(rc, cut == len ? 0 : -EINVAL);
		if (rc == 0) {
			assert_int_equal(h.event, 3);
			assert_int_equal(h.sum_ns, 1000);
			assert_int_equal(h.max_ns, 500);
			assert_string_equal(h.what, "9 bash");
			assert_string_equal(h.part, "");
			assert_int_equal(h.nr, 2);
			assert_int_equal(h.bucket[0].number, 40);
			assert_int_equal(h.bucket[1].number, 623);
			assert_int_equal(h.bucket[1].count, 2);
			trace_histogram_fini(&h);
		}
		test_free(payload);
	}
	for (int i = 0; i < 3; i++) {
		static const struct {
			size_t at;
			uint32_t value;
		} wrong[] = {{4, 5}, {AT_LIST + 8, 623}, {AT_LIST + 24, 624}};
		struct trace_frame f = {
		    .kind = TRACE_FRAME_HISTOGRAM, .payload = bytes, .length = len};
		struct trace_histogram h;
		uint32_t before;

		memcpy(&before, bytes + wrong[i].at, 4);
		memcpy(bytes + wrong[i].at, &wrong[i].value, 4);
		assert_int_equal(trace_decode_histogram(&f, &h), -EINVAL);
		memcpy(bytes + wrong[i].at, &before, 4);
	}
}

static void write_function(struct trace_writer *w, const void *f)
{
	trace_writer_function(w, f);
}

static void write_value(struct trace_writer *w, const void *v)
{
	trace_writer_value(w, v);
}

/* The payload of a frame that the writer made, in out. */
static void written_payload(void (*write)(struct trace_writer *, const void *), const void *of,
			    uint32_t kind, struct buf *out)
{
	struct trace_writer *w = trace_writer_new();
	struct trace_reader *r;
	struct trace_frame frame;
	struct folder folder;
	struct err e = {0};
	struct buf file;

	folder_init(&folder);
	assert_non_null(w);
	assert_int_equal(sample_begin(w), 0);
	write(w, of);
	assert_int_equal(trace_writer_commit(w, folder.fd, "t", "t", &sample_totals, &e), 0);
	load_file(folder.fd, "t", &file);
	r = open_bytes(&file);
	do
		assert_int_equal(trace_reader_next(r, &frame, NULL), 1);
	while (frame.kind != kind);
	buf_init(out, 1 << 20);
	buf_add(out, (const char *)frame.payload, frame.length);
	trace_reader_close(r);
	trace_writer_free(w);
	buf_fini(&file);
	folder_fini(&folder);
}

static void function_payload(const struct trace_function *f, struct buf *out)
{
	written_payload(write_function, f, TRACE_FRAME_FUNCTION, out);
}

/* With len bytes and no more, so that a read beyond them is seen. */
static int decode_function(const void *bytes, uint32_t len, struct trace_function_owned *out)
{
	struct trace_frame f = {.kind = TRACE_FRAME_FUNCTION,
				.payload = memcpy(test_malloc(len ? len : 1), bytes, len),
				.length = len};
	int rc = trace_decode_function(&f, out);

	test_free((void *)f.payload);
	return rc;
}

static const struct trace_function sample_function = {
    .event = 3,
    .flags = TRACE_FUNCTION_HAS_TIMES | TRACE_FUNCTION_HAS_CPU,
    .way = TRACE_FUNCTION_COMPILED,
    .bits = TRACE_HISTOGRAM_BITS,
    .address = 0x401136,
    .calls = 5,
    .wall_ns = 1ull << 40,
    .self_ns = 1ull << 39,
    .cpu_ns = 1ull << 38,
    .max_ns = 1ull << 37,
    .cost_ns = 9000,
    .name = "_Z4workv",
    .object = "/usr/bin/prog",
    .bucket =
	(const struct trace_bucket[]){{.number = 40, .count = 1}, {.number = 623, .count = 3}},
    .nr = 2,
};

/* What was written comes back; cut at every byte nothing does. */
TEST(functions)
{
	const struct trace_function *f = &sample_function;
	struct trace_function_owned v;
	struct buf b;

	function_payload(f, &b);
	for (uint32_t len = 0; len < b.len; len++)
		assert_int_equal(decode_function(b.data, len, &v), -EINVAL);
	assert_int_equal(decode_function(b.data, (uint32_t)b.len, &v), 0);
	assert_memory_equal(&v.function, f, offsetof(struct trace_function, name));
	assert_string_equal(v.function.name, f->name);
	assert_string_equal(v.function.object, f->object);
	assert_int_equal(v.function.nr, f->nr);
	for (size_t i = 0; i < f->nr; i++) {
		assert_int_equal(v.function.bucket[i].number, f->bucket[i].number);
		assert_int_equal(v.function.bucket[i].count, f->bucket[i].count);
	}
	trace_function_fini(&v);
	buf_fini(&b);
}

static int decode_value(const void *bytes, uint32_t len, struct trace_value_owned *out)
{
	struct trace_frame f = {.kind = TRACE_FRAME_VALUE,
				.payload = memcpy(test_malloc(len ? len : 1), bytes, len),
				.length = len};
	int rc = trace_decode_value(&f, out);

	test_free((void *)f.payload);
	return rc;
}

/* A value comes back; cut at every byte it does not, nor of a kind or type that there is not, nor
 * without names. */
TEST(values)
{
	static const struct trace_value whole_value = {.event = 3,
						       .field = 1,
						       .type = TRACE_VALUE_STRING,
						       .kind = TRACE_VALUE_LONG_TEXT,
						       .address = 0x401136,
						       .number = UINT64_MAX,
						       .calls = 5,
						       .timed = 4,
						       .wall_ns = 1ull << 40,
						       .max_ns = 1ull << 37,
						       .sum = 77,
						       .name = "_Z4workv",
						       .object = "/usr/bin/prog",
						       .field_name = "path",
						       .text = "a\033[2Jb"};
	struct trace_value wrong[] = {whole_value, whole_value, whole_value, whole_value};
	struct trace_value_owned v;
	struct buf b;

	written_payload(write_value, &whole_value, TRACE_FRAME_VALUE, &b);
	for (uint32_t len = 0; len < b.len; len++)
		assert_int_equal(decode_value(b.data, len, &v), -EINVAL);
	assert_int_equal(decode_value(b.data, (uint32_t)b.len, &v), 0);
	assert_memory_equal(&v.value, &whole_value, offsetof(struct trace_value, name));
	assert_string_equal(v.value.name, whole_value.name);
	assert_string_equal(v.value.object, whole_value.object);
	assert_string_equal(v.value.field_name, whole_value.field_name);
	assert_null(strchr(v.value.text, '\033'));
	trace_value_fini(&v);
	buf_fini(&b);
	wrong[0].kind = TRACE_VALUE_NR_KINDS;
	wrong[1].type = TRACE_VALUE_STRING + 1;
	wrong[2].name = wrong[3].field_name = "";
	for (size_t i = 0; i < NR(wrong); i++) {
		written_payload(write_value, &wrong[i], TRACE_FRAME_VALUE, &b);
		assert_int_equal(decode_value(b.data, (uint32_t)b.len, &v), -EINVAL);
		buf_fini(&b);
	}
}

/* One without times is whole; without a name, with other buckets, or with buckets that do not
 * ascend it is none. What a terminal would act on is not in its texts. */
TEST(functions_of_others)
{
	static const struct trace_bucket same[] = {{.number = 7}, {.number = 7}},
					 beyond[] = {{.number = TRACE_HISTOGRAM_BUCKETS}};
	static const struct {
		const char *name;
		uint32_t bits;
		const struct trace_bucket *bucket;
		size_t nr;
		int rc;
	} rows[] = {
	    {"f", TRACE_HISTOGRAM_BITS, NULL, 0, 0},
	    {"a\033[2Jb", TRACE_HISTOGRAM_BITS, same, 1, 0},
	    {"", TRACE_HISTOGRAM_BITS, NULL, 0, -EINVAL},
	    {"f", TRACE_HISTOGRAM_BITS + 1, NULL, 0, -EINVAL},
	    {"f", TRACE_HISTOGRAM_BITS, same, 2, -EINVAL},
	    {"f", TRACE_HISTOGRAM_BITS, beyond, 1, -EINVAL},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_function f = {.bits = rows[i].bits,
					   .name = rows[i].name,
					   .object = "\n",
					   .bucket = rows[i].bucket,
					   .nr = rows[i].nr};
		struct trace_function_owned v;
		struct buf b;

		function_payload(&f, &b);
		assert_int_equal(decode_function(b.data, (uint32_t)b.len, &v), rows[i].rc);
		if (rows[i].rc == 0) {
			assert_null(strpbrk(v.function.name, "\033\n"));
			assert_null(strpbrk(v.function.object, "\n"));
			trace_function_fini(&v);
		}
		buf_fini(&b);
	}
}
