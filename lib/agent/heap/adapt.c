/*
 * How rare samples of an adaptive program are: each allocation is one while that costs less than a
 * part of the process's CPU time, or so little that nobody notices. Then one is taken in so many
 * bytes that it costs less, and in more when that is too much, but never in more than the recorder
 * says, and never in fewer again.
 *
 * What samples cost is reckoned by constants, not measured: so a program has the same samples each
 * time. Each costs more where few are taken, as nothing of it is in the caches then.
 *
 * A level is chosen by what is known before: whether an allocation is a sample does not change the
 * chance that it had. So the estimates are as unbiased as those of one rate.
 *
 * A level belongs to a stack, not to the process: a node has another stack at each level, and a
 * block has its stack's number, so at its free it weighs what it did before. A thread that drew
 * its next sample at a finer level keeps it with the ratio of both chances (agent_is_sample_at):
 * nothing is drawn anew at a change. Samples carry their unit as raw data. Of a row with certain
 * samples alone more may have been missed (interval_beside). An amount of which the largest counts
 * (is_maximum) is never divided.
 */
#include "agent/heap/agent.h"

#include <time.h>

enum {
	EXACT_NS = 250,      /* the cost of an exact sample, with its end */
	SAMPLED_NS = 2000,   /* that of a rarer one, up to 4000: nothing of it is in the caches */
	NODE_NS = 500,       /* what a new call path costs beside */
	FREE_NS = 10000000,  /* what exact samples may cost in any program, however short */
	MORE_NS = 2000000,   /* what a level may cost beyond its part */
	PART_OF_EXACT = 50,  /* of CPU time: 2 % */
	PART_OF_LEVEL = 100, /* 1 % */
	LOOK = 1024,         /* samples from one look at what they cost to the next */
	MAX_KEPT = 1 << 15,  /* exact blocks that are live: the wide filter has room for them */
	MIN_LEVEL = 11,      /* one in 1 KiB */
};

/* Sums over all threads. */
static uint64_t nr_samples, nr_kept;

/* State of the last look, and of the begin of the level. Guarded by the lock. */
static uint32_t lock;
static struct reckoning {
	int32_t pid; /* whose they are */
	uint64_t samples, nodes, cost_ns;
	uint64_t cpu_ns,
	    cpu_base_ns; /* the base: CPU time of before, which the process's clock does not have */
	uint64_t level_cost_ns, level_cpu_ns, level_bytes;
	uint64_t first_samples, first_cpu_ns; /* of this connection */
} so_far;

static uint64_t cpu_ns(void)
{
	struct timespec now = {0};

	if (!agent_may(AGENT_MAY_READ_CLOCK))
		return so_far.cpu_ns;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return so_far.cpu_base_ns + (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Bytes that were allocated since this connection began. */
static uint64_t bytes_so_far(void)
{
	const struct heap_thread *threads = agent_at(agent.shared->threads);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < agent.shared->nr_threads; i++)
		sum += threads[i].bytes;
	return sum;
}

/* A child by fork goes on with its parent's level and costs; its blocks are its own. */
void agent_adapt_init(void)
{
	lock = 0;
	nr_kept = 0;
	if (!agent.is_adaptive) {
		agent.level = 0;
		return;
	}
	if (so_far.pid && so_far.pid != agent.pid) {
		so_far.cpu_base_ns = so_far.cpu_ns;
	} else {
		so_far = (struct reckoning){.cpu_ns = 0};
		so_far.cpu_base_ns = -cpu_ns();
		nr_samples = 0;
		agent.level = HEAP_EXACT;
	}
	so_far.pid = agent.pid;
	so_far.nodes = so_far.level_bytes = 0;
	so_far.first_samples = so_far.samples;
	so_far.first_cpu_ns = so_far.cpu_ns;
	agent.shared->level = agent.level;
}

static void reckon(uint32_t level)
{
	const uint64_t samples = __atomic_load_n(&nr_samples, __ATOMIC_RELAXED);
	const uint64_t nodes = agent.shared->nr_nodes;
	const uint64_t cost_ns = level == HEAP_EXACT ? EXACT_NS : SAMPLED_NS;

	so_far.cost_ns += (samples - so_far.samples) * cost_ns + (nodes - so_far.nodes) * NODE_NS;
	so_far.samples = samples;
	so_far.nodes = nodes;
	so_far.cpu_ns = cpu_ns();
}

static bool is_too_much(uint32_t level)
{
	const uint64_t part_ns = so_far.cpu_ns / PART_OF_EXACT;
	const int64_t kept = (int64_t)__atomic_load_n(&nr_kept, __ATOMIC_RELAXED);

	if (level == HEAP_EXACT)
		return kept > MAX_KEPT || so_far.cost_ns > (part_ns > FREE_NS ? part_ns : FREE_NS);
	return so_far.cost_ns - so_far.level_cost_ns >
	       MORE_NS + (so_far.cpu_ns - so_far.level_cpu_ns) / PART_OF_LEVEL;
}

/* The least rate at which samples cost little enough, if the program goes on so. */
static uint32_t next_level(uint32_t level, uint64_t bytes)
{
	const uint64_t samples = (so_far.cpu_ns - so_far.level_cpu_ns) / PART_OF_LEVEL / SAMPLED_NS;
	uint32_t next = level < MIN_LEVEL ? MIN_LEVEL : level + 1;

	bytes -= so_far.level_bytes;
	while (heap_level_rate(next, 0) < agent.rate &&
	       heap_level_rate(next, 0) * (samples + !samples) < bytes)
		next++;
	return heap_level_rate(next, 0) < agent.rate ? next : 0;
}

static void look(void)
{
	struct heap_header *h = agent.shared;
	const uint32_t level = agent_level();
	uint64_t bytes;

	reckon(level);
	if (!level || !is_too_much(level))
		return;
	if (level == HEAP_EXACT) {
		__atomic_store_n(&h->exact_samples, so_far.samples - so_far.first_samples,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&h->exact_ns, so_far.cpu_ns - so_far.first_cpu_ns,
				 __ATOMIC_RELAXED);
	}
	bytes = bytes_so_far();
	__atomic_store_n(&agent.level, next_level(level, bytes), __ATOMIC_RELAXED);
	__atomic_store_n(&h->level, agent.level, __ATOMIC_RELEASE);
	so_far.level_cost_ns = so_far.cost_ns;
	so_far.level_cpu_ns = so_far.cpu_ns;
	so_far.level_bytes = bytes;
}

void agent_adapt_flush(struct agent_local *t)
{
	const uint64_t nr = t->nr_samples, all = agent_add(&nr_samples, nr);

	agent_add(&nr_kept, (uint64_t)(int64_t)t->nr_kept);
	t->nr_samples = 0;
	t->nr_kept = 0;
	if (!agent.is_adaptive || all / LOOK == (all - nr) / LOOK || !agent_lock_at_once(&lock))
		return;
	look();
	agent_unlock(&lock);
}
