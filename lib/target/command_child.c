/*
 * The side of the child: hardly anything but system calls, since other threads of the parent may
 * have held locks.
 */
#include "target/command_child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

static bool read_all(int fd, void *to, size_t len)
{
	ssize_t n;

	for (char *at = to; len; at += n, len -= (size_t)n) {
		n = target_read(fd, at, len);
		if (n <= 0)
			return false;
	}
	return true;
}

/* A size_t, and so many bytes. The process of target_command_new was forked when there was one
 * thread: it may use the heap, and so may a run's, which borrows its memory until exec. */
static char *read_text(int fd, size_t *len)
{
	char *text = read_all(fd, len, sizeof(*len)) ? malloc(*len + 1) : NULL;

	if (!text || !read_all(fd, text, *len))
		return NULL;
	text[*len] = '\0';
	return text;
}

/* In the place of the one before: what grows here, each run would copy and give back. */
static char **read_argv(int fd)
{
	static char *text, **argv;
	size_t len, nr = 0;

	free(text);
	free(argv);
	text = read_text(fd, &len);
	for (size_t i = 0; text && i < len; i++)
		nr += !text[i];
	argv = text ? calloc(nr + 1, sizeof(*argv)) : NULL;
	nr = 0;
	for (size_t at = 0; argv && at < len; at += strlen(text + at) + 1)
		argv[nr++] = text + at;
	return argv;
}

static bool read_variable(int fd)
{
	size_t len;
	char *text = read_text(fd, &len);

	/* the environment keeps it */
	return text && putenv(text) == 0; /* NOLINT(clang-analyzer-unix.Malloc) */
}

static void report_all(int fd, const void *from, size_t len)
{
	while (write(fd, from, len) < 0 && errno == EINTR)
		;
}

static void report(int fd, int value)
{
	report_all(fd, &value, sizeof(value));
}

/* Signals of the terminal are for the runs: this process outlives them. CLONE_VFORK: returns here
 * when the child has called exec or has ended. False: this is the child. */
static bool make_run(int result_fd, const sigset_t *mask)
{
	sigset_t all;
	long pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	pid = syscall(SYS_clone, (unsigned long)(CLONE_PARENT | CLONE_VFORK | SIGCHLD), NULL, NULL,
		      NULL, 0ul);
	if (pid) {
		report(result_fd, pid < 0 ? -errno : 0);
		return true;
	}
	/* first: what is signalled to the group meanwhile ends it, and is a run that ended */
	report(result_fd, getpid());
	sigprocmask(SIG_SETMASK, mask, NULL);
	return false;
}

void target_become(int go_fd, int result_fd, char *const *argv)
{
	struct rusage usage = {0};
	bool is_maker = false;
	sigset_t mask;
	char order;
	int error;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	do {
		if (target_read(go_fd, &order, 1) != 1)
			_exit(127);
		if (order == TARGET_FORK)
			is_maker = make_run(result_fd, &mask);
		if (order == TARGET_ARGV)
			argv = read_argv(go_fd);
		if (order == TARGET_VARIABLE && !read_variable(go_fd))
			_exit(127);
		if (!argv || !argv[0])
			_exit(127);
	} while (order != TARGET_EXEC || is_maker); /* of a run that a signal ended before */
	(void)getrusage(RUSAGE_SELF, &usage);
	report_all(result_fd, &usage, sizeof(usage));
	execvp(argv[0], argv);
	error = errno;
	report(result_fd, error);
	_exit(error == ENOENT ? 127 : 126);
}
