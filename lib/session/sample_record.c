/*
 * Field by field, in the order of enum perf_abi_field.
 */
#include "session/sample_record.h"

#include "base/buf.h"
#include "base/perf_abi.h"

#include <string.h>

enum {
	RAW_BYTES = 12,          /* as of the programs in the kernel: with its length two words */
	FUTEX_RAW_BYTES = 28,    /* with the length four */
	MAX_ADDRESSES = 127,     /* of a callchain, where attr has no limit */
	MAX_CHAIN = 2 + 2 * 512, /* marks, and both sides */
	MAX_INTERPRETED_BYTES = 32 << 10,
};

static void put(struct buf *b, uint64_t word)
{
	buf_add(b, &word, sizeof(word));
}

/* Fields of 32 bits, in the byte order of the machine. */
static void put_two(struct buf *b, uint32_t first, uint32_t second)
{
	const uint32_t both[] = {first, second};

	buf_add(b, both, sizeof(both));
}

struct chain {
	uint64_t word[MAX_CHAIN];
	uint64_t nr;
	uint32_t left; /* addresses that have room */
};

static bool is_mark(uint64_t word)
{
	return word >= PERF_CONTEXT_MAX;
}

/* The kernel may have put marks among the addresses. */
static void add_side(struct chain *c, uint64_t mark, const uint64_t *words, uint32_t nr)
{
	uint64_t at = c->nr;

	c->word[c->nr++] = mark;
	for (uint32_t i = 0; i < nr && c->left; i++) {
		if (is_mark(words[i]))
			continue;
		c->word[c->nr++] = words[i];
		c->left--;
	}
	if (c->nr == at + 1) /* none */
		c->nr = at;
}

static void make_chain(struct chain *c, const struct perf_event_attr *attr,
		       const struct sample_record *r)
{
	uint32_t most = MAX_CHAIN - 2;

	c->nr = 0;
	c->left = attr->sample_max_stack ? attr->sample_max_stack : MAX_ADDRESSES;
	if (perf_abi_heap(attr->type, attr->config, attr->config1) >= 0) /* the kernel's limit */
		c->left = most;
	c->left = c->left < most ? c->left : most;
	if (!attr->exclude_callchain_kernel)
		add_side(c, PERF_CONTEXT_KERNEL, r->kernel, r->nr_kernel);
	if (!attr->exclude_callchain_user)
		add_side(c, PERF_CONTEXT_USER, r->user, r->nr_user);
}

static void put_regs(struct buf *b, uint64_t bits, const struct sample_record *r)
{
	put(b, r->regs_abi);
	for (unsigned bit = 0; bit < 64 && r->regs_abi; bit++)
		if (bits >> bit & 1)
			put(b, r->regs[bit]);
}

static void put_stack(struct buf *b, uint32_t max_bytes, const struct sample_record *r)
{
	uint32_t bytes = r->stack_bytes < max_bytes ? r->stack_bytes : max_bytes;

	bytes &= ~7u;
	put(b, bytes);
	if (!bytes)
		return;
	buf_add(b, r->stack, bytes);
	put(b, bytes);
}

/* No branches. */
static void put_branches(struct buf *b, const struct perf_event_attr *attr)
{
	put(b, 0);
	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		put(b, UINT64_MAX);
}

static void put_raw(struct buf *b, const struct sample_record *r)
{
	put_two(b, r->futex ? FUTEX_RAW_BYTES : RAW_BYTES, (uint32_t)r->wait_ns);
	put_two(b, (uint32_t)(r->wait_ns >> 32), r->wait_version);
	if (!r->futex)
		return;
	put_two(b, r->owner, (uint32_t)r->futex);
	put_two(b, (uint32_t)(r->futex >> 32), 0);
}

static void put_fields(struct buf *b, const struct perf_event_attr *attr,
		       const struct sample_record *r, const struct chain *c)
{
	const uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		put(b, r->id);
	if (type & PERF_SAMPLE_IP) /* after the mark */
		put(b, c->nr ? c->word[1] : 0);
	if (type & PERF_SAMPLE_TID)
		put_two(b, r->pid, r->tid);
	if (type & PERF_SAMPLE_TIME)
		put(b, r->time_ns);
	if (type & PERF_SAMPLE_CPU)
		put_two(b, r->cpu, 0);
	if (type & PERF_SAMPLE_PERIOD)
		put(b, r->period);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		put(b, c->nr);
		buf_add(b, c->word, c->nr * sizeof(c->word[0]));
	}
	if (type & PERF_SAMPLE_RAW)
		put_raw(b, r);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(b, attr);
	if (type & PERF_SAMPLE_REGS_USER)
		put_regs(b, attr->sample_regs_user, r);
	if (type & PERF_SAMPLE_STACK_USER)
		put_stack(b, attr->sample_stack_user, r);
}

static bool is_writable(const struct perf_event_attr *attr)
{
	const uint64_t known = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

	return !(attr->sample_type & ~known);
}

/* The tail has the length that the kernel's program has, too. */
static void put_interpreted(struct buf *b, const struct sample_record *r)
{
	const uint32_t raw_bytes = r->interpreted_bytes + sizeof(uint32_t);
	const struct perf_event_header header = {
	    .type = PERF_RECORD_SAMPLE,
	    .misc = PERF_RECORD_MISC_USER,
	    .size =
		(uint16_t)(sizeof(header) + 3 * sizeof(uint64_t) + sizeof(uint32_t) + raw_bytes)};
	const uint32_t tail = 0;

	buf_add(b, &header, sizeof(header));
	put(b, r->interpreted_id);
	put_two(b, r->pid, r->tid);
	put(b, r->time_ns);
	buf_add(b, &raw_bytes, sizeof(raw_bytes));
	buf_add(b, r->interpreted, r->interpreted_bytes);
	buf_add(b, &tail, sizeof(tail));
}

bool sample_record_add(struct buf *out, const struct perf_event_attr *attr,
		       const struct sample_record *r)
{
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE};
	const size_t begin = out->len;
	size_t at, bytes;
	struct chain c;

	if (!is_writable(attr))
		return false;
	make_chain(&c, attr, r);
	if (r->interpreted && r->interpreted_bytes <= MAX_INTERPRETED_BYTES)
		put_interpreted(out, r);
	at = out->len;
	buf_add(out, &header, sizeof(header));
	put_fields(out, attr, r, &c);
	bytes = out->len - at;
	if (buf_error(out))
		return true;
	if (bytes > PERF_ABI_MAX_RECORD_BYTES) {
		buf_cut(out, begin);
		return false;
	}
	header.misc = !c.nr || c.word[0] == PERF_CONTEXT_KERNEL ? PERF_RECORD_MISC_KERNEL
								: PERF_RECORD_MISC_USER;
	header.size = (uint16_t)bytes;
	memcpy(out->data + at, &header, sizeof(header));
	return true;
}
