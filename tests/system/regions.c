/*
 * What test_regions.py measures: regions that the program also times by itself. Prints "name value"
 * lines: calls and wall time of each path in ns.
 *
 * usage: regions threads | thread | pause | jump | fork | exec | kill | object PATH... | across
 * PATH
 */
#include <cpuperf/mark.h>

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NR_THREADS = 8, NR_ROUNDS = 10 };

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

/* Its own times, around the marks and within them: the region's lie between. */
struct times {
	uint64_t outside_ns, inside_ns, calls;
};
static struct times request, parse, recurse;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(struct times *to, uint64_t outside_ns, uint64_t inside_ns)
{
	pthread_mutex_lock(&lock);
	to->outside_ns += outside_ns;
	to->inside_ns += inside_ns;
	to->calls++;
	pthread_mutex_unlock(&lock);
}

static void descend(int depth)
{
	uint64_t from = clock_ns(CLOCK_MONOTONIC), inner, until;

	CPUPERF_BEGIN("recurse");
	inner = clock_ns(CLOCK_MONOTONIC);
	burn(500000);
	if (depth)
		descend(depth - 1);
	until = clock_ns(CLOCK_MONOTONIC);
	CPUPERF_END;
	add(&recurse, clock_ns(CLOCK_MONOTONIC) - from, until - inner);
}

static void *serve(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		uint64_t from = clock_ns(CLOCK_MONOTONIC), inner, until, parsed;

		CPUPERF_BEGIN_NUMBER("request", i);
		inner = clock_ns(CLOCK_MONOTONIC);
		{
			uint64_t begun = clock_ns(CLOCK_MONOTONIC);
			CPUPERF_REGION("parse");

			burn(1000000);
			parsed = clock_ns(CLOCK_MONOTONIC) - begun;
		}
		add(&parse, parsed, parsed);
		usleep(1000);
		descend(2);
		until = clock_ns(CLOCK_MONOTONIC);
		CPUPERF_END;
		add(&request, clock_ns(CLOCK_MONOTONIC) - from, until - inner);
	}
	return arg;
}

static void print(const char *name, const struct times *t)
{
	printf("%s.outside %llu\n%s.inside %llu\n%s.calls %llu\n", name,
	       (unsigned long long)t->outside_ns, name, (unsigned long long)t->inside_ns, name,
	       (unsigned long long)t->calls);
}

static void run_threads(void)
{
	pthread_t thread[NR_THREADS];

	printf("begun 1\n");
	fflush(stdout);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, serve, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	print("request", &request);
	print("parse", &parse);
	print("recurse", &recurse);
}

__attribute__((noinline)) static void shown(void)
{
	burn(300000000);
}

__attribute__((noinline)) static void hidden(void)
{
	burn(300000000);
}

static void run_pause(void)
{
	cpuperf_pause_thread();
	hidden();
	cpuperf_resume_thread();
	shown();
	cpuperf_pause();
	hidden();
	cpuperf_resume();
	shown();
}

/* The region within is left without its end, three times. */
/* Ends within its region, long before the process does. */
static void *leave_open(void *arg)
{
	CPUPERF_BEGIN("left");
	usleep(100000);
	return arg;
}

static void run_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, leave_open, NULL);
	pthread_join(t, NULL);
	usleep(1000000);
}

static void run_jump(void)
{
	static jmp_buf back;
	static volatile int i;

	for (i = 0; i < 3; i++) {
		CPUPERF_BEGIN("outer");
		if (setjmp(back) == 0) {
			CPUPERF_BEGIN("left");
			longjmp(back, 1);
		}
		CPUPERF_END;
	}
}

/* The same within a block, which ends what was left in it. */
static void run_leave(void)
{
	static jmp_buf back;
	static volatile int i;

	for (i = 0; i < 10; i++) {
		CPUPERF_REGION("request");
		if (setjmp(back) == 0) {
			CPUPERF_BEGIN("left");
			burn(1000000);
			longjmp(back, 1);
		}
		CPUPERF_BEGIN("after");
		CPUPERF_END;
	}
}

static void run_fork(int is_exec)
{
	pid_t pid;

	CPUPERF_BEGIN("parent");
	pid = fork();
	if (pid == 0) {
		CPUPERF_BEGIN("child");
		burn(20000000);
		if (is_exec)
			execl("/bin/true", "true", NULL);
		CPUPERF_END;
		_exit(3);
	}
	waitpid(pid, NULL, 0);
	CPUPERF_END;
}

/* The order of two marks with the same time in different objects is not known: the next one is
 * later, also where the clock has steps. */
static void step(void)
{
	uint64_t from = clock_ns(CLOCK_MONOTONIC);

	while (clock_ns(CLOCK_MONOTONIC) < from + 1000)
		;
}

/* In the first block this program has begun as much as it ended. */
static void end_block(void (*begin)(void), void (*end)(void))
{
	for (int i = 0; i < 2; i++) {
		begin();
		step();
		CPUPERF_END;
		step();
	}
	CPUPERF_REGION("block");
	step();
	begin();
	end();
	step();
}

/* Regions that this program begins and the object ends, and the other way round. */
static void run_across(const char *path)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*begin)(void), (*end)(void);

	if (!object)
		exit(1);
	*(void **)&begin = dlsym(object, "object_begin");
	*(void **)&end = dlsym(object, "object_end");
	for (int i = 0; i < 10; i++) {
		CPUPERF_BEGIN("main");
		step();
		end();
		step();
		end_block(begin, end);
		step();
		begin();
		step();
		CPUPERF_BEGIN("inner");
		CPUPERF_END;
		CPUPERF_END;
		step();
	}
}

static void run_object(const char *path)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*begin)(void), (*end)(void);

	if (!object) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&begin = dlsym(object, "object_begin");
	*(void **)&end = dlsym(object, "object_end");
	begin();
	CPUPERF_BEGIN("main");
	burn(2000000);
	CPUPERF_END;
	end();
	begin(); /* open when the object is closed */
	dlclose(object);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "threads") == 0)
		run_threads();
	else if (strcmp(what, "pause") == 0)
		run_pause();
	else if (strcmp(what, "thread") == 0)
		run_thread();
	else if (strcmp(what, "jump") == 0)
		run_jump();
	else if (strcmp(what, "leave") == 0)
		run_leave();
	else if (strcmp(what, "fork") == 0)
		run_fork(0);
	else if (strcmp(what, "exec") == 0)
		run_fork(1);
	else if (strcmp(what, "object") == 0)
		for (int i = 2; i < argc; i++)
			run_object(argv[i]);
	else if (strcmp(what, "across") == 0 && argc > 2)
		run_across(argv[2]);
	else if (strcmp(what, "kill") == 0) {
		CPUPERF_BEGIN("killed");
		burn(30000000);
		kill(getpid(), SIGKILL);
	}
	return 7;
}
