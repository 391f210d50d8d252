/*
 * What the session's tests share: a spec resolved for a machine of eight CPUs whose perf calls are
 * fake_pmu.h's, a folder for the files, and a tape of what on_iteration was given.
 */
#ifndef TEST_SESSION_H
#define TEST_SESSION_H

#include "kit.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "collect/collect.h"
#include "fake_pmu.h"
#include "session/session.h"
#include "spec/cpsession.h"
#include "trace/reader.h"

#include <dirent.h>

#include <fnmatch.h>

enum { MAX_CPUS = 4, MAX_EVENTS = 16, MAX_NOTES = 8 };

/* Events that the tests ask for, as the spec spells them. */
#define EV(group, name) "{\"group_name\":\"" group "\",\"event_name\":\"" name "\"},"
#define SOFTWARE_1      EV("software", "cpu_clock")
#define SOFTWARE_2      SOFTWARE_1 EV("software", "page_faults")
#define SOFTWARE_3      SOFTWARE_2 EV("software", "context_switches")
#define HARDWARE_3                                                                                 \
	EV("fixed", "instructions_retired")                                                        \
	EV("arch", "llc_misses") EV("arch", "llc_references")
#define HARDWARE_6                                                                                 \
	HARDWARE_3 EV("fixed", "unhalted_core_cycles") EV("arch", "branch_instructions_retired")   \
	    EV("arch", "branch_misses_retired")
#define MISC EV("misc", "cpu_user") EV("misc", "context_switches")

struct rig {
	struct root folder; /* for files; removed at the end */
	struct spec spec;
	struct host host;
	struct plan plan;
};

/* An event of three parts, as one of memory boxes has: everywhere, on CPU 0, on CPU 3. */
static const struct cpuset rig_cpu_0 = {{1u << 0}}, rig_cpu_3 = {{1u << 3}};
static const struct event_part rig_boxes[] = {
    {.pmu = "box_0", .type = 1, .config = 0},
    {.pmu = "box_1", .type = 1, .config = 2, .cpus = &rig_cpu_0},
    {.pmu = "box_2", .type = 1, .config = 3, .cpus = &rig_cpu_3},
};
/* Shares, as of a GPU's engines: of the time in which it ran, and of what the second part counts.
 */
static const struct event_part rig_busy[] = {
    {.pmu = "gpu", .type = 1, .config = 4, .cpus = &rig_cpu_3}};
static const struct event_part rig_engine[] = {
    {.pmu = "gpu", .type = 1, .config = 5, .cpus = &rig_cpu_3},
    {.pmu = "gpu", .type = 1, .config = 6, .cpus = &rig_cpu_3},
};
#define RIG_BOX(name_, number_, kind_, parts_, nr_parts_)                                          \
	{                                                                                          \
		.name = name_, .number = number_, .kind = kind_, .scope = EVENT_SCOPE_PACKAGE,     \
		.unit = "events", .source = name_, .description = "Boxes.", .parts = parts_,       \
		.nr_parts = nr_parts_                                                              \
	}
static const struct event_row rig_box_rows[] = {RIG_BOX("boxes", 1, EVENT_COUNT, rig_boxes, 3),
						RIG_BOX("busy", 2, EVENT_SHARE, rig_busy, 1),
						RIG_BOX("engine", 3, EVENT_SHARE, rig_engine, 2)};
static const struct event_group rig_box_group = {
    .name = "box", .id = EVENT_GROUP_MISC, .rows = rig_box_rows, .nr_rows = 3};

static const struct event_group *const rig_groups[] = {
    &event_arch_group,  &event_fixed_group,  &collect_misc_group, &event_software_group,
    &collect_gpu_group, &rig_box_group,      &event_heap_group,   &event_resource_group,
    &event_sched_group, &event_latency_group};
static const struct catalogue rig_catalogue = {rig_groups, ARRAY_NR(rig_groups)};

/* Makes the plan for CPUs 0 … nr_cpus - 1; for tests of failures it can be called by itself. */
static inline int rig_plan(struct rig *r, unsigned nr_cpus, struct err_list *errs)
{
	cpuset_clear(&r->host.online);
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		cpuset_add(&r->host.online, cpu);
	return plan_make(&r->spec, &rig_catalogue, &r->host, &r->plan, errs);
}

