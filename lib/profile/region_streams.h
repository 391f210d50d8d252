/*
 * The marks of threads, a stream of each object, until regions are made of them: in few bytes each,
 * and read in order of time.
 */
#ifndef PROFILE_REGION_STREAMS_H
#define PROFILE_REGION_STREAMS_H

#include "base/dict.h"
#include "profile/processes_internal.h"
#include "profile/region_log.h"
#include "trace/nesting.h"
#include "trace/reader.h"

struct region_streams {
	struct dict streams;     /* private */
	struct region_end *ends; /* owned; by tid, then time */
	size_t nr_ends, ends_room;
	uint64_t nr_marks;
	/* Set before they are read: when the session ended. A thread whose end is not known was
	 * there until then. */
	uint64_t end_ns;
};

void region_streams_init(struct region_streams *s);
void region_streams_fini(struct region_streams *s);
/* 0, -ENOMEM, or -ENOSPC: they are too many, and not added. */
int region_streams_add(struct region_streams *s, const struct trace_marks *marks);
/* The ends of threads, and the execs of their processes. 0 or -ENOMEM. */
int region_streams_add_ends(struct region_streams *s, const struct profile_gathered *g);
size_t region_streams_nr(const struct region_streams *s);

struct region_mark {
	struct region_step step; /* kind: of a mark */
	uint32_t pid;
	uint16_t depth;
	size_t object; /* its number among those of the thread */
};

/* Functions return 0, or what ends the reading. */
struct region_streams_reader {
	void *arg;
	/* The marks of a thread id follow. nest: for them, with its objects; to be copied, and
	 * valid until done. */
	int (*begin)(void *arg, uint32_t tid, const struct nesting *nest);
	int (*mark)(void *arg, const struct region_mark *m);
	/* The thread or its program ended, or the session. */
	int (*end)(void *arg, uint64_t time_ns);
	int (*done)(void *arg);
};
/* Reads all marks, by tid, and frees them. 0, -ENOMEM, or what a function returned. */
int region_streams_read(struct region_streams *s, const struct region_streams_reader *reader);

#endif
