/*
 * A replay is compared with the truth: programs are simulated by discrete events, as they are and
 * with a function that is really faster.
 */
#include "kit.h"

#include "causal/graph.h"

#include <math.h>

enum { NR_MARKS = 4, MAX_THREADS = 8, MAX_STEPS = 8, NR_OBJECTS = 4, US = 1000, END = UINT32_MAX };

enum op { RUN = 1, LOCK, UNLOCK, PUT, GET, MEET, JOIN, SLEEP, MAKE };

struct step {
	enum op op;
	uint32_t of; /* a mark, or the number of a lock, a queue, a barrier, a thread */
	uint64_t ns;
};

/* Thread 0 makes all others. */
struct program {
	const char *name;
	struct {
		struct step first[MAX_STEPS], steps[MAX_STEPS], last[MAX_STEPS];
		unsigned rounds;
	} thread[MAX_THREADS];
	unsigned nr_threads, meet;
	bool makes;   /* threads by MAKE; else all are there at the beginning */
	double error; /* of a prediction, in parts of the run */
	double most; /* cut, of that mark, before another is the slowest, which never was; 0: any */
	uint32_t slowest;
};

struct thread {
	uint64_t now, asleep; /* asleep: since then */
	unsigned part, round, step;
	bool is_asleep, has_ended;
	enum op waits;
	uint32_t of;
};

struct sim {
	const struct program *p;
	double scale[NR_MARKS];
	struct thread thread[MAX_THREADS];
	uint32_t holder[NR_OBJECTS], count[NR_OBJECTS], met[NR_OBJECTS];
	struct causal_graph *graph; /* NULL: the truth */
};

static void say(struct sim *s, uint32_t t, enum causal_kind kind, uint64_t ns, uint32_t other,
		uint32_t mark)
{
	const struct causal_event e = {.time_ns = s->thread[t].now,
				       .ns = ns,
				       .thread = 100 + t,
				       .other = 100 + other,
				       .mark = mark,
				       .kind = kind};

	if (s->graph)
		assert_int_equal(causal_add(s->graph, &e), 0);
}

static void fall_asleep(struct thread *t, enum op op, uint32_t of)
{
	t->is_asleep = true;
	t->asleep = t->now;
	t->waits = op;
	t->of = of;
}

static void wake(struct sim *s, uint32_t t, uint32_t by, enum causal_kind kind)
{
	struct thread *to = &s->thread[t];

	to->is_asleep = false;
	to->now = s->thread[by].now;
	say(s, t, kind, to->now - to->asleep, by, 0);
}

/* The one that has waited longest; MAX_THREADS: none does. */
static uint32_t waiter(const struct sim *s, enum op op, uint32_t of)
{
	uint32_t found = MAX_THREADS;

	for (uint32_t i = 0; i < s->p->nr_threads; i++) {
		const struct thread *t = &s->thread[i];

		if (t->is_asleep && t->waits == op && t->of == of &&
		    (found == MAX_THREADS || t->asleep < s->thread[found].asleep))
			found = i;
	}
	return found;
}

static void run_step(struct sim *s, uint32_t i, const struct step *step)
{
	struct thread *t = &s->thread[i];
	uint32_t next;

	switch (step->op) {
	case RUN:
		t->now += (uint64_t)((double)step->ns * s->scale[step->of]);
		say(s, i, CAUSAL_RAN, step->ns, 0, step->of);
		break;
	case SLEEP:
		t->now += step->ns;
		say(s, i, CAUSAL_LATER, step->ns, 0, 0);
		break;
	case LOCK:
		if (s->holder[step->of])
			fall_asleep(t, LOCK, step->of);
		else
			s->holder[step->of] = i + 1;
		break;
	case UNLOCK:
		next = waiter(s, LOCK, step->of);
		s->holder[step->of] = next < MAX_THREADS ? next + 1 : 0;
		if (next < MAX_THREADS)
			wake(s, next, i, CAUSAL_WOKEN);
		break;
	case PUT:
		next = waiter(s, GET, step->of);
		if (next < MAX_THREADS)
			wake(s, next, i, CAUSAL_WOKEN);
		else
			s->count[step->of]++;
		break;
	case GET:
		if (s->count[step->of])
			s->count[step->of]--;
		else
			fall_asleep(t, GET, step->of);
		break;
	case MEET:
		if (++s->met[step->of] < s->p->meet) {
			fall_asleep(t, MEET, step->of);
			break;
		}
		s->met[step->of] = 0;
		while ((next = waiter(s, MEET, step->of)) < MAX_THREADS)
			wake(s, next, i, CAUSAL_MET);
		break;
	case MAKE:
		wake(s, step->of, i, CAUSAL_MADE);
		break;
	case JOIN:
		if (!s->thread[step->of].has_ended)
			fall_asleep(t, JOIN, step->of);
		break;
	}
}

