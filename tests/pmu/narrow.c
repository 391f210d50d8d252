/*
 * A program whose heap and descriptors are known, built for 32 bits and for 64:
 * narrow known; narrow exec PROGRAM ARGUMENT...; narrow system COMMAND. Without a word it knows, it
 * does what is known: as a shell, too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
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

/* 5 descriptors, of which 2 are closed; 50 bytes read, and 30 written. */
FUNCTION use_files(void)
{
	char bytes[50];
	int fd[5];

	for (int i = 0; i < 5; i++)
		fd[i] = open("/dev/zero", O_RDWR);
	if (read(fd[0], bytes, sizeof(bytes)) != sizeof(bytes) ||
	    pread64(fd[0], bytes, 0, (off64_t)1 << 33) || write(fd[1], bytes, 30) != 30)
		_exit(3);
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

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "exec") == 0) {
		execv(argv[2], argv + 2);
		return 5;
	}
	if (argc > 2 && strcmp(argv[1], "system") == 0)
		return system(argv[2]) ? 6 : 0;
	allocate();
	use_files();
	create();
	return 0;
}
