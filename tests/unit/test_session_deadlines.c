/*
 * Deadlines lie on a grid, whatever each iteration takes and however late each wake-up is: with a
 * clock of the test's own, to the nanosecond. What is defined here takes the place of base/clock.c
 * and of the C library's waiting.
 */
#include "kit.h"
#include "test_session.h"

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

void before_all(void)
{
	now_ns = (uint64_t)5000 * MS;
}
