/*
 * Marks from their producer (cpuperf/mark.h, as a program includes it) to the recorder's callbacks,
 * and memory that a hostile program has written.
 */
#include "kit.h"
#include "tree.h"

#include "base/array.h"
#include "base/mem.h"
#include "cpuperf/mark.h"
#include "wire/memory.h"
#include "wire/wire.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MAX_SEEN = 200000 };

struct seen {
	uint32_t pid, tid, object;
	struct wire_mark mark;
};

static struct {
	char names[64][CPUPERF_MARK_MAX_NAME + 1];
	struct seen *item;
	size_t nr;
	uint64_t lost;
} all;

static void on_name(void *arg, uint32_t number, const char *text)
{
	(void)arg;
	assert_in_range(number, 1, 63);
	snprintf(all.names[number], sizeof(all.names[number]), "%s", text);
}

static void on_marks(void *arg, const struct wire_marks *m)
{
	(void)arg;
	all.lost += m->lost;
	for (size_t i = 0; i < m->nr && all.nr < MAX_SEEN; i++)
		all.item[all.nr++] = (struct seen){m->pid, m->tid, m->object, m->mark[i]};
}

static const struct wire_config config = {.name = on_name, .marks = on_marks};

/* As a recorder does with a process that runs already. */
static void turn_on(const struct wire *w)
{
	memset(&all.names, 0, sizeof(all.names));
	all.nr = all.lost = 0;
	assert_int_equal(cpuperf_mark_number(wire_name(w)), wire_number(w));
	cpuperf_mark_state_2.on = wire_number(w);
}

static struct wire *open_wire(void)
{
	struct wire *w;
	struct err e = {0};

	assert_int_equal(wire_open(&config, &w, &e), 0);
	assert_int_equal(wire_start(w), 0);
	turn_on(w);
	return w;
}

static struct wire_totals close_wire(struct wire *w)
{
	struct wire_totals totals;

	wire_stop(w);
	wire_totals(w, &totals);
	wire_free(w);
	return totals;
}

HOOK(before_all)
{
	all.item = mem_calloc(MAX_SEEN, sizeof(*all.item));
}

HOOK(after_all)
{
	mem_free(all.item);
}

static void expect(size_t i, uint32_t kind, const char *name, int64_t value, uint32_t depth)
{
	const struct wire_mark *m = &all.item[i].mark;

	assert_in_range(i, 0, all.nr - 1);
	assert_int_equal(m->kind, kind);
	assert_string_equal(m->name ? all.names[m->name] : "", name);
	assert_int_equal(m->value, value);
	assert_int_equal(m->depth, depth);
}

