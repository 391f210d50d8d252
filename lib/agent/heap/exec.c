/*
 * The functions that execute a program. One that can load the agent gets it, also if the program
 * has an environment of its own for it; any other gets an environment without it, as its loader
 * would complain, or the program would end, and the recorder says which and why. All of this may
 * run in a child by vfork, whose memory is its parent's, or in a signal handler.
 */
#include "agent/heap/agent.h"
#include "wire/loadable.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOOK __attribute__((visibility("default"))) AGENT_ALIGNS

static struct {
	int (*execve)(const char *, char *const *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*execveat)(int, const char *, char *const *, char *const *, int);
	int (*fexecve)(int, char *const *, char *const *);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const *, char *const *);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const *, char *const *);
	bool is_found;
} real;

#define FIND(name)                                                                                 \
	do {                                                                                       \
		void *found_ = agent_find(#name);                                                  \
                                                                                                   \
		if (found_)                                                                        \
			memcpy(&real.name, &found_, sizeof(found_));                               \
	} while (0)

/* In advance, as the dynamic loader has locks, which a child may not wait for. */
__attribute__((constructor)) static void find_all(void)
{
	FIND(execve);
	FIND(execvpe);
	FIND(execveat);
	FIND(fexecve);
	FIND(posix_spawn);
	FIND(posix_spawnp);
	real.is_found = true;
}

__attribute__((constructor)) static void keep(void)
{
	agent_environment_keep(environ);
	agent_environment_settle(environ);
}

/* Constructors of other libraries may run before ours. False: this system has no such function. */
#define HAS(name) ((real.is_found || (find_all(), true)) && AGENT_LIKELY(real.name != NULL))

/* --- the environment of a program */

enum { ROOM_BYTES = 2048 }; /* the stack may be small */

/* Of a copy, on the stack; larger ones have pages. After exec in a child by vfork these are the
 * parent's for good. */
struct room {
	_Alignas(16) char bytes[ROOM_BYTES];
	void *pages;
	size_t nr_bytes;
};

/* False: no memory. */
static bool make_room(struct room *room, size_t bytes, void **to)
{
	*to = room->bytes;
	if (bytes <= sizeof(room->bytes))
		return true;
	room->pages = agent_pages(bytes);
	room->nr_bytes = bytes;
	*to = room->pages;
	return room->pages;
}

static void release(const struct room *room)
{
	int error = errno;

	if (room->pages)
		agent_free_pages(room->pages, room->nr_bytes);
	errno = error;
}

/* Where a program is: by the first that is not NULL, or the descriptor. With file actions of
 * posix_spawn that change the folder a relative path may be judged by another file. */
struct program {
	const char *searched, *path;
	int fd; /* of path its folder */
};

_Static_assert((int)LOADABLE_UNREADABLE == (int)HEAP_MISS_UNREADABLE &&
		   (int)LOADABLE_SANITIZER == (int)HEAP_MISS_SANITIZER,
	       "reasons have the order of loadable.h");

static const char *name_of(const struct program *p)
{
	const char *path = p->searched ? p->searched : p->path, *name = path ? path : "";

	for (const char *c = name; *c; c++)
		if (*c == '/' && c[1])
			name = c + 1;
	return name;
}

/* Whether what is executed is to be measured: by the recorder of the environment. */
static bool is_measured(void)
{
	return agent.shared && !agent.attached && !agent.is_beside && !agent.shared->is_closed;
}

/* Beside those that the recorder has. What they say of calls of the other kind of programs, which
 * have other numbers, is not asked; nor are they known that a program of before installed. */
static bool has_filters(void)
{
	const uint32_t nr = loadable_nr_filters();

	return nr == LOADABLE_NOT_KNOWN || nr != agent.shared->nr_filters;
}

/* name: of the file that was judged. *is_other: it is for the machine's other agent. */
static __attribute__((noinline)) enum heap_miss judge(const struct program *p,
						      char *const *environment,
						      char name[HEAP_MISSED_BYTES], bool *is_other)
{
	struct loadable_judged judged;

	if (p->searched)
		loadable_judge_named(getenv("PATH"), p->searched, &judged);
	else if (p->path)
		loadable_judge(p->fd, p->path, &judged);
	else
		loadable_judge_open(p->fd, &judged);
	memcpy(name, judged.name, HEAP_MISSED_BYTES - 1);
	name[HEAP_MISSED_BYTES - 1] = '\0';
	*is_other = judged.answer == LOADABLE_OTHER;
	if (*is_other && (!is_measured() || !agent_environment_has_other()))
		return HEAP_MISS_FOREIGN;
	if (*is_other && has_filters())
		return HEAP_MISS_FILTER;
	return judged.answer && !*is_other ? (enum heap_miss)judged.answer
					   : agent_environment_judge(environment, *is_other);
}

static bool is_forbidden(void)
{
	return agent.forbidden & (agent_needs() | AGENT_MAY_START);
}

/* What the program gets: the environment, or a copy in the room. */
struct choice {
	struct room room;
	char *const *environment;
	struct heap_missed *missed; /* NULL: it is measured, or nobody is to be told */
};

static void choose_without(struct choice *c)
{
	size_t bytes = agent_environment_bytes(c->environment);
	void *to;

	if (bytes && make_room(&c->room, bytes, &to))
		c->environment = agent_environment_copy(c->environment, to);
}

/* False: no memory. */
static bool choose_with(struct choice *c, bool is_other)
{
	size_t bytes = agent_environment_bytes_with(c->environment, is_other);
	void *to;

	if (!bytes)
		return true;
	if (!make_room(&c->room, bytes, &to))
		return false;
	c->environment = agent_environment_copy_with(c->environment, to, is_other);
	return true;
}

/* The kernel refuses what cannot be read. */
static bool is_readable(const struct program *p, char *const *environment)
{
	const char *path = p->searched ? p->searched : p->path;

	return (!path || agent_is_readable_text(path)) &&
	       agent_environment_is_readable(environment);
}

static void choose(struct choice *c, char *const *environment, struct program program)
{
	char name[HEAP_MISSED_BYTES];
	enum heap_miss why;
	bool is_other = false;

	c->room.pages = NULL;
	c->environment = environment;
	c->missed = NULL;
	if (!is_readable(&program, environment) ||
	    (!is_measured() && !agent_environment_bytes(environment)))
		return;
	why = is_forbidden() ? HEAP_MISS_FILTER : judge(&program, environment, name, &is_other);
	if (!why && is_measured() && !choose_with(c, is_other))
		why = HEAP_MISS_ROOM;
	if (!why)
		return;
	choose_without(c);
	if (is_measured())
		c->missed = agent_missed(why, why == HEAP_MISS_FILTER ? name_of(&program) : name);
}

#define FILE_AT(dir, path_) ((struct program){.path = (path_), .fd = (dir)})
#define FILE_OPEN(fd_)      ((struct program){.fd = (fd_)})
#define FILE_NAMED(name)    ((struct program){.searched = (name)})

static int end(const struct choice *c, bool is_executed, int rc)
{
	int error = errno;

	if (!is_executed)
		agent_not_missed(c->missed);
	release(&c->room);
	errno = error;
	return rc;
}

/* With the agent's entries there is more than a program may get. Then it gets what it would. */
static bool is_too_large(struct choice *c, char *const *environment, int error)
{
	if (error != E2BIG || c->environment == environment || c->missed)
		return false;
	release(&c->room);
	c->room.pages = NULL;
	c->environment = environment;
	c->missed = agent_missed(HEAP_MISS_ROOM, "");
	return true;
}

/* Calls the function behind with the environment that was chosen. What does not spawn comes back if
 * that fails. */
#define EXECUTE(program, environment_, spawns, function, ...)                                      \
	do {                                                                                       \
		struct choice c;                                                                   \
		char *const *chosen;                                                               \
		int rc = -1;                                                                       \
                                                                                                   \
		if (agent_has_no_locals() && HAS(function)) {                                      \
			chosen = (environment_);                                                   \
			return real.function(__VA_ARGS__);                                         \
		}                                                                                  \
		choose(&c, (environment_), (program));                                             \
		chosen = c.environment;                                                            \
		if (HAS(function))                                                                 \
			rc = real.function(__VA_ARGS__);                                           \
		else                                                                               \
			errno = ENOSYS;                                                            \
		if (rc && is_too_large(&c, (environment_), (spawns) ? rc : errno)) {               \
			chosen = c.environment;                                                    \
			rc = real.function(__VA_ARGS__);                                           \
		}                                                                                  \
		return end(&c, (spawns) && !rc, rc);                                               \
	} while (0)

/* --- the functions */

HOOK int execve(const char *path, char *const *argv, char *const *environment)
{
	EXECUTE(FILE_AT(AT_FDCWD, path), environment, false, execve, path, argv, chosen);
}

HOOK int execv(const char *path, char *const *argv)
{
	EXECUTE(FILE_AT(AT_FDCWD, path), environ, false, execve, path, argv, chosen);
}

HOOK int execvpe(const char *name, char *const *argv, char *const *environment)
{
	EXECUTE(FILE_NAMED(name), environment, false, execvpe, name, argv, chosen);
}

HOOK int execvp(const char *name, char *const *argv)
{
	EXECUTE(FILE_NAMED(name), environ, false, execvpe, name, argv, chosen);
}

HOOK int fexecve(int fd, char *const *argv, char *const *environment)
{
	if (!environment) {
		errno = EINVAL;
		return -1;
	}
	EXECUTE(FILE_OPEN(fd), environment, false, fexecve, fd, argv, chosen);
}

static bool is_empty(const char *path, int flags)
{
	return flags & AT_EMPTY_PATH && agent_is_readable_text(path) && !*path;
}

HOOK int execveat(int dir, const char *path, char *const *argv, char *const *environment, int flags)
{
	EXECUTE(is_empty(path, flags) ? FILE_OPEN(dir) : FILE_AT(dir, path), environment, false,
		execveat, dir, path, argv, chosen, flags);
}

HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attributes, char *const *argv,
		     char *const *environment)
{
	EXECUTE(FILE_AT(AT_FDCWD, path), environment, true, posix_spawn, pid, path, actions,
		attributes, argv, chosen);
}

