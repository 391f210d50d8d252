/*
 * A row has a weight for each replicate of both sides.
 */
#include "report/diff.h"

#include "base/array.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/sum.h"
#include "estimate/chance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *key;
	uint64_t nr_samples[2];
	double squares;    /* of the weights of samples */
	uint64_t weight[]; /* by replicate, those of side 0 first */
};

struct replicate {
	uint64_t weight, duration_ns;
	bool is_measured;
};

struct diff {
	struct diff_options options;
	struct dict rows;             /* struct row */
	struct replicate *replicates; /* owned; in the order of a row's weights */
	struct diff_row *result;      /* owned */
};

int diff_new(const struct diff_options *o, struct diff **out)
{
	size_t nr = o->nr_replicates[0] + o->nr_replicates[1];
	size_t row_bytes = sizeof(struct row) + nr * sizeof(uint64_t);
	struct diff *d;

	if (o->nr_replicates[0] < 1 || o->nr_replicates[1] < 1)
		return -EINVAL;
	if (o->nr_replicates[0] > DIFF_MAX_REPLICATES || o->nr_replicates[1] > DIFF_MAX_REPLICATES)
		return -EFBIG;
	d = mem_zalloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->options = *o;
	dict_init_texts(&d->rows, row_bytes, DIFF_MAX_BYTES / row_bytes, DIFF_MAX_BYTES);
	d->replicates = mem_calloc(nr, sizeof(*d->replicates));
	if (!d->replicates) {
		diff_free(d);
		return -ENOMEM;
	}
	*out = d;
	return 0;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	dict_fini(&d->rows);
	mem_free(d->replicates);
	mem_free(d->result);
	mem_free(d);
}

/* False: no such replicate. */
static bool find_replicate(const struct diff *d, unsigned side, size_t replicate, size_t *out)
{
	if (side > 1 || replicate >= d->options.nr_replicates[side])
		return false;
	*out = (side ? d->options.nr_replicates[0] : 0) + replicate;
	return true;
}

int diff_add(struct diff *d, unsigned side, size_t replicate, const char *key, uint64_t weight,
	     uint64_t nr_samples, double squares)
{
	struct row *row;
	size_t i;

	if (!find_replicate(d, side, replicate, &i))
		return -EINVAL;
	row = dict_get(&d->rows, key);
	if (!row)
		return d->rows.nr == d->rows.max ? -EFBIG : -ENOMEM;
	sum_add(&row->weight[i], weight);
	sum_add(&row->nr_samples[side], nr_samples);
	row->squares += squares;
	return 0;
}

int diff_total(struct diff *d, unsigned side, size_t replicate, uint64_t weight,
	       uint64_t duration_ns)
{
	size_t i;

	if (!find_replicate(d, side, replicate, &i))
		return -EINVAL;
	sum_add(&d->replicates[i].weight, weight);
	sum_add(&d->replicates[i].duration_ns, duration_ns);
	return 0;
}

int diff_measured(struct diff *d, unsigned side, size_t replicate)
{
	size_t i;

	if (!find_replicate(d, side, replicate, &i))
		return -EINVAL;
	d->replicates[i].is_measured = true;
	return 0;
}

/* --- shared by all rows ----------------------------------------------------------- */

struct side {
	const struct replicate *replicates;
	size_t first, nr; /* replicates, in a row's weights */
	size_t nr_with;   /* replicates that count */
	double weight;    /* of all replicates */
	double one_over;  /* mean of 1 / weight of those with weight */
};

/* A row under test. */
struct tested {
	struct diff_row *row;
	const struct row *weights;
	double share;            /* of all samples of both sides */
	double difference, unit; /* of means, as tested; what divides it for people */
	struct chance_errors errors;
	double least[2]; /* its variance by counting samples */
	double reach;    /* |t|, if all samples were on one side */
};

static bool counts(const struct replicate *r)
{
	return r->weight || r->is_measured;
}

