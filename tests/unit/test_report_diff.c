/*
 * Two sides compared: rows joined, which are significant, the odd cases; how often
 * something is claimed between synthetic sessions without a difference, and whether a function
 * that was slowed is named.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/chance.h"
#include "report/diff.h"

static struct diff *make(enum diff_basis basis, size_t nr_a, size_t nr_b)
{
	struct diff *d = NULL;

	assert_int_equal(
	    diff_new(&(struct diff_options){.basis = basis, .nr_replicates = {nr_a, nr_b}}, &d), 0);
	return d;
}

/* A row of n samples of weight 10 in each replicate of a side; n goes up and down by spread. */
static void put(struct diff *d, unsigned side, size_t nr, const char *key, uint64_t n,
		uint64_t spread)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t k = n + (i % 2 ? spread : 0);

		assert_int_equal(diff_add(d, side, i, key, 10 * k, k, 100 * k), 0);
		assert_int_equal(diff_total(d, side, i, 10 * k, 0), 0);
	}
}

static const struct diff_row *find(const struct diff_result *r, const char *key)
{
	for (size_t i = 0; i < r->nr_rows; i++)
		if (strcmp(r->rows[i].key, key) == 0)
			return &r->rows[i];
	fail_msg("no row %s", key);
	return NULL;
}

static void assert_near(double x, double y)
{
	if (!(fabs(x - y) < 1e-9))
		fail_msg("%.12g is not %.12g", x, y);
}

TEST(joins)
{
	struct diff *d = make(DIFF_SHARES, 4, 4);
	struct diff_result r;
	const struct diff_row *f;

	put(d, 0, 4, "f", 3000, 0), put(d, 0, 4, "g", 5000, 0), put(d, 0, 4, "gone", 2000, 0);
	put(d, 1, 4, "f", 3500, 0), put(d, 1, 4, "g", 4950, 0), put(d, 1, 4, "new", 1550, 0);
	assert_int_equal(diff_finish(d, &r), 0);
	assert_int_equal(r.nr_rows, 4);
	assert_int_equal(r.nr_tested, 4);
	assert_int_equal(r.nr_significant, 3);
	assert_true(r.is_testable && !r.has_other_duration);
	assert_int_equal(r.side[0].nr_replicates, 4);
	assert_near(r.side[0].weight, 100000);
	assert_string_equal(r.rows[0].key, "gone");
	assert_string_equal(r.rows[1].key, "new");
	assert_string_equal(r.rows[2].key, "f");
	assert_string_equal(r.rows[3].key, "g");
	f = &r.rows[2];
	assert_near(f->side[0].share, 0.3);
	assert_near(f->side[1].share, 0.35);
	assert_near(f->side[0].weight, 30000);
	assert_int_equal(f->side[1].nr_samples, 14000);
	assert_near(f->difference, 0.05);
	assert_near(f->relative, 1.0 / 6);
	assert_true(f->is_significant && f->p < f->adjusted && f->half > 0.005 && f->half < 0.02);
	assert_near(r.rows[0].relative, -1);
	assert_true(isinf(r.rows[1].relative) && r.rows[1].relative > 0);
	assert_false(r.rows[3].is_significant); /* 0.5 and 0.495 of 10,000 samples, 4 times */
	assert_true(diff_is_over(&r, 0.1) && diff_is_over(&r, 100));
	diff_free(d);
}

/* By weights the others have what they had; by shares they have less. */
TEST(bases)
{
	static const double differences[] = {
	    [DIFF_SHARES] = 0.35 / 1.05 - 0.3, [DIFF_WEIGHTS] = 0.05};
	static const double others[] = {[DIFF_SHARES] = 0.7 / 1.05 - 0.7, [DIFF_WEIGHTS] = 0};

	for (unsigned basis = 0; basis < 2; basis++) {
		struct diff *d = make(basis, 5, 5);
		struct diff_result r;

		put(d, 0, 5, "f", 30000, 100), put(d, 0, 5, "g", 70000, 100);
		put(d, 1, 5, "f", 35000, 100), put(d, 1, 5, "g", 70000, 100);
		diff_total(d, 0, 0, 0, 1000), diff_total(d, 1, 0, 0, 1020);
		assert_int_equal(diff_finish(d, &r), 0);
		assert_true(fabs(find(&r, "f")->difference - differences[basis]) < 1e-4);
		assert_true(fabs(find(&r, "g")->difference - others[basis]) < 1e-4);
		assert_true(find(&r, "f")->is_significant);
		assert_int_equal(find(&r, "g")->is_significant, basis == DIFF_SHARES);
		assert_true(r.has_other_duration);
		assert_int_equal(diff_is_over(&r, 0.15), basis == DIFF_WEIGHTS);
		assert_true(diff_is_over(&r, 0.05));
		assert_false(diff_is_over(&r, 0.2));
		diff_free(d);
	}
}

