/*
 * What the sources of many things have in common: the things from reading to reading, with their
 * numbers, values and open files; which of them the words chose; what a person must be told. What
 * kind of things they are is known to the source alone.
 */
#ifndef COLLECT_THINGS_H
#define COLLECT_THINGS_H

#include "base/buf.h"
#include "base/root.h"
#include "collect/many.h"

/* THINGS_MAX: per source at one time; more are reported and ignored. */
enum { THINGS_MAX = 4096, THINGS_MAX_FIELDS = 16, THINGS_MAX_FILES = 3 };

/* A file of a thing, in its folder, and the fields that it tells. */
struct things_file {
	const char *name;
	uint32_t fields;
	const char *lacking; /* why it may be missing, or lack a field */
	/* Sets those of values (zeroed) that the text tells, and their bits in *has. 0, -EINVAL or
	 * -ERANGE. */
	int (*parse)(const char *text, size_t len, uint64_t *values, uint32_t *has);
};

struct things_kind {
	const char *name; /* "disk": how it is called in what a person is told */
	const struct things_file *files;
	size_t nr_files;
	uint32_t wrapping; /* fields whose values begin anew at wrap, as 32 bits of the kernel do */
	uint64_t wrap;
};

struct thing {
	uint32_t number;
	char *name;    /* owned; as the kernel has it */
	char *shown;   /* behind name, and harmless */
	bool is_seen;  /* since things_begin */
	uint8_t noted; /* bit i: what is wrong with file i */
	int fds[THINGS_MAX_FILES];
	uint64_t time_ns, born_ns;            /* as of struct collect_thing */
	uint32_t has, denied, absent, failed; /* the same */
	int errors[THINGS_MAX_FILES];         /* of opening them: 0 or -errno */
	uint64_t values[THINGS_MAX_FIELDS];
	uint64_t last[THINGS_MAX_FIELDS], past[THINGS_MAX_FIELDS]; /* of those that wrap: as it was
								      read last; the wraps */
};

/* The first member of a source's state, so that the functions below that take one fit in a struct
 * collect_many_source. */
struct things {
	const struct things_kind *kind; /* borrowed */
	struct root root;
	uint32_t wanted;
	struct thing *list; /* owned; in the order of their numbers */
	size_t nr, room;
	size_t next;          /* where the next thing to be found is expected */
	uint32_t next_number; /* never one that was given before */
	bool is_read;         /* the last reading held */
	bool is_full_noted;
	struct buf text; /* of the file at hand */
	struct buf notes;
	size_t note_at;
};

void things_init(struct things *t, const struct things_kind *kind, const struct root *root,
		 uint32_t wanted);
void things_fini(struct things *t);

/* Between the two calls, things that are found or added count as seen; things_end drops the rest.
 */
void things_begin(struct things *t);
void things_end(struct things *t);
/* Whether a thing was not seen since things_begin. */
bool things_is_missing(const struct things *t);

/* The thing of that name, or NULL. It costs nothing where things are asked for in the same order
 * time after time. It and others stay where they are until the next that is added or dropped. */
struct thing *things_find(struct things *t, const char *name, size_t len);
/* 0, -ENOMEM, or -E2BIG (with a note) if there are THINGS_MAX. name has no NUL. */
int things_add(struct things *t, const char *name, size_t len, struct thing **out);
void things_drop(struct things *t, struct thing *thing);

/* Adds the thing whose files are in folder, and opens the files with wanted fields. -ENOENT if
 * there are none; a file that cannot be opened is noted, and its fields have no values. Else as
 * things_add. */
int things_open(struct things *t, const char *folder, const char *name, struct thing **out);
/* Reads its open files. -ENODEV if it has gone; -ENOMEM; else 0, has says what could be read. */
int things_read(struct things *t, struct thing *thing);
/* -EINVAL with *e for a word that cannot be a name or a glob of one: empty, or with a slash. */
int things_check_words(const struct things *t, const struct collect_choice *choice, struct err *e);
/* One of the words is "all", or a glob of the whole name. */
bool things_match(const struct collect_choice *choice, const char *name);
/* Notes each word that matches no thing now. */
void things_note_unmatched(struct things *t, const struct collect_choice *choice);
/* Adds a warning for the user; control characters are replaced, the total is bounded. */
void things_add_note(struct things *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Ends a reading with this result, which is returned. */
int things_done(struct things *t, int rc);
/* As in struct collect_many_source. */
size_t things_nr(const void *state);
void things_get(const void *state, size_t i, struct collect_thing *out);
const char *things_note(void *state);

#endif
