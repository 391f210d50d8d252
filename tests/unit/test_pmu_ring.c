/*
 * A ring and the counting of its records, on rings of fake_pmu.h.
 */
#include "fake_pmu.h"
#include "kit.h"

#include "base/perf_abi.h"
#include "pmu/ring.h"
#include "pmu/scan.h"

enum { RING_BYTES = 4096 };

struct bench {
	int fd[2];
	struct pmu_ring ring;
	struct pmu_scan_event events[2];
	struct pmu_scan_id ids[2];
	struct pmu_scan scan;
	struct pmu_view view;
};

static struct perf_event_attr attr_of(uint64_t sample_type)
{
	return (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
					.type = PERF_TYPE_SOFTWARE,
					.read_format = PERF_FORMAT_GROUP |
						       PERF_FORMAT_TOTAL_TIME_ENABLED |
						       PERF_FORMAT_TOTAL_TIME_RUNNING,
					.sample_type = sample_type,
					.sample_period = 500,
					.disabled = 1};
}

/* nr events that write into one ring. */
static void bench_init(struct bench *b, unsigned nr, uint64_t sample_type)
{
	struct perf_event_attr a = attr_of(sample_type);

	fake_reset();
	*b = (struct bench){.fd = {-1, -1}};
	for (unsigned i = 0; i < nr; i++) {
		b->fd[i] = fake_ops.open(&a, -1, 0, -1, 0);
		assert_true(b->fd[i] >= 0);
		pmu_scan_event_init(&b->events[i], &a);
		b->ids[i] = (struct pmu_scan_id){FAKE_FIRST_ID + i, i};
	}
	assert_int_equal(pmu_ring_open(&b->ring, &fake_ops, b->fd[0], RING_BYTES, false), 0);
	if (nr > 1)
		assert_int_equal(pmu_ring_join(&b->ring, b->fd[1]), 0);
	b->scan = (struct pmu_scan){.events = b->events,
				    .nr_events = nr,
				    .ids = b->ids,
				    .nr_ids = nr,
				    .has_identifier = sample_type & PERF_SAMPLE_IDENTIFIER};
	pmu_scan_sort(&b->scan);
	b->view = pmu_ring_view(&b->ring);
}

static void bench_fini(struct bench *b)
{
	pmu_ring_close(&b->ring);
	for (unsigned i = 0; i < 2; i++)
		if (b->fd[i] >= 0)
			fake_ops.close(b->fd[i]);
	assert_int_equal(fake.nr_live + fake.nr_rings + fake.nr_wrong, 0);
}

static void put(const uint64_t *words, size_t nr)
{
	assert_true(fake_put(&fake.rings[0], words, nr));
}

TEST(sizes)
{
	static const struct {
		uint64_t bytes;
		int rc;
	} cases[] = {{0, -EINVAL},       {8, -EINVAL}, {4096, 0},        {4096 + 8, -EINVAL},
		     {3 << 12, -EINVAL}, {1 << 20, 0}, {2 << 20, -EPERM}};
	struct perf_event_attr a = attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	struct pmu_ring r = {.fd = -1};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd;

		fake_reset();
		fake.max_ring_bytes = 1 << 20;
		fd = fake_ops.open(&a, -1, 0, -1, 0);
		assert_int_equal(pmu_ring_open(&r, &fake_ops, fd, cases[i].bytes, false),
				 cases[i].rc);
		assert_int_equal(r.base != NULL, cases[i].rc == 0);
		pmu_ring_close(&r);
		pmu_ring_close(&r); /* of zeroes: nothing */
		fake_ops.close(fd);
		assert_int_equal(fake.nr_live + fake.nr_rings + fake.nr_wrong, 0);
	}
}

/* Records of a ring that is overwritten, each with its number in its second word. */
static void put_numbered(uint64_t number, size_t nr_words)
{
	uint64_t words[32] = {fake_header(PERF_RECORD_SAMPLE, 0, nr_words), number};

	assert_true(nr_words <= 32);
	(void)fake_put(&fake.rings[0], words, nr_words);
}

/* The copy has the last records, all that fit but the one in which the next may be written, the
 * oldest first. */
