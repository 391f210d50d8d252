/*
 * What the files of import/ share. Private to them and their tests.
 *
 * header.c reads what stands before and behind the records, index.c walks them once, side.c keeps
 * those of tasks and mappings, slice.c hands out the others, traces.c makes traces of all that.
 */
#ifndef IMPORT_INTERNAL_H
#define IMPORT_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/dict.h"
#include "import/bytes.h"
#include "import/import.h"
#include "import/walk.h"
#include "trace/reader.h"
#include "trace/record.h"

enum {
	IMPORT_ATTR_MIN_BYTES = PERF_ATTR_SIZE_VER0,
	IMPORT_ATTR_BYTES = 136, /* PERF_ATTR_SIZE_VER8; what is behind it is not needed */
	IMPORT_MAX_SLICES = 64,
	IMPORT_SLICE_BYTES = 1 << 20, /* at least */
	IMPORT_MAX_FEATURE_BYTES = 64 << 20,
	IMPORT_MAX_SIDE_BYTES = 1 << 30,
	IMPORT_MAX_TEXT_BYTES = 256 << 20,
	IMPORT_MAX_STRING_BYTES = 4096,
	IMPORT_MAX_BUILD_IDS = 1 << 20,
	/* What is unpacked: so many times what was packed, and this. */
	IMPORT_MAX_UNPACK_FACTOR = 1000,
	IMPORT_MIN_UNPACK_BYTES = 64 << 20,
};

#define IMPORT_MAX_PIPE_BYTES (UINT64_C(1) << 40)

struct import_event {
	uint8_t attr[IMPORT_ATTR_BYTES]; /* little-endian */
	uint32_t attr_bytes;
	struct trace_layout layout;
	bool has_layout;
	struct trace_place id_place, time_place;
	const char *name, *unit; /* in the arena; NULL: not told */
	const char *format;      /* of a tracepoint; in the arena; NULL: not told */
	double scale;            /* 0: not told */
	uint32_t column;         /* among the events of the traces; UINT32_MAX: of none */
	uint32_t leader;         /* of its group: another event, or itself */
	uint64_t nr_samples, nr_throttled;
	uint64_t nr_lost; /* as perf asked at the end; with has_lost */
	bool has_lost;
};

struct import_id {
	uint64_t id;
	uint32_t event;
	uint32_t place; /* among those of its event */
};

/* A part of the records, of the file or of what was unpacked. */
struct import_slice {
	uint64_t start, end;
	bool is_unpacked;
	uint64_t nr_records, nr_lost, nr_throttled;
	uint64_t first_ns, last_ns;
};

struct import_build_id {
	const char *path;
	uint8_t bytes[IMPORT_BUILD_ID_BYTES];
	uint8_t len;
};

struct import_section {
	uint64_t offset, size;
};

struct import {
	const char *path; /* in the arena */
	int fd, temp_fd;  /* temp: what was unpacked; -1: nothing was */
	uint64_t temp_bytes;
	uint64_t size;
	struct import_section data;
	import_problem_fn *problem;
	void *arg;
	struct arena arena;
	struct import_facts facts;
	struct import_event_facts *event_facts; /* owned */
	struct import_module *modules;          /* owned */
	size_t modules_room;
	struct import_event *events; /* owned */
	size_t nr_events, events_room, nr_columns;
	struct import_id *ids; /* owned; by id, once import_ids_sort was called */
	size_t nr_ids, ids_room;
	bool ids_are_sorted, ids_are_left_out, side_is_left_out;
	uint64_t nr_senseless;          /* of tasks and mappings */
	const struct import_event *any; /* for what is of no event; NULL: there is none */
	bool has_build_ids;             /* some event asked for them in its mappings */
	struct dict build_ids;          /* struct import_build_id */
	struct import_slice slices[2 * IMPORT_MAX_SLICES]; /* of the file, of what was unpacked */
	size_t nr_slices;
	uint64_t disorder_ns;
	bool lacks_times; /* no sample has one: places in the file stand for them */
	bool is_running;  /* without times: what comes now was not there before */
	/* Tasks and mappings as a trace has them: what was there before, and what the kernel told.
	 */
	struct buf side_made, side_told;
	uint8_t session_id[16];
	/* The set. */
	struct trace_set set;
	struct buf common; /* frames of the common trace */
};

/* Tells of something; is_loss: it is not there. */
void import_tell(struct import *im, bool is_loss, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Text of the file: safe to show, in the arena; "" without memory. */
const char *import_text(struct import *im, const char *text, size_t len);

/* header.c: the 8 bytes that a file begins with. */
bool import_is_magic(const uint8_t p[8]);
/* 0 or -errno with *e. */
int import_header_load(struct import *im, struct err *e);
/* A feature's bytes, of the file's end or of a record. Those not known are passed over. 0 or
 * -ENOMEM. */
int import_feature(struct import *im, unsigned number, const void *data, size_t len);
int import_add_build_id(struct import *im, uint16_t misc, const void *data, size_t len);
const struct import_build_id *import_find_build_id(const struct import *im, const char *path);

/* events.c: an attr in the file's order; len bytes are there. 0; -EFBIG, -EINVAL: it makes no
 * sense; -ENOMEM. */
int import_add_event(struct import *im, const void *attr, size_t len, uint32_t *event);
int import_add_id(struct import *im, uint64_t id, uint32_t event);
void import_ids_sort(struct import *im);
/* What tells how records of no event end; NULL: there is none. Until the next event is added. */
const struct import_event *import_any_event(struct import *im);
/* The event of a record: NULL: it is not known. kind as in record.h. */
const struct import_event *import_event_of(struct import *im, const uint8_t *p, size_t len);
const struct import_id *import_find_id(struct import *im, uint64_t id);
/* For names where the file has none; in the arena. */
void import_name_events(struct import *im);

/* index.c: 0 or -errno with *e. */
int import_index(struct import *im, struct err *e);

/* side.c: whether records of this kind are kept for the common trace; and keeps one, whose bytes
 * are little-endian. time_ns: of the file at this place, 0: none yet; at: the place. 0 or
 * -ENOMEM. */
bool import_is_side_band(uint32_t kind);
int import_side_add(struct import *im, const uint8_t *p, size_t len, uint64_t time_ns, uint64_t at);
/* Puts the frames of both into im->common, with the build-ids that the file tells. 0 or -ENOMEM. */
struct trace_writer;
int import_side_put(struct import *im, struct trace_writer *w);
/* Moves what w has gathered to im->common. 0 or -ENOMEM. */
int import_take_frames(struct import *im, struct trace_writer *w);

/* tracing.c: the formats of tracepoints. What makes no sense is passed over. */
void import_tracing(struct import *im, const void *data, size_t len);

/* order.c: puts a record of the other byte order into ours, in place. False: it makes no sense. */
bool import_swap(struct import *im, const struct import_record *r);
void import_swap_attr(uint8_t *attr, size_t len);

/* slice.c: a feed of the records of a slice. */
extern const struct trace_feed import_slice_feed;
/* What the feed takes; NULL without memory. frames (of len bytes) are freed with it. */
void *import_slice_new(struct import *im, const struct import_slice *s, void *frames);

/* traces.c: which events the traces have, when all is indexed. */
void import_number_columns(struct import *im);
/* 0 or -ENOMEM. */
int import_make_set(struct import *im);

#endif