static void sum_up(const struct diff *d, unsigned side, struct side *s, struct diff_total *total)
{
	size_t nr_weighted = 0;

	*s = (struct side){.replicates = d->replicates,
			   .first = side ? d->options.nr_replicates[0] : 0,
			   .nr = d->options.nr_replicates[side]};
	*total = (struct diff_total){0};
	for (size_t i = s->first; i < s->first + s->nr; i++) {
		const struct replicate *r = &d->replicates[i];

		if (!counts(r))
			continue;
		s->nr_with++;
		s->weight += (double)r->weight;
		nr_weighted += r->weight != 0;
		s->one_over += r->weight ? 1 / (double)r->weight : 0;
		total->duration_ns += (double)r->duration_ns;
	}
	if (!s->nr_with)
		return;
	s->one_over /= nr_weighted ? (double)nr_weighted : 1;
	total->nr_replicates = s->nr_with;
	total->weight = s->weight / (double)s->nr_with;
	total->duration_ns /= (double)s->nr_with;
}

/* --- one row --------------------------------------------------------------------------------- */

/* Adds up replicates that count in blocks of so many neighbours, and adds each block's share of
 * its total, or its mean weight; an incomplete block is dropped. */
static void gather(const struct row *row, const struct side *s, enum diff_basis basis,
		   size_t length, struct spread *out)
{
	double weight = 0, whole = 0;
	size_t nr = 0;

	for (size_t i = s->first; i < s->first + s->nr; i++) {
		if (!counts(&s->replicates[i]))
			continue;
		weight += (double)row->weight[i];
		whole += (double)s->replicates[i].weight;
		if (++nr < length)
			continue;
		spread_add(out, basis == DIFF_WEIGHTS ? weight / (double)length
				: whole > 0           ? weight / whole
						      : 0);
		weight = whole = 0;
		nr = 0;
	}
}

static void fill_row(const struct diff *d, const struct row *row, const struct side *sides,
		     const struct diff_total *totals, struct tested *t)
{
	bool by_shares = d->options.basis == DIFF_SHARES;
	double whole = totals[0].weight > 0 ? totals[0].weight : totals[1].weight;
	double sum = 0, samples = 0, most = 0, variance = 0, mean[2], one;

	t->weights = row;
	*t->row = (struct diff_row){.key = row->key, .p = 1, .adjusted = 1};
	for (unsigned i = 0; i < 2; i++) {
		struct spread shares = {0}, weights = {0};

		gather(row, &sides[i], DIFF_SHARES, 1, &shares);
		gather(row, &sides[i], DIFF_WEIGHTS, 1, &weights);
		sum += weights.mean * (double)weights.nr;
		samples += (double)row->nr_samples[i];
		t->row->side[i] = (struct diff_value){
		    .share = shares.mean, .weight = weights.mean, .nr_samples = row->nr_samples[i]};
		mean[i] = by_shares ? shares.mean : weights.mean;
	}
	t->difference = mean[1] - mean[0];
	t->unit = by_shares ? 1 : whole;
	t->row->difference = t->unit > 0 ? t->difference / t->unit : 0;
	t->row->relative = mean[0] > 0 ? (mean[1] - mean[0]) / mean[0] : mean[1] > 0 ? INFINITY : 0;
	if (!(sum > 0) || !sides[0].nr_with || !sides[1].nr_with)
		return;
	t->share = fmin(sum / (sides[0].weight + sides[1].weight), 1);
	one = row->squares / sum; /* weight of a sample */
	for (unsigned i = 0; i < 2; i++) {
		const struct side *s = &sides[i];
		double nr = (double)s->nr_with,
		       nr_all = (double)(sides[0].nr_with + sides[1].nr_with);

		/* If both sides are equal: k samples have variance k, times the square of a
		 * sample's weight. */
		t->least[i] =
		    by_shares ? t->share * (1 - t->share) * one * s->one_over : one * sum / nr_all;
		variance += t->least[i] / nr;
		/* the mean of a side that has all of the row */
		most = fmax(most, by_shares ? fmin(sum / s->weight, 1) : sum / nr);
	}
	if (samples >= DIFF_MIN_SAMPLES || !(row->squares > 0))
		t->reach = variance > 0 ? most / sqrt(variance) : INFINITY;
}

/* --- the tests ------------------------------------------------------------------------------- */

static int by_reach(const void *x, const void *y)
{
	const struct tested *a = x, *b = y;

	if (a->reach != b->reach)
		return a->reach > b->reach ? -1 : 1;
	return strcmp(a->row->key, b->row->key);
}

/* Sessions are independent: 1. */
static size_t longest_block(const struct diff_result *r)
{
	return r->options.are_iterations
		   ? chance_longest_block(r->side[0].nr_replicates, r->side[1].nr_replicates)
		   : 1;
}

/* The difference is that of all replicates, so that p and the interval are of the number that is
 * shown. Returns the largest p over all block lengths. */
