/*
 * The tree of call paths. A private table finds a node by its parent and place. Where it is half
 * full, one of twice the size takes its place; the old one stays, as threads read it without a
 * lock.
 *
 * Threads that allocate at one stack would wait for each other's cache lines. So a stack for which
 * they had to wait gets parts, which are stacks of the same node: readers add them up and see
 * nothing of it. A stack that has a peak of its own (path_peak) gets none, as peaks of parts do
 * not add up.
 */
#include "agent/heap/agent.h"

#include <time.h>

struct table {
	uint64_t room;
	uint32_t node[]; /* numbers; 0: free */
};

enum { FIRST_ROOM = 1 << 12, FIRST_PART = (1 << HEAP_LEVEL_SHIFT) - 1 };

static struct table *table;
static uint32_t lock;

static struct heap_node *nodes(void)
{
	return agent_at(agent.shared->nodes);
}

static struct table *new_table(uint64_t room)
{
	struct table *t = agent_pages(sizeof(*t) + room * sizeof(t->node[0]));

	if (t)
		t->room = room;
	return t;
}

bool agent_tree_init(void)
{
	lock = 0;
	table = new_table(FIRST_ROOM); /* an older one is not freed: some KiB for each fork */
	return table;
}

static uint64_t hash(uint32_t parent, uint64_t pc)
{
	uint64_t x = (pc ^ (uint64_t)parent << 32 ^ parent) * UINT64_C(0x9e3779b97f4a7c15);

	return x ^ x >> 29;
}

/* The place of the node, or the free one where it belongs, and its number. Without the lock a place
 * that was free may have another node by then: so it is read once. */
static uint32_t *find(struct table *t, uint32_t parent, uint64_t pc, uint32_t *number)
{
	for (uint64_t i = hash(parent, pc);; i++) {
		uint32_t *place = &t->node[i & (t->room - 1)];
		uint32_t n = __atomic_load_n(place, __ATOMIC_ACQUIRE);

		*number = n;
		if (!n || (nodes()[n].parent == parent && nodes()[n].pc == pc))
			return place;
	}
}

static uint32_t new_node(uint32_t parent, uint64_t pc)
{
	struct heap_header *h = agent.shared;
	uint32_t number = h->nr_nodes + !h->nr_nodes; /* 0 is none */

	if (number >= h->max_nodes)
		return 0;
	nodes()[number] = (struct heap_node){.pc = pc, .parent = parent};
	__atomic_store_n(&h->nr_nodes, number + 1, __ATOMIC_RELEASE);
	return number;
}

/* False: no memory. The table may fill to 7 of 8 then. */
static bool make_room(void)
{
	struct table *old = table, *t;

	if (agent.shared->nr_nodes < old->room / 2)
		return true;
	t = new_table(2 * old->room);
	if (!t)
		return agent.shared->nr_nodes < old->room - old->room / 8;
	for (uint64_t i = 0; i < old->room; i++) {
		const struct heap_node *n = &nodes()[old->node[i]];
		uint32_t number;

		if (old->node[i])
			*find(t, n->parent, n->pc, &number) = old->node[i];
	}
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	return true;
}

uint32_t agent_tree_child(uint32_t parent, uint64_t pc)
{
	uint32_t number, *place;

	find(__atomic_load_n(&table, __ATOMIC_ACQUIRE), parent, pc, &number);
	if (AGENT_LIKELY(number))
		return number;
	agent_lock(&lock);
	if (make_room()) {
		place = find(table, parent, pc, &number);
		if (!number) {
			number = new_node(parent, pc);
			__atomic_store_n(place, number, __ATOMIC_RELEASE);
		}
	}
	agent_unlock(&lock);
	return number;
}

uint64_t agent_now(void)
{
	struct timespec now = {0};

	if (!agent_may(AGENT_MAY_READ_CLOCK))
		return agent.forbidden_ns;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + 1;
}

