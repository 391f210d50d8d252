/*
 * Metrics of Performance Co-Pilot from the text that a session serves: names, units, instances,
 * numbers; and which texts are refused.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/crc32c.h"
#include "inject.h"
#include "pcp/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char session[] =
    "# TYPE cpuperf_session info\n"
    "cpuperf_session_info{host=\"h \\\"1\\\"\\n\",tool=\"\"} 1\n"
    "# TYPE cpuperf_session_start_time_seconds gauge\n"
    "# UNIT cpuperf_session_start_time_seconds seconds\n"
    "cpuperf_session_start_time_seconds 1795421981.848356306\n"
    "# TYPE cpuperf_software_task_clock_seconds counter\n"
    "# UNIT cpuperf_software_task_clock_seconds seconds\n"
    "# HELP cpuperf_software_task_clock_seconds Time that \\\\ it ran.\n"
    "cpuperf_software_task_clock_seconds_total{event=\"t\",cpu=\"0\"} 3.907201872\n"
    "cpuperf_software_task_clock_seconds_total{event=\"t\",cpu=\"11\"} 18446744073.709551615\n"
    "# TYPE cpuperf_misc_process_x counter\n"
    "cpuperf_misc_process_x_total{event=\"x\",pid=\"7\",comm=\"a b: c\"} 5 12.5\n"
    "cpuperf_misc_process_x_total{event=\"x\",comm=\"[other]\"} 18446744073709551615\n"
    "cpuperf_misc_process_x_total{event=\"y\",pid=\"7\",comm=\"a b: c\"} 6\n"
    "# TYPE cpuperf_misc_process_mib_MiB counter\n"
    "# UNIT cpuperf_misc_process_mib_MiB MiB\n"
    "cpuperf_misc_process_mib_MiB_total{event=\"m\",pid=\"7\",comm=\"a b: c\"} 1.500000000\n"
    "# TYPE cpuperf_misc_block_x counter\n"
    "cpuperf_misc_block_x_total{event=\"b\",device=\"sd a\",operation=\"read\"} 1\n"
    "# TYPE cpuperf_metric_ipc gauge\n"
    "cpuperf_metric_ipc{event=\"2 of IPC\"} 1\n"
    "# TYPE cpuperf_latency_seconds histogram\n"
    "# UNIT cpuperf_latency_seconds seconds\n"
    "cpuperf_latency_seconds_bucket{event=\"s.r\",le=\"0.000000127\"} 3\n"
    "cpuperf_latency_seconds_bucket{event=\"s.r\",le=\"+Inf\"} 4\n"
    "cpuperf_latency_seconds_count{event=\"s.r\"} 4\n"
    "cpuperf_latency_seconds_sum{event=\"s.r\"} 0.000000900\n"
    "# TYPE cpuperf_event info\n"
    "cpuperf_event_info{event=\"t\",group=\"software\",name=\"task_clock\",unit=\"seconds\","
    "metric_family=\"cpuperf_software_task_clock_seconds\",state=\"ok\"} 1\n"
    "cpuperf_event_info{event=\"x\",group=\"misc\",name=\"process_x\",unit=\"\","
    "metric_family=\"cpuperf_misc_process_x\",state=\"ok\"} 1\n"
    "cpuperf_event_info{event=\"y\",group=\"misc\",name=\"process_x\",unit=\"\","
    "metric_family=\"cpuperf_misc_process_x\",state=\"ok\"} 1\n"
    "cpuperf_event_info{event=\"m\",group=\"misc\",name=\"process_mib\",unit=\"MiB\","
    "metric_family=\"cpuperf_misc_process_mib_MiB\",state=\"ok\"} 1\n"
    "cpuperf_event_info{event=\"b\",group=\"misc\",name=\"block_x\",unit=\"\","
    "metric_family=\"cpuperf_misc_block_x\",state=\"ok\"} 1\n"
    "# TYPE cpuperf_samples counter\n"
    "cpuperf_samples_total{event=\"t\",cpu=\"0\"} 9\n"
    "# TYPE process_cpu_seconds counter\n"
    "# UNIT process_cpu_seconds seconds\n"
    "process_cpu_seconds_total 0.364965\n"
    "# EOF\n";

static struct pcp_metrics m;

HOOK(after_each)
{
	pcp_metrics_fini(&m);
	m = (struct pcp_metrics){0};
}

static int parse(const char *text)
{
	pcp_metrics_fini(&m);
	return pcp_metrics_parse(&m, text, strlen(text));
}

static const struct pcp_metric *metric(const char *name)
{
	const struct pcp_metric *it = dict_at(&m.metrics, dict_find(&m.metrics, name));

	if (!it)
		fail_msg("%s is not there", name);
	return it;
}

/* The value of an instance; NULL: of none. */
static const union pcp_value *value(const char *name, const char *instance)
{
	const struct pcp_metric *it = metric(name);
	uint32_t number = dict_find(&m.metrics, name);

	if (!instance)
		return it->indom == PCP_NO_INDOM ? pcp_metrics_value(&m, number, 0) : NULL;
	for (uint32_t i = 0; i < m.instances.nr; i++) {
		const struct pcp_instance *in = dict_at(&m.instances, i);

		if (in->indom == it->indom && strcmp(in->name, instance) == 0)
			return pcp_metrics_value(&m, number, in->id);
	}
	fail_msg("%s has no instance %s", name, instance);
	return NULL;
}

