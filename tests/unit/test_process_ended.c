/*
 * Processes that have ended: which values remain, how long they are listed, and what is added up by
 * command.
 */
#include "kit.h"

#include "process/choice.h"
#include "process/ended.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BIT(field) (1u << (field))

enum { ALL = (1 << PROCESS_NR_FIELDS) - 1, NOW = 1000 };

static uint32_t nr_numbers;
static struct process_choice choice;

static struct process_ended new_ended(void)
{
	nr_numbers = 100;
	choice = (struct process_choice){.all = true};
	return (struct process_ended){.wanted = ALL, .nr_numbers = &nr_numbers, .choice = &choice};
}

static struct bpf_exits_process gone(uint32_t pid, const char *comm, uint64_t cpu_ns)
{
	struct bpf_exits_process p = {.pid = pid,
				      .is_whole = 1,
				      .start_ns = UINT64_MAX,
				      .sums = {.cpu_ns = cpu_ns,
					       .minor_faults = 7,
					       .major_faults = 2,
					       .read_bytes = 4096,
					       .write_bytes = 8192,
					       .peak_pages = 3}};

	snprintf(p.comm, sizeof(p.comm), "%s", comm);
	return p;
}

/* The one of that name, or NULL. */
static const struct process_gone *find(const struct process_ended *d, const char *name)
{
	for (size_t i = 0; i < process_ended_nr(d); i++)
		if (strcmp(process_ended_get(d, i)->name, name) == 0)
			return process_ended_get(d, i);
	return NULL;
}

/* An iteration begins, and the next reading. */
static void next(struct process_ended *d)
{
	d->is_next = d->has_begun = true;
	process_ended_begin(d);
}

TEST(values)
{
	struct process_values v = {.has = ALL & ~BIT(PROCESS_READ_BYTES)};
	const struct bpf_exits_process p = gone(1, "x", 1000);

	v.of[PROCESS_CPU_TIME] = 400;
	v.of[PROCESS_MINOR_FAULTS] = 9; /* it never decreases */
	v.of[PROCESS_RUN_DELAY] = 5;
	v.trouble[PROCESS_DENIED] = BIT(PROCESS_READ_BYTES);
	process_ended_set(ALL & ~BIT(PROCESS_WRITE_BYTES), &p.sums, &v);
	assert_int_equal(v.has, process_ended_fields());
	assert_int_equal(v.of[PROCESS_PEAK_RSS], 3 * sysconf(_SC_PAGESIZE));
	assert_int_equal(v.of[PROCESS_CPU_TIME], 1000);
	assert_int_equal(v.of[PROCESS_READ_BYTES], 4096);
	assert_int_equal(v.of[PROCESS_WRITE_BYTES], 0); /* not wanted: as read */
	assert_int_equal(v.of[PROCESS_MINOR_FAULTS], 9);
	assert_int_equal(v.of[PROCESS_MAJOR_FAULTS], 2);
	assert_int_equal(v.of[PROCESS_FAULTS], 9);
	assert_int_equal(v.of[PROCESS_RUN_DELAY], 5);
	assert_int_equal(v.missed, BIT(PROCESS_RUN_DELAY));
	assert_int_equal(v.nr_missed, 1);
	assert_int_equal(v.trouble[PROCESS_DENIED], 0);
}

/* What a process waited for a CPU is whole if it had one thread, and there if the kernel accounts
 * for it. */
TEST(delay)
{
	static const struct {
		uint64_t delay_ns, nr_runs, nr_partial, want, nr_missed;
	} rows[] = {{70, 3, 0, 70, 0}, {70, 3, 1, 70, 1}, {0, 0, 0, 20, 1}, {10, 1, 0, 20, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct process_values v = {.has = BIT(PROCESS_RUN_DELAY)};
		const struct bpf_exits_sums sums = {.delay_ns = rows[i].delay_ns,
						    .nr_runs = rows[i].nr_runs,
						    .nr_partial = rows[i].nr_partial};

		v.of[PROCESS_RUN_DELAY] = 20;
		process_ended_set(ALL, &sums, &v);
		assert_int_equal(v.of[PROCESS_RUN_DELAY], rows[i].want);
		assert_int_equal(v.nr_missed, rows[i].nr_missed);
	}
}

/* It is listed with its old values until the last ones arrive, and then for the rest of the
 * iteration. */
TEST(known)
{
	struct process_ended d = new_ended();
	struct process_gone g = {.pid = 5, .number = 3, .born_ns = 1, .name = "5 x"};
	struct bpf_exits_process p = gone(5, "x", 1000), other = gone(6, "x", 1);

	g.values.has = BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RSS);
	g.values.of[PROCESS_CPU_TIME] = 900;
	process_ended_begin(&d);
	process_ended_add(&d, &g);
	assert_false(process_ended_finish(&d, &other));
	next(&d);
	assert_int_equal(process_ended_nr(&d), 1);
	assert_false(process_ended_get(&d, 0)->is_final);
	assert_int_equal(process_ended_get(&d, 0)->values.has, BIT(PROCESS_CPU_TIME));
	assert_int_equal(process_ended_get(&d, 0)->values.of[PROCESS_CPU_TIME], 900);
	assert_true(process_ended_finish(&d, &p));
	assert_int_equal(d.grown_ns, 100);
	assert_false(process_ended_finish(&d, &p)); /* another one of that number */
	process_ended_begin(&d);                    /* a reading within the iteration */
	assert_int_equal(process_ended_nr(&d), 1);
	assert_true(process_ended_get(&d, 0)->is_final);
	assert_int_equal(process_ended_get(&d, 0)->number, 3);
	assert_int_equal(process_ended_get(&d, 0)->values.of[PROCESS_CPU_TIME], 1000);
	next(&d);
	assert_int_equal(process_ended_nr(&d), 0);
	process_ended_close(&d);
}

