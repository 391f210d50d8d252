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
enum { LOOK = 1 << 11 }; /* in misc of a sample: the thread was seen blocked; reason << 4 */

/* A clock, and the waits. */
static uint8_t attrs[3][ATTR_BYTES];
static struct trace_event events[3];
static const struct trace_id ids[] = {
    {.id = 10, .event = 0}, {.id = 11, .event = 1}, {.id = 12, .event = 2}};

/* Of the clock, what has no sample is made, too. */
static bool is_completed;
static bool has_waits = true; /* else events 1 and 2 are others */

static void set_events(void)
{
	for (uint32_t i = 0; i < NR(events); i++) {
		const struct attr a = {
		    .type = 1,
		    .config = i ? 10 : 0,
		    .period = 1000,
		    .sample_type = S_IDENTIFIER | S_TID | S_TIME | S_CALLCHAIN | (i ? S_RAW : 0) |
				   (!i && is_completed ? S_STREAM_ID | S_PERIOD : 0),
		    .bits = ATTR_SAMPLE_ID_ALL};

		attr_bytes(&a, attrs[i]);
		/* run_queue, off_cpu */
		put_word(attrs[i] + 56,
			 i ? has_waits * (0x63707510 + 2 - i) : is_completed * 0x63740001);
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

HOOK(before_each)
{
	is_completed = false;
	has_waits = true;
	set_events();
}

/* No record: a reading of how long the thread ran (misc) and waited for CPUs (address). */
enum { DELAY = 1000, MISSED }; /* MISSED: it was switched in once more than recorded */

/* What happens, in order of time. */
struct event {
	uint32_t cpu, tid;
	uint64_t ns;
	uint32_t kind; /* PERF_RECORD_… */
	uint16_t misc;
	uint64_t address; /* of a sample */
};

static bool is_hostile; /* files have events of any time, and readings say anything */

static bool is_of_tasks(const struct event *ev)
{
	return ev->kind == PERF_RECORD_FORK || ev->kind == PERF_RECORD_EXIT ||
	       ev->kind == PERF_RECORD_COMM;
}

static void add_event(struct buf *b, const struct event *ev)
{
	size_t at = record_begin(b, ev->kind, ev->misc);

	if (ev->kind == PERF_RECORD_LOST) {
		buf_le64(b, 11);
		buf_le64(b, 1);
	}
	if (ev->kind == PERF_RECORD_SAMPLE)
		buf_le64(b, ev->misc & LOOK ? 12 : 10);
	if (ev->kind == PERF_RECORD_FORK || ev->kind == PERF_RECORD_EXIT) {
		buf_le32(b, PID);
		buf_le32(b, 1);
		buf_le32(b, ev->tid);
		buf_le32(b, 1);
		buf_le64(b, ev->ns);
	}
	if (ev->kind == PERF_RECORD_COMM) {
		buf_le32(b, PID);
		buf_le32(b, ev->tid);
		buf_le64(b, ev->address ?: 'x');
	}
	record_id(b, PID, ev->tid, ev->ns);
	if (ev->kind == PERF_RECORD_SAMPLE) {
		if (is_completed && !(ev->misc & LOOK)) {
			buf_le64(b, 9); /* the task's clock */
			buf_le64(b, 1000);
		}
		buf_le64(b, 1);
		buf_le64(b, ev->address);
		if (ev->misc & LOOK) {
			buf_le32(b, 12);
			buf_le64(b, 0);
			buf_le32(b, trace_wait_word(TRACE_WAIT_IS_SEEN, ev->misc >> 4 & 0xf, true));
		}
	} else if (!is_of_tasks(ev)) {
		buf_le64(b, 11);
	}
	record_end(b, at);
}

/* Readings after the end of the iteration, of which its last reading is one, are in its trace. */
static void add_delay(struct trace_writer *w, const struct event *from, const struct event *ev,
		      const struct trace_totals *of)
{
	struct reading r = {.event = 1,
			    .instance = ev->tid,
			    .state = READING_OK,
			    .flags = 16,
			    .time_ns = ev->ns,
			    .raw = ev->address,
			    .enabled_ns = ev->misc};

	r.running_ns = 3 + (ev->kind == MISSED);
	for (const struct event *in = from; in < ev; in++)
		r.running_ns +=
		    in->kind == PERF_RECORD_SWITCH && in->tid == ev->tid && !(in->misc & OUT);
	r.running_ns = is_hostile ? ev->address >> 1 : r.running_ns;
	if (ev->kind >= DELAY &&
	    (is_hostile || (ev->ns > of->start_ns + 50 && ev->ns <= of->end_ns + 50)))
		trace_writer_readings(w, TRACE_TICK, &r, 1);
}

static uint64_t survey_ns = 1; /* when tasks were found */

/* The threads 1 to 3 ran before the session. */
static void write_common(struct folder *folder, const struct event *from, size_t nr)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_head head = {
	    .iteration = TRACE_COMMON, .trace = TRACE_COMMON, .cpu = UINT32_MAX};
	const struct trace_totals totals = {.end_ns = 1};
	struct trace_writer *w = trace_writer_new();
	struct err e = {0};
	struct buf b;

	buf_init(&b, MAX_BYTES);
	for (uint32_t tid = 1; tid <= 3; tid++) {
		size_t at = record_begin(&b, PERF_RECORD_FORK, 0);

		buf_le32(&b, PID);
		buf_le32(&b, 1);
		buf_le32(&b, tid);
		buf_le32(&b, 1);
		buf_le64(&b, survey_ns);
		record_id(&b, PID, tid, survey_ns);
		record_end(&b, at);
	}
	assert_int_equal(trace_writer_set_common(w, &info, events, NR(events)), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_records(w, TRACE_RING_MADE, UINT32_MAX, b.data, b.len);
	buf_reset(&b);
	for (size_t i = 0; i < nr; i++)
		if (is_of_tasks(&from[i]))
			add_event(&b, &from[i]);
	if (b.len)
		trace_writer_records(w, TRACE_RING_SIDE_BAND, 0, b.data, b.len);
	assert_int_equal(trace_writer_commit(w, folder->fd, "s.common.cpuperf", "c", &totals, &e),
			 0);
	trace_writer_free(w);
	buf_fini(&b);
}

static uint64_t counted_ns; /* by the clock in the first iteration; 0: it has no readings */
static uint64_t gap_ns;     /* at the begin of each iteration */
static uint64_t tail_ns;    /* at its end: its events still count */
static bool is_command;     /* the target */

static void write_trace(struct folder *folder, uint32_t iteration, uint32_t trace,
			const struct event *from, size_t nr)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_head head = {.iteration = iteration,
					.trace = trace,
					.cpu = trace + 1 == NR_TRACES ? TRACE_ANY_CPU : trace,
					.nr_traces = NR_TRACES};
	const uint64_t from_ns = iteration * 10000ull;
	const struct trace_target target = {.pid = PID, .flags = TRACE_TARGET_IS_COMMAND};
	const struct trace_totals totals = {.start_ns = from_ns + gap_ns,
					    .end_ns = (iteration + 1) * 10000ull - tail_ns};
	struct trace_writer *w = trace_writer_new();
	struct err e = {0};
	struct buf b;
	char name[64];

	buf_init(&b, MAX_BYTES);
	for (size_t i = 0; i < nr; i++)
		if (from[i].cpu == trace &&
		    (is_hostile ||
		     (from[i].ns > from_ns && from[i].ns <= totals.end_ns + tail_ns)) &&
		    from[i].kind < DELAY && !is_of_tasks(&from[i]))
			add_event(&b, &from[i]);
	snprintf(name, sizeof(name), "s.%u.%u.cpuperf", iteration, trace);
	assert_int_equal(trace_writer_set_common(w, &info, events, NR(events)), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	if (trace + 1 < NR_TRACES)
		trace_writer_ids(w, ids, NR(ids));
	if (b.len)
		trace_writer_records(w, TRACE_RING_SAMPLES, trace, b.data, b.len);
	for (unsigned i = 0; i < 2 && counted_ns && !iteration && !trace; i++)
		trace_writer_readings(w, i ? TRACE_END : TRACE_START,
				      &(struct reading){.state = READING_OK,
							.time_ns = i ? 9999 : 1,
							.raw = 7 + i * counted_ns},
				      1);
	for (size_t i = 0; trace + 1 == NR_TRACES && i < nr; i++)
		add_delay(w, from, &from[i], &totals);
	if (is_command && trace + 1 == NR_TRACES)
		trace_writer_target(w, &target);
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
	uint32_t reason;
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

		while (!is_hostile && i < nr &&
		       (expected[i].iteration != iteration || expected[i].tid != r->tid ||
			expected[i].event != got.id->event || expected[i].wait != r->wait ||
			expected[i].ns != got.weight || expected[i].address != address ||
			expected[i].reason != r->wait_reason))
			i++;
		if (i == nr && !is_hostile)
			fail_msg("iteration %u: event %u, tid %u, wait %u: %u ns at %x", iteration,
				 got.id->event, r->tid, r->wait, (unsigned)got.weight,
				 (unsigned)address);
		assert_true(is_hostile || r->pid == PID);
		assert_int_equal(got.is_rest, got.id->event == 0);
		assert_int_equal(got.unit, 0);
		sums[got.id->event] += got.weight;
		found++;
	}
	assert_true(is_hostile || found == wanted);
	trace = profile_samples_trace(samples);
	assert_non_null(trace);
	for (uint32_t i = 1; i < NR(events) && has_waits; i++) {
		assert_int_equal(trace->pairs[i].end.raw - trace->pairs[i].start.raw, sums[i]);
		assert_int_equal(trace->pairs[i].end.state, READING_OK);
		assert_int_equal(trace->sampling->item[2 - i].weight, sums[i]);
	}
	profile_samples_close(samples);
}

/* Of the records of CPUs only samples of the clock are samples. */
static void check_recorded(struct profile_session *s, size_t file)
{
	struct profile_samples *samples;
	struct profile_sample got;

	assert_int_equal(profile_samples_open(s, file, ignore, NULL, &samples), 1);
	while (profile_samples_next(samples, &got) == 1)
		assert_true(is_hostile || (got.id->event == 0 && !got.is_rest && got.unit == 1000));
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
	write_common(&folder, from, nr);
	for (uint32_t i = 0; i < nr_iterations; i++)
		for (uint32_t t = 0; t < NR_TRACES; t++)
			write_trace(&folder, i, t, from, nr);
	assert_int_equal(profile_session_open(&m, ignore, NULL, &s, &e), 0);
	assert_int_equal(profile_session_waits(s) != NULL, has_waits);
	assert_int_equal(profile_session_has_switches(s), has_waits || is_completed);
	for (size_t i = 0; i < profile_session_nr_files(s); i++)
		if (profile_session_file(s, i).trace + 1 == NR_TRACES)
			check_part(s, i, expected, nr_expected);
		else
			check_recorded(s, i);
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
#define READ(tid, ns, ran, delay)                                                                  \
	{                                                                                          \
		NR_TRACES - 1, tid, ns, DELAY, ran, delay                                          \
	}
#define MISS(tid, ns, ran, delay)                                                                  \
	{                                                                                          \
		NR_TRACES - 1, tid, ns, MISSED, ran, delay                                         \
	}
enum { QUEUE = 1, OFF = 2 };

#define TASK(tid, ns, kind, misc)                                                                  \
	{                                                                                          \
		0, tid, ns, kind, misc, 0                                                          \
	}

/* Nothing of a gap counts: neither the begin of a wait nor what a new thread did there. */
TEST(gaps)
{
	static const struct event from[] = {
	    TASK(4, 500, PERF_RECORD_FORK, 0),
	    SWITCH(0, 4, 3000, 0),
	    SWITCH(0, 4, 4000, OUT),
	    SWITCH(0, 1, 5000, 0),
	    SWITCH(0, 1, 9000, PREEMPTED),
	    SWITCH(0, 1, 12500, 0),
	    SWITCH(0, 1, 13000, OUT),
	    TASK(5, 14000, PERF_RECORD_FORK, 0),
	    SWITCH(0, 5, 14100, 0),
	};
	static const struct made made[] = {
	    {0, OFF, 4, TRACE_WAIT_BOTH, 7000, 0},       {0, OFF, 1, TRACE_WAIT_BOTH, 3000, 0},
	    {0, QUEUE, 1, TRACE_WAIT_OF_EVENT, 1000, 0}, {1, OFF, 1, TRACE_WAIT_BOTH, 7500, 0},
	    {1, QUEUE, 5, TRACE_WAIT_OF_EVENT, 100, 0},
	};

	gap_ns = 2000;
	check(from, NR(from), 2, made, NR(made));
	gap_ns = 0;
}

/* What is recorded between two iterations is no time of either: by events that count before the
 * begin of one it is known what a thread does there; after the end of one it may have done anything
 * since.
 */
TEST(records_of_gaps)
{
	static const struct event from[] = {
	    SWITCH(0, 1, 1000, OUT),  SWITCH(0, 1, 3000, 0),    SWITCH(0, 1, 9700, OUT),
	    SWITCH(0, 2, 9800, OUT),  SWITCH(1, 3, 10500, OUT), SWITCH(1, 3, 13000, 0),
	    SWITCH(0, 1, 14000, OUT), SWITCH(0, 1, 14100, 0),   SWITCH(0, 2, 15000, 0),
	};
	static const struct made made[] = {
	    {0, OFF, 1, TRACE_WAIT_BOTH, 1000, 0},
	    {1, OFF, 1, TRACE_WAIT_BOTH, 100, 0},
	    {1, OFF, 2, TRACE_WAIT_BOTH, 3000, 0},
	    {1, OFF, 3, TRACE_WAIT_BOTH, 1000, 0},
	};

	gap_ns = 2000;
	tail_ns = 500;
	check(from, NR(from), 2, made, NR(made));
	gap_ns = tail_ns = 0;
}

/* What a command's process waited before exec is no time of the command; after exec in a gap it is.
 */
TEST(asleep_since_exec)
{
	static const struct event from[] = {
	    READ(1, 2100, 77, 5),  TASK(2, 1500, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC),
	    READ(2, 2100, 77, 5),  READ(1, 10030, 77, 5),
	    READ(2, 10030, 77, 5),
	};
	static const struct made made[] = {{0, OFF, 2, TRACE_WAIT_OF_EVENT, 8000, 0}};

	gap_ns = 2000;
	is_command = true;
	check(from, NR(from), 1, made, NR(made));
	gap_ns = 0;
	is_command = false;
}

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

#define SEEN(cpu, tid, ns, address, reason)                                                        \
	{                                                                                          \
		cpu, tid, ns, PERF_RECORD_SAMPLE, 2 | LOOK | (reason) << 4, address                \
	}

/* A thread that was seen blocked was so up to then, and has that stack and reason: for this wait
 * alone, but the stack also for later waits. Looks while it ran are of no wait. */
TEST(seen)
{
	static const struct event from[] = {
	    SAMPLE(0, 1, 500, 0x1000),
	    SWITCH(0, 1, 1000, OUT),
	    SEEN(1, 1, 1200, 0x2000, TRACE_REASON_PIPE),
	    SEEN(1, 1, 1800, 0, TRACE_REASON_NONE),
	    SWITCH(1, 1, 2000, 0),
	    SEEN(1, 1, 2100, 0x3000, TRACE_REASON_FUTEX),
	    SWITCH(1, 1, 3000, OUT),
	    SWITCH(1, 1, 3100, 0),
	    /* since before the session, to the end */
	    SEEN(0, 2, 4000, 0x4000, TRACE_REASON_FUTEX),
	    SWITCH(0, 2, 5000, 0),
	    SWITCH(0, 2, 9000, OUT),
	    SEEN(0, 2, 9500, 0x5000, TRACE_REASON_CHILD),
	    SEEN(0, 2, 12000, 0, TRACE_REASON_NONE),
	    /* preempted, and with a loss */
	    SWITCH(0, 3, 13000, 0),
	    SWITCH(0, 3, 14000, PREEMPTED),
	    SEEN(0, 3, 14100, 0x6000, TRACE_REASON_FUTEX),
	    SWITCH(0, 3, 14500, 0),
	    SWITCH(0, 3, 15000, OUT),
	    LOST(0, 15100),
	    SEEN(0, 3, 15200, 0x6000, TRACE_REASON_FUTEX),
	    SWITCH(0, 3, 15500, 0),
	};
	static const struct made made[] = {
	    {0, OFF, 1, TRACE_WAIT_OF_EVENT, 800, 0x2000, TRACE_REASON_PIPE},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 200, 0x2000, TRACE_REASON_PIPE},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 100, 0x2000, TRACE_REASON_NONE},
	    {0, OFF, 2, TRACE_WAIT_OF_EVENT, 4000, 0x4000, TRACE_REASON_FUTEX},
	    {0, OFF, 2, TRACE_WAIT_BOTH, 1000, 0x4000, TRACE_REASON_FUTEX},
	    {0, OFF, 2, TRACE_WAIT_OF_EVENT, 500, 0x5000, TRACE_REASON_CHILD},
	    {0, OFF, 2, TRACE_WAIT_BOTH, 500, 0x5000, TRACE_REASON_CHILD},
	    {1, OFF, 2, TRACE_WAIT_OF_EVENT, 2000, 0x5000, TRACE_REASON_CHILD},
	    {1, OFF, 2, TRACE_WAIT_IS_UNKNOWN, 8000, 0x5000, TRACE_REASON_CHILD}, /* lost */
	    {1, OFF, 3, TRACE_WAIT_BOTH, 3000, 0, TRACE_REASON_NONE},
	    {1, QUEUE, 3, TRACE_WAIT_OF_EVENT, 500, 0, TRACE_REASON_NONE},
	    {1, OFF, 3, TRACE_WAIT_IS_UNKNOWN, 500, 0, TRACE_REASON_NONE},
	};

	check(from, NR(from), 2, made, NR(made));
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

/* What preemptions do not explain of the time for which a thread waited for CPUs is divided among
 * its other waits since the reading before. */
TEST(divided)
{
	static const struct event from[] = {
	    READ(1, 100, 1, 50),           SWITCH(0, 1, 1000, OUT), SWITCH(1, 1, 2000, 0),
	    SWITCH(1, 1, 3000, PREEMPTED), SWITCH(0, 1, 3100, 0),   READ(1, 4000, 2, 350),
	    SWITCH(0, 1, 5000, OUT),       SWITCH(0, 1, 6000, 0),
	};
	static const struct made made[] = {
	    {0, OFF, 1, TRACE_WAIT_OF_EVENT, 800, 0},
	    {0, QUEUE, 1, TRACE_WAIT_OF_EVENT, 300, 0},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 1000, 0}, /* never read again */
	};

	check(from, NR(from), 1, made, NR(made));
}