/* What became less, and what may be chance, is not failed over. */
TEST(verdicts)
{
	struct diff *d = make(DIFF_WEIGHTS, 5, 5);
	struct diff_result r;

	put(d, 0, 5, "f", 30000, 100), put(d, 0, 5, "g", 70000, 100), put(d, 0, 5, "h", 0, 1);
	put(d, 1, 5, "f", 24000, 100), put(d, 1, 5, "g", 71500, 100), put(d, 1, 5, "h", 1, 0);
	assert_int_equal(diff_finish(d, &r), 0);
	assert_int_equal(r.nr_significant, 2);
	assert_near(find(&r, "f")->relative, 24040.0 / 30040 - 1);
	assert_true(find(&r, "h")->relative > 1 && !find(&r, "h")->is_significant);
	assert_true(diff_is_over(&r, 0.02));
	assert_false(diff_is_over(&r, 0.03));
	diff_free(d);
}

/* Of samples that do not vary, p is that of counting them: by shares binomial, by weights as
 * Poisson has it. */
TEST(counting)
{
	static const double variances[] = {
	    [DIFF_SHARES] = 0.44 * 0.56 / 1000, [DIFF_WEIGHTS] = 440};
	static const double differences[] = {[DIFF_SHARES] = 0.08, [DIFF_WEIGHTS] = 80};

	for (unsigned basis = 0; basis < 2; basis++) {
		struct diff *d = make(basis, 4, 4);
		struct diff_result r;
		double t = differences[basis] / sqrt(2 * variances[basis] / 4);

		put(d, 0, 4, "f", 400, 0), put(d, 0, 4, "g", 600, 0);
		put(d, 1, 4, "f", 480, 0), put(d, 1, 4, "g", 520, 0);
		assert_int_equal(diff_finish(d, &r), 0);
		assert_near(find(&r, "f")->p, chance_student(t, 6));
		assert_true(find(&r, "f")->adjusted > find(&r, "f")->p);
		assert_near(find(&r, "f")->half,
			    0.08 / t *
				chance_student_inverse(
				    0.05 * find(&r, "f")->p / find(&r, "f")->adjusted, 6));
		diff_free(d);
	}
}

static void assert_sound(const struct diff_result *r)
{
	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct diff_row *w = &r->rows[i];
		double numbers[] = {
		    w->side[0].share, w->side[1].share, w->side[0].weight, w->side[1].weight,
		    w->difference,    w->half,          w->relative,       w->p,
		    w->adjusted};

		for (size_t k = 0; k < NR(numbers); k++)
			assert_false(isnan(numbers[k]));
		assert_true(w->p >= 0 && w->p <= w->adjusted && w->adjusted <= 1);
		assert_true(!w->is_significant ||
			    (w->is_tested && w->adjusted < DIFF_SIGNIFICANCE));
		assert_int_equal(w->is_significant, i < r->nr_significant);
		assert_true(isfinite(w->half) && w->half >= 0);
		/* one correction, of the interval and of the verdict */
		assert_true(!w->is_tested || (fabs(w->difference) > w->half) == w->is_significant);
	}
}