/* What it had used when it ended is known before it is gone; then only the rest is added, and what
 * it missed is counted once. */
TEST(so_far)
{
	struct process_ended d = new_ended();
	struct process_gone g = {.pid = 5, .number = 3, .born_ns = 1, .name = "5 x"};
	struct bpf_exits_process p = gone(5, "x", 970);

	g.values.has = BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY);
	g.values.of[PROCESS_CPU_TIME] = 900;
	p.is_whole = 0;
	p.sums.nr_runs = p.sums.nr_partial = 1;
	process_ended_begin(&d);
	assert_false(process_ended_finish(&d, &p)); /* it is listed: it was read */
	assert_int_equal(process_ended_nr(&d), 0);
	process_ended_add(&d, &g);
	assert_true(process_ended_finish(&d, &p));
	p.sums.cpu_ns = 950; /* of another thread that ended at once */
	assert_true(process_ended_finish(&d, &p));
	assert_int_equal(d.grown_ns, 70);
	assert_int_equal(process_ended_get(&d, 0)->values.of[PROCESS_CPU_TIME], 970);
	assert_false(process_ended_get(&d, 0)->is_final);
	next(&d);
	assert_int_equal(process_ended_nr(&d), 1);
	p.is_whole = 1;
	p.sums.cpu_ns = 1000;
	assert_true(process_ended_finish(&d, &p));
	assert_int_equal(d.grown_ns, 30);
	assert_int_equal(process_ended_get(&d, 0)->values.of[PROCESS_CPU_TIME], 1000);
	assert_int_equal(process_ended_get(&d, 0)->values.nr_missed, 1);
	assert_true(process_ended_get(&d, 0)->is_final);
	process_ended_close(&d);
}

/* Those of other names are not chosen, but for a target, which the kernel chooses. */
TEST(chosen)
{
	char glob[] = "ab*", *globs[] = {glob};
	bool has_hit[1] = {false};
	const struct bpf_exits_process p = gone(5, "abc", 10), other = gone(6, "xyz", 10);

	for (unsigned is_target = 0; is_target < 2; is_target++) {
		struct process_ended d = new_ended();

		choice = (struct process_choice){.globs = globs, .has_hit = has_hit, .nr_globs = 1};
		d.is_target = is_target;
		process_ended_begin(&d);
		process_ended_add_new(&d, &p, NOW);
		process_ended_add_new(&d, &other, NOW);
		assert_non_null(find(&d, "5 abc"));
		assert_int_equal(process_ended_nr(&d), 1 + is_target);
		process_ended_close(&d);
	}
}

/* What had ended before the first iteration may be sent in it, and is not of it. One that was
 * listed then under another name is shown, without a start. */
TEST(ended_before_the_first_iteration)
{
	struct process_ended d = new_ended();
	struct bpf_exits_process before = gone(5, "before", 10), within = gone(6, "within", 10);

	process_ended_begin(&d);
	process_ended_begin(&d); /* with this one it begins */
	before.start_ns = d.begin_ns - 1;
	within.start_ns = d.begin_ns;
	next(&d);
	process_ended_add_new(&d, &before, NOW);
	process_ended_add_new(&d, &within, NOW);
	assert_null(find(&d, "5 before"));
	assert_non_null(find(&d, "6 within"));
	assert_int_equal(d.grown_ns, 10);
	process_ended_add_new(&d, &before, 0);
	assert_non_null(find(&d, "5 before"));
	assert_int_equal(find(&d, "5 before")->born_ns, 0);
	process_ended_close(&d);
}

/* After 1,000 lines in an iteration, a line for each command, which stays and only grows. */
TEST(many)
{
	enum { LINES = 1000, MORE = 50 };
	struct process_ended d = new_ended();
	const struct process_gone *sum;
	uint64_t all_ns = 0;

	process_ended_begin(&d);
	for (uint32_t i = 0; i < LINES + MORE; i++) {
		struct bpf_exits_process p = gone(i + 1, i % 2 ? "odd" : "even", 10 + i);

		process_ended_add_new(&d, &p, NOW);
		all_ns += p.sums.cpu_ns;
	}
	assert_int_equal(process_ended_nr(&d), LINES + 2);
	assert_int_equal(nr_numbers, 100 + LINES + 2);
	assert_int_equal(d.grown_ns, all_ns);
	assert_non_null(find(&d, "1000 odd"));
	assert_null(find(&d, "1001 even"));
	sum = find(&d, "even (ended)");
	assert_non_null(sum);
	assert_int_equal(sum->values.of[PROCESS_CPU_TIME], MORE / 2 * (1010 + 1010 + MORE - 2) / 2);
	assert_int_equal(sum->values.of[PROCESS_FAULTS], MORE / 2 * 9);
	next(&d);
	assert_int_equal(process_ended_nr(&d), 2);
	assert_int_equal(d.grown_ns, 0);
	process_ended_close(&d);
}

/* A name from the kernel may be anything. */
TEST(names)
{
	struct process_ended d = new_ended();
	const struct bpf_exits_process p = gone(5, "a\nb\033[1m", 10);

	process_ended_begin(&d);
	process_ended_add_new(&d, &p, NOW);
	assert_non_null(find(&d, "5 a b?[1m"));
	process_ended_close(&d);
}
