/*
 * Two sides compared row by row. A row is found by its key in an open table and has a weight for
 * each replicate.
 */
#include "report/diff.h"

#include "base/arena.h"
#include "base/mem.h"
#include "estimate/chance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct row {
	const char *key;
	uint64_t hash;
	uint64_t nr_samples[2];
	uint64_t weight[]; /* by replicate, those of side 0 first */
};

struct replicate {
	uint64_t weight, duration_ns;
};

struct diff {
	struct diff_options options;
	struct arena arena; /* rows and keys */
	struct row **table; /* by hash, with gaps; at most half full */
	size_t nr_slots, nr_rows;
	struct replicate *replicates; /* in the order of a row's weights */
	struct diff_row *result;
};

enum { FIRST_SLOTS = 1024, MIN_BLOCKS = 3, LONGEST_BLOCK = 5 };

int diff_new(const struct diff_options *o, struct diff **out)
{
	struct diff *d;

	if (o->nr_replicates[0] < 1 || o->nr_replicates[1] < 1)
		return -EINVAL;
	if (o->nr_replicates[0] > DIFF_MAX_REPLICATES || o->nr_replicates[1] > DIFF_MAX_REPLICATES)
		return -EFBIG;
	d = mem_zalloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->options = *o;
	d->nr_slots = FIRST_SLOTS;
	arena_init(&d->arena, DIFF_MAX_BYTES);
	d->table = mem_calloc(d->nr_slots, sizeof(struct row *));
	d->replicates =
	    mem_calloc(o->nr_replicates[0] + o->nr_replicates[1], sizeof(*d->replicates));
	if (!d->table || !d->replicates) {
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
	arena_fini(&d->arena);
	mem_free(d->table);
	mem_free(d->replicates);
	mem_free(d->result);
	mem_free(d);
}

static void add(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

/* --- rows by key ----------------------------------------------------------------------------- */

/* The key's slot, or the empty one where it belongs. */
static struct row **slot(struct row **table, size_t nr_slots, const char *key, uint64_t hash)
{
	size_t i = hash & (nr_slots - 1);

	while (table[i] && (table[i]->hash != hash || strcmp(table[i]->key, key) != 0))
		i = (i + 1) & (nr_slots - 1);
	return &table[i];
}

static int widen(struct diff *d)
{
	size_t nr = d->nr_slots * 2;
	struct row **table;

	if (d->nr_rows < d->nr_slots / 2)
		return 0;
	table = mem_calloc(nr, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < d->nr_slots; i++)
		if (d->table[i])
			*slot(table, nr, d->table[i]->key, d->table[i]->hash) = d->table[i];
	mem_free(d->table);
	d->table = table;
	d->nr_slots = nr;
	return 0;
}

/* -EFBIG if the arena is full, else -ENOMEM. */
static int no_room(const struct diff *d, size_t bytes)
{
	return bytes + 64 > d->arena.max_bytes - d->arena.used_bytes ? -EFBIG : -ENOMEM;
}

static int make_row(struct diff *d, const char *key, uint64_t hash, struct row **out)
{
	size_t nr = d->options.nr_replicates[0] + d->options.nr_replicates[1];
	size_t bytes = sizeof(struct row) + nr * sizeof(uint64_t), key_bytes = strlen(key) + 1;
	struct row *r = arena_alloc(&d->arena, bytes + key_bytes);

	if (!r)
		return no_room(d, bytes + key_bytes);
	r->key = memcpy((char *)r + bytes, key, key_bytes);
	r->hash = hash;
	*out = r;
	d->nr_rows++;
	return 0;
}

/* The seed differs from run to run: keys come from files, and could be crafted to collide. */
static int find_row(struct diff *d, const char *key, struct row **out)
{
	uint64_t hash = XXH3_64bits_withSeed(key, strlen(key), (uintptr_t)d);
	struct row **at = slot(d->table, d->nr_slots, key, hash);
	int rc = 0;

	if (!*at) {
		rc = widen(d);
		if (rc == 0) {
			at = slot(d->table, d->nr_slots, key, hash);
			rc = make_row(d, key, hash, at);
		}
	}
	if (rc == 0)
		*out = *at;
	return rc;
}

static bool find_replicate(const struct diff *d, unsigned side, size_t replicate, size_t *out)
{
	if (side > 1 || replicate >= d->options.nr_replicates[side])
		return false;
	*out = (side ? d->options.nr_replicates[0] : 0) + replicate;
	return true;
}

int diff_add(struct diff *d, unsigned side, size_t replicate, const char *key, uint64_t weight,
	     uint64_t nr_samples)
{
	struct row *row = NULL;
	size_t i;
	int rc;

	if (!find_replicate(d, side, replicate, &i))
		return -EINVAL;
	rc = find_row(d, key, &row);
	if (rc)
		return rc;
	add(&row->weight[i], weight);
	add(&row->nr_samples[side], nr_samples);
	return 0;
}

int diff_total(struct diff *d, unsigned side, size_t replicate, uint64_t weight,
	       uint64_t duration_ns)
{
	size_t i;

	if (!find_replicate(d, side, replicate, &i))
		return -EINVAL;
	add(&d->replicates[i].weight, weight);
	add(&d->replicates[i].duration_ns, duration_ns);
	return 0;
}

/* --- shared by all rows ----------------------------------------------------------- */

struct side {
	const struct replicate *replicates;
	size_t first, nr; /* replicates, in a row's weights */
	size_t nr_with;   /* replicates with weight */
	double weight;    /* of all replicates */
	double one_over;  /* mean of 1 / weight */
};

/* A row under test. */
struct tested {
	struct diff_row *row;
	const struct row *weights;
	double share;    /* of all samples of both sides */
	double least[2]; /* its variance by counting samples */
	double reach;    /* |t|, if all samples were on one side */
};

static void sum_up(const struct diff *d, unsigned side, struct side *s, struct diff_total *total)
{
	*s = (struct side){.replicates = d->replicates,
			   .first = side ? d->options.nr_replicates[0] : 0,
			   .nr = d->options.nr_replicates[side]};
	*total = (struct diff_total){0};
	for (size_t i = s->first; i < s->first + s->nr; i++) {
		const struct replicate *r = &d->replicates[i];

		if (!r->weight)
			continue;
		s->nr_with++;
		s->weight += (double)r->weight;
		s->one_over += 1 / (double)r->weight;
		total->duration_ns += (double)r->duration_ns;
	}
	if (!s->nr_with)
		return;
	s->one_over /= (double)s->nr_with;
	total->nr_replicates = s->nr_with;
	total->weight = s->weight / (double)s->nr_with;
	total->duration_ns /= (double)s->nr_with;
}

/* --- one row --------------------------------------------------------------------------------- */

/* Adds up replicates with weight in blocks of so many neighbours, and adds each block's share of
 * its total, or its mean weight; an incomplete block is dropped. */
static void gather(const struct row *row, const struct side *s, enum diff_basis basis,
		   size_t length, struct spread *out)
{
	double weight = 0, whole = 0;
	size_t nr = 0;

	for (size_t i = s->first; i < s->first + s->nr; i++) {
		if (!s->replicates[i].weight)
			continue;
		weight += (double)row->weight[i];
		whole += (double)s->replicates[i].weight;
		if (++nr < length)
			continue;
		spread_add(out, basis == DIFF_SHARES ? weight / whole : weight / (double)length);
		weight = whole = 0;
		nr = 0;
	}
}

/* The variance of counting samples if both sides are equal: k samples have variance k, times the
 * square of a sample's weight. */
static void find_least(enum diff_basis basis, const struct side *sides, double sum, double samples,
		       struct tested *t)
{
	double one = sum / fmax(samples, 1); /* weight of a sample */
	double share = t->share;
	double nr = (double)(sides[0].nr_with + sides[1].nr_with);

	for (unsigned i = 0; i < 2; i++)
		t->least[i] = basis == DIFF_SHARES ? share * (1 - share) * one * sides[i].one_over
						   : one * sum / nr;
}

/* The mean of a side if it had all of the row. */
static double all_there(enum diff_basis basis, const struct side *s, double sum)
{
	return basis == DIFF_SHARES ? fmin(sum / s->weight, 1) : sum / (double)s->nr_with;
}

static double find_reach(enum diff_basis basis, const struct side *sides, double sum,
			 const struct tested *t)
{
	double most = fmax(all_there(basis, &sides[0], sum), all_there(basis, &sides[1], sum));
	double variance =
	    t->least[0] / (double)sides[0].nr_with + t->least[1] / (double)sides[1].nr_with;

	return variance > 0 ? most / sqrt(variance) : INFINITY;
}

static void fill_row(const struct diff *d, const struct row *row, const struct side *sides,
		     const struct diff_total *totals, struct tested *t)
{
	enum diff_basis basis = d->options.basis;
	double whole = totals[0].weight > 0 ? totals[0].weight : totals[1].weight;
	double sum = 0, samples = 0, mean[2];

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
		mean[i] = basis == DIFF_SHARES ? shares.mean : weights.mean;
	}
	t->row->difference = mean[1] - mean[0];
	if (basis == DIFF_WEIGHTS)
		t->row->difference = whole > 0 ? (mean[1] - mean[0]) / whole : 0;
	t->row->relative = mean[0] > 0 ? (mean[1] - mean[0]) / mean[0] : mean[1] > 0 ? INFINITY : 0;
	if (!(sum > 0) || !sides[0].nr_with || !sides[1].nr_with)
		return;
	t->share = fmin(sum / (sides[0].weight + sides[1].weight), 1);
	find_least(basis, sides, sum, samples, t);
	if (samples >= DIFF_MIN_SAMPLES)
		t->reach = find_reach(basis, sides, sum, t);
}

/* --- the tests ------------------------------------------------------------------------------- */

static int by_reach(const void *x, const void *y)
{
	const struct tested *a = x, *b = y;

	if (a->reach != b->reach)
		return a->reach > b->reach ? -1 : 1;
	return strcmp(a->row->key, b->row->key);
}

/* Chooses how many rows to test, in order of reach, such that each could be significant with the
 * smallest share of the error rate that it may get. */
static size_t choose(const struct tested *t, size_t nr, double df)
{
	size_t n = 0;

	while (n < nr && t[n].reach > 0 &&
	       chance_student(t[n].reach, df) * 2 * (double)(n + 1) < DIFF_CERTAIN)
		n++;
	return n;
}

/* The length of the longest blocks of iterations: at most LONGEST_BLOCK, so that more iterations
 * show smaller differences. Sessions are independent: 1. */
static size_t longest_block(const struct diff_result *r)
{
	size_t a = r->side[0].nr_replicates, b = r->side[1].nr_replicates;
	size_t nr = (a < b ? a : b) / MIN_BLOCKS;

	if (!r->options.are_iterations || nr < 1)
		return 1;
	return nr < LONGEST_BLOCK ? nr : LONGEST_BLOCK;
}

/* Returns the largest p over all block lengths, and the widest interval. */
static double test_one(const struct diff_result *r, const struct side *sides, struct tested *t)
{
	t->row->p = 0;
	for (size_t length = longest_block(r); length; length--) {
		const double least[2] = {t->least[0] / (double)length,
					 t->least[1] / (double)length};
		struct spread spread[2] = {{0}};
		struct chance_test test = {.p = 1};

		for (unsigned i = 0; i < 2; i++)
			gather(t->weights, &sides[i], r->options.basis, length, &spread[i]);
		t->row->is_tested = chance_welch(&spread[0], &spread[1], least, &test);
		t->row->p = fmax(t->row->p, test.p);
		t->row->half = fmax(t->row->half, test.half);
	}
	if (r->options.basis == DIFF_WEIGHTS)
		t->row->half = r->side[0].weight > 0 ? t->row->half / r->side[0].weight : 0;
	return t->row->p;
}

/* Half of the error rate is shared equally, half by size: a function with a fifth of the samples
 * needs less evidence than one of hundreds of small ones. */
static double weigh(const struct tested *t, size_t nr, double shares)
{
	return 1 / (double)nr + t->share / shares;
}

static int correct(struct diff_result *r, const struct side *sides, struct tested *t, size_t nr)
{
	MEM_AUTO double *p = mem_calloc(nr, 3 * sizeof(*p));
	double *weight = p + nr, *adjusted = p + 2 * nr, shares = 0;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		shares += t[i].share;
	for (size_t i = 0; i < nr; i++) {
		p[i] = test_one(r, sides, &t[i]);
		weight[i] = weigh(&t[i], nr, shares);
	}
	if (chance_holm(p, weight, nr, adjusted))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		t[i].row->adjusted = adjusted[i];
		t[i].row->is_certain = adjusted[i] < DIFF_CERTAIN;
		r->nr_certain += t[i].row->is_certain;
	}
	return 0;
}