HOOK int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *attributes, char *const *argv,
		      char *const *environment)
{
	EXECUTE(FILE_NAMED(name), environment, true, posix_spawnp, pid, name, actions, attributes,
		argv, chosen);
}

/* --- arguments of a call as a vector, on the stack, as those of libc's */

static size_t vector_bytes(const char *first, va_list more)
{
	size_t nr = 1;

	for (; first; first = va_arg(more, const char *))
		nr++;
	return nr * sizeof(first);
}

#define VECTOR(argv, first, more)                                                                  \
	va_start(more, first);                                                                     \
	argv = __builtin_alloca(vector_bytes(first, more));                                        \
	va_end(more);                                                                              \
	va_start(more, first);                                                                     \
	(argv)[0] = (char *)(uintptr_t)(first);                                                    \
	for (size_t n_ = 0; (argv)[n_]; n_++)                                                      \
	(argv)[n_ + 1] = va_arg(more, char *)

HOOK int execl(const char *path, const char *first, ...)
{
	va_list more;
	char **argv;

	VECTOR(argv, first, more);
	va_end(more);
	return execv(path, argv);
}

HOOK int execlp(const char *name, const char *first, ...)
{
	va_list more;
	char **argv;

	VECTOR(argv, first, more);
	va_end(more);
	return execvp(name, argv);
}

HOOK int execle(const char *path, const char *first, ...)
{
	char *const *environment;
	va_list more;
	char **argv;

	VECTOR(argv, first, more);
	environment = va_arg(more, char *const *);
	va_end(more);
	return execve(path, argv, environment);
}
