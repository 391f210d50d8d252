/*
 * Debts and credits of experiments, in a simulation of threads with a CPU each: what the end of a
 * program is said to be with a function virtually faster is what it is with the function really
 * faster, within the time between two samples.
 */
#include "kit.h"

#include "causal/debts.h"

#include <stdbool.h>
#include <stdlib.h>

enum { SAMPLE = 10, MAX_THREADS = 4, MAX_TURNS = 40 };

enum what { END, RUN, FASTER, TIMER, JOIN, MEET, LOCK, UNLOCK, POST, WAIT, AGAIN };

/* Of a thread: FASTER is the function that is made faster. */
struct step {
	enum what what;
	uint64_t nr; /* units of time; a thread; a semaphore; turns from the first step on */
};

struct thread {
	const struct step *steps;
	size_t at;
	uint64_t left, turns, sampled, asleep, owed, since;
	bool is_begun, is_blocked, is_woken, has_paid, has_ended;
	struct causal_debt debt;
};

struct world {
	struct thread thread[MAX_THREADS];
	size_t nr, nr_met;
	bool is_locked;
	uint64_t sem[MAX_THREADS], all, now;
	uint32_t percent;
	bool is_virtual;
};

static void step_over(struct thread *t)
{
	t->at++;
	t->is_begun = t->is_blocked = t->is_woken = t->has_paid = false;
}

/* Of a thread that runs. */
static void run(struct world *w, struct thread *t)
{
	const bool is_faster = t->steps[t->at].what == FASTER;

	if (--t->left == 0)
		step_over(t);
	if (!w->is_virtual || ++t->sampled < SAMPLE)
		return;
	t->sampled = 0;
	if (is_faster)
		causal_debts_ran(&t->debt, &w->all, SAMPLE, w->percent);
	t->owed = t->asleep = causal_debts_owed(&t->debt, &w->all);
}

static bool is_ready(struct world *w, struct thread *t, const struct step *s)
{
	switch (s->what) {
	case JOIN:
		return w->thread[s->nr].has_ended;
	case LOCK:
		return !w->is_locked;
	case WAIT:
		return w->sem[s->nr];
	case MEET:
		return t->is_woken;
	default:
		return true;
	}
}

static void meet(struct world *w, struct thread *t)
{
	if (!t->is_blocked && ++w->nr_met == w->nr) {
		for (size_t i = 0; i < w->nr; i++)
			w->thread[i].is_woken = true;
		w->nr_met = 0;
	}
}

static void act(struct world *w, struct thread *t, const struct step *s)
{
	w->is_locked = s->what == LOCK || (s->what != UNLOCK && w->is_locked);
	w->sem[s->nr % MAX_THREADS] += s->what == POST;
	w->sem[s->nr % MAX_THREADS] -= s->what == WAIT;
	t->has_ended = s->what == END;
}

/* True: it goes on at once. */
static bool advance(struct world *w, struct thread *t)
{
	const struct step *s = &t->steps[t->at];
	const bool pays = s->what == END || s->what == MEET || s->what == UNLOCK || s->what == POST;

	if (t->has_ended)
		return false;
	if (t->asleep) {
		if (--t->asleep == 0)
			causal_debts_slept(&t->debt, t->owed, t->owed);
		return false;
	}
	if (s->what == RUN || s->what == FASTER || s->what == TIMER) {
		if (!t->is_begun) {
			const bool is_cut = s->what == FASTER && !w->is_virtual;

			t->left = s->nr - (is_cut ? s->nr * w->percent / 100 : 0);
			t->is_begun = true;
		}
		if (!t->left) {
			step_over(t);
			return true;
		}
		if (s->what != TIMER)
			run(w, t);
		else if (--t->left == 0)
			step_over(t);
		return false;
	}
	if (s->what == AGAIN) {
		step_over(t);
		t->at = ++t->turns < s->nr ? 0 : t->at;
		return true;
	}
	if (pays && !t->has_paid) {
		t->owed = t->asleep = causal_debts_owed(&t->debt, &w->all);
		if (t->asleep) /* others go on: it may owe more then */
			return true;
		t->has_paid = true;
	}
	if (s->what == MEET)
		meet(w, t);
	if (!is_ready(w, t, s)) {
		t->since = t->is_blocked ? t->since : w->now;
		t->is_blocked = true;
		return false;
	}
	if (t->is_blocked && w->is_virtual)
		causal_debts_woken(&t->debt, &w->all, w->now - t->since);
	act(w, t, s);
	if (!t->has_ended)
		step_over(t);
	return true;
}

