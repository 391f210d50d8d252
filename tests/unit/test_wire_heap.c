/*
 * The memory of a heap: what an agent wrote, and what a hostile program did.
 */
#include "test_heap_agent.h"

#include "base/err.h"
#include "base/io.h"
#include "wire/heap.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const struct wire_heap_config config = {.rate = 512, .wants = HEAP_WANTS_STACKS};
static struct wire_heap *heap;
static struct agent agent;

void before_each(void)
{
	int fd;

	assert_int_equal(wire_heap_new(&config, &heap, &fd), 0);
	agent_map(&agent, fd);
	close(fd);
}

void after_each(void)
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
	agent.header->peak = 13;
	agent.header->no_node = 14;
	wire_heap_sums(heap, &sums);
	assert_int_equal(sums.calls, 7);
	assert_int_equal(sums.bytes, UINT64_MAX); /* saturated */
	assert_int_equal(sums.frees, 1);
	assert_int_equal(sums.max_bytes, 20);
	assert_int_equal(sums.live, 12);
	assert_int_equal(sums.peak, 13);
	assert_int_equal(sums.no_node, 14);
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
				    .max_bytes = 50,
				    .overhead = 80,
				    .moment = 2};
	agent.header->moment = 2;
	assert_int_equal(wire_heap_nr_stacks(heap), 1);
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_ALLOCATED, 10, 100);
	expect_amount(&s, WIRE_HEAP_FREED, 4, 30);
	expect_amount(&s, WIRE_HEAP_TEMPORARY, 1, 5);
	expect_amount(&s, WIRE_HEAP_OVERHEAD, 10, 80);
	expect_amount(&s, WIRE_HEAP_LIVE, 6, 70);
	expect_amount(&s, WIRE_HEAP_PEAK, 9, 90);
	assert_int_equal(s.max_bytes, 50);

	agent.header->moment = 3; /* nothing changed since */
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_PEAK, 6, 70);
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
				    .peak_bytes = 90};
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_FREED, 2, 20);
	expect_amount(&s, WIRE_HEAP_TEMPORARY, 2, 20);
	expect_amount(&s, WIRE_HEAP_LIVE, 0, 0);
	expect_amount(&s, WIRE_HEAP_PEAK, 2, 20);

	*from = (struct heap_stack){.bytes = 20, .overhead = 7}; /* bytes of nothing */
	wire_heap_stack(heap, 0, &s);
	expect_amount(&s, WIRE_HEAP_ALLOCATED, 0, 0);
	expect_amount(&s, WIRE_HEAP_OVERHEAD, 0, 0);

	agent.header->nr_stacks = UINT32_MAX;
	assert_int_equal(wire_heap_nr_stacks(heap), HEAP_MAX_STACKS);
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
	for (uint32_t i = 0; i < HEAP_MAX_FRAMES; i++)
		node = agent_node(&agent, node, i + 1);
	assert_int_equal(wire_heap_callers(heap, node, pcs, &epoch), HEAP_MAX_FRAMES);
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
