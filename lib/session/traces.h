/*
 * The traces of a session as files: their names under its prefix, and their segments.
 *
 * A tally of more than 100 iterations, or of an unknown number, would fill a folder with small
 * files. It writes segments of up to 1,000 iterations of one trace: the common part once, then
 * each iteration with one write, and an index at the end. Readers do not see segments:
 * trace/reader.c returns an iteration of one as if it were a file, and profile/segments.c lists
 * iterations in place of files. Sampling sessions have no segments, as their traces grow through
 * an iteration and are large.
 */
#ifndef SESSION_TRACES_H
#define SESSION_TRACES_H

#include "session/place.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct spec;
struct trace_file;
struct trace_head;
struct trace_packer;
struct trace_totals;
struct trace_writer;

struct traces {
	struct place place;
	uint32_t nr_traces;
	bool is_sampling;
	bool is_segmented;
	/* segments: growing files, one per trace, all closed together */
	struct trace_file **segments; /* owned; NULL: not created yet */
	uint32_t number;              /* of the open segments, or the next ones */
	bool wants_next;              /* the next iteration goes into new segments */
};

/* Opens the place of the prefix, and refuses names that must not be replaced, before anything is
 * measured. Prefix "": no traces. 0, -EPERM if a name belongs to another user, or -errno, with *e;
 * then it is closed. */
int traces_open(struct traces *t, const char *prefix, const struct spec *spec, uint32_t nr_traces,
		struct err *e);
/* Open segments get no index. */
void traces_close(struct traces *t);

/* Removes an older session's files with the names by which readers identify a session. */
int traces_remove_first(const struct traces *t, struct err *e);
/* Syncs the files of the numbers first <= number < end, and their folder. */
int traces_sync(const struct traces *t, uint64_t first, uint64_t end, struct err *e);

/* The bytes of the number's files; number TRACE_COMMON: of the common file. */
uint64_t traces_bytes(const struct traces *t, uint32_t number);
/* Removes the files of the numbers first <= number < end that are traces of the session with this
 * id. 0 or -errno with *e. */
int traces_remove(const struct traces *t, const uint8_t id[16], uint64_t first, uint64_t end,
		  struct err *e);

/* Where the common file is; its copy is named .NAME.tmp. 0 or -errno. */
struct traces_common {
	char name[NAME_MAX + 1], temporary[NAME_MAX + 1], path[PATH_MAX];
};
int traces_common(const struct traces *t, struct traces_common *out);

/* Begins the writer's trace: of an iteration, or the part of a segment that is the iteration. */
int traces_begin(struct traces *t, struct trace_writer *w, const struct trace_head *head,
		 struct err *e);
/* Writes the writer's trace under its name, or appends it to its segment. */
int traces_commit(struct traces *t, struct trace_writer *w, uint32_t iteration, uint32_t trace,
		  const struct trace_totals *totals, struct err *e);
/* Ends all open segments, also after errors. 0 or the first -errno. */
int traces_finish(struct traces *t, struct trace_writer *w, struct err *e);
/* Creates the writer's trace as a growing file; iteration and trace TRACE_COMMON: the common file.
 */
int traces_create(const struct traces *t, struct trace_writer *w, uint32_t iteration,
		  uint32_t trace, struct trace_packer *packer, struct trace_file **out,
		  struct err *e);

#endif
