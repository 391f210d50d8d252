/*
 * Which samples enter: lists of numbers, what is no list and where, globs, names of events.
 */
#include "kit.h"

#include "base/buf.h"
#include "profile/filter.h"
#include "profile/session.h"

static const struct {
	const char *text;
	size_t nr;
	uint64_t in[4], out[4];
} lists[] = {
    {"0", 1, {0, 0, 0, 0}, {1, 2, UINT64_MAX, 1}},
    {"0-3,8", 2, {0, 3, 2, 8}, {4, 7, 9, 100}},
    {"8,0-3", 2, {0, 3, 2, 8}, {4, 7, 9, 100}},
    {"5-5", 1, {5, 5, 5, 5}, {4, 6, 0, 55}},
    {"1-10,2", 2, {1, 2, 10, 5}, {0, 11, 12, 100}},
    {"4294967295", 1, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, {0, 1, 2, UINT64_MAX}},
    {"007", 1, {7, 7, 7, 7}, {0, 6, 8, 70}},
};

TEST(lists_of_numbers)
{
	for (size_t i = 0; i < NR(lists); i++) {
		struct profile_ranges r = {.nr = 0};
		struct err e = {0};

		if (profile_ranges_parse(&r, "--cpu", lists[i].text, &e))
			fail_msg("%s: %s", lists[i].text, e.msg);
		assert_int_equal(r.nr, lists[i].nr);
		for (size_t k = 0; k < 4; k++)
			if (!profile_ranges_has(&r, lists[i].in[k]) ||
			    profile_ranges_has(&r, lists[i].out[k]))
				fail_msg("%s: has others", lists[i].text);
	}
}

TEST(none_is_all)
{
	const struct profile_ranges r = {.nr = 0};
	const struct profile_globs g = {.nr = 0};

	assert_true(profile_ranges_has(&r, 0));
	assert_true(profile_ranges_has(&r, UINT64_MAX));
	assert_true(profile_globs_match(&g, ""));
	assert_true(profile_globs_match(&g, "x"));
}

/* What is compared with them has 32 bits. */
TEST(too_large)
{
	static const char *const texts[] = {"4294967296", "0-4294967296", "18446744073709551615",
					    "1,18446744073709551615", "18446744073709551616"};

	for (size_t i = 0; i < NR(texts); i++) {
		struct profile_ranges r = {.nr = 0};
		struct err e = {0};
		char want[80];

		assert_int_equal(profile_ranges_parse(&r, "--tid", texts[i], &e), -EINVAL);
		snprintf(want, sizeof(want), "\"%s\" has a number beyond 4294967295", texts[i]);
		assert_string_equal(e.msg, want);
	}
}

static const struct {
	const char *text;
	unsigned column;
} bad[] = {
    {"", 1},   {"x", 1},   {"-1", 1},    {"1,", 3},    {"1,,2", 3}, {"1-", 3},  {"1 ", 2},
    {" 1", 1}, {"1;2", 2}, {"0-3,x", 5}, {"1-2-3", 4}, {"1,+2", 3}, {"4-3", 4}, {"2-1,5", 0},
};

TEST(no_lists)
{
	for (size_t i = 0; i < NR(bad); i++) {
		struct profile_ranges r = {.nr = 0};
		struct err e = {0};
		char want[64];

		assert_int_equal(profile_ranges_parse(&r, "--cpu", bad[i].text, &e), -EINVAL);
		snprintf(want, sizeof(want), "\"%s\" is not a list of numbers", bad[i].text);
		assert_string_equal(e.msg, want);
		assert_string_equal(e.source, "--cpu");
		assert_string_equal(e.hint, "write numbers and ranges with commas: 0-3,8");
		if (bad[i].column && e.column != bad[i].column)
			fail_msg("\"%s\": column %u", bad[i].text, e.column);
	}
}

