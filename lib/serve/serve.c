/*
 * The texts of metrics, exchanged as they are set.
 */
#include "serve/serve.h"

#include "base/mem.h"
#include "serve/guard.h"
#include "serve/http.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>

enum { MAX_CONNECTIONS = 64, CONNECTION_BYTES = 16 << 10 };

struct serve {
	struct http *http;
	pthread_mutex_t lock; /* of the texts; held only briefly */
	struct http_response *text[SERVE_NR_FORMS];
	struct http_response *absent, *refused, *foreign, *early;
	struct utsname machine;
};

static enum serve_form form_of(const struct http_request *r)
{
	return r->accept && strstr(r->accept, "application/openmetrics-text") ? SERVE_OPENMETRICS
									      : SERVE_CLASSIC;
}

/* Made at the first request: the library is loaded then. */
static bool reply_note(const struct http_request *r, unsigned status, struct http_response **note,
		       const char *text)
{
	if (!*note)
		*note = http_response_refusal(text);
	return *note && http_reply(r, status, *note);
}

static bool answer(void *arg, const struct http_request *r)
{
	struct serve *s = arg;
	struct http_response *text;
	bool done;

	if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0)
		return reply_note(r, HTTP_METHOD_NOT_ALLOWED, &s->refused, "only GET and HEAD\n");
	if (!guard_is_host_of_network(http_where(s->http), s->machine.nodename, r->host))
		return reply_note(
		    r, HTTP_FORBIDDEN, &s->foreign,
		    "the header Host is no name of this machine: ask for its address\n");
	if (strcmp(r->path, "/metrics") != 0)
		return reply_note(r, HTTP_NOT_FOUND, &s->absent, "there is /metrics alone\n");
	pthread_mutex_lock(&s->lock);
	text = s->text[form_of(r)];
	done = text ? http_reply(r, HTTP_OK, text)
		    : reply_note(r, HTTP_UNAVAILABLE, &s->early,
				 "the first iteration has not ended\n");
	pthread_mutex_unlock(&s->lock);
	return done;
}

int serve_set(struct serve *s, const struct buf text[SERVE_NR_FORMS])
{
	static const char *const types[] = {
	    [SERVE_CLASSIC] = "text/plain; version=0.0.4; charset=utf-8",
	    [SERVE_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8"};
	struct http_response *made[SERVE_NR_FORMS] = {NULL}, *before;
	bool is_whole = true;

	for (int i = 0; i < SERVE_NR_FORMS; i++) {
		made[i] = http_response_new(buf_str(&text[i]), text[i].len, types[i]);
		is_whole &= made[i] && http_response_closes(made[i]);
	}
	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < SERVE_NR_FORMS && is_whole; i++) {
		before = s->text[i];
		s->text[i] = made[i];
		made[i] = before;
	}
	pthread_mutex_unlock(&s->lock);
	for (int i = 0; i < SERVE_NR_FORMS; i++)
		http_response_free(made[i]);
	return is_whole ? 0 : -ENOMEM;
}

int serve_open(const char *address, struct serve **out, struct err *e)
{
	struct serve *s = mem_zalloc(sizeof(*s));
	const struct http_config config = {.option = "--metrics-listen",
					   .example = SERVE_DEFAULT_ADDRESS,
					   .max_connections = MAX_CONNECTIONS,
					   .connection_bytes = CONNECTION_BYTES,
					   .answer = answer,
					   .arg = s};
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	pthread_mutex_init(&s->lock, NULL);
	(void)uname(&s->machine);
	rc = http_open(&config, address, &s->http, e) ?: http_start(s->http, e);
	if (rc)
		serve_close(s);
	else
		*out = s;
	return rc;
}

void serve_add_url(const struct serve *s, struct buf *out)
{
	http_add_address(http_where(s->http), out);
	buf_adds(out, "/metrics");
}

void serve_close(struct serve *s)
{
	if (!s)
		return;
	http_close(s->http);
	for (int i = 0; i < SERVE_NR_FORMS; i++)
		http_response_free(s->text[i]);
	http_response_free(s->absent);
	http_response_free(s->refused);
	http_response_free(s->foreign);
	http_response_free(s->early);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}
