/*
 * Records given the layout of perf.data files: read again by the decoder of records, they say what
 * they said, and whose they are. What is cut, dropped or refused is looked at byte by byte.
 */
#include "kit.h"

#include "base/buf.h"
#include "export/perf_record.h"
#include "trace/record.h"

enum {
	IP = 1 << 0,
	TID = 1 << 1,
	TIME = 1 << 2,
	ADDR = 1 << 3,
	READ = 1 << 4,
	CALLCHAIN = 1 << 5,
	ID = 1 << 6,
	CPU = 1 << 7,
	PERIOD = 1 << 8,
	RAW = 1 << 10,
	REGS_USER = 1 << 12,
	STACK_USER = 1 << 13,
	IDENTIFIER = 1 << 16,
	ENABLED = 1 << 0,
	RUNNING = 1 << 1,
	FORMAT_ID = 1 << 2,
	GROUP = 1 << 3,
	LOST = 1 << 4,
	NR_REGS = 3,
};

static struct buf in, out;

HOOK(before_each)
{
	buf_init(&in, 1 << 20);
	buf_init(&out, 1 << 20);
}

HOOK(after_each)
{
	buf_fini(&in);
	buf_fini(&out);
}

static void begin(uint32_t kind, uint16_t misc)
{
	buf_reset(&in);
	buf_le32(&in, kind);
	buf_le16(&in, misc);
	buf_le16(&in, 0);
}

static const uint8_t *end(void)
{
	in.data[6] = (char)(in.len & 255);
	in.data[7] = (char)(in.len >> 8);
	return (const uint8_t *)in.data;
}

static void words(uint64_t first, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		buf_le64(&in, first + i);
}

static uint64_t member(void *arg, uint64_t i)
{
	return *(uint64_t *)arg + i;
}

static struct trace_layout layout_of(const struct perf_layout *l)
{
	return (struct trace_layout){.sample_type = l->sample_type,
				     .read_format = l->read_format,
				     .nr_user_regs = NR_REGS,
				     .user_regs = 7,
				     .has_sample_id = l->has_sample_id};
}

/* Adds what is in in; reads it, and what came of it. */
static void add(const struct perf_origin *o, struct trace_record *before,
		struct trace_record *after)
{
	struct perf_layout told = perf_layout_written(&o->layout);
	struct trace_layout from = layout_of(&o->layout), to = layout_of(&told);

	buf_reset(&out);
	assert_int_equal(trace_record_decode(&from, end(), in.len, before), 0);
	assert_int_equal(perf_record_add(&out, o, (const uint8_t *)in.data, in.len), 0);
	assert_int_equal(buf_error(&out), 0);
	assert_int_equal(trace_record_decode(&to, (const uint8_t *)out.data, out.len, after), 0);
	assert_int_equal(after->len, out.len);
	assert_int_equal(after->kind, before->kind);
}

/* Of a sample its first word, of other records their last: where readers look. */
static uint64_t identifier(const struct trace_record *r)
{
	return trace_word(r->bytes, r->kind == PERF_RECORD_SAMPLE ? 1 : r->len / 8 - 1);
}

static void put_sample(const struct perf_layout *l)
{
	static const uint32_t order[] = {IDENTIFIER, IP,        TID,       TIME, ADDR,
					 ID,         CPU,       PERIOD,    READ, CALLCHAIN,
					 RAW,        REGS_USER, STACK_USER};

	begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	for (unsigned i = 0; i < NR(order); i++) {
		uint32_t bit = order[i];

		if (!(l->sample_type & bit))
			continue;
		if (bit == READ && l->read_format & GROUP)
			words(2, 1);
		if (bit == READ) { /* the times of one event are behind its count */
			words(70, l->read_format & GROUP ? 0 : 1);
			words(71, !!(l->read_format & ENABLED) + !!(l->read_format & RUNNING));
			words(80, (l->read_format & GROUP ? 2 : 0) +
				      (!!(l->read_format & FORMAT_ID) + !!(l->read_format & LOST)) *
					  (l->read_format & GROUP ? 2u : 1u));
		} else if (bit == CALLCHAIN) {
			words(4, 1);
			buf_le64(&in, (uint64_t)-128);
			words(101, 1);
			buf_le64(&in, (uint64_t)-512);
			words(102, 1);
		} else if (bit == RAW) {
			buf_le32(&in, 4);
			buf_add(&in, "raw!", 4);
		} else if (bit == REGS_USER) {
			words(2, 1);
			words(111, NR_REGS);
		} else if (bit == STACK_USER) {
			words(16, 1);
			words(121, 2);
			words(12, 1);
		} else {
			words(1000 + bit, 1);
		}
	}
}