/* keys: further keys of the spec, each with a comma behind it. No files but in r->folder. */
static inline void rig_init(struct rig *r, unsigned nr_cpus, const char *keys, const char *events)
{
	static struct err_list errs;
	char text[8192];
	int len;

	fake_reset();
	errs = (struct err_list){0};
	*r = (struct rig){.folder = tree_make()};
	len = snprintf(text, sizeof(text), "{%s\"events\":[%s]}", keys, events);
	spec_init(&r->spec);
	if (spec_parse(text, (size_t)len, "spec", &r->spec, &errs))
		fail_msg("%s", errs.item[0].msg);
	r->spec.duration_ns = 0;
	r->spec.sync_period_ns = 0; /* thousands of sessions: test_session_sync.c has the disk */
	r->spec.output_path_prefix = r->spec.session_result_spec_path = "";
	assert_int_equal(host_load(&root_live, &r->host, NULL), 0);
	if (rig_plan(r, nr_cpus, &errs))
		fail_msg("%s", errs.item[0].msg);
}

static inline void rig_fini(struct rig *r)
{
	plan_fini(&r->plan);
	host_fini(&r->host);
	spec_fini(&r->spec);
	tree_remove(&r->folder);
	assert_int_equal(fake.nr_live, 0);
	assert_int_equal(fake.nr_rings, 0);
	assert_int_equal(fake.nr_wrong, 0);
	assert_int_equal(fake.nr_orphans, 0);
}

/* A path in the folder, owned by the spec. */
static inline const char *rig_path(struct rig *r, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", r->folder.dir, name);
	return arena_strdup(&r->spec.arena, path);
}

/* The session writes its files into the folder. */
static inline void rig_with_files(struct rig *r)
{
	r->spec.output_path_prefix = rig_path(r, "t");
	r->spec.session_result_spec_path = rig_path(r, "s.cpsession");
}

/* A /proc and /sys of our own, in the folder. */
static inline void rig_with_proc(struct rig *r)
{
	r->host.root = r->folder;
	tree_put(&r->folder, "/sys/devices/system/cpu/possible", "0-7\n", 4);
}

static inline void rig_put_stat(struct rig *r, const char *text)
{
	tree_put(&r->folder, "/proc/stat", text, strlen(text));
}

/* What on_iteration saw. */
struct tape {
	struct session *session;
	size_t nr_events;
	uint32_t nr_iterations, nr_cpus;
	uint64_t duration_ns;
	struct {
		uint64_t start_ns, end_ns;
		bool is_cut;
		unsigned target_flags;
		struct reading start[MAX_CPUS][MAX_EVENTS], end[MAX_CPUS][MAX_EVENTS];
	} it[8]; /* the first ones */
	struct reading first[MAX_CPUS][MAX_EVENTS], last[MAX_CPUS][MAX_EVENTS];
	uint64_t sum[MAX_CPUS][MAX_EVENTS]; /* of raw differences */
	uint64_t end_ns[1024];
	unsigned nr_long; /* iterations that were late by 25 ms and a quarter, or twice as long */
	unsigned nr_held; /* notes that say so */
	unsigned nr_gaps; /* starts that are not the end before */
	unsigned nr_notes;
	char notes[MAX_NOTES][4096];
	/* what to do: called with the iteration's number; its result is on_iteration's */
	int (*each)(struct tape *t, uint32_t iteration);
	void (*on_target)(void *tape, struct trace_target *out);
	void *arg;
	bool is_strict;
	uint64_t samples[8][MAX_CPUS], weight[8][MAX_CPUS], lost[8][MAX_CPUS]; /* over the events */
	uint64_t most_lost[8][MAX_CPUS];                                       /* of an event */
	uint64_t ticks[8];
};

