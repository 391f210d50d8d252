/*
 * The memory of calls by function: what an agent wrote, and what a hostile program did.
 */
#include "kit.h"

#include "base/mem.h"
#include "wire/functions.h"
#include "wire/functions_memory.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct wire_functions *memory;
static struct functions_header *shared; /* the program's */
static struct wire_functions_pages *pages;
static uint64_t *addresses;
static bool is_whole; /* of the last reading */
static int file;
static uint64_t bucket[WIRE_FUNCTIONS_BUCKETS];

static void begin(uint32_t wants, uint64_t factor)
{
	const struct wire_functions_config config = {
	    .wants = wants, .factor = factor, .wanted = -1};
	uint64_t bytes;
	int fd;

	assert_int_equal(wire_functions_new(&config, &memory, &fd), 0);
	assert_int_equal(pread(fd, &bytes, sizeof(bytes), offsetof(struct functions_header, bytes)),
			 sizeof(bytes));
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	assert_int_equal(ftruncate(fd, 4096), -1);
	file = fd;
	addresses = (void *)((char *)shared + shared->addresses);
	shared->nr_mapped = shared->nr_slots;
	memset(bucket, 0, sizeof(bucket));
}

HOOK(before_each)
{
	pages = wire_functions_pages_new();
	assert_non_null(pages);
	begin(FUNCTIONS_MEMORY_TIMES, UINT64_C(1) << 32);
}

static void end(void)
{
	munmap(shared, shared->bytes);
	close(file);
	wire_functions_free(memory);
	memory = NULL;
}

HOOK(after_each)
{
	end();
	mem_free(pages);
}

static char *slot(uint32_t i)
{
	char *at = (char *)shared + shared->slots + i * shared->slot_bytes;

	((struct functions_slot *)(void *)at)->owner = 1000 + i;
	return at;
}

static struct functions_row *row(uint32_t i, uint32_t number)
{
	return (struct functions_row *)(void *)(slot(i) + shared->rows) + number;
}

static struct functions_octaves *octaves(uint32_t i, uint32_t number)
{
	return (struct functions_octaves *)(void *)(slot(i) + shared->octaves) + number;
}

static struct functions_chunk *chunk(uint32_t i, uint32_t number)
{
	return (struct functions_chunk *)(void *)(slot(i) + shared->chunks) + number;
}

static void look(void)
{
	wire_functions_look(memory, pages);
}

static struct wire_functions_sum sum_of(uint32_t number)
{
	struct wire_functions_sum sum = {0};

	look();
	wire_functions_add(memory, number, &sum, bucket);
	is_whole = wire_functions_rest(memory);
	return sum;
}

TEST(sums_are_those_of_all_threads)
{
	struct wire_functions_sum sum;

	*row(0, 3) = (struct functions_row){.calls = 5, .wall = 100, .self = 60, .max = 40};
	*row(127, 3) = (struct functions_row){.calls = 2, .wall = 10, .self = 10, .max = 9};
	row(1, 4)->calls = 1000;
	octaves(0, 3)->chunk[0] = 1;
	octaves(127, 3)->chunk[2] = 7;
	chunk(0, 0)->bucket[9] = 4;
	chunk(127, 6)->bucket[15] = 2;
	sum = sum_of(3);
	assert_int_equal(sum.calls, 7);
	assert_int_equal(sum.wall_ns, 110);
	assert_int_equal(sum.self_ns, 70);
	assert_int_equal(sum.max_ns, 40);
	assert_int_equal(bucket[9], 4);
	assert_int_equal(bucket[2 * 16 + 15], 2);
	assert_int_equal(sum.cost_ns, 0);
}

TEST(cost_is_that_of_calls_and_of_those_in_them)
{
	shared->inner = 160;
	shared->outer = 480;
	*row(0, 3) = (struct functions_row){.calls = 2, .wall = 1000, .inner = 5};
	octaves(0, 3)->chunk[0] = 1;
	chunk(0, 0)->bucket[1] = 2;
	assert_int_equal(sum_of(3).cost_ns, 2 * 10 + 5 * 30);
	/* of the buckets that it adds alone */
	assert_int_equal(sum_of(3).cost_ns, 2 * 10 + 5 * 30);
	row(0, 3)->wall = 100; /* and no more than all */
	assert_int_equal(sum_of(3).cost_ns, 100);
}

