/*
 * The files of a session: traces and manifest, their names, their locks. An empty prefix means
 * no traces, an empty manifest path no manifest.
 *
 * Files of a tally appear complete: written as `.NAME.tmp`, then renamed; mode 0600. Links are not
 * followed, and of the user's own files only traces or the manifest are replaced. A lock file
 * beside the prefix and one beside the manifest exclude a second session.
 *
 * All names that a session may use are checked before it begins. One that belongs to another user
 * refuses the session; with the default paths, in /tmp or the current folder, the session moves
 * into a folder of the user's own (session_folder_make_private), or only the manifest, beside its
 * traces. Such a name that appears later costs one file (recorder_go_on_without).
 *
 * Sample files grow under their names, frame by frame, and are truncated to the last complete
 * frame after a failed write. On a full disk smaller data is tried: samples that fit, then the
 * end, for which an unnamed file reserves room from the start. That end states that the file is
 * incomplete.
 */
#ifndef SESSION_OUTPUT_H
#define SESSION_OUTPUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct session_iteration;
struct spec;
struct stat;
struct trace_head;
struct trace_file;
struct trace_packer;
struct trace_shorten;
struct trace_writer;
struct trace_totals;
struct session_output;

/* Opens the folders, takes the locks, and refuses early what would fail later; no file of an older
 * session is changed. spec and model_name outlive the output. 0 or -errno with *e. */
struct session_output_config {
	const struct spec *spec;
	const char *model_name;
	const uint8_t *id; /* the session's: 16 bytes, copied */
	uint32_t nr_traces;
	const struct stat *folder; /* that the files must be in; NULL: any */
	const char *why_moved; /* all files go to another folder for this reason; NULL: they need
				  not */
	const char *busy; /* beside this folder, which another session uses; NULL: a private one */
	/* if a name belongs to another user: */
	bool may_move_traces;   /* all files may go to a private folder */
	bool may_move_manifest; /* the manifest may go beside the traces */
};
int session_output_open(const struct session_output_config *c, struct session_output **out,
			struct err *e);
/* Begins the session: its manifest, written and synced when it was opened, replaces the older one;
 * then files of an older session with the names of the first iteration and of the common file are
 * removed. */
int session_output_begin(struct session_output *o, struct err *e);
/* The function that shortens the common file by what remains of the session, if that is due. The
 * thread that syncs files calls it, until session_output_finish or _close. Call it before begin. */
void session_output_set_shorten(struct session_output *o,
				void (*shorten)(void *arg, struct trace_shorten *how), void *arg);
/* Releases the locks. NULL is fine. */
void session_output_close(struct session_output *o);

/* The place of the files and the reason, if they are not where the spec says; else NULL. */
const char *session_output_moved(const struct session_output *o);
/* The other folder with the files; NULL: there is none. */
const char *session_output_folder(const struct session_output *o);
/* The path of the manifest, or "". */
const char *session_output_manifest_path(const struct session_output *o);

bool session_output_has_traces(const struct session_output *o);

/* Releases the disk space that session_output_begin reserved for the ends of files, if it could:
 * call it when the disk is full. */
void session_output_release(struct session_output *o);

/* Queues a manifest with num_iterations (>= 1; begin wrote 1), the one in progress included: the
 * sync thread writes it, at most once per sync_period. 0, or the error of that thread. */
int session_output_manifest(struct session_output *o, uint64_t num_iterations, struct err *e);
/* The iteration's traces are written: queues their sync, within a sync_period, and, after that, the
 * removal of the oldest traces beyond the limits of the spec's retain. 0 or -ENOMEM with *e. */
int session_output_recorded(struct session_output *o, const struct session_iteration *it,
			    struct err *e);
/* The traces of the iteration in progress have grown: queues the removal of older ones beyond a
 * limit of bytes, and the shortening of a common file that is due. Called between iterations' ends:
 * later samples of a flight recorder are later than this less its span.
 */
void session_output_grown(struct session_output *o, bool is_common_due);
/* The bytes of the common file, once they are half of the spec's limit of bytes; before that 0. */
uint64_t session_output_large_common(const struct session_output *o);
/* The longest sync since the last call. */
uint64_t session_output_sync_ns(struct session_output *o);

/* Begins the writer's trace: of an iteration, or the part of a segment that is the iteration. */
int session_output_begin_trace(struct session_output *o, struct trace_writer *w,
			       const struct trace_head *head, struct err *e);
/* Writes the writer's trace under its name, or appends it to its segment. */
int session_output_trace(struct session_output *o, struct trace_writer *w, uint32_t iteration,
			 uint32_t trace, const struct trace_totals *totals, struct err *e);

/* Ends segments with w, which may be NULL without traces. Then syncs all that was written, unless
 * the spec disables syncing. */
int session_output_finish(struct session_output *o, struct trace_writer *w, struct err *e);

/* Creates the writer's trace as a growing file under its name; iteration and trace TRACE_COMMON:
 * the common file. packer: see trace_file_create. */
int session_output_create(struct session_output *o, struct trace_writer *w, uint32_t iteration,
			  uint32_t trace, struct trace_packer *packer, struct trace_file **out,
			  struct err *e);

#endif
