/*
 * What the parts of a session share: session.c (life and opening), run.c (the loop), record.c
 * (an iteration into its traces). Nobody else includes this.
 */
#ifndef SESSION_INTERNAL_H
#define SESSION_INTERNAL_H

#include "collect/collect.h"
#include "host/topology.h"
#include "session/cpu.h"
#include "session/output.h"
#include "session/sampling.h"
#include "session/session.h"
#include "session/things.h"
#include "trace/writer.h"

#include <stdatomic.h>

/* A warning that belongs to a trace; written with its iteration. */
struct session_note {
	uint32_t trace;
	uint64_t time_ns;
	char *text; /* owned */
};

enum { SESSION_NOTE_BYTES = 4096 }; /* what is longer is cut */
enum { SESSION_MAX_NOTES = 256 };   /* per iteration; further ones are told, but not stored */

struct session {
	struct session_config config;
	const struct plan *plan;
	struct perf_event_attr **attrs; /* owned; per part of the plan, NULL if not perf */
	struct session_probe probe;
	struct session_event *events; /* owned */
	struct session_cpu *cpus;     /* owned; nr_cpus of them */
	uint32_t nr_cpus;
	struct session_trace *traces;        /* owned; what on_iteration gets */
	struct event *misc;                  /* owned; the misc events, in the plan's order */
	struct collect_choice *misc_choices; /* owned; what is wanted of each */
	size_t *misc_index;                  /* owned; their place in the plan */
	size_t nr_misc;
	struct collect *collect;
	uint8_t id[16];
	int stop_fd; /* eventfd: wakes the loop */
	atomic_bool stop;
	uint64_t nr_done;
	char model_name[64]; /* as the spec says, or detected */

	/* while it runs */
	struct session_output *output;
	struct trace_writer *writer;
	struct host_place *places; /* owned; of each CPU; NULL without traces */
	struct reading *scratch;   /* owned; nr_parts */
	struct session_note notes[SESSION_MAX_NOTES];
	size_t nr_notes;
	uint64_t sync_told_ns;     /* the slowest sync that was told */
	uint64_t split_due_ns;     /* when to look for groups that never ran; 0: done */
	struct sampling *sampling; /* owned; NULL in tally mode */
	uint64_t nr_left_out;      /* files whose names were taken */
	struct err left_out;       /* the first of them */
	/* of events of many things, at the start and the end of the iteration */
	struct session_things things_start, things_end;
	uint64_t boundary_ns; /* the last one: a thing that came later is new in the iteration */
};

/* Tells a warning and keeps it for the trace. */
void session_note(struct session *s, uint32_t trace, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Forgets what was kept. */
void session_drop_notes(struct session *s);

/* Descriptors kept from the events while those are opened: files, folders and locks need some
 * later, and a session that met the limit is to give what it has. */
enum { SESSION_NR_SPARE = 16 };
struct session_spare {
	int fd[SESSION_NR_SPARE];
	int nr;
};
void session_spare_hold(const struct session *s, struct session_spare *spare);
void session_spare_drop(struct session_spare *spare);

/* The misc events of the CPU's row, as collect/ read them last. False if /proc does not know the
 * CPU: it is offline. */
bool session_add_misc(const struct session *s, const struct session_cpu *c, struct reading *out);

/* For a trace that is being written: its header, and the readings and notes that it keeps. */
void session_make_head(const struct session *s, uint32_t iteration, uint32_t trace, uint32_t cpu,
		       struct trace_head *out);
void session_add_readings(const struct session *s, struct trace_writer *w,
			  enum trace_boundary boundary, const struct reading *readings);
void session_add_things(struct trace_writer *w, enum trace_boundary boundary,
			const struct session_things *t);
void session_add_notes(const struct session *s, struct trace_writer *w, uint32_t trace);
/* A writer with the frames that all traces of the session have. 0 or -errno with *e. */
int session_writer_new(const struct session *s, struct trace_writer **out, struct err *e);

/* Files and writer, before the first iteration; their names, once it was begun: who sees the
 * manifest knows that it is measured; and the end of both. */
int session_record_open(struct session *s, struct err *e);
int session_record_begin(struct session *s, struct err *e);
void session_record_close(struct session *s);
/* After the last iteration: what is still open has its end. */
int session_record_finish(struct session *s, struct err *e);
/* rc of a file's writer, and why: a name that somebody took meanwhile costs that file alone, which
 * is told now and when the session ends: 0. Else rc, and *why is in *e. */
int session_go_on_without(struct session *s, int rc, const struct err *why, struct err *e);
/* Writes the traces of an iteration. */
int session_record(struct session *s, const struct session_iteration *it, struct err *e);

#endif
