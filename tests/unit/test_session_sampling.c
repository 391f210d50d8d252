/*
 * A whole session that samples, on the rings of fake_pmu.h: what is in which file, what is counted,
 * what is refused, and what becomes of it when something goes wrong.
 */
#include "kit.h"
#include "test_session.h"

#include "session/common.h"
#include "session/sampling_internal.h"
#include "trace/record.h"

#include <pthread.h>
#include <time.h>

enum { NR_CPUS = 2, PER_READ = 3 };

#define SAMPLED(group, name, more)                                                                 \
	"{\"group_name\":\"" group "\",\"event_name\":\"" name "\"," more "},"
#define CLOCK    SAMPLED("software", "cpu_clock", "\"rate\":1000000")
#define TIMEBASE SAMPLED("software", "cpu_clock", "\"rate\":1000000,\"flags\":[\"timebase\"]")
#define FAULTS   SAMPLED("software", "page_faults", "\"rate\":500,\"flags\":[\"pc\"]")
#define SWITCHES EV("software", "context_switches")

static struct rig rig;
static struct tape tape;

static void begin(const char *keys, const char *events, uint64_t nr_iterations)
{
	rig_init(&rig, NR_CPUS, keys, events);
	rig_with_files(&rig);
	rig.spec.num_iterations = nr_iterations;
	tape = (struct tape){.nr_events = 0};
	fake.samples_per_read = PER_READ;
}

/* What one file holds. */
struct content {
	uint64_t nr_samples, nr_made, nr_side_band, nr_kallsyms, nr_ids, nr_ticks, nr_sampling;
	uint64_t first_ns, last_ns; /* of samples */
	uint64_t start_ns, end_ns;  /* readings of event 0 */
	uint64_t said_samples;      /* by the sampling frame */
	struct trace_id ids[8];
	bool is_whole;
};

static void take_records(struct content *c, const struct trace_frame *f,
			 const struct trace_layout *layout)
{
	const uint8_t *p;
	enum trace_ring ring;
	uint32_t cpu;
	size_t len;

	assert_int_equal(trace_decode_records(f, &ring, &cpu, &p, &len), 0);
	while (len) {
		struct trace_record r;

		if (layout->sample_type)
			assert_int_equal(trace_record_decode(layout, p, len, &r), 0);
		else
			r = (struct trace_record){.len = trace_record_size(p, len, &r.kind)};
		c->nr_samples += ring == TRACE_RING_SAMPLES && r.kind == PERF_RECORD_SAMPLE;
		c->nr_side_band += ring == TRACE_RING_SIDE_BAND;
		c->nr_made += ring == TRACE_RING_MADE;
		if (ring == TRACE_RING_SAMPLES && !c->first_ns)
			c->first_ns = r.time_ns;
		if (ring == TRACE_RING_SAMPLES)
			c->last_ns = r.time_ns;
		p += r.len;
		len -= r.len;
	}
}

