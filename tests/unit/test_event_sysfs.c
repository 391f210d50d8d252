/*
 * PMUs as sysfs publishes them: packing by format files, published events, and text that no
 * kernel wrote.
 */
#include "kit.h"

#include "base/buf.h"
#include "event/parts.h"
#include "event/sysfs.h"

#define PMU "/sys/bus/event_source/devices/"

/* A PMU with every shape of format, in a tree of its own. */
static const struct {
	const char *path, *text;
} files[] = {
    {"/sys/devices/system/cpu/online", "0-3\n"},
    {PMU "box/type", "42\n"},
    {PMU "box/cpumask", "0,2\n"},
    {PMU "box/format/event", "config:0-7,32-35\n"},
    {PMU "box/format/umask", "config:8-15\n"},
    {PMU "box/format/edge", "config:18\n"},
    {PMU "box/format/filter", "config1:0-63\n"},
    {PMU "box/format/match", "config2:4-7,0-3\n"},
    {PMU "box/format/high", "config2:60-63\n"},
    {PMU "box/format/third", "config3:0-7\n"},
    {PMU "box/format/nocolon", "config\n"},
    {PMU "box/format/nobits", "config:\n"},
    {PMU "box/format/beyond", "config:60-64\n"},
    {PMU "box/format/backward", "config:7-0\n"},
    {PMU "box/format/comma", "config:0-7,\n"},
    {PMU "box/format/junk", "config:0-7x\n"},
    {PMU "box/format/minus", "config:0--7\n"},
    {PMU "box/format/semicolon", "config:0-7;8-15\n"},
    {PMU "box/format/empty", ""},
    {PMU "box/events/clockticks", "event=0x00\n"},
    {PMU "box/events/Reads", "event=0x04,umask=0x03\n"},
    {PMU "box/events/Reads.scale", "6.103515625e-5\n"},
    {PMU "box/events/Reads.unit", "MiB\n"},
    {PMU "box/events/energy-pkg", "event=0x02\n"},
    {PMU "box/events/energy-pkg.scale", "2.3283064365386962890625e-10\n"},
    {PMU "box/events/energy-pkg.unit", "Joules\n"},
    {PMU "box/events/margin", "event=0x06\n"},
    {PMU "box/events/margin.snapshot", "1\n"},
    {PMU "box/events/margin.per-pkg", "1\n"},
    {PMU "box/events/no-margin", "event=0x06\n"},
    {PMU "box/events/no-margin.snapshot", "0\n"},
    {PMU "box/events/bad-scale", "event=0x06\n"},
    {PMU "box/events/bad-scale.scale", "1,5\n"},
    {PMU "box/events/bad-unit", "event=0x06\n"},
    {PMU "box/events/bad-unit.unit", "a unit of more than thirty-one bytes\n"},
    {PMU "box/events/two words", "event=0x06\n"},
    {PMU "box/events/\033[2J", "event=0x06\n"},
    {PMU "cores/type", "43\n"},
    {PMU "cores/cpus", "1-2\n"},
    {PMU "cores/cpumask", "0\n"},
    {PMU "cores/format/event", "config:0-7\n"},
    {PMU "plain/type", "44\n"},
    {PMU "plain/cpumask", "many\n"},
};

static struct root root;
static struct host host;

HOOK(before_each)
{
	struct err e = {0};

	root = tree_make();
	for (size_t i = 0; i < NR(files); i++)
		tree_put(&root, files[i].path, files[i].text, strlen(files[i].text));
	assert_int_equal(host_load(&root, &host, &e), 0);
}

HOOK(after_each)
{
	host_fini(&host);
	tree_remove(&root);
}

static const struct {
	const char *terms;
	uint64_t config, config1, config2;
} packed[] = {
    {"event=0", 0, 0, 0},
    {"event=0xc0", 0xc0, 0, 0},
    {"event=0XC0", 0xc0, 0, 0},
    {"event=192", 0xc0, 0, 0},
    {"event=0xfff", 0xf000000ff, 0, 0},
    {"event=0x123,umask=0x45", 0x100004523, 0, 0},
    {"umask=0x45,event=0x123", 0x100004523, 0, 0},
    {"edge", 1 << 18, 0, 0},
    {"event=1,edge,umask=2", 1 << 18 | 0x201, 0, 0},
    {"edge=0", 0, 0, 0},
    {"filter=0xffffffffffffffff", 0, UINT64_MAX, 0},
    {"filter=18446744073709551615", 0, UINT64_MAX, 0},
    {"match=0x12", 0, 0, 0x21}, /* the lowest bits go to the first range */
    {"high=0xf", 0, 0, 0xf000000000000000},
    {"match=0xff,high=1", 0, 0, 0x10000000000000ff},
    {"config=0x1c2", 0x1c2, 0, 0},
    {"config1=7,config2=0x8000000000000000,event=1", 1, 7, 0x8000000000000000},
};