static void expect(const char *name, enum pcp_type type, enum pcp_semantics semantics,
		   enum pcp_unit unit)
{
	const struct pcp_metric *it = metric(name);

	assert_int_equal(it->type, type);
	assert_int_equal(it->semantics, semantics);
	assert_int_equal(it->unit, unit);
}

TEST(values)
{
	assert_int_equal(parse(session), 0);
	assert_int_equal(m.nr_skipped, 0);
	assert_int_equal(value("software.task_clock", "cpu0")->u64, 3907201872);
	assert_int_equal(value("software.task_clock", "cpu11")->u64, UINT64_MAX);
	assert_int_equal(value("misc.process_x.x", "7 a b: c")->u64, 5);
	assert_int_equal(value("misc.process_x.x", "[other]")->u64, UINT64_MAX);
	assert_int_equal(value("misc.process_x.y", "7 a b: c")->u64, 6);
	assert_null(value("misc.process_x.y", "[other]"));
	assert_true(value("misc.process_mib", "7 a b: c")->real == 1.5);
	assert_int_equal(value("misc.block_x", "sd_a:read")->u64, 1);
	assert_true(value("metric.x2_of_ipc", NULL)->real == 1.0);
	assert_int_equal(value("latency_time.s_r.bucket", "le=0.000000127")->u64, 3);
	assert_int_equal(value("latency_time.s_r.bucket", "le=+Inf")->u64, 4);
	assert_int_equal(value("latency_time.s_r.count", NULL)->u64, 4);
	assert_int_equal(value("latency_time.s_r.sum", NULL)->u64, 900);
	assert_int_equal(value("session.start_time", NULL)->u64, 1795421981848356306);
	assert_string_equal(value("session.host", NULL)->text, "h \"1\"\n");
	assert_string_equal(value("event.state", "t")->text, "ok");
	assert_int_equal(value("samples.taken", "t:cpu0")->u64, 9);
	assert_int_equal(value("own.cpu", NULL)->u64, 364965000);
}

