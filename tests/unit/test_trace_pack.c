/*
 * Packed frames: they read as the plain ones do, only what becomes smaller is packed, and what is
 * damaged or made to hurt is damage like any other, at the price of what the reader allows.
 */
#include "kit.h"
#include "test_trace.h"

#include "trace/file.h"

#include <zstd.h>

enum { NR_RECORDS = 1600, RECORDS_BYTES = NR_RECORDS * 40, NR_READINGS = 300 };

static uint8_t records[RECORDS_BYTES], noise[4096];
static struct reading readings[NR_READINGS];
static char kallsyms[20000];
static struct buf stacks;

HOOK(after_all)
{
	buf_fini(&stacks);
}

/* Records and lines as they come: much alike, each a little different. */
HOOK(before_all)
{
	size_t len = 0;

	srand(3);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)rand();
	for (size_t i = 0; i < NR_RECORDS; i++) {
		memcpy(records + 40 * i, sample_record, 40);
		records[40 * i + 8] = (uint8_t)(rand() % 64);
		records[40 * i + 24] = (uint8_t)i;
	}
	buf_init(&stacks, RECORDS_BYTES);
	for (size_t i = 0; i < 400; i++)
		trace_add_stack(&stacks, &(struct trace_added){3, 1000, 5}, records + 40 * i, 40);
	for (size_t i = 0; i < NR_READINGS; i++)
		readings[i] = (struct reading){.state = 1, .time_ns = 1000 * i, .raw = 10 * i};
	while (len < sizeof(kallsyms) - 40)
		len += (size_t)snprintf(kallsyms + len, 40, "ffffffff81%06zx T symbol_%zu\n", len,
					len);
}

static const struct trace_span whole = {{records, records + 80}, {80, RECORDS_BYTES - 80}};
static const struct trace_span random_ones = {{noise, NULL}, {sizeof(noise), 0}};
static const struct trace_span small = {{sample_record, NULL}, {sizeof(sample_record), 0}};
static const struct trace_span *const spans[] = {&whole, &random_ones, &small};

/* Frames from all the ways into a file, and whether they ought to be packed. */
static const struct {
	uint16_t kind;
	bool is_packed;
} content[] = {
    {TRACE_FRAME_INFO, false},    {TRACE_FRAME_EVENTS, false},   {TRACE_FRAME_CLOCKS, false},
    {TRACE_FRAME_IDS, false},     {TRACE_FRAME_READINGS, true},  {TRACE_FRAME_RECORDS, true},
    {TRACE_FRAME_RECORDS, false}, {TRACE_FRAME_RECORDS, false},  {TRACE_FRAME_KALLSYMS, true},
    {TRACE_FRAME_READINGS, true}, {TRACE_FRAME_NOTE, false},     {TRACE_FRAME_RECORDS, true},
    {TRACE_FRAME_READINGS, true}, {TRACE_FRAME_SAMPLING, false}, {TRACE_FRAME_KALLSYMS, true},
    {TRACE_FRAME_STACKS, true},   {TRACE_FRAME_END, false},
};

/* The frames of content up to the sample's last part. */
static int add_content(struct trace_writer *w, struct trace_file *f, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < NR(spans) && rc == 0; i++)
		rc = trace_file_records(f, TRACE_RING_SAMPLES, 5, spans[i], e);
	trace_writer_more(w);
	trace_writer_kallsyms(w, kallsyms, strlen(kallsyms));
	trace_writer_readings(w, TRACE_TICK, &sample_tick, 1);
	trace_writer_note(w, &sample_note);
	trace_writer_records(w, TRACE_RING_MADE, UINT32_MAX, records, 4000);
	if (rc == 0)
		rc = trace_file_append(f, w, e);
	trace_writer_more(w);
	trace_writer_readings(w, TRACE_END, readings, NR_READINGS);
	trace_writer_sampling(w, &sample_sampling);
	trace_writer_kallsyms(w, kallsyms, 2000);
	trace_writer_stacks(w, 5, &stacks);
	return rc;
}

static int write_trace(const struct folder *d, const char *name, struct trace_packer *p,
		       struct err *e)
{
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f;
	int rc = w ? sample_begin(w) : -ENOMEM;