static void take_readings(struct content *c, const struct trace_frame *f)
{
	enum trace_boundary boundary;
	struct reading r;
	size_t nr;

	assert_int_equal(trace_decode_readings(f, &boundary, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		trace_decode_reading(f, i, &r);
		if (boundary == TRACE_TICK)
			c->nr_ticks++;
		else if (r.event == 0)
			*(boundary == TRACE_START ? &c->start_ns : &c->end_ns) = r.time_ns;
	}
}

static void take_frame(struct content *c, const struct trace_frame *f,
		       const struct trace_layout *layout)
{
	struct trace_sampling s;
	struct trace_ids ids;

	if (f->kind == TRACE_FRAME_RECORDS) {
		take_records(c, f, layout);
	} else if (f->kind == TRACE_FRAME_READINGS) {
		take_readings(c, f);
	} else if (f->kind == TRACE_FRAME_IDS) {
		assert_int_equal(trace_decode_ids(f, &ids), 0);
		c->nr_ids = ids.nr;
		for (size_t i = 0; i < ids.nr && i < 8; i++)
			c->ids[i] = ids.item[i];
		trace_ids_fini(&ids);
	} else if (f->kind == TRACE_FRAME_SAMPLING) {
		assert_int_equal(trace_decode_sampling(f, &s), 0);
		c->nr_sampling++;
		for (size_t i = 0; i < s.nr; i++)
			c->said_samples += s.item[i].samples;
		trace_sampling_fini(&s);
	}
	c->nr_kallsyms += f->kind == TRACE_FRAME_KALLSYMS;
}

/* sample_type of the events whose samples are in it; 0: they differ, and are only counted. */
static struct content load(const char *name, uint64_t sample_type)
{
	struct trace_layout layout = {.sample_type = sample_type, .has_sample_id = true};
	struct content c = {0};
	struct trace_reader *r;
	struct trace_frame f;
	struct err e = {0};
	char path[512];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", rig.folder.dir, name);
	if (trace_reader_open(AT_FDCWD, path, &r, &e))
		fail_msg("%s", e.msg);
	while ((rc = trace_reader_next(r, &f, &e)) == 1)
		take_frame(&c, &f, &layout);
	if (rc)
		fail_msg("%s", e.msg);
	c.is_whole = trace_reader_is_whole(r);
	trace_reader_close(r);
	return c;
}

enum { TID_TIME = PERF_SAMPLE_TID | PERF_SAMPLE_TIME };

/* Of one event in one iteration. A reading before which this program had no CPU is made once more
 * (is_frozen in session/cpu.c), and samples are taken then, too. */
static void assert_samples(uint64_t nr)
{
	assert_true(nr && nr % PER_READ == 0);
}

/* What a wakeup of the rings does with what is due later, in ms. */
TEST(early)
{
	enum { NS_PER_MS = 1000000 };
	static const struct {
		uint64_t pause, left;
		bool has_flush, has_progress;
	} of[] = {
	    {1000, 1000, false, false}, {1000, 751, false, false}, {1000, 750, true, false},
	    {1000, 126, true, false},   {1000, 125, true, true},   {1000, 0, true, true},
	    {100, 76, false, false},    {100, 75, true, false},    {100, 51, true, false},
	    {100, 50, true, true},      {4000, 1000, true, false}, {60000, 1000, true, false},
	};
	static struct sampling g;

	for (size_t i = 0; i < NR(of); i++) {
		g.pause_ns = of[i].pause * NS_PER_MS;
		g.drain_due_ns = g.progress_due_ns = (70000 + of[i].left) * NS_PER_MS;
		assert_int_equal(sampling_is_early_flush(&g, 70000ull * NS_PER_MS),
				 of[i].has_flush);
		assert_int_equal(sampling_is_early_progress(&g, 70000ull * NS_PER_MS),
				 of[i].has_progress);
	}
}

/* The fake kernel takes samples right after each reading: they are of the next iteration, and those
 * of the end are of none. The start reads once, and so does each boundary. */
TEST(iterations)
{
	begin("", CLOCK, 3);
	assert_run(&tape, &rig);
	assert_files(&rig, NR_CPUS * 3 + 1, 3);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned cpu = 0; cpu < NR_CPUS; cpu++) {
			struct content c;
			char name[64];

			snprintf(name, sizeof(name), "t.%u.%u.cpuperf", i, cpu);
			c = load(name, TID_TIME);
			assert_samples(c.nr_samples);
			assert_int_equal(c.said_samples, c.nr_samples);
			assert_int_equal(c.nr_sampling, 1);
			assert_int_equal(c.nr_ids, 1);
			assert_true(c.first_ns > c.start_ns && c.last_ns <= c.end_ns);
			assert_int_equal(tape.samples[i][cpu], c.nr_samples);
			assert_int_equal(tape.weight[i][cpu], c.nr_samples * 1000000);
		}
	rig_fini(&rig);
}

TEST(common_file)
{
	struct content c;

	begin("", CLOCK, 1);
	assert_run(&tape, &rig);
	c = load("t.common.cpuperf", TID_TIME);
	assert_true(c.is_whole);
	assert_true(c.nr_made >= 3); /* this process: FORK, COMM, its mappings */
	assert_int_equal(c.nr_samples, 0);
	rig_fini(&rig);
}

/* The ids lead from a record to its event: leader first, then what is in its samples. */
TEST(ids)
{
	struct content c;

	begin("", SWITCHES FAULTS TIMEBASE, 1);
	assert_run(&tape, &rig);
	c = load("t.0.0.cpuperf", 0);
	assert_int_equal(c.nr_ids, 3);
	assert_int_equal(c.ids[0].event, 2);
	assert_int_equal(c.ids[1].event, 0);
	assert_int_equal(c.ids[2].event, 1);
	assert_int_equal(c.ids[0].group, c.ids[1].group);
	assert_int_not_equal(c.ids[0].group, c.ids[2].group);
	rig_fini(&rig);
}

