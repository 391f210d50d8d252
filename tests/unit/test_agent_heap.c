/*
 * The parts of the agent that need no program around them: its tables against simple ones, the peak
 * against a copy of all amounts at each new one, and call paths against libgcc's unwinder, in a
 * random tree of calls.
 */
#include "agent/heap/agent.h"
#include "base/mem.h"
#include "kit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

/* There are no hooks here. */
bool agent_hooks_are_first(void)
{
	return true;
}

void agent_hooks_count_live(bool is_wanted)
{
	agent.is_live_counted = is_wanted ? AGENT_COUNTS_BY_CHUNK : 0;
}

uint64_t agent_usable(void *p, bool is_freed)
{
	(void)p;
	(void)is_freed;
	return 0;
}

enum {
	NR_NODES = 1 << 20,
	NR_STACKS = 1 << 12,
	ARENA_BYTES = 64 << 20,
	HEAD_BYTES = 4096,
};

static uint64_t random_state = 88172645463325252;

static uint64_t next(void)
{
	uint64_t x = random_state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return random_state = x;
}

/* A recorder's memory, and the agent as if it had connected. */
static struct heap_header *begin(uint64_t rate, uint64_t arena_bytes)
{
	const uint64_t nodes = HEAD_BYTES, stacks = nodes + NR_NODES * sizeof(struct heap_node);
	const uint64_t shards = stacks + NR_STACKS * sizeof(struct heap_stack);
	const uint64_t arena =
	    (shards + HEAP_NR_SHARDS * sizeof(struct heap_shard) + 4095) & ~4095ul;
	struct heap_header *h = agent_pages(arena + arena_bytes);

	assert_non_null(h);
	*h = (struct heap_header){.magic = HEAP_MAGIC,
				  .bytes = arena + arena_bytes,
				  .mapped = arena + arena_bytes,
				  .rate = rate,
				  .max_nodes = NR_NODES,
				  .max_stacks = NR_STACKS,
				  .nodes = nodes,
				  .stacks = stacks,
				  .shards = shards,
				  .arena = arena};
	agent.shared = h;
	agent.rate = rate;
	agent.has_peak = true;
	agent.page = 4096;
	assert_true(agent_tree_init() && agent_stack_init());
	agent_blocks_init();
	return h;
}

static void end(struct heap_header *h)
{
	agent.shared = NULL;
	munmap(h, h->bytes);
}

/* --- blocks */

enum { NR_PLACES = 100000 };

/* Sizes by place; 0: there is no such block. */
static uint32_t sizes[NR_PLACES];
static uint64_t born[NR_PLACES];

static void compare_blocks(const struct heap_header *h, uint64_t base, uint64_t stride)
{
	const struct heap_shard *shards = agent_at(h->shards);
	uint64_t nr = 0, wanted = 0;

	for (uint32_t i = 0; i < HEAP_NR_SHARDS; i++)
		nr += shards[i].nr;
	for (uint64_t i = 0; i < NR_PLACES; i++) {
		struct agent_block b, old;

		wanted += sizes[i] != 0;
		b = agent_blocks_remove(base + i * stride);
		assert_int_equal(b.size, sizes[i]);
		assert_int_equal(b.stack, sizes[i] ? i % 7 + 1 : 0);
		assert_int_equal(b.born, sizes[i] && agent.has_lives ? born[i] : 0);
		if (b.stack)
			assert_true(agent_blocks_add(base + i * stride, b, &old) && !old.stack);
	}
	assert_int_equal(nr, wanted);
}

static void exercise_blocks(uint64_t base, uint64_t stride)
{
	struct heap_header *h = begin(1, ARENA_BYTES);
	struct agent_block old;

	memset(sizes, 0, sizeof(sizes));
	for (int k = 0; k < 6 * NR_PLACES; k++) {
		uint64_t i = next() % NR_PLACES, at = base + i * stride;

		/* in turn more of both */
		if (next() % 8 < (k / NR_PLACES % 2 ? 3 : 5)) {
			struct agent_block b = {.stack = (uint32_t)(i % 7 + 1),
						.size = 1 + (uint32_t)(next() % 1000),
						.born = next() >> (64 - AGENT_BORN_BITS)};

			assert_true(agent_blocks_add(at, b, &old));
			assert_int_equal(old.size, sizes[i]);
			sizes[i] = b.size;
			born[i] = b.born;
		} else {
			assert_int_equal(agent_blocks_remove(at).size, sizes[i]);
			sizes[i] = 0;
		}
	}
	compare_blocks(h, base, stride);
	end(h);
}

