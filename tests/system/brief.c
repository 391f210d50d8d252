/*
 * brief NR [FILE]: NR children, one after the other, each of which works for 0.3 to 1.1 ms of CPU
 * time, and between two of them the parent for 0.1 to 0.5 ms: by chance, so that no clock can fall
 * into step. With FILE the children are threads, and all begins when FILE is there. Prints what
 * both used, in ns: parent, children. Knows nothing of cpuperf.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_NS = 300000, CHILD_MORE_NS = 800000, PARENT_NS = 100000, PARENT_MORE_NS = 400000 };
enum { WAIT_US = 1000 };

static uint64_t child_ns; /* of the next one */

static uint64_t by_chance(uint64_t least, uint64_t more)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return least + (state >> 33) % more;
}

static uint64_t used_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void work(uint64_t ns)
{
	const uint64_t end = used_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (used_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void *be_child(void *unused)
{
	work(child_ns);
	return unused;
}

static void make_process(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		be_child(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void make_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, be_child, NULL) == 0)
		pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	const int nr = argc > 1 ? atoi(argv[1]) : 0;
	uint64_t all, own;

	while (argc > 2 && access(argv[2], F_OK))
		usleep(WAIT_US);
	own = used_ns(CLOCK_THREAD_CPUTIME_ID);
	all = used_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < nr; i++) {
		work(by_chance(PARENT_NS, PARENT_MORE_NS));
		child_ns = by_chance(CHILD_NS, CHILD_MORE_NS);
		(argc > 2 ? make_thread : make_process)();
	}
	own = used_ns(CLOCK_THREAD_CPUTIME_ID) - own;
	all = used_ns(CLOCK_PROCESS_CPUTIME_ID) - all;
	if (argc <= 2) {
		struct rusage u;

		getrusage(RUSAGE_CHILDREN, &u);
		all = own + (uint64_t)u.ru_utime.tv_sec * 1000000000 +
		      (uint64_t)u.ru_utime.tv_usec * 1000 +
		      (uint64_t)u.ru_stime.tv_sec * 1000000000 +
		      (uint64_t)u.ru_stime.tv_usec * 1000;
	}
	fprintf(stderr, "pid %d\n", getpid());
	printf("%llu %llu\n", (unsigned long long)own, (unsigned long long)(all - own));
	return 0;
}
