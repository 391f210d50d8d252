#include "push/target.h"

#include "base/err.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const struct push_interface push_interfaces[PUSH_NR_PROTOCOLS] = {
    [PUSH_PYROSCOPE] = {"pyroscope", "/push.v1.PusherService/Push", "application/proto", NULL,
			"application/proto"},
    [PUSH_INGEST] = {"ingest", "/ingest", "application/octet-stream", NULL, NULL},
    [PUSH_PARCA] = {"parca", "/profiles/writeraw", "application/json", NULL, "application/json"},
    [PUSH_OTLP] = {"otlp", "/v1development/profiles", "application/x-protobuf", "gzip",
		   "application/x-protobuf"},
};

/* The rest of the URL behind the interface and a +; NULL: there is none. */
static const char *find_protocol(const char *url, enum push_protocol *out)
{
	for (int i = 0; i < PUSH_NR_PROTOCOLS; i++) {
		const char *scheme = push_interfaces[i].scheme;
		size_t len = strlen(scheme);

		*out = (enum push_protocol)i;
		if (strncmp(url, scheme, len) == 0 && url[len] == '+')
			return url + len + 1;
	}
	return NULL;
}

static bool is_loopback(const char *host)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six);
	return strcmp(host, "localhost") == 0;
}

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT". */
static int divide(const char *authority, char *host, size_t size)
{
	const bool is_six = *authority == '[';
	const char *begin = authority + is_six, *end = strpbrk(begin, is_six ? "]" : ":");
	const char *port = end ? end + is_six : NULL;
	uint64_t number;

	if (!end && is_six)
		return -EINVAL;
	end = end ? end : begin + strlen(begin);
	if (end == begin || (size_t)(end - begin) >= size)
		return -EINVAL;
	snprintf(host, size, "%.*s", (int)(end - begin), begin);
	if (strspn(host,
		   is_six ? "0123456789abcdefABCDEF:."
			  : "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._") !=
	    strlen(host))
		return -EINVAL;
	if (!port || !*port)
		return 0;
	return *port != ':' || str_parse_u64(port + 1, &number) || !number || number > UINT16_MAX
		   ? -EINVAL
		   : 0;
}

static bool is_clean(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s > '~' || strchr("\"'<>\\^`{|}?#", *s))
			return false;
	return true;
}

static int refuse(const char *url, const char *why, struct err *e)
{
	err_set(e, -EINVAL, "--push=%.200s: %s", url, why);
	err_hint(e, "for example pyroscope+https://HOST:4040, parca+http://127.0.0.1:7070 or "
		    "otlp+https://HOST:4318");
	return -EINVAL;
}

int push_target_parse(const char *url, struct push_target *out, struct err *e)
{
	static const char secure[] = "https://", plain[] = "http://";
	struct push_target t = {.protocol = PUSH_PYROSCOPE};
	char authority[256], host[256];
	const char *rest = find_protocol(url, &t.protocol), *path;
	size_t len;

	if (strchr(url, '@')) {
		err_set(e, -EINVAL, "--push: the URL has a user or a password (@)");
		err_hint(e, "others can read it there: use --push-credentials=FILE");
		return -EINVAL;
	}
	if (!rest)
		return refuse(url, "begins with no interface", e);
	t.is_plain = strncmp(rest, plain, strlen(plain)) == 0;
	if (!t.is_plain && strncmp(rest, secure, strlen(secure)) != 0)
		return refuse(url, "is neither https:// nor http://", e);
	if (!is_clean(url) || strlen(rest) >= sizeof(t.base))
		return refuse(
		    url, "has a query, a fragment or characters that no URL has, or is too long",
		    e);
	path = rest + strlen(t.is_plain ? plain : secure);
	len = strcspn(path, "/");
	if (len >= sizeof(authority))
		return refuse(url, "has no valid host and port", e);
	snprintf(authority, sizeof(authority), "%.*s", (int)len, path);
	if (divide(authority, host, sizeof(host)))
		return refuse(url, "has no valid host and port", e);
	if (t.is_plain && !is_loopback(host)) {
		err_set(e, -EINVAL, "--push=%s: http:// is not encrypted", url);
		err_hint(e, "use https://; http:// is for 127.0.0.1, [::1] and localhost");
		return -EINVAL;
	}
	snprintf(t.base, sizeof(t.base), "%s", rest);
	for (len = strlen(t.base); t.base[len - 1] == '/'; len--)
		t.base[len - 1] = '\0';
	snprintf(t.place, sizeof(t.place), "%s at %s", push_interfaces[t.protocol].scheme,
		 authority);
	*out = t;
	return 0;
}
