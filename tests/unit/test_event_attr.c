/*
 * The kernel's attr for every use of an event, whole and bit by bit; and what this machine's kernel
 * makes of it, where it may be asked.
 */
#include "kit.h"

#include "base/perf_abi.h"
#include "event/event.h"
#include "spec/spec.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define BOTH (SPEC_OS | SPEC_USER)

/* What is in every attr, and what in those whose records are read. */
#define COUNTED                                                                                    \
	.size = sizeof(struct perf_event_attr), .read_format = PERF_FORMAT_GROUP |                 \
							       PERF_FORMAT_TOTAL_TIME_ENABLED |    \
							       PERF_FORMAT_TOTAL_TIME_RUNNING
#define CLOCK   .use_clockid = 1, .clockid = CLOCK_MONOTONIC
#define RECORDS .sample_id_all = 1, .watermark = 1, .wakeup_watermark = 4096, CLOCK
#define SAMPLED COUNTED, RECORDS, .sample_period = 1000
#define TYPE(t) .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_TID | (t)

static const struct event_part hardware = {
    "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, 0, NULL};
static const struct event_part box = {"box_1", 17, 0x1234567890, 0x55, 0x66, NULL};
static const struct event_part calls = {
    "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, PERF_ABI_PROBE, PERF_ABI_RETURNS, NULL};
static const struct event_part clock_part = {"",  PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, 0,
					     NULL};
static const struct event_part switches = {"", PERF_TYPE_TRACEPOINT, 372, 0, 0, NULL};

#define INSTRUCTIONS .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS
#define TRACEPOINT   .type = PERF_TYPE_TRACEPOINT, .config = 372
#define CALLS                                                                                      \
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_BPF_OUTPUT, .config1 = PERF_ABI_PROBE
#define USE(f, ...)                                                                                \
	{                                                                                          \
		.flags = (f), .wakeup_bytes = 4096, __VA_ARGS__                                    \
	}
#define RATE(f, ...) USE(f, .period = 1000, __VA_ARGS__)
#define LBR(filter)  RATE(BOTH | SPEC_LAST_BRANCH, .branch_filter = (filter))
#define LBR_ATTR(t, modes)                                                                         \
	SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_BRANCH_STACK), .branch_sample_type = (t) | (modes)
#define ALL_MODES (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)

/* By the headers' names: rdi … flags, cs, ss and r8 … r15; x0 … x30, sp and pc. */
#if defined(__x86_64__)
enum { USER_REGS = 0xff0fff };
#else
static const uint64_t USER_REGS = 0x1ffffffff;
#endif

static const struct {
	const char *name;
	const struct event_part *part;
	struct event_use use;
	struct perf_event_attr want;
} rows[] = {
    /* counted, as ever: nothing that only samples have */
    {"neither mode", &hardware, {0}, {COUNTED, INSTRUCTIONS}},
    {"both modes", &hardware, USE(BOTH), {COUNTED, INSTRUCTIONS}},
    {"os", &hardware, USE(SPEC_OS), {COUNTED, INSTRUCTIONS, .exclude_user = 1}},
    {"user",
     &hardware,
     USE(SPEC_USER),
     {COUNTED, INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1}},
    {"config",
     &box,
     {0},
     {COUNTED, .type = 17, .config = 0x1234567890, .config1 = 0x55, .config2 = 0x66}},
    {"a tracepoint", &switches, {0}, {COUNTED, TRACEPOINT}},
    {"calls", &calls, RATE(BOTH), {SAMPLED, CALLS, .config2 = PERF_ABI_RETURNS, TYPE(0)}},
    {"calls that have ended",
     &calls,
     RATE(BOTH, .is_of_ended = true),
     {SAMPLED, CALLS, .config2 = PERF_ABI_ENDED, TYPE(PERF_SAMPLE_RAW)}},
    {"lost only of samples", &hardware, USE(0, .has_lost = true), {COUNTED, INSTRUCTIONS}},
    {"a ring is for samples", &hardware, USE(0, .shares_ring = true), {COUNTED, INSTRUCTIONS}},
    {"pinned", &hardware, USE(SPEC_PINNED), {COUNTED, INSTRUCTIONS, .pinned = 1}},
    {"no idle", &hardware, USE(SPEC_NO_IDLE), {COUNTED, INSTRUCTIONS, .exclude_idle = 1}},
    {"guest", &hardware, USE(SPEC_GUEST), {COUNTED, INSTRUCTIONS, .exclude_host = 1}},
    {"host", &hardware, USE(SPEC_HOST), {COUNTED, INSTRUCTIONS, .exclude_guest = 1}},
    {"guest and host", &hardware, USE(SPEC_GUEST | SPEC_HOST), {COUNTED, INSTRUCTIONS}},
    {"a sibling", &hardware, USE(BOTH, .shares_clock = true), {COUNTED, INSTRUCTIONS, CLOCK}},

    {"a period", &hardware, RATE(BOTH), {SAMPLED, INSTRUCTIONS, TYPE(0)}},
    {"a frequency",
     &hardware,
     USE(BOTH, .frequency = 99),
     {COUNTED, RECORDS, INSTRUCTIONS, TYPE(PERF_SAMPLE_PERIOD), .freq = 1, .sample_freq = 99}},
    {"a shared ring",
     &hardware,
     RATE(BOTH, .shares_ring = true),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_IDENTIFIER)}},
    {"pc", &hardware, RATE(BOTH | SPEC_PC), {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_IP)}},
    {"timebase alone", &hardware, RATE(BOTH | SPEC_TIMEBASE), {SAMPLED, INSTRUCTIONS, TYPE(0)}},
    {"timebase",
     &hardware,
     RATE(BOTH | SPEC_TIMEBASE, .reads_group = true),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_READ)}},
    {"timebase on a kernel that counts what is lost",
     &hardware,
     RATE(BOTH | SPEC_TIMEBASE, .reads_group = true, .has_lost = true),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_READ)}},
    {"lost",
     &hardware,
     RATE(BOTH, .has_lost = true),
     {RECORDS, .sample_period = 1000, INSTRUCTIONS, TYPE(0), .size = sizeof(struct perf_event_attr),
      .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
		     PERF_FORMAT_TOTAL_TIME_RUNNING | 1U << 4}},
    {"callchain",
     &hardware,
     RATE(BOTH | SPEC_CALLCHAIN),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_CALLCHAIN)}},
    {"callchain, as deep as the kernel allows",
     &hardware,
     RATE(BOTH | SPEC_CALLCHAIN, .max_stack = 127),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_CALLCHAIN), .sample_max_stack = 127}},
    {"callchain, no deeper than a record can hold",
     &hardware,
     RATE(BOTH | SPEC_CALLCHAIN, .max_stack = 655360),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_CALLCHAIN), .sample_max_stack = 8000}},
    {"no callchain",
     &hardware,
     RATE(BOTH | SPEC_PC, .max_stack = 127),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_IP)}},
    {"callchain of user",
     &hardware,
     RATE(SPEC_USER | SPEC_CALLCHAIN),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_CALLCHAIN), .exclude_kernel = 1, .exclude_hv = 1,
      .exclude_callchain_kernel = 1}},
    {"callchain of os",
     &hardware,
     RATE(SPEC_OS | SPEC_CALLCHAIN),
     {SAMPLED, INSTRUCTIONS, TYPE(PERF_SAMPLE_CALLCHAIN), .exclude_user = 1,
      .exclude_callchain_user = 1}},
    {"user stack",
     &clock_part,
     RATE(BOTH | SPEC_USER_STACK, .stack_bytes = 16384),
     {SAMPLED, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
      TYPE(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER), .sample_regs_user = USER_REGS,
      .sample_stack_user = 16384}},
    {"a stack is for user_stack",
     &hardware,
     RATE(BOTH, .stack_bytes = 16384, .branch_filter = SPEC_BRANCH_CALL),
     {SAMPLED, INSTRUCTIONS, TYPE(0)}},
    {"precise",
     &hardware,
     RATE(BOTH | SPEC_PRECISE),
     {SAMPLED, INSTRUCTIONS, TYPE(0), .precise_ip = 2}},
    {"a tracepoint's fields",
     &switches,
     USE(BOTH, .period = 1),
     {COUNTED, RECORDS, TRACEPOINT, TYPE(PERF_SAMPLE_RAW), .sample_period = 1}},
    {"sampled and pinned",
     &hardware,
     RATE(SPEC_PINNED | SPEC_NO_IDLE | SPEC_GUEST),
     {SAMPLED, INSTRUCTIONS, TYPE(0), .pinned = 1, .exclude_idle = 1, .exclude_host = 1}},

    {"branches", &hardware, LBR(0), {LBR_ATTR(PERF_SAMPLE_BRANCH_ANY, ALL_MODES)}},
    {"any", &hardware, LBR(SPEC_BRANCH_ANY), {LBR_ATTR(PERF_SAMPLE_BRANCH_ANY, ALL_MODES)}},
    {"any call",
     &hardware,
     LBR(SPEC_BRANCH_ANY_CALL),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_ANY_CALL, ALL_MODES)}},
    {"any return",
     &hardware,
     LBR(SPEC_BRANCH_ANY_RETURN),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_ANY_RETURN, ALL_MODES)}},
    {"indirect call",
     &hardware,
     LBR(SPEC_BRANCH_INDIRECT_CALL),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_IND_CALL, ALL_MODES)}},
    {"indirect jump",
     &hardware,
     LBR(SPEC_BRANCH_INDIRECT_JUMP),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_IND_JUMP, ALL_MODES)}},
    {"conditional",
     &hardware,
     LBR(SPEC_BRANCH_CONDITIONAL),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_COND, ALL_MODES)}},
    {"call", &hardware, LBR(SPEC_BRANCH_CALL), {LBR_ATTR(PERF_SAMPLE_BRANCH_CALL, ALL_MODES)}},
    {"call stack",
     &hardware,
     LBR(SPEC_BRANCH_CALL_STACK),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_CALL_STACK, ALL_MODES)}},
    {"two kinds",
     &hardware,
     LBR(SPEC_BRANCH_CALL | SPEC_BRANCH_ANY_RETURN),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_CALL, PERF_SAMPLE_BRANCH_ANY_RETURN | ALL_MODES)}},
    {"branches of user",
     &hardware,
     RATE(SPEC_USER | SPEC_LAST_BRANCH),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_ANY, PERF_SAMPLE_BRANCH_USER), .exclude_kernel = 1,
      .exclude_hv = 1}},
    {"branches of os",
     &hardware,
     RATE(SPEC_OS | SPEC_LAST_BRANCH),
     {LBR_ATTR(PERF_SAMPLE_BRANCH_ANY, PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV),
      .exclude_user = 1}},
    {"everything",
     &switches,
     RATE(BOTH | SPEC_PC | SPEC_CALLCHAIN | SPEC_USER_STACK | SPEC_LAST_BRANCH, .stack_bytes = 8,
	  .shares_ring = true, .reads_group = true),
     {SAMPLED, TRACEPOINT,
      TYPE(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
	   PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ | PERF_SAMPLE_RAW),
      .sample_regs_user = USER_REGS, .sample_stack_user = 8,
      .branch_sample_type = PERF_SAMPLE_BRANCH_ANY | ALL_MODES}},
};

