/*
 * Idle time of CPUs between two readings of /proc/stat, in a /proc of our own.
 */
#include "kit.h"
#include "test_session.h"

#include "values/idle.h"

enum { TICK_NS = 10000000 }; /* USER_HZ is 100 */

static struct rig rig;
static struct idle idle;

/* user nice system idle iowait irq softirq steal; iowait is idle time too. */
static void put_stat(unsigned busy, unsigned idle_ticks, unsigned iowait, bool has_cpu_1)
{
	char text[512];
	int len = snprintf(text, sizeof(text),
			   "cpu  0 0 0 0 0 0 0 0 0 0\n"
			   "cpu0 %u 1 1 %u %u 1 1 1 0 0\n",
			   busy, idle_ticks, iowait);

	if (has_cpu_1)
		snprintf(text + len, sizeof(text) - (size_t)len, "cpu1 7 0 0 500 0 0 0 0 0 0\n");
	rig_put_stat(&rig, text);
	if (idle.collect)
		idle_read(&idle);
}

static void begin(void)
{
	rig_init(&rig, 2, "", SOFTWARE_1);
	rig_with_proc(&rig);
	rig.host.user_hz = 100;
	put_stat(0, 0, 0, true);
	assert_int_equal(idle_init(&idle, &rig.host, 2), 0);
	idle.is_contained = false; /* whatever runs the test */
}

static void end(void)
{
	idle_fini(&idle);
	rig_fini(&rig);
}

TEST(since_the_reading_before)
{
	begin();
	put_stat(10, 100, 5, true);
	(void)idle_since(&idle, 0, 0);
	(void)idle_since(&idle, 1, 1);
	put_stat(60, 130, 7, true);
	assert_int_equal(idle_since(&idle, 0, 0), 32 * (uint64_t)TICK_NS);
	assert_int_equal(idle_since(&idle, 1, 1), 0);
	put_stat(60, 131, 7, true);
	assert_int_equal(idle_since(&idle, 0, 0), TICK_NS);
	end();
}

/* It is 0 where the kernel's number goes backward; it is unknown while and right after a CPU is
 * offline. */
TEST(backward_and_unknown)
{
	begin();
	put_stat(10, 100, 5, true);
	(void)idle_since(&idle, 0, 0);
	(void)idle_since(&idle, 1, 1);
	put_stat(10, 90, 5, false);
	assert_int_equal(idle_since(&idle, 0, 0), 0);
	assert_true(idle_since(&idle, 1, 1) == UINT64_MAX);
	put_stat(10, 95, 5, true);
	assert_int_equal(idle_since(&idle, 0, 0), 5 * (uint64_t)TICK_NS);
	assert_true(idle_since(&idle, 1, 1) == UINT64_MAX);
	put_stat(10, 95, 5, true);
	assert_int_equal(idle_since(&idle, 1, 1), 0);
	end();
}

/* In a container tasks outside it look like idle CPUs in samples: nothing is claimed. */
TEST(in_a_container)
{
	begin();
	idle.is_contained = true;
	put_stat(10, 100, 5, true);
	(void)idle_since(&idle, 0, 0);
	put_stat(10, 130, 5, true);
	assert_true(idle_since(&idle, 0, 0) == UINT64_MAX);
	end();
}
