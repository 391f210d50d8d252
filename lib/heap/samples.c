/*
 * What processes did in an iteration: by stack, and by size.
 *
 * Amounts by size are added up by each thread in a row of its own (heap_class), so that no lock is
 * held longer. In traces they are histograms of a heap event, which readers hold apart from
 * latencies (profile_trace.sizes).
 */
#include "base/perf_abi.h"
#include "base/sum.h"
#include "heap/counts.h"
#include "heap/heap.h"
#include "heap/kinds.h"
#include "heap/process.h"
#include "plan/plan.h"
#include "wire/heap_memory.h"

#include <stdio.h>

static struct wire_heap_amount sample_of(const struct heap_process *p, int kind, uint32_t stack,
					 uint32_t life)
{
	const enum wire_heap_kind from = heap_kind(kind)->from;
	struct wire_heap_amount a = heap_process_amount(&p->now[stack], kind, life), before;

	if (!heap_process_has_kind(p, &p->now[stack], kind))
		return (struct wire_heap_amount){0, 0};
	if (kind == EVENT_HEAP_MAX)
		return (struct wire_heap_amount){a.samples != 0, p->now[stack].max_bytes};
	if (from < WIRE_HEAP_NR_CUMULATIVE && stack < p->nr_before) {
		before = heap_process_amount(&p->before[stack], kind, life);
		a.samples -= before.samples;
		a.bytes -= before.bytes;
	}
	if (a.bytes && !a.samples) /* read while it was written: counted before */
		a.samples = 1;
	return a;
}

static uint64_t within(uint64_t ns, uint64_t begin_ns, uint64_t end_ns)
{
	return ns < begin_ns ? begin_ns : ns < end_ns ? ns : end_ns;
}

/* The addresses are those that functions return to: the innermost one is that of the call. */
static void find_callers(struct heap_use *h, const struct heap_process *p, uint32_t stack,
			 struct aggregate_stack *out)
{
	struct wire_heap_epoch epoch = {.at_ns = h->begin_ns};
	uint64_t *pcs = h->pcs + 1;
	int nr = wire_heap_callers(p->memory, p->now[stack].node, pcs, &epoch);

	if (nr > 0 && p->now[stack].resource) {
		pcs++;
		nr--;
	}
	if (nr > 0 && wire_heap_type(p->memory, pcs[0], h->type)) {
		pcs[0] = HEAP_TYPES + (pcs[0] & ~HEAP_TYPE) * HEAP_TYPE_STEP;
		pcs[1] -= nr > 1 && pcs[1];
		out->name = h->type;
	} else if (nr > 0) {
		pcs[0] -= pcs[0] != 0;
	}
	out->user = pcs;
	out->nr_user = nr > 0 ? (uint32_t)nr : 0;
	out->begin_ns = out->end_ns = within(epoch.at_ns, h->begin_ns, h->end_ns);
}

/* A frame below the place of the allocation. */
static void add_life(struct heap_use *h, uint32_t life, struct aggregate_stack *out)
{
	h->pcs[0] = PERF_ABI_LIVES + life;
	out->user = h->pcs;
	out->nr_user++;
}

bool heap_next(struct source_use *u, size_t event, struct source_at *at,
	       struct aggregate_stack *out)
{
	struct heap_use *h = (struct heap_use *)u;
	int kind = heap_kind_of(h->use.plan, event);

	for (; kind >= 0 && at->process < h->nr; at->process++, at->stack = 0) {
		const struct heap_process *p = h->processes[at->process];

		while (at->stack < p->nr_now && !p->is_unread) {
			uint32_t stack = at->stack, life = at->life;
			struct wire_heap_amount a = sample_of(p, kind, stack, life);

			at->life = life + 1 < heap_nr_lives(kind) ? life + 1 : 0;
			at->stack += !at->life;
			if (!a.samples)
				continue;
			*out = (struct aggregate_stack){
			    .pid = p->pid,
			    .tid = p->pid,
			    .samples = a.samples,
			    .weight = a.bytes,
			    .unit = p->now[stack].rate > 1 ? p->now[stack].rate : 0};
			find_callers(h, p, stack, out);
			if (kind == EVENT_HEAP_LIFETIME)
				add_life(h, life, out);
			return true;
		}
	}
	return false;
}

