/*
 * The parsers of /proc text: right values from the text of several kernels, and no crash and
 * nothing senseless from text that no kernel wrote.
 */
#include "kit.h"

#include "base/buf.h"
#include "collect/machine_keyed.h"
#include "collect/machine_pressure.h"
#include "things/machine_stat.h"

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

TEST(stat)
{
	for (size_t i = 0; i < NR(stats); i++) {
		struct parsed p = parse(&machine_stat_source, stats[i].text, strlen(stats[i].text));

		print_message("%s\n", stats[i].what);
		assert_int_equal(p.rc < 0, stats[i].rc < 0);
		if (p.rc == 0) {
			expect(&p, MACHINE_STAT_UTILIZATION, 1, stats[i].busy, stats[i].all);
			expect(&p, MACHINE_STAT_USER, 1, stats[i].user, stats[i].all);
			expect(&p, MACHINE_STAT_SYSTEM, 1, stats[i].system, stats[i].all);
			expect(&p, MACHINE_STAT_IOWAIT, 1, stats[i].iowait, stats[i].all);
			expect(&p, MACHINE_STAT_CTXT, 0, stats[i].ctxt, 0);
		}
		free(p.state);
	}
}

/* The shares of CPU 1; guest time is in user and nice, and in no share twice. */
TEST(shares)
{
	static const char text[] = "cpu  9 9 9 9\ncpu1 1000 200 4 8 16 32 64 128 900 100\n";
	static const struct {
		enum machine_stat_field field;
		uint64_t ticks;
	} rows[] = {
	    {MACHINE_STAT_USER, 1200},  {MACHINE_STAT_NICE, 200},  {MACHINE_STAT_SYSTEM, 4},
	    {MACHINE_STAT_IDLE, 8},     {MACHINE_STAT_IOWAIT, 16}, {MACHINE_STAT_IRQ, 32},
	    {MACHINE_STAT_SOFTIRQ, 64}, {MACHINE_STAT_STEAL, 128},
	};
	struct parsed p = parse(&machine_stat_source, text, strlen(text));
	uint64_t sum = 0;

	assert_int_equal(p.rc, 0);
	for (size_t i = 0; i < NR(rows); i++) {
		expect(&p, rows[i].field, 1, rows[i].ticks, 1452);
		expect(&p, rows[i].field, 0, ABSENT, 0);
		sum += rows[i].field == MACHINE_STAT_NICE ? 0 : rows[i].ticks;
	}
	assert_int_equal(sum, 1452); /* all time, each tick once */
	expect(&p, MACHINE_STAT_UTILIZATION, 1, 1452 - 8 - 16, 1452);
	free(p.state);
}

static const struct {
	const char *text;
	int rc;
	uint64_t ctxt, processes, running, blocked;
} machines[] = {
    {"ctxt 1\nbtime 5\nprocesses 2\nprocs_running 3\nprocs_blocked 4\nsoftirq 9 9\n", 0, 1, 2, 3,
     4},
    {"procs_blocked 0\nprocs_running 1", 0, ABSENT, ABSENT, 1, 0},
    {"process 2\nprocessesx 2\nprocs_runnin 3\nprocs 4\n", 0, ABSENT, ABSENT, ABSENT, ABSENT},
    {"processes \n", -EINVAL, 0, 0, 0, 0},
    {"procs_running -1\n", -EINVAL, 0, 0, 0, 0},
    {"procs_blocked 18446744073709551616\n", -ERANGE, 0, 0, 0, 0},
};

TEST(machine)
{
	for (size_t i = 0; i < NR(machines); i++) {
		const char *text = machines[i].text;
		struct parsed p = parse(&machine_stat_source, text, strlen(text));

		print_message("%s\n", text);
		assert_int_equal(p.rc, machines[i].rc);
		if (p.rc == 0) {
			expect(&p, MACHINE_STAT_CTXT, 0, machines[i].ctxt, 0);
			expect(&p, MACHINE_STAT_PROCESSES, 0, machines[i].processes, 0);
			expect(&p, MACHINE_STAT_PROCS_RUNNING, 0, machines[i].running, 0);
			expect(&p, MACHINE_STAT_PROCS_BLOCKED, 0, machines[i].blocked, 0);
		}
		free(p.state);
	}
}

