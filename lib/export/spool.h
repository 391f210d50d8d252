/*
 * Sorts samples in an unlinked temporary file, so that memory does not grow with their number.
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

/* Where records of a tag go: buckets are dense from 0; a bucket is sorted by time, then by rank,
 * then by the order in which records were added. */
struct export_place {
	uint32_t bucket, rank;
};

/* NULL with *e: no memory or no temporary file. */
struct export_spool *export_spool_new(struct err *e);
void export_spool_free(struct export_spool *s); /* NULL is fine */

/* 0 or -errno with *e. */
int export_spool_add(struct export_spool *s, const struct export_record *r, struct err *e);

/* Call once, after the last record. place: by tag, borrowed. Doubles the disk space, which is 24
 * bytes for each record. 0 or -errno with *e. */
int export_spool_sort(struct export_spool *s, const struct export_place *place, size_t nr_buckets,
		      struct err *e);
/* Call for each record that is read: releases the memory of the mapped file from time to time.
 * Records remain readable. */
void export_spool_touch(struct export_spool *s);
/* The records of a bucket, sorted; NULL if there are none. */
const struct export_record *export_spool_bucket(const struct export_spool *s, uint32_t bucket,
						size_t *nr);

#endif
