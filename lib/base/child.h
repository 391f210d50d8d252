/*
 * A process that does for this one what may never end: whoever opens a file on a file system that
 * does not answer can be neither interrupted nor killed. It has a socket to this process and no
 * other descriptor, and dies with this process. A host program that links the library does not
 * notice it: it raises no SIGCHLD, and wait(-1) does not return it.
 *
 * It begins as a copy of a process of several threads, any of which may hold a lock of libc. So it
 * must not use libc's heap (mem.h has one of its own there), stdio, or locks.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	int fd;    /* the socket to it; -1: there is no child */
	int alive; /* what it dies with */
	pid_t pid;
};

#define CHILD_NONE ((struct child){.fd = -1, .alive = -1})

/* Runs in the child; it ends when this returns. fd: its end of the socket. */
typedef void child_fn(int fd, const void *arg);

/* type: SOCK_STREAM, SOCK_SEQPACKET; name: of the process, at most 15 bytes. 0 or -errno; then *c
 * is untouched. Thread-safe. */
int child_start(struct child *c, int type, const char *name, child_fn *run, const void *arg);
/* Kills it and waits for its end up to so many ms. One that cannot be killed now is reaped when
 * another child starts or ends. Leaves CHILD_NONE, which is fine too. */
void child_end(struct child *c, unsigned ms);

struct child_ops {
	int (*socketpair)(int type, int fds[2]); /* 0 or -errno */
	pid_t (*fork)(void);                     /* as fork, or -errno; raises no signal */
};
extern const struct child_ops child_kernel_ops; /* the real ones */
/* Replaces them (tests only, before threads start); NULL restores. */
void child_set_ops(const struct child_ops *ops);

#endif