static void init(struct world *w, const struct step *const *threads, uint32_t percent,
		 bool is_virtual)
{
	*w = (struct world){.percent = percent, .is_virtual = is_virtual};
	while (w->nr < MAX_THREADS && threads[w->nr]) {
		w->thread[w->nr].steps = threads[w->nr];
		w->nr++;
	}
}

/* What takes no time at this time. */
static void settle(struct world *w)
{
	bool goes_on = true;

	/* who wakes another one at this time may come after it */
	while (goes_on) {
		goes_on = false;
		for (size_t i = 0; i < w->nr; i++) {
			struct thread *t = &w->thread[i];
			const enum what what = t->steps[t->at].what;

			if (!t->asleep && what != RUN && what != FASTER && what != TIMER)
				goes_on |= advance(w, t);
		}
	}
}

/* A unit of time. */
static void pass_time(struct world *w)
{
	for (size_t i = 0; i < w->nr; i++) {
		const enum what what = w->thread[i].steps[w->thread[i].at].what;

		if (w->thread[i].asleep || what == RUN || what == FASTER || what == TIMER)
			while (advance(w, &w->thread[i]) && !w->thread[i].asleep &&
			       w->thread[i].steps[w->thread[i].at].what <= TIMER &&
			       w->thread[i].steps[w->thread[i].at].what != END)
				;
	}
	w->now++;
}

/* When the first thread ends. */
static uint64_t end_of(const struct step *const *threads, uint32_t percent, bool is_virtual)
{
	struct world w;

	init(&w, threads, percent, is_virtual);
	for (settle(&w); !w.thread[0].has_ended; settle(&w)) {
		assert_true(w.now < 1000000);
		pass_time(&w);
	}
	return w.now - (is_virtual ? causal_debts_behind(&w.thread[0].debt) : 0);
}

/* How often the first thread begins again, in a round of a program that runs for ever. */
static double rate_of(const struct step *const *threads, uint32_t percent, bool is_virtual)
{
	enum { BEFORE = 5000, ROUND = 50000 };
	uint64_t turns = 0, all = 0;
	struct world w;

	init(&w, threads, percent, is_virtual);
	while (w.now < BEFORE + ROUND) {
		settle(&w);
		if (w.now == BEFORE) {
			turns = w.thread[0].turns;
			all = w.all;
		}
		pass_time(&w);
	}
	return (double)(w.thread[0].turns - turns) / (double)(ROUND - (w.all - all));
}

#define STEPS(...) ((const struct step[]){__VA_ARGS__, {END, 0}})

static const struct step *const joined[] = {STEPS({JOIN, 1}, {JOIN, 2}), STEPS({FASTER, 4000}),
					    STEPS({RUN, 2000}), NULL};
static const struct step *const joined_slack[] = {STEPS({JOIN, 1}, {JOIN, 2}), STEPS({RUN, 4000}),
						  STEPS({FASTER, 2000}), NULL};
static const struct step *const both[] = {STEPS({JOIN, 1}, {JOIN, 2}), STEPS({FASTER, 2000}),
					  STEPS({FASTER, 3000}), NULL};
static const struct step *const serial[] = {
    STEPS({FASTER, 1000}, {RUN, 500}, {JOIN, 1}, {FASTER, 300}), STEPS({RUN, 1200}), NULL};
