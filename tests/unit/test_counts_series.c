/*
 * Points over time and what they come to: sessions of readings whose numbers are known, for a tally
 * and for one that samples; lines of random points against sums of our own; formulas.
 */
#include "kit.h"
#include "paths.h"
#include "synthetic.h"
#include "test_record.h"

#include "base/arena.h"
#include "base/buf.h"
#include "counts/lines.h"
#include "counts/slices.h"
#include "counts/topdown.h"
#include "estimate/expr.h"
#include "profile/filter.h"
#include "screen/number.h"
#include "trace/record.h"
#include "trace/writer.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_BYTES = 1 << 20, MS = 1000000, ORIGIN = 1000 * MS, MAX_EVENTS = 8 };

static struct root folder;
static int folder_fd;
static uint8_t attr[ATTR_BYTES];
static const struct trace_event *session_events;
static size_t nr_session_events;

/* clock: the timebase, whose samples hold its count and that of faults. */
enum { CLOCK, FAULTS, USER, MEMORY, DISK, ENERGY, NOT, BOXES, NR_EVENTS };
static struct trace_event events[NR_EVENTS] = {
    [CLOCK] = {.kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU, .name = "clock", .unit = "ns"},
    [FAULTS] = {.kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU, .name = "faults", .unit = "faults"},
    [USER] = {.kind = EVENT_SHARE, .scope = EVENT_SCOPE_CPU, .name = "user"},
    [MEMORY] = {.kind = EVENT_VALUE,
		.scope = EVENT_SCOPE_SYSTEM,
		.name = "memory",
		.unit = "B",
		.scale = 4},
    [DISK] = {.kind = EVENT_COUNT, .scope = EVENT_SCOPE_THINGS, .name = "disk", .unit = "B"},
    [ENERGY] = {.kind = EVENT_COUNT,
		.scope = EVENT_SCOPE_CPU,
		.name = "energy",
		.unit = "J",
		.scale = 0.5},
    [NOT] = {.kind = EVENT_COUNT,
	     .scope = EVENT_SCOPE_CPU,
	     .name = "not",
	     .unit = "x",
	     .state = READING_NO_PERMISSION,
	     .reason = "you may not"},
    [BOXES] = {.kind = EVENT_COUNT, .scope = EVENT_SCOPE_PACKAGE, .name = "boxes", .unit = "x"},
};

static struct expr_step quotient[] = {{.op = EXPR_OPERAND, .operand = FAULTS},
				      {.op = EXPR_OPERAND, .operand = CLOCK},
				      {.op = EXPR_DIVIDE}};
static struct expr_step of_two_paces[] = {{.op = EXPR_OPERAND, .operand = FAULTS},
					  {.op = EXPR_OPERAND, .operand = USER},
					  {.op = EXPR_DIVIDE}};
static struct expr_step of_two_scopes[] = {{.op = EXPR_OPERAND, .operand = MEMORY},
					   {.op = EXPR_OPERAND, .operand = USER},
					   {.op = EXPR_MULTIPLY}};
static const struct metric metrics[] = {
    {.name = "quotient", .unit = "", .expr = {quotient, 3}},
    {.name = "paces", .unit = "", .expr = {of_two_paces, 3}},
    {.name = "scopes", .unit = "", .expr = {of_two_scopes, 3}},
};
static const struct metric_set metric_set = {metrics, NR(metrics)};

static void set_events(bool is_sampling)
{
	for (size_t i = 0; i < NR_EVENTS; i++) {
		events[i].group = "test";
		events[i].label = "";
		events[i].state = i == NOT ? READING_NO_PERMISSION : READING_OK;
		events[i].attr = i < 2 && is_sampling ? attr : NULL;
		events[i].attr_bytes = i < 2 && is_sampling ? ATTR_BYTES : 0;
	}
	events[CLOCK].rate = is_sampling ? 100 : 0;
	session_events = events;
	nr_session_events = NR_EVENTS;
	attr_bytes(&(struct attr){.period = 100,
				  .sample_type = S_IDENTIFIER | S_TID | S_TIME | S_READ,
				  .read_format = F_GROUP | F_ENABLED | F_RUNNING,
				  .bits = ATTR_SAMPLE_ID_ALL},
		   attr);
}

static struct reading reading(uint32_t event, uint32_t instance, uint64_t ms, uint64_t raw,
			      uint64_t base)
{
	return (struct reading){.event = event,
				.instance = instance,
				.state = READING_OK,
				.time_ns = ORIGIN + ms * MS,
				.raw = raw,
				.base = base};
}

static struct reading perf_reading(uint32_t event, uint64_t ms, uint64_t raw, uint64_t on_ms,
				   uint64_t run_ms)
{
	struct reading r = reading(event, 0, ms, raw, 0);

	r.enabled_ns = on_ms * MS;
	r.running_ns = run_ms * MS;
	return r;
}

static struct trace_writer *begin_on(uint32_t iteration, uint32_t trace, uint32_t cpu)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_head head = {
	    .iteration = iteration, .trace = trace, .cpu = cpu, .nr_traces = 2, .session_id = {1}};
	struct trace_writer *w = trace_writer_new();

	assert_non_null(w);
	assert_int_equal(trace_writer_set_common(w, &info, session_events, nr_session_events), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	return w;
}

static struct trace_writer *begin(uint32_t iteration, uint32_t trace)
{
	return begin_on(iteration, trace, trace == TRACE_COMMON ? 0 : 3 + trace);
}

static bool is_cut; /* what end writes */

static void end(struct trace_writer *w, const char *name, uint64_t start_ms, uint64_t end_ms)
{
	const struct trace_totals totals = {
	    .start_ns = ORIGIN + start_ms * MS, .end_ns = ORIGIN + end_ms * MS, .is_cut = is_cut};
	struct err e = {0};

	if (trace_writer_commit(w, folder_fd, name, name, &totals, &e))
		fail_msg("%s: %s", name, e.msg);
	trace_writer_free(w);
}

static void add_names(struct trace_writer *w)
{
	static const uint32_t disk = DISK;
	static const struct trace_thing names[] = {{0, "sda"}, {1, "came"}};

	trace_writer_things(w, &(struct trace_things){&disk, 1, names, 2});
}

static void open_folder(void)
{
	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
}

static void remove_session(void)
{
	close(folder_fd);
	tree_remove(&folder);
}

/* Two iterations of two CPUs, 10 ms each. Of the second CPU faults ran half the time, and go
 * backward in the second iteration. */
static void make_tally(void)
{
	const struct reading s00[] = {perf_reading(FAULTS, 0, 5, 0, 0), reading(USER, 0, 0, 0, 0),
				      reading(MEMORY, 0, 0, 9, 0), reading(DISK, 0, 0, 100, 0)};
	const struct reading e00[] = {perf_reading(FAULTS, 10, 25, 10, 10),
				      reading(USER, 0, 10, 1, 4), reading(MEMORY, 0, 10, 7, 0),
				      reading(DISK, 0, 10, 600, 0), reading(DISK, 1, 10, 50, 0)};
	const struct reading s01[] = {perf_reading(FAULTS, 0, 0, 0, 0), reading(USER, 0, 0, 0, 0)};
	const struct reading e01[] = {perf_reading(FAULTS, 10, 10, 10, 5),
				      reading(USER, 0, 10, 2, 4)};
	const struct reading e10[] = {perf_reading(FAULTS, 20, 125, 20, 20),
				      reading(USER, 0, 20, 1, 4), reading(MEMORY, 0, 20, 8, 0),
				      reading(DISK, 0, 20, 600, 0)};
	const struct reading e11[] = {perf_reading(FAULTS, 20, 9, 20, 10),
				      reading(USER, 0, 20, 2, 8)};
	struct trace_writer *w;

	set_events(false);
	open_folder();
	w = begin(0, 0);
	trace_writer_readings(w, TRACE_START, s00, NR(s00));
	trace_writer_readings(w, TRACE_END, e00, NR(e00));
	add_names(w);
	end(w, "s.0.0.cpuperf", 0, 10);
	w = begin(0, 1);
	trace_writer_readings(w, TRACE_START, s01, NR(s01));
	trace_writer_readings(w, TRACE_END, e01, NR(e01));
	end(w, "s.0.1.cpuperf", 0, 10);
	w = begin(1, 0);
	trace_writer_readings(w, TRACE_START, e00, NR(e00));
	trace_writer_readings(w, TRACE_END, e10, NR(e10));
	add_names(w);
	end(w, "s.1.0.cpuperf", 10, 20);
	w = begin(1, 1);
	trace_writer_readings(w, TRACE_START, e01, NR(e01));
	trace_writer_readings(w, TRACE_END, e11, NR(e11));
	end(w, "s.1.1.cpuperf", 10, 20);
}

static void add_sample(struct buf *b, uint64_t us, uint64_t on_ms, uint64_t run_ms, uint64_t clock,
		       uint64_t faults)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE, 0);
	const uint64_t words[] = {2, on_ms * MS, run_ms * MS, clock, faults};

	buf_le64(b, 100);
	record_id(b, 1, 1, ORIGIN + us * 1000);
	for (size_t i = 0; i < NR(words); i++)
		buf_le64(b, words[i]);
	record_end(b, at);
}

