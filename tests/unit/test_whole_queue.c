/*
 * The queue of samples, and the thread that unwinds them: what it finds of this very program is
 * what a reader finds; what it has no time, no room or no mappings for keeps its bytes.
 */
#include "test_unwind.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/perf_abi.h"
#include "elf/vdso.h"
#include "proc/maps.h"
#include "survey/record.h"
#include "trace/waker.h"
#include "whole/record.h"
#include "whole/whole.h"

#include <stdatomic.h>

enum { ID = 5, MAX_BYTES = 1 << 20 };
#define A_MINUTE UINT64_C(60000000000)

static struct whole *whole;
static struct perf_event_attr attr;
static struct trace_layout raw, unwound;
static struct test_sample sample;
static struct test_unwind as_read;
static atomic_bool is_known;
static uint32_t pid; /* of samples; their thread is this one */

static bool is_ready(void *arg)
{
	(void)arg;
	return is_known;
}

HOOK(before_each)
{
	const struct whole_config config = {
	    .machine = TEST_MACHINE, .nr_cpus = 2, .max_bytes = MAX_BYTES, .is_ready = is_ready};
	struct perf_event_attr a;

	attr = (struct perf_event_attr){
	    .size = sizeof(attr),
	    .sample_period = 1,
	    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	    .sample_regs_user = TEST_REGS,
	    .sample_stack_user = 32 << 10,
	};
	a = whole_record_attr(&attr);
	assert_true(trace_layout_init(&raw, &attr, sizeof(attr)));
	assert_true(trace_layout_init(&unwound, &a, sizeof(a)));
	is_known = true;
	pid = (uint32_t)getpid();
	assert_int_equal(whole_new(&config, &whole), 0);
	assert_int_equal(whole_add_id(whole, ID, &attr, false), 0);
}

HOOK(after_each)
{
	whole_free(whole);
}

static void put_word(struct buf *b, uint64_t word)
{
	buf_add(b, &word, sizeof(word));
}

static void end_record(struct buf *b, size_t at)
{
	uint16_t size = (uint16_t)(b->len - at);

	assert_int_equal(buf_error(b), 0);
	memcpy(b->data + at + 6, &size, sizeof(size));
}

/* The sample as the kernel's record. */
static void make_sample(struct buf *b, uint64_t time_ns)
{
	size_t at = b->len, len = sample.stack_len & ~7ul;

	len = len < attr.sample_stack_user ? len : attr.sample_stack_user;
	put_word(b, PERF_RECORD_SAMPLE | (uint64_t)PERF_RECORD_MISC_USER << 32);
	put_word(b, ID);
	put_word(b, pid | (uint64_t)getpid() << 32);
	put_word(b, time_ns);
	put_word(b, 0);
	put_word(b, PERF_SAMPLE_REGS_ABI_64);
	for (unsigned i = 0; i < sample.layout.nr_user_regs; i++)
		put_word(b, sample.reg[i]);
	put_word(b, attr.sample_stack_user);
	buf_add(b, sample.stack, len);
	buf_fill(b, '\0', attr.sample_stack_user - len);
	put_word(b, len);
	end_record(b, at);
}

/* A record that is no sample, with a number. */
static void make_other(struct buf *b, uint64_t number)
{
	size_t at = b->len;

	put_word(b, PERF_RECORD_THROTTLE);
	put_word(b, number);
	end_record(b, at);
}

/* The mappings of this program, as records. */
static void make_mappings(struct buf *b)
{
	const struct survey_task self = {(uint32_t)getpid(), (uint32_t)getpid(), 1};
	struct profile_lookup *l = &as_read.lookup;

	test_map_self(l);
	for (size_t i = 0; i < l->nr; i++) {
		const struct proc_mapping m = {.start = l->mapping[i].start,
					       .end = l->mapping[i].end,
					       .offset = l->mapping[i].offset,
					       .prot = l->mapping[i].prot,
					       .name = l->path[i],
					       .name_len = strlen(l->path[i])};

		survey_record_mmap2(b, &self, &m, NULL);
	}
}

