/* What test_resource.py measures: a program whose descriptors are known. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline)) static void
#define END      __asm__ volatile("")

FUNCTION leak(int n)
{
	while (n--)
		open("/dev/null", O_RDONLY);
	END;
}

FUNCTION churn(int n)
{
	while (n--)
		close(open("/dev/null", O_RDONLY));
	END;
}

FUNCTION listening(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(a.sun_family);
	int at = socket(AF_UNIX, SOCK_STREAM, 0), from[2];

	bind(at, (struct sockaddr *)&a, len);
	len = sizeof(a);
	getsockname(at, (struct sockaddr *)&a, &len);
	listen(at, 4);
	for (int i = 0; i < 2; i++) {
		from[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		connect(from[i], (struct sockaddr *)&a, len);
		close(i ? accept4(at, NULL, NULL, SOCK_CLOEXEC) : accept(at, NULL, NULL));
		close(from[i]);
	}
	close(at);
	END;
}

/* Each function once; 33 descriptors, which are closed. */
FUNCTION kinds(void)
{
	char path[4][32] = {"/tmp/fdsXXXXXX", "/tmp/fdsXXXXXX", "/tmp/fdsXXXXXX.c",
			    "/tmp/fdsXXXXXX.c"};
	sigset_t signals;
	int pairs[6], fd[16], nr = 0;
	FILE *f;

	sigemptyset(&signals);
	fd[nr++] = openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
	fd[nr++] = mkstemp(path[0]);
	fd[nr++] = mkostemp(path[1], O_CLOEXEC);
	fd[nr++] = mkstemps(path[2], 2);
	fd[nr++] = mkostemps(path[3], 2, O_CLOEXEC);
	for (int i = 0; i < 4; i++)
		unlink(path[i]);
	fd[nr++] = dup(fd[0]);
	fd[nr++] = fcntl(fd[0], F_DUPFD, 100);
	fd[nr++] = fcntl(fd[0], F_DUPFD_CLOEXEC, 100);
	fd[nr++] = epoll_create1(0);
	fd[nr++] = eventfd(0, 0);
	fd[nr++] = timerfd_create(CLOCK_MONOTONIC, 0);
	fd[nr++] = signalfd(-1, &signals, 0);
	fd[nr++] = inotify_init1(0);
	fd[nr++] = memfd_create("x", 0);
	for (int i = 0; i < nr; i++)
		close(fd[i]);
	pipe(pairs);
	pipe2(pairs + 2, O_CLOEXEC);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pairs + 4);
	dup2(pairs[0], pairs[1]); /* closes it */
	dup3(pairs[0], 200, 0);
	dup2(pairs[0], pairs[0]); /* nothing */
	for (int i = 0; i < 6; i++)
		close(pairs[i]);
	close_range(150, 300, 0);
	f = fopen("/dev/null", "r");
	f = freopen("/dev/zero", "r", f);
	fclose(f);
	fclose(tmpfile());
	closedir(opendir("/"));
	pclose(popen("true", "r"));
	listening();
	fcntl(0, F_GETFD);
	open("/nowhere/x", O_RDONLY);
	close(-1);
	close(77);
	END;
}

static void *thread(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++) {
		int fd = open("/dev/null", O_RDONLY);

		close(dup(fd));
		close(fd);
	}
	return NULL;
}

FUNCTION threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* A child by vfork closes what is its own. */
FUNCTION vforks(void)
{
	pid_t pid;

	leak(3);
	pid = vfork();
	if (!pid) {
		for (int i = 3; i < 20; i++)
			close(i);
		close_range(3, 50, 0);
		dup2(1, 30);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static int begin_child(void *arg)
{
	close_range(3, 50, 0);
	leak(4);
	_exit(arg != NULL);
}

/* The same of clone, of a child of a child, and of a program that the child becomes; then the
 * parent's own count again. */
FUNCTION clones(void)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	volatile int left = 2;
	pid_t pid;

	leak(3);
	pid = clone(begin_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	waitpid(pid, NULL, 0);
	churn(10);
	pid = vfork();
	if (!pid) {
		pid = vfork();
		if (!pid) {
			close_range(3, 50, 0);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		leak(2);
		close(3);
		execl("/bin/true", "/bin/true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	while (left--)
		close(3 + left);
	leak(1);
	printf("%d\n", pid > 0 && left == -1);
}

FUNCTION forks(void)
{
	pid_t pid;

	leak(3);
	pid = fork();
	if (!pid) {
		for (int i = 3; i < 20; i++)
			close(i);
		leak(2);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "leak") == 0) {
		leak(5);
		churn(100);
	} else if (strcmp(what, "kinds") == 0)
		kinds();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "vforks") == 0)
		vforks();
	else if (strcmp(what, "clones") == 0)
		clones();
	else if (strcmp(what, "forks") == 0)
		forks();
	else if (strcmp(what, "errno") == 0) {
		errno = 77;
		close(open("/dev/null", O_RDONLY));
		printf("%d ", errno);
		close(open("/nowhere/x", O_RDONLY));
		printf("%d\n", errno);
	} else if (strcmp(what, "execs") == 0) {
		leak(4);
		execl(argv[0], argv[0], "leak", NULL);
	}
	return 0;
}
