/*
 * Tasks that come and go, for test_scale.py: crowd threads|processes|vforks|killed|stopped NUMBER
 * AT_ONCE, crowd chain NUMBER, crowd spin MS, crowd churn (until it is killed). At the end, prints
 * what the kernel accounted to this process and to the children it waited for: CPU time in user and
 * system mode (ns), faults, context switches.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NR_LOOPS = 20000, NR_PAGES = 8, PAGE = 4096 };

static const char *program;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *work(void *arg)
{
	for (volatile int i = 0; i < NR_LOOPS; i++)
		;
	return arg;
}

static void touch(void)
{
	volatile char *p =
	    mmap(NULL, NR_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < NR_PAGES; i++)
		p[i * PAGE] = 1;
}

static void run_threads(unsigned nr)
{
	pthread_t *thread = calloc(nr, sizeof(*thread));
	pthread_attr_t attr;

	if (!thread || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 64 << 10))
		die("threads");
	for (unsigned i = 0; i < nr; i++)
		if (pthread_create(&thread[i], &attr, work, NULL))
			die("pthread_create");
	for (unsigned i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}

static void child(const char *how)
{
	if (strcmp(how, "killed") == 0)
		for (;;)
			pause();
	if (strcmp(how, "stopped") == 0)
		raise(SIGSTOP);
	touch();
	work(NULL);
	_exit(0);
}

/* Each child once: ends it where it does not end by itself, and waits for its end. */
static void end(const char *how, pid_t pid)
{
	bool is_killed = strcmp(how, "killed") == 0;
	int status;

	if (strcmp(how, "stopped") == 0) {
		if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
			die("a child did not stop");
		kill(pid, SIGCONT);
	}
	if (is_killed)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || (is_killed ? !WIFSIGNALED(status) : status != 0))
		die("a child ended otherwise");
}

static void run_children(const char *how, unsigned nr)
{
	bool is_vfork = strcmp(how, "vforks") == 0;
	pid_t *pid = calloc(nr, sizeof(*pid));

	if (!pid)
		die("calloc");
	for (unsigned i = 0; i < nr; i++) {
		pid[i] = is_vfork ? vfork() : fork();
		if (pid[i] < 0)
			die("fork");
		if (pid[i] == 0 && is_vfork) {
			execl(program, program, "child", NULL);
			_exit(127);
		}
		if (pid[i] == 0)
			child(how);
	}
	for (unsigned i = 0; i < nr; i++)
		end(how, pid[i]);
	free(pid);
}

static void spin(long ms)
{
	struct timespec t;

	do {
		for (unsigned i = 0; i < 100; i++) /* so that hardly any time is in the kernel */
			work(NULL);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

static void *doze(void *arg)
{
	usleep(300000);
	return arg;
}

static void churn(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 64 << 10) ||
	    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED))
		die("threads");
	for (;; usleep(20))
		if (pthread_create(&thread, &attr, doze, NULL))
			die("pthread_create");
}

static int64_t ns(struct timeval t)
{
	return t.tv_sec * INT64_C(1000000000) + t.tv_usec * INT64_C(1000);
}

static void account(void)
{
	struct rusage a, b;

	if (getrusage(RUSAGE_SELF, &a) || getrusage(RUSAGE_CHILDREN, &b))
		die("getrusage");
	printf("{\"user\": %lld, \"system\": %lld, \"faults\": %ld, \"switches\": %ld}\n",
	       (long long)(ns(a.ru_utime) + ns(b.ru_utime)),
	       (long long)(ns(a.ru_stime) + ns(b.ru_stime)),
	       a.ru_minflt + a.ru_majflt + b.ru_minflt + b.ru_majflt,
	       a.ru_nvcsw + a.ru_nivcsw + b.ru_nvcsw + b.ru_nivcsw);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long nr = argc > 2 ? atol(argv[2]) : 0, at_once = argc > 3 ? atol(argv[3]) : 1;

	program = argv[0];
	if (strcmp(mode, "child") == 0)
		child("");
	if (strcmp(mode, "churn") == 0)
		churn();
	if (strcmp(mode, "spin") == 0)
		spin(nr);
	else if (strcmp(mode, "chain") == 0 && nr > 0) {
		char next[32];

		touch();
		work(NULL);
		snprintf(next, sizeof(next), "%ld", nr - 1);
		execl(program, program, mode, next, NULL);
		die("execl");
	} else
		for (long done = 0; done < nr; done += at_once) {
			if (strcmp(mode, "threads") == 0)
				run_threads((unsigned)at_once);
			else
				run_children(mode, (unsigned)at_once);
		}
	account();
	return 0;
}
