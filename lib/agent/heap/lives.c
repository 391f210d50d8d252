/*
 * How long blocks live: by the counter of cycles, which costs half of what clock_gettime does.
 *
 * The counter's rate is measured beside it, against CLOCK_MONOTONIC since the connection, and again
 * each time as much time has passed: what is not older than the connection lives no longer, so the
 * rate is always good enough.
 *
 * Lives are added up at the free, by classes of a stack that lie in the arena; when a block was
 * allocated stands in memory of the program's own, beside the buckets. A class is the innermost
 * address of a sample (PERF_ABI_LIVES), which symbol/ names.
 */
#include "agent/heap/agent.h"

enum {
	CYCLES_SHIFT = 7, /* of a unit: the bits last for days */
#if defined(__aarch64__)
	MAX_HZ = 32000000, /* of units */
#endif
	RATE_SHIFT = 20,  /* of ns a unit */
	BEHIND = 1 << 20, /* units that the counter of another CPU may be behind */
};

static uint64_t first, first_ns; /* at the connection */
static uint64_t measured;        /* units since then at which the rate was measured */
static unsigned unit_shift;
static uint64_t rate; /* ns, in 1 / 2^RATE_SHIFT, of a unit; 0: not measured yet */

static uint64_t units(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc() >> unit_shift;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks >> unit_shift;
#else
	return agent_now() >> unit_shift;
#endif
}

/* The counter of arm64 runs at 1 MHz to 1 GHz: it is shifted to at most MAX_HZ. */
static unsigned find_shift(void)
{
	unsigned shift = CYCLES_SHIFT;
#if defined(__aarch64__)
	uint64_t hz;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	for (shift = 0; hz >> shift > MAX_HZ && shift < CYCLES_SHIFT; shift++)
		;
#endif
	return shift;
}

/* Both clocks at one time: again, if this thread was interrupted between them. */
static uint64_t both(uint64_t *ns)
{
	enum { TRIES = 4, LONG = 64 };
	uint64_t before, after;

	for (int i = 0; i < TRIES; i++) {
		before = units();
		*ns = agent_now();
		after = units();
		if (after - before < LONG)
			break;
	}
	return before + (after - before) / 2;
}

void agent_lives_init(void)
{
	measured = rate = 0;
	if (!agent_may(AGENT_MAY_READ_CLOCK))
		return;
	unit_shift = find_shift();
	first = both(&first_ns);
}

enum { USED_BIT = 1 };

static uint64_t short_of(uint64_t now)
{
	return (now & ((UINT64_C(1) << AGENT_BORN_BITS) - 1)) | USED_BIT;
}

uint64_t agent_life_now(void)
{
	if (!agent_may(AGENT_MAY_READ_CLOCK))
		return 0;
	return short_of(units());
}

/* Several threads may do this at once: each result is right. */
static uint64_t rate_at(uint64_t at)
{
	uint64_t since = at - first, before = __atomic_load_n(&measured, __ATOMIC_RELAXED);
	uint64_t now = __atomic_load_n(&rate, __ATOMIC_RELAXED), ns;

	if (AGENT_LIKELY(now && since / 2 <= before) || !since || since >> 63)
		return now;
	since = both(&ns) - first;
	now = (uint64_t)((double)(ns - first_ns) * (1 << RATE_SHIFT) / (double)since);
	__atomic_store_n(&rate, now, __ATOMIC_RELAXED);
	__atomic_store_n(&measured, since, __ATOMIC_RELAXED);
	return now;
}

uint64_t agent_life_ns(uint64_t born)
{
	const uint64_t now = units(), mask = (UINT64_C(1) << AGENT_BORN_BITS) - 1;
	uint64_t lived = (short_of(now) - born) & mask;

	if (lived > mask - BEHIND)
		return 0;
	return (uint64_t)((double)lived * (double)rate_at(now) / (1 << RATE_SHIFT));
}

uint64_t agent_near_now(void)
{
	uint64_t now, since;

	if (!agent_may(AGENT_MAY_READ_CLOCK))
		return agent.forbidden_ns;
	now = units();
	since = now - first;
	if (since >> 63) /* the counter of another CPU is behind */
		return first_ns;
	return first_ns + (uint64_t)((double)since * (double)rate_at(now) / (1 << RATE_SHIFT));
}
