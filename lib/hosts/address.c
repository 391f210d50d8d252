/*
 * Lists of hosts. A name goes to ssh, and into a file name.
 */
#include "hosts/address.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LIST_BYTES = 1 << 20, MAX_PORT = 65535 };

struct list {
	struct hosts_addresses all;
	size_t room;
	struct err *e;
};

static int refuse(struct err *e, const char *name, const char *why)
{
	err_set(e, -EINVAL, "--hosts: \"%.64s\" %s", name, why);
	err_hint(e, "name hosts as [USER@]HOST[:PORT], separated by commas, or @FILE");
	return -EINVAL;
}

/* Spaces, control characters and what a shell or a URL would need are in no host's name. */
static bool is_plain(const char *text)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:%@[]+";

	return *text && !text[strspn(text, plain)];
}

/* Cuts a port off target: after the only colon, or after brackets, which are removed. */
static int take_port(struct hosts_address *a, struct err *e)
{
	char *host = strrchr(a->target, '@'), *colon, *end;
	uint64_t port;

	host = host ? host + 1 : a->target;
	colon = strrchr(host, ':');
	if (*host == '[') {
		end = strchr(host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return refuse(e, a->name, "has a bracket without the other");
		colon = end[1] ? end + 1 : NULL;
		*end = '\0';
		memmove(host, host + 1, (size_t)(end - host));
	} else if (colon != strchr(host, ':')) {
		colon = NULL; /* an IPv6 address */
	}
	if (!colon)
		return 0;
	if (str_parse_u64(colon + 1, &port) || !port || port > MAX_PORT)
		return refuse(e, a->name, "has an invalid port");
	snprintf(a->port, sizeof(a->port), "%u", (unsigned)port);
	if (*host != '[')
		*colon = '\0';
	return 0;
}

static int parse(const char *text, size_t len, struct hosts_address *a, struct err *e)
{
	const char *host;
	int rc;

	*a = (struct hosts_address){.port = ""};
	if (len >= sizeof(a->name))
		return refuse(e, "", "is too long");
	memcpy(a->name, text, len);
	if (!is_plain(a->name))
		return refuse(e, a->name,
			      len ? "has a character that no host's name has" : "is no name");
	memcpy(a->target, a->name, len);
	rc = take_port(a, e);
	if (rc)
		return rc;
	host = strrchr(a->target, '@');
	host = host ? host + 1 : a->target;
	if (*a->target == '-' || *host == '-')
		return refuse(e, a->name, "begins with -");
	if (!*host || *a->target == '@' || strchr(a->target, '@') != strrchr(a->target, '@') ||
	    strpbrk(host, "[]"))
		return refuse(e, a->name, "is not [USER@]HOST[:PORT]");
	return 0;
}

static int add(struct list *l, const char *text, size_t len)
{
	struct hosts_address a, *item;
	int rc = parse(text, len, &a, l->e);

	if (rc)
		return rc;
	if (ARRAY_ANY(x, l->all.item, l->all.nr, strcmp(x->name, a.name) == 0))
		return refuse(l->e, a.name, "is named twice");
	if (l->all.nr == HOSTS_MAX_HOSTS)
		return err_set(l->e, -E2BIG, "--hosts: more than %d hosts", HOSTS_MAX_HOSTS);
	item = MEM_ADD(l->all.item, l->all.nr, l->room);
	if (!item)
		return err_set(l->e, -ENOMEM, "out of memory");
	*item = a;
	return 0;
}

static int add_names(struct list *l, const char *text)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		int rc = add(l, text, len);

		if (rc || !text[len])
			return rc;
		text += len + 1;
	}
}

static int add_lines(struct list *l, const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;

	while ((line = str_next_line(&text, end, &stop))) {
		const char *comment = memchr(line, '#', (size_t)(stop - line));
		int rc;

		stop = comment ? comment : stop;
		while (line < stop && strchr(" \t\r", *line))
			line++;
		while (line < stop && strchr(" \t\r", stop[-1]))
			stop--;
		rc = line < stop ? add(l, line, (size_t)(stop - line)) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

static int add_file(struct list *l, const char *path)
{
	BUF_AUTO(text, MAX_LIST_BYTES);
	IO_AUTO_FD int fd = io_open_input(path, l->e);
	int rc = fd < 0 ? fd : io_load_fd(fd, &text);

	if (rc)
		return err_set_at(l->e, rc, path, 0, 0, "cannot be read: %s", strerror(-rc));
	if (memchr(buf_str(&text), '\0', text.len))
		return err_set_at(l->e, -EINVAL, path, 0, 0, "is not text");
	return add_lines(l, buf_str(&text), text.len);
}

int hosts_address_list(const char *list, struct hosts_addresses *out, struct err *e)
{
	struct list l = {.e = e};
	int rc = *list == '@' ? add_file(&l, list + 1) : add_names(&l, list);

	if (rc == 0 && !l.all.nr)
		rc = err_set(e, -EINVAL, "--hosts=%s: names no host", list);
	if (rc)
		hosts_address_free(&l.all);
	else
		*out = l.all;
	return rc;
}

void hosts_address_free(struct hosts_addresses *a)
{
	mem_free(a->item);
	*a = (struct hosts_addresses){.nr = 0};
}
