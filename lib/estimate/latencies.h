/*
 * The histograms of a session, by event and by what they are of.
 */
#ifndef ESTIMATE_LATENCIES_H
#define ESTIMATE_LATENCIES_H

#include "base/dict.h"
#include "estimate/histogram.h"

enum { LATENCIES_NAME_BYTES = 64 };

struct latencies_row {
	uint32_t event, unused;
	char part[LATENCIES_NAME_BYTES]; /* "queue", "device"; "" */
	char what[LATENCIES_NAME_BYTES]; /* "1234 bash"; "": all of the event and part */
	struct histogram *histogram;     /* owned */
};

/* Zero-initialise. latencies_fini makes it empty. */
struct latencies {
	struct dict rows; /* struct latencies_row, in the order of their first use */
};
void latencies_fini(struct latencies *l);
/* The row's histogram; made if there is none. NULL without memory, or at the limit of rows. */
struct histogram *latencies_get(struct latencies *l, uint32_t event, const char *part,
				const char *what);
/* NULL: there is none. */
const struct histogram *latencies_find(const struct latencies *l, uint32_t event, const char *part,
				       const char *what);
/* Adds all rows of other. 0 or -ENOMEM: then some are missing. */
int latencies_merge(struct latencies *l, const struct latencies *other);
/* A copy of the rows in order: by event and part, first all of it, then what took the most time.
 * Free it with mem_free; the histograms are borrowed. NULL without memory. */
struct latencies_row *latencies_sorted(const struct latencies *l);

#endif
