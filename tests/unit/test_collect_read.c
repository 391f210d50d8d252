/*
 * Collectors over captured trees: every misc row yields its value, CPUs that are away have none,
 * files that cannot be read say so; and every failure in turn.
 */
#include "kit.h"

#include "collect/collect.h"

enum { MAX_EVENTS = 256 };

/* All rows of misc, opened in a tree. */
struct session {
	struct event events[MAX_EVENTS];
	int states[MAX_EVENTS];
	size_t nr;
	struct collect *c;
};

static void all_rows(struct session *s)
{
	s->c = NULL;
	s->nr = collect_misc_group.nr_rows;
	assert_true(s->nr <= MAX_EVENTS);
	for (size_t i = 0; i < s->nr; i++)
		s->events[i] = (struct event){&collect_misc_group, &collect_misc_group.rows[i]};
}

static void start(struct session *s, const struct root *r)
{
	all_rows(s);
	assert_int_equal(collect_open(r, s->events, NULL, s->nr, &s->c, s->states), 0);
}

static const struct reading *get(const struct session *s, const char *name, uint32_t cpu)
{
	static struct reading out;

	for (size_t i = 0; i < s->nr; i++) {
		if (strcmp(s->events[i].row->name, name) != 0)
			continue;
		memset(&out, 0x55, sizeof(out));
		collect_get(s->c, i, cpu, &out);
		return &out;
	}
	fail_msg("no event %s", name);
	return NULL;
}

static const struct {
	const char *tree, *name;
	uint32_t cpu, state;
	uint64_t raw, base;
} values[] = {
    {"x86-vm", "cpu_utilization", 0, READING_OK, 32078, 214855},
    {"x86-vm", "cpu_utilization", 1, READING_OK, 34584, 214929},
    {"x86-vm", "cpu_user", 0, READING_OK, 25901, 214855},
    {"x86-vm", "cpu_system", 0, READING_OK, 6120, 214855},
    {"x86-vm", "cpu_iowait", 1, READING_OK, 843, 214929},
    {"x86-vm", "cpu_user", 2, READING_FAILED, 0, 0}, /* not possible here */
    {"x86-vm", "cpu_user", UINT32_MAX, READING_FAILED, 0, 0},
    {"x86-vm", "context_switches", 0, READING_OK, 898389, 0},
    {"x86-vm", "context_switches", 1, READING_OK, 898389, 0}, /* the machine's, whoever asks */
    {"x86-vm", "context_switches", UINT32_MAX, READING_OK, 898389, 0},
    {"x86-vm", "memory_used", 0, READING_OK, 1202164ull * 1024, 0},
    {"x86-vm", "memory_available", 0, READING_OK, 23344928ull * 1024, 0},
    {"x86-vm", "page_faults", 0, READING_OK, 39127147, 0},
    {"sparse-offline", "cpu_user", 3, READING_OK, 31, 1034},
    {"sparse-offline", "cpu_user", 4, READING_NONE, 0, 0}, /* offline: no line */
    {"sparse-offline", "cpu_user", 8, READING_OK, 81, 1089},
    {"sparse-offline", "cpu_user", 15, READING_OK, 151, 1166},
    {"sparse-offline", "cpu_user", 16, READING_FAILED, 0, 0},
    {"linux-4.14", "cpu_system", 2, READING_OK, 838444, 14992994},
    {"linux-4.14", "page_faults", 0, READING_OK, 2200112233, 0},
    /* a tree without these files */
    {"intel-uncore", "cpu_user", 0, READING_FAILED, 0, 0},
    {"intel-uncore", "memory_used", 0, READING_FAILED, 0, 0},
};

TEST(values)
{
	for (size_t i = 0; i < NR(values); i++) {
		struct root r = tree_captured(values[i].tree);
		const struct reading *got;
		struct session s;

		start(&s, &r);
		collect_read(s.c);
		got = get(&s, values[i].name, values[i].cpu);
		if (got->state != values[i].state || got->raw != values[i].raw ||
		    got->base != values[i].base)
			fail_msg("%s %s cpu %u: %s %llu of %llu", values[i].tree, values[i].name,
				 values[i].cpu, reading_state_name(got->state),
				 (unsigned long long)got->raw, (unsigned long long)got->base);
		assert_int_equal(got->time_ns != 0, s.states[0] == 0);
		assert_int_equal(got->event, 0x55555555); /* the caller's */
		collect_close(s.c);
	}
}

