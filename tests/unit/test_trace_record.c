/*
 * Records as the kernel lays them out (linux/perf_event.h), built word by word: each kind, each
 * field of a sample, alone, with all others and left out of all; cut, lying, and of no sense. Every
 * record stands in memory of its own size, so that a read behind it is found.
 */
#include "kit.h"
#include "test_record.h"

#include "trace/record.h"

enum { MISC_BIT_13 = 1 << 13, MISC_BIT_14 = 1 << 14, MAX_BYTES = 1 << 16 };

static struct trace_layout layout_of(const struct attr *a)
{
	uint8_t bytes[ATTR_BYTES];
	struct trace_layout l;

	attr_bytes(a, bytes);
	assert_true(trace_layout_init(&l, bytes, sizeof(bytes)));
	return l;
}

/* The bytes of the last record that was decoded: what it says points there. */
static uint8_t *memory;

static int decode(const struct trace_layout *l, const void *bytes, size_t len,
		  struct trace_record *out)
{
	free(memory);
	memory = malloc(len ? len : 1);
	assert_non_null(memory);
	if (len)
		memcpy(memory, bytes, len);
	return trace_record_decode(l, memory, len, out);
}

HOOK(after_each)
{
	free(memory);
	memory = NULL;
}

/* The fields of a sample, in the order of the ABI; what each puts down and what must come of it. */
enum { USER_REGS = 0x805, INTR_REGS = 0x3 }; /* three registers, and two */

static void put_identifier(struct buf *b)
{
	buf_le64(b, 0x1111);
}

static void check_identifier(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_ID);
	assert_int_equal(r->id, 0x1111);
}

static void put_ip(struct buf *b)
{
	buf_le64(b, 0xffffffff80123456);
}

static void check_ip(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_IP);
	assert_int_equal(r->ip, 0xffffffff80123456);
}

static void put_tid(struct buf *b)
{
	buf_le32(b, 70);
	buf_le32(b, 71);
}

static void check_tid(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_TID);
	assert_int_equal(r->pid, 70);
	assert_int_equal(r->tid, 71);
}

static void put_time(struct buf *b)
{
	buf_le64(b, 123456789012);
}

static void check_time(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_TIME);
	assert_int_equal(r->time_ns, 123456789012);
}

static void put_addr(struct buf *b)
{
	buf_le64(b, 0xadd0);
}

static void check_addr(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_ADDR);
	assert_int_equal(r->addr, 0xadd0);
}

static void put_cpu(struct buf *b)
{
	buf_le32(b, 13);
	buf_le32(b, 0xffffffff);
}

static void check_cpu(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_CPU);
	assert_int_equal(r->cpu, 13);
}

static void put_period(struct buf *b)
{
	buf_le64(b, 4321);
}

static void check_period(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_PERIOD);
	assert_int_equal(r->period, 4321);
}

/* F_GROUP | F_ENABLED | F_RUNNING | F_ID */
static void put_read(struct buf *b)
{
	const uint64_t words[] = {3, 900, 450, 10, 0x1111, 20, 0x2222, 30, 0x3333};

	for (size_t i = 0; i < NR(words); i++)
		buf_le64(b, words[i]);
}

static void check_read(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_READ);
	assert_int_equal(r->nr_read, 3);
	assert_int_equal(r->read_enabled_ns, 900);
	assert_int_equal(r->read_running_ns, 450);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(trace_word(r->read_values, i * r->read_stride), 10 * (i + 1));
}

static void put_callchain(struct buf *b)
{
	const uint64_t words[] = {5,        (uint64_t)-128, 0xffffffff81000001, (uint64_t)-512,
				  0x401000, 0x402000};

	for (size_t i = 0; i < NR(words); i++)
		buf_le64(b, words[i]);
}

static void check_callchain(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_CALLCHAIN);
	assert_int_equal(r->nr_callchain, 5);
	assert_int_equal(trace_word(r->callchain, 0), (uint64_t)-128);
	assert_int_equal(trace_word(r->callchain, 4), 0x402000);
}

static void put_raw(struct buf *b)
{
	buf_le32(b, 12);
	buf_add(b, "raw bytes...", 12);
}

static void check_raw(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_RAW);
	assert_int_equal(r->raw_len, 12);
	assert_memory_equal(r->raw, "raw bytes...", 12);
}

static void put_branches(struct buf *b)
{
	buf_le64(b, 2);
	buf_le64(b, 77); /* hw_idx */
	for (uint64_t i = 0; i < 2; i++) {
		buf_le64(b, 0x1000 + i);
		buf_le64(b, 0x2000 + i);
		buf_le64(b, 1 + i);
	}
}

static void check_branches(const struct trace_record *r)
{
	struct trace_branch b;

	assert_true(r->has & TRACE_HAS_BRANCHES && r->has & TRACE_HAS_HW_INDEX);
	assert_int_equal(r->nr_branches, 2);
	assert_int_equal(r->hw_index, 77);
	trace_record_branch(r, 1, &b);
	assert_int_equal(b.from, 0x1001);
	assert_int_equal(b.to, 0x2001);
	assert_true(b.predicted && !b.mispredicted);
}

static void put_user_regs(struct buf *b)
{
	buf_le64(b, 2);
	for (uint64_t i = 0; i < 3; i++)
		buf_le64(b, 0xabc0 + i);
}

static void check_user_regs(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_USER_REGS);
	assert_int_equal(r->regs_abi, 2);
	assert_int_equal(r->nr_regs, 3);
	assert_int_equal(trace_word(r->regs, 2), 0xabc2);
}

/* 16 bytes reserved, 9 of them dumped. */
static void put_user_stack(struct buf *b)
{
	buf_le64(b, 16);
	buf_add(b, "stack 789.......", 16);
	buf_le64(b, 9);
}

static void check_user_stack(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_USER_STACK);
	assert_int_equal(r->stack_len, 9);
	assert_memory_equal(r->stack, "stack 789", 9);
}

static void put_weight(struct buf *b)
{
	buf_le64(b, 0x0300020000000001);
}

static void check_weight(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_WEIGHT);
	assert_int_equal(r->weight, 0x0300020000000001);
	assert_int_equal(r->weight2, 0);
}

static void check_weight_struct(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_WEIGHT);
	assert_int_equal(r->weight, 1);
	assert_int_equal(r->weight2, 0x200);
	assert_int_equal(r->weight3, 0x300);
}

static void put_data_src(struct buf *b)
{
	buf_le64(b, 0x1234567);
}

static void check_data_src(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_DATA_SRC);
	assert_int_equal(r->data_src, 0x1234567);
}

static void put_intr_regs(struct buf *b)
{
	buf_le64(b, 2);
	buf_le64(b, 0xdead);
	buf_le64(b, 0xdead);
}

static void put_phys_addr(struct buf *b)
{
	buf_le64(b, 0x9999000);
}

static void check_phys_addr(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_PHYS_ADDR);
	assert_int_equal(r->phys_addr, 0x9999000);
}

static void put_other(struct buf *b)
{
	buf_le64(b, 0x0123456789abcdef);
}

static void check_stream(const struct trace_record *r)
{
	assert_true(r->has & TRACE_HAS_STREAM);
	assert_int_equal(r->stream, 0x0123456789abcdef);
}

