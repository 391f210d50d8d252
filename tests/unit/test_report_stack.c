/*
 * The addresses of a sample's stack, from what it holds. The unwinder is one of the test: what it
 * was asked and what it answers.
 */
#include "kit.h"

#include "base/buf.h"
#include "profile/samples.h"
#include "report/stack.h"

#define KERNEL       ((uint64_t)-128)
#define USER         ((uint64_t)-512)
#define HYPERVISOR   ((uint64_t)-32)
#define GUEST        ((uint64_t)-2048)
#define GUEST_KERNEL ((uint64_t)-2176)
#define GUEST_USER   ((uint64_t)-2560)
#define K            0xffffffff81000000
#define U            0x400000

enum { MAX_WORDS = 16, MAX_ANSWER = 2000 };

/* What unwinds. */
struct unwinder {
	unsigned nr_asked, nr_leaf_asked;
	size_t max;
	/* the answers */
	uint64_t address[MAX_ANSWER];
	size_t nr;
	uint64_t exact; /* of the first 64 */
	enum unwind_end end;
	uint64_t leaf_caller;
	bool is_lacking_whole, is_shaped;
};

bool unwinder_refutes_chain(const struct unwinder *u)
{
	return u->is_shaped;
}

size_t unwind_user(struct unwinder *u, const void *process, uint64_t time_ns,
		   const struct trace_layout *layout, const struct trace_record *sample,
		   uint64_t *out, size_t max, uint64_t *exact, enum unwind_end *end)
{
	size_t nr = u->nr < max ? u->nr : max;

	(void)process;
	assert_int_equal(time_ns, 77);
	assert_non_null(layout);
	assert_non_null(sample);
	u->nr_asked++;
	u->max = max;
	memcpy(out, u->address, nr * sizeof(*out));
	memset(exact, 0, (max + 63) / 64 * sizeof(*exact));
	if (max >= 64)
		exact[0] = u->exact;
	*end = u->end;
	return nr;
}

size_t unwind_to_chain(struct unwinder *u, const void *process, uint64_t time_ns,
		       const struct trace_layout *layout, const struct trace_record *sample,
		       uint64_t *out, size_t max, bool *is_whole)
{
	assert_true(max > 0);
	*is_whole = u->is_lacking_whole;
	(void)process;
	(void)layout;
	(void)sample;
	assert_int_equal(time_ns, 77);
	u->nr_leaf_asked++;
	*out = u->leaf_caller;
	return u->leaf_caller != 0;
}

static void assert_stack(const char *name, const struct report_stack *s, const uint64_t *want,
			 size_t nr, size_t nr_kernel)
{
	if (s->nr != nr || s->nr_kernel != nr_kernel)
		fail_msg("%s: %zu addresses, %zu of the kernel", name, s->nr, s->nr_kernel);
	for (size_t i = 0; i < nr; i++)
		if (s->address[i] != want[i])
			fail_msg("%s: [%zu] is 0x%llx", name, i, (unsigned long long)s->address[i]);
}

static const struct trace_layout layout;

static struct profile_sample sample_of(struct trace_record r)
{
	r.kind = PERF_RECORD_SAMPLE;
	return (struct profile_sample){.layout = &layout, .record = r, .time_ns = 77, .weight = 1};
}

static struct trace_record chain_of(uint8_t mode, const uint64_t *words, size_t nr,
				    struct buf *bytes)
{
	buf_reset(bytes);
	buf_addc(bytes, 0); /* nothing is aligned */
	for (size_t i = 0; i < nr; i++)
		buf_le64(bytes, words[i]);
	return (struct trace_record){.has = TRACE_HAS_CALLCHAIN,
				     .cpumode = (uint8_t)mode,
				     .nr_callchain = nr,
				     .callchain = (const uint8_t *)bytes->data + 1};
}