TEST(degenerate)
{
	static const struct {
		const char *what;
		size_t nr[2];
		uint64_t n[2], other[2];
		size_t nr_tested, nr_significant;
		bool is_testable;
	} rows[] = {
	    {"one replicate a side", {1, 1}, {1000, 5000}, {5000, 5000}, 0, 0, false},
	    {"one and many", {1, 9}, {1000, 5000}, {5000, 5000}, 0, 0, false},
	    {"two a side: too few degrees of freedom",
	     {2, 2},
	     {1000, 1100},
	     {500, 500},
	     2,
	     0,
	     true},
	    {"nothing changes", {5, 5}, {1000, 1000}, {5000, 5000}, 2, 0, true},
	    {"too few samples", {5, 5}, {1, 0}, {5000, 5000}, 1, 0, true},
	    {"few samples, never varying", {5, 5}, {3, 4}, {5000, 5000}, 2, 0, true},
	    {"one row, all of it", {5, 5}, {1000, 2000}, {0, 0}, 1, 0, true},
	    {"a side without samples", {5, 5}, {1000, 0}, {1000, 0}, 0, 0, false},
	    {"no samples at all", {5, 5}, {0, 0}, {0, 0}, 0, 0, false},
	    {"four samples, where there are few", {4, 4}, {1, 0}, {200, 100000}, 1, 1, true},
	    {"five of them", {5, 5}, {1, 0}, {200, 100000}, 2, 2, true},
	    {"hardly any", {2, 2}, {1, 1}, {1, 1}, 0, 0, true},
	    {"beyond all bounds", {5, 5}, {1ull << 60, 1ull << 50}, {1ull << 60, 1}, 2, 2, true},
	};

	for (size_t i = 0; i < 2 * NR(rows); i++) {
		size_t k = i / 2;
		struct diff *d = make(i % 2, rows[k].nr[0], rows[k].nr[1]);
		struct diff_result r;

		for (unsigned side = 0; side < 2; side++) {
			put(d, side, rows[k].nr[side], "f", rows[k].n[side], 0);
			put(d, side, rows[k].nr[side], "g", rows[k].other[side], 0);
		}
		assert_int_equal(diff_finish(d, &r), 0);
		assert_sound(&r);
		assert_int_equal(r.nr_rows, 2);
		if (r.is_testable != rows[k].is_testable)
			fail_msg("%s: testable", rows[k].what);
		if (i % 2 == DIFF_SHARES && (r.nr_tested != rows[k].nr_tested ||
					     r.nr_significant != rows[k].nr_significant))
			fail_msg("%s: %zu tested, %zu significant", rows[k].what, r.nr_tested,
				 r.nr_significant);
		diff_free(d);
	}
}

/* A replicate without samples is none; rows beside what was added count in the total. */
TEST(totals)
{
	struct diff *d = make(DIFF_SHARES, 3, 3);
	struct diff_result r;

	for (size_t i = 0; i < 2; i++)
		for (unsigned side = 0; side < 2; side++) {
			assert_int_equal(diff_add(d, side, i, "f", 100, 100, 100), 0);
			assert_int_equal(diff_total(d, side, i, 400, 50), 0);
		}
	assert_int_equal(diff_finish(d, &r), 0);
	assert_int_equal(r.side[0].nr_replicates, 2);
	assert_near(r.side[1].duration_ns, 50);
	assert_near(r.rows[0].side[0].share, 0.25);
	assert_int_equal(diff_total(d, 1, 2, 800, 50), 0);
	assert_int_equal(diff_finish(d, &r), 0);
	assert_near(r.rows[0].side[1].share, 0.5 / 3);
	diff_free(d);
}

/* A replicate that has nothing of what is compared counts as 0; one that was not measured does not.
 */
TEST(measured_without_weight)
{
	static const enum diff_basis bases[] = {DIFF_SHARES, DIFF_WEIGHTS};

	for (size_t k = 0; k < 2; k++) {
		struct diff *d = make(bases[k], 6, 6);
		struct diff_result r;
		const struct diff_row *f;

		for (size_t i = 0; i < 6; i++) {
			assert_int_equal(diff_measured(d, 0, i), 0);
			assert_int_equal(diff_measured(d, 1, i), 0);
		}
		put(d, 1, 6, "new", 1000, 10);
		assert_int_equal(diff_finish(d, &r), 0);
		f = find(&r, "new");
		assert_true(r.is_testable && f->is_tested && f->is_significant);
		assert_int_equal(r.side[0].nr_replicates, 6);
		assert_near(f->side[0].weight, 0);
		assert_near(f->side[1].weight, 10050);
		diff_free(d);

		d = make(bases[k], 6, 6);
		put(d, 0, 6, "f", 1000, 0);
		put(d, 1, 3, "f", 1000, 0);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(diff_measured(d, 1, i), 0);
		assert_int_equal(diff_finish(d, &r), 0);
		assert_int_equal(r.side[1].nr_replicates, 5);
		assert_near(find(&r, "f")->side[1].weight, 6000);
		assert_near(find(&r, "f")->side[1].share, 0.6);
		diff_free(d);
	}
}