TEST(marks_arrive_in_order_with_their_times)
{
	struct wire *w = open_wire();
	struct timespec before, after;
	struct wire_totals totals;
	uint64_t from_ns, to_ns;

	clock_gettime(CLOCK_MONOTONIC, &before);
	CPUPERF_BEGIN("parse");
	CPUPERF_BEGIN_NUMBER("request", -17);
	CPUPERF_INT("bytes", INT64_C(1) << 40);
	CPUPERF_END;
	CPUPERF_INSTANT("now");
	cpuperf_begin("made at run time");
	cpuperf_end();
	CPUPERF_END;
	clock_gettime(CLOCK_MONOTONIC, &after);
	cpuperf_pause_thread();
	totals = close_wire(w);

	assert_int_equal(all.nr, 9);
	expect(0, CPUPERF_MARK_BEGIN, "parse", 0, 0);
	expect(1, CPUPERF_MARK_BEGIN_NUMBER, "request", -17, 1);
	expect(2, CPUPERF_MARK_INT, "bytes", INT64_C(1) << 40, 2);
	expect(3, CPUPERF_MARK_END_REGION, "", 0, 1);
	expect(4, CPUPERF_MARK_INSTANT, "now", 0, 1);
	expect(5, CPUPERF_MARK_BEGIN, "made at run time", 0, 1);
	expect(6, CPUPERF_MARK_END_REGION, "", 0, 1);
	expect(7, CPUPERF_MARK_END_REGION, "", 0, 0);
	expect(8, CPUPERF_MARK_PAUSE_THREAD, "", 0, 0);
	from_ns = (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec;
	to_ns = (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec;
	for (size_t i = 0; i < 8; i++) {
		/* cycles are converted by readings of the clocks that are apart by ms */
		assert_in_range(all.item[i].mark.time_ns, from_ns - 20000, to_ns + 20000);
		assert_int_equal(all.item[i].pid, getpid());
		assert_int_equal(all.item[i].tid, syscall(SYS_gettid));
	}
	assert_int_equal(totals.marks, 9);
	assert_int_equal(totals.connections, 1);
	assert_int_equal(totals.lost + totals.invalid + totals.refused, 0);
}

/* A time of another counter than the recorder reads is any time. */
TEST(the_clock_is_one_that_both_can_read)
{
	static const struct {
		const char *kernel;
		uint32_t counter, clock[3]; /* of an object with none, the TSC, CNTVCT */
	} machines[] = {
	    {"tsc", CPUPERF_MARK_TSC, {0, CPUPERF_MARK_CYCLES, 0}},
	    {"arch_sys_counter", CPUPERF_MARK_CNTVCT, {0, 0, CPUPERF_MARK_CYCLES}},
	    {"kvm-clock", CPUPERF_MARK_NO_COUNTER, {0, 0, 0}},
	    {"", CPUPERF_MARK_NO_COUNTER, {0, 0, 0}},
	};
	static const char path[] =
	    "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	struct root root = tree_make();

	assert_int_equal(wire_counter(&root), CPUPERF_MARK_NO_COUNTER);
	for (size_t i = 0; i < ARRAY_NR(machines); i++) {
		tree_text(&root, path, machines[i].kernel);
		assert_int_equal(wire_counter(&root), machines[i].counter);
		for (uint32_t c = 0; c < ARRAY_NR(machines[i].clock); c++)
			assert_int_equal(wire_clock(machines[i].counter, c), machines[i].clock[c]);
	}
	tree_remove(&root);
}

/* The hello of an object of this header, and one that says no counter. */
TEST(an_object_says_its_counter)
{
	const uint32_t counter = wire_counter(&root_live);
	struct cpuperf_mark_hello hello = {
	    CPUPERF_MARK_MAGIC, CPUPERF_MARK_VERSION, CPUPERF_MARK_ASK_MEMORY, 0, 0, 0};
	struct cpuperf_mark_header h;
	struct wire *w = open_wire();
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];

	CPUPERF_INSTANT("x");
	assert_int_equal(cpuperf_mark_thread_2.clock, wire_clock(counter, CPUPERF_MARK_COUNTER));
	assert_int_equal(cpuperf_mark_ask(wire_number(w), &hello, fds), 1);
	assert_int_equal(read(fds[0], &h, sizeof(h)), sizeof(h));
	assert_int_equal(h.clock, CPUPERF_MARK_MONOTONIC);
	close(fds[0]);
	close_wire(w);
}

TEST(nothing_is_written_or_connected_while_off)
{
	struct wire *w = open_wire();
	struct wire_totals totals;
	int nr = 0;

	cpuperf_mark_state_2.on = 0;
	CPUPERF_BEGIN("x");
	CPUPERF_INT("n", ++nr);
	CPUPERF_END;
	assert_int_equal(nr, 1); /* what measures changes nothing */
	totals = close_wire(w);
	assert_int_equal(all.nr, 0);
	assert_int_equal(totals.connections, 0);
}

static void *mark_often(void *name)
{
	for (int i = 0; i < 1000; i++) {
		cpuperf_begin(name);
		cpuperf_end();
	}
	return NULL;
}

TEST(threads_have_slots_of_their_own)
{
	enum { NR = 8 };
	static char names[NR][8];
	struct wire *w = open_wire();
	struct wire_totals totals;
	size_t nr_of[NR] = {0}, nr = 0;
	pthread_t thread[NR];

	for (int i = 0; i < NR; i++) {
		snprintf(names[i], sizeof(names[i]), "t%d", i);
		assert_int_equal(pthread_create(&thread[i], NULL, mark_often, names[i]), 0);
	}
	for (int i = 0; i < NR; i++)
		pthread_join(thread[i], NULL);
	totals = close_wire(w);
	for (size_t i = 0; i < all.nr; i++) {
		const struct wire_mark *m = &all.item[i].mark;

		if (m->kind == CPUPERF_MARK_BEGIN)
			nr_of[all.names[m->name][1] - '0']++;
		nr += m->kind != WIRE_THREAD_END; /* of one whose first mark was lost */
	}
	/* what threads mark while another one connects is lost, and counted */
	assert_int_equal(nr + all.lost + totals.missed, NR * 2000);
	assert_in_range(totals.marks, nr, all.nr);
	assert_int_equal(totals.lost, all.lost);
	for (int i = 0; i < NR && !all.lost && !totals.missed; i++)
		assert_int_equal(nr_of[i], 1000);
}

static void *mark_once(void *arg)
{
	CPUPERF_BEGIN("short");
	CPUPERF_END;
	return arg;
}

TEST(threads_that_ended_leave_their_slots)
{
	enum { NR = 3 * CPUPERF_MARK_MAX_SLOTS };
	struct wire *w = open_wire();
	struct wire_totals totals;
	pthread_t thread;

	for (int i = 0; i < NR; i++) {
		assert_int_equal(pthread_create(&thread, NULL, mark_once, NULL), 0);
		pthread_join(thread, NULL);
	}
	totals = close_wire(w);
	assert_int_equal(totals.missed, 0);
	assert_int_equal(totals.marks, 2 * NR);
}

static void *name_and_mark(void *arg)
{
	prctl(PR_SET_NAME, "short");
	CPUPERF_INSTANT("x");
	return arg;
}

TEST(threads_have_their_names)
{
	const struct wire_config with = {.name = on_name, .marks = on_marks, .names_threads = true};
	struct err e = {0};
	struct wire *w;
	pthread_t thread;

	assert_int_equal(wire_open(&with, &w, &e), 0);
	turn_on(w);
	assert_int_equal(wire_start(w), 0);
	assert_int_equal(pthread_create(&thread, NULL, name_and_mark, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(close_wire(w).marks, 1); /* of the program */
	assert_int_equal(all.nr, 2);
	assert_int_equal(all.item[0].mark.kind, CPUPERF_MARK_THREAD_NAME);
	assert_string_equal(all.names[all.item[0].mark.name], "short");
	assert_int_equal(all.item[0].tid, all.item[1].tid);
	assert_int_equal(all.item[1].mark.kind, CPUPERF_MARK_INSTANT);
}

TEST(a_forked_child_connects_by_itself)
{
	struct wire *w = open_wire();
	struct wire_totals totals;
	int status, nr_ends = 0;
	pid_t pid;

	CPUPERF_BEGIN("parent");
	pid = fork();
	if (pid == 0) {
		CPUPERF_BEGIN("child");
		CPUPERF_END;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CPUPERF_END;
	totals = close_wire(w);
	assert_int_equal(totals.connections, 2);
	assert_int_equal(all.nr, 5);
	for (size_t i = 0; i < all.nr; i++) {
		bool is_child = all.item[i].pid == (uint32_t)pid;

		assert_int_equal(all.item[i].tid, all.item[i].pid);
		if (all.item[i].mark.kind == CPUPERF_MARK_BEGIN)
			assert_string_equal(all.names[all.item[i].mark.name],
					    is_child ? "child" : "parent");
		nr_ends += is_child && all.item[i].mark.kind == WIRE_THREAD_END;
	}
	assert_int_equal(nr_ends, 1);
}

TEST(no_recorder_is_no_error)
{
	errno = 77;
	cpuperf_mark_state_2.on = 1; /* nobody's */
	CPUPERF_BEGIN("x");
	CPUPERF_END;
	assert_int_equal(cpuperf_mark_state_2.on, 0);
	assert_int_equal(errno, 77);
}

/* Memory without a wire: the test is both sides. */
struct memory {
	struct wire_memory m;
	struct wire_reader r;
	struct cpuperf_mark_slot *slot;
	struct cpuperf_mark_unit *units;
};

static void open_memory(struct memory *t)
{
	const struct wire_memory_config memory = {.pid = 7, .object = 1};
	int fd;

	all.nr = all.lost = 0;
	assert_int_equal(wire_reader_init(&t->r, &config), 0);
	assert_int_equal(wire_memory_init(&t->m, &memory, &fd), 0);
	assert_int_equal(ftruncate(fd, 0), -1); /* sealed */
	close(fd);
	t->slot = (void *)((char *)t->m.shared + t->m.shared->slots_offset);
	t->units = (void *)((char *)t->slot + CPUPERF_MARK_SLOT_HEAD_BYTES);
	t->slot->is_owned = 1;
	t->slot->tid = 7;
}

static void close_memory(struct memory *t)
{
	wire_memory_fini(&t->m);
	wire_reader_fini(&t->r);
}

/* This thread, as if it had connected. */
static void attach_to(const struct memory *t, uint32_t number)
{
	static uint32_t alive = 3;

	cpuperf_mark_state_2.on = number;
	cpuperf_mark_thread_2 = (struct cpuperf_mark_thread){.slot = t->slot,
							     .units = t->units,
							     .shared = t->m.shared,
							     .number = number,
							     .generation = 3,
							     .alive = &alive};
}

static void write_unit(struct memory *t, uint32_t kind, uint32_t name, uint64_t time)
{
	struct cpuperf_mark_unit *u = &t->units[t->slot->head % CPUPERF_MARK_NR_UNITS];

	*u = (struct cpuperf_mark_unit){.time = time, .name = name, .kind = (uint16_t)kind};
	t->slot->head++;
}

TEST(hostile_units_are_skipped)
{
	struct memory t;

	open_memory(&t);
	write_unit(&t, CPUPERF_MARK_BEGIN, 0, 5);
	write_unit(&t, 0, 0, 5);
	write_unit(&t, 999, 0, 5);
	write_unit(&t, CPUPERF_MARK_BEGIN, UINT32_MAX, UINT64_MAX);
	write_unit(&t, CPUPERF_MARK_END_REGION, 1, 0);
	write_unit(&t, CPUPERF_MARK_INT, 0, 5); /* without its value */
	wire_memory_drain(&t.m, &t.r);
	assert_int_equal(t.r.totals.invalid, 3);
	assert_int_equal(all.nr, 3);
	for (size_t i = 1; i < all.nr; i++)
		assert_true(all.item[i].mark.time_ns >= all.item[i - 1].mark.time_ns);
	assert_true(all.item[2].mark.time_ns <= t.r.now.ns);
	close_memory(&t);
}

/* A thread's marks stand in the rings of several objects, some ns apart: they stay in order. */
TEST(all_rings_of_a_pass_have_the_same_time)
{
	const struct wire_memory_config memory = {
	    .pid = 7, .object = 1, .clock = CPUPERF_MARK_CYCLES};
	struct memory t;
	int fd;

	if (!wire_counter(&root_live))
		SKIP("the kernel keeps time by something else than the CPU's counter");
	open_memory(&t);
	for (int pass = 0; pass < 20; pass++) {
		uint64_t time_ns = 0;

		usleep(2000);
		wire_reader_begin(&t.r);
		for (int ring = 0; ring < 10; ring++) {
			wire_memory_fini(&t.m);
			assert_int_equal(wire_memory_init(&t.m, &memory, &fd), 0);
			close(fd);
			t.m.connected_ns = 0;
			t.slot = (void *)((char *)t.m.shared + t.m.shared->slots_offset);
			t.units = (void *)((char *)t.slot + CPUPERF_MARK_SLOT_HEAD_BYTES);
			t.slot->is_owned = 1;
			t.slot->tid = 7;
			all.nr = 0;
			write_unit(&t, CPUPERF_MARK_BEGIN, 0, t.r.at.cycles - 1000);
			wire_memory_drain(&t.m, &t.r);
			assert_int_equal(all.nr, 1);
			if (ring)
				assert_int_equal(all.item[0].mark.time_ns, time_ns);
			time_ns = all.item[0].mark.time_ns;
			assert_true(time_ns && time_ns <= t.r.at.ns);
		}
	}
	close_memory(&t);
}

TEST(a_hostile_head_is_skipped)
{
	struct memory t;

	open_memory(&t);
	t.slot->head = UINT64_MAX - 3;
	wire_memory_drain(&t.m, &t.r);
	assert_int_equal(all.nr, 0);
	assert_true(t.r.totals.invalid > 0);
	t.slot->head = 5; /* backwards */
	wire_memory_drain(&t.m, &t.r);
	assert_in_range(all.nr, 0, CPUPERF_MARK_NR_UNITS);
	close_memory(&t);
}

TEST(hostile_names_are_none)
{
	struct memory t;
	uint32_t *index, len = UINT32_MAX;
	char *text;

	open_memory(&t);
	index = (void *)((char *)t.m.shared + t.m.shared->names_offset);
	text = (char *)t.m.shared + t.m.shared->text_offset;
	index[0] = UINT32_MAX;
	index[1] = CPUPERF_MARK_TEXT_BYTES;     /* its length is beyond the end */
	index[2] = CPUPERF_MARK_TEXT_BYTES - 8; /* its text is */
	memcpy(text + CPUPERF_MARK_TEXT_BYTES - 9, &(uint32_t){200}, 4);
	index[3] = 1;
	memcpy(text, &len, sizeof(len));
	index[4] = 9;
	memcpy(text + 8, &(uint32_t){4}, 4);
	memcpy(text + 12, (const char[]){'a', '\n', '\033', 'b'}, 4);
	index[5] = 17; /* its text is longer than a name */
	memcpy(text + 16, &(uint32_t){CPUPERF_MARK_MAX_NAME + 1}, 4);
	memset(text + 20, 'x', CPUPERF_MARK_MAX_NAME + 1);
	for (uint32_t i = 1; i <= 6; i++)
		write_unit(&t, CPUPERF_MARK_BEGIN, i, 5);
	wire_memory_drain(&t.m, &t.r);
	assert_int_equal(all.nr, 6);
	for (size_t i = 0; i < 6; i++)
		if (i != 4)
			assert_int_equal(all.item[i].mark.name, 0);
	assert_string_equal(all.names[all.item[4].mark.name], "a??b");
	close_memory(&t);
}

TEST(a_full_ring_loses_and_counts)
{
	enum { MORE = 100 };
	struct err e = {0};
	struct memory t;
	struct wire *w; /* somebody listens */

	assert_int_equal(wire_open(&config, &w, &e), 0);
	open_memory(&t);
	attach_to(&t, wire_number(w));
	for (int i = 0; i < (CPUPERF_MARK_NR_UNITS + MORE) / 2; i++) {
		CPUPERF_BEGIN("x");
		CPUPERF_END;
	}
	wire_memory_drain(&t.m, &t.r);
	assert_int_equal(all.nr, CPUPERF_MARK_NR_UNITS);
	assert_int_equal(all.lost, MORE);
	/* all of it is free again */
	for (int i = 0; i < CPUPERF_MARK_NR_UNITS / 2; i++) {
		CPUPERF_BEGIN("x");
		CPUPERF_END;
	}
	wire_memory_drain(&t.m, &t.r);
	assert_int_equal(all.nr, 2 * CPUPERF_MARK_NR_UNITS);
	assert_int_equal(all.lost, MORE);
	cpuperf_mark_state_2.on = 0;
	cpuperf_mark_thread_2 = (struct cpuperf_mark_thread){.head = 0};
	close_memory(&t);
	wire_free(w);
}

TEST(a_killed_recorder_turns_the_program_off)
{
	struct memory t;

	open_memory(&t);
	attach_to(&t, 5);
	assert_false(wire_is_there(5));
	for (int i = 0; i < CPUPERF_MARK_NR_UNITS; i++)
		CPUPERF_INSTANT("x");
	assert_int_equal(cpuperf_mark_state_2.on, 5);
	CPUPERF_INSTANT("finds the ring full");
	CPUPERF_INSTANT("turns off");
	assert_int_equal(cpuperf_mark_state_2.on, 0);
	assert_int_equal(t.slot->lost, 1);
	close_memory(&t);
}

TEST(a_mark_within_a_mark_is_counted)
{
	struct memory t;

	open_memory(&t);
	attach_to(&t, 5);
	cpuperf_mark_thread_2.is_busy = 1;
	CPUPERF_INSTANT("in a handler");
	wire_memory_drain(&t.m, &t.r);
	assert_int_equal(all.nr, 0);
	assert_int_equal(all.lost, 1);
	cpuperf_mark_state_2.on = 0;
	cpuperf_mark_thread_2 = (struct cpuperf_mark_thread){.head = 0};
	close_memory(&t);
}

TEST(another_user_is_refused)
{
	struct wire_totals totals;
	struct wire *w;
	pid_t pid;

	if (geteuid())
		SKIP("another user: needs root");
	w = open_wire();
	pid = fork();
	if (pid == 0) {
		if (setresuid(65534, 65534, 65534))
			_exit(2);
		CPUPERF_BEGIN("x");
		_exit(cpuperf_mark_state_2.on ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &(int){0}, 0), pid);
	totals = close_wire(w);
	assert_int_equal(totals.refused, 1);
	assert_int_equal(totals.refused_why, 0);
	assert_int_equal(totals.connections, 0);
	assert_int_equal(all.nr, 0);
}

TEST(a_recorder_without_memory_says_why)
{
	struct rlimit before, small;
	struct wire_totals totals;
	struct wire *w = open_wire();
	pid_t pid;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	pid = fork();
	if (pid == 0) {
		CPUPERF_BEGIN("x");
		_exit(cpuperf_mark_state_2.on ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &(int){0}, 0), pid);
	totals = close_wire(w);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(totals.refused, 1);
	assert_int_equal(totals.refused_why, -EFBIG);
}

/* Counters of a file: their values are 1 more, each, than those read before. */
struct counted {
	uint32_t pid, tid, nr_opened, nr_closed;
	int fds[3];
};

static void *open_counters(void *arg, uint32_t pid, uint32_t tid, int *fds)
{
	struct counted *c = arg;

	c->pid = pid;
	c->tid = tid;
	c->nr_opened++;
	memcpy(fds, c->fds, sizeof(c->fds));
	return c;
}

static void close_counters(void *arg, void *counters)
{
	struct counted *c = arg;

	assert_ptr_equal(counters, c);
	c->nr_closed++;
}

static struct {
	uint64_t values[1000][3];
	bool has[1000];
	size_t nr;
} counts;

static void on_counts(void *arg, const struct wire_marks *m)
{
	(void)arg;
	for (size_t i = 0; i < m->nr && counts.nr < 1000; i++) {
		counts.has[counts.nr] = m->mark[i].counts;
		if (m->mark[i].counts)
			memcpy(counts.values[counts.nr], m->mark[i].counts,
			       sizeof(counts.values[0]));
		counts.nr++;
	}
}

static void on_any_name(void *arg, uint32_t number, const char *text)
{
	(void)arg;
	snprintf(all.names[number % 64], sizeof(all.names[0]), "%s", text);
}

static struct counted open_group(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .read_format = PERF_FORMAT_GROUP,
				       .exclude_kernel = 1};
	static const uint64_t events[] = {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
					  PERF_COUNT_SW_PAGE_FAULTS_MIN};
	struct counted c = {.fds = {-1}};

	for (int i = 0; i < 3; i++) {
		attr.config = events[i];
		c.fds[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, i ? c.fds[0] : -1, 0);
		if (c.fds[i] < 0)
			SKIP("counts: no perf events");
	}
	return c;
}

static void close_group(const struct counted *c)
{
	for (int i = 0; i < 3; i++)
		close(c->fds[i]);
}

/* Without what the sanitizers look at: their memory has pages of its own. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static void touch(int nr_pages)
{
	const size_t bytes = (size_t)nr_pages * 4096;
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)madvise(at, bytes, 15 /* MADV_NOHUGEPAGE */);
	for (size_t i = 0; i < bytes; i += 4096)
		at[i] = 1;
	munmap(at, bytes);
}

/* As a thread that takes another slot would. */
static int ask_for_counters(const struct wire *w)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = CPUPERF_MARK_ASK_THREAD,
						 .object = cpuperf_mark_thread_2.shared->object,
						 .slot = 5,
						 .tid = cpuperf_mark_thread_2.slot->tid};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS], nr = cpuperf_mark_ask(wire_number(w), &hello, fds);

	for (int i = 0; i < nr; i++)
		close(fds[i]);
	return nr;
}

