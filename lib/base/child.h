/*
 * A child process for work that may block forever: a thread that opens a file on a file system that
 * does not answer can be neither interrupted nor killed. The child has a socket to the parent and
 * no other descriptor. It dies with the parent, except that a process which the parent forks
 * without exec holds the child's socket open too. Invisible to a program that links the library: it
 * raises no SIGCHLD, and wait(-1) does not return it.
 *
 * It starts as a copy of a process with several threads, any of which may hold a lock of libc. So
 * it must not use libc's heap (mem.h uses another there), stdio, or locks.
 *
 * A measured command is no such child: it is forked (target/command.c) and raises SIGCHLD like any
 * child.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	int fd;    /* the socket; -1: no child */
	int alive; /* closed when the parent exits, which ends the child */
	pid_t pid;
};

#define CHILD_NONE ((struct child){.fd = -1, .alive = -1})

/* Runs in the child, which exits when it returns. fd: the child's end of the socket. */
typedef void child_fn(int fd, const void *arg);

/* type: SOCK_STREAM, SOCK_SEQPACKET; name: of the process, at most 15 bytes. 0 or -errno, with *c
 * unchanged; -EAGAIN: 64 earlier children cannot be killed. Thread-safe. */
int child_start(struct child *c, int type, const char *name, child_fn *run, const void *arg);
/* Kills the child, so that child_end, which must follow, need not wait long. */
void child_kill(const struct child *c);
/* Kills the child and waits up to ms for its exit. A child that cannot be killed yet is reaped when
 * another starts or ends. Sets *c to CHILD_NONE, which is allowed too. */
void child_end(struct child *c, unsigned ms);

struct child_ops {
	int (*socketpair)(int type, int fds[2]); /* 0 or -errno */
	pid_t (*fork)(void);                     /* as fork, or -errno; without SIGCHLD */
};
extern const struct child_ops child_kernel_ops; /* the real ones */
/* Replaces the table (tests only, before threads start); NULL restores it. */
void child_set_ops(const struct child_ops *ops);

#endif