static uint64_t calls_of(const struct heap_use *h, uint64_t weighted)
{
	return h->config.rate > 1 ? (weighted + HEAP_CALL / 2) / HEAP_CALL : weighted;
}

static uint64_t live_of(uint64_t all, uint64_t freed)
{
	return all > freed ? all - freed : 0;
}

/* What the processes did in the iteration, and what is live at its end. */
static void add_sizes(const struct heap_use *h, size_t i, uint64_t to[HEAP_NR_SIZES])
{
	for (size_t k = 0; k < h->nr; k++) {
		const struct heap_process *p = h->processes[k];
		const struct wire_heap_class *now = &p->classes[i], *before = &p->classes_before[i];

		if (p->is_unread)
			continue;
		sum_add(&to[HEAP_CALLS], heap_growth(now->calls, before->calls));
		sum_add(&to[HEAP_BYTES], heap_growth(now->bytes, before->bytes));
		sum_add(&to[HEAP_LIVE_CALLS], live_of(now->calls, now->freed_calls));
		sum_add(&to[HEAP_LIVE_BYTES], live_of(now->bytes, now->freed_bytes));
		sum_add(&to[HEAP_SQUARES], heap_growth(now->squares, before->squares));
		sum_add(&to[HEAP_LIVE_SQUARES], live_of(now->squares, now->freed_squares));
	}
	to[HEAP_CALLS] = calls_of(h, to[HEAP_CALLS]);
	to[HEAP_LIVE_CALLS] = calls_of(h, to[HEAP_LIVE_CALLS]);
}

static bool is_sampled_memory(const struct heap_use *h, size_t event)
{
	int kind = heap_kind_of(h->use.plan, event);

	return kind >= 0 && !heap_kind(kind)->resource && h->use.plan->events[event].asked->rate;
}

/* The first event of memory that is sampled. */
static size_t sampled_event(const struct heap_use *h)
{
	size_t i = 0;

	while (i < h->use.plan->nr_events && !is_sampled_memory(h, i))
		i++;
	return i;
}

/* The bucket of sizes from 2^(i - 1) on. */
static uint32_t bucket_of(size_t i)
{
	const uint32_t bits = TRACE_HISTOGRAM_BITS;

	if (i <= bits + 1)
		return i ? 1u << (i - 1) : 0;
	return (uint32_t)(i - bits) << bits;
}

size_t heap_sizes(struct source_use *u, bool is_look, const struct trace_histogram **sizes)
{
	static const char *const parts[HEAP_NR_SIZES] = {
	    "calls", "bytes", "squares", "live_calls", "live_bytes", "live_squares"};
	struct heap_use *h = (struct heap_use *)u;
	struct trace_histogram *out = h->sizes;
	const bool has_blocks = h->config.wants & HEAP_WANTS_BLOCKS;
	const size_t event = h->has_samples && !is_look ? sampled_event(h) : SIZE_MAX;
	size_t nr = has_blocks ? HEAP_NR_SIZES : HEAP_LIVE_CALLS;

	*sizes = out;
	if (event >= u->plan->nr_events)
		return 0;
	for (size_t k = 0; k < nr; k++) {
		out[k] = (struct trace_histogram){.event = (uint32_t)event,
						  .bits = TRACE_HISTOGRAM_BITS,
						  .bucket = h->size_buckets[k]};
		snprintf(out[k].part, sizeof(out[k].part), "%s", parts[k]);
	}
	for (size_t i = 0; i < WIRE_HEAP_NR_CLASSES; i++) {
		uint64_t of[HEAP_NR_SIZES] = {0};

		add_sizes(h, i, of);
		for (size_t k = 0; k < nr; k++) {
			if (!of[k])
				continue;
			h->size_buckets[k][out[k].nr++] =
			    (struct trace_bucket){bucket_of(i), of[k]};
			sum_add(&out[k].sum_ns, of[k]);
		}
	}
	return nr;
}