TEST(times_are_converted)
{
	end();
	begin(FUNCTIONS_MEMORY_TIMES, UINT64_C(1) << 31);
	*row(0, 1) = (struct functions_row){.calls = 1, .wall = 1001, .self = 99, .max = 41};
	assert_int_equal(sum_of(1).wall_ns, 500);
	assert_int_equal(sum_of(1).self_ns, 49);
	assert_int_equal(sum_of(1).max_ns, 20);
	end();
	begin(FUNCTIONS_MEMORY_TIMES, UINT64_C(1) << 40);
	row(0, 1)->wall = UINT64_MAX;
	assert_int_equal(sum_of(1).wall_ns, UINT64_MAX); /* saturated */
}

TEST(buckets_are_those_of_a_trace)
{
	assert_int_equal(functions_memory_bucket(0), 0);
	assert_int_equal(functions_memory_bucket(15), 15);
	assert_int_equal(functions_memory_bucket(16), 16);
	assert_int_equal(functions_memory_bucket(31), 31);
	assert_int_equal(functions_memory_bucket(32), 32);
	assert_int_equal(functions_memory_bucket(33), 32);
	assert_int_equal(functions_memory_bucket(63), 47);
	assert_int_equal(functions_memory_bucket(1000), 16 * 6 + 15);
	assert_int_equal(functions_memory_bucket(UINT64_MAX), WIRE_FUNCTIONS_BUCKETS - 1);
}

TEST(without_times_there_are_calls)
{
	end();
	begin(0, UINT64_C(1) << 32);
	assert_true(shared->slot_bytes < 4 << 20);
	for (uint32_t i = 0; i <= 126; i++)
		row(i, FUNCTIONS_MEMORY_MAX - 1)->calls = 4;
	assert_int_equal(sum_of(FUNCTIONS_MEMORY_MAX - 1).calls, 127 * 4);
}

/* Slots are taken in turn, but for the last one, which is that of all for whom there is none. */
TEST(behind_the_last_thread_is_the_shared_slot)
{
	row(0, 5)->calls = 4;
	row(2, 5)->calls = 100;
	row(127, 5)->calls = 7;
	assert_int_equal(sum_of(5).calls, 11);
}

TEST(slots_of_nobody_are_not_read)
{
	row(5, 1)->calls = 7;
	((struct functions_slot *)(void *)slot(5))->owner = 0;
	assert_int_equal(sum_of(1).calls, 0);
}

TEST(functions_have_addresses)
{
	addresses[0] = 0x1000;
	addresses[1] = 0x2000;
	shared->nr_functions = 2;
	look();
	assert_int_equal(wire_functions_nr(memory), 2);
	assert_int_equal(wire_functions_address(memory, 0), 0); /* the agent's own */
	assert_int_equal(wire_functions_address(memory, 1), 0x2000);
	assert_int_equal(wire_functions_address(memory, 2), 0);
	assert_int_equal(wire_functions_address(memory, UINT32_MAX), 0);
	shared->nr_functions = UINT32_MAX;
	assert_int_equal(wire_functions_nr(memory), FUNCTIONS_MEMORY_MAX);
}

TEST(functions_are_left_out)
{
	uint64_t *places = (void *)((char *)shared + shared->places);
	const uint8_t *untimed = (const uint8_t *)shared + shared->untimed;
	const uint64_t address = 0x123456;
	uint32_t at = functions_memory_place(address), next = (at + 1) % FUNCTIONS_MEMORY_PLACES;

	addresses[7] = address;
	shared->nr_functions = 8;
	wire_functions_leave_out(memory, 7, true); /* which has no place yet */
	assert_int_equal(places[at], 0);
	assert_int_equal(untimed[7], 1); /* of one whose instructions were replaced */
	places[at] = (address + 1) << FUNCTIONS_MEMORY_NUMBER_BITS | 3;
	places[next] = address << FUNCTIONS_MEMORY_NUMBER_BITS | 7;
	wire_functions_leave_out(memory, 7, true);
	assert_int_equal(places[next],
			 address << FUNCTIONS_MEMORY_NUMBER_BITS | FUNCTIONS_MEMORY_OUT);
	wire_functions_leave_out(memory, 7, false);
	assert_int_equal(places[next], address << FUNCTIONS_MEMORY_NUMBER_BITS | 7);
	assert_int_equal(places[at], (address + 1) << FUNCTIONS_MEMORY_NUMBER_BITS | 3);
	assert_int_equal(untimed[7], 0);
	for (uint32_t i = 0; i < FUNCTIONS_MEMORY_PLACES; i++) /* without an end */
		places[i] = 1;
	wire_functions_leave_out(memory, 7, true);
	wire_functions_leave_out(memory, UINT32_MAX, true);
}

