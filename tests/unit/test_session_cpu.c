/*
 * One measured CPU: what goes into which group, what is said of what does not open, groups that
 * never run, and a CPU that goes away and comes back.
 */
#include "kit.h"
#include "test_session.h"

#include "estimate/cell.h"
#include "session/cpu.h"

struct bench {
	struct rig rig;
	struct perf_event_attr *attrs[MAX_EVENTS];
	struct kernel_probe probe;
	struct session_cpu cpu;
};

static void bench_init(struct bench *b, const char *events)
{
	rig_init(&b->rig, 4, "", events);
	for (size_t k = 0; k < b->rig.plan.nr_parts; k++) {
		const struct plan_part *p = &b->rig.plan.parts[k];
		struct event_use use = {.flags = b->rig.plan.events[p->event].asked->flags};

		b->attrs[k] = event_attr_new(&p->part, &use);
	}
	b->probe = (struct kernel_probe){.plan = &b->rig.plan, .pmu = &fake_ops, .attrs = b->attrs};
	assert_int_equal(session_cpu_init(&b->cpu, &b->rig.plan, 3, 2), 0);
}

static void bench_fini(struct bench *b)
{
	session_cpu_fini(&b->cpu);
	for (size_t k = 0; k < b->rig.plan.nr_parts; k++)
		mem_free(b->attrs[k]);
	rig_fini(&b->rig);
}

/* Where the events went: "0 0 1 -" with capacity 4 for hardware events in one group. */
TEST(groups)
{
	static const struct {
		const char *events;
		unsigned capacity, nr_groups;
		const char *groups;
	} cases[] = {
	    {SOFTWARE_3, 4, 1, "000"},
	    {HARDWARE_3, 4, 1, "000"},
	    {HARDWARE_6, 4, 2, "000011"},
	    {HARDWARE_6, 2, 3, "001122"},
	    {HARDWARE_6, 1, 6, "012345"},
	    {SOFTWARE_2 HARDWARE_6, 4, 3, "00111122"},
	    {HARDWARE_3 SOFTWARE_1 EV("fixed", "unhalted_core_cycles"), 3, 3, "11102"},
	    {SOFTWARE_1 MISC HARDWARE_3, 9, 2, "0--111"},
	    {MISC, 4, 0, "--"},
	};
	struct reading readings[MAX_EVENTS];
	struct bench b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bench_init(&b, cases[i].events);
		fake.capacity = cases[i].capacity;
		assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
		assert_true(b.cpu.is_open);
		assert_int_equal(b.cpu.nr_groups, cases[i].nr_groups);
		for (size_t k = 0; k < b.cpu.plan->nr_events; k++)
			assert_int_equal(b.cpu.group_of[k],
					 cases[i].groups[k] == '-'
					     ? UINT32_MAX
					     : (uint32_t)cases[i].groups[k] - '0');
		session_cpu_enable(&b.cpu, false);
		assert_true(session_cpu_read(&b.cpu, readings));
		assert_int_equal(fake.nr_enables, cases[i].nr_groups);
		assert_int_equal(fake.nr_reads, cases[i].nr_groups); /* one call per group */
		for (size_t k = 0; k < b.cpu.plan->nr_events; k++) {
			assert_int_equal(readings[k].event, k);
			assert_int_equal(readings[k].state,
					 cases[i].groups[k] == '-' ? READING_NONE : READING_OK);
			assert_int_equal(readings[k].raw != 0, cases[i].groups[k] != '-');
		}
		bench_fini(&b);
	}
}

/* Each part of an event that is on this CPU has a reading of its own; if one cannot be opened, the
 * event has none. */
TEST(parts)
{
	struct reading r[MAX_EVENTS];
	struct cpuset on;
	struct bench b;

	bench_init(&b, EV("box", "boxes") SOFTWARE_1);
	assert_int_equal(b.rig.plan.nr_parts, 4);
	plan_event_cpus(&b.rig.plan, &b.rig.plan.events[0], &on);
	assert_int_equal(cpuset_count(&on), 4);
	assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
	assert_int_equal(b.cpu.nr_groups, 3); /* two alone, and the software group */
	session_cpu_enable(&b.cpu, false);
	assert_true(session_cpu_read(&b.cpu, r));
	for (size_t k = 0; k < 4; k++) {
		static const struct reading want[] = {
		    {.event = 0, .instance = 0, .state = READING_OK},
		    {.event = 0, .instance = 1},
		    {.event = 0, .instance = 1, .state = READING_OK},
		    {.event = 1, .state = READING_OK}};

		assert_int_equal(r[k].event, want[k].event);
		assert_int_equal(r[k].instance, want[k].instance);
		assert_int_equal(r[k].state, want[k].state);
	}
	bench_fini(&b);

	bench_init(&b, EV("box", "boxes"));
	fake.refusal[PERF_TYPE_SOFTWARE][3] = -ENOENT;
	assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
	session_cpu_enable(&b.cpu, false);
	assert_true(session_cpu_read(&b.cpu, r));
	assert_int_equal(r[0].state, READING_NOT_SUPPORTED);
	assert_int_equal(r[1].state, READING_NONE);
	assert_int_equal(r[2].state, READING_NONE);
	bench_fini(&b);
}