/* A reading without one before it, and one after a loss, divide nothing; less delay than
 * preemptions explain is none, and more than there was of waits is all. */
TEST(not_divided)
{
	static const struct event from[] = {
	    SWITCH(0, 1, 1000, OUT), SWITCH(0, 1, 1100, 0),   READ(1, 1500, 1, 5),
	    READ(2, 1550, 1, 3),     SWITCH(0, 2, 1600, OUT), SWITCH(0, 2, 1800, OUT),
	    SWITCH(0, 2, 1900, 0),   READ(2, 2000, 1, 7),     SWITCH(0, 1, 2100, PREEMPTED),
	    SWITCH(0, 1, 2200, 0),   SWITCH(0, 1, 2300, OUT), SWITCH(0, 1, 2700, 0),
	    READ(1, 3000, 2, 50),    SWITCH(0, 1, 4000, OUT), SWITCH(0, 1, 4050, 0),
	    READ(1, 5000, 3, 5000),
	};
	static const struct made made[] = {
	    {0, OFF, 1, TRACE_WAIT_BOTH, 100, 0},       {0, OFF, 2, TRACE_WAIT_IS_UNKNOWN, 200, 0},
	    {0, OFF, 2, TRACE_WAIT_BOTH, 100, 0},       {0, OFF, 1, TRACE_WAIT_OF_EVENT, 400, 0},
	    {0, QUEUE, 1, TRACE_WAIT_OF_EVENT, 150, 0},
	};

	check(from, NR(from), 1, made, NR(made));
}

