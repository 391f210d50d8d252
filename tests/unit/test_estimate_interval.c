/*
 * The interval of a share: known values, the ends, and whether it holds as often as it says, in
 * seeded synthetic cases. Kinds of programs: test_estimate_holds.c.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/interval.h"

enum { NR_CASES = 10000 };
static const double Z2 = 3.841458820694124; /* chi², one degree of freedom, 95 % */

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
		struct interval s = interval_count(rows[i].k, rows[i].n);

		assert_near(s.low, rows[i].low);
		assert_near(s.high, rows[i].high);
		assert_near(s.share, rows[i].n ? (double)rows[i].k / (double)rows[i].n : 0);
		assert_near(interval_half(&s), fmax(s.high - s.share, s.share - s.low));
	}
}

/* Of Poisson's distribution: 10 samples of weight 3, also as 30 of which a part is sure. */
TEST(amounts)
{
	const struct interval_weights ten = {10, 30, 90, NULL}, sure = {10, 30, 0, NULL},
				      none = {0, 0, 0, NULL}, partly = {3, 30, 90, NULL};
	struct interval i = interval_amount(&ten, 3);

	assert_near(i.share, 30);
	assert_near(i.low, 3 * 5.431986105614363);
	assert_near(i.high, 3 * 18.40947271507976);
	i = interval_amount(&partly, 3); /* as uncertain, however many they are */
	assert_near(i.low, 3 * 5.431986105614363);
	i = interval_amount(&sure, 3);
	assert_true(i.low == 30 && i.high == 30);
	i = interval_amount(&none, 3); /* up to 3.84 were possible */
	assert_near(i.low, 0);
	assert_near(i.high, 3 * Z2);
	i = interval_amount(&none, 0);
	assert_true(i.low == 0 && i.high == 0);
}

/* Whatever is asked, the share is inside and the ends are possible. */
TEST(ends)
{
	static const double shares[] = {-1, 0, 1e-300, 1e-9, 0.1, 0.5, 1 - 1e-9, 1, 1 + 1e-9, 7};
	static const double squares[] = {0, 1e-300, 1, 100, 1e300};

	for (size_t i = 0; i < NR(shares) * NR(squares); i++) {
		double share = shares[i / NR(squares)], square = squares[i % NR(squares)];
		struct interval_segments none = {0}, some = {.nr = 9, .at = {{1, -2}}},
					 odd = {.nr = UINT64_MAX,
						.at = {{INT16_MIN, INT16_MAX}, {INT16_MAX}}};
		const struct interval_segments *const rows[] = {NULL, &none, &some, &odd};

		for (size_t k = 0; k < NR(rows) * NR(rows); k++) {
			struct interval_weights all = {100, 100, square, rows[k / NR(rows)]};
			struct interval_weights part = {1, 100 * share, square * share,
							rows[k % NR(rows)]};
			struct interval s = interval_part(&part, &all);

			assert_true(0 <= s.low && s.low <= s.share && s.share <= s.high &&
				    s.high <= 1);
		}
	}
}

static void add(struct interval_weights *w, double weight)
{
	w->nr++;
	w->sum += weight;
	w->squares += weight * weight;
}

/* Samples of one weight, whatever it is, are so many samples. */
TEST(weights)
{
	struct interval_weights all = {0}, part = {0};
	struct interval plain = interval_count(30, 100), s;

	for (int i = 0; i < 100; i++)
		add(&all, 4000);
	for (int i = 0; i < 30; i++)
		add(&part, 4000);
	assert_int_equal(part.nr, 30);
	s = interval_part(&part, &all);
	assert_near(s.low, plain.low);
	assert_near(s.high, plain.high);
	add(&all, 4e6); /* one that is as heavy as 1,000 */
	part = (struct interval_weights){0};
	plain = interval_count(0, 1);
	s = interval_part(&part, &all);
	assert_true(s.high > 0.76 && s.high < plain.high); /* of 1.2 samples */
}

