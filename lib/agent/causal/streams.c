/*
 * Pipes and sockets, by which threads of the program wait for each other, too. Whoever writes pays
 * before, also where nobody of the program reads: so it is done at its virtual time. Whoever read
 * was woken by the program itself if it is a pipe, or a local socket whose other end a process of
 * the program has made; it is spared what was paid meanwhile. Of other sockets, also over the
 * loopback, it is not known who has sent: they count as ended from outside. Nothing is asked of a
 * descriptor while nothing is owed.
 *
 * Streams of the C library's own (stdio) are not seen, nor waits in poll.
 */
#include "agent/causal/agent.h"

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Without the headers that declare the functions. */
enum { LEVEL = 1 /* SOL_SOCKET */, PEER = 17 /* SO_PEERCRED */ };
struct peer {
	int pid;
	unsigned uid, gid;
};
extern int getsockopt(int fd, int level, int name, void *value, unsigned *len);

static bool owes(const struct agent_thread *t)
{
	return t->is_on && causal_debts_all(&agent.shared->all_ns) > t->debt.paid_ns;
}

static mode_t type_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* Of a pair it is who made it: this process, or the parent of both. Not a local one: no process. */
static bool is_peer_ours(int fd)
{
	struct peer peer = {0};
	unsigned len = sizeof(peer);

	return getsockopt(fd, LEVEL, PEER, &peer, &len) == 0 && peer.pid > 0 &&
	       (peer.pid == getpid() || peer.pid == getppid() ||
		(uint32_t)peer.pid == agent.shared->first_pid);
}

static void before_write(int fd)
{
	const int error = errno;
	mode_t type;

	if (!owes(&agent_thread))
		return;
	type = type_of(fd);
	errno = error;
	if (type == S_IFIFO || type == S_IFSOCK)
		agent_pay(&agent_thread);
}

static void after_read(int fd, uint64_t since_ns, uint64_t slept_ns)
{
	const int error = errno;
	mode_t type;
	bool is_woken;

	if (!owes(&agent_thread))
		return;
	type = type_of(fd);
	is_woken = type == S_IFIFO || (type == S_IFSOCK && is_peer_ours(fd));
	errno = error;
	if (is_woken)
		agent_woken(&agent_thread, since_ns, slept_ns);
}

/* name, parameters, arguments: the first one is the descriptor */
#define READS(X)                                                                                   \
	X(read, (int fd, void *to, size_t bytes), (fd, to, bytes))                                 \
	X(recv, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))               \
	X(recvfrom, (int fd, void *to, size_t bytes, int flags, void *from, void *len),            \
	  (fd, to, bytes, flags, from, len))                                                       \
	X(recvmsg, (int fd, void *message, int flags), (fd, message, flags))
#define WRITES(X)                                                                                  \
	X(write, (int fd, const void *from, size_t bytes), (fd, from, bytes))                      \
	X(send, (int fd, const void *from, size_t bytes, int flags), (fd, from, bytes, flags))     \
	X(sendto,                                                                                  \
	  (int fd, const void *from, size_t bytes, int flags, const void *to, unsigned len),       \
	  (fd, from, bytes, flags, to, len))                                                       \
	X(sendmsg, (int fd, const void *message, int flags), (fd, message, flags))

#define DEFINE_READ(name, parameters, arguments)                                                   \
	static ssize_t(*real_##name) parameters;                                                   \
	AGENT_EXPORTED ssize_t name parameters;                                                    \
	AGENT_EXPORTED ssize_t name parameters                                                     \
	{                                                                                          \
		struct agent_thread *t = &agent_thread;                                            \
		const uint64_t slept = t->slept_ns,                                                \
			       since = t->is_on ? agent_now(CLOCK_MONOTONIC) : 0;                  \
		const ssize_t r = AGENT_BEHIND(name) arguments;                                    \
                                                                                                   \
		if (r >= 0)                                                                        \
			after_read(fd, since, slept);                                              \
		return r;                                                                          \
	}

#define DEFINE_WRITE(name, parameters, arguments)                                                  \
	static ssize_t(*real_##name) parameters;                                                   \
	AGENT_EXPORTED ssize_t name parameters;                                                    \
	AGENT_EXPORTED ssize_t name parameters                                                     \
	{                                                                                          \
		before_write(fd);                                                                  \
		return AGENT_BEHIND(name) arguments;                                               \
	}

READS(DEFINE_READ)
WRITES(DEFINE_WRITE)

#define FIND_ONE(name, parameters, arguments) (void)AGENT_BEHIND(name);

void agent_streams_init(void)
{
	READS(FIND_ONE)
	WRITES(FIND_ONE)
}
