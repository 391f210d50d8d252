/*
 * What the sources of many things share: the list of things with their numbers, values and open
 * files, the matching of words, and notes for the user.
 *
 * Of several files that have a field the first that exists is read, also where a later one has
 * more fields: amdgpu's table (gpu/metrics.h) serves where plain files are missing.
 */
#ifndef THINGS_THINGS_H
#define THINGS_THINGS_H

#include "base/buf.h"
#include "base/root.h"
#include "things/many.h"

/* THINGS_MAX: per source at a time; more are ignored, with a note. */
enum { THINGS_MAX = 4096, THINGS_MAX_FILES = 48 };

/* A file in the folder of a thing, and the fields in it. Of several files with a field the first
 * that exists is read. */
struct things_file {
	const char *name; /* a part of the path may have a *: the first entry by name that fits */
	uint32_t fields;
	const char *without; /* why the file or a field may be missing; NULL: that is not noted */
	/* Sets the values (zeroed before) that the text has, and their bits in *has. 0, -EINVAL or
	 * -ERANGE; THINGS_NOT_NOW: nor are the other files to be read now, whose fields are absent
	 * then. NULL: the text is one number, the value of field once multiplied by scale; negative
	 * ones are the bits of an int64_t. */
	int (*parse)(const char *text, size_t len, uint64_t *values, uint32_t *has);
	/* Optional: adds to *out why a text that parse accepts has none of the fields, for a note.
	 */
	void (*explain)(const char *text, size_t len, struct buf *out);
	uint8_t field;
	uint32_t scale;
};
enum { THINGS_NOT_NOW = 1 };

struct things_kind {
	const char *name; /* "disk", in notes and errors */
	const struct things_file *files;
	size_t nr_files;
	uint32_t always;   /* fields that are read though nobody wants them */
	uint32_t wrapping; /* fields that wrap around, such as 32-bit counters of the kernel */
	uint64_t wrap;
};

struct thing {
	uint32_t number;
	char *name;     /* owned; the kernel's */
	char *shown;    /* name cleaned by str_clean; in the same block */
	bool is_seen;   /* since things_begin */
	uint64_t noted; /* bit i: a note about file i was written */
	bool is_asleep; /* a file said THINGS_NOT_NOW at the last reading */
	int fds[THINGS_MAX_FILES];
	uint64_t time_ns, born_ns;            /* as of struct things_one */
	uint32_t has, denied, absent, failed; /* the same */
	int errors[THINGS_MAX_FILES];         /* of opening them: 0 or -errno */
	uint32_t fields[THINGS_MAX_FILES];    /* wanted ones that no file before has */
	uint64_t values[THINGS_MAX_FIELDS];
	/* Of fields that wrap: the value last read, and the sum of the wraps before it. */
	uint64_t last[THINGS_MAX_FIELDS], past[THINGS_MAX_FIELDS];
};

/* The first member of a source's state, so that functions below serve as those of a struct
 * collect_many_source. */
struct things {
	const struct things_kind *kind; /* borrowed */
	struct root root;
	uint32_t wanted;
	struct thing *list; /* owned; by number */
	size_t nr, room;
	size_t next;          /* where things_find looks first */
	uint32_t next_number; /* numbers are not reused */
	bool is_read;         /* the last reading succeeded */
	bool is_full_noted;
	struct buf text; /* of the last file read */
	struct buf notes;
	size_t note_at;
};

void things_init(struct things *t, const struct things_kind *kind, const struct root *root,
		 uint32_t wanted);
void things_fini(struct things *t);

/* things_end drops the things that were neither found nor added since things_begin. */
void things_begin(struct things *t);
void things_end(struct things *t);
/* True if a thing was not found since things_begin. */
bool things_is_missing(const struct things *t);

/* The thing of that name, or NULL. O(1) if things are looked up in the same order each time. Valid
 * until the next thing is added or dropped. */
struct thing *things_find(struct things *t, const char *name, size_t len);
/* Adds a thing. 0, -ENOMEM, or -E2BIG (with a note) if there are THINGS_MAX. name contains no NUL.
 */
int things_add(struct things *t, const char *name, size_t len, struct thing **out);
void things_drop(struct things *t, struct thing *thing);

/* Adds the thing whose files are in folder, and opens the files with wanted fields. -ENOENT if none
 * exists; else as things_add. A file that cannot be opened is noted; its fields have no values. */
int things_open(struct things *t, const char *folder, const char *name, struct thing **out);
/* Reads its open files. 0, and has shows what could be read; -ENODEV if the thing is gone; -ENOMEM.
 */
int things_read(struct things *t, struct thing *thing);
/* 0, or -EINVAL with *e if a word is neither a name nor a glob: empty, or with a slash. */
int things_check_words(const struct things *t, const struct things_choice *choice, struct err *e);
/* True if a word is "all", or a glob that matches the whole name. */
bool things_match(const struct things_choice *choice, const char *name);
/* Notes each word that matches no thing now. */
void things_note_unmatched(struct things *t, const struct things_choice *choice);
/* Adds a warning for the user; control characters are replaced, the total is bounded. */
void things_add_note(struct things *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Ends a reading with result rc, which it returns. */
int things_done(struct things *t, int rc);
/* As in struct things_source. */
size_t things_nr(const void *state);
void things_get(const void *state, size_t i, struct things_one *out);
const char *things_note(void *state);

#endif
