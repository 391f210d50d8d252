/*
 * Reads traces, in whatever state they are: returns one checked frame at a time, and reports
 * damage. Allocates for one frame at a time, no more than the file holds and at most 64 MiB, and as
 * much again for a packed one, which may unpack to more than the file holds. Time is proportional
 * to the file and what it unpacks to. A reader is for one thread at a time.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct trace_reader;

/* One frame, borrowed until the next call. */
struct trace_frame {
	uint16_t kind;   /* enum trace_frame_kind, or an unknown one */
	uint64_t offset; /* of the frame's header in the file */
	const uint8_t *payload;
	uint32_t length;
	bool is_packed; /* in the file: offsets inside it have no meaning */
};

/* Opens dirfd/path (links are followed: it only reads) and checks the header. -EINVAL: not a trace
 * or its header is damaged (e's code is -ENODATA if the file ends inside it); -EPROTO: a version or
 * feature of a newer cpuperf; -errno. */
int trace_reader_open(int dirfd, const char *path, struct trace_reader **out, struct err *e);
/* The same for a file that is in memory (borrowed). */
int trace_reader_open_mem(const void *data, size_t len, const char *name, struct trace_reader **out,
			  struct err *e);

/* Continues after the first bytes of a file, as trace_reader_bytes returned them before it grew.
 * False: no frame can begin there, or there are parts; nothing changed. */
bool trace_reader_skip_to(struct trace_reader *r, uint64_t bytes);

/* True for a segment, which holds many iterations. */
bool trace_reader_is_segment(const struct trace_reader *r);
/* The iterations of a segment, in order: by its index, or, if that is missing or invalid, by a scan
 * of the file, which ends the reader's frames. 0; -EFBIG: there are more than a segment can hold;
 * -ENOMEM. */
struct trace_parts {
	struct trace_part *item; /* owned */
	size_t nr;
	uint64_t strays, first_stray; /* bytes that belong to no iteration, and where they begin */
	bool has_stray_end;           /* they reach the end of the file */
	bool index_is_damaged;        /* or cut; a segment that was not finished has none */
};
int trace_reader_parts(struct trace_reader *r, struct trace_parts *out);
void trace_parts_fini(struct trace_parts *p);
/* Restarts, and reads one iteration of a segment as if it were a trace of its own: its head has the
 * iteration's number, and the shared frames come first. Damage of those is reported with the
 * segment's first iteration only. -EINVAL: this is no segment, or there is no such part. */
int trace_reader_select(struct trace_reader *r, const struct trace_part *part, struct err *e);

/* Frames that are in no file of ours, made when they are asked for. */
struct trace_feed {
	/* As the functions of a reader below. */
	int (*next)(void *arg, struct trace_frame *out, struct err *e);
	uint64_t (*bytes)(const void *arg);
	bool (*is_whole)(const void *arg);
	void (*close)(void *arg);
};
/* A trace with this head: first the frames in memory (borrowed; as gathered by a writer), then
 * those of the feed. Takes ownership of the feed's arg, also on failure. 0 or -ENOMEM. */
int trace_reader_open_feed(const struct trace_head *head, const void *frames, size_t len,
			   const struct trace_feed *feed, void *arg, const char *name,
			   struct trace_reader **out);

/* The traces of a session that has no folder. All but the common one are of iteration 0, and
 * numbered from 0. Their heads have the same session id. */
struct trace_set {
	const char *name; /* for messages: the name of the source */
	size_t nr;
	uint64_t bytes;     /* of the source */
	uint64_t window_ns; /* how late a record may come after younger ones */
	/* As trace_reader_open; for any thread. Number nr is the common one. */
	int (*open)(const void *arg, size_t number, struct trace_reader **out, struct err *e);
	const void *arg;
};

void trace_reader_close(struct trace_reader *r);
const struct trace_head *trace_reader_head(const struct trace_reader *r);

/* The next frame: 1; 0 at the end; -EILSEQ with *e after damaged bytes (name, offset, number of
 * skipped bytes; code -ENODATA if the file ends inside a frame): the next call continues after
 * them. Other -errno: the file cannot be read. */
int trace_reader_next(struct trace_reader *r, struct trace_frame *out, struct err *e);
/* Frames of this kind are checked by their checksum alone, and packed ones are returned empty: what
 * is not read need not be unpacked. */
