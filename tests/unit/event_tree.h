/*
 * Machines made for the tests of made events: trees of sysfs files from one text, and their
 * catalogue. Only for tests.
 */
#ifndef TEST_EVENT_TREE_H
#define TEST_EVENT_TREE_H

#include "kit.h"

#include "base/arena.h"
#include "event/catalogue.h"
#include "host/host.h"

struct machine {
	struct root root;
	struct host host;
	struct arena arena;
	struct catalogue c;
};

static const struct event_group *const machine_groups[] = {&event_arch_group, &event_fixed_group,
							   &event_model_group};

#define PMUS "/sys/bus/event_source/devices/"

/* files: name and line by turns, NULL at the end; names are below the folder of the PMUs. */
static inline void machine_init(struct machine *m, const char *const *files)
{
	static const char cpuinfo[] = "model name\t: Made CPU\n", online[] = "0-7\n";
	struct err e = {0};

	memset(m, 0, sizeof(*m));
	m->root = tree_make();
	tree_put(&m->root, "/sys/devices/system/cpu/online", online, strlen(online));
	tree_put(&m->root, "/proc/cpuinfo", cpuinfo, strlen(cpuinfo));
	for (; *files; files += 2) {
		char path[256];

		snprintf(path, sizeof(path), PMUS "%s", files[0]);
		tree_put(&m->root, path, files[1], strlen(files[1]));
	}
	assert_int_equal(host_load(&m->root, &m->host, &e), 0);
	snprintf(m->host.machine, sizeof(m->host.machine), "x86_64"); /* whatever this is */
	arena_init(&m->arena, 16 << 20);
	m->c = (struct catalogue){machine_groups, NR(machine_groups), &m->host, &m->arena, NULL};
}

static inline void machine_fini(struct machine *m)
{
	arena_fini(&m->arena);
	host_fini(&m->host);
	tree_remove(&m->root);
}

static inline void expect_part(const struct event *ev, uint32_t i, const char *pmu, uint32_t type,
			       uint64_t config, uint64_t config1, const char *cpus)
{
	struct cpuset want;
	struct event_part part;

	assert_true(i < event_nr_parts(ev));
	event_part(ev, i, &part);
	assert_string_equal(part.pmu, pmu);
	assert_int_equal(part.type, type);
	assert_int_equal(part.config, config);
	assert_int_equal(part.config1, config1);
	assert_int_equal(part.config2, 0);
	assert_int_equal(part.cpus != NULL, cpus != NULL);
	if (!cpus)
		return;
	assert_int_equal(cpuset_parse(cpus, strlen(cpus), &want), 0);
	assert_memory_equal(&want, part.cpus, sizeof(want));
}

#endif
