/*
 * What to print next, by what the answer has found: options of this program for the same session.
 */
#ifndef CPUPERF_PRINT_NEXT_H
#define CPUPERF_PRINT_NEXT_H

#include <stddef.h>

struct buf;
struct conclusion;
struct json_writer;

/* The variable has the number of a descriptor, to which they are written. */
#define NEXT_VARIABLE "CPUPERF_NEXT"
/* That of the cpuperf that started this program: of another version, it is refused. */
#define ASKED_BY_VARIABLE "CPUPERF_ASKED_BY"

/* Appends the options, quoted for a shell: "--report=waits". */
void next_put(const struct conclusion *c, struct buf *out);
/* The same as words, items of an array. */
void next_put_words(const struct conclusion *c, struct json_writer *json);
/* Writes them to the descriptor, if there is one. */
void next_write(const struct conclusion *c);

#endif
