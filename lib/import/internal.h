/*
 * Shared by the files of import/. Private to them and their tests.
 *
 * folder.c opens the files of a folder; header.c reads what is before and after the records;
 * index.c walks through them once; side.c stores those of tasks and mappings; deferred.c notes
 * callchains that were recorded late; reads.c divides samples that hold the counts of a group;
 * slice.c returns the other records as frames; traces.c makes traces of them.
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
	IMPORT_ATTR_BYTES = 136, /* PERF_ATTR_SIZE_VER8; bytes after it are not needed */
	IMPORT_MAX_SLICES = 64,
	IMPORT_SLICE_BYTES = 1 << 20, /* at least */
	IMPORT_MAX_FEATURE_BYTES = 64 << 20,
	IMPORT_MAX_SIDE_BYTES = 1 << 30,
	IMPORT_MAX_TEXT_BYTES = 256 << 20,
	IMPORT_MAX_STRING_BYTES = 4096,
	IMPORT_MAX_BUILD_IDS = 1 << 20,
	IMPORT_MAX_DEFERRED = 8 << 20,
	IMPORT_MAX_COUNTS = 4 << 20, /* of events and tasks */
	IMPORT_MAX_FILES = 8192,     /* of a folder: one for each ring */
	/* Limit of unpacked bytes: a multiple of the packed ones, and at least this. Records that
	 * perf packs become 3 to 30 times as small. */
	IMPORT_MAX_UNPACK_FACTOR = 100,
	IMPORT_MIN_UNPACK_BYTES = 64 << 20,
};

#define IMPORT_MAX_PIPE_BYTES (UINT64_C(1) << 40)

struct import_event {
	uint8_t attr[IMPORT_ATTR_BYTES]; /* little-endian */
	uint32_t attr_bytes;
	struct trace_layout layout;
	bool has_layout;
	struct trace_place id_place, time_place, task_place, period_place;
	const char *name, *unit; /* in the arena; NULL: unknown */
	const char *format;      /* of a tracepoint; in the arena; NULL: unknown */
	double scale;            /* 0: unknown */
	uint32_t column;         /* among the events of the traces; UINT32_MAX: of none */
	uint32_t leader;         /* of its group: another event, or itself */
	uint32_t shape;          /* the event whose layout its samples have */
	bool has_reads;          /* import_reads_are_in */
	bool is_of_reads;        /* samples of a group were divided among it and others */
	uint64_t nr_samples, nr_idle, weight, nr_throttled;
	uint64_t nr_lost; /* samples; with has_lost */
	bool has_lost;
};

struct import_id {
	uint64_t id;
	uint32_t event;
	uint32_t place; /* among those of its event */
};

/* A range of records, in a file or among the unpacked ones. */
struct import_slice {
	int fd;
	uint64_t start, end;
	uint64_t before; /* bytes that precede those of fd, all files one behind the other */
	uint64_t nr_records, nr_lost, nr_throttled;
	size_t first_start, nr_starts; /* of its counts, in import.starts */
};

struct import_build_id {
	const char *path;
	uint8_t bytes[IMPORT_BUILD_ID_BYTES];
	uint8_t len;
};

/* Where the addresses of a deferred callchain are. */
struct import_deferred {
	uint64_t cookie;
	uint32_t tid;
	uint32_t nr; /* addresses */
	int fd;
	uint64_t at; /* in fd */
};

/* What an event counted. */
struct import_count {
	uint64_t id;
	uint32_t tid;   /* 0: of all tasks */
	uint32_t slice; /* the last that has the count, plus 1 */
	uint64_t value;
};

/* The counts of a group in a sample. */
struct import_reads {
	const uint8_t *values;
	uint64_t nr;
	unsigned stride;     /* words of each */
	uint32_t event;      /* the one that was sampled */
	uint32_t tid;        /* of the counts; 0: of all tasks */
	bool is_cut;         /* there are more */
	uint64_t id, period; /* of the sample */
	uint64_t own_period; /* of the event; 0: not known */
};

/* One of them. */
struct import_part {
	uint64_t id;
	uint32_t tid, event;
	uint64_t value;
};

/* A file of records alone, beside the first of a folder. */
struct import_more {
	int fd;
	uint32_t number; /* in its name */
	uint64_t size;
};

