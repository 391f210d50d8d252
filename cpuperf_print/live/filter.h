/*
 * What the user types to select samples: "pid 12", "tid 12,13", "cpu 0-3", a part of a name;
 * several are combined.
 */
#ifndef CPUPERF_PRINT_LIVE_FILTER_H
#define CPUPERF_PRINT_LIVE_FILTER_H

#include "profile/filter.h"

enum { FILTER_MAX_BYTES = 256 };

struct live_filter {
	struct profile_ranges pids, tids, cpus;
	char name[FILTER_MAX_BYTES]; /* "": any */
};

/* -EINVAL with *e. */
int live_filter_parse(struct live_filter *f, const char *text, struct err *e);
/* name: of the thread. */
bool live_filter_has(const struct live_filter *f, uint32_t pid, uint32_t tid, uint32_t cpu,
		     const char *name);

#endif
