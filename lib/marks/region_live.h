/*
 * Regions while they are recorded: calls and times by name since the last reading, also of regions
 * that are open. Memory and work are bounded: marks of threads and names beyond a limit are added
 * up together, or not at all. Thread-safe but for init and fini.
 */
#ifndef MARKS_REGION_LIVE_H
#define MARKS_REGION_LIVE_H

#include "base/dict.h"
#include "base/region_times.h"
#include "wire/wire.h"

#include <pthread.h>

enum {
	REGION_LIVE_MAX_ROWS = 1024,
	REGION_LIVE_MAX_THREADS = 4096,
	REGION_LIVE_MAX_NAMES = 1 << 16,
};

struct region_live_row {
	char name[REGION_TIMES_NAME_BYTES];
	uint64_t calls, ended_ns;
	int64_t wall_ns; /* less than 0: what was added at the last reading had ended before */
};

struct region_live {
	pthread_mutex_t lock; /* of all below; held only briefly */
	struct region_live_row
	    row[REGION_LIVE_MAX_ROWS]; /* the first one: names beyond the limit */
	size_t nr_rows;
	uint16_t *row_of;    /* owned; by the number of a name */
	struct dict threads; /* private */
};

/* 0 or -ENOMEM; region_live_fini in any case. */
int region_live_init(struct region_live *l);
void region_live_fini(struct region_live *l); /* zeroes are fine */
void region_live_name(struct region_live *l, uint32_t number, const char *text);
/* A mark as region_stream_fn has it. */
void region_live_add(struct region_live *l, uint32_t pid, uint32_t tid, const struct wire_mark *m);
/* What happened since the last call, up to now. */
void region_live_take(struct region_live *l, uint64_t now_ns, struct region_times_list *out);

#endif
