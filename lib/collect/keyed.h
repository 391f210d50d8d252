/*
 * Text of lines "name value", as /proc/meminfo, /proc/vmstat and cpu.stat of a cgroup have them:
 * the values of the names that are wanted.
 */
#ifndef COLLECT_KEYED_H
#define COLLECT_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEYED_MAX = 8 };

struct keyed {
	uint64_t value[KEYED_MAX];
	uint32_t seen; /* bit i: value[i] was in the text */
};

/* A name and its value may have ':' and spaces between them. names: at most KEYED_MAX, NULL at the
 * end; *out is zeroed before. Stops when it has seen all. 0, -EINVAL or -ERANGE. */
int keyed_parse(const char *text, size_t len, const char *const *names, struct keyed *out);

/* All of these were in the text. */
bool keyed_has(const struct keyed *k, uint32_t bits);

#endif