/* Two events in one ring, each sample by its id. */
TEST(two_events)
{
	begin("", CLOCK FAULTS, 1);
	assert_run(&tape, &rig);
	assert_int_equal(tape.samples[0][0], 2 * PER_READ);
	assert_int_equal(tape.weight[0][1], PER_READ * (1000000 + 500));
	rig_fini(&rig);
}

TEST(no_files)
{
	begin("", CLOCK, 2);
	rig.spec.output_path_prefix = rig.spec.session_result_spec_path = "";
	assert_run(&tape, &rig);
	assert_files(&rig, 0, 0);
	assert_samples(tape.samples[1][1]);
	rig_fini(&rig);
}

TEST(compressed)
{
	begin("\"compression\":\"zstd:3\",", CLOCK, 1);
	assert_run(&tape, &rig);
	assert_int_equal(load("t.0.1.cpuperf", TID_TIME).nr_samples, PER_READ);
	rig_fini(&rig);
}

/* Rings that the limit does not allow become smaller, aloud; or --strict refuses. */
TEST(ring_limit)
{
	struct err e = {0};

	begin("\"buffer_size_in_mb\":3,", CLOCK, 1);
	fake.max_ring_bytes = 1 << 18;
	assert_run(&tape, &rig);
	assert_some_note(&tape, "buffers of 256 KiB per CPU, not 4096: *RLIMIT_MEMLOCK*");
	rig_fini(&rig);

	begin("\"buffer_size_in_mb\":3,", CLOCK, 1);
	tape.is_strict = true;
	fake.max_ring_bytes = 1 << 18;
	assert_int_equal(tape_open(&tape, &rig, &e), -EPERM);
	assert_non_null(strstr(e.msg, "256 KiB per CPU, not 4096"));
	assert_true(e.hint[0]);
	rig_fini(&rig);

	e = (struct err){0};
	begin("", CLOCK, 1);
	fake.max_ring_bytes = 4096;
	assert_int_equal(tape_open(&tape, &rig, &e), -EPERM);
	assert_non_null(strstr(e.msg, "not even of 64 KiB"));
	rig_fini(&rig);

	begin("\"buffer_size_in_mb\":3,", CLOCK, 1);
	assert_run(&tape, &rig);
	assert_some_note(&tape, "buffers of 4 MiB per CPU: 3 rounded up*");
	rig_fini(&rig);
}

/* What finds no room is counted, by the ring and by the event. */
TEST(lost)
{
	enum { MANY = 3000 }; /* of 24 bytes, in 64 KiB */
	uint64_t all;

	begin("", CLOCK, 2);
	fake.max_ring_bytes = 64 << 10;
	fake.samples_per_read = MANY;
	assert_run(&tape, &rig);
	all = tape.samples[0][0] + tape.lost[0][0];
	assert_true(tape.samples[0][0] > MANY / 2 && tape.samples[0][0] < MANY);
	/* the last ones are told with the next record that finds room */
	assert_true(all + tape.lost[1][0] >= MANY);
	assert_true(tape.lost[1][0] > 0);
	rig_fini(&rig);
}

/* Without counts by event the ring's count is the event's, if it is the only one there; else nobody
 * knows whose they were. */
TEST(lost_by_event)
{
	for (int has_two = 0; has_two < 2; has_two++) {
		begin("", has_two ? CLOCK FAULTS : CLOCK, 2);
		fake.max_ring_bytes = 64 << 10;
		fake.samples_per_read = 3000;
		fake.no_format_lost = true;
		assert_run(&tape, &rig);
		assert_true(tape.lost[1][0] > 0);
		assert_true(tape.most_lost[1][0] == (has_two ? UINT64_MAX : tape.lost[1][0]));
		rig_fini(&rig);
	}
}

/* Puts a record into the side band that says that others were lost. */
static int lose_tasks(struct tape *t, uint32_t iteration)
{
	(void)t;
	for (size_t i = 0; i < FAKE_MAX_RINGS && iteration == 0; i++) {
		struct fake_ring *r = &fake.rings[i];

		if (!r->base || !fake_is_side_band(&fake.events[r->event].attr))
			continue;
		r->lost = 9;
		fake_tell_lost(&fake.events[r->event], r);
	}
	return 0;
}

TEST(lost_side_band)
{
	begin("", CLOCK, 2);
	tape.each = lose_tasks;
	assert_run(&tape, &rig);
	assert_some_note(&tape, "18 records of tasks and mappings were lost*"); /* of two CPUs */
	rig_fini(&rig);
}

