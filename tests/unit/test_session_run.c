/*
 * The loop: boundaries that lose nothing, deadlines that do not drift, all the ways to end, CPUs
 * that come and go. Perf calls are fake_pmu.h's; /proc is the machine's or made for the test.
 */
#include "kit.h"
#include "test_session.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

enum { NS_PER_MS = 1000000 };

static struct tape tape; /* large */
static struct rig rig;

static void begin(unsigned nr_cpus, const char *events, uint64_t nr_iterations, uint64_t ms)
{
	rig_init(&rig, nr_cpus, "", events);
	rig.spec.num_iterations = nr_iterations;
	rig.spec.duration_ns = ms * NS_PER_MS;
	tape = (struct tape){.nr_iterations = 0};
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS}, NULL);
}

/* Every end is the next start, so the differences add up to the whole; one read per group, CPU and
 * boundary, and not one more. */
TEST(boundaries)
{
	static const struct {
		const char *events;
		unsigned nr_groups;
	} cases[] = {{SOFTWARE_3, 1}, {HARDWARE_6, 2}, {SOFTWARE_2 HARDWARE_6 MISC, 3}, {MISC, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(4, cases[i].events, 6, 2);
		assert_run(&tape, &rig);
		assert_int_equal(tape.nr_iterations, 6);
		assert_int_equal(tape.nr_gaps, 0);
		assert_int_equal(fake.nr_reads, cases[i].nr_groups * 4 * 7);
		assert_int_equal(fake.nr_enables, cases[i].nr_groups * 4);
		for (unsigned cpu = 0; cpu < 4; cpu++)
			for (size_t k = 0; k < tape.nr_events; k++) {
				const struct reading *a = &tape.first[cpu][k],
						     *b = &tape.last[cpu][k];

				assert_int_equal(tape.sum[cpu][k], b->raw - a->raw);
				if (rig.plan.events[k].set == PLAN_NO_SET)
					continue;
				assert_int_equal(a->state, READING_OK);
				assert_true(b->raw > a->raw && b->enabled_ns > a->enabled_ns);
			}
		rig_fini(&rig);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* How much later than its deadline boundary k came; a boundary is never early. */
static uint64_t late_ns(unsigned k, uint64_t duration_ns)
{
	uint64_t since_ns = tape.end_ns[k] - tape.it[0].start_ns;

	assert_true(since_ns >= (k + 1) * duration_ns);
	return since_ns % duration_ns; /* a boundary that was held up is on a later deadline */
}

/* A busy machine may be late, but not later and later: some boundary of the last ones is on time.
 */
TEST(no_drift)
{
	enum { NR = 200, PART = 50, MS = 5 };
	uint64_t late[NR];

	begin(2, SOFTWARE_2, NR, MS);
	assert_run(&tape, &rig);
	for (unsigned k = 0; k < NR; k++)
		late[k] = late_ns(k, MS * NS_PER_MS);
	qsort(late + NR - PART, PART, sizeof(*late), by_value);
	assert_true(late[NR - PART] < MS * NS_PER_MS / 2);
	rig_fini(&rig);
}

TEST(duration_0)
{
	uint64_t start_ns = clock_monotonic_ns();

	begin(2, SOFTWARE_2 MISC, 3, 0);
	assert_run(&tape, &rig);
	assert_int_equal(tape.nr_iterations, 3);
	assert_int_equal(tape.nr_gaps, 0);
	assert_int_equal(tape.nr_notes, 0);
	assert_true(tape.sum[1][0] > 0);
	assert_true(clock_monotonic_ns() - start_ns < 60000ull * NS_PER_MS);
	rig_fini(&rig);
}

static void stop_on_signal(int number)
{
	(void)number;
	session_stop(tape.session);
}

static void *stop_from_thread(void *arg)
{
	sleep_ms(30);
	session_stop(arg);
	return NULL;
}

static void assert_stopped(unsigned nr_iterations, uint64_t start_ns)
{
	assert_int_equal(tape.nr_iterations, nr_iterations);
	assert_true(clock_monotonic_ns() - start_ns < 60000ull * NS_PER_MS);
	assert_true(tape.sum[0][0] > 0);
	assert_files(&rig, nr_iterations * 2, nr_iterations);
	rig_fini(&rig);
}

TEST(stop_by_signal)
{
	const struct sigaction stop = {.sa_handler = stop_on_signal};
	const struct itimerval soon = {.it_value.tv_usec = 30000};
	uint64_t start_ns = clock_monotonic_ns();

	begin(2, SOFTWARE_2, 5, 60000);
	rig_with_files(&rig);
	sigaction(SIGALRM, &stop, NULL);
	assert_int_equal(tape_open(&tape, &rig, NULL), 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(session_run(tape.session, NULL), 0);
	tape_close(&tape);
	signal(SIGALRM, SIG_DFL);
	assert_stopped(1, start_ns);
}

TEST(stop_by_thread)
{
	uint64_t start_ns = clock_monotonic_ns();
	pthread_t thread;

	begin(2, SOFTWARE_2, 5, 60000);
	rig_with_files(&rig);
	assert_int_equal(tape_open(&tape, &rig, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, stop_from_thread, tape.session), 0);
	assert_int_equal(session_run(tape.session, NULL), 0);
	pthread_join(thread, NULL);
	tape_close(&tape);
	assert_true(tape.it[0].is_cut);
	assert_stopped(1, start_ns);
}

static void *finish_from_thread(void *arg)
{
	sleep_ms(30);
	session_finish(arg);
	return NULL;
}

/* The end of what is measured is the end of the iteration: it is whole. */
TEST(finish_by_thread)
{
	uint64_t start_ns = clock_monotonic_ns();
	pthread_t thread;

	begin(2, SOFTWARE_2, 5, 60000);
	rig_with_files(&rig);
	assert_int_equal(tape_open(&tape, &rig, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, finish_from_thread, tape.session), 0);
	assert_int_equal(session_run(tape.session, NULL), 0);
	pthread_join(thread, NULL);
	tape_close(&tape);
	assert_false(tape.it[0].is_cut);
	assert_stopped(1, start_ns);
}

/* A command ends while the second iteration is written. */
static void end_in_second(void *arg, struct trace_target *out)
{
	struct tape *t = arg;

	*out = (struct trace_target){.flags = TRACE_TARGET_IS_COMMAND};
	if (t->nr_iterations == 1)
		session_finish(t->session);
	if (t->nr_iterations >= 1)
		out->flags |= TRACE_TARGET_HAS_ENDED;
}

/* The end comes after a boundary: it is in one more iteration, if there may be one, as is what was
 * done until then. */
TEST(finish_after_boundary)
{
	for (unsigned nr = 2; nr <= 3; nr++) {
		begin(2, SOFTWARE_2, nr, 5);
		tape.on_target = end_in_second;
		assert_run(&tape, &rig);
		assert_int_equal(tape.nr_iterations, nr);
		assert_int_equal(tape.nr_gaps, 0);
		for (unsigned i = 0; i < nr; i++) {
			assert_false(tape.it[i].is_cut);
			assert_int_equal(tape.it[i].target_flags & TRACE_TARGET_HAS_ENDED,
					 i == nr - 1 ? TRACE_TARGET_HAS_ENDED : 0);
		}
		rig_fini(&rig);
	}
}

/* Stopped before it ran, it still reads once and writes that. */
TEST(stop_before)
{
	uint64_t start_ns = clock_monotonic_ns();

	begin(2, SOFTWARE_2, 5, 60000);
	rig_with_files(&rig);
	assert_int_equal(tape_open(&tape, &rig, NULL), 0);
	session_stop(tape.session);
	assert_int_equal(session_run(tape.session, NULL), 0);
	tape_close(&tape);
	assert_true(tape.it[0].is_cut);
	assert_stopped(1, start_ns);

	begin(2, SOFTWARE_2, 5, 0); /* an iteration without a duration is whole at once */
	rig_with_files(&rig);
	assert_int_equal(tape_open(&tape, &rig, NULL), 0);
	session_stop(tape.session);
	assert_int_equal(session_run(tape.session, NULL), 0);
	tape_close(&tape);
	assert_false(tape.it[0].is_cut);
	assert_stopped(1, start_ns);
}

static int end_after_second(struct tape *t, uint32_t iteration)
{
	(void)t;
	return iteration == 1;
}

TEST(ended_by_caller)
{
	uint64_t start_ns = clock_monotonic_ns();

	begin(2, SOFTWARE_2, 50, 5);
	rig_with_files(&rig);
	tape.each = end_after_second;
	assert_run(&tape, &rig);
	assert_stopped(2, start_ns);
}

static uint64_t resumed_ns;

static int slow_in_second(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 1) {
		sleep_ms(70);
		resumed_ns = clock_monotonic_ns();
	}
	return 0;
}

/* The first deadline after a time. */
static uint64_t deadline_after(uint64_t ns, uint64_t duration_ns)
{
	uint64_t start_ns = tape.it[0].start_ns;

	return start_ns + ((ns - start_ns) / duration_ns + 1) * duration_ns;
}

/* As after SIGSTOP or a sleeping machine: no burst of iterations, the grid stays, and it is said.
 */
TEST(held_up)
{
	begin(2, SOFTWARE_2, 4, 20);
	tape.each = slow_in_second;
	assert_run(&tape, &rig);
	assert_true(tape.it[2].end_ns - tape.it[2].start_ns >= 60 * NS_PER_MS);
	assert_true(tape.it[2].end_ns >= deadline_after(resumed_ns, 20 * NS_PER_MS));
	assert_true(tape.nr_long > 0);
	assert_int_equal(tape.nr_held, tape_nr_passed_on(tape.nr_long));
	assert_int_equal(tape.nr_gaps, 0);
	for (unsigned k = 0; k < 4; k++)
		late_ns(k, 20 * NS_PER_MS);
	rig_fini(&rig);

	begin(2, SOFTWARE_2, 2, 20); /* the last one holds nothing up */
	tape.each = slow_in_second;
	assert_run(&tape, &rig);
	assert_int_equal(tape.nr_held, tape_nr_passed_on(tape.nr_long));
	rig_fini(&rig);
}

static int little_slow_in_second(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 1)
		sleep_ms(150);
	return 0;
}

/* Not so long that a deadline is passed by: that is said as well. */
TEST(held_up_a_little)
{
	begin(2, SOFTWARE_2, 3, 100);
	tape.each = little_slow_in_second;
	assert_run(&tape, &rig);
	assert_true(tape.it[2].end_ns - tape.it[2].start_ns >= 150 * NS_PER_MS);
	assert_true(tape.nr_held > 0);
	assert_int_equal(tape.nr_held, tape_nr_passed_on(tape.nr_long));
	rig_fini(&rig);
}

static const char stat_4_cpus[] = "cpu  9 9 9 9 9 9 9 9 0 0\n"
				  "cpu0 10 0 10 80 0 0 0 0 0 0\ncpu1 10 0 10 80 0 0 0 0 0 0\n"
				  "cpu2 10 0 10 80 0 0 0 0 0 0\ncpu3 10 0 10 80 0 0 0 0 0 0\n"
				  "ctxt 7\n";
static const char stat_without_2[] = "cpu  9 9 9 9 9 9 9 9 0 0\n"
				     "cpu0 20 0 20 90 0 0 0 0 0 0\ncpu1 20 0 20 90 0 0 0 0 0 0\n"
				     "cpu3 20 0 20 90 0 0 0 0 0 0\nctxt 8\n";
static const char stat_later[] = "cpu  9 9 9 9 9 9 9 9 0 0\n"
				 "cpu0 30 0 30 99 0 0 0 0 0 0\ncpu1 30 0 30 99 0 0 0 0 0 0\n"
				 "cpu2 30 0 30 99 0 0 0 0 0 0\ncpu3 30 0 30 99 0 0 0 0 0 0\n"
				 "ctxt 9\n";

/* CPU 2 is away from iteration 2 to the end of iteration 3. */
static int away_for_two(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 1) {
		fake_set_offline(2);
		rig_put_stat(&rig, stat_without_2);
		sleep_ms(3);
	} else if (iteration == 3) {
		fake_set_online(2);
		rig_put_stat(&rig, stat_later);
	}
	return 0;
}

TEST(hotplug)
{
	/* per iteration: start and end of a perf event, and of cpu_user: Ok, oFfline, None */
	static const struct {
		const char *events, *perf, *misc;
		unsigned gone, back; /* iterations of the notes */
	} cases[] = {
	    {SOFTWARE_3, "OO OO OF -- OO OO", NULL, 2, 4},
	    {HARDWARE_6 SOFTWARE_1, "OO OO OF -- OO OO", NULL, 2, 4},
	    {SOFTWARE_1, "OO OO OF -- OO OO", NULL, 2, 4},
	    /* /proc shows the CPU only to the next reading */
	    {SOFTWARE_3 MISC, "OO OO OF -- -- OO", "OO OO O- -- -- OO", 2, 5},
	    {SOFTWARE_1 MISC, "OO OO OF -- -- OO", "OO OO O- -- -- OO", 2, 5},
	    {MISC, NULL, "OO OO O- -- -- OO", 2, 5},
	};
	char pattern[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(4, cases[i].events, 6, 20);
		rig_with_proc(&rig);
		rig_with_files(&rig);
		rig_put_stat(&rig, stat_4_cpus);
		tape.each = away_for_two;
		assert_run(&tape, &rig);
		for (unsigned k = 0; k < 6; k++) {
			const struct reading *start = tape.it[k].start[2], *end = tape.it[k].end[2];
			const char *want[] = {cases[i].perf, cases[i].misc};
			size_t at[] = {0, want[1] ? event_index(&rig, "cpu_user") : 0};

			for (unsigned w = 0; w < 2; w++) {
				static const char names[] = "-OF";

				if (!want[w])
					continue;
				if (want[w][k * 3] != '-') /* what was away may start as offline */
					assert_int_equal(names[start[at[w]].state], want[w][k * 3]);
				if (names[end[at[w]].state] != want[w][k * 3 + 1])
					fail_msg("case %zu, iteration %u: not as in %s", i, k,
						 want[w]);
			}
			assert_int_equal(tape.it[k].end[1][0].state, READING_OK);
		}
		snprintf(pattern, sizeof(pattern), "CPU 2 went offline in iteration %u: *",
			 cases[i].gone);
		assert_note(&tape, 0, pattern);
		snprintf(pattern, sizeof(pattern), "CPU 2 is online: counted from iteration %u on",
			 cases[i].back);
		assert_note(&tape, 1, pattern);
		assert_int_equal(tape.nr_notes, 2);
		assert_files(&rig, 6 * 4, 6);
		rig_fini(&rig);
	}
}

/* The notes are in the traces of their CPU, with the iteration in which it happened. */
static int first_away(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 0)
		fake_set_offline(0);
	return 0;
}

