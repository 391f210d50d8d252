#include "report/region_count_sums.h"

#include "estimate/chance.h"

#include <errno.h>
#include <math.h>

enum { MAX_NAMES = 1024, MAX_NAME_BYTES = 1 << 20, MAX_COUNTS = 1 << 22 };
#define OUTSIDE 0.05 /* of the 95 % interval, on both sides */
/* With fewer calls, an interval by Student's distribution holds too rarely: counts are skewed. */
#define MIN_CALLS 30
/* Of n calls alike, up to 3/n of all may be others (95 %). */
#define UNSEEN 3

void report_region_count_sums_init(struct report_region_count_sums *s)
{
	*s = (struct report_region_count_sums){.is_sparse = false};
	dict_init_texts(&s->names, sizeof(const char *), MAX_NAMES, MAX_NAME_BYTES);
	dict_init(&s->counts, sizeof(struct report_region_count),
		  DICT_KEY(struct report_region_count, name), MAX_COUNTS);
}

void report_region_count_sums_fini(struct report_region_count_sums *s)
{
	dict_fini(&s->names);
	dict_fini(&s->counts);
}

/* By Welford's method. */
static void add_to_mean(double *mean, double *squares, uint64_t nr, uint64_t value)
{
	double off = (double)value - *mean;

	*mean += off / (double)nr;
	*squares += off * ((double)value - *mean);
}

static int add_one(struct report_region_count_sums *s, uint32_t sum,
		   const struct profile_region_count *from)
{
	struct report_region_count key = {.sum = sum, .name = dict_add(&s->names, from->name)};
	struct report_region_count *c = key.name == DICT_NONE ? NULL : dict_get(&s->counts, &key);

	if (!c)
		return s->names.nr >= MAX_NAMES || s->counts.nr >= MAX_COUNTS ? 0 : -ENOMEM;
	if (!c->calls || from->value < c->least)
		c->least = from->value;
	if (from->value > c->most)
		c->most = from->value;
	c->total += from->value;
	c->nr_below += from->nr_below;
	add_to_mean(&c->mean, &c->squares, ++c->calls, from->value);
	if (!from->has_inner)
		return 0;
	c->nr_inner += from->nr_inner;
	c->self += from->value > from->inner ? from->value - from->inner : 0;
	add_to_mean(&c->self_mean, &c->self_squares, ++c->self_calls,
		    from->value > from->inner ? from->value - from->inner : 0);
	return 0;
}

int report_region_count_sums_add(struct report_region_count_sums *s, uint32_t sum,
				 const struct profile_region_event *e)
{
	int rc = 0;

	s->is_sparse |= !e->nr_counts && !e->is_closed && !e->is_cut;
	for (size_t i = 0; i < e->nr_counts && rc == 0; i++)
		rc = add_one(s, sum, &e->counts[i]);
	return rc;
}

static uint64_t without(uint64_t total, double marks)
{
	return (double)total > marks ? total - (uint64_t)marks : 0;
}

/* In a region's self time is also what the regions next inside count outside of themselves. */
void report_region_count_sums_subtract(struct report_region_count_sums *s, uint32_t name,
				       uint64_t own, uint64_t around)
{
	double inner = around > own ? (double)(around - own) : 0;

	for (uint32_t i = 0; i < s->counts.nr && !s->is_sparse; i++) {
		struct report_region_count *c = dict_at(&s->counts, i);

		if (c->name != name)
			continue;
		c->total = without(c->total, (double)own * (double)c->calls +
						 (double)around * (double)c->nr_below);
		c->self = without(c->self, (double)own * (double)c->self_calls +
					       inner * (double)c->nr_inner);
		c->mean = (double)c->total / (double)c->calls;
		if (c->self_calls)
			c->self_mean = (double)c->self / (double)c->self_calls;
	}
}

const struct report_region_count *
report_region_count_sums_find(const struct report_region_count_sums *s, uint32_t sum, uint32_t name)
{
	const struct report_region_count key = {.sum = sum, .name = name};

	return dict_at(&s->counts, dict_find(&s->counts, &key));
}

/* Of nr calls without repetition out of all: the part of all that was not seen varies, and calls
 * that nobody saw may have as much more or less as the largest one had. */
static struct interval estimate(const struct report_region_count *c, uint64_t nr, uint64_t all,
				uint64_t total, double mean, double squares)
{
	double n = (double)nr, whole = mean * (double)all, half, unseen;

	if (nr >= all)
		return (struct interval){(double)total, (double)total, (double)total};
	if (nr < MIN_CALLS)
		return (struct interval){NAN, NAN, NAN};
	half = chance_student_inverse(OUTSIDE, n - 1) * (double)all *
	       sqrt(squares / (n - 1) / n * (1 - n / (double)all));
	unseen = UNSEEN / n * (double)(all - nr) * fmax((double)c->most, 1);
	half = hypot(half, unseen);
	/* what was counted is certain */
	return (struct interval){whole, fmax(whole - half, (double)total), whole + half};
}

struct interval report_region_count_estimate(const struct report_region_count *c, uint64_t calls)
{
	return estimate(c, c->calls, calls, c->total, c->mean, c->squares);
}

struct interval report_region_count_self(const struct report_region_count *c, uint64_t calls)
{
	return estimate(c, c->self_calls, calls, c->self, c->self_mean, c->self_squares);
}
