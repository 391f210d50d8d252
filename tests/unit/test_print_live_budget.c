/*
 * The CPU time that the live screen may use: over any time at most its share, what was lent and one
 * step.
 */
#include "kit.h"

#include "live/budget.h"

enum { MS = 1000000 };
static const uint64_t S = 1000 * (uint64_t)MS;

/* Steps of that cost, whenever there is credit. Returns what they used until the end. */
static uint64_t use(struct budget *b, uint64_t *now_ns, uint64_t end_ns, uint64_t step_ns)
{
	uint64_t used_ns = b->used_ns, first_ns = used_ns;

	while (*now_ns < end_ns) {
		if (budget_update(b, *now_ns, used_ns) > 0) {
			used_ns += step_ns;
			*now_ns += step_ns;
		} else {
			assert_true(budget_wait_ns(b) > 0);
			*now_ns += budget_wait_ns(b);
		}
	}
	return used_ns - first_ns;
}

TEST(no_more_than_its_share)
{
	static const uint64_t steps[] = {MS / 10, 3 * MS, 40 * MS, 700 * MS};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		uint64_t now_ns = S, used_ns;
		struct budget b;

		budget_init(&b, 0.05, S / 2, S / 4, now_ns, 0);
		used_ns = use(&b, &now_ns, 11 * S, steps[i]);
		assert_true(used_ns <= S / 2 + S / 2 + steps[i]);
		used_ns += use(&b, &now_ns, 101 * S, steps[i]);
		assert_true(used_ns <= 5 * S + steps[i]); /* what was lent is paid back */
		assert_true(used_ns >= 5 * S - 2 * steps[i] - S / 10); /* and all is used */
		used_ns = use(&b, &now_ns, 201 * S, steps[i]);
		assert_in_range(used_ns, 5 * S - 2 * steps[i] - S / 10, 5 * S + 2 * steps[i]);
	}
}

/* What others use is paid back while reading goes on; beyond what may be lent, reading waits. */
TEST(others_are_charged)
{
	uint64_t now_ns = S, used_ns, end_ns;
	struct budget b;

	budget_init(&b, 0.05, S / 2, S / 4, now_ns, 0);
	(void)use(&b, &now_ns, 101 * S, MS); /* nothing is lent any more */
	budget_charge(&b, S / 5);
	assert_true(use(&b, &now_ns, 102 * S, MS) > 0);
	budget_charge(&b, 2 * S);
	end_ns = now_ns + 30 * S;
	assert_true(use(&b, &now_ns, end_ns, MS) <= 2 * MS);
	(void)use(&b, &now_ns, 301 * S, MS);
	used_ns = use(&b, &now_ns, 401 * S, MS);
	assert_in_range(used_ns, 5 * S - 2 * MS, 5 * S + 2 * MS); /* all is paid back */
}

/* However often: over any time all that is used is the share and what may be lent. */
TEST(others_are_within_the_share)
{
	uint64_t now_ns = S, used_ns = 0;
	struct budget b;

	budget_init(&b, 0.05, S / 2, S / 4, now_ns, 0);
	for (int i = 1; i <= 100; i++) {
		used_ns += use(&b, &now_ns, (uint64_t)i * 5 * S, MS) + S / 5;
		budget_charge(&b, S / 5);
	}
	assert_true(used_ns <= 500 * S / 20 + S / 2 + S / 5 + MS);
}

TEST(a_quiet_hour_saves_nothing)
{
	uint64_t now_ns = 3600 * S;
	struct budget b;

	budget_init(&b, 0.05, S / 2, S / 4, 0, 0);
	assert_true(use(&b, &now_ns, 3610 * S, MS) <= S / 2 + S / 2 + 2 * MS);
}

TEST(steps_fit_the_credit)
{
	assert_int_equal(budget_steps(-1, MS, 64), 1);
	assert_int_equal(budget_steps(0, MS, 64), 1);
	assert_int_equal(budget_steps(MS / 2, MS, 64), 1);
	assert_int_equal(budget_steps(10 * MS, MS, 64), 10);
	assert_int_equal(budget_steps(10 * (int64_t)S, MS, 64), 64);
	assert_int_equal(budget_steps(1, 0, 64), 64);
}

TEST(the_wait_is_enough)
{
	struct budget b;

	budget_init(&b, 0.05, S / 2, S / 4, 0, 0);
	assert_int_equal(budget_wait_ns(&b), 0);
	assert_true(budget_update(&b, 0, S) < 0);
	assert_true(budget_update(&b, budget_wait_ns(&b) + MS, S) > 0);
	assert_int_equal(budget_wait_ns(&b), 0);
}

TEST(grows_by_what_is_not_paid_back)
{
	struct budget b;

	budget_init(&b, 0.04, 0, 100 * MS, 0, 0);
	assert_int_equal(budget_grows_ns(&b, S), 40 * MS);
	budget_init(&b, 0.04, 500 * MS, 100 * MS, 0, 0);
	assert_int_equal(budget_grows_ns(&b, S), 30 * MS);
}
