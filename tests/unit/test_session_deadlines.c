/*
 * Deadlines lie on a grid, whatever each iteration takes and however late each wake-up is: with a
 * clock of the test's own, to the nanosecond. What is defined here takes the place of base/clock.c
 * and of the C library's waiting.
 */
#include "kit.h"
#include "test_session.h"

#include "session/paced.h"
#include "session/pacer.h"

#include <poll.h>
#include <stdatomic.h>

enum { MS = 1000000, LATE_NS = 300000, STEP_NS = 100 };

/* Each look takes a little time, so that who forgets to wait does not turn for ever. */
static _Atomic uint64_t now_ns;

uint64_t clock_monotonic_ns(void)
{
	return atomic_fetch_add(&now_ns, STEP_NS) + STEP_NS;
}

uint64_t clock_thread_cpu_ns(void)
{
	return 0;
}

void clock_triple_now(struct clock_triple *out)
{
	uint64_t now = clock_monotonic_ns();

	*out = (struct clock_triple){now, now, now};
}

/* Every third one is interrupted half-way; the others come late. */
int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *timeout, const sigset_t *mask)
{
	static unsigned nr_naps;
	uint64_t left_ns = (uint64_t)timeout->tv_sec * 1000 * MS + (uint64_t)timeout->tv_nsec;

	(void)fds, (void)nr, (void)mask;
	if (nr_naps++ % 3 == 1) {
		now_ns += left_ns / 2;
		errno = EINTR;
		return -1;
	}
	now_ns += left_ns + LATE_NS;
	return 0;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
			   const struct timespec *until)
{
	(void)cond, (void)lock;
	now_ns = (uint64_t)until->tv_sec * 1000 * MS + (uint64_t)until->tv_nsec + LATE_NS;
	return ETIMEDOUT;
}

/* How long what follows each boundary takes: by turns nothing, a part of an iteration, almost all
 * of one, and once two and a half. */
static const uint64_t work_ms[] = {0, 7, 19, 3, 50, 11, 0, 18, 1, 6};

static int work(struct tape *t, uint32_t iteration)
{
	(void)t;
	now_ns += work_ms[iteration % NR(work_ms)] * MS;
	return 0;
}

TEST(iterations)
{
	enum { NR = 100, DURATION_MS = 20 };
	static struct tape tape;
	uint64_t due_ns = DURATION_MS * MS;
	struct rig rig;

	rig_init(&rig, 2, "", SOFTWARE_2 MISC);
	rig.spec.num_iterations = NR;
	rig.spec.duration_ns = DURATION_MS * MS;
	tape = (struct tape){.each = work};
	assert_run(&tape, &rig);
	assert_int_equal(tape.nr_iterations, NR);
	for (unsigned k = 0; k < NR; k++) {
		uint64_t since_ns = tape.end_ns[k] - tape.it[0].start_ns;

		if (since_ns < due_ns || since_ns > due_ns + LATE_NS + MS / 10)
			fail_msg("boundary %u: due after %llu ns, came after %llu", k,
				 (unsigned long long)due_ns, (unsigned long long)since_ns);
		due_ns += DURATION_MS * MS;
		while (due_ns < since_ns + work_ms[k % NR(work_ms)] * MS)
			due_ns += DURATION_MS * MS;
	}
	rig_fini(&rig);
}

enum { PERIOD_MS = 10, NR_TICKS = 50 };
static struct {
	uint64_t at_ns[NR_TICKS];
	atomic_uint nr;
} ticks;

static void tick(void *arg)
{
	struct pacer *p = arg;

	ticks.at_ns[ticks.nr++] = now_ns;
	now_ns += ticks.nr % 10 == 5 ? 25 * MS : 4 * MS;
	p->is_stopping |= ticks.nr == NR_TICKS; /* the lock is held */
}

TEST(pacer)
{
	struct pacer_pace pace = {.period_ns = PERIOD_MS * MS};
	struct pacer p;
	uint64_t start_ns, due_ns = PERIOD_MS * MS, nr_missed = 0;

	assert_int_equal(pacer_init(&p, tick, &p), 0);
	now_ns = start_ns = (uint64_t)7000 * MS;
	assert_int_equal(pacer_start(&p, &pace, 1, start_ns), 0);
	pthread_join(p.thread, NULL);
	p.is_running = false;
	for (unsigned k = 0; k < NR_TICKS; k++, due_ns += PERIOD_MS * MS) {
		uint64_t since_ns = ticks.at_ns[k] - start_ns;

		if (since_ns < due_ns || since_ns > due_ns + LATE_NS + MS / 10)
			fail_msg("tick %u: due after %llu ns, came after %llu", k,
				 (unsigned long long)due_ns, (unsigned long long)since_ns);
		if (k % 10 == 4) { /* 25 ms of work */
			due_ns += 2 * PERIOD_MS * MS;
			nr_missed += 2;
		}
	}
	assert_int_equal(pace.ticks, NR_TICKS);
	assert_int_equal(pace.missed, nr_missed);
	pacer_fini(&p);
}