/* The machine's counts are in the first trace, also while its CPU is away. */
TEST(first_cpu_offline)
{
	enum { FAULTS = 1, CPU_USER, SWITCHES };

	begin(2, SOFTWARE_2 MISC, 3, 5);
	tape.each = first_away;
	assert_run(&tape, &rig);
	assert_int_equal(tape.it[1].end[0][FAULTS].state, READING_OFFLINE);
	assert_int_equal(tape.it[1].end[0][CPU_USER].state, READING_NONE);
	assert_int_equal(tape.it[1].end[0][SWITCHES].state, READING_OK);
	assert_int_equal(tape.it[2].end[0][SWITCHES].state, READING_OK);
	rig_fini(&rig);
}

TEST(notes_in_traces)
{
	int dirfd;

	begin(4, SOFTWARE_3, 6, 3);
	rig_with_files(&rig);
	tape.each = away_for_two;
	assert_run(&tape, &rig);
	dirfd = open(rig.folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(check_trace(dirfd, "t.2.2.cpuperf"), 1);
	assert_int_equal(check_trace(dirfd, "t.3.2.cpuperf"), 0);
	assert_int_equal(check_trace(dirfd, "t.4.2.cpuperf"), 1);
	assert_int_equal(check_trace(dirfd, "t.2.1.cpuperf"), 0);
	close(dirfd);
	rig_fini(&rig);
}

static int online_after_first(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 0)
		fake_set_online(1);
	return 0;
}