/* One iteration of 40 ms: the first CPU has ticks and samples, the other one nothing but ends. */
static void make_sampled(void)
{
	static const struct trace_id ids[] = {{.id = 100, .event = CLOCK},
					      {.id = 101, .event = FAULTS, .attr = 0}};
	const struct reading start[] = {
	    perf_reading(CLOCK, 0, 0, 0, 0), perf_reading(FAULTS, 0, 10, 0, 0),
	    reading(USER, 0, 0, 10, 100),    reading(MEMORY, 0, 0, 1, 0),
	    reading(DISK, 0, 0, 1000, 0),    reading(ENERGY, 0, 0, 8, 0),
	    reading(ENERGY, 1, 0, 0, 0),     reading(BOXES, 0, 0, 0, 0),
	    reading(BOXES, 1, 0, 0, 0)};
	const struct reading ticks[] = {
	    reading(USER, 0, 10, 15, 110), reading(BOXES, 0, 10, 10, 0),
	    reading(BOXES, 1, 10, 20, 0),  reading(MEMORY, 0, 10, 2, 0),
	    reading(DISK, 0, 10, 1500, 0), reading(USER, 0, 20, 14, 120), /* backward */
	    reading(MEMORY, 0, 20, 3, 0),  reading(DISK, 0, 20, 1500, 0),
	    reading(DISK, 1, 20, 70, 0),   reading(USER, 0, 30, 20, 130)};
	const struct reading stop[] = {
	    perf_reading(CLOCK, 40, 400, 40, 40), perf_reading(FAULTS, 40, 100, 40, 40),
	    reading(USER, 0, 40, 25, 140),        reading(MEMORY, 0, 40, 5, 0),
	    reading(DISK, 0, 40, 1700, 0),        reading(ENERGY, 0, 40, 18, 0),
	    reading(ENERGY, 1, 40, 6, 0),         reading(BOXES, 0, 40, 40, 0),
	    reading(BOXES, 1, 40, 100, 0)};
	const struct reading other_start[] = {reading(ENERGY, 0, 0, 0, 0)},
			     other_stop[] = {reading(ENERGY, 0, 40, 4, 0)};
	struct trace_writer *w;
	struct buf b;

	set_events(true);
	open_folder();
	buf_init(&b, MAX_BYTES);
	add_sample(&b, 12000, 12, 12, 100, 40);
	add_sample(&b, 13000, 13, 13, 200, 40);
	add_sample(&b, 32000, 32, 14, 300, 42); /* multiplexed: 1 ms of 19 */
	w = begin(0, 0);
	trace_writer_ids(w, ids, 2);
	trace_writer_readings(w, TRACE_START, start, NR(start));
	trace_writer_records(w, TRACE_RING_SAMPLES, 3, b.data, b.len);
	trace_writer_readings(w, TRACE_TICK, ticks, NR(ticks));
	trace_writer_readings(w, TRACE_END, stop, NR(stop));
	add_names(w);
	buf_fini(&b);
	end(w, "s.0.0.cpuperf", 0, 40);
	w = begin(0, 1);
	trace_writer_ids(w, ids, 2);
	trace_writer_readings(w, TRACE_START, other_start, 1);
	trace_writer_readings(w, TRACE_END, other_stop, 1);
	end(w, "s.0.1.cpuperf", 0, 40);
}

static void take_problem(void *arg, bool is_loss, const struct err *e)
{
	(void)arg;
	(void)is_loss;
	(void)e;
}

static int open_session(struct profile_session **out)
{
	char path[sizeof(folder.dir) + 16];
	const struct profile_manifest m = {path, "/elsewhere/s", 0, 0};

	snprintf(path, sizeof(path), "%s/s.cpsession", folder.dir);
	return profile_session_open(&m, take_problem, NULL, out, NULL);
}

static bool only_samples;

/* "name cpu thing start-end ms = value state raw/base", a line each. */
static int take_point(void *arg, const struct counts_series_point *p)
{
	struct buf *b = arg;
	double value;

	assert_int_equal(p->origin_ns, ORIGIN);
	if (only_samples && !p->is_samples)
		return 0;
	buf_printf(b, "%s%s", p->of->name, p->is_total ? "*" : p->is_samples ? "#" : "");
	if (p->cpu != COUNTS_NO_CPU)
		buf_printf(b, " cpu%u", p->cpu);
	if (p->thing)
		buf_printf(b, " %u:%s", p->thing->number, p->thing->name);
	buf_printf(b, " %g-%g", (double)(p->start_ns - ORIGIN) / MS,
		   (double)(p->end_ns - ORIGIN) / MS);
	if (counts_series_value(p, &value))
		buf_printf(b, " = %.6g", value);
	buf_printf(b, " %s", cell_state_name(p->cell->state));
	if (cell_has_value(p->cell) && !p->of->metric)
		buf_printf(b, " %" PRIu64, p->cell->raw);
	if (p->is_samples)
		buf_printf(b, " of %" PRIu64, p->weight);
	buf_addc(b, '\n');
	return 0;
}

static void check_points(const struct profile_filter *filter, bool from_sample_to_sample,
			 const char *expected)
{
	struct counts_slices *slices = counts_slices_new();
	struct profile_session *s;
	struct buf b;

	buf_init(&b, MAX_BYTES);
	assert_int_equal(open_session(&s), 0);
	for (int i = 0; i < 2; i++) { /* the second time is like the first */
		const struct counts_series_config config = {.session = s,
							    .metrics = &metric_set,
							    .filter = filter,
							    .slice_ns = 10 * MS,
							    .from_sample_to_sample =
								from_sample_to_sample,
							    .slices = slices,
							    .point = take_point,
							    .arg = &b};

		buf_reset(&b);
		assert_int_equal(counts_series(&config, NULL), 0);
		if (strcmp(buf_str(&b), expected) != 0)
			fail_msg("got\n%s\nnot\n%s", buf_str(&b), expected);
	}
	profile_session_close(s);
	counts_slices_free(slices);
	buf_fini(&b);
}

/* By hand. */
static const char tally_points[] = "faults cpu3 0-10 = 2000 ok 20\n"
				   "user cpu3 0-10 = 25 ok 1\n"
				   "memory 0-10 = 28 ok 7\n"
				   "disk 0-10 = 55000 ok 550\n"
				   "not cpu3 0-10 no permission\n"
				   "quotient cpu3 0-10 n/a\n"
				   "paces cpu3 0-10 = 0.8 ok\n"
				   "faults cpu4 0-10 = 2000 ok 10\n"
				   "user cpu4 0-10 = 50 ok 2\n"
				   "not cpu4 0-10 no permission\n"
				   "quotient cpu4 0-10 n/a\n"
				   "paces cpu4 0-10 = 0.4 ok\n"
				   "faults* 0-10 = 4000 ok 30\n"
				   "user* 0-10 = 37.5 ok 3\n"
				   "not* 0-10 no permission\n"
				   "quotient* 0-10 n/a\n"
				   "paces* 0-10 = 1.06667 ok\n"
				   "scopes* 0-10 = 1050 ok\n"
				   "disk 0:sda 0-10 = 50000 ok 500\n"
				   "disk 1:came 0-10 = 5000 ok 50\n"
				   "faults cpu3 10-20 = 10000 ok 100\n"
				   "user cpu3 10-20 not counted\n"
				   "memory 10-20 = 32 ok 8\n"
				   "disk 10-20 = 0 ok 0\n"
				   "not cpu3 10-20 no permission\n"
				   "quotient cpu3 10-20 n/a\n"
				   "paces cpu3 10-20 n/a\n"
				   "faults cpu4 10-20 failed\n"
				   "user cpu4 10-20 = 0 ok 0\n"
				   "not cpu4 10-20 no permission\n"
				   "quotient cpu4 10-20 n/a\n"
				   "paces cpu4 10-20 n/a\n"
				   "faults* 10-20 = 10000 ok 100\n"
				   "user* 10-20 = 0 ok 0\n"
				   "not* 10-20 no permission\n"
				   "quotient* 10-20 n/a\n"
				   "paces* 10-20 n/a\n"
				   "scopes* 10-20 n/a\n"
				   "disk 0:sda 10-20 = 0 ok 0\n";
static const char wanted_points[] = "memory 0-10 = 28 ok 7\n"
				    "faults cpu4 0-10 = 2000 ok 10\n"
				    "quotient cpu4 0-10 n/a\n"
				    "paces cpu4 0-10 = 0.4 ok\n"
				    "faults* 0-10 = 2000 ok 10\n"
				    "quotient* 0-10 n/a\n"
				    "paces* 0-10 = 0.4 ok\n"
				    "scopes* 0-10 = 1400 ok\n";
