/*
 * Things that are the entries of one folder of sysfs, as disks and GPUs: each has its files in a
 * folder of its own. They come and go with the entries.
 */
#ifndef THINGS_LISTED_H
#define THINGS_LISTED_H

#include "things/listing.h"
#include "things/things.h"

struct listed;

/* Other things of the same source, which are no entries of the folder. */
struct listed_others {
	/* 1: there may be others than at the last look; 0: there are not. */
	int (*look)(void *state);
	/* Finds or adds each, between things_begin and things_end. 0 or -ENOMEM. */
	int (*find)(void *state, struct listed *l);
	/* Reads them, after things_read of each; drops those that are gone. 0 or -errno. */
	int (*read)(void *state, struct listed *l);
	void (*close)(void *state);
};

/* The state of a source; its first member serves things_nr, things_get and things_note. */
struct listed {
	struct things things;
	struct things_choice choice;
	const char *folder; /* borrowed; NULL: there are only others */
	/* Of an entry that is no thing yet. */
	bool (*is_chosen)(const struct listed *l, const char *name);
	const struct listed_others *others; /* NULL: none */
	void *others_state;                 /* owned */
	struct listing listing;
	bool must_look; /* for new things, even if the listing has not changed */
};

/* what: the things in messages, as "disks". Finds the things, and notes words without one. 0, or
 * -errno with *e: -ENOENT if there is no folder, and no others. Then, too, it has closed the
 * draft's others. */
int listed_open(const struct listed *draft, const struct things_kind *kind, const struct root *root,
		uint32_t wanted, const char *what, void **state, struct err *e);
/* As in struct things_source. */
void listed_close(void *state);
int listed_read(void *state);

#endif