static void same_words(const uint8_t *a, const uint8_t *b, uint64_t nr)
{
	if (nr)
		assert_memory_equal(a, b, nr * 8);
}

/* Every layout: what was told is told, and that of its event and CPU besides. */
TEST(layouts)
{
	static const uint64_t formats[] = {0,
					   ENABLED | RUNNING,
					   FORMAT_ID,
					   LOST | ENABLED,
					   GROUP,
					   GROUP | ENABLED | RUNNING,
					   GROUP | RUNNING | FORMAT_ID,
					   GROUP | FORMAT_ID | LOST,
					   GROUP | LOST};
	static const uint64_t bits[] = {
	    IP,  TID,       ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, REGS_USER | STACK_USER,
	    RAW, IDENTIFIER};
	uint64_t first = 500;

	for (size_t n = 0; n < (1u << NR(bits)) * NR(formats); n++) {
		struct perf_origin o = {
		    .id = 42, .cpu = 7, .member = member, .arg = &first, .ip = 9};
		struct trace_record a, b;

		o.layout.sample_type = TIME;
		o.layout.read_format = formats[n % NR(formats)];
		for (size_t i = 0; i < NR(bits); i++)
			if (n / NR(formats) >> i & 1)
				o.layout.sample_type |= bits[i];
		put_sample(&o.layout);
		add(&o, &a, &b);
		assert_true(b.has & TRACE_HAS_ID && b.has & TRACE_HAS_CPU && b.has & TRACE_HAS_IP);
		assert_int_equal(identifier(&b), 42);
		assert_int_equal(b.cpu, a.has & TRACE_HAS_CPU ? a.cpu : 7);
		assert_int_equal(b.ip, a.has & TRACE_HAS_IP ? a.ip : 9);
		assert_int_equal(b.misc, a.misc);
		assert_true(a.pid == b.pid && a.tid == b.tid && a.time_ns == b.time_ns &&
			    a.addr == b.addr && a.period == b.period && a.nr_read == b.nr_read &&
			    a.read_enabled_ns == b.read_enabled_ns &&
			    a.read_running_ns == b.read_running_ns &&
			    a.nr_callchain == b.nr_callchain && a.raw_len == b.raw_len &&
			    a.nr_regs == b.nr_regs && a.stack_len == b.stack_len);
		same_words(a.callchain, b.callchain, a.nr_callchain);
		same_words(a.regs, b.regs, a.nr_regs);
		same_words(a.stack, b.stack, a.stack_len / 8);
		for (uint64_t i = 0; i < a.nr_read; i++)
			assert_int_equal(trace_word(a.read_values, i * a.read_stride),
					 trace_word(b.read_values, i * b.read_stride));
		if (a.nr_read && o.layout.read_format & GROUP &&
		    !(o.layout.read_format & FORMAT_ID))
			assert_int_equal(trace_word(b.read_values, b.read_stride + 1), 501);
	}
}

/* The id of a stranger is that of the event. */
TEST(strangers)
{
	struct perf_origin o = {.layout.sample_type = IDENTIFIER | TIME, .id = 42};
	struct trace_record a, b;

	put_sample(&o.layout);
	add(&o, &a, &b);
	assert_int_not_equal(a.id, 42);
	assert_int_equal(b.id, 42);
	assert_int_equal(out.len, in.len + 2 * 8);

	o.layout.sample_type = ID | TIME; /* readers prefer this one to the identifier */
	put_sample(&o.layout);
	add(&o, &a, &b);
	assert_int_not_equal(a.id, 42);
	assert_int_equal(trace_word((const uint8_t *)out.data, 1),
			 42); /* identifier, address, time */
	assert_int_equal(trace_word((const uint8_t *)out.data, 4), 42);
}