static const char sampled_points[] = "clock# cpu3 0-10 = 0 ok 0 of 0\n"
				     "clock cpu3 0-12 = 0.000833333 ok 100\n"
				     "faults cpu3 0-12 = 2500 ok 30\n"
				     "quotient cpu3 0-12 = 0.3 ok\n"
				     "user cpu3 0-10 = 50 ok 5\n"
				     "memory 0-10 = 8 ok 2\n"
				     "disk 0-10 = 50000 ok 500\n"
				     "boxes cpu3 0-10 = 3000 ok 30\n"
				     "disk 0:sda 0-10 = 50000 ok 500\n"
				     "user cpu3 10-20 not counted\n"
				     "memory 10-20 = 12 ok 3\n"
				     "disk 10-20 = 7000 ok 70\n"
				     "disk 0:sda 10-20 = 0 ok 0\n"
				     "disk 1:came 10-20 = 7000 ok 70\n"
				     "clock# cpu3 10-20 = 200 ok 2 of 200\n"
				     "clock# cpu3 20-30 = 0 ok 0 of 0\n"
				     "clock cpu3 12-13 = 0.01 ok 100\n"
				     "faults cpu3 12-13 = 0 ok 0\n"
				     "quotient cpu3 12-13 = 0 ok\n"
				     "clock# cpu3 30-40 = 100 ok 1 of 100\n"
				     "clock cpu3 13-32 = 0.01 ok 100\n"
				     "faults cpu3 13-32 = 2000 ok 2\n"
				     "quotient cpu3 13-32 = 0.02 ok\n"
				     "user cpu3 20-30 = 60 ok 6\n"
				     "user cpu3 30-40 = 50 ok 5\n"
				     "memory 30-40 = 20 ok 5\n"
				     "disk 20-40 = 10000 ok 200\n"
				     "boxes cpu3 10-40 = 3666.67 ok 110\n"
				     "disk 0:sda 20-40 = 10000 ok 200\n"
				     "clock cpu3 32-40 = 0.00125 ok 100\n"
				     "faults cpu3 32-40 = 7250 ok 58\n"
				     "quotient cpu3 32-40 = 0.58 ok\n"
				     "energy cpu3 0-40 = 200 ok 16\n"
				     "not cpu3 0-40 no permission\n"
				     "clock# cpu4 0-40 = 0 ok 0 of 0\n"
				     "energy cpu4 0-40 = 50 ok 4\n"
				     "not cpu4 0-40 no permission\n";
static const char points_between[] = "clock# cpu3 0-12 = 83.3333 ok 1 of 100\n"
				     "clock# cpu3 12-32 = 100 ok 2 of 200\n"
				     "clock# cpu4 0-40 = 0 ok 0 of 0\n";
static const char points_in_time[] = "clock# cpu3 10-20 = 200 ok 2 of 200\n"
				     "clock# cpu3 20-30 = 0 ok 0 of 0\n"
				     "clock cpu3 12-13 = 0.01 ok 100\n"
				     "clock cpu3 13-32 = 0.01 ok 100\n";

TEST(points_of_a_tally)
{
	static const struct profile_filter all;
	struct profile_filter some = {.cpus = {{{4, 4}}, 1}, .iterations = {{{0, 0}}, 1}};

	make_tally();
	check_points(&all, false, tally_points);
	profile_globs_add(&some.events, "--event", "[fm]*", NULL);
	check_points(&some, false, wanted_points);
	remove_session();
}

/* A point is within the time as a whole, and counts from the session's start. */
TEST(points_of_samples)
{
	static const struct profile_filter all;
	struct profile_filter clock = {.from_ns = 0}, late = {.from_ns = 10 * MS, .to_ns = 32 * MS};

	make_sampled();
	check_points(&all, false, sampled_points);
	profile_globs_add(&late.events, "--event", "test:clock", NULL);
	check_points(&late, false, points_in_time);
	profile_globs_add(&clock.events, "--event", "clock", NULL);
	clock.to_ns = 0;
	only_samples = true;
	check_points(&clock, true, points_between);
	only_samples = false;
	remove_session();
}

/* A tally of 40 ms on one CPU: user and disk are read each 10 ms, memory each 20 ms. User's third
 * tick is missing; disk's fourth comes just before the end, which replaces it. */
static void make_paced(void)
{
	static const struct reading start[] = {
	    {.event = FAULTS, .state = READING_OK, .time_ns = ORIGIN, .raw = 10},
	    {.event = USER, .state = READING_OK, .time_ns = ORIGIN, .raw = 10, .base = 100},
	    {.event = MEMORY, .state = READING_OK, .time_ns = ORIGIN, .raw = 1},
	    {.event = DISK, .state = READING_OK, .time_ns = ORIGIN, .raw = 1000}};
	const struct reading ticks[] = {
	    reading(USER, 0, 10, 15, 110), reading(DISK, 0, 10, 1500, 0),
	    reading(USER, 0, 20, 17, 120), reading(MEMORY, 0, 20, 3, 0),
	    reading(DISK, 0, 20, 1600, 0), reading(DISK, 0, 30, 1600, 0),
	    reading(USER, 0, 39, 30, 139), reading(DISK, 0, 39, 1900, 0)};
	const struct reading stop[] = {perf_reading(FAULTS, 40, 100, 40, 40),
				       reading(USER, 0, 40, 31, 140), reading(MEMORY, 0, 40, 5, 0),
				       reading(DISK, 0, 40, 1950, 0)};
	struct trace_writer *w;

	set_events(false);
	events[USER].every_ns = events[DISK].every_ns = 10 * MS;
	events[MEMORY].every_ns = 20 * MS;
	open_folder();
	w = begin(0, 0);
	trace_writer_readings(w, TRACE_START, start, NR(start));
	trace_writer_readings(w, TRACE_TICK, ticks, NR(ticks));
	trace_writer_readings(w, TRACE_END, stop, NR(stop));
	add_names(w);
	end(w, "s.0.0.cpuperf", 0, 40);
}

static const char paced_points[] = "user cpu3 0-10 = 50 ok 5\n"
				   "disk 0-10 = 50000 ok 500\n"
				   "disk 0:sda 0-10 = 50000 ok 500\n"
				   "user cpu3 10-20 = 20 ok 2\n"
				   "memory 0-20 = 12 ok 3\n"
				   "disk 10-20 = 10000 ok 100\n"
				   "disk 0:sda 10-20 = 10000 ok 100\n"
				   "user cpu3 20-39 = 68.4211 ok 13\n"
				   "disk 20-30 = 0 ok 0\n"
				   "disk 0:sda 20-30 = 0 ok 0\n"
				   "user cpu3 39-40 = 100 ok 1\n"
				   "memory 20-40 = 20 ok 5\n"
				   "disk 30-40 = 35000 ok 350\n"
				   "disk 0:sda 30-40 = 35000 ok 350\n"
				   "faults cpu3 0-40 = 2250 ok 90\n"
				   "not cpu3 0-40 no permission\n"
				   "paces cpu3 0-40 = 1.71429 ok\n"
				   "faults* 0-40 = 2250 ok 90\n"
				   "not* 0-40 no permission\n"
				   "quotient* 0-40 n/a\n"
				   "paces* 0-40 = 1.71429 ok\n"
				   "scopes* 0-40 = 1050 ok\n";

/* Points of an iteration add up to its count; metrics of several paces are of iterations only. */
TEST(points_of_paces)
{
	static const struct profile_filter all;

	make_paced();
	check_points(&all, false, paced_points);
	remove_session();
	events[USER].every_ns = events[DISK].every_ns = events[MEMORY].every_ns = 0;
}

/* Without its end frame: eight words behind the frame's head. */
static void cut_end(const char *name)
{
	int fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);

	assert_true(fd >= 0 && size > 80);
	assert_int_equal(ftruncate(fd, size - 80), 0);
	close(fd);
}

/* A session that was killed: what its last ticks say is said once. */
TEST(points_of_a_killed_session)
{
	static const struct profile_filter all;
	const struct reading start[] = {reading(USER, 0, 0, 0, 0), reading(MEMORY, 0, 0, 1, 0)};
	const struct reading ticks[] = {reading(USER, 0, 10, 5, 10), reading(MEMORY, 0, 10, 2, 0),
					reading(USER, 0, 20, 5, 20), reading(MEMORY, 0, 20, 3, 0)};
	struct trace_writer *w;

	set_events(true);
	events[NOT].state = READING_OK;
	open_folder();
	w = begin(0, 0);
	trace_writer_readings(w, TRACE_START, start, NR(start));
	trace_writer_readings(w, TRACE_TICK, ticks, NR(ticks));
	end(w, "s.0.0.cpuperf", 0, 20);
	cut_end("s.0.0.cpuperf");
	check_points(&all, false,
		     "user cpu3 0-10 = 50 ok 5\n"
		     "memory 0-10 = 8 ok 2\n"
		     "clock# cpu3 0-20 = 0 ok 0 of 0\n"
		     "user cpu3 10-20 = 0 ok 0\n"
		     "memory 10-20 = 12 ok 3\n");
	remove_session();
}

static void add_sample_of_cpu(struct buf *b, uint64_t us, uint32_t cpu, uint64_t period)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE, 0);

	buf_le64(b, 100);
	record_id(b, 1, 1, ORIGIN + us * 1000);
	buf_le32(b, cpu);
	buf_le32(b, 0);
	buf_le64(b, period);
	record_end(b, at);
}

static void add_samples(struct trace_writer *w, uint32_t cpu, const struct buf *b)
{
	trace_writer_ids(w, &(struct trace_id){.id = 100, .event = CLOCK}, 1);
	trace_writer_records(w, TRACE_RING_SAMPLES, cpu, b->data, b->len);
}