static int test_rows(struct diff_result *r, const struct side *sides, struct tested *t, size_t nr)
{
	size_t length = longest_block(r);
	size_t nr_blocks = r->side[0].nr_replicates / length + r->side[1].nr_replicates / length;
	double df = (double)nr_blocks - 2;

	if (!r->is_testable)
		return 0;
	qsort(t, nr, sizeof(*t), by_reach);
	r->nr_tested = choose(t, nr, df);
	return correct(r, sides, t, r->nr_tested);
}

static int by_change(const void *x, const void *y)
{
	const struct diff_row *a = x, *b = y;
	double da = fabs(a->difference), db = fabs(b->difference);

	if (a->is_certain != b->is_certain)
		return a->is_certain ? -1 : 1;
	if (da != db)
		return da > db ? -1 : 1;
	return strcmp(a->key, b->key);
}

static void describe(struct diff_result *r)
{
	double a = r->side[0].duration_ns, b = r->side[1].duration_ns;

	r->is_testable = r->side[0].nr_replicates > 1 && r->side[1].nr_replicates > 1;
	r->has_other_duration = fabs(a - b) > 0.01 * fmax(a, b);
}

int diff_finish(struct diff *d, struct diff_result *out)
{
	MEM_AUTO struct tested *t = mem_calloc(d->nr_rows, sizeof(*t));
	struct diff_row *rows = mem_calloc(d->nr_rows, sizeof(*rows));
	struct diff_result r = {.options = d->options, .rows = rows, .nr_rows = d->nr_rows};
	struct side sides[2];
	size_t nr = 0;

	if (!t || !rows) {
		mem_free(rows);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < 2; i++)
		sum_up(d, i, &sides[i], &r.side[i]);
	describe(&r);
	for (size_t i = 0; i < d->nr_slots; i++) {
		if (!d->table[i])
			continue;
		t[nr].row = &rows[nr];
		fill_row(d, d->table[i], sides, r.side, &t[nr++]);
	}
	if (test_rows(&r, sides, t, nr)) {
		mem_free(rows);
		return -ENOMEM;
	}
	qsort(rows, nr, sizeof(*rows), by_change);
	mem_free(d->result);
	d->result = rows;
	*out = r;
	return 0;
}

bool diff_is_over(const struct diff_result *r, double relative)
{
	for (size_t i = 0; i < r->nr_certain; i++)
		if (r->rows[i].relative > relative)
			return true;
	return false;
}
