/*
 * The maps of a target's memory: of a session, at three moments.
 */
#ifndef MEMORY_MAPS_H
#define MEMORY_MAPS_H

#include "base/dict.h"
#include "profile/filter.h"
#include "profile/session.h"

enum memory_moment { MEMORY_BEGIN, MEMORY_PEAK, MEMORY_END, MEMORY_NR_MOMENTS };

struct memory_at {
	uint64_t nr; /* mappings */
	struct mapping_sums sums;
};

static inline void memory_at_add(struct memory_at *to, const struct memory_at *from)
{
	sum_add(&to->nr, from->nr);
	mapping_sums_add(&to->sums, &from->sums);
}

/* Mappings of one kind and object; those of kinds of later versions are of one. */
struct memory_maps_row {
	const char *key; /* private */
	uint32_t kind;
	const char *object; /* "": none */
	struct memory_at at[MEMORY_NR_MOMENTS];
	uint32_t map[MEMORY_NR_MOMENTS]; /* private: the number of the map that at is of */
};

struct memory_maps {
	struct dict rows; /* struct memory_maps_row */
	bool has_map;
	uint32_t flags; /* enum trace_target_flag, of any trace */
	/* of the maps; without their rows */
	struct mapping_map map[MEMORY_NR_MOMENTS];
	struct memory_at all[MEMORY_NR_MOMENTS];
	uint64_t start_ns, end_ns;           /* of the iterations */
	uint32_t nr_maps[MEMORY_NR_MOMENTS]; /* private: that were the moment */
};

void memory_maps_init(struct memory_maps *m);
void memory_maps_fini(struct memory_maps *m);
/* Adds the maps of a trace, in order of time; after the last one call memory_maps_end. 0 or
 * -ENOMEM. */
int memory_maps_add(struct memory_maps *m, const struct profile_trace *trace);
void memory_maps_end(struct memory_maps *m);
/* Reads those of a session, and ends. 0 or -errno. */
int memory_maps_read(struct memory_maps *m, struct profile_session *s,
		     const struct profile_ranges *iterations);
/* The rows, those with most at the peak first; owned by the caller. NULL without memory. */
const struct memory_maps_row **memory_maps_sorted(const struct memory_maps *m);

#endif
