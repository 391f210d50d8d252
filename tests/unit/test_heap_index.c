/*
 * Blocks in order of addresses, and which one an address is in, compared with a look at all of
 * them.
 */
#include "inject.h"
#include "kit.h"

#include "base/mem.h"
#include "heap/index.h"
#include "wire/heap_memory.h"

#include <errno.h>

enum { NR = 3000 };

#define GIB UINT64_C(0x40000000)

static struct heap_index ix;
static struct wire_heap_block kept[NR];
static size_t nr_kept;
static uint64_t seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

HOOK(before_each)
{
	seed = 88172645463325252;
	nr_kept = 0;
}

HOOK(after_each)
{
	heap_index_fini(&ix);
}

static void add(uint64_t address, uint64_t bytes)
{
	kept[nr_kept++] =
	    (struct wire_heap_block){.address = address, .size = heap_pack_size(bytes)};
}

static int make(uint64_t until_ns)
{
	struct wire_heap_block *block = mem_calloc(nr_kept + 1, sizeof(*block));

	memcpy(block, kept, nr_kept * sizeof(*block));
	for (size_t i = nr_kept; i > 1; i--) {
		size_t k = next_random() % i;
		struct wire_heap_block b = block[k];

		block[k] = block[i - 1];
		block[i - 1] = b;
	}
	return heap_index_make(&ix, block, nr_kept, until_ns);
}

/* The begin of the block that the address is in; 0: none. */
static uint64_t look(uint64_t address)
{
	for (size_t i = 0; i < nr_kept; i++) {
		uint64_t bytes = heap_size(kept[i].size);

		if (address - kept[i].address < bytes + !bytes)
			return kept[i].address;
	}
	return 0;
}

static void compare(uint64_t address)
{
	size_t i = heap_index_find(&ix, address), after = heap_index_after(&ix, address);

	assert_int_equal(i < ix.nr ? heap_index_begin(&ix, i) : 0, look(address));
	assert_true(!after || heap_index_begin(&ix, after - 1) <= address);
	assert_true(after == ix.nr || heap_index_begin(&ix, after) > address);
	heap_index_fetch(&ix, &address, 1);
}

static void compare_all(void)
{
	assert_int_equal(make(UINT64_MAX), 0);
	for (size_t i = 0; i < nr_kept; i++) {
		uint64_t begin = kept[i].address, bytes = heap_size(kept[i].size);

		compare(begin - 1);
		compare(begin);
		compare(begin + bytes / 2);
		compare(begin + bytes - !!bytes);
		compare(begin + bytes);
	}
	compare(0);
	compare(UINT64_MAX);
	compare(UINT64_C(1) << 47);
	for (size_t i = 1; i < ix.nr; i++)
		assert_true(heap_index_begin(&ix, i - 1) < heap_index_begin(&ix, i));
}

TEST(side_by_side)
{
	for (size_t i = 0; i < 1000; i++)
		add(0x555500000010 + i * 112, 96);
	compare_all();
	assert_int_equal(ix.nr, 1000);
}

TEST(of_any_size_in_places_far_from_each_other)
{
	const uint64_t places[] = {0x10000, 0x555500000000, 0x7f0000000000,
				   0x7f0000000000 + 3 * GIB};

	for (size_t k = 0; k < 4; k++)
		for (uint64_t i = 0, at = places[k]; i < 400; i++) {
			uint64_t bytes = next_random() % 300;

			add(at, bytes);
			at += (bytes + 8 + next_random() % 5000) & ~UINT64_C(7);
		}
	compare_all();
}

TEST(a_large_one_across_regions)
{
	add(0x7f0000000000 - 4096, 5 * GIB);
	add(0x7f0000000000 + 6 * GIB, 3 * GIB); /* the last: beyond it there is no region */
	add(0x7f0000000000 + 5 * GIB, 8);
	compare_all();
	compare(0x7f0000000000 + 8 * GIB);
	compare(0x7f0000000000 + 9 * GIB - 1);
	compare(0x7f0000000000 + 9 * GIB);
}

TEST(a_few_in_a_cell)
{
	for (size_t i = 0; i < 1000; i++)
		add(0x7f0000000000 + i * 800000 + next_random() % 100000 * 8, 8);
	compare_all();
}

TEST(many_in_one_cell)
{
	for (size_t i = 0; i < 100; i++) /* half of a region away from the others */
		add(0x7f0000000000 + i * 8, 8);
	add(0x7f0000000000 + GIB - 8, 8);
	compare_all();
}

TEST(the_same_one_twice)
{
	for (size_t i = 0; i < 50; i++) {
		add(0x7f0000000000 + i * 64, 64);
		add(0x7f0000000000 + i * 64, 64);
	}
	compare_all();
	assert_int_equal(ix.nr, 50);
}

TEST(none)
{
	compare_all();
	assert_int_equal(ix.nr, 0);
}

TEST(too_late)
{
	add(0x7f0000000000, 8);
	assert_int_equal(make(0), -ETIMEDOUT);
	assert_int_equal(ix.nr, 0);
}

static int make_or_not(void *arg)
{
	struct wire_heap_block *block = mem_calloc(nr_kept, sizeof(*block));
	int rc;

	(void)arg;
	if (!block)
		return -ENOMEM;
	memcpy(block, kept, nr_kept * sizeof(*block));
	rc = heap_index_make(&ix, block, nr_kept, UINT64_MAX);
	assert_int_equal(ix.nr, rc ? 0 : nr_kept);
	heap_index_fini(&ix);
	return rc;
}

TEST(without_memory)
{
	add(0x7f0000000000, 8);
	inject_every(make_or_not, NULL, 4, 0);
}
