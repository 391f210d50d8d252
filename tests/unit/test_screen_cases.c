/*
 * Test cases for CI: JUnit's XML, and GitHub's commands, of text that is in the way of both.
 */
#include "kit.h"

#include "screen/cases.h"

static void expect(const struct cases_format *format, const struct cases_item *items, size_t nr,
		   const char *expected)
{
	struct cases c;
	BUF_AUTO(out, 1 << 16);

	cases_init(&c, format);
	for (size_t i = 0; i < nr; i++)
		cases_add(&c, &items[i]);
	cases_write(&c, "the suite", &out);
	assert_int_equal(buf_error(&c.text), 0);
	cases_fini(&c);
	assert_string_equal(buf_str(&out), expected);
}

static const struct cases_item items[] = {
    {.class = "wall", .name = "a<b", .failure = "+3 %, \"more\""},
    {.class = "wall", .name = "c"},
    {.class = "cpu", .name = "d", .says = "1 < 2 & 50 %"},
};

TEST(junit)
{
	expect(&cases_junit, items, NR(items),
	       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	       "<testsuites>\n"
	       " <testsuite name=\"the suite\" tests=\"3\" failures=\"1\" errors=\"0\" "
	       "skipped=\"0\">\n"
	       "  <testcase classname=\"wall\" name=\"a&lt;b\"><failure type=\"grew\" "
	       "message=\"+3 %, &quot;more&quot;\"/></testcase>\n"
	       "  <testcase classname=\"wall\" name=\"c\"/>\n"
	       "  <testcase classname=\"cpu\" name=\"d\"><system-out>1 &lt; 2 &amp; 50 %"
	       "</system-out></testcase>\n"
	       " </testsuite>\n"
	       "</testsuites>\n");
}

TEST(github)
{
	expect(&cases_github, items, NR(items),
	       "::error title=wall%3A a<b::+3 %25, \"more\"\n"
	       "::notice title=cpu%3A d::1 < 2 & 50 %25\n");
}

/* A name cannot end its property, its line, or begin another command. */
TEST(github_escapes)
{
	static const struct cases_item hostile = {
	    .class = "a,b:c%d", .name = "::x\n::error::y\r\x1b", .says = "100 %\n::z, y:\x07"};

	expect(&cases_github, &hostile, 1,
	       "::notice title=a%2Cb%3Ac%25d%3A %3A%3Ax%0A%3A%3Aerror%3A%3Ay??::"
	       "100 %25%0A::z, y:?\n");
}

TEST(nothing_to_be_said)
{
	expect(&cases_github, &items[1], 1,
	       "::notice title=the suite::1 compared, none over the limit\n");
	expect(&cases_github, NULL, 0,
	       "::notice title=the suite::0 compared, none over the limit\n");
}
