/*
 * Waits made from records of switches: over CPUs and iterations, with the stack of the last sample
 * before; what is lost is unknown, and never guessed.
 */
#include "kit.h"
#include "test_record.h"
#include "test_trace.h"

#include "profile/samples.h"

enum { PID = 7, MAX_BYTES = 1 << 20, NR_TRACES = 3 };
enum { OUT = 1 << 13, PREEMPTED = 1 << 13 | 1 << 14 };

/* A clock, and the waits. */
static uint8_t attrs[3][ATTR_BYTES];
static struct trace_event events[3];
static const struct trace_id ids[] = {
    {.id = 10, .event = 0}, {.id = 11, .event = 1}, {.id = 12, .event = 2}};

void before_all(void)
{
	for (uint32_t i = 0; i < NR(events); i++) {
		const struct attr a = {.type = 1,
				       .config = i ? 10 : 0,
				       .period = 1000,
				       .sample_type = S_IDENTIFIER | S_TID | S_TIME | S_CALLCHAIN |
						      (i ? S_RAW : 0),
				       .bits = ATTR_SAMPLE_ID_ALL};

		attr_bytes(&a, attrs[i]);
		put_word(attrs[i] + 56, i ? 0x63707510 + 2 - i : 0); /* run_queue, off_cpu */
		events[i] = (struct trace_event){.id = i + 1,
						 .kind = EVENT_COUNT,
						 .rate = 1000,
						 .state = READING_OK,
						 .attr = attrs[i],
						 .attr_bytes = ATTR_BYTES,
						 .group = "x",
						 .name = "x",
						 .label = "x",
						 .unit = "x"};
	}
}

/* What happens, in order of time. */
struct event {
	uint32_t cpu, tid;
	uint64_t ns;
	uint32_t kind; /* PERF_RECORD_… */
	uint16_t misc;
	uint64_t address; /* of a sample */
};

static void add_event(struct buf *b, const struct event *ev)
{
	size_t at = record_begin(b, ev->kind, ev->misc);

	if (ev->kind == PERF_RECORD_LOST) {
		buf_le64(b, 11);
		buf_le64(b, 1);
	}
	if (ev->kind == PERF_RECORD_SAMPLE)
		buf_le64(b, 10);
	record_id(b, PID, ev->tid, ev->ns);
	if (ev->kind == PERF_RECORD_SAMPLE) {
		buf_le64(b, 1);
		buf_le64(b, ev->address);
	} else {
		buf_le64(b, 11);
	}
	record_end(b, at);
}

static void write_trace(struct folder *folder, uint32_t iteration, uint32_t trace,
			const struct event *from, size_t nr)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_head head = {.iteration = iteration,
					.trace = trace,
					.cpu = trace + 1 == NR_TRACES ? TRACE_ANY_CPU : trace,
					.nr_traces = NR_TRACES};
	const struct trace_totals totals = {.start_ns = iteration * 10000ull,
					    .end_ns = (iteration + 1) * 10000ull};
	struct trace_writer *w = trace_writer_new();
	struct err e = {0};
	struct buf b;
	char name[64];

	buf_init(&b, MAX_BYTES);
	for (size_t i = 0; i < nr; i++)
		if (from[i].cpu == trace && from[i].ns > totals.start_ns &&
		    from[i].ns <= totals.end_ns)
			add_event(&b, &from[i]);
	snprintf(name, sizeof(name), "s.%u.%u.cpuperf", iteration, trace);
	assert_int_equal(trace_writer_set_common(w, &info, events, NR(events)), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	if (trace + 1 < NR_TRACES)
		trace_writer_ids(w, ids, NR(ids));
	if (b.len)
		trace_writer_records(w, TRACE_RING_SAMPLES, trace, b.data, b.len);
	trace_writer_sampling(w, &(struct trace_sampling){.idle_ns = UINT64_MAX});
	assert_int_equal(trace_writer_commit(w, folder->fd, name, name, &totals, &e), 0);
	trace_writer_free(w);
	buf_fini(&b);
}

static void ignore(void *arg, bool is_loss, const struct err *e)
{
	(void)arg;
	(void)is_loss;
	(void)e;
}

/* What was made: an event's index, the kind of wait, the sum and the stack. */
struct made {
	uint32_t iteration, event, tid, wait;
	uint64_t ns, address;
};

static void check_part(struct profile_session *s, size_t file, const struct made *expected,
		       size_t nr)
{
	const uint32_t iteration = profile_session_file(s, file).iteration;
	uint64_t sums[NR(events)] = {0};
	const struct profile_trace *trace;
	struct profile_samples *samples;
	struct profile_sample got;
	size_t found = 0, wanted = 0;

	for (size_t i = 0; i < nr; i++)
		wanted += expected[i].iteration == iteration;
	assert_int_equal(profile_samples_open(s, file, ignore, NULL, &samples), 1);
	while (profile_samples_next(samples, &got) == 1) {
		const struct trace_record *r = &got.record;
		uint64_t address = r->nr_callchain ? trace_word(r->callchain, 0) : 0;
		size_t i = 0;

		while (i < nr &&
		       (expected[i].iteration != iteration || expected[i].tid != r->tid ||
			expected[i].event != got.id->event || expected[i].wait != r->wait ||
			expected[i].ns != got.weight || expected[i].address != address))
			i++;
		if (i == nr)
			fail_msg("iteration %u: event %u, tid %u, wait %u: %u ns at %x", iteration,
				 got.id->event, r->tid, r->wait, (unsigned)got.weight,
				 (unsigned)address);
		assert_int_equal(r->pid, PID);
		sums[got.id->event] += got.weight;
		found++;
	}
	assert_int_equal(found, wanted);
	trace = profile_samples_trace(samples);
	assert_non_null(trace);
	for (uint32_t i = 1; i < NR(events); i++) {
		assert_int_equal(trace->pairs[i].end.raw - trace->pairs[i].start.raw, sums[i]);
		assert_int_equal(trace->pairs[i].end.state, READING_OK);
		assert_int_equal(trace->sampling->item[2 - i].weight, sums[i]);
	}
	profile_samples_close(samples);
}

