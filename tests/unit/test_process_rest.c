/*
 * CPU time that no process's row has: the arithmetic, and a process that comes and goes between two
 * readings of this machine.
 */
#include "kit.h"
#include "test_process.h"
#include "tree.h"

#include "process/rest.h"
#include "things/machine_stat.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000, SLACK_MS = 60 };

/* Steps of one account, in ms: what the machine and the rows used since the one before, and the
 * rest after it. */
TEST(arithmetic)
{
	static const struct {
		uint64_t machine, rows;
		bool is_whole;
		uint64_t rest;
	} steps[] = {
	    {5000, 123, true, 0}, /* what was used before */
	    {100, 40, true, 60},  /* the rest */
	    {100, 100, true, 60}, /* none */
	    {90, 100, true, 60},  /* the rows are ahead: rounding … */
	    {110, 100, true, 60}, /* … that evens out */
	    {100, 99, true, 61},
	    {100, 400, true, 61}, /* the rows are far ahead: but for the slack, dropped */
	    {100, 50, true, 61},
	    {100, 80, true, 71},
	    {100, 0, false, 71}, /* not all rows were read: neither this step … */
	    {100, 0, true, 71},  /* … nor the next is known */
	    {100, 30, true, 141},
	};
	struct process_rest r = {.fd = -1, .slack_ns = SLACK_MS * MS};
	uint64_t machine = 0;

	for (size_t i = 0; i < NR(steps); i++) {
		machine += steps[i].machine * MS;
		process_rest_add(&r, machine, steps[i].rows * MS, steps[i].is_whole);
		if (r.raw_ns != steps[i].rest * MS)
			fail_msg("step %zu: %" PRIu64 " ns", i, r.raw_ns);
	}
}

/* What a row has late was in the rest: over time both add up to the machine's. */
TEST(late)
{
	static const struct {
		uint64_t machine, rows, ended, rest;
	} steps[] = {
	    {5000, 123, 0, 0},    {500, 0, 0, 500}, /* it has ended, and no row has it … */
	    {100, 600, 500, 500},                   /* … but now */
	    {100, 0, 0, 500},     {300, 0, 0, 500},
	    {200, 0, 0, 600},     /* 1,200 in all, less 600 of rows */
	    {100, 400, 400, 600}, /* it came and went: of this all but the slack is dropped */
	    {100, 400, 0, 600},   {400, 0, 0, 700},
	};
	struct process_rest r = {.fd = -1, .slack_ns = SLACK_MS * MS};
	uint64_t machine = 0;

	for (size_t i = 0; i < NR(steps); i++) {
		machine += steps[i].machine * MS;
		process_rest_owe(&r, steps[i].ended * MS);
		process_rest_add(&r, machine, steps[i].rows * MS, true);
		if (r.raw_ns != steps[i].rest * MS)
			fail_msg("step %zu: %" PRIu64 " ns", i, r.raw_ns);
	}
}

/* Of a tree a process that has ended may be in no sum until the next reading; for longer, nobody
 * waits for it. */
TEST(tree_arithmetic)
{
	static const struct {
		int64_t tree;
		uint64_t rows, lost, rest;
	} steps[] = {
	    {900, 40, 0, 0},   {100, 40, 0, 60},     {-400, 10, 0, 60}, /* it has ended … */
	    {440, 10, 0, 80},                                           /* … and was waited for */
	    {-400, 10, 0, 80}, {10, 10, 0, 80},                         /* it was not */
	    {100, 40, 0, 140}, {-300, 10, 310, 140}, {20, 5, 0, 155},
	};
	struct process_rest r;
	uint64_t tree = 0;

	process_rest_open_tree(&r, false);
	for (size_t i = 0; i < NR(steps); i++) {
		tree += (uint64_t)steps[i].tree;
		if (steps[i].lost)
			process_rest_lose(&r, steps[i].lost);
		process_rest_add(&r, tree, steps[i].rows, true);
		if (r.raw_ns != steps[i].rest)
			fail_msg("step %zu: %" PRIu64, i, r.raw_ns);
	}
	assert_int_equal(r.slack_ns, 0);
	process_rest_open_tree(&r, true);
	assert_true(r.slack_ns > 0);
}

