/*
 * The program of the manual. It reads a log that it makes itself: parse_line uses most of the CPU
 * time, keep_line allocates and never frees, and look_up waits for a lock that the thread "writer"
 * holds while it sleeps. `prog serve` does the same again and again, until it is killed. Built with
 * -DFASTER, parse_line needs half of the time.
 *
 *     cc -O1 -g -fno-omit-frame-pointer prog.c -o prog $(pkg-config --cflags cpuperf) -pthread
 */
#define _GNU_SOURCE
#include <cpuperf/mark.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef FASTER
enum { PARSE_ROUNDS = 120 };
#else
enum { PARSE_ROUNDS = 240 };
#endif
enum { LINES = 2000, CHECK_ROUNDS = 80, LINE_BYTES = 256, HELD_MS = 60, MAX_LINES = 200000 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t locked;
static char *kept[MAX_LINES];
static unsigned nr_kept;
static volatile unsigned result;

static __attribute__((noinline)) void parse_line(const char *line)
{
	unsigned words = 0;

	for (int i = 0; i < PARSE_ROUNDS; i++)
		for (const char *c = line; *c; c++)
			words += *c == ' ';
	result += words;
}

static __attribute__((noinline)) void check_sum(const char *line)
{
	unsigned sum = 0;

	for (int i = 0; i < CHECK_ROUNDS; i++)
		for (const char *c = line; *c; c++)
			sum = sum * 31 + (unsigned)*c;
	result += sum;
}

/* The fault: nobody frees them. */
static __attribute__((noinline)) void keep_line(const char *line)
{
	char *copy = malloc(LINE_BYTES);

	if (!copy || nr_kept == MAX_LINES)
		return free(copy);
	memcpy(copy, line, LINE_BYTES);
	kept[nr_kept++] = copy;
}

static __attribute__((noinline)) void read_log(void)
{
	char line[LINE_BYTES];

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (unsigned i = 0; i < LINES; i++) {
		line[i % (LINE_BYTES - 1)] = ' ';
		parse_line(line);
		check_sum(line);
		keep_line(line);
	}
}

/* The other fault: it sleeps with the lock held. */
static void *hold_lock(void *unused)
{
	const struct timespec t = {.tv_nsec = HELD_MS * 1000000L};

	pthread_setname_np(pthread_self(), "writer");
	pthread_mutex_lock(&table_lock);
	pthread_barrier_wait(&locked);
	nanosleep(&t, NULL);
	pthread_mutex_unlock(&table_lock);
	return unused;
}

static __attribute__((noinline)) void look_up(void)
{
	pthread_mutex_lock(&table_lock);
	result++;
	pthread_mutex_unlock(&table_lock);
}

static void run_once(void)
{
	pthread_t writer;

	CPUPERF_BEGIN("read");
	read_log();
	CPUPERF_END;
	pthread_barrier_init(&locked, NULL, 2);
	if (pthread_create(&writer, NULL, hold_lock, NULL))
		exit(1);
	pthread_barrier_wait(&locked);
	CPUPERF_BEGIN("look up");
	look_up();
	CPUPERF_END;
	pthread_join(writer, NULL);
}

int main(int argc, char **argv)
{
	bool is_server = argc > 1 && strcmp(argv[1], "serve") == 0;

	do
		run_once();
	while (is_server);
	printf("%u lines\n", nr_kept);
}