TEST(overwritten)
{
	enum { LONGEST = 32, PER_ROUND = 97 };
	struct perf_event_attr a = attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	uint8_t copy[RING_BYTES];
	struct pmu_view v = {copy, UINT64_MAX};
	struct pmu_ring r;
	uint64_t number = 0;
	int fd;

	fake_reset();
	a.write_backward = 1;
	fd = fake_ops.open(&a, -1, 0, -1, 0);
	assert_int_equal(pmu_ring_open(&r, &fake_ops, fd, RING_BYTES, true), 0);
	for (unsigned round = 0; round < 200; round++) {
		uint64_t used = 0, from, at, last = number;
		bool has_all;

		from = pmu_ring_copy(&r, true, copy, &has_all);
		assert_int_equal(has_all,
				 fake_page(&fake.rings[0])->data_head + RING_BYTES <= RING_BYTES);
		for (at = RING_BYTES; at > from && last; last--) {
			uint64_t size = 8 * (2 + (last - 1) % (LONGEST - 1));

			assert_int_equal(pmu_record_bytes(&v, at - size, at), size);
			assert_int_equal(pmu_view_word(&v, at - size + 8), last - 1);
			at -= size;
			used += size;
		}
		assert_int_equal(at, from);
		assert_int_equal(pmu_ring_used(&r), has_all ? used : RING_BYTES);
		if (has_all)
			assert_int_equal(last, 0);
		else /* a record that is overwritten in part, and the longest */
			assert_true(used + 16 * LONGEST >= RING_BYTES);
		for (unsigned i = 0; i < PER_ROUND % (round + 1); i++, number++)
			put_numbered(number, 2 + number % (LONGEST - 1));
	}
	assert_int_equal(fake.nr_pauses, 2 * 200);
	assert_false(fake.rings[0].is_paused);
	pmu_ring_close(&r);
	fake_ops.close(fd);
	assert_int_equal(fake.nr_live + fake.nr_rings + fake.nr_wrong, 0);
}

/* Pieces of a span: before, across and behind the place where the ring wraps. */
TEST(spans)
{
	static const struct {
		uint64_t from, to, len[2], at[2];
	} cases[] = {
	    {0, 0, {0, 0}, {0, 0}},       {0, RING_BYTES, {RING_BYTES, 0}, {0, 0}},
	    {8, 4096, {4088, 0}, {8, 0}}, {4088, 4104, {8, 8}, {4088, 0}},
	    {4096, 4104, {8, 0}, {0, 0}}, {3 * 4096 + 4000, 4 * 4096 + 4000, {96, 4000}, {4000, 0}},
	};
	struct bench b;

	bench_init(&b, 1, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const void *part[2];
		size_t len[2];

		pmu_view_span(&b.view, cases[i].from, cases[i].to, part, len);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(len[k], cases[i].len[k]);
			if (len[k])
				assert_ptr_equal(part[k], b.view.data + cases[i].at[k]);
		}
	}
	bench_fini(&b);
}

/* Records that wrap are counted, and what is released can be written over. */
TEST(wraps)
{
	struct bench b;
	uint64_t nr = 0;

	bench_init(&b, 1, PERF_SAMPLE_TID | PERF_SAMPLE_TIME); /* 24 bytes: 4096 is no multiple */
	for (unsigned round = 0; round < 5; round++) {
		uint64_t head;

		for (unsigned i = 0; i < 150; i++, nr++)
			fake_sample(&fake.events[0], 7, 1000 + nr);
		head = pmu_ring_head(&b.ring);
		assert_int_equal(head, 24 * nr);
		assert_int_equal(pmu_scan_count(&b.scan, &b.view, b.ring.tail, head, UINT64_MAX),
				 head);
		pmu_ring_release(&b.ring, head);
	}
	assert_int_equal(b.events[0].samples, nr);
	assert_int_equal(b.events[0].weight, 500 * nr);
	assert_int_equal(b.events[0].idle, 0);
	assert_int_equal(fake.events[0].nr_lost, 0);
	bench_fini(&b);
}