TEST(objects_are_checked)
{
	struct functions_object *o = (void *)((char *)shared + shared->objects);
	struct wire_functions_object found;

	o[0] = (struct functions_object){.start = 0x1000,
					 .end = 0x2000,
					 .offset = 0x100,
					 .inode = 7,
					 .major = 8,
					 .minor = 1,
					 .path = "/lib/a\033b.so"};
	look();
	assert_false(wire_functions_object(memory, 0x1000, &found)); /* there is none yet */
	shared->nr_objects = 1;
	look();
	assert_false(wire_functions_object(memory, 0xfff, &found));
	assert_false(wire_functions_object(memory, 0x2000, &found));
	assert_true(wire_functions_object(memory, 0x1fff, &found));
	assert_int_equal(found.offset, 0x100);
	assert_int_equal(found.inode, 7);
	assert_int_equal(found.major, 8);
	assert_int_equal(found.minor, 1);
	assert_null(strchr(found.path, '\033'));
	memset(o[0].path, 'x', sizeof(o[0].path)); /* without an end, and no path */
	assert_false(wire_functions_object(memory, 0x1000, &found));
	o[0].path[0] = '/';
	assert_true(wire_functions_object(memory, 0x1000, &found));
	assert_int_equal(strlen(found.path), sizeof(found.path) - 1);
	shared->nr_objects = UINT32_MAX;
	assert_false(wire_functions_object(memory, UINT64_MAX - 1, &found));
}

TEST(hostile_words_are_refused)
{
	shared->nr_mapped = UINT32_MAX;
	shared->slots = shared->slot_bytes = shared->rows = UINT64_MAX / 2;
	shared->inner = shared->outer = UINT64_MAX;
	assert_int_equal(sum_of(5).calls, 0);
	shared->slots = shared->slot_bytes = 0;
	assert_int_equal(sum_of(FUNCTIONS_MEMORY_MAX).calls, 0);
	assert_int_equal(sum_of(UINT32_MAX).calls, 0);
}

TEST(chunks_beyond_the_last_are_none)
{
	row(0, 1)->calls = 1;
	memset(chunk(0, FUNCTIONS_MEMORY_CHUNKS), 1, sizeof(struct functions_chunk));
	for (uint32_t i = 0; i <= FUNCTIONS_MEMORY_OCTAVES; i++)
		octaves(0, 1)->chunk[i] = i & 1 ? FUNCTIONS_MEMORY_CHUNKS + 1 : UINT32_MAX;
	assert_int_equal(sum_of(1).calls, 1);
	for (size_t i = 0; i < WIRE_FUNCTIONS_BUCKETS; i++)
		assert_int_equal(bucket[i], 0);
	octaves(0, 1)->chunk[38] = FUNCTIONS_MEMORY_CHUNKS; /* the last one */
	chunk(0, FUNCTIONS_MEMORY_CHUNKS - 1)->bucket[15] = UINT64_MAX;
	assert_int_equal(sum_of(1).calls, 1);
	assert_int_equal(sum_of(1).calls, 1);
	assert_int_equal(bucket[WIRE_FUNCTIONS_BUCKETS - 1], UINT64_MAX);
}

