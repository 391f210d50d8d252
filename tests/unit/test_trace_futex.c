/* The futex in the raw data of a sample of a wait. */
#include "kit.h"

#include "trace/futex.h"

#include <linux/perf_event.h>

/* struct bpf_waits_sample. */
struct plain {
	uint64_t ns;
	uint32_t version, owner;
	uint64_t futex;
	uint32_t zero;
} __attribute__((packed));

/* struct bpf_waits_waker, up to its registers. */
struct with_waker {
	uint64_t ns;
	uint32_t version, owner, pid, tid, nr_kernel, nr_user;
	char comm[16];
	uint32_t nr_regs, stack_bytes;
	uint64_t reg_bits, regs[16];
};

static struct trace_futex futex;

/* Decodes a copy of exactly that length, so that a read behind it is found. */
static bool decode(const void *raw, size_t len, const struct trace_layout *l)
{
	struct trace_record r = {.kind = PERF_RECORD_SAMPLE, .has = TRACE_HAS_RAW};
	uint8_t *copy = malloc(len + 1);
	bool is_found;

	memcpy(copy, raw, len);
	r.raw = copy;
	r.raw_len = (uint32_t)len;
	futex = (struct trace_futex){.address = 0};
	is_found = trace_futex_decode(l, &r, &futex);
	free(copy);
	return is_found;
}

static const struct trace_layout layout = {.is_wait = true};
static const struct trace_layout waker_layout = {.is_wait = true, .has_waker = true};
static const struct plain plain = {7, 3, 12, 0x7f0000001008, 0};

TEST(of_versions)
{
	struct plain raw = plain;

	assert_true(decode(&raw, sizeof(raw), &layout));
	assert_int_equal(futex.address, 0x7f0000001008);
	assert_int_equal(futex.owner, 12);
	assert_false(futex.lasts);
	raw.version = 2;
	assert_true(decode(&raw, sizeof(raw), &waker_layout));
	assert_true(futex.lasts);
	for (raw.version = 0; raw.version < 8; raw.version++)
		assert_int_equal(decode(&raw, sizeof(raw), &layout),
				 raw.version == 2 || raw.version == 3);
}

TEST(beside_a_waker)
{
	struct with_waker raw = {.version = 1, .owner = 12, .nr_regs = 8};

	raw.regs[15] = 0x7f0000001008;
	assert_true(decode(&raw, sizeof(raw), &waker_layout));
	assert_int_equal(futex.address, 0x7f0000001008);
	assert_int_equal(futex.owner, 12);
	assert_false(decode(&raw, sizeof(raw), &layout));
	raw.nr_regs = 16; /* of a version that had a register there */
	assert_false(decode(&raw, sizeof(raw), &waker_layout));
}

TEST(none)
{
	struct trace_layout l = layout;
	struct trace_record r = {.kind = PERF_RECORD_SAMPLE};
	struct plain raw = plain;

	raw.futex = 0;
	assert_false(decode(&raw, sizeof(raw), &l));
	l.is_by_switches = true;
	assert_false(decode(&plain, sizeof(plain), &l));
	l = (struct trace_layout){.is_wait = false};
	assert_false(decode(&plain, sizeof(plain), &l));
	assert_false(trace_futex_decode(&layout, &r, &futex));
}

TEST(truncated)
{
	struct with_waker raw = {.version = 1, .owner = 12, .nr_regs = 8};

	raw.regs[15] = 8;
	for (size_t len = 0; len < offsetof(struct plain, zero); len++)
		assert_false(decode(&plain, len, &layout));
	for (size_t len = 0; len < sizeof(raw); len++)
		assert_false(decode(&raw, len, &waker_layout));
}