/* Of a control group: by its cpu.stat, in us. */
TEST(group)
{
	struct root tree = tree_make();
	struct process_rest r;
	int fd;

	tree_text(&tree, "/cpu.stat", "usage_usec 5000\nuser_usec 4000\nsystem_usec 1000\n");
	fd = root_open(&tree, "/");
	process_rest_open_group(&r, fd);
	assert_true(r.fd >= 0);
	assert_int_equal(process_rest_read(&r, 123, true), 0);
	assert_int_equal(r.raw_ns, 0);
	tree_text(&tree, "/cpu.stat", "usage_usec 95000\n");
	assert_int_equal(process_rest_read(&r, 30 * MS, true), 0);
	assert_int_equal(r.raw_ns, 60 * MS);
	tree_text(&tree, "/cpu.stat", "user_usec 95000\n");
	assert_true(process_rest_read(&r, 0, true) < 0);
	process_rest_close(&r);
	tree_drop(&tree, "/cpu.stat");
	process_rest_open_group(&r, fd);
	assert_int_equal(r.fd, -1);
	close(fd);
	tree_remove(&tree);
}

TEST(line_of_all_cpus)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t ticks;
	} rows[] = {
	    {"cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 1000", 0, 1 + 2 + 4 + 32 + 64},
	    {"cpu  1 2 4 8\n", 0, 7},
	    {"cpu  1 2 4 8", 0, 7},
	    {"cpu0 1 2 4 8 16 32 64\n", -EINVAL, 0},
	    {"cpu  1 2 4\n", -EINVAL, 0},
	    {"cpu", -EINVAL, 0},
	    {"", -EINVAL, 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		uint64_t ticks = 0;

		if (machine_stat_parse_all(rows[i].text, strlen(rows[i].text), &ticks) !=
			rows[i].rc ||
		    ticks != rows[i].ticks)
			fail_msg("row %zu: %" PRIu64, i, ticks);
	}
}

/* ---- this machine */

static const struct root here;

static bool find_rest(const void *state, struct things_one *out)
{
	for (size_t i = 0; i < source->nr(state); i++) {
		source->get(state, i, out);
		if (out->is_rest)
			return true;
	}
	return false;
}

static uint64_t rest_ns(const void *state)
{
	struct things_one t;

	assert_true(find_rest(state, &t));
	assert_string_equal(t.name, "exited and unattributed");
	assert_int_equal(t.has, BIT(PROCESS_CPU_TIME));
	assert_true(t.time_ns);
	return t.values[PROCESS_CPU_TIME];
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A child that uses so much CPU time, and is waited for. */
static void come_and_go(uint64_t ns)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < ns)
			;
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static bool is_of_machine(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
	return st.st_ino == 0xeffffffc;
}

/* All time of all CPUs, also idle and stolen, as the kernel has counted it. */
static uint64_t counted_ns(void)
{
	enum { NR_KINDS = 8 };
	const uint64_t tick_ns = 1000 * (uint64_t)MS / (uint64_t)sysconf(_SC_CLK_TCK);
	char line[512] = "", *at = line + strlen("cpu ");
	FILE *f = fopen("/proc/stat", "re");
	uint64_t ticks = 0;

	assert_true(f && fgets(line, sizeof(line), f));
	fclose(f);
	for (int i = 0; i < NR_KINDS; i++)
		ticks += strtoull(at, &at, 10);
	return ticks * tick_ns;
}

struct counted {
	uint64_t ns, clock_ns;
};

static struct counted count_time(void)
{
	return (struct counted){counted_ns(), clock_ns(CLOCK_MONOTONIC)};
}

/* Whether the kernel counted less than there was since then: it counts time in ticks, and a machine
 * that has no CPU of its host misses some. */
static bool misses_ticks(const struct counted *since)
{
	const struct counted now = count_time();
	const uint64_t nr = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);

	return (now.ns - since->ns) * 100 < (now.clock_ns - since->clock_ns) * nr * 97;
}

