/*
 * Does a number of things that is known, and prints what it knows of them itself: JSON with its
 * own getrusage, so that a count of the machine can be held against it. Knows nothing of cpuperf.
 *
 * known faults N MS       touches N fresh pages, twice: the second time is no fault; then uses MS
 * of CPU time known switches N        N round trips through pipes to a child: each of the two waits
 * N times known migrate N         moves N times to another CPU, of two known spin MS CPU spins on
 * the CPU until it had it for so long known hold MIB MS       fills so much memory and keeps it for
 * so long known getppid N         asks the kernel N times for its parent
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int touch_pages(long nr, long value)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)nr * page;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	madvise(p, bytes, MADV_NOHUGEPAGE); /* a fault each */
	for (int round = 0; round < 2; round++)
		for (size_t at = 0; at < bytes; at += page)
			((volatile char *)p)[at] = (char)value;
	return 0;
}

static int use_cpu(long ms)
{
	uint64_t end_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)ms * 1000000;

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns) /* asks the kernel: seldom */
		for (volatile int i = 0; i < 1000000; i++)
			;
	return 0;
}

static int faults(long nr, long ms)
{
	return touch_pages(nr, 1) ?: ms ? use_cpu(ms) : 0;
}

static int answer(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1)
		if (write(out, &byte, 1) != 1)
			return 1;
	return 0;
}

static int go_to(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

/* On one CPU, so that neither can answer before the other sleeps. */
static int switches(long nr, long unused)
{
	int there[2], back[2], status;
	char byte = 0;
	pid_t pid;

	(void)unused;
	if (go_to(sched_getcpu()) || pipe(there) || pipe(back))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(there[1]);
		_exit(answer(there[0], back[1]));
	}
	for (long i = 0; pid > 0 && i < nr; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return -1;
	close(there[1]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int migrate(long nr, long unused)
{
	int cpus[2], found = 0;
	cpu_set_t all;

	(void)unused;
	if (sched_getaffinity(0, sizeof(all), &all))
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET((size_t)cpu, &all))
			cpus[found++] = cpu;
	for (long i = 0; found == 2 && i <= nr; i++)
		if (go_to(cpus[i % 2]))
			return -1;
	return found == 2 ? 0 : -1;
}

static int spin(long ms, long cpu)
{
	return go_to((int)cpu) ? -1 : use_cpu(ms);
}

static int hold(long mib, long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	size_t bytes = (size_t)mib << 20;
	char *p = malloc(bytes);

	if (!p)
		return -1;
	memset(p, 1, bytes);
	nanosleep(&t, NULL);
	free(p);
	return 0;
}

static int ask_parent(long nr, long unused)
{
	(void)unused;
	for (long i = 0; i < nr; i++)
		if (syscall(SYS_getppid) < 0)
			return -1;
	return 0;
}

static const struct {
	const char *name;
	int (*run)(long a, long b);
} things[] = {{"faults", faults}, {"switches", switches}, {"migrate", migrate},
	      {"spin", spin},     {"hold", hold},         {"getppid", ask_parent}};

static void print_usage(uint64_t start_ns)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("{\"start_ns\": %llu, \"end_ns\": %llu, \"cpu_ns\": %llu, \"faults\": %ld, "
	       "\"voluntary\": %ld, \"involuntary\": %ld}\n",
	       (unsigned long long)start_ns, (unsigned long long)now_ns(CLOCK_MONOTONIC),
	       (unsigned long long)now_ns(CLOCK_PROCESS_CPUTIME_ID),
	       self.ru_minflt + self.ru_majflt + children.ru_minflt + children.ru_majflt,
	       self.ru_nvcsw + children.ru_nvcsw, self.ru_nivcsw + children.ru_nivcsw);
}

int main(int argc, char **argv)
{
	uint64_t start_ns = now_ns(CLOCK_MONOTONIC);
	long a = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long b = argc > 3 ? strtol(argv[3], NULL, 10) : 0;

	for (size_t i = 0; argc > 1 && i < sizeof(things) / sizeof(things[0]); i++)
		if (strcmp(things[i].name, argv[1]) == 0 && things[i].run(a, b) == 0) {
			print_usage(start_ns);
			return 0;
		}
	fprintf(stderr, "known: cannot do that\n");
	return 1;
}