/* What the survey says of this program. */
static void add_mappings(void)
{
	BUF_AUTO(b, 1 << 20);

	make_mappings(&b);
	whole_add_made(whole, b.data, b.len);
}

/* What a ring says of it: it execs first. */
static void add_side(void)
{
	const struct survey_task self = {(uint32_t)getpid(), (uint32_t)getpid(), 1};
	const uint16_t misc = PERF_RECORD_MISC_COMM_EXEC;
	BUF_AUTO(b, 1 << 20);

	survey_record_comm(&b, &self, "x", 1);
	memcpy(b.data + 4, &misc, sizeof(misc));
	make_mappings(&b);
	whole_add_side(whole, (const void *[]){b.data, NULL}, (size_t[]){b.len, 0});
}

static size_t put(uint32_t cpu, const struct buf *b, size_t first)
{
	const void *part[2] = {b->data, b->data + first};
	const size_t len[2] = {first, b->len - first};

	return whole_put(whole, cpu, part, len);
}

__attribute__((noinline)) static void take_sample(unsigned depth)
{
	if (depth)
		take_sample(depth - 1);
	else
		TEST_TRAP();
	__asm__ volatile("");
}

static void settle(void)
{
	whole_settle(whole, clock_monotonic_ns() + A_MINUTE);
}

TEST(stacks_are_those_of_a_reader)
{
	struct trace_record r;
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, 1 << 20);

	test_trap_into(&sample);
	take_sample(20);
	add_mappings();
	as_read.vdso = elf_vdso_open();
	assert_int_equal(test_unwind_open(&as_read, TEST_MACHINE), 0);
	test_unwind_run(&as_read, &sample);
	assert_int_equal(as_read.end, UNWIND_WHOLE);
	assert_int_equal(whole_start(whole), 0);
	make_sample(&from, 10);
	assert_int_equal(put(0, &from, from.len), from.len);
	settle();
	assert_true(whole_take(whole, 0, &to));
	assert_int_equal(whole_counts(whole).unwound, 1);
	assert_int_equal(trace_record_decode(&unwound, (const uint8_t *)to.data, to.len, &r), 0);
	assert_int_equal(r.len, to.len);
	assert_int_equal(r.id, whole_record_id(ID));
	assert_int_equal(r.nr_callchain, as_read.nr + 2); /* two marks */
	for (size_t i = 0; i < as_read.nr; i++)
		assert_int_equal(trace_word(r.callchain, i + 1), as_read.chain[i]);
	test_unwind_close(&as_read);
	elf_file_close(as_read.vdso);
}

TEST(of_an_unknown_process_the_bytes_stay)
{
	struct trace_record r;
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, 1 << 20);

	assert_int_equal(whole_start(whole), 0);
	make_sample(&from, 10);
	assert_int_equal(put(0, &from, from.len), from.len);
	settle();
	assert_true(whole_take(whole, 0, &to));
	assert_int_equal(trace_record_decode(&raw, (const uint8_t *)to.data, to.len, &r), 0);
	assert_int_equal(r.id, ID);
	assert_true(r.stack_len > 0);
	assert_memory_equal(r.stack, sample.stack, r.stack_len);
	assert_int_equal(whole_counts(whole).kept, 1);
	assert_int_equal(whole_counts(whole).unknown, 1);
}

/* The sample of a wait without a stack, with a waker whose stack has so many bytes. */
static void make_wait(struct buf *b, uint32_t stack_bytes)
{
	const uint32_t head[] = {7, 0, 1, 0, pid, pid, 0, 1},
		       of_stack[] = {3, stack_bytes, 0x1c0, 0};
	const uint32_t len = TRACE_WAKER_STACK_BYTES + stack_bytes + 4;

	put_word(b, PERF_RECORD_SAMPLE | (uint64_t)PERF_RECORD_MISC_USER << 32);
	put_word(b, ID);
	put_word(b, pid | (uint64_t)getpid() << 32);
	put_word(b, 10);
	put_word(b, 0);
	buf_add(b, &len, sizeof(len));
	buf_add(b, head, sizeof(head));
	buf_fill(b, 'x', 16);
	buf_add(b, of_stack, sizeof(of_stack));
	buf_fill(b, 'r', TRACE_WAKER_STACK_BYTES - 64);
	buf_fill(b, 's', stack_bytes + 4);
	put_word(b, 0); /* no registers */
	put_word(b, 0); /* no stack */
	end_record(b, 0);
}