/* The numbers of a line, one for each event, in hundredths. */
TEST(numbers_of_a_line)
{
	static const struct {
		const char *text;
		uint64_t of_1, of_5, of_15; /* FAILED: none */
	} rows[] = {
	    {"1.53 12.07 0.89 3/110 4137\n", 153, 1207, 89},
	    {"0.00 0.00 100.00 ", 0, 0, 10000},
	    {"0.00\t0.01  0.02\n", 0, 1, 2},
	    {"184467440737095516.15 0.00 0.00 1/1 1\n", UINT64_MAX, 0, 0},
#define FAILED 12345
	    {"", FAILED, FAILED, FAILED}, /* hidden from a container */
	    {"184467440737095516.16 0.00 0.00 1/1 1\n", FAILED, 0, 0},
	    {"1.5 1.50 1.50 1/1 1\n", FAILED, 150, 150},
	    {"1.50 1.500 1.50 1/1 1\n", 150, FAILED, 150},
	    {"1,50 1.50 1.50 1/1 1\n", FAILED, 150, 150}, /* no locale */
	    {"1 1.50 1.\n", FAILED, 150, FAILED},
	    {"1.50", 150, FAILED, FAILED},
	    {"1.50x1.50 1.50 1/1 1\n", FAILED, 150, FAILED},
	    {"nan -1.50 +1.50\n", FAILED, FAILED, FAILED},
	};
	struct root r = tree_make();
	struct session s;

	tree_text(&r, "/proc/loadavg", "");
	start(&s, &r);
	for (size_t i = 0; i < NR(rows); i++) {
		const uint64_t want[] = {rows[i].of_1, rows[i].of_5, rows[i].of_15};
		static const char *const names[] = {"load_average_1", "load_average_5",
						    "load_average_15"};

		tree_text(&r, "/proc/loadavg", rows[i].text);
		collect_read(s.c);
		for (size_t k = 0; k < NR(want); k++) {
			const struct reading *got = get(&s, names[k], 0);
			bool is_there = got->state == READING_OK;

			if (is_there != (want[k] != FAILED) || (is_there && got->raw != want[k]))
				fail_msg("row %zu, %s: %llu", i, names[k],
					 (unsigned long long)got->raw);
		}
	}
	collect_close(s.c);
	tree_remove(&r);
}

