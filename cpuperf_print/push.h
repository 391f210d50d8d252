/*
 * --push: each iteration as a profile, stored in the spool and then sent.
 */
#ifndef CPUPERF_PRINT_PUSH_H
#define CPUPERF_PRINT_PUSH_H

#include <stdbool.h>

struct err;
struct inputs;
struct options;
struct output;
struct registry_row;
struct selection;

/* Refuses what excludes --push. -EINVAL with *e. */
int push_check(const struct options *o, struct err *e);
/* The format in which the URL's interface wants profiles. */
const char *push_format(const struct options *o);
/* Stores and sends, and prints what became of it. row: of push_format; of the inputs, which may be
 * none, only one is read. 0 or -errno with *e. *is_whole: all was sent. */
int push_run(struct inputs *in, const struct selection *selection, const struct registry_row *row,
	     struct output *output, bool *is_whole, struct err *e);

#endif