TEST(refused)
{
	struct diff *d = NULL;

	assert_int_equal(diff_new(&(struct diff_options){.nr_replicates = {0, 1}}, &d), -EINVAL);
	assert_int_equal(diff_new(&(struct diff_options){.nr_replicates = {1, 0}}, &d), -EINVAL);
	assert_int_equal(
	    diff_new(&(struct diff_options){.nr_replicates = {1, DIFF_MAX_REPLICATES + 1}}, &d),
	    -EFBIG);
	assert_null(d);
	d = make(DIFF_SHARES, 2, 3);
	assert_int_equal(diff_add(d, 0, 2, "f", 1, 1, 1), -EINVAL);
	assert_int_equal(diff_add(d, 1, 3, "f", 1, 1, 1), -EINVAL);
	assert_int_equal(diff_add(d, 2, 0, "f", 1, 1, 1), -EINVAL);
	assert_int_equal(diff_total(d, 2, 0, 1, 1), -EINVAL);
	assert_int_equal(diff_add(d, 1, 2, "f", 1, 1, 1), 0);
	diff_free(d);
}

/* Many rows, of many replicates: they have an end. */
TEST(ceiling)
{
	struct diff *d = make(DIFF_SHARES, DIFF_MAX_REPLICATES, DIFF_MAX_REPLICATES);
	struct diff_result r;
	char key[32];
	int rc = 0, i;

	for (i = 0; i < 100000 && rc == 0; i++) {
		snprintf(key, sizeof(key), "f%d", i);
		rc = diff_add(d, 0, 0, key, 1, 1, 1);
	}
	assert_int_equal(rc, -EFBIG);
	assert_true(i > 6000 && i < 6800);
	assert_int_equal(diff_add(d, 1, 0, "f0", 1, 1, 1), 0); /* what there is stays */
	if (stride_from(stride_by(4, 1)) == 0) {               /* takes ten seconds */
		assert_int_equal(diff_finish(d, &r), 0);
		assert_int_equal(r.nr_rows, i - 1);
	}
	diff_free(d);
}

/* --- synthetic sessions ---------------------------------------------------------------------- */

enum { MAX_FUNCTIONS = 200 };

/* What is the same in both sessions. */
struct program {
	size_t nr;                   /* functions */
	double share[MAX_FUNCTIONS]; /* of its time */
	double noise[MAX_FUNCTIONS]; /* of that, from replicate to replicate */
	double common;               /* of all of it */
	uint64_t period;             /* weight of a sample */
	double nr_samples;           /* of a replicate */
};

static struct program make_program(uint64_t *seed, double low, double high)
{
	struct program p = {.nr = 30 + synthetic_next(seed) % 171,
			    .common = 0.1 * synthetic_uniform(seed),
			    .period = 1 + synthetic_next(seed) % 1000000,
			    .nr_samples = synthetic_log_uniform(seed, low, high)};
	double steep = 0.5 + 1.5 * synthetic_uniform(seed), most = 0.1 * synthetic_uniform(seed),
	       sum = 0;

	for (size_t i = 0; i < p.nr; i++) {
		sum += p.share[i] = pow((double)i + 1, -steep);
		p.noise[i] = most * synthetic_uniform(seed);
	}
	for (size_t i = 0; i < p.nr; i++)
		p.share[i] /= sum;
	return p;
}

/* Without chance the variance of the replicates alone counts: one wait of each may be enough. */
TEST(exact)
{
	static const uint64_t weight[2][4] = {{1000, 1010, 990, 1000}, {1100, 1090, 1110, 1100}};

	for (unsigned is_exact = 0; is_exact < 2; is_exact++) {
		struct diff *d = make(DIFF_WEIGHTS, 4, 4);
		struct diff_result r;

		for (size_t i = 0; i < 8; i++) {
			uint64_t w = weight[i / 4][i % 4];

			assert_int_equal(diff_add(d, (unsigned)(i / 4), i % 4, "f", w, 1,
						  is_exact ? 0 : (double)w * (double)w),
					 0);
			assert_int_equal(diff_total(d, (unsigned)(i / 4), i % 4, w, 1000), 0);
		}
		assert_int_equal(diff_finish(d, &r), 0);
		assert_int_equal(r.nr_significant, is_exact);
		diff_free(d);
	}
	{
		struct diff *d = make(DIFF_WEIGHTS, 2, 2); /* fewer than DIFF_MIN_SAMPLES */
		struct diff_result r;

		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(
			    diff_add(d, (unsigned)(i / 2), i % 2, "f", weight[i / 2][i % 2], 1, 0),
			    0);
			assert_int_equal(diff_total(d, (unsigned)(i / 2), i % 2, 1000, 1000), 0);
		}
		assert_int_equal(diff_finish(d, &r), 0);
		assert_int_equal(r.nr_tested, 1);
		diff_free(d);
	}
}