static inline void tape_readings(struct tape *t, const struct session_iteration *it, uint32_t cpu)
{
	const struct session_trace *trace = &it->traces[cpu];
	size_t bytes = t->nr_events * sizeof(struct reading);

	assert_int_equal(trace->cpu, cpu); /* a rig has the CPUs 0 to nr_cpus - 1 */
	if (it->iteration < 8) {
		memcpy(t->it[it->iteration].start[cpu], trace->start, bytes);
		memcpy(t->it[it->iteration].end[cpu], trace->end, bytes);
	}
	if (it->iteration == 0)
		memcpy(t->first[cpu], trace->start, bytes);
	else if (memcmp(t->last[cpu], trace->start, bytes) != 0)
		t->nr_gaps++;
	memcpy(t->last[cpu], trace->end, bytes);
	for (size_t i = 0; i < t->nr_events; i++)
		t->sum[cpu][i] += trace->end[i].raw - trace->start[i].raw;
}

static inline void tape_sampling(struct tape *t, uint32_t iteration, uint32_t cpu,
				 const struct trace_sampling *s)
{
	if (!s || iteration >= 8)
		return;
	t->lost[iteration][cpu] = s->lost;
	t->ticks[iteration] = s->ticks;
	for (size_t i = 0; i < s->nr; i++) {
		t->samples[iteration][cpu] += s->item[i].samples;
		t->weight[iteration][cpu] += s->item[i].weight;
		if (s->item[i].lost > t->most_lost[iteration][cpu])
			t->most_lost[iteration][cpu] = s->item[i].lost;
	}
}

static inline bool tape_is_long(uint64_t duration_ns, uint64_t span_ns)
{
	return duration_ns &&
	       (span_ns >= 2 * duration_ns ||
		(span_ns >= duration_ns + 25000000 && span_ns >= duration_ns + duration_ns / 4));
}

static inline int tape_iteration(const struct session_iteration *it, void *arg)
{
	struct tape *t = arg;

	assert_int_equal(it->iteration, t->nr_iterations++);
	assert_int_equal(it->nr_traces, t->nr_cpus);
	assert_true(it->clocks.monotonic_ns >= it->end_ns && it->end_ns >= it->start_ns);
	if (it->iteration < 8) {
		t->it[it->iteration].start_ns = it->start_ns;
		t->it[it->iteration].end_ns = it->end_ns;
		t->it[it->iteration].is_cut = it->is_cut;
		t->it[it->iteration].target_flags = it->target ? it->target->flags : 0;
	}
	if (it->iteration < 1024)
		t->end_ns[it->iteration] = it->end_ns;
	t->nr_long += tape_is_long(t->duration_ns, it->end_ns - it->start_ns);
	for (uint32_t cpu = 0; cpu < it->nr_traces; cpu++) {
		tape_readings(t, it, cpu);
		tape_sampling(t, it->iteration, cpu, it->traces[cpu].sampling);
	}
	return t->each ? t->each(t, it->iteration) : 0;
}

/* How many of so many notes of a kind are passed on. */
static inline unsigned tape_nr_passed_on(unsigned nr)
{
	unsigned passed = 0;

	for (unsigned i = 1; i <= nr; i++)
		passed += i <= 3 || !(i & (i - 1));
	return passed;
}

/* That the process was held up, or a sync, may be so on a busy machine: told apart from other
 * notes. */
static inline void tape_note(const char *text, bool is_essential, void *arg)
{
	struct tape *t = arg;

	(void)is_essential;
	if (fnmatch("the disk is slow: *", text, 0) == 0)
		return;
	if (fnmatch("iteration * was held up: it took * ms instead of *", text, 0) == 0) {
		t->nr_held++;
		return;
	}
	if (t->nr_notes < MAX_NOTES)
		snprintf(t->notes[t->nr_notes], sizeof(t->notes[0]), "%s", text);
	t->nr_notes++;
}

/* A note, by a glob. */
static inline void assert_note(const struct tape *t, unsigned which, const char *pattern)
{
	assert_true(which < t->nr_notes);
	if (fnmatch(pattern, t->notes[which], 0))
		fail_msg("\"%s\" is not \"%s\"", t->notes[which], pattern);
}

/* The same, of any of them: the survey's comes when it will. */
static inline void assert_some_note(const struct tape *t, const char *pattern)
{
	for (unsigned i = 0; i < t->nr_notes && i < MAX_NOTES; i++)
		if (fnmatch(pattern, t->notes[i], 0) == 0)
			return;
	fail_msg("no note is \"%s\"", pattern);
}

