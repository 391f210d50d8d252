/*
 * Pages of live blocks, by files of proc that say what a test wants.
 */
#include "kit.h"
#include "test_heap_agent.h"

#include "base/root.h"
#include "heap/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum { PID = 77, NR_STACKS = 4 };

#define IN_MEMORY (UINT64_C(1) << 63)
#define IN_SWAP   (UINT64_C(1) << 62)
#define MAPS      "7f0000000000-7f0000001000 rw-s 00000000 00:01 12 /memfd:cpuperf-heap (deleted)\n"
#define OTHER     "7f0000000000-7f0000001000 rw-s 00000000 00:01 12 /x\n"

static struct root folder;
static struct wire_heap *heap;
static struct agent agent;
static struct wire_heap_stack stacks[NR_STACKS];
static uint64_t page;

static void begin(uint64_t rate)
{
	const struct wire_heap_config config = {.rate = rate, .wants = HEAP_WANTS_BLOCKS};
	int fd;

	page = (uint64_t)sysconf(_SC_PAGESIZE);
	folder = tree_make();
	assert_int_equal(wire_heap_new(&config, &heap, &fd), 0);
	agent_map(&agent, fd);
	close(fd);
	memset(stacks, 0, sizeof(stacks));
	tree_put(&folder, "/proc/77/maps", MAPS, strlen(MAPS));
	tree_put(&folder, "/proc/77/pagemap", "", 0);
}

HOOK(after_each)
{
	agent_unmap(&agent);
	wire_heap_free(heap);
	heap = NULL;
	tree_remove(&folder);
}

/* What pagemap says of nr pages from that one on. */
static void put_pages(uint64_t first, uint64_t nr, uint64_t entry)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/proc/77/pagemap", folder.dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (uint64_t i = first; i < first + nr; i++)
		assert_int_equal(pwrite(fd, &entry, sizeof(entry), (off_t)(i * sizeof(entry))),
				 sizeof(entry));
	close(fd);
}

static int look(uint64_t rate)
{
	const struct heap_pages what = {
	    .root = &folder, .rate = rate, .has_resident = true, .has_untouched = true};

	return heap_read_pages(&what, PID, heap, stacks, NR_STACKS);
}

static void expect(uint32_t stack, enum wire_heap_kind kind, uint64_t samples, uint64_t bytes)
{
	assert_int_equal(stacks[stack].amount[kind].samples, samples);
	assert_int_equal(stacks[stack].amount[kind].bytes, bytes);
}

TEST(half_of_a_block_is_in_memory)
{
	begin(1);
	put_pages(0, 1000, 0);
	put_pages(100, 128, IN_MEMORY);
	put_pages(300, 3, IN_SWAP);
	agent_block(&agent, 100 * page, 1, 256 * page);
	assert_int_equal(look(1), 1);
	expect(1, WIRE_HEAP_RESIDENT, 1, 128 * page);
	expect(1, WIRE_HEAP_UNTOUCHED, 1, 125 * page);
	expect(0, WIRE_HEAP_RESIDENT, 0, 0);
}

TEST(a_page_is_divided_by_the_bytes_in_it)
{
	begin(1);
	put_pages(0, 50, 0);
	put_pages(10, 3, IN_MEMORY);
	/* three in the first page, one of which goes on in the two after it */
	agent_block(&agent, 10 * page + 16, 0, page / 8);
	agent_block(&agent, 10 * page + page / 4, 0, page / 8);
	agent_block(&agent, 10 * page + page / 2, 1, 2 * page);
	agent_block(&agent, 20 * page + 16, 2, page); /* no whole page */
	assert_int_equal(look(1), 1);
	expect(0, WIRE_HEAP_RESIDENT, 2, 2 * page / 6);
	expect(1, WIRE_HEAP_RESIDENT, 1, 3 * page - 2 * page / 6);
	expect(2, WIRE_HEAP_RESIDENT, 0, 0);
	for (uint32_t i = 0; i < NR_STACKS; i++)
		expect(i, WIRE_HEAP_UNTOUCHED, 0, 0);
}

TEST(a_sample_counts_with_its_own_bytes_and_stands_for_others)
{
	const struct heap_weight w = heap_weigh(2 * page, 1 << 20);

	begin(1 << 20);
	put_pages(0, 50, 0);
	put_pages(10, 1, IN_MEMORY);
	agent_block(&agent, 10 * page + page / 2, 1, 2 * page);
	assert_int_equal(look(1 << 20), 1);
	expect(1, WIRE_HEAP_RESIDENT, 1, page / 2 * w.calls / HEAP_CALL);
	expect(1, WIRE_HEAP_UNTOUCHED, 1, page * w.calls / HEAP_CALL);
}

/* Blocks that overlap, or are of stacks that are not there, and sizes beyond all memory. */
TEST(hostile_blocks_count_no_page_twice)
{
	uint64_t sum = 0;

	begin(1);
	put_pages(0, 50, IN_MEMORY);
	for (uint64_t i = 0; i < 31; i++)
		agent_block(&agent, 10 * page + i * 16, (uint32_t)i % 5, 20 * page);
	assert_int_equal(look(1), 1);
	for (uint32_t i = 0; i < NR_STACKS; i++)
		sum += stacks[i].amount[WIRE_HEAP_RESIDENT].bytes;
	assert_true(sum > 20 * page && sum <= 21 * page);
	agent_block(&agent, 30 * page, 0, (uint64_t)1 << 43);
	assert_int_equal(look(1), -EIO); /* where pagemap ends */
}

TEST(of_another_program_or_none_nothing_is_read)
{
	begin(1);
	put_pages(0, 50, IN_MEMORY);
	agent_block(&agent, 10 * page, 0, page);
	tree_put(&folder, "/proc/77/maps", OTHER, strlen(OTHER));
	assert_int_equal(look(1), 0);
	expect(0, WIRE_HEAP_RESIDENT, 0, 0);
	tree_remove(&folder);
	folder = tree_make();
	assert_int_equal(look(1), 0);
	tree_put(&folder, "/proc/77/maps", MAPS, strlen(MAPS));
	assert_int_equal(look(1), -ENOENT); /* there is no pagemap */
	expect(0, WIRE_HEAP_RESIDENT, 0, 0);
}
