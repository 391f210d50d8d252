/*
 * What blocks point to, by memory of this process.
 */
#include "kit.h"

#include "base/mem.h"
#include "heap/links.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NR = 3000, MAX_PAGES = 1024 };

static struct heap_index ix;
static struct heap_links links;
static struct wire_heap_block kept[NR];
static size_t nr_kept;
static char *memory;
static size_t page;

HOOK(before_each)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	nr_kept = 0;
	memory = mmap(NULL, MAX_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
}

HOOK(after_each)
{
	munmap(memory, MAX_PAGES * page);
	heap_links_fini(&links);
	heap_index_fini(&ix);
}

static void add(size_t at, uint64_t bytes)
{
	kept[nr_kept++] = (struct wire_heap_block){.address = (uintptr_t)(memory + at),
						   .size = heap_pack_size(bytes)};
}

static int read_links(uint64_t until_ns)
{
	struct wire_heap_block *block = mem_calloc(nr_kept + 1, sizeof(*block));

	memcpy(block, kept, nr_kept * sizeof(*block));
	assert_int_equal(heap_index_make(&ix, block, nr_kept, UINT64_MAX), 0);
	return heap_links_read(&links, &ix, (uint32_t)getpid(), until_ns);
}

static void put(size_t at, size_t target)
{
	uintptr_t word = (uintptr_t)(memory + target);

	memcpy(memory + at, &word, sizeof(word));
}

static const uint32_t *record(size_t i)
{
	return &links.item[links.at[i]];
}

static void expect_link(size_t i, uint32_t k, size_t target)
{
	assert_true(record(i)[0] & HEAP_LINKS_IS_READ);
	assert_true(k < (record(i)[0] & HEAP_LINKS_NR));
	assert_int_equal(record(i)[1 + k], links.at[target]);
}

static void expect_none(size_t i)
{
	assert_int_equal(record(i)[0], HEAP_LINKS_IS_READ);
}

static void expect_unread(size_t i)
{
	assert_int_equal(record(i)[0], 0);
	assert_int_equal(record(i)[1], i);
}

TEST(begins_and_within)
{
	add(0, 32);
	add(48, 32);
	add(96, 20);
	put(0, 96 + 19);
	put(24, 48);
	put(48, 96 + 20); /* beyond it */
	put(80, 0);       /* between blocks */
	put(96, 0);
	put(96 + 16, 48); /* not a whole word of the block */
	put(96 + 8, 96);  /* itself */
	assert_int_equal(read_links(UINT64_MAX), 0);
	assert_int_equal(record(0)[0] & HEAP_LINKS_NR, 2);
	expect_link(0, 0, 2);
	expect_link(0, 1, 1);
	expect_none(1);
	assert_int_equal(record(2)[0] & HEAP_LINKS_NR, 1);
	expect_link(2, 0, 0);
}

/* Near each other and far; more than a piece, and more pieces than a system call reads. */
static void expect_ring(size_t nr, size_t step)
{
	for (size_t i = 0; i < nr; i++)
		add(i * step, 64);
	for (size_t i = 0; i < nr; i++)
		put(i * step + 56, (i * 7 + 1) % nr * step + 8);
	assert_int_equal(read_links(UINT64_MAX), 0);
	for (size_t i = 0; i < nr; i++)
		expect_link(i, 0, (i * 7 + 1) % nr);
}

TEST(many_that_are_near)
{
	expect_ring(NR, 512);
}

TEST(many_that_are_far)
{
	expect_ring(NR, 1024);
}

TEST(without_words)
{
	add(0, 16);
	add(24, 0);
	add(32, 7);
	add(48, 16);
	put(0, 24);
	put(8, 32);
	put(48, 0);
	assert_int_equal(read_links(UINT64_MAX), 0);
	expect_link(0, 0, 1);
	expect_link(0, 1, 2);
	expect_none(1);
	expect_none(2);
	expect_link(3, 0, 0);
}

TEST(the_last_has_none)
{
	add(0, 16);
	add(32, 16);
	put(0, 32);
	assert_int_equal(read_links(UINT64_MAX), 0);
	expect_link(0, 0, 1);
	expect_none(1);
}

TEST(large_ones_are_left)
{
	add(0, 16);
	add(16, HEAP_LINKS_SMALL + 8);
	add(2 * HEAP_LINKS_SMALL, HEAP_LINKS_SMALL);
	put(0, 16);
	put(3 * HEAP_LINKS_SMALL - 8, 0);
	assert_int_equal(read_links(UINT64_MAX), 0);
	expect_link(0, 0, 1);
	expect_unread(1);
	expect_link(2, 0, 0);
}

TEST(what_cannot_be_read_is_left)
{
	const size_t nr = 3 * page / 128;

	for (size_t i = 0; i < nr; i++)
		add(i * 128 + 2 * page, 64);
	add(0, 64);
	add(6 * page, 64);
	put(0, 6 * page);
	put(6 * page, 0);
	put(2 * page, 0);
	assert_int_equal(munmap(memory + 3 * page, page), 0);
	assert_int_equal(read_links(UINT64_MAX), 0);
	expect_link(0, 0, nr + 1);
	for (size_t i = 1; i <= nr; i++)
		expect_unread(i); /* all of the piece */
	expect_link(nr + 1, 0, 0);
	assert_ptr_equal(mmap(memory + 3 * page, page, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 memory + 3 * page);
}

TEST(overlapping_ones)
{
	add(0, 256);
	add(16, 32);
	add(64, 512);
	add(128, 16);
	put(16, 128);
	put(128, 64);
	assert_int_equal(read_links(UINT64_MAX), 0);
	expect_link(1, 0, 3);
	expect_link(3, 0, 2);
}

TEST(none)
{
	assert_int_equal(read_links(UINT64_MAX), 0);
	assert_int_equal(links.nr, 0);
}

TEST(too_late)
{
	add(0, 64);
	assert_int_equal(read_links(0), -ETIMEDOUT);
}

TEST(another_process_is_gone)
{
	struct wire_heap_block *block = mem_calloc(1, sizeof(*block));

	*block = (struct wire_heap_block){.address = (uintptr_t)memory, .size = 64};
	assert_int_equal(heap_index_make(&ix, block, 1, UINT64_MAX), 0);
	assert_int_equal(heap_links_read(&links, &ix, 0x7fffffff, UINT64_MAX), -ESRCH);
}