static uint64_t bytes_made(void)
{
	struct stat st;

	assert_int_equal(fstat(file, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* Of a program that says it has used all slots, numbers and chunks, and has written a few. */
TEST(what_is_not_written_is_not_made)
{
	struct wire_functions_object found;
	struct wire_functions_limits l;
	uint64_t before;

	for (uint32_t i = 0; i < FUNCTIONS_MEMORY_SLOTS; i++)
		slot(i);
	row(3, 5)->calls = 2;
	row(4, 5)->calls = 3;
	octaves(4, 5)->chunk[1] = 1000;
	octaves(4, 5)->chunk[2] = 2000;
	shared->nr_functions = shared->nr_objects = UINT32_MAX;
	before = bytes_made();
	look();
	for (uint32_t i = 0; i < FUNCTIONS_MEMORY_MAX; i += 1000)
		assert_int_equal(wire_functions_address(memory, i), 0);
	assert_false(wire_functions_object(memory, 0x1000, &found));
	wire_functions_limits(memory, &l);
	assert_int_equal(sum_of(5).calls, 5);
	assert_true(is_whole);
	for (uint32_t i = 0; i < FUNCTIONS_MEMORY_MAX; i += 64)
		sum_of(i);
	assert_int_equal(bytes_made(), before);
}

TEST(what_is_looked_at_has_an_end)
{
	struct wire_functions_sum sum = {0};
	uint64_t before;

	for (uint32_t i = 0; i < FUNCTIONS_MEMORY_SLOTS; i++)
		slot(i);
	row(0, 1)->calls = 4;
	before = bytes_made();
	look();
	for (uint32_t i = 1; i < FUNCTIONS_MEMORY_MAX; i += 64)
		wire_functions_add(memory, i, &sum, bucket);
	assert_false(wire_functions_rest(memory));
	assert_int_equal(sum.calls, 4);
	assert_int_equal(bytes_made(), before);
	assert_int_equal(sum_of(1).calls, 4);
	assert_true(is_whole);
}

TEST(limits_are_summed)
{
	struct wire_functions_limits l;

	*(struct functions_slot *)(void *)slot(0) =
	    (struct functions_slot){.owner = 1, .deep = 1, .cut = 2, .full = 4};
	((struct functions_slot *)(void *)slot(127))->cut = 8;
	shared->missed = 16;
	shared->nr_joined = 3;
	shared->nr_patched = 5;
	shared->nr_unpatched = 6;
	shared->nr_placed = 9;
	shared->nr_timed = 7;
	shared->nr_half = 2;
	look();
	wire_functions_limits(memory, &l);
	assert_int_equal(l.untimed, 15);
	assert_int_equal(l.missed, 16);
	assert_int_equal(l.joined, 3);
	assert_int_equal(l.patched, 5);
	assert_int_equal(l.unpatched, 6);
	assert_int_equal(l.placed, 9);
	assert_int_equal(l.timed, 7);
	assert_int_equal(l.half, 2);
}

TEST(programs_read_places_and_their_ends)
{
	static const struct wire_functions_site ends[] = {
	    {.offset = 0x110, .len = 5, .moved_len = 6, .old = {9, 8, 7}},
	    {.offset = 0x120, .len = 5}};
	const struct wire_functions_place places[] = {
	    {.offset = 0x100, .begin = {0x100, 5, .depth = 8}, .exit = ends, .nr_exits = 1},
	    {.offset = 0x118, .begin = {0x118, 5}},
	    {.offset = 0x119, .begin = {0x119, 5}, .exit = &ends[1], .nr_exits = 1}};
	const struct wire_functions_file files[] = {{.path = "/a", .place = places, .nr = 2},
						    {.path = "/b", .place = &places[2], .nr = 1}};
	const struct functions_wanted_place *place;
	const struct functions_wanted_site *end;
	const struct functions_wanted *w;
	struct stat st;
	int fd;

	assert_int_equal(wire_functions_want(files, 2, &fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	w = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(w, MAP_FAILED);
	place = (const void *)((const struct functions_wanted_file *)(const void *)(w + 1) + 2);
	end = (const void *)(place + 3);
	assert_int_equal((size_t)((const char *)(end + 2) - (const char *)w), st.st_size);
	assert_int_equal(w->nr_places, 3);
	assert_int_equal(w->nr_exits, 2);
	assert_int_equal(place[0].begin.depth, 8);
	assert_int_equal(place[0].nr_exits, 1);
	assert_int_equal(place[0].first_exit, 0);
	assert_int_equal(place[1].nr_exits, 0);
	assert_int_equal(place[2].first_exit, 1);
	assert_int_equal(end[0].offset, 0x110);
	assert_int_equal(end[0].moved_len, 6);
	assert_memory_equal(end[0].old, ends[0].old, sizeof(end[0].old));
	assert_int_equal(end[1].offset, 0x120);
	munmap((void *)(uintptr_t)w, (size_t)st.st_size);
	close(fd);
}

TEST(the_program_sees_the_end)
{
	assert_int_equal(shared->is_closed, 0);
	wire_functions_free(memory);
	memory = NULL;
	assert_int_equal(shared->is_closed, 1);
}

TEST(a_factor_is_near_the_truth)
{
	struct wire_functions_config config;

	wire_functions_configure(&config, false);
	assert_int_equal(config.wants, 0);
	wire_functions_configure(&config, true);
	assert_true(config.wants & FUNCTIONS_MEMORY_TIMES);
	if (!(config.wants & FUNCTIONS_MEMORY_CYCLES))
		assert_int_equal(config.factor, UINT64_C(1) << 32);
	else /* 10 MHz to 10 GHz */
		assert_in_range(config.factor, (UINT64_C(1) << 32) / 10, (UINT64_C(1) << 32) * 100);
}
