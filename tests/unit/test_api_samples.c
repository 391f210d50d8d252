/*
 * Samples of a program's own, held in memory: rows in order of time, with the functions that ran.
 */
#include "kit.h"

#include "cpuperf/cpuperf.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

static struct cpuperf_error e = CPUPERF_ERROR_INIT;

static const char *const SPEC =
    "{\"events\": [{\"group_name\": \"software\", \"event_name\": \"cpu_clock\","
    " \"rate\": 1000000, \"flags\": [\"pc\", \"callchain\"]},"
    " {\"group_name\": \"software\", \"event_name\": \"page_faults\"}],"
    " \"duration\": 100, \"num_iterations\": 1}";

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void spin_in_here(uint64_t ns)
{
	uint64_t until = cpu_ns() + ns;

	do
		for (volatile unsigned i = 0; i < 100000; i++)
			;
	while (cpu_ns() < until);
}

__attribute__((noinline)) static void call_spin(uint64_t ns)
{
	spin_in_here(ns);
	__asm__ volatile(""); /* no tail call */
}

static struct cpuperf_session *open_session(const char *text, int scope)
{
	struct cpuperf_session *s = NULL;
	struct cpuperf_spec *spec = NULL;

	if (cpuperf_spec_parse(&spec, text, strlen(text), &e) ||
	    cpuperf_session_open(&s, spec, scope, 0, CPUPERF_IN_MEMORY, &e))
		fail_msg("%s", e.text);
	cpuperf_spec_free(spec);
	return s;
}

static bool has_frame(struct cpuperf_samples *s, const struct cpuperf_sample *row, const char *name)
{
	for (size_t i = 0; i < row->nr_frames; i++) {
		const struct cpuperf_frame *f = cpuperf_samples_frame(s, i);

		assert_int_equal(f->size, sizeof(*f));
		assert_true(f->function && f->object);
		if (strcmp(f->function, name) == 0) {
			assert_false(f->is_kernel);
			assert_true(f->address);
			return true;
		}
	}
	assert_null(cpuperf_samples_frame(s, row->nr_frames));
	return false;
}

/* What the rows add up to. */
struct sums {
	uint64_t nr, weight, nr_spin, nr_callers;
};

static struct sums add_up(struct cpuperf_samples *s, pid_t tid)
{
	const struct cpuperf_sample *row;
	uint64_t last_ns = 0;
	struct sums sums = {0};

	while ((row = cpuperf_samples_next(s))) {
		assert_true(row->time_ns >= last_ns);
		last_ns = row->time_ns;
		assert_int_equal(row->event, 0);
		assert_int_equal(row->pid, getpid());
		if (tid)
			assert_int_equal(row->tid, tid);
		assert_true(row->nr == 1 && strlen(row->comm));
		sums.nr++;
		sums.weight += row->weight;
		sums.nr_spin += has_frame(s, row, "spin_in_here");
		sums.nr_callers += has_frame(s, row, "call_spin");
	}
	assert_null(cpuperf_samples_next(s));
	print_message("%" PRIu64 " samples of %" PRIu64 " ns; spinning %" PRIu64 ", called %" PRIu64
		      "\n",
		      sums.nr, sums.weight, sums.nr_spin, sums.nr_callers);
	assert_null(cpuperf_samples_frame(s, 0) && sums.nr == 0 ? &e : NULL);
	return sums;
}

/* Whether most samples, and enough of them, were taken in the function that spins. */
static bool is_clear(const struct sums *s, uint64_t least)
{
	return s->nr >= least && s->nr_spin * 10 >= s->nr * 7;
}

/* A busy or emulated machine skips interrupts, and has less time to find names: tries again with
 * more time. */
enum { NR_TRIES = 5, SPIN_NS = 300000000 };

