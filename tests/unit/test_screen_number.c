/*
 * Numbers as text: rows of number and text.
 */
#include "kit.h"

#include "base/buf.h"
#include "screen/number.h"

#include <math.h>

static struct buf out;

static void expect(const char *what, const char *text)
{
	if (strcmp(buf_str(&out), text))
		fail_msg("%s: \"%s\" is not \"%s\"", what, buf_str(&out), text);
	buf_reset(&out);
}

TEST(humans)
{
	static const struct {
		double x;
		const char *unit, *text;
	} rows[] = {
	    {0, "", "0"},
	    {12.5, "", "12.5"},
	    {12, "", "12"},
	    {99.96, "", "100"},
	    {1234.4, "", "1,234"},
	    {99999, "B", "99,999 B"},
	    {100000, "B", "100.0 kB"},
	    {123456, "B", "123.5 kB"},
	    {999949, "", "999.9 k"},
	    {999951, "", "1.000 M"},
	    {1234567, "", "1.235 M"},
	    {12345678, "", "12.35 M"},
	    {4123456789, "B", "4.123 GB"},
	    {0x1p64, "", "18447 P"},
	    {12.345, "%", "12.3 %"},
	    {999, "ns", "999 ns"},
	    {1000, "ns", "1.000 us"},
	    {20500000, "ns", "20.50 ms"},
	    {1999900000, "ns", "2.000 s"},
	    {(double)NAN, "B", "0 B"},
	    {-5, "", "-5"},
	    {-5.25, "°C", "-5.3 °C"},
	    {7, "switches", "7"},
	    {1234567, "cycles", "1.235 M"},
	    {45, "°C", "45 °C"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		screen_human(&out, rows[i].x, rows[i].unit);
		expect("human", rows[i].text);
	}
}

TEST(metrics)
{
	static const struct {
		double x;
		const char *machine, *text, *human;
	} rows[] = {
	    {0, "0.000000000", "0.000", "0.000 B"},
	    {1, "1.000000000", "1.000", "1.000 B"},
	    {0.5, "0.500000000", "0.500", "0.500 B"},
	    {1.23456, "1.234560000", "1.235", "1.235 B"},
	    {12.3456, "12.345600000", "12.35", "12.35 B"},
	    {123.456, "123.456000000", "123.5", "123.5 B"},
	    {999.96, "999.960000000", "1,000", "1,000 B"},
	    {12345.6, "12345.600000000", "12,346", "12,346 B"},
	    {1234567.5, "1234567.500000000", "1,234,568", "1.235 MB"},
	    {4e15, "4.000000000e15", "4.000e15", "4.000 PB"},
	    {4e18, "4.000000000e18", "4.000e18", "4.000e18 B"},
	    {-0.25, "-0.250000000", "-0.250", "-0.250 B"},
	    {-1234567.5, "-1234567.500000000", "-1,234,568", "-1.235 MB"},
	    {0.0999, "0.099900000", "0.0999", "0.0999 B"},
	    {0.09999, "0.099990000", "0.100", "0.100 B"},
	    {0.01234, "0.012340000", "0.0123", "0.0123 B"},
	    {0.00012345, "1.234500000e-4", "0.000123", "0.000123 B"},
	    {0.000002, "2.000000000e-6", "0.00000200", "0.00000200 B"},
	    {2.5e-10, "2.500000000e-10", "2.500e-10", "2.500e-10 B"},
	    {-2.5e-10, "-2.500000000e-10", "-2.500e-10", "-2.500e-10 B"},
	    {(double)INFINITY, "1.797693135e308", "1.798e308", "1.798e308 B"},
	    {(double)NAN, "0.000000000", "0.000", "0.000 B"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct cell c = {
		    .state = CELL_OK, .is_metric = true, .is_real = true, .value = rows[i].x};

		screen_metric(&out, rows[i].x);
		expect("machine", rows[i].machine);
		screen_number(&out, EVENT_VALUE, &c);
		expect("number", rows[i].machine);
		screen_metric_text(&out, rows[i].x);
		expect("text", rows[i].text);
		screen_number_text(&out, EVENT_VALUE, &c);
		expect("number text", rows[i].text);
		screen_metric_human(&out, rows[i].x, "B");
		expect("human", rows[i].human);
		if (strchr(rows[i].human, 'P') || strchr(rows[i].human, 'M'))
			continue;
		screen_metric_human(&out, rows[i].x, "");
		expect("human, no unit", rows[i].text);
		screen_metric_human(&out, rows[i].x, "a word");
		expect("human, a word", rows[i].text);
	}
	screen_metric_human(&out, 1234567.5, "MiB/s");
	expect("a unit", "1,234,568 MiB/s");
	screen_metric_human(&out, 0.5, "misses");
	expect("a longer one", "0.500");
	for (int i = -320; i < 308; i++) {
		char text[32];

		snprintf(text, sizeof(text), "1.000e%d", i);
		screen_metric_text(&out, strtod(text, NULL));
		if (i < -6 || i >= 15)
			expect("power", text);
		buf_reset(&out);
	}
}

TEST(decimals)
{
	static const struct {
		double x;
		unsigned decimals;
		const char *text;
	} rows[] = {
	    {0, 0, "0"},
	    {0, 3, "0.000"},
	    {1.5, 1, "1.5"},
	    {0.04, 1, "0.0"},
	    {9.96, 1, "10.0"},
	    {0.999999, 4, "1.0000"},
	    {1.0005, 2, "1.00"},
	    {0x1p64, 1, "18446744073709551616.0"},
	    {(double)INFINITY, 0, "99999999999999997748809823456034029568"},
	    {(double)NAN, 1, "0.0"},
	    {-1, 1, "0.0"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		screen_decimal(&out, rows[i].x, rows[i].decimals);
		expect("decimal", rows[i].text);
	}
}

TEST(decimals_agree_with_printf)
{
	srand(1);
	for (int i = 0; i < 20000; i++) {
		double x = (double)rand() / 7 / (double)(1 + rand() % 1000);
		char text[64];

		snprintf(text, sizeof(text), "%.4f", x);
		screen_decimal(&out, x, 4);
		if (fabs(strtod(buf_str(&out), NULL) - strtod(text, NULL)) > 1.01e-4)
			fail_msg("%s is not %s", buf_str(&out), text);
		buf_reset(&out);
	}
}

TEST(running_shares)
{
	static const struct {
		double share;
		const char *text;
	} rows[] = {{1, "100%"},    {2, "100%"},  {0.9999, "99%"}, {0x1.fffffffffffffp-1, "99%"},
		    {0.625, "62%"}, {0.01, "1%"}, {0.009, "<1%"},  {0, "<1%"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		screen_running(&out, rows[i].share);
		expect("running", rows[i].text);
	}
}

TEST(wide_numbers)
{
	screen_wide(&out, 0, true);
	expect("zero", "0");
	screen_wide(&out, ~(unsigned __int128)0, true);
	expect("all", "340,282,366,920,938,463,463,374,607,431,768,211,455");
	screen_wide(&out, (unsigned __int128)UINT64_MAX + 1, false);
	expect("2^64", "18446744073709551616");
	screen_quotient(&out, (unsigned __int128)UINT64_MAX * 7 + 2, 7);
	expect("quotient", "18446744073709551615.2857");
}

TEST(signed_numbers)
{
	static const struct {
		int64_t v;
		const char *for_people, *for_machines;
	} rows[] = {
	    {0, "0", "0"},
	    {1234, "+1,234", "1234"},
	    {-1234, "-1,234", "-1234"},
	    {INT64_MAX, "+9,223,372,036,854,775,807", "9223372036854775807"},
	    {INT64_MIN, "-9,223,372,036,854,775,808", "-9223372036854775808"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		screen_signed(&out, rows[i].v, true);
		expect("for people", rows[i].for_people);
		screen_signed(&out, rows[i].v, false);
		expect("for machines", rows[i].for_machines);
	}
}

TEST(coverage)
{
	static const struct {
		struct sampled s;
		const char *text; /* "": not claimed */
	} rows[] = {
	    {{.claim = SAMPLED_COMPARED, .received = 99999, .expected = 100000}, "0.9999"},
	    {{.claim = SAMPLED_COMPARED, .received = 100001, .expected = 100000}, "1.0000"},
	    {{.claim = SAMPLED_COMPARED, .received = 0, .expected = 1}, "0.0000"},
	    {{.claim = SAMPLED_COMPARED, .received = 1, .expected = 0}, ""},
	    {{.claim = SAMPLED_IDLE}, ""},
	    {{.claim = SAMPLED_COMPARED, .received = UINT64_MAX - 1, .expected = UINT64_MAX},
	     "0.9999"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(screen_coverage(&out, &rows[i].s), *rows[i].text != '\0');
		expect("coverage", rows[i].text);
	}
}

/* What must be known of a cell stands behind its number. */
TEST(marks)
{
	static const struct {
		struct cell c;
		const char *text;
	} rows[] = {
	    {{.state = CELL_OK, .count = 7}, "7"},
	    {{.state = CELL_OK, .count = 7, .enabled_ns = 8, .running_ns = 5}, "7 (62%)"},
	    {{.state = CELL_OFFLINE, .count = 7}, "7 (offline)"},
	    {{.state = CELL_OK, .count = 7, .nr_without = 1}, "7 (partial)"},
	    {{.state = CELL_OK, .is_metric = true, .value = 2, .limit = CELL_LOW}, "2.000 (low)"},
	    {{.state = CELL_OK, .is_metric = true, .value = 2, .limit = CELL_HIGH}, "2.000 (high)"},
	    {{.state = CELL_OFFLINE,
	      .is_metric = true,
	      .value = 2,
	      .enabled_ns = 8,
	      .running_ns = 5,
	      .limit = CELL_LOW},
	     "2.000 (62%, offline, low)"},
	    {{.state = CELL_NA}, "n/a"},
	    {{.state = CELL_NONE}, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		screen_cell(&out, EVENT_VALUE, &rows[i].c);
		expect("cell", rows[i].text);
	}
}

TEST(widths)
{
	assert_int_equal(screen_width(""), 0);
	assert_int_equal(screen_width("wörk"), 4);
}

static void check_shortened(const char *line, unsigned columns, const char *expected)
{
	BUF_AUTO(b, 256);

	buf_adds(&b, "(a) ");
	buf_adds(&b, line);
	screen_shorten(&b, 4, columns);
	assert_string_equal(buf_str(&b) + 4, expected);
}

static void check_cut(const char *line, unsigned columns, const char *expected)
{
	BUF_AUTO(b, 256);

	buf_adds(&b, "ä");
	buf_adds(&b, line);
	screen_cut(&b, 2, columns);
	assert_string_equal(buf_str(&b) + 2, expected);
}

TEST(cuts)
{
	check_cut("abcd", 4, "abcd");
	check_cut("abcd", 3, "ab…");
	check_cut("äöüß", 3, "äö…");
	check_cut("äöüß", 4, "äöüß");
	check_cut("abcd", 1, "…");
	check_cut("abcd", 0, "");
	check_cut("", 0, "");
}

static void check_wrapped(const char *line, unsigned columns, const char *expected)
{
	BUF_AUTO(b, 256);

	screen_wrap(&b, line, strlen(line), columns);
	assert_string_equal(buf_str(&b), expected);
}

TEST(wraps)
{
	check_wrapped("", 5, "");
	check_wrapped("  ", 1, "  ");
	check_wrapped("  a bc d", 8, "  a bc d");
	check_wrapped("  a bc d", 7, "  a bc\n    d");
	check_wrapped("  a  bc d", 5, "  a\n    bc\n    d");
	check_wrapped("  ä ö ü", 7, "  ä ö ü");
	check_wrapped("abcdef gh", 3, "abcdef\n  gh");
	check_wrapped("  abcdef", 3, "  abcdef");
	check_wrapped("a b ", 9, "a b ");
}

TEST(wraps_lines)
{
	BUF_AUTO(b, 256);

	buf_adds(&b, "a b c\nx y z\n\n  u v w\nlast one");
	screen_wrap_lines(&b, 6, 4);
	assert_string_equal(buf_str(&b), "a b c\nx y\n  z\n\n  u\n    v\n    w\nlast\n  one");
	screen_wrap_lines(&b, b.len, 1);
	screen_wrap_lines(&b, 0, 80);
	assert_string_equal(buf_str(&b), "a b c\nx y\n  z\n\n  u\n    v\n    w\nlast\n  one");
}

TEST(rows)
{
	assert_int_equal(screen_rows("", 5), 0);
	assert_int_equal(screen_rows("\n", 5), 1);
	assert_int_equal(screen_rows("wörks\n\nx", 5), 3);
	assert_int_equal(screen_rows("123456\n12345678901\n", 5), 5);
	check_shortened("ab (c)", 6, "ab (c)");
	check_shortened("ab (c)", 5, "ab");
	check_shortened("a (b) c (d (e) f)", 9, "a (b) c");
	check_shortened("ab(c)", 2, "ab(c)"); /* part of a word */
	check_shortened("(abcd)", 2, "(abcd)");
	check_shortened("a) b)", 2, "a) b)");
	check_shortened("ab (c).", 2, "ab (c).");
}

HOOK(before_all)
{
	buf_init(&out, 4096);
}

HOOK(after_all)
{
	buf_fini(&out);
}