/* The number of the fake's event of that config. */
static struct fake_event *fake_event_of(uint64_t config)
{
	for (unsigned i = 0; i < fake.nr_events; i++)
		if (fake.events[i].is_open && fake.events[i].config == config)
			return &fake.events[i];
	fail_msg("no event %llu", (unsigned long long)config);
	return NULL;
}

/* A share has what it is a share of: the time in which it ran, or the count of its second part,
 * which has no reading of its own. */
TEST(shares)
{
	enum { BUSY, ACTIVE, TOTAL, NR };
	struct reading start[MAX_EVENTS], end[MAX_EVENTS];
	struct cell cell;
	struct bench b;

	bench_init(&b, EV("box", "busy") EV("box", "engine"));
	assert_int_equal(b.rig.plan.nr_parts, NR);
	assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
	session_cpu_enable(&b.cpu, false);
	assert_true(session_cpu_read(&b.cpu, start));
	fake_event_of(4)->raw += 1000000000;
	fake_event_of(5)->raw += UINT64_C(3000000000);
	fake_event_of(6)->raw += UINT64_C(4000000000);
	assert_true(session_cpu_read(&b.cpu, end));
	assert_int_equal(end[BUSY].state, READING_OK);
	assert_true(end[BUSY].base == end[BUSY].running_ns && end[BUSY].running_ns);
	assert_int_equal(end[ACTIVE].state, READING_OK);
	assert_true(end[ACTIVE].base == fake_event_of(6)->raw);
	assert_int_equal(end[TOTAL].state, READING_NONE);
	cell_make(EVENT_SHARE, &start[ACTIVE], &end[ACTIVE], &cell);
	assert_int_equal(cell.state, CELL_OK);
	assert_true(cell.value > 74.99 && cell.value < 75.01);
	cell_make(EVENT_SHARE, &start[TOTAL], &end[TOTAL], &cell);
	assert_int_equal(cell.state, CELL_NONE);
	/* half a second of work in one of running */
	end[BUSY].raw = start[BUSY].raw + 500000000;
	end[BUSY].base = start[BUSY].base + 1000000000;
	cell_make(EVENT_SHARE, &start[BUSY], &end[BUSY], &cell);
	assert_true(cell.value > 49.999 && cell.value < 50.001);
	bench_fini(&b);

	bench_init(&b, EV("box", "engine")); /* without its whole a share is none */
	fake.refusal[PERF_TYPE_SOFTWARE][6] = -ENOENT;
	assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
	session_cpu_enable(&b.cpu, false);
	assert_true(session_cpu_read(&b.cpu, end));
	assert_int_equal(end[0].state, READING_NOT_SUPPORTED);
	assert_int_equal(end[1].state, READING_NONE);
	bench_fini(&b);
}

TEST(errors_per_event)
{
	static const struct {
		int error;
		enum reading_state state;
	} cases[] = {
	    {-ENOENT, READING_NOT_SUPPORTED}, {-EOPNOTSUPP, READING_NOT_SUPPORTED},
	    {-EINVAL, READING_NOT_SUPPORTED}, {-EACCES, READING_NO_PERMISSION},
	    {-EPERM, READING_NO_PERMISSION},  {-EMFILE, READING_LIMIT},
	    {-ENFILE, READING_LIMIT},         {-ENOMEM, READING_LIMIT},
	    {-ENOSPC, READING_LIMIT},         {-ENODEV, READING_NOT_SUPPORTED},
	};
	struct reading readings[MAX_EVENTS];
	struct bench b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t bad = 0; bad < 3; bad++) {
			bench_init(&b, SOFTWARE_3);
			fake.refusal[PERF_TYPE_SOFTWARE][b.attrs[bad]->config] = cases[i].error;
			assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
			session_cpu_enable(&b.cpu, false);
			assert_true(session_cpu_read(&b.cpu, readings));
			for (size_t k = 0; k < 3; k++) {
				assert_int_equal(b.cpu.errors[k], k == bad ? -cases[i].error : 0);
				assert_int_equal(readings[k].state,
						 k == bad ? cases[i].state : READING_OK);
			}
			assert_int_equal(b.cpu.nr_groups, 1);
			bench_fini(&b);
		}
}

