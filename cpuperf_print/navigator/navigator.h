/*
 * The navigator: a page that asks questions of sessions, over HTTP. Every report is an answer in
 * ndjson, with the values that cpuperf_print prints: schemas/navigator.md.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_NAVIGATOR_H
#define CPUPERF_PRINT_NAVIGATOR_NAVIGATOR_H

#include "inputs.h"
#include "output.h"
#include "selection.h"

#define NAVIGATOR_DEFAULT_ADDRESS "127.0.0.1:0"

/* Prints the URL, and answers until SIGINT, SIGTERM or SIGHUP. selection: of the command line. 0 or
 * -errno with *e. */
int navigator_run(struct inputs *in, const struct selection *selection, struct output *out,
		  struct err *e);

#endif
