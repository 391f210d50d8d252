/*
 * hog COUNT: takes COUNT counters of every CPU for itself and keeps them until it is killed: the
 * other user of the PMU. Prints "ready" when it has them. Knows nothing of cpuperf.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int take(int cpu)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_HARDWARE,
				       .config = PERF_COUNT_HW_INSTRUCTIONS,
				       .pinned = 1};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
}

int main(int argc, char **argv)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1;

	for (int cpu = 0; cpu < nr_cpus; cpu++)
		for (long i = 0; i < count; i++)
			if (take(cpu) < 0) {
				perror("hog");
				return 1;
			}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
