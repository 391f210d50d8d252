/*
 * Counts are a list; each is found by a hash of its three numbers, and mostly it is the one before.
 */
#include "report/slices.h"

#include "base/index.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum { MAX_DOUBLED = 32 };

struct report_slices {
	struct index index;
	struct report_slice *counts; /* owned */
	size_t nr, room, max;
	unsigned doubled;
	uint32_t last; /* the count that was added to; below nr, if there are any */
};

/* What a count is found by. */
struct key {
	uint32_t stack, group, slice;
};

struct report_slices *report_slices_new(size_t max_counts)
{
	struct report_slices *s = mem_zalloc(sizeof(*s));

	if (s)
		s->max = max_counts;
	return s;
}

void report_slices_free(struct report_slices *s)
{
	if (!s)
		return;
	index_fini(&s->index);
	mem_free(s->counts);
	mem_free(s);
}

static bool is_same(const void *arg, const void *key, uint32_t number)
{
	const struct report_slice *c = &((const struct report_slice *)arg)[number];
	const struct key *k = key;

	return c->stack == k->stack && c->group == k->group && c->slice == k->slice;
}

static int add_count(struct report_slices *s, const struct report_slice *c, uint32_t hash)
{
	struct report_slice *counts = mem_grow(s->counts, s->nr, &s->room, sizeof(*counts));
	int rc;

	if (!counts)
		return -ENOMEM;
	s->counts = counts;
	rc = index_add(&s->index, hash, (uint32_t)s->nr);
	if (rc)
		return rc;
	s->last = (uint32_t)s->nr;
	counts[s->nr++] = *c;
	return 0;
}

/* Adds to the count that is there, or a new one, if there may be so many. */
static int join(struct report_slices *s, const struct report_slice *c, size_t max)
{
	const struct key key = {c->stack, c->group, c->slice};
	uint32_t at = s->last, hash;

	if (!s->nr || !is_same(s->counts, &key, at)) {
		hash = index_hash(0, &key, sizeof(key));
		at = index_find(&s->index, hash, is_same, s->counts, &key);
		if (at == INDEX_NONE)
			return s->nr < max ? add_count(s, c, hash) : -EFBIG;
	}
	s->last = at;
	s->counts[at].samples += c->samples;
	s->counts[at].weight += c->weight;
	return 0;
}

/* Those that are left fit where they were: never more than before. */
int report_slices_double(struct report_slices *s)
{
	size_t nr = s->nr;
	int rc = 0;

	index_fini(&s->index);
	memset(&s->index, 0, sizeof(s->index));
	s->nr = s->last = 0;
	s->doubled++;
	for (size_t i = 0; i < nr && rc == 0; i++) {
		struct report_slice c = s->counts[i];

		c.slice /= 2;
		rc = join(s, &c, nr);
	}
	return rc;
}

int report_slices_add(struct report_slices *s, uint32_t stack, uint32_t group, uint32_t slice,
		      uint64_t weight)
{
	struct report_slice c = {.stack = stack, .group = group, .samples = 1, .weight = weight};
	int rc = 0;

	do {
		c.slice = s->doubled < MAX_DOUBLED ? slice >> s->doubled : 0;
		rc = join(s, &c, s->max);
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
	*nr = s->nr;
	return s->counts;
}