/* Offline between plan and start: the events work on the other CPUs, and there when it comes. */
TEST(offline_from_start)
{
	begin(2, SOFTWARE_2, 3, 3);
	fake.offline[1] = true;
	tape.each = online_after_first;
	assert_int_equal(tape_open(&tape, &rig, NULL), 0);
	assert_int_equal(session_event(tape.session, 0)->nr_cpus, 1);
	assert_int_equal(session_event(tape.session, 0)->support.state, READING_OK);
	assert_int_equal(session_nr_working(tape.session), 2);
	assert_int_equal(session_run(tape.session, NULL), 0);
	tape_close(&tape);
	assert_int_equal(tape.it[0].end[1][0].state, READING_NONE);
	assert_int_equal(tape.it[1].end[1][0].state, READING_OK);
	assert_note(&tape, 0, "CPU 1 is online*iteration 1 on");
	rig_fini(&rig);
}

TEST(split_is_told)
{
	begin(2, HARDWARE_3 SOFTWARE_1, 3, 60);
	fake.stuck = true;
	assert_run(&tape, &rig);
	assert_int_equal(tape.nr_notes, 1);
	assert_note(&tape, 0, "a group of events did not run for 100 ms*its 6 events*");
	assert_int_equal(tape.it[0].end[0][0].running_ns, 0);
	assert_true(tape.it[2].end[0][0].running_ns > tape.it[2].start[0][0].running_ns);
	rig_fini(&rig);

	begin(2, HARDWARE_3, 3, 60000); /* stopped before that time, nothing can be said */
	fake.stuck = true;
	assert_int_equal(tape_open(&tape, &rig, NULL), 0);
	session_stop(tape.session);
	assert_int_equal(session_run(tape.session, NULL), 0);
	tape_close(&tape);
	assert_int_equal(tape.nr_notes, 1);
	assert_note(&tape, 0, "iteration 0 was ended after * of 60000 ms");
	rig_fini(&rig);
}

