/*
 * Where profiles are sent: the interfaces of receivers, and the URL of one.
 */
#ifndef PUSH_TARGET_H
#define PUSH_TARGET_H

#include <stdbool.h>
#include <stddef.h>

struct err;

enum push_protocol { PUSH_PYROSCOPE, PUSH_INGEST, PUSH_PARCA, PUSH_OTLP, PUSH_NR_PROTOCOLS };

/* An interface over HTTP: what is posted where, and what an answer must be. */
struct push_interface {
	const char *scheme; /* before + in a URL */
	const char *path;
	const char *type, *encoding; /* headers of the request; NULL: none */
	const char *answer_type;     /* begins the answer's Content-Type; NULL: any, or none */
};
extern const struct push_interface push_interfaces[PUSH_NR_PROTOCOLS];

enum { PUSH_URL_BYTES = 1024, PUSH_PLACE_BYTES = 320 };

struct push_target {
	enum push_protocol protocol;
	char base[PUSH_URL_BYTES];    /* https://HOST[:PORT][/PREFIX], without a slash at the end */
	char place[PUSH_PLACE_BYTES]; /* for messages: "pyroscope at HOST:PORT" */
	bool is_plain;                /* http, to this machine */
};

/* "pyroscope+https://HOST[:PORT][/PREFIX]". A URL with a user or a password is refused, and not
 * quoted. -EINVAL with *e. */
int push_target_parse(const char *url, struct push_target *out, struct err *e);

#endif
