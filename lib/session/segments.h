/*
 * The segments of a tally of many iterations: of each trace a file that grows, all of them closed
 * together. Knows nothing of names, nor of what is in an iteration.
 */
#ifndef SESSION_SEGMENTS_H
#define SESSION_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct trace_file;
struct trace_writer;

struct segments {
	struct trace_file **file; /* owned; of each trace; NULL: not created yet */
	uint32_t nr_traces;
	uint32_t number; /* of those that are open, or will be next */
	bool is_spoilt;  /* one of them could not have its name */
};

/* 0 or -ENOMEM. */
int segments_init(struct segments *s, uint32_t nr_traces);
/* What is open stays without its index. Fine for one that is all 0. */
void segments_fini(struct segments *s);
/* One of them is, or could not have its name: the next iteration belongs to the next ones. */
bool segments_are_full(const struct segments *s);
/* Ends all that are open, whatever happens to one of them; w is used for that. 0 or the first
 * -errno, with *e. */
int segments_finish(struct segments *s, struct trace_writer *w, struct err *e);

#endif
