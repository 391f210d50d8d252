/* Who may ask: tokens, cookies, hosts, sites, and where a redirect leads. */
#include "kit.h"

#include "serve/guard.h"

#include <stdio.h>
#include <string.h>

static struct guard guard_at(const char *host, unsigned port)
{
	struct http_address where = {.port = port,
				     .is_loopback = strcmp(host, "0.0.0.0") != 0,
				     .is_any = strcmp(host, "0.0.0.0") == 0,
				     .is_ipv6 = strchr(host, ':') != NULL};
	struct guard g;

	snprintf(where.host, sizeof(where.host), "%s", host);
	assert_int_equal(guard_init(&g, &where), 0);
	return g;
}

static struct http_request request_of(const char *host, const char *cookie)
{
	return (struct http_request){.method = "GET", .path = "/", .host = host, .cookie = cookie};
}

TEST(tokens_are_random)
{
	struct guard a = guard_at("127.0.0.1", 80), b = guard_at("127.0.0.1", 80);

	assert_int_equal(strlen(a.token), GUARD_TOKEN_BYTES - 1);
	assert_int_equal(strspn(a.token, "0123456789abcdef"), GUARD_TOKEN_BYTES - 1);
	assert_string_not_equal(a.token, b.token);
}

TEST(cookies)
{
	static const struct {
		const char *before, *after;
		enum guard_verdict verdict;
	} cases[] = {
	    {"cpuperf-8080=", "", GUARD_PASS},
	    {"a=b; cpuperf-8080=", "; c=d", GUARD_PASS},
	    {"cpuperf-8080=x; cpuperf-8080=", "", GUARD_PASS},
	    {"cpuperf-8080=", "0", GUARD_TOKEN},
	    {"cpuperf-8081=", "", GUARD_TOKEN},
	    {"xcpuperf-8080=", "", GUARD_TOKEN},
	    {"cpuperf-8080", "", GUARD_TOKEN},
	};
	struct guard g = guard_at("127.0.0.1", 8080);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[128];
		struct http_request r = request_of("127.0.0.1:8080", text);

		snprintf(text, sizeof(text), "%s%s%s", cases[i].before, g.token, cases[i].after);
		assert_int_equal(guard_check(&g, &r), cases[i].verdict);
		text[strlen(cases[i].before) + 3] ^= 1;
		assert_int_equal(guard_check(&g, &r), GUARD_TOKEN);
	}
}

TEST(hosts)
{
	static const struct {
		const char *bound, *host;
		bool passes;
	} cases[] = {
	    {"127.0.0.1", "127.0.0.1:80", true},
	    {"127.0.0.1", "127.0.0.1", true},
	    {"127.0.0.1", "localhost", true},
	    {"127.0.0.1", "127.0.0.2", false},
	    {"127.0.0.1", "evil.example", false},
	    {"127.0.0.1", "localhost.evil.example", false},
	    {"127.0.0.1", "127.0.0.1:81", false},
	    {"127.0.0.1", NULL, false},
	    {"127.0.0.1", "", false},
	    {"127.0.0.1", ":80", false},
	    {"127.0.0.1", "[127.0.0.1]x", false},
	    {"::1", "[::1]:80", true},
	    {"::1", "[::1", false},
	    {"::1", "localhost:80", true},
	    {"0.0.0.0", "10.1.2.3:80", true},
	    {"0.0.0.0", "evil.example:80", false},
	    {"0.0.0.0", "[fe80::1]:80", true},
	    {"", "localhost", true},
	    {"", "localhost:1234", true},
	    {"", "evil.example", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct guard g = guard_at(cases[i].bound, 80);
		char cookie[128];
		struct http_request r = request_of(cases[i].host, cookie);

		snprintf(cookie, sizeof(cookie), "%s=%s", g.cookie, g.token);
		assert_int_equal(guard_check(&g, &r), cases[i].passes ? GUARD_PASS : GUARD_HOST);
	}
}

TEST(others)
{
	struct guard g = guard_at("127.0.0.1", 80);
	char cookie[128];
	struct http_request r = request_of("localhost", cookie);

	snprintf(cookie, sizeof(cookie), "%s=%s", g.cookie, g.token);
	r.fetch_site = "cross-site";
	assert_int_equal(guard_check(&g, &r), GUARD_SITE);
	r.fetch_site = "same-origin";
	assert_int_equal(guard_check(&g, &r), GUARD_PASS);
	r.has_more = true;
	assert_int_equal(guard_check(&g, &r), GUARD_LONG);
	r.method = "POST";
	assert_int_equal(guard_check(&g, &r), GUARD_METHOD);
	assert_int_equal(guard_status(GUARD_METHOD), HTTP_METHOD_NOT_ALLOWED);
}

TEST(enter)
{
	struct guard g = guard_at("127.0.0.1", 80);
	struct http_request r = request_of("localhost", NULL);
	BUF_AUTO(out, 4096);

	r.path = "//evil.example/\\a b";
	r.arguments[0] = (struct http_argument){"view", "a&b=\r\nc"};
	r.arguments[1] = (struct http_argument){"token", g.token};
	r.nr_arguments = 2;
	assert_int_equal(guard_check(&g, &r), GUARD_ENTER);
	guard_location(&r, &out);
	assert_string_equal(buf_str(&out), "/evil.example/%5Ca%20b?view=a%26b%3D%0D%0Ac");
	buf_reset(&out);
	guard_cookie(&g, &out);
	assert_non_null(strstr(buf_str(&out), g.token));
	assert_non_null(strstr(buf_str(&out), "; HttpOnly; SameSite=Strict"));
	r.arguments[1].value = "x";
	assert_int_equal(guard_check(&g, &r), GUARD_TOKEN);
}

/* Of metrics, which whoever reaches the machine may read. */
TEST(hosts_of_a_network)
{
	static const struct {
		const char *at, *asked;
		bool is_known;
	} rows[] = {
	    {"127.0.0.1", "127.0.0.1:9712", true},
	    {"127.0.0.1", "localhost:9712", true},
	    {"127.0.0.1", "node1:9712", false},
	    {"127.0.0.1", "evil.example:9712", false},
	    {"127.0.0.1", NULL, false},
	    {"0.0.0.0", "10.0.0.1:80", true}, /* forwarded */
	    {"0.0.0.0", "[::1]:9712", true},
	    {"0.0.0.0", "localhost", true},
	    {"0.0.0.0", "node1:9712", true},
	    {"0.0.0.0", "NODE1.other.example", true},
	    {"0.0.0.0", "node12", false},
	    {"0.0.0.0", "node", false},
	    {"0.0.0.0", "evil.example:9712", false},
	    {"0.0.0.0", "", false},
	    {"0.0.0.0", NULL, false},
	    {"", "anything", true}, /* a socket of the file system: no browser gets there */
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct guard g = guard_at(rows[i].at, 9712);

		if (guard_is_host_of_network(&g.where, "node1.own.example", rows[i].asked) !=
		    rows[i].is_known)
			fail_msg("%s: %s", rows[i].at, rows[i].asked);
	}
	assert_false(guard_is_host_of_network(
	    &(struct http_address){.host = "0.0.0.0", .is_any = true}, "", "evil.example"));
}