void trace_reader_omit(struct trace_reader *r, enum trace_frame_kind kind);
/* Passes over the next frame, of which it reads no more than the header, if that names this kind.
 * False: it does not, or what follows is no frame of a file: the next call of trace_reader_next
 * returns it. What is passed over is not checked. */
bool trace_reader_pass_over(struct trace_reader *r, uint16_t kind);
/* The offset at which the next frame of a file is expected; UINT64_MAX: it is in no file. */
uint64_t trace_reader_offset(const struct trace_reader *r);
/* Continues at an offset, behind so many frames that were read before. False: it is not ahead in
 * the file; nothing changed. */
bool trace_reader_pass_to(struct trace_reader *r, uint64_t offset, uint64_t nr_frames);
/* How far in the file it has come. */
uint64_t trace_reader_bytes(const struct trace_reader *r);
/* After 0: an end frame was read and agrees with the rest (otherwise the trace was cut). */
bool trace_reader_is_whole(const struct trace_reader *r);
/* After 0: according to the end frame there was no room for all of the trace. */
bool trace_reader_is_short(const struct trace_reader *r);

/* Decoders of payloads. Strings are owned by the result; ..._fini frees them. Text is safe to
 * print: what could control a terminal or is not UTF-8 becomes a space or '?' (tabs and newlines
 * stay in the format of an event, which is read by lines). Numbers are as written: kinds, states
 * and a reading's event may be unknown. Ceilings: 4096 events, 4 MiB of spec, 65536 ids, 64 KiB of
 * format. 0, -EINVAL (malformed, or another kind) or -ENOMEM. */
struct trace_events {
	struct trace_event *item;
	size_t nr;
	void *store; /* owned */
};
int trace_decode_events(const struct trace_frame *f, struct trace_events *out);
void trace_events_fini(struct trace_events *e);
struct trace_info_owned {
	struct trace_info info;
	void *store; /* owned */
};
int trace_decode_info(const struct trace_frame *f, struct trace_info_owned *out);
void trace_info_fini(struct trace_info_owned *i);
int trace_decode_clocks(const struct trace_frame *f, struct clock_triple *out);
int trace_decode_end(const struct trace_frame *f, struct trace_totals *out);
/* Borrowed while the frame is valid. -EINVAL also for an id of an impossible length. */
int trace_decode_build_id(const struct trace_frame *f, struct trace_build_id *out);
/* The same; out->part is owned: trace_file_parts_fini frees it. -EINVAL also for parts that are not
 * ascending, not in the file, or not what the bytes are of. */
int trace_decode_file_parts(const struct trace_frame *f, struct trace_file_parts *out);
void trace_file_parts_fini(struct trace_file_parts *p);
/* Borrowed as above; -EINVAL also without text, or with too much. */
int trace_decode_cmdline(const struct trace_frame *f, struct trace_cmdline *out);
/* Cuts a longer type; it is cleaned. */
int trace_decode_where(const struct trace_frame *f, struct trace_where *out);
int trace_decode_target(const struct trace_frame *f, struct trace_target *out);
int trace_decode_window(const struct trace_frame *f, struct trace_window *out);
/* text points to a NUL-terminated copy inside buf (cut at size). */
int trace_decode_note(const struct trace_frame *f, struct trace_note *out, char *buf, size_t size);
/* The records of a frame: ring, CPU (UINT32_MAX: made) and bytes (borrowed while the frame is
 * valid). Their headers are not checked: see record.h. */
int trace_decode_records(const struct trace_frame *f, enum trace_ring *ring, uint32_t *cpu,
			 const uint8_t **records, size_t *len);
/* The CPU and the items of a frame of stacks, borrowed as above: read each with trace_next_stack.
 */
int trace_decode_stacks(const struct trace_frame *f, uint32_t *cpu, const uint8_t **items,
			size_t *len);
/* Reads the item at p, of at most len bytes. The offset of its record, whose header is not checked;
 * 0: there is none, or its numbers are invalid. */
