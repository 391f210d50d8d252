/*
 * Many CPUs: one read for each group at each boundary and no other call, and a cost per CPU that
 * does not grow with their number. Run with at least 64 CPUs.
 */
#include "kit.h"
#include "measured.h"

#include <sys/resource.h>

enum { FEW = 16, MANY = 64, NR_ITERATIONS = 3, NR_GROUPS = 2, NR_EVENTS = 5, NR_RUNS = 3 };

/* Two groups on each CPU: hardware and software. */
static const char spec[] =
    "{ \"events\": ["
    "{ \"group_name\": \"fixed\", \"event_name\": \"cycle_counter\" },"
    "{ \"group_name\": \"fixed\", \"event_name\": \"instructions_retired\" },"
    "{ \"group_name\": \"arch\", \"event_name\": \"instructions_retired\","
    "  \"flags\": [\"user\"], \"label\": \"user\" },"
    "{ \"group_name\": \"software\", \"event_name\": \"cpu_clock\" },"
    "{ \"group_name\": \"software\", \"event_name\": \"page_faults\" } ] }";

/* The kernel's calls, counted. */
static struct {
	unsigned opens, reads, ioctls, closes;
} calls;

static int count_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		      unsigned long flags)
{
	calls.opens++;
	return pmu_kernel_ops.open(attr, pid, cpu, group_fd, flags);
}

static ssize_t count_read(int fd, void *buf, size_t len)
{
	calls.reads++;
	return pmu_kernel_ops.read(fd, buf, len);
}

static int count_ioctl(int fd, unsigned long request, unsigned long arg)
{
	calls.ioctls++;
	return pmu_kernel_ops.ioctl(fd, request, arg);
}

static int count_close(int fd)
{
	calls.closes++;
	return pmu_kernel_ops.close(fd);
}

static const struct pmu_ops counting_ops = {
    .open = count_open, .read = count_read, .ioctl = count_ioctl, .close = count_close};

/* Each CPU has all its counts in each iteration. */
static int check_iteration(const struct session_iteration *it, void *arg)
{
	const uint32_t *nr_cpus = arg;

	assert_int_equal(it->nr_traces, *nr_cpus);
	for (uint32_t t = 0; t < it->nr_traces; t++)
		for (size_t i = 0; i < NR_EVENTS; i++) {
			assert_int_equal(it->traces[t].end[i].state, READING_OK);
			assert_true(it->traces[t].end[i].running_ns > 0);
		}
	return 0;
}

/* All boundaries lie before the look for stuck groups, which reads too, at 100 ms. */
static void run_on(uint32_t nr_cpus, const struct pmu_ops *ops)
{
	measure(&(struct measured){.spec = spec,
				   .duration = "20ms",
				   .nr_iterations = NR_ITERATIONS,
				   .max_cpus = nr_cpus,
				   .pmu = ops,
				   .on_iteration = check_iteration,
				   .arg = &nr_cpus});
}

TEST(one_read_for_each_group)
{
	run_on(MANY, &counting_ops);
	printf("%u opens, %u ioctls, %u reads, %u closes\n", calls.opens, calls.ioctls, calls.reads,
	       calls.closes);
	assert_int_equal(calls.opens, MANY * NR_EVENTS);
	assert_int_equal(calls.ioctls, MANY * NR_GROUPS);
	assert_int_equal(calls.reads, MANY * NR_GROUPS * (NR_ITERATIONS + 1));
	assert_int_equal(calls.closes, calls.opens);
}

static long cpu_us(const struct timeval *t)
{
	return t->tv_sec * 1000000L + t->tv_usec;
}

/* CPU time of a whole session, in microseconds. */
static long cost_us(uint32_t nr_cpus)
{
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	run_on(nr_cpus, NULL);
	getrusage(RUSAGE_SELF, &after);
	return cpu_us(&after.ru_utime) + cpu_us(&after.ru_stime) - cpu_us(&before.ru_utime) -
	       cpu_us(&before.ru_stime);
}

static int by_size(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static long median_cost_us(uint32_t nr_cpus)
{
	long costs[NR_RUNS];

	for (int i = 0; i < NR_RUNS; i++)
		costs[i] = cost_us(nr_cpus);
	qsort(costs, NR_RUNS, sizeof(costs[0]), by_size);
	return costs[NR_RUNS / 2];
}

TEST(cost_of_a_cpu_stays)
{
	long few = median_cost_us(FEW), many = median_cost_us(MANY);

	printf(
	    "CPU time of a session: %ld us with %d CPUs, %ld us with %d: %ld and %ld us for each\n",
	    few, FEW, many, MANY, few / FEW, many / MANY);
	assert_true(few > 0);
	/* a cost that grows with the square of the CPUs would be four times as much for each */
	assert_true(many / MANY <= few * 3 / FEW);
}

/* Peaks of this process: it has run on few CPUs only, and then on many. */
TEST(memory_of_a_cpu)
{
	struct rusage few, many;

	run_on(FEW, NULL);
	getrusage(RUSAGE_SELF, &few);
	run_on(MANY, NULL);
	getrusage(RUSAGE_SELF, &many);
	printf("resident memory: %ld KiB, and %ld KiB more for %d further CPUs\n", few.ru_maxrss,
	       many.ru_maxrss - few.ru_maxrss, MANY - FEW);
	assert_true(many.ru_maxrss - few.ru_maxrss <= (MANY - FEW) * 16);
}
