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

/* This agent, and the one for the machine's other programs, which stands beside it. */
static const char *const names[] = {
#if defined(__i386__)
    "libcpuperf-agent-i386.so",
    "libcpuperf-agent.so",
#else
    "libcpuperf-agent.so",
    "libcpuperf-agent-i386.so",
#endif
};

enum { NR_KINDS = sizeof(names) / sizeof(*names), NAME_BYTES = 32, NO_KIND = -1 };

/* The variables that loaded the agent into this program. */
static struct {
	/* by names: the entry of LD_PRELOAD; "": not known */
	char library[NR_KINDS][PATH_MAX + NAME_BYTES];
	char variable[64]; /* CPUPERF_HEAP */
} kept;

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

/* The index in names of the agent that the entry names; NO_KIND: it names another library. */
static int kind_of(const char *entry, size_t len)
{
	for (int i = 0; i < NR_KINDS; i++) {
		const size_t own = strlen(names[i]);

		if (len >= own && memcmp(entry + len - own, names[i], own) == 0 &&
		    (len == own || entry[len - own - 1] == '/'))
			return i;
	}
	return NO_KIND;
}

static bool is_own(const char *entry, size_t len)
{
	return kind_of(entry, len) != NO_KIND;
}

/* How many entries are of that kind. */
static size_t count_kind(const char *list, int kind)
{
	size_t nr = 0;

	for (;;) {
		size_t len = entry_len(list);

		nr += kind_of(list, len) == kind;
		list += len;
		if (!*list++)
			return nr;
	}
}

static bool has_own(const char *list)
{
	return count_kind(list, 0) || count_kind(list, 1);
}

/* Whether the list names an agent that a program of that kind can load, and none of the other kind.
 */
