/*
 * Sets of labels of goroutines, and which label of a set is the outer one. Go does not keep in
 * which order they were set: so a key that occurs in more sets, those with other values being the
 * same, is further out. One that was always set around another is in all sets that have the other,
 * and alone in one more, if that has a sample.
 */
#ifndef PROFILE_REGION_LABELS_H
#define PROFILE_REGION_LABELS_H

#include "base/dict.h"

#include <stdbool.h>

enum { REGION_LABELS_MAX = 16 }; /* of a set */

struct region_label {
	uint32_t key;  /* its number */
	uint32_t text; /* the caller's */
};

struct region_label_set {
	uint64_t number; /* key */
	uint64_t first;
	uint32_t nr;
	uint32_t path; /* the caller's */
};

/* Zero for none. */
struct region_labels {
	struct dict sets;           /* struct region_label_set */
	struct dict keys, shapes;   /* private */
	struct region_label *label; /* owned; of all sets */
	size_t nr, room;
};

void region_labels_init(struct region_labels *l);
void region_labels_fini(struct region_labels *l);

/* Begins a set. NULL: that number has one, or *rc: -EFBIG: too many, -ENOMEM. */
struct region_label_set *region_labels_begin(struct region_labels *l, uint64_t number, int *rc);
/* Adds a label to the set that was begun last. 0, -EFBIG or -ENOMEM: it is left out. */
int region_labels_add(struct region_labels *l, const char *key, uint32_t text);
/* Puts those of each set in order, once all were added. */
void region_labels_order(struct region_labels *l);

#endif
