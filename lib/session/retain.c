/*
 * A queue of parts.
 */
#include "session/retain.h"

#include "base/clock.h"
#include "base/mem.h"
#include "spec/spec.h"

#include <errno.h>
#include <string.h>

enum { MIN_PARTS = 10 }; /* of each limit */

void retain_init(struct retain *r, const struct spec_retain *limits)
{
	*r = (struct retain){.limits = limits};
}

void retain_fini(struct retain *r)
{
	mem_free(r->parts);
	r->parts = NULL;
	r->first = r->nr = 0;
}

struct retain_part *retain_newest(const struct retain *r)
{
	return r->nr > r->first ? &r->parts[r->nr - 1] : NULL;
}

/* The memory grows with the parts that remain. */
static struct retain_part *add_part(struct retain *r)
{
	if (r->parts && r->first > r->nr / 2) {
		r->nr -= r->first;
		memmove(r->parts, r->parts + r->first, r->nr * sizeof(*r->parts));
		r->first = 0;
	}
	return MEM_ADD(r->parts, r->nr, r->room);
}

int retain_add(struct retain *r, uint64_t number, uint64_t iteration, uint64_t begin_ns,
	       uint64_t end_ns, const struct clock_triple *clocks)
{
	uint64_t to_real_ns = clocks->realtime_ns - clocks->monotonic_ns;
	struct retain_part *part = retain_newest(r);

	if (!part || part->number != number) {
		part = add_part(r);
		if (!part)
			return -ENOMEM;
		*part = (struct retain_part){.number = number,
					     .first = iteration,
					     .begin_ns = begin_ns,
					     .begin_real_ns = begin_ns + to_real_ns};
	}
	part->end = iteration + 1;
	part->end_ns = end_ns;
	part->end_real_ns = end_ns + to_real_ns;
	return 0;
}

void retain_set_bytes(struct retain *r, uint64_t bytes)
{
	struct retain_part *part = retain_newest(r);

	r->bytes += bytes - part->bytes;
	part->bytes = bytes;
}

/* limit 0: any. */
static bool exceeds(uint64_t value, uint64_t limit)
{
	return limit && value > limit;
}

static bool has_share(uint64_t value, uint64_t limit)
{
	return limit && value >= limit / MIN_PARTS;
}

bool retain_is_full(const struct retain *r)
{
	const struct retain_part *part = retain_newest(r);

	return part && (has_share(part->end - part->first, r->limits->iterations) ||
			has_share(part->end_ns - part->begin_ns, r->limits->span_ns) ||
			has_share(part->bytes, r->limits->bytes));
}

bool retain_trim(struct retain *r, uint64_t further_bytes)
{
	uint64_t before = r->removed.numbers;

	for (; r->nr - r->first > 1; r->first++) {
		const struct retain_part *oldest = &r->parts[r->first], *newest = retain_newest(r);

		if (!exceeds(newest->end - oldest->first, r->limits->iterations) &&
		    !exceeds(newest->end_ns - oldest->begin_ns, r->limits->span_ns) &&
		    !exceeds(r->bytes + further_bytes, r->limits->bytes))
			break;
		if (!r->removed.iterations)
			r->removed.begin_ns = oldest->begin_real_ns;
		r->removed.numbers = oldest->number + 1;
		r->removed.iterations = oldest->end;
		r->removed.end_ns = oldest->end_real_ns;
		r->bytes -= oldest->bytes;
	}
	return r->removed.numbers != before;
}