static void measure_thread(uint64_t spin_ns, struct sums *sums)
{
	struct cpuperf_session *session = open_session(SPEC, CPUPERF_THREAD);
	struct cpuperf_samples *samples = NULL;
	uint64_t ns = cpu_ns();
	struct sums again;

	assert_int_equal(cpuperf_samples_of(&samples, session, 0, &e), -EBUSY);
	assert_int_equal(cpuperf_session_start(session, NULL, NULL, &e), 0);
	call_spin(spin_ns);
	cpuperf_session_stop(session);
	assert_int_equal(cpuperf_session_wait(session, &e), 0);
	ns = cpu_ns() - ns;
	if (cpuperf_samples_of(&samples, session, 0, &e))
		fail_msg("%s", e.text);
	cpuperf_session_close(session); /* the samples remain */
	assert_int_equal(cpuperf_samples_nr_events(samples), 2);
	assert_string_equal(cpuperf_samples_event(samples, 0)->label, "cpu_clock");
	assert_null(cpuperf_samples_event(samples, 2));
	*sums = add_up(samples, gettid());
	assert_int_equal(sums->nr, cpuperf_samples_nr(samples));
	assert_true(sums->weight <= ns + ns / 10);
	cpuperf_samples_rewind(samples);
	again = add_up(samples, gettid());
	assert_memory_equal(&again, sums, sizeof(again));
	cpuperf_samples_close(samples);
}

TEST(own_thread)
{
	struct sums sums = {0};

	for (int i = 0; i < NR_TRIES && !is_clear(&sums, 150); i++)
		measure_thread((uint64_t)SPIN_NS << i, &sums);
	assert_true(is_clear(&sums, 150) && sums.nr_callers * 10 >= sums.nr * 7);
}

static void *spin(void *spin_ns)
{
	call_spin(*(uint64_t *)spin_ns);
	return NULL;
}

static void measure_process(uint64_t spin_ns, struct sums *sums)
{
	struct cpuperf_session *session = open_session(SPEC, CPUPERF_PROCESS);
	struct cpuperf_samples *samples = NULL;
	pthread_t thread;

	assert_int_equal(cpuperf_session_start(session, NULL, NULL, &e), 0);
	assert_int_equal(pthread_create(&thread, NULL, spin, &spin_ns), 0);
	pthread_join(thread, NULL);
	cpuperf_session_stop(session);
	assert_int_equal(cpuperf_session_wait(session, &e), 0);
	if (cpuperf_samples_of(&samples, session, CPUPERF_LINES, &e))
		fail_msg("%s", e.text);
	*sums = add_up(samples, 0);
	cpuperf_session_close(session);
	cpuperf_samples_close(samples);
}

/* A thread that is created later; the session's own threads are not in it. */
TEST(own_process)
{
	struct sums sums = {0};

	for (int i = 0; i < NR_TRIES && !is_clear(&sums, 40); i++)
		measure_process((uint64_t)SPIN_NS / 3 << i, &sums);
	assert_true(is_clear(&sums, 40));
}

TEST(refused)
{
	static const char *const counted =
	    "{\"events\": [{\"group_name\": \"software\", \"event_name\": \"cpu_clock\"}],"
	    " \"duration\": 0.01, \"num_iterations\": 1}";
	struct cpuperf_samples *s = NULL;
	struct cpuperf_session *session = open_session(counted, CPUPERF_PROCESS);

	assert_int_equal(cpuperf_session_start(session, NULL, NULL, &e), 0);
	assert_int_equal(cpuperf_session_wait(session, &e), 0);
	assert_int_equal(cpuperf_samples_of(&s, session, 0, &e), -ENODATA);
	assert_non_null(strstr(e.hint, "CPUPERF_IN_MEMORY"));
	assert_int_equal(cpuperf_samples_of(NULL, session, 0, &e), -ENODATA);
	cpuperf_session_close(session);
	assert_int_equal(cpuperf_samples_of(&s, NULL, 0, &e), -EINVAL);
	assert_int_equal(cpuperf_samples_open(&s, "/nowhere.cpsession", 0, &e), -ENOENT);
	assert_string_equal(e.source, "/nowhere.cpsession");
	assert_int_equal(cpuperf_samples_open(&s, NULL, 0, &e), -EINVAL);
	assert_int_equal(cpuperf_samples_open(&s, "/nowhere.cpsession", 64, &e), -EINVAL);
	assert_null(s);
	cpuperf_samples_close(NULL);
	cpuperf_samples_rewind(NULL);
	assert_null(cpuperf_samples_next(NULL));
	assert_null(cpuperf_samples_frame(NULL, 0));
	assert_int_equal(cpuperf_samples_nr(NULL) + cpuperf_samples_lost(NULL), 0);
	assert_null(cpuperf_samples_event(NULL, 0));
}