/* What is not left to chance has no interval; beside samples, its share has theirs. */
TEST(exact)
{
	struct interval_weights all = {.sum = 1000}, part = {.sum = 300};
	struct interval s = interval_part(&part, &all);

	assert_true(s.share == 0.3 && s.low == s.share && s.high == s.share);
	all.sum = 900;
	for (int i = 0; i < 100; i++)
		add(&all, 1);
	part.sum = 900;
	s = interval_part(&part, &all); /* 900 of 900 + 100 ± 10 */
	assert_near(s.share, 0.9);
	assert_true(interval_half(&s) > 0.0170 && interval_half(&s) < 0.0195);
	s = interval_part(&all, &all);
	assert_true(s.low > 0.995 && s.low < 0.999); /* as of 100 samples that are a tenth */
	all.sum = 0;
	all.squares = all.nr = 0;
	s = interval_part(&all, &all);
	assert_true(s.low == 0 && s.high == 1);
}

/* What no sample was of is at most a share of what was sampled: 100 of 10,000, by 10 samples. What
 * has all samples lacks no more. */
TEST(exact_beside)
{
	const struct interval_weights all = {.nr = 10, .sum = 10000, .squares = 1000};
	const struct interval_weights none = {.nr = 0}, exact = {.sum = 9900};
	const struct interval ten = interval_count(0, 10);
	struct interval s = interval_part(&none, &all);

	assert_true(s.share == 0 && s.low == 0);
	assert_true(fabs(s.high - (0.01 * ten.high)) < 1e-9);
	s = interval_part(&all, &all);
	assert_true(s.share == 1 && s.high == 1);
	assert_true(fabs(s.low - (1 - 0.01 * ten.high)) < 1e-9);
	s = interval_part(&exact, &all);
	assert_true(s.low > 0.98 && s.high < 0.995);
}

/* How many of the cases of one kind held. */
struct tally {
	unsigned nr, held;
};

static void count(struct tally *t, const struct interval *s, double truth)
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
		struct interval s;
		size_t bin = 0;

		while (p * (double)n > bins[bin].expected)
			bin++;
		p = i % 2 ? p : 1 - p;
		k = synthetic_binomial(&seed, n, p);
		s = interval_count(k, n);
		count(&all, &s, p);
		count(&of[bin], &s, p);
	}
	for (size_t i = 0; i < NR(bins); i++)
		assert_true(percent(bins[i].name, &of[i]) >= 93);
	assert_in_range((unsigned)(100 * percent("in all", &all)), 9300, 9700);
}

/* A session of samples that weigh 1, or more: in the row, and beside it. */
static void weigh(uint64_t *seed, uint64_t n, double p, double mean_in, double mean_out,
		  struct interval_weights *part, struct interval_weights *all)
{
	for (uint64_t i = 0; i < n; i++) {
		bool isn = synthetic_uniform(seed) < p;
		double w = isn ? mean_in : mean_out;

		w *= -log(1 - synthetic_uniform(seed)); /* exponential */
		add(all, w);
		if (isn)
			add(part, w);
	}
}

TEST(holds_with_weights)
{
	static const double ratios[] = {1, 0.2, 5};
	struct tally by_part[NR(ratios)] = {{0}};
	uint64_t seed = 11;

	for (int i = 0; i < NR_CASES; i++) {
		uint64_t n = (uint64_t)synthetic_log_uniform(&seed, 200, 2000);
		double p = synthetic_log_uniform(&seed, 10 / (double)n, 0.8);
		double in = ratios[i % NR(ratios)];
		double truth = p * in / (p * in + 1 - p);
		struct interval_weights all = {0}, part = {0};
		struct interval s;

		weigh(&seed, n, p, in, 1, &part, &all);
		s = interval_part(&part, &all);
		count(&by_part[i % NR(ratios)], &s, truth);
	}
	for (size_t i = 0; i < NR(ratios); i++)
		assert_in_range((unsigned)(100 * percent("weights of the part", &by_part[i])), 9300,
				9700);
}

/* --- samples of different chances --------------------------------------------------------------
 */

/* A program that allocates, and the samples of it: the first ones each, then, whenever so many
 * more were taken, at twice the distance. What is sampled with the chance p stands for 1/p; its
 * variance is estimated by (1 - p) / p² of its square, which is nothing where p is 1. */