/* Each allocation and each perf call fails once: an error and nothing open, or events that say so.
 */
TEST(open_fails)
{
	struct bench b;
	unsigned n, nr_bad;

	bench_init(&b, SOFTWARE_2 HARDWARE_6);
	for (n = 1; n == 1 || inject.fired; n++) {
		inject_mem(n);
		if (session_cpu_open(&b.cpu, &b.probe) == 0)
			session_cpu_close(&b.cpu);
		else
			assert_true(inject.fired);
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
		assert_int_equal(fake.nr_live, 0);
		assert_false(b.cpu.is_open);
	}
	assert_int_equal(n - 2, 1); /* room for its groups */
	for (n = 1; n == 1 || fake.fail_fired; n++) {
		fake.nr_calls = nr_bad = 0;
		fake.fail_call = n;
		fake.fail_fired = false;
		fake.fail_error = -EMFILE;
		assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
		for (size_t i = 0; i < b.cpu.plan->nr_events; i++)
			nr_bad += b.cpu.refused[i] == READING_LIMIT;
		assert_int_equal(nr_bad, fake.fail_fired && n <= fake.nr_opens);
		session_cpu_close(&b.cpu);
		assert_int_equal(fake.nr_live, 0);
		fake.nr_opens = 0;
	}
	bench_fini(&b);
}

/* So long that a group which does not run is stuck. */
static void be_stuck(struct session_cpu *c)
{
	const struct timespec long_enough = {.tv_nsec = SESSION_CPU_STUCK_NS + 1000000};

	nanosleep(&long_enough, NULL);
	session_cpu_look(c);
}

TEST(split)
{
	struct reading readings[MAX_EVENTS];
	struct bench b;

	bench_init(&b, SOFTWARE_1 HARDWARE_3);
	fake.stuck = true;
	assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
	session_cpu_enable(&b.cpu, false);
	assert_true(session_cpu_read(&b.cpu, b.cpu.start));
	assert_int_equal(b.cpu.start[1].running_ns, 0);
	assert_int_equal(session_cpu_split(&b.cpu, &b.probe), 0); /* not yet */
	assert_true(session_cpu_waits(&b.cpu));
	be_stuck(&b.cpu);
	assert_int_equal(session_cpu_split(&b.cpu, &b.probe), 3);
	assert_false(session_cpu_waits(&b.cpu));
	assert_int_equal(fake.nr_live, 4);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(b.cpu.start[i].state, READING_OK);
		assert_int_equal(b.cpu.group_of[i], 1 + i);
	}
	assert_true(session_cpu_read(&b.cpu, readings));
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(readings[i].state, READING_OK);
		assert_true(readings[i].running_ns > b.cpu.start[i].running_ns);
		assert_true(readings[i].raw > b.cpu.start[i].raw);
	}
	fake.running_pct = 0; /* alone and yet not run: nothing is left to split */
	be_stuck(&b.cpu);
	assert_int_equal(session_cpu_split(&b.cpu, &b.probe), 0);
	bench_fini(&b);
}

/* A group that ran and then stands still, as beside a pinned event that is enabled after it; one
 * that is multiplexed runs again and again. */
TEST(split_later)
{
	struct bench b;

	bench_init(&b, SOFTWARE_1 HARDWARE_3);
	assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
	session_cpu_enable(&b.cpu, false);
	assert_true(session_cpu_read(&b.cpu, b.cpu.start));
	assert_true(b.cpu.start[1].running_ns > 0);
	assert_false(session_cpu_waits(&b.cpu));
	fake.running_pct = 10;
	for (int i = 0; i < 3; i++) {
		be_stuck(&b.cpu); /* looks at groups that wait */
		assert_true(session_cpu_read(&b.cpu, b.cpu.end));
		assert_true(session_cpu_waits(&b.cpu));
		assert_int_equal(session_cpu_split(&b.cpu, &b.probe), 0);
	}
	fake.stuck = true;
	be_stuck(&b.cpu);
	assert_int_equal(session_cpu_split(&b.cpu, &b.probe), 3);
	bench_fini(&b);
}

/* A pinned event without a counter reads as an end of file: its CPU is there, and so are the
 * others' counts. It counts again once it finds a counter. */
