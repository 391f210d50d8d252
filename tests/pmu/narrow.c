/*
 * A program whose heap and descriptors are known, built for 32 bits, also with a time of 64, and
 * for 64: narrow known; narrow exec PROGRAM ARGUMENT...; narrow filter, the same with a filter of
 * system calls, which permits all; narrow system COMMAND; narrow old. Without a word it knows, it
 * does what is known: as a shell, too.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline)) static void
#define END      __asm__ volatile("")

static void *volatile keep[10];

/* 10 blocks of 100 bytes, of which 4 are freed. */
FUNCTION allocate(void)
{
	for (int i = 0; i < 10; i++)
		keep[i] = malloc(100);
	for (int i = 0; i < 4; i++)
		free(keep[i]);
	END;
}

/* 6 descriptors, of which 3 are closed; 50 bytes read, and 30 written. */
FUNCTION use_files(void)
{
	char bytes[50];
	int fd[5];

	for (int i = 0; i < 5; i++)
		fd[i] = open("/dev/zero", O_RDWR);
	if (read(fd[0], bytes, sizeof(bytes)) != sizeof(bytes) ||
	    pread64(fd[0], bytes, 0, (off64_t)1 << 33) || write(fd[1], bytes, 30) != 30)
		_exit(3);
	close(fcntl(fd[2], F_DUPFD, 10));
	close(fd[3]);
	close(fd[4]);
	END;
}

static void *begin(void *arg)
{
	return arg;
}

FUNCTION create(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, begin, NULL) || pthread_join(thread, NULL))
		_exit(4);
	END;
}

#if defined(__i386__)
/* As a program of before glibc 2.3.2 calls them. */
int old_wait(pthread_cond_t *, pthread_mutex_t *), old_signal(pthread_cond_t *);
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.0");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.0");

static pthread_cond_t condition;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_there;

static void *arrive(void *arg)
{
	pthread_mutex_lock(&mutex);
	is_there = 1;
	old_signal(&condition);
	pthread_mutex_unlock(&mutex);
	return arg;
}

FUNCTION meet(void)
{
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	if (pthread_create(&thread, NULL, arrive, NULL))
		_exit(4);
	while (!is_there)
		old_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}
#else
FUNCTION meet(void)
{
}
#endif

FUNCTION install_filter(void)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {1, all};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program, 0, 0))
		_exit(7);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "filter") == 0)
		install_filter();
	if (argc > 2 && (strcmp(argv[1], "exec") == 0 || strcmp(argv[1], "filter") == 0)) {
		execv(argv[2], argv + 2);
		return 5;
	}
	if (argc > 2 && strcmp(argv[1], "system") == 0)
		return system(argv[2]) ? 6 : 0;
	if (argc > 1 && strcmp(argv[1], "old") == 0) {
		meet();
		return 0;
	}
	allocate();
	use_files();
	create();
	return 0;
}
