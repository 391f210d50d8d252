/*
 * Labels of goroutines: sets in memory that is made here as Go has them, and what is said of them.
 * Programs are recognised in tests/system/test_go.py.
 */
#include "kit.h"

#include "interpreters/language.h"
#include "trace/trace.h"

#include <unistd.h>

enum { SPACE = 77 };

/* A map of two buckets. */
struct made {
	struct bpf_interpreted_process process;
	struct bpf_interpreted_far far;
	struct bpf_go_text list, text[2 * BPF_GO_MAX_LABELS];
	struct bpf_go_map map;
	uint8_t bucket[2][BPF_GO_BUCKET_BYTES];
};

static struct bpf_interpreted_code code;
static char constants[] = "request\0checkout\0phase\0parse";

static struct bpf_go_text text_of(const char *text)
{
	return (struct bpf_go_text){(uintptr_t)text, strlen(text)};
}

/* As the program in the kernel does. */
static uint64_t number_of(const struct made *m, size_t nr)
{
	uint64_t number = 0;

	for (size_t i = 0; i < 2 * nr; i += 2) {
		uint64_t h = BPF_INTERPRETED_GO;

		if (!bpf_go_fits(0, &m->text[i]) || !bpf_go_fits(1, &m->text[i + 1]))
			continue;
		for (size_t k = i; k < i + 2; k++) {
			uint8_t content[BPF_GO_VALUE_BYTES] = {0};
			const struct bpf_go_text *t = &m->text[k];

			memcpy(content, (const void *)(uintptr_t)t->data, t->bytes);
			h = bpf_go_is_constant(&m->process.go, t)
				? bpf_go_mix_constant(h, t, SPACE)
				: bpf_go_mix_content(h, content, t->bytes);
		}
		number += h;
	}
	return number;
}

static void make(struct made *m, bool is_map, const char *const *texts, size_t nr)
{
	*m = (struct made){.process.go = {.constants_begin = (uintptr_t)constants,
					  .constants_end = (uintptr_t)constants + sizeof(constants),
					  .at.is_map = is_map},
			   .far = {.process = (uint32_t)getpid(), .space = SPACE},
			   .list = {(uintptr_t)m->text, nr},
			   .map = {.nr = nr, .buckets_log2 = 1, .buckets = (uintptr_t)m->bucket}};
	for (size_t i = 0; i < nr; i++) {
		uint8_t *bucket = m->bucket[i % 2];

		m->text[2 * i] = text_of(texts[2 * i]);
		m->text[2 * i + 1] = text_of(texts[2 * i + 1]);
		bucket[i] = BPF_GO_USED_SLOT + (uint8_t)i;
		memcpy(bucket + BPF_GO_BUCKET_KEYS + i * sizeof(m->list), &m->text[2 * i],
		       sizeof(m->list));
		memcpy(bucket + BPF_GO_BUCKET_VALUES + i * sizeof(m->list), &m->text[2 * i + 1],
		       sizeof(m->list));
	}
	m->far.address = is_map ? (uintptr_t)&m->map : (uintptr_t)&m->list;
	m->far.code = number_of(m, nr);
}

/* What is said of it: "key=value;", by key. */
static const char *said(void)
{
	static uint8_t lines[BPF_INTERPRETED_LINES_BYTES];
	static char text[BPF_INTERPRETED_LINES_BYTES];
	struct trace_code c = {.lines = code.lines, .lines_bytes = code.lines_bytes};

	interpreters_go.name(&c, lines);
	assert_ptr_equal(c.lines, lines);
	assert_int_equal(c.table, TRACE_LINES_NONE);
	for (size_t i = 0, nr = 0; i < c.lines_bytes; i++)
		text[i] = c.lines[i] ? (char)c.lines[i] : nr++ % 2 ? ';' : '=';
	text[c.lines_bytes] = '\0';
	return text;
}

static const char *const two[] = {constants, constants + 8, "user", "7"};

TEST(a_set_is_read)
{
	for (int is_map = 0; is_map < 2; is_map++) {
		struct made m;

		make(&m, is_map, two, 2);
		assert_true(interpreters_go.far(&m.far, &m.process, &code));
		assert_int_equal(code.language, BPF_INTERPRETED_GO);
		assert_int_equal(code.code, m.far.code);
		assert_string_equal(said(), "request=checkout;user=7;");
	}
}

