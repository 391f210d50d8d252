/* What test_resource.py measures: a program whose reads and writes are known. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#define FUNCTION __attribute__((noinline)) static void
#define END      __asm__ volatile("")

static char bytes[1000];
static int alternate_to;

FUNCTION writer(int n)
{
	int fd = open("/dev/null", O_WRONLY);

	while (n--)
		write(fd, bytes, 7);
	close(fd);
	END;
}

FUNCTION reader(int n)
{
	int fd = open("/dev/zero", O_RDONLY);

	while (n--)
		read(fd, bytes, 11);
	close(fd);
	END;
}

/* By the checked functions, too: the room is known, the length is not. */
FUNCTION files(volatile size_t len)
{
	struct iovec parts[2] = {{bytes, 10}, {bytes + 10, 20}};
	int fd = memfd_create("x", 0), to = memfd_create("y", 0);
	char room[100];
	off_t at = 0;

	write(fd, bytes, 100);
	writev(fd, parts, 2);
	pwrite(fd, bytes, 1, 200);
	pwrite64(fd, bytes, 2, 200);
	pwritev(fd, parts, 2, 200);
	pwritev2(fd, parts, 2, 200, 0);
	lseek(fd, 0, SEEK_SET);
	read(fd, room, len);
	readv(fd, parts, 2);
	pread(fd, room, len, 3);
	pread64(fd, room, len, 3);
	preadv(fd, parts, 2, 5);
	preadv2(fd, parts, 2, 5, 0);
	pread(fd, room, 100, 1000000); /* the end: 0 bytes */
	sendfile(to, fd, &at, 17);
	copy_file_range(fd, &at, to, NULL, 18, 0);
	read(-1, room, 1);
	write(-1, bytes, 1);
	END;
}

FUNCTION sockets(volatile size_t len)
{
	struct iovec part = {bytes, 6};
	struct mmsghdr messages[2] = {{{.msg_iov = &part, .msg_iovlen = 1}, 0},
				      {{.msg_iov = &part, .msg_iovlen = 1}, 0}};
	struct msghdr one = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[2], pipes[2];
	char room[100];

	socketpair(AF_UNIX, SOCK_DGRAM, 0, fds);
	send(fds[0], bytes, 3, 0);
	sendto(fds[0], bytes, 4, 0, NULL, 0);
	sendmsg(fds[0], &one, 0);
	sendmmsg(fds[0], messages, 2, 0);
	recv(fds[1], room, len, 0);
	recvfrom(fds[1], room, len, 0, NULL, NULL);
	recvmsg(fds[1], &one, 0);
	recvmmsg(fds[1], messages, 2, 0, NULL);
	recv(fds[1], room, len, MSG_DONTWAIT);
	pipe(pipes);
	write(pipes[1], bytes, 50);
	splice(pipes[0], NULL, open("/dev/null", O_WRONLY), NULL, 50, 0);
	END;
}

/* Each kind of table of functions that a stream may have. */
FUNCTION streams(void)
{
	FILE *f = tmpfile(), *wide = tmpfile(), *mapped, *p;
	char *line = NULL;
	size_t room = 0;

	for (int i = 0; i < 10000; i++)
		fprintf(f, "%d\n", i);
	rewind(f);
	while (getline(&line, &room, f) > 0)
		;
	fwprintf(wide, L"wide\n");
	fflush(wide);
	rewind(wide);
	fgetwc(wide);
	mapped = fopen("/proc/self/exe", "rm");
	fread(bytes, 1, 10, mapped);
	setvbuf(f, NULL, _IONBF, 0);
	fputs("unbuffered", f);
	dprintf(fileno(f), "by number");
	p = popen("cat >/dev/null", "w");
	fputs("by a pipe", p);
	pclose(p);
	puts("at the end");
	END;
}

static void on_signal(int number)
{
	(void)number;
	write(alternate_to, bytes, 3);
}

/* A handler on a stack of the least size, beside which nothing may be written. */
FUNCTION alternate(void)
{
	static char room[3 * 8192];
	stack_t stack = {.ss_sp = room + 2 * 8192, .ss_size = 8192};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	int nr = 0;

	alternate_to = open("/dev/null", O_WRONLY);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	raise(SIGUSR1);
	for (int i = 0; i < 2 * 8192; i++)
		nr += room[i] != 0;
	printf("%d\n", nr);
}

static void *thread(void *arg)
{
	(void)arg;
	writer(2000);
	reader(1000);
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

static int nr_ready, nothing;

static void *rushing(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&nr_ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&nr_ready, __ATOMIC_SEQ_CST) < 3)
		;
	write(nothing, bytes, 7);
	return NULL;
}

/* The first calls of all are made at the same time. */
FUNCTION rush(void)
{
	pthread_t t[2];

	nothing = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, rushing, NULL);
	rushing(NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* Cancelled within read: it counts no byte, and nothing is broken. */
static void *waiting(void *arg)
{
	read(*(int *)arg, bytes, 1);
	return NULL;
}

FUNCTION cancelled(void)
{
	pthread_t t;
	int fds[2];

	pipe(fds);
	pthread_create(&t, NULL, waiting, fds);
	usleep(20000);
	pthread_cancel(t);
	pthread_join(t, NULL);
	writer(5);
}

FUNCTION forks(void)
{
	pid_t pid;

	writer(3);
	pid = fork();
	if (!pid) {
		writer(2);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "known") == 0) {
		writer(100);
		reader(50);
	} else if (strcmp(what, "kinds") == 0) {
		files(9);
		sockets(100);
	} else if (strcmp(what, "streams") == 0)
		streams();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "rush") == 0)
		rush();
	else if (strcmp(what, "cancelled") == 0)
		cancelled();
	else if (strcmp(what, "alternate") == 0)
		alternate();
	else if (strcmp(what, "forks") == 0)
		forks();
	else if (strcmp(what, "errno") == 0) {
		errno = 77;
		write(1, "x ", 2);
		printf("%d ", errno);
		read(-1, bytes, 1);
		printf("%d\n", errno);
	}
	return 0;
}