TEST(attr)
{
	for (size_t i = 0; i < NR(rows); i++) {
		struct perf_event_attr *a = event_attr_new(rows[i].part, &rows[i].use);

		print_message("%s\n", rows[i].name);
		assert_non_null(a);
		assert_int_equal(event_attr_bytes(a), sizeof(*a));
		assert_memory_equal(a, &rows[i].want, sizeof(*a));
		mem_free(a);
		inject_mem(1);
		assert_null(event_attr_new(rows[i].part, &rows[i].use));
		inject_stop();
	}
}

/* The kernel refuses a config1 of events that it names, and a ring to what is inherited: what
 * counts has what all counted events have, what samples all but the task. */
TEST(selected)
{
	static const struct event_part clock = {
	    "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, 0, NULL};
	const struct event_use use = RATE(SPEC_USER | SPEC_CALLCHAIN, .is_inherited = true,
					  .stays_in_process = true, .has_lost = true);
	struct event_use of_selected = use, counted = use, of_cpu = use;
	struct perf_event_attr *selected, *want, got;

	of_selected.is_selected = true;
	counted.period = 0;
	of_cpu.is_inherited = false;
	selected = event_attr_new(&clock, &of_selected);
	assert_non_null(selected);
	assert_true(event_attr_is_selected(selected));
	got = event_attr_counting(selected);
	want = event_attr_new(&clock, &counted);
	assert_memory_equal(&got, want, sizeof(got));
	assert_false(event_attr_is_selected(want));
	mem_free(want);
	got = event_attr_sampling(selected);
	want = event_attr_new(&clock, &of_cpu);
	assert_memory_equal(&got, want, sizeof(got));
	mem_free(want);
	mem_free(selected);
}

/* Samples say whose clock took them, where Linux makes a sample for each who samples. */
TEST(tells_clock)
{
	static const struct event_part clock = {
	    "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, 0, NULL};
	static const struct event_part faults = {
	    "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, NULL};
	static const struct {
		const struct event_part *part;
		bool tells;
	} of[] = {{&clock, true}, {&hardware, true}, {&faults, false}, {&switches, false}};

	for (size_t i = 0; i < NR(of); i++) {
		struct event_use use = RATE(SPEC_USER, .is_inherited = true);
		struct perf_event_attr *plain = event_attr_new(of[i].part, &use), *a;

		use.tells_clock = true;
		a = event_attr_new(of[i].part, &use);
		assert_true(a && plain);
		assert_int_equal(plain->sample_type & PERF_SAMPLE_STREAM_ID, 0);
		assert_int_equal(a->sample_type ^ plain->sample_type,
				 of[i].tells ? PERF_SAMPLE_STREAM_ID : 0);
		mem_free(plain);
		mem_free(a);
	}
}

/* A clock of which what has no sample is made: that needs a period of its own. */
TEST(completed)
{
	static const struct event_part clock = {
	    "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, 0, NULL};
	struct event_use use = RATE(SPEC_USER, .is_inherited = true);
	struct perf_event_attr *plain = event_attr_new(&clock, &use), *a;

	use.is_completed = true;
	a = event_attr_new(&clock, &use);
	assert_true(a && plain);
	assert_int_equal(a->config1, 0x63740001);
	assert_int_equal(a->sample_type, plain->sample_type | PERF_SAMPLE_PERIOD);
	assert_int_equal(plain->sample_type & PERF_SAMPLE_PERIOD, 0);
	assert_int_equal(plain->config1, 0);
	assert_false(event_attr_is_selected(a));
	mem_free(plain);
	mem_free(a);
}

#define BAND                                                                                       \
	.size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE,                        \
	.config = PERF_COUNT_SW_DUMMY, RECORDS, TYPE(0), .mmap = 1, .mmap2 = 1, .comm = 1,         \
	.comm_exec = 1, .task = 1

TEST(side_band)
{
	static const struct perf_event_attr want[] = {
	    {BAND, .ksymbol = 1, .bpf_event = 1},
	    {BAND},
	};

	for (unsigned level = 0; level < NR(want); level++) {
		struct perf_event_attr *a = event_attr_side_band(level, false, false, 4096);

		assert_non_null(a);
		assert_memory_equal(a, &want[level], sizeof(*a));
		mem_free(a);
		inject_mem(1);
		assert_null(event_attr_side_band(level, false, false, 4096));
		inject_stop();
	}
	assert_null(event_attr_side_band(NR(want), false, false, 4096));
	assert_null(event_attr_side_band(UINT32_MAX, false, false, 4096));
}

/* Of this thread, on any CPU, and not yet enabled: a clock that ticks each 10 us may leave a
 * virtual machine no time for anything else. -errno. */
static int open_attr(struct perf_event_attr *a, int leader)
{
	long fd;
	int rc;

	if (a)
		a->disabled = 1;
	fd = a ? syscall(SYS_perf_event_open, a, 0, -1, leader, 0) : -1;
	rc = fd < 0 ? -errno : (int)fd;

	mem_free(a);
	return rc;
}

static int open_clock(const struct event_use *use)
{
	return open_attr(event_attr_new(&clock_part, use), -1);
}

/* An answer of the kernel to an attr of ours is none if it answers nobody. */
static void need_kernel(void)
{
	int fd = open_clock(&(struct event_use){.flags = BOTH});

	if (fd < 0)
		SKIP("perf_event_open: %s", strerror(-fd));
	close(fd);
}

/* Everything that the kernel's own clock can do: the kernel takes it. */
TEST(kernel_takes)
{
	static const struct event_use uses[] = {
	    USE(BOTH),
	    USE(BOTH | SPEC_PINNED | SPEC_NO_IDLE | SPEC_HOST),
	    RATE(BOTH),
	    USE(BOTH, .frequency = 99),
	    RATE(SPEC_USER | SPEC_PC | SPEC_CALLCHAIN, .shares_ring = true),
	    RATE(SPEC_OS | SPEC_CALLCHAIN),
	    RATE(BOTH | SPEC_USER_STACK, .stack_bytes = 8),
	    RATE(BOTH | SPEC_USER_STACK, .stack_bytes = 65528),
	    RATE(BOTH | SPEC_TIMEBASE, .reads_group = true),
	};
	int fd;

	need_kernel();
	for (size_t i = 0; i < NR(uses); i++) {
		fd = open_clock(&uses[i]);
		if (fd < 0)
			fail_msg("use %zu: %s", i, strerror(-fd));
		close(fd);
	}
	fd = -EINVAL;
	for (unsigned level = 0; level < 3 && fd == -EINVAL; level++)
		fd = open_attr(event_attr_side_band(level, false, false, 4096),
			       -1); /* may be an old one */
	assert_true(fd >= 0);
	close(fd);
}

/* What shares_clock is for: the kernel wants one clock in a group. */
TEST(kernel_wants_one_clock)
{
	static const struct event_part faults = {
	    "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, NULL};
	struct event_use sibling = USE(BOTH);
	int leader, fd;

	need_kernel();
	leader = open_clock(&(struct event_use)RATE(BOTH | SPEC_TIMEBASE, .reads_group = true));
	assert_true(leader >= 0);
	assert_int_equal(open_attr(event_attr_new(&faults, &sibling), leader), -EINVAL);
	sibling.shares_clock = true;
	fd = open_attr(event_attr_new(&faults, &sibling), leader);
	assert_true(fd >= 0);
	close(fd);
	close(leader);
}

static void work(void)
{
	struct timespec start, now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	do /* half in programs, half in the kernel */
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 60);
}

enum { RING_BYTES = 1 << 16 };

/* The samples in the ring, by the mode that their headers tell: PERF_RECORD_MISC_…. */
static void count_modes(const void *ring, unsigned modes[8])
{
	const struct perf_event_mmap_page *page = ring;
	const char *data = (const char *)ring + sysconf(_SC_PAGESIZE);

	for (uint64_t at = 0; at < page->data_head && at < RING_BYTES;) {
		struct perf_event_header h;

		memcpy(&h, data + at, sizeof(h));
		assert_true(h.size >= sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE)
			modes[h.misc & PERF_RECORD_MISC_CPUMODE_MASK]++;
		at += h.size;
	}
}

/* What alone_sampled of the clocks stands on: their samples are of the mode that was asked for. */
TEST(kernel_tells_modes_apart)
{
	static const struct {
		unsigned flag;
		uint64_t clock;
		unsigned wanted, unwanted;
	} cases[] = {
	    {SPEC_USER, PERF_COUNT_SW_CPU_CLOCK, PERF_RECORD_MISC_USER, PERF_RECORD_MISC_KERNEL},
	    {SPEC_USER, PERF_COUNT_SW_TASK_CLOCK, PERF_RECORD_MISC_USER, PERF_RECORD_MISC_KERNEL},
	    {SPEC_OS, PERF_COUNT_SW_CPU_CLOCK, PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER},
	    {SPEC_OS, PERF_COUNT_SW_TASK_CLOCK, PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER},
	};
	size_t bytes = RING_BYTES + (size_t)sysconf(_SC_PAGESIZE);

	need_kernel();
	for (size_t i = 0; i < NR(cases); i++) {
		struct event_part part = {"", PERF_TYPE_SOFTWARE, cases[i].clock, 0, 0, NULL};
		struct event_use use = USE(cases[i].flag | SPEC_PC, .period = 1000000);
		int fd = open_attr(event_attr_new(&part, &use), -1);
		unsigned modes[8] = {0};
		void *ring;

		assert_true(fd >= 0);
		ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_true(ring != MAP_FAILED);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		work();
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		count_modes(ring, modes);
		print_message("%u samples\n", modes[cases[i].wanted]);
		assert_true(modes[cases[i].wanted] > 0);
		assert_int_equal(modes[cases[i].unwanted], 0);
		munmap(ring, bytes);
		close(fd);
	}
}