/* Two paces, of which the second is due at each third deadline of the first; 12 ms of work make the
 * first one miss a deadline, and the second none. */
enum { FAST_NS = 10 * MS, SLOW_NS = 30 * MS, NR_CALLS = 31 };
static struct {
	struct pacer_pace paces[2];
	uint64_t start_ns;
	unsigned nr, nr_both, nr_ignored;
} both;

static void tick_both(void *arg)
{
	struct pacer *p = arg;
	uint64_t since_ns = now_ns - both.start_ns;

	assert_true(both.paces[0].is_due || both.paces[1].is_due);
	if (both.paces[1].is_due) {
		assert_true(since_ns / SLOW_NS * SLOW_NS + 5 * MS > since_ns);
		both.nr_both += both.paces[0].is_due;
	}
	if (++both.nr % 8 == 0 && !both.paces[1].is_due) {
		now_ns += 12 * MS;
	} else if (both.nr % 5 == 0 && both.paces[0].is_due) {
		both.paces[0].is_due = false; /* nothing was read */
		both.nr_ignored++;
	}
	p->is_stopping |= both.nr == NR_CALLS;
}

TEST(pacer_of_two_paces)
{
	struct pacer p;
	uint64_t nr_fast, nr_slow;

	assert_int_equal(pacer_init(&p, tick_both, &p), 0);
	both.paces[0].period_ns = FAST_NS;
	both.paces[1].period_ns = SLOW_NS;
	now_ns = both.start_ns = (uint64_t)9000 * MS;
	assert_int_equal(pacer_start(&p, both.paces, 2, both.start_ns), 0);
	pthread_join(p.thread, NULL);
	p.is_running = false;
	nr_fast = (both.paces[0].deadline_ns - both.start_ns) / FAST_NS - 1;
	nr_slow = (both.paces[1].deadline_ns - both.start_ns) / SLOW_NS - 1;
	/* deadlines are on the grid of their pace, and each was met, missed or not read at */
	assert_int_equal((both.paces[0].deadline_ns - both.start_ns) % FAST_NS, 0);
	assert_int_equal((both.paces[1].deadline_ns - both.start_ns) % SLOW_NS, 0);
	assert_int_equal(both.paces[0].ticks + both.paces[0].missed + both.nr_ignored, nr_fast);
	assert_int_equal(both.paces[1].ticks, nr_slow);
	assert_int_equal(both.paces[1].missed, 0);
	assert_true(both.paces[0].missed >= 2);
	assert_true(both.nr_ignored > 1 && both.nr_both > 5);
	pacer_fini(&p);
}

HOOK(before_all)
{
	now_ns = (uint64_t)5000 * MS;
}

/* Of 10, 20 … 50, at 55 something else was read, which stands for 50: 10 to 40 are missed by then.
 */
TEST(boundary_passes_deadlines)
{
	struct pacer_pace pace = {.period_ns = 10, .deadline_ns = 10};

	pacer_pass(&pace, 9);
	assert_int_equal(pace.missed, 0);
	pacer_pass(&pace, 10);
	assert_int_equal(pace.missed, 0);
	assert_int_equal(pace.deadline_ns, 10);
	pacer_pass(&pace, 55);
	assert_int_equal(pace.missed, 4);
	assert_int_equal(pace.deadline_ns, 50);
	pacer_pass(&pace, 59);
	assert_int_equal(pace.missed, 4);
}

/* They are of the iteration in which they were due, also where the thread runs again in a later
 * one. */
TEST(boundary_counts_what_was_missed)
{
	struct paced_pace pace = {.every_ns = 10};
	struct pacer_pace deadline = {.period_ns = 10, .deadline_ns = 10};
	struct paced p = {.paces = &pace, .deadlines = &deadline, .nr_paces = 1};

	paced_boundary(&p, 55);
	assert_int_equal(paced_counts(&p).missed, 4);
}