static const struct {
	const char *name;
	uint8_t mode;
	uint64_t ip; /* 0: the sample has none */
	uint64_t words[MAX_WORDS], want[MAX_WORDS];
	size_t nr, nr_kernel;
} chains[] = {
    {"kernel and user",
     PERF_RECORD_MISC_KERNEL,
     K + 1,
     {KERNEL, K + 1, K + 2, USER, U + 1, U + 2, U + 3},
     {K + 1, K + 1, U + 1, U + 1, U + 2},
     5,
     2},
    {"user", PERF_RECORD_MISC_USER, U + 9, {USER, U + 9, U + 5}, {U + 9, U + 4}, 2, 0},
    {"kernel", PERF_RECORD_MISC_KERNEL, 0, {KERNEL, K + 9, K + 5}, {K + 9, K + 4}, 2, 2},
    {"no mark, in the kernel", PERF_RECORD_MISC_KERNEL, 0, {K + 9, K + 5}, {K + 9, K + 4}, 2, 2},
    {"no mark, in the program", PERF_RECORD_MISC_USER, 0, {U + 9, U + 5}, {U + 9, U + 4}, 2, 0},
    {"no first mark", PERF_RECORD_MISC_KERNEL, 0, {K + 9, USER, U + 5}, {K + 9, U + 5}, 2, 1},
    {"interrupted, by the recorder",
     PERF_RECORD_MISC_USER,
     0,
     {USER, U + 9, U + 5, USER, U + 3},
     {U + 9, U + 4, U + 3},
     3,
     0},
    {"no mark, in a guest", PERF_RECORD_MISC_GUEST_USER, 0, {U + 9, USER, U + 5}, {U + 5}, 1, 0},
    {"guest",
     PERF_RECORD_MISC_KERNEL,
     0,
     {KERNEL, K + 1, GUEST, 5, 6, USER, U + 1},
     {K + 1, U + 1},
     2,
     1},
    {"guest's kernel",
     PERF_RECORD_MISC_USER,
     0,
     {GUEST_KERNEL, K, USER, U, GUEST_USER, 7},
     {U},
     1,
     0},
    {"hypervisor", PERF_RECORD_MISC_USER, 0, {HYPERVISOR, 8, USER, U, U + 8}, {U, U + 7}, 2, 0},
    {"guest alone", PERF_RECORD_MISC_GUEST_KERNEL, K, {GUEST, K, K + 1}, {0}, 0, 0},
    {"guest alone, in the program", PERF_RECORD_MISC_GUEST_USER, U, {GUEST, U}, {0}, 0, 0},
    {"in the hypervisor", PERF_RECORD_MISC_HYPERVISOR, 9, {HYPERVISOR, 9}, {0}, 0, 0},
    {"a mark that is younger", PERF_RECORD_MISC_USER, 0, {(uint64_t)-640, 5, USER, U}, {U}, 1, 0},
    {"two kernel parts",
     PERF_RECORD_MISC_KERNEL,
     0,
     {KERNEL, K + 3, K + 5, KERNEL, K + 7, K + 9},
     {K + 3, K + 4, K + 7, K + 8},
     4,
     4},
    {"two user parts",
     PERF_RECORD_MISC_USER,
     0,
     {USER, U + 3, U + 5, USER, U + 7, U + 9},
     {U + 3, U + 4, U + 7, U + 8},
     4,
     0},
    {"kernel behind user", PERF_RECORD_MISC_USER, 0, {USER, U, KERNEL, K, K + 1}, {U}, 1, 0},
    {"marks alone", PERF_RECORD_MISC_USER, 0, {USER, KERNEL, USER, GUEST}, {0}, 0, 0},
    {"marks and IP", PERF_RECORD_MISC_USER, U + 5, {USER}, {U + 5}, 1, 0},
    {"empty chain, in the kernel", PERF_RECORD_MISC_KERNEL, K, {0}, {K}, 1, 1},
};

TEST(callchains)
{
	struct buf bytes;

	buf_init(&bytes, 1 << 20);
	for (size_t i = 0; i < NR(chains); i++) {
		static struct report_stack s;
		struct profile_sample sample;
		size_t nr = 0;

		while (nr < MAX_WORDS && chains[i].words[nr])
			nr++;
		sample = sample_of(chain_of(chains[i].mode, chains[i].words, nr, &bytes));
		sample.record.ip = chains[i].ip;
		sample.record.has |= chains[i].ip ? TRACE_HAS_IP : 0;
		report_stack_make(NULL, NULL, &sample, true, &s);
		assert_stack(chains[i].name, &s, chains[i].want, chains[i].nr, chains[i].nr_kernel);
		if (s.nr > s.nr_kernel)
			assert_int_equal(s.end, REPORT_END_POINTERS);
		assert_int_equal(s.has_callers, s.nr > s.nr_kernel);
		/* its first address alone */
		report_stack_make(NULL, NULL, &sample, false, &s);
		assert_stack(chains[i].name, &s, chains[i].want, chains[i].nr > 0,
			     chains[i].nr_kernel > 0);
	}
	buf_fini(&bytes);
}

