/*
 * Follows no redirect, so that nothing is sent to another host; trusts no certificate but for the
 * URL's host.
 */
#include "push/http.h"

#include "base/err.h"

#include <errno.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/str.h"

#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION /* of options whose successors older libraries lack */
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
	CONNECT_S = 5,
	REQUEST_MS = 30000,
	NS_PER_MS = 1000000,
	MAX_ANSWER_BYTES = 64 << 10,
	MAX_HEADER_BYTES = PUSH_SECRET_BYTES + 64,
};

/* With it come the libraries of TLS and more, for which no other session should wait. */
static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
#define FUNCTIONS(X)                                                                               \
	X(global_init)                                                                             \
	X(easy_init)                                                                               \
	X(easy_setopt)                                                                             \
	X(easy_perform)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_strerror)                                                                           \
	X(easy_cleanup)                                                                            \
	X(slist_append)                                                                            \
	X(slist_free_all)
static struct {
#define POINTER(name) __typeof__(curl_##name) *name;
	FUNCTIONS(POINTER)
} curl;

struct push_http {
	const struct push_target *target;
	const struct push_credentials *credentials;
	CURL *easy;
	struct curl_slist *headers;
	struct buf answer;
	const struct push_http_end *end; /* of this request */
	char error[CURL_ERROR_SIZE];
};

/* Remains loaded. */
static int load(struct err *e)
{
	const struct library_function functions[] = {
#define PLACE(name) {"curl_" #name, &curl.name},
	    FUNCTIONS(PLACE)};
	const char *why = libraries[0];

	for (size_t i = 0; i < ARRAY_NR(libraries) && why; i++)
		why = library_load(libraries[i], functions, ARRAY_NR(functions));
	if (!why)
		return 0;
	err_set(e, -ENOTSUP, "--push: %s", why);
	err_hint(e, LIBRARY_HINT("libcurl"));
	return -ENOTSUP;
}

static size_t add_answer(char *data, size_t size, size_t nr, void *arg)
{
	struct push_http *h = arg;

	if (h->answer.len + size * nr > MAX_ANSWER_BYTES)
		return 0; /* ends the transfer */
	buf_add(&h->answer, data, size * nr);
	return size * nr;
}

/* Called each second at least. */
static int is_broken_off(void *arg, curl_off_t d, curl_off_t dn, curl_off_t u, curl_off_t un)
{
	const struct push_http *h = arg;

	(void)d;
	(void)dn;
	(void)u;
	(void)un;
	return h->end->is_over && *h->end->is_over;
}

static bool is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	return (a->sa_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) ||
	       (a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr));
}

/* Whatever localhost is resolved to. */
static curl_socket_t open_loopback(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	(void)arg;
	(void)purpose;
	return is_loopback(&a->addr) ? socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol)
				     : CURL_SOCKET_BAD;
}

static int add_header(struct push_http *h, const char *name, const char *value)
{
	char line[MAX_HEADER_BYTES];
	struct curl_slist *list;

	snprintf(line, sizeof(line), *value ? "%s: %s" : "%s:%s", name, value);
	list = curl.slist_append(h->headers, line);
	explicit_bzero(line, sizeof(line));
	h->headers = list ? list : h->headers;
	return list ? 0 : -ENOMEM;
}

static int add_headers(struct push_http *h)
{
	const struct push_interface *i = &push_interfaces[h->target->protocol];
	char token[PUSH_SECRET_BYTES + 16];
	int rc = add_header(h, "Content-Type", i->type)
		     ?: add_header(h, "Expect", "") /* else it waits a second for its permission */
		     ?: add_header(h, "Accept", i->answer_type ? i->answer_type : "*/*");

	if (i->encoding)
		rc = rc ?: add_header(h, "Content-Encoding", i->encoding);
	if (h->target->protocol == PUSH_PYROSCOPE)
		rc = rc ?: add_header(h, "Connect-Protocol-Version", "1");
	if (*h->credentials->secret && !h->credentials->is_basic) {
		snprintf(token, sizeof(token), "Bearer %s", h->credentials->secret);
		rc = rc ?: add_header(h, "Authorization", token);
		explicit_bzero(token, sizeof(token));
	}
	return rc;
}

#define SET(option, value) (rc = rc ?: curl.easy_setopt(h->easy, CURLOPT_##option, value))

