/*
 * What the parts of the recording program share: each verb is a function that returns the exit
 * status and prints its results on stdout.
 */
#ifndef CPUPERF_PROGRAM_H
#define CPUPERF_PROGRAM_H

#include "base/err.h"
#include "options.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct buf;
struct host;

/* list.c, describe.c */
struct catalogue;
int list_events(const struct options *o, const struct catalogue *c);
int describe_event(const struct options *o, const struct catalogue *c);

/* specs.c: the search for a spec named without a folder. */
int list_specs(void);
/* Opens the spec: a descriptor, and its path in found (PATH_MAX bytes). -errno with *e: there is
 * none, or who is not trusted wrote what lies by that name in the current folder. */
int open_spec(const char *name, char *found, struct err *e);

/* check.c: --check-spec. */
struct plan;
int check_spec(const struct plan *plan, const struct catalogue *c, const struct options *o);

/* record.c: the measuring itself. */
int record(const struct plan *plan, const struct options *o);

/* result.c */
/* Writes all of out to stdout; -errno. */
int print_buf(struct buf *out);
/* The same, and says what went wrong: an exit status. */
int print_result(struct buf *out);
/* One message for each error of a list. */
void log_errors(const struct err_list *errs);

#endif
