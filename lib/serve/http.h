/*
 * A server of HTTP at one address, by libmicrohttpd, in a thread of its own, which asks a function
 * for each answer. Only whole requests are let in (serve/door.h). Connections, their memory and
 * their time are limited; requests with a body are refused; a slow reader costs a connection of
 * few.
 *
 * libmicrohttpd is loaded by dlopen, with the ten libraries that it brings: a process that links
 * it starts 30 ms later.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct http;
struct http_response;

enum {
	HTTP_MAX_ARGUMENTS = 64,
	HTTP_HOST_BYTES = 64,

	HTTP_OK = 200,
	HTTP_SEE_OTHER = 303,
	HTTP_BAD_REQUEST = 400,
	HTTP_FORBIDDEN = 403,
	HTTP_NOT_FOUND = 404,
	HTTP_METHOD_NOT_ALLOWED = 405,
	HTTP_URI_TOO_LONG = 414,
	HTTP_SERVER_ERROR = 500,
	HTTP_UNAVAILABLE = 503
};

/* "name=value" behind the question mark, decoded. */
struct http_argument {
	const char *name, *value; /* value: "" if there is none */
};

/* Borrowed until the answer's function returns. */
struct http_request {
	const char *method, *path; /* the path is decoded, and begins with a slash */
	/* Headers; NULL: not sent. */
	const char *host, *cookie, *accept, *fetch_site;
	struct http_argument arguments[HTTP_MAX_ARGUMENTS];
	size_t nr_arguments;
	bool has_more; /* arguments that found no room */
	void *connection;
};

/* Answers by http_reply, in the server's thread. False: the connection is closed. */
typedef bool http_answer_fn(void *arg, const struct http_request *r);

struct http_config {
	const char *option; /* in messages: "--metrics-listen" */
	const char *example;
	unsigned max_connections;
	size_t connection_bytes; /* a request's head must fit */
	http_answer_fn *answer;
	void *arg;
};

/* The address at which a server listens. */
struct http_address {
	char host[HTTP_HOST_BYTES]; /* numeric; "" : a socket in the file system */
	unsigned port;
	bool is_loopback, is_any, is_ipv6;
};

/* Binds an address, where requests wait for http_start: PORT (of 127.0.0.1; 0: any that is free),
 * HOST:PORT with a numeric host
 * ([::1]:9712), or unix:PATH, which must not exist or be a socket that nobody listens at. 0 or
 * -errno with *e. */
int http_open(const struct http_config *config, const char *address, struct http **out,
	      struct err *e);
/* Begins to answer, once. 0 or -errno with *e. */
int http_start(struct http *h, struct err *e);
void http_close(struct http *h); /* NULL is fine; returns when no answer is being made */
const struct http_address *http_where(const struct http *h);
/* Appends "http://127.0.0.1:9712"; of a socket in the file system what to ask for there. */
void http_add_address(const struct http_address *w, struct buf *out);

/* A copy of the text. NULL: no memory. */
struct http_response *http_response_new(const void *text, size_t len, const char *type);
/* The same of a text. */
struct http_response *http_response_note(const char *text);
/* False: no memory, or characters that a header cannot have. */
bool http_response_header(struct http_response *r, const char *name, const char *value);
/* The connection ends after it. The same. */
bool http_response_closes(struct http_response *r);
/* A note after which the connection ends: whoever may not ask holds none. NULL: no memory. */
struct http_response *http_response_refusal(const char *text);
void http_response_free(struct http_response *r); /* NULL is fine; those being sent remain */

/* The response may be freed at once. */
bool http_reply(const struct http_request *r, unsigned status,
		const struct http_response *response);

#endif
