/*
 * Which functions a text means: "[OBJECT:]GLOB". OBJECT is a glob of the name of a file, or of its
 * path if it has a slash; "libfoo.so" also means libfoo.so.1. GLOB is one of the name in the source
 * or in the table of symbols.
 */
#ifndef FUNCTIONS_PATTERN_H
#define FUNCTIONS_PATTERN_H

#include <limits.h>
#include <stdbool.h>

enum { FUNCTIONS_MAX_GLOB_BYTES = 1024 };

struct functions_pattern {
	char object[PATH_MAX]; /* "": the program */
	char glob[FUNCTIONS_MAX_GLOB_BYTES];
};

/* A colon splits; "::" is part of a name. 0; -EINVAL: no name, or too long. */
int functions_pattern_parse(const char *text, struct functions_pattern *out);
/* Whether the text has wildcards. */
bool functions_is_glob(const char *text);
/* Whether the file is one that the object means. */
bool functions_pattern_has_file(const struct functions_pattern *p, const char *path);
/* Whether the name of a symbol is one that the glob means: with its version or without; or, if it
 * is mangled, in the source: whole, without its parameters, or without what it returns, too. */
bool functions_pattern_has_name(const struct functions_pattern *p, const char *name);

#endif
