/*
 * How often a HotSpot machine has collected garbage in a way that may free classes, by the
 * counters that it keeps for jstat: those of what is young free none, and are most of them.
 * They are in the memory of its process, and hostile.
 */
#ifndef RUNTIMES_PAUSES_H
#define RUNTIMES_PAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jvm;

enum { PAUSES_MAX_COUNTERS = 2 };
struct pauses {
	uint64_t counter[PAUSES_MAX_COUNTERS]; /* where they are */
	uint32_t nr;                           /* 0: they are not known */
	uint32_t nr_asked;
};

/* Where the counters are, if that is not known: a machine that starts has none yet. After some
 * questions it has none. */
void pauses_find(struct pauses *p, const struct jvm *m);
/* Their sum, which is above all counts of other collections. False: it is not known. */
bool pauses_count(const struct pauses *p, const struct jvm *m, uint64_t *out);

#endif
