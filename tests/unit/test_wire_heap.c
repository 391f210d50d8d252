/*
 * The memory of a heap: what an agent wrote, and what a hostile program did.
 */
#include "test_heap_agent.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "wire/heap.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const struct wire_heap_config config = {.rate = 512, .wants = HEAP_WANTS_STACKS};
static struct wire_heap *heap;
static struct agent agent;

HOOK(before_each)
{
	int fd;

	assert_int_equal(wire_heap_new(&config, &heap, &fd), 0);
	agent_map(&agent, fd);
	close(fd);
}

HOOK(after_each)
{
	agent_unmap(&agent);
	wire_heap_free(heap);
	heap = NULL;
}

TEST(the_header_says_what_is_wanted)
{
	const struct heap_header *h = agent.header;

	assert_int_equal(h->magic, HEAP_MAGIC);
	assert_int_equal(h->version, HEAP_VERSION);
	assert_int_equal(h->rate, 512);
	assert_int_equal(h->wants, HEAP_WANTS_STACKS);
	assert_int_equal(h->max_nodes, HEAP_MAX_NODES);
	assert_true(h->nodes - h->threads >= h->max_threads * sizeof(struct heap_thread));
	assert_true(h->stacks - h->nodes >= h->max_nodes * sizeof(struct heap_node));
	assert_true(h->shards - h->stacks >= h->max_stacks * sizeof(struct heap_stack));
	assert_true(h->arena - h->shards >= HEAP_NR_SHARDS * sizeof(struct heap_shard));
	assert_true(h->bytes > h->arena);
}

TEST(nobody_can_change_the_size)
{
	struct wire_heap *other;
	struct stat st;
	int fd;

	assert_int_equal(wire_heap_new(&config, &other, &fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(ftruncate(fd, st.st_size + 4096), -1);
	assert_true(st.st_blocks * 512 <= 1 << 16);
	close(fd);
	wire_heap_free(other);
}

TEST(sums_are_those_of_all_threads)
{
	struct wire_heap_sums sums;

	agent.threads[0] =
	    (struct heap_thread){.calls = 3, .bytes = 30, .frees = 1, .max_bytes = 20};
	agent.threads[HEAP_MAX_THREADS - 1] =
	    (struct heap_thread){.calls = 4, .bytes = UINT64_MAX - 10, .max_bytes = 7};
	agent.header->live = 12;
	agent.header->no_node = 14;
	wire_heap_sums(heap, &sums);
	assert_int_equal(sums.calls, 7);
	assert_int_equal(sums.bytes, UINT64_MAX); /* saturated */
	assert_int_equal(sums.frees, 1);
	assert_int_equal(sums.max_bytes, 20);
	assert_int_equal(sums.live, 12);
	assert_int_equal(sums.peak, 0);
	assert_int_equal(sums.no_node, 14);
	assert_false(sums.is_counted);
}

TEST(a_peak_is_that_of_its_stacks)
{
	struct wire_heap_sums sums;
	uint32_t root = agent_node(&agent, HEAP_ROOT, 1000);

	*agent_stack(&agent, agent_node(&agent, root, 2000)) = (struct heap_stack){
	    .node = root + 1, .samples = 3, .bytes = 300, .peak_samples = 2, .peak_bytes = 200};
	*agent_stack(&agent, agent_node(&agent, root, 3000)) = (struct heap_stack){
	    .node = root + 2, .samples = 1, .bytes = 70, .peak_samples = 1, .peak_bytes = 70};
	/* a descriptor is no memory */
	*agent_stack(&agent, agent_node(&agent, root + 1, HEAP_RESOURCE_FD)) = (struct heap_stack){
	    .node = root + 3, .samples = 1, .bytes = 9, .peak_samples = 1, .peak_bytes = 9};
	agent.header->peak = 1000;
	agent.header->is_counted = 1;
	wire_heap_sums(heap, &sums);
	assert_true(sums.is_counted);
	assert_int_equal(sums.peak, 270);
}

static void expect_amount(const struct wire_heap_stack *s, enum wire_heap_kind kind,
			  uint64_t samples, uint64_t bytes)
{
	assert_int_equal(s->amount[kind].samples, samples);
	assert_int_equal(s->amount[kind].bytes, bytes);
}

TEST(a_stack_has_its_amounts)
{
	struct heap_stack *from = agent_stack(&agent, agent_node(&agent, HEAP_ROOT, 1000));
	struct wire_heap_stack s;

	*from = (struct heap_stack){.samples = 10,
				    .bytes = 100,
				    .freed_samples = 4,
				    .freed_bytes = 30,
				    .temporary_samples = 1,
				    .temporary_bytes = 5,
				    .peak_samples = 9,
				    .peak_bytes = 90,
				    .own_peak_samples = 7,
				    .own_peak_bytes = 95,
				    .max_bytes = 50,
				    .overhead = 80,
				    .untouched_samples = 2,
				    .untouched = 20,
				    .moment = 2};
	agent.header->moment = 2;
	assert_int_equal(wire_heap_nr_stacks(heap), 1);
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_ALLOCATED, 10, 100);
	expect_amount(&s, WIRE_HEAP_FREED, 4, 30);
	expect_amount(&s, WIRE_HEAP_TEMPORARY, 1, 5);
	expect_amount(&s, WIRE_HEAP_OVERHEAD, 10, 80);
	expect_amount(&s, WIRE_HEAP_UNTOUCHED, 2, 20);
	expect_amount(&s, WIRE_HEAP_LIVE, 6, 70);
	expect_amount(&s, WIRE_HEAP_PEAK, 9, 90);
	expect_amount(&s, WIRE_HEAP_OWN_PEAK, 7, 95);
	assert_int_equal(s.max_bytes, 50);

	agent.header->moment = 3; /* nothing changed since */
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_PEAK, 6, 70);
}

