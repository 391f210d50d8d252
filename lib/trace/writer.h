/*
 * Writes traces. A trace is gathered in memory and appears whole, under its name, at commit; or it
 * is appended in pieces to a file that grows (file.h). Knows only the numbers of events.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include "trace/trace.h"

struct err;
struct trace_writer;

/* A writer is reused for one trace after another, so that a steady state allocates nothing. NULL
 * without memory. */
struct trace_writer *trace_writer_new(void);
void trace_writer_free(struct trace_writer *w);

/* Frames that every trace of a session has, encoded once. Call both before the first
 * trace_writer_begin (or between traces). 0 or -errno (-EFBIG, -ENOMEM). */
int trace_writer_set_common(struct trace_writer *w, const struct trace_info *info,
			    const struct trace_event *events, size_t nr_events);

/* Starts a trace: drops what was gathered, encodes header and common frames. */
int trace_writer_begin(struct trace_writer *w, const struct trace_head *head);
/* Add frames; errors stick and are returned by commit. */
void trace_writer_clocks(struct trace_writer *w, const struct clock_triple *clocks);
void trace_writer_readings(struct trace_writer *w, enum trace_boundary boundary,
			   const struct reading *readings, size_t nr);
void trace_writer_note(struct trace_writer *w, const struct trace_note *note);
/* One frame each. */
void trace_writer_build_id(struct trace_writer *w, const struct trace_build_id *id);
void trace_writer_cmdline(struct trace_writer *w, const struct trace_cmdline *c);
void trace_writer_where(struct trace_writer *w, const struct trace_where *place);
void trace_writer_window(struct trace_writer *w, const struct trace_window *window);
void trace_writer_histogram(struct trace_writer *w, const struct trace_histogram *h);
void trace_writer_function(struct trace_writer *w, const struct trace_function *f);
void trace_writer_value(struct trace_writer *w, const struct trace_value *v);
void trace_writer_switch(struct trace_writer *w, const struct trace_switch *s);
void trace_writer_code(struct trace_writer *w, const struct trace_code *code);
void trace_writer_compiled(struct trace_writer *w, const struct trace_compiled *c);
void trace_writer_mark_name(struct trace_writer *w, const struct trace_mark_name *name);
void trace_writer_marks(struct trace_writer *w, const struct trace_marks *m);
void trace_writer_target(struct trace_writer *w, const struct trace_target *target);
/* At most 65536 rows. */
void trace_writer_memory(struct trace_writer *w, const struct mapping_map *m);
void trace_writer_ids(struct trace_writer *w, const struct trace_id *ids, size_t nr);
void trace_writer_sampling(struct trace_writer *w, const struct trace_sampling *s);
/* Records in memory: those that are made, and those held back at a boundary. len: a multiple of 8.
 */
void trace_writer_records(struct trace_writer *w, enum trace_ring ring, uint32_t cpu,
			  const void *records, size_t len);
/* Adds an item for trace_writer_stacks. record: a whole sample of an event of the trace; len: a
 * multiple of 8. Errors stick in *items. */
struct buf;
void trace_add_stack(struct buf *items, const struct trace_added *added, const void *record,
		     size_t len);
/* Adds an item for trace_writer_places: by base/place.h, sums of all samples of the next item of
 * stacks; NULL: they are not known. */
void trace_add_places(struct buf *items, const int16_t *sums);
/* Just before trace_writer_stacks, with as many items. */
void trace_writer_places(struct trace_writer *w, const struct buf *items);
/* Samples that the kernel added up on the CPU. */
void trace_writer_stacks(struct trace_writer *w, uint32_t cpu, const struct buf *items);
/* Lines of /proc/kallsyms, unchanged. */
void trace_writer_kallsyms(struct trace_writer *w, const char *text, size_t len);
void trace_writer_thing_clock(struct trace_writer *w, const struct trace_thing_clock *clock);
/* In as many frames as needed. */
void trace_writer_things(struct trace_writer *w, const struct trace_things *t);
/* Drops what was gathered, and errors: the next frames are for a file that grows (file.h). */
void trace_writer_more(struct trace_writer *w);
/* The same for an iteration of a segment, which begins with a frame of its own. */
void trace_writer_iteration(struct trace_writer *w, uint32_t iteration);
/* Adds the frames of trace_writer_set_common, for a trace that does not begin with them. */
void trace_writer_common(struct trace_writer *w);
/* Adds the end frame; totals as for trace_writer_commit. */
void trace_writer_whole(struct trace_writer *w, const struct trace_totals *totals);
/* The bytes gathered since _begin or _more, valid until the next call. 0 or -errno. */
int trace_writer_bytes(const struct trace_writer *w, const void **bytes, size_t *len);
/*
 * Adds the end frame and writes the file dirfd/name (path is for messages): a new file of mode
 * 0600; links are not followed; an existing file is replaced only if it is a cpuperf trace. A
 * failure leaves no partial file. totals: the caller sets start_ns, end_ns, lost, throttled; the
 * rest is filled in.
 */
int trace_writer_commit(struct trace_writer *w, int dirfd, const char *name, const char *path,
			const struct trace_totals *totals, struct err *e);

#endif
