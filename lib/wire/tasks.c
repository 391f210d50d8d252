/*
 * The line NSpid of a status: the numbers of a task, from this namespace to its own.
 */
#include "wire/tasks.h"

#include "base/buf.h"
#include "base/root.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { STATUS_BYTES = 64 << 10 };

/* The last number of NSpid, and how many there are. False: there is no such task or line. */
static bool read_numbers(const struct root *root, const char *path, uint32_t *last, uint32_t *nr)
{
	BUF_AUTO(text, STATUS_BYTES);
	const char *at;
	uint64_t number = 0;

	if (root_load(root, path, &text) || buf_error(&text))
		return false;
	at = strstr(buf_str(&text), "\nNSpid:");
	if (!at)
		return false;
	*nr = 0;
	for (at += strlen("\nNSpid:"); *at == '\t' || *at == ' '; ++*nr) {
		at += strspn(at, "\t ");
		for (number = 0; *at >= '0' && *at <= '9' && number < UINT32_MAX; at++)
			number = 10 * number + (uint64_t)(*at - '0');
	}
	*last = (uint32_t)number;
	return *nr > 0;
}

bool wire_is_nested(const struct root *root, uint32_t pid)
{
	uint32_t last, nr;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return read_numbers(root, path, &last, &nr) && nr > 1;
}

struct search {
	const struct root *root;
	uint32_t pid, inner, found;
};

static int look_at(const char *name, void *arg)
{
	struct search *s = arg;
	uint32_t last, nr;
	uint64_t tid;
	char path[96];

	if (str_parse_u64(name, &tid) || tid > UINT32_MAX)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", s->pid, (uint32_t)tid);
	if (!read_numbers(s->root, path, &last, &nr) || last != s->inner)
		return 0;
	s->found = (uint32_t)tid;
	return 1;
}

uint32_t wire_find_thread(const struct root *root, uint32_t pid, uint32_t inner)
{
	struct search s = {.root = root, .pid = pid, .inner = inner};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	(void)root_each(root, path, look_at, &s);
	return s.found;
}