TEST(lives_are_parts_of_what_was_freed)
{
	struct heap_stack *from = agent_stack(&agent, agent_node(&agent, HEAP_ROOT, 1000));
	struct heap_life *lives = (struct heap_life *)((char *)agent.header + agent.header->arena);
	const uint64_t last = agent.header->bytes - HEAP_NR_LIVES * sizeof(*lives);
	const uint64_t hostile[] = {
	    0, 8, agent.header->arena - 8, agent.header->arena + 4, last + 8, UINT64_MAX - 7};
	struct wire_heap_stack s;

	*from = (struct heap_stack){.samples = 10,
				    .bytes = 100,
				    .freed_samples = 6,
				    .freed_bytes = 60,
				    .lives = agent.header->arena};
	lives[0] = (struct heap_life){.samples = 1, .bytes = 10};
	lives[3] = (struct heap_life){.samples = 2, .bytes = 25};
	lives[7] = (struct heap_life){.samples = 9, .bytes = 90}; /* more than there is */
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_LIFE, 1, 10);
	expect_amount(&s, WIRE_HEAP_LIFE + 1, 0, 0);
	expect_amount(&s, WIRE_HEAP_LIFE + 3, 2, 25);
	expect_amount(&s, WIRE_HEAP_LIFE + 7, 3, 25);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		from->lives = hostile[i];
		wire_heap_stack(heap, 0, &s);
		for (int k = 0; k < HEAP_NR_LIVES; k++)
			expect_amount(&s, WIRE_HEAP_LIFE + k, 0, 0);
	}
	from->lives = last;
	wire_heap_stack(heap, 0, &s);
}

TEST(amounts_that_cannot_be_are_cut)
{
	struct heap_stack *from = agent_stack(&agent, agent_node(&agent, HEAP_ROOT, 1000));
	struct wire_heap_stack s;

	*from = (struct heap_stack){.samples = 2,
				    .bytes = 20,
				    .freed_samples = 5,
				    .freed_bytes = 50,
				    .temporary_samples = 7,
				    .temporary_bytes = 70,
				    .peak_samples = 9,
				    .peak_bytes = 90,
				    .own_peak_samples = 9,
				    .own_peak_bytes = 90};
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_FREED, 2, 20);
	expect_amount(&s, WIRE_HEAP_TEMPORARY, 2, 20);
	expect_amount(&s, WIRE_HEAP_LIVE, 0, 0);
	expect_amount(&s, WIRE_HEAP_PEAK, 2, 20);
	expect_amount(&s, WIRE_HEAP_OWN_PEAK, 2, 20);

	*from = (struct heap_stack){.bytes = 20, .overhead = 7}; /* bytes of nothing */
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_ALLOCATED, 0, 0);
	expect_amount(&s, WIRE_HEAP_OVERHEAD, 0, 0);

	agent.header->nr_stacks = UINT32_MAX;
	assert_int_equal(wire_heap_nr_stacks(heap), HEAP_MAX_STACKS);
}

static bool has_block(const struct wire_heap_block *blocks, size_t nr, uint64_t address,
		      uint32_t stack, uint64_t bytes)
{
	for (size_t i = 0; i < nr; i++)
		if (blocks[i].address == address && blocks[i].stack == stack &&
		    heap_size(blocks[i].size) == bytes)
			return true;
	return false;
}

