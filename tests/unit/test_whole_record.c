/*
 * The record of a sample that was unwound: what a reader sees is the same, but for registers and
 * stack bytes.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/perf_abi.h"
#include "trace/record.h"
#include "trace/waker.h"
#include "whole/record.h"

enum { REGS = 0x103, NR_OF_REGS = 3, STACK_WORDS = 8, ID = 77 };

static struct perf_event_attr attr;
static struct trace_layout raw, unwound;
static struct whole_stack stack;

HOOK(before_each)
{
	struct perf_event_attr a;

	attr = (struct perf_event_attr){
	    .size = sizeof(attr),
	    .type = PERF_TYPE_SOFTWARE,
	    .sample_period = 1000,
	    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			   PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
			   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |
			   PERF_SAMPLE_DATA_SRC,
	    .sample_regs_user = REGS,
	    .sample_stack_user = STACK_WORDS * 8,
	    .sample_max_stack = 127,
	};
	a = whole_record_attr(&attr);
	assert_true(trace_layout_init(&raw, &attr, sizeof(attr)));
	assert_true(trace_layout_init(&unwound, &a, sizeof(a)));
	stack = (struct whole_stack){
	    .address = {0x100, 0x200, 0x300}, .exact = {1}, .nr = 3, .end = WHOLE_END_START};
}

static void put(struct buf *b, uint64_t word)
{
	buf_add(b, &word, sizeof(word));
}

/* As the kernel writes it; of the stack, dyn bytes were copied. */
static void make(struct buf *b, const uint64_t *chain, uint64_t nr, uint64_t dyn)
{
	uint16_t size;

	put(b, PERF_RECORD_SAMPLE | (uint64_t)PERF_RECORD_MISC_USER << 32);
	put(b, ID);
	put(b, 0x100);
	put(b, 10 | 11ull << 32);
	put(b, 1234);
	put(b, nr);
	for (uint64_t i = 0; i < nr; i++)
		put(b, chain[i]);
	put(b, 12 | 0xaaaaaaaaull << 32);
	put(b, 0xbbbbbbbbccccccccull);
	put(b, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < NR_OF_REGS; i++)
		put(b, 0x1000 + i);
	put(b, STACK_WORDS * 8);
	for (uint64_t i = 0; i < STACK_WORDS; i++)
		put(b, 0x2000 + i);
	put(b, dyn);
	put(b, 55); /* weight */
	put(b, 66); /* data_src */
	size = (uint16_t)b->len;
	memcpy(b->data + 6, &size, sizeof(size));
}

static void decode(const struct buf *b, const struct trace_layout *l, struct trace_record *r)
{
	assert_int_equal(trace_record_decode(l, (const uint8_t *)b->data, b->len, r), 0);
	assert_int_equal(r->len, b->len);
}

static const uint64_t kernel_and_user[] = {PERF_CONTEXT_KERNEL, 0xffff1, 0xffff2,
					   PERF_CONTEXT_USER,   0x100,   0x999};

