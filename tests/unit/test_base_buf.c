/*
 * The growing buffer: its ceiling, its sticky error, and the text forms that it writes.
 */
#include "kit.h"

#include "base/buf.h"

TEST(ceiling)
{
	struct buf b;

	buf_init(&b, 5);
	assert_string_equal(buf_str(&b), "");
	buf_adds(&b, "abc");
	buf_adds(&b, "de");
	assert_int_equal(buf_error(&b), 0);
	buf_addc(&b, 'f');
	assert_int_equal(buf_error(&b), -EFBIG);
	assert_string_equal(buf_str(&b), "abcde");
	buf_reset(&b);
	assert_int_equal(buf_error(&b), 0);
	assert_string_equal(buf_str(&b), "");
	buf_adds(&b, "x");
	assert_string_equal(buf_str(&b), "x");
	buf_fini(&b);
}

/* Once it is full, nothing goes in any more, even what would fit: no text with a hole. */
TEST(error_sticks)
{
	struct buf b;

	buf_init(&b, 4);
	buf_adds(&b, "ab");
	buf_le32(&b, 1);
	buf_addc(&b, 'c');
	buf_adds(&b, "");
	buf_fill(&b, 'x', 1);
	buf_printf(&b, "%d", 1);
	buf_le16(&b, 1);
	assert_null(buf_reserve(&b, 1));
	assert_int_equal(buf_error(&b), -EFBIG);
	assert_string_equal(buf_str(&b), "ab");
	buf_fini(&b);
	buf_init(&b, 1000);
	assert_null(buf_reserve(&b, 2000));
	assert_null(buf_reserve(&b, 1)); /* that it has to grow for it changes nothing */
	assert_int_equal(buf_error(&b), -EFBIG);
	buf_fini(&b);
}

TEST(without_memory)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	inject_mem(2);
	buf_adds(&b, "kept");
	buf_fill(&b, 'x', 100000);
	buf_adds(&b, "more");
	assert_int_equal(buf_error(&b), -ENOMEM);
	assert_string_equal(buf_str(&b), "kept");
	buf_fini(&b);
	inject_stop();
	assert_int_equal(inject.nr_live, 0);
	assert_int_equal(b.max_bytes, 1 << 20);
}

TEST(sizes_beyond_all)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 2, SIZE_MAX - 300};

	for (size_t i = 0; i < NR(sizes); i++) {
		struct buf b;

		inject_mem(0);
		buf_init(&b, SIZE_MAX);
		buf_adds(&b, "ab");
		assert_null(buf_reserve(&b, sizes[i]));
		assert_true(buf_error(&b) < 0);
		buf_fini(&b);
		inject_stop();
	}
}

TEST(grows)
{
	struct buf b;

	buf_init(&b, 100000);
	for (int i = 0; i < 100000; i++)
		buf_addc(&b, (char)('a' + i % 26));
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	assert_int_equal(b.data[b.len], 0);
	buf_fini(&b);
	buf_fini(&b);
}

