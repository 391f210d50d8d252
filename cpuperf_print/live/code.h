/*
 * The code of a function with its samples: what --report=annotate prints, by a process of its own,
 * so that the screen goes on.
 *
 * The child's CPU time is charged when it has ended: lent, as at the start, and beyond that taken
 * from the credit.
 */
#ifndef CPUPERF_PRINT_LIVE_CODE_H
#define CPUPERF_PRINT_LIVE_CODE_H

#include "base/buf.h"
#include "live/filter.h"

#include <sys/types.h>

/* Zero-initialise. */
struct code {
	pid_t pid; /* 0: none runs */
	int fd;    /* its output */
	struct buf text;
};

struct code_request {
	const char *session; /* the manifest */
	const char *event, *function;
	const struct live_filter *filter;
	uint32_t first, end; /* iterations first <= i < end; 0: all */
};

/* Begins to read; ends what was being read. 0 or -errno. */
int code_start(struct code *c, const struct code_request *r);
/* -1: none runs. */
int code_fd(const struct code *c);
/* Reads what there is. 1: all is in text; 0:
 * there is more to come. */
int code_read(struct code *c);
void code_stop(struct code *c);

#endif