TEST(blocks_of_many_strides)
{
	for (int i = 0; i < 2; i++) {
		agent.has_lives = i;
		exercise_blocks(0x555555600000, 32);
		exercise_blocks(0x7f1234560010, 16);
		exercise_blocks(0x10000, 4096);
		/* dense: buckets of one unit divide */
		exercise_blocks(0x7fffe0000000 - 8ul * NR_PLACES, 8);
	}
	agent.has_lives = false;
}

TEST(blocks_without_room)
{
	struct heap_header *h = begin(1, 64 << 10);
	const struct agent_block b = {.stack = 1, .size = 5};
	uint32_t nr = 0;
	struct agent_block old;

	memset(sizes, 0, sizeof(sizes));
	for (uint64_t i = 0; i < NR_PLACES; i++)
		nr += sizes[i] = agent_blocks_add(0x1000000 + i * 64, b, &old);
	assert_true(nr > 100 && nr < NR_PLACES / 2);
	for (uint64_t i = 0; i < NR_PLACES; i++)
		assert_int_equal(agent_blocks_remove(0x1000000 + i * 64).stack, sizes[i]);
	assert_false(agent_blocks_add(0x1000004, b, &old));         /* not aligned */
	assert_false(agent_blocks_add((uint64_t)1 << 52, b, &old)); /* beyond */
	end(h);
}

TEST(places_and_addresses)
{
	uint32_t shard, key;

	for (int i = 0; i < 100000; i++) {
		uint64_t at = next() % ((uint64_t)1 << 48) & ~7ul;

		assert_true(heap_place(at, &shard, &key));
		assert_true(shard < HEAP_NR_SHARDS);
		assert_int_equal(heap_address(shard, key), at);
	}
	assert_int_equal(heap_size(heap_pack_size(5)), 5);
	assert_int_equal(heap_size(heap_pack_size(HEAP_PAGES - 1)), HEAP_PAGES - 1);
	assert_int_equal(heap_size(heap_pack_size((uint64_t)5 << 32)), (uint64_t)5 << 32);
	assert_int_equal(heap_size(heap_pack_size(((uint64_t)5 << 32) - 1)), (uint64_t)5 << 32);
}

/* --- weights: of all sizes together as many bytes and calls as there are */

TEST(weights_are_unbiased)
{
	const uint64_t rate = 1000, s[] = {1, 16, 100, 999, 1000, 5000, 100000};

	for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++) {
		struct heap_weight w = heap_weigh(s[i], rate);
		double p = heap_chance((double)s[i] / (double)rate);

		assert_true((double)w.bytes * p > 0.999 * (double)s[i] - 0.5 * p &&
			    (double)w.bytes * p < 1.001 * (double)s[i] + 0.5 * p);
		assert_true((double)w.calls * p > 0.999 * HEAP_CALL &&
			    (double)w.calls * p < 1.001 * HEAP_CALL);
	}
	assert_int_equal(heap_weigh(77, 1).bytes, 77);
}

/* --- the peak */

enum { NR_SUMS = 20 };

TEST(peak_is_a_copy_of_its_moment)
{
	struct heap_header *h = begin(1, ARENA_BYTES);
	const struct heap_stack *stacks = agent_at(h->stacks);
	uint64_t live[NR_SUMS] = {0}, at_peak[NR_SUMS] = {0}, own[NR_SUMS] = {0}, all = 0, peak = 0;
	uint32_t root = agent_tree_root(1);

	agent.has_paths = true;
	for (uint64_t i = 0; i < NR_SUMS; i++)
		assert_int_equal(agent_tree_stack(agent_tree_child(root, 100 + i)), i + 1);
	for (int k = 0; k < 100000; k++) {
		uint32_t i = (uint32_t)(next() % NR_SUMS);
		struct agent_block b = {.stack = i + 1, .size = 10};

		if (next() % 100 < (k % 10000 < 5000 ? 53 : 47)) {
			agent_sums_allocated(b, 0);
			live[i] += 10;
			own[i] = live[i] > own[i] ? live[i] : own[i];
			all += 10;
			if (all > peak) {
				peak = all;
				memcpy(at_peak, live, sizeof(live));
			}
		} else if (live[i]) {
			agent_sums_freed(b, &(struct agent_end){0});
			live[i] -= 10;
			all -= 10;
		}
		for (uint32_t j = 0; k % 100 == 0 && j < NR_SUMS; j++) {
			const struct heap_stack *s = &stacks[j];

			assert_int_equal(s->bytes - s->freed_bytes, live[j]);
			assert_int_equal(s->own_peak_bytes, own[j]);
			assert_int_equal(s->own_peak_samples * 10, own[j]);
			assert_int_equal(s->moment == h->moment ? s->peak_bytes
								: s->bytes - s->freed_bytes,
					 at_peak[j]);
		}
	}
	assert_int_equal(h->peak, peak);
	assert_int_equal(h->live, all);
	agent.has_paths = false;
	end(h);
}