/* Divides the bucket of the shard in two, which have directories of four entries. */
static void divide(struct heap_shard *s)
{
	char *arena = (char *)agent.header + agent.header->arena;
	uint64_t directory = agent.header->arena_used;
	uint32_t *entry = (uint32_t *)(arena + directory);
	struct heap_bucket *from = (struct heap_bucket *)arena + (s->bucket - 1), *to;

	agent.header->arena_used += 2 * HEAP_BUCKET_BYTES;
	to = (struct heap_bucket *)(arena + directory + HEAP_BUCKET_BYTES);
	to->block[7] = from->block[0];
	from->block[0] = (struct heap_block){0};
	entry[0] = entry[1] = s->bucket;
	entry[2] = entry[3] = 1 + (uint32_t)(directory / HEAP_BUCKET_BYTES + 1);
	s->depth = 2;
	s->directory = agent.header->arena + directory;
	s->bucket = 0;
}

TEST(blocks_are_those_of_all_buckets)
{
	const uint64_t other = (uint64_t)5 << 32;
	struct wire_heap_block *blocks;
	uint32_t shard, key;
	size_t nr;

	agent_block(&agent, 0x1000, 0, 40);
	agent_block(&agent, 0x1010, 1, 4096);
	agent_block(&agent, 0x7ffff000, 2, other);
	assert_int_equal(wire_heap_blocks(heap, 0, &blocks, &nr), 0);
	assert_int_equal(nr, 3);
	assert_true(has_block(blocks, nr, 0x1000, 0, 40) &&
		    has_block(blocks, nr, 0x7ffff000, 2, other));
	mem_free(blocks);
	assert_int_equal(wire_heap_blocks(heap, 4096, &blocks, &nr), 0);
	assert_int_equal(nr, 2);
	mem_free(blocks);

	assert_true(heap_place(0x1000, &shard, &key));
	divide(&agent.shards[shard]);
	agent.shards[shard].changes = 1; /* it is looked at again and again */
	assert_int_equal(wire_heap_blocks(heap, 0, &blocks, &nr), 0);
	assert_int_equal(nr, 3);
	assert_true(has_block(blocks, nr, 0x1000, 0, 40) && has_block(blocks, nr, 0x1010, 1, 4096));
	mem_free(blocks);
}

TEST(hostile_blocks_are_not_followed)
{
	static const struct heap_shard shards[] = {
	    {.depth = 40},
	    {.depth = 1, .directory = 64},
	    {.depth = 1, .directory = UINT64_MAX - 3},
	    {.depth = 16, .directory = (UINT64_C(1) << 40)},
	    {.bucket = UINT32_MAX},
	    {.changes = 1},
	};
	struct wire_heap_block *blocks;
	size_t nr;

	for (size_t i = 0; i < ARRAY_NR(shards); i++)
		agent.shards[i] = shards[i];
	/* to the end of the memory, and one beyond */
	agent.shards[100] = (struct heap_shard){.depth = 1, .directory = agent.header->bytes - 8};
	agent.shards[101] = (struct heap_shard){.depth = 1, .directory = agent.header->bytes - 4};
	assert_int_equal(wire_heap_blocks(heap, 0, &blocks, &nr), 0);
	assert_int_equal(nr, 0);
	mem_free(blocks);
	/* a stack that cannot be */
	agent_block(&agent, 0x1000, HEAP_MAX_STACKS, 40);
	assert_int_equal(wire_heap_blocks(heap, 0, &blocks, &nr), 0);
	assert_int_equal(nr, 0);
	mem_free(blocks);
}

TEST(callers_end_at_their_epoch)
{
	uint64_t pcs[WIRE_HEAP_MAX_FRAMES];
	uint32_t first = agent_node(&agent, HEAP_ROOT, 1000);
	uint32_t main = agent_node(&agent, first, 0x10), foo = agent_node(&agent, main, 0x20);
	uint32_t second = agent_node(&agent, HEAP_ROOT, 5000);
	uint32_t other = agent_node(&agent, second, 0x30);
	struct wire_heap_epoch epoch;

	agent.header->stacks_ns = 7000;
	assert_int_equal(wire_heap_callers(heap, foo, pcs, &epoch), 2);
	assert_int_equal(pcs[0], 0x20);
	assert_int_equal(pcs[1], 0x10);
	assert_int_equal(epoch.begin_ns, 1000);
	assert_int_equal(epoch.end_ns, 5000);
	assert_int_equal(epoch.at_ns, 4999);
	assert_int_equal(wire_heap_callers(heap, other, pcs, &epoch), 1);
	assert_int_equal(epoch.begin_ns, 5000);
	assert_int_equal(epoch.end_ns, 0);
	assert_int_equal(epoch.at_ns, 7000);
	assert_int_equal(wire_heap_callers(heap, second, pcs, &epoch), 0);

	(void)agent_node(&agent, HEAP_ROOT, 8000);
	assert_int_equal(wire_heap_callers(heap, other, pcs, &epoch), 1);
	assert_int_equal(epoch.end_ns, 8000);
}

