/*
 * perf_event groups against a kernel made up for the purpose (fake_pmu.h).
 */
#include "fake_pmu.h"
#include "kit.h"

#include "pmu/group.h"

static struct perf_event_attr attr_of(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
					.type = type,
					.config = config,
					.read_format = PERF_FORMAT_GROUP |
						       PERF_FORMAT_TOTAL_TIME_ENABLED |
						       PERF_FORMAT_TOTAL_TIME_RUNNING};
}

static int add(struct pmu_group *g, uint32_t type, uint64_t config, uint32_t event)
{
	struct perf_event_attr a = attr_of(type, config);

	return pmu_group_add(g, &a, event);
}

HOOK(before_each)
{
	fake_reset();
}

HOOK(after_each)
{
	assert_int_equal(fake.nr_live + fake.nr_wrong + fake.nr_orphans, 0);
}

TEST(life)
{
	struct pmu_count a[3], b[3];
	struct pmu_group g;

	pmu_group_init(&g, &fake_ops, 1);
	assert_int_equal(pmu_group_enable(&g), 0); /* nothing to do, and no call */
	assert_int_equal(pmu_group_read(&g, a), 0);
	assert_int_equal(fake.nr_calls, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(add(&g, PERF_TYPE_SOFTWARE, i, 10 + i), 0);
	assert_int_equal(g.members[2].event, 12);
	assert_int_equal(pmu_group_read(&g, a), 0);
	assert_int_equal(a[0].enabled_ns, 0); /* opened, not counting */
	assert_int_equal(pmu_group_enable(&g), 0);
	assert_int_equal(fake.nr_enables, 1); /* the leader's enables all */
	assert_int_equal(pmu_group_read(&g, a), 0);
	assert_int_equal(pmu_group_read(&g, b), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(b[i].raw > a[i].raw && b[i].enabled_ns > a[i].enabled_ns);
		assert_int_equal(b[i].running_ns, b[i].enabled_ns);
	}
	assert_true(b[0].raw != b[1].raw && b[1].raw != b[2].raw); /* each got its own */
	assert_int_equal(fake.nr_reads, 3);
	pmu_group_fini(&g);
	assert_int_equal(g.nr_members, 0);
	assert_int_equal(fake.nr_live, 0);
}

TEST(no_room)
{
	struct pmu_group g;

	pmu_group_init(&g, &fake_ops, 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(add(&g, PERF_TYPE_HARDWARE, i, i), 0);
	assert_int_equal(add(&g, PERF_TYPE_HARDWARE, 4, 4), -EINVAL);
	assert_int_equal(g.nr_members, 4);
	for (uint32_t i = 4; i < PMU_GROUP_MAX_MEMBERS; i++)
		assert_int_equal(add(&g, PERF_TYPE_SOFTWARE, 9, i), 0);
	assert_int_equal(add(&g, PERF_TYPE_SOFTWARE, 9, 99), -ENOSPC);
	assert_int_equal(fake.nr_live, PMU_GROUP_MAX_MEMBERS);
	pmu_group_fini(&g);
}

/* A member that fails leaves the others as they were, whatever its place. */
TEST(refusals)
{
	static const int errors[] = {-ENOENT, -EACCES, -EMFILE, -ENODEV, -EINTR, -ENOMEM};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		for (uint32_t bad = 0; bad < 3; bad++) {
			struct pmu_count counts[3];
			struct pmu_group g;

			fake_reset();
			fake.refusal[PERF_TYPE_SOFTWARE][bad] = errors[i];
			pmu_group_init(&g, &fake_ops, 0);
			for (uint32_t e = 0; e < 3; e++)
				assert_int_equal(add(&g, PERF_TYPE_SOFTWARE, e, e),
						 e == bad ? errors[i] : 0);
			assert_int_equal(g.nr_members, 2);
			assert_int_equal(fake.nr_live, 2);
			assert_int_equal(pmu_group_enable(&g), 0);
			assert_int_equal(pmu_group_read(&g, counts), 0);
			pmu_group_fini(&g);
			assert_int_equal(fake.nr_live, 0);
		}
}

/* What a kernel might give in place of a whole reading. */
static ssize_t odd_length;
static uint64_t odd_nr;

static ssize_t odd_read(int fd, void *buf, size_t len)
{
	(void)fd;
	memset(buf, 0x55, len);
	memcpy(buf, &odd_nr, sizeof(odd_nr));
	return odd_length;
}

TEST(odd_readings)
{
	static const struct {
		ssize_t length;
		uint64_t nr;
		int rc;
	} cases[] = {
	    {0, 2, -ENODATA}, /* end of file: an event in the error state */
	    {32, 1, -ENODEV}, /* the leader alone: its CPU went away */
	    {39, 2, -ENODEV}, /* cut */
	    {40, 1, -ENODEV}, /* length and number disagree */
	    {40, 3, -ENODEV}, /**/
	    {40, 1ull << 61, -ENODEV}, {-EIO, 2, -EIO}, {40, 2, 0},
	};
	struct pmu_ops ops = fake_ops;
	struct pmu_group g;

	ops.read = odd_read;
	pmu_group_init(&g, &ops, 0);
	for (uint32_t e = 0; e < 2; e++)
		assert_int_equal(add(&g, PERF_TYPE_SOFTWARE, e, e), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pmu_count counts[2] = {{7, 7, 7}, {7, 7, 7}};

		odd_length = cases[i].length;
		odd_nr = cases[i].nr;
		assert_int_equal(pmu_group_read(&g, counts), cases[i].rc);
		assert_int_equal(counts[1].raw, cases[i].rc ? 7 : 0x5555555555555555);
	}
	pmu_group_fini(&g);
}

TEST(interrupted)
{
	struct pmu_count count;
	struct pmu_group g;

	pmu_group_init(&g, &fake_ops, 0);
	assert_int_equal(add(&g, PERF_TYPE_SOFTWARE, 0, 0), 0);
	assert_int_equal(pmu_group_enable(&g), 0);
	fake.nr_eintr = 5;
	assert_int_equal(pmu_group_read(&g, &count), 0);
	assert_int_equal(fake.nr_reads, 6);
	pmu_group_fini(&g);
}

/* The CPU goes: the group's reading is short; one by one the members give what they had. */
TEST(detached)
{
	struct pmu_count last[3], counts[3] = {{0}}, again[3];
	struct pmu_group g;

	pmu_group_init(&g, &fake_ops, 2);
	for (uint32_t e = 0; e < 3; e++)
		assert_int_equal(add(&g, PERF_TYPE_SOFTWARE, e, e), 0);
	assert_int_equal(pmu_group_enable(&g), 0);
	assert_int_equal(pmu_group_read(&g, last), 0);
	fake_set_offline(2);
	assert_int_equal(pmu_group_read(&g, counts), -ENODEV);
	assert_int_equal(counts[0].raw, 0);
	assert_int_equal(pmu_group_read_detached(&g, counts), 7);
	assert_int_equal(pmu_group_read_detached(&g, again), 7);
	for (int i = 0; i < 3; i++) {
		assert_true(counts[i].raw > last[i].raw);
		assert_memory_equal(&counts[i], &again[i], sizeof(counts[i])); /* frozen */
	}
	fake.fail_call = fake.nr_calls + 2;
	fake.fail_error = -EIO;
	counts[1].raw = 7;
	assert_int_equal(pmu_group_read_detached(&g, counts), 5);
	assert_int_equal(counts[1].raw, 7);
	pmu_group_fini(&g);
}

/* Which modes are refused. */
static enum { REFUSE_NONE, REFUSE_KERNEL, REFUSE_ALL, NR_REFUSALS } refusal;

static int open_by_mode(struct perf_event_attr *a, pid_t pid, int cpu, int group_fd,
			unsigned long flags)
{
	(void)pid;
	(void)cpu;
	(void)group_fd;
	(void)flags;
	return refusal == REFUSE_ALL || (refusal == REFUSE_KERNEL && !a->exclude_kernel) ? -EACCES
											 : 1000;
}

static int close_nothing(int fd)
{
	assert_int_equal(fd, 1000);
	return 0;
}

TEST(user_only)
{
	const struct pmu_ops ops = {.open = open_by_mode, .close = close_nothing};

	for (refusal = REFUSE_NONE; refusal < NR_REFUSALS; refusal++)
		assert_int_equal(pmu_is_user_only(&ops), refusal == REFUSE_KERNEL);
}
