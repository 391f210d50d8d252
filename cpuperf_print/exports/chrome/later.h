/*
 * The items of a JSON array or object whose place in the output comes later: they wait in an
 * unnamed temporary file.
 */
#ifndef CPUPERF_PRINT_EXPORTS_CHROME_LATER_H
#define CPUPERF_PRINT_EXPORTS_CHROME_LATER_H

#include "base/buf.h"
#include "base/json_writer.h"

struct err;
struct output;

struct later {
	struct json_writer json; /* items are written here */
	struct buf text;         /* what is not in the file yet */
	int fd;                  /* -1: none yet */
};

/* is_object: else an array. later_fini in any case. */
void later_init(struct later *l, bool is_object);
void later_fini(struct later *l);
/* Call between items. 0 or -errno with *e. */
int later_flush(struct later *l, struct err *e);
/* Closes it, and writes it as a field of the open object. 0 or -errno with *e. */
int later_put(struct later *l, struct json_writer *to, const char *key, struct output *out,
	      struct err *e);

#endif
