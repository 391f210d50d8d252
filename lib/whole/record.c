/*
 * From one record to the other: what lies before the callchain, between it and the registers, and
 * behind the stack is copied.
 */
#include "whole/record.h"

#include "base/buf.h"
#include "base/perf_abi.h"
#include "trace/record.h"
#include "trace/waker.h"

#include <string.h>

#define OWN_ID ((uint64_t)1 << 62) /* those of the kernel are smaller, those of readers larger */

enum { WORD = sizeof(uint64_t) };

static const uint64_t bytes_needed = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

bool whole_record_is_possible(const struct perf_event_attr *attr)
{
	const uint64_t needed = bytes_needed | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_IDENTIFIER |
				PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

	return (attr->sample_type & needed) == needed && !attr->exclude_callchain_user;
}

struct perf_event_attr whole_record_attr(const struct perf_event_attr *attr)
{
	struct perf_event_attr a = *attr;

	a.sample_type &= ~bytes_needed;
	a.sample_regs_user = 0;
	a.sample_stack_user = 0;
	a.sample_max_stack = UINT16_MAX; /* no limit ended it */
	return a;
}

uint64_t whole_record_id(uint64_t id)
{
	return id | OWN_ID;
}

bool whole_record_kernel(const struct trace_record *r, size_t *nr)
{
	bool is_kernel = false;

	for (size_t i = 0; i < r->nr_callchain; i++) {
		uint64_t word = trace_word(r->callchain, i);

		if (word == PERF_CONTEXT_USER) {
			*nr = i;
			return true;
		}
		if (word >= PERF_CONTEXT_MAX && (word != PERF_CONTEXT_KERNEL || i))
			return false;
		is_kernel |= word == PERF_CONTEXT_KERNEL;
		if (!is_kernel)
			return false;
	}
	*nr = r->nr_callchain;
	return true;
}

static void put(struct buf *b, uint64_t word)
{
	buf_add(b, &word, sizeof(word));
}

static void set_size(struct buf *b, size_t at)
{
	const uint16_t size = (uint16_t)(b->len - at);

	if (!buf_error(b))
		memcpy(b->data + at + 6, &size, sizeof(size)); /* struct perf_event_header */
}

/* Behind the mark of the program's part. */
static void put_user(struct buf *out, const struct whole_stack *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (i && s->exact[i / 64] >> i % 64 & 1)
			put(out, PERF_CONTEXT_USER);
		put(out, s->address[i]);
	}
	for (int i = 0; i < (int)s->end; i++)
		put(out, PERF_CONTEXT_USER);
}

static void put_chain(struct buf *out, const struct trace_record *r, size_t nr_kernel,
		      const struct whole_stack *s)
{
	size_t at = out->len;
	uint64_t nr;

	put(out, 0);
	buf_add(out, r->callchain, nr_kernel * WORD);
	put(out, PERF_CONTEXT_USER);
	put_user(out, s);
	nr = (out->len - at) / WORD - 1;
	if (!buf_error(out))
		memcpy(out->data + at, &nr, sizeof(nr));
}

/* Where a part of the record ends and the next one begins; each is preceded by a word. */
struct parts {
	const uint8_t *chain, *behind_chain; /* with the number of its words */
	const uint8_t *regs, *behind_stack;  /* with their ABI; behind dyn_size */
};

static bool find_parts(const struct trace_layout *l, const struct trace_record *r, struct parts *p)
{
	const uint8_t *end = r->bytes + r->len;

	if (!r->callchain || !r->regs || !r->stack)
		return false;
	p->chain = r->callchain - WORD;
	p->behind_chain = r->callchain + r->nr_callchain * WORD;
	p->regs = r->regs - WORD;
	p->behind_stack = r->stack + trace_word(r->stack - WORD, 0) + WORD;
	return p->chain > r->bytes && p->behind_chain <= p->regs && p->regs < r->stack &&
	       p->behind_stack <= end && l->nr_user_regs == r->nr_regs;
}

static void put_part(struct buf *out, const uint8_t *from, const uint8_t *to)
{
	buf_add(out, from, (size_t)(to - from));
}

/* The chain by frame pointers is longer; a reader could not see that a limit ended it. */
static bool has_longer_chain(const struct trace_record *r, size_t nr_kernel,
			     const struct whole_stack *s)
{
	return s->end != WHOLE_END_START && !s->refutes_chain && r->nr_callchain > nr_kernel + 1 &&
	       r->nr_callchain - nr_kernel - 1 >= s->nr;
}