/* A reading that saw a switch in which is not recorded, or not before it, divides nothing; the next
 * one does, for both. */
TEST(missed)
{
	static const struct event from[] = {
	    READ(1, 100, 1, 50),    SWITCH(0, 1, 1000, OUT), SWITCH(1, 1, 2000, 0),
	    MISS(1, 2500, 2, 900),  SWITCH(0, 1, 3000, OUT), SWITCH(0, 1, 4000, 0),
	    READ(1, 4500, 3, 1050), SWITCH(0, 1, 5000, OUT), SWITCH(0, 1, 5300, 0),
	    MISS(1, 6000, 4, 9000),
	};
	static const struct made made[] = {
	    {0, OFF, 1, TRACE_WAIT_OF_EVENT, 1000, 0},
	    {0, QUEUE, 1, TRACE_WAIT_OF_EVENT, 1000, 0},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 300, 0},
	};

	check(from, NR(from), 1, made, NR(made));
}

/* A thread without a switch waits in each iteration in which it does not run. */
TEST(asleep)
{
	static const struct event from[] = {READ(3, 60, 77, 5), READ(3, 10040, 77, 5),
					    READ(3, 20040, 78, 5), READ(3, 30040, 78, 5)};
	static const struct made made[] = {{0, OFF, 3, TRACE_WAIT_OF_EVENT, 10000, 0},
					   {2, OFF, 3, TRACE_WAIT_OF_EVENT, 10000, 0}};

	check(from, NR(from), 3, made, NR(made));
	survey_ns = 50000; /* the tasks were found after the last iteration */
	check(from, NR(from), 3, made, NR(made));
	survey_ns = 1;
}

