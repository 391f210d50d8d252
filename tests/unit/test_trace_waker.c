/* The waker in the raw data of a sample of a wait. */
#include "kit.h"

#include "base/buf.h"
#include "trace/waker.h"

#include <linux/perf_event.h>
#include <string.h>

enum { NR_KERNEL = 64, NR_USER = 120, NR_REGS = 16, STACK = 1024 };

/* struct bpf_waits_waker, as the program in the kernel fills it. */
struct raw {
	uint64_t ns;
	uint32_t version, zero, pid, tid, nr_kernel, nr_user;
	char comm[16];
	uint32_t nr_regs, stack_bytes;
	uint64_t reg_bits, regs[NR_REGS], kernel[NR_KERNEL], user[NR_USER];
	uint8_t stack[STACK];
};

static const struct raw whole = {
    .ns = 7,
    .version = 1,
    .pid = 10,
    .tid = 11,
    .nr_kernel = 2,
    .nr_user = 3,
    .comm = "actor",
    .nr_regs = 3,
    .stack_bytes = 16,
    .reg_bits = 0x1c0,
    .regs = {1, 2, 3},
    .kernel = {0xffff800000000001, 0xffff800000000002},
    .user = {0x1001, 0x1002, 0x1003},
    .stack = {5},
};
static struct trace_waker waker;

/* Decodes a copy of exactly that length, so that a read behind it is found. */
static bool decode(const struct raw *raw, size_t len, bool has_waker)
{
	const struct trace_layout layout = {.is_wait = true, .has_waker = has_waker};
	struct trace_record r = {.kind = PERF_RECORD_SAMPLE, .has = TRACE_HAS_RAW, .time_ns = 1000};
	uint8_t *copy = malloc(len + 1);
	bool is_valid;

	memcpy(copy, raw, len);
	r.raw = copy;
	r.raw_len = (uint32_t)len;
	is_valid = trace_waker_decode(&layout, &r, &waker);
	if (is_valid && waker.record.stack_len)
		assert_int_equal(
		    waker.record.stack[0] + waker.record.stack[waker.record.stack_len - 1], 5);
	free(copy);
	return is_valid;
}

TEST(reads_all)
{
	const uint64_t chain[] = {PERF_CONTEXT_KERNEL,
				  0xffff800000000001,
				  0xffff800000000002,
				  PERF_CONTEXT_USER,
				  0x1001,
				  0x1002,
				  0x1003};

	assert_true(decode(&whole, sizeof(whole), true));
	assert_int_equal(waker.record.pid, 10);
	assert_int_equal(waker.record.tid, 11);
	assert_string_equal(waker.comm, "actor");
	assert_int_equal(waker.record.nr_callchain, sizeof(chain) / sizeof(chain[0]));
	for (size_t i = 0; i < sizeof(chain) / sizeof(chain[0]); i++)
		assert_int_equal(trace_word(waker.record.callchain, i), chain[i]);
	assert_int_equal(waker.record.nr_regs, 3);
	assert_int_equal(waker.layout.user_regs, 0x1c0);
	assert_int_equal(waker.record.stack_len, 16);
}

TEST(kernel_only)
{
	struct raw raw = whole;

	raw.nr_user = 0;
	assert_true(decode(&raw, offsetof(struct raw, user), true));
	assert_int_equal(waker.record.nr_callchain, 3);
	assert_int_equal(waker.record.stack_len, 0);
}

TEST(a_name_without_end)
{
	struct raw raw = whole;

	memset(raw.comm, 'a', sizeof(raw.comm));
	assert_true(decode(&raw, sizeof(raw), true));
	assert_int_equal(strlen(waker.comm), 15);
}

TEST(none)
{
	struct raw raw = whole;

	assert_false(decode(&whole, sizeof(whole), false));
	raw.version = 0;
	assert_false(decode(&raw, sizeof(raw), true));
	assert_false(decode(&raw, 12, true));
}

TEST(hostile)
{
	static const size_t numbers[] = {
	    offsetof(struct raw, nr_kernel), offsetof(struct raw, nr_user),
	    offsetof(struct raw, nr_regs), offsetof(struct raw, stack_bytes)};
	const uint32_t large[] = {121, STACK + 1, UINT32_MAX};

	for (size_t len = 0; len < offsetof(struct raw, stack) + whole.stack_bytes; len++)
		assert_false(decode(&whole, len, true));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		for (size_t k = numbers[i] == offsetof(struct raw, stack_bytes); k < 3; k++) {
			struct raw raw = whole;

			memcpy((char *)&raw + numbers[i], &large[k], sizeof(large[k]));
			assert_false(decode(&raw, sizeof(raw), true));
		}
}

/* A register's place has how long before the sample it was, where it has no register. */
TEST(when_it_woke)
{
	static const struct {
		uint32_t nr_regs;
		uint64_t ago, want;
	} cases[] = {{3, 0, 1000},    {3, 300, 700},         {14, 999, 1},
		     {3, 1000, 1000}, {3, UINT64_MAX, 1000}, {15, 300, 1000}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct raw raw = whole;

		raw.nr_regs = cases[i].nr_regs;
		raw.regs[14] = cases[i].ago;
		assert_true(decode(&raw, sizeof(raw), true));
		assert_int_equal(waker.record.time_ns, cases[i].want);
	}
}
