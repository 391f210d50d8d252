/* When rates are divided to stay below max_own_cpu, and when they are given back. */
#include "kit.h"

#include "base/array.h"
#include "session/pace.h"
#include "test_session.h"

enum { SPAN_NS = 1000000000 };

#define CLOCK(key)                                                                                 \
	"{\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"flags\":[\"pc\"]" key "},"

struct paced_session {
	struct rig rig;
	struct session_pace pace;
	struct notes notes;
	uint64_t used_ns, now_ns;
	uint32_t iteration;
};

static void begin(struct paced_session *s, const char *events)
{
	memset(s, 0, sizeof(*s));
	rig_init(&s->rig, 1, "\"max_own_cpu\":1.5,", events);
	assert_int_equal(s->rig.plan.divisor, 1);
	assert_int_equal(s->rig.spec.max_own_cpu, 1500000000);
	s->pace.max = s->rig.spec.max_own_cpu;
	pace_begin(&s->pace, 0, 0);
}

/* Iterations that each use so many millionths of a CPU. The divisor after them. */
static uint32_t use(struct paced_session *s, unsigned nr, uint64_t millionths)
{
	for (unsigned i = 0; i < nr; i++) {
		uint32_t divisor;

		s->used_ns += millionths * (SPAN_NS / 1000000);
		s->now_ns += SPAN_NS;
		divisor = pace_next(&s->pace, &s->rig.plan, s->iteration++, s->used_ns, s->now_ns,
				    &s->notes);
		if (divisor != s->rig.plan.divisor) {
			s->rig.plan.divisor = divisor;
			pace_begin(&s->pace, s->used_ns, s->now_ns);
		}
	}
	return s->rig.plan.divisor;
}

static void end(struct paced_session *s)
{
	notes_drop(&s->notes);
	rig_fini(&s->rig);
}

static const char *last_note(const struct paced_session *s)
{
	return s->notes.nr ? s->notes.item[s->notes.nr - 1].text : "";
}

TEST(three_above_in_a_row_divide)
{
	static struct paced_session s;

	begin(&s, CLOCK(",\"frequency\":100"));
	assert_int_equal(use(&s, 2, 15001), 1);
	assert_int_equal(use(&s, 1, 15000), 1); /* not above: the row begins anew */
	assert_int_equal(use(&s, 2, 15001), 1);
	assert_int_equal(use(&s, 1, 15001), 2);
	assert_string_equal(last_note(&s), "cpuperf uses 1.5 % of a CPU, above max_own_cpu "
					   "(1.5 %): from iteration 6 on, rates are divided by 2");
	assert_int_equal(use(&s, 2, 15001), 2); /* and after a change, too */
	end(&s);
}

/* What a session costs is fixed + by_rate / divisor. The divisor after nr iterations. */
static uint32_t use_by_rate(struct paced_session *s, unsigned nr, uint64_t fixed, uint64_t by_rate)
{
	for (unsigned i = 0; i < nr; i++)
		use(s, 1, fixed + by_rate / s->rig.plan.divisor);
	return s->rig.plan.divisor;
}

/* As by iterations that are pushed: most of the use does not depend on rates. */
TEST(lower_rates_that_save_nothing_are_taken_back)
{
	static struct paced_session s;
	size_t nr_notes;

	begin(&s, CLOCK(",\"frequency\":100"));
	assert_int_equal(use_by_rate(&s, 3, 30000, 6000), 2);
	assert_int_equal(use_by_rate(&s, 2, 30000, 6000), 2);
	assert_int_equal(use_by_rate(&s, 1, 30000, 6000), 1); /* 36000 became 33000: a twelfth */
	assert_string_equal(last_note(&s),
			    "cpuperf uses 3.3 % of a CPU, above max_own_cpu (1.5 %), and half the "
			    "rate saved less than a tenth: from iteration 6 on, rates are those of "
			    "the spec again");
	nr_notes = s.notes.nr;
	assert_int_equal(use_by_rate(&s, 3 * 15, 30000, 6000), 1);
	assert_int_equal(s.notes.nr, nr_notes);
	assert_int_equal(use_by_rate(&s, 3, 30000, 6000), 2); /* long after: it might help now */
	assert_int_equal(use_by_rate(&s, 3, 30000, 6000), 1);
	assert_int_equal(use_by_rate(&s, 3 * 31, 30000, 6000), 1); /* twice as long */
	assert_int_equal(use_by_rate(&s, 3, 30000, 6000), 2);
	assert_int_equal(use_by_rate(&s, 3, 30000, 6000), 1);
	assert_int_equal(use_by_rate(&s, 3, 30000, 24000), 2); /* half as much again as 33000 */
	assert_int_equal(use_by_rate(&s, 3, 30000, 24000), 4); /* 54000, 42000, 36000, 33000 */
	assert_int_equal(use_by_rate(&s, 3, 30000, 24000), 8);
	assert_int_equal(use_by_rate(&s, 3, 30000, 24000), 4);
	assert_int_equal(use_by_rate(&s, 7, 0, 20000), 4); /* calm, but not for long enough */
	assert_int_equal(use_by_rate(&s, 3, 30000, 24000), 4);
	assert_int_equal(use_by_rate(&s, 7, 0, 20000), 4);
	assert_int_equal(use(&s, 1, 6000), 4);
	assert_int_equal(use_by_rate(&s, 3, 30000, 24000), 8); /* as if it began */
	end(&s);
}

