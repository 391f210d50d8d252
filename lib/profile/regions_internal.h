/*
 * The steps behind regions.h. Private to regions.c and region_calls.c.
 */
#ifndef PROFILE_REGIONS_INTERNAL_H
#define PROFILE_REGIONS_INTERNAL_H

#include "profile/processes_internal.h"
#include "profile/region_log.h"
#include "profile/regions.h"

enum region_step_kind {
	/* what: the path that begins, in the innermost one */
	REGION_STEP_BEGIN,
	REGION_STEP_BEGIN_NUMBER, /* value: the number of the region */
	/* what: the path that ends. Those open in it have been closed. */
	REGION_STEP_END,
	REGION_STEP_CLOSE, /* what: the path that remains, or PROFILE_NO_REGION */
	REGION_STEP_PAUSE, /* of the thread */
	REGION_STEP_RESUME,
	REGION_STEP_INSTANT, /* what: a text */
	REGION_STEP_VALUE,
	REGION_STEP_PROCESS, /* what: the pid from here on */
	REGION_STEP_COUNT,   /* what: a text; of the next beginning or end with one of its own */
};

/* The steps of a thread id. */
struct region_thread {
	uint32_t tid;
	struct region_log log;
	/* Every so many steps, where reading can begin. */
	struct region_place *places; /* owned */
	size_t nr_places, places_room;
};

/* Before a step: its time, and what holds until then. */
struct region_place {
	uint64_t time_ns;
	size_t at;
	uint32_t path;
	bool is_paused;
};

size_t profile_regions_nr_threads(const struct profile_regions *r);
const struct region_thread *profile_regions_thread(const struct profile_regions *r, size_t i);
/* Of an instant or a value; safe to show. */
const char *profile_regions_text(const struct profile_regions *r, uint32_t what);

#endif