struct allocating {
	uint64_t seed, rate;
	unsigned nr_at_rate;
	double of_part, of_all; /* the truth */
	struct interval_weights part, all;
};

static void weigh_sample(struct interval_weights *to, double weight, double size)
{
	to->sum += weight;
	if (weight <= size)
		return;
	to->nr++;
	to->squares += weight * (weight - size);
}

static void allocate(struct allocating *a, double size, bool is_of_part)
{
	enum { BUDGET = 200 };
	const double p = a->rate == 1 ? 1 : 1 - exp(-size / (double)a->rate);

	a->of_all += size;
	a->of_part += is_of_part ? size : 0;
	if (synthetic_uniform(&a->seed) >= p)
		return;
	weigh_sample(&a->all, size / p, size);
	if (is_of_part)
		weigh_sample(&a->part, size / p, size);
	if (++a->nr_at_rate < BUDGET)
		return;
	a->nr_at_rate = 0;
	a->rate *= a->rate == 1 ? 4096 : 2;
}

TEST(holds_of_different_chances)
{
	enum { NR_RUNS = 2000, NR_CALLS = 4000, BEGINNING = 200 };
	struct tally amounts = {0}, shares = {0}, beginning = {0};
	struct allocating a = {.seed = 43};

	for (unsigned i = 0; i < NR_RUNS; i++) {
		const double p = 0.02 + 0.2 * (i % 5);
		struct interval s;

		a = (struct allocating){.seed = a.seed, .rate = 1};
		for (unsigned k = 0; k < NR_CALLS; k++) {
			if (k == BEGINNING) { /* all is exact up to there */
				s = interval_amount(&a.part, 0);
				beginning.nr++;
				beginning.held += s.low == s.high && s.share == a.of_part;
			}
			allocate(&a, floor(synthetic_log_uniform(&a.seed, 16, 65536)),
				 synthetic_uniform(&a.seed) < p);
		}
		assert_true(a.all.nr > BEGINNING && a.rate > 4096);
		s = interval_amount(&a.part, 0);
		count(&amounts, &s, a.of_part);
		s = interval_part(&a.part, &a.all);
		count(&shares, &s, a.of_part / a.of_all);
	}
	assert_true(percent("all exact", &beginning) == 100);
	assert_in_range((unsigned)(100 * percent("amounts", &amounts)), 9300, 9750);
	assert_in_range((unsigned)(100 * percent("shares", &shares)), 9300, 9750);
}

/* Of one unit it is that of the amount; what is certain may have more that no sample is of. */
TEST(beside_what_is_certain)
{
	const double unit = 4096;
	const struct interval_weights none = {.sum = 0}, certain = {.sum = 1000},
				      samples = {9, 9 * unit, 9 * unit * unit, NULL},
				      both = {9, 1000 + 9 * unit, 9 * unit * unit, NULL},
				      finer = {18, 9 * unit, 9 * unit * unit / 2, NULL};
	const struct interval of_samples = interval_amount(&samples, unit);
	struct interval i = interval_beside(&certain, 0);

	assert_true(i.share == 1000 && i.low == 1000 && i.high == 1000);
	i = interval_beside(&none, unit);
	assert_true(i.low == 0 && i.high > 3 * unit && i.high < 4 * unit);
	i = interval_beside(&certain, unit);
	assert_true(i.share == 1000 && i.low == 1000 && i.high > 3 * unit && i.high < 5 * unit);
	i = interval_beside(&samples, unit);
	assert_true(fabs(i.low - of_samples.low) < 1e-6 && fabs(i.high - of_samples.high) < 1e-6);
	i = interval_beside(&both, unit);
	assert_true(fabs(i.low - of_samples.low - 1000) < 1e-6 &&
		    fabs(i.high - of_samples.high - 1000) < 1e-6);
	i = interval_beside(&finer, unit); /* it varies less, and some finer samples tell more */
	assert_true(i.low > of_samples.low && i.high < of_samples.high && i.share == finer.sum);
}

/* --- samples in rows -------------------------------------------------------------------------- */

/* Segments are the same in whichever order samples come, and however they are added up. Those of a
 * short row are all apart. */
