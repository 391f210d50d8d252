/*
 * Sets of CPU numbers, as the kernel writes them ("0-3,8"), sparse or not.
 */
#ifndef BASE_CPUSET_H
#define BASE_CPUSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { CPUSET_MAX_CPU = 8192 }; /* CONFIG_NR_CPUS is at most this on any architecture */

struct cpuset {
	uint64_t bits[CPUSET_MAX_CPU / 64];
};

void cpuset_clear(struct cpuset *s);
void cpuset_add(struct cpuset *s, unsigned cpu); /* numbers beyond the maximum are ignored */
bool cpuset_has(const struct cpuset *s, unsigned cpu);
size_t cpuset_count(const struct cpuset *s);
/* The first CPU >= from, or -1. for (int c = cpuset_next(s, 0); c >= 0; c = cpuset_next(s, c + 1))
 */
int cpuset_next(const struct cpuset *s, unsigned from);
/* The kernel's list format, with or without a final newline; an empty text is an empty set.
 * 0, -EINVAL or -ERANGE. */
int cpuset_parse(const char *text, size_t len, struct cpuset *out);
void cpuset_format(const struct cpuset *s, struct buf *out);

#endif
