/*
 * The interval of a share: known values, the ends, and whether it holds as often as it says, in
 * seeded synthetic cases.
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
		struct interval_blocks none = {0},
				       some = {.end = 9, .nr = {1, 1, 1, 1, 1, 1, 1, 1, 9}},
				       odd = {.shift = 40, .end = 1, .nr = {UINT32_MAX}};
		const struct interval_blocks *const blocks[] = {NULL, &none, &some, &odd};

		for (size_t k = 0; k < NR(blocks) * NR(blocks); k++) {
			struct interval_weights all = {100, 100, square, blocks[k / NR(blocks)]};
			struct interval_weights part = {1, 100 * share, square * share,
							blocks[k % NR(blocks)]};
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

/* --- blocks of time -------------------------------------------------------------------------- */

static uint64_t blocks_nr(const struct interval_blocks *b)
{
	uint64_t nr = 0;

	for (unsigned i = 0; i < INTERVAL_BLOCKS; i++) {
		nr += b->nr[i];
		assert_true(!b->nr[i] || (b->first <= i && i < b->end));
	}
	return nr;
}

/* Blocks are the same in whichever order samples come, and however they are added up. */
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

TEST(blocks)
{
	static const uint64_t longest[] = {40, 48, 1000, 1 << 20,
					   UINT64_MAX >> INTERVAL_BLOCK_SHIFT};
	uint64_t seed = 5;

	for (size_t k = 0; k < 20 * NR(longest); k++) {
		struct interval_blocks one = {0}, parts[3] = {{0}}, plain = {0};
		uint64_t at[500], last = 0;

		for (size_t i = 0; i < NR(at); i++) {
			at[i] = synthetic_next(&seed) % (longest[k / 20] + 1);
			last = at[i] > last ? at[i] : last;
			interval_blocks_count(&one, at[i]);
			interval_blocks_count(&parts[i % 3], at[i]);
		}
		while (last >> plain.shift >= INTERVAL_BLOCKS)
			plain.shift++;
		for (size_t i = 0; i < NR(at); i++)
			plain.nr[at[i] >> plain.shift]++;
		interval_blocks_add(&parts[k % 3], &parts[(k + 1) % 3]);
		interval_blocks_add(&parts[k % 3], &parts[(k + 2) % 3]);
		assert_int_equal(one.shift, plain.shift);
		assert_memory_equal(one.nr, plain.nr, sizeof(plain.nr));
		assert_memory_equal(&parts[k % 3], &one, sizeof(one));
		assert_int_equal(blocks_nr(&one), NR(at));
	}
}

/* Phases that last are known as well as their share of the time; bursts are not. */
/* As if each were counted at its time. */
TEST(spread)
{
	static const struct {
		uint64_t from, to, nr;
	} spans[] = {{0, 0, 1},     {0, 47, 48},          {0, 47, 480},    {7, 7, 1000},
		     {3, 1000, 64}, {100, 100000, 12345}, {0, 1 << 30, 7}, {47, 48, 2}};

	for (size_t i = 0; i < NR(spans); i++) {
		uint64_t span = spans[i].to - spans[i].from + 1, sum = 0;
		struct interval_blocks one = {0}, all = {0};

		interval_blocks_spread(&all, spans[i].from, spans[i].to, spans[i].nr);
		for (uint64_t k = 0; k < spans[i].nr; k++)
			interval_blocks_count(&one, spans[i].from + span * k / spans[i].nr);
		interval_blocks_widen(&one, all.shift);
		for (unsigned b = 0; b < INTERVAL_BLOCKS; b++) {
			assert_true(all.nr[b] + 1 >= one.nr[b] && one.nr[b] + 1 >= all.nr[b]);
			assert_true(!all.nr[b] || (b >= all.first && b < all.end));
			sum += all.nr[b];
		}
		assert_int_equal(sum, spans[i].nr);
	}
}

/* Blocks that exist already are widened. */
TEST(spread_widens)
{
	struct interval_blocks b = {0};

	interval_blocks_count(&b, 1);
	interval_blocks_spread(&b, 0, 95, 96);
	assert_int_equal(b.shift, 1);
	assert_int_equal(b.nr[0], 3);
	for (unsigned i = 1; i < INTERVAL_BLOCKS; i++)
		assert_int_equal(b.nr[i], 2);
	interval_blocks_spread(&b, 0, 0, 5); /* stay as wide */
	assert_int_equal(b.nr[0], 8);
}

