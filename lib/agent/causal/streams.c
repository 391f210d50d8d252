/*
 * Pipes, sockets and eventfds, by which threads of the program wait for each other, too. Whoever
 * writes pays before, also where nobody of the program reads: so it is done at its virtual time.
 * Whoever read was woken by the program itself if the descriptor's other end is the program's
 * (peers.c): it is spared what was paid meanwhile. Nothing is asked of a descriptor while nothing
 * is owed.
 *
 * Streams of the C library's own (stdio) are not seen, nor sendfile, splice, sendmmsg and recvmmsg.
 */
#include "agent/causal/agent.h"

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

static void before_write(int fd)
{
	const int error = errno;
	bool wakes;

	if (!agent_owes())
		return;
	wakes = agent_may_wake(fd);
	errno = error;
	if (wakes)
		agent_pay();
}

static void after_read(int fd, uint64_t since_ns, uint64_t slept_ns)
{
	const int error = errno;
	bool is_woken;

	if (!agent_owes())
		return;
	is_woken = agent_is_from_inside(fd);
	errno = error;
	if (is_woken)
		agent_woken(&agent_thread, since_ns, slept_ns);
}

/* type, name, parameters, arguments: the first one is the descriptor. With checks of sizes, which
 * the compiler puts in (_FORTIFY_SOURCE), they are functions of their own. */
#define READS(X)                                                                                   \
	X(ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes))                        \
	X(ssize_t, readv, (int fd, const void *parts, int nr), (fd, parts, nr))                    \
	X(ssize_t, recv, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))      \
	X(ssize_t, recvfrom, (int fd, void *to, size_t bytes, int flags, void *from, void *len),   \
	  (fd, to, bytes, flags, from, len))                                                       \
	X(ssize_t, recvmsg, (int fd, void *message, int flags), (fd, message, flags))              \
	X(ssize_t, __read_chk, (int fd, void *to, size_t bytes, size_t room),                      \
	  (fd, to, bytes, room))                                                                   \
	X(ssize_t, __recv_chk, (int fd, void *to, size_t bytes, size_t room, int flags),           \
	  (fd, to, bytes, room, flags))                                                            \
	X(ssize_t, __recvfrom_chk,                                                                 \
	  (int fd, void *to, size_t bytes, size_t room, int flags, void *from, void *len),         \
	  (fd, to, bytes, room, flags, from, len))                                                 \
	X(int, eventfd_read, (int fd, void *value), (fd, value))
#define WRITES(X)                                                                                  \
	X(ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes))             \
	X(ssize_t, writev, (int fd, const void *parts, int nr), (fd, parts, nr))                   \
	X(ssize_t, send, (int fd, const void *from, size_t bytes, int flags),                      \
	  (fd, from, bytes, flags))                                                                \
	X(ssize_t, sendto,                                                                         \
	  (int fd, const void *from, size_t bytes, int flags, const void *to, unsigned len),       \
	  (fd, from, bytes, flags, to, len))                                                       \
	X(ssize_t, sendmsg, (int fd, const void *message, int flags), (fd, message, flags))        \
	X(int, eventfd_write, (int fd, uint64_t value), (fd, value))

#define DEFINE_READ(type, name, parameters, arguments)                                             \
	static type(*real_##name) parameters;                                                      \
	AGENT_EXPORTED type name parameters;                                                       \
	AGENT_EXPORTED type name parameters                                                        \
	{                                                                                          \
		const struct agent_thread *t = agent_here();                                       \
		const uint64_t slept = t ? t->slept_ns : 0,                                        \
			       since = t ? agent_now(CLOCK_MONOTONIC) : 0;                         \
		const type r = AGENT_BEHIND(name) arguments;                                       \
                                                                                                   \
		if (r >= 0 && t)                                                                   \
			after_read(fd, since, slept);                                              \
		return r;                                                                          \
	}

#define DEFINE_WRITE(type, name, parameters, arguments)                                            \
	static type(*real_##name) parameters;                                                      \
	AGENT_EXPORTED type name parameters;                                                       \
	AGENT_EXPORTED type name parameters                                                        \
	{                                                                                          \
		before_write(fd);                                                                  \
		return AGENT_BEHIND(name) arguments;                                               \
	}

READS(DEFINE_READ)
WRITES(DEFINE_WRITE)

#define FIND_ONE(type, name, parameters, arguments) (void)AGENT_BEHIND(name);

void agent_streams_init(void)
{
	READS(FIND_ONE)
	WRITES(FIND_ONE)
}
