/*
 * One CPU: a thread counts its own instructions with libcpuperf, by read(2) and by the registers of
 * its counters. Both are exact; the registers cost no system call.
 */
#include "kit.h"

#include "cpuperf/cpuperf.h"
#include "work.h"

#include <stdio.h>
#include <time.h>

enum { NR_READS = 200 };

static void allow(int access)
{
	FILE *f = fopen("/proc/sys/kernel/perf_user_access", "w");

	assert_non_null(f);
	assert_true(fprintf(f, "%d", access) > 0);
	assert_int_equal(fclose(f), 0);
}

static struct cpuperf_counts *open_own(void)
{
	static const char text[] =
	    "{ \"events\": [ { \"group_name\": \"fixed\", \"event_name\": \"instructions_retired\","
	    " \"flags\": [\"user\"] } ] }";
	struct cpuperf_error e = CPUPERF_ERROR_INIT;
	struct cpuperf_counts *c = NULL;
	struct cpuperf_spec *spec = NULL;

	assert_int_equal(cpuperf_spec_parse(&spec, text, sizeof(text) - 1, &e), 0);
	assert_int_equal(cpuperf_counts_open_spec(&c, spec, CPUPERF_THREAD, 0, 0, &e), 0);
	cpuperf_spec_free(spec);
	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	return c;
}

static struct cpuperf_value read_once(struct cpuperf_counts *c)
{
	struct cpuperf_value v;

	assert_int_equal(cpuperf_counts_read(c, &v, 1, NULL), 0);
	assert_true(v.has_value);
	assert_string_equal(v.state, "ok");
	assert_int_equal(v.enabled_ns, v.running_ns);
	return v;
}

/* What a loop of so many turns and a reading count; the first time warms up. */
static uint64_t count(struct cpuperf_counts *c, uint64_t turns)
{
	uint64_t counted = 0;

	for (int i = 0; i < 3; i++) {
		struct cpuperf_value before = read_once(c), after;

		work_loop(turns);
		after = read_once(c);
		assert_true(after.enabled_ns >= before.enabled_ns);
		counted = after.raw - before.raw;
	}
	return counted;
}

static uint64_t time_reads(struct cpuperf_counts *c)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < NR_READS; i++)
		read_once(c);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (uint64_t)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec) / NR_READS;
}

static uint64_t measure_with(int access)
{
	struct cpuperf_counts *c;
	uint64_t one, two, ns;

	allow(access);
	c = open_own();
	one = count(c, 1000);
	two = count(c, 2000);
	ns = time_reads(c);
	printf("perf_user_access %d: a reading counts %d instructions and takes %d ns\n", access,
	       (int)(one - 4000), (int)ns);
	assert_int_equal(two - one, 1000 * WORK_INSTRUCTIONS_PER_TURN);
	cpuperf_counts_close(c);
	return ns;
}

TEST(a_thread_reads_its_own_counters)
{
	uint64_t by_call = measure_with(0), by_register = measure_with(1);

	assert_true(2 * by_register < by_call);
}