/* Counts are told as they are asked for, by the id that is told with them. */
static uint64_t count(void *arg, uint64_t id, uint64_t count)
{
	(void)arg;
	return 10000 * id + count;
}

TEST(counts)
{
	static const uint64_t formats[] = {0,     ENABLED | RUNNING,           FORMAT_ID | LOST,
					   GROUP, GROUP | ENABLED | FORMAT_ID, GROUP | LOST};
	uint64_t first = 500;

	for (size_t n = 0; n < NR(formats); n++) {
		struct perf_origin o = {.layout.sample_type = TIME | READ,
					.layout.read_format = formats[n],
					.id = 42,
					.member = member,
					.count = count,
					.arg = &first};
		struct trace_record a, b;

		put_sample(&o.layout);
		add(&o, &a, &b);
		assert_true(b.nr_read && b.nr_read == a.nr_read);
		for (uint64_t i = 0; i < b.nr_read; i++) {
			uint64_t was = trace_word(a.read_values, i * a.read_stride);
			uint64_t id = !(formats[n] & GROUP) ? 42
				      : formats[n] & FORMAT_ID
					  ? trace_word(a.read_values, i * a.read_stride + 1)
					  : 500 + i;

			assert_int_equal(trace_word(b.read_values, i * b.read_stride),
					 10000 * id + was);
		}
	}
}

TEST(stacks)
{
	static const uint64_t chain[] = {(uint64_t)-512, 1, 2};
	struct perf_origin o = {
	    .layout.sample_type = TID | TIME | CALLCHAIN | REGS_USER | STACK_USER,
	    .drops_user = true,
	    .ip = 5,
	    .is_user_ip = true,
	};
	struct trace_record a, b;

	put_sample(&o.layout);
	add(&o, &a, &b); /* the kernel's callers alone */
	assert_int_equal(b.nr_callchain, 2);
	assert_int_equal(trace_word(b.callchain, 1), 101);
	assert_int_equal(b.stack_len, 12);
	assert_int_equal(b.cpumode, PERF_RECORD_MISC_USER);

	o.chain = chain;
	o.nr_chain = 3;
	o.dump = a.regs - 8;
	o.dump_len = (NR_REGS + 1 + 4) * 8;
	add(&o, &a, &b); /* another chain, and no dump */
	assert_int_equal(b.nr_callchain, 3);
	assert_memory_equal(b.callchain, chain, sizeof(chain));
	assert_true(b.has & TRACE_HAS_USER_STACK && !b.nr_regs && !b.stack_len && !b.regs_abi);

	o = (struct perf_origin){.layout.sample_type = TIME | STACK_USER};
	put_sample(&o.layout);
	add(&o, &a, &b); /* a chain is there for those who look for one */
	assert_true(b.has & TRACE_HAS_CALLCHAIN && b.nr_callchain == 0);
}

static void put_long(size_t stack_bytes, size_t is_true)
{
	begin(PERF_RECORD_SAMPLE, 0);
	words(7, 1);
	words(stack_bytes, 1);
	for (size_t i = 0; i < stack_bytes / 8; i++)
		words(i, 1);
	words(is_true, 1);
	end();
}

