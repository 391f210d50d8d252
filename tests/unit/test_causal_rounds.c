/* Rounds of experiments: what drifts cancels out, and what is not used is not compared. */
#include "kit.h"

#include "causal/rounds.h"

#include <math.h>

static void assert_near(double is, double should)
{
	if (fabs(is - should) > 1e-9)
		fail_msg("%g in place of %g", is, should);
}

/* A program whose rate grows, of which arm i brings i tenths more, and as much less latency. */
static void run(struct causal_block *b, double growth)
{
	double now = 0;

	for (size_t i = 0; i < b->nr; i++) {
		const double real = 1 + 0.1 * (double)i, middle = now + real / 2;
		const double delayed = b->arm[i] ? 0.25 * real : 0;
		const double rate = (100 + growth * middle) * (1 + (double)b->arm[i] / 10);

		b->round[i] = (struct causal_round){.middle_s = middle,
						    .real_s = real,
						    .delayed_s = delayed,
						    .visits = rate * (real - delayed),
						    .latency_s = 1 - (double)b->arm[i] / 10,
						    .is_used = true};
		now += real + 0.1;
	}
}

TEST(drift_cancels_out)
{
	for (size_t nr_arms = 1; nr_arms <= 4; nr_arms++)
		for (size_t number = 0; number < 4; number++) {
			struct causal_block b;
			double gain;

			causal_block_plan(&b, number, nr_arms);
			run(&b, 3);
			for (size_t arm = 1; arm <= nr_arms; arm++) {
				assert_true(
				    causal_block_compare(&b, arm, CAUSAL_THROUGHPUT, &gain));
				assert_near(gain, (double)arm / 10);
				assert_true(causal_block_compare(&b, arm, CAUSAL_LATENCY, &gain));
				assert_near(gain, (double)arm / 10);
			}
			assert_false(
			    causal_block_compare(&b, nr_arms + 1, CAUSAL_THROUGHPUT, &gain));
		}
}

/* Each arm is tried equally often, at both ends nothing is, and of all rounds in a third at least.
 */
TEST(order)
{
	for (size_t nr_arms = 1; nr_arms <= 40; nr_arms++) {
		size_t nr[41] = {0}, nr_none = 0, nr_all = 0;

		for (size_t number = 0; number < 2 * nr_arms; number++) {
			struct causal_block b;

			causal_block_plan(&b, number, nr_arms);
			assert_int_equal(b.arm[0], 0);
			assert_int_equal(b.arm[b.nr - 1], 0);
			for (size_t i = 0; i < b.nr; i++) {
				nr_none += !b.arm[i];
				nr[b.arm[i]]++;
				assert_true(b.arm[i] <= nr_arms);
			}
			nr_all += b.nr;
		}
		for (size_t arm = 2; arm <= nr_arms; arm++)
			assert_int_equal(nr[arm], nr[1]);
		assert_true(3 * nr_none >= nr_all);
	}
}

TEST(not_used)
{
	struct causal_block b;
	double gain;

	causal_block_plan(&b, 0, 2);
	run(&b, 0);
	b.round[1].is_used = false;
	assert_false(causal_block_compare(&b, b.arm[1], CAUSAL_THROUGHPUT, &gain));
	assert_true(causal_block_compare(&b, b.arm[2], CAUSAL_THROUGHPUT, &gain));
	b.round[b.nr - 1].is_used = false;
	assert_false(causal_block_compare(&b, b.arm[2], CAUSAL_THROUGHPUT, &gain));
	/* of one arm that is tried twice, what is used counts */
	causal_block_plan(&b, 0, 1);
	run(&b, 0);
	b.round[1].is_used = false;
	assert_true(causal_block_compare(&b, 1, CAUSAL_THROUGHPUT, &gain));
	assert_near(gain, 0.1);
}

TEST(nothing_to_compare_with)
{
	struct causal_block b;
	double gain;

	causal_block_plan(&b, 0, 1);
	run(&b, 0);
	b.round[0].visits = b.round[b.nr - 1].visits = 0;
	assert_false(causal_block_compare(&b, 1, CAUSAL_THROUGHPUT, &gain));
	run(&b, 0);
	b.round[1].delayed_s = b.round[2].delayed_s = b.round[1].real_s * 0.999;
	b.round[2].delayed_s = b.round[2].real_s + 1;
	assert_false(causal_block_compare(&b, 1, CAUSAL_THROUGHPUT, &gain));
	run(&b, 0);
	b.round[1].latency_s = b.round[2].latency_s = NAN;
	assert_false(causal_block_compare(&b, 1, CAUSAL_LATENCY, &gain));
	/* all of it may be saved */
	b.round[1].latency_s = b.round[2].latency_s = 0;
	assert_true(causal_block_compare(&b, 1, CAUSAL_LATENCY, &gain));
	assert_near(gain, 1);
}

TEST(length)
{
	assert_near(causal_round_length(1000, 1), CAUSAL_ROUND_MIN_S);
	assert_near(causal_round_length(10, 1), CAUSAL_ROUND_VISITS / 10.0);
	assert_near(causal_round_length(1, 10), CAUSAL_ROUND_MAX_S);
	assert_near(causal_round_length(0, 1), CAUSAL_ROUND_MAX_S);
}

