/*
 * Counters read by their registers (cpuperf/mark.h): pages as the kernel would write them, beside
 * registers of the test's own. The kernel's are read in the emulated machine (tests/pmu/guest).
 */
#include "kit.h"

static uint64_t read_register(uint32_t number);
#define CPUPERF_MARK_REGISTER read_register
#include "cpuperf/mark.h"

#include "base/perf_abi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static struct cpuperf_mark_page page;
static uint64_t registers[40];
static int nr_changes, nr_read;

/* The kernel changes the page while it is read. */
static uint64_t read_register(uint32_t number)
{
	uint64_t value = number < 40 ? registers[number] : 0;

	nr_read++;
	if (nr_changes) {
		nr_changes--;
		page.lock += 2;
		page.offset += 1000;
	}
	return value;
}

HOOK(before_each)
{
	page = (struct cpuperf_mark_page){
	    .index = 3, .offset = 100, .capabilities = CPUPERF_MARK_MAY_READ, .width = 48};
	memset(registers, 0, sizeof(registers));
	nr_changes = nr_read = 0;
}

TEST(the_page_is_the_kernels)
{
#define SAME(ours, theirs)                                                                         \
	assert_int_equal(offsetof(struct cpuperf_mark_page, ours),                                 \
			 offsetof(struct perf_event_mmap_page, theirs))
	struct perf_event_mmap_page p = {.cap_user_rdpmc = 1};

	SAME(lock, lock);
	SAME(index, index);
	SAME(offset, offset);
	SAME(enabled_ns, time_enabled);
	SAME(running_ns, time_running);
	SAME(capabilities, capabilities);
	SAME(width, pmc_width);
	SAME(time_shift, time_shift);
	SAME(time_mult, time_mult);
	SAME(time_offset, time_offset);
	assert_int_equal(p.capabilities, CPUPERF_MARK_MAY_READ);
}

TEST(a_count_is_offset_and_register)
{
	uint64_t value = 7;

	registers[2] = 23;
	registers[3] = 5;
	assert_true(cpuperf_mark_may_read(&page));
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 1);
	assert_int_equal(value, 123);
	assert_int_equal(nr_read, 1);
}

/* A register begins below 0, to overflow in time, and its upper bits may be anything. */
TEST(a_register_has_its_width_and_sign)
{
	uint64_t value;

	registers[2] = 0xabcd000000000000 | 0xffffffffff00;
	page.offset = 0x100;
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 1);
	assert_int_equal(value, 0);
	page.width = 32;
	registers[2] = 0x1fffffff0;
	page.offset = 0x100000000;
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 1);
	assert_int_equal(value, 0xfffffff0);
	page.width = 64;
	registers[2] = UINT64_C(1) << 63;
	page.offset = 0;
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 1);
	assert_int_equal(value, UINT64_C(1) << 63);
}

TEST(what_changes_meanwhile_is_read_again)
{
	uint64_t value;

	nr_changes = 3;
	registers[2] = 1;
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 1);
	assert_int_equal(value, 3101);
	assert_int_equal(nr_read, 4);
}

/* A counter that is not on this CPU, one that only read(2) has, a page of zeroes (the connection
 * has ended), and widths that no register has. */
TEST(other_counters_are_left_to_read)
{
	uint64_t value = 7;

	page.index = 0;
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 0);
	page.index = 1;
	page.capabilities = ~(uint64_t)CPUPERF_MARK_MAY_READ;
	assert_false(cpuperf_mark_may_read(&page));
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 0);
	page.capabilities = CPUPERF_MARK_MAY_READ;
	page.width = 0;
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 0);
	page.width = 65;
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 0);
	page = (struct cpuperf_mark_page){0};
	assert_int_equal(cpuperf_mark_read_page(&page, &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(nr_read, 0);
}

/* A thread that lives until it is told to end. */
struct other {
	atomic_uint tid;
	int pipe[2];
};

static void *live(void *arg)
{
	struct other *o = arg;
	char byte;

	o->tid = (uint32_t)gettid();
	assert_int_equal(read(o->pipe[0], &byte, 1), 0);
	return NULL;
}

static bool is_mapped(void *at)
{
	unsigned char resident;

	return mincore(at, 1, &resident) == 0;
}

/* Maps pages for slot 5, of that thread, and has them forgotten. True: they are still mapped. */
static bool remain(struct cpuperf_mark_own *own, uint32_t owner)
{
	char *at =
	    mmap(NULL, cpuperf_mark_pages_bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool is_there;

	assert_ptr_not_equal(at, MAP_FAILED);
	own->pages[5] = at;
	own->owners[5] = owner;
	cpuperf_mark_unmap_pages(own, 5);
	assert_null(own->pages[5]);
	is_there = is_mapped(at);
	if (is_there)
		munmap(at, cpuperf_mark_pages_bytes());
	return is_there;
}

/* A thread that may be about to read a register keeps its pages; one that has ended does not. */
TEST(only_the_thread_unmaps_its_pages)
{
	struct cpuperf_mark_own *own = cpuperf_mark_make_own();
	struct other o = {.tid = 0};
	pthread_t thread;

	assert_non_null(own);
	assert_false(remain(own, (uint32_t)gettid()));
	assert_int_equal(pipe(o.pipe), 0);
	assert_int_equal(pthread_create(&thread, NULL, live, &o), 0);
	while (!o.tid)
		usleep(100);
	assert_true(remain(own, o.tid));
	close(o.pipe[1]);
	pthread_join(thread, NULL);
	close(o.pipe[0]);
	for (int i = 0; i < 1000 && remain(own, o.tid);
	     i++) /* the kernel removes it a little later */
		usleep(1000);
	assert_false(remain(own, o.tid));
	munmap(own, sizeof(*own));
}