struct import_section {
	uint64_t offset, size;
};

struct import {
	const char *path; /* in the arena */
	int fd, temp_fd;  /* temp: the unpacked records; -1: there are none */
	uint64_t temp_bytes;
	struct import_more *more; /* owned */
	int kallsyms_fd;          /* -1: there are none */
	size_t nr_more;
	uint64_t size;
	struct import_section data;
	import_problem_fn *problem;
	void *arg;
	struct arena arena;
	struct import_facts facts;
	char truncated[200];                    /* what import_truncated noted; "" */
	struct import_event_facts *event_facts; /* owned */
	struct import_module *modules;          /* owned */
	size_t modules_room;
	struct import_kernel_id *kernel_ids; /* owned */
	size_t kernel_ids_room;
	struct import_event *events; /* owned */
	size_t nr_events, events_room, nr_columns;
	/* In a pipe: events that were added by the description, which perf of Linux 4.14 to 4.16
	 * writes before their attrs; attrs read. */
	size_t nr_described, nr_attrs;
	struct import_id *ids; /* owned; by id, once import_ids_sort was called */
	size_t nr_ids, ids_room;
	bool ids_are_sorted, has_skipped_ids, has_skipped_side_band;
	uint64_t nr_invalid; /* records */
	const struct import_event
	    *any;                 /* the first that is sampled: ids are at its place, or NULL */
	struct import_event made; /* the layout of records that perf wrote itself */
	struct dict build_ids;    /* struct import_build_id */
	struct dict deferred;     /* struct import_deferred, by cookie and tid */
	bool deferred_is_full;
	struct dict counts;          /* struct import_count, by id and tid: the last of each */
	struct import_count *starts; /* owned; those before the first of each in a slice */
	size_t nr_starts, starts_room;
	bool has_groups, has_reads; /* events with such samples; samples of them */
	bool has_long_groups, counts_are_full;
	bool has_lost;               /* perf wrote how many samples of an event were lost */
	struct import_slice *slices; /* owned */
	size_t nr_slices, slices_room;
	uint64_t all_bytes;   /* of records, packed and unpacked */
	uint64_t disorder_ns; /* within a file */
	bool is_timeless;     /* no sample has a time: its offset in the file replaces it */
	bool is_running;      /* without times: later records describe what is new */
	/* Tasks and mappings as in a trace: those that existed before, and those that the kernel
	 * recorded. */
	struct buf side_made, side_recorded;
	uint8_t session_id[16];
	/* The set. */
	struct trace_set set;
	struct buf common; /* frames of the common trace */
};

/* Notes that the file ends too early, or cannot be read to its end. One cause has many
 * consequences: only the first note is reported, and only if the file can be opened. */