	if (rc) {
		trace_writer_free(w);
		return err_set(e, rc, "not begun");
	}
	trace_writer_clocks(w, &sample_clocks);
	trace_writer_ids(w, &sample_id, 1);
	trace_writer_readings(w, TRACE_START, readings, NR_READINGS);
	rc = trace_file_create(w, d->fd, name, name, p, &f, e);
	if (rc == 0) {
		int last;

		rc = add_content(w, f, e);
		last = trace_file_finish(f, w, &sample_totals, e);
		rc = rc ? rc : last;
	}
	trace_writer_free(w);
	return rc;
}

static uint32_t features(const struct folder *d, const char *name)
{
	uint8_t header[TRACE_HEADER_BYTES];
	int fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC);

	assert_int_equal(io_read_full(fd, header, sizeof(header)), sizeof(header));
	close(fd);
	return (uint32_t)header[16] | (uint32_t)header[17] << 8 | (uint32_t)header[18] << 16 |
	       (uint32_t)header[19] << 24;
}

/* Frame by frame the same payloads; is_sparing: of a packer of level 0. */
static void compare(struct trace_reader *plain, struct trace_reader *packed, bool is_sparing)
{
	struct trace_frame a, b;

	for (size_t i = 0; i < NR(content); i++) {
		assert_int_equal(trace_reader_next(plain, &a, NULL), 1);
		assert_int_equal(trace_reader_next(packed, &b, NULL), 1);
		assert_int_equal(a.kind, content[i].kind);
		assert_int_equal(b.kind, content[i].kind);
		assert_int_equal(a.is_packed, false);
		assert_int_equal(b.is_packed, is_sparing ? content[i].kind == TRACE_FRAME_STACKS
							 : content[i].is_packed);
		assert_int_equal(a.length, b.length);
		if (a.kind != TRACE_FRAME_END) /* that has the file's size */
			assert_memory_equal(a.payload, b.payload, a.length);
	}
	assert_int_equal(trace_reader_next(plain, &a, NULL), 0);
	assert_int_equal(trace_reader_next(packed, &b, NULL), 0);
	assert_true(trace_reader_is_whole(plain));
	assert_true(trace_reader_is_whole(packed));
}

static uint64_t size_of(const struct folder *d, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return (uint64_t)st.st_size;
}

TEST(same_frames)
{
	static const int levels[] = {0, 1, 3, 9, 19};
	struct trace_reader *a, *b;
	struct folder d;

	folder_init(&d);
	assert_int_equal(write_trace(&d, "plain", NULL, NULL), 0);
	assert_int_equal(features(&d, "plain"), 0);
	for (size_t i = 0; i < NR(levels); i++) {
		struct trace_packer *p = trace_packer_new(levels[i]);

		for (int again = 0; again < 2; again++) { /* for one file after another */
			assert_int_equal(write_trace(&d, "packed", p, NULL), 0);
			assert_int_equal(features(&d, "packed"), TRACE_FEATURE_ZSTD);
			assert_true(!levels[i] || size_of(&d, "packed") < size_of(&d, "plain") / 2);
			assert_int_equal(trace_reader_open(d.fd, "plain", &a, NULL), 0);
			assert_int_equal(trace_reader_open(d.fd, "packed", &b, NULL), 0);
			compare(a, b, !levels[i]);
			trace_reader_close(a);
			trace_reader_close(b);
		}
		trace_packer_free(p);
	}
	trace_packer_free(NULL);
	folder_fini(&d);
}

/* A writer that was used for a packed file makes plain tallies again. */
TEST(tally_stays_plain)
{
	struct trace_writer *w = trace_writer_new();
	struct trace_packer *p = trace_packer_new(3);
	struct trace_file *f;
	struct folder d;
	struct buf want, got;

	folder_init(&d);
	assert_int_equal(sample_begin(w), 0);
	assert_int_equal(trace_file_create(w, d.fd, "t", "t", p, &f, NULL), 0);
	trace_file_abandon(f);
	assert_int_equal(sample_gather(w), 0);
	assert_int_equal(trace_writer_commit(w, d.fd, "t", "t", &sample_totals, NULL), 0);
	sample_bytes(&want);
	load_file(d.fd, "t", &got);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.data, want.data, want.len);
	buf_fini(&want);
	buf_fini(&got);
	trace_packer_free(p);
	trace_writer_free(w);
	folder_fini(&d);
}