/* One replicate; function which takes so many times as long. Of the same work, or as many samples
 * as before. */
static void run(struct diff *d, uint64_t *seed, const struct program *p, unsigned side,
		size_t replicate, size_t which, double slower, bool is_same_work)
{
	double time[MAX_FUNCTIONS], left = 0, common = 1 + p->common * synthetic_normal(seed);
	uint64_t n;

	for (size_t i = 0; i < p->nr; i++) {
		time[i] = p->share[i] * exp(p->noise[i] * synthetic_normal(seed));
		time[i] *= i == which ? slower : 1;
		left += time[i];
	}
	n = (uint64_t)(p->nr_samples * fmax(common, 0.3) * (is_same_work ? left : 1));
	diff_total(d, side, replicate, n * p->period, 1000000000);
	for (size_t i = 0; i < p->nr; i++) {
		uint64_t k =
		    i + 1 < p->nr ? synthetic_binomial(seed, n, fmin(time[i] / left, 1)) : n;
		char key[32];

		snprintf(key, sizeof(key), "function_%zu", i);
		if (k)
			assert_int_equal(
			    diff_add(d, side, replicate, key, k * p->period, k,
				     (double)k * (double)p->period * (double)p->period),
			    0);
		n -= k;
		left -= time[i];
	}
}

/* Two sessions of nr iterations each. */
static struct diff *sessions(uint64_t *seed, const struct program *p, enum diff_basis basis,
			     size_t nr, size_t which, double slower, struct diff_result *r)
{
	struct diff *d = make(basis, nr, nr);

	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < nr; i++)
			run(d, seed, p, side, i, side ? which : MAX_FUNCTIONS, slower,
			    basis == DIFF_WEIGHTS);
	assert_int_equal(diff_finish(d, r), 0);
	assert_sound(r);
	return d;
}

TEST(claims)
{
	static const char *const names[] = {"shares", "weights"};
	static const struct {
		size_t nr;        /* replicates a side */
		double low, high; /* samples of each */
	} kinds[] = {{3, 100, 20000}, {5, 100, 1000}, {5, 1000, 50000}, {10, 100, 20000}};
	enum { NR_PAIRS = 300 };

	for (unsigned basis = 0; basis < 2; basis++) {
		unsigned nr_false = 0, nr_pairs = NR_PAIRS * NR(kinds);
		uint64_t seed = 17;

		for (size_t k = 0; k < NR(kinds); k++) {
			unsigned nr_of_kind = 0;
			size_t nr_rows = 0, nr_tested = 0;

			for (int i = 0; i < NR_PAIRS; i++) {
				struct program p = make_program(&seed, kinds[k].low, kinds[k].high);
				struct diff_result r;

				diff_free(sessions(&seed, &p, basis, kinds[k].nr, 0, 1, &r));
				nr_of_kind += r.nr_significant > 0;
				nr_rows += r.nr_rows;
				nr_tested += r.nr_tested;
			}
			print_message(
			    "%s, %zu replicates of %.0f to %.0f samples: claims in %.2f %% of %d "
			    "pairs, tests %.0f %% of rows\n",
			    names[basis], kinds[k].nr, kinds[k].low, kinds[k].high,
			    100.0 * nr_of_kind / NR_PAIRS, NR_PAIRS,
			    100.0 * (double)nr_tested / (double)nr_rows);
			nr_false += nr_of_kind;
		}
		print_message("%s: claims in %.2f %% of pairs without difference\n", names[basis],
			      100.0 * nr_false / nr_pairs);
		assert_true(100 * nr_false <= 7 * nr_pairs);
	}
}

/* A session of ten iterations of a program with itself. What keeps a function busy in one iteration
 * does so in the next one too: the deviations of neighbours correlate. */