TEST(packed)
{
	const struct host_pmu *pmu = host_find_pmu(&host, "box");

	for (size_t i = 0; i < NR(packed); i++) {
		struct event_part p;
		struct err e = {0};

		print_message("%s\n", packed[i].terms);
		memset(&p, 0x55, sizeof(p));
		assert_int_equal(sysfs_encode(&host, pmu, packed[i].terms, &p, &e), 0);
		assert_int_equal(e.code, 0);
		assert_string_equal(p.pmu, "box");
		assert_int_equal(p.type, 42);
		assert_true(p.config == packed[i].config);
		assert_true(p.config1 == packed[i].config1);
		assert_true(p.config2 == packed[i].config2);
		assert_ptr_equal(p.cpus, &pmu->cpus);
	}
}

static const struct {
	const char *terms;
	int code;
	const char *msg, *hint;
} refused[] = {
    {"", -EINVAL, "\"\" is no term of the PMU box", "there are "},
    {"event=1,", -EINVAL, "\"\" is no term", "there are "},
    {"umsk=1", -EINVAL, "\"umsk\" is no term of the PMU box", "did you mean umask? there are "},
    {"event=0x1000", -EINVAL, "event=0x1000 is too large for the PMU box", ""},
    {"edge=2", -EINVAL, "(its format is config:18)", ""},
    {"high=16", -EINVAL, "too large", ""},
    {"event=", -EINVAL, "event=: not a number", ""},
    {"event=0x", -EINVAL, "not a number", ""},
    {"event=0xg", -EINVAL, "not a number", ""},
    {"event=?", -EINVAL, "event=?: not a number", ""},
    {"event=-1", -EINVAL, "not a number", ""},
    {"event= 1", -EINVAL, "not a number", ""},
    {"event=0x 1", -EINVAL, "not a number", ""},
    {"filter=0x10000000000000000", -EINVAL, "not a number of 64 bits", ""},
    {"filter=18446744073709551616", -EINVAL, "not a number of 64 bits", ""},
    {"event=1,event=1", -EINVAL, "the term event appears twice", ""},
    {"event=1,umask=1,event=2", -EINVAL, "the term event appears twice", ""},
    {"third=1", -ENOTSUP, "stores third in config3:0-7", ""},
    {"nocolon=1", -EINVAL, "an unknown format for nocolon: \"config\"", ""},
    {"nobits=1", -EINVAL, "unknown format", ""},
    {"beyond=1", -EINVAL, "unknown format", ""},
    {"backward=1", -EINVAL, "unknown format", ""},
    {"comma=1", -EINVAL, "unknown format", ""},
    {"junk=1", -EINVAL, "unknown format", ""},
    {"minus=1", -EINVAL, "unknown format", ""},
    {"semicolon=1", -EINVAL, "unknown format", ""},
    {"empty=1", -EINVAL, "unknown format", ""},
    {"event/../../type=1", -EINVAL, "is no term", ""},
    {"../type=1", -EINVAL, "is no term", ""},
    {"./event=1", -EINVAL, "is no term", ""},
    {"ev\033[2Jent=1", -EINVAL, "ev?[2Jent", ""},
    {"config3=1", -EINVAL, "\"config3\" is no term", ""},
};

TEST(refused)
{
	const struct host_pmu *pmu = host_find_pmu(&host, "box");

	for (size_t i = 0; i < NR(refused); i++) {
		struct event_part p, before;
		struct err e = {0};

		print_message("%s\n", refused[i].terms);
		memset(&p, 0x55, sizeof(p));
		before = p;
		assert_int_equal(sysfs_encode(&host, pmu, refused[i].terms, &p, &e),
				 refused[i].code);
		assert_memory_equal(&p, &before, sizeof(p));
		assert_int_equal(e.code, refused[i].code);
		if (!strstr(e.msg, refused[i].msg) || !strstr(e.hint, refused[i].hint))
			fail_msg("said %s (%s)", e.msg, e.hint);
	}
	assert_int_equal(sysfs_encode(&host, NULL, "event=1", NULL, NULL), -ENOENT);
}

TEST(too_many_terms)
{
	const struct host_pmu *pmu = host_find_pmu(&host, "box");
	char terms[5000];
	struct event_part p;

	memset(terms, ',', sizeof(terms));
	for (size_t len = 64; len < sizeof(terms); len *= 2) {
		struct err e = {0};

		terms[len] = '\0';
		assert_int_equal(sysfs_encode(&host, pmu, terms, &p, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "more than "));
		terms[len] = ',';
	}
}