/* In iterations of 10,000 ns. */
static void check(const struct event *from, size_t nr, uint32_t nr_iterations,
		  const struct made *expected, size_t nr_expected)
{
	struct profile_session *s;
	struct folder folder;
	char path[sizeof(folder.path) + 16];
	const struct profile_manifest m = {path, "s", nr_iterations, NR_TRACES};
	struct err e = {0};

	folder_init(&folder);
	snprintf(path, sizeof(path), "%s/s.cpsession", folder.path);
	for (uint32_t i = 0; i < nr_iterations; i++)
		for (uint32_t t = 0; t < NR_TRACES; t++)
			write_trace(&folder, i, t, from, nr);
	assert_int_equal(profile_session_open(&m, ignore, NULL, &s, &e), 0);
	assert_non_null(profile_session_waits(s));
	for (size_t i = 0; i < profile_session_nr_files(s); i++)
		if (profile_session_file(s, i).trace + 1 == NR_TRACES)
			check_part(s, i, expected, nr_expected);
	profile_session_close(s);
	folder_fini(&folder);
}

#define SWITCH(cpu, tid, ns, misc)                                                                 \
	{                                                                                          \
		cpu, tid, ns, PERF_RECORD_SWITCH, misc, 0                                          \
	}
#define SAMPLE(cpu, tid, ns, address)                                                              \
	{                                                                                          \
		cpu, tid, ns, PERF_RECORD_SAMPLE, 2, address                                       \
	}
#define LOST(cpu, ns)                                                                              \
	{                                                                                          \
		cpu, 1, ns, PERF_RECORD_LOST, 0, 0                                                 \
	}
enum { QUEUE = 1, OFF = 2 };

TEST(blocked_and_preempted)
{
	static const struct event from[] = {
	    SAMPLE(0, 1, 500, 0x1000),     SWITCH(0, 1, 1000, OUT), SWITCH(1, 1, 1500, 0),
	    SWITCH(1, 1, 2000, PREEMPTED), SWITCH(0, 1, 2300, 0),   SWITCH(0, 1, 3000, OUT),
	    SWITCH(0, 1, 3600, 0),         SWITCH(1, 2, 4000, OUT), SWITCH(1, 2, 4700, 0),
	};
	static const struct made made[] = {
	    {0, OFF, 1, TRACE_WAIT_BOTH, 1100, 0x1000}, /* two waits with one stack */
	    {0, QUEUE, 1, TRACE_WAIT_OF_EVENT, 300, 0x1000},
	    {0, OFF, 2, TRACE_WAIT_BOTH, 700, 0},
	};

	check(from, NR(from), 1, made, NR(made));
}

/* Each wait has the stack of the last sample before it began. */
TEST(stacks)
{
	static const struct event from[] = {
	    SAMPLE(0, 1, 100, 0x1000), SWITCH(0, 1, 200, OUT), SWITCH(1, 1, 300, 0),
	    SAMPLE(1, 1, 400, 0x2000), SWITCH(1, 1, 500, OUT), SWITCH(0, 1, 700, 0),
	};
	static const struct made made[] = {
	    {0, OFF, 1, TRACE_WAIT_BOTH, 100, 0x1000},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 200, 0x2000},
	};

	check(from, NR(from), 1, made, NR(made));
}

/* A wait counts in each iteration in which it lasts, up to the end; a first record that is a switch
 * in ends a wait that began before. */
TEST(iterations)
{
	static const struct event from[] = {
	    SWITCH(0, 2, 4000, 0),  SAMPLE(0, 1, 500, 0x1000),      SWITCH(0, 1, 9000, OUT),
	    SWITCH(1, 1, 21000, 0), SWITCH(1, 1, 29000, PREEMPTED),
	};
	static const struct made made[] = {
	    {0, OFF, 2, TRACE_WAIT_BOTH, 4000, 0},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 1000, 0x1000},
	    {1, OFF, 1, TRACE_WAIT_BOTH, 10000, 0x1000},
	    {2, OFF, 1, TRACE_WAIT_BOTH, 1000, 0x1000},
	    {2, QUEUE, 1, TRACE_WAIT_OF_EVENT, 1000, 0x1000},
	};

	check(from, NR(from), 3, made, NR(made));
}

/* In a wait during which any CPU lost records the thread may have run; and so between two switches
 * of one direction. */
TEST(lost)
{
	static const struct event from[] = {
	    SWITCH(0, 1, 1000, OUT), LOST(1, 1500),         SWITCH(0, 1, 2000, 0),
	    SWITCH(0, 1, 3000, OUT), SWITCH(0, 1, 3500, 0), SWITCH(0, 2, 4000, OUT),
	    SWITCH(0, 2, 4900, OUT), SWITCH(0, 2, 5000, 0), SWITCH(0, 1, 6000, OUT),
	    SWITCH(0, 1, 6100, 0),   SWITCH(0, 1, 6300, 0),
	};
	static const struct made made[] = {
	    {0, OFF, 1, TRACE_WAIT_IS_UNKNOWN, 1200, 0},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 600, 0},
	    {0, OFF, 2, TRACE_WAIT_IS_UNKNOWN, 900, 0},
	    {0, OFF, 2, TRACE_WAIT_BOTH, 100, 0},
	};

	check(from, NR(from), 1, made, NR(made));
}