/* It is of no use there: a reader does not know the code, either. */
TEST(of_a_waker_in_an_unknown_process_a_piece_stays)
{
	static struct trace_waker waker;
	struct trace_record r;
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, 1 << 20);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	attr.config1 = PERF_ABI_WAIT;
	attr.config2 = PERF_ABI_WAKER;
	attr.sample_type |= PERF_SAMPLE_RAW;
	assert_true(trace_layout_init(&raw, &attr, sizeof(attr)));
	assert_int_equal(whole_add_id(whole, ID, &attr, false), 0);
	assert_int_equal(whole_start(whole), 0);
	make_wait(&from, 16000);
	assert_int_equal(put(0, &from, from.len), from.len);
	settle();
	assert_true(whole_take(whole, 0, &to));
	assert_int_equal(trace_record_decode(&raw, (const uint8_t *)to.data, to.len, &r), 0);
	assert_true(trace_waker_decode(&raw, &r, &waker));
	assert_int_equal(waker.record.nr_callchain, 2);
	assert_int_equal(waker.record.stack_len, 1024);
}

/* Where a stack of the thread has ended, the next one is not copied further. A sample of another
 * process shows it: it keeps its bytes. */
TEST(bytes_that_are_not_needed_are_not_copied)
{
	const size_t len = sample.stack_len & ~7ul;
	struct trace_record r;
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, 1 << 20);

	test_trap_into(&sample);
	take_sample(20);
	add_mappings();
	assert_int_equal(whole_start(whole), 0);
	for (int i = 0; i < 2; i++) {
		buf_reset(&from);
		buf_reset(&to);
		make_sample(&from, 10);
		assert_int_equal(put(0, &from, from.len), from.len);
		settle();
		assert_true(whole_take(whole, 0, &to));
		pid++;
	}
	assert_int_equal(whole_counts(whole).unwound, 1);
	assert_int_equal(whole_counts(whole).kept, 1);
	assert_int_equal(trace_record_decode(&raw, (const uint8_t *)to.data, to.len, &r), 0);
	assert_true(r.stack_len > 0 && r.stack_len < len);
	assert_true(r.stack_len < attr.sample_stack_user);
	assert_memory_equal(r.stack, sample.stack, r.stack_len);
}

/* What a ring has said since whole_go waits for the next one: others may have said what was before.
 */
TEST(records_of_one_ring_wait_for_the_others)
{
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, 1 << 20);

	test_trap_into(&sample);
	take_sample(20);
	is_known = false;
	assert_int_equal(whole_start(whole), 0);
	make_sample(&from, 10);
	assert_int_equal(put(0, &from, from.len), from.len);
	whole_go(whole);
	add_side();
	is_known = true;
	while (!whole_take(whole, 0, &to))
		usleep(1000);
	assert_int_equal(whole_counts(whole).unknown, 1);
	assert_int_equal(put(0, &from, from.len), from.len);
	settle();
	assert_int_equal(whole_counts(whole).unknown, 1);
	assert_int_equal(whole_counts(whole).unwound, 1);
}

/* What is to be added up has frame pointers in place of bytes, if it cannot be unwound. */
TEST(of_what_is_added_up_no_bytes_stay)
{
	struct trace_record r;
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, 1 << 20);

	assert_int_equal(whole_add_id(whole, ID, &attr, true), 0);
	assert_int_equal(whole_start(whole), 0);
	make_sample(&from, 10);
	assert_int_equal(put(0, &from, from.len), from.len);
	settle();
	assert_true(whole_take(whole, 0, &to));
	assert_int_equal(trace_record_decode(&unwound, (const uint8_t *)to.data, to.len, &r), 0);
	assert_int_equal(r.id, whole_record_id(ID));
	assert_int_equal(r.nr_callchain, 1); /* the mark */
	assert_int_equal(whole_counts(whole).kept, 0);
}