TEST(regions_have_counts)
{
	static const char *const names[] = {"faults", "major", "minor"};
	struct counted counted = open_group();
	const struct wire_config with_counts = {.arg = &counted,
						.name = on_any_name,
						.marks = on_counts,
						.nr_counts = 3,
						.count_names = names,
						.counters_open = open_counters,
						.counters_close = close_counters};
	enum { NR_TRIED = 64, NR_INSTANTS = 600 };
	struct err e = {0};
	struct wire *w;

	counts.nr = 0;
	assert_int_equal(wire_open(&with_counts, &w, &e), 0);
	turn_on(w);
	assert_int_equal(wire_start(w), 0);
	CPUPERF_INSTANT("connect"); /* and try */
	CPUPERF_BEGIN_NUMBER("outer", 3);
	touch(1);
	for (int i = 0; i < 2; i++) {
		CPUPERF_BEGIN("inner");
		touch(16);
		CPUPERF_END;
	}
	CPUPERF_END;
	for (int k = 0; k < 2; k++) {  /* the first time touches the pages of this code */
		CPUPERF_BEGIN("ring"); /* whose own pages are there already */
		for (int i = 0; i < (k ? NR_INSTANTS : 1); i++)
			CPUPERF_INSTANT("connect");
		CPUPERF_END;
	}
	assert_true(cpuperf_mark_thread_2.counters >= 64); /* a high number */
	assert_null(cpuperf_mark_thread_2.pages);          /* the kernel's own: read(2) alone */
	assert_int_equal(ask_for_counters(w), 3);
	close_wire(w);

	assert_int_equal(counts.nr, NR_TRIED + 1 + 6 + 3 + 2 + NR_INSTANTS);
#ifndef __SANITIZE_THREAD__
	assert_int_equal(
	    counts.values[counts.nr - 1][0] - counts.values[counts.nr - 2 - NR_INSTANTS][0], 0);
#endif
	counts.nr -= 3 + 2 + NR_INSTANTS;
	assert_false(counts.has[NR_TRIED]);
	for (size_t i = NR_TRIED + 1; i < counts.nr; i++)
		assert_true(counts.has[i]);
	for (int i = 0; i < 2; i++) {
		const uint64_t *begin = counts.values[NR_TRIED + 2 + 2 * i],
			       *end = counts.values[NR_TRIED + 3 + 2 * i];

		assert_true(end[0] - begin[0] >= 16);
#ifndef __SANITIZE_THREAD__ /* whose memory has page faults of its own */
		assert_int_equal(end[0] - begin[0], 16);
		assert_int_equal(end[2] - begin[2], 16);
#endif
		assert_int_equal(end[1], 0);
	}
	assert_string_equal(all.names[1], "faults");
	assert_string_equal(all.names[3], "minor");
	assert_int_equal(counted.pid, getpid());
	assert_int_equal(counted.tid, syscall(SYS_gettid));
	assert_int_equal(counted.nr_opened, counted.nr_closed);
	/* the next mark closes its descriptor */
	CPUPERF_INSTANT("x");
	assert_int_equal(cpuperf_mark_state_2.on, 0);
	assert_int_equal(fcntl(cpuperf_mark_thread_2.counters, F_GETFD), -1);
	close_group(&counted);
}