static void set_samples_of_cpus(void)
{
	set_events(true);
	attr_bytes(&(struct attr){.period = 100,
				  .sample_type = S_IDENTIFIER | S_TID | S_TIME | S_CPU | S_PERIOD,
				  .bits = ATTR_SAMPLE_ID_ALL},
		   attr);
}

static void show_points(const struct profile_filter *filter, struct counts_slices *slices,
			struct buf *b)
{
	struct counts_series_config config = {.metrics = &metric_set,
					      .filter = filter,
					      .slice_ns = 10 * MS,
					      .slices = slices,
					      .point = take_point,
					      .arg = b};

	assert_int_equal(open_session(&config.session), 0);
	assert_int_equal(counts_series(&config, NULL), 0);
	profile_session_close(config.session);
}

/* A trace of many CPUs: each sample has its CPU, and intervals between samples mean nothing. */
TEST(points_of_samples_of_many_cpus)
{
	static const struct profile_filter all;
	const struct profile_filter one = {.cpus = {{{1, 1}}, 1}};
	struct counts_slices *slices;
	struct trace_writer *w;
	struct buf b;

	set_samples_of_cpus();
	open_folder();
	buf_init(&b, MAX_BYTES);
	add_sample_of_cpu(&b, 1000, 0, 100);
	add_sample_of_cpu(&b, 2000, 1, 100);
	add_sample_of_cpu(&b, 12000, 0, 0); /* stands for one event at least */
	add_sample_of_cpu(&b, 24000, 1, 50);
	w = begin_on(0, 0, COUNTS_NO_CPU);
	add_samples(w, COUNTS_NO_CPU, &b);
	end(w, "s.0.0.cpuperf", 0, 25);
	only_samples = true;
	for (int i = 0; i < 2; i++)
		check_points(&all, i,
			     "clock# 0-10 = 200 ok 2 of 200\n"
			     "clock# 10-20 = 100 ok 1 of 1\n"
			     "clock# 20-25 = 200 ok 1 of 50\n");
	check_points(&one, false,
		     "clock# 0-10 = 100 ok 1 of 100\n"
		     "clock# 10-20 = 0 ok 0 of 0\n"
		     "clock# 20-25 = 200 ok 1 of 50\n");
	only_samples = false;
	slices = counts_slices_new();
	buf_reset(&b);
	show_points(&all, slices, &b);
	buf_reset(&b);
	show_points(&one, slices, &b);
	assert_non_null(strstr(buf_str(&b), "clock# 0-10 = 100 ok 1 of 100\n"));
	counts_slices_free(slices);
	buf_fini(&b);
	remove_session();
}

/* What is less than half a slice at the ends of an iteration is in the slice beside it: one sample
 * in it is no burst. */
TEST(points_of_short_rests)
{
	static const struct profile_filter all;
	static const struct {
		uint64_t start_ms, end_ms, sample_us[4];
	} iterations[] = {{0, 9, {1000}},
			  {9, 26, {9500, 12000, 25500}},
			  {26, 28, {27000}},
			  {28, 31, {28500, 30500, 31000}},
			  {31, 62, {32000, 61000, 62000}}};

	set_samples_of_cpus();
	open_folder();
	for (uint32_t i = 0; i < NR(iterations); i++) {
		struct trace_writer *w = begin_on(i, 0, 3);
		char name[32];
		BUF_AUTO(b, MAX_BYTES);

		for (size_t k = 0; k < NR(iterations[i].sample_us) && iterations[i].sample_us[k];
		     k++)
			add_sample_of_cpu(&b, iterations[i].sample_us[k], 3, 100);
		add_samples(w, 3, &b);
		snprintf(name, sizeof(name), "s.%u.0.cpuperf", i);
		end(w, name, iterations[i].start_ms, iterations[i].end_ms);
	}
	only_samples = true;
	check_points(&all, false,
		     "clock# cpu3 0-9 = 111.111 ok 1 of 100\n"
		     "clock# cpu3 9-20 = 181.818 ok 2 of 200\n"
		     "clock# cpu3 20-26 = 166.667 ok 1 of 100\n"
		     "clock# cpu3 26-28 = 500 ok 1 of 100\n"
		     "clock# cpu3 28-31 = 1000 ok 3 of 300\n"
		     "clock# cpu3 31-40 = 111.111 ok 1 of 100\n"
		     "clock# cpu3 40-50 = 0 ok 0 of 0\n"
		     "clock# cpu3 50-62 = 166.667 ok 2 of 200\n");
	only_samples = false;
	remove_session();
}

/* From sample to sample, too. */
TEST(points_of_a_short_rest_between_samples)
{
	static const struct profile_filter all;

	only_samples = true;
	for (int is_long = 0; is_long < 2; is_long++) {
		struct trace_writer *w;
		BUF_AUTO(b, MAX_BYTES);

		set_samples_of_cpus();
		open_folder();
		add_sample_of_cpu(&b, 10000, 3, 100);
		add_sample_of_cpu(&b, 20000, 3, 100);
		add_sample_of_cpu(&b, is_long ? 25000 : 20500, 3, 50);
		w = begin(0, 0);
		add_samples(w, 3, &b);
		end(w, "s.0.0.cpuperf", 0, 30);
		check_points(&all, true,
			     is_long ? "clock# cpu3 0-10 = 100 ok 1 of 100\n"
				       "clock# cpu3 10-20 = 100 ok 1 of 100\n"
				       "clock# cpu3 20-25 = 200 ok 1 of 50\n"
				     : "clock# cpu3 0-10 = 100 ok 1 of 100\n"
				       "clock# cpu3 10-20.5 = 190.476 ok 2 of 150\n");
		remove_session();
	}
	only_samples = false;
}

/* Samples of CPU 3, which are kept, and of CPU 4, of which the trace has a reading or is damaged.
 */
static void make_two_cpus(const struct reading *tick, bool is_damaged)
{
	set_samples_of_cpus();
	open_folder();
	for (uint32_t i = 0; i < 2; i++) {
		struct trace_writer *w = begin(0, i);
		struct buf b;

		buf_init(&b, MAX_BYTES);
		add_sample_of_cpu(&b, 1000 * (i + 1), 3 + i, 100);
		add_sample_of_cpu(&b, 25000, 3 + i, 50);
		if (i && is_damaged)
			buf_le64(&b, 0);
		add_samples(w, 3 + i, &b);
		if (i && tick)
			trace_writer_readings(w, TRACE_TICK, tick, 1);
		end(w, i ? "s.0.1.cpuperf" : "s.0.0.cpuperf", 0, 40);
		buf_fini(&b);
	}
}

/* Samples are not read again for another selection, unless there is more in the trace than them. */
TEST(points_of_kept_slices)
{
	const struct profile_filter filters[] = {{.cpus = {{{3, 3}}, 1}},
						 {.cpus = {{{4, 4}}, 1}},
						 {.from_ns = 10 * MS},
						 {.to_ns = 1},
						 {}};
	const struct reading tick = reading(USER, 0, 10, 5, 10);

	for (int i = 0; i < 3; i++) {
		struct counts_slices *slices = counts_slices_new();

		make_two_cpus(i == 1 ? &tick : NULL, i == 2);
		for (size_t k = 0; k < 2 * NR(filters); k++) {
			const struct profile_filter *f = &filters[k % NR(filters)];
			BUF_AUTO(kept, MAX_BYTES);
			BUF_AUTO(read, MAX_BYTES);

			show_points(f, slices, &kept);
			show_points(f, NULL, &read);
			assert_string_equal(buf_str(&kept), buf_str(&read));
		}
		assert_non_null(counts_slices_find(slices, 0, 0));
		assert_int_equal(counts_slices_find(slices, 0, 0)->nr, 4);
		assert_int_equal(counts_slices_find(slices, 0, 1) != NULL, i == 0);
		counts_slices_free(slices);
		remove_session();
	}
}

TEST(slices_without_room)
{
	enum { MAX_SLICES = 1 << 20 };
	struct counts_slices *k = counts_slices_new();
	const struct counts_slice slice = {.end_ns = 1};

	assert_non_null(k);
	for (uint32_t trace = 0; trace < 3; trace++) {
		counts_slices_begin(k, 0, trace);
		for (int i = 0; i < (trace == 1 ? MAX_SLICES : MAX_SLICES / 2); i++)
			counts_slices_add(k, &slice);
		counts_slices_end(k, true);
		assert_int_equal(counts_slices_find(k, 0, trace) != NULL, trace != 1);
	}
	counts_slices_free(k);
	counts_slices_free(NULL);
}

/* The time after the last sample has a point if it is more than twice as long as any interval
 * between samples. */
