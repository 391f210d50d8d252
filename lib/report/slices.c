/*
 * Counts by stack, group and slice.
 */
#include "report/slices.h"

#include "base/dict.h"
#include "base/mem.h"

#include <errno.h>

enum { MAX_DOUBLED = 32 };

struct report_slices {
	struct dict counts; /* struct report_slice; the key is all up to the slice */
	unsigned doubled;
};

uint64_t report_slices_round(uint64_t span_ns, unsigned nr)
{
	static const uint64_t steps[] = {1, 2, 5};
	uint64_t ten = 1;
	unsigned i = 0;

	while (steps[i] * ten * nr < span_ns && ten < UINT64_MAX / 10000) {
		i = (i + 1) % 3;
		ten *= i ? 1 : 10;
	}
	return steps[i] * ten;
}

struct report_slices *report_slices_new(size_t max_counts)
{
	struct report_slices *s = mem_zalloc(sizeof(*s));

	if (s)
		dict_init(&s->counts, sizeof(struct report_slice),
			  DICT_KEY(struct report_slice, slice), max_counts);
	return s;
}

void report_slices_free(struct report_slices *s)
{
	if (!s)
		return;
	dict_fini(&s->counts);
	mem_free(s);
}

/* Adds to the count of the same key. */
static int join(struct report_slices *s, const struct report_slice *c)
{
	struct report_slice *to = dict_get(&s->counts, c);

	if (!to)
		return s->counts.nr == s->counts.max ? -EFBIG : -ENOMEM;
	to->samples += c->samples;
	to->weight += c->weight;
	to->squares += c->squares;
	return 0;
}

int report_slices_double(struct report_slices *s)
{
	struct dict old = s->counts;
	int rc = 0;

	dict_init(&s->counts, old.item_bytes, old.key_bytes, old.max);
	s->doubled++;
	for (uint32_t i = 0; i < old.nr && rc == 0; i++) {
		struct report_slice *c = dict_at(&old, i);

		c->slice /= 2;
		rc = join(s, c);
	}
	dict_fini(&old);
	return rc;
}

int report_slices_add(struct report_slices *s, uint32_t stack, uint32_t group, uint32_t slice,
		      uint64_t samples, uint64_t weight, double squares)
{
	struct report_slice c = {.stack = stack,
				 .group = group,
				 .samples = samples,
				 .weight = weight,
				 .squares = squares};
	int rc = 0;

	do {
		c.slice = s->doubled < MAX_DOUBLED ? slice >> s->doubled : 0;
		rc = join(s, &c);
		if (rc != -EFBIG || s->doubled == MAX_DOUBLED)
			return rc;
		rc = report_slices_double(s);
	} while (rc == 0);
	return rc;
}

unsigned report_slices_doubled(const struct report_slices *s)
{
	return s->doubled;
}

const struct report_slice *report_slices_counts(const struct report_slices *s, size_t *nr)
{
	*nr = s->counts.nr;
	return s->counts.items;
}