TEST(some_regions_have_counts)
{
	static const char *const names[] = {"faults", "major", "minor"};
	struct counted counted = open_group();
	const struct wire_config with_counts = {.arg = &counted,
						.name = on_any_name,
						.marks = on_counts,
						.nr_counts = 3,
						.count_names = names,
						.chance = UINT32_MAX / 4,
						.counters_open = open_counters,
						.counters_close = close_counters};
	size_t nr_counted = 0, nr_begun = 0;
	struct err e = {0};
	struct wire *w;

	counts.nr = 0;
	assert_int_equal(wire_open(&with_counts, &w, &e), 0);
	assert_int_equal(wire_start(w), 0);
	turn_on(w);
	for (int i = 0; i < 160; i++) {
		CPUPERF_BEGIN("x");
		CPUPERF_END;
	}
	close_wire(w);
	for (size_t i = 64; i < counts.nr; i += 2) {
		assert_int_equal(counts.has[i], counts.has[i + 1]);
		nr_begun++;
		nr_counted += counts.has[i];
	}
	/* 160 / 4 ± 6 deviations */
	assert_int_equal(nr_begun, 160);
	assert_in_range(nr_counted, 8, 73);
	close_group(&counted);
}

/* Version 1 connected, and waited for an answer. */
TEST(an_old_header_is_refused)
{
	struct wire *w = open_wire();
	struct sockaddr_un to;
	socklen_t len = cpuperf_mark_address(wire_number(w), &to);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
					   .version = CPUPERF_MARK_VERSION + 1,
					   .ask = CPUPERF_MARK_ASK_MEMORY};
	struct wire_totals totals;
	char byte;

	assert_int_equal(connect(fd, (struct sockaddr *)&to, len), 0);
	assert_int_equal(recv(fd, &byte, 1, 0), 0); /* it is closed */
	close(fd);
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, len), 0);
	assert_int_equal(send(fd, &hello, sizeof(hello), 0), sizeof(hello));
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	close(fd);
	totals = close_wire(w);
	assert_int_equal(totals.old, 2);
	assert_int_equal(totals.connections + totals.refused, 0);
}

