/*
 * The navigator's answers over standard input and output: the Model Context Protocol, JSON-RPC 2.0
 * a message a line. Tools read the sessions that were named, and nothing else: nothing is recorded,
 * written, or asked of the network.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_MCP_H
#define CPUPERF_PRINT_NAVIGATOR_MCP_H

#include "navigator/answers.h"

#include <stdbool.h>
#include <stddef.h>

struct err;

enum { MCP_MAX_LINE_BYTES = 256 << 10, MCP_MAX_ANSWER_BYTES = 1 << 20 };

struct mcp {
	/* Answers a request, as the page asks it. 0 or -errno with *e; *made is the caller's. */
	int (*ask)(void *arg, const struct http_request *r, struct answers_parts *made,
		   struct err *e);
	/* Whether the sessions have data for a report. */
	bool (*has)(void *arg, const char *report);
	void *arg;
};

/* Appends the answer to a message, a line; nothing to a notification. Errors are answers, too. */
void mcp_answer(const struct mcp *m, const char *line, size_t len, struct buf *out);
/* Answers lines of in until its end. 0, also if nobody reads out anymore, or -errno with *e. */
int mcp_run(const struct mcp *m, int in, int out, struct err *e);

#endif