/* cpumask, cpus, neither: where a part is to be opened. */
TEST(cpus)
{
	const struct host_pmu *cores = host_find_pmu(&host, "cores");
	const struct host_pmu *plain = host_find_pmu(&host, "plain");
	struct event_part p;
	struct err e = {0};

	assert_true(host_find_pmu(&host, "box")->has_cpumask && cores->is_core);
	assert_int_equal(cpuset_count(&host_find_pmu(&host, "box")->cpus), 2);
	assert_false(cores->has_cpumask || plain->is_core);
	assert_int_equal(sysfs_encode(&host, cores, "event=1", &p, &e), 0);
	assert_ptr_equal(p.cpus, &cores->cpus);
	/* a mask that cannot be read is not every CPU */
	assert_true(plain->has_cpumask);
	assert_int_equal(sysfs_encode(&host, plain, "config=1", &p, &e), 0);
	assert_non_null(p.cpus);
	assert_int_equal(cpuset_count(p.cpus), 0);
	assert_int_equal(sysfs_encode(&host, plain, "event=1", &p, &e), -EINVAL);
	assert_string_equal(e.hint, "there are config, config1 and config2");
}

static const struct {
	const char *asked, *name, *terms, *unit, *problem;
	double scale;
	bool is_snapshot;
} events[] = {
    {"clockticks", "clockticks", "event=0x00", "", NULL, 1, false},
    {"CLOCKticks", "clockticks", "event=0x00", "", NULL, 1, false},
    {"reads", "Reads", "event=0x04,umask=0x03", "MiB", NULL, 1.0 / 16384, false},
    {"energy-pkg", "energy-pkg", "event=0x02", "Joules", NULL, 1.0 / 4294967296, false},
    {"margin", "margin", "event=0x06", "", NULL, 1, true},
    {"no-margin", "no-margin", "event=0x06", "", NULL, 1, false},
    {"bad-scale", "bad-scale", "event=0x06", "", "its scale is not a number", 1, false},
    {"bad-unit", "bad-unit", "event=0x06", "", "its unit cannot be read", 1, false},
    {"Reads.scale", NULL, NULL, NULL, NULL, 0, false},
    {"Reads.UNIT", NULL, NULL, NULL, NULL, 0, false},
    {"margin.snapshot", NULL, NULL, NULL, NULL, 0, false},
    {"margin.per-pkg", NULL, NULL, NULL, NULL, 0, false},
    {"nothing", NULL, NULL, NULL, NULL, 0, false},
    {"", NULL, NULL, NULL, NULL, 0, false},
    {".", NULL, NULL, NULL, NULL, 0, false},
    {"..", NULL, NULL, NULL, NULL, 0, false},
    {"../type", NULL, NULL, NULL, NULL, 0, false},
    {"margin/../../type", NULL, NULL, NULL, NULL, 0, false},
    {"two words", NULL, NULL, NULL, NULL, 0, false},
    {"\033[2J", NULL, NULL, NULL, NULL, 0, false},
};