/* Wherever the ring wraps. */
TEST(records_keep_their_order)
{
	enum { NR_RECORDS = 40 };

	assert_int_equal(whole_start(whole), 0);
	for (size_t first = 0; first <= NR_RECORDS * 16; first += 8) {
		uint64_t number = 0;
		BUF_AUTO(from, 1 << 20);
		BUF_AUTO(to, 160); /* ten at a time */

		for (uint64_t i = 0; i < NR_RECORDS; i++)
			make_other(&from, i);
		assert_int_equal(put(1, &from, first), from.len);
		settle();
		assert_false(whole_take(whole, 0, &to));
		while (whole_take(whole, 1, &to)) {
			for (size_t at = 0; at < to.len; at += 16)
				assert_int_equal(trace_word((uint8_t *)to.data + at + 8, 0),
						 number++);
			buf_reset(&to);
		}
		assert_int_equal(number, NR_RECORDS);
	}
}

TEST(nothing_is_worked_on_before_it_may)
{
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, 1 << 20);

	assert_int_equal(whole_start(whole), 0);
	make_other(&from, 1);
	assert_int_equal(put(0, &from, from.len), from.len);
	assert_false(whole_take(whole, 0, &to));
	settle();
	assert_true(whole_take(whole, 0, &to));
}

TEST(what_waits_too_long_keeps_its_bytes)
{
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, 1 << 20);

	is_known = false; /* the survey hangs */
	assert_int_equal(whole_start(whole), 0);
	for (uint64_t i = 0; i < 3; i++)
		make_sample(&from, 10 + i);
	assert_int_equal(put(0, &from, from.len), from.len);
	whole_settle(whole, clock_monotonic_ns());
	assert_true(whole_take(whole, 0, &to));
	assert_int_equal(whole_counts(whole).late, 3);
	assert_int_equal(whole_counts(whole).unwound, 0);
	for (size_t i = 0, at = 0; i < 3; i++) {
		struct trace_record r;

		assert_int_equal(
		    trace_record_decode(&raw, (const uint8_t *)to.data + at, to.len - at, &r), 0);
		assert_int_equal(r.id, ID);
		assert_int_equal(r.time_ns, 10 + i);
		at += r.len;
	}
}

TEST(a_full_queue_takes_no_more)
{
	size_t put_bytes = 0, got = 0, nr = 0;
	BUF_AUTO(from, 1 << 20);
	BUF_AUTO(to, MAX_BYTES);

	is_known = false;
	assert_int_equal(whole_start(whole), 0);
	make_sample(&from, 10);
	do {
		got = put(0, &from, from.len);
		put_bytes += got;
		nr += got != 0;
	} while (got);
	assert_true(put_bytes >= MAX_BYTES / 2);
	assert_int_equal(whole_counts(whole).refused, 1);
	whole_settle(whole, clock_monotonic_ns());
	for (size_t taken = 0; taken < nr;) {
		assert_true(whole_take(whole, 0, &to));
		for (size_t at = 0; at < to.len; taken++) {
			uint32_t kind;

			at += trace_record_size((const uint8_t *)to.data + at, to.len - at, &kind);
		}
		buf_reset(&to);
	}
	assert_int_equal(put(0, &from, from.len), from.len); /* there is room again */
}

TEST(without_the_thread_nothing_is_put)
{
	BUF_AUTO(from, 1 << 20);

	make_other(&from, 1);
	assert_int_equal(put(0, &from, from.len), 0);
}

TEST(an_unknown_machine)
{
	const struct whole_config config = {.machine = "vax", .nr_cpus = 1};
	struct whole *w;

	assert_int_equal(whole_new(&config, &w), -ENOTSUP);
}