TEST(phases)
{
	struct interval_blocks all = {.end = 40}, half = {.end = 20}, turns = {.end = 40};
	struct interval_weights whole = {40000, 40000, 40000, &all},
				part = {20000, 20000, 20000, &half};
	struct interval independent = interval_count(20000, 40000), s;

	for (unsigned i = 0; i < 40; i++) {
		all.nr[i] = 1000;
		half.nr[i] = i < 20 ? 1000 : 0;
		turns.nr[i] = i % 2 ? 1000 : 0;
	}
	s = interval_part(&part, &whole);
	assert_true(interval_half(&s) < 0.045);
	part.blocks = &turns;
	s = interval_part(&part, &whole);
	assert_true(interval_half(&s) > 0.15);
	part.blocks = &all; /* no more than those of the whole: as independent ones */
	s = interval_part(&part, &whole);
	assert_near(s.low, independent.low);
	part.blocks = &half;
	all = (struct interval_blocks){.end = 7, .nr = {10000, 10000, 10000, 10000}};
	s = interval_part(&part, &whole); /* too few blocks */
	assert_near(s.high, independent.high);
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

/* --- samples that depend on each other ------------------------------------------------------- */

enum { EVERY_NS = 100000 }; /* 10 kHz */

/* Counts samples [from, to) of a sequence. */
static void count_run(struct interval_weights *w, struct interval_blocks *b, uint64_t from,
		      uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		interval_blocks_count(b, i * EVERY_NS >> INTERVAL_BLOCK_SHIFT);
	w->nr += to - from;
	w->sum = w->squares = (double)w->nr;
}

/* A length from 1, of that mean, without memory. */
static uint64_t run_length(uint64_t *seed, double mean)
{
	return mean > 1 ? 1 + (uint64_t)(log(1 - synthetic_uniform(seed)) / log(1 - 1 / mean)) : 1;
}

/* Runs of samples in the part and beside it, of a mean length; independent samples have runs of
 * 1 / (1 - p). */
static void make_bursts(uint64_t *seed, uint64_t n, double p, double mean,
			struct interval_weights *w, struct interval_blocks *b)
{
	bool is_in = synthetic_uniform(seed) < p;

	for (uint64_t i = 0, end; i < n; i = end, is_in = !is_in) {
		end = i + run_length(seed, is_in ? mean : mean * (1 - p) / p);
		if (is_in)
			count_run(w, b, i, end < n ? end : n);
	}
}

/* A burst of random length every period samples. */
static void make_periodic(uint64_t *seed, uint64_t n, double p, uint64_t period,
			  struct interval_weights *w, struct interval_blocks *b)
{
	uint64_t most = (uint64_t)(2 * p * (double)period), phase = synthetic_next(seed) % period;

	for (uint64_t i = 0; i < n + period; i += period) {
		uint64_t from = i > phase ? i - phase : 0;
		uint64_t end = i + synthetic_next(seed) % (most + 1);

		end = end > phase ? end - phase : 0;
		count_run(w, b, from < n ? from : n, end < from ? from : end < n ? end : n);
	}
}

/* The interval holds in 95 of 100 sessions, whether samples are independent or come in bursts. */
TEST(holds_with_bursts)
{
	static const struct {
		const char *name;
		double p[3], mean[3]; /* of bursts, in samples; below 1: independent */
		uint64_t period[3];   /* 0: at random */
	} kinds[] = {
	    {"independent", {0.5, 0.1, 0.02}, {0}, {0}},
	    {"bursts", {0.5, 0.3, 0.1}, {3, 2, 1.5}, {0}},
	    {"periodic bursts", {0.2, 0.3, 0.1}, {1, 1, 1}, {10, 10, 20}},
	};
	static const uint64_t sizes[] = {1000, 3000, 10000, 100000};
	uint64_t seed = 23;

	for (size_t k = 0; k < NR(kinds) * NR(sizes); k++) {
		size_t kind = k / NR(sizes);
		uint64_t n = sizes[k % NR(sizes)];
		struct interval_blocks of = {0};
		struct interval_weights all = {.blocks = &of};
		struct tally t = {0}, as_independent = {0};
		char what[64];

		count_run(&all, &of, 0, n);
		for (unsigned i = 0; i < 3000; i++) {
			double p = kinds[kind].p[i % 3], mean = kinds[kind].mean[i % 3];
			double longer = n < 10000 ? 1 : n < 50000 ? 3 : 20;
			struct interval_blocks in = {0};
			struct interval_weights part = {.blocks = &in};
			struct interval s;

			if (kinds[kind].period[i % 3])
				make_periodic(&seed, n, p,
					      kinds[kind].period[i % 3] * (uint64_t)longer, &part,
					      &in);
			else
				make_bursts(&seed, n, p, mean > 1 ? mean * longer : 1 / (1 - p),
					    &part, &in);
			s = interval_part(&part, &all);
			count(&t, &s, p);
			s = interval_count(part.nr, n);
			count(&as_independent, &s, p);
		}
		snprintf(what, sizeof(what), "%s, %u samples", kinds[kind].name, (unsigned)n);
		assert_in_range((unsigned)(100 * percent(what, &t)), 9350, 9650);
		percent("  if they were independent", &as_independent);
	}
}