/* A call that was sampled when it ended stands before its caller, whose addresses are all of
 * returns; damaged data has none. */
TEST(ended_calls)
{
	static const struct trace_layout of_ended = {.is_of_ended = true};
	static const uint64_t words[] = {USER, U + 9, U + 5}, want[] = {U + 100, U + 8, U + 4};
	const uint64_t raw[2] = {1, htole64(U + 100)};
	struct unwinder u = {.address = {U + 9, U + 5, U + 3}, .nr = 3, .end = UNWIND_WHOLE};
	static const uint64_t unwound[] = {U + 100, U + 8, U + 4, U + 2};
	static struct report_stack s;
	struct profile_sample sample;
	struct buf bytes;

	buf_init(&bytes, 4096);
	sample = sample_of(chain_of(PERF_RECORD_MISC_USER, words, NR(words), &bytes));
	sample.layout = &of_ended;
	sample.record.has |= TRACE_HAS_RAW;
	sample.record.raw = (const uint8_t *)raw;
	sample.record.raw_len = sizeof(raw);
	report_stack_make(NULL, NULL, &sample, true, &s);
	assert_stack("chain", &s, want, NR(want), 0);
	report_stack_make(NULL, NULL, &sample, false, &s);
	assert_stack("chain, alone", &s, want, 1, 0);
	sample.record.has |= TRACE_HAS_USER_STACK;
	sample.record.stack_len = 4096;
	report_stack_make(&u, NULL, &sample, true, &s);
	assert_stack("unwound", &s, unwound, NR(unwound), 0);
	sample.record.stack_len = 512;
	u.leaf_caller = U + 7;
	report_stack_make(&u, NULL, &sample, true, &s);
	assert_stack("hybrid", &s, (uint64_t[]){U + 100, U + 8, U + 6, U + 4}, 4, 0);
	sample.record.nr_callchain = 1;
	report_stack_make(&u, NULL, &sample, true, &s);
	assert_stack("hybrid, without a chain", &s, unwound, NR(unwound), 0);
	sample.record.nr_callchain = 2;
	sample.record.raw_len = 15;
	u.leaf_caller = 0;
	report_stack_make(&u, NULL, &sample, true, &s);
	assert_stack("damaged", &s, (uint64_t[]){U + 9}, 1, 0);
	sample.record = (struct trace_record){.kind = PERF_RECORD_SAMPLE,
					      .has = TRACE_HAS_IP | TRACE_HAS_RAW,
					      .cpumode = PERF_RECORD_MISC_USER,
					      .ip = U + 9,
					      .raw = (const uint8_t *)raw,
					      .raw_len = sizeof(raw)};
	report_stack_make(NULL, NULL, &sample, false, &s);
	assert_stack("address alone", &s, want, 1, 0);
	buf_fini(&bytes);
}

/* Return addresses are looked up inside their calls, and reported as recorded; 0 is not before 0.
 */
TEST(recorded_addresses)
{
	const uint64_t words[] = {PERF_CONTEXT_USER, 0x1000, 0x2000, 0, 1};
	static struct report_stack s;
	struct profile_sample sample;
	struct buf bytes;

	buf_init(&bytes, 4096);
	sample = sample_of(chain_of(PERF_RECORD_MISC_USER, words, NR(words), &bytes));
	report_stack_make(NULL, NULL, &sample, true, &s);
	assert_int_equal(s.nr, NR(words) - 1);
	for (size_t i = 0; i < s.nr; i++) {
		assert_int_equal(report_stack_recorded(&s, i), words[i + 1]);
		assert_int_equal(s.address[i], words[i + 1] - (i && words[i + 1]));
	}
	buf_fini(&bytes);
}

static const struct {
	const char *name;
	uint32_t has;
	uint8_t mode;
	uint64_t ip;
	size_t nr, nr_kernel;
} ips[] = {
    {"program", TRACE_HAS_IP, PERF_RECORD_MISC_USER, U, 1, 0},
    {"kernel", TRACE_HAS_IP, PERF_RECORD_MISC_KERNEL, K, 1, 1},
    {"not told", TRACE_HAS_IP, PERF_RECORD_MISC_CPUMODE_UNKNOWN, U, 1, 0},
    {"guest", TRACE_HAS_IP, PERF_RECORD_MISC_GUEST_USER, U, 0, 0},
    {"guest's kernel", TRACE_HAS_IP, PERF_RECORD_MISC_GUEST_KERNEL, K, 0, 0},
    {"hypervisor", TRACE_HAS_IP, PERF_RECORD_MISC_HYPERVISOR, K, 0, 0},
    {"none", 0, PERF_RECORD_MISC_USER, U, 0, 0},
};

