/*
 * The marks of threads while they are recorded: in order of time, whichever object wrote them, and
 * nested as reports nest them, but with a look at those marks alone that were added
 * (trace/nesting.h). Memory and work are bounded: beyond a limit, marks are in the order in which
 * they came, or omitted. Not thread-safe.
 *
 * The kernel's tracer and the dashboard (marks/region_live.h) need an order while the session runs.
 * Marks older than the last pass over all rings are all there, so those are put in order.
 */
#ifndef MARKS_REGION_STREAM_H
#define MARKS_REGION_STREAM_H

#include "base/dict.h"
#include "wire/wire.h"

enum {
	REGION_STREAM_MAX_THREADS = 4096,
	REGION_STREAM_MAX_WAITING = 1 << 18,
	REGION_STREAM_MAX_OBJECTS = 16, /* of a thread; further ones are as the last one */
};

/* A mark of the thread. depth: of a beginning and of an end, the regions around it. Each region has
 * an end: one without an end of its own when what is around it ends, when another begins in its
 * place, or, with the time of the last mark, up to a second after the thread ended. */
typedef void region_stream_fn(void *arg, uint32_t pid, uint32_t tid, const struct wire_mark *m);

struct region_stream {
	region_stream_fn *each;
	void *arg;
	bool (*is_there)(uint32_t pid, uint32_t tid); /* whether a thread exists */
	/* private */
	struct dict threads;
	struct waiting_mark *waiting; /* owned */
	size_t nr, room;
	size_t at;                   /* the mark that is passed */
	const struct nested *nested; /* of its thread */
	uint64_t looked_ns;
	bool has_forgotten; /* in this pass, and it made little room */
};

void region_stream_init(struct region_stream *s, region_stream_fn *each, void *arg);
void region_stream_fini(struct region_stream *s); /* zeroes are fine */
void region_stream_add(struct region_stream *s, const struct wire_marks *m);
/* All marks until then have been added: passes them on. */
void region_stream_pass(struct region_stream *s, uint64_t until_ns);

#endif