uint32_t agent_tree_root(uint64_t begin_ns)
{
	uint32_t number;

	agent_lock(&lock);
	number = new_node(HEAP_ROOT, begin_ns);
	agent.shared->nr_epochs += number != 0;
	agent_unlock(&lock);
	return number;
}

static uint32_t limited(uint32_t max, uint32_t used, uint32_t limit)
{
	limit = limit > used ? limit : used;
	return limit < max ? limit : max;
}

void agent_tree_limit(uint32_t max_nodes, uint32_t max_stacks)
{
	struct heap_header *h = agent.shared;

	agent_lock(&lock);
	h->max_nodes = limited(h->max_nodes, h->nr_nodes, max_nodes);
	h->max_stacks = limited(h->max_stacks, h->nr_stacks, max_stacks);
	agent_unlock(&lock);
}

/* A stack and its parts have the form of a tree: at each level a digit of the thread's number. */
static uint32_t part_of(uint32_t stack)
{
	enum { LEVELS = 2 };
	const struct heap_stack *stacks = agent_at(agent.shared->stacks);
	const struct heap_thread *threads = agent_at(agent.shared->threads);
	size_t thread = (size_t)(agent_local.slot - threads);

	for (int i = 0; i < LEVELS; i++, thread /= HEAP_NR_PARTS) {
		uint32_t first = __atomic_load_n(&stacks[stack - 1].parts, __ATOMIC_ACQUIRE);

		first &= FIRST_PART;
		if (AGENT_LIKELY(!first))
			break;
		stack = first + (uint32_t)(thread % HEAP_NR_PARTS);
	}
	return stack;
}

void agent_tree_divide(struct heap_stack *s)
{
	struct heap_header *h = agent.shared;
	struct heap_stack *stacks = agent_at(h->stacks);
	const uint32_t level = agent_stack_level(s) << HEAP_LEVEL_SHIFT;
	uint32_t first;

	agent_lock(&lock);
	first = h->nr_stacks;
	if (first < h->max_stacks / 2) {
		for (uint32_t i = first; i < first + HEAP_NR_PARTS; i++) {
			stacks[i].node = s->node;
			stacks[i].parts = level;
		}
		__atomic_store_n(&h->nr_stacks, first + HEAP_NR_PARTS, __ATOMIC_RELEASE);
		__atomic_store_n(&s->parts, level | (first + 1), __ATOMIC_RELEASE);
	}
	agent_unlock(&lock);
}

/* The stack, if its level is as coarse or coarser; else 0. stack: its number + 1, or 0. */
static uint32_t of_level(uint32_t stack, uint32_t level)
{
	const struct heap_stack *stacks = agent_at(agent.shared->stacks);

	return stack && !heap_is_coarser(level, agent_stack_level(&stacks[stack - 1])) ? stack : 0;
}

/* A node has the number of its coarsest stack; those of finer levels are known to their blocks
 * alone. */
uint32_t agent_tree_stack_at(uint32_t node, uint32_t level)
{
	struct heap_header *h = agent.shared;
	struct heap_node *n = &nodes()[node];
	uint32_t stack = of_level(__atomic_load_n(&n->stack, __ATOMIC_ACQUIRE), level);

	if (AGENT_LIKELY(stack))
		return part_of(stack);
	agent_lock(&lock);
	stack = of_level(n->stack, level);
	if (!stack && h->nr_stacks < h->max_stacks) {
		struct heap_stack *s = agent_at(h->stacks);

		s[h->nr_stacks].node = node;
		s[h->nr_stacks].parts = level << HEAP_LEVEL_SHIFT;
		stack = h->nr_stacks + 1;
		__atomic_store_n(&h->nr_stacks, stack, __ATOMIC_RELEASE);
		__atomic_store_n(&n->stack, stack, __ATOMIC_RELEASE);
		__atomic_store_n(&h->stacks_ns, agent_now(), __ATOMIC_RELAXED);
	}
	agent_unlock(&lock);
	return stack;
}

uint32_t agent_tree_stack(uint32_t node)
{
	return agent_tree_stack_at(node, 0);
}