TEST(refusals)
{
	static const struct {
		const char *events;
		unsigned capacity;
		int refusal; /* of cpu_clock */
		const char *message;
	} cases[] = {
	    {TIMEBASE SWITCHES, 4, -ENOENT, "cannot be the timebase here"},
	    {TIMEBASE HARDWARE_6, 4, 0, "which hold 4 of the events without a rate"},
	    {TIMEBASE SWITCHES HARDWARE_6, 2, 0, "which hold 3 of the events without a rate"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {0};

		begin("", cases[i].events, 1);
		fake.capacity = cases[i].capacity;
		fake.refusal[PERF_TYPE_SOFTWARE][PERF_COUNT_SW_CPU_CLOCK] = cases[i].refusal;
		assert_int_equal(tape_open(&tape, &rig, &e), -ENOTSUP);
		if (!strstr(e.msg, cases[i].message))
			fail_msg("\"%s\" lacks \"%s\"", e.msg, cases[i].message);
		assert_int_equal(e.line, 1);
		assert_true(e.hint[0]);
		rig_fini(&rig);
	}
}

/* An older kernel: no symbols in the side band, no FORMAT_LOST. */
TEST(older_kernels)
{
	for (int refusals = 0; refusals < 2; refusals++) {
		begin("", CLOCK, 1);
		fake.no_format_lost = true;
		fake.side_band_refusals = refusals;
		assert_run(&tape, &rig);
		assert_int_equal(tape.samples[0][0], PER_READ);
		rig_fini(&rig);
	}
}

static int hotplug(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 0)
		fake_set_offline(1);
	else if (iteration == 2)
		fake_set_online(1);
	return 0;
}

/* Samples of a CPU that is back, too, are as old as the reading that its counts begin with. */
static void assert_begins(unsigned iteration)
{
	struct content c;
	char name[64];

	snprintf(name, sizeof(name), "t.%u.1.cpuperf", iteration);
	c = load(name, TID_TIME);
	assert_samples(c.nr_samples);
	assert_int_equal(c.said_samples, c.nr_samples);
	assert_true(c.first_ns > c.start_ns && c.last_ns <= c.end_ns);
}

/* What the CPU had sampled before it went is there; when it is back there are new rings. */
TEST(hotplug)
{
	begin("", CLOCK, 5);
	rig.spec.duration_ns = 20000000; /* a lone event's time must be seen to stand still */
	fake.samples_per_enable = PER_READ;
	tape.each = hotplug;
	assert_run(&tape, &rig);
	assert_int_equal(tape.samples[0][1], PER_READ);
	assert_samples(tape.samples[1][1]); /* kept from the boundary before */
	assert_int_equal(tape.samples[2][1], 0);
	assert_begins(3);
	assert_begins(4);
	assert_samples(tape.samples[2][0]);
	assert_some_note(&tape, "CPU 1 went offline in iteration [12]*");
	assert_some_note(&tape, "CPU 1 is online: counted from iteration *");
	assert_files(&rig, NR_CPUS * 5 + 1, 5);
	rig_fini(&rig);
}

/* Misc events are read between the boundaries, at the timebase's pace, into the trace of their CPU;
 * what is of the machine into the first. */
TEST(ticks)
{
	struct content first, second = {0};

	/* On a busy machine the thread that reads may not run within a short iteration. */
	for (uint64_t ns = 50000000; !second.nr_ticks && ns < 60000000000; ns *= 2) {
		begin("", TIMEBASE MISC, 1);
		rig.spec.duration_ns = ns;
		assert_run(&tape, &rig);
		first = load("t.0.0.cpuperf", TID_TIME);
		second = load("t.0.1.cpuperf", TID_TIME);
		assert_int_equal(first.nr_ticks, 2 * second.nr_ticks);
		rig_fini(&rig);
	}
	assert_true(second.nr_ticks > 0);
}

/* The pace is the timebase's, also if that is a frequency: so long a period has at most so many. */
TEST(slow_pace)
{
	uint64_t span_ns;

	begin("",
	      SAMPLED("software", "page_faults", "\"frequency\":20,\"flags\":[\"timebase\"]") MISC,
	      1);
	rig.spec.duration_ns = 200000000;
	assert_run(&tape, &rig);
	span_ns = tape.it[0].end_ns - tape.it[0].start_ns;
	assert_true(tape.ticks[0] <= span_ns / 50000000 + 1);
	rig_fini(&rig);
}

