/*
 * Who ends waits is deep in a chain of functions, whose frames take 4 KiB, and which have no frame
 * pointers: the main thread wakes another one at a condition and at a pipe, a thread the main one,
 * and a child, which ends then. Each time the other one has waited for some ms, if it came to that.
 * With an argument: starts a program that many times, by posix_spawn.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 6 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_ready, to_thread[2], to_main[2];
static volatile char sink;

__attribute__((noinline)) static void nap(void)
{
	const struct timespec t = {0, 5000000};

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void send(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
	sink = 0;
}

__attribute__((noinline)) static void receive(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		_exit(1);
	sink = c;
}

/* fd -1: at the condition. */
__attribute__((noinline)) static void wake(int fd)
{
	nap();
	if (fd >= 0) {
		send(fd);
	} else {
		pthread_mutex_lock(&mutex);
		is_ready = 1;
		pthread_mutex_unlock(&mutex);
		pthread_cond_signal(&condition);
	}
	sink = 0;
}

#define CALLS(name, next)                                                                          \
	__attribute__((noinline)) static void name(int fd)                                         \
	{                                                                                          \
		char frame[480];                                                                   \
                                                                                                   \
		memset(frame, fd, sizeof(frame));                                                  \
		sink = frame[fd & 255];                                                            \
		next(fd);                                                                          \
		sink = frame[(fd + 1) & 255];                                                      \
	}

CALLS(deep8, wake)
CALLS(deep7, deep8)
CALLS(deep6, deep7)
CALLS(deep5, deep6)
CALLS(deep4, deep5)
CALLS(deep3, deep4)
CALLS(deep2, deep3)
CALLS(deep1, deep2)

static void *act(void *unused)
{
	pthread_setname_np(pthread_self(), "actor");
	for (int i = 0; i < TIMES; i++) {
		pthread_mutex_lock(&mutex);
		while (!is_ready)
			pthread_cond_wait(&condition, &mutex);
		is_ready = 0;
		pthread_mutex_unlock(&mutex);
		receive(to_thread[0]);
		deep1(to_main[1]);
	}
	return unused;
}

static int start(int nr)
{
	char *argv[] = {"true", NULL};
	pid_t pid;

	while (nr--)
		if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) ||
		    waitpid(pid, NULL, 0) < 0)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 1)
		return start(atoi(argv[1]));
	if (pipe(to_thread) || pipe(to_main) || pthread_create(&t, NULL, act, NULL))
		return 1;
	for (int i = 0; i < TIMES; i++) {
		deep1(-1);
		deep1(to_thread[1]);
		receive(to_main[0]);
		if (fork() == 0) {
			pthread_setname_np(pthread_self(), "child");
			deep1(to_main[1]);
			_exit(0);
		}
		receive(to_main[0]);
		wait(NULL);
	}
	pthread_join(t, NULL);
	return 0;
}