TEST(descriptions)
{
	assert_int_equal(parse(session), 0);
	expect("software.task_clock", PCP_U64, PCP_COUNTER, PCP_NS);
	expect("misc.process_x.x", PCP_U64, PCP_COUNTER, PCP_COUNT);
	expect("misc.process_mib", PCP_DOUBLE, PCP_COUNTER, PCP_MEBIBYTES);
	expect("metric.x2_of_ipc", PCP_DOUBLE, PCP_INSTANT, PCP_NONE);
	expect("latency_time.s_r.bucket", PCP_U64, PCP_COUNTER, PCP_COUNT);
	expect("latency_time.s_r.sum", PCP_U64, PCP_COUNTER, PCP_NS);
	expect("session.start_time", PCP_U64, PCP_INSTANT, PCP_NS);
	expect("session.host", PCP_STRING, PCP_DISCRETE, PCP_NONE);
	assert_string_equal(metric("software.task_clock")->help, "Time that \\ it ran.");
	/* things that are alike are of one domain, and so are CPUs */
	assert_int_equal(metric("misc.process_x.x")->indom, metric("misc.process_mib")->indom);
	assert_int_not_equal(metric("misc.process_x.x")->indom, metric("misc.block_x")->indom);
	assert_int_not_equal(metric("misc.process_x.x")->indom,
			     metric("software.task_clock")->indom);
}

/* An archive of one session continues in the next one, whatever that measures besides. */
TEST(identifiers)
{
	uint32_t id, domain, before = 0;
	char text[sizeof(session) + 256];

	assert_int_equal(parse(session), 0);
	for (uint32_t i = 0; i < m.metrics.nr; i++) {
		id = ((struct pcp_metric *)dict_at(&m.metrics, i))->id;
		assert_true(id >= PCP_FIRST_ID && id < 1u << PCP_ID_BITS);
	}
	id = metric("misc.block_x")->id;
	domain = ((struct pcp_indom *)dict_at(&m.indoms, metric("misc.block_x")->indom))->id;
	for (uint32_t i = 0; i < m.instances.nr; i++)
		before += ((struct pcp_instance *)dict_at(&m.instances, i))->id == 7;
	assert_int_equal(before, 1);
	snprintf(text, sizeof(text),
		 "# TYPE cpuperf_session_x counter\ncpuperf_session_x_total 1\n%s", session);
	assert_int_equal(parse(text), 0);
	assert_int_equal(metric("misc.block_x")->id, id);
	assert_int_equal(
	    ((struct pcp_indom *)dict_at(&m.indoms, metric("misc.block_x")->indom))->id, domain);
	/* but no number is read as what it is not */
	assert_int_equal(parse("# TYPE cpuperf_session_x gauge\ncpuperf_session_x 1\n# EOF\n"), 0);
	id = metric("session.x")->id;
	assert_int_equal(parse("# TYPE cpuperf_session_x gauge\ncpuperf_session_x 1.5\n# EOF\n"),
			 0);
	assert_int_not_equal(metric("session.x")->id, id);
}

#define FAMILY "# TYPE cpuperf_session_x counter\n"

