/*
 * The parsers of /proc text: right values from the text of several kernels, and no crash and
 * nothing senseless from text that no kernel wrote.
 */
#include "inject.h"

#include "base/buf.h"
#include "collect/proc_keyed.h"
#include "collect/proc_stat.h"

enum { NR_CPUS = 4 };

/* One parse of the text, at the very end of an allocation: ASan sees a byte too far. */
struct parsed {
	const struct collect_source *source;
	void *state;
	int rc;
};

static struct parsed parse(const struct collect_source *s, const char *text, size_t len)
{
	char *exact = memcpy(malloc(len + 1), text, len);
	struct parsed p = {.source = s};

	exact = realloc(exact, len ? len : 1);
	p.state = calloc(1, s->state_bytes + NR_CPUS * s->cpu_bytes);
	p.rc = s->parse(exact, len, p.state, NR_CPUS);
	free(exact);
	return p;
}

#define ABSENT UINT64_MAX

static void expect(const struct parsed *p, uint16_t field, uint32_t cpu, uint64_t raw,
		   uint64_t base)
{
	struct collect_value v = {0};
	bool there = p->source->get(p->state, field, cpu, &v);

	assert_int_equal(there, raw != ABSENT);
	if (!there)
		return;
	assert_int_equal(v.raw, raw);
	assert_int_equal(v.base, base);
}

/* For each row: CPU 1's busy, user, system, iowait and all ticks; context switches. */
static const struct {
	const char *what, *text;
	int rc;
	uint64_t busy, user, system, iowait, all, ctxt;
} stats[] = {
    {"today's", "cpu  9 9 9 9\ncpu0 1 1 1 1\ncpu1 1 2 4 8 16 32 64 128 0 0\nintr 5\nctxt 77\n", 0,
     231, 3, 4, 16, 255, 77},
    {"guest and guest_nice are in user and nice", "cpu1 100 50 4 8 16 32 64 128 100 50\n", 0, 378,
     150, 4, 16, 402, ABSENT},
    {"Linux 2.4: four times", "cpu1 1 2 4 8\nctxt 1\n", 0, 7, 3, 4, 0, 15, 1},
    {"2.6.0: seven", "cpu1 1 2 4 8 16 32 64\n", 0, 103, 3, 4, 16, 127, ABSENT},
    {"more than we know", "cpu1 1 2 4 8 16 32 64 128 0 0 5 6 7\n", 0, 231, 3, 4, 16, 255, ABSENT},
    {"no newline at the end", "ctxt 5\ncpu1 1 2 4 8", 0, 7, 3, 4, 0, 15, 5},
    {"offline: no line", "cpu0 1 2 4 8\ncpu2 1 2 4 8\n", 0, ABSENT, ABSENT, ABSENT, ABSENT, 0,
     ABSENT},
    {"a CPU beyond", "cpu4 1 2 4 8\ncpu18446744073709551615 1 2 4 8\n", 0, ABSENT, ABSENT, ABSENT,
     ABSENT, 0, ABSENT},
    {"unknown lines", "cpufreq 1\ncpu_x 1 2\ncpux\nctxtx 8\nfoo\n\n", 0, ABSENT, ABSENT, ABSENT,
     ABSENT, 0, ABSENT},
    {"empty", "", 0, ABSENT, ABSENT, ABSENT, ABSENT, 0, ABSENT},
    {"three times only", "cpu1 1 2 4\n", -EINVAL},
    {"no times", "cpu1\n", -EINVAL},
    {"junk in a time", "cpu1 1 2 4 8x\n", -EINVAL},
    {"negative", "cpu1 1 2 -4 8\n", -EINVAL},
    {"time beyond 64 bits", "cpu1 1 2 4 18446744073709551616\n", -EINVAL},
    {"times whose sum is", "cpu1 18446744073709551615 18446744073709551615 4 8\n", -EINVAL},
    {"CPU beyond 64 bits", "cpu18446744073709551616 1 2 4 8\n", -EINVAL},
    {"switches beyond 64 bits", "ctxt 18446744073709551616\n", -EINVAL},
    {"no switches", "ctxt x\n", -EINVAL},
};

static void test_stat(void **state)
{
	(void)state;
	for (size_t i = 0; i < INJECT_NR(stats); i++) {
		struct parsed p = parse(&proc_stat_source, stats[i].text, strlen(stats[i].text));

		print_message("%s\n", stats[i].what);
		assert_int_equal(p.rc < 0, stats[i].rc < 0);
		if (p.rc == 0) {
			expect(&p, PROC_STAT_UTILIZATION, 1, stats[i].busy, stats[i].all);
			expect(&p, PROC_STAT_USER, 1, stats[i].user, stats[i].all);
			expect(&p, PROC_STAT_SYSTEM, 1, stats[i].system, stats[i].all);
			expect(&p, PROC_STAT_IOWAIT, 1, stats[i].iowait, stats[i].all);
			expect(&p, PROC_STAT_CTXT, 0, stats[i].ctxt, 0);
		}
		free(p.state);
	}
}