/* Room that is asked for and not used leaves a text all the same. */
TEST(reserve)
{
	struct buf b;

	buf_init(&b, 1000);
	assert_non_null(buf_reserve(&b, 500));
	assert_string_equal(buf_str(&b), "");
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

TEST(little_endian)
{
	struct buf b;

	buf_init(&b, 100);
	buf_le16(&b, 0x0102);
	buf_le32(&b, 0x03040506);
	buf_le64(&b, 0x0708090a0b0c0d0eull);
	assert_int_equal(b.len, 14);
	assert_memory_equal(b.data, "\2\1\6\5\4\3\x0e\x0d\x0c\x0b\x0a\x09\x08\x07", 14);
	buf_fini(&b);
}

#define FFFD "\xef\xbf\xbd"
static const struct {
	const char *text, *json, *csv;
} texts[] = {
    {"", "\"\"", ""},
    {"plain", "\"plain\"", "plain"},
    {"a\"b", "\"a\\\"b\"", "\"a\"\"b\""},
    {"a\\b", "\"a\\\\b\"", "a\\b"},
    {"a,b", "\"a,b\"", "\"a,b\""},
    {"a\nb", "\"a\\nb\"", "\"a\nb\""},
    {"a\rb", "\"a\\rb\"", "\"a\rb\""},
    {"\b\t\v\f", "\"\\b\\t\\u000b\\f\"", "\b\t\v\f"},
    {"\x01\x1b\x1f\x7f", "\"\\u0001\\u001b\\u001f\\u007f\"", "\x01\x1b\x1f\x7f"},
    {"\"", "\"\\\"\"", "\"\"\"\""},
    {"é€😀", "\"é€😀\"", "é€😀"},
    {"\xc3", "\"" FFFD "\"", "\xc3"},                           /* cut */
    {"\xc3(", "\"" FFFD "(\"", "\xc3("},                        /* no second byte */
    {"\xe2\x82", "\"" FFFD FFFD "\"", "\xe2\x82"},              /* cut after two of three */
    {"\x80z", "\"" FFFD "z\"", "\x80z"},                        /* a second byte alone */
    {"\xc0\xaf", "\"" FFFD FFFD "\"", "\xc0\xaf"},              /* overlong */
    {"\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"", "\xed\xa0\x80"}, /* a surrogate */
    {"=1+1", "\"=1+1\"", "\"'=1+1\""}, /* a spreadsheet would calculate it */
    {"=x", "\"=x\"", "\"'=x\""},
    {"-2+3", "\"-2+3\"", "\"'-2+3\""},
    {"-f(1)", "\"-f(1)\"", "\"'-f(1)\""},
    {"+a|b!A1", "\"+a|b!A1\"", "\"'+a|b!A1\""},
    {"- x", "\"- x\"", "\"'- x\""},
    {"'=1+1", "\"'=1+1\"", "\"''=1+1\""}, /* what a reader removes is ours */
    {"''=1+1", "\"''=1+1\"", "\"'''=1+1\""},
    {"'a'", "\"'a'\"", "'a'"},
    {"--", "\"--\"", "--"}, /* names, not formulas */
    {"-bash", "\"-bash\"", "-bash"},
    {"+x", "\"+x\"", "+x"},
    {"-k-2_a.b", "\"-k-2_a.b\"", "-k-2_a.b"},
    {"@x", "\"@x\"", "\"'@x\""},
    {"'-bash", "\"'-bash\"", "'-bash"},
    {"@a\"b", "\"@a\\\"b\"", "\"'@a\"\"b\""},
    {"\t=x", "\"\\t=x\"", "\"'\t=x\""},
    {"\r=x", "\"\\r=x\"", "\"'\r=x\""},
    {"-", "\"-\"", "-"},
    {"a=b", "\"a=b\"", "a=b"},
    {"\xff\xfe", "\"" FFFD FFFD "\"", "\xff\xfe"},
    {"\xf5\x80\x80\x80", "\"" FFFD FFFD FFFD FFFD "\"", "\xf5\x80\x80\x80"},
};

TEST(texts)
{
	struct buf b;

	buf_init(&b, 1000);
	for (size_t i = 0; i < NR(texts); i++) {
		buf_reset(&b);
		buf_json_string(&b, texts[i].text);
		assert_string_equal(buf_str(&b), texts[i].json);
		buf_reset(&b);
		buf_csv_field(&b, texts[i].text);
		assert_string_equal(buf_str(&b), texts[i].csv);
	}
	buf_fini(&b);
}

TEST(shell_words)
{
	static const char *const rows[][2] = {
	    {"a-b/c.d=1", "a-b/c.d=1"}, {"", "''"},           {"a b", "'a b'"},
	    {"it's", "'it'\\''s'"},     {"$HOME", "'$HOME'"}, {"a\nb", "'a\nb'"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		BUF_AUTO(b, 100);

		buf_shell_word(&b, rows[i][0]);
		assert_string_equal(buf_str(&b), rows[i][1]);
	}
}

/* No byte of any value, alone or before a letter, makes a JSON string that is not one. */
TEST(json_every_byte)
{
	struct buf b;

	buf_init(&b, 1000);
	for (int c = 1; c < 256; c++) {
		char text[3] = {(char)c, 'a', 0};
		size_t last;

		buf_reset(&b);
		buf_json_string(&b, text);
		last = b.len - 1;
		assert_int_equal(b.data[0], '"');
		assert_int_equal(b.data[last], '"');
		assert_int_equal(b.data[last - 1], 'a');
		for (size_t k = 0; k < b.len; k++)
			assert_true((unsigned char)b.data[k] >= 0x20 && b.data[k] != 0x7f);
	}
	buf_fini(&b);
}

TEST(numbers)
{
	static const struct {
		uint64_t v;
		const char *plain, *commas;
	} rows[] = {
	    {0, "0", "0"},
	    {9, "9", "9"},
	    {10, "10", "10"},
	    {999, "999", "999"},
	    {1000, "1000", "1,000"},
	    {1000000, "1000000", "1,000,000"},
	    {123456789, "123456789", "123,456,789"},
	    {UINT64_MAX, "18446744073709551615", "18,446,744,073,709,551,615"},
	};
	struct buf b;

	buf_init(&b, 1000);
	for (size_t i = 0; i < NR(rows); i++) {
		buf_reset(&b);
		buf_u64(&b, rows[i].v);
		assert_string_equal(buf_str(&b), rows[i].plain);
		buf_reset(&b);
		buf_u64_commas(&b, rows[i].v);
		assert_string_equal(buf_str(&b), rows[i].commas);
	}
	buf_fini(&b);
}

TEST(printf)
{
	struct buf b;

	buf_init(&b, 300);
	buf_printf(&b, "%s=%d;", "a", 1);
	buf_printf(&b, "%*d", 290, 2);
	assert_int_equal(b.len, 294);
	assert_memory_equal(buf_str(&b), "a=1; ", 5);
	assert_string_equal(buf_str(&b) + 293, "2");
	buf_printf(&b, "%s", "1234567");
	assert_int_equal(buf_error(&b), -EFBIG);
	buf_fini(&b);
}

TEST(cut)
{
	struct buf b;

	buf_init(&b, 10);
	buf_cut(&b, 0);
	buf_adds(&b, "abcdef");
	buf_cut(&b, 7);
	buf_cut(&b, 6);
	assert_string_equal(buf_str(&b), "abcdef");
	buf_cut(&b, 2);
	assert_string_equal(buf_str(&b), "ab");
	assert_int_equal(b.len, 2);
	buf_cut(&b, 0);
	assert_string_equal(buf_str(&b), "");
	buf_fini(&b);
}

TEST(drop)
{
	struct buf b;

	buf_init(&b, 10);
	buf_drop(&b, 0);
	buf_adds(&b, "abcdef");
	buf_drop(&b, 2);
	assert_string_equal(buf_str(&b), "cdef");
	assert_int_equal(b.len, 4);
	buf_drop(&b, 4);
	assert_string_equal(buf_str(&b), "");
	buf_adds(&b, "g");
	assert_string_equal(buf_str(&b), "g");
	buf_fini(&b);
}