TEST(refused)
{
	static const char *const texts[] = {"",
					    "# EOF\n",
					    FAMILY "cpuperf_session_x_total 1\n",
					    FAMILY "# EOF\n",
					    "cpuperf_session_x_total 1\n# EOF\n",
					    FAMILY "cpuperf_session_y_total 1\n# EOF\n",
					    FAMILY "cpuperf_session_x_total\n# EOF\n",
					    FAMILY "cpuperf_session_x_total{a=\"b} 1\n# EOF\n",
					    FAMILY "cpuperf_session_x_total{a=\"b\"1\n# EOF\n",
					    FAMILY "cpuperf_session_x_total{a=\"b\"}1\n# EOF\n",
					    FAMILY "cpuperf_session_x_total{a=b} 1\n# EOF\n",
					    FAMILY "# HELP cpuperf_session_y text\n# EOF\n",
					    "# TYPE cpuperf_x summary\n# EOF\n",
					    "# TYPE cpuperf_x\n# EOF\n",
					    FAMILY "cpuperf_session_x_total 1\n# EOF\nmore\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (parse(texts[i]) != -EINVAL)
			fail_msg("accepted: %s", texts[i]);
	pcp_metrics_fini(&m);
	assert_int_equal(pcp_metrics_parse(&m, "# EO\0F\n", 7), -EINVAL);
	assert_int_equal(parse(FAMILY "cpuperf_session_x_total 1\n# EOF\n"), 0);
}

/* Lines that no metric can have are counted. */
TEST(skipped)
{
	assert_int_equal(
	    parse("# TYPE cpuperf_session_a counter\n"
		  "cpuperf_session_a_total 18446744073709551616\n"
		  "# TYPE cpuperf_session_b counter\n"
		  "cpuperf_session_b_total 1\ncpuperf_session_b_total 2\n"
		  "# TYPE cpuperf_session_c counter\n"
		  "cpuperf_session_c_total 1\ncpuperf_session_c_total{cpu=\"0\"} 2\n"
		  "# TYPE cpuperf_session_d counter\n"
		  "cpuperf_session_d_total{cpu=\"1\"} x\n# TYPE cpuperf_session_e counter\n"
		  "cpuperf_session_e_total{e=\"\"} 1\n"
		  "# EOF\n"),
	    0);
	assert_int_equal(m.nr_skipped, 5);
	assert_null(value("session.a", NULL));
	assert_int_equal(value("session.b", NULL)->u64, 1);
	assert_int_equal(value("session.c", NULL)->u64, 1);
}

/* A name ends in no dot, and two families of one beginning have two names. */
TEST(names_of_others)
{
	assert_int_equal(parse("# TYPE cpuperf_session_seconds gauge\n"
			       "# UNIT cpuperf_session_seconds seconds\n"
			       "cpuperf_session_seconds 1\n"
			       "# TYPE cpuperf_push_ gauge\ncpuperf_push_ 2\n"
			       "# TYPE cpuperf_max_own_cpu_ratio gauge\n"
			       "# UNIT cpuperf_max_own_cpu_ratio ratio\n"
			       "cpuperf_max_own_cpu_ratio 0.005\n"
			       "# TYPE cpuperf_rate_divisor gauge\ncpuperf_rate_divisor 4\n"
			       "# TYPE else gauge\nelse 3\n# EOF\n"),
			 0);
	assert_int_equal(m.nr_skipped, 0);
	assert_int_equal(value("session", NULL)->u64, 1000000000);
	assert_int_equal(value("push.x", NULL)->u64, 2);
	assert_float_equal(value("own.max_cpu", NULL)->real, 0.005, 1e-12);
	assert_int_equal(value("own.rate_divisor", NULL)->u64, 4);
	assert_int_equal(value("other.else", NULL)->u64, 3);
}

/* Lines that fill every table: what was there before remains, and no line costs more than another.
 */
TEST(limits)
{
	enum { NR = 9000, MAX = 4096 };
	struct buf text;

	buf_init(&text, 64 << 20);
	buf_adds(&text, FAMILY "# TYPE cpuperf_event info\n");
	for (int i = 0; i < NR; i++)
		buf_printf(&text,
			   "cpuperf_event_info{event=\"e%d\",group=\"g\",name=\"n%d\","
			   "metric_family=\"cpuperf_g_n%d\"} 1\n",
			   i, i, i);
	for (int i = 0; i < NR; i++)
		buf_printf(&text,
			   "# TYPE cpuperf_g_n0 gauge\n"
			   "cpuperf_g_n0{event=\"e0\",l%d=\"x\"} 1\n",
			   i);
	buf_adds(&text,
		 "# TYPE cpuperf_g_n1 gauge\ncpuperf_g_n1{event=\"e1\",new=\"x\"} 1\n# EOF\n");
	assert_int_equal(parse(buf_str(&text)), 0);
	assert_true(m.events.nr <= MAX && m.indoms.nr <= MAX && m.metrics.nr <= MAX);
	assert_true(m.nr_skipped > NR && m.events.nr == MAX && m.indoms.nr == MAX);
	assert_int_equal(value("g.n0", "x")->u64, 1);
	buf_fini(&text);
}

/* 40 letters, of which each is a or c: those whose checksum is that of all a. crc32c is linear, so
 * they are the solutions of 32 equations. Returns how many of them are in bit. */
static unsigned find_twins(uint64_t bit[40])
{
	uint32_t pivot[40], base;
	uint64_t of[40];
	unsigned nr = 0, nr_pivots = 0;
	char name[41];

	memset(name, 'a', 40);
	base = crc32c(0, name, 40);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t letters = 1ull << i;
		uint32_t change;

		name[i] = 'c';
		change = crc32c(0, name, 40) ^ base;
		name[i] = 'a';
		for (unsigned k = 0; k < nr_pivots; k++)
			if ((change ^ pivot[k]) < change) {
				change ^= pivot[k];
				letters ^= of[k];
			}
		if (!change) {
			bit[nr++] = letters;
			continue;
		}
		pivot[nr_pivots] = change;
		of[nr_pivots++] = letters;
	}
	return nr;
}

