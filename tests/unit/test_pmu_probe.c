/*
 * Whether an event works, as the fake PMU lets it be opened: refused though it is listed, on one
 * kind of core alone, by right; opened once, closed, counting nothing.
 */
#include "fake_pmu.h"
#include "kit.h"

#include "host/host.h"
#include "pmu/probe.h"

#include <linux/perf_event.h>

static struct host_pmu pmus[] = {{.name = "cpu_atom", .type = 10, .is_core = true},
				 {.name = "cpu_core", .type = 4, .is_core = true},
				 {.name = "uncore_imc", .type = 20, .has_cpumask = true}};
static struct host host;

static void add_cpus(struct cpuset *s, unsigned from, unsigned to)
{
	for (; from <= to; from++)
		cpuset_add(s, from);
}

/* Two kinds of core with CPUs 4 to 5 and 0 to 3; CPU 0 is offline. */
static void start(int paranoid)
{
	fake_reset();
	memset(&host, 0, sizeof(host));
	strcpy(host.machine, "x86_64");
	host.perf_event_paranoid = paranoid;
	host.pmus = pmus;
	host.nr_pmus = 3;
	memset(&pmus[0].cpus, 0, sizeof(pmus[0].cpus));
	memset(&pmus[1].cpus, 0, sizeof(pmus[1].cpus));
	add_cpus(&host.online, 1, 5);
	add_cpus(&pmus[0].cpus, 4, 5);
	add_cpus(&pmus[1].cpus, 0, 3);
	fake.offline[0] = true;
}

static struct event find(const struct event_group *g, const char *name)
{
	struct event ev = {g, g->rows};

	while (strcmp(ev.row->name, name) != 0)
		ev.row++;
	return ev;
}

static struct event_support ask(struct pmu_probe *p, const struct event *ev)
{
	struct event_support s;

	memset(&s, 0xff, sizeof(s));
	pmu_probe_event(p, ev, &s);
	assert_int_equal(fake.nr_live, 0);
	assert_int_equal(fake.nr_wrong, 0);
	assert_int_equal(fake.nr_enables, 0);
	return s;
}

static struct pmu_probe *probe_new(void)
{
	struct pmu_probe *p = pmu_probe_new(&host, &fake_ops);

	assert_non_null(p);
	return p;
}

TEST(works)
{
	struct event misses = find(&event_arch_group, "llc_misses");
	struct event clock = find(&event_software_group, "cpu_clock");
	struct pmu_probe *p;

	start(0);
	p = probe_new();
	for (unsigned i = 0; i < 3; i++) { /* an answer is kept */
		struct event_support s = ask(p, &misses);

		assert_int_equal(s.state, READING_OK);
		assert_string_equal(s.reason, "");
		assert_int_equal(fake.nr_opens, 2);
	}
	assert_int_equal(fake.events[0].cpu + fake.events[1].cpu, 1 + 4);
	assert_true(fake.events[0].attr.disabled && fake.events[1].attr.disabled);
	assert_int_equal(ask(p, &clock).state, READING_OK);
	assert_int_equal(fake.nr_opens, 4);
	pmu_probe_free(p);
	pmu_probe_free(NULL);
}

TEST(refused)
{
	static const int errors[] = {-ENOENT, -EOPNOTSUPP, -EINVAL, -ENODEV};
	struct event misses = find(&event_arch_group, "llc_misses");

	for (size_t i = 0; i < NR(errors); i++) {
		struct event_support s;
		struct pmu_probe *p;

		start(0);
		fake.refusal[PERF_TYPE_HARDWARE][PERF_COUNT_HW_CACHE_MISSES] = errors[i];
		p = probe_new();
		event_support_check(&host, &misses, 0, &s);
		assert_int_equal(s.state, READING_OK); /* the kernel lists it */
		s = ask(p, &misses);
		assert_int_equal(s.state, READING_NOT_SUPPORTED);
		assert_non_null(strstr(s.reason, "the kernel rejects"));
		assert_non_null(strstr(s.reason, strerror(-errors[i])));
		pmu_probe_free(p);
	}
}

/* A generic event on one kind of core, an event of one PMU. */
TEST(parts)
{
	struct event_part part[2] = {
	    {.type = 20, .config = 1, .cpus = &host.online},
	    {.config = PERF_COUNT_HW_CACHE_MISSES, .cpus = &host.online},
	};
	struct event_row row = {.name = "x", .source = "x", .parts = part, .nr_parts = 1};
	const struct event ev = {&event_model_group, &row};
	struct event misses = find(&event_arch_group, "llc_misses");
	struct event_support s;
	struct pmu_probe *p;

	start(0);
	fake.offline[4] = true;
	p = probe_new();
	s = ask(p, &misses);
	assert_int_equal(s.state, READING_OK);
	assert_non_null(strstr(s.reason, "not on every CPU: the kernel rejects"));
	assert_int_equal(ask(p, &ev).state, READING_OK);
	assert_int_equal(fake.nr_opens, 3);
	assert_int_equal(fake.events[1].cpu, 1);
	add_cpus(&pmus[2].cpus, 0, 0); /* which is offline */
	part[0].cpus = &pmus[2].cpus;
	assert_int_equal(ask(p, &ev).state, READING_NOT_SUPPORTED);
	pmu_probe_free(p);
	start(0);
	row.nr_parts = 2; /* a sum that lacks one is wrong; on another CPU it is none */
	part[0].cpus = &host.online;
	fake.refusal[PERF_TYPE_HARDWARE][PERF_COUNT_HW_CACHE_MISSES] = -ENOENT;
	p = probe_new();
	assert_int_equal(ask(p, &ev).state, READING_NOT_SUPPORTED);
	part[1].cpus = &pmus[0].cpus;
	assert_int_equal(ask(p, &ev).state, READING_OK);
	pmu_probe_free(p);
}

/* What is clear without is not opened. */
TEST(not_opened)
{
	struct event misses = find(&event_arch_group, "llc_misses");
	struct event_row gone = *misses.row;
	const struct event missing = {&event_arch_group, &gone};
	struct pmu_probe *p;

	start(2);
	gone.missing = "of another CPU model";
	p = probe_new();
	assert_int_equal(ask(p, &misses).state, READING_NO_PERMISSION);
	assert_int_equal(ask(p, &missing).state, READING_NOT_SUPPORTED);
	assert_int_equal(fake.nr_opens, 0);
	host.perf_event_paranoid = -1;
	fake.refusal[PERF_TYPE_HARDWARE][PERF_COUNT_HW_CACHE_MISSES] = -EACCES;
	assert_int_equal(ask(p, &misses).state, READING_NO_PERMISSION);
	pmu_probe_free(p);
}

/* Without memory an event is not said to work, and a kept answer is only asked for again. */
TEST(no_memory)
{
	struct event clock = find(&event_software_group, "cpu_clock");

	start(0);
	for (unsigned n = 1; n < 20; n++) {
		struct event_support s = {.state = READING_LIMIT};
		struct pmu_probe *p;

		inject_mem(n);
		p = pmu_probe_new(&host, &fake_ops);
		if (p)
			s = ask(p, &clock);
		assert_true(s.state == READING_OK || s.state == READING_LIMIT);
		pmu_probe_free(p);
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
	}
}