TEST(addresses_alone)
{
	for (size_t i = 0; i < NR(ips); i++) {
		const struct profile_sample sample = sample_of((struct trace_record){
		    .has = ips[i].has, .cpumode = (uint8_t)ips[i].mode, .ip = ips[i].ip});
		static struct report_stack s;

		for (int with_callers = 0; with_callers < 2; with_callers++) {
			report_stack_make(NULL, NULL, &sample, with_callers, &s);
			assert_stack(ips[i].name, &s, &ips[i].ip, ips[i].nr, ips[i].nr_kernel);
		}
	}
}

TEST(too_deep)
{
	static uint64_t words[3 * REPORT_MAX_DEPTH], want[REPORT_MAX_DEPTH];
	static struct report_stack s;
	struct profile_sample sample;
	struct buf bytes;

	buf_init(&bytes, 1 << 20);
	words[0] = KERNEL;
	for (size_t i = 1; i < NR(words); i++)
		words[i] = i < 1000 ? K + i : U + i;
	words[1000] = USER;
	for (size_t i = 0, at = 1; i < REPORT_MAX_DEPTH; i++, at++) {
		at += at == 1000;
		want[i] = words[at] - (i != 0 && at != 1001);
	}
	sample = sample_of(chain_of(PERF_RECORD_MISC_KERNEL, words, NR(words), &bytes));
	report_stack_make(NULL, NULL, &sample, true, &s);
	assert_stack("both", &s, want, REPORT_MAX_DEPTH, 999);
	words[1000] = K;
	sample = sample_of(chain_of(PERF_RECORD_MISC_KERNEL, words, 2000, &bytes));
	report_stack_make(NULL, NULL, &sample, true, &s);
	assert_int_equal(s.nr, REPORT_MAX_DEPTH);
	assert_int_equal(s.nr_kernel, REPORT_MAX_DEPTH);
	buf_fini(&bytes);
}

/* The agent of the heap follows more than the kernel. */
TEST(limit_of_the_agent)
{
	static const struct {
		size_t nr;
		enum report_end end;
	} cases[] = {{127, REPORT_END_TABLE}, {1000, REPORT_END_TABLE}, {1024, REPORT_END_AGENT}};
	static const struct trace_layout of_heap = {.max_stack = 127, .is_heap = true};
	static struct report_stack s;
	static uint64_t words[1 + 1024];
	struct profile_sample sample;
	struct buf bytes;

	buf_init(&bytes, 1 << 20);
	for (size_t i = 0; i < NR(cases); i++) {
		words[0] = USER;
		for (size_t k = 1; k <= cases[i].nr; k++)
			words[k] = U + k;
		sample = sample_of(chain_of(PERF_RECORD_MISC_USER, words, cases[i].nr + 1, &bytes));
		sample.layout = &of_heap;
		report_stack_make(NULL, NULL, &sample, true, &s);
		assert_int_equal(s.end, cases[i].end);
	}
	buf_fini(&bytes);
}

/* The kernel stops at the limit that the attr stores; where it stores none, at the default. */
TEST(limit)
{
	static const struct {
		uint16_t limit;
		size_t nr;
		enum report_end end;
	} cases[] = {
	    {127, 126, REPORT_END_POINTERS}, {127, 127, REPORT_END_LIMIT},
	    {200, 127, REPORT_END_POINTERS}, {200, 200, REPORT_END_LIMIT},
	    {0, 126, REPORT_END_POINTERS},   {0, 127, REPORT_END_LIMIT},
	    {0, 128, REPORT_END_POINTERS},   {4000, REPORT_MAX_DEPTH + 1, REPORT_END_DEPTH},
	};
	static uint64_t words[REPORT_MAX_DEPTH + 4];
	struct buf bytes;

	buf_init(&bytes, 1 << 20);
	for (size_t i = 0; i < NR(cases); i++) {
		static struct report_stack s;
		const struct trace_layout limited = {.max_stack = cases[i].limit};
		struct profile_sample sample;

		words[0] = KERNEL; /* marks are not counted, addresses of the kernel are */
		words[1] = K + 1;
		words[2] = USER;
		for (size_t k = 3; k < cases[i].nr + 2; k++)
			words[k] = U + k;
		sample =
		    sample_of(chain_of(PERF_RECORD_MISC_KERNEL, words, cases[i].nr + 2, &bytes));
		sample.layout = &limited;
		report_stack_make(NULL, NULL, &sample, true, &s);
		assert_true(s.has_callers);
		assert_int_equal(s.end, cases[i].end);
	}
	buf_fini(&bytes);
}

