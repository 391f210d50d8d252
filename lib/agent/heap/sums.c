/*
 * Sums by stack, and the largest live amount at a time.
 *
 * A new peak gets a number, the moment. A stack's amounts at the peak are its live amounts until
 * they change; so before they change they are stored, once for each moment.
 *
 * Threads share as few words as can be: one alone adds to the process's sum at once; of several
 * each adds up for itself (agent_local.live) and passes on what changed by a step.
 *
 * The largest of estimates is an estimate that is too large, and has what happened to be sampled
 * then. So where samples stand for more than themselves, the moment is that of the bytes that are
 * live by malloc_usable_size of each block, sampled or not, also of one thread by steps. That needs
 * all blocks to be known: not in a child by fork, nor in a process that was attached to. What is
 * recorded exactly, before samples stand for more, counts with the bytes that were requested: so
 * that peak is exact.
 */
#include "agent/heap/agent.h"

static struct heap_stack *stack_of(struct agent_block block)
{
	struct heap_stack *stacks = agent_at(agent.shared->stacks);

	return &stacks[block.stack - 1];
}

/* The weight of a sampled block, by its size and the level of its stack. */
static struct heap_weight weight_of(const struct heap_stack *s, struct agent_block block)
{
	return heap_weigh(heap_size(block.size), heap_level_rate(agent_stack_level(s), agent.rate));
}

/* It stands for itself. */
static bool is_exact(struct heap_weight w)
{
	return !w.calls;
}

/* Scales bytes of a sample other than those requested: overhead, untouched. */
static uint64_t weigh(uint64_t bytes, struct heap_weight w)
{
	return is_exact(w) ? bytes : bytes * w.calls / HEAP_CALL;
}

/* What is mostly 0, and then not written: it is in other cache lines. */
static void add(uint64_t *to, uint64_t n)
{
	if (n)
		agent_plus(to, n);
}

static void keep_peak(struct heap_stack *s)
{
	uint64_t moment = __atomic_load_n(&agent.shared->moment, __ATOMIC_RELAXED);

	if (!agent.has_peak || s->moment == moment)
		return;
	agent_set(&s->moment, moment);
	agent_set(&s->peak_samples, s->samples - s->freed_samples);
	agent_set(&s->peak_bytes, s->bytes - s->freed_bytes);
	agent_set(&s->peak_calls, s->calls - s->freed_calls);
}

/* Under the lock of the stack. */
static void keep_own_peak(struct heap_stack *s)
{
	const uint64_t live = s->bytes - s->freed_bytes;

	if (!agent.has_paths || live <= s->own_peak_bytes)
		return;
	agent_set(&s->own_peak_bytes, live);
	agent_set(&s->own_peak_samples, s->samples - s->freed_samples);
}