TEST(samples_without_callers_are_of_node_0)
{
	uint64_t pcs[WIRE_HEAP_MAX_FRAMES];
	struct wire_heap_epoch epoch;

	(void)agent_node(&agent, HEAP_ROOT, 1000);
	agent.header->stacks_ns = 7000;
	assert_int_equal(wire_heap_callers(heap, 0, pcs, &epoch), 0);
	assert_int_equal(epoch.at_ns, 7000);
}

TEST(a_node_that_is_not_written_yet_hides_no_epoch)
{
	uint64_t pcs[WIRE_HEAP_MAX_FRAMES];
	uint32_t first = agent_node(&agent, HEAP_ROOT, 1000);
	struct wire_heap_epoch epoch;

	agent.header->nr_nodes = 3;
	assert_int_equal(wire_heap_callers(heap, first, pcs, &epoch), 0);
	assert_int_equal(epoch.end_ns, 0);
	agent.nodes[2] = (struct heap_node){.pc = 2000, .parent = HEAP_ROOT};
	assert_int_equal(wire_heap_callers(heap, first, pcs, &epoch), 0);
	assert_int_equal(epoch.end_ns, 2000);
}

TEST(a_hostile_tree_is_refused)
{
	uint64_t pcs[WIRE_HEAP_MAX_FRAMES];
	struct wire_heap_epoch epoch;
	uint32_t node = agent_node(&agent, HEAP_ROOT, 1000);

	agent.nodes[2] = (struct heap_node){.pc = 1, .parent = 2}; /* its own caller */
	agent.nodes[3] = (struct heap_node){.pc = 1, .parent = 4};
	agent.nodes[4] = (struct heap_node){.pc = 1, .parent = 3};
	agent.nodes[5] = (struct heap_node){.pc = 1, .parent = 0}; /* no epoch */
	agent.header->nr_nodes = UINT32_MAX;
	agent.nodes[6] = (struct heap_node){.pc = 1, .parent = 7}; /* older than its caller */
	agent.nodes[7] = (struct heap_node){.pc = 1, .parent = HEAP_ROOT};
	assert_int_equal(wire_heap_callers(heap, 6, pcs, &epoch), -EINVAL);
	assert_int_equal(wire_heap_callers(heap, 5, pcs, &epoch), -EINVAL);
	assert_int_equal(wire_heap_callers(heap, 4, pcs, &epoch), -EINVAL);
	assert_int_equal(wire_heap_callers(heap, 2, pcs, &epoch), -EINVAL);
	assert_int_equal(wire_heap_callers(heap, 3, pcs, &epoch), -EINVAL);
	assert_int_equal(wire_heap_callers(heap, HEAP_MAX_NODES, pcs, &epoch), -EINVAL);
	assert_int_equal(wire_heap_callers(heap, UINT32_MAX, pcs, &epoch), -EINVAL);

	agent.header->nr_nodes = 2;
	for (uint32_t i = 0; i < 2 * HEAP_MAX_FRAMES; i++)
		node = agent_node(&agent, node, i + 1);
	assert_int_equal(wire_heap_callers(heap, node, pcs, &epoch), HEAP_MAX_FRAMES);
	assert_int_equal(pcs[0], 2 * HEAP_MAX_FRAMES); /* the innermost */
	assert_int_equal(pcs[HEAP_MAX_FRAMES - 1], HEAP_MAX_FRAMES + 1);
	node = agent_node(&agent, node, 1); /* deeper than the agent may write */
	assert_int_equal(wire_heap_callers(heap, node, pcs, &epoch), -EINVAL);
}

TEST(the_end_keeps_stacks_and_drops_blocks)
{
	char *shards = (char *)agent.header + agent.header->shards;
	struct wire_heap_stack s;

	agent_stack(&agent, agent_node(&agent, HEAP_ROOT, 1000))->samples = 3;
	*shards = 7;
	wire_heap_end(heap);
	assert_int_equal(*shards, 0);
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_ALLOCATED, 3, 0);
}