#define NAMED(tid, ns, misc, name)                                                                 \
	{                                                                                          \
		0, tid, ns, PERF_RECORD_COMM, misc, name                                           \
	}

/* What a thread ran more than its samples stand for has a sample of its own, under the name that it
 * had then. More than a task ran, a sample of it stands for time of others of its name. */
TEST(ran_without_sample)
{
	static const struct event from[] = {
	    SWITCH(0, 2, 300, OUT), /* it ran before */
	    TASK(4, 1000, PERF_RECORD_FORK, 0),
	    SWITCH(0, 4, 1500, 0),
	    SAMPLE(0, 4, 2800, 0x1000),
	    NAMED(4, 3000, PERF_RECORD_MISC_COMM_EXEC, 'y'),
	    SWITCH(0, 4, 3500, OUT),
	    SWITCH(0, 4, 4000, 0),
	    TASK(4, 4200, PERF_RECORD_EXIT, 0),
	    TASK(5, 5000, PERF_RECORD_FORK, 0),
	    SWITCH(0, 5, 5000, 0),
	    NAMED(5, 5000, 0, 'y'),
	    SAMPLE(0, 5, 5200, 0x2000),
	    TASK(5, 5400, PERF_RECORD_EXIT, 0), /* 600 too many */
	    TASK(6, 6000, PERF_RECORD_FORK, 0),
	    SWITCH(0, 6, 6000, 0),
	    NAMED(6, 6000, 0, 'z'),
	    TASK(6, 6100, PERF_RECORD_EXIT, 0),
	    TASK(7, 7000, PERF_RECORD_FORK, 0),
	    SWITCH(0, 7, 7000, 0),
	    NAMED(7, 7000, 0, 'y'),
	    TASK(7, 7900, PERF_RECORD_EXIT, 0),
	    SWITCH(0, 1, 8000, 0), /* beyond the end */
	    SWITCH(0, 1, 11000, OUT),
	};
	static const struct made made[] = {
	    {0, 0, 2, 0, 300, 0},
	    {0, OFF, 2, TRACE_WAIT_BOTH, 9700, 0},
	    {0, QUEUE, 4, TRACE_WAIT_OF_EVENT, 500, 0},
	    {0, 0, 4, 0, 499, 0}, /* before it had the other name */
	    {0, OFF, 4, TRACE_WAIT_BOTH, 500, 0x1000},
	    {0, 0, 4, 0, 701, 0},
	    {0, 0, 6, 0, 100, 0},
	    {0, 0, 7, 0, 300, 0},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 8000, 0},
	    {0, 0, 1, 0, 2000, 0},
	    {1, 0, 1, 0, 1000, 0},
	    {1, OFF, 1, TRACE_WAIT_BOTH, 9000, 0},
	    {1, OFF, 2, TRACE_WAIT_BOTH, 10000, 0},
	};

	is_completed = true;
	set_events();
	check(from, NR(from), 2, made, NR(made));
}

