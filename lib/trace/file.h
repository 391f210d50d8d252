/*
 * A trace file that grows while a session samples. It has its name from the start, and is valid up
 * to its last whole frame, however the session ends. Ring bytes are written without being copied or
 * inspected.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include "trace/trace.h"
#include "trace/writer.h"

#include <sys/types.h>

struct err;
struct trace_file;

/* Packs frames; one for all files of a session that one thread writes. */
struct trace_packer;
/* Level of zstd: 1 … 19; 0: only for trace_packer_kallsyms, trace_packer_file_parts and stacks that
 * were added up, which no ring waits for; everything else is written unpacked. NULL without memory.
 */
struct trace_packer *trace_packer_new(int level);
void trace_packer_free(struct trace_packer *p); /* NULL is fine */

/*
 * Creates dirfd/name and writes what w has gathered since trace_writer_begin: header, common frames
 * and more. Mode 0600; links are not followed; an existing file is replaced only if it is a trace
 * of the same user (it is unlinked first, so open readers keep it). w may be reused then. packer:
 * borrowed; NULL: frames are written unpacked. path is for messages, and copied. On failure no file
 * is left.
 */
int trace_file_create(struct trace_writer *w, int dirfd, const char *name, const char *path,
		      struct trace_packer *packer, struct trace_file **out, struct err *e);

/*
 * Appends whole records of a ring as one frame, with one writev: the ring's bytes, in two pieces if
 * the ring wraps, each a multiple of 8 long. At most TRACE_FILE_RECORDS_BYTES, so that a reader
 * needs little memory. Writes nothing for an empty span.
 */
enum { TRACE_FILE_RECORDS_BYTES = 1 << 20 };
struct trace_span {
	const void *part[2];
	size_t len[2];
	bool is_urgent; /* write unpacked, to save time */
};
int trace_file_records(struct trace_file *f, enum trace_ring ring, uint32_t cpu,
		       const struct trace_span *span, struct err *e);

/* Packs lines of /proc/kallsyms into whole frames, their range (NULL: not known) and themselves,
 * once for many sessions; they are valid until p is used again. False: it would not be smaller, or
 * there is no memory. */
bool trace_packer_kallsyms(struct trace_packer *p, const struct trace_symbol_range *range,
			   const char *text, size_t len, const void **frames, size_t *frames_len);
/* The same for a frame with parts of a mapped file. */
bool trace_packer_file_parts(struct trace_packer *p, const struct trace_file_parts *parts,
			     const void **frame, size_t *frame_len);
/* Appends such frames without looking at their payloads. -EINVAL: they are none, or the file was
 * created without a packer. */
int trace_file_packed(struct trace_file *f, const void *frames, size_t len, struct err *e);

/* Appends what w has gathered since trace_writer_more, and empties w. -EFBIG, -ENOMEM: the frames
 * could not be built; nothing is written, and w is unchanged. */
int trace_file_append(struct trace_file *f, struct trace_writer *w, struct err *e);

/*
 * A segment: a file of many iterations of one trace, each appended whole by one write. Created as
 * above, but not packed: what the writer has gathered since trace_writer_begin is common to all its
 * iterations.
 */
int trace_segment_create(struct trace_writer *w, int dirfd, const char *name, const char *path,
			 struct trace_file **out, struct err *e);
/* Appends what w has gathered since trace_writer_iteration, and the end frame. Iterations are added
 * in order, at most TRACE_SEGMENT_ITERATIONS. Totals as for trace_writer_commit. */
enum { TRACE_SEGMENT_ITERATIONS = 1000, TRACE_SEGMENT_BYTES = 64 << 20 };
int trace_segment_add(struct trace_file *f, struct trace_writer *w, uint32_t iteration,
		      const struct trace_totals *totals, struct err *e);
/* It has reached its maximum of iterations or bytes. */
bool trace_segment_is_full(const struct trace_file *f);
/* Adds the index, and closes the file, also on failure. */
int trace_segment_finish(struct trace_file *f, struct trace_writer *w, struct err *e);

/* True after a call that found no room: a smaller frame may be tried. */
bool trace_file_retry(struct trace_file *f);

/* Adds what w has gathered since trace_writer_more and the end frame, and closes the file, also on
 * failure. The end frame is small, so it is tried even after there was no room. Totals as for
 * trace_writer_commit. */
int trace_file_finish(struct trace_file *f, struct trace_writer *w,
		      const struct trace_totals *totals, struct err *e);

/* Closes it without an end frame. NULL is fine. */
void trace_file_abandon(struct trace_file *f);

/* Bytes in the file so far. */
uint64_t trace_file_bytes(const struct trace_file *f);

/* Renames dirfd/temporary, a shortened copy of the file with that many bytes and nr_dropped fewer
 * frames, over dirfd/name if that still is the file, and continues on *fd, open at its end, which
 * becomes -1. 0 or -errno; then nothing has changed. */
int trace_file_replace(struct trace_file *f, int dirfd, const char *name, const char *temporary,
		       int *fd, uint64_t bytes, uint64_t nr_dropped);

/*
 * After a failed write (a full disk) the file is truncated to its last whole frame, and every
 * further call fails with the same error, except trace_file_finish and calls after
 * trace_file_retry. Functions return 0 or -errno with *e set.
 */

#endif