/* The next step; NULL after the last. */
static const struct step *next_step(const struct sim *s, uint32_t i)
{
	struct thread *t = (struct thread *)&s->thread[i];

	for (; t->part < 3; t->part++, t->step = t->round = 0) {
		const struct step *steps = t->part == 0   ? s->p->thread[i].first
					   : t->part == 1 ? s->p->thread[i].steps
							  : s->p->thread[i].last;
		const unsigned rounds = t->part == 1 ? s->p->thread[i].rounds : 1;

		if (t->step == MAX_STEPS || !steps[t->step].op) {
			t->step = 0;
			t->round++;
		}
		if (t->round < rounds && steps[0].op)
			return &steps[t->step++];
	}
	return NULL;
}

static double simulate(const struct program *p, uint32_t mark, double cut,
		       struct causal_graph *graph)
{
	struct sim s = {.p = p, .graph = graph};

	for (int i = 0; i < NR_MARKS; i++)
		s.scale[i] = 1;
	s.scale[mark] = 1 - cut;
	for (uint32_t i = 1; i < p->nr_threads; i++)
		if (p->makes)
			fall_asleep(&s.thread[i], MAKE, i);
		else
			say(&s, i, CAUSAL_MADE, 0, 0, 0);
	for (;;) {
		const struct step *step;
		uint32_t first = MAX_THREADS;

		for (uint32_t i = 0; i < p->nr_threads; i++)
			if (!s.thread[i].is_asleep && !s.thread[i].has_ended &&
			    (first == MAX_THREADS || s.thread[i].now < s.thread[first].now))
				first = i;
		if (first == MAX_THREADS)
			break;
		step = next_step(&s, first);
		if (step) {
			run_step(&s, first, step);
			continue;
		}
		s.thread[first].has_ended = true;
		say(&s, first, CAUSAL_ENDED, 0, 0, 0);
		for (uint32_t next; (next = waiter(&s, JOIN, first)) < MAX_THREADS;)
			wake(&s, next, first, CAUSAL_JOINED);
	}
	assert_true(s.thread[0].has_ended);
	return (double)s.thread[0].now;
}

#define JOIN_ALL                                                                                   \
	{                                                                                          \
		{JOIN, 1, 0}, {JOIN, 2, 0},                                                        \
		{                                                                                  \
			JOIN, 3, 0                                                                 \
		}                                                                                  \
	}

