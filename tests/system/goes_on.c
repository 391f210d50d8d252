/*
 * Goes on after it was measured, and checks itself: threads and children call functions, and know
 * their results. For each line it prints how many bytes of its code, and of its children's, are not
 * those of its file, how many calls were wrong, and the calls. At the end of its input it ends. One
 * child calls only then.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))
enum { THREADS = 3, CHILDREN = 2 };

extern const unsigned char __executable_start[], etext[];
static volatile int sink;
static struct {
	atomic_int has_ended;
	atomic_long calls, wrong;
	/* A question that each child answers. */
	atomic_int question, answered[CHILDREN];
	atomic_long changed[CHILDREN];
} * shared;

OUT int work_once(int x)
{
	sink = x;
	return x * 3 + 1;
}

OUT int work_deep(int n)
{
	int r = n ? work_deep(n - 1) : 0;

	sink = r;
	return r + 1;
}

OUT int work_thrice(int x)
{
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += work_once(x + i);
	return sum;
}

static void check(int i)
{
	if (work_thrice(i) != 9 * i + 12 || work_deep(i % 5) != i % 5 + 1)
		shared->wrong++;
	shared->calls++;
}

/* A copy of what its file has: the kernel sets breakpoints in each mapping. */
static unsigned char *file;

static long count_changed(void)
{
	long nr = 0;

	for (const unsigned char *at = __executable_start; at < etext; at++)
		nr += *at != file[at - __executable_start];
	return nr;
}

static void answer(int child)
{
	const int question = shared->question;

	if (shared->answered[child] == question)
		return;
	shared->changed[child] = count_changed();
	shared->answered[child] = question;
}

static long ask(void)
{
	const int question = ++shared->question;
	long sum = 0;

	for (int i = 0; i < CHILDREN; i++) {
		while (shared->answered[i] != question)
			usleep(500);
		sum += shared->changed[i];
	}
	return sum + count_changed();
}

static void *work(void *arg)
{
	for (int i = 0; !shared->has_ended; i = (i + 1) % 1000) {
		check(i);
		usleep(20000);
	}
	return arg;
}

static pid_t start_child(void (*run)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run();
	_exit(shared->wrong != 0);
}

static void call_always(void)
{
	for (int i = 0; !shared->has_ended; i = (i + 1) % 1000) {
		if (i % 10 == 0)
			check(i);
		answer(0);
		usleep(2000);
	}
}

static void call_at_the_end(void)
{
	while (!shared->has_ended) {
		answer(1);
		usleep(2000);
	}
	if (count_changed())
		shared->wrong++;
	check(5);
}

int main(void)
{
	const size_t len = (size_t)(etext - __executable_start);
	int fd = open("/proc/self/exe", O_RDONLY), status, failed = 0;
	pthread_t thread[THREADS];
	char line[64];

	file = malloc(len);
	if (!file || pread(fd, file, len, 0) != (ssize_t)len)
		return 8;
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(1);
	start_child(call_always);
	start_child(call_at_the_end);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%ld %ld %ld\n", ask(), atomic_load(&shared->wrong),
		       atomic_load(&shared->calls));
		fflush(stdout);
	}
	shared->has_ended = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	while (wait(&status) > 0)
		failed |= status;
	return failed || shared->wrong ? 9 : 0;
}