TEST(pinned_without_counter_is_told)
{
	begin(2,
	      SOFTWARE_1 "{\"group_name\":\"arch\",\"event_name\":\"llc_misses\","
			 "\"flags\":[\"pinned\"]},",
	      3, 2);
	fake.no_room_for_pinned = true;
	assert_run(&tape, &rig);
	assert_int_equal(tape.nr_notes, 1); /* and no CPU went offline */
	assert_note(&tape, 0, "2 pinned event(s) found no free counter*");
	assert_int_equal(tape.it[2].end[1][0].state, READING_OK);
	assert_int_equal(tape.it[2].end[1][1].state, READING_FAILED);
	rig_fini(&rig);
}

TEST(multiplexed)
{
	begin(1, HARDWARE_6, 2, 4);
	fake.running_pct = 25;
	assert_run(&tape, &rig);
	for (size_t i = 0; i < 6; i++)
		/* each reading of the fake rounds down */
		assert_in_range(tape.last[0][i].enabled_ns / 4 - tape.last[0][i].running_ns, 0, 8);
	rig_fini(&rig);
}

TEST(nothing_works)
{
	begin(2, HARDWARE_6, 1, 0);
	for (size_t i = 0; i < FAKE_MAX_CONFIG; i++)
		fake.refusal[PERF_TYPE_HARDWARE][i] = -ENOENT;
	assert_int_equal(tape_open(&tape, &rig, NULL), 0);
	assert_int_equal(session_nr_working(tape.session), 0);
	for (size_t i = 0; i < 6; i++) {
		const struct session_event *ev = session_event(tape.session, i);

		assert_int_equal(ev->nr_cpus, 0);
		assert_int_equal(ev->perf_group, UINT32_MAX);
		assert_int_equal(ev->support.state, READING_NOT_SUPPORTED);
		assert_true(ev->support.reason[0]);
	}
	tape_close(&tape);
	rig_fini(&rig);
}