/* Names that are made to have one hash: each is looked for a bounded number of times. */
TEST(twins)
{
	enum { TRIES = 64 };
	uint64_t bit[40];
	unsigned nr = find_twins(bit), nr_names;
	struct buf text;

	assert_true(nr >= 8);
	nr_names = 1u << nr;
	buf_init(&text, 1 << 20);
	buf_adds(&text, "# TYPE cpuperf_x gauge\n");
	for (unsigned i = 0; i < nr_names; i++) {
		uint64_t letters = 0;

		for (unsigned k = 0; k < nr; k++)
			letters ^= i >> k & 1 ? bit[k] : 0;
		buf_adds(&text, "cpuperf_x{x=\"");
		for (unsigned k = 0; k < 40; k++)
			buf_addc(&text, letters >> k & 1 ? 'c' : 'a');
		buf_adds(&text, "\"} 1\n");
	}
	buf_adds(&text, "# EOF\n");
	assert_int_equal(parse(buf_str(&text)), 0);
	assert_int_equal(m.instances.nr, TRIES);
	assert_int_equal(m.nr_skipped, nr_names - TRIES);
	buf_fini(&text);
}

/* A label whose name is too long for a metric's. */
TEST(long_names)
{
	struct buf text;

	buf_init(&text, 1 << 20);
	buf_adds(&text, "# TYPE cpuperf_session info\ncpuperf_session_info{");
	buf_fill(&text, 'a', 5000);
	buf_adds(&text, "=\"1\",host=\"h\"} 1\n# EOF\n");
	assert_int_equal(parse(buf_str(&text)), 0);
	assert_int_equal(m.nr_skipped, 1);
	assert_string_equal(value("session.host", NULL)->text, "h");
	buf_fini(&text);
}

/* Names of processes are whatever they have chosen; a client prints them. */
TEST(disarmed)
{
	assert_int_equal(
	    parse("# TYPE cpuperf_misc_process_x counter\n"
		  "cpuperf_misc_process_x_total{event=\"x\",pid=\"1\",comm=\"\x1b[m\\n\xff\"} 1\n"
		  "# TYPE cpuperf_event info\n"
		  "cpuperf_event_info{event=\"x\",group=\"misc\",name=\"process_x\","
		  "metric_family=\"cpuperf_misc_process_x\"} 1\n# EOF\n"),
	    0);
	assert_int_equal(value("misc.process_x", "1 ?[m??")->u64, 1);
}

static int parse_once(void *text)
{
	int rc = parse(text);

	pcp_metrics_fini(&m);
	m = (struct pcp_metrics){0};
	return rc;
}

TEST(no_memory)
{
	inject_every(parse_once, (void *)(uintptr_t)session, 20, 0);
}
