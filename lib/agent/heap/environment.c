/*
 * The environment that a program gets which cannot load the agent: without the agent in LD_PRELOAD,
 * and without the variable by which it connects. This may run in a child by vfork: no allocation,
 * no lock, and nothing of the parent's is changed.
 */
#include "agent/heap/agent.h"
#include "wire/loadable.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char preload[] = "LD_PRELOAD=", socket_name[] = "CPUPERF_HEAP=";
static const char own_name[] = "libcpuperf-agent.so";

#define BEGINS_WITH(text, literal) (strncmp(text, literal, sizeof(literal) - 1) == 0)

/* --- entries of LD_PRELOAD, which colons and spaces separate */

static bool is_separator(char c)
{
	return c == ':' || c == ' ';
}

static size_t entry_len(const char *at)
{
	size_t len = 0;

	while (at[len] && !is_separator(at[len]))
		len++;
	return len;
}

static bool is_own(const char *entry, size_t len)
{
	const size_t own = sizeof(own_name) - 1;

	return len >= own && memcmp(entry + len - own, own_name, own) == 0 &&
	       (len == own || entry[len - own - 1] == '/');
}

static bool has_own(const char *list)
{
	for (;;) {
		size_t len = entry_len(list);

		if (is_own(list, len))
			return true;
		list += len;
		if (!*list++)
			return false;
	}
}

/* Without our entries, each of which goes with the separator behind it, or, at the end, the one
 * before. The length of what is left. */
static size_t copy_others(const char *list, char *to)
{
	size_t nr = 0;

	for (;;) {
		size_t len = entry_len(list);
		bool is_last = !list[len];

		if (!is_own(list, len)) {
			memcpy(to + nr, list, len + !is_last);
			nr += len + !is_last;
		} else if (is_last && nr) {
			nr--;
		}
		if (is_last)
			break;
		list += len + 1;
	}
	to[nr] = '\0';
	return nr;
}

/* --- the environment */

static bool is_own_preload(const char *variable)
{
	return BEGINS_WITH(variable, preload) && has_own(variable + sizeof(preload) - 1);
}

size_t agent_environment_bytes(char *const *environment)
{
	size_t nr = 0, text = 0;
	bool has_ours = false;

	for (; environment && environment[nr]; nr++) {
		if (is_own_preload(environment[nr]))
			text += strlen(environment[nr]) + 1;
		has_ours = has_ours || text || BEGINS_WITH(environment[nr], socket_name);
	}
	return has_ours ? (nr + 1) * sizeof(*environment) + text : 0;
}

char *const *agent_environment_copy(char *const *environment, void *to)
{
	const size_t prefix = sizeof(preload) - 1;
	char **variable = to, *text;
	size_t nr = 0, left;

	while (environment[nr])
		nr++;
	text = (char *)(variable + nr + 1);
	for (; *environment; environment++) {
		if (BEGINS_WITH(*environment, socket_name))
			continue;
		if (!is_own_preload(*environment)) {
			*variable++ = *environment;
			continue;
		}
		memcpy(text, preload, prefix);
		left = copy_others(*environment + prefix, text + prefix);
		if (!left)
			continue;
		*variable++ = text;
		text += prefix + left + 1;
	}
	*variable = NULL;
	return to;
}

/* After a change of the root folder or of the user it may not be there. */
static bool is_readable(const char *path, size_t len)
{
	char copy[PATH_MAX];
	int fd;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, path, len);
	copy[len] = '\0';
	if (!memchr(copy, '/', len)) /* the loader searches for it */
		return true;
	fd = (int)syscall(SYS_openat, AT_FDCWD, copy, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)syscall(SYS_close, fd);
	return fd >= 0;
}

static bool is_usable(const char *list)
{
	for (;;) {
		size_t len = entry_len(list);

		if (is_own(list, len) ? !is_readable(list, len) : loadable_is_sanitizer(list, len))
			return false;
		list += len;
		if (!*list++)
			return true;
	}
}

bool agent_environment_is_usable(char *const *environment)
{
	for (; environment && *environment; environment++)
		if (is_own_preload(*environment) && !is_usable(*environment + sizeof(preload) - 1))
			return false;
	return true;
}
