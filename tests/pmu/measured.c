/*
 * A session in this process, from a spec's text.
 */
#include "measured.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const struct event_group *const groups[] = {&event_arch_group, &event_fixed_group,
						   &event_software_group};
static const struct catalogue catalogue = {groups, sizeof(groups) / sizeof(groups[0])};

static void fail_with(const struct err *e)
{
	char text[1200];

	err_format(e, text, sizeof(text));
	fail_msg("%s", text);
}

static void set(struct spec *spec, const char *key, const char *value)
{
	struct err e = {0};

	if (spec_override(spec, key, value, key, &e))
		fail_with(&e);
}

static void load(const struct measured *m, struct spec *spec)
{
	static struct err_list errs;
	char nr[16];

	snprintf(nr, sizeof(nr), "%u", m->nr_iterations);
	spec_init(spec);
	if (spec_parse(m->spec, strlen(m->spec), "spec", spec, &errs))
		fail_with(&errs.item[0]);
	set(spec, "duration", m->duration);
	set(spec, "num_iterations", nr);
	set(spec, "output_path_prefix", "");
	set(spec, "session_result_spec_path", "");
}

/* The first CPUs of the machine only. */
static void limit_cpus(struct plan *plan, uint32_t max_cpus)
{
	struct cpuset all = plan->cpus;
	int cpu = -1;

	if (!max_cpus)
		return;
	cpuset_clear(&plan->cpus);
	for (plan->nr_cpus = 0; plan->nr_cpus < max_cpus; plan->nr_cpus++) {
		cpu = cpuset_next(&all, (unsigned)(cpu + 1));
		assert_true(cpu >= 0);
		cpuset_add(&plan->cpus, (unsigned)cpu);
	}
}

static int no_callback(const struct session_iteration *it, void *arg)
{
	(void)it;
	(void)arg;
	return 0;
}

static void run(const struct measured *m, struct plan *plan)
{
	struct session_config config = {.plan = plan,
					.pmu = m->pmu,
					.tool = "test",
					.on_iteration =
					    m->on_iteration ? m->on_iteration : no_callback,
					.arg = m->arg};
	struct session *s;
	struct err e = {0};

	if (session_open(&config, &s, &e))
		fail_with(&e);
	if (m->on_open)
		m->on_open(s, m->arg);
	if (session_run(s, &e))
		fail_with(&e);
	session_close(s);
}

void measure(const struct measured *m)
{
	static struct err_list errs;
	struct err e = {0};
	struct spec spec;
	struct host host;
	struct plan plan;

	load(m, &spec);
	if (host_load(&root_live, &host, &e))
		fail_with(&e);
	if (plan_make(&spec, &catalogue, &host, &plan, &errs))
		fail_with(&errs.item[0]);
	limit_cpus(&plan, m->max_cpus);
	run(m, &plan);
	plan_fini(&plan);
	host_fini(&host);
	spec_fini(&spec);
}