/* Four threads pay for half of a round's time, in regions that last for 1 s each, of which some end
 * in each round: the latency is less what is paid within those that have not ended, too. What began
 * before the change has to have ended: then both are alike. */
static double latency_after(double wait_s)
{
	enum { THREADS = 4, STEPS_OF_S = 1000 };
	int done[THREADS], age[THREADS], nr = 0;
	double timed = 0, paid = 0, virtual_s = 0;
	bool is_round = false;

	for (int i = 0; i < THREADS; i++)
		done[i] = 2 * (age[i] = i * STEPS_OF_S / THREADS);
	for (int step = 0; nr < 2 * THREADS; step++) {
		is_round |= causal_round_is_settled(wait_s, virtual_s);
		virtual_s += step % 2 ? 1.0 / STEPS_OF_S : 0;
		for (int i = 0; i < THREADS; i++) {
			age[i]++;
			done[i] += step % 2 ? 2 : 0;
			paid += is_round && step % 2 == 0 ? 1.0 / STEPS_OF_S : 0;
			if (done[i] < 2 * STEPS_OF_S)
				continue;
			timed += is_round ? (double)age[i] / STEPS_OF_S : 0;
			nr += is_round;
			done[i] = age[i] = 0;
		}
	}
	return (timed - paid) / nr;
}

TEST(what_began_before_has_ended)
{
	assert_true(causal_round_is_settled(0, 0));
	assert_false(causal_round_is_settled(1, 1.9));
	assert_true(causal_round_is_settled(1, 2));
	assert_true(fabs(latency_after(1) - 1) < 0.01);
	assert_true(latency_after(0) < 0.9);
}

/* Each ms one begins, which lasts for 2.5 ms. */
TEST(flow)
{
	struct causal_flow f = {0};
	uint64_t now = 0;

	causal_flow_look(&f, 10000000, 10, 7.5);
	now = causal_flow_next(&f);
	assert_int_equal(f.under_ns, 0);
	while (now < 1010000000) {
		const uint64_t begun = now / 1000000, ended = (now - 2500000) / 1000000;

		causal_flow_look(&f, now, begun, (double)ended);
		assert_true(causal_flow_next(&f) >= now + CAUSAL_FLOW_LOOK_NS / 2);
		assert_true(causal_flow_next(&f) < now + 3 * CAUSAL_FLOW_LOOK_NS / 2);
		now = causal_flow_next(&f);
	}
	assert_true(fabs((double)f.under_ns / 1e9 - 2.5) < 0.1);
	assert_true(f.looks > 800 && f.looks < 1200 && f.met == f.looks);
	/* more may be seen to end than to begin, and a clock may stand */
	now = f.under_ns;
	f.nr = 0;
	causal_flow_look(&f, f.at_ns + 1000, 5, 7);
	causal_flow_look(&f, f.at_ns, 9, 7);
	assert_int_equal(f.under_ns, now);
	assert_int_equal(f.late, 0);
	causal_flow_look(&f, causal_flow_next(&f) + CAUSAL_FLOW_LATE_NS, 9, 9);
	assert_int_equal(f.late, 0);
	causal_flow_look(&f, causal_flow_next(&f) + CAUSAL_FLOW_LATE_NS + 1, 9, 9);
	assert_int_equal(f.late, 1);
	assert_false(causal_flow_is_late(1000, 100));
	assert_true(causal_flow_is_late(1000, 101));
	assert_false(causal_flow_is_met(1000, 19));
	assert_true(causal_flow_is_met(1000, 20));
	assert_true(causal_flow_is_met(0, 0)); /* nothing is looked at */
}

TEST(disturbed)
{
	assert_false(causal_round_is_disturbed(1, 1, 0.04));
	assert_true(causal_round_is_disturbed(1, 1, 0.06));
	assert_false(causal_round_is_disturbed(1, 4, 0.2)); /* of four threads */
	assert_true(causal_round_is_disturbed(1, 4, 0.22));
	assert_false(causal_round_is_disturbed(1, 0.001, 0.01)); /* it hardly ran */
}

TEST(whole_runs_are_compared_within_their_round)
{
	const struct causal_run run[] = {
	    {2, true},  {1, true},   {3, true}, /* saves a half, and adds a half */
	    {4, false}, {1, true},   {1, true}, /* the base waited for a CPU */
	    {4, true},  {1, false},  {3, true}, /* an arm did */
	    {0, true},  {0.5, true}, {1, true}, /* it was over at once */
	    {10, true}, {1, true},   {10, true},
	};
	double saved[5];

	assert_int_equal(causal_runs_compare(run, 5, 3, 1, saved), 2);
	assert_near(saved[0], 0.5);
	assert_near(saved[1], 0.9);
	assert_int_equal(causal_runs_compare(run, 5, 3, 2, saved), 3);
	assert_near(saved[0], -0.5);
	assert_near(saved[1], 0.25);
	assert_near(saved[2], 0);
	assert_int_equal(causal_runs_compare(run, 0, 3, 1, saved), 0);
}
