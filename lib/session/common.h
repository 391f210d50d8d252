/*
 * The common file of a session that samples: tasks, mappings, symbols and build-ids, as they are
 * found. Two threads write it: the session's own, and the one that surveys.
 *
 * The file of a session that never ends (retain, flight recorder) would grow for ever. When it has
 * doubled it is shortened (trace/shorten.h): the syncer's thread copies it without the records of
 * tasks that lived in no remaining period and that no remaining task descends from, syncs the
 * copy, then under the lock appends what was written meanwhile and renames it over the file. What
 * remains whole is what the kernel and mapped files need (symbols, build-ids) and the mappings of
 * long-lived processes; above 1 GiB a flight recorder adds nothing.
 */
#ifndef SESSION_COMMON_H
#define SESSION_COMMON_H

#include "base/err.h"
#include "plan/source.h"
#include "trace/writer.h"

#include <pthread.h>
#include <stdbool.h>

struct recorder;
struct trace_build_id;
struct trace_cmdline;
struct trace_code;
struct trace_compiled;
struct trace_file;
struct trace_packer;
struct trace_shorten;

struct common {
	pthread_mutex_t lock;
	struct trace_writer *writer; /* owned; NULL: nothing is saved */
	struct trace_packer *packer; /* owned; with level 0, used for symbols only */
	struct trace_file *file;     /* owned */
	int level;                   /* of zstd */
	uint64_t due_bytes;          /* when it should be shortened */
	struct err error;            /* the first; sticks */
};

/* 0 or -errno. */
int common_init(struct common *c);
void common_fini(struct common *c);

/* Allocates what the file needs, and makes its header. level: of zstd; 0: only symbols are packed.
 * 0 or -errno with *e. */
int common_prepare(struct common *c, const struct recorder *r, int level, struct err *e);
/* Creates the file. 0 or -errno with *e. */
int common_create(struct common *c, const struct recorder *r, struct err *e);
/* Appends the end, with the notes that are not empty. 0 or -errno with *e. */
int common_finish(struct common *c, uint64_t start_ns, const char *const *notes, size_t nr_notes,
		  struct err *e);

/* True if the file has doubled since it was shortened, and is not small. */
bool common_is_due(struct common *c);
/* Shortens the file (trace/shorten.h) if that is due. Without room or memory it remains as it is
 * until it has doubled again. Called by one thread, also while others append. how: without packer.
 */
void common_shorten(struct common *c, struct trace_shorten *how);

void common_lock(struct common *c);
void common_unlock(struct common *c);

/* Stops adding: the remaining disk space is for the ends of the session's files. */
void common_fail(struct common *c, const struct err *why);
/* Each appends under the lock, or does nothing without a file. 0 or -errno, which sticks in error.
 */
int common_add_records(struct common *c, const void *records, size_t len);
int common_add_kallsyms(struct common *c, const char *text, size_t len);
/* A frame that was packed, as by trace_packer_kallsyms. */
int common_add_packed(struct common *c, const void *frame, size_t len);
int common_add_cmdlines(struct common *c, const struct trace_cmdline *list, size_t nr);
int common_add_build_ids(struct common *c, const struct trace_build_id *list, size_t nr);
int common_add_code(struct common *c, const struct trace_code *code);
int common_add_compiled(struct common *c, const struct trace_compiled *compiled);
/* The file as sources see it. Borrows c. */
struct source_file common_file(struct common *c);

/* For a note on an error that ends the saving. */
#define UNSAVED_FORMAT "%s%s%s: later data is missing from the session's files"
#define UNSAVED_WHY(e) (e)->source, (e)->source[0] ? ": " : "", (e)->msg

#endif
