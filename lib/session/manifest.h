/*
 * The manifest of a session: written beside its name, then renamed. One thread at a time uses it.
 *
 * It is on the disk before measuring begins, and has the session's id, as each trace has, so that
 * traces of another session with the same prefix are never shown as this one's. A session begins
 * by installing its manifest, when nothing can refuse it any more; only then are files of an older
 * one removed.
 *
 * `state` is "recording" until the end, so that the printer can report a killed session. During a
 * session the manifest may lag: traces with the session's id belong to it. While the lock beside
 * the manifest is held the session is in progress, and what is not written yet (problems of code
 * ENODATA) is no loss (profile/faults.c).
 */
#ifndef SESSION_MANIFEST_H
#define SESSION_MANIFEST_H

#include "base/buf.h"
#include "base/err.h"
#include "session/place.h"
#include "session/retain.h"
#include "spec/cpsession.h"

#include <limits.h>
#include <stdbool.h>

struct manifest {
	struct place place;
	struct cpsession content; /* strings are borrowed */
	char removed_begin[32], removed_end[32];
	bool is_synced;           /* written to the disk before it is renamed */
	bool is_strict;           /* only with the original's keys */
	char draft[NAME_MAX + 1]; /* the written file without its final name; "": none */
	/* the content of the file with the final name */
	uint64_t written_iterations; /* 0: there is none */
	uint64_t written_removed;
	bool is_end_written;
	struct buf text;
};

/* Allocates nothing and opens no file. */
void manifest_init(struct manifest *m);
void manifest_fini(struct manifest *m);

/* Opens the place, and refuses a name that must not be replaced. Path "": no manifest, and the
 * functions below do nothing. 0, -EPERM if a name belongs to another user, or -errno, with *e; then
 * it is closed. */
int manifest_open(struct manifest *m, const char *path, struct err *e);
void manifest_close(struct manifest *m);

/* Sets what was removed. */
void manifest_set_removed(struct manifest *m, const struct retain_removed *removed);
/* Writes the content, with that number of iterations, under a temporary name. 0 or -errno. */
int manifest_draft(struct manifest *m, uint64_t num_iterations, bool is_end, struct err *e);
/* Gives the draft, or a new one, its final name. Only the first call replaces another session's. 0
 * or -errno with *e. */
int manifest_write(struct manifest *m, uint64_t num_iterations, bool is_end, struct err *e);

#endif