static bool has_limit(const struct trace_layout *l, const struct trace_record *r)
{
	enum { DEFAULT_MAX_STACK = 127, MARKS = 2 };
	const uint64_t max = l->max_stack ? l->max_stack : DEFAULT_MAX_STACK;

	return r->nr_callchain + MARKS >= max;
}

bool whole_record_add(struct buf *out, const struct trace_layout *l, const struct trace_record *r,
		      const struct whole_stack *stack)
{
	size_t at = out->len, nr_kernel;
	bool keeps_chain;
	struct parts p;

	if (!find_parts(l, r, &p) || !whole_record_kernel(r, &nr_kernel) ||
	    nr_kernel + stack->nr > WHOLE_MAX_DEPTH)
		return false;
	keeps_chain = has_longer_chain(r, nr_kernel, stack);
	if (keeps_chain && stack->end != WHOLE_END_UNKNOWN && has_limit(l, r))
		return false;
	put_part(out, r->bytes, r->bytes + WORD);
	put(out, whole_record_id(trace_word(r->bytes + WORD, 0)));
	put_part(out, r->bytes + 2 * WORD, p.chain);
	if (keeps_chain)
		put_part(out, p.chain, p.behind_chain);
	else
		put_chain(out, r, nr_kernel, stack);
	put_part(out, p.behind_chain, p.regs);
	put_part(out, p.behind_stack, r->bytes + r->len);
	if (out->len - at > PERF_ABI_MAX_RECORD_BYTES) {
		buf_cut(out, at);
		return false;
	}
	set_size(out, at);
	return true;
}

void whole_record_add_short(struct buf *out, const struct trace_record *r, size_t max_bytes)
{
	const size_t len = r->stack_len < max_bytes ? r->stack_len : max_bytes;
	size_t at = out->len, copied = (len + WORD - 1) / WORD * WORD;
	const uint8_t *end = r->bytes + r->len, *behind;
	uint64_t room = r->stack ? trace_word(r->stack - WORD, 0) : 0;

	behind = r->stack ? r->stack + room : end;
	if (!r->stack || copied >= room || behind + WORD > end) {
		put_part(out, r->bytes, end);
		return;
	}
	put_part(out, r->bytes, r->stack - WORD);
	put(out, copied);
	put_part(out, r->stack, r->stack + copied);
	if (copied)
		put(out, len); /* dyn_size */
	put_part(out, behind + WORD, end);
	set_size(out, at);
}

/* The record with that raw data, and so many bytes of the waker's stack. */
static void put_raw(struct buf *out, const struct trace_record *r, uint8_t *raw, uint32_t bytes)
{
	const size_t at = out->len;
	uint32_t len = TRACE_WAKER_STACK_BYTES + bytes;

	len += (WORD - (sizeof(len) + len) % WORD) % WORD; /* whole words, with its length */
	trace_waker_set_stack(raw, bytes);
	put_part(out, r->bytes, r->raw - sizeof(len));
	buf_add(out, &len, sizeof(len));
	buf_add(out, raw, TRACE_WAKER_STACK_BYTES);
	buf_add(out, r->raw + TRACE_WAKER_STACK_BYTES, bytes);
	buf_fill(out, '\0', len - TRACE_WAKER_STACK_BYTES - bytes);
	put_part(out, r->raw + r->raw_len, r->bytes + r->len);
	set_size(out, at);
}

bool whole_record_add_waker(struct buf *out, const struct trace_record *r,
			    const struct whole_stack *stack)
{
	BUF_AUTO(words, TRACE_WAKER_MAX_USER * WORD);
	uint8_t raw[TRACE_WAKER_STACK_BYTES] = {0};

	put_user(&words, stack);
	if (buf_error(&words))
		return false;
	memcpy(raw, r->raw, TRACE_WAKER_USER_BYTES);
	memcpy(raw + TRACE_WAKER_USER_BYTES, words.data, words.len);
	trace_waker_set_user(raw, (uint32_t)(words.len / WORD));
	put_raw(out, r, raw, 0);
	return true;
}

void whole_record_add_short_waker(struct buf *out, const struct trace_record *r, uint32_t bytes)
{
	uint8_t raw[TRACE_WAKER_STACK_BYTES];

	memcpy(raw, r->raw, sizeof(raw));
	put_raw(out, r, raw, bytes);
}
