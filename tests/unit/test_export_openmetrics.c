/*
 * Text of OpenMetrics: names and units as the format wants them, any text as a label, and failures.
 */
#include "kit.h"

#include "base/buf.h"
#include "export/openmetrics.h"

static struct buf b;

HOOK(before_each)
{
	buf_init(&b, 1 << 20);
}

HOOK(after_each)
{
	buf_fini(&b);
}

static void expect(const char *text)
{
	assert_int_equal(buf_error(&b), 0);
	assert_string_equal(buf_str(&b), text);
	buf_reset(&b);
}

TEST(names)
{
	static const char *const cases[][2] = {
	    {"", ""},
	    {"cycles", "cycles"},
	    {"INST_RETIRED.ANY", "inst_retired_any"},
	    {"cpu/event=0xc0/", "cpu_event_0xc0"},
	    {"--a  b--", "a_b"},
	    {"°C", "c"},
	    {"\xff\xff", ""},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		openmetrics_add_name(&b, cases[i][0]);
		expect(cases[i][1]);
	}
}

TEST(units)
{
	static const struct {
		const char *ours, *base, *theirs;
		struct openmetrics_scale scale;
	} cases[] = {
	    {"", "a", "", {1, 0}},
	    {"1", NULL, "", {1, 0}},
	    {"B", "a", "bytes", {1, 0}},
	    {"ns", "a", "seconds", {1, -9}},
	    {"us", "a", "seconds", {1, -6}},
	    {"\u00b5s", NULL, "seconds", {1, -6}},
	    {"\u03bcs", NULL, "seconds", {1, -6}},
	    {"ms", "a", "seconds", {1, -3}},
	    {"s", "a", "seconds", {1, 0}},
	    {"min", NULL, "seconds", {60, 0}},
	    {"h", NULL, "seconds", {3600, 0}},
	    {"%", "a", "ratio", {1, -2}},
	    {"J", "a", "joules", {1, 0}},
	    {"mW", NULL, "watts", {1, -3}},
	    {"W", "a", "watts", {1, 0}},
	    {"V", "a", "volts", {1, 0}},
	    {"A", "a", "amperes", {1, 0}},
	    {"Hz", "a", "hertz", {1, 0}},
	    {"GHz", "a", "hertz", {1000000000, 0}},
	    {"°C", "a", "celsius", {1, 0}},
	    {"C", "a", "celsius", {1, 0}},
	    {"RPM", "a", "revolutions_per_minute", {1, 0}},
	    {"kB", "a", "bytes", {1000, 0}},
	    {"MB", "a", "bytes", {1000000, 0}},
	    {"GB", "a", "bytes", {1000000000, 0}},
	    {"TB", "a", "bytes", {1000000000000, 0}},
	    {"KiB", "a", "bytes", {1 << 10, 0}},
	    {"MiB", "a", "bytes", {1 << 20, 0}},
	    {"GiB", "a", "bytes", {1 << 30, 0}},
	    {"TiB", "a", "bytes", {UINT64_C(1) << 40, 0}},
	    {"switches", "context_switches", "switches", {1, 0}},
	    {"switches", "switches", "", {1, 0}},
	    {"switches", "contextswitches", "", {1, 0}},
	    {"switches", "context", "", {1, 0}},
	    {"MiB/s", NULL, "bytes_per_second", {1 << 20, 0}},
	    {"B/s", "a", "bytes_per_second", {1, 0}},
	    {"%/s", NULL, "ratio_per_second", {1, -2}},
	    {"1/s", NULL, "per_second", {1, 0}},
	    {"/s", NULL, "per_second", {1, 0}},
	    {"switches/s", NULL, "switches_per_second", {1, 0}},
	    {"switches/s", "a", "", {1, 0}},
	    {"ns/call", NULL, "seconds_per_call", {1, -9}},
	    {"B/", NULL, "bytes", {1, 0}},
	    {"/", NULL, "", {1, 0}},
	    {"total", NULL, "", {1, 0}},
	    {"total", "a_total", "", {1, 0}},
	    {"calls count", NULL, "", {1, 0}},
	    {"subtotal", NULL, "subtotal", {1, 0}},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct openmetrics_scale scale =
		    openmetrics_add_unit(&b, cases[i].ours, cases[i].base);

		assert_int_equal(scale.times, cases[i].scale.times);
		assert_int_equal(scale.exponent, cases[i].scale.exponent);
		expect(cases[i].theirs);
	}
}

TEST(numbers_are_scaled)
{
	assert_true(openmetrics_scaled(1000, (struct openmetrics_scale){1, -6}) == 0.001);
	assert_true(openmetrics_scaled(1.5, (struct openmetrics_scale){1024, 0}) == 1536);
}