TEST(two_events)
{
	struct bench b;
	uint64_t head;

	bench_init(&b, 2,
		   PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		       PERF_SAMPLE_PERIOD);
	for (unsigned i = 0; i < 10; i++)
		fake_sample(&fake.events[i % 3 == 0], i % 2, 100 + i);
	b.events[1].period = 0; /* by frequency: each sample says 500 */
	put((uint64_t[]){fake_header(PERF_RECORD_THROTTLE, 0, 7), 1, FAKE_FIRST_ID + 1, 0, 7, 200,
			 FAKE_FIRST_ID + 1},
	    7);
	put((uint64_t[]){fake_header(PERF_RECORD_UNTHROTTLE, 0, 7), 1, FAKE_FIRST_ID + 1, 0, 7, 300,
			 FAKE_FIRST_ID + 1},
	    7);
	put((uint64_t[]){fake_header(PERF_RECORD_LOST, 0, 6), FAKE_FIRST_ID, 41, 7, 400,
			 FAKE_FIRST_ID},
	    6);
	put((uint64_t[]){fake_header(PERF_RECORD_LOST_SAMPLES, 0, 5), 2, 7, 500, FAKE_FIRST_ID}, 5);
	put((uint64_t[]){fake_header(99, 0, 1)}, 1);
	head = pmu_ring_head(&b.ring);
	assert_int_equal(pmu_scan_count(&b.scan, &b.view, 0, head, UINT64_MAX), head);
	assert_int_equal(b.events[0].samples, 6);
	assert_int_equal(b.events[1].samples, 4);
	assert_int_equal(b.events[0].weight, 6 * 500);
	assert_int_equal(b.events[1].weight, 4 * 500);
	assert_int_equal(b.events[0].idle, 3); /* 2, 4, 8 */
	assert_int_equal(b.events[1].idle, 2); /* 0, 6 */
	assert_int_equal(b.events[0].throttled + b.events[0].unthrottled, 0);
	assert_int_equal(b.events[1].throttled, 1);
	assert_int_equal(b.events[1].unthrottled, 1);
	assert_int_equal(b.scan.lost, 43);
	assert_int_equal(b.scan.records, 15);
	bench_fini(&b);
}