/* Places inside a packed frame are told as the frame's. */
TEST(offsets)
{
	struct trace_packer *p = trace_packer_new(3);
	struct trace_reader *r;
	struct trace_frame f;
	struct folder d;

	folder_init(&d);
	assert_int_equal(write_trace(&d, "t", p, NULL), 0);
	assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
	while (trace_reader_next(r, &f, NULL) == 1) {
		uint64_t in = f.is_packed ? 0 : 1;

		if (f.kind == TRACE_FRAME_READINGS)
			assert_int_equal(trace_reading_offset(&f, 0), f.offset + in * 32);
		if (f.kind == TRACE_FRAME_RECORDS)
			assert_int_equal(trace_record_offset(&f, 8), f.offset + in * 32);
	}
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	trace_packer_free(p);
	folder_fini(&d);
}

/* Of the omitted kind there is nothing to read; all else is as in the plain file, also the end. */
TEST(omitted)
{
	struct trace_packer *p = trace_packer_new(3);
	struct trace_reader *a, *b;
	struct trace_frame x, y;
	struct folder d;

	folder_init(&d);
	assert_int_equal(write_trace(&d, "plain", NULL, NULL), 0);
	assert_int_equal(write_trace(&d, "packed", p, NULL), 0);
	assert_int_equal(trace_reader_open(d.fd, "plain", &a, NULL), 0);
	assert_int_equal(trace_reader_open(d.fd, "packed", &b, NULL), 0);
	trace_reader_omit(b, TRACE_FRAME_KALLSYMS);
	while (trace_reader_next(a, &x, NULL) == 1) {
		assert_int_equal(trace_reader_next(b, &y, NULL), 1);
		assert_int_equal(y.kind, x.kind);
		assert_int_equal(y.length, x.kind == TRACE_FRAME_KALLSYMS ? 0 : x.length);
	}
	assert_int_equal(trace_reader_next(b, &y, NULL), 0);
	assert_true(trace_reader_is_whole(b));
	trace_reader_close(a);
	trace_reader_close(b);
	trace_packer_free(p);
	folder_fini(&d);
}

/* Frames seen, of them packed, and damages. */
struct outcome {
	size_t nr, nr_packed, nr_damages;
	bool is_whole;
	char msg[512];
};

static struct outcome read_bytes(const void *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1); /* so that a read beyond it is seen */
	struct outcome o = {0};
	struct trace_reader *r;
	struct trace_frame f;
	struct err e = {0};
	int rc;

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	assert_int_equal(trace_reader_open_mem(exact, len, "bytes", &r, &e), 0);
	while ((rc = trace_reader_next(r, &f, &e)) != 0) {
		o.nr += rc == 1;
		o.nr_packed += rc == 1 && f.is_packed;
		o.nr_damages += rc == -EILSEQ;
		if (rc == 1)
			continue;
		assert_int_equal(rc, -EILSEQ);
		snprintf(o.msg, sizeof(o.msg), "%s", e.msg);
		err_clear(&e);
	}
	o.is_whole = trace_reader_is_whole(r);
	trace_reader_close(r);
	free(exact);
	return o;
}

/* A small file: header, a packed frame, a plain one. */
static void make_small(struct buf *b)
{
	struct buf payload;
	size_t n;

	buf_init(b, 1 << 20);
	buf_init(&payload, 1 << 20);
	add_header_bytes(b, 1, TRACE_FEATURE_ZSTD, 192);
	buf_le32(&payload, 2000);
	buf_reserve(&payload, ZSTD_compressBound(2000));
	n = ZSTD_compress(payload.data + 4, ZSTD_compressBound(2000), records, 2000, 3);
	assert_false(ZSTD_isError(n));
	add_frame(b, TRACE_FRAME_RECORDS, TRACE_FRAME_PACKED, payload.data, (uint32_t)n + 4);
	add_frame(b, 77, 0, "12345678", 8);
	buf_fini(&payload);
}