TEST(as_many_as_fit)
{
	struct profile_ranges r = {.nr = 0};
	struct err e = {0};
	struct buf b;

	buf_init(&b, 1 << 16);
	for (unsigned i = 0; i < PROFILE_MAX_RANGES; i++)
		buf_printf(&b, "%s%u", i ? "," : "", 2 * i);
	assert_int_equal(profile_ranges_parse(&r, "--pid", buf_str(&b), &e), 0);
	assert_int_equal(r.nr, PROFILE_MAX_RANGES);
	assert_true(profile_ranges_has(&r, 2 * (PROFILE_MAX_RANGES - 1)));
	assert_false(profile_ranges_has(&r, 1));
	buf_adds(&b, ",9999");
	r.nr = 0;
	assert_int_equal(profile_ranges_parse(&r, "--pid", buf_str(&b), &e), -EINVAL);
	assert_string_equal(e.msg, "more than 256 numbers and ranges");
	buf_fini(&b);
}

static const struct {
	const char *globs[2], *name;
	bool is_in;
} globs[] = {
    {{"gcc"}, "gcc", true},     {{"gcc"}, "gc", false},
    {{"gcc"}, "xgcc", false},   {{"GCC"}, "gcc", false},
    {{"g*"}, "gcc", true},      {{"*c"}, "gcc", true},
    {{"g?c"}, "gcc", true},     {{"g[a-d]c"}, "gcc", true},
    {{"g[!c]c"}, "gcc", false}, {{"a", "b"}, "b", true},
    {{"a", "b"}, "c", false},   {{""}, "", true},
    {{""}, "x", false},         {{"kworker/*"}, "kworker/0:1", true},
};

TEST(names)
{
	for (size_t i = 0; i < NR(globs); i++) {
		struct profile_globs g = {.nr = 0};

		for (size_t k = 0; k < 2 && globs[i].globs[k]; k++)
			assert_int_equal(profile_globs_add(&g, "--comm", globs[i].globs[k], NULL),
					 0);
		if (profile_globs_match(&g, globs[i].name) != globs[i].is_in)
			fail_msg("%s, %s", globs[i].globs[0], globs[i].name);
	}
}

TEST(too_many_names)
{
	struct profile_globs g = {.nr = 0};
	struct err e = {0};

	for (int i = 0; i < PROFILE_MAX_GLOBS; i++)
		assert_int_equal(profile_globs_add(&g, "--comm", "x", &e), 0);
	assert_int_equal(profile_globs_add(&g, "--comm", "y", &e), -E2BIG);
	assert_string_equal(e.msg, "--comm: used more than 64 times");
	assert_false(profile_globs_match(&g, "y"));
}

static const struct {
	const char *glob;
	bool is_in;
} event_globs[] = {
    {"cpu_clock", true},   {"software:cpu_clock", true},
    {"software:*", true},  {"*clock", true},
    {"software", false},   {"clock", false},
    {"hard*", false},      {"*:*", true},
    {"cpu_clocks", false},
};

TEST(events)
{
	const struct trace_event ev = {.group = "software", .name = "cpu_clock", .label = "label"};
	struct profile_filter f = {.from_ns = 0};

	assert_true(profile_filter_has_event(&f, &ev));
	for (size_t i = 0; i < NR(event_globs); i++) {
		f.events.item[0] = event_globs[i].glob;
		f.events.nr = 1;
		if (profile_filter_has_event(&f, &ev) != event_globs[i].is_in)
			fail_msg("%s", event_globs[i].glob);
	}
}

/* From the start, inclusive, to the end, exclusive; 0 is no limit. */
TEST(times)
{
	static const struct {
		uint64_t from_ns, to_ns, time_ns;
		bool is_in;
	} rows[] = {{0, 0, 1000, true},   {0, 0, 5000, true},   {0, 0, 999, true},
		    {10, 0, 999, false},  {10, 0, 1009, false}, {10, 0, 1010, true},
		    {10, 0, 5000, true},  {0, 20, 1019, true},  {0, 20, 1020, false},
		    {10, 20, 1015, true}, {0, 20, 999, true}};

	for (size_t i = 0; i < NR(rows); i++) {
		const struct profile_filter f = {.from_ns = rows[i].from_ns,
						 .to_ns = rows[i].to_ns};

		if (profile_filter_has_time(&f, 1000, rows[i].time_ns) != rows[i].is_in)
			fail_msg("row %zu", i);
	}
}