/* A record has 65,528 bytes at most: the stack ends sooner. */
TEST(too_long)
{
	enum { MOST = 65528, HEAD = 8 + 8 + 8 + 8 };
	struct perf_origin o = {.layout.sample_type = TIME | STACK_USER, .id = 1};
	struct trace_record a, b;

	put_long(MOST - HEAD, MOST - HEAD);
	assert_int_equal(perf_record_add(&out, &o, (const uint8_t *)in.data, in.len), -E2BIG);
	assert_int_equal(out.len, 0);
	for (unsigned is_all = 0; is_all < 2; is_all++) {
		put_long(MOST - HEAD, is_all ? MOST - HEAD : 24);
		o.stack = (const uint8_t *)in.data + 24;
		add(&o, &a, &b);
		assert_int_equal(out.len, MOST);
		assert_int_equal(b.stack_len, is_all ? MOST - HEAD - 4 * 8 : 24);
		assert_memory_equal(b.stack, a.stack, b.stack_len);
	}
	o.stack = (const uint8_t *)in.data + in.len + 8; /* not in the record */
	assert_int_equal(perf_record_add(&out, &o, (const uint8_t *)in.data, in.len), -E2BIG);
	assert_int_equal(out.len, MOST);
}

static void put_fork(void)
{
	begin(PERF_RECORD_FORK, 0);
	for (uint32_t i = 1; i <= 4; i++)
		buf_le32(&in, i);
	words(77, 1);
	words(11, 1); /* pid and tid */
	words(78, 1);
}

TEST(others)
{
	struct perf_origin o = {.layout = {TID | TIME, 0, true}, .id = 42, .cpu = 3};
	struct trace_record a, b;

	put_fork();
	add(&o, &a, &b);
	assert_true(b.pid == 1 && b.ppid == 2 && b.tid == 3 && b.ptid == 4 && b.time_ns == 77);
	assert_int_equal(b.cpu, 3);
	assert_int_equal(b.id, 42);
	assert_int_equal(b.misc, 0);

	o.is_before = true; /* both of its times, and what perf knows such a fork by */
	add(&o, &a, &b);
	assert_int_equal(b.time_ns, 0);
	assert_int_equal(trace_word((uint8_t *)out.data, out.len / 8 - 3), 0);
	assert_int_equal(trace_word((uint8_t *)out.data, 4), 11);
	assert_int_equal(b.misc, 1 << 13);
	o.is_before = false;

	begin(PERF_RECORD_LOST, 0); /* of an event with an identifier */
	words(5, 2);
	words(11, 2);
	words(4711, 1);
	o.layout.sample_type |= IDENTIFIER;
	add(&o, &a, &b);
	assert_true(b.lost == 6 && b.time_ns == 12);
	assert_int_equal(identifier(&b), 42);
	assert_int_equal(out.len, in.len + 8);
	o.is_before = true;
	add(&o, &a, &b);
	assert_true(b.lost == 6 && b.time_ns == 0);
	o.is_before = false;

	begin(PERF_RECORD_BPF_EVENT, 0); /* longer than written: see perf_abi_body_bytes */
	words(5, 2);
	words(11, 6); /* its id has 3 */
	add(&o, &a, &b);
	assert_int_equal(b.time_ns, 12);
	assert_int_equal(out.len, 8 * (3 + 4));

	begin(PERF_RECORD_READ, 0); /* counts of an event that has them in its samples too */
	words(5, 4);
	words(11, 3);
	o.layout.sample_type |= READ;
	o.layout.read_format = ENABLED | RUNNING;
	add(&o, &a, &b);
	assert_int_equal(out.len, in.len + 2 * 8);
	assert_true(b.nr_read == 1 && trace_word(b.read_values, 0) == 6 && b.read_enabled_ns == 7 &&
		    b.read_running_ns == 8 && trace_word(b.read_values, 3) == 42);
	o.layout.sample_type &= ~(uint64_t)READ;

	o.layout.has_sample_id = false; /* an event that does not tell: nothing is made up */
	begin(PERF_RECORD_LOST, 0);
	words(5, 2);
	add(&o, &a, &b);
	assert_true(b.lost == 6 && b.time_ns == 0 && b.cpu == 3);
}

