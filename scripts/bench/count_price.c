/*
 * What it costs a program to count: readings of four events of the kernel, of its own thread, by
 * the bare system call, by libcpuperf and by PAPI; starting and stopping; opening. Prints lines
 * "what ns". For scripts/bench-counts.
 */
#include <cpuperf/cpuperf.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_PAPI
#include <papi.h>
#endif

enum { NR_EVENTS = 4, NR = 20000, NR_OPENED = 20 };
static struct cpuperf_error error = CPUPERF_ERROR_INIT;
static struct cpuperf_counts *counts;
static int leader = -1, set = -1;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int open_bare(void)
{
	static const unsigned configs[NR_EVENTS] = {
	    PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
	    PERF_COUNT_SW_TASK_CLOCK};

	for (int i = 0; i < NR_EVENTS; i++) {
		struct perf_event_attr a = {.size = sizeof(a),
					    .type = PERF_TYPE_SOFTWARE,
					    .config = configs[i],
					    .read_format = PERF_FORMAT_GROUP |
							   PERF_FORMAT_TOTAL_TIME_ENABLED |
							   PERF_FORMAT_TOTAL_TIME_RUNNING};
		int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, 0);

		if (fd < 0)
			return -1;
		leader = leader < 0 ? fd : leader;
	}
	return 0;
}

static int open_ours(void)
{
	return cpuperf_counts_open(&counts,
				   "page_faults,context_switches,cpu_migrations,task_clock",
				   CPUPERF_THREAD, 0, &error);
}

static void read_bare(void)
{
	unsigned long long words[3 + NR_EVENTS];

	if (read(leader, words, sizeof(words)) != sizeof(words))
		perror("read");
}

static void read_ours(void)
{
	struct cpuperf_value values[NR_EVENTS];

	(void)cpuperf_counts_read(counts, values, NR_EVENTS, NULL);
}

static void switch_bare(void)
{
	(void)ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	(void)ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
}

static void switch_ours(void)
{
	(void)cpuperf_counts_stop(counts, NULL);
	(void)cpuperf_counts_start(counts, NULL);
}

static void reopen_ours(void)
{
	cpuperf_counts_close(counts);
	(void)open_ours();
}

static int open_papi(void)
{
#ifdef WITH_PAPI
	static const char *const names[NR_EVENTS] = {"perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES",
						     "perf::CPU-MIGRATIONS", "perf::TASK-CLOCK"};

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT ||
	    PAPI_create_eventset(&set) != PAPI_OK)
		return -1;
	for (int i = 0; i < NR_EVENTS; i++)
		if (PAPI_add_named_event(set, names[i]) != PAPI_OK)
			return -1;
	return PAPI_start(set) == PAPI_OK ? 0 : -1;
#else
	return -1;
#endif
}

static void read_papi(void)
{
#ifdef WITH_PAPI
	long long values[NR_EVENTS];

	(void)PAPI_read(set, values);
#endif
}

static void time_calls(const char *what, void (*call)(void), int nr)
{
	double from = now();

	for (int i = 0; i < nr; i++)
		call();
	printf("%s %.0f\n", what, (now() - from) / nr);
}

int main(void)
{
	if (open_ours() || open_bare()) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	(void)cpuperf_counts_start(counts, NULL);
	time_calls("read:bare", read_bare, NR);
	time_calls("read:ours", read_ours, NR);
	time_calls("switch:bare", switch_bare, NR);
	time_calls("switch:ours", switch_ours, NR);
	time_calls("open:ours", reopen_ours, NR_OPENED);
	if (open_papi() == 0)
		time_calls("read:papi", read_papi, NR);
	cpuperf_counts_close(counts);
	return 0;
}
