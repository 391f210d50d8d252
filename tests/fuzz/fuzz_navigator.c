/*
 * Any bytes as a request to the navigator, a line each: method, path, Host, Cookie, Sec-Fetch-Site,
 * then names and values of arguments by turns. Who lacks the token never passes; where a redirect
 * leads is a path of this server; what an argument says is an option or an error.
 */
#include "base/err.h"
#include "base/mem.h"
#include "navigator/query.h"
#include "serve/guard.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char token[] = "0123456789abcdef0123456789abcdef";

static void require(int holds)
{
	if (!holds)
		abort();
}

static const char *next_line(char **at)
{
	return *at ? strsep(at, "\n") : NULL;
}

static void read_request(char *text, struct http_request *r)
{
	const char *method = next_line(&text), *path = next_line(&text), *name;

	*r = (struct http_request){.method = method ? method : "", .path = path ? path : "/"};
	r->host = next_line(&text);
	r->cookie = next_line(&text);
	r->fetch_site = next_line(&text);
	while ((name = next_line(&text)) && r->nr_arguments < HTTP_MAX_ARGUMENTS) {
		const char *value = next_line(&text);

		r->arguments[r->nr_arguments++] = (struct http_argument){name, value ? value : ""};
	}
}

static void judge(const struct http_request *r)
{
	static const struct http_address places[] = {
	    {.host = "127.0.0.1", .port = 8080, .is_loopback = true},
	    {.host = "::1", .port = 8080, .is_loopback = true, .is_ipv6 = true},
	    {.host = "0.0.0.0", .port = 8080, .is_any = true},
	    {.host = ""}};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct guard g = {.where = places[i], .cookie = "cpuperf-8080"};
		enum guard_verdict verdict;
		int has_token = r->cookie && strstr(r->cookie, token);

		memcpy(g.token, token, sizeof(token));
		for (size_t k = 0; k < r->nr_arguments; k++)
			has_token |= strcmp(r->arguments[k].value, token) == 0;
		verdict = guard_check(&g, r);
		require(verdict < GUARD_NR_VERDICTS);
		require(has_token || (verdict != GUARD_PASS && verdict != GUARD_ENTER));
		require((guard_status(verdict) >= 400) == (*guard_reason(verdict) != '\0'));
	}
}

static void redirect(const struct http_request *r)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	guard_location(r, &out);
	require(buf_str(&out)[0] == '/' && buf_str(&out)[1] != '/' && buf_str(&out)[1] != '\\');
	for (const char *c = buf_str(&out); *c; c++)
		require(*c > ' ' && *c < 0x7f);
	buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct options base = {.output_format = "text"};
	char *text = malloc(size + 1);
	struct http_request r;
	struct query *q = NULL;
	struct err e = {0};

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	read_request(text, &r);
	judge(&r);
	redirect(&r);
	require((query_new(&base, &r, &q, &e) == 0) == (e.code == 0));
	query_free(q);
	free(text);
	return 0;
}