TEST(cut_and_flipped)
{
	struct outcome o;
	struct buf b;
	size_t behind;

	make_small(&b);
	behind = b.len - 24; /* where the plain one begins */
	o = read_bytes(b.data, b.len);
	assert_int_equal(o.nr, 2);
	assert_int_equal(o.nr_packed, 1);
	for (size_t len = TRACE_HEADER_BYTES; len < b.len; len++) {
		o = read_bytes(b.data, len);
		assert_int_equal(o.nr, len >= behind);
		assert_int_equal(o.nr_damages, len > TRACE_HEADER_BYTES && len != behind);
	}
	for (size_t bit = 8 * TRACE_HEADER_BYTES; bit < 8 * b.len; bit++) {
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ 1 << bit % 8);
		o = read_bytes(b.data, b.len);
		assert_int_equal(o.nr, 1);
		assert_int_equal(o.nr_packed, bit / 8 >= behind);
		assert_int_equal(o.nr_damages, 1);
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ 1 << bit % 8);
	}
	buf_fini(&b);
}

/* Without the feature bit a packed frame is damage, with another one the file is refused. */
TEST(feature_bit)
{
	static const struct {
		uint32_t features;
		uint16_t flags;
		int want;
		size_t nr;
	} rows[] = {
	    {0, 0, 0, 2}, {0, 1, 0, 1}, {1, 0, 0, 2},       {1, 2, 0, 1},       {1, 3, 0, 1},
	    {2, 1, 0, 1}, {3, 1, 0, 1}, {4, 0, -EPROTO, 0}, {5, 0, -EPROTO, 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_reader *r;
		struct buf b;
		int rc;

		buf_init(&b, 4096);
		add_header_bytes(&b, 1, rows[i].features, 192);
		add_frame(&b, 77, rows[i].flags, "1234567", 8);
		add_frame(&b, 78, 0, "1234567", 8);
		rc = trace_reader_open_mem(b.data, b.len, "b", &r, NULL);
		assert_int_equal(rc, rows[i].want);
		if (rc == 0) {
			trace_reader_close(r);
			assert_int_equal(read_bytes(b.data, b.len).nr, rows[i].nr);
		}
		buf_fini(&b);
	}
}

/* What stands behind the length in a hostile frame. */
enum make { ZEROS, TWO_FRAMES, SKIPPABLE, TAIL, CUT, NOISE, OLD, NOTHING };

static void add_zeros(struct buf *b, size_t nr)
{
	void *zeros = test_calloc(nr ? nr : 1, 1);
	void *to = buf_reserve(b, ZSTD_compressBound(nr));
	size_t n = ZSTD_compress(to, ZSTD_compressBound(nr), zeros, nr, 3);

	assert_false(ZSTD_isError(n));
	b->len += n;
	test_free(zeros);
}

static void make_packed(struct buf *b, enum make make, size_t nr)
{
	static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
	static const uint8_t old_magic[] = {0x27, 0xb5, 0x2f, 0xfd}; /* of version 0.7 */

	if (make == SKIPPABLE)
		buf_add(b, skippable, sizeof(skippable));
	else if (make == NOISE)
		buf_add(b, noise, nr);
	else if (make != NOTHING)
		add_zeros(b, nr);
	if (make == TWO_FRAMES)
		add_zeros(b, nr);
	if (make == TAIL)
		buf_addc(b, 0);
	if (make == CUT)
		b->len--;
	if (make == OLD)
		memcpy(b->data + 4, old_magic, 4);
}

TEST(hostile)
{
	static const struct {
		enum make make;
		size_t nr;     /* bytes that are packed */
		uint32_t told; /* that are told */
		bool is_good;
	} rows[] = {
	    {ZEROS, 1000, 1000, true},
	    {ZEROS, 1000, 999, false},
	    {ZEROS, 1000, 1001, false},
	    {ZEROS, 1000, 0, false},
	    {ZEROS, 0, 0, true},
	    {ZEROS, 0, 1, false},
	    {ZEROS, 1000, UINT32_MAX, false},
	    {ZEROS, 1000, TRACE_FRAME_MAX_BYTES, false},
	    {ZEROS, TRACE_FRAME_MAX_BYTES - 16, TRACE_FRAME_MAX_BYTES - 16, true},
	    {ZEROS, TRACE_FRAME_MAX_BYTES - 15, TRACE_FRAME_MAX_BYTES - 15, false},
	    {ZEROS, 100 << 20, 1000, false}, /* a bomb */
	    {ZEROS, 100 << 20, 100 << 20, false},
	    {TWO_FRAMES, 500, 1000, false},
	    {SKIPPABLE, 0, 0, false},
	    {TAIL, 1000, 1000, false},
	    {CUT, 1000, 1000, false},
	    {NOISE, 1000, 1000, false},
	    {NOISE, 3, 1000, false},
	    {OLD, 1000, 1000, false},
	    {NOTHING, 0, 0, false},
	    {NOTHING, 0, 1000, false},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct buf payload, b;
		struct outcome o;

		buf_init(&payload, 200 << 20);
		buf_init(&b, 1 << 20);
		buf_le32(&payload, rows[i].told);
		make_packed(&payload, rows[i].make, rows[i].nr);
		add_header_bytes(&b, 1, TRACE_FEATURE_ZSTD, 192);
		add_frame(&b, 77, TRACE_FRAME_PACKED, payload.data, (uint32_t)payload.len);
		add_frame(&b, 78, 0, "12345678", 8);
		o = read_bytes(b.data, b.len);
		assert_int_equal(o.nr, 1 + rows[i].is_good);
		assert_int_equal(o.nr_packed, rows[i].is_good);
		assert_int_equal(o.nr_damages, !rows[i].is_good);
		if (!rows[i].is_good)
			assert_non_null(
			    strstr(o.msg, "a compressed frame that cannot be decompressed"));
		buf_fini(&payload);
		buf_fini(&b);
	}
}

/* A length that is not even there. */
TEST(short)
{
	for (uint32_t len = 0; len < 4; len++) {
		struct buf b;

		buf_init(&b, 4096);
		add_header_bytes(&b, 1, TRACE_FEATURE_ZSTD, 192);
		add_frame(&b, 77, TRACE_FRAME_PACKED, "\0\0\0", len);
		assert_int_equal(read_bytes(b.data, b.len).nr_damages, 1);
		buf_fini(&b);
	}
}

/* Bombs that turn out false cost what false checksums cost: 128 MiB of them, and no more frame is
 * looked for so near the start. */
TEST(waste)
{
	enum { BYTES = 60 << 20 };

	for (size_t nr_bombs = 1; nr_bombs <= 3; nr_bombs++) {
		struct buf payload, b;
		struct outcome o;

		buf_init(&payload, 200 << 20);
		buf_init(&b, 1 << 20);
		buf_le32(&payload, BYTES - 1);
		make_packed(&payload, ZEROS, BYTES);
		add_header_bytes(&b, 1, TRACE_FEATURE_ZSTD, 192);
		for (size_t i = 0; i < nr_bombs; i++)
			add_frame(&b, 77, TRACE_FRAME_PACKED, payload.data, (uint32_t)payload.len);
		add_frame(&b, 78, 0, "12345678", 8);
		o = read_bytes(b.data, b.len);
		assert_int_equal(o.nr, nr_bombs < 3);
		assert_int_equal(o.nr_damages, 1);
		buf_fini(&payload);
		buf_fini(&b);
	}
}

/* Packed frames inside one another, each with a right checksum over all up to the same end: after
 * so many long checksums no frame is looked for so near the start, not even a good one. */
TEST(nested)
{
	enum { END = 192 + (40 << 20), STEP = 24 };

	for (size_t nr = 2; nr <= 10; nr += 8) {
		struct outcome o;
		struct buf b, f;

		buf_init(&b, 64 << 20);
		add_header_bytes(&b, 1, TRACE_FEATURE_ZSTD, 192);
		buf_fill(&b, 0, STEP * nr);
		add_frame(&b, 78, 0, "12345678", 8);
		buf_fill(&b, 0, END - b.len);
		for (size_t i = nr; i--;) {
			size_t at = 192 + STEP * i;
			uint8_t *payload = (uint8_t *)b.data + at + 16;

			payload[0] = 100; /* told; no zstd frame follows */
			buf_init(&f, 64 << 20);
			add_frame(&f, 77, TRACE_FRAME_PACKED, payload, (uint32_t)(END - at - 16));
			memcpy(b.data + at, f.data, 16);
			buf_fini(&f);
		}
		o = read_bytes(b.data, b.len);
		assert_int_equal(o.nr, nr == 2);
		assert_int_equal(o.nr_damages, 1 + o.nr);
		buf_fini(&b);
	}
}

/* Memory is for what is told, if it may be told at all. */
static size_t largest_bytes;

static void *measuring_resize(void *p, size_t size)
{
	largest_bytes = size > largest_bytes ? size : largest_bytes;
	return realloc(p, size);
}

static void *measuring_alloc(size_t size)
{
	return measuring_resize(NULL, size);
}

TEST(memory)
{
	static const struct {
		uint32_t told;
		size_t most;
	} rows[] = {
	    {1 << 20, 2 << 20}, {TRACE_FRAME_MAX_BYTES - 15, 1 << 20}, {UINT32_MAX, 1 << 20}};
	const struct mem_ops measuring = {measuring_alloc, measuring_resize, free};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_reader *r;
		struct buf payload, b;
		struct trace_frame f;

		buf_init(&payload, 1 << 20);
		buf_init(&b, 1 << 20);
		buf_le32(&payload, rows[i].told);
		make_packed(&payload, ZEROS, 100);
		add_header_bytes(&b, 1, TRACE_FEATURE_ZSTD, 192);
		add_frame(&b, 77, TRACE_FRAME_PACKED, payload.data, (uint32_t)payload.len);
		largest_bytes = 0;
		mem_set_ops(&measuring);
		assert_int_equal(trace_reader_open_mem(b.data, b.len, "b", &r, NULL), 0);
		assert_int_equal(trace_reader_next(r, &f, NULL), -EILSEQ);
		trace_reader_close(r);
		mem_set_ops(NULL);
		assert_in_range(largest_bytes, 1, rows[i].most);
		buf_fini(&payload);
		buf_fini(&b);
	}
}

