/* Records of samples that cpuperf makes, read back by the decoder of the kernel's. */
#include "kit.h"

#include "base/buf.h"
#include "base/perf_abi.h"
#include "session/sample_record.h"
#include "trace/futex.h"
#include "trace/interpreted.h"
#include "trace/record.h"
#include "trace/waker.h"

static const uint64_t kernel[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020};
static const uint64_t user[] = {0x401000, 0x402000, 0x403000};
static const uint8_t stack[] = "0123456789abcdefghijklmn";
static uint64_t regs[64];

static struct sample_record whole(void)
{
	for (unsigned i = 0; i < NR(regs); i++)
		regs[i] = 1000 + i;
	return (struct sample_record){.id = 77,
				      .pid = 11,
				      .tid = 12,
				      .cpu = 3,
				      .time_ns = 123456789,
				      .period = 1000000,
				      .wait_ns = UINT64_C(5) << 32 | 9,
				      .wait_version = TRACE_WAKER_LASTS,
				      .kernel = kernel,
				      .nr_kernel = NR(kernel),
				      .user = user,
				      .nr_user = NR(user),
				      .regs_abi = PERF_SAMPLE_REGS_ABI_64,
				      .regs = regs,
				      .stack = stack,
				      .stack_bytes = 24};
}

enum {
	ALL = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	      PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
	      PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER
};

static struct perf_event_attr attr_of(uint64_t type)
{
	return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
					.size = sizeof(struct perf_event_attr),
					.config = PERF_COUNT_SW_BPF_OUTPUT,
					.config1 = PERF_ABI_WAIT,
					.sample_period = 1000000,
					.sample_type = type,
					.sample_regs_user = 1 << 3 | 1 << 7,
					.sample_stack_user = 4096};
}

/* The record at out's end. */
static void decode(const struct perf_event_attr *a, const struct buf *out, struct trace_record *r,
		   struct trace_layout *l)
{
	assert_int_equal(buf_error(out), 0);
	assert_int_equal(out->len % 8, 0);
	assert_true(trace_layout_init(l, a, sizeof(*a)));
	assert_int_equal(trace_record_decode(l, (const uint8_t *)out->data, out->len, r), 0);
	assert_int_equal(r->len, out->len);
}

/* 4 words without frames, and one frame. */
TEST(what_is_interpreted_comes_first)
{
	static const uint32_t raw[] = {1, 1, 0, 0, 0x4000, 0, 0x5000, 0, 99, 0, 7, 1};
	static struct trace_interpreted found;
	struct perf_event_attr a = attr_of(ALL);
	struct sample_record from = whole();
	struct perf_event_header header;
	BUF_AUTO(alone, 1 << 20);
	BUF_AUTO(out, 1 << 20);

	assert_true(sample_record_add(&alone, &a, &from));
	from.interpreted = (const uint8_t *)raw;
	from.interpreted_bytes = sizeof(raw);
	from.interpreted_id = 78;
	assert_true(sample_record_add(&out, &a, &from));
	memcpy(&header, out.data, sizeof(header));
	assert_int_equal(header.type, PERF_RECORD_SAMPLE);
	assert_int_equal(header.size % 8, 0);
	assert_int_equal(out.len, header.size + alone.len);
	assert_memory_equal(out.data + header.size, alone.data, alone.len);
	assert_int_equal(trace_interpreted_decode((const uint8_t *)out.data, header.size, &found),
			 0);
	assert_int_equal(found.tid, 12);
	assert_int_equal(found.time_ns, 123456789);
	assert_int_equal(found.loop_begin, 0x4000);
	assert_int_equal(found.nr, 1);
	assert_int_equal(found.frame[0].code, 99);
	assert_int_equal(found.frame[0].instruction, 7);
	assert_int_equal(found.frame[0].nr_entries, 1);
}