/* What there is beside the chain, what the unwinder says, and what becomes of it. Unwound: U + 10,
 * U + 20 … */
static const struct {
	const char *name;
	uint64_t words[MAX_WORDS]; /* the first 0: the sample has no chain */
	uint8_t mode;
	uint64_t ip;
	uint64_t stack_len;
	size_t nr_unwound;
	uint64_t exact;
	enum unwind_end end;
	uint64_t leaf_caller;
	uint64_t want[MAX_WORDS];
	size_t nr, nr_kernel;
	bool is_unwound;
	unsigned nr_leaf_asked;
	bool is_lacking_whole, is_shaped;
} dumps[] = {
    {"dump alone",
     {0},
     PERF_RECORD_MISC_USER,
     U + 10,
     8000,
     3,
     1,
     UNWIND_WHOLE,
     0,
     {U + 10, U + 19, U + 29},
     3,
     0,
     true,
     0},
    {"short dump alone",
     {0},
     PERF_RECORD_MISC_USER,
     U + 10,
     512,
     3,
     1,
     UNWIND_WHOLE,
     U + 99,
     {U + 10, U + 19, U + 29},
     3,
     0,
     true,
     0},
    {"signal frame",
     {0},
     PERF_RECORD_MISC_USER,
     U + 10,
     8000,
     4,
     5,
     UNWIND_WHOLE,
     0,
     {U + 10, U + 19, U + 30, U + 39},
     4,
     0,
     true,
     0},
    {"from the kernel",
     {0},
     PERF_RECORD_MISC_KERNEL,
     K,
     8000,
     2,
     1,
     UNWIND_WHOLE,
     0,
     {K, U + 10, U + 19},
     3,
     1,
     true,
     0},
    {"no bytes", {0}, PERF_RECORD_MISC_USER, U, 0, 3, 1, UNWIND_WHOLE, 0, {U}, 1, 0, false, 0},
    {"nothing unwound",
     {0},
     PERF_RECORD_MISC_USER,
     U,
     8000,
     0,
     0,
     UNWIND_NO_REGS,
     0,
     {U},
     1,
     0,
     true,
     0},
    {"whole in place of a chain",
     {USER, U + 1, U + 2, U + 3, U + 4},
     PERF_RECORD_MISC_USER,
     0,
     8000,
     2,
     1,
     UNWIND_WHOLE,
     0,
     {U + 10, U + 19},
     2,
     0,
     true,
     0},
    {"longer than the chain",
     {USER, U + 1, U + 2},
     PERF_RECORD_MISC_USER,
     0,
     8000,
     3,
     1,
     UNWIND_TRUNCATED,
     0,
     {U + 10, U + 19, U + 29},
     3,
     0,
     true,
     0},
    {"as long as the chain",
     {USER, U + 1, U + 2, U + 3},
     PERF_RECORD_MISC_USER,
     0,
     8000,
     3,
     1,
     UNWIND_TRUNCATED,
     0,
     {U + 1, U + 1, U + 2},
     3,
     0,
     true,
     0},
    {"in place of a longer chain by chance, of Java",
     {USER, U + 1, U + 2, U + 3},
     PERF_RECORD_MISC_USER,
     0,
     8000,
     2,
     1,
     UNWIND_UNPROVEN,
     0,
     {U + 10, U + 19},
     2,
     0,
     true,
     0,
     false,
     true},
    {"behind the kernel's part",
     {KERNEL, K + 1, K + 2, USER, U + 1},
     PERF_RECORD_MISC_KERNEL,
     0,
     8000,
     2,
     1,
     UNWIND_WHOLE,
     0,
     {K + 1, K + 1, U + 10, U + 19},
     4,
     2,
     true,
     0},
    {"leaf's caller",
     {USER, U + 1, U + 2, U + 3},
     PERF_RECORD_MISC_USER,
     0,
     1024,
     3,
     1,
     UNWIND_WHOLE,
     U + 50,
     {U + 1, U + 49, U + 1, U + 2},
     4,
     0,
     false,
     1},
    {"all there is, and a chain by chance", /* of code without frame pointers */
     {KERNEL, K + 1, USER, U + 1, U + 2, U + 3},
     PERF_RECORD_MISC_KERNEL,
     0,
     1024,
     3,
     1,
     UNWIND_WHOLE,
     U + 50,
     {K + 1, U + 1, U + 49},
     3,
     1,
     false,
     1,
     true},
    {"outermost, and a chain by chance",
     {USER, U + 1, U + 2, U + 3},
     PERF_RECORD_MISC_USER,
     0,
     1024,
     3,
     1,
     UNWIND_WHOLE,
     0,
     {U + 1},
     1,
     0,
     false,
     1,
     true},
    {"leaf's caller that recurs", /* that the chain has it already is for the unwinder to say */
     {USER, U + 1, U + 50, U + 3},
     PERF_RECORD_MISC_USER,
     0,
     512,
     3,
     1,
     UNWIND_WHOLE,
     U + 50,
     {U + 1, U + 49, U + 49, U + 2},
     4,
     0,
     false,
     1},
    {"no leaf's caller",
     {USER, U + 1, U + 2},
     PERF_RECORD_MISC_USER,
     0,
     512,
     3,
     1,
     UNWIND_WHOLE,
     0,
     {U + 1, U + 1},
     2,
     0,
     false,
     1},
    {"leaf alone",
     {USER, U + 1},
     PERF_RECORD_MISC_USER,
     0,
     512,
     3,
     1,
     UNWIND_WHOLE,
     U + 50,
     {U + 1, U + 49},
     2,
     0,
     false,
     1},
    {"leaf behind the kernel",
     {KERNEL, K + 1, USER, U + 1, U + 2},
     PERF_RECORD_MISC_KERNEL,
     0,
     512,
     3,
     1,
     UNWIND_WHOLE,
     U + 50,
     {K + 1, U + 1, U + 49, U + 1},
     4,
     1,
     false,
     1},
    {"kernel's part alone",
     {KERNEL, K + 1},
     PERF_RECORD_MISC_KERNEL,
     0,
     512,
     2,
     1,
     UNWIND_WHOLE,
     U + 50,
     {K + 1, U + 10, U + 19},
     3,
     1,
     true,
     0},
};