/* idle and iowait go back (tickless kernels estimate them): what was busy must not follow. */
TEST(iowait_goes_back)
{
	static const char *const texts[] = {"cpu0 10 0 5 1000 50 0 0 0\n",
					    "cpu0 11 0 5 1001 48 0 0 0\n"};
	uint64_t busy[2], waited[2];

	for (int i = 0; i < 2; i++) {
		struct parsed p = parse(&machine_stat_source, texts[i], strlen(texts[i]));
		struct collect_value v;

		assert_true(p.source->get(p.state, MACHINE_STAT_UTILIZATION, 0, &v));
		busy[i] = v.raw;
		assert_true(p.source->get(p.state, MACHINE_STAT_IOWAIT, 0, &v));
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

TEST(meminfo)
{
	for (size_t i = 0; i < NR(meminfos); i++) {
		const char *text = meminfos[i].text;
		struct parsed p = parse(&machine_meminfo_source, text, strlen(text));

		print_message("%s\n", meminfos[i].what);
		assert_int_equal(p.rc, meminfos[i].rc);
		if (p.rc == 0) {
			expect(&p, MACHINE_MEMINFO_USED, 0, meminfos[i].used, 0);
			expect(&p, MACHINE_MEMINFO_AVAILABLE, 0, meminfos[i].available, 0);
		}
		free(p.state);
	}
}

/* Fields of one value each; KiB of the file are bytes. */
TEST(meminfo_fields)
{
	static const char text[] =
	    "MemTotal: 1000 kB\nMemFree: 400 kB\nBuffers: 50 kB\nCached: 150 kB\n"
	    "SwapCached: 7 kB\nSwapTotal: 90 kB\nSwapFree: 30 kB\nDirty: 5 kB\nShmem: 11 kB\n";
	static const struct {
		const char *text;
		uint64_t values[MACHINE_MEMINFO_SWAP_TOTAL + 1];
	} rows[] = {
	    {text,
	     {[MACHINE_MEMINFO_USED] = 400,
	      [MACHINE_MEMINFO_AVAILABLE] = ABSENT,
	      [MACHINE_MEMINFO_TOTAL] = 1000,
	      [MACHINE_MEMINFO_FREE] = 400,
	      [MACHINE_MEMINFO_BUFFERS] = 50,
	      [MACHINE_MEMINFO_CACHED] = 150,
	      [MACHINE_MEMINFO_DIRTY] = 5,
	      [MACHINE_MEMINFO_SWAP_USED] = 60,
	      [MACHINE_MEMINFO_UNAVAILABLE] = ABSENT,
	      [MACHINE_MEMINFO_SHARED] = 11,
	      [MACHINE_MEMINFO_SWAP_TOTAL] = 90}},
	    {"MemTotal: 1000 kB\nMemAvailable: 700 kB\n",
	     {ABSENT, 700, 1000, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, 300, ABSENT, ABSENT}},
	    {"MemFree: 3 kB\nSwapTotal: 9 kB\nSwapFree: 9 kB\n",
	     {ABSENT, ABSENT, ABSENT, 3, ABSENT, ABSENT, ABSENT, 0, ABSENT, ABSENT, 9}},
	    {"SwapTotal: 9 kB\nSwapFree: 10 kB\n",
	     {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, 9}},
	    {"SwapTotal: 9 kB\n",
	     {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, 9}},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct parsed p =
		    parse(&machine_meminfo_source, rows[i].text, strlen(rows[i].text));

		for (size_t f = 0; f < NR(rows[i].values); f++) {
			uint64_t kib = rows[i].values[f];

			expect(&p, (uint16_t)f, 0, kib == ABSENT ? ABSENT : kib * 1024, 0);
		}
		free(p.state);
	}
}

TEST(vmstat)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t values[MACHINE_VMSTAT_PSWPOUT + 1];
	} rows[] = {
	    {"nr_free_pages 5\npgpgin 3\npgpgout 4\npswpin 5\npswpout 6\npgfault 1234\n"
	     "pgmajfault 9\nfoo x\n",
	     0,
	     {[MACHINE_VMSTAT_PGFAULT] = 1234,
	      [MACHINE_VMSTAT_PGMAJFAULT] = 9,
	      [MACHINE_VMSTAT_PGPGIN] = 3,
	      [MACHINE_VMSTAT_PGPGOUT] = 4,
	      [MACHINE_VMSTAT_PSWPIN] = 5,
	      [MACHINE_VMSTAT_PSWPOUT] = 6}},
	    {"pgfault 18446744073709551614\n",
	     0,
	     {ABSENT - 1, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT}},
	    {"pgfaults 3\npgmajfault 9\npgpgi 1\npgpginn 1\n",
	     0,
	     {ABSENT, 9, ABSENT, ABSENT, ABSENT, ABSENT}},
	    {"pgfault\n", -EINVAL, {0}},
	    {"pswpout -1\n", -EINVAL, {0}},
	    {"pgfault 18446744073709551616\n", -ERANGE, {0}},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct parsed p = parse(&machine_vmstat_source, rows[i].text, strlen(rows[i].text));

		assert_int_equal(p.rc, rows[i].rc);
		for (size_t f = 0; p.rc == 0 && f < NR(rows[i].values); f++)
			expect(&p, (uint16_t)f, 0, rows[i].values[f], 0);
		free(p.state);
	}
}

