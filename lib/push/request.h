/*
 * From a profile to the request of an interface.
 */
#ifndef PUSH_REQUEST_H
#define PUSH_REQUEST_H

#include "push/options.h"
#include "push/target.h"

#include <stdint.h>

struct buf;

enum { PUSH_MAX_BYTES = 32 << 20, PUSH_QUERY_BYTES = 16 << 10, PUSH_ID_BYTES = 16 };

/* All texts are borrowed. */
struct push_profile {
	const char *service, *host; /* host "": not known */
	const struct push_labels *labels;
	uint64_t from_ns, to_ns;   /* CLOCK_REALTIME */
	uint8_t id[PUSH_ID_BYTES]; /* the same in each try */
	const void *data;          /* a profile.proto in gzip; of OTLP: the body of the request */
	size_t data_bytes;
};

/* Appends the query and the body. 0 or the error of a buffer. */
int push_request_make(enum push_protocol protocol, const struct push_profile *p, struct buf *query,
		      struct buf *body);

#endif
