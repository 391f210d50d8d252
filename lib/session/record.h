/*
 * The traces of a session: their common content, and the iterations of a tally.
 */
#ifndef SESSION_RECORD_H
#define SESSION_RECORD_H

#include "base/err.h"
#include "plan/notes.h"
#include "session/counters.h"
#include "session/output.h"
#include "session/session.h"
#include "session/things.h"
#include "trace/writer.h"

#include <limits.h>

struct recorder {
	const struct counters *counters; /* borrowed */
	struct notes *notes;             /* borrowed */
	const char *tool;                /* borrowed; "cpuperf 0.1.0" */
	uint8_t id[16];                  /* of the session */
	char model_name[64];             /* from the spec, or detected */
	struct session_output *output;   /* owned, like all below */
	struct trace_writer *writer;     /* NULL: no traces are saved */
	struct host_place *places;       /* of each CPU */
	struct reading *scratch;         /* nr_parts of the plan */
	struct paced *paced;             /* borrowed; of a tally: readings between its boundaries */
	const char *folder;              /* see struct session_config */
	bool keeps_old_folder;
	/* of the files; set by recorder_open */
	char manifest[PATH_MAX];
	char moved_to[PATH_MAX], moved_why[600]; /* a private folder, and the reason; or "" */
	uint64_t nr_left_out;                    /* files whose names were taken */
	struct err left_out;                     /* the first of them */
};

/* Memory only. 0 or -errno; then nothing is owned. */
int recorder_init(struct recorder *r, const struct counters *counters, struct notes *notes,
		  const char *tool);
void recorder_fini(struct recorder *r); /* zeroes are fine */

/* Opens files and writer, before the first iteration. All refusals happen here, so that the files
 * of an older session are unchanged. 0 or -errno with *e. */
int recorder_open(struct recorder *r, struct err *e);
/* Gives the files their names, once measuring has begun. 0 or -errno with *e. */
int recorder_begin(struct recorder *r, struct err *e);
/* Call after the last iteration. Ends open files. 0 or -errno with *e, also if files are missing
 * because their names were taken. */
int recorder_finish(struct recorder *r, struct err *e);
void recorder_close(struct recorder *r);

/* Writes the traces of a tally's iteration. 0 or -errno with *e. */
int recorder_write(struct recorder *r, const struct session_iteration *it, struct err *e);

/* Makes a writer with the frames common to all traces of the session. 0 or -errno with *e. */
int recorder_writer_new(const struct recorder *r, struct trace_writer **out, struct err *e);
/* The header of a trace. */
struct trace_head recorder_head(const struct recorder *r, uint32_t iteration, uint32_t trace,
				uint32_t cpu);
/* Appends the readings of a boundary: at the start those with numbers, at the end also reasons for
 * missing ones. */
void recorder_add_readings(const struct recorder *r, struct trace_writer *w,
			   enum trace_boundary boundary, const struct reading *readings);
/* The same for things, which are stored in trace 0, the first CPU's. */
void recorder_add_things(struct trace_writer *w, enum trace_boundary boundary,
			 const struct session_things *things);

/* Adds the target, in the trace that has no CPU. */
void recorder_add_target(struct trace_writer *w, const struct session_iteration *it);
/* The same for histograms and functions, in trace 0. */
void recorder_add_histograms(struct trace_writer *w, const struct session_iteration *it);

/* rc and *why are the result for a file. If somebody took its name, only this file is lost: adds a
 * note, recorder_finish reports it, and returns 0. Else returns rc, with *why in *e. */
int recorder_go_on_without(struct recorder *r, int rc, const struct err *why, struct err *e);

/* The attrs have changed: further traces have the new ones. 0 or -errno. */
int recorder_renew(const struct recorder *r);
/* Event i as described in traces, without its attr. Borrows from the plan and the counters. */
void recorder_describe(const struct counters *c, size_t i, struct trace_event *out);

#endif