TEST(pinned_without_counter)
{
	struct bench b;

	bench_init(&b, SOFTWARE_1 "{\"group_name\":\"arch\",\"event_name\":\"llc_misses\","
				  "\"flags\":[\"pinned\"]},");
	assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
	session_cpu_enable(&b.cpu, false);
	fake.no_room_for_pinned = true;
	for (int i = 0; i < 2; i++) {
		assert_true(session_cpu_read(&b.cpu, b.cpu.start));
		assert_true(b.cpu.is_open);
		assert_int_equal(b.cpu.start[0].state, READING_OK);
		assert_int_equal(b.cpu.start[1].state, READING_FAILED);
		assert_int_equal(session_cpu_restart(&b.cpu), 1);
		assert_int_equal(b.cpu.start[1].state, READING_FAILED);
	}
	fake.no_room_for_pinned = false;
	assert_int_equal(session_cpu_restart(&b.cpu), 1);
	assert_int_equal(b.cpu.start[1].state, READING_OK);
	assert_int_equal(session_cpu_restart(&b.cpu), 0);
	assert_true(session_cpu_read(&b.cpu, b.cpu.end));
	assert_true(b.cpu.end[1].running_ns > b.cpu.start[1].running_ns);
	bench_fini(&b);
}

/* Whatever fails while a group is split, each of its events says what became of it. */
TEST(split_fails)
{
	struct reading readings[MAX_EVENTS];
	struct bench b;

	for (unsigned n = 1; n == 1 || inject.fired; n++) {
		unsigned nr_bad = 0;

		bench_init(&b, HARDWARE_3);
		fake.stuck = true;
		assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
		session_cpu_enable(&b.cpu, false);
		assert_true(session_cpu_read(&b.cpu, b.cpu.start));
		b.cpu.groups[0].waited_ns = SESSION_CPU_STUCK_NS;
		inject_mem(n);
		assert_int_equal(session_cpu_split(&b.cpu, &b.probe), 3);
		inject_stop();
		assert_true(session_cpu_read(&b.cpu, readings));
		for (size_t i = 0; i < 3; i++) {
			assert_int_not_equal(readings[i].state, READING_NONE);
			nr_bad += readings[i].state == READING_LIMIT;
		}
		assert_int_equal(nr_bad, inject.fired);
		bench_fini(&b);
	}
}

/* All of a CPU's events end with it, in one group or in several, many in a group or one alone. */
TEST(offline)
{
	static const char *const cases[] = {SOFTWARE_3, HARDWARE_6, SOFTWARE_3 HARDWARE_6,
					    SOFTWARE_1 HARDWARE_3, HARDWARE_6 SOFTWARE_1};
	struct bench b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bench_init(&b, cases[i]);
		assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
		session_cpu_enable(&b.cpu, false);
		assert_true(session_cpu_read(&b.cpu, b.cpu.start));
		fake_set_offline(3);
		assert_false(session_cpu_read(&b.cpu, b.cpu.end));
		assert_false(b.cpu.is_open);
		assert_int_equal(fake.nr_live, 0);
		for (size_t k = 0; k < b.cpu.plan->nr_events; k++) {
			assert_int_equal(b.cpu.end[k].state, READING_OFFLINE);
			assert_true(b.cpu.end[k].raw > b.cpu.start[k].raw);
		}
		assert_int_equal(session_cpu_open(&b.cpu, &b.probe), -ENODEV);
		assert_false(b.cpu.is_open);
		session_cpu_read(&b.cpu, b.cpu.end);
		for (size_t k = 0; k < b.cpu.plan->nr_events;
		     k++) /* away, which is no fault of theirs */
			assert_int_equal(b.cpu.end[k].state, READING_NONE);
		fake_set_online(3);
		assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
		session_cpu_enable(&b.cpu, false);
		assert_true(session_cpu_read(&b.cpu, b.cpu.start));
		assert_true(session_cpu_read(&b.cpu, b.cpu.end));
		for (size_t k = 0; k < b.cpu.plan->nr_events; k++)
			assert_true(b.cpu.end[k].raw > b.cpu.start[k].raw);
		bench_fini(&b);
	}
}

