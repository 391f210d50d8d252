/*
 * The marks that programs write (cpuperf/mark.h), received into the common file by a thread of the
 * wire's. Programs that run already are set to write them by another thread (session/marked.h): at
 * the start those of the target or of the machine, then each process that maps a file for
 * execution.
 */
#ifndef SESSION_REGIONS_H
#define SESSION_REGIONS_H

#include "base/dict.h"
#include "base/err.h"
#include "session/marked.h"
#include "session/region_counts.h"
#include "session/region_live.h"
#include "session/region_stream.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct common;
struct plan;
struct tracefs;
struct wire;

enum {
	SESSION_REGIONS_NR_OWN_NOTES = 15,
	SESSION_REGIONS_NR_NOTES = SESSION_REGIONS_NR_OWN_NOTES + REGION_COUNTS_MAX,
	SESSION_REGIONS_NOTE_BYTES = 240,
	SESSION_REGIONS_MAX_QUEUED = 1024,
};

struct session_regions {
	struct wire *wire;     /* owned; NULL: no marks are received */
	struct common *common; /* borrowed, like plan */
	const struct plan *plan;
	struct tracefs *tracefs;     /* NULL: regions are not written there */
	struct dict names;           /* of regions, by number; if they are written there */
	struct region_counts counts; /* of the wire's thread */
	struct region_stream stream; /* for the tracer and live */
	struct region_live *live;    /* owned; NULL: regions are not added up meanwhile */
	char notes[SESSION_REGIONS_NR_OWN_NOTES][SESSION_REGIONS_NOTE_BYTES];

	/* of the thread that sets programs */
	pthread_t thread;
	bool is_running;
	pthread_mutex_t marked_lock;
	struct marked marked;
	pthread_mutex_t lock; /* of all below; held only briefly */
	pthread_cond_t wake;
	uint32_t queue[SESSION_REGIONS_MAX_QUEUED]; /* processes to look at */
	size_t nr_queued;
	bool looks_at_all, is_ending;
};

/* Opens the socket. 0 or -errno with *e. */
int session_regions_open(struct session_regions *r, const struct plan *plan, struct common *common,
			 struct err *e);
/* The value of CPUPERF_MARKS; NULL: no marks are received. */
const char *session_regions_name(const struct session_regions *r);
/* Begins to receive. 0 or -errno with *e. */
int session_regions_start(struct session_regions *r, struct err *e);
/* The process has mapped an object, which may have marks. From any thread; does not wait for
 * anything. */
void session_regions_look(struct session_regions *r, uint32_t pid);
/* All events are disabled on request, or one is enabled again: stored for readers. */
void session_regions_switch(struct session_regions *r, uint64_t time_ns, bool is_on);
/* Adds up regions from now on; before session_regions_start. 0 or -ENOMEM. */
int session_regions_watch(struct session_regions *r);
/* What happened since the last call; false: regions are not added up. */
bool session_regions_take(struct session_regions *r, uint64_t now_ns,
			  struct region_times_list *out);
/* Receives what was written so far, and ends. notes: what was lost, in words, borrowed; "":
 * nothing.
 */
void session_regions_end(struct session_regions *r, const char *notes[SESSION_REGIONS_NR_NOTES]);

#endif