/* Beside samples the moment is that of all blocks: what is sampled does not move it. */
TEST(a_peak_is_not_where_more_was_sampled)
{
	static uint32_t alive = 1;
	uint64_t chunk[2] = {10000 + 8 + 1, 0};
	const struct agent_block sampled = {.stack = 1, .size = 100};
	struct heap_header *h = begin(1 << 20, ARENA_BYTES);
	const struct heap_stack *s = agent_at(h->stacks);
	struct agent_local *t = &agent_local;

	agent.alive = &alive;
	t->generation = alive;
	assert_int_equal(agent_tree_stack(agent_tree_child(agent_tree_root(1), 100)), 1);
	agent_sums_init();
	assert_true(h->is_counted);
	for (int i = 0; i < 1000; i++)
		agent_count_live(&chunk[1], 1);
	assert_in_range(h->peak, 9900000, 10000000);
	assert_in_range(h->peak_ns, 1, agent_now());
	for (int i = 0; i < 500; i++)
		agent_count_live(&chunk[1], -1);
	agent_sums_allocated(sampled, 0); /* for more than a megabyte */
	assert_in_range(h->peak, 9900000, 10000000);
	assert_in_range(h->live, 4900000, 5100000);
	assert_int_equal(s->peak_samples, 0);
	for (int i = 0; i < 1000; i++)
		agent_count_live(&chunk[1], 1);
	agent_sums_freed(sampled, &(struct agent_end){0});
	assert_in_range(h->peak, 14900000, 15000000);
	assert_int_equal(s->peak_samples, 1);
	assert_true(h->moment == s->moment);

	for (int i = 0; i < 3000; i++) /* blocks of before the connection */
		agent_count_live(&chunk[1], -1);
	assert_in_range(h->peak, 14900000, 15000000);
	t->live = 12345; /* the rest, at the end of the thread */
	agent_live_flush(t);
	assert_int_equal(t->live, 0);
	alive = 0; /* a child by fork: it is the parent's */
	t->live = 1 << 30;
	agent_live_flush(t);
	assert_in_range(h->peak, 14900000, 15000000);

	agent.generation = 1;
	agent_sums_init();
	assert_false(h->is_counted);
	agent.generation = 0;
	agent.attached = 1;
	agent_sums_init();
	assert_false(h->is_counted);
	agent.attached = 0;
	agent.alive = NULL;
	*t = (struct agent_local){0};
	end(h);
}

TEST(the_clock_of_the_peak_is_the_kernels)
{
	agent_lives_init();
	for (int i = 0; i < 200; i++) {
		uint64_t before = agent_now(), near = agent_near_now(), after = agent_now();

		assert_in_range(near, before - 1000000, after + 1000000);
		while (agent_now() < after + 100000)
			;
	}
}

/* --- lifetimes */

TEST(lives_are_added_up_by_their_length)
{
	static const struct {
		uint64_t ns;
		size_t life;
	} cases[] = {{0, 0},         {999, 0},        {1000, 1},      {9999, 1},
		     {10000, 2},     {999999, 3},     {1000000, 4},   {99999999, 5},
		     {999999999, 6}, {1000000000, 7}, {UINT64_MAX, 7}};
	uint64_t nr[HEAP_NR_LIVES] = {0};
	struct agent_block b = {.stack = 1, .size = 10};
	struct heap_header *h;
	const struct heap_stack *s;
	const struct heap_life *lives;

	agent.has_lives = true;
	h = begin(1, ARENA_BYTES);
	s = agent_at(h->stacks);
	assert_int_equal(agent_tree_stack(agent_tree_child(agent_tree_root(1), 100)), 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		b.born = 1;
		agent_sums_freed(b, &(struct agent_end){.lived_ns = cases[i].ns});
		nr[cases[i].life]++;
		b.born = 0; /* not known */
		agent_sums_freed(b, &(struct agent_end){0});
	}
	assert_int_not_equal(s->lives, 0);
	lives = agent_at(s->lives);
	for (size_t i = 0; i < HEAP_NR_LIVES; i++) {
		assert_int_equal(lives[i].samples, nr[i]);
		assert_int_equal(lives[i].bytes, 10 * nr[i]);
	}
	agent.has_lives = false;
	end(h);
}

TEST(a_life_is_as_long_as_the_clock_says)
{
	agent_lives_init();
	for (int i = 0; i < 50; i++) {
		const uint64_t before = agent_now(), life = agent_life_now(), within = agent_now();
		uint64_t after, lived, until;

		while (agent_now() < within + 1000000)
			;
		after = agent_now();
		lived = agent_life_ns(life);
		until = agent_now();
		assert_in_range(lived, (after - within) * 9 / 10 - 1000,
				(until - before) * 11 / 10 + 1000);
	}
	assert_in_range(agent_life_ns(agent_life_now() + 64), 0,
			100000); /* another CPU's counter */
}

