/*
 * The text of source files, found by the path that the debug information has. A file may belong to
 * anybody: it is read as symbol files are (elf/reader.h), regular files only, up to a size, and
 * what is shown of it cannot control a terminal. Not thread-safe.
 */
#ifndef ANNOTATE_SOURCE_H
#define ANNOTATE_SOURCE_H

#include "elf/rights.h"

#include <stddef.h>
#include <stdint.h>

struct annotate_sources;
struct elf_build_id;
struct elf_finder;

enum {
	ANNOTATE_MAX_SOURCE_BYTES = 16 << 20,
	ANNOTATE_MAX_SOURCES = 1 << 14,
	ANNOTATE_MAX_LINE_BYTES = 1024, /* of a line as it is shown; the rest is cut */
	ANNOTATE_TAB = 4,
};

/* All borrowed. */
struct annotate_sources_config {
	struct elf_finder *finder; /* reads files, below its sysroot, and asks servers */
	/* Searched first, each for the whole path and then for less and less of its end. */
	const char *const *dirs;
	size_t nr_dirs;
};

/* NULL: no memory. */
struct annotate_sources *annotate_sources_new(const struct annotate_sources_config *config);
void annotate_sources_free(struct annotate_sources *s); /* NULL is fine */

struct annotate_source;
/* Who says that there is such a file. */
struct annotate_namer {
	const struct elf_build_id *id; /* of the program; len 0: not known */
	struct elf_rights rights; /* limited: it is sought only in the folders, and not outside */
};
/* NULL: it is not found, not text, or too large. */
const struct annotate_source *annotate_sources_find(struct annotate_sources *s, const char *path,
						    const struct annotate_namer *by);
/* Of a path for which there was NULL: "is not found", "is not a regular file" … */
const char *annotate_sources_fault(struct annotate_sources *s, const char *path,
				   const struct annotate_namer *by);
/* A line, from 1 on, safe to show, with blanks for tabs; "" beyond the last one. */
const char *annotate_source_line(const struct annotate_source *s, uint32_t line,
				 char text[ANNOTATE_MAX_LINE_BYTES]);

#endif
