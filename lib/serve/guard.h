/*
 * Who may ask a server of this machine's user: whoever knows its token. The token is in the URL
 * that the user opens, and goes from there into a cookie, so that it remains in no address bar and
 * no history. A name that another site lets resolve to this machine (DNS rebinding) is refused by
 * the header Host, and what other sites' pages ask for by Sec-Fetch-Site. Judges texts alone.
 *
 * It is fuzzed, with the navigator's query.c.
 */
#ifndef SERVE_GUARD_H
#define SERVE_GUARD_H

#include "serve/http.h"

enum { GUARD_TOKEN_BYTES = 33, GUARD_COOKIE_BYTES = 32 };

struct guard {
	struct http_address where;
	char token[GUARD_TOKEN_BYTES];
	char cookie[GUARD_COOKIE_BYTES]; /* its name; cookies of all ports are one jar */
};

enum guard_verdict {
	GUARD_PASS,
	GUARD_ENTER,  /* by the token in the URL: guard_enter says where to */
	GUARD_METHOD, /* neither GET nor HEAD */
	GUARD_HOST,
	GUARD_TOKEN,
	GUARD_SITE,
	GUARD_LONG, /* too many arguments */
	GUARD_NR_VERDICTS
};

/* A new token. 0 or -errno: there is no randomness. */
int guard_init(struct guard *g, const struct http_address *where);
/* Whether the header Host names the address. */
bool guard_is_host(const struct http_address *where, const char *text);
/* The same of a server that gives to whoever reaches it: names of this machine are others' for it,
 * too, and ports may be forwarded. At a loopback address only browsers of this machine could be
 * misled. */
bool guard_is_host_of_network(const struct http_address *where, const char *machine,
			      const char *text);
enum guard_verdict guard_check(const struct guard *g, const struct http_request *r);
/* Why it is refused, with a newline; "" of the first two. And the status of HTTP. */
const char *guard_reason(enum guard_verdict verdict);
unsigned guard_status(enum guard_verdict verdict);
/* Appends the request's path and arguments without the token, encoded: the header Location. */
void guard_location(const struct http_request *r, struct buf *out);
/* Appends the header Set-Cookie. */
void guard_cookie(const struct guard *g, struct buf *out);
/* Appends the URL to open; of a socket in the file system the one to be asked for there. */
void guard_url(const struct guard *g, struct buf *out);

#endif