/* The same, where the clock is all that is sampled. Without that mark nothing is made. */
TEST(ran_without_waits)
{
	static const struct event from[] = {
	    SWITCH(0, 2, 300, OUT),  SWITCH(0, 1, 1000, 0),    SAMPLE(0, 1, 2100, 0x1000),
	    SWITCH(0, 1, 3500, OUT), SWITCH(1, 2, 4000, 0),    SWITCH(1, 2, 4600, PREEMPTED),
	    SWITCH(1, 2, 11000, 0),  SWITCH(1, 2, 11020, OUT),
	};
	static const struct made made[] = {
	    {0, 0, 2, 0, 900, 0},
	    {0, 0, 1, 0, 1500, 0},
	    {1, 0, 2, 0, 20, 0},
	};

	has_waits = false;
	set_events();
	check(from, NR(from), 2, NULL, 0);
	is_completed = true;
	set_events();
	check(from, NR(from), 2, made, NR(made));
}

/* A run in which records were lost may have had a wait in it: it is known from the next record on.
 * So it is of a thread that has its first record after that. */
TEST(ran_with_loss)
{
	static const struct event from[] = {
	    SWITCH(0, 1, 1000, 0),    LOST(1, 1500),
	    SWITCH(0, 1, 2000, OUT),  SWITCH(0, 1, 2500, 0),
	    SWITCH(0, 1, 2600, OUT),  SWITCH(0, 2, 3000, OUT),
	    SWITCH(1, 2, 11000, 0),   SWITCH(1, 3, 11500, OUT),
	    LOST(0, 12000),           SAMPLE(1, 2, 13000, 0x1000),
	    SWITCH(1, 2, 15500, OUT),
	};
	static const struct made made[] = {
	    {0, 0, 1, 0, 100, 0},
	    {1, 0, 3, 0, 1500, 0},
	    {1, 0, 2, 0, 1500, 0},
	};

	has_waits = false;
	is_completed = true;
	set_events();
	check(from, NR(from), 2, made, NR(made));
}

