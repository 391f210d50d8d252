/*
 * A trace that grows in its file while a session runs: sampling. It appears under its name at
 * once, and what is in it is good up to its last whole frame, whatever happens to the session.
 * Ring bytes go to it without being copied or looked at.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include "trace/trace.h"
#include "trace/writer.h"

#include <sys/types.h>

struct err;
struct trace_file;

/* Packs frames, for all files of one session that are written by one thread. */
struct trace_packer;
/* zstd at this level (1 … 19); 0: for trace_packer_kallsyms alone, all else is written as it is.
 * NULL without memory. */
struct trace_packer *trace_packer_new(int level);
void trace_packer_free(struct trace_packer *p); /* NULL is fine */

/*
 * Creates dirfd/name and writes what w has gathered since trace_writer_begin: header, common
 * frames and more. Mode 0600, links not followed, an existing file replaced only if it is a trace
 * of the same user (then it is unlinked first: who reads it keeps it). w is free for other use
 * then. packer: NULL: frames are written as they are; else borrowed. path is for messages, and
 * copied. On failure no file is left.
 */
int trace_file_create(struct trace_writer *w, int dirfd, const char *name, const char *path,
		      struct trace_packer *packer, struct trace_file **out, struct err *e);

/*
 * Appends whole records of a ring as one frame, with one writev: the ring's bytes, which are in two
 * pieces where the ring wraps; each a multiple of 8 long, together whole records. The caller makes
 * them no more than TRACE_FILE_RECORDS_BYTES, so that a reader needs little memory. Nothing is
 * written for an empty span.
 */
enum { TRACE_FILE_RECORDS_BYTES = 1 << 20 };
struct trace_span {
	const void *part[2];
	size_t len[2];
	bool is_urgent; /* not to be packed: there is no time */
};
int trace_file_records(struct trace_file *f, enum trace_ring ring, uint32_t cpu,
		       const struct trace_span *span, struct err *e);

/* What is the same in many sessions can be packed once: lines of /proc/kallsyms as a whole frame,
 * which lives until p is used again. False: it would not be smaller, or there is no memory. */
bool trace_packer_kallsyms(struct trace_packer *p, const char *text, size_t len, const void **frame,
			   size_t *frame_len);
/* Appends such a frame; its payload is not looked at. -EINVAL: it is none, or the file was created
 * without a packer. */
int trace_file_kallsyms(struct trace_file *f, const void *frame, size_t len, struct err *e);

/* Appends what w has gathered since trace_writer_more; w has nothing then, unless the frames could
 * not be built (-EFBIG, -ENOMEM: nothing is written, and the file is as good as before). */
int trace_file_append(struct trace_file *f, struct trace_writer *w, struct err *e);

/*
 * A segment: a file of many iterations of one trace, each whole in it by one write. Created like
 * any other, but not packed: what the writer has gathered since trace_writer_begin is what all its
 * iterations have in common.
 */
int trace_segment_create(struct trace_writer *w, int dirfd, const char *name, const char *path,
			 struct trace_file **out, struct err *e);
/* Appends what w has gathered since trace_writer_iteration, and the end frame. Iterations come in
 * order, TRACE_SEGMENT_ITERATIONS at most. Totals as for trace_writer_commit. */
enum { TRACE_SEGMENT_ITERATIONS = 1000, TRACE_SEGMENT_BYTES = 64 << 20 };
int trace_segment_add(struct trace_file *f, struct trace_writer *w, uint32_t iteration,
		      const struct trace_totals *totals, struct err *e);
/* No further iteration is to go into it: it has so many, or is so large. */
bool trace_segment_is_full(const struct trace_file *f);
/* Adds the index, and closes the file, also on failure. */
int trace_segment_finish(struct trace_file *f, struct trace_writer *w, struct err *e);

/* After a call that failed because there was no room: true, and what is smaller may be tried. */
bool trace_file_retry(struct trace_file *f);

/* Adds what w has gathered since trace_writer_more and the end frame, and closes the file, also on
 * failure; the end is tried too where there was no room before, for it takes little. Totals as for
 * trace_writer_commit. */
int trace_file_finish(struct trace_file *f, struct trace_writer *w,
		      const struct trace_totals *totals, struct err *e);

/* Closes it as it is, without an end frame. NULL is fine. */
void trace_file_abandon(struct trace_file *f);

/* Bytes in the file so far. */
uint64_t trace_file_bytes(const struct trace_file *f);

/*
 * After a write that failed (a full disk) the file is cut back to its last whole frame, and every
 * further call fails with the same error, but for trace_file_finish and after trace_file_retry.
 * Functions return 0 or -errno with *e set.
 */

#endif
