/*
 * Cells of a screen: what is cut, what is replaced, how wide characters are.
 */
#include "kit.h"

#include "base/buf.h"
#include "dashboard/canvas.h"

static void expect(const struct canvas *c, const char *text)
{
	struct buf b;

	buf_init(&b, 1 << 16);
	canvas_text(c, &b);
	assert_string_equal(buf_str(&b), text);
	buf_fini(&b);
}

static const struct {
	const char *text;
	bool is_utf8;
	unsigned x, max;
	const char *shown; /* of a canvas of 8 columns */
	unsigned used;
} puts_of[] = {
    {"abc", true, 0, 8, "abc\n", 3},
    {"abc", true, 2, 8, "  abc\n", 3},
    {"abcdefghij", true, 0, 100, "abcdefgh\n", 8},
    {"abcdef", true, 0, 3, "abc\n", 3},
    {"abc", true, 7, 8, "       a\n", 1},
    {"abc", true, 8, 8, "\n", 0},
    {"abc", true, 1000, 8, "\n", 0},
    {"", true, 0, 8, "\n", 0},
    {"a\033[31mb", true, 0, 8, "a?[31mb\n", 7},
    {"a\nb\x7f", true, 0, 8, "a?b?\n", 4},
    {"a\xc2\x9b"
     "1m",
     true, 0, 8, "a?1m\n", 4}, /* CSI in one character */
    {"\xff\xfe"
     "ok\xc3",
     true, 0, 8, "??ok?\n", 5},
    {"\xe2\x82", true, 0, 8, "??\n", 2},
    {"wörk", true, 0, 8, "wörk\n", 4},
    {"wörk…", false, 0, 8, "w?rk~\n", 5},
    {"世界", true, 0, 8, "世界\n", 4},
    {"世界", true, 0, 3, "世\n", 2},
    {"世界", true, 5, 8, "     世\n", 2},
    {"世界", true, 7, 8, "\n", 0},
    {"世", false, 0, 8, "??\n", 2},
    {"e\xcc\x81"
     "x",
     true, 0, 8, "ex\n", 2}, /* combining */
    /* right-to-left override: NOLINTNEXTLINE(misc-misleading-bidirectional) */
    {"a\xe2\x80\xae"
     "b",
     true, 0, 8, "a?b\n", 3},
    {"a\xe2\x81\xa0"
     "b",
     true, 0, 8, "a?b\n", 3}, /* a word joiner */
    {"a\xd8\x9c\xe1\xa0\x8e\xef\xbf\xb9"
     "b",
     true, 0, 8, "a???b\n", 5}, /* Arabic letter mark, Mongolian separator, annotation */
    {"a\xe2\x80\x8b\xef\xbb\xbf"
     "b",
     true, 0, 8, "a??b\n", 4},
    {"\xf0\x9f\x98\x80", true, 0, 8, "\xf0\x9f\x98\x80\n", 2},
};

TEST(puts_text)
{
	for (size_t i = 0; i < sizeof(puts_of) / sizeof(puts_of[0]); i++) {
		struct canvas c;

		assert_int_equal(canvas_init(&c, 8, 1, puts_of[i].is_utf8), 0);
		assert_int_equal(
		    canvas_put(&c, puts_of[i].x, 0, CANVAS_PLAIN, puts_of[i].text, puts_of[i].max),
		    puts_of[i].used);
		expect(&c, puts_of[i].shown);
		assert_int_equal(canvas_put(&c, 0, 1, CANVAS_PLAIN, puts_of[i].text, 8), 0);
		canvas_fini(&c);
	}
}

static const struct {
	const char *text;
	unsigned width;
	const char *left, *right; /* in a field that begins at 1, dots around */
} fields[] = {
    {"ab", 4, ".ab  ...\n", ".  ab...\n"},    {"abcd", 4, ".abcd...\n", ".abcd...\n"},
    {"abcde", 4, ".abc…...\n", ".abc…...\n"}, {"世界界", 4, ".世… ...\n", ".世… ...\n"},
    {"", 4, ".    ...\n", ".    ...\n"},      {"abc", 1, ".…......\n", ".…......\n"},
    {"abc", 0, "........\n", "........\n"},   {"abcdefghij", 20, ".abcdefg\n", ".       \n"},
};

TEST(fills_fields)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct canvas c;

		assert_int_equal(canvas_init(&c, 8, 1, true), 0);
		canvas_fill(&c, 0, 0, 100, CANVAS_DIM, ".");
		canvas_left(&c, 1, 0, fields[i].width, CANVAS_PLAIN, fields[i].text);
		expect(&c, fields[i].left);
		canvas_fill(&c, 0, 0, 100, CANVAS_DIM, ".");
		canvas_right(&c, 1, 0, fields[i].width, CANVAS_PLAIN, fields[i].text);
		if (fields[i].width <= 8)
			expect(&c, fields[i].right);
		canvas_fini(&c);
	}
}

/* What was there of a wide character must not stay as a half. */
TEST(styles_and_sizes)
{
	struct canvas c;

	assert_int_equal(canvas_init(&c, 100000, 100000, true), 0);
	assert_int_equal(c.width, CANVAS_MAX_WIDTH);
	assert_int_equal(c.height, CANVAS_MAX_HEIGHT);
	canvas_fini(&c);
	assert_int_equal(canvas_init(&c, 0, 0, true), 0);
	assert_int_equal(c.width, 1);
	assert_int_equal(c.height, 1);
	canvas_fini(&c);
	assert_int_equal(canvas_init(&c, 4, 2, true), 0);
	canvas_put(&c, 1, 1, CANVAS_BOLD | CANVAS_SELECTED, "xy", 2);
	assert_int_equal(c.cells[5].style, CANVAS_BOLD | CANVAS_SELECTED);
	assert_int_equal(c.cells[7].style, CANVAS_PLAIN);
	expect(&c, "\n xy\n");
	canvas_clear(&c);
	expect(&c, "\n\n");
	canvas_fini(&c);
}

TEST(no_memory)
{
	struct canvas c = {.width = 77};

	inject_mem(1);
	assert_int_equal(canvas_init(&c, 4, 4, true), -ENOMEM);
	inject_stop();
	assert_int_equal(c.width, 77);
}
