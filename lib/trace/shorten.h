/*
 * Shortens the common file of a session while it grows: writes a copy without the records of tasks
 * that no remaining sample needs (lives.h), and with one build-id frame for successive ones of a
 * file. Reads the file frame by frame; the memory grows with the number of tasks in it. The file
 * has its name at all times, and is complete.
 *
 * The session's syncer runs it (session/common.h).
 */
#ifndef TRACE_SHORTEN_H
#define TRACE_SHORTEN_H

#include "trace/file.h"
#include "trace/lives.h"

struct trace_shorten {
	int dirfd;                          /* borrowed, like all below */
	const char *name, *temporary;       /* of the file, and of the copy until it is complete */
	const char *path;                   /* for messages */
	const struct trace_period *periods; /* of the remaining samples */
	size_t nr_periods;
	struct trace_packer *packer; /* of the calling thread; NULL: records are written unpacked */
};

struct trace_copy {
	const struct trace_shorten *how;
	int fd, from_fd;      /* -1: none */
	uint64_t bytes, from; /* of the copy; of the file, which are copied */
	uint64_t nr_dropped;  /* frames */
};

/* Copies what the file has in its first bytes (complete frames), and syncs the copy. Another thread
 * may append to the file. 0 or -errno with *e; then there is no copy. */
int trace_shorten_begin(struct trace_copy *c, const struct trace_shorten *how, uint64_t bytes,
			struct err *e);
/* Copies what was appended, renames the copy over the file, and lets f continue there. Nobody may
 * append meanwhile. 0 or -errno with *e; then the file is unchanged. Ends the copy. */
int trace_shorten_end(struct trace_copy *c, struct trace_file *f, struct err *e);
/* Removes the copy instead. */
void trace_shorten_drop(struct trace_copy *c);

#endif
