/*
 * Metrics over HTTP (http.h): GET /metrics returns the text that was set last, in the form
 * that the reader accepts. A thread of its own answers; it waits for nobody, and a slow reader
 * costs a connection of few. Whoever sets the text never waits for readers.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/buf.h"
#include "base/err.h"

struct serve;

/* OpenMetrics 1.0, and the classic text of Prometheus. */
enum serve_form { SERVE_CLASSIC, SERVE_OPENMETRICS, SERVE_NR_FORMS };

#define SERVE_DEFAULT_ADDRESS "127.0.0.1:9712"

/* Listens at an address: PORT (of 127.0.0.1), HOST:PORT with a numeric host ([::1]:9712), or
 * unix:PATH, which must not exist or be a socket that nobody listens at. 0 or -errno with *e. */
int serve_open(const char *address, struct serve **out, struct err *e);
void serve_close(struct serve *s); /* NULL is fine */
/* Appends the URL to be asked for; at a socket in the file system, there. */
void serve_add_url(const struct serve *s, struct buf *out);
/* Copies the text of each form. 0 or -ENOMEM: the last one remains. */
int serve_set(struct serve *s, const struct buf text[SERVE_NR_FORMS]);

#endif
