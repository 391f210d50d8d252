/*
 * The navigator: a page that asks questions of sessions, over HTTP. Every report is an answer in
 * ndjson, with the values that cpuperf_print prints: schemas/navigator.md.
 *
 * It has no reports of its own: a request's arguments become options (query.h), and the row of the
 * registry prints into memory (row.h). Answers are kept, up to 64 MiB (answers.h), but not those
 * with source code, which may change, nor of a session in progress. The second thread asks the
 * page's own questions ahead (facts.h has them): a request cancels it (report_run.cancel), and it
 * begins again half a second after the last answer.
 *
 * What was read stays in memory (pool.h; report/pool.h). Where times lie in the files is kept from
 * the first pass on (profile/times.h), and what samples add up to in slices for series
 * (counts/slices.h). Views over time (lanes.h, timeline.h, spans.h, by threads.h) have as many
 * slices for a short time as for the session, so that a click on a box shows more of it.
 *
 * --stdio asks the same without HTTP (mcp.h). The page (html/) draws what /api/ answers, cells by
 * what their columns are (grid_describe, in a header); its address is all the state that it has.
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