/* Beyond the limit, or that of descriptors, a connection is refused at once, and is not taken for
 * an old one. */
TEST(more_objects_than_there_is_room_for)
{
	enum { ROOM = 1024 };
	struct wire *w = open_wire();
	const struct cpuperf_mark_hello hello = {
	    CPUPERF_MARK_MAGIC, CPUPERF_MARK_VERSION, CPUPERF_MARK_ASK_MEMORY, 0, 0, 0};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS], rc;
	struct wire_totals totals;
	uint32_t nr = 0, nr_late = 0; /* late: an emulated CPU did not answer within the limit */

	while ((rc = cpuperf_mark_ask(wire_number(w), &hello, fds)) >= 0 && nr_late < ROOM) {
		if (rc == 1)
			close(fds[0]);
		nr += rc == 1;
		nr_late += rc == 0;
	}
	assert_int_equal(rc, -ECONNREFUSED);
	assert_in_range(nr, 100, ROOM);
	totals = close_wire(w);
	assert_in_range(totals.connections, nr, nr + nr_late);
	assert_int_equal(totals.refused, 1);
	assert_int_equal(totals.old, 0);
}

static uint32_t nr_gave_up;

static void on_gave_up(void *arg, uint32_t pid)
{
	(void)arg;
	assert_int_equal(pid, getpid());
	__atomic_add_fetch(&nr_gave_up, 1, __ATOMIC_RELEASE);
}