TEST(points_after_the_last_sample)
{
	static const struct profile_filter all;

	only_samples = true;
	for (int is_long = 0; is_long < 2; is_long++) {
		struct trace_writer *w;
		struct buf b;

		set_samples_of_cpus();
		open_folder();
		buf_init(&b, MAX_BYTES);
		add_sample_of_cpu(&b, 10000, 3, 100);
		add_sample_of_cpu(&b, 20000, 3, 100);
		w = begin(0, 0);
		add_samples(w, 3, &b);
		end(w, "s.0.0.cpuperf", 0, is_long ? 45 : 38);
		check_points(&all, true,
			     is_long ? "clock# cpu3 0-10 = 100 ok 1 of 100\n"
				       "clock# cpu3 10-20 = 100 ok 1 of 100\n"
				       "clock# cpu3 20-45 = 0 ok 0 of 0\n"
				     : "clock# cpu3 0-10 = 100 ok 1 of 100\n"
				       "clock# cpu3 10-20 = 100 ok 1 of 100\n");
		buf_fini(&b);
		remove_session();
	}
	only_samples = false;
}

static void make_target(bool is_sampling)
{
	const struct reading start[] = {reading(USER, 0, 0, 0, 0)},
			     stop[] = {reading(USER, 0, 10, 1, 4)},
			     first[] = {perf_reading(FAULTS, 0, 0, 0, 0)},
			     last[] = {perf_reading(FAULTS, 10, 20, 10, 10)};
	struct trace_writer *w;

	set_events(is_sampling);
	events[NOT].state = READING_OK;
	open_folder();
	w = begin(0, 0);
	trace_writer_readings(w, TRACE_START, start, 1);
	trace_writer_readings(w, TRACE_END, stop, 1);
	end(w, "s.0.0.cpuperf", 0, 10);
	w = begin_on(0, 1, TRACE_ANY_CPU);
	trace_writer_readings(w, TRACE_START, first, 1);
	trace_writer_readings(w, TRACE_END, last, 1);
	trace_writer_target(w, &(struct trace_target){.pid = 1, .text = "sleep 1"});
	end(w, "s.0.1.cpuperf", 0, 10);
}

/* What is counted of a target on any CPU is no sum over CPUs, and its trace has no samples. */
TEST(points_of_a_target)
{
	static const struct profile_filter all;

	make_target(false);
	check_points(&all, false,
		     "user cpu3 0-10 = 25 ok 1\n"
		     "paces cpu3 0-10 n/a\n"
		     "faults 0-10 = 2000 ok 20\n"
		     "quotient 0-10 n/a\n"
		     "paces 0-10 n/a\n"
		     "user* 0-10 = 25 ok 1\n"
		     "scopes* 0-10 n/a\n");
	remove_session();
	make_target(true);
	check_points(&all, false,
		     "clock# cpu3 0-10 = 0 ok 0 of 0\n"
		     "user cpu3 0-10 = 25 ok 1\n"
		     "faults 0-10 = 2000 ok 20\n");
	remove_session();
}

/* --- lines ----------------------------------------------------------------------------------- */

enum { NR_CPUS = 3, NR_TURNS = 500, NR_COLUMNS = 4, NR_PARTS = 8, LONG_MS = 16384 };
enum { EVENTS_A, EVENTS_B, TIME_SHARE, ROOM };

static struct expr_step a_of_b[] = {{.op = EXPR_OPERAND, .operand = EVENTS_A},
				    {.op = EXPR_OPERAND, .operand = EVENTS_B},
				    {.op = EXPR_DIVIDE}};
static struct expr_step all_of_a[] = {{.op = EXPR_OPERAND, .operand = EVENTS_A}};
static const struct metric line_metrics[] = {
    {.name = "a_of_b", .unit = "", .expr = {a_of_b, 3}},
    {.name = "all_of_a", .unit = "", .expr = {all_of_a, 1}}};
static const struct metric_set line_metric_set = {line_metrics, 2};
static const struct table_column line_columns[] = {
    {.name = "a", .unit = "", .kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU},
    {.name = "b", .unit = "", .kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU},
    {.name = "share", .unit = "%", .kind = EVENT_SHARE, .scope = EVENT_SCOPE_CPU},
    {.name = "room", .unit = "", .kind = EVENT_VALUE, .scope = EVENT_SCOPE_CPU},
};

/* What the lines must say, summed up on the way; NR_CPUS: of all. */
struct sums {
	double amount[NR_COLUMNS][NR_CPUS + 1], base[NR_COLUMNS][NR_CPUS + 1];
	double part[NR_COLUMNS][NR_PARTS], part_base[NR_COLUMNS][NR_PARTS];
	double min[NR_COLUMNS][NR_CPUS], max[NR_COLUMNS][NR_CPUS];
};

struct turn {
	uint64_t start_ns, end_ns;
	uint64_t raw[NR_COLUMNS][NR_CPUS], base[NR_COLUMNS][NR_CPUS];
};

static void make_turns(struct turn *turns)
{
	uint64_t seed = 7, at = 0;

	for (size_t i = 0; i < NR_TURNS; i++) {
		uint64_t left = (uint64_t)LONG_MS * MS - at;
		uint64_t len = i + 1 == NR_TURNS
				   ? left
				   : 1 + synthetic_next(&seed) % (2 * left / (NR_TURNS - i) - 1);

		turns[i].start_ns = ORIGIN + at;
		turns[i].end_ns = ORIGIN + (at += len);
		for (size_t c = 0; c < NR_COLUMNS; c++)
			for (size_t cpu = 0; cpu < NR_CPUS; cpu++) {
				turns[i].raw[c][cpu] = synthetic_next(&seed) % 1000;
				turns[i].base[c][cpu] = 1000 + synthetic_next(&seed) % 1000;
			}
	}
}

static struct cell turn_cell(const struct turn *t, size_t column, size_t cpu)
{
	enum event_kind kind = line_columns[column].kind;
	const struct reading a = {.state = READING_OK, .time_ns = t->start_ns},
			     b = {.state = READING_OK,
				  .time_ns = t->end_ns,
				  .raw = t->raw[column][cpu],
				  .base = kind == EVENT_SHARE ? t->base[column][cpu] : 0};
	struct cell cell;

	cell_make(kind, &a, &b, &cell);
	return cell;
}

static void add_point(struct counts_lines *l, const struct turn *t, size_t column, size_t cpu)
{
	const struct cell cell = turn_cell(t, column, cpu);
	const struct counts_series_point p = {.column = (uint32_t)column,
					      .of = &line_columns[column],
					      .trace = (uint32_t)cpu,
					      .cpu = (uint32_t)cpu,
					      .origin_ns = ORIGIN,
					      .start_ns = t->start_ns,
					      .end_ns = t->end_ns,
					      .cell = &cell};

	assert_int_equal(counts_lines_add(l, &p), 0);
}

static double shown_of(const struct turn *t, size_t column, size_t cpu)
{
	double raw = (double)t->raw[column][cpu];

	switch (line_columns[column].kind) {
	case EVENT_COUNT:
		return raw * 1e9 / (double)(t->end_ns - t->start_ns);
	case EVENT_SHARE:
		return 100 * raw / (double)t->base[column][cpu];
	default:
		return raw;
	}
}

/* So much of the turn is in the part. */
static double overlap(const struct turn *t, size_t part)
{
	double width = (double)LONG_MS * MS / NR_PARTS, from = ORIGIN + width * (double)part;

	return fmax(fmin((double)t->end_ns, from + width) - fmax((double)t->start_ns, from), 0) /
	       (double)(t->end_ns - t->start_ns);
}

static void sum_turn(struct sums *s, const struct turn *t, size_t c, size_t cpu)
{
	bool is_value = line_columns[c].kind == EVENT_VALUE;
	double ns = (double)(t->end_ns - t->start_ns), shown = shown_of(t, c, cpu);
	double amount = (double)t->raw[c][cpu] * (is_value ? ns : 1);
	double base = line_columns[c].kind == EVENT_SHARE ? (double)t->base[c][cpu] : ns;

	s->amount[c][cpu] += amount;
	s->base[c][cpu] += base;
	s->amount[c][NR_CPUS] += amount;
	s->base[c][NR_CPUS] += base;
	s->min[c][cpu] = s->base[c][cpu] == base ? shown : fmin(s->min[c][cpu], shown);
	s->max[c][cpu] = fmax(s->max[c][cpu], shown);
	for (size_t k = 0; k < NR_PARTS; k++) {
		s->part[c][k] += amount * overlap(t, k);
		s->part_base[c][k] += base * overlap(t, k);
	}
}

static void assert_near(const char *what, size_t c, double got, double wanted)
{
	if (!(fabs(got - wanted) <= 1e-5 * fabs(wanted) + 1e-9))
		fail_msg("%s of column %zu: %.9g, not %.9g", what, c, got, wanted);
}

/* Of all CPUs counts add up, shares have a common whole, and values are a mean. */
static double mean_of(size_t c, double amount, double base, double nr_cpus)
{
	switch (line_columns[c].kind) {
	case EVENT_COUNT:
		return amount / (base / nr_cpus) * 1e9;
	case EVENT_SHARE:
		return 100 * amount / base;
	default:
		return amount / base;
	}
}