/* A number that a later thread has is not its own before the one before it ended. */
TEST(ran_with_used_number)
{
	static const struct event from[] = {
	    TASK(4, 1000, PERF_RECORD_FORK, 0),
	    SWITCH(0, 4, 1100, 0),
	    TASK(4, 1500, PERF_RECORD_EXIT, 0),
	    SWITCH(0, 4, 1800, OUT),
	};
	static const struct made made[] = {{0, 0, 4, 0, 400, 0}, {0, 0, 4, 0, 300, 0}};

	has_waits = false;
	is_completed = true;
	set_events();
	check(from, NR(from), 1, made, NR(made));
}

/* What the clock counted more than the records show is divided among the runs, unless it is much.
 */
TEST(counted)
{
	static const struct event from[] = {
	    SWITCH(0, 2, 300, OUT), SWITCH(0, 1, 1000, 0),    SWITCH(0, 1, 2000, OUT),
	    SWITCH(1, 3, 12000, 0), SWITCH(1, 3, 12500, OUT),
	};
	struct made made[] = {
	    {0, 0, 2, 0, 310, 0},
	    {0, OFF, 2, TRACE_WAIT_BOTH, 9700, 0},
	    {0, 0, 1, 0, 1010, 0},
	    {0, OFF, 1, TRACE_WAIT_BOTH, 9000, 0},
	    {1, OFF, 2, TRACE_WAIT_BOTH, 10000, 0},
	    {1, OFF, 1, TRACE_WAIT_BOTH, 10000, 0},
	    {1, OFF, 3, TRACE_WAIT_BOTH, 9500, 0},
	    {1, 0, 3, 0, 500, 0},
	};

	is_completed = true;
	set_events();
	counted_ns = 1321;
	check(from, NR(from), 2, made, NR(made));
	made[0].ns = 300;
	made[2].ns = 1000;
	counted_ns = 1300 + 200000;
	check(from, NR(from), 2, made, NR(made));
	counted_ns = 1200;
	check(from, NR(from), 2, made, NR(made));
	counted_ns = 0;
}

