/*
 * POST by libcurl, which is loaded when it is used.
 */
#ifndef PUSH_HTTP_H
#define PUSH_HTTP_H

#include "push/answer.h"
#include "push/credentials.h"

#include <signal.h>

struct err;
struct push_http;

/* target and credentials are borrowed. ca: a file of certificates; NULL: the system's. 0 or -errno
 * with *e. */
int push_http_open(const struct push_target *target, const struct push_credentials *credentials,
		   const char *ca, struct push_http **out, struct err *e);
void push_http_close(struct push_http *h); /* NULL is fine */

/* When a request is broken off: after limit_ns, at most half a minute, or within a second after a
 * signal handler set *is_over (NULL: none does). */
struct push_http_end {
	uint64_t limit_ns;
	const volatile sig_atomic_t *is_over;
};

/* Sends body, and waits for the answer. query: appended to the path; "": none. *out borrows until
 * the next call. */
void push_http_post(struct push_http *h, const char *query, const void *body, size_t len,
		    const struct push_http_end *end, struct push_answer *out);

#endif