TEST(all_fields)
{
	struct perf_event_attr a = attr_of(ALL);
	const struct sample_record from = whole();
	struct trace_layout l;
	struct trace_record r;
	BUF_AUTO(out, 1 << 20);

	assert_true(sample_record_add(&out, &a, &from));
	decode(&a, &out, &r, &l);
	assert_int_equal(r.id, 77);
	assert_int_equal(r.ip, kernel[1]);
	assert_int_equal(r.pid, 11);
	assert_int_equal(r.tid, 12);
	assert_int_equal(r.cpu, 3);
	assert_int_equal(r.time_ns, 123456789);
	assert_int_equal(r.misc, PERF_RECORD_MISC_KERNEL);
	/* one mark for each side */
	assert_int_equal(r.nr_callchain, 2 + 2 + 3);
	assert_int_equal(trace_word(r.callchain, 0), PERF_CONTEXT_KERNEL);
	assert_int_equal(trace_word(r.callchain, 2), kernel[2]);
	assert_int_equal(trace_word(r.callchain, 3), PERF_CONTEXT_USER);
	assert_int_equal(trace_word(r.callchain, 6), user[2]);
	assert_int_equal(r.raw_len, 12);
	assert_int_equal(trace_word(r.raw, 0), from.wait_ns);
	assert_int_equal(r.raw[8], TRACE_WAKER_LASTS);
	assert_int_equal(r.wait, TRACE_WAIT_OF_EVENT);
	assert_int_equal(r.period,
			 from.wait_ns); /* far longer than the rate: it counts for itself */
	assert_int_equal(r.nr_branches, 0);
	assert_int_equal(r.regs_abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(trace_word(r.regs, 0), 1003);
	assert_int_equal(trace_word(r.regs, 1), 1007);
	assert_int_equal(r.stack_len, 24);
	assert_memory_equal(r.stack, stack, 24);
}

/* What a wait that lasts waits at is behind its version, as in the kernel's own. */
TEST(at_a_futex)
{
	struct perf_event_attr a = attr_of(ALL);
	struct sample_record from = whole();
	struct trace_futex futex;
	struct trace_layout l;
	struct trace_record r;
	BUF_AUTO(out, 1 << 20);

	assert_true(sample_record_add(&out, &a, &from));
	decode(&a, &out, &r, &l);
	assert_false(trace_futex_decode(&l, &r, &futex));
	buf_reset(&out);
	from.futex = 0x7f0000001008;
	from.owner = 12;
	assert_true(sample_record_add(&out, &a, &from));
	decode(&a, &out, &r, &l);
	assert_int_equal(r.raw_len, 28);
	assert_int_equal(r.wait_ns, from.wait_ns);
	assert_true(trace_futex_decode(&l, &r, &futex));
	assert_int_equal(futex.address, from.futex);
	assert_int_equal(futex.owner, 12);
	assert_true(futex.lasts);
	assert_memory_equal(r.stack, stack, 24);
}

/* A thread of the kernel, and a program whose kernel side is not known. */
TEST(one_side)
{
	struct perf_event_attr a = attr_of(ALL);
	struct sample_record from = whole();
	struct trace_layout l;
	struct trace_record r;
	BUF_AUTO(out, 1 << 20);

	from.nr_user = from.stack_bytes = 0;
	from.regs_abi = 0;
	assert_true(sample_record_add(&out, &a, &from));
	decode(&a, &out, &r, &l);
	assert_int_equal(r.nr_callchain, 3);
	assert_int_equal(r.regs_abi, 0);
	assert_int_equal(r.stack_len, 0);

	buf_reset(&out);
	from = whole();
	from.nr_kernel = 0;
	assert_true(sample_record_add(&out, &a, &from));
	decode(&a, &out, &r, &l);
	assert_int_equal(r.misc, PERF_RECORD_MISC_USER);
	assert_int_equal(r.ip, user[0]);
	assert_int_equal(r.nr_callchain, 4);
}

/* As the event asks: fewer addresses, one side, fewer bytes, no such fields. */
TEST(limits)
{
	struct perf_event_attr a = attr_of(ALL);
	const struct sample_record from = whole();
	struct trace_layout l;
	struct trace_record r;
	BUF_AUTO(out, 1 << 20);

	a.sample_max_stack = 3;
	a.sample_stack_user = 16;
	assert_true(sample_record_add(&out, &a, &from));
	decode(&a, &out, &r, &l);
	assert_int_equal(r.nr_callchain, 2 + 3);
	assert_int_equal(r.stack_len, 16);

	buf_reset(&out);
	a.exclude_callchain_user = 1;
	assert_true(sample_record_add(&out, &a, &from));
	decode(&a, &out, &r, &l);
	assert_int_equal(r.nr_callchain, 3);

	buf_reset(&out);
	a = attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW);
	assert_true(sample_record_add(&out, &a, &from));
	decode(&a, &out, &r, &l);
	assert_int_equal(r.len, 8 + 8 + 8 + 16);
}

/* Fields that only the kernel knows, and a record that is too long: nothing is added. */
TEST(refused)
{
	static uint8_t large[70000];
	struct perf_event_attr a = attr_of(ALL | PERF_SAMPLE_READ);
	struct sample_record from = whole();
	BUF_AUTO(out, 1 << 20);

	assert_false(sample_record_add(&out, &a, &from));
	assert_int_equal(out.len, 0);
	a = attr_of(ALL);
	a.sample_stack_user = 69992;
	from.stack = large;
	from.stack_bytes = sizeof(large);
	assert_false(sample_record_add(&out, &a, &from));
	assert_int_equal(out.len, 0);
	assert_int_equal(buf_error(&out), 0);
}