TEST(sets_have_no_order)
{
	static const char *const turned[] = {"user", "7", constants, constants + 8};
	struct made m;
	uint64_t number;

	make(&m, false, two, 2);
	number = m.far.code;
	make(&m, false, turned, 2);
	assert_int_equal(m.far.code, number);
	assert_true(interpreters_go.far(&m.far, &m.process, &code));
	assert_string_equal(said(), "request=checkout;user=7;");
}

/* A program in the kernel says their number, which is of what was there. */
TEST(what_is_there_now_is_not_what_was_asked_for)
{
	static const char *const other[] = {constants, constants + 8, "user", "8"};
	struct made m;
	uint64_t number;

	make(&m, false, two, 2);
	number = m.far.code;
	make(&m, false, other, 2);
	m.far.code = number;
	assert_false(interpreters_go.far(&m.far, &m.process, &code));
	make(&m, false, two, 2);
	m.far.space++;
	assert_false(interpreters_go.far(&m.far, &m.process, &code));
}

TEST(what_is_nowhere_is_not_read)
{
	struct made m;

	for (int is_map = 0; is_map < 2; is_map++) {
		make(&m, is_map, two, 2);
		m.list.data = m.map.buckets = 4096;
		assert_false(interpreters_go.far(&m.far, &m.process, &code));
		make(&m, is_map, two, 2);
		m.far.address = 4096;
		assert_false(interpreters_go.far(&m.far, &m.process, &code));
	}
	make(&m, false, two, 2);
	m.text[3].data = 4096;
	assert_false(interpreters_go.far(&m.far, &m.process, &code));
}

TEST(large_sets_are_not_read)
{
	struct made m;

	make(&m, false, two, 2);
	m.list.bytes = BPF_GO_MAX_LABELS + 1;
	assert_false(interpreters_go.far(&m.far, &m.process, &code));
	make(&m, true, two, 2);
	m.map.nr = BPF_GO_MAX_LABELS + 1;
	assert_false(interpreters_go.far(&m.far, &m.process, &code));
	make(&m, true, two, 2);
	m.map.buckets_log2 = 8;
	assert_false(interpreters_go.far(&m.far, &m.process, &code));
}

/* A label that is too long, or that cannot be shown as what it is. */
TEST(labels_are_left_out_whole)
{
	static char longest[BPF_GO_VALUE_BYTES], too_long[BPF_GO_VALUE_BYTES + 1],
	    key[BPF_GO_KEY_BYTES + 2];
	const char *const texts[] = {"b", too_long, key, "x", "c", longest, "a", "1", "d", "A-Z"};
	char *expected = NULL;
	struct made m;

	memset(longest, 'v', sizeof(longest) - 1);
	memset(too_long, 'w', sizeof(too_long) - 1);
	memset(key, 'k', sizeof(key) - 1);
	make(&m, false, texts, 5);
	assert_true(interpreters_go.far(&m.far, &m.process, &code));
	assert_true(asprintf(&expected, "a=1;c=%s;d=A-Z;", longest) > 0);
	assert_string_equal(said(), expected);
	free(expected);
	((struct bpf_go_label *)code.lines)[4].value[1] = 0;
	assert_null(strstr(said(), "d="));
}

TEST(numbers_of_texts_differ)
{
	const struct bpf_go_text t = {4096, 5}, moved = {4097, 5}, longer = {4096, 6};
	uint8_t content[BPF_GO_VALUE_BYTES] = {0};
	const uint64_t h = bpf_go_mix_constant(1, &t, SPACE), c = bpf_go_mix_content(1, content, 5);

	assert_int_not_equal(bpf_go_mix_constant(1, &moved, SPACE), h);
	assert_int_not_equal(bpf_go_mix_constant(1, &longer, SPACE), h);
	assert_int_not_equal(bpf_go_mix_constant(1, &t, SPACE + 1), h);
	assert_int_not_equal(bpf_go_mix_constant(2, &t, SPACE), h);
	assert_int_not_equal(bpf_go_mix_content(1, content, 6), c);
	for (size_t i = 0; i < sizeof(content); i++) {
		content[i] = 1;
		assert_int_not_equal(bpf_go_mix_content(1, content, 5), c);
		content[i] = 0;
	}
}

TEST(it_moves_with_its_file)
{
	struct bpf_interpreted_process is = {.go = {.constants_begin = 1, .constants_end = 2}};

	interpreters_go.move(&is, 0x7f0000000000);
	assert_int_equal(is.go.constants_begin, 0x7f0000000001);
	assert_int_equal(is.go.constants_end, 0x7f0000000002);
}
