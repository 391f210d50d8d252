/*
 * File descriptors: where they are opened, until they are closed. One table has the functions that
 * open; each is passed on to what stands behind it. What the C library opens for itself does not
 * come here.
 *
 * The functions are declared here, as no header does: those with optional arguments pass on all
 * that there may be.
 */
#include "agent/heap/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define HOOK __attribute__((visibility("default")))

int getpid(void);

enum { DUPFD = 0, DUPFD_CLOEXEC = 1030, RANGE_CLOEXEC = 4, FD_BYTES = 1 };

/* --- descriptors */

/* Beyond it none is tracked. */
static int32_t largest;

static uint64_t address_of(int fd)
{
	return HEAP_FD_ADDRESS + 8 * (uint64_t)fd;
}

static void add_to(struct agent_block block, bool is_closed)
{
	struct heap_stack *s =
	    (struct heap_stack *)agent_at(agent.shared->stacks) + (block.stack - 1);

	agent_lock(&s->lock);
	if (is_closed) {
		s->freed_samples++;
		s->freed_bytes += FD_BYTES;
	} else {
		s->samples++;
		s->bytes += FD_BYTES;
		s->max_bytes = FD_BYTES;
	}
	agent_unlock(&s->lock);
}

static void add(const struct agent_local *t, int fd, const struct agent_frame *from)
{
	uint32_t node = agent.has_stacks ? agent_capture(t->own, from) : 0;
	struct agent_block block = {.size = FD_BYTES}, old = {0};
	int32_t before = largest;

	node = node || !agent.has_stacks ? agent_tree_child(node, HEAP_RESOURCE_FD) : 0;
	block.stack = node ? agent_tree_stack(node) : 0;
	if (!block.stack) {
		agent_count(&agent.shared->no_node);
		return;
	}
	add_to(block, false);
	while (fd > before && !__atomic_compare_exchange_n(&largest, &before, fd, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (!agent_blocks_add(address_of(fd), block, &old))
		agent_count(&agent.shared->no_block);
	if (old.stack) /* the C library closed it, or dup2 */
		add_to(old, true);
}

/* A child by vfork has its parent's memory, but descriptors of its own. */
static bool is_ours(void)
{
	return agent.has_fds && getpid() == agent.pid && !agent.shared->is_closed;
}

static AGENT_RARE void opened(int fd, struct agent_frame from)
{
	struct agent_local *t = &agent_local;
	int error = errno;

	if (t->is_busy) {
		if (agent_alive()) /* else this is the agent, which connects */
			agent_count(&agent.shared->nested);
		return;
	}
	t->is_busy = 1;
	if (agent_attach(t) && is_ours())
		add(t, fd, &from);
	t->is_busy = 0;
	errno = error;
}

/* Before the call: then the number may be another thread's at once. Those from first to last. */
static AGENT_RARE void close_all(uint32_t first, uint32_t last)
{
	struct agent_local *t = &agent_local;
	int error = errno;

	if (t->is_busy || !is_ours())
		return;
	t->is_busy = 1;
	for (uint32_t fd = first; fd <= last && fd <= (uint32_t)largest; fd++) {
		struct agent_block block = agent_blocks_remove(address_of((int)fd));

		if (block.stack)
			add_to(block, true);
	}
	t->is_busy = 0;
	errno = error;
}

static inline void closing(uint32_t first, uint32_t last)
{
	if (AGENT_UNLIKELY(agent_alive() && agent.has_fds) && first <= (uint32_t)largest)
		close_all(first, last);
}

static inline bool is_wanted(void)
{
	return agent_alive() ? agent.has_fds : !agent.is_off;
}

#define OPENED(fd)                                                                                 \
	do {                                                                                       \
		int fd_ = (fd);                                                                    \
                                                                                                   \
		if (fd_ >= 0 && AGENT_UNLIKELY(is_wanted()))                                       \
			opened(fd_, AGENT_HERE);                                                   \
	} while (0)

/* --- what opens: the result, its function's name, parameters, arguments, and the descriptor in the
 * result r */

struct stream;
struct folder;

#define EACH_FD(X)                                                                                 \
	X(open, (const char *path, int flags, unsigned int mode), (path, flags, mode))             \
	X(open64, (const char *path, int flags, unsigned int mode), (path, flags, mode))           \
	X(openat, (int dir, const char *path, int flags, unsigned int mode),                       \
	  (dir, path, flags, mode))                                                                \
	X(openat64, (int dir, const char *path, int flags, unsigned int mode),                     \
	  (dir, path, flags, mode))                                                                \
	X(__open_2, (const char *path, int flags), (path, flags))                                  \
	X(__open64_2, (const char *path, int flags), (path, flags))                                \
	X(__openat_2, (int dir, const char *path, int flags), (dir, path, flags))                  \
	X(__openat64_2, (int dir, const char *path, int flags), (dir, path, flags))                \
	X(creat, (const char *path, unsigned int mode), (path, mode))                              \
	X(creat64, (const char *path, unsigned int mode), (path, mode))                            \
	X(mkstemp, (char *path), (path))                                                           \
	X(mkstemp64, (char *path), (path))                                                         \
	X(mkostemp, (char *path, int flags), (path, flags))                                        \
	X(mkostemp64, (char *path, int flags), (path, flags))                                      \
	X(mkstemps, (char *path, int len), (path, len))                                            \
	X(mkstemps64, (char *path, int len), (path, len))                                          \
	X(mkostemps, (char *path, int len, int flags), (path, len, flags))                         \
	X(mkostemps64, (char *path, int len, int flags), (path, len, flags))                       \
	X(dup, (int from), (from))                                                                 \
	X(socket, (int domain, int type, int protocol), (domain, type, protocol))                  \
	X(accept, (int from, void *address, void *len), (from, address, len))                      \
	X(accept4, (int from, void *address, void *len, int flags), (from, address, len, flags))   \
	X(epoll_create, (int size), (size))                                                        \
	X(epoll_create1, (int flags), (flags))                                                     \
	X(eventfd, (unsigned int value, int flags), (value, flags))                                \
	X(timerfd_create, (int clock, int flags), (clock, flags))                                  \
	X(signalfd, (int from, const void *signals, int flags), (from, signals, flags))            \
	X(inotify_init, (void), ())                                                                \
	X(inotify_init1, (int flags), (flags))                                                     \
	X(fanotify_init, (unsigned int flags, unsigned int of_events), (flags, of_events))         \
	X(memfd_create, (const char *name, unsigned int flags), (name, flags))                     \
	X(pidfd_open, (int pid, unsigned int flags), (pid, flags))                                 \
	X(posix_openpt, (int flags), (flags))                                                      \
	X(shm_open, (const char *name, int flags, unsigned int mode), (name, flags, mode))

#define EACH_STREAM(X)                                                                             \
	X(struct stream *, fopen, (const char *path, const char *mode), (path, mode), fileno)      \
	X(struct stream *, fopen64, (const char *path, const char *mode), (path, mode), fileno)    \
	X(struct stream *, popen, (const char *command, const char *mode), (command, mode),        \
	  fileno)                                                                                  \
	X(struct stream *, tmpfile, (void), (), fileno)                                            \
	X(struct stream *, tmpfile64, (void), (), fileno)                                          \
	X(struct folder *, opendir, (const char *path), (path), dirfd)

/* Those that are written below. */
#define EACH_OTHER(X)                                                                              \
	X(int, fcntl, (int, int, long))                                                            \
	X(int, fcntl64, (int, int, long))                                                          \
	X(int, dup2, (int, int))                                                                   \
	X(int, dup3, (int, int, int))                                                              \
	X(int, pipe, (int *))                                                                      \
	X(int, pipe2, (int *, int))                                                                \
	X(int, socketpair, (int, int, int, int *))                                                 \
	X(struct stream *, freopen, (const char *, const char *, struct stream *))                 \
	X(struct stream *, freopen64, (const char *, const char *, struct stream *))               \
	X(int, close, (int))                                                                       \
	X(int, close_range, (unsigned int, unsigned int, int))                                     \
	X(void, closefrom, (int))                                                                  \
	X(int, fclose, (struct stream *))                                                          \
	X(int, pclose, (struct stream *))                                                          \
	X(int, closedir, (struct folder *))                                                        \
	X(int, fileno, (struct stream *))                                                          \
	X(int, dirfd, (struct folder *))

static struct {
#define FIELD(name, parameters, arguments)    int(*name) parameters;
#define FIELD_OF(type, name, parameters, ...) type(*name) parameters;
	EACH_FD(FIELD)
	EACH_STREAM(FIELD_OF)
	EACH_OTHER(FIELD_OF)
	bool is_found;
} real;

#define FIND(name, ...)                                                                            \
	found = dlsym(RTLD_NEXT, #name);                                                           \
	if (found)                                                                                 \
		memcpy(&real.name, &found, sizeof(found));
#define FIND_OF(type, name, ...) FIND(name)

/* In advance, as the dynamic loader has locks. */
__attribute__((constructor)) static void find_all(void)
{
	void *found;

	EACH_FD(FIND)
	EACH_STREAM(FIND_OF)
	EACH_OTHER(FIND_OF)
	real.is_found = true;
}

/* What the program calls is there; constructors of other libraries may run before ours. */
#define REAL(name) ((AGENT_LIKELY(real.is_found) ? (void)0 : find_all()), real.name)

#define HOOK_FD(name, parameters, arguments)                                                       \
	HOOK int name parameters;                                                                  \
	int name parameters                                                                        \
	{                                                                                          \
		int fd = REAL(name) arguments;                                                     \
                                                                                                   \
		OPENED(fd);                                                                        \
		return fd;                                                                         \
	}
EACH_FD(HOOK_FD)

#define HOOK_STREAM(type, name, parameters, arguments, number)                                     \
	HOOK type name parameters;                                                                 \
	type name parameters                                                                       \
	{                                                                                          \
		type to = REAL(name) arguments;                                                    \
                                                                                                   \
		if (to && AGENT_UNLIKELY(is_wanted()))                                             \
			OPENED(real.number(to));                                                   \
		return to;                                                                         \
	}
EACH_STREAM(HOOK_STREAM)

#define HOOK_FCNTL(name)                                                                           \
	HOOK int name(int fd, int command, long argument);                                         \
	int name(int fd, int command, long argument)                                               \
	{                                                                                          \
		int result = REAL(name)(fd, command, argument);                                    \
                                                                                                   \
		if (command == DUPFD || command == DUPFD_CLOEXEC)                                  \
			OPENED(result);                                                            \
		return result;                                                                     \
	}
HOOK_FCNTL(fcntl)
HOOK_FCNTL(fcntl64)

HOOK int dup2(int from, int to);
int dup2(int from, int to)
{
	int fd = REAL(dup2)(from, to);

	if (from != to)
		OPENED(fd);
	return fd;
}

HOOK int dup3(int from, int to, int flags);
int dup3(int from, int to, int flags)
{
	int fd = REAL(dup3)(from, to, flags);

	OPENED(fd);
	return fd;
}

#define HOOK_PAIR(name, parameters, arguments)                                                     \
	HOOK int name parameters;                                                                  \
	int name parameters                                                                        \
	{                                                                                          \
		int rc = REAL(name) arguments;                                                     \
                                                                                                   \
		if (rc == 0) {                                                                     \
			OPENED(fds[0]);                                                            \
			OPENED(fds[1]);                                                            \
		}                                                                                  \
		return rc;                                                                         \
	}
HOOK_PAIR(pipe, (int *fds), (fds))
HOOK_PAIR(pipe2, (int *fds, int flags), (fds, flags))
HOOK_PAIR(socketpair, (int domain, int type, int protocol, int *fds), (domain, type, protocol, fds))

/* --- what closes */

HOOK int close(int fd);
int close(int fd)
{
	closing((uint32_t)fd, (uint32_t)fd);
	return REAL(close)(fd);
}

HOOK int close_range(unsigned int first, unsigned int last, int flags);
int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!(flags & RANGE_CLOEXEC))
		closing(first, last);
	return REAL(close_range)(first, last, flags);
}

HOOK void closefrom(int first);
void closefrom(int first)
{
	closing((uint32_t)(first > 0 ? first : 0), UINT32_MAX);
	REAL(closefrom)(first);
}

#define HOOK_CLOSE(name, type, number)                                                             \
	HOOK int name(type of);                                                                    \
	int name(type of)                                                                          \
	{                                                                                          \
		int (*close_it)(type) = REAL(name);                                                \
		uint32_t fd = of && agent_alive() ? (uint32_t)real.number(of) : UINT32_MAX;        \
                                                                                                   \
		closing(fd, fd);                                                                   \
		return close_it(of);                                                               \
	}
HOOK_CLOSE(fclose, struct stream *, fileno)
HOOK_CLOSE(pclose, struct stream *, fileno)
HOOK_CLOSE(closedir, struct folder *, dirfd)

#define HOOK_REOPEN(name)                                                                          \
	HOOK struct stream *name(const char *path, const char *mode, struct stream *of);           \
	struct stream *name(const char *path, const char *mode, struct stream *of)                 \
	{                                                                                          \
		struct stream *(*reopen)(const char *, const char *, struct stream *) =            \
		    REAL(name);                                                                    \
		uint32_t fd = of && agent_alive() ? (uint32_t)real.fileno(of) : UINT32_MAX;        \
		struct stream *to;                                                                 \
                                                                                                   \
		closing(fd, fd);                                                                   \
		to = reopen(path, mode, of);                                                       \
		if (to && AGENT_UNLIKELY(is_wanted()))                                             \
			OPENED(real.fileno(to));                                                   \
		return to;                                                                         \
	}
HOOK_REOPEN(freopen)
HOOK_REOPEN(freopen64)