static void check_line(const struct counts_lines *l, size_t i, const struct sums *s)
{
	const struct counts_line *line = counts_lines_at(l, i);
	size_t c = line->column, cpu = line->cpu == COUNTS_NO_CPU ? NR_CPUS : line->cpu;
	double shape[NR_PARTS];

	assert_true(line->has_number);
	assert_near("mean", c, line->mean,
		    mean_of(c, s->amount[c][cpu], s->base[c][cpu], cpu == NR_CPUS ? NR_CPUS : 1));
	if (cpu < NR_CPUS) {
		assert_near("min", c, line->min, s->min[c][cpu]);
		assert_near("max", c, line->max, s->max[c][cpu]);
		return;
	}
	assert_true(line->min < line->mean && line->mean < line->max);
	counts_lines_shape(l, i, shape, NR_PARTS);
	for (size_t k = 0; k < NR_PARTS; k++)
		assert_near("part", c, shape[k],
			    mean_of(c, s->part[c][k], s->part_base[c][k], NR_CPUS));
}

static void check_metric(const struct counts_lines *l, size_t i, const struct sums *s)
{
	const struct counts_line *line = counts_lines_at(l, i);
	double shape[NR_PARTS];
	bool is_rate = *line->unit.per != 0;

	assert_int_equal(is_rate, line->column == NR_COLUMNS + 1);
	if (is_rate) { /* it is shown for a second */
		assert_near("rate", line->column, line->mean,
			    s->amount[EVENTS_A][NR_CPUS] * 1e3 / LONG_MS);
		return;
	}
	assert_near("metric", line->column, line->mean,
		    s->amount[EVENTS_A][NR_CPUS] / s->amount[EVENTS_B][NR_CPUS]);
	counts_lines_shape(l, i, shape, NR_PARTS);
	for (size_t k = 0; k < NR_PARTS; k++)
		assert_near("metric", k, shape[k], s->part[EVENTS_A][k] / s->part[EVENTS_B][k]);
}

/* CPU after CPU, as samples come, or turn after turn, as a tally's do. */
static void check_lines(const struct turn *turns, bool is_by_cpu)
{
	static struct sums s;
	struct counts_lines *l = counts_lines_new(NR_COLUMNS, &line_metric_set, true, 0);
	const size_t nr = (size_t)NR_TURNS * NR_CPUS;

	assert_non_null(l);
	s = (struct sums){0};
	for (size_t i = 0; i < nr; i++) {
		size_t turn = is_by_cpu ? i % NR_TURNS : i / NR_CPUS;
		size_t cpu = is_by_cpu ? i / NR_TURNS : i % NR_CPUS;

		for (size_t c = 0; c < NR_COLUMNS; c++) {
			add_point(l, &turns[turn], c, cpu);
			sum_turn(&s, &turns[turn], c, cpu);
		}
	}
	assert_int_equal(counts_lines_end(l), 0);
	assert_int_equal(counts_lines_nr(l), NR_COLUMNS * (NR_CPUS + 1) + 2);
	assert_int_equal(counts_lines_span_ns(l), (uint64_t)LONG_MS * MS);
	for (size_t i = 0; i < counts_lines_nr(l); i++) {
		const struct counts_line *line = counts_lines_at(l, i);

		if (line->column >= NR_COLUMNS) {
			check_metric(l, i, &s);
			continue;
		}
		assert_int_equal(line->column, i / (NR_CPUS + 1));
		assert_int_equal(line->cpu + 1, i % (NR_CPUS + 1));
		check_line(l, i, &s);
	}
	counts_lines_free(l);
}

TEST(lines_of_random_points)
{
	static struct turn turns[NR_TURNS];

	make_turns(turns);
	check_lines(turns, true);
	check_lines(turns, false);
}

/* "name cpu thing: min mean max", a line each, or why there is none. */
static void show_lines(bool each_cpu, struct buf *b)
{
	static const struct profile_filter all;
	struct counts_lines *l = counts_lines_new(NR_EVENTS, &metric_set, each_cpu, 0);
	struct profile_session *s;
	struct counts_series_config config = {.metrics = &metric_set,
					      .filter = &all,
					      .slice_ns = MS,
					      .from_sample_to_sample = true,
					      .point = counts_lines_add,
					      .arg = l};

	assert_int_equal(open_session(&s), 0);
	config.session = s;
	assert_int_equal(counts_series(&config, NULL), 0);
	assert_int_equal(counts_lines_end(l), 0);
	for (size_t i = 0; i < counts_lines_nr(l); i++) {
		const struct counts_line *line = counts_lines_at(l, i);

		buf_printf(b, "%s%s%s", line->of.name, line->is_samples ? "#" : "",
			   line->of.metric ? line->unit.per : "");
		if (line->cpu != COUNTS_NO_CPU)
			buf_printf(b, " cpu%u", line->cpu);
		if (line->thing)
			buf_printf(b, " %s", line->thing);
		if (line->has_number)
			buf_printf(b, ": %.6g %.6g %.6g", line->min, line->mean, line->max);
		else
			buf_printf(b, ": %s", cell_state_name(line->quality.state));
		if (line->quality.running < 1)
			buf_printf(b, " ran %.3f", line->quality.running);
		buf_addc(b, '\n');
	}
	counts_lines_free(l);
	profile_session_close(s);
}

/* By hand. */
static const char sampled_lines[] = "clock: 0.000833333 0.0055 0.01 ran 0.053\n"
				    "faults: 0 3150 7250 ran 0.053\n"
				    "user: 50 53.3333 60\n"
				    "memory: 8 13.3333 20\n"
				    "disk: 7000 19250 50000\n"
				    "disk sda: 0 17500 50000\n"
				    "disk came: 7000 7000 7000\n"
				    "energy: 250 250 250\n"
				    "not: no permission\n"
				    "boxes: 3000 3500 3666.67\n"
				    "quotient: 0 0.0572727 0.58 ran 0.053\n"
				    "paces/s: 33.3333 66.875 145\n"
				    "scopes: 400 700 1000\n";
static const char tally_lines[] = "faults: 4000 7000 10000 ran 0.500\n"
				  "faults cpu3: 2000 6000 10000\n"
				  "faults cpu4: 2000 2000 2000 ran 0.500\n"
				  "user: 0 25 37.5\n"
				  "user cpu3: 25 25 25\n"
				  "user cpu4: 0 25 50\n"
				  "memory: 28 30 32\n"
				  "disk: 0 27500 55000\n"
				  "disk sda: 0 25000 50000\n"
				  "disk came: 5000 5000 5000\n"
				  "not: no permission\n"
				  "not cpu3: no permission\n"
				  "not cpu4: no permission\n"
				  "quotient: n/a\n"
				  "quotient cpu3: n/a\n"
				  "quotient cpu4: n/a\n"
				  "paces/s: 106.667 106.667 106.667 ran 0.500\n"
				  "paces/s cpu3: 80 80 80\n"
				  "paces/s cpu4: 40 40 40 ran 0.500\n"
				  "scopes: 0 750 1050\n";

TEST(lines_of_a_session)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	make_sampled();
	show_lines(false, &b);
	remove_session();
	assert_string_equal(buf_str(&b), sampled_lines);
	buf_reset(&b);
	make_tally();
	show_lines(true, &b);
	remove_session();
	assert_string_equal(buf_str(&b), tally_lines);
	buf_fini(&b);
}

/* A CPU's metric is not made of what was counted on any CPU. */
TEST(lines_of_a_target)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	make_target(false);
	show_lines(true, &b);
	remove_session();
	assert_string_equal(buf_str(&b), "faults: 2000 2000 2000\n"
					 "user: 25 25 25\n"
					 "user cpu3: 25 25 25\n"
					 "quotient: n/a\n"
					 "paces/s: 80 80 80\n"
					 "paces cpu3: n/a\n"
					 "scopes: n/a\n");
	buf_fini(&b);
}

static void add_count(struct counts_lines *l, uint32_t cpu, uint64_t span_ns, uint64_t count,
		      uint64_t weight)
{
	static const struct table_column column = {
	    .name = "a", .unit = "", .kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU, .scale = 3};
	const struct cell cell = {.state = CELL_OK,
				  .count = count,
				  .value = (double)count,
				  .raw = count,
				  .span_ns = span_ns};
	const struct counts_series_point p = {.of = &column,
					      .is_samples = weight != 0,
					      .trace = cpu,
					      .cpu = cpu,
					      .origin_ns = ORIGIN,
					      .start_ns = ORIGIN,
					      .end_ns = ORIGIN + span_ns,
					      .cell = &cell,
					      .weight = weight};

	assert_int_equal(counts_lines_add(l, &p), 0);
}

/* Where one has been seen for a moment only, it does not count for all of the others' time; what
 * samples stand for is scaled. */
TEST(lines_of_unlike_cpus)
{
	for (int is_samples = 0; is_samples < 2; is_samples++) {
		struct counts_lines *l = counts_lines_new(1, &(struct metric_set){0}, true, 0);
		const struct counts_line *line;

		assert_non_null(l);
		add_count(l, 0, MS / 100, 2, is_samples ? 4 : 0);
		add_count(l, 1, MS, 1000, is_samples ? 2000 : 0);
		assert_int_equal(counts_lines_end(l), 0);
		line = counts_lines_at(l, 0);
		assert_int_equal(line->is_samples, is_samples);
		assert_near("mean", 0, line->mean, is_samples ? 2004 * 3 * 1e3 : 1002 * 1e3);
		assert_near("max", 0, line->max, line->mean);
		counts_lines_free(l);
	}
}

