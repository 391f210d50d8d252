/*
 * Records of samples that are not added up wait for more of them: not for long, behind nothing that
 * is later, and on a full disk as many are written as fit.
 */
#include "kit.h"
#include "test_trace.h"

#include "base/clock.h"
#include "plan/plan.h"
#include "session/sampling_internal.h"
#include "whole/sums.h"

enum { NR_CPUS = 1, RECORD_BYTES = 32, A_FRAME = 64 << 10, MANY = A_FRAME / RECORD_BYTES };
#define A_MINUTE UINT64_C(60000000000)

static struct folder folder;
static struct spec spec;
static struct plan plan;
static struct session_cpu cpu;
static struct recorder recorder;
static struct sampling sampling;
static struct sampler sampler;
static struct trace_writer *writer;
static uint64_t pack_until_ns, nr_put;
static struct err err;

HOOK(before_each)
{
	const struct whole_config config = {
	    .machine = "x86_64", .nr_cpus = NR_CPUS, .max_bytes = 1 << 20};

	folder_init(&folder);
	err = (struct err){0};
	nr_put = 0;
	plan = (struct plan){.nr_parts = 1, .spec = &spec};
	cpu = (struct session_cpu){.plan = &plan, .cpu = 5};
	writer = trace_writer_new();
	assert_non_null(writer);
	assert_int_equal(sample_gather_start(writer), 0);
	assert_int_equal(sampler_init(&sampler, &cpu, &pack_until_ns), 0);
	assert_int_equal(
	    trace_file_create(writer, folder.fd, "t", "some/path", NULL, &sampler.file, &err), 0);
	assert_int_equal(whole_new(&config, &sampler.whole), 0);
	assert_int_equal(whole_start(sampler.whole), 0);
	sampler.sums = whole_sums_new(4096, NULL); /* which knows no event */
	assert_non_null(sampler.sums);
	recorder = (struct recorder){.writer = writer};
	sampling = (struct sampling){.nr_cpus = NR_CPUS,
				     .plan = &plan,
				     .whole = sampler.whole,
				     .samplers = &sampler,
				     .recorder = &recorder};
	buf_init(&sampling.unwound, TRACE_FILE_RECORDS_BYTES);
}

HOOK(after_each)
{
	struct whole *whole = sampler.whole;

	sys_set_ops(NULL);
	buf_fini(&sampling.unwound);
	sampler_fini(&sampler);
	whole_free(whole);
	trace_writer_free(writer);
	folder_fini(&folder);
}

/* So many records, each with its number, come back from who unwinds. */
static int unwind(uint64_t nr)
{
	BUF_AUTO(records, 1 << 20);

	for (uint64_t i = 0; i < nr; i++) {
		const uint64_t record[RECORD_BYTES / 8] = {
		    PERF_RECORD_SAMPLE | (uint64_t)RECORD_BYTES << 48, 7, nr_put++};

		buf_add(&records, record, sizeof(record));
	}
	assert_int_equal(whole_put(sampler.whole, 0, (const void *[]){records.data, NULL},
				   (size_t[]){records.len, 0}),
			 records.len);
	whole_settle(sampler.whole, clock_monotonic_ns() + A_MINUTE);
	return sampling_write_unwound(&sampling, 0, &err);
}

/* What is in the file: the records, in their order; how many frames they are in, and how many
 * records were before the first reading of between. */
struct found {
	uint64_t records, frames, before_tick;
};

static void take_records(const struct trace_frame *f, struct found *found)
{
	enum trace_ring ring;
	const uint8_t *p;
	uint32_t number;
	size_t len;

	assert_int_equal(trace_decode_records(f, &ring, &number, &p, &len), 0);
	assert_int_equal(ring, TRACE_RING_SAMPLES);
	assert_int_equal(len % RECORD_BYTES, 0);
	for (size_t at = 0; at < len; at += RECORD_BYTES) {
		uint64_t word;

		memcpy(&word, p + at + 16, sizeof(word));
		assert_int_equal(word, found->records++);
	}
	found->frames++;
}