static void check_nothing(const struct trace_record *r)
{
	(void)r;
}

static void put_aux(struct buf *b)
{
	buf_le64(b, 8);
	buf_le64(b, 0x0123456789abcdef);
}

static const struct field {
	uint32_t bit;
	void (*put)(struct buf *b);
	void (*check)(const struct trace_record *r);
} fields[] = {
    {S_IDENTIFIER, put_identifier, check_identifier},
    {S_IP, put_ip, check_ip},
    {S_TID, put_tid, check_tid},
    {S_TIME, put_time, check_time},
    {S_ADDR, put_addr, check_addr},
    {S_ID, put_identifier, check_identifier},
    {S_STREAM_ID, put_other, check_stream},
    {S_CPU, put_cpu, check_cpu},
    {S_PERIOD, put_period, check_period},
    {S_READ, put_read, check_read},
    {S_CALLCHAIN, put_callchain, check_callchain},
    {S_RAW, put_raw, check_raw},
    {S_BRANCH_STACK, put_branches, check_branches},
    {S_REGS_USER, put_user_regs, check_user_regs},
    {S_STACK_USER, put_user_stack, check_user_stack},
    {S_WEIGHT, put_weight, check_weight},
    {S_WEIGHT_STRUCT, put_weight, check_weight_struct},
    {S_DATA_SRC, put_data_src, check_data_src},
    {S_TRANSACTION, put_other, check_nothing},
    {S_REGS_INTR, put_intr_regs, check_nothing},
    {S_PHYS_ADDR, put_phys_addr, check_phys_addr},
    {S_CGROUP, put_other, check_nothing},
    {S_DATA_PAGE_SIZE, put_other, check_nothing},
    {S_CODE_PAGE_SIZE, put_other, check_nothing},
    {S_AUX, put_aux, check_nothing},
};

static struct trace_layout sample_layout(uint32_t sample_type)
{
	return layout_of(&(struct attr){.type = 1,
					.period = 1000,
					.sample_type = sample_type,
					.read_format = F_GROUP | F_ENABLED | F_RUNNING | F_ID,
					.branch_sample_type = B_HW_INDEX,
					.user_regs = USER_REGS,
					.intr_regs = INTR_REGS});
}

static void put_sample(struct buf *b, uint32_t sample_type)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	for (size_t i = 0; i < NR(fields); i++)
		if (sample_type & fields[i].bit)
			fields[i].put(b);
	record_end(b, at);
}

static void check_sample(uint32_t sample_type)
{
	struct trace_layout l = sample_layout(sample_type);
	struct trace_record r;
	struct buf b;

	buf_init(&b, MAX_BYTES);
	put_sample(&b, sample_type);
	if (decode(&l, b.data, b.len, &r))
		fail_msg("sample type %#x: refused", sample_type);
	assert_int_equal(r.kind, PERF_RECORD_SAMPLE);
	assert_int_equal(r.len, b.len);
	assert_int_equal(r.cpumode, PERF_RECORD_MISC_USER);
	if (!(sample_type & S_PERIOD))
		assert_int_equal(r.period, 1000);
	for (size_t i = 0; i < NR(fields); i++)
		if (sample_type & fields[i].bit)
			fields[i].check(&r);
	/* one word more or less is not such a sample; no byte behind is looked at */
	b.data[6] = (char)(b.data[6] + 8);
	buf_le64(&b, 0);
	assert_int_equal(decode(&l, b.data, b.len, &r), -EINVAL);
	assert_int_equal(r.len, b.len);
	buf_fini(&b);
}

static uint32_t all_fields(uint32_t weight)
{
	uint32_t all = weight;

	for (size_t i = 0; i < NR(fields); i++)
		if (!(fields[i].bit & (S_WEIGHT | S_WEIGHT_STRUCT)))
			all |= fields[i].bit;
	return all;
}

TEST(fields_of_samples)
{
	check_sample(0);
	for (size_t i = 0; i < NR(fields); i++) {
		check_sample(fields[i].bit);
		check_sample(all_fields(S_WEIGHT) & ~fields[i].bit);
	}
	check_sample(all_fields(S_WEIGHT));
	check_sample(all_fields(S_WEIGHT_STRUCT));
}

/* Cut behind each byte: never there; cut with a size that says so: read to its end at most. */
static void check_cuts(const struct trace_layout *l, const struct buf *whole, bool is_sample)
{
	struct trace_record r;

	for (size_t len = 0; len < whole->len; len++) {
		assert_int_equal(decode(l, whole->data, len, &r), -EINVAL);
		assert_int_equal(r.len, 0);
	}
	for (size_t len = 8; len < whole->len; len += 8) {
		char *copy = malloc(len);
		int rc;

		assert_non_null(copy);
		memcpy(copy, whole->data, len);
		copy[6] = (char)len;
		copy[7] = (char)(len >> 8);
		rc = decode(l, copy, len, &r);
		free(copy);
		assert_int_equal(r.len, len);
		assert_true(rc == -EINVAL || (rc == 0 && !is_sample));
		assert_true(rc == 0 || (r.has == 0 && !r.name && !r.stack));
	}
}

TEST(samples_are_cut)
{
	uint32_t types[] = {
	    all_fields(S_WEIGHT), all_fields(S_WEIGHT_STRUCT), S_STACK_USER, S_RAW, S_AUX, S_READ,
	    S_TID | S_TIME};

	for (size_t i = 0; i < NR(types); i++) {
		struct trace_layout l = sample_layout(types[i]);
		struct buf b;

		buf_init(&b, MAX_BYTES);
		put_sample(&b, types[i]);
		check_cuts(&l, &b, true);
		buf_fini(&b);
	}
}

/* With the size of another listener's sample: what is behind the fields is not read. */
TEST(samples_of_what_others_sample_too)
{
	static const struct {
		uint32_t type, config;
		int rc;
	} cases[] = {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0},
		     {PERF_TYPE_TRACEPOINT, 77, 0},
		     {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, -EINVAL},
		     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, -EINVAL}};

	for (size_t i = 0; i < NR(cases); i++) {
		struct trace_layout l = sample_layout(S_TID | S_TIME);
		struct trace_record r;
		struct buf b;

		l.type = cases[i].type;
		l.config = cases[i].config;
		buf_init(&b, MAX_BYTES);
		put_sample(&b, S_TID | S_TIME);
		assert_int_equal(decode(&l, b.data, b.len, &r), 0);
		for (int k = 0; k < 5; k++)
			buf_le64(&b, UINT64_MAX);
		b.data[6] = (char)b.len;
		assert_int_equal(decode(&l, b.data, b.len, &r), cases[i].rc);
		assert_int_equal(r.len, b.len);
		assert_true(cases[i].rc || r.has & TRACE_HAS_TIME);
		buf_fini(&b);
	}
}

