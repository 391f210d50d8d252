/*
 * Parts of mapped files in a trace: read back as they were written, packed in files of any packer;
 * invalid ones are refused.
 */
#include "kit.h"
#include "test_trace.h"

#include "trace/file.h"
#include "trace/format.h"
#include "trace/reader.h"

static uint8_t bytes[200000];
static const struct range part[] = {{0, 64}, {64, 100000}, {300000, 99936}};
static const struct trace_file_parts written = {
    .major = 8,
    .minor = 1,
    .inode = UINT64_MAX - 1,
    .file_bytes = 399936,
    .id = (const uint8_t *)"abcd",
    .id_len = 4,
    .path = "/memfd:x\n (deleted)",
    .path_len = 19,
    .part = part,
    .nr = NR(part),
    .bytes = bytes,
    .len = sizeof(bytes),
};

static struct trace_file *create(struct trace_writer *w, const struct folder *d,
				 struct trace_packer *p)
{
	const struct trace_head head = {.machine = "x"};
	struct trace_file *f;

	assert_int_equal(trace_writer_begin(w, &head), 0);
	assert_int_equal(trace_file_create(w, d->fd, "t", "some/path", p, &f, NULL), 0);
	return f;
}

static void expect_written(const struct trace_frame *f)
{
	struct trace_file_parts p;

	assert_int_equal(trace_decode_file_parts(f, &p), 0);
	assert_int_equal(p.major, written.major);
	assert_int_equal(p.minor, written.minor);
	assert_int_equal(p.inode, written.inode);
	assert_int_equal(p.file_bytes, written.file_bytes);
	assert_int_equal(p.id_len, written.id_len);
	assert_memory_equal(p.id, written.id, p.id_len);
	assert_int_equal(p.path_len, written.path_len);
	assert_memory_equal(p.path, written.path, p.path_len);
	assert_int_equal(p.nr, written.nr);
	assert_memory_equal(p.part, part, sizeof(part));
	assert_int_equal(p.len, written.len);
	assert_memory_equal(p.bytes, bytes, p.len);
	trace_file_parts_fini(&p);
	assert_null(p.part);
}

TEST(read_back)
{
	static const int levels[] = {0, 9};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i / 100);
	for (size_t i = 0; i < NR(levels); i++) {
		struct trace_packer *p = trace_packer_new(0),
				    *of_file = trace_packer_new(levels[i]);
		struct trace_writer *w = trace_writer_new();
		struct trace_totals totals = {.start_ns = 1, .end_ns = 2};
		struct trace_reader *r;
		struct trace_file *f;
		struct trace_frame frame;
		struct folder d;
		const void *packed;
		size_t len;

		folder_init(&d);
		f = create(w, &d, of_file);
		assert_true(trace_packer_file_parts(p, &written, &packed, &len));
		assert_in_range(len, 100, sizeof(bytes) / 10);
		assert_int_equal(trace_file_packed(f, packed, len, NULL), 0);
		assert_int_equal(trace_file_finish(f, w, &totals, NULL), 0);
		assert_int_equal(trace_reader_open(d.fd, "t", &r, NULL), 0);
		do
			assert_int_equal(trace_reader_next(r, &frame, NULL), 1);
		while (frame.kind != TRACE_FRAME_FILE_PARTS);
		assert_true(frame.is_packed);
		expect_written(&frame);
		assert_int_equal(trace_reader_next(r, &frame, NULL), 1);
		assert_int_equal(trace_reader_next(r, &frame, NULL), 0);
		assert_true(trace_reader_is_whole(r));
		trace_reader_close(r);
		trace_writer_free(w);
		trace_packer_free(p);
		trace_packer_free(of_file);
		folder_fini(&d);
	}
}

/* More than a frame can hold, and what packing does not make smaller, is not packed. */
TEST(not_packed)
{
	struct trace_packer *p = trace_packer_new(0);
	struct trace_file_parts t = written;
	const void *packed;
	size_t len;

	t.len = TRACE_FRAME_MAX_BYTES; /* not read */
	assert_false(trace_packer_file_parts(p, &t, &packed, &len));
	t.bytes = (const uint8_t *)"x";
	t.len = 1;
	t.path_len = t.id_len = 0;
	t.nr = 0;
	assert_false(trace_packer_file_parts(p, &t, &packed, &len));
	trace_packer_free(p);
}

/* Words of a valid payload; its parts; then eight bytes. */
enum { WORDS = 17 };
static const uint32_t valid[WORDS] = {8,
				      1,
				      7,
				      0,
				      100,
				      0,
				      /* id */ 0,
				      /* path */ 0,
				      /* parts */ 16,
				      2,
				      0,
				      0,
				      4,
				      0,
				      50,
				      0,
				      4};

static int decode(const uint32_t *words, size_t nr_bytes)
{
	uint32_t payload[WORDS + 4] = {0};
	struct trace_frame f = {.kind = TRACE_FRAME_FILE_PARTS,
				.payload = (const uint8_t *)payload,
				.length = (uint32_t)nr_bytes};
	struct trace_file_parts p = {.nr = 77};
	int rc;

	for (size_t i = 0; i < WORDS; i++)
		payload[i] = htole32(words[i]);
	rc = trace_decode_file_parts(&f, &p);
	if (rc) {
		assert_int_equal(p.nr, 77);
		return rc;
	}
	assert_int_equal(p.nr, 2);
	assert_int_equal(p.len, 8);
	trace_file_parts_fini(&p);
	return 0;
}

TEST(hostile)
{
	static const struct {
		const char *what;
		size_t word;
		uint32_t value;
	} cases[] = {
	    {"a file that is shorter", 4, 53},
	    {"an empty file", 4, 0},
	    {"a build-id that is too long", 6, 21},
	    {"a path beyond the end", 7, 4096},
	    {"short items", 8, 15},
	    {"no parts", 9, 0},
	    {"a part that is missing", 9, 3},
	    {"too many parts", 9, UINT32_MAX},
	    {"a part that is too long", 12, 5},
	    {"one that is too short", 12, 3},
	    {"a very long one", 13, UINT32_MAX},
	    {"one that overlaps", 14, 3},
	    {"one beyond the end", 14, 97},
	    {"far beyond", 15, UINT32_MAX},
	};
	const size_t len = (WORDS + 1 + 2) * sizeof(uint32_t);

	assert_int_equal(decode(valid, len), 0);
	for (size_t i = 0; i < NR(cases); i++) {
		uint32_t words[WORDS];

		print_message("%s\n", cases[i].what);
		memcpy(words, valid, sizeof(words));
		words[cases[i].word] = cases[i].value;
		assert_int_equal(decode(words, len), -EINVAL);
	}
	for (size_t i = 0; i < len; i++)
		assert_int_equal(decode(valid, i), -EINVAL);
	assert_int_equal(decode(valid, len + 1), -EINVAL);
}