/* Use that goes below the limit after a change was lowered by it, whatever comes later. */
TEST(a_change_that_helped_is_judged_once)
{
	static struct paced_session s;

	begin(&s, CLOCK(",\"frequency\":100"));
	assert_int_equal(use_by_rate(&s, 3, 0, 20000), 2);
	assert_int_equal(use_by_rate(&s, 50, 0, 20000), 2);
	assert_int_equal(use_by_rate(&s, 3, 0, 40000), 4);
	assert_int_equal(use_by_rate(&s, 50, 0, 40000), 4);
	end(&s);
}

/* Twice the rate may cost twice as much: what is just below would go up and down for ever. */
TEST(eight_far_below_give_back)
{
	static struct paced_session s;

	begin(&s, CLOCK(",\"frequency\":100"));
	assert_int_equal(use_by_rate(&s, 6, 0, 45000), 4);
	assert_int_equal(use(&s, 100, 5000), 4); /* a third is not far below */
	assert_int_equal(use(&s, 7, 4999), 4);
	assert_int_equal(use(&s, 1, 5000), 4);
	assert_int_equal(use(&s, 8, 4999), 2);
	assert_int_equal(use(&s, 8, 0), 1);
	assert_non_null(strstr(last_note(&s), "rates are those of the spec again"));
	assert_int_equal(use(&s, 100, 0), 1);
	end(&s);
}

/* A frequency of 100 Hz can be divided by 64. */
TEST(limits_of_rates)
{
	static const struct {
		const char *events;
		uint32_t max;
	} cases[] = {
	    {CLOCK(",\"frequency\":100"), 64},
	    {CLOCK(",\"frequency\":1"), 1},
	    {CLOCK(",\"frequency\":4000"), 1024},
	    {CLOCK(",\"rate\":1000000"), 1024},
	    {CLOCK(",\"rate\":1000000000000000000"), 8},
	    {CLOCK(",\"rate\":1000000") EV("software", "page_faults"), 1024},
	};
	static struct paced_session s;

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		const struct plan *p = &s.rig.plan;

		begin(&s, cases[i].events);
		assert_int_equal(plan_max_divisor(p), cases[i].max);
		assert_int_equal(use_by_rate(&s, 100, 0, 100000000), cases[i].max);
		assert_non_null(strstr(last_note(&s), "rates are as low as they can be"));
		assert_true(plan_rate(p, p->events) / cases[i].max == p->events[0].asked->rate);
		assert_int_equal(plan_frequency(p, p->events),
				 p->events[0].asked->frequency / cases[i].max);
		end(&s);
	}
}

/* The note comes once. */
TEST(what_cannot_be_divided)
{
	static struct paced_session s;
	static const pid_t task = 1;

	begin(&s, SOFTWARE_1);
	assert_int_equal(use(&s, 100, 900000), 1);
	assert_int_equal(s.notes.nr, 1);
	assert_non_null(strstr(last_note(&s), "nothing is sampled"));
	end(&s);
	begin(&s, CLOCK(",\"frequency\":100"));
	s.rig.plan.target = (struct plan_target){.ids = &task, .nr_ids = 1};
	assert_int_equal(use(&s, 100, 900000), 1);
	assert_int_equal(s.notes.nr, 1);
	assert_non_null(strstr(last_note(&s), "cannot be opened anew"));
	s.rig.plan.target.has_runs = true;
	assert_int_equal(use_by_rate(&s, 3, 0, 900000), 2);
	s.rig.plan.target = (struct plan_target){.ids = &task, .nr_ids = 1, .is_cgroup = true};
	assert_int_equal(use_by_rate(&s, 3, 0, 900000), 4);
	s.rig.plan.target = (struct plan_target){0};
	end(&s);
}
