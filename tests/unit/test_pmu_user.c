/*
 * Groups that a thread reads by the registers of its counters: pages as the kernel would write
 * them, beside registers of the test's own. The kernel's are read in the emulated machine
 * (pmu_counted).
 */
#include "kit.h"

#include <stdint.h>

static uint64_t read_register(uint32_t number);
#define CPUPERF_MARK_REGISTER read_register
#include "pmu/user.c" /* NOLINT(bugprone-suspicious-include) */

#include <sys/mman.h>

enum { NR = 2 };

static struct perf_event_mmap_page pages[NR];
static uint64_t registers[8];
static int nr_mapped, nr_opened, error;
static struct perf_event_attr last;

static uint64_t read_register(uint32_t number)
{
	return number < 8 ? registers[number] : 0;
}

static int fake_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		     unsigned long flags)
{
	(void)pid, (void)cpu, (void)group_fd, (void)flags;
	last = *attr;
	nr_opened++;
	return attr->config1 ? -EOPNOTSUPP : 3;
}

static void *fake_mmap(int fd, size_t len, bool is_read_only, int *rc)
{
	(void)len;
	assert_true(is_read_only);
	*rc = error;
	if (error)
		return NULL;
	nr_mapped++;
	return &pages[fd];
}

static int fake_munmap(void *base, size_t len)
{
	(void)base, (void)len;
	nr_mapped--;
	return 0;
}

static const struct pmu_ops ops = {.open = fake_open, .mmap = fake_mmap, .munmap = fake_munmap};
static struct pmu_group group;
static struct pmu_user user;
static struct pmu_count counts[NR];

HOOK(before_each)
{
	group = (struct pmu_group){.ops = &ops, .nr_members = NR};
	user = (struct pmu_user){.nr = 0};
	nr_mapped = nr_opened = error = 0;
	for (uint32_t i = 0; i < NR; i++) {
		group.members[i].fd = (int)i;
		registers[i] = 10 * i;
		pages[i] = (struct perf_event_mmap_page){.index = 1 + i,
							 .offset = 1000,
							 .time_enabled = 500 + i,
							 .time_running = 400 + i,
							 .time_offset = 30,
							 .pmc_width = 48,
							 .cap_user_rdpmc = 1,
							 .cap_user_time = 1};
	}
}

TEST(a_group_is_read)
{
	assert_int_equal(pmu_user_map(&user, &group), 0);
	assert_int_equal(nr_mapped, NR);
	assert_true(pmu_user_read(&user, &group, counts));
	assert_int_equal(counts[0].raw, 1000);
	assert_int_equal(counts[1].raw, 1010);
	assert_int_equal(counts[1].enabled_ns, 531);
	assert_int_equal(counts[1].running_ns, 431);
	assert_int_equal(group.enabled_ns, 530);
	assert_int_equal(group.running_ns, 430);
	pmu_user_unmap(&user);
	assert_int_equal(nr_mapped, 0);
	assert_false(pmu_user_read(&user, &group, counts));
}

/* Half of the cycles are ns: time passes on. */
TEST(time_passes)
{
	uint64_t before;

	pages[0].time_shift = pages[1].time_shift = 1;
	pages[0].time_mult = pages[1].time_mult = 1;
	assert_int_equal(pmu_user_map(&user, &group), 0);
	assert_true(pmu_user_read(&user, &group, counts));
	before = counts[0].enabled_ns;
	assert_true(before > 530);
	assert_int_equal(before - counts[0].running_ns, 100);
	do
		assert_true(pmu_user_read(&user, &group, counts));
	while (counts[0].enabled_ns < before + 1000);
	pmu_user_unmap(&user);
}

/* A sibling that the register does not have, as when the group waits; and a reading of before that
 * is ahead. Then nothing of the output changes. */
TEST(others_are_left_to_read)
{
	counts[0].raw = 7;
	assert_int_equal(pmu_user_map(&user, &group), 0);
	pages[1].index = 0;
	assert_false(pmu_user_read(&user, &group, counts));
	pages[1].index = 2;
	group.enabled_ns = 531;
	assert_false(pmu_user_read(&user, &group, counts));
	group.enabled_ns = 0;
	group.running_ns = 431;
	assert_false(pmu_user_read(&user, &group, counts));
	assert_int_equal(counts[0].raw, 7);
	group.running_ns = 430;
	assert_true(pmu_user_read(&user, &group, counts));
	pmu_user_unmap(&user);
}

TEST(groups_of_others_are_not_mapped)
{
	pages[1].cap_user_rdpmc = 0;
	assert_int_equal(pmu_user_map(&user, &group), -ENOTSUP);
	pages[1].cap_user_rdpmc = 1;
	pages[1].cap_user_time = 0;
	assert_int_equal(pmu_user_map(&user, &group), -ENOTSUP);
	error = -EPERM;
	assert_int_equal(pmu_user_map(&user, &group), -EPERM);
	assert_int_equal(nr_mapped, 0);
	assert_false(pmu_user_read(&user, &group, counts));
}

/* Where it is requested, and refused, the event is opened without. */
TEST(an_event_is_opened_in_any_case)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE};

	assert_int_equal(pmu_user_open(&ops, &attr, 0, -1), 3);
	assert_int_equal(last.config1, 0);
	assert_int_equal(attr.config1, 0);
#ifdef __aarch64__
	assert_int_equal(nr_opened, 2);
	attr.type = PERF_TYPE_SOFTWARE;
	assert_int_equal(pmu_user_open(&ops, &attr, 0, -1), 3);
	assert_int_equal(nr_opened, 3);
#else
	assert_int_equal(nr_opened, 1);
#endif
}
