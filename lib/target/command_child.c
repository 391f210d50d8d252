/*
 * The side of the child: nothing but system calls, since other threads of the parent may have held
 * locks.
 */
#include "target/command_child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t target_read(int fd, void *to, size_t len)
{
	ssize_t n;

	do
		n = read(fd, to, len);
	while (n < 0 && errno == EINTR);
	return n;
}

static void report(int fd, int value)
{
	while (write(fd, &value, sizeof(value)) < 0 && errno == EINTR)
		;
}

/* Signals of the terminal are for the runs: this process outlives them. CLONE_VFORK: returns here
 * when the child has called exec or has ended. */
static void make_run(int result_fd, const sigset_t *mask)
{
	sigset_t all;
	long pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	pid = syscall(SYS_clone, (unsigned long)(CLONE_PARENT | CLONE_VFORK | SIGCHLD), NULL, NULL,
		      NULL, 0ul);
	if (pid) {
		report(result_fd, pid < 0 ? -errno : 0);
		return;
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
	report(result_fd, getpid());
}

void target_become(int go_fd, int result_fd, char *const *argv)
{
	sigset_t mask;
	char order;
	int error;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	do {
		if (target_read(go_fd, &order, 1) != 1)
			_exit(127);
		if (order == TARGET_FORK)
			make_run(result_fd, &mask);
	} while (order == TARGET_FORK);
	execvp(argv[0], argv);
	error = errno;
	report(result_fd, error);
	_exit(error == ENOENT ? 127 : 126);
}
