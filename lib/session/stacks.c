/*
 * From words of a stack to a PERF_RECORD_SAMPLE.
 */
#include "session/stacks.h"

#include "base/buf.h"
#include "base/perf_abi.h"
#include "bpf/aggregate.h"
#include "trace/writer.h"

#include <stdbool.h>
#include <string.h>

enum {
	MAX_ADDRESSES = 256,
	MAX_WORDS = MAX_ADDRESSES + 16, /* of a record: marks, and the fields before the stack */
};

struct record {
	uint64_t word[MAX_WORDS];
	size_t nr;
};

static void put(struct record *r, uint64_t word)
{
	if (r->nr < MAX_WORDS)
		r->word[r->nr++] = word;
}

/* Fields of 32 bits, in the byte order of the machine. */
static void put_two(struct record *r, uint32_t first, uint32_t second)
{
	const uint32_t both[] = {first, second};
	uint64_t word;

	memcpy(&word, both, sizeof(word));
	put(r, word);
}

/* Raw data as the ring has it of a wait (struct bpf_waits_sample): the length and the data. */
static void put_raw(struct record *r, uint64_t ns)
{
	put_two(r, 12, (uint32_t)ns);
	put_two(r, (uint32_t)(ns >> 32), 0);
}

static bool is_mark(uint64_t word)
{
	return word >= PERF_CONTEXT_MAX;
}

/* The kernel may have put marks among the addresses. Returns the number of addresses. */
static size_t put_side(struct record *r, uint64_t mark, const uint64_t *words, uint32_t nr)
{
	size_t at = r->nr;

	put(r, mark);
	for (uint32_t i = 0; i < nr; i++)
		if (!is_mark(words[i]))
			put(r, words[i]);
	if (r->nr == at + 1) /* none */
		r->nr = at;
	return r->nr > at ? r->nr - at - 1 : 0;
}

void stacks_add(struct buf *items, const struct perf_event_attr *attr, uint64_t id, uint32_t cpu,
		const struct aggregate_stack *stack)
{
	const struct trace_added added = {stack->samples, stack->weight, stack->end_ns};
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE};
	uint64_t type = attr->sample_type;
	struct record chain = {.nr = 0}, r = {.nr = 1};
	size_t nr_kernel = put_side(&chain, PERF_CONTEXT_KERNEL, stack->kernel, stack->nr_kernel);

	put_side(&chain, PERF_CONTEXT_USER, stack->user, stack->nr_user);
	if (type & PERF_SAMPLE_IDENTIFIER)
		put(&r, id);
	if (type & PERF_SAMPLE_IP) /* after the mark */
		put(&r, chain.nr ? chain.word[1] : 0);
	if (type & PERF_SAMPLE_TID)
		put_two(&r, stack->pid, stack->tid);
	if (type & PERF_SAMPLE_TIME)
		put(&r, stack->begin_ns);
	if (type & PERF_SAMPLE_CPU)
		put_two(&r, cpu, 0);
	if (type & PERF_SAMPLE_PERIOD)
		put(&r, stack->weight / stack->samples);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		put(&r, chain.nr);
		for (size_t i = 0; i < chain.nr; i++)
			put(&r, chain.word[i]);
	}
	if (type & PERF_SAMPLE_RAW) /* of waits: the ns of one, and version 0 */
		put_raw(&r, stack->weight / stack->samples);
	header.misc = nr_kernel || !chain.nr ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	header.size = (uint16_t)(r.nr * sizeof(r.word[0]));
	memcpy(&r.word[0], &header, sizeof(header));
	trace_add_stack(items, &added, r.word, header.size);
}
