/*
 * Profiles that wait for their receiver, each in a file, in a folder for each receiver. They
 * survive the program; how many bytes wait, and for how long, is limited.
 */
#ifndef PUSH_SPOOL_H
#define PUSH_SPOOL_H

#include "push/answer.h"
#include "push/options.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* What became of profiles. */
struct push_counts {
	uint64_t made;    /* of iterations, and stored */
	uint64_t empty;   /* iterations without a sample */
	uint64_t missing; /* iterations that were removed before they could be read */
	uint64_t sent, sent_bytes;
	uint64_t refused;  /* dropped: by the receiver */
	uint64_t old;      /* dropped: the limit of time */
	uint64_t full;     /* dropped: the limit of bytes */
	uint64_t damaged;  /* dropped: the file cannot be read, or not be written */
	uint64_t failures; /* requests that failed, and are repeated */
	uint64_t waiting;  /* in the end */
};

struct push_spool {
	char path[PATH_MAX]; /* of the receiver's folder */
	int fd;
	struct push_limits limits;
};

/* A stored request. */
struct push_entry {
	char name[64];
	uint64_t time_ns; /* when it was stored, CLOCK_REALTIME */
	char *query;      /* in data */
	const void *body; /* in data */
	size_t body_bytes;
};

/* When to try next; survives the program. */
struct push_backoff {
	uint64_t failures;        /* in a row */
	uint64_t not_before_ns;   /* CLOCK_REALTIME */
	char why[PUSH_WHY_BYTES]; /* the last one failed */
};

/* Makes both folders; base: of the receiver's URL, for its name. Folders of others, or that others
 * may enter, are refused. -errno with *e. push_spool_close in any case. */
int push_spool_open(struct push_spool *s, const char *folder, const char *scheme, const char *base,
		    const struct push_limits *limits, struct err *e);
void push_spool_close(struct push_spool *s);

/* Stores a request. Drops the oldest ones that are beyond the limits, perhaps this one, and counts
 * them. 0, or -errno with *e: it is not stored. */
int push_spool_add(struct push_spool *s, const char *query, const void *body, size_t len,
		   struct push_counts *counts, struct err *e);
/* Drops what is beyond the limits. Sets counts->waiting. -errno. */
int push_spool_trim(struct push_spool *s, struct push_counts *counts);
/* The oldest request, read into data. 1; 0: none waits; -errno. Damaged ones are dropped. */
int push_spool_first(struct push_spool *s, struct push_entry *out, struct buf *data,
		     struct push_counts *counts);
/* Removes it. False: another process has. */
bool push_spool_remove(struct push_spool *s, const struct push_entry *entry);

/* Until the spool is closed, no other process sends. -EAGAIN: another one does; -errno. */
int push_spool_lock(struct push_spool *s);
void push_spool_read_backoff(const struct push_spool *s, struct push_backoff *out);
void push_spool_write_backoff(const struct push_spool *s, const struct push_backoff *b);

#endif