static const struct program programs[] = {
    {.name = "join",
     .thread = {{.first = {{RUN, 3, 500 * US}, {MAKE, 1, 0}, {MAKE, 2, 0}},
		 .last = {{JOIN, 1, 0}, {JOIN, 2, 0}, {RUN, 3, 300 * US}}},
		{.steps = {{RUN, 0, 30 * US}}, .rounds = 100},
		{.steps = {{RUN, 1, 20 * US}}, .rounds = 100}},
     .nr_threads = 3,
     .makes = true},
    {.name = "barrier",
     .thread = {{.last = JOIN_ALL},
		{.steps = {{RUN, 0, 30 * US}, {MEET, 0, 0}},
		 .rounds = 100,
		 .last = {{RUN, 3, 900 * US}}},
		{.steps = {{RUN, 1, 20 * US}, {MEET, 0, 0}}, .rounds = 100},
		{.steps = {{RUN, 2, 25 * US}, {MEET, 0, 0}}, .rounds = 100}},
     .nr_threads = 4,
     .meet = 3},
    {.name = "pipeline",
     .thread = {{.last = JOIN_ALL},
		{.steps = {{RUN, 0, 20 * US}, {PUT, 0, 0}}, .rounds = 200},
		{.steps = {{GET, 0, 0}, {RUN, 1, 30 * US}, {PUT, 1, 0}}, .rounds = 200},
		{.steps = {{GET, 1, 0}, {RUN, 2, 10 * US}}, .rounds = 200}},
     .nr_threads = 4,
     .error = 0.01},
    {.name = "lock",
     .thread = {{.last = JOIN_ALL},
		{.steps = {{RUN, 1, 5 * US}, {LOCK, 0, 0}, {RUN, 0, 15 * US}, {UNLOCK, 0, 0}},
		 .rounds = 200},
		{.steps = {{RUN, 1, 5 * US}, {LOCK, 0, 0}, {RUN, 0, 15 * US}, {UNLOCK, 0, 0}},
		 .rounds = 200},
		{.steps = {{RUN, 1, 5 * US}, {LOCK, 0, 0}, {RUN, 0, 15 * US}, {UNLOCK, 0, 0}},
		 .rounds = 200}},
     .nr_threads = 4,
     .error = 0.01},
    {.name = "pool",
     .thread = {{.steps = {{RUN, 3, 10 * US}, {PUT, 0, 0}}, .rounds = 300, .last = JOIN_ALL},
		{.steps = {{GET, 0, 0}, {RUN, 0, 50 * US}}, .rounds = 100},
		{.steps = {{GET, 0, 0}, {RUN, 0, 50 * US}}, .rounds = 100},
		{.steps = {{GET, 0, 0}, {RUN, 0, 50 * US}}, .rounds = 100}},
     .nr_threads = 4,
     .error = 0.01},
    {.name = "device",
     .thread = {{.steps = {{RUN, 0, 10 * US}, {SLEEP, 0, 30 * US}}, .rounds = 100}},
     .nr_threads = 1},
};

static double predict(struct causal_graph *g, uint32_t mark, double cut)
{
	double of[NR_MARKS] = {0};

	of[mark] = cut;
	return causal_saved(g, &(struct causal_cut){.ran = of, .nr = NR_MARKS}, 100);
}

TEST(predictions)
{
	static const double cuts[] = {0.1, 0.25, 0.5, 1};

	for (size_t i = 0; i < NR(programs); i++) {
		const struct program *p = &programs[i];
		struct causal_graph *g = causal_new();
		const double run = simulate(p, 0, 0, g);

		assert_int_equal(causal_order(g), 0);
		for (uint32_t mark = 0; mark < NR_MARKS; mark++)
			for (size_t k = 0; k < NR(cuts); k++) {
				const double truth = run - simulate(p, mark, cuts[k], NULL);
				if (p->most > 0 && mark == p->slowest && cuts[k] > p->most)
					continue;
				const double is = predict(g, mark, cuts[k]);

				if (fabs(is - truth) > p->error * run + 1)
					fail_msg("%s: mark %u, %g: saves %.0f of %.0f ns, "
						 "predicted %.0f",
						 p->name, mark, cuts[k], truth, run, is);
			}
		causal_free(g);
	}
}

/* 3 ms of a thread that ends at 4 ms; main joins it, and then waits for a CPU for so long that it
 * was woken at 3.5 ms. */
TEST(woken_by_an_end)
{
	static const struct causal_event events[] = {
	    {.time_ns = 1000 * US, .thread = 101, .other = 100, .kind = CAUSAL_MADE},
	    {.time_ns = 2000 * US, .ns = 1500 * US, .thread = 101, .kind = CAUSAL_RAN},
	    {.time_ns = 3800 * US, .ns = 1500 * US, .thread = 101, .kind = CAUSAL_RAN},
	    {.time_ns = 4000 * US, .thread = 101, .kind = CAUSAL_ENDED},
	    {.time_ns = 6000 * US,
	     .ns = 5000 * US,
	     .thread = 100,
	     .other = 101,
	     .kind = CAUSAL_JOINED},
	    {.time_ns = 6010 * US, .ns = 2510 * US, .thread = 100, .kind = CAUSAL_QUEUED},
	};
	struct causal_graph *g = causal_new();

	for (size_t i = 0; i < NR(events); i++)
		assert_int_equal(causal_add(g, &events[i]), 0);
	assert_int_equal(causal_order(g), 0);
	assert_int_equal(predict(g, 0, 1), 3000 * US);
	causal_free(g);
}
