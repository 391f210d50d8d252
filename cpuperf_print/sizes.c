#include "sizes.h"

#include "base/sum.h"
#include "estimate/histogram.h"

#include <string.h>

/* As they are named in the trace. */
static const char *const parts[SIZES_NR_PARTS] = {"calls",      "bytes",      "squares",
						  "live_calls", "live_bytes", "live_squares"};

static uint32_t class_of(uint64_t low)
{
	return (low ? 64 - (uint32_t)__builtin_clzll(low) : 0) % SIZES_NR_CLASSES;
}

static void add_histogram(struct sizes_sums *s, const struct trace_histogram *h)
{
	unsigned part = 0;

	while (part < SIZES_NR_PARTS && strcmp(h->part, parts[part]) != 0)
		part++;
	if (part == SIZES_NR_PARTS) /* of a later version */
		return;
	s->has_part[part] = true;
	for (size_t i = 0; i < h->nr; i++)
		sum_add(&s->of[part][class_of(histogram_low(h->bucket[i].number))],
			h->bucket[i].count);
}

void sizes_add(struct sizes_sums *s, const struct profile_trace *trace)
{
	if (trace->nr_sizes)
		memset(s->of[SIZES_LIVE_CALLS], 0,
		       (SIZES_NR_PARTS - SIZES_LIVE_CALLS) * sizeof(s->of[0]));
	for (size_t i = 0; i < trace->nr_sizes; i++)
		add_histogram(s, &trace->sizes[i]);
}

bool sizes_has_class(const struct sizes_sums *s, uint32_t class)
{
	return s->of[SIZES_CALLS][class] || s->of[SIZES_LIVE_CALLS][class];
}

uint64_t sizes_low(uint32_t class)
{
	return class ? UINT64_C(1) << (class - 1) : 0;
}

uint64_t sizes_high(uint32_t class)
{
	return class ? 2 * sizes_low(class) - 1 : 0;
}