/* --- pages */

TEST(untouched_pages_are_those_that_are_not_in_memory)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), nr = 3000;
	char *at = agent_pages(nr * page);
	struct heap_header *h = begin(1, 64 << 10);
	struct heap_stack *s = agent_at(h->stacks);
	const struct agent_block b = {.stack = 1, .size = (uint32_t)(nr * page)};

	agent.page = page;
	assert_true(madvise(at, nr * page, MADV_NOHUGEPAGE) == 0 || errno == EINVAL);
	for (uint64_t i = 0; i < nr; i += 3)
		at[i * page] = 1;
	assert_int_equal(agent_untouched((uint64_t)at, b.size), (nr - nr / 3) * page);
	/* only whole pages: the first and the last are in part of the block */
	assert_int_equal(agent_untouched((uint64_t)at + 16, b.size - 17), (nr - nr / 3 - 1) * page);
	assert_int_equal(agent_untouched((uint64_t)at + page + 16, (uint32_t)(2 * page - 17)), 0);
	assert_int_equal(agent_untouched((uint64_t)at + 16, 100), 0);
	/* it is not there: nothing is said of it; errno stays */
	errno = 77;
	munmap(at, nr * page);
	assert_int_equal(agent_untouched((uint64_t)at, b.size), 0);
	assert_int_equal(errno, 77);

	assert_int_equal(agent_tree_stack(agent_tree_child(agent_tree_root(1), 100)), 1);
	agent_sums_allocated(b, 0);
	agent_sums_allocated(b, 0);
	agent_sums_freed(b, &(struct agent_end){.untouched = 5 * page});
	agent_sums_freed(b, &(struct agent_end){0});
	assert_int_equal(s->untouched_samples, 1);
	assert_int_equal(s->untouched, 5 * page);
	end(h);
}

/* --- the tree */

TEST(tree_without_room)
{
	struct heap_header *h = begin(1, ARENA_BYTES);
	uint32_t root = agent_tree_root(5), nr = 1;

	assert_true(root);
	while (agent_tree_child(root, 1000 + nr))
		nr++;
	assert_int_equal(nr, NR_NODES - 1);
	assert_int_equal(agent_tree_child(root, 1001), root + 1);
	assert_int_equal(agent_tree_root(6), 0);
	for (uint32_t i = 0; i < NR_STACKS; i++)
		assert_int_equal(agent_tree_stack(root + 1 + i), i + 1);
	assert_int_equal(agent_tree_stack(root + 1 + NR_STACKS), 0);
	end(h);
}

/* --- paths */

enum { MAX_PATH = 400 };

static struct agent_thread *own;
static unsigned nr_captures, budget;
static jmp_buf way_out;

/* The path of a node, the innermost first. */
static uint32_t path_of(uint32_t node, uint64_t *out)
{
	const struct heap_node *nodes = agent_at(agent.shared->nodes);
	uint32_t nr = 0;

	for (; nodes[node].parent != HEAP_ROOT && nr < MAX_PATH; node = nodes[node].parent) {
		assert_true(nodes[node].parent < node);
		out[nr++] = nodes[node].pc;
	}
	return nr;
}

struct theirs {
	uint64_t pc[MAX_PATH];
	uint32_t nr;
};

static _Unwind_Reason_Code add_theirs(struct _Unwind_Context *c, void *arg)
{
	struct theirs *t = arg;

	if (t->nr < MAX_PATH && _Unwind_GetIP(c))
		t->pc[t->nr++] = _Unwind_GetIP(c);
	return _URC_NO_REASON;
}

static __attribute__((noinline)) void capture(void)
{
	const struct agent_frame from = AGENT_HERE;
	uint32_t node = agent_capture(own, &from), nr;
	uint64_t ours[MAX_PATH] = {0};
	struct theirs theirs = {.nr = 0};
	uint32_t first = 0;

	assert_true(node);
	nr = path_of(node, ours);
	_Unwind_Backtrace(add_theirs, &theirs);
	while (first < theirs.nr && theirs.pc[first] != from.pc) /* of this function */
		first++;
	assert_int_equal(nr, theirs.nr - first);
	assert_int_equal(ours[0] + 1, theirs.pc[first]);
	for (uint32_t i = 1; i < nr; i++)
		assert_int_equal(ours[i], theirs.pc[first + i]);
	nr_captures++;
}

static void walk(unsigned depth);