TEST(segments)
{
	enum { NR = INTERVAL_SEGMENTS * INTERVAL_PLACES };
	struct interval_segments one = {0}, parts[3] = {{0}}, shortest = {0};
	int sum = 0;

	for (uint64_t i = 0; i < 1000; i++)
		interval_segments_count(&one, 7 + i % 2, i / 2);
	for (uint64_t i = 1000; i-- > 0;)
		interval_segments_count(&parts[i % 3], 7 + i % 2, i / 2);
	interval_segments_add(&parts[1], &parts[2]);
	interval_segments_add(&parts[0], &parts[1]);
	assert_memory_equal(&parts[0], &one, sizeof(one));
	for (uint64_t i = 0; i < NR; i++)
		interval_segments_count(&shortest, 9, i);
	for (unsigned i = 0; i < NR; i++) {
		assert_int_equal(abs(shortest.at[i / INTERVAL_PLACES][i % INTERVAL_PLACES]), 1);
		sum += shortest.at[i / INTERVAL_PLACES][i % INTERVAL_PLACES];
	}
	assert_true(abs(sum) < NR * 3 / 4); /* of both signs */
}

/* Rows of one sample are at all places. */
TEST(segments_of_one)
{
	uint64_t seed = 5;
	unsigned nr[INTERVAL_PLACES] = {0};

	for (int i = 0; i < 1000; i++) {
		struct interval_segments s = {.nr = 0};

		interval_segments_count(&s, synthetic_next(&seed) | 1, 0);
		for (unsigned k = 0; k < INTERVAL_SEGMENTS * INTERVAL_PLACES; k++)
			nr[k % INTERVAL_PLACES] +=
			    s.at[k / INTERVAL_PLACES][k % INTERVAL_PLACES] != 0;
	}
	for (unsigned k = 0; k < INTERVAL_PLACES; k++)
		assert_in_range(nr[k], 80, 170);
}

/* A sum that has no room stays so, whatever is added, and to whatever it is: these samples count as
 * independent. */
TEST(segments_are_full)
{
	const struct interval_segments one = {.nr = 1, .at = {{1, -1}}}, of_others = {.nr = 1000};
	struct interval_segments to = {.nr = 1, .at = {{INT16_MAX, -INT16_MAX, 3}}}, other = one;
	const struct interval_weights all = {100, 100, 100, &one};
	struct interval_weights part = {50, 50, 50, &of_others};
	const struct interval independent = interval_part(&part, &all);

	interval_segments_add(&to, &one);
	assert_true(to.at[0][0] == INTERVAL_FULL && to.at[0][1] == INTERVAL_FULL && to.nr == 2);
	for (int i = 0; i < 9; i++)
		interval_segments_add(&to, &one);
	interval_segments_add(&other, &to);
	assert_true(other.at[0][0] == INTERVAL_FULL && other.at[0][1] == INTERVAL_FULL &&
		    other.at[0][2] == 3);
	part.rows = &other;
	assert_true(interval_part(&part, &all).high == independent.high);
}

/* Two phases: each end lies between two samples. Of turns at each sample all ends vary; where the
 * rows of the part are not known they are as independent ones. */
TEST(phases)
{
	enum { NR_HALF = 20000, NR_SAMPLES = 2 * NR_HALF };
	const struct interval independent = interval_count(NR_HALF, NR_SAMPLES);
	struct interval_segments of = {0}, half = {0}, turns = {0};
	const struct interval_weights all = {NR_SAMPLES, NR_SAMPLES, NR_SAMPLES, &of};
	struct interval_weights part = {NR_HALF, NR_HALF, NR_HALF, &half};
	struct interval s;

	for (uint64_t i = 0; i < NR_SAMPLES; i++) {
		interval_segments_count(&of, 1, i);
		if (i < NR_HALF)
			interval_segments_count(&half, 1, i);
		if (i % 2)
			interval_segments_count(&turns, 1, i);
	}
	s = interval_part(&part, &all);
	assert_true(interval_half(&s) * NR_SAMPLES > 0.7 && interval_half(&s) * NR_SAMPLES < 1.5);
	part.rows = &turns;
	s = interval_part(&part, &all);
	assert_true(interval_half(&s) >
		    0.57 * interval_half(&independent)); /* of n / 12 and n / 4 */
	part.rows = NULL; /* of some in rows, these are beside them */
	s = interval_part(&part, &all);
	assert_true(interval_half(&s) > 0.7 * interval_half(&independent));
}