/* A single event reads as whole after its CPU went: its time that stands still tells. */
TEST(offline_alone)
{
	const struct timespec a_while = {.tv_nsec = 3000000};
	struct session_cpu *c;
	struct bench b;

	bench_init(&b, SOFTWARE_1);
	c = &b.cpu;
	assert_int_equal(session_cpu_open(c, &b.probe), 0);
	session_cpu_enable(c, false);
	assert_true(session_cpu_read(c, c->start));
	for (int i = 0; i < 3; i++) { /* here, and time goes on */
		nanosleep(&a_while, NULL);
		assert_true(session_cpu_read(c, c->end));
		c->start[0] = c->end[0];
	}
	fake_set_offline(3);
	nanosleep(&a_while, NULL);
	assert_false(session_cpu_read(c, c->end));
	assert_int_equal(c->end[0].state, READING_OFFLINE);
	assert_true(c->end[0].raw > c->start[0].raw);
	assert_false(c->is_open);
	bench_fini(&b);
}

/* A group for each task, whose counts and times are added up; what one lost and nobody counted, or
 * one that cannot be read, makes that unknown for all. A command's count from its exec on. */
TEST(tasks)
{
	static const pid_t ids[] = {11, 12};

	for (int has_lost = 0; has_lost < 2; has_lost++) {
		struct reading r[MAX_EVENTS];
		struct session_cpu *c;
		struct bench b;

		bench_init(&b, SOFTWARE_2);
		c = &b.cpu;
		fake.has_tasks = true;
		b.rig.plan.target =
		    (struct plan_target){.ids = ids, .nr_ids = 2, .is_command = true};
		b.rig.plan.has_all_cpus = false;
		for (size_t k = 0; k < 2 && has_lost; k++)
			b.attrs[k]->read_format |= FAKE_FORMAT_LOST;
		assert_int_equal(session_cpu_open(c, &b.probe), 0);
		assert_int_equal(c->nr_groups, 2);
		session_cpu_enable(c, true);
		assert_int_equal(fake.nr_enables, 0);
		for (unsigned i = 0; i < 4; i++) { /* cpu_clock and page_faults of each */
			fake.events[i].raw = 100 + i;
			fake.events[i].enabled_ns = 50 + i;
			fake.events[i].running_ns = 20 + i;
			fake.events[i].nr_lost = 5 + i;
		}
		assert_true(session_cpu_read(c, r));
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(r[k].state, READING_OK);
			assert_int_equal(r[k].raw, 202 + 2 * k);
			assert_int_equal(r[k].enabled_ns, 102);
			assert_int_equal(r[k].running_ns, 42);
			assert_true(c->lost[k] == (has_lost ? 12 + 2 * k : UINT64_MAX));
		}
		fake.fail_call = fake.nr_calls + 1;
		fake.fail_error = -EIO;
		assert_true(session_cpu_read(c, r));
		assert_int_equal(r[0].state, READING_FAILED);
		session_cpu_enable(c, false);
		assert_int_equal(fake.nr_enables, 2);
		bench_fini(&b);
	}
}

/* Tasks that run already: what needs no counter is alone; a group of which a thread inherited a
 * part is opened again, and its events are alone if that does not end. */
TEST(attached)
{
	static const pid_t id = 11;
	static const struct {
		unsigned nr_torn, nr_groups, nr_opens;
	} cases[] = {{0, 3, 5}, {1, 3, 8}, {50, 3, 155}, {1000, 5, 308}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct reading r[MAX_EVENTS];
		struct bench b;

		bench_init(&b, SOFTWARE_2 HARDWARE_3);
		fake.has_tasks = fake.is_attached = true;
		fake.nr_torn = cases[i].nr_torn;
		b.rig.plan.target = (struct plan_target){.ids = &id, .nr_ids = 1};
		b.rig.plan.has_all_cpus = false;
		assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
		assert_int_equal(b.cpu.nr_groups, cases[i].nr_groups);
		assert_int_equal(fake.nr_opens, cases[i].nr_opens);
		fake.nr_torn = 0;
		assert_true(session_cpu_read(&b.cpu, r));
		for (size_t k = 0; k < 5; k++)
			assert_int_equal(r[k].state, READING_OK);
		bench_fini(&b);
	}
}

TEST(read_fails)
{
	struct reading readings[MAX_EVENTS];
	struct bench b;

	bench_init(&b, SOFTWARE_2 HARDWARE_3);
	assert_int_equal(session_cpu_open(&b.cpu, &b.probe), 0);
	session_cpu_enable(&b.cpu, false);
	fake.fail_call = fake.nr_calls + 1;
	fake.fail_error = -EIO;
	assert_true(session_cpu_read(&b.cpu, readings));
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(readings[i].state, i < 2 ? READING_FAILED : READING_OK);
		assert_int_equal(readings[i].raw != 0, i >= 2);
	}
	assert_true(session_cpu_read(&b.cpu, readings)); /* and again */
	assert_int_equal(readings[0].state, READING_OK);
	bench_fini(&b);
}