static void run_drifting(struct diff *d, uint64_t *seed, unsigned side)
{
	enum { NR_FUNCTIONS = 30, NR_SAMPLES = 4000 };
	static const double correlation = 0.6;
	double drift[NR_FUNCTIONS];

	for (size_t k = 0; k < NR_FUNCTIONS; k++)
		drift[k] = synthetic_normal(seed);
	for (size_t i = 0; i < 10; i++) {
		double time[NR_FUNCTIONS], left = 0;
		uint64_t n = NR_SAMPLES;

		for (size_t k = 0; k < NR_FUNCTIONS; k++) {
			drift[k] = correlation * drift[k] +
				   sqrt(1 - correlation * correlation) * synthetic_normal(seed);
			left += time[k] = exp((k % 3 ? 0.05 : 0.5) * drift[k]) / (double)(k + 3);
		}
		diff_total(d, side, i, n, 1000000000);
		for (size_t k = 0; k < NR_FUNCTIONS; k++) {
			uint64_t nr = synthetic_binomial(seed, n, fmin(time[k] / left, 1));
			char key[32];

			snprintf(key, sizeof(key), "function_%zu", k);
			assert_int_equal(diff_add(d, side, i, key, nr, nr, (double)nr), 0);
			n -= nr;
			left -= time[k];
		}
	}
}

/* Of 300 comparisons of a program with itself, one session a side, at most 24 find anything. */
TEST(neighbours)
{
	unsigned nr_found[2] = {0};

	for (unsigned are_iterations = 0; are_iterations < 2; are_iterations++) {
		uint64_t seed = 29;

		for (int i = 0; i < 300; i++) {
			const struct diff_options options = {.nr_replicates = {10, 10},
							     .are_iterations = are_iterations};
			struct diff_result r;
			struct diff *d;

			assert_int_equal(diff_new(&options, &d), 0);
			run_drifting(d, &seed, 0);
			run_drifting(d, &seed, 1);
			assert_int_equal(diff_finish(d, &r), 0);
			assert_sound(&r);
			nr_found[are_iterations] += r.nr_significant > 0;
			diff_free(d);
		}
	}
	print_message("of 300: %u if iterations were independent, else %u\n", nr_found[0],
		      nr_found[1]);
	assert_true(nr_found[0] > 45);
	assert_true(nr_found[1] <= 24);
}

/* A function of at least a tenth of the time, slowed by 10 %. */
TEST(names_what_is_slower)
{
	enum { NR_PAIRS = 200, NR = 5 };

	for (unsigned basis = 0; basis < 2; basis++) {
		unsigned nr_first = 0, nr_significant = 0, nr_others = 0;
		uint64_t seed = 19;

		for (int i = 0; i < NR_PAIRS; i++) {
			struct program p = make_program(&seed, 20000, 50000);
			struct diff_result r;
			struct diff *d;

			p.common = basis == DIFF_SHARES ? p.common : 0.005;
			for (size_t k = 0; k < p.nr; k++)
				p.noise[k] = fmin(p.noise[k], 0.01);
			for (size_t k = 1; k < p.nr; k++)
				p.share[k] *= 0.8 / (1 - p.share[0]);
			p.share[0] = 0.2;
			d = sessions(&seed, &p, basis, NR, 0, 1.1, &r);
			nr_first += strcmp(r.rows[0].key, "function_0") == 0;
			nr_significant += r.rows[0].is_significant;
			nr_others += r.nr_significant > 1;
			diff_free(d);
		}
		print_message("basis %u: named first in %.1f %%, significant in %.1f %%, others "
			      "too in %.1f %%\n",
			      basis, 100.0 * nr_first / NR_PAIRS, 100.0 * nr_significant / NR_PAIRS,
			      100.0 * nr_others / NR_PAIRS);
		assert_true(nr_first >= NR_PAIRS * 95 / 100);
		assert_true(nr_significant >= NR_PAIRS * 95 / 100);
	}
}

static int whole(void *arg)
{
	struct diff *d;
	struct diff_result r;
	char key[16];
	int rc = diff_new(arg, &d);

	for (int i = 0; rc == 0 && i < 2400; i++) {
		snprintf(key, sizeof(key), "f%d", i % 600);
		rc = diff_add(d, i / 1200, i / 600 % 2, key, 100, 100, 100);
		if (rc == 0)
			rc = diff_total(d, i / 1200, i / 600 % 2, 100, 1);
		if (rc)
			diff_free(d);
	}
	if (rc)
		return rc;
	rc = diff_finish(d, &r);
	diff_free(d);
	return rc;
}

TEST(without_memory)
{
	inject_every(whole, &(struct diff_options){.nr_replicates = {2, 2}}, 10, 0);
}
