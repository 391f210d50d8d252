/*
 * Virtual speed-ups, as of coz: to learn what a faster function would bring, all other threads are
 * slowed down while one runs it. Arithmetic alone: no clocks, and nothing is slept here; agents in
 * programs (lib/agent/causal) do that, so all of it is in this header.
 *
 * Each thread has an amount of delay: what it has slept, or was spared. Its virtual time is the
 * real time less that. A thread that runs the function is spared a share of that time, and the
 * greatest amount of all threads is what each of them owes. So two threads that run the function
 * at the same time delay nobody but others, and once all have paid, the run is as long as it would
 * be with a faster function, plus the amount.
 *
 * A thread that wakes another one pays first: then its virtual time is the one at which the other
 * is woken. Who was blocked meanwhile has no debt for that time, since it would have waited, too;
 * it may have waited for less than it owes, then it pays the rest. A wait that ends from outside (a
 * timer, a device, another program) takes as long as it did in virtual time, so what others paid
 * meanwhile is owed.
 */
#ifndef CAUSAL_DEBTS_H
#define CAUSAL_DEBTS_H

#include <stdint.h>

/* Of a thread, which alone changes it. */
struct causal_debt {
	uint64_t paid_ns;  /* slept or spared */
	uint64_t extra_ns; /* slept beyond what it was to sleep: less is slept next time */
};

/* The most that any thread has paid; shared by all of them. */
static inline uint64_t causal_debts_all(const uint64_t *all_ns)
{
	return __atomic_load_n(all_ns, __ATOMIC_RELAXED);
}

/* The thread ran the function for ns, of which so many percent are cut. */
static inline void causal_debts_ran(struct causal_debt *d, uint64_t *all_ns, uint64_t ns,
				    uint32_t percent)
{
	uint64_t before = causal_debts_all(all_ns);

	d->paid_ns += ns / 100 * percent + ns % 100 * percent / 100;
	while (before < d->paid_ns &&
	       !__atomic_compare_exchange_n(all_ns, &before, d->paid_ns, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

/* What the thread is to sleep now. */
static inline uint64_t causal_debts_owed(struct causal_debt *d, const uint64_t *all_ns)
{
	const uint64_t all = causal_debts_all(all_ns);
	const uint64_t owed = all > d->paid_ns ? all - d->paid_ns : 0;
	const uint64_t less = owed < d->extra_ns ? owed : d->extra_ns;

	d->extra_ns -= less;
	d->paid_ns += less;
	return owed - less;
}

/* It was to sleep owed, and slept for ns. */
static inline void causal_debts_slept(struct causal_debt *d, uint64_t owed, uint64_t ns)
{
	d->paid_ns += ns < owed ? ns : owed;
	d->extra_ns += ns > owed ? ns - owed : 0;
}

/* It was blocked for ns, until a thread woke it that had paid. */
static inline void causal_debts_woken(struct causal_debt *d, const uint64_t *all_ns, uint64_t ns)
{
	const uint64_t all = causal_debts_all(all_ns);
	const uint64_t owed = all > d->paid_ns ? all - d->paid_ns : 0;

	d->paid_ns += ns < owed ? ns : owed;
}

/* By how much its virtual time is behind the real one. */
static inline uint64_t causal_debts_behind(const struct causal_debt *d)
{
	return d->paid_ns + d->extra_ns;
}

#endif