/* The recorder was too slow: it keeps no memory for the object, and says whose it is. */
TEST(who_gave_up_is_named)
{
	const struct wire_config with = {.name = on_name, .marks = on_marks, .gave_up = on_gave_up};
	struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
					   .version = CPUPERF_MARK_VERSION,
					   .ask = CPUPERF_MARK_ASK_MEMORY};
	struct sockaddr_un to;
	struct wire_totals totals;
	struct err e = {0};
	struct wire *w;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_int_equal(wire_open(&with, &w, &e), 0);
	assert_int_equal(
	    connect(fd, (struct sockaddr *)&to, cpuperf_mark_address(wire_number(w), &to)), 0);
	assert_int_equal(send(fd, &hello, sizeof(hello), 0), sizeof(hello));
	close(fd);
	nr_gave_up = 0;
	assert_int_equal(wire_start(w), 0);
	for (int i = 0; i < 6000 && !__atomic_load_n(&nr_gave_up, __ATOMIC_ACQUIRE); i++)
		usleep(10000);
	turn_on(w);
	CPUPERF_INSTANT("x"); /* is served after it */
	totals = close_wire(w);
	assert_int_equal(nr_gave_up, 1);
	assert_int_equal(totals.connections, 1);
	assert_int_equal(all.nr, 1);
}