/* Of counts and samples of an event, those with more points are shown; as many samples are coarser.
 * Points without a sample do not count. */
TEST(lines_of_counts_and_samples)
{
	for (int nr_samples = 2; nr_samples < 4; nr_samples++) {
		struct counts_lines *l = counts_lines_new(1, &(struct metric_set){0}, false, 0);

		assert_non_null(l);
		for (int i = 0; i < 2; i++)
			add_count(l, 0, MS, 10, 0);
		for (int i = 0; i < nr_samples; i++)
			add_count(l, 0, MS, 1, 10);
		add_count(l, 0, MS, 0, 1);
		assert_int_equal(counts_lines_end(l), 0);
		assert_int_equal(counts_lines_nr(l), 1);
		assert_int_equal(counts_lines_at(l, 0)->is_samples, nr_samples > 2);
		counts_lines_free(l);
	}
}

/* The time of the points, which may begin before the session's start, is the time that is shown. */
TEST(lines_of_a_part_of_the_time)
{
	static const struct {
		uint64_t start_ns, start_shown_ns;
	} cases[] = {{ORIGIN - MS, 0}, {ORIGIN + 5 * MS, 5 * MS}};

	for (size_t i = 0; i < NR(cases); i++) {
		struct counts_lines *l =
		    counts_lines_new(NR_COLUMNS, &(struct metric_set){0}, false, 0);
		struct turn turn = {cases[i].start_ns, cases[i].start_ns + 2 * MS, {{2}}, {{0}}};
		double shape;

		assert_non_null(l);
		add_point(l, &turn, EVENTS_A, 0);
		turn.start_ns = turn.end_ns;
		turn.end_ns += MS / 2;
		turn.raw[EVENTS_A][0] = 103;
		add_point(l, &turn, EVENTS_A, 0);
		assert_int_equal(counts_lines_end(l), 0);
		assert_int_equal(counts_lines_start_ns(l), cases[i].start_shown_ns);
		assert_int_equal(counts_lines_span_ns(l), 2 * MS + MS / 2);
		assert_near("mean", 0, counts_lines_at(l, 0)->mean, 105 / 0.0025);
		counts_lines_shape(l, 0, &shape, 1);
		assert_near("shape", 0, shape, 105 / 0.0025);
		counts_lines_free(l);
	}
}

/* What a process, and all of them, can use on the machine that was measured. */
TEST(limit_of_lines)
{
	const struct cell cell = {.state = CELL_OK, .value = 5 * MS, .raw = 5 * MS, .span_ns = MS};
	const struct table_column columns[] = {
	    {.name = "process_cpu_time", .unit = "ns", .kind = EVENT_COUNT},
	    {.name = "page_faults", .unit = "", .kind = EVENT_COUNT}};
	const struct table_thing thing = {.name = "x", .cell = cell};
	struct counts_lines *l = counts_lines_new(2, &(struct metric_set){0}, false, 3);

	assert_non_null(l);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(
		    counts_lines_add(l, &(struct counts_series_point){.column = i / 2,
								      .of = &columns[i / 2],
								      .thing = i ? NULL : &thing,
								      .cpu = COUNTS_NO_CPU,
								      .origin_ns = ORIGIN,
								      .start_ns = ORIGIN,
								      .end_ns = ORIGIN + MS,
								      .cell = &cell}),
		    0);
	assert_int_equal(counts_lines_end(l), 0);
	assert_int_equal(counts_lines_nr(l), 3);
	assert_float_equal(counts_lines_at(l, 0)->limit, 300, 1e-9);
	assert_float_equal(counts_lines_at(l, 0)->max, 500, 1e-9);
	assert_float_equal(counts_lines_at(l, 1)->limit, 300, 1e-9);
	assert_true(isnan(counts_lines_at(l, 2)->limit));
	counts_lines_free(l);
}

/* More things than there are lines for are counted; the machine's own lines have room. */
TEST(too_many_lines)
{
	struct counts_lines *l = counts_lines_new(NR_EVENTS, &metric_set, false, 0);
	const struct cell cell = {
	    .state = CELL_OK, .count = 1, .value = 1, .raw = 1, .span_ns = MS};
	const struct table_column column = {.name = "disk", .unit = "", .kind = EVENT_COUNT};
	struct table_thing thing = {.name = "x", .cell = cell};
	struct counts_series_point p = {.of = &column,
					.thing = &thing,
					.cpu = COUNTS_NO_CPU,
					.origin_ns = ORIGIN,
					.start_ns = ORIGIN,
					.end_ns = ORIGIN + MS,
					.cell = &cell};

	assert_non_null(l);
	for (uint32_t i = 0; i < COUNTS_MAX_LINES + 3; i++) {
		thing.number = i;
		assert_int_equal(counts_lines_add(l, &p), 0);
	}
	p.thing = NULL;
	p.end_ns = UINT64_MAX; /* a time that is a lie ends too */
	assert_int_equal(counts_lines_add(l, &p), 0);
	assert_int_equal(counts_lines_end(l), 0);
	assert_int_equal(counts_lines_nr_skipped(l), 3);
	assert_int_equal(counts_lines_nr(l), COUNTS_MAX_LINES + 1 + metric_set.nr);
	assert_null(counts_lines_at(l, 0)->thing);
	counts_lines_free(l);
}

/* --- formulas -------------------------------------------------------------------------------- */

enum { INSTRUCTIONS, CYCLES, MISSES, USER_BRANCHES, USER_WRONG, NR_CPU_EVENTS };
static const struct trace_event cpu_events[NR_CPU_EVENTS] = {
    [INSTRUCTIONS] = {.group = "fixed", .name = "instructions_retired", .flags = 3},
    [CYCLES] = {.group = "arch", .name = "unhalted_core_cycles"},
    [MISSES] = {.group = "arch", .name = "llc_misses", .state = READING_LIMIT, .reason = "full"},
    [USER_BRANCHES] = {.group = "arch", .name = "branch_instructions_retired", .flags = 2},
    [USER_WRONG] = {.group = "arch", .name = "branch_misses_retired", .flags = 2},
};

static void write_cpu(uint32_t iteration, uint32_t trace, const uint64_t counts[NR_CPU_EVENTS],
		      uint64_t run_ms)
{
	struct trace_writer *w = begin(iteration, trace);
	char name[64];

	for (uint32_t i = 0; i < NR_CPU_EVENTS; i++) {
		struct reading a = perf_reading(i, 0, 0, 0, 0),
			       b = perf_reading(i, 10, counts[i], 10, run_ms);

		if (i == MISSES || counts[i] == UINT64_MAX)
			continue;
		trace_writer_readings(w, TRACE_START, &a, 1);
		trace_writer_readings(w, TRACE_END, &b, 1);
	}
	snprintf(name, sizeof(name), "s.%u.%u.cpuperf", iteration, trace);
	end(w, name, iteration * 10, iteration * 10 + 10);
}

static void make_formulas(void)
{
	static struct trace_event made[NR_CPU_EVENTS];

	for (size_t i = 0; i < NR_CPU_EVENTS; i++) {
		made[i] = cpu_events[i];
		made[i].kind = EVENT_COUNT;
		made[i].scope = EVENT_SCOPE_CPU;
		made[i].label = made[i].unit = "";
		made[i].state = made[i].state ? made[i].state : READING_OK;
	}
	session_events = made;
	nr_session_events = NR_CPU_EVENTS;
	open_folder();
	write_cpu(0, 0, (const uint64_t[]){100, 200, 0, 50, 10}, 10);
	write_cpu(0, 1, (const uint64_t[]){300, 200, 0, 50, 0}, 10);
	write_cpu(1, 0, (const uint64_t[]){100, 100, 0, 20, 1}, 5); /* twice that, by estimate */
	write_cpu(1, 1, (const uint64_t[]){400, 100, 0, 60, 7}, 10);
}

/* "name part = value, mean ± deviation, running, hint", a line each. */
static void show_formulas(const struct profile_filter *filter, struct buf *b)
{
	struct counts_topdown *t;
	struct profile_session *s;

	assert_int_equal(open_session(&s), 0);
	assert_int_equal(counts_topdown_read(s, filter, &t, NULL), 0);
	for (size_t i = 0; i < counts_topdown_nr(t); i++) {
		const struct counts_topdown_value *v = counts_topdown_at(t, i);

		buf_printf(b, "%s%s%s", v->row->name, *v->part ? " " : "", v->part);
		if (cell_has_value(&v->total))
			buf_printf(b, " = %.6g, %.6g ± %.6g, %g", v->total.value, v->spread.mean,
				   spread_deviation(&v->spread), v->running);
		else
			buf_printf(b, " %s: %s", cell_state_name(v->total.state), v->of.reason);
		buf_printf(b, "%s%s\n", v->hint ? ", " : "",
			   v->hint ? screen_limit_name(v->total.limit) : "");
	}
	counts_topdown_free(t);
	profile_session_close(s);
}