#define STEP(name, body)                                                                           \
	static __attribute__((noinline)) int name(unsigned depth)                                  \
	{                                                                                          \
		body walk(depth);                                                                  \
		__asm__ volatile("" : : : "memory");                                               \
		return 1;                                                                          \
	}
STEP(plain, )
STEP(also_plain, )
STEP(large, volatile char room[3000]; room[depth % 3000] = 1; (void)room[0];)
STEP(aligned, _Alignas(64) volatile char room[64]; room[depth % 64] = 1; (void)room[0];)
STEP(moving, volatile char *room = __builtin_alloca(next() % 500 + 1); room[0] = 1;)
STEP(twice, capture(); capture();)

static int by_order(const void *a, const void *b)
{
	(void)b;
	walk(*(const unsigned *)a);
	return 0;
}

static __attribute__((noinline)) int by_library(unsigned depth)
{
	unsigned two[] = {depth, depth};

	qsort(two, 2, sizeof(*two), by_order);
	__asm__ volatile("" : : : "memory");
	return 1;
}

static void walk(unsigned depth)
{
	static int (*const steps[])(unsigned) = {plain,  also_plain, large,     aligned,
						 moving, twice,      by_library};

	for (unsigned calls = next() % 3 + (depth < 3); calls && budget; calls--) {
		budget--;
		if (next() % 3 == 0)
			capture();
		if (next() % 1000 == 0)
			longjmp(way_out, 1);
		if (depth < 40)
			(void)steps[next() % (sizeof(steps) / sizeof(*steps))](depth + 1);
	}
}

TEST(paths_are_those_of_libgcc)
{
	struct heap_header *h = begin(1, ARENA_BYTES);

	own = agent_thread_new();
	assert_non_null(own);
	for (volatile int i = 0; i < 300; i++) {
		budget = 200;
		if (i % 50 == 49) /* as if an object had been unloaded */
			agent_stack_epoch(agent_now());
		if (!setjmp(way_out))
			walk(0);
	}
	assert_true(nr_captures > 5000);
	assert_int_equal(h->cut, 0);
	assert_int_equal(h->nr_epochs, 7);
	agent_thread_free(own);
	end(h);
}

/* --- threads: from here on none is alone */

struct waiter {
	uint32_t calls, nr; /* are to be made, and were made */
	bool is_over;
};

