/*
 * A source of many things of one kind that come and go: disks, network interfaces, processes,
 * cgroups. All have the same fields, raw from /proc and sysfs: cumulative counters or instantaneous
 * values. A source is a table of functions.
 */
#ifndef THINGS_MANY_H
#define THINGS_MANY_H

#include "base/root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

enum { THINGS_MAX_FIELDS = 32 };

/* The processes of a target. Each reading looks at what is pointed to. */
struct things_tree {
	const pid_t *const *ids;
	const size_t *nr;
	bool has_children; /* also those that they create, and so on */
	bool is_cgroup;    /* in place of all that: the first id is the descriptor of a control
			      group's folder, and these are those in it or in a group below it */
};

/* Which things to read: the spec's devices, pids or cgroups; borrowed strings. */
struct things_choice {
	const char *const *words;       /* "sda", "nvme*", "all", "name:GLOB", "1234" … */
	size_t nr;                      /* 0: the source's default */
	const struct things_tree *tree; /* of processes without words: only these. NULL: none */
	uint64_t every_ns; /* of a source with a rate of its own: between two readings; 0: its
			      default */
};

/* The fields of a source whose fields have names: of the events, in the order of their bits. */
struct things_named {
	const char *const *names;
	const double *scales; /* a value is what was measured divided by it, rounded */
	size_t nr;
	uint64_t every_ns; /* the least of the events', or the source's */
};

/* A reading of a thing that its source took at a rate of its own. */
struct things_sample {
	uint32_t number;        /* of the thing */
	uint64_t time_ns;       /* CLOCK_MONOTONIC */
	uint32_t has;           /* bit f: field f has a value */
	const uint64_t *values; /* by field; borrowed until the next call */
};

/* The clock of a thing and CLOCK_MONOTONIC, by which times of its samples were converted. */
struct things_clock {
	uint32_t number;
	bool is_arrival; /* no reading of the clock: the newest sample, when it arrived */
	uint64_t clock_ns, before_ns, after_ns; /* CLOCK_MONOTONIC before and after the reading */
};

/* A thing and its last values; borrowed until the next read. */
struct things_one {
	uint32_t number; /* from 0 in the order of discovery, never reused in the session: the
			    instance of readings */
	const char
	    *name; /* "sda", "1234 bash", "eth0", "/system.slice/x.service"; cleaned by str_clean */
	uint64_t time_ns; /* CLOCK_MONOTONIC when its values were read */
	uint64_t born_ns; /* CLOCK_MONOTONIC when it was found, if it was absent at the previous
			     reading and its counters began at 0 since; 0: unknown */
	uint32_t has;     /* bit f: field f has a value */
	const uint64_t *values; /* by field */
	/* Wanted fields without a value, by reason. */
	uint32_t denied; /* no permission */
	uint32_t absent; /* this kernel, or this thing, has no such value */
	uint32_t failed; /* could not be read */
	/* Counters without what ended between two readings, and how often that happened. */
	uint32_t missed;
	uint64_t nr_missed;
	/* Shares, of which values have the part, and this the whole; NULL: there are none. Both are
	 * cumulative. */
	uint32_t shares;
	const uint64_t *wholes;
	bool has_ended; /* its values are the last ones */
	bool is_rest;   /* no thing, but what all of them lack: with it their sum is whole */
};

struct things_source {
	const char *name; /* "disk" */
	bool may_be_none; /* no thing now is no failure: they come later */
	/* wanted: bits of the fields to read. 0, -EINVAL with *e (an invalid word), -ENOENT,
	 * -ENOMEM … */
	int (*open)(const struct root *root, const struct things_choice *choice, uint32_t wanted,
		    void **state, struct err *e);
	/* In place of open: of a source whose fields have names. Others: NULL. */
	int (*open_named)(const struct root *root, const struct things_choice *choice,
			  const struct things_named *named, void **state, struct err *e);
	void (*close)(void *state);
	/* Optional: other is open too, of a source with the same function: from the first reading
	 * on they read together what both need. */
	void (*join)(void *state, void *other);
	/* With join: before the reads of one moment, of each that takes part: the first reads, the
	 * others take what it read. */
	void (*begin)(void *state);
	/* Reads all things, adds new ones, drops those that are gone. 0, or -errno: there are none
	 * then. */
	int (*read)(void *state);
	/* The things of the last reading, in a stable order. */
	size_t (*nr)(const void *state);
	void (*get)(const void *state, size_t i, struct things_one *out);
	/* Optional: from the first reading on reads by programs in the kernel what they can read.
	 * 0; -ENODATA: no field; -errno with *why. */
	int (*use_kernel)(void *state, struct err *why);
	/* Optional: where the field is read now; NULL: from the files that its row names. */
	const char *(*way)(const void *state, uint16_t field);
	/* Optional: follows things to their end, so that those that end have a last reading, and
	 * those that come and go between two readings have one. Things that have ended stay until
	 * the first reading after next. 0; -ENODATA: no field needs it; -errno with *why. */
	int (*follow)(void *state, struct err *why);
	void (*next)(void *state);
	/* Optional: waits until the last values of what has ended are there. Any thread. */
	void (*settle)(const void *state);
	/* Of a source that samples at a rate of its own; others: NULL. flush waits until the
	 * samples up to the last reading are there. sample and clock return the next one, in order
	 * of time of each thing; false: there is none that is as old. In one thread. The newest
	 * one that sample returned is what get gives of its thing, until the next read. every_ns:
	 * between two samples, unless the events say so. */
	uint64_t every_ns;
	void (*flush)(void *state);
	bool (*sample)(void *state, uint64_t until_ns, struct things_sample *out);
	bool (*clock)(void *state, uint64_t until_ns, struct things_clock *out);
	/* The next warning for the user, each once (no permission on a file, out of descriptors);
	 * NULL: no more. Valid until the next call. */
	const char *(*note)(void *state);
};

#endif