static struct profile_sample dump_of(size_t i, struct buf *bytes)
{
	struct profile_sample s;
	size_t nr = 0;

	while (nr < MAX_WORDS && dumps[i].words[nr])
		nr++;
	s = sample_of(nr ? chain_of(dumps[i].mode, dumps[i].words, nr, bytes)
			 : (struct trace_record){.cpumode = (uint8_t)dumps[i].mode});
	s.record.has |= TRACE_HAS_USER_STACK | (dumps[i].ip ? TRACE_HAS_IP : 0);
	s.record.ip = dumps[i].ip;
	s.record.stack_len = dumps[i].stack_len;
	return s;
}

static struct unwinder answers_of(size_t i)
{
	struct unwinder u = {.nr = dumps[i].nr_unwound,
			     .exact = dumps[i].exact,
			     .end = dumps[i].end,
			     .leaf_caller = dumps[i].leaf_caller,
			     .is_lacking_whole = dumps[i].is_lacking_whole,
			     .is_shaped = dumps[i].is_shaped};

	for (size_t k = 0; k < u.nr; k++)
		u.address[k] = U + 10 * (k + 1);
	return u;
}

TEST(stack_bytes)
{
	struct buf bytes;

	buf_init(&bytes, 1 << 20);
	for (size_t i = 0; i < NR(dumps); i++) {
		static struct report_stack s;
		struct profile_sample sample = dump_of(i, &bytes);
		struct unwinder u = answers_of(i);

		report_stack_make(&u, NULL, &sample, true, &s);
		assert_stack(dumps[i].name, &s, dumps[i].want, dumps[i].nr, dumps[i].nr_kernel);
		assert_int_equal(u.nr_asked, dumps[i].is_unwound);
		assert_int_equal(u.nr_leaf_asked, dumps[i].nr_leaf_asked);
		if (dumps[i].is_unwound)
			assert_int_equal(s.end == REPORT_END_WHOLE, dumps[i].end == UNWIND_WHOLE);
		else if (dumps[i].nr_leaf_asked)
			assert_int_equal(s.end, dumps[i].is_lacking_whole ? REPORT_END_WHOLE
									  : REPORT_END_PIECE);
		assert_int_equal(s.has_callers, s.nr > s.nr_kernel);
		/* of the first address alone nothing is asked: it is there */
		u.nr_asked = u.nr_leaf_asked = 0;
		report_stack_make(&u, NULL, &sample, false, &s);
		assert_int_equal(s.nr, 1);
		assert_int_equal(u.nr_asked + u.nr_leaf_asked, 0);
		/* without an unwinder bytes are passed by */
		report_stack_make(NULL, NULL, &sample, true, &s);
		assert_int_not_equal(s.end, REPORT_END_WHOLE);
	}
	buf_fini(&bytes);
}

