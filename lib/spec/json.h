/*
 * jansson on our heap, with out of memory distinguished from bad text. Only the files of this room,
 * of hosts and the navigator's mcp.c include this; the rest of the project does not see jansson.
 */
#ifndef SPEC_JSON_H
#define SPEC_JSON_H

#include <jansson.h>
#include <stddef.h>

struct arena;

/* Parses plain JSON: an object or array. 0 and a new reference in *out; -EINVAL with jansson's
 * *error; -ENOMEM. */
int json_parse(const char *text, size_t len, json_t **out, json_error_t *error);

/* The content of a quoted string, unescaped as json_parse would. Returns an invalid string
 * unchanged. 0 or -ENOMEM. */
int json_unescape(const char *quoted, size_t len, struct arena *arena, const char **out);

#endif