TEST(formulas)
{
	static const struct profile_filter all;
	const struct profile_filter some = {.cpus = {{{3, 3}}, 1}, .iterations = {{{0, 0}}, 1}};
	struct buf b;

	buf_init(&b, MAX_BYTES);
	make_formulas();
	show_formulas(&all, &b);
	assert_string_equal(buf_str(&b),
			    /* 400/400 and 600/300; together 1000/700; it ran 15 ms of 20 */
			    "ipc = 1.42857, 1.5 ± 0.707107, 0.75\n"
			    "mispredicted user = 9.5, 9.5 ± 0.707107, 0.75, high\n"
			    "llc_misses n/a: full\n");
	buf_reset(&b);
	show_formulas(&some, &b);
	assert_string_equal(buf_str(&b), "ipc = 0.5, 0.5 ± 0, 1, low\n"
					 "mispredicted user = 20, 20 ± 0, 1, high\n"
					 "llc_misses n/a: full\n");
	/* One that was cut counts in the total, but is no iteration like the others. */
	is_cut = true;
	write_cpu(2, 0, (const uint64_t[]){700, 100, 0, 20, 1}, 10);
	write_cpu(2, 1, (const uint64_t[]){0, 200, 0, 20, 1}, 10);
	is_cut = false;
	buf_reset(&b);
	show_formulas(&all, &b);
	assert_non_null(strstr(buf_str(&b), "ipc = 1.7, 1.5 ± 0.707107, 0.75\n"));
	assert_int_equal(unlinkat(folder_fd, "s.2.0.cpuperf", 0), 0);
	assert_int_equal(unlinkat(folder_fd, "s.2.1.cpuperf", 0), 0);
	/* Where a CPU's number is not there, iterations are not added up. */
	write_cpu(1, 1, (const uint64_t[]){400, UINT64_MAX, 0, 60, 7}, 10);
	buf_reset(&b);
	show_formulas(&all, &b);
	assert_non_null(strstr(buf_str(&b), "ipc = 1, 1 ± 0, 0.5\n"));
	remove_session();
	buf_fini(&b);
}

/* Each of the table can be read, and asks for what the spec that it names measures. */
TEST(table_of_formulas)
{
	struct arena arena;

	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < counts_formula_nr_rows(); i++) {
		const struct counts_formula_row *row = counts_formula_row(i);
		char path[512];
		struct expr x;
		size_t offset;

		assert_int_equal(expr_parse(row->expr, &arena, &x, &offset, NULL), 0);
		assert_true(!row->low == !row->low_hint && !row->high == !row->high_hint);
		if (!row->spec)
			continue;
		snprintf(path, sizeof(path), "%s/specs/%s.cpspec", SOURCE_DIR, row->spec);
		assert_int_equal(access(path, R_OK), 0);
	}
	arena_fini(&arena);
}

/* --- hostile files --------------------------------------------------------------------------- */

/* Small, near the origin, or anything. */
static uint64_t any_number(uint64_t *seed)
{
	uint64_t n = synthetic_next(seed);

	switch (n % 8) {
	case 0:
		return synthetic_next(seed);
	case 1:
		return UINT64_MAX - n / 8 % 3;
	case 2:
		return 0;
	case 3:
	case 4:
		return n / 8 % 100;
	default:
		return ORIGIN + n / 8 % (100 * MS);
	}
}

static void add_any_readings(struct trace_writer *w, uint64_t *seed)
{
	struct reading any[8];

	for (size_t i = 0; i < NR(any); i++)
		any[i] = (struct reading){
		    .event = (uint32_t)(synthetic_next(seed) % (NR_EVENTS + 1)),
		    .instance = synthetic_next(seed) % 2 ? 0 : (uint32_t)any_number(seed),
		    .state = synthetic_next(seed) % 4 ? READING_OK : (uint32_t)any_number(seed) % 9,
		    .time_ns = any_number(seed),
		    .raw = any_number(seed),
		    .enabled_ns = any_number(seed),
		    .running_ns = any_number(seed),
		    .base = any_number(seed)};
	trace_writer_readings(w, synthetic_next(seed) % 5 ? TRACE_TICK : TRACE_START, any, NR(any));
	if (synthetic_next(seed) % 3 == 0)
		trace_writer_readings(w, TRACE_END, any, NR(any));
}

static void add_any_samples(struct trace_writer *w, uint64_t *seed)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	for (int i = 0; i < 6; i++) {
		size_t at = record_begin(&b, PERF_RECORD_SAMPLE, 0);

		buf_le64(&b, 100 + synthetic_next(seed) % 3);
		record_id(&b, 1, 1, any_number(seed));
		buf_le64(&b, 2 + synthetic_next(seed) % 2);
		for (int k = 0; k < 5; k++)
			buf_le64(&b, any_number(seed));
		record_end(&b, at);
	}
	trace_writer_records(w, TRACE_RING_SAMPLES, 3, b.data, b.len);
	buf_fini(&b);
}

static void write_any(uint64_t *seed, uint32_t iteration, uint32_t trace)
{
	static const struct trace_id ids[] = {{.id = 100, .event = CLOCK},
					      {.id = 101, .event = FAULTS, .instance = 999}};
	const struct trace_totals totals = {.start_ns = any_number(seed),
					    .end_ns = any_number(seed)};
	struct trace_writer *w = begin(iteration, trace);
	struct err e = {0};
	char name[64];

	trace_writer_ids(w, ids, 2);
	for (int i = 0; i < 4; i++) {
		add_any_readings(w, seed);
		add_any_samples(w, seed);
	}
	add_names(w);
	snprintf(name, sizeof(name), "s.%u.%u.cpuperf", iteration, trace);
	if (trace_writer_commit(w, folder_fd, name, name, &totals, &e))
		fail_msg("%s: %s", name, e.msg);
	trace_writer_free(w);
}

struct checked {
	struct counts_lines *lines;
	size_t nr;
};

static int check_point(void *arg, const struct counts_series_point *p)
{
	struct checked *c = arg;
	double value;

	assert_true(p->start_ns <= p->end_ns);
	assert_true(p->cell->state != CELL_NONE);
	if (counts_series_value(p, &value))
		assert_true(isfinite(value));
	c->nr++;
	return counts_lines_add(c->lines, p);
}

static int count_point(void *arg, const struct counts_series_point *p)
{
	struct checked *c = arg;

	(void)p;
	c->nr++;
	return 0;
}

static void check_any_lines(const struct counts_lines *l)
{
	double shape[40];

	for (size_t i = 0; i < counts_lines_nr(l); i++) {
		const struct counts_line *line = counts_lines_at(l, i);

		counts_lines_shape(l, i, shape, NR(shape));
		if (line->has_number)
			assert_true(isfinite(line->min) && isfinite(line->mean) &&
				    isfinite(line->max) && line->min <= line->max);
	}
}

static void any_session(uint64_t seed, bool is_sampling)
{
	static const struct profile_filter all;
	struct checked c = {.lines = counts_lines_new(NR_EVENTS, &metric_set, true, 0)};
	struct counts_series_config config = {.metrics = &metric_set,
					      .filter = &all,
					      .slice_ns = 1 + synthetic_next(&seed) % MS,
					      .from_sample_to_sample = seed % 2,
					      .slices = counts_slices_new(),
					      .point = check_point,
					      .arg = &c};
	struct profile_session *s;
	struct counts_topdown *t;
	size_t nr;

	set_events(is_sampling);
	open_folder();
	for (uint32_t i = 0; i < 4; i++)
		write_any(&seed, i / 2, i % 2);
	assert_int_equal(open_session(&s), 0);
	config.session = s;
	assert_int_equal(counts_series(&config, NULL), 0);
	assert_true(c.nr > 0 && c.nr < 5000);
	nr = c.nr;
	config.point = count_point;
	assert_int_equal(counts_series(&config, NULL), 0);
	assert_int_equal(c.nr, 2 * nr);
	assert_int_equal(counts_lines_end(c.lines), 0);
	check_any_lines(c.lines);
	assert_int_equal(counts_topdown_read(s, &all, &t, NULL), 0);
	counts_topdown_free(t);
	counts_lines_free(c.lines);
	counts_slices_free(config.slices);
	profile_session_close(s);
	remove_session();
}

TEST(any_sessions)
{
	for (uint64_t seed = 0; seed < 100; seed++)
		any_session(seed, seed % 4 != 0);
}

static int read_all(void *arg)
{
	static const struct profile_filter all;
	struct counts_lines *l = counts_lines_new(NR_EVENTS, &metric_set, true, 0);
	struct counts_series_config config = {.metrics = &metric_set,
					      .filter = &all,
					      .slice_ns = MS,
					      .slices = counts_slices_new(),
					      .point = counts_lines_add,
					      .arg = l};
	struct profile_session *s = NULL;
	struct counts_topdown *t;
	int rc = l ? open_session(&s) : -ENOMEM;

	(void)arg;
	config.session = s;
	if (rc == 0)
		rc = counts_series(&config, NULL);
	if (rc == 0)
		rc = counts_lines_end(l);
	if (rc == 0)
		rc = counts_topdown_read(s, &all, &t, NULL);
	if (rc == 0)
		counts_topdown_free(t);
	counts_lines_free(l);
	counts_slices_free(config.slices);
	profile_session_close(s);
	return rc;
}

TEST(everything_fails_once)
{
	make_sampled();
	inject_every(read_all, NULL, 40, 15);
	remove_session();
}