size_t trace_next_stack(const uint8_t *p, size_t len, struct trace_added *out);
/* The items of a frame of places, borrowed as above: read each with trace_next_places. */
int trace_decode_places(const struct trace_frame *f, const uint8_t **items, size_t *len);
/* Reads the item at p, of at most len bytes: its length, or 0 if it is invalid. *is_known: sums has
 * PLACE_SUMS of them, else nothing. */
size_t trace_next_places(const uint8_t *p, size_t len, int16_t *sums, bool *is_known);
/* Offset of a record in the file, by its offset in the frame's records; in a packed frame: of the
 * frame. */
uint64_t trace_record_offset(const struct trace_frame *f, size_t at);
struct trace_ids {
	struct trace_id *item; /* owned */
	size_t nr;
};
int trace_decode_ids(const struct trace_frame *f, struct trace_ids *out);
void trace_ids_fini(struct trace_ids *ids);
/* -EINVAL also for an interval that ends before it begins. */
int trace_decode_held(const struct trace_frame *f, struct trace_held *out);
/* out->bucket is owned: trace_histogram_fini frees it. -EINVAL also for buckets of another width,
 * or not in order. */
int trace_decode_histogram(const struct trace_frame *f, struct trace_histogram *out);
/* Texts and buckets are owned: trace_function_fini frees them. -EINVAL also for one without a name,
 * and for buckets as above. */
struct trace_function_owned {
	struct trace_function function;
	void *store;
};
int trace_decode_function(const struct trace_frame *f, struct trace_function_owned *out);
void trace_function_fini(struct trace_function_owned *f);
/* Texts are owned: trace_value_fini frees them. -EINVAL also for one without the name of a function
 * or a field, and of another kind or type. */
struct trace_value_owned {
	struct trace_value value;
	void *store;
};
int trace_decode_value(const struct trace_frame *f, struct trace_value_owned *out);
void trace_value_fini(struct trace_value_owned *v);
int trace_decode_switch(const struct trace_frame *f, struct trace_switch *out);
int trace_decode_mark_name(const struct trace_frame *f, struct trace_mark_name *out);
/* Texts are safe to print; out->lines is borrowed while the frame is valid. */
int trace_decode_code(const struct trace_frame *f, struct trace_code *out);
int trace_decode_compiled(const struct trace_frame *f, struct trace_compiled *out);
/* out->mark is owned: trace_marks_fini frees it. -EINVAL also for marks that are not in order. */
int trace_decode_marks(const struct trace_frame *f, struct trace_marks *out);
void trace_marks_fini(struct trace_marks *m);
void trace_histogram_fini(struct trace_histogram *h);
/* Objects are safe to print; kinds may be unknown. */
struct trace_memory_owned {
	struct mapping_map map;
	void *store; /* owned */
};
int trace_decode_memory(const struct trace_frame *f, struct trace_memory_owned *out);
void trace_memory_fini(struct trace_memory_owned *m);
int trace_decode_thing_clock(const struct trace_frame *f, struct trace_thing_clock *out);
/* -EINVAL also for a number that no session divides by. */
int trace_decode_divisor(const struct trace_frame *f, uint32_t *out);
/* Without held and divisor. out->item is owned: trace_sampling_fini frees it. */
int trace_decode_sampling(const struct trace_frame *f, struct trace_sampling *out);
void trace_sampling_fini(struct trace_sampling *s);
/* Names are safe to print. */
struct trace_things_owned {
	struct trace_things things;
	void *store; /* owned */
};
int trace_decode_things(const struct trace_frame *f, struct trace_things_owned *out);
void trace_things_fini(struct trace_things_owned *t);
/* Borrowed while the frame is valid; not terminated and not cleaned. */
int trace_decode_kallsyms(const struct trace_frame *f, const char **text, size_t *len);
/* -EINVAL also for one that ends before it begins. */
int trace_decode_symbol_range(const struct trace_frame *f, struct trace_symbol_range *out);
/* The number of readings in the frame, or -EINVAL; then each of them by its index. */
int trace_decode_readings(const struct trace_frame *f, enum trace_boundary *boundary, size_t *nr);
void trace_decode_reading(const struct trace_frame *f, size_t i, struct reading *out);
/* Offset of reading i in the file, as the raw format prints it; in a packed frame: of the frame. */
uint64_t trace_reading_offset(const struct trace_frame *f, size_t i);

#endif