static CURLcode set_options(struct push_http *h, const char *ca)
{
	const bool is_plain = h->target->is_plain;
	CURLcode rc = CURLE_OK;

	SET(NOSIGNAL, 1L);
	SET(PROTOCOLS, (long)(is_plain ? CURLPROTO_HTTP : CURLPROTO_HTTPS));
	SET(FOLLOWLOCATION, 0L);
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(NETRC, (long)CURL_NETRC_IGNORED);
	SET(CONNECTTIMEOUT, (long)CONNECT_S);
	SET(NOPROGRESS, 0L);
	SET(XFERINFOFUNCTION, is_broken_off);
	SET(XFERINFODATA, h);
	SET(POST, 1L);
	SET(HTTPHEADER, h->headers);
	SET(USERAGENT, "cpuperf/" CPUPERF_VERSION);
	SET(ERRORBUFFER, h->error);
	SET(WRITEFUNCTION, add_answer);
	SET(WRITEDATA, h);
	if (ca)
		SET(CAINFO, ca);
	if (is_plain) {
		SET(PROXY, "");
		SET(OPENSOCKETFUNCTION, open_loopback);
	}
	if (h->credentials->is_basic) {
		SET(HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(USERPWD, h->credentials->secret);
	}
	return rc;
}

int push_http_open(const struct push_target *target, const struct push_credentials *credentials,
		   const char *ca, struct push_http **out, struct err *e)
{
	struct push_http *h;
	CURLcode rc;
	int code = load(e);

	if (code)
		return code;
	h = mem_zalloc(sizeof(*h));
	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	h->target = target;
	h->credentials = credentials;
	buf_init(&h->answer, MAX_ANSWER_BYTES);
	h->easy = curl.global_init(CURL_GLOBAL_DEFAULT) ? NULL : curl.easy_init();
	rc = !h->easy || add_headers(h) ? CURLE_OUT_OF_MEMORY : set_options(h, ca);
	if (rc) {
		err_set(e, -EINVAL, "--push: %s", curl.easy_strerror(rc));
		push_http_close(h);
		return -EINVAL;
	}
	*out = h;
	return 0;
}

void push_http_close(struct push_http *h)
{
	if (!h)
		return;
	if (h->easy)
		curl.easy_cleanup(h->easy);
	for (struct curl_slist *i = h->headers; i; i = i->next)
		explicit_bzero(i->data, strlen(i->data));
	curl.slist_free_all(h->headers);
	buf_fini(&h->answer);
	mem_free(h);
}

static void read_answer(struct push_http *h, struct push_answer *out)
{
	curl_off_t after = 0;
	const char *type = NULL;

	(void)curl.easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &out->status);
	(void)curl.easy_getinfo(h->easy, CURLINFO_CONTENT_TYPE, &type);
	(void)curl.easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &after);
	snprintf(out->type, sizeof(out->type), "%s", type ? type : "");
	str_disarm(out->type);
	out->retry_after_s = after > 0 ? (uint64_t)after : 0;
	out->body = buf_str(&h->answer);
	out->body_bytes = h->answer.len;
}

void push_http_post(struct push_http *h, const char *query, const void *body, size_t len,
		    const struct push_http_end *end, struct push_answer *out)
{
	const struct push_target *t = h->target;
	const uint64_t ms = end->limit_ns / NS_PER_MS + 1; /* curl's 0 is no limit */
	BUF_AUTO(url, 4 * PUSH_URL_BYTES);
	CURLcode rc = CURLE_OK;

	*out = (struct push_answer){.body = ""};
	buf_reset(&h->answer);
	*h->error = '\0';
	h->end = end;
	buf_printf(&url, "%s%s%s", t->base, push_interfaces[t->protocol].path, query);
	if (buf_error(&url))
		rc = CURLE_URL_MALFORMAT;
	SET(URL, buf_str(&url));
	SET(TIMEOUT_MS, ms < REQUEST_MS ? (long)ms : (long)REQUEST_MS);
	SET(POSTFIELDS, body);
	SET(POSTFIELDSIZE_LARGE, (curl_off_t)len);
	rc = rc ?: curl.easy_perform(h->easy);
	if (rc == CURLE_OK) {
		read_answer(h, out);
		return;
	}
	snprintf(out->why, sizeof(out->why), "%s",
		 rc == CURLE_WRITE_ERROR           ? "the receiver's answer is too long"
		 : rc == CURLE_ABORTED_BY_CALLBACK ? "the receiver did not answer until the end"
		 : *h->error                       ? h->error
						   : curl.easy_strerror(rc));
	str_disarm(out->why);
}
