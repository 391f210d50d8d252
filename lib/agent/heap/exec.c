/*
 * The functions that execute a program. One that cannot load the agent gets an environment without
 * it: its loader would complain, or the program would end. All of this may run in a child by vfork,
 * whose memory is its parent's, or in a signal handler.
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

#define HOOK __attribute__((visibility("default")))

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

/* Constructors of other libraries may run before ours. False: this system has no such function. */
#define HAS(name) ((real.is_found || (find_all(), true)) && AGENT_LIKELY(real.name != NULL))

/* --- the environment of a program */

enum { ROOM_BYTES = 4096 };

/* Of a copy, on the stack; larger ones have pages. After exec in a child by vfork these are the
 * parent's for good. */
struct room {
	_Alignas(16) char bytes[ROOM_BYTES];
	void *pages;
	size_t nr_bytes;
};

static char *const *copy(struct room *room, char *const *environment, size_t bytes)
{
	void *to = room->bytes;

	if (bytes > sizeof(room->bytes)) {
		room->pages = agent_pages(bytes);
		room->nr_bytes = bytes;
		to = room->pages;
	}
	return to ? agent_environment_copy(environment, to) : environment;
}

static void release(const struct room *room)
{
	int error = errno;

	if (room->pages)
		(void)syscall(SYS_munmap, room->pages, room->nr_bytes);
	errno = error;
}

/* Where a program is: by the first that is not NULL, or the descriptor. With file actions of
 * posix_spawn that change the folder a relative path may be judged by another file. */
struct program {
	const char *searched, *path;
	int fd; /* of path its folder */
};

static __attribute__((noinline)) bool is_loadable(const struct program *p)
{
	struct loadable_judged judged;

	if (p->searched)
		loadable_judge_named(getenv("PATH"), p->searched, &judged);
	else if (p->path)
		loadable_judge(p->fd, p->path, &judged);
	else
		loadable_judge_open(p->fd, &judged);
	return judged.answer == LOADABLE_YES;
}

/* What the program gets: the environment, or a copy in the room. */
static char *const *choose(struct room *room, char *const *environment, struct program program)
{
	size_t bytes = agent_environment_bytes(environment);

	room->pages = NULL;
	if (!bytes || (is_loadable(&program) && agent_environment_is_usable(environment)))
		return environment;
	return copy(room, environment, bytes);
}

#define FILE_AT(dir, path_) ((struct program){.path = (path_), .fd = (dir)})
#define FILE_OPEN(fd_)      ((struct program){.fd = (fd_)})
#define FILE_NAMED(name)    ((struct program){.searched = (name)})

/* Calls the function behind with the environment that was chosen, and comes back if that fails. */
#define EXECUTE(program, environment, function, ...)                                               \
	do {                                                                                       \
		struct room room;                                                                  \
		char *const *chosen = choose(&room, (environment), (program));                     \
		int rc = -1;                                                                       \
                                                                                                   \
		if (HAS(function))                                                                 \
			rc = real.function(__VA_ARGS__);                                           \
		else                                                                               \
			errno = ENOSYS;                                                            \
		release(&room);                                                                    \
		return rc;                                                                         \
	} while (0)

/* --- the functions */

HOOK int execve(const char *path, char *const *argv, char *const *environment)
{
	EXECUTE(FILE_AT(AT_FDCWD, path), environment, execve, path, argv, chosen);
}

HOOK int execv(const char *path, char *const *argv)
{
	EXECUTE(FILE_AT(AT_FDCWD, path), environ, execve, path, argv, chosen);
}

HOOK int execvpe(const char *name, char *const *argv, char *const *environment)
{
	EXECUTE(FILE_NAMED(name), environment, execvpe, name, argv, chosen);
}

HOOK int execvp(const char *name, char *const *argv)
{
	EXECUTE(FILE_NAMED(name), environ, execvpe, name, argv, chosen);
}

HOOK int fexecve(int fd, char *const *argv, char *const *environment)
{
	EXECUTE(FILE_OPEN(fd), environment, fexecve, fd, argv, chosen);
}

HOOK int execveat(int dir, const char *path, char *const *argv, char *const *environment, int flags)
{
	EXECUTE(flags & AT_EMPTY_PATH && !*path ? FILE_OPEN(dir) : FILE_AT(dir, path), environment,
		execveat, dir, path, argv, chosen, flags);
}

HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attributes, char *const *argv,
		     char *const *environment)
{
	EXECUTE(FILE_AT(AT_FDCWD, path), environment, posix_spawn, pid, path, actions, attributes,
		argv, chosen);
}

HOOK int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *attributes, char *const *argv,
		      char *const *environment)
{
	EXECUTE(FILE_NAMED(name), environment, posix_spawnp, pid, name, actions, attributes, argv,
		chosen);
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