static double test_one(const struct diff_result *r, const struct side *sides, struct tested *t)
{
	for (size_t length = longest_block(r); length; length--) {
		const double least[2] = {t->least[0] / (double)length,
					 t->least[1] / (double)length};
		struct spread spread[2] = {{0}};

		for (unsigned i = 0; i < 2; i++)
			gather(t->weights, &sides[i], r->options.basis, length, &spread[i]);
		t->row->is_tested = chance_errors_add(&t->errors, &spread[0], &spread[1], least);
	}
	return t->row->p = chance_errors_p(&t->errors, t->difference);
}

/* Tests the rows that could be significant. 0 or -ENOMEM. */
static int test_rows(struct diff_result *r, const struct side *sides, struct tested *t, size_t nr)
{
	size_t length = longest_block(r);
	size_t nr_blocks = r->side[0].nr_replicates / length + r->side[1].nr_replicates / length;
	MEM_AUTO double *p = mem_calloc(nr + 1, 4 * sizeof(*p));
	double *weight, *adjusted, *level, shares = 0;

	if (!p)
		return -ENOMEM;
	weight = p + nr;
	adjusted = p + 2 * nr;
	level = p + 3 * nr;
	qsort(t, nr, sizeof(*t), by_reach);
	/* Those that could be significant with the smallest share of the error rate that they may
	 * get. */
	while (r->nr_tested < nr && t[r->nr_tested].reach > 0 &&
	       chance_student(t[r->nr_tested].reach, (double)nr_blocks - 2) * 2 *
		       (double)(r->nr_tested + 1) <
		   DIFF_SIGNIFICANCE)
		r->nr_tested++;
	nr = r->nr_tested;
	for (size_t i = 0; i < nr; i++)
		shares += t[i].share;
	for (size_t i = 0; i < nr; i++) {
		p[i] = test_one(r, sides, &t[i]);
		/* Half of the error rate is divided equally, half by size. */
		weight[i] = 1 / (double)nr + t[i].share / shares;
	}
	if (chance_holm(p, weight, nr, adjusted, level))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		t[i].row->adjusted = adjusted[i];
		t[i].row->half =
		    t[i].unit > 0 ? chance_errors_half(&t[i].errors, level[i]) / t[i].unit : 0;
		t[i].row->is_significant = adjusted[i] < DIFF_SIGNIFICANCE;
		r->nr_significant += t[i].row->is_significant;
	}
	return 0;
}

static int by_change(const void *x, const void *y)
{
	const struct diff_row *a = x, *b = y;
	double da = fabs(a->difference), db = fabs(b->difference);

	if (a->is_significant != b->is_significant)
		return a->is_significant ? -1 : 1;
	if (da != db)
		return da > db ? -1 : 1;
	return strcmp(a->key, b->key);
}

int diff_finish(struct diff *d, struct diff_result *out)
{
	size_t nr = d->rows.nr;
	MEM_AUTO struct tested *t = mem_calloc(nr + 1, sizeof(*t));
	struct diff_row *rows = mem_calloc(nr + 1, sizeof(*rows));
	struct diff_result r = {.options = d->options, .rows = rows, .nr_rows = nr};
	struct side sides[2];
	double a, b;

	for (unsigned i = 0; i < 2; i++)
		sum_up(d, i, &sides[i], &r.side[i]);
	a = r.side[0].duration_ns;
	b = r.side[1].duration_ns;
	r.is_testable = r.side[0].nr_replicates > 1 && r.side[1].nr_replicates > 1;
	r.has_other_duration = fabs(a - b) > 0.01 * fmax(a, b);
	for (uint32_t i = 0; i < nr && t && rows; i++) {
		t[i].row = &rows[i];
		fill_row(d, dict_at(&d->rows, i), sides, r.side, &t[i]);
	}
	if (!t || !rows || (r.is_testable && test_rows(&r, sides, t, nr))) {
		mem_free(rows);
		return -ENOMEM;
	}
	qsort(rows, nr, sizeof(*rows), by_change);
	mem_free(d->result);
	d->result = rows;
	*out = r;
	return 0;
}

bool diff_row_is_over(const struct diff_row *row, double relative)
{
	return row->is_significant && row->relative > relative;
}

bool diff_is_over(const struct diff_result *r, double relative)
{
	return ARRAY_ANY(row, r->rows, r->nr_significant, diff_row_is_over(row, relative));
}