static const struct step *const barrier[] = {STEPS({FASTER, 300}, {MEET, 0}, {AGAIN, 10}),
					     STEPS({RUN, 200}, {MEET, 0}, {AGAIN, 10}), NULL};
static const struct step *const barrier_slack[] = {
    STEPS({RUN, 300}, {MEET, 0}, {AGAIN, 10}), STEPS({FASTER, 200}, {MEET, 0}, {AGAIN, 10}), NULL};
/* The last stage is the first thread. */
static const struct step *const pipeline[] = {
    STEPS({WAIT, 2}, {RUN, 50}, {AGAIN, 30}),
    STEPS({WAIT, 1}, {FASTER, 100}, {POST, 2}, {AGAIN, 30}),
    STEPS({RUN, 70}, {POST, 1}, {AGAIN, 30}), NULL};
static const struct step *const pipeline_slack[] = {
    STEPS({WAIT, 2}, {FASTER, 50}, {AGAIN, 30}),
    STEPS({WAIT, 1}, {RUN, 100}, {POST, 2}, {AGAIN, 30}), STEPS({RUN, 70}, {POST, 1}, {AGAIN, 30}),
    NULL};
static const struct step *const locked[] = {
    STEPS({LOCK, 0}, {FASTER, 100}, {UNLOCK, 0}, {RUN, 50}, {AGAIN, 20}),
    STEPS({LOCK, 0}, {FASTER, 100}, {UNLOCK, 0}, {RUN, 50}, {AGAIN, 20}),
    STEPS({LOCK, 0}, {FASTER, 100}, {UNLOCK, 0}, {RUN, 50}, {AGAIN, 20}), NULL};
/* Who fills the queue has time; what it pays with the lock in hand delays the other one, too. */
static const struct step *const queue[] = {
    STEPS({WAIT, 1}, {LOCK, 0}, {RUN, 1}, {UNLOCK, 0}, {FASTER, 100}, {AGAIN, 30}),
    STEPS({RUN, 30}, {LOCK, 0}, {RUN, 1}, {POST, 1}, {UNLOCK, 0}, {AGAIN, 30}), NULL};
/* A timer takes as long as it did. */
static const struct step *const timed[] = {STEPS({TIMER, 1000}, {RUN, 500}, {JOIN, 1}),
					   STEPS({FASTER, 1600}), NULL};
/* Who wakes another one has not been sampled since it owes. */
static const struct step *const timer_wakes[] = {
    STEPS({WAIT, 1}, {RUN, 700}), STEPS({TIMER, 1000}, {POST, 1}), STEPS({FASTER, 1500}), NULL};

static const struct {
	const char *name;
	const struct step *const *threads;
	uint64_t tolerance;
} cases[] = {
    {"joined", joined, SAMPLE},
    {"joined_slack", joined_slack, SAMPLE},
    {"both", both, SAMPLE},
    {"serial", serial, SAMPLE},
    {"barrier", barrier, SAMPLE},
    {"barrier_slack", barrier_slack, SAMPLE},
    {"pipeline", pipeline, 2 * SAMPLE},
    {"pipeline_slack", pipeline_slack, 2 * SAMPLE},
    {"locked", locked, 2 * SAMPLE},
    {"queue", queue, 4 * SAMPLE},
    {"timed", timed, SAMPLE},
    {"timer_wakes", timer_wakes, SAMPLE},
};

TEST(virtual_is_as_real)
{
	static const uint32_t percents[] = {0, 10, 20, 30, 50, 70, 90, 100};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t k = 0; k < sizeof(percents) / sizeof(percents[0]); k++) {
			const uint64_t real = end_of(cases[i].threads, percents[k], false);
			const uint64_t said = end_of(cases[i].threads, percents[k], true);
			const uint64_t off = real > said ? real - said : said - real;

			if (off > cases[i].tolerance)
				fail_msg("%s at %u %%: %llu in place of %llu", cases[i].name,
					 percents[k], (unsigned long long)said,
					 (unsigned long long)real);
		}
}