/* Rows of one sample are as independent ones, also where all have the same place. */
TEST(rows_of_one)
{
	enum { NR_ROWS = 400 };
	struct interval_segments of = {0}, in = {0};
	struct interval_weights all = {.rows = &of}, part = {.rows = &in};
	uint64_t seed = 13;
	struct interval s, independent;

	for (uint64_t row = 0; row < NR_ROWS; row++) {
		interval_segments_count(&of, row << 35, 0);
		add(&all, 1);
		if (synthetic_uniform(&seed) >= 0.4)
			continue;
		interval_segments_count(&in, row << 35, 0);
		add(&part, 1);
	}
	s = interval_part(&part, &all);
	independent = interval_count(part.nr, all.nr);
	assert_true(interval_half(&s) > 0.7 * interval_half(&independent) &&
		    interval_half(&s) < 1.3 * interval_half(&independent));
}

/* The program has each fifth sample of the row, so that none is beside another: they are as
 * independent ones, also of a large part. */
TEST(places_between)
{
	enum { NR_SAMPLES = 2000 };
	struct interval_segments of = {0}, in = {0};
	struct interval_weights all = {.rows = &of}, part = {.rows = &in};
	uint64_t seed = 3;
	struct interval s, independent;

	for (uint64_t i = 0; i < NR_SAMPLES; i++) {
		interval_segments_count(&of, 1, 5 * i);
		add(&all, 1);
		if (synthetic_uniform(&seed) >= 0.9)
			continue;
		interval_segments_count(&in, 1, 5 * i);
		add(&part, 1);
	}
	s = interval_part(&part, &all);
	independent = interval_count(part.nr, all.nr);
	assert_true(interval_half(&s) > 0.7 * interval_half(&independent) &&
		    interval_half(&s) < 1.5 * interval_half(&independent));
}

/* One function's samples were added up, in phases; those of the other found no room, and are in a
 * row of their own in which nothing changes: they count as independent. */
TEST(beside_those_added_up)
{
	enum { NR_SAMPLES = 4000, PHASE = 100 };
	struct interval_segments sums = {0}, added_up = {0}, of = {0}, in = {0};
	struct interval_weights all = {.rows = &of}, part = {.rows = &in};
	int16_t places[PLACE_SUMS];
	struct interval s, independent;
	uint64_t nr_alone = 0;

	for (uint64_t i = 0; i < NR_SAMPLES; i++) {
		add(&all, 1);
		if (i / PHASE % 5) {
			interval_segments_count(&sums, 1, i);
			continue;
		}
		add(&part, 1);
		interval_segments_count(&in, 2, nr_alone);
		interval_segments_count(&of, 2, nr_alone++);
	}
	memcpy(places, sums.at, sizeof(places));
	interval_segments_add_sums(&added_up, sums.nr, places);
	interval_segments_add(&of, &added_up);
	s = interval_part(&part, &all);
	independent = interval_count(part.nr, all.nr);
	assert_true(interval_half(&s) > 0.8 * interval_half(&independent) &&
		    interval_half(&s) < 1.3 * interval_half(&independent));
}

/* A part that has the places of more samples than it has: they say nothing of it. */
TEST(places_of_others)
{
	enum { NR_SAMPLES = 4000, PHASE = 100 };
	struct interval_segments of = {0}, in = {0};
	struct interval_weights all = {.rows = &of}, part = {.rows = &in};
	struct interval s, independent;

	for (uint64_t i = 0; i < NR_SAMPLES; i++) {
		add(&all, 1);
		interval_segments_count(&of, 1, i);
		if (i / PHASE % 2) {
			interval_segments_count(&in, 1, i);
			if (i % 4)
				add(&part, 1);
		}
	}
	s = interval_part(&part, &all);
	independent = interval_count(part.nr, all.nr);
	assert_true(interval_half(&s) > 0.99 * interval_half(&independent));
}