TEST(the_program_reads_that_nobody_listens)
{
	assert_int_equal(agent.header->is_closed, 0);
	wire_heap_free(heap);
	heap = NULL;
	assert_int_equal(agent.header->is_closed, 1);
}

static struct {
	struct wire_heap *heap;
	uint32_t pid;
	bool is_full;
} added;

static bool on_heap(void *arg, uint32_t pid, int pidfd, struct wire_heap *h)
{
	(void)arg;
	if (added.is_full)
		return false;
	added.heap = h;
	added.pid = pid;
	io_close(&pidfd);
	return true;
}

static struct wire_totals connect_once(const struct wire_config *c, struct agent *a)
{
	struct wire_totals totals;
	struct err e = {0};
	struct wire *w;

	assert_int_equal(wire_open(c, &w, &e), 0);
	assert_int_equal(wire_start(w), 0);
	agent_connect(a, wire_name(w));
	wire_stop(w);
	wire_totals(w, &totals);
	wire_free(w);
	return totals;
}

TEST(a_process_that_asks_receives_a_memory)
{
	const struct wire_config c = {.heap = &config, .heap_added = on_heap};
	struct wire_totals totals;
	struct agent a;

	added.is_full = false;
	totals = connect_once(&c, &a);
	assert_non_null(a.header);
	assert_int_equal(totals.heaps, 1);
	assert_int_equal(totals.heaps_refused, 0);
	assert_int_equal(added.pid, getpid());
	assert_int_equal(a.header->rate, 512);
	agent_unmap(&a);
	wire_heap_free(added.heap);
}

TEST(a_process_is_refused_without_room_or_if_none_is_wanted)
{
	const struct wire_config none = {.heap = NULL},
				 c = {.heap = &config, .heap_added = on_heap};
	struct wire_totals totals;
	struct agent a;

	totals = connect_once(&none, &a);
	assert_null(a.header);
	assert_int_equal(totals.heaps_refused, 1);
	added.is_full = true;
	totals = connect_once(&c, &a);
	assert_null(a.header);
	assert_int_equal(totals.heaps_refused, 1);
	assert_int_equal(totals.heaps, 0);
}

static uint32_t old_pid;

static void on_old(void *arg, uint32_t pid)
{
	(void)arg;
	old_pid = pid;
}

/* One without a version is of before there was one. */
TEST(an_agent_of_another_version_receives_no_memory)
{
	static const uint32_t versions[] = {0, HEAP_VERSION - 1, HEAP_VERSION + 1};
	const struct wire_config c = {.heap = &config, .heap_added = on_heap, .heap_old = on_old};

	for (size_t i = 0; i < ARRAY_NR(versions); i++) {
		struct wire_totals totals;
		struct err e = {0};
		struct wire *w;

		added.is_full = false;
		added.pid = old_pid = 0;
		assert_int_equal(wire_open(&c, &w, &e), 0);
		assert_int_equal(wire_start(w), 0);
		assert_int_equal(agent_ask_as(wire_name(w), CPUPERF_MARK_ASK_HEAP, versions[i]),
				 -1);
		wire_stop(w);
		wire_totals(w, &totals);
		wire_free(w);
		assert_int_equal(totals.heaps_old, 1);
		assert_int_equal(totals.heaps + totals.heaps_refused, 0);
		assert_int_equal(added.pid, 0);
		assert_int_equal(old_pid, getpid());
	}
}

/* The rate of a stack is that of its level, and never more than what was asked for. */
TEST(a_stack_has_the_rate_of_its_level)
{
	static const struct {
		uint32_t level;
		uint64_t rate;
	} cases[] = {{0, 512},  {HEAP_EXACT, 1}, {5, 16},   {10, 512},
		     {11, 512}, {63, 512},       {200, 512}};
	struct heap_stack *from = agent_stack(&agent, agent_node(&agent, HEAP_ROOT, 1000));
	struct wire_heap_sums sums;
	struct wire_heap_stack s;

	agent.header->exact_samples = 7;
	agent.header->exact_ns = 8;
	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		from->parts = cases[i].level << HEAP_LEVEL_SHIFT | 3;
		wire_heap_stack(heap, 0, &s);
		assert_int_equal(s.rate, cases[i].rate);
		agent.header->level = cases[i].level;
		agent.header->rate = UINT64_MAX; /* of the program's own */
		wire_heap_sums(heap, &sums);
		assert_int_equal(sums.rate, cases[i].rate);
	}
	assert_int_equal(sums.exact_samples, 7);
	assert_int_equal(sums.exact_ns, 8);
}