enum { EVER = 1 << 30 };

/* A queue with room for two; who empties it is the slower one, or who fills it; a pool of two; a
 * lock; a request that waits for a device. */
static const struct step *const served[] = {
    STEPS({WAIT, 1}, {FASTER, 100}, {POST, 2}, {AGAIN, EVER}),
    STEPS({POST, 1}, {RUN, 60}, {WAIT, 2}, {AGAIN, EVER}), NULL};
static const struct step *const served_slack[] = {
    STEPS({WAIT, 1}, {FASTER, 60}, {POST, 2}, {AGAIN, EVER}),
    STEPS({POST, 1}, {RUN, 100}, {WAIT, 2}, {AGAIN, EVER}), NULL};
static const struct step *const pooled[] = {STEPS({WAIT, 1}, {WAIT, 1}, {RUN, 5}, {AGAIN, EVER}),
					    STEPS({FASTER, 100}, {POST, 1}, {AGAIN, EVER}),
					    STEPS({FASTER, 100}, {POST, 1}, {AGAIN, EVER}), NULL};
static const struct step *const contended[] = {
    STEPS({LOCK, 0}, {FASTER, 100}, {UNLOCK, 0}, {RUN, 50}, {AGAIN, EVER}),
    STEPS({LOCK, 0}, {FASTER, 100}, {UNLOCK, 0}, {RUN, 50}, {AGAIN, EVER}), NULL};
static const struct step *const device[] = {STEPS({TIMER, 100}, {FASTER, 100}, {AGAIN, EVER}),
					    STEPS({RUN, 70}, {TIMER, 30}, {AGAIN, EVER}), NULL};

TEST(rate_of_rounds)
{
	static const struct {
		const char *name;
		const struct step *const *threads;
	} programs[] = {{"served", served},
			{"served_slack", served_slack},
			{"pooled", pooled},
			{"contended", contended},
			{"device", device}};
	static const uint32_t percents[] = {0, 10, 20, 50, 70};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		for (size_t k = 0; k < sizeof(percents) / sizeof(percents[0]); k++) {
			const double real = rate_of(programs[i].threads, percents[k], false);
			const double said = rate_of(programs[i].threads, percents[k], true);

			if (!(said > real * 0.97 && said < real * 1.03))
				fail_msg("%s at %u %%: %g in place of %g", programs[i].name,
					 percents[k], said, real);
		}
}

TEST(slept_too_long_is_slept_less)
{
	struct causal_debt d = {0, 0};
	uint64_t all = 100;

	assert_int_equal(causal_debts_owed(&d, &all), 100);
	causal_debts_slept(&d, 100, 130);
	assert_int_equal(causal_debts_behind(&d), 130);
	assert_int_equal(causal_debts_owed(&d, &all), 0);
	all = 150;
	assert_int_equal(causal_debts_owed(&d, &all), 20);
	causal_debts_slept(&d, 20, 5); /* it was interrupted */
	assert_int_equal(causal_debts_owed(&d, &all), 15);
}

TEST(blocked_for_less_than_it_owes)
{
	struct causal_debt d = {0, 0};
	uint64_t all = 100;

	causal_debts_woken(&d, &all, 40);
	assert_int_equal(causal_debts_owed(&d, &all), 60);
	causal_debts_woken(&d, &all, 1000);
	assert_int_equal(causal_debts_owed(&d, &all), 0);
}

TEST(at_the_same_time_nobody_waits)
{
	struct causal_debt a = {0, 0}, b = {0, 0}, other = {0, 0};
	uint64_t all = 0;

	causal_debts_ran(&a, &all, 1000, 50);
	causal_debts_ran(&b, &all, 1000, 50);
	assert_int_equal(all, 500);
	assert_int_equal(causal_debts_owed(&a, &all), 0);
	assert_int_equal(causal_debts_owed(&b, &all), 0);
	assert_int_equal(causal_debts_owed(&other, &all), 500);
}