/* It is in the rest, and in no row; what stays is not. */
TEST(between_two_readings)
{
	enum { USED_MS = 400, TIMES = 3, TRIES = 15, MOST = 20 };
	struct things_one t;
	unsigned nr = 0, nr_tried = 0;
	void *s = start(&here, NULL, BIT(PROCESS_CPU_TIME));

	read_all(s);
	if (!is_of_machine()) {
		assert_false(find_rest(s, &t));
		source->close(s);
		SKIP("the processes of a container are not those of the machine");
	}
	assert_int_equal(rest_ns(s), 0);
	for (unsigned i = 0; i < MOST && nr_tried < TRIES && nr < TIMES; i++) {
		const struct counted since = count_time();
		uint64_t before = rest_ns(s);
		bool is_there;

		come_and_go((uint64_t)USED_MS * MS);
		read_all(s);
		/* what is missed is less for all that ran; half of it is far beyond others' use */
		is_there = rest_ns(s) - before >= (uint64_t)USED_MS * MS / 2;
		nr += is_there;
		nr_tried += is_there || !misses_ticks(&since);
	}
	source->close(s);
	if (nr < TIMES && nr_tried < TRIES)
		SKIP("this machine misses ticks of its clock");
	assert_int_equal(nr, TIMES);
}

static uint64_t waited_ns(void)
{
	struct rusage used;

	assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 * MS +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

/* What this process's children used, with those between two readings: in a row or in the rest, but
 * for ticks. */
TEST(of_a_tree)
{
	enum { TICKS_MS = 20, NR_CHILDREN = 3, USED_MS = 60 };
	const pid_t self = getpid(), *const ids = &self;
	size_t nr = 1;
	const struct things_tree tree = {.ids = &ids, .nr = &nr, .has_children = true};
	const struct things_choice choice = {.tree = &tree};
	const uint32_t wanted = BIT(PROCESS_CPU_TIME) | BIT(PROCESS_MINOR_FAULTS);
	uint64_t before = waited_ns(), used;
	struct things_one t;
	struct err e = {0};
	pid_t child;
	void *s;

	assert_int_equal(source->open(&here, &choice, wanted, &s, &e), 0);
	read_all(s);
	if (!is_of_machine()) {
		assert_false(find_rest(s, &t));
		source->close(s);
		SKIP("the processes of a container are not those of the machine");
	}
	for (unsigned i = 0; i < NR_CHILDREN; i++)
		come_and_go((uint64_t)USED_MS * MS);
	read_all(s);
	assert_true(find_rest(s, &t));
	assert_int_equal(t.has, wanted);
	used = waited_ns() - before;
	assert_in_range(t.values[PROCESS_CPU_TIME], used - TICKS_MS * MS, used + TICKS_MS * MS);
	assert_true(t.values[PROCESS_MINOR_FAULTS] >= NR_CHILDREN);

	child = fork(); /* one with a row: what it uses after its last reading is in the rest */
	assert_true(child >= 0);
	if (child == 0) {
		while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < (uint64_t)USED_MS * MS)
			;
		raise(SIGSTOP);
		while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < (uint64_t)3 * USED_MS * MS)
			;
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	read_all(s);
	used = value(s, (unsigned)child, PROCESS_CPU_TIME);
	assert_true(used >= (uint64_t)USED_MS * MS);
	kill(child, SIGCONT);
	assert_int_equal(waitpid(child, NULL, 0), child);
	read_all(s);
	used = waited_ns() - before - used;
	assert_true(find_rest(s, &t) && t.is_rest);
	assert_in_range(t.values[PROCESS_CPU_TIME], used - TICKS_MS * MS, used + TICKS_MS * MS);
	source->close(s);
}

/* It is the machine's, so it is no part of chosen processes, or of other values. */
TEST(only_of_all)
{
	static const char *const self[] = {"0", NULL};
	static const char *const names[] = {"name:*", NULL};
	static const char *const all[] = {"all", NULL};
	static const struct {
		const char *const *words;
		uint32_t wanted;
		bool has_rest;
	} rows[] = {
	    {self, BIT(PROCESS_CPU_TIME), false},
	    {names, BIT(PROCESS_CPU_TIME), false},
	    {NULL, BIT(PROCESS_RSS), false},
	    {all, BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RSS), true},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		void *s = start(&here, rows[i].words, rows[i].wanted);
		struct things_one t;

		read_all(s);
		if (find_rest(s, &t) != (rows[i].has_rest && is_of_machine()))
			fail_msg("row %zu", i);
		source->close(s);
	}
}
