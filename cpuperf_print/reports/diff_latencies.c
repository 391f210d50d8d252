/*
 * The latencies of replicates as numbers that can be compared.
 */
#include "base/array.h"
#include "base/dict.h"
#include "base/mem.h"
#include "estimate/latencies.h"
#include "reports/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KINDS = 1 << 12 };

/* Quantiles; 1: the longest. */
static const struct {
	double quantile;
	const char *name;
} numbers[DIFF_LATENCY_NR] = {{0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {1, "max"}};

/* An event and its part: what is compared. */
struct kind {
	uint32_t event, unused;
	char part[LATENCIES_NAME_BYTES];
};

void diff_latencies_init(struct dict *kinds)
{
	dict_init(kinds, sizeof(struct kind), sizeof(struct kind), MAX_KINDS);
}

/* NAN: there are too few for an interval. */
static double number_of(const struct histogram *h, size_t i)
{
	struct histogram_quantile q;

	if (numbers[i].quantile >= 1)
		return (double)h->max_ns;
	q = histogram_quantile(h, numbers[i].quantile);
	return isfinite(q.high_ns) ? q.ns : NAN;
}

static int put_row(struct dict *kinds, const struct latencies_row *row, double **out, size_t *nr)
{
	struct kind key;
	uint32_t kind;
	size_t need;

	memset(&key, 0, sizeof(key));
	key.event = row->event;
	memcpy(key.part, row->part, sizeof(key.part));
	kind = dict_add(kinds, &key);
	if (kind == DICT_NONE)
		return kinds->nr == MAX_KINDS ? -EFBIG : -ENOMEM;
	need = ((size_t)kind + 1) * DIFF_LATENCY_NR;
	if (need > *nr) {
		double *more = mem_resize(*out, need * sizeof(*more));

		if (!more)
			return -ENOMEM;
		*out = more;
		while (*nr < need)
			more[(*nr)++] = NAN;
	}
	for (size_t i = 0; i < DIFF_LATENCY_NR && row->histogram->count; i++)
		(*out)[kind * DIFF_LATENCY_NR + i] = number_of(row->histogram, i);
	return 0;
}

int diff_latencies_numbers(struct dict *kinds, const struct latencies *l, double **out, size_t *nr)
{
	int rc = 0;

	for (uint32_t i = 0; i < l->rows.nr && rc == 0; i++)
		rc = put_row(kinds, dict_at(&l->rows, i), out, nr);
	return rc;
}

bool diff_latencies_is_judged(size_t i)
{
	return numbers[i % DIFF_LATENCY_NR].quantile < 1;
}

void diff_latencies_name(const struct dict *kinds, const struct job *j, size_t i,
			 char name[DIFF_TOTALS_NAME_BYTES])
{
	const struct kind *kind = dict_at(kinds, (uint32_t)(i / DIFF_LATENCY_NR));

	snprintf(name, DIFF_TOTALS_NAME_BYTES, "%.200s%s%s %s", job_event(j, kind->event)->label,
		 kind->part[0] ? ", " : "", kind->part, numbers[i % DIFF_LATENCY_NR].name);
}
