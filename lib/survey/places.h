/*
 * Mapped files that their path led to when they were read, watched: one may be deleted or replaced
 * (by an upgrade) while it is measured, and can then be read only as long as a process has it
 * mapped. Watched are their folders, with inotify(7), which costs nothing while these do not
 * change.
 */
#ifndef SURVEY_PLACES_H
#define SURVEY_PLACES_H

#include "base/arena.h"
#include "survey/identify.h"

#include <stdbool.h>
#include <stddef.h>

struct root;

enum {
	SURVEY_MAX_PLACES = 8192,
	SURVEY_PLACES_TEXT_BYTES = 2 << 20,
	SURVEY_PLACE_MAPPERS = 2, /* the first process, and the last one */
};

struct survey_place {
	uint64_t inode, generation;
	uint32_t major, minor;
	struct elf_build_id id;
	const char *path; /* in the arena */
	int watch;        /* of its folder; -1: none */
	struct {
		uint32_t pid;
		uint64_t start, end;
	} by[SURVEY_PLACE_MAPPERS];
};

struct survey_places {
	const struct root *root; /* borrowed: of the paths */
	int fd;                  /* of inotify, since the first file; -1: there is none */
	size_t nr_watched;
	struct arena paths;
	struct survey_place *item; /* owned */
	size_t nr, room;
};

void survey_places_init(struct survey_places *p, const struct root *root);
void survey_places_fini(struct survey_places *p);

/* Adds a file, or another process that has it mapped. Beyond the limit it does nothing. */
void survey_places_add(struct survey_places *p, const struct survey_identify_question *q,
		       const struct elf_build_id *id);

/* True: its path does not lead to it any more; it is removed. */
typedef bool survey_places_fn(void *arg, const struct survey_identify_question *q,
			      const struct elf_build_id *id);
/* Calls fn for those of which a folder has changed the name since the last call, for each process;
 * does not wait. */
void survey_places_changed(struct survey_places *p, survey_places_fn *fn, void *arg);
/* The same for all. */
void survey_places_each(struct survey_places *p, survey_places_fn *fn, void *arg);

#endif