/* idle and iowait go back (tickless kernels estimate them): what was busy must not follow. */
static void test_iowait_goes_back(void **state)
{
	static const char *const texts[] = {"cpu0 10 0 5 1000 50 0 0 0\n",
					    "cpu0 11 0 5 1001 48 0 0 0\n"};
	uint64_t busy[2], waited[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct parsed p = parse(&proc_stat_source, texts[i], strlen(texts[i]));
		struct collect_value v;

		assert_true(p.source->get(p.state, PROC_STAT_UTILIZATION, 0, &v));
		busy[i] = v.raw;
		assert_true(p.source->get(p.state, PROC_STAT_IOWAIT, 0, &v));
		waited[i] = v.raw;
		free(p.state);
	}
	assert_int_equal(busy[1] - busy[0], 1);
	assert_int_equal(waited[0], 50); /* raw, as the kernel gave it: nothing is mended here */
	assert_int_equal(waited[1], 48);
}

#define MEM(total, free, buffers, cached)                                                          \
	"MemTotal: " total " kB\nMemFree: " free " kB\nBuffers: " buffers " kB\nCached: " cached   \
	" kB\n"

static const struct {
	const char *what, *text;
	int rc;
	uint64_t used, available;
} meminfos[] = {
    {"in KiB", MEM("1000", "400", "50", "150") "MemAvailable: 700 kB\n", 0, 400 * 1024, 700 * 1024},
    {"before 3.14", MEM("1000", "400", "50", "150"), 0, 400 * 1024, ABSENT},
    {"no Cached", "MemTotal: 5 kB\nMemFree: 1 kB\nBuffers: 1 kB\n", 0, ABSENT, ABSENT},
    {"other keys", "SwapCached: 9 kB\nMemTotals: 9\nMem: 9\nActive(file): 7 kB\n", 0, ABSENT,
     ABSENT},
    {"nothing used", MEM("600", "400", "50", "150"), 0, 0, ABSENT},
    {"less than nothing", MEM("599", "400", "50", "150"), 0, ABSENT, ABSENT},
    {"a sum beyond 64 bits", MEM("9", "18446744073709551615", "1", "5"), 0, ABSENT, ABSENT},
    {"bytes beyond 64 bits",
     MEM("18014398509481984", "0", "0", "0") "MemAvailable: "
					     "18014398509481984 kB\n",
     0, ABSENT, ABSENT},
    {"the most", MEM("18014398509481983", "0", "0", "0"), 0, UINT64_MAX - 1023, ABSENT},
    {"without unit or newline", "MemAvailable: 7", 0, ABSENT, 7 * 1024},
    {"empty", "", 0, ABSENT, ABSENT},
    {"no number", "MemTotal: kB\n", -EINVAL, 0, 0},
    {"no colon, no number", "MemTotal", -EINVAL, 0, 0},
    {"number beyond 64 bits", "MemFree: 18446744073709551616 kB\n", -ERANGE, 0, 0},
};

static void test_meminfo(void **state)
{
	(void)state;
	for (size_t i = 0; i < INJECT_NR(meminfos); i++) {
		const char *text = meminfos[i].text;
		struct parsed p = parse(&proc_meminfo_source, text, strlen(text));

		print_message("%s\n", meminfos[i].what);
		assert_int_equal(p.rc, meminfos[i].rc);
		if (p.rc == 0) {
			expect(&p, PROC_MEMINFO_USED, 0, meminfos[i].used, 0);
			expect(&p, PROC_MEMINFO_AVAILABLE, 0, meminfos[i].available, 0);
		}
		free(p.state);
	}
}

static void test_vmstat(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t faults;
	} rows[] = {
	    {"nr_free_pages 5\npgfault 1234\npgmajfault 9\n", 0, 1234},
	    {"pgfault 18446744073709551615\n", 0, UINT64_MAX - 0},
	    {"pgfaults 3\npgmajfault 9\n", 0, ABSENT},
	    {"pgfault\n", -EINVAL, 0},
	    {"pgfault 18446744073709551616\n", -ERANGE, 0},
	};

	(void)state;
	for (size_t i = 0; i < INJECT_NR(rows); i++) {
		struct parsed p = parse(&proc_vmstat_source, rows[i].text, strlen(rows[i].text));
		struct collect_value v = {0};

		assert_int_equal(p.rc, rows[i].rc);
		if (p.rc == 0 && i != 1)
			expect(&p, PROC_VMSTAT_PGFAULT, 0, rows[i].faults, 0);
		else if (p.rc == 0)
			assert_true(p.source->get(p.state, PROC_VMSTAT_PGFAULT, 0, &v) &&
				    v.raw == UINT64_MAX);
		free(p.state);
	}
}