/* What read(2) gives, in a sample. */
TEST(read_formats)
{
	static const struct {
		uint64_t format;
		uint64_t words[12];
		size_t nr_words;
		uint64_t nr, enabled, running, first, second;
	} rows[] = {
	    {0, {5}, 1, 1, 0, 0, 5, 0},
	    {F_ENABLED, {5, 90}, 2, 1, 90, 0, 5, 0},
	    {F_RUNNING, {5, 80}, 2, 1, 0, 80, 5, 0},
	    {F_ENABLED | F_RUNNING | F_ID | F_LOST, {5, 90, 80, 1, 2}, 5, 1, 90, 80, 5, 0},
	    {F_GROUP, {2, 5, 6}, 3, 2, 0, 0, 5, 6},
	    {F_GROUP | F_ID, {2, 5, 1, 6, 2}, 5, 2, 0, 0, 5, 6},
	    {F_GROUP | F_LOST, {2, 5, 1, 6, 2}, 5, 2, 0, 0, 5, 6},
	    {F_GROUP | F_ENABLED | F_RUNNING, {2, 90, 80, 5, 6}, 5, 2, 90, 80, 5, 6},
	    {F_GROUP | F_ENABLED | F_RUNNING | F_ID | F_LOST,
	     {2, 90, 80, 5, 1, 2, 6, 3, 4},
	     9,
	     2,
	     90,
	     80,
	     5,
	     6},
	    {F_GROUP | F_ENABLED, {0, 90}, 2, 0, 90, 0, 0, 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_layout l = layout_of(&(struct attr){.sample_type = S_READ | S_DATA_SRC,
								 .read_format = rows[i].format});
		struct trace_record r;
		struct buf b;
		size_t at;

		buf_init(&b, MAX_BYTES);
		at = record_begin(&b, PERF_RECORD_SAMPLE, 0);
		for (size_t k = 0; k < rows[i].nr_words; k++)
			buf_le64(&b, rows[i].words[k]);
		put_data_src(&b);
		record_end(&b, at);
		assert_int_equal(decode(&l, b.data, b.len, &r), 0);
		assert_int_equal(r.nr_read, rows[i].nr);
		assert_int_equal(r.read_enabled_ns, rows[i].enabled);
		assert_int_equal(r.read_running_ns, rows[i].running);
		if (r.nr_read > 0)
			assert_int_equal(trace_word(r.read_values, 0), rows[i].first);
		if (r.nr_read > 1)
			assert_int_equal(trace_word(r.read_values, r.read_stride), rows[i].second);
		check_data_src(&r);
		buf_fini(&b);
	}
}

/* Of a sample with branches: number, hw_idx, counters, as the layout and the PMU have it. */
TEST(branch_stacks)
{
	static const struct {
		uint64_t flags;
		uint64_t nr;
		bool puts_index, puts_counters; /* what is really there */
		int rc;
		uint64_t index;
	} rows[] = {
	    {0, 3, false, false, 0, UINT64_MAX},
	    {0, 0, false, false, 0, UINT64_MAX},
	    {B_HW_INDEX, 3, true, false, 0, 42},
	    {B_HW_INDEX, 0, true, false, 0, 42},
	    {B_HW_INDEX, 0, false, false, 0, UINT64_MAX}, /* the PMU gave no branches */
	    {B_HW_INDEX | B_COUNTERS, 3, true, true, 0, 42},
	    {B_COUNTERS, 3, false, true, 0, UINT64_MAX},
	    {B_HW_INDEX, 3, false, false, -EINVAL, 0},
	    {0, 3, true, false, -EINVAL, 0},
	    {B_COUNTERS, 3, false, false, -EINVAL, 0},
	    {0, 3, false, true, -EINVAL, 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_layout l =
		    layout_of(&(struct attr){.sample_type = S_TIME | S_BRANCH_STACK | S_DATA_SRC,
					     .branch_sample_type = rows[i].flags});
		struct trace_record r;
		struct trace_branch branch;
		struct buf b;
		size_t at;

		buf_init(&b, MAX_BYTES);
		at = record_begin(&b, PERF_RECORD_SAMPLE, 0);
		put_time(&b);
		buf_le64(&b, rows[i].nr);
		if (rows[i].puts_index)
			buf_le64(&b, 42);
		for (uint64_t k = 0; k < rows[i].nr; k++) {
			buf_le64(&b, 0x100 + k);
			buf_le64(&b, 0x200 + k);
			buf_le64(&b, 1);
		}
		for (uint64_t k = 0; rows[i].puts_counters && k < rows[i].nr; k++)
			buf_le64(&b, 0xffff);
		put_data_src(&b);
		record_end(&b, at);
		if (decode(&l, b.data, b.len, &r) != rows[i].rc)
			fail_msg("branches, row %zu", i);
		if (rows[i].rc == 0) {
			assert_int_equal(r.nr_branches, rows[i].nr);
			assert_int_equal(r.hw_index, rows[i].index);
			assert_true(!(r.has & TRACE_HAS_HW_INDEX) == (r.hw_index == UINT64_MAX));
			check_data_src(&r);
		}
		for (uint64_t k = 0; rows[i].rc == 0 && k < rows[i].nr; k++) {
			trace_record_branch(&r, k, &branch);
			assert_int_equal(branch.from, 0x100 + k);
			assert_int_equal(branch.to, 0x200 + k);
			assert_true(branch.mispredicted);
		}
		buf_fini(&b);
	}
}

/* Each flag of a branch alone, and all that is not it. */
TEST(branch_flags)
{
	static const struct {
		uint64_t flags;
		struct trace_branch b;
	} rows[] = {
	    {0, {.from = 1, .to = 2}},
	    {1, {1, 2, .mispredicted = true}},
	    {2, {1, 2, .predicted = true}},
	    {4, {1, 2, .in_transaction = true}},
	    {8, {1, 2, .aborted = true}},
	    {0x10, {1, 2, .cycles = 1}},
	    {0xffff0, {1, 2, .cycles = 0xffff}},
	    {0xf00000, {1, 2, .type = 15}},
	    {0x400000, {1, 2, .type = 4}},
	    {0x3000000, {1, 2, .speculation = 3}},
	    {0x3c000000, {1, 2, .new_type = 15}},
	    {0x1c0000000, {1, 2, .privilege = 7}},
	    {0x80000000, {1, 2, .privilege = 2}},
	    {0xfffffffe00000000, {1, 2}}, /* reserved */
	    {UINT64_MAX, {1, 2, true, true, true, true, 0xffff, 15, 3, 15, 7}},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		uint8_t words[24];
		struct trace_record r = {.nr_branches = 1, .branches = words};
		struct trace_branch b, zero = {0};

		put_word(words, 1);
		put_word(words + 8, 2);
		put_word(words + 16, rows[i].flags);
		b = zero;
		trace_record_branch(&r, 0, &b);
		if (b.from != 1 || b.to != 2 || b.mispredicted != rows[i].b.mispredicted ||
		    b.predicted != rows[i].b.predicted ||
		    b.in_transaction != rows[i].b.in_transaction ||
		    b.aborted != rows[i].b.aborted || b.cycles != rows[i].b.cycles ||
		    b.type != rows[i].b.type || b.speculation != rows[i].b.speculation ||
		    b.new_type != rows[i].b.new_type || b.privilege != rows[i].b.privilege)
			fail_msg("flags %#lx", (unsigned long)rows[i].flags);
	}
}

TEST(where_the_cpu_was)
{
	static const struct {
		uint16_t misc;
		uint8_t mode;
		bool is_exact;
	} rows[] = {
	    {0, PERF_RECORD_MISC_CPUMODE_UNKNOWN, false},
	    {1, PERF_RECORD_MISC_KERNEL, false},
	    {2 | MISC_BIT_14, PERF_RECORD_MISC_USER, true},
	    {3, PERF_RECORD_MISC_HYPERVISOR, false},
	    {4 | MISC_BIT_14, PERF_RECORD_MISC_GUEST_KERNEL, true},
	    {5 | MISC_BIT_13, PERF_RECORD_MISC_GUEST_USER, false},
	};
	struct trace_layout l = sample_layout(S_IP);

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_record r;
		struct buf b;
		size_t at;

		buf_init(&b, MAX_BYTES);
		at = record_begin(&b, PERF_RECORD_SAMPLE, rows[i].misc);
		put_ip(&b);
		record_end(&b, at);
		assert_int_equal(decode(&l, b.data, b.len, &r), 0);
		assert_int_equal(r.misc, rows[i].misc);
		assert_int_equal(r.cpumode, rows[i].mode);
		assert_int_equal(r.is_exact_ip, rows[i].is_exact);
		buf_fini(&b);
	}
}

/* A count or a length that is more than there is. */
TEST(counts_that_lie)
{
	static const struct {
		uint32_t field;
		uint64_t first; /* the word that lies */
		uint64_t read_format;
	} rows[] = {
	    {S_CALLCHAIN, 1ull << 61, 0},
	    {S_CALLCHAIN, UINT64_MAX, 0},
	    {S_CALLCHAIN, 4, 0},
	    {S_BRANCH_STACK, 1ull << 61, 0},
	    {S_BRANCH_STACK, UINT64_MAX / 24 + 1, 0},
	    {S_BRANCH_STACK, 2, 0},
	    {S_READ, 1ull << 61, F_GROUP},
	    {S_READ, 1ull << 60, F_GROUP | F_ID},
	    {S_READ, UINT64_MAX / 24 + 1, F_GROUP | F_ID | F_LOST},
	    {S_RAW, UINT32_MAX, 0},
	    {S_RAW, 29, 0},
	    {S_STACK_USER, UINT64_MAX, 0},
	    {S_STACK_USER, UINT64_MAX - 7, 0},
	    {S_STACK_USER, 24, 0}, /* no room for what was dumped */
	    {S_STACK_USER, 16, 0}, /* more was dumped than there is room */
	    {S_AUX, 1ull << 63, 0},
	    {S_REGS_USER, 2, 0},
	    {S_REGS_INTR, 2, 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_layout l = layout_of(&(struct attr){.sample_type = rows[i].field,
								 .read_format = rows[i].read_format,
								 .user_regs = UINT64_MAX,
								 .intr_regs = UINT64_MAX});
		struct trace_record r;
		struct buf b;
		size_t at;

		buf_init(&b, MAX_BYTES);
		at = record_begin(&b, PERF_RECORD_SAMPLE, 0);
		buf_le64(&b, rows[i].first);
		for (int k = 0; k < 3; k++)
			buf_le64(&b, UINT64_MAX / 2);
		record_end(&b, at);
		if (decode(&l, b.data, b.len, &r) != -EINVAL)
			fail_msg("row %zu: believed", i);
		assert_int_equal(r.len, b.len);
		assert_int_equal(r.has, 0);
		buf_fini(&b);
	}
}

/* No registers, no stack: one word each. */
TEST(nothing_to_dump)
{
	struct trace_layout l = sample_layout(S_REGS_USER | S_STACK_USER | S_REGS_INTR);
	struct trace_record r;
	struct buf b;
	size_t at;

	buf_init(&b, MAX_BYTES);
	at = record_begin(&b, PERF_RECORD_SAMPLE, 0);
	buf_fill(&b, 0, 24);
	record_end(&b, at);
	assert_int_equal(decode(&l, b.data, b.len, &r), 0);
	assert_int_equal(r.regs_abi, 0);
	assert_null(r.regs);
	assert_null(r.stack);
	assert_int_equal(r.nr_regs + r.stack_len, 0);
	buf_fini(&b);
}

/* The other kinds: what stands behind the header, and what must come of it. */
static void put_mmap(struct buf *b)
{
	put_tid(b);
	buf_le64(b, 0x400000);
	buf_le64(b, 0x2000);
	buf_le64(b, 0x1000);
}

static void put_mmap_name(struct buf *b)
{
	put_mmap(b);
	record_name(b, "/bin/true");
}

static void check_mmap(const struct trace_record *r)
{
	assert_int_equal(r->pid, 70);
	assert_int_equal(r->tid, 71);
	assert_int_equal(r->start, 0x400000);
	assert_int_equal(r->length, 0x2000);
	assert_int_equal(r->offset, 0x1000);
	assert_string_equal(r->name, "/bin/true");
}

static void put_mmap2(struct buf *b)
{
	put_mmap(b);
	buf_le32(b, 8);
	buf_le32(b, 1);
	buf_le64(b, 1234);
	buf_le64(b, 5678);
	buf_le32(b, 5);
	buf_le32(b, 2);
	record_name(b, "/bin/true");
}

static void check_mmap2(const struct trace_record *r)
{
	check_mmap(r);
	assert_int_equal(r->major, 8);
	assert_int_equal(r->minor, 1);
	assert_int_equal(r->inode, 1234);
	assert_int_equal(r->inode_generation, 5678);
	assert_int_equal(r->prot, 5);
	assert_int_equal(r->flags, 2);
	assert_int_equal(r->build_id_len, 0);
}

static void put_build_id(struct buf *b)
{
	put_mmap(b);
	buf_le32(b, 20);
	buf_add(b, "abcdefghijklmnopqrst", 20);
	buf_le32(b, 5);
	buf_le32(b, 2);
	record_name(b, "/bin/true");
}

static void check_build_id(const struct trace_record *r)
{
	check_mmap(r);
	assert_int_equal(r->build_id_len, 20);
	assert_memory_equal(r->build_id, "abcdefghijklmnopqrst", 20);
	assert_int_equal(r->inode, 0);
	assert_int_equal(r->prot, 5);
}

static void put_lost(struct buf *b)
{
	buf_le64(b, 0x2222);
	buf_le64(b, 99);
}

static void check_lost(const struct trace_record *r)
{
	assert_int_equal(r->lost, 99);
	assert_int_equal(r->id, 0x2222);
	assert_true(r->has & TRACE_HAS_ID);
}

static void put_comm(struct buf *b)
{
	put_tid(b);
	record_name(b, "a name\x1b");
}

static void check_comm(const struct trace_record *r)
{
	assert_int_equal(r->pid, 70);
	assert_string_equal(r->name, "a name\x1b");
}

static void put_task(struct buf *b)
{
	const uint32_t words[] = {70, 60, 71, 61};

	for (size_t i = 0; i < NR(words); i++)
		buf_le32(b, words[i]);
	buf_le64(b, 5555);
}

static void check_task(const struct trace_record *r)
{
	assert_int_equal(r->pid, 70);
	assert_int_equal(r->ppid, 60);
	assert_int_equal(r->tid, 71);
	assert_int_equal(r->ptid, 61);
	assert_int_equal(r->time_ns, 5555);
	assert_true(r->has & TRACE_HAS_TIME);
}

static void put_throttle(struct buf *b)
{
	buf_le64(b, 5555);
	buf_le64(b, 0x2222);
	buf_le64(b, 0x3333);
}

static void check_throttle(const struct trace_record *r)
{
	assert_int_equal(r->time_ns, 5555);
	assert_int_equal(r->id, 0x2222);
}

static void put_counts(struct buf *b)
{
	put_tid(b);
	buf_le64(b, 17);
	buf_le64(b, 90);
	buf_le64(b, 80);
}

static void check_counts(const struct trace_record *r)
{
	assert_int_equal(r->pid, 70);
	assert_true(r->has & TRACE_HAS_READ);
	assert_int_equal(r->nr_read, 1);
	assert_int_equal(trace_word(r->read_values, 0), 17);
	assert_int_equal(r->read_enabled_ns, 90);
	assert_int_equal(r->read_running_ns, 80);
}

static void put_three(struct buf *b)
{
	buf_le64(b, 0x1000);
	buf_le64(b, 0x2000);
	buf_le64(b, 3);
}

static void check_aux(const struct trace_record *r)
{
	assert_int_equal(r->offset, 0x1000);
	assert_int_equal(r->length, 0x2000);
	assert_int_equal(r->flags, 3);
}

static void check_own_tid(const struct trace_record *r)
{
	assert_int_equal(r->pid, 70);
	assert_int_equal(r->tid, 71);
}

static void check_other_tid(const struct trace_record *r)
{
	assert_int_equal(r->ppid, 70);
	assert_int_equal(r->ptid, 71);
}

static void put_deferred(struct buf *b)
{
	buf_le64(b, 77);
	buf_le64(b, 2);
	buf_le64(b, PERF_CONTEXT_USER);
	buf_le64(b, 0x1234);
}

static void check_deferred(const struct trace_record *r)
{
	assert_int_equal(r->object, 77);
	assert_int_equal(r->nr_callchain, 2);
	assert_int_equal(trace_word(r->callchain, 1), 0x1234);
}

static void put_lost_samples(struct buf *b)
{
	buf_le64(b, 99);
}

static void check_lost_samples(const struct trace_record *r)
{
	assert_int_equal(r->lost, 99);
}

static void put_nothing(struct buf *b)
{
	(void)b;
}

static void put_namespaces(struct buf *b)
{
	put_tid(b);
	buf_le64(b, 2);
	buf_fill(b, 1, 32);
}

static void put_ksymbol(struct buf *b)
{
	buf_le64(b, 0xffffffffc0000000);
	buf_le32(b, 300);
	buf_le16(b, 1);
	buf_le16(b, 1);
	record_name(b, "bpf_prog_1");
}

static void check_ksymbol(const struct trace_record *r)
{
	assert_int_equal(r->start, 0xffffffffc0000000);
	assert_int_equal(r->length, 300);
	assert_int_equal(r->type, 1);
	assert_int_equal(r->flags, 1);
	assert_string_equal(r->name, "bpf_prog_1");
}

static void put_bpf(struct buf *b)
{
	buf_le16(b, 2);
	buf_le16(b, 4);
	buf_le32(b, 77);
	buf_le64(b, 0x7a67);
}

static void check_bpf(const struct trace_record *r)
{
	assert_int_equal(r->type, 2);
	assert_int_equal(r->flags, 4);
	assert_int_equal(r->object, 77);
}

static void put_cgroup(struct buf *b)
{
	buf_le64(b, 77);
	record_name(b, "/user.slice");
}

static void check_cgroup(const struct trace_record *r)
{
	assert_int_equal(r->object, 77);
	assert_string_equal(r->name, "/user.slice");
}

static void put_text_poke(struct buf *b)
{
	buf_le64(b, 0xffffffff81000000);
	buf_le16(b, 5);
	buf_le16(b, 7);
	buf_fill(b, 1, 12);
}

static void check_text_poke(const struct trace_record *r)
{
	assert_int_equal(r->start, 0xffffffff81000000);
	assert_int_equal(r->length, 7);
}

static void put_hw_id(struct buf *b)
{
	buf_le64(b, 77);
}

static void check_hw_id(const struct trace_record *r)
{
	assert_int_equal(r->object, 77);
}

static const struct kind {
	uint32_t kind;
	uint16_t misc;
	const char *name; /* NULL: unknown */
	void (*put)(struct buf *b);
	void (*check)(const struct trace_record *r);
} kinds[] = {
    {1, 0, "mmap", put_mmap_name, check_mmap},
    {2, 0, "lost", put_lost, check_lost},
    {3, MISC_BIT_13, "comm", put_comm, check_comm},
    {4, 0, "exit", put_task, check_task},
    {5, 0, "throttle", put_throttle, check_throttle},
    {6, 0, "unthrottle", put_throttle, check_throttle},
    {7, 0, "fork", put_task, check_task},
    {8, 0, "read", put_counts, check_counts},
    {10, 0, "mmap2", put_mmap2, check_mmap2},
    {10, MISC_BIT_14, "mmap2", put_build_id, check_build_id},
    {11, 0, "aux", put_three, check_aux},
    {12, 0, "itrace_start", put_tid, check_own_tid},
    {13, 0, "lost_samples", put_lost_samples, check_lost_samples},
    {14, 0, "switch", put_nothing, check_nothing},
    {15, 0, "switch_cpu_wide", put_tid, check_other_tid},
    {16, 0, "namespaces", put_namespaces, check_own_tid},
    {17, 0, "ksymbol", put_ksymbol, check_ksymbol},
    {18, 0, "bpf_event", put_bpf, check_bpf},
    {19, 0, "cgroup", put_cgroup, check_cgroup},
    {20, 0, "text_poke", put_text_poke, check_text_poke},
    {21, 0, "aux_output_hw_id", put_hw_id, check_hw_id},
    {22, 0, "callchain_deferred", put_deferred, check_deferred},
    {23, 0, NULL, put_three, check_nothing},
    {0, 0, NULL, put_three, check_nothing},
    {UINT32_MAX, 0, NULL, put_three, check_nothing},
};

/* struct sample_id; what a record says itself of task, time and id is another's. */
static void put_id(struct buf *b, bool has_cpu)
{
	record_id(b, 170, 171, 6666);
	if (!has_cpu)
		return;
	buf_le64(b, 0x1110); /* id */
	buf_le64(b, 0x1110); /* stream */
	put_cpu(b);
	buf_le64(b, 0x1111); /* identifier */
}

static void check_kind(const struct kind *k, uint32_t sample_type, bool has_id)
{
	struct trace_layout l =
	    layout_of(&(struct attr){.period = 1000,
				     .sample_type = sample_type | S_IP | S_CALLCHAIN | S_PERIOD,
				     .read_format = F_ENABLED | F_RUNNING,
				     .bits = has_id ? ATTR_SAMPLE_ID_ALL : 0});
	struct trace_record r;
	struct buf b;
	size_t at;

	buf_init(&b, MAX_BYTES);
	at = record_begin(&b, k->kind, k->misc);
	k->put(&b);
	if (has_id)
		put_id(&b, sample_type & S_CPU);
	record_end(&b, at);
	if (decode(&l, b.data, b.len, &r))
		fail_msg("kind %u: refused", k->kind);
	assert_int_equal(r.kind, k->kind);
	assert_int_equal(r.misc, k->misc);
	assert_int_equal(r.len, b.len);
	assert_false(r.is_exact_ip);
	assert_ptr_equal(r.bytes, memory);
	k->check(&r);
	if (k->name && has_id && sample_type & S_CPU)
		check_cpu(&r);
	if (k->name && has_id)
		assert_true(r.has & TRACE_HAS_TID && r.has & TRACE_HAS_TIME &&
			    (r.time_ns == 6666 || r.time_ns == 5555));
	else
		assert_false(r.has & TRACE_HAS_TID);
	if (!k->name)
		assert_int_equal(r.has, 0);
	if (k->name)
		check_cuts(&l, &b, false);
	buf_fini(&b);
}

TEST(kinds_of_records)
{
	enum { ALL = S_TID | S_TIME | S_ID | S_STREAM_ID | S_CPU | S_IDENTIFIER };

	for (size_t i = 0; i < NR(kinds); i++) {
		const char *name = trace_record_kind_name(kinds[i].kind);

		assert_true(!name == !kinds[i].name);
		if (name)
			assert_string_equal(name, kinds[i].name);
		check_kind(&kinds[i], ALL, false);
		check_kind(&kinds[i], S_TID | S_TIME, true);
		check_kind(&kinds[i], ALL, true);
	}
	assert_string_equal(trace_record_kind_name(PERF_RECORD_SAMPLE), "sample");
}

/* The kernel's length of these records may be too large by the ids of other listeners: the id is
 * where it is written, and what follows is the ring's past. */
TEST(records_longer_than_written)
{
	static const uint32_t which[] = {PERF_RECORD_KSYMBOL, PERF_RECORD_BPF_EVENT,
					 PERF_RECORD_TEXT_POKE};
	struct trace_layout l =
	    layout_of(&(struct attr){.period = 1000,
				     .sample_type = S_TID | S_TIME | S_IDENTIFIER,
				     .bits = ATTR_SAMPLE_ID_ALL});
	struct trace_place place;

	trace_layout_id_place(&l, &place);
	for (size_t i = 0; i < NR(which); i++) {
		const struct kind *k = kinds;
		struct trace_record r;
		struct buf b;
		size_t at;

		while (k->kind != which[i])
			k++;
		buf_init(&b, MAX_BYTES);
		at = record_begin(&b, k->kind, 0);
		k->put(&b);
		record_id(&b, 170, 171, 6666);
		buf_le64(&b, 0x1111);
		buf_fill(&b, 'x', 24);
		record_end(&b, at);
		assert_int_equal(decode(&l, b.data, b.len, &r), 0);
		k->check(&r);
		assert_int_equal(r.pid, 170);
		assert_int_equal(r.time_ns, 6666);
		assert_int_equal(r.id, 0x1111);
		assert_int_equal(r.len, b.len);
		assert_int_equal(trace_record_word(&place, (const uint8_t *)b.data, b.len), 0x1111);
		buf_fini(&b);
	}
}

/* A name that ends in the id behind it only. */
TEST(name_into_id)
{
	struct trace_layout l;
	struct trace_record r;
	struct buf b;
	size_t at;

	trace_layout_side_band(&l, true);
	buf_init(&b, MAX_BYTES);
	at = record_begin(&b, PERF_RECORD_COMM, 0);
	put_tid(&b);
	buf_adds(&b, "16 bytes of name");
	record_id(&b, 1, 2, 6666);
	record_end(&b, at);
	assert_int_equal(decode(&l, b.data, b.len, &r), -EINVAL);
	buf_fini(&b);
}

/* Bodies that the kernel does not write. */
TEST(bodies_that_lie)
{
	static const struct {
		const char *name;
		uint32_t kind;
		uint16_t misc;
		uint64_t words[12];
		size_t nr;
	} rows[] = {
	    {"name without an end", 3, 0, {0, 0x4141414141414141}, 2},
	    {"no name", 3, 0, {0}, 1},
	    {"path without an end", 1, 0, {0, 0, 0, 0, UINT64_MAX}, 5},
	    {"build id too long", 10, MISC_BIT_14, {0, 0, 0, 0, 21, 0, 0, 0, 0}, 9},
	    {"build id far too long", 10, MISC_BIT_14, {0, 0, 0, 0, 255, 0, 0, 0, 0}, 9},
	    {"namespaces", 16, 0, {0, 1ull << 61, 0}, 3},
	    {"namespaces, one more", 16, 0, {0, 1, 0}, 3},
	    {"text poke", 20, 0, {0, UINT64_MAX, 0}, 3},
	    {"cgroup path", 19, 0, {1, UINT64_MAX}, 2},
	    {"symbol", 17, 0, {1, 1, UINT64_MAX}, 3},
	    {"nothing", 2, 0, {0}, 0},
	};
	struct trace_layout l =
	    layout_of(&(struct attr){.sample_type = S_TID, .bits = ATTR_BUILD_ID});
	struct trace_layout with_id = layout_of(&(struct attr){
	    .sample_type = S_TID | S_TIME, .bits = ATTR_SAMPLE_ID_ALL | ATTR_BUILD_ID});

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_record r;
		struct buf b;
		size_t at;

		buf_init(&b, MAX_BYTES);
		at = record_begin(&b, rows[i].kind, rows[i].misc);
		for (size_t k = 0; k < rows[i].nr; k++)
			buf_le64(&b, rows[i].words[k]);
		record_end(&b, at);
		if (decode(&l, b.data, b.len, &r) != -EINVAL)
			fail_msg("%s: believed", rows[i].name);
		assert_int_equal(r.len, b.len);
		assert_int_equal(r.kind, rows[i].kind);
		if (decode(&with_id, b.data, b.len, &r) != -EINVAL)
			fail_msg("%s: believed with an id", rows[i].name);
		buf_fini(&b);
	}
}

/* The bit of another listener's: the event that did not ask has device and inode. Whatever the
 * numbers are: a length of 8, none, more than there may be. But no device has four bytes of an id
 * for its number. */
TEST(bits_of_others)
{
	static const struct {
		uint32_t major, minor;
		uint64_t bits;
		bool is_id;
	} rows[] = {
	    {8, 1, 0, false},
	    {254, 0, 0, false},
	    {0, 47, 0, false},
	    {20, 0xfffff, 0, false},
	    {20, 0x100000, 0, true},
	    {21, 0x100000, 0, false},
	    {20, 1, ATTR_BUILD_ID, true},
	    {0, 0, ATTR_BUILD_ID, true},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_layout l =
		    layout_of(&(struct attr){.sample_type = S_TID, .bits = rows[i].bits});
		struct trace_record r;
		struct buf b;
		size_t at;

		buf_init(&b, MAX_BYTES);
		at = record_begin(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | MISC_BIT_14);
		put_mmap(&b);
		buf_le32(&b, rows[i].major);
		buf_le32(&b, rows[i].minor);
		buf_le64(&b, 1234);
		buf_le64(&b, 5678);
		buf_le64(&b, 5);
		record_name(&b, "/bin/true");
		record_end(&b, at);
		print_message("%u:%u\n", rows[i].major, rows[i].minor);
		assert_int_equal(decode(&l, b.data, b.len, &r), 0);
		check_mmap(&r);
		assert_int_equal(r.misc, PERF_RECORD_MISC_USER | (rows[i].is_id ? MISC_BIT_14 : 0));
		assert_int_equal(r.build_id_len, rows[i].is_id ? rows[i].major : 0);
		assert_int_equal(r.inode, rows[i].is_id ? 0 : 1234);
		assert_int_equal(r.major, rows[i].is_id ? 0 : rows[i].major);
		buf_fini(&b);
	}
}

TEST(sizes)
{
	static const struct {
		uint16_t says;
		size_t len, size;
	} rows[] = {
	    {0, 64, 0},  {7, 64, 0},     {8, 64, 8},     {8, 8, 8},   {8, 7, 0},
	    {9, 64, 0},  {12, 64, 0},    {16, 64, 16},   {16, 15, 0}, {64, 64, 64},
	    {72, 64, 0}, {65535, 64, 0}, {65528, 64, 0}, {16, 0, 0},
	};
	struct trace_layout l = sample_layout(0);

	for (size_t i = 0; i < NR(rows); i++) {
		uint8_t bytes[64] = {
		    14, 0, 0, 0, 0, 0, (uint8_t)rows[i].says, (uint8_t)(rows[i].says >> 8)};
		struct trace_record r;
		uint32_t kind = 99;

		if (decode(&l, bytes, rows[i].len, &r) != (rows[i].size ? 0 : -EINVAL) ||
		    r.len != rows[i].size ||
		    trace_record_size(memory, rows[i].len, &kind) != rows[i].size)
			fail_msg("size %u of %zu", rows[i].says, rows[i].len);
		assert_int_equal(kind, rows[i].size ? 14 : 99);
	}
}

TEST(identifiers)
{
	static const struct trace_layout l = {.sample_type = S_IDENTIFIER | S_TID};
	uint8_t bytes[32] = {0};
	struct trace_place place;

	trace_layout_id_place(&l, &place);
	for (uint8_t i = 0; i < 4; i++)
		bytes[8 * (size_t)i] = (uint8_t)(i + 1);
	bytes[0] = PERF_RECORD_SAMPLE;
	bytes[6] = 32;
	assert_int_equal(trace_record_word(&place, bytes, 32), 2);
	bytes[0] = PERF_RECORD_COMM;
	assert_int_equal(trace_record_word(&place, bytes, 32), 4);
	bytes[6] = 16;
	assert_int_equal(trace_record_word(&place, bytes, 32), 2);
	bytes[6] = 8;
	assert_int_equal(trace_record_word(&place, bytes, 32), 0);
	assert_int_equal(trace_record_word(&place, bytes, 7), 0);
}

/* Where words stand that one asks for: as the kernel writes them. */
TEST(places)
{
	static const struct {
		uint64_t type;
		struct trace_place id, time;
	} rows[] = {
	    {S_IDENTIFIER | S_IP | S_TID | S_TIME, {0, 1, true}, {3, 2, true}},
	    {S_IP | S_TID | S_TIME | S_ADDR | S_ID | S_CPU | S_PERIOD, {4, 2, true}, {2, 3, true}},
	    {S_IP | S_TID | S_ID | S_STREAM_ID | S_CPU, {2, 3, true}, {2, 4, false}},
	    {S_TID | S_TIME, {2, 1, false}, {1, 1, true}},
	    {S_TID | S_TIME | S_ID | S_IDENTIFIER, {0, 1, true}, {2, 3, true}},
	    {S_TID, {1, 1, false}, {1, 1, false}},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		const struct trace_layout l = {.sample_type = rows[i].type};
		struct trace_place p;

		trace_layout_id_place(&l, &p);
		assert_int_equal(p.is_there, rows[i].id.is_there);
		if (p.is_there &&
		    (p.of_sample != rows[i].id.of_sample || p.of_other != rows[i].id.of_other))
			fail_msg("id of row %zu: %u %u", i, p.of_sample, p.of_other);
		trace_layout_place(&l, PERF_ABI_TIME, &p);
		assert_int_equal(p.is_there, rows[i].time.is_there);
		if (p.is_there &&
		    (p.of_sample != rows[i].time.of_sample || p.of_other != rows[i].time.of_other))
			fail_msg("time of row %zu: %u %u", i, p.of_sample, p.of_other);
	}
}

TEST(attrs)
{
	uint8_t bytes[ATTR_BYTES];
	struct trace_layout l = {.type = 4711};
	struct attr a = {.type = 2,
			 .period = 50,
			 .sample_type = S_TID | S_IDENTIFIER,
			 .read_format = F_ID,
			 .bits = ATTR_SAMPLE_ID_ALL,
			 .branch_sample_type = B_HW_INDEX,
			 .user_regs = 7,
			 .intr_regs = 3};
	static const struct {
		size_t at;
		uint64_t word;
		size_t len;
	} refused[] = {
	    {0, 2 | 63ull << 32, ATTR_BYTES},
	    {0, 2 | 136ull << 32, ATTR_BYTES},
	    {0, 2, ATTR_BYTES},
	    {0, 2 | (uint64_t)ATTR_BYTES << 32, ATTR_BYTES - 1},
	    {24, 1ull << 25, ATTR_BYTES},
	    {24, 1ull << 63, ATTR_BYTES},
	    {32, 1ull << 5, ATTR_BYTES},
	    {72, 1ull << 20, ATTR_BYTES},
	    {0, 0, 0},
	    {0, 0, 7},
	};

	for (size_t i = 0; i < NR(refused); i++) {
		attr_bytes(&a, bytes);
		put_word(bytes + refused[i].at, refused[i].word);
		assert_false(trace_layout_init(&l, bytes, refused[i].len));
		assert_int_equal(l.type, 4711);
	}
	attr_bytes(&a, bytes);
	assert_true(trace_layout_init(&l, bytes, sizeof(bytes)));
	assert_true(l.type == 2 && l.period == 50 && !l.is_freq && l.has_sample_id);
	assert_true(l.nr_user_regs == 3 && l.user_regs == 7 && l.nr_intr_regs == 2);
	assert_int_equal(l.branch_sample_type, B_HW_INDEX);
	assert_true(trace_layout_is_sampled(&l) && trace_layout_has_id(&l));
	assert_int_equal(l.max_stack, 0);
	bytes[offsetof(struct perf_event_attr, sample_max_stack)] = 200;
	assert_true(trace_layout_init(&l, bytes, sizeof(bytes)));
	assert_int_equal(l.max_stack, 200);
	/* an older attr ends before the registers */
	put_word(bytes, 2 | 64ull << 32);
	assert_true(trace_layout_init(&l, bytes, 64));
	assert_int_equal(l.nr_user_regs + l.branch_sample_type, 0);
	a.bits = ATTR_FREQ;
	a.sample_type = S_TID;
	attr_bytes(&a, bytes);
	assert_true(trace_layout_init(&l, bytes, sizeof(bytes)));
	assert_true(l.is_freq && l.period == 0 && !l.has_sample_id);
	assert_true(trace_layout_is_sampled(&l) && !trace_layout_has_id(&l));
	a.period = 0;
	attr_bytes(&a, bytes);
	assert_true(trace_layout_init(&l, bytes, sizeof(bytes)));
	assert_false(trace_layout_is_sampled(&l));
}

TEST(side_band)
{
	struct trace_layout l;
	struct trace_record r;
	struct buf b;
	size_t at;

	trace_layout_side_band(&l, false); /* the kernel's may be marked for others' sake */
	assert_false(l.has_build_id);
	trace_layout_side_band(&l, true);
	assert_true(l.has_build_id);
	buf_init(&b, MAX_BYTES);
	at = record_begin(&b, PERF_RECORD_COMM, 0);
	put_comm(&b);
	record_id(&b, 1, 2, 6666);
	record_end(&b, at);
	assert_int_equal(decode(&l, b.data, b.len, &r), 0);
	check_comm(&r);
	assert_int_equal(r.time_ns, 6666);
	assert_false(trace_layout_is_sampled(&l));
	buf_fini(&b);
}

/* A clock that its tasks inherit, of which clocks of the CPUs sample; or of which the rest is made.
 */
TEST(selected)
{
	static const struct {
		uint64_t config, config1;
		bool is_selected, is_completed;
	} cases[] = {{0, 0x63740000, true, false},  {1, 0x63740000, true, false},
		     {2, 0x63740000, false, false}, {0, 0, false, false},
		     {0, 0x63740001, false, true},  {1, 0x63740001, false, true},
		     {2, 0x63740001, false, false}, {0, 0x63740002, false, false}};

	for (size_t i = 0; i < NR(cases); i++) {
		const struct attr of = {.type = 1, .config = cases[i].config, .period = 1000000};
		uint8_t bytes[ATTR_BYTES];
		struct trace_layout l;

		attr_bytes(&of, bytes);
		put_word(bytes + 56, cases[i].config1);
		assert_true(trace_layout_init(&l, bytes, sizeof(bytes)));
		assert_int_equal(l.is_selected, cases[i].is_selected);
		assert_int_equal(l.is_completed, cases[i].is_completed);
	}
}

/* A sample of a wait: its weight is that of the length in its raw data; of another event
 * bpf_output it is the period. */
TEST(wait)
{
	static const struct {
		uint64_t config, config1, period;
		bool is_wait;
	} cases[] = {{10, 0x63707500, 1581977, true},
		     {10, 0x63707501, 1581977, true},
		     {10, 0, 1000000, false},
		     {10, 0x63707503, 1000000, false},
		     {9, 0x63707500, 1000000, false}};
	const struct attr a = {.type = 1, .period = 1000000, .sample_type = S_CALLCHAIN | S_RAW};

	for (size_t i = 0; i < NR(cases); i++) {
		struct attr of = a;
		uint8_t bytes[ATTR_BYTES];
		struct trace_layout l;
		struct trace_record r;
		struct buf b;
		size_t at;

		of.config = cases[i].config;
		attr_bytes(&of, bytes);
		put_word(bytes + 56, cases[i].config1);
		assert_true(trace_layout_init(&l, bytes, sizeof(bytes)));
		assert_int_equal(l.is_wait, cases[i].is_wait);
		buf_init(&b, MAX_BYTES);
		at = record_begin(&b, PERF_RECORD_SAMPLE, 0);
		buf_le64(&b, 1);
		buf_le64(&b, 0x1234);
		buf_le32(&b, 12);
		buf_le64(&b, 1000000);
		buf_le32(&b, 0);
		record_end(&b, at);
		assert_int_equal(decode(&l, b.data, b.len, &r), 0);
		assert_int_equal(r.period, cases[i].period);
		assert_int_equal(!!(r.has & TRACE_HAS_PERIOD), cases[i].is_wait);
		buf_fini(&b);
	}
}

/* A call that was sampled when it ended has its function, and return addresses at their place. */
TEST(ended_calls)
{
	enum { TRAMPOLINE = 0x7f00, SP = 0x1000, RETURNS = PERF_ABI_ENDED_RETURNS };
	static uint8_t raw[RETURNS + 4 * 8];
	const uint64_t words[] = {TRAMPOLINE, 1, SP, 9}, function = htole64(0x401000);
	struct trace_layout l = {.is_of_ended = true, .has_returns = true};
	struct trace_record r = {.has = TRACE_HAS_RAW, .returns_at = RETURNS};
	uint64_t to = 0;

	memcpy(raw + 8, &function, sizeof(function));
	for (size_t i = 0; i < NR(words); i++) {
		uint64_t word = htole64(words[i]);

		memcpy(raw + RETURNS + i * sizeof(word), &word, sizeof(word));
	}
	for (uint32_t len = 0; len <= sizeof(raw); len += 8) {
		r.raw = memcpy(test_malloc(len + 1), raw, len);
		r.raw_len = len;
		assert_int_equal(trace_returns_find(&r, TRAMPOLINE, SP, &to), len == sizeof(raw));
		assert_int_equal(trace_record_ended(&l, &r, &to), len >= 16);
		test_free((void *)r.raw);
	}
	r.raw = raw;
	assert_true(trace_returns_find(&r, TRAMPOLINE, SP, &to) && to == 9);
	assert_true(trace_record_ended(&l, &r, &to) && to == 0x401000);
	l.is_of_ended = false;
	assert_false(trace_record_ended(&l, &r, &to));
}

/* Hostile numbers read nothing beyond the raw data; of two at one place the last one counts, which
 * is of the call that began last. */
TEST(returns)
{
	enum { TRAMPOLINE = 0x7f00, SP = 0x1000 };
	const uint64_t words[] = {TRAMPOLINE, 3, SP, 1, SP - 16, 2, SP, 3};
	uint64_t copy[NR(words)], to = 0;
	struct trace_record r = {.has = TRACE_HAS_RAW, .raw_len = sizeof(words)};

	for (size_t i = 0; i < NR(words); i++)
		copy[i] = htole64(words[i]);
	r.raw = (const uint8_t *)copy;
	assert_true(trace_returns_find(&r, TRAMPOLINE, SP, &to) && to == 3);
	assert_true(trace_returns_find(&r, TRAMPOLINE, SP - 8, &to) && to == 2);
	assert_true(trace_returns_find(&r, TRAMPOLINE, SP + 8, &to) && to == 3);
	assert_false(trace_returns_find(&r, TRAMPOLINE, SP + 16, &to));
	assert_false(trace_returns_find(&r, TRAMPOLINE + 1, SP, &to));
	assert_false(trace_returns_find(&r, 0, SP, &to));
	copy[1] = htole64(UINT64_MAX);
	assert_true(trace_returns_find(&r, TRAMPOLINE, SP, &to) && to == 3);
	for (uint32_t len = 0; len < sizeof(words); len++) {
		r.raw = memcpy(test_malloc(len + 1), copy, len);
		r.raw_len = len;
		assert_int_equal(trace_returns_find(&r, TRAMPOLINE, SP, &to), len >= 32);
		test_free((void *)r.raw);
	}
	r.has = 0;
	assert_false(trace_returns_find(&r, TRAMPOLINE, SP, &to));
}