/* Whatever the files say: times and threads in any order, readings of anything. What is made adds
 * up to its readings (check_part), and nothing overflows. */
TEST(hostile)
{
	static const uint64_t times[] = {0,     1,          9999,      10000,
					 10001, UINT64_MAX, INT64_MAX, 1ull << 63};
	static const uint32_t kinds[] = {PERF_RECORD_SWITCH, PERF_RECORD_SWITCH, PERF_RECORD_SWITCH,
					 PERF_RECORD_SAMPLE, PERF_RECORD_LOST,   PERF_RECORD_FORK,
					 PERF_RECORD_EXIT,   PERF_RECORD_COMM,   DELAY};
	static const uint16_t miscs[] = {0, OUT, PREEMPTED, UINT16_MAX};
	uint64_t seed = 41;

	is_hostile = true;
	for (unsigned round = 0; round < 150; round++) {
		struct event from[80];

		gap_ns = round % 3 ? 0 : 2000;
		is_command = round % 2;
		is_completed = round % 4 < 2;
		set_events();
		for (size_t i = 0; i < NR(from); i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			from[i] = (struct event){.cpu = seed >> 60 & 1,
						 .tid = (uint32_t)(seed >> 57 & 3),
						 .ns = seed >> 55 & 1 ? times[seed >> 50 & 7]
								      : (seed >> 30) % 30000,
						 .kind = kinds[(seed >> 40) % NR(kinds)],
						 .misc = miscs[seed >> 38 & 3],
						 .address = seed >> 37 & 1 ? times[seed >> 33 & 7]
									   : seed >> 20 & 0xffff};
			from[i].tid = from[i].tid == 3 ? UINT32_MAX : from[i].tid;
		}
		check(from, NR(from), 3, NULL, 0);
	}
	is_hostile = is_command = false;
	gap_ns = 0;
}