static int read_all(const struct folder *d, const char *name, struct err *e)
{
	struct trace_reader *r;
	struct trace_frame f;
	int rc = trace_reader_open(d->fd, name, &r, e);

	if (rc)
		return rc;
	while ((rc = trace_reader_next(r, &f, e)) == 1)
		;
	if (rc == 0)
		assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	return rc;
}

/* Packs, writes and reads; want of memory may end in plain frames, but in no wrong ones. */
static int write_and_read(void *arg)
{
	struct trace_packer *p = trace_packer_new(3);
	struct err e = {0};
	struct folder d;
	int rc = p ? 0 : -ENOMEM;

	(void)arg;
	folder_init(&d);
	if (rc == 0)
		rc = write_trace(&d, "t", p, &e);
	if (rc == 0)
		rc = read_all(&d, "t", &e);
	trace_packer_free(p);
	folder_fini(&d);
	return rc;
}

/* What zstd asks for comes from our heap, and is not always there. */
TEST(heap)
{
	for (unsigned n = 1; n <= 2; n++) {
		inject_mem(n);
		assert_null(trace_packer_new(3));
		inject_stop();
		assert_int_equal(inject.nr_live, 0);
	}
}

TEST(every_failure)
{
	inject_every(write_and_read, NULL, 12, 12);
}

/* From the second time on, packing asks for no memory. */
TEST(steady_state)
{
	struct trace_packer *p = trace_packer_new(3);
	struct trace_writer *w = trace_writer_new();
	struct trace_file *f;
	struct folder d;

	folder_init(&d);
	assert_int_equal(sample_begin(w), 0);
	assert_int_equal(trace_file_create(w, d.fd, "t", "t", p, &f, NULL), 0);
	assert_int_equal(add_content(w, f, NULL), 0);
	inject_mem(1);
	assert_int_equal(add_content(w, f, NULL), 0);
	assert_false(inject.fired);
	inject_stop();
	trace_file_abandon(f);
	trace_writer_free(w);
	trace_packer_free(p);
	folder_fini(&d);
}
