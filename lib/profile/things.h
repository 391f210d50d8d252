/*
 * The things of one trace (disks, processes …): their readings and names, collected in any order.
 */
#ifndef PROFILE_THINGS_H
#define PROFILE_THINGS_H

#include "base/arena.h"
#include "profile/session.h"

struct trace_things;

enum {
	PROFILE_MAX_THINGS = 4 << 20
}; /* entries per trace: readings and names; further ones are skipped */

/* Zero-initialise by profile_things_init. */
struct profile_things {
	struct profile_thing_entry *entries; /* owned */
	size_t nr_entries, room;
	struct profile_thing *item; /* owned; after profile_things_join */
	size_t nr, item_room;
	struct arena names;
	bool is_full; /* some were skipped */
};

void profile_things_init(struct profile_things *t);
void profile_things_fini(struct profile_things *t);
/* Drops what was collected, keeps the memory. */
void profile_things_reset(struct profile_things *t);

/* Adds a reading of a boundary (not of a tick), and its offset in the file. 0 or -ENOMEM. */
int profile_things_add(struct profile_things *t, enum trace_boundary boundary,
		       const struct reading *r, uint64_t offset);
/* Adds names, copied. 0 or -ENOMEM. */
int profile_things_name(struct profile_things *t, const struct trace_things *names);
/* Builds item from the collected entries: by event, then in the order of the end readings, which is
 * the recorder's, then ended things by number; the later of two names is used. 0 or -ENOMEM. */
int profile_things_join(struct profile_things *t);

#endif