TEST(pressure)
{
	static const struct {
		const char *what, *text;
		int rc;
		uint64_t some, full;
	} rows[] = {
	    {"today's",
	     "some avg10=13.61 avg60=15.07 avg300=6.72 total=1671568976\n"
	     "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
	     0, 1671568976, 12},
	    {"of a CPU before 5.13", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", 0, 7,
	     ABSENT},
	    {"full only, as of interrupts", "full avg10=0.00 total=7", 0, ABSENT, 7},
	    {"other lines", "any avg10=0 total=x\nsomething total=1\n", 0, ABSENT, ABSENT},
	    {"empty", "", 0, ABSENT, ABSENT},
	    {"no total", "some avg10=0.00\n", -EINVAL, 0, 0},
	    {"the total of another line", "some avg10=0.00\nfull total=1\n", -EINVAL, 0, 0},
	    {"no number", "full total=\n", -EINVAL, 0, 0},
	    {"junk behind it", "some total=1x\n", -EINVAL, 0, 0},
	    {"more behind it", "some total=1 b=2\n", -EINVAL, 0, 0},
	    {"beyond 64 bits", "some total=18446744073709551616\n", -ERANGE, 0, 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		const struct collect_source *const sources[] = {&machine_pressure_cpu_source,
								&machine_pressure_memory_source,
								&machine_pressure_io_source};
		struct parsed p = parse(sources[i % 3], rows[i].text, strlen(rows[i].text));

		print_message("%s\n", rows[i].what);
		assert_int_equal(p.rc, rows[i].rc);
		if (p.rc == 0) {
			expect(&p, MACHINE_PRESSURE_SOME, 0, rows[i].some, 0);
			expect(&p, MACHINE_PRESSURE_FULL, 0, rows[i].full, 0);
		}
		free(p.state);
	}
	assert_string_equal(machine_pressure_cpu_source.path, "/proc/pressure/cpu");
	assert_string_equal(machine_pressure_memory_source.path, "/proc/pressure/memory");
	assert_string_equal(machine_pressure_io_source.path, "/proc/pressure/io");
}

static const struct {
	const struct collect_source *source;
	uint16_t nr_fields;
	uint32_t nr_cpus;
	const char *tree;
} all[] = {
    {&machine_stat_source, MACHINE_STAT_PROCS_BLOCKED + 1, NR_CPUS, "linux-4.14"},
    {&machine_meminfo_source, MACHINE_MEMINFO_SWAP_TOTAL + 1, 1, "linux-4.14"},
    {&machine_vmstat_source, MACHINE_VMSTAT_PSWPOUT + 1, 1, "linux-4.14"},
    {&machine_pressure_io_source, MACHINE_PRESSURE_FULL + 1, 1, "arm64-vm"},
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
TEST(damaged)
{
	static const char others[] = "\0\n :-9x\xff";

	for (size_t i = 0; i < NR(all); i++) {
		struct buf b;

		load(all[i].tree, all[i].source->path, &b);
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
TEST(random)
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
					    "SwapTotal",
					    "SwapFree",
					    "pswpout",
					    "procs_running",
					    "some",
					    "full",
					    "total=",
					    ".00",
					    "kB",
					    "-",
					    "\xff"};

	struct buf text;

	buf_init(&text, 10000);
	srand(3);
	for (int n = 0; n < 20000; n++) {
		buf_reset(&text);
		for (int k = rand() % 15; k >= 0; k--)
			buf_adds(&text, words[(size_t)rand() % NR(words)]);
		try_text((size_t)n % NR(all), text.data, text.len);
	}
	buf_fini(&text);
}

/* The field's numbers of a real machine, once by hand. */
TEST(captured)
{
	struct parsed p;
	struct buf b;

	load("linux-4.14", "/proc/stat", &b);
	p = parse(&machine_stat_source, b.data, b.len);
	assert_int_equal(p.rc, 0);
	expect(&p, MACHINE_STAT_UTILIZATION, 0, 1393280 + 32966 + 572056 + 17875,
	       1393280 + 32966 + 572056 + 17875 + 13343292 + 6130);
	expect(&p, MACHINE_STAT_USER, 3, 2910221 + 86364,
	       2910221 + 86364 + 837109 + 2440 + 11151750 + 3520);
	expect(&p, MACHINE_STAT_CTXT, 0, 1990473213, 0);
	expect(&p, MACHINE_STAT_PROCESSES, 0, 1337001, 0);
	expect(&p, MACHINE_STAT_PROCS_RUNNING, 0, 1, 0);
	expect(&p, MACHINE_STAT_PROCS_BLOCKED, 0, 0, 0);
	free(p.state);
	buf_fini(&b);
	load("linux-4.14", "/proc/meminfo", &b);
	p = parse(&machine_meminfo_source, b.data, b.len);
	expect(&p, MACHINE_MEMINFO_USED, 0, (8057104ull - 615040 - 302212 - 3650112) * 1024, 0);
	expect(&p, MACHINE_MEMINFO_AVAILABLE, 0, 4203312ull * 1024, 0);
	expect(&p, MACHINE_MEMINFO_SWAP_USED, 0, (8265724ull - 8011004) * 1024, 0);
	free(p.state);
	buf_fini(&b);
}

/* A line for each of 256 CPUs, interrupts of a kilobyte: each CPU has its own. */
TEST(big)
{
	enum { NR = 256 };
	struct collect_value v;
	struct buf b;
	uint64_t *s;

	load("server-256", "/proc/stat", &b);
	s = calloc(1, machine_stat_source.state_bytes + NR * machine_stat_source.cpu_bytes);
	assert_int_equal(machine_stat_source.parse(b.data, b.len, s, NR), 0);
	for (uint32_t cpu = 0; cpu < NR; cpu++) {
		char name[16];
		const char *line;

		snprintf(name, sizeof(name), "\ncpu%u ", cpu);
		line = strstr(b.data, name) + strlen(name);
		assert_true(machine_stat_source.get(s, MACHINE_STAT_USER, cpu, &v));
		assert_int_equal(v.raw,
				 strtoull(line, NULL, 10) + strtoull(strchr(line, ' '), NULL, 10));
	}
	assert_true(machine_stat_source.get(s, MACHINE_STAT_PROCS_RUNNING, 0, &v) && v.raw == 97);
	free(s);
	buf_fini(&b);
}