void import_truncated(struct import *im, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports a problem; is_loss: something is missing. */
void import_report(struct import *im, bool is_loss, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Text of the file: safe to show, in the arena; "" without memory. */
const char *import_text(struct import *im, const char *text, size_t len);

/* folder.c: opens the first file of a folder, and the others; *st: of the first. 0; -ENODATA:
 * there is no first; -EFBIG: too many; -errno. What is open is closed by import_folder_close. */
struct stat;
int import_folder_open(struct import *im, struct stat *st);
void import_folder_close(struct import *im);
/* The first file alone: its descriptor, or -errno. */
int import_folder_open_first(const char *path, struct stat *st);

/* header.c: the 8 bytes that a file begins with. */
bool import_is_magic(const uint8_t p[8]);
/* 0 or -errno with *e. */
int import_header_load(struct import *im, struct err *e);
/* The bytes of a feature, from the end of the file or from a record. Unknown ones are skipped. 0 or
 * -ENOMEM. */
int import_feature(struct import *im, unsigned number, const void *data, size_t len);
int import_add_build_id(struct import *im, uint16_t misc, const void *data, size_t len);
const struct import_build_id *import_find_build_id(const struct import *im, const char *path);

/* events.c: an attr in the file's order; len bytes are there. 0; -EFBIG, -EINVAL: it makes no
 * sense; -ENOMEM. */
int import_add_event(struct import *im, const void *attr, size_t len, uint32_t *event);
int import_add_id(struct import *im, uint64_t id, uint32_t event);
void import_ids_sort(struct import *im);
/* The event of a record, by its id; NULL: unknown. Valid until the next event is added, like the
 * following. */
const struct import_event *import_event_of(struct import *im, const uint8_t *p, size_t len);
/* The event with the layout of a record: its own; if the id is unknown, the first one of the file,
 * since perf writes its own records with the id 0 and that layout. NULL: there is none. */
const struct import_event *import_layout_of(struct import *im, const uint8_t *p, size_t len);
const struct import_id *import_find_id(struct import *im, uint64_t id);
/* For names where the file has none; in the arena. */
void import_name_events(struct import *im);

/* index.c: 0 or -errno with *e. */
int import_index(struct import *im, struct err *e);

/* side.c: whether records of this kind belong to the common trace; and adds one, whose bytes are
 * little-endian. time_ns: of the file at this place, 0: none yet; at: its offset. 0 or -ENOMEM. */
bool import_is_side_band(uint32_t kind);
int import_side_add(struct import *im, const uint8_t *p, size_t len, uint64_t time_ns, uint64_t at);
/* A mapping by a kernel from 3.12 to 3.15: without protection and flags before the name. */
bool import_is_short_mmap2(const struct import_record *r);
int import_side_add_short(struct import *im, const struct import_record *r, uint64_t time_ns);
/* Adds the frames of both to im->common, with the build-ids of the file. 0 or -ENOMEM. */
struct trace_writer;
int import_side_put(struct import *im, struct trace_writer *w);
/* Moves the gathered frames of w to im->common. 0 or -ENOMEM. */
int import_append_frames(struct import *im, struct trace_writer *w);

/* tracing.c: the formats of tracepoints. Invalid ones are skipped. */
void import_tracing(struct import *im, const void *data, size_t len);

/* order.c: converts a record of the other byte order in place. False: it is invalid. */
bool import_swap(struct import *im, const struct import_record *r);
void import_swap_attr(uint8_t *attr, size_t len);

/* slice.c: a feed of the records of a slice. */
extern const struct trace_feed import_slice_feed;
/* The feed's arg; NULL without memory. frames (of len bytes) are freed with it. */
void *import_slice_new(struct import *im, const struct import_slice *s, void *frames);

/* deferred.c: notes the record of a deferred callchain. 0 or -ENOMEM. */
int import_add_deferred(struct import *im, const struct import_record *r, int fd);
/* Writes a sample to out (PERF_ABI_MAX_RECORD_BYTES of room) with its deferred callchain in place
 * of the mark that ends its own. Returns its size; 0: there is none, or it would be too long. */
size_t import_put_complete(struct import *im, const struct import_record *r, uint8_t *out);

/* reads.c: whether samples of the event hold the counts of its group, by which they are divided. */
bool import_reads_are_in(const struct import_event *ev);
/* Finds them in such a sample, which they borrow. False: it is invalid. */
bool import_reads_decode(const struct import *im, const struct import_event *ev, const uint8_t *p,
			 size_t len, struct import_reads *out);
/* Count i of a sample. False: its event is unknown, or cannot have the sample. A sample without any
 * count that is known remains the one of its event. */
bool import_reads_part(struct import *im, const struct import_reads *g, uint64_t i,
		       struct import_part *out);
/* What was counted since *last, which becomes the part's value; of the event that was sampled its
 * own period, if it is known. 0: the event has no sample. */
uint64_t import_reads_period(uint64_t *last, const struct import_reads *g,
			     const struct import_part *part);
/* Counts the samples that are made of this one. slice: its number. 0 or -ENOMEM. */
int import_reads_note(struct import *im, size_t slice, const struct import_reads *g, bool is_idle);
/* Writes a sample of another id and period to out, from its len bytes at base, which have what
 * slices add but a period. Returns its size: at most a word more. */
size_t import_reads_put(const struct import *im, const struct import_reads *g, const uint8_t *base,
			size_t len, uint64_t id, uint64_t period, uint8_t *out);
/* Makes the attrs those of the divided samples. */
void import_reads_set_attrs(struct import *im);

/* traces.c: numbers the events of the traces, once all records are indexed. */
void import_number_columns(struct import *im);
/* 0 or -ENOMEM. */
int import_make_set(struct import *im);

#endif