static struct found find(void)
{
	struct found found = {.before_tick = UINT64_MAX};
	enum trace_boundary boundary;
	struct trace_reader *r;
	struct trace_frame f;
	size_t nr;
	int rc;

	assert_int_equal(trace_reader_open(folder.fd, "t", &r, &err), 0);
	while ((rc = trace_reader_next(r, &f, &err)) == 1) {
		if (f.kind == TRACE_FRAME_RECORDS)
			take_records(&f, &found);
		if (f.kind != TRACE_FRAME_READINGS)
			continue;
		assert_int_equal(trace_decode_readings(&f, &boundary, &nr), 0);
		if (boundary == TRACE_TICK && found.before_tick == UINT64_MAX)
			found.before_tick = found.records;
	}
	assert_int_equal(rc, 0);
	trace_reader_close(r);
	return found;
}

/* The first ones, which wait from then on however slow the machine is. */
static void begin(uint64_t nr)
{
	do
		assert_int_equal(unwind(nr), 0);
	while (!sampler.apart.len);
	sampler.apart_ns = clock_monotonic_ns() + A_MINUTE;
}

TEST(many_are_one_frame)
{
	struct found before, found;

	begin(1);
	before = find();
	for (uint64_t i = 1; i < MANY; i++)
		assert_int_equal(unwind(1), 0);
	assert_int_equal(find().frames, before.frames);
	assert_int_equal(unwind(1), 0);
	found = find();
	assert_int_equal(found.records, before.records + MANY);
	assert_int_equal(found.frames, before.frames + 1);
	sampler.apart_ns = clock_monotonic_ns() + A_MINUTE;
	assert_int_equal(unwind(1), 0);
	assert_int_equal(sampler_write_sums(&sampler, writer, &err), 0);
	assert_int_equal(find().records, nr_put);
}

TEST(few_do_not_wait_for_long)
{
	const uint64_t before_ns = clock_monotonic_ns();

	assert_int_equal(unwind(2), 0);
	if (sampler.apart.len) { /* not on a machine that took half a second for it */
		assert_true(sampler.apart_ns >= before_ns);
		assert_true(sampler.apart_ns <= clock_monotonic_ns());
	}
	sampler.apart_ns = before_ns - A_MINUTE;
	assert_int_equal(sampling_write_unwound(&sampling, 0, &err), 0);
	assert_int_equal(find().records, 2);
	assert_int_equal(sampler.apart.len, 0);
}

/* A reader sorts by time, but only so far. */
TEST(nothing_later_is_before_them)
{
	assert_int_equal(unwind(3), 0);
	sampling.delays.nr_readings = 1;
	sampling.delays.readings[0] = (struct reading){.time_ns = 9};
	assert_int_equal(sampling_write_delays(&sampling, &err), 0);
	assert_int_equal(find().before_tick, 3);
}

TEST(without_a_file_they_are_dropped)
{
	struct trace_file *file = sampler.file;

	assert_int_equal(unwind(3), 0);
	sampler.file = NULL;
	assert_int_equal(sampler_write_apart(&sampler, &err), 0);
	assert_int_equal(sampler.apart.len, 0);
	sampler.file = file;
}

/* Room for no frame that is larger. */
static ssize_t small_writev(int fd, const struct iovec *piece, int nr)
{
	size_t len = 0;

	for (int i = 0; i < nr; i++)
		len += piece[i].iov_len;
	return len > A_FRAME / 4 ? -ENOSPC : sys_kernel_ops.writev(fd, piece, nr);
}

TEST(on_a_full_disk_what_fits)
{
	struct sys_ops ops = sys_kernel_ops;
	const uint64_t nr = MANY - 1;
	uint64_t before, written;

	begin(nr);
	before = find().records;
	ops.writev = small_writev;
	sys_set_ops(&ops);
	assert_int_equal(sampler_write_apart(&sampler, &err), -ENOSPC);
	written = find().records - before;
	assert_true(written >= nr / 8 && written < nr);
	assert_int_equal(sampler.apart.len, 0);
}