static const struct {
	const struct collect_source *source;
	uint16_t nr_fields;
	uint32_t nr_cpus;
} all[] = {
    {&proc_stat_source, PROC_STAT_CTXT + 1, NR_CPUS},
    {&proc_meminfo_source, PROC_MEMINFO_AVAILABLE + 1, 1},
    {&proc_vmstat_source, PROC_VMSTAT_PGFAULT + 1, 1},
};

/* Whatever the text: 0 or an error, and of a share the part is no more than the whole. */
static void try_text(size_t which, const char *text, size_t len)
{
	struct parsed p = parse(all[which].source, text, len);

	assert_true(p.rc == 0 || p.rc == -EINVAL || p.rc == -ERANGE);
	for (uint16_t field = 0; field < all[which].nr_fields; field++)
		for (uint32_t cpu = 0; cpu < all[which].nr_cpus; cpu++) {
			struct collect_value v = {0};

			if (p.source->get(p.state, field, cpu, &v))
				assert_true(!v.base || v.raw <= v.base);
		}
	free(p.state);
}

static void load(const char *tree, const char *path, struct buf *out)
{
	struct root r = tree_captured(tree);

	buf_init(out, 1 << 20);
	assert_int_equal(root_load(&r, path, out), 0);
}

/* Captured text, cut at every byte, and every byte replaced by some that matter. */
static void test_damaged(void **state)
{
	static const char others[] = "\0\n :-9x\xff";

	(void)state;
	for (size_t i = 0; i < INJECT_NR(all); i++) {
		struct buf b;

		load("linux-4.14", all[i].source->path, &b);
		for (size_t at = 0; at < b.len; at++) {
			char was = b.data[at];

			try_text(i, b.data, at);
			try_text(i, b.data + at, b.len - at);
			for (size_t k = 0; k < sizeof(others) - 1; k++) {
				b.data[at] = others[k];
				try_text(i, b.data, b.len);
			}
			b.data[at] = was;
		}
		buf_fini(&b);
	}
}

/* Random text from the words of the format. */
static void test_random(void **state)
{
	static const char *const words[] = {"cpu",
					    "cpu0",
					    "cpu1",
					    "cpu3",
					    "cpu4",
					    "ctxt",
					    " ",
					    " ",
					    " ",
					    "\n",
					    "\n",
					    ":",
					    "0",
					    "17",
					    "18446744073709551615",
					    "9999999999999999999",
					    "MemTotal",
					    "MemFree",
					    "Buffers",
					    "Cached",
					    "MemAvailable",
					    "pgfault",
					    "kB",
					    "-",
					    "\xff"};

	struct buf text;

	(void)state;
	buf_init(&text, 10000);
	srand(3);
	for (int n = 0; n < 20000; n++) {
		buf_reset(&text);
		for (int k = rand() % 15; k >= 0; k--)
			buf_adds(&text, words[(size_t)rand() % INJECT_NR(words)]);
		try_text((size_t)n % INJECT_NR(all), text.data, text.len);
	}
	buf_fini(&text);
}

/* The field's numbers of a real machine, once by hand. */
static void test_captured(void **state)
{
	struct parsed p;
	struct buf b;

	(void)state;
	load("linux-4.14", "/proc/stat", &b);
	p = parse(&proc_stat_source, b.data, b.len);
	assert_int_equal(p.rc, 0);
	expect(&p, PROC_STAT_UTILIZATION, 0, 1393280 + 32966 + 572056 + 17875,
	       1393280 + 32966 + 572056 + 17875 + 13343292 + 6130);
	expect(&p, PROC_STAT_USER, 3, 2910221 + 86364,
	       2910221 + 86364 + 837109 + 2440 + 11151750 + 3520);
	expect(&p, PROC_STAT_CTXT, 0, 1990473213, 0);
	free(p.state);
	buf_fini(&b);
	load("linux-4.14", "/proc/meminfo", &b);
	p = parse(&proc_meminfo_source, b.data, b.len);
	expect(&p, PROC_MEMINFO_USED, 0, (8057104ull - 615040 - 302212 - 3650112) * 1024, 0);
	expect(&p, PROC_MEMINFO_AVAILABLE, 0, 4203312ull * 1024, 0);
	free(p.state);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stat),     cmocka_unit_test(test_iowait_goes_back),
	    cmocka_unit_test(test_meminfo),  cmocka_unit_test(test_vmstat),
	    cmocka_unit_test(test_damaged),  cmocka_unit_test(test_random),
	    cmocka_unit_test(test_captured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