TEST(families)
{
	static const char *const cases[][3] = {
	    {"a_read", "bytes", "a_read_bytes"},
	    {"a_bytes", "bytes", "a_bytes"},
	    {"a_xbytes", "bytes", "a_xbytes_bytes"},
	    {"a_total", "", "a_total_value"},
	    {"a_info", "", "a_info_value"},
	    {"a_value", "", "a_value_value"}, /* or it would be taken for that of "a_total" */
	    {"a_total", "bytes", "a_total_bytes"},
	    {"a", "", "a"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		openmetrics_add_family(&b, cases[i][0], cases[i][1]);
		expect(cases[i][2]);
	}
}

static void write_all(struct openmetrics *m)
{
	openmetrics_family(m, OPENMETRICS_COUNTER, "a_bytes", "bytes", "What \"a\" is\\\n.");
	openmetrics_begin(m);
	openmetrics_label(m, "event", "\"\\\n\t\x7f\xff\xc3\xa9");
	openmetrics_label_u64(m, "cpu", UINT64_MAX);
	openmetrics_value(m);
	buf_u64(m->out, 17);
	openmetrics_end(m, 1000000001);
	openmetrics_family(m, OPENMETRICS_INFO, "s", "", "x");
	openmetrics_begin(m);
	openmetrics_label(m, "id", "");
	openmetrics_value(m);
	buf_adds(m->out, "1");
	openmetrics_end(m, 0);
	openmetrics_family(m, OPENMETRICS_GAUGE, "g", "", "");
	openmetrics_begin(m);
	openmetrics_value(m);
	buf_adds(m->out, "2");
	openmetrics_end(m, 5000000000);
	openmetrics_eof(m);
}

TEST(lines)
{
	struct openmetrics m = {.out = &b};

	write_all(&m);
	expect("# TYPE a_bytes counter\n"
	       "# UNIT a_bytes bytes\n"
	       "# HELP a_bytes What \\\"a\\\" is\\\\\\n.\n"
	       "a_bytes_total{event=\"\\\"\\\\\\n???\xc3\xa9\",cpu=\"18446744073709551615\"} 17 "
	       "1.000000001\n"
	       "# TYPE s info\n"
	       "# HELP s x\n"
	       "s_info{id=\"\"} 1\n"
	       "# TYPE g gauge\n"
	       "# HELP g \n"
	       "g 2 5.000000000\n"
	       "# EOF\n");
}

TEST(classic_lines)
{
	struct openmetrics m = {.out = &b, .is_classic = true, .has_no_times = true};

	write_all(&m);
	expect("# TYPE a_bytes_total counter\n"
	       "# HELP a_bytes_total What \"a\" is\\\\\\n.\n"
	       "a_bytes_total{event=\"\\\"\\\\\\n???\xc3\xa9\",cpu=\"18446744073709551615\"} 17\n"
	       "# TYPE s_info gauge\n"
	       "# HELP s_info x\n"
	       "s_info{id=\"\"} 1\n"
	       "# TYPE g gauge\n"
	       "# HELP g \n"
	       "g 2\n");
}

static int write_once(void *arg)
{
	struct buf own;
	struct openmetrics m = {.out = &own};
	int rc;

	(void)arg;
	buf_init(&own, 1 << 20);
	openmetrics_add_unit(&own, "word", "a");
	write_all(&m);
	rc = buf_error(&own);
	buf_fini(&own);
	return rc;
}

TEST(memory_fails)
{
	inject_every(write_once, NULL, 1, 0);
}

static void take(void *arg, const struct openmetrics *m)
{
	char *all = arg;

	snprintf(all + strlen(all), 500 - strlen(all), "%s|%s|%s|%.*s|%s|%d\n",
		 m->family_at == m->line_at ? "" : "metadata", m->name,
		 buf_str(m->out) + m->line_at, (int)(m->shared_end - m->labels_at),
		 buf_str(m->out) + m->labels_at, buf_str(m->out) + m->value_at, (int)m->time_ns);
	buf_cut(m->out, m->family_at);
}

/* Lines of a histogram have all labels but le in common. */
TEST(lines_are_passed_on)
{
	char all[500] = "";
	struct openmetrics m = {.out = &b, .on_line = take, .arg = all};

	openmetrics_family(&m, OPENMETRICS_HISTOGRAM, "a", "", "A");
	openmetrics_begin_part(&m, "_bucket");
	openmetrics_label(&m, "x", "1");
	openmetrics_label(&m, "le", "2");
	openmetrics_value(&m);
	buf_adds(&b, "3");
	openmetrics_end(&m, 4);
	openmetrics_begin_part(&m, "_count");
	openmetrics_label(&m, "x", "1");
	openmetrics_value(&m);
	buf_adds(&b, "5");
	openmetrics_end(&m, 6);
	assert_string_equal(all, "metadata|a|a_bucket{x=\"1\",le=\"2\"} 3|{x=\"1\"|3|4\n"
				 "|a|a_count{x=\"1\"} 5|{x=\"1\"|5|6\n");
	assert_int_equal(b.len, 0);
}

static void put_families(struct openmetrics *m)
{
	static const struct {
		enum openmetrics_type type;
		const char *name, *unit, *help, *suffix;
	} families[] = {
	    {OPENMETRICS_INFO, "a", "", "TYPE of \"all\" \\ and\nmore \\\"", "_info"},
	    {OPENMETRICS_COUNTER, "b_bytes", "bytes", "# HELP gauge", "_total"},
	    {OPENMETRICS_GAUGE, "c", "", "", ""},
	    {OPENMETRICS_HISTOGRAM, "d_seconds", "seconds", "D", "_bucket"},
	};

	for (size_t i = 0; i < NR(families); i++) {
		openmetrics_family(m, families[i].type, families[i].name, families[i].unit,
				   families[i].help);
		for (int k = 0; k < 3; k++) {
			openmetrics_begin_part(m, families[i].suffix);
			openmetrics_label(m, "l", k ? "x \"y\" \\" : "#\n# TYPE");
			openmetrics_value(m);
			buf_u64(m->out, i);
			openmetrics_end(m, 0);
		}
	}
	openmetrics_eof(m);
}

TEST(classic_text_of_openmetrics_is_the_classic_text)
{
	struct buf classic, made;
	struct openmetrics m = {.out = &b}, other = {.out = &classic, .is_classic = true};

	buf_init(&classic, 1 << 20);
	buf_init(&made, 1 << 20);
	put_families(&m);
	put_families(&other);
	openmetrics_to_classic(&b, &made);
	assert_string_equal(buf_str(&made), buf_str(&classic));
	buf_fini(&classic);
	buf_fini(&made);
}
