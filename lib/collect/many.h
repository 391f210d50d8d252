/*
 * A source of many things of one kind that come and go: disks, network interfaces, processes,
 * cgroups. Each has the same fields, raw as /proc and sysfs give them: cumulative counters or
 * instantaneous values. What a source is: a row of functions; who reads it knows nothing else of
 * it.
 */
#ifndef COLLECT_MANY_H
#define COLLECT_MANY_H

#include "base/root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { COLLECT_MAX_FIELDS = 32 };

/* Which of them are wanted: what the spec's devices, pids or cgroups say; borrowed strings. */
struct collect_choice {
	const char *const *words; /* "sda", "nvme*", "all", "name:GLOB", "1234" … */
	size_t nr;                /* 0: the source's default */
};

/* One of them as it was read last; borrowed until the next read. */
struct collect_thing {
	uint32_t number; /* in this session, from 0, in the order in which they were first seen;
			    never used again for another: what readings call instance */
	const char
	    *name; /* "sda", "1234 bash", "eth0", "/system.slice/x.service"; harmless (str_clean) */
	uint64_t time_ns; /* CLOCK_MONOTONIC when its values were really read */
	uint64_t born_ns; /* CLOCK_MONOTONIC when it was found, and was not there at the reading
			     before: its counters began at 0 meanwhile; 0: that is not known */
	uint32_t has;     /* bit f: field f holds */
	const uint64_t *values; /* by field */
	/* Fields that are wanted and do not hold: by why. */
	uint32_t denied; /* may not be read */
	uint32_t absent; /* this kernel, or this thing, has no such number */
	uint32_t failed; /* could not be read */
	/* Counters that lack what ended between two readings; so many times until now. */
	uint32_t missed;
	uint64_t nr_missed;
};

struct collect_many_source {
	const char *name; /* "disk" */
	/* wanted: bit f for each field that is asked for; nothing is read for others. 0, -EINVAL
	 * with *e (a word that makes no sense), -ENOENT, -ENOMEM … */
	int (*open)(const struct root *root, const struct collect_choice *choice, uint32_t wanted,
		    void **state, struct err *e);
	void (*close)(void *state);
	/* Reads all of them now; new ones are found, those that went are dropped. 0 or -errno (what
	 * was read before is gone then). */
	int (*read)(void *state);
	/* The things of the last read, in a stable order. */
	size_t (*nr)(const void *state);
	void (*get)(const void *state, size_t i, struct collect_thing *out);
	/* What a person must be told, once each (no permission on a file, descriptors run out);
	 * NULL when there is nothing more. Borrowed until the next call. */
	const char *(*note)(void *state);
};

#endif
