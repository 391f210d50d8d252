/*
 * Things that are the entries of one folder of sysfs, as disks and GPUs: each has its files in a
 * folder of its own. They come and go with the entries.
 */
#ifndef COLLECT_LISTED_H
#define COLLECT_LISTED_H

#include "collect/listing.h"
#include "collect/things.h"

/* The state of a source; its first member serves things_nr, things_get and things_note. */
struct listed {
	struct things things;
	struct collect_choice choice;
	const char *folder; /* borrowed */
	/* Of an entry that is no thing yet. */
	bool (*is_chosen)(const struct listed *l, const char *name);
	struct listing listing;
	bool must_look; /* for new things, even if the listing has not changed */
};

/* what: the things in messages, as "disks". Finds the things, and notes words without one. 0, or
 * -errno with *e: -ENOENT if there is no folder. */
int listed_open(const struct listed *draft, const struct things_kind *kind, const struct root *root,
		uint32_t wanted, const char *what, void **state, struct err *e);
/* As in struct collect_many_source. */
void listed_close(void *state);
int listed_read(void *state);

#endif
