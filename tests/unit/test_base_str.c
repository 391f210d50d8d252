/*
 * Numbers, durations, names, globs, UTF-8, CPU lists: tables of texts and what they mean.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/cpuset.h"
#include "base/str.h"

static const struct {
	const char *text;
	int rc;
	uint64_t v;
} numbers[] = {
    {"0", 0, 0},
    {"007", 0, 7},
    {"18446744073709551615", 0, UINT64_MAX},
    {"18446744073709551616", -ERANGE, 0},
    {"99999999999999999999999999", -ERANGE, 0},
    {"", -EINVAL, 0},
    {"-1", -EINVAL, 0},
    {"+1", -EINVAL, 0},
    {" 1", -EINVAL, 0},
    {"1 ", -EINVAL, 0},
    {"0x10", -EINVAL, 0},
    {"1e3", -EINVAL, 0},
    {"1.0", -EINVAL, 0},
    {"\xd9\xa1", -EINVAL, 0}, /* an Arabic digit */
};

TEST(parse_u64)
{
	for (size_t i = 0; i < NR(numbers); i++) {
		uint64_t v = 77;

		assert_int_equal(str_parse_u64(numbers[i].text, &v), numbers[i].rc);
		assert_int_equal(v, numbers[i].rc ? 77 : numbers[i].v);
	}
}

TEST(scan_hex)
{
	static const char text[] = "fa9g";
	const char *p = text, most[] = "ffffffffffffffff0", *q = most;
	uint64_t v = 77;

	assert_int_equal(str_scan_hex(&p, text + 2, &v), 0);
	assert_true(v == 0xfa && p == text + 2);
	assert_int_equal(str_scan_hex(&p, text + 2, &v), -EINVAL);
	assert_int_equal(str_scan_hex(&p, text + 4, &v), 0);
	assert_int_equal(str_scan_hex(&p, text + 4, &v), -EINVAL);
	assert_true(v == 9 && p == text + 3);
	assert_int_equal(str_scan_hex(&q, most + 17, &v), -ERANGE);
	assert_int_equal(str_scan_hex(&q, most + 16, &v), 0);
	assert_true(v == UINT64_MAX && q == most + 16);
}

TEST(scan_u64)
{
	static const char text[] = "123x";
	const char *p = text;
	uint64_t v = 77;

	assert_int_equal(str_scan_u64(&p, text + 2, &v), 0); /* end, not NUL, is the end */
	assert_int_equal(v, 12);
	assert_ptr_equal(p, text + 2);
	assert_int_equal(str_scan_u64(&p, text + 2, &v), -EINVAL);
	assert_int_equal(str_scan_u64(&p, text + 4, &v), 0);
	assert_int_equal(v, 3);
	assert_int_equal(str_scan_u64(&p, text + 4, &v), -EINVAL);
	assert_ptr_equal(p, text + 3);
	assert_int_equal(v, 3);
}

static const struct {
	const char *text;
	int rc;
	uint64_t ns;
} durations[] = {
    {"0", 0, 0},
    {"10", 0, 10000000000},
    {"10s", 0, 10000000000},
    {"0.5s", 0, 500000000},
    {"0.5", 0, 500000000},
    {"10ms", 0, 10000000},
    {"20us", 0, 20000},
    {"5ns", 0, 5},
    {"2m", 0, 120000000000},
    {"1.5m", 0, 90000000000},
    {"1h", 0, 3600000000000},
    {"0.000000001", 0, 1},
    {"0.000000001h", 0, 3600},
    {"18446744073.709551615s", 0, UINT64_MAX},
    {"18446744073709551615ns", 0, UINT64_MAX},
    {"18446744073.709551616s", -ERANGE, 0},
    {"18446744074", -ERANGE, 0},
    {"18446744073709551616ns", -ERANGE, 0},
    {"5124095.576030431h", 0, 18446744073709551600u},
    {"5124096h", -ERANGE, 0},
    {"0.5ns", -EINVAL, 0},
    {"0.0000000001", -EINVAL, 0},
    {"0.5000000000", -EINVAL, 0}, /* nine digits are enough */
    {"1.", -EINVAL, 0},
    {".5", -EINVAL, 0},
    {"1.x", -EINVAL, 0},
    {"1..5", -EINVAL, 0},
    {"1.99999999999999999999999", -EINVAL, 0},
    {"", -EINVAL, 0},
    {"s", -EINVAL, 0},
    {"-1", -EINVAL, 0},
    {"+1", -EINVAL, 0},
    {"1 s", -EINVAL, 0},
    {" 1s", -EINVAL, 0},
    {"1s ", -EINVAL, 0},
    {"1S", -EINVAL, 0},
    {"1sec", -EINVAL, 0},
    {"1,5", -EINVAL, 0},
    {"1e9", -EINVAL, 0},
};

