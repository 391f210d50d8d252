/*
 * Tokens are compared in the same time wherever they differ.
 */
#include "serve/guard.h"

#include "base/array.h"
#include "base/str.h"
#include "base/sys.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char token_name[] = "token";

int guard_init(struct guard *g, const struct http_address *where)
{
	uint8_t random[(GUARD_TOKEN_BYTES - 1) / 2];
	int rc = sys()->getrandom(random, sizeof(random));

	if (rc != (int)sizeof(random))
		return rc < 0 ? rc : -EIO;
	*g = (struct guard){.where = *where};
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(g->token + 2 * i, 3, "%02x", random[i]);
	snprintf(g->cookie, sizeof(g->cookie), "cpuperf-%u", where->port);
	return 0;
}

static bool is_token(const struct guard *g, const char *text, size_t len)
{
	unsigned char differs = len != GUARD_TOKEN_BYTES - 1;

	for (size_t i = 0; i < GUARD_TOKEN_BYTES - 1; i++)
		differs |= (unsigned char)(g->token[i] ^ (i < len ? text[i] : 0));
	return !differs;
}

static const char *token_of(const struct http_request *r)
{
	const struct http_argument *found =
	    ARRAY_FIND(x, r->arguments, r->nr_arguments, strcmp(x->name, token_name) == 0);

	return found ? found->value : NULL;
}

/* "a=1; NAME=TOKEN": browsers send no other form. */
static bool has_cookie(const struct guard *g, const char *header)
{
	const size_t name_len = strlen(g->cookie);

	while (header && *header) {
		size_t len = strcspn(header, ";");

		if (len > name_len && header[name_len] == '=' &&
		    strncmp(header, g->cookie, name_len) == 0 &&
		    is_token(g, header + name_len + 1, len - name_len - 1))
			return true;
		header += len;
		header += strspn(header, "; ");
	}
	return false;
}

static bool is_numeric(const char *host, bool is_ipv6)
{
	struct in6_addr room;

	return inet_pton(is_ipv6 ? AF_INET6 : AF_INET, host, &room) == 1;
}

/* Divides "HOST:PORT", "[HOST]:PORT" or "HOST"; without a port it is 80. */
static bool divide(const char *text, char host[HTTP_HOST_BYTES], uint64_t *port, bool *is_ipv6)
{
	const char *end;
	size_t len;

	*is_ipv6 = *text == '[';
	text += *is_ipv6;
	len = strcspn(text, *is_ipv6 ? "]" : ":");
	end = text + len;
	if (!len || len >= HTTP_HOST_BYTES || (*is_ipv6 && *end++ != ']'))
		return false;
	snprintf(host, HTTP_HOST_BYTES, "%.*s", (int)len, text);
	*port = 80;
	return !*end || (*end == ':' && str_parse_u64(end + 1, port) == 0);
}

/* A server of all addresses cannot know by which one it is reached: any number will do, as only
 * names can be made to mean this machine. */
bool guard_is_host(const struct http_address *where, const char *text)
{
	char host[HTTP_HOST_BYTES];
	bool is_ipv6;
	uint64_t port;

	if (!text || !divide(text, host, &port, &is_ipv6))
		return false;
	if (!*where->host) /* a socket in the file system */
		return strcasecmp(host, "localhost") == 0;
	if (port != where->port)
		return false;
	if (strcasecmp(host, "localhost") == 0)
		return where->is_loopback || where->is_any;
	return where->is_any ? is_numeric(host, is_ipv6) : strcasecmp(host, where->host) == 0;
}

/* "node1", "node1.cluster.example", for a machine that calls itself one of these. */
static bool is_machine(const char *host, const char *machine)
{
	const size_t len = strcspn(machine, ".");

	return len && strncasecmp(host, machine, len) == 0 && (!host[len] || host[len] == '.');
}

bool guard_is_host_of_network(const struct http_address *where, const char *machine,
			      const char *text)
{
	char host[HTTP_HOST_BYTES];
	bool is_ipv6;
	uint64_t port;

	if (!*where->host || guard_is_host(where, text))
		return true;
	if (where->is_loopback || !text || !divide(text, host, &port, &is_ipv6))
		return false;
	return is_numeric(host, is_ipv6) || strcasecmp(host, "localhost") == 0 ||
	       is_machine(host, machine);
}

/* Browsers say who asks; others need not. What a page of another site shows or fetches is refused
 * even if its cookies come with it. */
static bool is_own_site(const char *fetch_site)
{
	return !fetch_site || strcmp(fetch_site, "same-origin") == 0 ||
	       strcmp(fetch_site, "none") == 0;
}

enum guard_verdict guard_check(const struct guard *g, const struct http_request *r)
{
	const char *token = token_of(r);

	if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0)
		return GUARD_METHOD;
	if (!guard_is_host(&g->where, r->host))
		return GUARD_HOST;
	if (token)
		return is_token(g, token, strlen(token)) ? GUARD_ENTER : GUARD_TOKEN;
	if (!has_cookie(g, r->cookie))
		return GUARD_TOKEN;
	if (!is_own_site(r->fetch_site))
		return GUARD_SITE;
	return r->has_more ? GUARD_LONG : GUARD_PASS;
}

static const struct {
	unsigned status;
	const char *reason;
} verdicts[GUARD_NR_VERDICTS] = {
    [GUARD_PASS] = {HTTP_OK, ""},
    [GUARD_ENTER] = {HTTP_SEE_OTHER, ""},
    [GUARD_METHOD] = {HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n"},
    [GUARD_HOST] = {HTTP_FORBIDDEN,
		    "the header Host is not the address at which this server listens\n"},
    [GUARD_TOKEN] = {HTTP_FORBIDDEN,
		     "no token, or a wrong one: open the URL that the program printed\n"},
    [GUARD_SITE] = {HTTP_FORBIDDEN, "another site's page asks for this\n"},
    [GUARD_LONG] = {HTTP_URI_TOO_LONG, "too many arguments\n"},
};

const char *guard_reason(enum guard_verdict verdict)
{
	return verdicts[verdict].reason;
}

unsigned guard_status(enum guard_verdict verdict)
{
	return verdicts[verdict].status;
}

static void encode(struct buf *out, const char *text, const char *plain)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c < 0x80 && (isalnum(c) || strchr(plain, c)))
			buf_addc(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

void guard_location(const struct http_request *r, struct buf *out)
{
	char separator = '?';

	/* one slash: two would be followed by a host */
	buf_addc(out, '/');
	encode(out, r->path + strspn(r->path, "/"), "-._~/");
	for (size_t i = 0; i < r->nr_arguments; i++) {
		const struct http_argument *a = &r->arguments[i];

		if (strcmp(a->name, token_name) == 0)
			continue;
		buf_addc(out, separator);
		separator = '&';
		encode(out, a->name, "-._~");
		buf_addc(out, '=');
		encode(out, a->value, "-._~");
	}
}

void guard_cookie(const struct guard *g, struct buf *out)
{
	buf_printf(out, "%s=%s; Path=/; HttpOnly; SameSite=Strict", g->cookie, g->token);
}

void guard_url(const struct guard *g, struct buf *out)
{
	http_add_address(&g->where, out);
	buf_printf(out, "/?%s=%s", token_name, g->token);
}
