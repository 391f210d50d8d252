/*
 * Uses known amounts of what a process can use, so that what is said of the process can be held
 * against its own account of it. Knows nothing of cpuperf.
 *
 * It prints an empty line when it is ready; begins at the first byte of its standard input; prints
 * what it used since then, as JSON; and stays as it is until its input ends.
 *
 * busy threads MS         two threads that spin for so long, and one that does so half of the time
 * busy churn N            N threads, one after the other in a second, each spins for a moment
 * busy memory MIB         fills so much memory
 * busy write FILE MIB     writes so much to a new file, and syncs it
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { SPAN_NS = 1000000, MOMENT_NS = 100000, SECOND_NS = 1000000000, NR_THREADS = 3 };

static uint64_t end_ns;
static pthread_barrier_t done;

static uint64_t now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + ns;

	while (now_ns(CLOCK_MONOTONIC) < until)
		;
}

static void rest(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* Threads stay, too: those that end are another test. */
static void *work(void *is_half)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		spin(SPAN_NS);
		if (is_half)
			rest(SPAN_NS);
	}
	pthread_barrier_wait(&done);
	pause();
	return NULL;
}

static int threads(char **args)
{
	pthread_t thread;

	end_ns = now_ns(CLOCK_MONOTONIC) + strtoull(args[0], NULL, 10) * SPAN_NS;
	if (pthread_barrier_init(&done, NULL, NR_THREADS + 1))
		return -1;
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&thread, NULL, work, i == 2 ? &done : NULL))
			return -1;
	pthread_barrier_wait(&done);
	return 0;
}

static void *moment(void *unused)
{
	spin(MOMENT_NS);
	return unused;
}

static int churn(char **args)
{
	uint64_t nr = strtoull(args[0], NULL, 10), start_ns = now_ns(CLOCK_MONOTONIC);
	pthread_t thread;

	for (uint64_t i = 1; i <= nr; i++) {
		uint64_t due_ns = start_ns + i * (SECOND_NS / nr), at_ns;

		if (pthread_create(&thread, NULL, moment, NULL) || pthread_join(thread, NULL))
			return -1;
		at_ns = now_ns(CLOCK_MONOTONIC);
		if (at_ns < due_ns)
			rest(due_ns - at_ns);
	}
	return 0;
}

static int memory(char **args)
{
	size_t bytes = strtoull(args[0], NULL, 10) << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	memset(p, 1, bytes);
	return 0;
}

static int write_file(char **args)
{
	static char mib[1 << 20];
	int fd = open(args[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	for (uint64_t i = strtoull(args[1], NULL, 10); fd >= 0 && i; i--)
		if (write(fd, memset(mib, (int)i, sizeof(mib)), sizeof(mib)) != sizeof(mib))
			return -1;
	return fd < 0 || fsync(fd) || close(fd) ? -1 : 0;
}

static const struct {
	const char *name;
	int nr_args;
	int (*run)(char **args);
} things[] = {
    {"threads", 1, threads}, {"churn", 1, churn}, {"memory", 1, memory}, {"write", 2, write_file}};

static uint64_t usage_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int run(int (*fn)(char **args), char **args)
{
	uint64_t start_ns, clock_ns, us;
	char byte;

	puts("");
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 0;
	start_ns = now_ns(CLOCK_MONOTONIC);
	clock_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	us = usage_us();
	if (fn(args))
		return 1;
	printf("{\"start_ns\": %llu, \"end_ns\": %llu, \"clock_ns\": %llu, \"rusage_us\": %llu}\n",
	       (unsigned long long)start_ns, (unsigned long long)now_ns(CLOCK_MONOTONIC),
	       (unsigned long long)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns),
	       (unsigned long long)(usage_us() - us));
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(things) / sizeof(things[0]); i++)
		if (strcmp(things[i].name, argv[1]) == 0 && argc == 2 + things[i].nr_args &&
		    run(things[i].run, argv + 2) == 0)
			return 0;
	fprintf(stderr, "busy: cannot do that\n");
	return 1;
}