TEST(parse_duration)
{
	for (size_t i = 0; i < NR(durations); i++) {
		uint64_t ns = 77;
		int rc = str_parse_duration_ns(durations[i].text, &ns);

		if (rc != durations[i].rc || ns != (rc ? 77 : durations[i].ns))
			fail_msg("%s: %d, %llu", durations[i].text, rc, (unsigned long long)ns);
	}
}

TEST(format_duration)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
	    {0, "0 s"},          {1, "1 ns"},           {999, "999 ns"},
	    {1500, "1.5 us"},    {10000000, "10 ms"},   {500000000, "500 ms"},
	    {1000000000, "1 s"}, {1500000000, "1.5 s"}, {1050000000, "1.05 s"},
	    {1000000001, "1 s"}, {90000000000, "90 s"}, {UINT64_MAX, "18446744073.709 s"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		char text[32];

		str_format_duration(rows[i].ns, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

TEST(nearest)
{
	static const char *const names[] = {"duration", "num_iterations", "rate", "cpu_clock",
					    "os"};
	static const struct {
		const char *typed, *best;
	} rows[] = {
	    {"durations", "duration"},
	    {"duratoin", "duration"},
	    {"Duration", "duration"},
	    {"num", "num_iterations"}, /* goes on from what was typed */
	    {"rat", "rate"},
	    {"os", "os"},
	    {"ox", "os"},
	    {"xyz", NULL},
	    {"", NULL},
	    {"banana_split", NULL},
	};
	char endless[200];

	for (size_t i = 0; i < NR(rows); i++) {
		const char *best = str_nearest(rows[i].typed, names, NR(names));

		if (rows[i].best)
			assert_string_equal(best, rows[i].best);
		else
			assert_null(best);
	}
	memset(endless, 'a', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	assert_null(str_nearest(endless, names, NR(names)));
	assert_null(str_nearest("x", names, 0));
}

TEST(stem)
{
	static const struct {
		const char *text, *end;
		size_t len;
	} rows[] = {
	    {"a.cpspec", ".cpspec", 1},
	    {".cpspec", ".cpspec", 0}, /* nothing is before */
	    {"cpspec", ".cpspec", 0},
	    {"a.cpspec.old", ".cpspec", 0},
	    {"a.cpspec.cpspec", ".cpspec", 8},
	    {"", ".cpspec", 0},
	    {"a", "", 1},
	};

	for (size_t i = 0; i < NR(rows); i++)
		assert_int_equal(str_stem(rows[i].text, rows[i].end), rows[i].len);
}

TEST(base_name)
{
	assert_string_equal(str_base_name("/a/b"), "b");
	assert_string_equal(str_base_name("b"), "b");
	assert_string_equal(str_base_name("a/"), "");
	assert_string_equal(str_base_name("/"), "");
	assert_string_equal(str_base_name(""), "");
}

TEST(glob)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} rows[] = {
	    {"", "anything", true},
	    {"fault", "page_faults", true},
	    {"FAULT", "page_faults", true},
	    {"fault", "cpu_clock", false},
	    {"fault*", "page_faults", false},
	    {"*fault*", "page_faults", true},
	    {"PAGE_*", "page_faults", true},
	    {"cpu_[cu]*", "cpu_clock", true},
	    {"cpu_?lock", "cpu_clock", true},
	    {"cpu_?", "cpu_clock", false},
	    {"[", "a[b", false},
	    {"*", "", true},
	};

	for (size_t i = 0; i < NR(rows); i++)
		if (str_glob(rows[i].pattern, rows[i].text) != rows[i].matches)
			fail_msg("%s %s", rows[i].pattern, rows[i].text);
}

TEST(whole_characters)
{
	assert_int_equal(str_whole("", 3), 0);
	assert_int_equal(str_whole("ab", 3), 2);
	assert_int_equal(str_whole("abcd", 3), 3);
	assert_int_equal(str_whole("a\xc3\xa9", 2), 1);
	assert_int_equal(str_whole("a\xc3\xa9", 3), 3);
	assert_int_equal(str_whole("\xf0\x9f\x98\x80", 3), 0);
	assert_int_equal(str_whole("\xbf\xbf\xbf", 2), 0); /* not before its start */
}

TEST(utf8)
{
	static const struct {
		const char *text;
		bool valid;
	} rows[] = {
	    {"", true},
	    {"ascii \x7f", true},
	    {"\xc2\x80\xdf\xbf", true},         /* first and last of two bytes */
	    {"\xe0\xa0\x80\xef\xbf\xbf", true}, /* of three */
	    {"\xf0\x90\x80\x80", true},         /* first of four */
	    {"\xf4\x8f\xbf\xbf", true},         /* U+10FFFF */
	    {"\xed\x9f\xbf\xee\x80\x80", true}, /* on both sides of the surrogates */
	    {"\xf4\x90\x80\x80", false},        /* U+110000 */
	    {"\xed\xa0\x80", false},            /* U+D800 */
	    {"\xed\xbf\xbf", false},            /* U+DFFF */
	    {"\xc0\x80", false},                /* overlong NUL */
	    {"\xc1\xbf", false},                /* overlong */
	    {"\xe0\x9f\xbf", false},
	    {"\xf0\x8f\xbf\xbf", false},
	    {"\x80", false},
	    {"a\xbf", false},
	    {"\xc3", false},
	    {"\xe2\x82", false},
	    {"\xe2\x82z", false},
	    {"\xf0\x9f\x98", false},
	    {"\xf0\x9f\x98z", false},
	    {"\xf5\x80\x80\x80", false},
	    {"\xff", false},
	};
	char *cut = malloc(1); /* ASan guards its end */

	for (size_t i = 0; i < NR(rows); i++)
		if (str_is_utf8(rows[i].text, strlen(rows[i].text)) != rows[i].valid)
			fail_msg("row %zu", i);
	assert_false(str_is_utf8("a\0b", 3));
	assert_true(str_is_utf8("é\xff", 2)); /* not past its length */
	*cut = '\xc3';
	assert_false(str_is_utf8(cut, 1));
	free(cut);
}

TEST(hex)
{
	const uint8_t id[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 0xff};
	char text[33];

	str_hex16(id, text);
	assert_string_equal(text, "0123456789abcdef00ff000000000000");
}

/* formatted: how the kernel would write the set; NULL: as text. */
static const struct {
	const char *text;
	int rc;
	size_t count;
	const char *formatted;
} lists[] = {
    {"", 0, 0, NULL},
    {"\n", 0, 0, ""},
    {"0", 0, 1, NULL},
    {"0\n", 0, 1, "0"},
    {"0-3", 0, 4, NULL},
    {"0-3,8,12-15\n", 0, 9, "0-3,8,12-15"},
    {"63-64,127-128", 0, 4, NULL},
    {"5,3,4,4", 0, 3, "3-5"},
    {"7-7", 0, 1, "7"},
    {"0-8191", 0, 8192, NULL},
    {"8191", 0, 1, NULL},
    {"8192", -ERANGE, 0, NULL},
    {"0-8192", -ERANGE, 0, NULL},
    {"0-18446744073709551615", -ERANGE, 0, NULL},
    {"0-18446744073709551616", -ERANGE, 0, NULL},
    {"18446744073709551616", -ERANGE, 0, NULL},
    {"3-1", -EINVAL, 0, NULL},
    {"0-", -EINVAL, 0, NULL},
    {"0-\n", -EINVAL, 0, NULL},
    {"-1", -EINVAL, 0, NULL},
    {"0,", -EINVAL, 0, NULL},
    {"0,\n", -EINVAL, 0, NULL},
    {",0", -EINVAL, 0, NULL},
    {"0,,1", -EINVAL, 0, NULL},
    {"0--1", -EINVAL, 0, NULL},
    {"0-1-2", -EINVAL, 0, NULL},
    {"0 1", -EINVAL, 0, NULL},
    {"0\n\n", -EINVAL, 0, NULL},
    {"a", -EINVAL, 0, NULL},
    {"0x1", -EINVAL, 0, NULL},
};

TEST(cpu_lists)
{
	struct buf b;

	buf_init(&b, 100000);
	for (size_t i = 0; i < NR(lists); i++) {
		struct cpuset s;

		cpuset_clear(&s);
		cpuset_add(&s, 99);
		assert_int_equal(cpuset_parse(lists[i].text, strlen(lists[i].text), &s),
				 lists[i].rc);
		if (lists[i].rc) {
			assert_true(cpuset_count(&s) == 1 && cpuset_has(&s, 99)); /* untouched */
			continue;
		}
		assert_int_equal(cpuset_count(&s), lists[i].count);
		buf_reset(&b);
		cpuset_format(&s, &b);
		assert_string_equal(buf_str(&b),
				    lists[i].formatted ? lists[i].formatted : lists[i].text);
	}
	buf_fini(&b);
}

TEST(cpu_set)
{
	static const unsigned in[] = {0, 1, 63, 64, 127, 4096, 8191};
	struct cpuset s;
	size_t i = 0;

	cpuset_clear(&s);
	assert_int_equal(cpuset_next(&s, 0), -1);
	for (size_t k = 0; k < NR(in); k++)
		cpuset_add(&s, in[k]);
	cpuset_add(&s, CPUSET_MAX_CPU);
	cpuset_add(&s, UINT32_MAX);
	assert_int_equal(cpuset_count(&s), NR(in));
	assert_false(cpuset_has(&s, 2));
	assert_false(cpuset_has(&s, CPUSET_MAX_CPU));
	for (int c = cpuset_next(&s, 0); c >= 0; c = cpuset_next(&s, (unsigned)c + 1))
		assert_int_equal(c, in[i++]);
	assert_int_equal(i, NR(in));
	assert_int_equal(cpuset_next(&s, UINT32_MAX), -1);
}

/* Random sets come back as they were. */
TEST(cpu_round_trip)
{
	struct buf b;

	srand(2);
	buf_init(&b, 100000);
	for (int i = 0; i < 200; i++) {
		struct cpuset s, back;

		cpuset_clear(&s);
		for (int k = rand() % 300; k > 0; k--)
			cpuset_add(&s, (unsigned)rand() % (i % 2 ? 200 : CPUSET_MAX_CPU));
		buf_reset(&b);
		cpuset_format(&s, &b);
		assert_int_equal(cpuset_parse(buf_str(&b), b.len, &back), 0);
		assert_memory_equal(&s, &back, sizeof(s));
	}
	buf_fini(&b);
}

/* Names from outside: what a terminal or browser would act on is replaced, what it shows stays. */
TEST(visible)
{
	/* NOLINTBEGIN(misc-misleading-bidirectional) */
	static const struct {
		const char *text, *clean;
	} cases[] = {
	    {"plain é€😀 العربية עברית", "plain é€😀 العربية עברית"},
	    {"a\x1b[2Jb\x7f", "a?[2Jb?"},
	    {"a\xc2\x9b"
	     "2J",
	     "a??2J"},
	    {"a\xe2\x80\xae"
	     "cba",
	     "a???cba"},                                /* U+202E: right to left */
	    {"\xe2\x81\xa6x\xe2\x81\xa9", "???x???"},   /* U+2066, U+2069: isolates */
	    {"x\xe2\x80\xa8y\xe2\x80\xa9", "x???y???"}, /* U+2028, U+2029: lines */
	    {"x\xe2\x80\x8by\xe2\x80\x8f", "x???y???"}, /* U+200B, U+200F */
	    {"\xef\xbb\xbfx", "???x"},                  /* U+FEFF */
	    {"\xd8\x9cx\xc2\xady", "??x??y"},           /* U+061C, U+00AD */
	    {"x\xf3\xa0\x81\x81", "x????"},             /* U+E0041: a tag */
	    {"\xc3\xa9\xf3\x9b\x31m", "\xc3\xa9??1m"},  /* invalid beside a letter */
	};
	/* NOLINTEND(misc-misleading-bidirectional) */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", cases[i].text);
		str_disarm(text);
		assert_string_equal(text, cases[i].clean);
		snprintf(text, sizeof(text), "%s", cases[i].text);
		str_clean(text, strlen(text));
		assert_string_equal(text, cases[i].clean);
	}
}