TEST(find_event)
{
	const struct host_pmu *pmu = host_find_pmu(&host, "box");

	for (size_t i = 0; i < NR(events); i++) {
		struct sysfs_event ev = {.scale = -1};
		int rc = sysfs_find_event(&host, pmu, events[i].asked, &ev);

		print_message("%s\n", events[i].asked);
		if (!events[i].name) {
			assert_int_equal(rc, -ENOENT);
			assert_true(ev.scale < 0);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_string_equal(ev.name, events[i].name);
		assert_string_equal(ev.terms, events[i].terms);
		assert_string_equal(ev.unit, events[i].unit);
		assert_true(!(ev.scale < events[i].scale) && !(ev.scale > events[i].scale));
		assert_int_equal(ev.is_snapshot, events[i].is_snapshot);
		assert_true(!ev.problem == !events[i].problem);
		if (ev.problem)
			assert_string_equal(ev.problem, events[i].problem);
	}
}

static int gather(const struct sysfs_event *ev, void *arg)
{
	struct buf *names = arg;

	buf_printf(names, "%s ", ev->name);
	return strcmp(ev->name, "energy-pkg") == 0 ? -ENOENT : 0;
}

TEST(each_event)
{
	struct buf names;

	buf_init(&names, 1000);
	assert_int_equal(sysfs_each_event(&host, host_find_pmu(&host, "plain"), gather, &names), 0);
	assert_string_equal(buf_str(&names), "");
	/* stopped by fn, with fn's own result */
	assert_int_equal(sysfs_each_event(&host, host_find_pmu(&host, "box"), gather, &names),
			 -ENOENT);
	assert_string_equal(buf_str(&names), "Reads bad-scale bad-unit clockticks energy-pkg ");
	buf_fini(&names);
}

static const struct {
	const char *text;
	double scale; /* 0: refused */
} scales[] = {
    {"1", 1},
    {"1e-3", 1e-3},
    {"0.5", 0.5},
    {"6.10351562e-5", 6.10351562e-5},
    {"1.000000e+03", 1000},
    {"", 0},
    {"0", 0},
    {"-1", 0},
    {"nan", 0},
    {"inf", 0},
    {"0x10", 0},
    {"1 ", 0},
    {"1.5.5", 0},
    {"1e999", 0},
    {"1e", 0},
    {"--", 0},
};

static void expect_scale(const char *text, double scale)
{
	struct sysfs_event ev;

	print_message("\"%s\"\n", text);
	tree_put(&root, PMU "box/events/x", "event=1", 7);
	tree_put(&root, PMU "box/events/x.scale", text, strlen(text));
	assert_int_equal(sysfs_find_event(&host, host_find_pmu(&host, "box"), "x", &ev), 0);
	assert_true(!ev.problem == (scale > 0));
	if (scale > 0)
		assert_true(!(ev.scale < scale) && !(ev.scale > scale));
}

TEST(scales)
{
	for (size_t i = 0; i < NR(scales); i++)
		expect_scale(scales[i].text, scales[i].scale);
}

/* Text of any bytes and any length in each kind of file. */
TEST(hostile)
{
	static const char *const paths[] = {PMU "box/format/event", PMU "box/events/h",
					    PMU "box/events/h.scale", PMU "box/events/h.unit",
					    PMU "box/events/h.snapshot"};
	const struct host_pmu *pmu = host_find_pmu(&host, "box");
	static char text[8192];

	tree_put(&root, PMU "box/events/h", "event=1", 7);
	for (size_t p = 0; p < NR(paths); p++)
		for (int byte = 0; byte < 256; byte += 5)
			for (size_t len = 1; len <= sizeof(text); len *= 8) {
				struct sysfs_event ev;
				struct event_part part;
				struct err e = {0};
				int rc;

				memset(text, byte, len);
				tree_put(&root, paths[p], text, len);
				assert_int_equal(sysfs_find_event(&host, pmu, "h", &ev), 0);
				assert_true(strlen(ev.terms) < sizeof(ev.terms));
				assert_true(strlen(ev.unit) < sizeof(ev.unit));
				rc = sysfs_encode(&host, pmu, ev.terms, &part, &e);
				assert_int_equal(e.code, rc);
			}
}

static int encode_and_find(void *arg)
{
	struct sysfs_event ev;
	struct event_part p;
	struct err e = {0};
	int rc;

	(void)arg;
	rc = sysfs_find_event(&host, host_find_pmu(&host, "box"), "CLOCKTICKS", &ev);
	if (rc == 0 && !ev.problem)
		rc = sysfs_encode(&host, host_find_pmu(&host, "box"), "edge,match=1", &p, &e);
	assert_true(!e.code || e.code == rc);
	e = (struct err){0};
	(void)sysfs_encode(&host, host_find_pmu(&host, "box"), "egde", &p, &e);
	assert_int_equal(e.code ? 1 : 0, 1);
	return rc;
}

TEST(failures)
{
	inject_every(encode_and_find, NULL, 1, 10);
}

/* The kernel opens a common event of ARM that the CPU does not implement, and counts nothing. */
TEST(common_events_of_arm)
{
	static const struct {
		const char *tree, *pmu;
		uint64_t code;
		bool is_lacking;
	} cases[] = {
	    {"arm64-server", "armv8_pmuv3_0", 0x08, false},
	    {"arm64-server", "armv8_pmuv3_0", 0x11, false},
	    {"arm64-server", "armv8_pmuv3_0", 0x04, true}, /* L1D_CACHE */
	    {"arm64-server", "armv8_pmuv3_0", 0x12, true}, /* BR_PRED */
	    {"arm64-server", "armv8_pmuv3_0", 0x30, true},
	    {"arm64-server", "armv8_pmuv3_0", 0x31, false}, /* not published by each kernel */
	    {"arm64-server", "armv8_pmuv3_0", 0xc1, false}, /* the vendor's own */
	    {"arm64-big-little", "armv8_cortex_a53", 0x04, false}, /* publishes nothing */
	    {"amd-server", "cpu", 0x04, false},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct root r = tree_captured(cases[i].tree);
		struct err e = {0};
		struct host h;

		assert_int_equal(host_load(&r, &h, &e), 0);
		assert_non_null(host_find_pmu(&h, cases[i].pmu));
		if (event_armv8_lacks(&h, host_find_pmu(&h, cases[i].pmu), cases[i].code) !=
		    cases[i].is_lacking)
			fail_msg("%s %s 0x%x", cases[i].tree, cases[i].pmu,
				 (unsigned)cases[i].code);
		host_fini(&h);
	}
}
