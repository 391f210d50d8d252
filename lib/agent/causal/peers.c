/*
 * Whether what comes from a descriptor comes from the program itself. Pipes and eventfds do; a
 * local socket does whose other end a process of the program has made. A connection over the
 * loopback does whose other end this process has itself: connect and accept write their descriptor
 * into a table by the port of the client, which both ends have. What stands there may have been
 * closed since, so both addresses of both descriptors are compared: then they are one connection,
 * and nothing has to be removed from the table.
 *
 * Not known: who writes to a pipe that the program was started with; eventfds of the kernel's or of
 * another program; sockets over the loopback to another process of the same command, and those of
 * connections of which an end has a descriptor that was made by dup or received from a process, and
 * is open alone. All but the first two count as outside.
 */
#include "agent/causal/agent.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Without the headers that declare the functions. */
enum { LEVEL = 1 /* SOL_SOCKET */, PEER = 17 /* SO_PEERCRED */, IPV4 = 2, IPV6 = 10 };
enum { MAX_PORT = 1 << 16, MAX_LINK = 32 };
struct peer {
	int pid;
	unsigned uid, gid;
};
extern int getsockopt(int fd, int level, int name, void *value, unsigned *len);
extern int getsockname(int fd, void *address, unsigned *len);
extern int getpeername(int fd, void *address, unsigned *len);

/* As the kernel has it, of each family. */
struct address {
	uint16_t family, port; /* big endian */
	uint8_t ipv4[4], ipv6[16], scope[4];
};

/* Of a connection. That of IPv4 as a socket of IPv6 has it. */
struct end {
	uint8_t ip[16];
	uint16_t port;
};

/* By the client's port; the descriptor, plus 1. */
static int clients[MAX_PORT], servers[MAX_PORT];

static bool read_end(int (*get)(int fd, void *address, unsigned *len), int fd, struct end *out)
{
	struct address a = {0};
	unsigned len = sizeof(a);

	if (get(fd, &a, &len) || (a.family != IPV4 && a.family != IPV6))
		return false;
	*out = (struct end){.ip = {[10] = 0xff, [11] = 0xff}, .port = a.port};
	if (a.family == IPV4)
		memcpy(out->ip + 12, a.ipv4, sizeof(a.ipv4));
	else
		memcpy(out->ip, a.ipv6, sizeof(a.ipv6));
	return true;
}

static bool is_same(const struct end *a, const struct end *b)
{
	return a->port == b->port && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

static void remember(int *table, int (*get)(int fd, void *address, unsigned *len), int fd)
{
	const int error = errno;
	struct end end;

	if (agent.shared && read_end(get, fd, &end))
		__atomic_store_n(&table[end.port], fd + 1, __ATOMIC_RELAXED);
	errno = error;
}

static bool is_other_end(int number, const struct end *local, const struct end *peer)
{
	struct end its_local, its_peer;

	return number > 0 && read_end(getsockname, number - 1, &its_local) &&
	       read_end(getpeername, number - 1, &its_peer) && is_same(&its_local, peer) &&
	       is_same(&its_peer, local);
}

static bool is_connected_here(int fd)
{
	struct end local, peer;

	return read_end(getsockname, fd, &local) && read_end(getpeername, fd, &peer) &&
	       (is_other_end(__atomic_load_n(&clients[peer.port], __ATOMIC_RELAXED), &local,
			     &peer) ||
		is_other_end(__atomic_load_n(&servers[local.port], __ATOMIC_RELAXED), &local,
			     &peer));
}

/* Of a pair it is who made it: this process, or the parent of both. Not a local one: no process. */
static bool is_peer_ours(int fd)
{
	struct peer peer = {0};
	struct address address;
	unsigned len = sizeof(peer), address_len = sizeof(address);

	/* of one that listens, the process is its own */
	return getsockopt(fd, LEVEL, PEER, &peer, &len) == 0 && peer.pid > 0 &&
	       getpeername(fd, &address, &address_len) == 0 &&
	       (peer.pid == getpid() || peer.pid == getppid() ||
		(uint32_t)peer.pid == agent.shared->first_pid);
}

static bool is_eventfd(int fd)
{
	static const char wanted[] = "anon_inode:[eventfd]";
	char path[MAX_LINK], name[MAX_LINK];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name)) == sizeof(wanted) - 1 &&
	       memcmp(name, wanted, sizeof(wanted) - 1) == 0;
}

static mode_t type_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : S_IFREG;
}

bool agent_may_wake(int fd)
{
	const mode_t type = type_of(fd);

	/* of files without an inode of their own eventfds alone are written */
	return type == S_IFIFO || type == S_IFSOCK || type == 0;
}

bool agent_is_from_inside(int fd)
{
	const mode_t type = type_of(fd);

	return type == S_IFIFO || (type == 0 && is_eventfd(fd)) ||
	       (type == S_IFSOCK && (is_peer_ours(fd) || is_connected_here(fd)));
}

/* --- connections */

static int (*real_connect)(int fd, const void *address, unsigned len);
AGENT_EXPORTED int connect(int fd, const void *address, unsigned len);
AGENT_EXPORTED int connect(int fd, const void *address, unsigned len)
{
	const int r = AGENT_BEHIND(connect)(fd, address, len);

	if (r == 0 || errno == EINPROGRESS)
		remember(clients, getsockname, fd);
	return r;
}

static int (*real_accept)(int fd, void *address, unsigned *len);
AGENT_EXPORTED int accept(int fd, void *address, unsigned *len);
AGENT_EXPORTED int accept(int fd, void *address, unsigned *len)
{
	const int r = AGENT_BEHIND(accept)(fd, address, len);

	if (r >= 0)
		remember(servers, getpeername, r);
	return r;
}

static int (*real_accept4)(int fd, void *address, unsigned *len, int flags);
AGENT_EXPORTED int accept4(int fd, void *address, unsigned *len, int flags);
AGENT_EXPORTED int accept4(int fd, void *address, unsigned *len, int flags)
{
	const int r = AGENT_BEHIND(accept4)(fd, address, len, flags);

	if (r >= 0)
		remember(servers, getpeername, r);
	return r;
}

void agent_peers_init(void)
{
	(void)AGENT_BEHIND(connect);
	(void)AGENT_BEHIND(accept);
	(void)AGENT_BEHIND(accept4);
}