static void check_chain(const struct trace_record *r, const uint64_t *want, size_t nr)
{
	assert_int_equal(r->nr_callchain, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(trace_word(r->callchain, i), want[i]);
}

TEST(all_but_the_bytes_is_there)
{
	static const uint64_t want[] = {
	    PERF_CONTEXT_KERNEL, 0xffff1, 0xffff2, PERF_CONTEXT_USER, 0x100, 0x200, 0x300,
	    PERF_CONTEXT_USER};
	struct trace_record r;
	BUF_AUTO(from, 1 << 16);
	BUF_AUTO(to, 1 << 16);

	assert_true(whole_record_is_possible(&attr));
	make(&from, kernel_and_user, NR(kernel_and_user), 64);
	decode(&from, &raw, &r);
	assert_true(whole_record_add(&to, &raw, &r, &stack));
	decode(&to, &unwound, &r);
	assert_int_equal(r.id, whole_record_id(ID));
	assert_int_not_equal(r.id, ID);
	assert_int_equal(r.ip, 0x100);
	assert_int_equal(r.pid, 10);
	assert_int_equal(r.tid, 11);
	assert_int_equal(r.time_ns, 1234);
	assert_int_equal(r.cpumode, PERF_RECORD_MISC_USER);
	assert_int_equal(r.raw_len, 12);
	assert_int_equal(r.raw[0], 0xaa);
	assert_int_equal(r.weight, 55);
	assert_int_equal(r.data_src, 66);
	assert_null(r.regs);
	assert_null(r.stack);
	check_chain(&r, want, NR(want));
}

TEST(an_interrupted_function_follows_a_mark)
{
	static const uint64_t want[] = {PERF_CONTEXT_USER, 0x100, 0x200,
					PERF_CONTEXT_USER, 0x300, PERF_CONTEXT_USER,
					PERF_CONTEXT_USER};
	struct trace_record r;
	BUF_AUTO(from, 1 << 16);
	BUF_AUTO(to, 1 << 16);

	stack.exact[0] = 1 | 1 << 2;
	stack.end = WHOLE_END_BYTES;
	make(&from, NULL, 0, 64);
	decode(&from, &raw, &r);
	assert_true(whole_record_add(&to, &raw, &r, &stack));
	decode(&to, &unwound, &r);
	check_chain(&r, want, NR(want));
}

/* As readers: the longer one, unless the unwound one is whole. */
TEST(a_longer_chain_by_pointers_stays)
{
	static const uint64_t chain[] = {PERF_CONTEXT_USER, 1, 2, 3, 4};
	struct trace_record r;
	BUF_AUTO(from, 1 << 16);
	BUF_AUTO(to, 1 << 16);

	make(&from, chain, NR(chain), 64);
	decode(&from, &raw, &r);
	stack.end = WHOLE_END_BYTES;
	assert_true(whole_record_add(&to, &raw, &r, &stack));
	decode(&to, &unwound, &r);
	check_chain(&r, chain, NR(chain));
	stack.refutes_chain = true;
	to.len = 0;
	decode(&from, &raw, &r);
	assert_true(whole_record_add(&to, &raw, &r, &stack));
	decode(&to, &unwound, &r);
	assert_true(r.nr_callchain != NR(chain) || trace_word(r.callchain, NR(chain) - 1) != 4);
	stack.refutes_chain = false;
}

TEST(chains_of_others_keep_their_bytes)
{
	static const uint64_t guest[] = {PERF_CONTEXT_GUEST_KERNEL, 1, PERF_CONTEXT_USER, 2};
	static const uint64_t bare[] = {1, PERF_CONTEXT_USER, 2};
	struct trace_record r;
	BUF_AUTO(a, 1 << 16);
	BUF_AUTO(b, 1 << 16);
	BUF_AUTO(to, 1 << 16);

	make(&a, guest, NR(guest), 64);
	decode(&a, &raw, &r);
	assert_false(whole_record_add(&to, &raw, &r, &stack));
	make(&b, bare, NR(bare), 64);
	decode(&b, &raw, &r);
	assert_false(whole_record_add(&to, &raw, &r, &stack));
	stack.nr = WHOLE_MAX_DEPTH;
	make(&to, kernel_and_user, NR(kernel_and_user), 64);
	decode(&to, &raw, &r);
	assert_false(whole_record_add(&b, &raw, &r, &stack));
	attr.exclude_callchain_user = 1;
	assert_false(whole_record_is_possible(&attr));
}

/* Only as much of the stack as the kernel could copy. */
TEST(short_records)
{
	static const uint64_t copied[] = {0, 8, 20, 56, 64};

	for (size_t i = 0; i < NR(copied); i++) {
		struct trace_record r, s;
		BUF_AUTO(from, 1 << 16);
		BUF_AUTO(to, 1 << 16);

		make(&from, kernel_and_user, NR(kernel_and_user), copied[i]);
		decode(&from, &raw, &r);
		whole_record_add_short(&to, &r, SIZE_MAX);
		decode(&to, &raw, &s);
		assert_int_equal(s.stack_len, copied[i]);
		assert_int_equal(to.len,
				 from.len - 64 + (copied[i] + 7) / 8 * 8 - (copied[i] ? 0 : 8));
		if (copied[i])
			assert_memory_equal(s.stack, r.stack, copied[i]);
		assert_int_equal(s.id, ID);
		assert_int_equal(s.data_src, 66);
	}
}

TEST(shortened_records)
{
	struct trace_record r, s;
	BUF_AUTO(from, 1 << 16);

	make(&from, kernel_and_user, NR(kernel_and_user), 56);
	decode(&from, &raw, &r);
	for (size_t max = 8; max <= 64; max += 8) {
		BUF_AUTO(to, 1 << 16);

		whole_record_add_short(&to, &r, max);
		decode(&to, &raw, &s);
		assert_int_equal(s.stack_len, max < 56 ? max : 56);
		assert_memory_equal(s.stack, r.stack, s.stack_len);
		assert_int_equal(s.data_src, 66);
	}
}

/* Of a wait, whose raw data has a waker with two addresses and those bytes of its stack. */
static void make_wait(struct buf *b, uint32_t stack_bytes)
{
	const uint32_t head[] = {7, 0, 1, 12, 10, 11, 0, 2}; /* the owner; no kernel's part */
	const uint32_t of_stack[] = {3, stack_bytes, 0x1c0, 0};
	const uint64_t user[] = {0x100, 0x999};
	const uint32_t len = (TRACE_WAKER_STACK_BYTES + stack_bytes + 4 + 7) / 8 * 8 - 4;
	size_t raw_at;
	uint16_t size;

	attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	attr.config1 = PERF_ABI_WAIT;
	attr.config2 = PERF_ABI_WAKER;
	attr.sample_type =
	    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT;
	assert_true(trace_layout_init(&raw, &attr, sizeof(attr)));
	put(b, PERF_RECORD_SAMPLE | (uint64_t)PERF_RECORD_MISC_USER << 32);
	put(b, ID);
	put(b, 1234);
	buf_add(b, &len, sizeof(len));
	raw_at = b->len;
	buf_add(b, head, sizeof(head));
	buf_add(b, "actor\0\0\0\0\0\0\0\0\0\0", 16);
	buf_add(b, of_stack, sizeof(of_stack));
	buf_fill(b, 'r', TRACE_WAKER_USER_BYTES - (b->len - raw_at));
	buf_add(b, user, sizeof(user));
	buf_fill(b, '\0', TRACE_WAKER_STACK_BYTES - (b->len - raw_at));
	buf_fill(b, 's', stack_bytes);
	buf_fill(b, '\0', len - (b->len - raw_at));
	put(b, 55); /* weight */
	size = (uint16_t)b->len;
	memcpy(b->data + 6, &size, sizeof(size));
}

/* What is not the waker's stack is as before. */
static void check_wait(const struct buf *b, const struct trace_record *before,
		       struct trace_waker *waker)
{
	struct trace_record r;

	decode(b, &raw, &r);
	assert_true(trace_waker_decode(&raw, &r, waker));
	assert_int_equal(r.id, ID);
	assert_int_equal(r.time_ns, 1234);
	assert_int_equal(r.weight, 55);
	assert_memory_equal(r.raw, before->raw, 28);
	assert_memory_equal(r.raw + 32, before->raw + 32, 20);
	assert_memory_equal(r.raw + 56, before->raw + 56, TRACE_WAKER_USER_BYTES - 56);
}

TEST(a_waker_has_its_whole_stack)
{
	static const uint64_t want[] = {PERF_CONTEXT_USER, 0x100, 0x200,
					PERF_CONTEXT_USER, 0x300, PERF_CONTEXT_USER};
	static struct trace_waker waker;
	struct trace_record r;
	BUF_AUTO(from, 1 << 16);
	BUF_AUTO(to, 1 << 16);

	stack.exact[0] = 1 | 1 << 2;
	make_wait(&from, 3000);
	decode(&from, &raw, &r);
	assert_true(whole_record_add_waker(&to, &r, &stack));
	check_wait(&to, &r, &waker);
	assert_int_equal(waker.record.stack_len, 0);
	check_chain(&waker.record, want, NR(want));
	assert_int_equal(waker.record.pid, 10);
	assert_string_equal(waker.comm, "actor");
}

/* With the mark of its end. */
TEST(a_waker_has_no_room_for_more)
{
	static struct trace_waker waker;
	struct trace_record r;
	BUF_AUTO(from, 1 << 16);
	BUF_AUTO(to, 1 << 16);

	make_wait(&from, 8);
	decode(&from, &raw, &r);
	stack.nr = TRACE_WAKER_MAX_USER;
	assert_false(whole_record_add_waker(&to, &r, &stack));
	assert_int_equal(to.len, 0);
	stack.nr--;
	assert_true(whole_record_add_waker(&to, &r, &stack));
	check_wait(&to, &r, &waker);
	assert_int_equal(waker.record.nr_callchain, TRACE_WAKER_MAX_USER + 1);
}

TEST(a_waker_with_fewer_bytes)
{
	static const uint32_t bytes[] = {1, 3, 4, 1000, 3000};

	for (size_t i = 0; i < NR(bytes); i++) {
		static struct trace_waker waker;
		struct trace_record r;
		BUF_AUTO(from, 1 << 16);
		BUF_AUTO(to, 1 << 16);

		make_wait(&from, 3000);
		decode(&from, &raw, &r);
		whole_record_add_short_waker(&to, &r, bytes[i]);
		check_wait(&to, &r, &waker);
		assert_int_equal(waker.record.nr_callchain, 3);
		assert_int_equal(waker.record.stack_len, bytes[i]);
		for (size_t k = 0; k < bytes[i]; k++)
			assert_int_equal(waker.record.stack[k], 's');
	}
}