/* A reading that failed is no tick: only the boundaries say why. */
TEST(ticks_without_a_reading)
{
	struct content c = {0};

	for (uint64_t ns = 50000000; !c.nr_ticks && ns < 60000000000; ns *= 2) {
		begin("", TIMEBASE EV("misc", "memory_used") EV("misc", "context_switches"), 1);
		rig_with_proc(&rig); /* without /proc/meminfo */
		rig_put_stat(&rig, "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 0 1 8 0 0 0 0 0 0\n"
				   "cpu1 1 0 1 8 0 0 0 0 0 0\nctxt 7\n");
		rig.spec.duration_ns = ns;
		assert_run(&tape, &rig);
		c = load("t.0.0.cpuperf", TID_TIME);
		assert_int_equal(c.nr_ticks, tape.ticks[0]); /* one of two events */
		rig_fini(&rig);
	}
	assert_true(c.nr_ticks > 0);
}

/* A collector that does not come back until what was read before has gone to a file. */
static struct {
	pthread_t session;
	atomic_uint nr_reads, nr_writes; /* by the thread at the timebase's pace; since it waits */
	atomic_bool is_waiting, has_waited;
} slow;

static ssize_t slow_pread(int fd, void *buf, size_t len, off_t at)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	bool is_paced = !pthread_equal(pthread_self(), slow.session);

	if (is_paced && atomic_fetch_add(&slow.nr_reads, 1) == 20) {
		atomic_store(&slow.is_waiting, true);
		for (int ms = 0; ms < 5000 && !atomic_load(&slow.nr_writes); ms++)
			nanosleep(&moment, NULL);
		atomic_store(&slow.is_waiting, false);
		atomic_store(&slow.has_waited, true);
	}
	return sys_kernel_ops.pread(fd, buf, len, at);
}

static ssize_t slow_writev(int fd, const struct iovec *v, int nr)
{
	if (pthread_equal(pthread_self(), slow.session) && atomic_load(&slow.is_waiting))
		atomic_fetch_add(&slow.nr_writes, 1);
	return sys_kernel_ops.writev(fd, v, nr);
}

/* On a busy machine the thread at the timebase's pace may not come so far in a short iteration. */
TEST(slow_collector)
{
	struct sys_ops ops = sys_kernel_ops;

	slow.session = pthread_self();
	ops.pread = slow_pread;
	ops.writev = slow_writev;
	for (uint64_t ns = 1000000000; !slow.has_waited && ns < 5000000000; ns *= 2) {
		begin("", TIMEBASE MISC, 1);
		rig.spec.duration_ns = ns;
		atomic_store(&slow.nr_reads, 0);
		sys_set_ops(&ops);
		assert_run(&tape, &rig);
		sys_set_ops(NULL);
		if (slow.has_waited)
			assert_some_note(&tape, "* of * readings of iteration 0 at the timebase's "
						"pace were skipped: the previous one took too "
						"long, or cpuperf was held up");
		rig_fini(&rig);
	}
	assert_true(slow.has_waited);
	assert_true(slow.nr_writes > 0);
}

static ssize_t full_writev(int fd, const struct iovec *v, int nr)
{
	(void)fd;
	(void)v;
	(void)nr;
	return -ENOSPC;
}

/* A full disk ends the session with the error; what was measured is still given. */
TEST(full_disk)
{
	struct sys_ops ops = sys_kernel_ops;
	struct err e = {0};

	begin("", CLOCK, 3);
	ops.writev = full_writev;
	sys_set_ops(&ops);
	assert_int_equal(tape_run(&tape, &rig, &e), -ENOSPC);
	sys_set_ops(NULL);
	assert_non_null(strstr(e.source, "t.common.cpuperf")); /* the first that is written */
	rig_fini(&rig);
}

/* The reserve of a full disk is for the ends of files: the survey, which goes on in its thread,
 * must not fill it. */
TEST(common_fails)
{
	struct err why = {.code = -ENOSPC};
	struct trace_build_id id = {.path = "/bin/x"};
	struct common c;

	assert_int_equal(common_init(&c), 0);
	assert_int_equal(common_add_kallsyms(&c, "x", 1), 0);
	common_fail(&c, &why);
	assert_int_equal(common_add_kallsyms(&c, "x", 1), -ENOSPC);
	assert_int_equal(common_add_packed(&c, "x", 1), -ENOSPC);
	assert_int_equal(common_add_records(&c, "x", 1), -ENOSPC);
	assert_int_equal(common_add_build_ids(&c, &id, 1), -ENOSPC);
	common_fini(&c);
}