static enum report_start start_of(void *arg, uint64_t address)
{
	return address == *(const uint64_t *)arg ? REPORT_START_YES : REPORT_START_NO;
}

/* A chain (U + 1, U + 49, U + 1, U + 2) that does not reach a start, completed from a piece of
 * stack: the piece is unwound. */
static const struct {
	const char *name;
	uint64_t start;
	size_t nr_unwound;
	enum unwind_end unwound_end;
	bool is_unwound, is_replaced;
	enum report_end end;
} finished[] = {
    {"chain to a start", U + 2, 9, UNWIND_WHOLE, false, false, REPORT_END_WHOLE},
    {"whole", 0, 2, UNWIND_WHOLE, true, true, REPORT_END_WHOLE},
    {"longer", 0, 5, UNWIND_TRUNCATED, true, true, REPORT_END_PIECE},
    {"longer, to a start", U + 49, 5, UNWIND_NO_TABLE, true, true, REPORT_END_WHOLE},
    {"longer, no table", 0, 5, UNWIND_NO_TABLE, true, true, REPORT_END_TABLE},
    {"as long", 0, 4, UNWIND_TRUNCATED, true, false, REPORT_END_PIECE},
    {"shorter, no table", 0, 3, UNWIND_NO_TABLE, true, false, REPORT_END_TABLE},
};

TEST(finish)
{
	static const uint64_t words[] = {USER, U + 1, U + 2, U + 3},
			      chain[] = {U + 1, U + 49, U + 1, U + 2},
			      unwound[] = {U + 10, U + 19, U + 29, U + 39, U + 49};
	static struct report_stack s;
	struct profile_sample sample;
	struct buf bytes;

	buf_init(&bytes, 4096);
	sample = sample_of(chain_of(PERF_RECORD_MISC_USER, words, NR(words), &bytes));
	sample.record.has |= TRACE_HAS_USER_STACK;
	sample.record.stack_len = 1024;
	for (size_t i = 0; i < NR(finished); i++) {
		struct unwinder u = {.nr = finished[i].nr_unwound,
				     .exact = 1,
				     .end = finished[i].unwound_end,
				     .leaf_caller = U + 50};
		uint64_t start = finished[i].start;

		for (size_t k = 0; k < u.nr; k++)
			u.address[k] = U + 10 * (k + 1);
		report_stack_make(&u, NULL, &sample, true, &s);
		report_stack_finish(&u, NULL, &sample, start_of, &start, &s);
		assert_stack(finished[i].name, &s, finished[i].is_replaced ? unwound : chain,
			     finished[i].is_replaced ? u.nr : NR(chain), 0);
		assert_int_equal(u.nr_asked, finished[i].is_unwound);
		if (s.end != finished[i].end)
			fail_msg("%s: ends by %d", finished[i].name, s.end);
	}
	buf_fini(&bytes);
}

static enum report_start clone_of(void *arg, uint64_t address)
{
	(void)arg;
	return address == U ? REPORT_START_YES : address > U ? REPORT_START_NO : REPORT_START_ABOVE;
}

/* A frame pointer that points to itself repeats an address up to the limit: it is removed if it is
 * no code; a recursion is not. */
