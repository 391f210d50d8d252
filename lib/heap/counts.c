#include "heap/counts.h"

#include "base/perf_abi.h"
#include "base/sum.h"
#include "heap/kinds.h"
#include "heap/process.h"
#include "wire/heap_memory.h"

void heap_counts_add(uint64_t *to, int kind, uint64_t amount)
{
	if (kind == EVENT_HEAP_PEAK_TIME) /* see add_peak */
		return;
	if (!perf_abi_heap_is_maximum(kind))
		sum_add(to, amount);
	else if (amount > *to)
		*to = amount;
}

/* The time is that of the largest one. */
static void add_peak(uint64_t counts[HEAP_NR_COUNTS], uint64_t bytes, uint64_t ns)
{
	if (bytes <= counts[HEAP_LARGEST_PEAK])
		return;
	counts[HEAP_LARGEST_PEAK] = bytes;
	counts[EVENT_HEAP_PEAK_TIME] = ns;
}

void heap_counts_forget_live(uint64_t counts[HEAP_NR_COUNTS])
{
	counts[EVENT_HEAP_LIVE] = counts[EVENT_HEAP_PEAK] = counts[EVENT_HEAP_PEAK_TIME] = 0;
	counts[EVENT_HEAP_FD_LIVE] = counts[EVENT_HEAP_THREAD_LIVE] = 0;
	counts[EVENT_HEAP_UNREACHABLE] = counts[EVENT_HEAP_RESIDENT] = 0;
	counts[HEAP_LARGEST_PEAK] = 0;
}

void heap_counts_add_sums(uint64_t counts[HEAP_NR_COUNTS], const struct wire_heap_sums *sums)
{
	heap_counts_add(&counts[EVENT_HEAP_ALLOCATED], EVENT_HEAP_ALLOCATED, sums->bytes);
	heap_counts_add(&counts[EVENT_HEAP_ALLOCATIONS], EVENT_HEAP_ALLOCATIONS, sums->calls);
	heap_counts_add(&counts[EVENT_HEAP_PEAK], EVENT_HEAP_PEAK, sums->peak);
	heap_counts_add(&counts[EVENT_HEAP_MAX], EVENT_HEAP_MAX, sums->max_bytes);
	add_peak(counts, sums->counted_peak, sums->peak_ns);
}

void heap_counts_add_times(uint64_t counts[HEAP_NR_COUNTS], const struct wire_heap_times *times)
{
	sum_add(&counts[EVENT_HEAP_CPU_TIME], times->cpu_ns);
	sum_add(&counts[EVENT_HEAP_REAL_TIME], times->real_ns);
}

void heap_counts_add_stack(uint64_t counts[HEAP_NR_COUNTS], const struct heap_process *p,
			   const struct wire_heap_stack *s)
{
	for (int kind = 0; kind < EVENT_HEAP_NR_KINDS; kind++) {
		if (heap_kind(kind)->is_of_process || !heap_process_has_kind(p, s, kind))
			continue;
		for (uint32_t life = 0; life < heap_nr_lives(kind); life++)
			heap_counts_add(&counts[kind], kind,
					heap_process_amount(s, kind, life).bytes);
	}
	for (uint32_t i = 0; i < 2; i++)
		if (s->resource == HEAP_RESOURCE_CPU_TIME + i)
			sum_add(&counts[HEAP_CPU_SAMPLED + i],
				s->amount[WIRE_HEAP_ALLOCATED].bytes);
}

void heap_counts_add_process(uint64_t counts[HEAP_NR_COUNTS], const struct heap_process *p)
{
	heap_counts_add_sums(counts, &p->sums);
	heap_counts_add_times(counts, &p->times);
	for (size_t i = 0; i < p->nr_now; i++)
		heap_counts_add_stack(counts, p, &p->now[i]);
}

void heap_lost_add(struct wire_heap_sums *to, const struct wire_heap_sums *n)
{
	sum_add(&to->no_node, n->no_node);
	sum_add(&to->no_block, n->no_block);
	sum_add(&to->nested, n->nested);
	sum_add(&to->invalid, n->invalid);
	sum_add(&to->deep, n->deep);
	sum_add(&to->unknown, n->unknown);
}

void heap_ended_add(struct heap_ended *to, const struct heap_ended *from)
{
	for (int kind = 0; kind < EVENT_HEAP_NR_KINDS; kind++)
		heap_counts_add(&to->counts[kind], kind, from->counts[kind]);
	sum_add(&to->counts[HEAP_CPU_SAMPLED], from->counts[HEAP_CPU_SAMPLED]);
	sum_add(&to->counts[HEAP_REAL_SAMPLED], from->counts[HEAP_REAL_SAMPLED]);
	add_peak(to->counts, from->counts[HEAP_LARGEST_PEAK], from->counts[EVENT_HEAP_PEAK_TIME]);
	heap_lost_add(&to->lost, &from->lost);
}