/* A thread of another process's memory, a slot that does not exist. */
TEST(hostile_threads_are_refused)
{
	struct wire *w = open_wire();
	struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
					   .version = CPUPERF_MARK_VERSION,
					   .ask = CPUPERF_MARK_ASK_THREAD,
					   .object = 1,
					   .slot = 1u << 30,
					   .tid = 1};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];

	CPUPERF_INSTANT("x");
	assert_int_equal(cpuperf_mark_ask(wire_number(w), &hello, fds), -ECONNREFUSED);
	hello.slot = 0;
	hello.object = 2;
	assert_int_equal(cpuperf_mark_ask(wire_number(w), &hello, fds), -ECONNREFUSED);
	close_wire(w);
}

enum { NR_RACED = 200000 };

static void *produce(void *arg)
{
	const struct memory *t = arg;

	cpuperf_mark_thread_2 = (struct cpuperf_mark_thread){.slot = t->slot,
							     .units = t->units,
							     .shared = t->m.shared,
							     .number = cpuperf_mark_state_2.on,
							     .generation = 3,
							     .alive = &(uint32_t){3}};
	for (int i = 0; i < NR_RACED; i++)
		CPUPERF_INT("i", i);
	return NULL;
}

/* Both use one mapping, so that the thread sanitizer sees each access of the reader beside those of
 * the producer. */
TEST(a_reader_beside_a_producer)
{
	int64_t last = -1;
	size_t nr = 0, rounds = 0;
	struct err e = {0};
	pthread_t thread;
	struct memory t;
	struct wire *w;

	open_memory(&t);
	assert_int_equal(wire_open(&config, &w, &e), 0); /* somebody listens */
	cpuperf_mark_state_2.on = wire_number(w);
	assert_int_equal(pthread_create(&thread, NULL, produce, &t), 0);
	do {
		all.nr = 0;
		wire_clocks_now(&t.r.now);
		wire_memory_drain(&t.m, &t.r);
		for (size_t i = 0; i < all.nr; i++) {
			assert_int_equal(all.item[i].mark.kind, CPUPERF_MARK_INT);
			assert_true(all.item[i].mark.value > last);
			last = all.item[i].mark.value;
		}
		nr += all.nr;
	} while (nr + all.lost < NR_RACED && ++rounds < 10000000);
	pthread_join(thread, NULL);
	assert_int_equal(nr + all.lost, NR_RACED);
	assert_int_equal(t.r.totals.invalid, 0);
	cpuperf_mark_state_2.on = 0;
	close_memory(&t);
	wire_free(w);
}