TEST(loop)
{
	static const struct {
		uint64_t first, repeated;
		size_t nr;
		enum report_end end;
	} loops[] = {{U, 99, 1, REPORT_END_WHOLE},
		     {U + 1, 99, 1, REPORT_END_POINTERS},
		     {U + 1, U + 2, 127, REPORT_END_LIMIT}};
	uint64_t words[1 + 127] = {USER};
	static struct report_stack s;
	struct profile_sample sample;
	struct buf bytes;

	buf_init(&bytes, 4096);
	for (size_t i = 0; i < NR(loops); i++) {
		words[1] = loops[i].first;
		for (size_t k = 2; k < NR(words); k++)
			words[k] = loops[i].repeated;
		sample = sample_of(chain_of(PERF_RECORD_MISC_USER, words, NR(words), &bytes));
		report_stack_make(NULL, NULL, &sample, true, &s);
		report_stack_finish(NULL, NULL, &sample, clone_of, NULL, &s);
		assert_int_equal(s.nr, loops[i].nr);
		assert_int_equal(s.address[0], loops[i].first);
		assert_int_equal(s.end, loops[i].end);
	}
	buf_fini(&bytes);
}

/* Neither chain nor IP: the registers have the address. */
TEST(registers_alone)
{
	static struct report_stack s;
	struct unwinder u = {.nr = 3, .address = {U, U + 5, U + 6}, .end = UNWIND_MAX};
	const struct profile_sample sample = sample_of((struct trace_record){
	    .has = TRACE_HAS_USER_STACK, .cpumode = PERF_RECORD_MISC_USER, .stack_len = 64});

	report_stack_make(&u, NULL, &sample, false, &s);
	assert_int_equal(u.max, 1);
	assert_stack("one", &s, (const uint64_t[]){U}, 1, 0);
	report_stack_make(&u, NULL, &sample, true, &s);
	assert_int_equal(u.max, REPORT_MAX_DEPTH);
	assert_stack("all", &s, (const uint64_t[]){U, U + 4, U + 5}, 3, 0);
}

/* A deep kernel part leaves less room for what is unwound, and none for a leaf's caller. */
TEST(no_room)
{
	static uint64_t words[REPORT_MAX_DEPTH + 2];
	static struct report_stack s;
	static struct unwinder u = {.nr = MAX_ANSWER, .end = UNWIND_MAX, .leaf_caller = 5};
	struct profile_sample sample;
	struct buf bytes;

	buf_init(&bytes, 1 << 20);
	words[0] = KERNEL;
	for (size_t i = 1; i <= 1000; i++)
		words[i] = K + i;
	for (size_t i = 0; i < MAX_ANSWER; i++)
		u.address[i] = U + i;
	sample = sample_of(chain_of(PERF_RECORD_MISC_KERNEL, words, 1001, &bytes));
	sample.record.has |= TRACE_HAS_USER_STACK;
	sample.record.stack_len = 65536;
	report_stack_make(&u, NULL, &sample, true, &s);
	assert_int_equal(s.nr, REPORT_MAX_DEPTH);
	assert_int_equal(s.nr_kernel, 1000);
	assert_int_equal(s.address[999], K + 999);
	assert_int_equal(s.address[1000], U);
	assert_int_equal(s.address[1023], U + 22);
	words[1001] = USER;
	for (size_t i = 1002; i < NR(words); i++)
		words[i] = U + i;
	sample = sample_of(chain_of(PERF_RECORD_MISC_KERNEL, words, NR(words), &bytes));
	sample.record.has |= TRACE_HAS_USER_STACK;
	sample.record.stack_len = 64;
	report_stack_make(&u, NULL, &sample, true, &s);
	assert_int_equal(s.nr, REPORT_MAX_DEPTH);
	assert_int_equal(s.address[1000], U + 1002);
	assert_int_equal(s.address[1001], U + 1002);
	assert_int_equal(s.address[1023], U + 1024);
	buf_fini(&bytes);
}

/* The marks at the end of a callchain that the recorder unwound. */
TEST(ends_of_unwound_chains)
{
	static const enum report_end ends[] = {REPORT_END_POINTERS, REPORT_END_WHOLE,
					       REPORT_END_BYTES, REPORT_END_INVALID,
					       REPORT_END_POINTERS};
	static const uint64_t words[] = {USER, U + 9, U + 5, USER, USER, USER, USER};
	static struct report_stack s;
	BUF_AUTO(bytes, 1 << 10);

	for (size_t i = 0; i < NR(ends); i++) {
		const struct profile_sample sample =
		    sample_of(chain_of(PERF_RECORD_MISC_USER, words, 3 + i, &bytes));

		report_stack_make(NULL, NULL, &sample, true, &s);
		assert_int_equal(s.nr, 2);
		assert_int_equal(s.end, ends[i]);
	}
}