/* Adds to the live bytes, or subtracts if negative, and keeps the peak. */
static void raise(uint64_t bytes)
{
	struct heap_header *h = agent.shared;
	uint64_t live = agent_add(&h->live, bytes);
	uint64_t peak = __atomic_load_n(&h->peak, __ATOMIC_RELAXED);

	if (live <= peak || live >> 63) /* below 0: blocks of before the connection were freed */
		return;
	if (agent_is_alone())
		__atomic_store_n(&h->peak, live, __ATOMIC_RELAXED);
	else
		while (live > peak)
			if (__atomic_compare_exchange_n(&h->peak, &peak, live, true,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
				break;
	if (live < peak) /* another thread's is larger */
		return;
	agent_add(&h->moment, 1);
	__atomic_store_n(&h->peak_ns, agent_near_now(), __ATOMIC_RELAXED);
}

void agent_sums_init(void)
{
	const bool is_whole = !agent.attached && !agent.generation;

	agent_hooks_count_live(is_whole && agent.has_peak && agent.rate > 1);
	agent.shared->is_counted = agent.is_live_counted != 0;
	agent.shared->is_bypassed = !agent_hooks_are_first();
}

void agent_live_flush(struct agent_local *t)
{
	/* Bytes that are worth an atomic operation: of the peak by all threads, and of what a
	 * sample stands for. */
	enum { MIN_STEP = 4096, MIN_EXACT_STEP = 1024, PART_OF_PEAK = 1024, PART_OF_RATE = 8 };
	const uint32_t alive = agent_alive();
	const bool is_all = agent.is_every || agent_level() == HEAP_EXACT;
	const uint64_t fewest = is_all ? MIN_EXACT_STEP : MIN_STEP;
	const uint64_t most = is_all ? UINT64_MAX : agent.rate / PART_OF_RATE;
	const int64_t live = t->live;
	uint64_t step;

	t->live = 0;
	if (!alive || (!t->is_ended && t->generation != alive))
		return;
	raise((uint64_t)live);
	step = __atomic_load_n(&agent.shared->peak, __ATOMIC_RELAXED) / PART_OF_PEAK /
	       (agent.shared->nr_threads + !agent.shared->nr_threads);
	step = step > fewest ? step : fewest;
	t->live_step = t->is_ended ? 0 : (int64_t)(step < most ? step : most);
}

/* By weights, which are so many bytes or as many less. Each thread's change is its own until it is
 * worth a write to what all write; one alone finds the peak to the byte. */
static void change_live(uint64_t bytes, struct heap_weight w)
{
	struct agent_local *t = &agent_local;

	if (!agent.has_peak || (agent.is_live_counted && !is_exact(w)))
		return;
	if (agent_is_alone()) {
		raise(bytes);
		return;
	}
	t->live += (int64_t)bytes;
	if (agent_is_step(t))
		agent_live_flush(t);
}

/* Those who had to wait allocate elsewhere, soon. */
static AGENT_RARE void wait_for(struct heap_stack *s)
{
	enum { MANY = 64, PART = 256 };

	agent_lock(&s->lock);
	s->waits++;
	if (s->waits >= MANY && s->waits >= s->samples / PART && !agent_stack_has_parts(s) &&
	    !agent.has_paths)
		agent_tree_divide(s);
}

static void lock_to_allocate(struct heap_stack *s)
{
	if (AGENT_UNLIKELY(!agent_lock_at_once(&s->lock)))
		wait_for(s);
}

/* Rows of threads that are there are their own. */
static void add_to_row(uint64_t *to, uint64_t n)
{
	if (AGENT_UNLIKELY(agent_local.classes == agent.shared_classes))
		__atomic_add_fetch(to, n, __ATOMIC_RELAXED);
	else
		__atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
}

/* What a class has of calls, bytes and squares, of what was allocated or of what was freed. */
struct row {
	uint64_t *calls, *bytes, *squares;
};

static void add_class(struct row to, struct agent_block block, struct heap_weight w)
{
	const uint64_t itself = agent.rate > 1 ? HEAP_CALL : 1;

	add_to_row(to.calls, is_exact(w) ? itself : w.calls);
	add_to_row(to.bytes, w.bytes);
	if (!is_exact(w))
		add_to_row(to.squares, heap_square(w.bytes, heap_size(block.size)));
}

static struct heap_class *class_of(struct agent_block block)
{
	return agent_local.classes ? &agent_local.classes[heap_class_of(heap_size(block.size))]
				   : NULL;
}

void agent_sums_allocated(struct agent_block block, uint64_t overhead)
{
	struct heap_stack *s = stack_of(block);
	struct heap_weight w = weight_of(s, block);
	struct heap_class *c = class_of(block);

	if (AGENT_LIKELY(c))
		add_class((struct row){&c->calls, &c->bytes, &c->squares}, block, w);
	lock_to_allocate(s);
	keep_peak(s);
	agent_plus(&s->samples, 1);
	agent_plus(&s->bytes, w.bytes);
	add(&s->calls, w.calls);
	if (heap_size(block.size) > s->max_bytes)
		agent_set(&s->max_bytes, heap_size(block.size));
	add(&s->overhead, weigh(overhead, w));
	keep_own_peak(s);
	agent_unlock(&s->lock);
	change_live(w.bytes, w);
}

/* Under the lock of the stack. */
static void add_life(struct heap_stack *s, uint64_t ns, struct heap_weight w)
{
	struct heap_life *life;

	if (AGENT_UNLIKELY(!s->lives))
		__atomic_store_n(&s->lives,
				 agent_blocks_take(HEAP_NR_LIVES * sizeof(struct heap_life)),
				 __ATOMIC_RELEASE);
	if (AGENT_UNLIKELY(!s->lives)) /* no room */
		return;
	life = (struct heap_life *)agent_at(s->lives) + heap_life_of(ns);
	agent_plus(&life->samples, 1);
	agent_plus(&life->bytes, w.bytes);
	agent_plus(&life->calls, w.calls);
}

void agent_sums_freed(struct agent_block block, const struct agent_end *end)
{
	struct heap_stack *s = stack_of(block);
	struct heap_weight w = weight_of(s, block);
	struct heap_class *c = class_of(block);

	if (AGENT_LIKELY(c))
		add_class((struct row){&c->freed_calls, &c->freed_bytes, &c->freed_squares}, block,
			  w);
	agent_lock(&s->lock);
	keep_peak(s);
	agent_plus(&s->freed_samples, 1);
	agent_plus(&s->freed_bytes, w.bytes);
	add(&s->freed_calls, w.calls);
	if (end->is_temporary) {
		agent_plus(&s->temporary_samples, 1);
		agent_plus(&s->temporary_bytes, w.bytes);
		add(&s->temporary_calls, w.calls);
	}
	add(&s->untouched_samples, end->untouched != 0);
	add(&s->untouched, weigh(end->untouched, w));
	if (block.born)
		add_life(s, end->lived_ns, w);
	agent_unlock(&s->lock);
	change_live(-w.bytes, w);
}

/* --- samples */

/* ln(x) for 0 < x <= 1. */
static double log_of(double x)
{
	double y, y2, sum;
	int halves = 0;

	for (; x < 0.70710678118654752; halves++)
		x *= 2;
	y = (x - 1) / (x + 1);
	y2 = y * y;
	sum = 2 * y * (1 + y2 * (1. / 3 + y2 * (1. / 5 + y2 * (1. / 7 + y2 * (1. / 9 + y2 / 11)))));
	return sum - halves * 0.69314718055994531;
}

/* Between 0 and 1. */
static double draw(struct agent_local *t)
{
	uint64_t x = t->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	t->random = x;
	return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

int64_t agent_distance(struct agent_local *t)
{
	double u;

	t->level = agent_level();
	if (!agent.rate)
		return INT64_MAX;
	if (agent.is_every || t->level == HEAP_EXACT)
		return 0;
	u = -log_of(draw(t)) * (double)heap_level_rate(t->level, agent.rate);
	return u < 9e18 ? (int64_t)u : INT64_MAX;
}

static double chance_at(uint64_t bytes, uint32_t level)
{
	const double rate = (double)heap_level_rate(level, agent.rate);

	return level == HEAP_EXACT ? 1 : heap_chance((double)(bytes + !bytes) / rate);
}

bool agent_is_sample_at(struct agent_local *t, uint64_t bytes, uint32_t level)
{
	const uint32_t before = t->level;

	if (AGENT_LIKELY(level == before))
		return true;
	t->level = level;
	return draw(t) * chance_at(bytes, before) < chance_at(bytes, level);
}
