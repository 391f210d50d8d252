/*
 * Parses lines "name value", as in /proc/meminfo, /proc/vmstat and a cgroup's cpu.stat, for the
 * values of given names.
 */
#ifndef THINGS_KEYED_H
#define THINGS_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEYED_MAX = 9 };

struct keyed {
	uint64_t value[KEYED_MAX];
	uint32_t seen; /* bit i: value[i] was in the text */
};

/* ':' and spaces may stand between name and value. names: at most KEYED_MAX, NULL at the end; *out
 * is zeroed before. Stops when all were found. 0, -EINVAL or -ERANGE. */
int keyed_parse(const char *text, size_t len, const char *const *names, struct keyed *out);

/* True if all of these were in the text. */
bool keyed_has(const struct keyed *k, uint32_t bits);

#endif