static bool has_only(const char *list, bool is_other)
{
	return count_kind(list, is_other) && !count_kind(list, !is_other);
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

/* --- what is added */

enum { MAX_PATH = 1024 }; /* the stack may be small */

/* After a change of the root folder or of the user it may not be there. */
static bool is_readable(const char *path, size_t len)
{
	char copy[MAX_PATH];
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

/* Of an entry that loaded this agent; the other one's name has another end. */
static void keep_library(const char *entry, size_t len)
{
	const size_t own = strlen(names[0]);

	if (len >= PATH_MAX || kind_of(entry, len) != 0)
		return;
	memcpy(kept.library[0], entry, len);
	kept.library[0][len] = '\0';
	memcpy(kept.library[1], entry, len - own);
	memcpy(kept.library[1] + len - own, names[1], strlen(names[1]) + 1);
}

void agent_environment_keep(char *const *environment)
{
	for (; environment && *environment; environment++) {
		const char *list = *environment + sizeof(preload) - 1;
		size_t len = strlen(*environment);

		if (BEGINS_WITH(*environment, socket_name) && len < sizeof(kept.variable))
			memcpy(kept.variable, *environment, len + 1);
		if (!is_own_preload(*environment))
			continue;
		while (len = entry_len(list), !is_own(list, len))
			list += len + 1;
		keep_library(list, len);
	}
}

bool agent_environment_has_other(void)
{
	const char *other = kept.library[1];

	return strchr(other, '/') && is_readable(other, strlen(other));
}

/* No longer than it was, as the other name is shorter. */
static void exchange_own(char *list)
{
	const size_t own = strlen(names[0]), other = strlen(names[1]);

	for (;;) {
		size_t len = entry_len(list);

		if (kind_of(list, len) == 0) {
			memcpy(list + len - own, names[1], other);
			memmove(list + len - own + other, list + len, strlen(list + len) + 1);
			len -= own - other;
		}
		list += len;
		if (!*list++)
			break;
	}
}

void agent_environment_settle(char *const *environment)
{
	struct loadable_judged shell;

	if (strlen(names[1]) >= strlen(names[0]))
		return;
	loadable_judge(AT_FDCWD, "/bin/sh", &shell);
	if (shell.answer != LOADABLE_OTHER)
		return;
	for (; environment && *environment; environment++)
		if (is_own_preload(*environment))
			exchange_own(*environment + sizeof(preload) - 1);
}

/* Which of both the environment has, as that kind of program needs it. */
struct has {
	size_t nr; /* variables */
	bool library, variable;
};

static struct has look_at(char *const *environment, bool is_other)
{
	struct has has = {0};

	for (; environment && environment[has.nr]; has.nr++) {
		has.library =
		    has.library || (BEGINS_WITH(environment[has.nr], preload) &&
				    has_only(environment[has.nr] + sizeof(preload) - 1, is_other));
		has.variable = has.variable || BEGINS_WITH(environment[has.nr], socket_name);
	}
	return has;
}

size_t agent_environment_bytes_with(char *const *environment, bool is_other)
{
	const struct has has = look_at(environment, is_other);
	const char *library = kept.library[is_other];
	const size_t more = sizeof(preload) + strlen(library) + 1;
	size_t text = more;

	if ((has.library && has.variable) || !*library || !*kept.variable)
		return 0;
	for (size_t i = 0; i < has.nr; i++)
		if (BEGINS_WITH(environment[i], preload))
			text += strlen(environment[i]) + more;
	return (has.nr + 3) * sizeof(*environment) + text;
}

static char *write_preload(char *to, const char *library, const char *list)
{
	const size_t prefix = sizeof(preload) - 1, own = strlen(library);
	size_t len;

	memcpy(to, preload, prefix);
	to += prefix;
	memcpy(to, library, own + 1);
	to += own;
	len = copy_others(list, to + 1);
	*to = len ? ':' : '\0';
	return to + 1 + len + !!len;
}

/* As cpuperf does for its command: before what is there, where an allocator may be. */
char *const *agent_environment_copy_with(char *const *environment, void *to, bool is_other)
{
	const struct has has = look_at(environment, is_other);
	const char *library = kept.library[is_other];
	char **variable = to, *text = (char *)(variable + has.nr + 3);
	bool has_library = has.library;

	for (size_t i = 0; i < has.nr; i++) {
		if (has.library || !BEGINS_WITH(environment[i], preload)) {
			*variable++ = environment[i];
			continue;
		}
		*variable++ = text;
		text = write_preload(text, library, environment[i] + sizeof(preload) - 1);
		has_library = true;
	}
	if (!has_library) {
		*variable++ = text;
		(void)write_preload(text, library, "");
	}
	if (!has.variable)
		*variable++ = kept.variable;
	*variable = NULL;
	return to;
}

/* --- the judge */

static enum heap_miss judge_list(const char *list, int kind)
{
	for (;;) {
		size_t len = entry_len(list);

		if (kind_of(list, len) == kind && !is_readable(list, len))
			return HEAP_MISS_AGENT;
		if (loadable_is_sanitizer(list, len))
			return HEAP_MISS_SANITIZER;
		list += len;
		if (!*list++)
			return HEAP_MISS_NONE;
	}
}

enum heap_miss agent_environment_judge(char *const *environment, bool is_other)
{
	enum heap_miss why = HEAP_MISS_NONE;
	bool has_own_entry = false;

	for (; environment && *environment && !why; environment++) {
		const char *list = *environment + sizeof(preload) - 1;

		if (!BEGINS_WITH(*environment, preload))
			continue;
		why = judge_list(list, is_other);
		has_own_entry = has_own_entry || has_only(list, is_other);
	}
	if (!why && !has_own_entry && *kept.library[is_other])
		why = judge_list(kept.library[is_other], is_other);
	return why;
}

/* Pages of which one string after the other is, mostly, are asked for once. */
bool agent_environment_is_readable(char *const *environment)
{
	enum { PAGE = 4096 };
	uint64_t list_page = UINT64_MAX, text_page = UINT64_MAX;

	for (; environment; environment++) {
		const uint64_t end = (uintptr_t)(environment + 1) - 1;
		const char *text;

		if (end / PAGE != list_page &&
		    !agent_is_readable(environment, sizeof(*environment)))
			return false;
		list_page = end / PAGE;
		text = *environment;
		if (!text)
			break;
		for (;; text++) {
			if ((uintptr_t)text / PAGE != text_page && !agent_is_readable(text, 1))
				return false;
			text_page = (uintptr_t)text / PAGE;
			if (!*text)
				break;
		}
	}
	return true;
}