static void *allocate_when_told(void *arg)
{
	struct waiter *w = arg;

	agent_local.slot = agent_at(agent.shared->threads);
	while (!__atomic_load_n(&w->is_over, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&w->calls, __ATOMIC_ACQUIRE) == w->nr)
			continue;
		agent_sums_allocated((struct agent_block){.stack = 1, .size = 10}, 0);
		__atomic_store_n(&w->nr, w->nr + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static uint32_t stack_of_thread(uint32_t node, uint32_t thread)
{
	agent_local.slot = (struct heap_thread *)agent_at(agent.shared->threads) + thread;
	return agent_tree_stack(node);
}

/* Another thread has to wait for the first stack so many times. */
static void make_wait(struct heap_stack *s, struct waiter *w, uint32_t nr)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, allocate_when_told, w), 0);
	while (s->waits < nr) {
		agent_lock(&s->lock);
		__atomic_store_n(&w->calls, w->calls + 1, __ATOMIC_RELEASE);
		usleep(50);
		agent_unlock(&s->lock);
		while (__atomic_load_n(&w->nr, __ATOMIC_ACQUIRE) < w->calls)
			sched_yield();
		assert_int_equal(s->parts != 0, s->waits >= 64 && !agent.has_paths);
	}
	__atomic_store_n(&w->is_over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

TEST(a_stack_for_which_threads_wait_has_parts)
{
	struct heap_header *h = begin(1, ARENA_BYTES);
	struct heap_stack *stacks = agent_at(h->stacks);
	const uint32_t node = agent_tree_child(agent_tree_root(1), 100);
	struct waiter w = {.nr = 0};

	assert_int_equal(stack_of_thread(node, 0), 1);
	assert_int_equal(stack_of_thread(node, 9), 1);
	make_wait(stacks, &w, 64);
	assert_int_equal(stacks->samples, w.calls);
	assert_int_equal(stacks->waits, 64);
	assert_int_equal(h->nr_stacks, 1 + HEAP_NR_PARTS);
	for (uint32_t i = 0; i < 3 * HEAP_NR_PARTS; i++)
		assert_int_equal(stack_of_thread(node, i), 2 + i % HEAP_NR_PARTS);
	agent_tree_divide(&stacks[1 + 3]); /* that of threads 3, 19, 35 */
	for (uint32_t i = 0; i < 3 * HEAP_NR_PARTS; i++)
		assert_int_equal(stack_of_thread(node, i),
				 i % HEAP_NR_PARTS == 3 ? 2 + HEAP_NR_PARTS + i / HEAP_NR_PARTS
							: 2 + i % HEAP_NR_PARTS);
	for (uint32_t i = 0; i < h->nr_stacks; i++)
		assert_int_equal(stacks[i].node, node);
	h->max_stacks = 2 * h->nr_stacks; /* there is no room for what only saves time */
	agent_tree_divide(&stacks[1 + 4]);
	assert_int_equal(stacks[1 + 4].parts, 0);
	assert_int_equal(sizeof(*stacks) % 64, 0);
	agent_local.slot = NULL;
	end(h);
}

/* Peaks of parts do not add up: so there are none, and the peak is that of all threads. */
TEST(a_stack_with_its_own_peak_has_no_parts)
{
	const struct agent_block block = {.stack = 1, .size = 10};
	struct heap_header *h = begin(1, ARENA_BYTES);
	struct heap_stack *s = agent_at(h->stacks);
	struct waiter w = {.nr = 0};

	agent.has_paths = true;
	assert_int_equal(stack_of_thread(agent_tree_child(agent_tree_root(1), 100), 0), 1);
	agent_sums_allocated(block, 0);
	make_wait(s, &w, 70);
	assert_int_equal(h->nr_stacks, 1);
	assert_int_equal(s->own_peak_samples, 1 + w.calls);
	assert_int_equal(s->own_peak_bytes, 10 * (1 + w.calls));
	for (uint32_t i = 0; i < w.calls; i++) /* of the other thread */
		agent_sums_freed(block, &(struct agent_end){0});
	agent_sums_allocated(block, 0);
	assert_int_equal(s->own_peak_samples, 1 + w.calls);
	assert_int_equal(s->own_peak_bytes, 10 * (1 + w.calls));
	agent.has_paths = false;
	agent_local.slot = NULL;
	end(h);
}

TEST(of_threads_the_peak_is_within_a_step)
{
	static uint32_t alive = 1;
	struct heap_header *h = begin(1, ARENA_BYTES);
	struct agent_local *t = &agent_local;
	struct agent_block b = {.stack = 1, .size = 10};
	uint64_t changes = 0, before = 0;

	agent.is_every = true;
	agent.alive = &alive;
	t->generation = alive;
	h->nr_threads = 4;
	t->slot = agent_at(h->threads);
	assert_int_equal(agent_tree_stack(agent_tree_child(agent_tree_root(1), 100)), 1);
	for (uint64_t i = 1; i <= 100000; i++) {
		agent_sums_allocated(b, 0);
		assert_in_range(10 * i - h->peak, 0, 1024);
		changes += h->live != before;
		before = h->live;
	}
	assert_in_range(changes, 900, 1100); /* in a thousand steps, not in each call */
	b.size = 50 << 20;
	agent_sums_allocated(b, 0);
	b.size = 100;
	for (uint64_t i = 1; i <= 10000; i++) {
		agent_sums_allocated(b, 0);
		assert_in_range(1000000 + (50 << 20) + 100 * i - h->peak, 0, (52 << 20) / 4096);
	}
	agent.is_every = false;
	agent.alive = NULL;
	*t = (struct agent_local){0};
	end(h);
}

/* --- programs that adapt */

static struct agent_block block_of(uint32_t node, uint32_t level, uint32_t size)
{
	return (struct agent_block){.stack = agent_tree_stack_at(node, level), .size = size};
}

/* What was recorded exactly is freed so, whatever stands for more since. */
TEST(a_block_weighs_at_its_end_what_it_did)
{
	enum { LEVEL = 13, SIZE = 64 };
	struct heap_header *h = begin(1 << 19, ARENA_BYTES);
	const struct heap_stack *stacks = agent_at(h->stacks);
	const uint32_t node = agent_tree_child(agent_tree_root(1), 100);
	const struct agent_block exact = block_of(node, HEAP_EXACT, SIZE);
	const struct agent_block sampled = block_of(node, LEVEL, SIZE);
	const struct agent_block rare = block_of(node, 0, SIZE);

	assert_int_equal(exact.stack, 1);
	assert_int_equal(sampled.stack, 2);
	assert_int_equal(rare.stack, 3);
	assert_true(agent_is_exact(1) && !agent_is_exact(2) && !agent_is_exact(3));
	/* a thread that still has a finer level finds the coarsest */
	assert_int_equal(agent_tree_stack_at(node, HEAP_EXACT), 3);
	assert_int_equal(agent_tree_stack_at(node, LEVEL), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(stacks[i].node, node);
	agent_sums_allocated(exact, 7);
	agent_sums_allocated(exact, 7);
	agent_sums_allocated(sampled, 8);
	agent_sums_allocated(rare, 0);
	agent_sums_freed(exact, &(struct agent_end){.is_temporary = true});
	agent_sums_freed(sampled, &(struct agent_end){0});
	assert_int_equal(stacks[0].bytes, 2 * SIZE);
	assert_int_equal(stacks[0].freed_bytes, SIZE);
	assert_int_equal(stacks[0].temporary_bytes, SIZE);
	assert_int_equal(stacks[0].overhead, 14);
	assert_int_equal(stacks[0].calls, 0);
	assert_in_range(stacks[1].bytes, 4096, 4096 + SIZE);
	assert_int_equal(stacks[1].freed_bytes, stacks[1].bytes);
	assert_in_range(stacks[1].overhead, 8 * 4096 / SIZE, 8 * 4096 / SIZE + 8);
	assert_in_range(stacks[2].bytes, 1 << 19, (1 << 19) + SIZE);
	end(h);
}

/* Parts of a stack are of its level. */
TEST(parts_have_the_level_of_their_stack)
{
	struct heap_header *h = begin(1 << 19, ARENA_BYTES);
	struct heap_stack *stacks = agent_at(h->stacks);
	const uint32_t node = agent_tree_child(agent_tree_root(1), 100);

	agent_local.slot = (struct heap_thread *)agent_at(h->threads) + 5;
	assert_int_equal(agent_tree_stack_at(node, HEAP_EXACT), 1);
	agent_tree_divide(stacks);
	assert_true(agent_stack_has_parts(stacks));
	assert_int_equal(agent_tree_stack_at(node, HEAP_EXACT), 2 + 5);
	assert_true(agent_is_exact(1) && agent_is_exact(2 + 5));
	assert_int_equal(agent_tree_stack_at(node, 12), 2 + HEAP_NR_PARTS);
	assert_false(agent_is_exact(2 + HEAP_NR_PARTS));
	agent_local.slot = NULL;
	end(h);
}

/* One run: allocations of many sizes, while levels become coarser where the case says. The sum of
 * weights, and by how much it should vary. */
static double sum_of_levels(struct agent_local *t, const uint32_t *levels, double *variance)
{
	enum { NR = 3000, SIZES = 9 };
	double sum = 0;

	agent.level = HEAP_EXACT;
	t->left = agent_distance(t);
	for (uint32_t i = 0; i < NR; i++) {
		const uint64_t bytes = UINT64_C(16) << i % SIZES;
		struct heap_weight w;

		agent.level = levels[i * 4 / NR];
		t->left -= (int64_t)bytes;
		if (t->left >= 0)
			continue;
		if (agent_is_sample_at(t, bytes, agent_level())) {
			w = heap_weigh(bytes, heap_level_rate(t->level, agent.rate));
			sum += (double)w.bytes;
			*variance += t->level == HEAP_EXACT
					 ? 0
					 : (double)heap_square(w.bytes, bytes) * HEAP_SQUARE;
		}
		t->left = agent_distance(t);
	}
	return sum;
}

/* However levels change, also while a thread goes on with what it drew by another one: the sum is
 * right, and varies as it says. */
TEST(samples_of_levels_are_unbiased)
{
	static const uint32_t cases[][4] = {
	    {1, 1, 1, 1}, {1, 13, 13, 13}, {1, 11, 14, 0}, {1, 1, 1, 0}, {0, 0, 0, 0}};
	enum { NR_RUNS = 200, NR = 3000, SIZES = 9 };
	struct agent_local *t = &agent_local;
	double wanted = 0;

	agent.rate = 1 << 17;
	t->random = 4711;
	for (uint32_t i = 0; i < NR; i++)
		wanted += (double)(UINT64_C(16) << i % SIZES);
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		double all = 0, squares = 0, variance = 0;

		for (int i = 0; i < NR_RUNS; i++) {
			const double sum = sum_of_levels(t, cases[k], &variance);

			all += sum;
			squares += (sum - wanted) * (sum - wanted);
		}
		/* five deviations of the mean; the variance within a quarter */
		assert_true((all / NR_RUNS - wanted) * (all / NR_RUNS - wanted) <=
			    25 * variance / NR_RUNS / NR_RUNS + 1e-6);
		assert_true(squares >= 0.7 * variance && squares <= 1.4 * variance + 1e-6);
		assert_true((variance == 0) == (k == 0));
	}
	agent.level = 0;
	agent.rate = 0;
	*t = (struct agent_local){0};
}

static void begin_adaptive(struct heap_header *h)
{
	h->threads = h->shards; /* no blocks are used here */
	h->nr_threads = 1;
	agent.is_adaptive = true;
	agent_adapt_init();
	agent_adapt_init(); /* not as a child of the test before */
}

static void end_adaptive(struct heap_header *h)
{
	agent.is_adaptive = false;
	agent_adapt_init();
	agent.level = 0;
	agent.pid = 0;
	agent_local = (struct agent_local){0};
	end(h);
}

static void take_samples(uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		agent_adapt_count(&agent_local, 1, 0);
}

/* All is exact at first; then levels become coarser as long as that costs too much, and none
 * becomes finer. A child by fork goes on with its parent's. */
TEST(samples_become_rarer_where_they_cost_too_much)
{
	enum { SHORT = 30000, MOST = 1000 };
	struct heap_header *h = begin(1 << 19, ARENA_BYTES);
	uint32_t before, nr = 0;

	agent.pid = 100;
	begin_adaptive(h);
	assert_int_equal(agent.level, HEAP_EXACT);
	assert_int_equal(h->level, HEAP_EXACT);
	take_samples(SHORT);
	assert_int_equal(agent.level, HEAP_EXACT);
	for (; agent.level == HEAP_EXACT && nr < MOST; nr++)
		take_samples(1024);
	assert_in_range(nr, 1, MOST - 1);
	assert_int_equal(agent.level, 11); /* of hardly any bytes: the finest */
	assert_int_equal(h->level, 11);
	assert_in_range(h->exact_samples, SHORT, SHORT + 1024 * nr);
	assert_in_range(h->exact_ns, 1, 60000000000);
	before = agent.level;
	for (nr = 0; agent.level && nr < MOST; nr++) {
		take_samples(1024);
		assert_false(heap_is_coarser(before, agent.level));
		assert_int_equal(h->level, agent.level);
		before = agent.level;
	}
	assert_in_range(nr, 5, MOST - 1);

	agent.pid = 101; /* a child */
	agent_adapt_init();
	assert_int_equal(agent.level, 0);
	agent_adapt_init(); /* the same, which another recorder measures */
	assert_int_equal(agent.level, HEAP_EXACT);
	end_adaptive(h);
}

/* What a level may cost decides which one it is, at once. */
TEST(a_level_is_as_coarse_as_its_bytes_require)
{
	struct heap_header *h = begin(1 << 19, ARENA_BYTES);
	struct heap_thread *thread;

	agent.pid = 100;
	begin_adaptive(h);
	thread = agent_at(h->threads);
	thread->bytes = UINT64_C(1) << 50;
	for (int i = 0; agent.level == HEAP_EXACT && i < 1000; i++)
		take_samples(1024);
	assert_int_equal(agent.level, 0);
	end_adaptive(h);
}

/* Each exact block makes frees of others near it slow. */
TEST(few_exact_blocks_are_live)
{
	struct heap_header *h = begin(1 << 19, ARENA_BYTES);

	agent.pid = 100;
	begin_adaptive(h);
	for (int i = 0; i < 2; i++) {
		agent_adapt_count(&agent_local, 1024, (1 << 15) - 1000);
		assert_int_equal(agent.level, HEAP_EXACT);
		agent_adapt_count(&agent_local, 0, -(1 << 15) + 1000);
	}
	agent_adapt_count(&agent_local, 1024, (1 << 15) + 1);
	assert_int_equal(agent.level, 11);
	end_adaptive(h);
}

/* The peak of what is recorded exactly is exact, and goes on with that of all blocks. */
TEST(a_peak_is_exact_while_samples_are)
{
	static uint32_t alive = 1;
	struct heap_header *h = begin(1 << 20, ARENA_BYTES);
	const uint32_t node = agent_tree_child(agent_tree_root(1), 100);
	uint64_t chunk[2] = {10000 + 8 + 1, 0};
	struct agent_local *t = &agent_local;
	struct agent_block exact, sampled;

	agent.alive = &alive;
	t->generation = alive;
	agent.level = HEAP_EXACT;
	exact = block_of(node, HEAP_EXACT, 777);
	agent_sums_init();
	assert_true(h->is_counted);
	for (int i = 0; i < 100; i++)
		agent_sums_allocated(exact, 0);
	assert_in_range(h->peak, 77700 - 1024, 77700);
	agent_live_flush(t);
	assert_int_equal(h->peak, 77700);
	agent.level = 0;
	sampled = block_of(node, 0, 10000);
	agent_sums_allocated(sampled, 0); /* it counts with its size, not its weight */
	agent_count_live(&chunk[1], 1);
	agent_live_flush(t);
	assert_int_equal(h->live, 87700);
	for (int i = 0; i < 100; i++)
		agent_sums_freed(exact, &(struct agent_end){0});
	agent_live_flush(t);
	assert_int_equal(h->live, 10000);
	assert_int_equal(h->peak, 87700);
	agent.alive = NULL;
	*t = (struct agent_local){0};
	end(h);
}
