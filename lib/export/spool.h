/*
 * Samples that must be written in another order than they come in: kept in an unlinked temporary
 * file, in which they are sorted, so that memory does not grow with them. Knows nothing of what
 * they are.
 */
#ifndef EXPORT_SPOOL_H
#define EXPORT_SPOOL_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct export_spool;

struct export_record {
	uint64_t time_ns, weight;
	uint32_t tag, stack; /* the caller's; tags are dense from 0 */
};

/* Where records of a tag belong: buckets are dense from 0; in a bucket they are sorted by time,
 * those of the same time by rank, those of the same rank too as they came. */
struct export_place {
	uint32_t bucket, rank;
};

/* NULL without memory, or where there can be no temporary file, with *e. */
struct export_spool *export_spool_new(struct err *e);
void export_spool_free(struct export_spool *s); /* NULL is fine */

/* 0 or -errno with *e. */
int export_spool_add(struct export_spool *s, const struct export_record *r, struct err *e);

/* When all are there, once. place: by tag, borrowed. Takes as much again of the disk as the records
 * do, 24 bytes each. 0 or -errno with *e. */
int export_spool_sort(struct export_spool *s, const struct export_place *place, size_t nr_buckets,
		      struct err *e);
/* Called for each record that is looked at, this gives the memory back in which the file is, now
 * and then: records that are looked at again are read again. */
void export_spool_touch(struct export_spool *s);
/* The records of a bucket, in their order; NULL if there is none. */
const struct export_record *export_spool_bucket(const struct export_spool *s, uint32_t bucket,
						size_t *nr);

#endif
