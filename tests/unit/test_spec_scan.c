/*
 * The pass over the text: what becomes blank, where keys and values stand, and that its cost
 * grows with the text and no faster.
 */
#include "kit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "spec/json.h"
#include "spec/scan.h"

TEST(blanks)
{
	static const struct {
		const char *text, *plain;
	} cases[] = {
	    {"{}", "{}"},
	    {"{} // x", "{}     "},
	    {"//a\n{}\n//b\r\n", "   \n{}\n    \n"},
	    {"# a\n{}\n#\n#/* b\r\n", "   \n{}\n \n      \n"},
	    {"[1#,\n,\"#\"]# # //", "[1  \n,\"#\"]      "},
	    {"/*a\nb*/{}", "   \n   {}"},
	    {"/***/{}/**/", "     {}    "},
	    {"/* // */[1]", "        [1]"},
	    {"[\"/*\", \"//\", \"\\\"//\"]", "[\"/*\", \"//\", \"\\\"//\"]"},
	    {"[\"\\\\\"/*,*/]", "[\"\\\\\"     ]"},
	    {"[1,]", "[1 ]"},
	    {"[1 /*,*/ , // ,\n ]", "[1             \n ]"},
	    {"{\"a\":{},}", "{\"a\":{} }"},
	    {"[[1,],]", "[[1 ] ]"},
	    {"[\"a\",]", "[\"a\" ]"},
	    {"[1,,]", "[1,,]"}, /* what is wrong stays wrong */
	    {"[,]", "[,]"},
	    {"{\"a\":,}", "{\"a\":,}"},
	    {"/ {}", "/ {}"},
	    {"\xef\xbb\xbf{}", "   {}"},
	    {"// \xc3\xa9\n{}", "     \n{}"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {.code = 0};
		struct scan s;

		assert_int_equal(scan_init(&s, cases[i].text, strlen(cases[i].text), "t", &e), 0);
		assert_string_equal(s.text, cases[i].plain);
		scan_fini(&s);
	}
}

static void check_pos(struct spec_pos pos, unsigned line, unsigned column)
{
	assert_int_equal(pos.line, line);
	assert_int_equal(pos.column, column);
}

TEST(positions)
{
	static const char text[] = "{ // \xc3\xa9\n"
				   "  \"\xc3\xa9\": 1, \"e\" : [ true,\r\n"
				   "\t{ \"r\\u0061te\": [] }, ], \"/~\": null }";
	struct err e = {.code = 0};
	struct scan s;
	int list, object;

	assert_int_equal(scan_init(&s, text, strlen(text), "t", &e), 0);
	check_pos(scan_node(&s, 0)->value_pos, 1, 1);
	check_pos(scan_node(&s, scan_member(&s, 0, "\xc3\xa9"))->key_pos, 2, 3);
	check_pos(scan_node(&s, scan_member(&s, 0, "\xc3\xa9"))->value_pos, 2, 8);
	list = scan_member(&s, 0, "e");
	check_pos(scan_node(&s, list)->key_pos, 2, 11);
	check_pos(scan_node(&s, list)->value_pos, 2, 17);
	check_pos(scan_node(&s, scan_item(&s, list, 0))->value_pos, 2, 19);
	object = scan_item(&s, list, 1);
	check_pos(scan_node(&s, object)->value_pos, 3, 2);
	check_pos(scan_node(&s, scan_member(&s, object, "rate"))->key_pos, 3, 4);
	check_pos(scan_node(&s, scan_member(&s, object, "rate"))->value_pos, 3, 17);
	check_pos(scan_node(&s, scan_member(&s, 0, "/~"))->value_pos, 3, 32);
	assert_int_equal(scan_item(&s, list, 2), SCAN_NONE);
	assert_int_equal(scan_member(&s, 0, "rate"), SCAN_NONE);
	assert_int_equal(scan_member(&s, list, "e"), SCAN_NONE);
	scan_fini(&s);
}

/* jansson counts columns in characters and its position in bytes, both behind the last one it
 * took; the translation of its errors stands on this. */
TEST(jansson_positions)
{
	static const char text[] = "{\n \"\xc3\xa9\": tru }";
	json_error_t error;
	json_t *root;

	assert_int_equal(json_parse(text, strlen(text), &root, &error), -EINVAL);
	assert_int_equal(error.line, 2);
	assert_int_equal(error.column, 9);
	assert_int_equal(error.position, 12);
	assert_memory_equal(text + error.position - 3, "tru", 3);
}

TEST(token_start)
{
	static const char text[] = "[ \"a b\", true /* x */ ]";
	static const struct {
		size_t offset, start;
	} cases[] = {{0, 0}, {1, 2},  {2, 2},   {5, 2},   {6, 2},   {7, 7},
		     {8, 9}, {11, 9}, {17, 22}, {22, 22}, {23, 23}, {99, 23}};
	struct err e = {.code = 0};
	struct scan s;

	assert_int_equal(scan_init(&s, text, strlen(text), "t", &e), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(scan_token_start(&s, cases[i].offset), cases[i].start);
	scan_fini(&s);
}

struct found {
	size_t nr;
	unsigned first_line, again_line;
};

static void note(const struct scan_node *first, const struct scan_node *again, void *arg)
{
	struct found *f = arg;

	f->nr++;
	f->first_line = first->key_pos.line;
	f->again_line = again->key_pos.line;
}

TEST(duplicates)
{
	static const struct {
		const char *text;
		size_t nr;
		unsigned first_line, again_line;
	} cases[] = {
	    {"{\"a\":1,\"b\":2}", 0, 0, 0},
	    {"{\"a\":1,\n\"b\":2,\n\"a\":3}", 1, 1, 3},
	    {"{\"a\":{\"a\":1}}", 0, 0, 0},
	    {"[{\"a\":1},{\"a\":1}]", 0, 0, 0},
	    {"{\"\":1,\n\"\":2}", 1, 1, 2},
	    {"{\"a\":1,\n\"\\u0061\":2}", 1, 1, 2},
	    {"{\"\\u00e9\":1,\n\"\xc3\xa9\":2}", 1, 1, 2},
	    {"[1,1,1]", 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct found f = {0, 0, 0};
		struct err e = {.code = 0};
		struct scan s;

		assert_int_equal(scan_init(&s, cases[i].text, strlen(cases[i].text), "t", &e), 0);
		scan_each_duplicate(&s, note, &f);
		assert_int_equal(f.nr, cases[i].nr);
		assert_int_equal(f.first_line, cases[i].first_line);
		assert_int_equal(f.again_line, cases[i].again_line);
		scan_fini(&s);
	}
}

/* A text of 4 MiB made of one piece, over and over. */
static char *repeat(const char *head, const char *piece, size_t *len)
{
	char *text = mem_alloc(SPEC_MAX_TEXT_BYTES), *at = text, *end = text + SPEC_MAX_TEXT_BYTES;

	assert_non_null(text);
	at = stpcpy(at, head);
	while (at + strlen(piece) < end)
		at = stpcpy(at, piece);
	*len = (size_t)(at - text);
	return text;
}

TEST(hostile)
{
	static const struct {
		const char *head, *piece, *msg;
	} cases[] = {
	    {"", "[", "nested too deep"},
	    {"", "{\"a\":", "nested too deep"},
	    {"[", "1,", "too many values"},
	    {"{", "\"a\":1,", "too many values"},
	    {"{", "\"\\u0061\":1,", "too many values"},
	    {"", "]", NULL},
	    {"", "//\n", NULL},
	    {"", "#\n", NULL},
	    {"", "/**/", NULL},
	    {"/*", " /", "this comment has no end"},
	    {"[", "\"", NULL}, /* an even number of quotes; jansson refuses the text */
	    {"\"", "\\\\", "this string has no closing quote on its line"},
	    {"", "a", NULL},
	    {"", ",", NULL},
	    {"", "\xf0\x9f\x98\x80", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len;
		char *text = repeat(cases[i].head, cases[i].piece, &len);
		struct err_list errs = {.nr = 0};
		struct err e = {.code = 0};
		struct scan s;
		struct spec spec;
		uint64_t start = clock_thread_cpu_ns();

		scan_init(&s, text, len, "t", &e);
		if (cases[i].msg)
			assert_string_equal(e.msg, cases[i].msg);
		scan_fini(&s);
		spec_init(&spec);
		assert_int_equal(spec_parse(text, len, "t", &spec, &errs), -EINVAL);
		spec_fini(&spec);
		assert_true(errs.nr > 0);
		/* generous: with sanitizers it takes a fraction of a second */
		assert_true(clock_thread_cpu_ns() - start < 5000000000);
		mem_free(text);
	}
}

TEST(too_large)
{
	struct err_list errs = {.nr = 0};
	struct spec spec;

	spec_init(&spec);
	assert_int_equal(spec_parse("", SPEC_MAX_TEXT_BYTES + 1, "t", &spec, &errs), -EINVAL);
	spec_fini(&spec);
	assert_string_equal(errs.item[0].msg, "larger than 4 MiB");
}