/* An event of several tasks has an id for each of them. */
TEST(several_ids)
{
	struct bench b;
	uint64_t head;

	bench_init(&b, 2, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	b.ids[0] = (struct pmu_scan_id){FAKE_FIRST_ID + 1, 0};
	b.ids[1] = (struct pmu_scan_id){FAKE_FIRST_ID, 0};
	pmu_scan_sort(&b.scan);
	for (unsigned i = 0; i < 10; i++)
		fake_sample(&fake.events[i % 3 == 0], 7, 100 + i);
	head = pmu_ring_head(&b.ring);
	assert_int_equal(pmu_scan_count(&b.scan, &b.view, 0, head, UINT64_MAX), head);
	assert_int_equal(b.events[0].samples, 10);
	assert_int_equal(b.events[1].samples, 0);
	bench_fini(&b);
}

/* Linux may give a sample of a software event the id of another session's event: it is of the only
 * event that this can happen to; of several nobody knows. */
TEST(ids_of_strangers)
{
	static const struct {
		uint32_t type[2];
		uint64_t config[2];
		uint64_t samples[2];
	} cases[] = {
	    {{PERF_TYPE_SOFTWARE, PERF_TYPE_SOFTWARE},
	     {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_PAGE_FAULTS},
	     {0, 2}},
	    {{PERF_TYPE_TRACEPOINT, PERF_TYPE_SOFTWARE}, {1, PERF_COUNT_SW_TASK_CLOCK}, {2, 0}},
	    {{PERF_TYPE_TRACEPOINT, PERF_TYPE_SOFTWARE}, {1, PERF_COUNT_SW_PAGE_FAULTS}, {0, 0}},
	    {{PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE}, {2, PERF_COUNT_SW_CPU_CLOCK}, {0, 0}},
	};
	struct bench b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bench_init(&b, 2, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
		for (unsigned k = 0; k < 2; k++) {
			struct perf_event_attr a =
			    attr_of(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);

			a.type = cases[i].type[k];
			a.config = cases[i].config[k];
			pmu_scan_event_init(&b.events[k], &a);
			put((uint64_t[]){fake_header(PERF_RECORD_SAMPLE, 0, 4), 1, 7, 100}, 4);
		}
		assert_int_not_equal(
		    pmu_scan_count(&b.scan, &b.view, 0, pmu_ring_head(&b.ring), UINT64_MAX), 0);
		assert_int_equal(b.events[0].samples, cases[i].samples[0]);
		assert_int_equal(b.events[1].samples, cases[i].samples[1]);
		bench_fini(&b);
	}
}

/* The time of each kind of record, with and without IDENTIFIER. */
TEST(times)
{
	for (int identifier = 0; identifier < 2; identifier++) {
		uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IP;
		struct bench b;

		bench_init(&b, 1, type | (identifier ? PERF_SAMPLE_IDENTIFIER : 0));
		fake_sample(&fake.events[0], 1, 1234);
		fake.rings[0].lost = 5;
		fake_sample(&fake.events[0], 1, 1235); /* LOST before it, of now */
		assert_int_equal(pmu_scan_time_ns(&b.scan, &b.view, 0), 1234);
		assert_true(pmu_scan_time_ns(&b.scan, &b.view, identifier ? 40 : 32) > 1235);
		put((uint64_t[]){fake_header(99, 0, 1)}, 1); /* too short to have one */
		assert_int_equal(pmu_scan_time_ns(&b.scan, &b.view, pmu_ring_head(&b.ring) - 8), 0);
		bench_fini(&b);
	}
}

/* Whole records only, as many as the limit holds, but one at least. */
TEST(limits)
{
	static const struct {
		uint64_t max, end;
	} cases[] = {{0, 24}, {23, 24}, {24, 24}, {47, 24}, {48, 48}, {1000, 240}};
	struct bench b;

	bench_init(&b, 1, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	for (unsigned i = 0; i < 10; i++)
		fake_sample(&fake.events[0], 1, i);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		b.events[0].samples = 0;
		assert_int_equal(pmu_scan_count(&b.scan, &b.view, 0, 240, cases[i].max),
				 cases[i].end);
		assert_int_equal(b.events[0].samples, cases[i].end / 24);
	}
	assert_int_equal(pmu_record_bytes(&b.view, 0, 23), 0); /* it ends behind to */
	assert_int_equal(pmu_record_bytes(&b.view, 0, 24), 24);
	bench_fini(&b);
}

/* A size that cannot be: what follows is passed by, and nothing is read outside. */
TEST(nonsense)
{
	static const uint64_t sizes[] = {0, 1, 4, 12, 65535};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t memory[4] = {PERF_RECORD_SAMPLE | sizes[i] << 48, 1, 2, 3};
		struct pmu_view v = {(const uint8_t *)memory, UINT64_MAX};
		struct bench b;

		bench_init(&b, 1, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
		assert_int_equal(pmu_scan_count(&b.scan, &v, 0, sizeof(memory), UINT64_MAX),
				 sizeof(memory));
		assert_int_equal(b.scan.records, 0);
		memory[0] = fake_header(PERF_RECORD_SAMPLE, 0, 1); /* shorter than its fields */
		pmu_scan_count(&b.scan, &v, 0, 8, UINT64_MAX);
		assert_int_equal(b.events[0].samples, 1);
		assert_int_equal(pmu_scan_time_ns(&b.scan, &v, 0), 0);
		bench_fini(&b);
	}
}

/* Samples of waits weigh by the length in their raw data, which follows the callchain if there is
 * one. Data that is cut weighs nothing. */
TEST(waits)
{
	for (unsigned has_chain = 0; has_chain < 2; has_chain++) {
		struct perf_event_attr a =
		    attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW |
			    (has_chain ? PERF_SAMPLE_CALLCHAIN : 0));
		const uint64_t ns = 1000000;
		uint64_t words[8] = {0, 7, 1000};
		struct pmu_view v = {(const uint8_t *)words, UINT64_MAX};
		struct pmu_scan_event e;
		struct pmu_scan scan = {.events = &e, .nr_events = 1};
		size_t nr = 3;

		a.config = PERF_COUNT_SW_BPF_OUTPUT;
		a.config1 = PERF_ABI_WAIT;
		a.sample_period = 1000000;
		pmu_scan_event_init(&e, &a);
		if (has_chain) {
			words[nr++] = 2;
			words[nr++] = 0x1000;
			words[nr++] = 0x2000;
		}
		words[nr++] = 12 | ns << 32;
		words[nr++] = ns >> 32;
		words[0] = fake_header(PERF_RECORD_SAMPLE, 0, nr);
		pmu_scan_count(&scan, &v, 0, 8 * nr, UINT64_MAX);
		assert_int_equal(e.samples, 1);
		assert_int_equal(e.weight, 1581977);
		words[0] = fake_header(PERF_RECORD_SAMPLE, 0, nr - 1);
		pmu_scan_count(&scan, &v, 0, 8 * (nr - 1), UINT64_MAX);
		words[3] = UINT64_MAX; /* a chain of more words than there are, or a length */
		words[0] = fake_header(PERF_RECORD_SAMPLE, 0, 4);
		pmu_scan_count(&scan, &v, 0, 8 * 4, UINT64_MAX);
		assert_int_equal(e.samples, 1); /* without a wait it is no sample */
		assert_int_equal(e.weight, 1581977);
	}
}
