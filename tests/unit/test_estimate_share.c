/*
 * The interval of a share: known values, the ends, and whether it holds as often as it says, in
 * seeded synthetic cases.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/share.h"

enum { NR_CASES = 10000 };

static void assert_near(double x, double y)
{
	if (!(fabs(x - y) < 1e-8))
		fail_msg("%.9f is not %.9f", x, y);
}

/* Wilson's as R's prop.test(correct=FALSE) has it, but for up to three (marked): Brown, Cai,
 * DasGupta, with quantiles of chi². */
TEST(known_values)
{
	static const struct {
		uint64_t k, n;
		double low, high;
	} rows[] = {
	    {10, 100, 0.055229137, 0.174365662},
	    {50, 100, 0.403831530, 0.596168470},
	    {90, 100, 0.825634338, 0.944770863},
	    {6980, 10000, 0.688926685, 0.706921251},
	    {0, 10, 0, 0.277532800},
	    {10, 10, 0.722467200, 1},
	    {1, 1000, 0.00005129, 0.005642558}, /* one */
	    {3, 1000, 0.00081769, 0.008783014}, /* three */
	    {999, 1000, 0.994357442, 0.99994871},
	    {0, 0, 0, 1},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct share_interval s = share_interval_count(rows[i].k, rows[i].n);

		assert_near(s.low, rows[i].low);
		assert_near(s.high, rows[i].high);
		assert_near(s.share, rows[i].n ? (double)rows[i].k / (double)rows[i].n : 0);
		assert_near(share_interval_half(&s), fmax(s.high - s.share, s.share - s.low));
	}
}

/* Whatever is asked, the share is inside and the ends are possible. */
TEST(ends)
{
	static const double shares[] = {-1, 0, 1e-300, 1e-9, 0.1, 0.5, 1 - 1e-9, 1, 1 + 1e-9, 7};
	static const double squares[] = {0, 1e-300, 1, 100, 1e300};

	for (size_t i = 0; i < NR(shares) * NR(squares); i++) {
		double share = shares[i / NR(squares)], square = squares[i % NR(squares)];
		struct share_weights all = {100, 100, square},
				     part = {1, 100 * share, square * share};
		struct share_interval both[] = {share_interval(100 * share, &all),
						share_interval_part(&part, &all)};

		for (size_t k = 0; k < 2; k++)
			assert_true(0 <= both[k].low && both[k].low <= both[k].share &&
				    both[k].share <= both[k].high && both[k].high <= 1);
	}
}

static void add(struct share_weights *w, double weight)
{
	w->nr++;
	w->sum += weight;
	w->squares += weight * weight;
}

/* Samples of one weight, whatever it is, are so many samples. */
TEST(weights)
{
	struct share_weights all = {0}, part = {0};
	struct share_interval plain = share_interval_count(30, 100), s;

	for (int i = 0; i < 100; i++)
		add(&all, 4000);
	for (int i = 0; i < 30; i++)
		add(&part, 4000);
	assert_int_equal(part.nr, 30);
	assert_near(share_weights_effective(&all), 100);
	s = share_interval(part.sum, &all);
	assert_near(s.low, plain.low);
	assert_near(s.high, plain.high);
	s = share_interval_part(&part, &all);
	assert_near(s.low, plain.low);
	assert_near(s.high, plain.high);
	add(&all, 4e6); /* one that is as heavy as 1,000 */
	assert_near(share_weights_effective(&all), 1100.0 * 1100 / (100 + 1e6));
}

/* How many of the cases of one kind held. */
struct tally {
	unsigned nr, held;
};

static void count(struct tally *t, const struct share_interval *s, double truth)
{
	t->nr++;
	t->held += s->low <= truth && truth <= s->high;
}

static double percent(const char *what, const struct tally *t)
{
	double p = 100.0 * t->held / (t->nr ? t->nr : 1);

	print_message("%s: holds in %.2f %% of %u\n", what, p, t->nr);
	return p;
}

/* Shares of which from 0.1 to 10,000 samples are expected, of 30 to 100,000. */
TEST(holds)
{
	static const struct {
		const char *name;
		double expected; /* samples, below this */
	} bins[] = {
	    {"below 0.3 expected", 0.3}, {"below 1", 1},    {"below 3", 3}, {"below 10", 10},
	    {"below 100", 100},          {"more", INFINITY}};
	struct tally all = {0}, of[NR(bins)] = {{0}};
	uint64_t seed = 7;

	for (int i = 0; i < NR_CASES; i++) {
		uint64_t n = (uint64_t)synthetic_log_uniform(&seed, 30, 1e5), k;
		double p = synthetic_log_uniform(&seed, 0.1 / (double)n, 0.5);
		struct share_interval s;
		size_t bin = 0;

		while (p * (double)n > bins[bin].expected)
			bin++;
		p = i % 2 ? p : 1 - p;
		k = synthetic_binomial(&seed, n, p);
		s = share_interval_count(k, n);
		count(&all, &s, p);
		count(&of[bin], &s, p);
	}
	for (size_t i = 0; i < NR(bins); i++)
		assert_true(percent(bins[i].name, &of[i]) >= 93);
	assert_in_range((unsigned)(100 * percent("in all", &all)), 9300, 9700);
}

/* A session of samples that weigh 1, or more: in the row, and beside it. */
static void weigh(uint64_t *seed, uint64_t n, double p, double mean_in, double mean_out,
		  struct share_weights *part, struct share_weights *all)
{
	for (uint64_t i = 0; i < n; i++) {
		bool is_in = synthetic_uniform(seed) < p;
		double w = is_in ? mean_in : mean_out;

		w *= -log(1 - synthetic_uniform(seed)); /* exponential */
		add(all, w);
		if (is_in)
			add(part, w);
	}
}

TEST(holds_with_weights)
{
	static const double ratios[] = {1, 0.2, 5};
	struct tally by_all = {0}, by_part[NR(ratios)] = {{0}};
	uint64_t seed = 11;

	for (int i = 0; i < NR_CASES; i++) {
		uint64_t n = (uint64_t)synthetic_log_uniform(&seed, 200, 2000);
		double p = synthetic_log_uniform(&seed, 10 / (double)n, 0.8);
		double in = ratios[i % NR(ratios)];
		double truth = p * in / (p * in + 1 - p);
		struct share_weights all = {0}, part = {0};
		struct share_interval s;

		weigh(&seed, n, p, in, 1, &part, &all);
		s = share_interval_part(&part, &all);
		count(&by_part[i % NR(ratios)], &s, truth);
		s = share_interval(part.sum, &all);
		if (in == 1) /* what it asks for */
			count(&by_all, &s, truth);
	}
	assert_in_range((unsigned)(100 * percent("unequal weights, by the whole", &by_all)), 9300,
			9700);
	for (size_t i = 0; i < NR(ratios); i++)
		assert_in_range((unsigned)(100 * percent("weights of the part", &by_part[i])), 9300,
				9700);
}
