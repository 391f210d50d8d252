/*
 * Integers of many owners, counted in buckets of 1/128 of their value: memory grows with how
 * different they are, not with how many there are.
 */
#ifndef REPORT_BUCKETS_H
#define REPORT_BUCKETS_H

#include "base/dict.h"

#include <stdbool.h>
#include <stdint.h>

struct report_buckets {
	struct dict items; /* private */
	bool is_full;      /* some values were not added */
};

void report_buckets_init(struct report_buckets *b);
void report_buckets_fini(struct report_buckets *b);
/* 0 or -ENOMEM. */
int report_buckets_add(struct report_buckets *b, uint32_t owner, int64_t value);
/* Once, after the last value. */
void report_buckets_sort(struct report_buckets *b);
/* The least value that is at least as large as the share q of the owner's nr: the middle of its
 * bucket, at most 0.4 % off, within min and max. NaN: there are none, or some were not added. */
double report_buckets_quantile(const struct report_buckets *b, uint32_t owner, uint64_t nr,
			       int64_t min, int64_t max, double q);

#endif