/* The machine that was captured had none of it. */
static bool may_be_0(const char *name)
{
	static const char *const names[] = {"blocked", "cpu_nice", "cpu_irq",   "swap_used",
					    "swap_in", "swap_out", "swap_total"};

	for (size_t i = 0; i < NR(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

TEST(every_row)
{
	struct root r = tree_captured("x86-vm");
	struct session s;

	start(&s, &r);
	collect_read(s.c);
	for (size_t i = 0; i < s.nr; i++) {
		struct reading v = {0};

		if (collect_is_many(&s.events[i]))
			continue;
		print_message("%s\n", s.events[i].row->name);
		assert_int_equal(s.states[i], 0);
		collect_get(s.c, i, 0, &v);
		assert_int_equal(v.state, READING_OK);
		assert_true(v.time_ns > 0);
		assert_true(v.raw > 0 || may_be_0(s.events[i].row->name));
		assert_int_equal(v.base != 0, s.events[i].row->kind == EVENT_SHARE);
	}
	collect_close(s.c);
	collect_close(NULL);
}

/* Every row on this machine, live: it was up for a while, so nothing is zero but waiting. */
TEST(this_machine)
{
	struct session s;

	start(&s, &root_live);
	collect_read(s.c);
	assert_int_equal(get(&s, "context_switches", 0)->state, READING_OK);
	assert_true(get(&s, "context_switches", 0)->raw > 0);
	assert_true(get(&s, "memory_used", 0)->raw > 1 << 20);
	assert_true(get(&s, "page_faults", 0)->raw > 0);
	collect_close(s.c);
}

TEST(before_the_first)
{
	struct root r = tree_captured("x86-vm");
	struct session s;

	start(&s, &r);
	assert_int_equal(get(&s, "cpu_user", 0)->state, READING_NONE);
	assert_int_equal(get(&s, "memory_used", 0)->state, READING_FAILED);
	assert_int_equal(get(&s, "memory_used", 0)->raw, 0);
	collect_close(s.c);
}

/* Files that change between two reads: each read sees the file as it is then, from its start. */
TEST(again)
{
	static const struct {
		const char *stat, *meminfo;
		uint32_t user_state;
		uint64_t user;
		uint32_t mem_state;
	} steps[] = {
	    {"cpu1 5 0 0 1\nctxt 1\n", "MemAvailable: 5 kB\n", READING_OK, 5, READING_OK},
	    {"cpu1 7 0 0 1\nctxt 1\n", "MemAvailable: 5 kB\n", READING_OK, 7, READING_OK},
	    {"ctxt 1\n", "MemAvailable: 5 kB\n", READING_NONE, 0, READING_OK}, /* went offline */
	    {"cpu1 broken\n", "MemAvailable: 5 kB\n", READING_FAILED, 0, READING_OK},
	    {"cpu1 9 0 0 1\n", "", READING_OK, 9, READING_FAILED},
	    {"cpu1 9 0 0 1\n", "MemAvailable: 5 kB\n", READING_OK, 9, READING_OK}, /* well again */
	};
	struct root r = tree_make();
	struct session s;

	tree_put(&r, "/sys/devices/system/cpu/possible", "0-3\n", 4);
	tree_put(&r, "/proc/stat", "", 0);
	tree_put(&r, "/proc/meminfo", "", 0);
	start(&s, &r);
	for (size_t i = 0; i < NR(steps); i++) {
		tree_put(&r, "/proc/stat", steps[i].stat, strlen(steps[i].stat));
		tree_put(&r, "/proc/meminfo", steps[i].meminfo, strlen(steps[i].meminfo));
		collect_read(s.c);
		assert_int_equal(get(&s, "cpu_user", 1)->state, steps[i].user_state);
		assert_int_equal(get(&s, "cpu_user", 1)->raw, steps[i].user);
		assert_int_equal(get(&s, "memory_available", 0)->state, steps[i].mem_state);
	}
	collect_close(s.c);
	tree_remove(&r);
}

/* Times of CPU 1 before and after; how much a field and the time that it is a share of grow. */
static const struct {
	const char *before, *after, *name;
	uint64_t raw, base;
	const char *note; /* NULL: none */
} held[] = {
    {"5 0 0 7 1 0 0 9", "10 0 0 12 1 0 0 9", "cpu_user", 5, 10, NULL},
    {"5 0 0 7 1 0 0 9", "10 0 0 12 1 0 0 6", "cpu_user", 5, 10, "/proc/stat: steal decreased"},
    {"5 0 0 7 1 0 0 9", "10 0 0 12 1 0 0 6", "cpu_utilization", 5, 10, "steal"},
    {"5 0 0 7 4 0 0 9", "10 0 0 12 1 0 0 9", "cpu_idle", 5, 10, "iowait"},
    {"5 0 0 7 4 0 0 9", "10 0 0 12 1 0 0 9", "cpu_iowait", 0, 10, "iowait"},
    {"5 0 0 7 4 0 0 9", "15 0 0 5 4 0 0 9", "cpu_idle", 0, 10, "idle"},
};

static void put_times(const struct root *r, const char *times)
{
	char text[128];

	snprintf(text, sizeof(text), "cpu1 %s\n", times);
	tree_text(r, "/proc/stat", text);
}

/* Times that decrease count as 0, also if the CPU is away in between; after that they grow again.
 */
TEST(decreased)
{
	struct root r = tree_make();

	tree_put(&r, "/sys/devices/system/cpu/possible", "0-3\n", 4);
	tree_put(&r, "/proc/stat", "", 0);
	for (size_t i = 0; i < 2 * NR(held); i++) {
		const char *note, *wanted = held[i / 2].note, *name = held[i / 2].name;
		struct reading before, after;
		struct session s;

		start(&s, &r);
		put_times(&r, held[i / 2].before);
		collect_read(s.c);
		before = *get(&s, name, 1);
		assert_null(collect_note(s.c));
		tree_text(&r, "/proc/stat", "");
		if (i % 2)
			collect_read(s.c);
		put_times(&r, held[i / 2].after);
		collect_read(s.c);
		after = *get(&s, name, 1);
		assert_int_equal(after.raw - before.raw, held[i / 2].raw);
		assert_int_equal(after.base - before.base, held[i / 2].base);
		note = collect_note(s.c);
		assert_true(!note == !wanted && (!note || strstr(note, wanted)));
		put_times(&r, "90 0 0 90 90 0 0 90");
		collect_read(s.c);
		before = *get(&s, "cpu_steal", 1);
		put_times(&r, "90 0 0 90 90 0 0 91");
		collect_read(s.c);
		assert_int_equal(get(&s, "cpu_steal", 1)->raw - before.raw, 1);
		put_times(&r, "5 0 0 5 5 0 0 5");
		collect_read(s.c);
		assert_true(!collect_note(s.c) == !!wanted); /* once */
		collect_close(s.c);
	}
	tree_remove(&r);
}

/* What cannot be opened is told for its events, and the others work. */
TEST(unreadable)
{
	struct root r = tree_make();
	struct session s;

	tree_put(&r, "/proc/stat", NULL, 0); /* a folder: opens, and does not read */
	tree_put(&r, "/proc/vmstat", "pgfault 5\n", 10);
	start(&s, &r);
	for (size_t i = 0; i < s.nr; i++) {
		const char *source = s.events[i].row->source;
		bool is_there = !strcmp(source, "/proc/stat") || !strcmp(source, "/proc/vmstat");

		if (!collect_is_many(&s.events[i]))
			assert_int_equal(s.states[i], is_there ? 0 : -ENOENT);
	}
	collect_read(s.c);
	assert_int_equal(get(&s, "cpu_user", 0)->state, READING_FAILED);
	assert_int_equal(get(&s, "memory_used", 0)->state, READING_FAILED);
	assert_int_equal(get(&s, "page_faults", 0)->state, READING_OK);
	collect_close(s.c);
	tree_remove(&r);
}

/* More than one step of reading, and no file without end. */
TEST(long_files)
{
	static const char line[] = "cpu1 5 0 0 1\n";
	enum { BYTES = 17 << 20 };
	char *text = malloc(BYTES);
	struct root r = tree_make();
	struct session s;

	memset(text, '\n', BYTES);
	memcpy(text + 100000, line, sizeof(line) - 1);
	tree_put(&r, "/proc/stat", text, 100000 + sizeof(line) - 1);
	tree_put(&r, "/proc/meminfo", text, BYTES);
	tree_put(&r, "/proc/vmstat", "", 0);
	start(&s, &r);
	collect_read(s.c);
	assert_int_equal(get(&s, "cpu_user", 1)->raw, 5); /* possible is unknown: room for all */
	assert_int_equal(get(&s, "cpu_user", CPUSET_MAX_CPU)->state, READING_FAILED);
	assert_int_equal(get(&s, "memory_used", 0)->state, READING_FAILED);
	collect_close(s.c);
	tree_remove(&r);
	free(text);
}

TEST(nothing_asked)
{
	struct root r = tree_captured("x86-vm");
	size_t nr_fds = inject_open_fds();
	struct collect *c;

	assert_int_equal(collect_open(&r, NULL, NULL, 0, &c, NULL), 0);
	assert_int_equal(inject_open_fds(), nr_fds);
	collect_read(c);
	collect_close(c);
}

/* Opens and reads twice; a failure leaves a reading without a value, never a wrong value. */
static int open_and_read(void *arg)
{
	static const uint64_t right = 39127147;
	struct session s;
	int rc;

	all_rows(&s);
	rc = collect_open(arg, s.events, NULL, s.nr, &s.c, s.states);
	if (rc)
		return rc;
	for (int i = 0; i < 2; i++) {
		const struct reading *got;

		collect_read(s.c);
		got = get(&s, "page_faults", 0);
		assert_true(got->state == READING_OK ? got->raw == right
						     : got->state == READING_FAILED && !got->raw);
	}
	collect_close(s.c);
	return 0;
}

TEST(failures)
{
	struct root r = tree_captured("x86-vm");

	inject_every(open_and_read, &r, 5, 18);
}

/* A read that was interrupted goes on; time after time it asks for no more memory. */
TEST(interrupted)
{
	struct root r = tree_captured("x86-vm");
	struct session s;

	start(&s, &r);
	for (unsigned n = 1; n < 10; n++) {
		inject_sys(n, -EINTR);
		collect_read(s.c);
		inject_stop();
		assert_int_equal(get(&s, "cpu_user", 1)->raw, 27629);
		assert_int_equal(get(&s, "page_faults", 0)->raw, 39127147);
	}
	inject_mem(1);
	collect_read(s.c);
	inject_stop();
	assert_false(inject.fired);
	collect_close(s.c);
}