static inline int tape_open(struct tape *t, const struct rig *r, struct err *e)
{
	struct session_config config = {.plan = (struct plan *)&r->plan,
					.pmu = &fake_ops,
					.tool = "test",
					.on_iteration = tape_iteration,
					.on_note = tape_note,
					.on_target = t->on_target,
					.is_strict = t->is_strict,
					.arg = t};

	t->nr_events = r->plan.nr_events;
	t->nr_cpus = r->plan.nr_cpus;
	t->duration_ns = r->plan.spec->duration_ns;
	return session_open(&config, &t->session, e);
}

static inline void tape_close(struct tape *t)
{
	session_close(t->session);
	t->session = NULL;
}

/* Opens, runs and closes; session_run's result. */
static inline int tape_run(struct tape *t, const struct rig *r, struct err *e)
{
	int rc = tape_open(t, r, e);

	if (rc == 0)
		rc = session_run(t->session, e);
	if (rc == 0 && t->session)
		assert_int_equal(session_nr_done(t->session), t->nr_iterations);
	tape_close(t);
	return rc;
}

static inline void assert_run(struct tape *t, const struct rig *r)
{
	struct err e = {0};

	if (tape_run(t, r, &e))
		fail_msg("%s", e.msg);
}

/* What is in the folder after a session. */
struct leavings {
	unsigned nr_traces, nr_strays; /* strays: locks, temporary files, what is none of ours */
	uint64_t num_iterations;       /* of the manifest; 0: there is none */
};

/* Set where a session that sampled has failed: its traces end where it did. */
static bool traces_may_be_cut;

/* Every trace must be whole; the number of its notes. */
static inline unsigned check_trace(int dirfd, const char *name)
{
	struct trace_reader *r = NULL;
	struct trace_frame frame;
	struct err e = {0};
	unsigned nr_notes = 0;
	int rc = trace_reader_open(dirfd, name, &r, &e);

	while (rc == 0 && (rc = trace_reader_next(r, &frame, &e)) == 1) {
		nr_notes += frame.kind == TRACE_FRAME_NOTE;
		rc = 0;
	}
	if (rc || (!trace_reader_is_whole(r) && !traces_may_be_cut))
		fail_msg("%s: not whole: %s", name, e.msg);
	trace_reader_close(r);
	return nr_notes;
}

static inline uint64_t check_manifest(const struct rig *r, const char *name)
{
	static struct err_list errs;
	struct cpsession s;
	char path[512];
	uint64_t n;

	snprintf(path, sizeof(path), "%s/%s", r->folder.dir, name);
	cpsession_init(&s);
	if (cpsession_load(path, &s, &errs))
		fail_msg("%s", errs.item[0].msg);
	assert_int_equal(s.num_traces, r->plan.nr_cpus);
	n = s.num_iterations;
	cpsession_fini(&s);
	return n;
}

static inline struct leavings check_files(const struct rig *r)
{
	struct leavings l = {0};
	DIR *d = opendir(r->folder.dir);

	assert_non_null(d);
	for (struct dirent *f; (f = readdir(d));) {
		if (fnmatch("t.*.cpuperf", f->d_name, 0) == 0) {
			check_trace(dirfd(d), f->d_name);
			l.nr_traces++;
		} else if (strcmp(f->d_name, "s.cpsession") == 0) {
			l.num_iterations = check_manifest(r, f->d_name);
		} else if (f->d_type == DT_REG) {
			l.nr_strays++;
		}
	}
	closedir(d);
	return l;
}

static inline void assert_files(const struct rig *r, unsigned nr_traces, uint64_t num_iterations)
{
	struct leavings l = check_files(r);

	assert_int_equal(l.nr_traces, nr_traces);
	assert_int_equal(l.num_iterations, num_iterations);
	assert_int_equal(l.nr_strays, 0);
}

static inline size_t event_index(const struct rig *r, const char *name)
{
	for (size_t i = 0; i < r->plan.nr_events; i++)
		if (strcmp(r->plan.events[i].event.row->name, name) == 0)
			return i;
	fail_msg("no event %s", name);
	return 0;
}

#endif