/* Too short for what its event asks for, or not of whole words: nothing is added. */
TEST(senseless)
{
	struct perf_origin o = {.layout = {IDENTIFIER | TIME | READ, GROUP, true}};

	buf_adds(&out, "before");
	for (size_t nr = 0; nr < 4; nr++) {
		begin(PERF_RECORD_SAMPLE, 0);
		words(9, nr); /* the fourth word is the count of counts */
		assert_int_equal(perf_record_add(&out, &o, end(), in.len), -EINVAL);
	}
	begin(PERF_RECORD_COMM, 0);
	words(1, 1);
	assert_int_equal(perf_record_add(&out, &o, end(), in.len), -EINVAL);
	begin(PERF_RECORD_SAMPLE, 0);
	words(0, 3);
	buf_addc(&in, 1);
	assert_int_equal(perf_record_add(&out, &o, end(), in.len), -EINVAL);
	assert_int_equal(perf_record_add(&out, &o, end(), 4), -EINVAL);
	o.layout.sample_type = IDENTIFIER | TIME;
	begin(PERF_RECORD_SAMPLE, 0);
	words(1, 2);
	buf_addc(&in, 1);
	assert_int_equal(perf_record_add(&out, &o, end(), in.len), -EINVAL);
	assert_string_equal(buf_str(&out), "before");
}

/* What a file needs besides, in the side band's layout. */
TEST(made)
{
	const struct trace_layout side = {.sample_type = IP | TID | TIME | CPU | IDENTIFIER,
					  .has_sample_id = true};
	const struct perf_kernel_range range = {0x1000, 0x200, 0x1010, "[kernel.kallsyms]_text"};
	struct trace_record r;

	perf_record_kernel(&out, &range, 42);
	assert_int_equal(trace_record_decode(&side, (uint8_t *)out.data, out.len, &r), 0);
	assert_true(r.kind == PERF_RECORD_MMAP && r.pid == UINT32_MAX && r.tid == 0 &&
		    r.start == 0x1000 && r.length == 0x200 && r.offset == 0x1010 && r.id == 42 &&
		    r.time_ns == 0 && r.cpumode == PERF_RECORD_MISC_KERNEL && r.len == out.len);
	assert_string_equal(r.name, "[kernel.kallsyms]_text");

	buf_reset(&out);
	perf_record_forget(&out, 17, 99, 3, 42);
	assert_int_equal(trace_record_decode(&side, (uint8_t *)out.data, out.len, &r), 0);
	assert_true(r.kind == PERF_RECORD_FORK && r.pid == 17 && r.ppid == 17 && r.tid == 17 &&
		    r.ptid == 17 && r.time_ns == 99 && r.cpu == 3 && r.misc == 1 << 13);

	buf_reset(&out);
	perf_record_lost_samples(&out, 5, 99, 3, 42);
	assert_int_equal(trace_record_decode(&side, (uint8_t *)out.data, out.len, &r), 0);
	assert_true(r.kind == PERF_RECORD_LOST_SAMPLES && r.lost == 5 && r.time_ns == 99 &&
		    r.cpu == 3 && r.id == 42);

	buf_reset(&out);
	perf_record_round(&out);
	assert_int_equal(out.len, 8);
	assert_memory_equal(out.data, "\x44\0\0\0\0\0\x08\0", 8);
}

/* A name that fills its words has a NUL all the same; one that is too long is cut. */
TEST(names)
{
	static char name[5001];
	struct perf_kernel_range range = {.name = name};

	for (size_t len = 0; len < 5000; len += len < 32 ? 1 : 331) {
		size_t shown = len < 4095 ? len : 4095;

		memset(name, 'x', len);
		name[len] = '\0';
		buf_reset(&out);
		perf_record_kernel(&out, &range, 1);
		assert_int_equal(out.len, 40 + (shown + 8) / 8 * 8 + 32);
		assert_int_equal(strlen(out.data + 40), shown);
	}
}

TEST(no_memory)
{
	struct perf_origin o = {.layout.sample_type = TIME};
	struct buf none;

	put_sample(&o.layout);
	end();
	for (size_t max = 0; max < 40; max++) {
		buf_init(&none, max);
		(void)perf_record_add(&none, &o, (const uint8_t *)in.data, in.len);
		assert_int_equal(buf_error(&none), -EFBIG);
		buf_fini(&none);
	}
}
