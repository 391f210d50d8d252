/*
 * Opens each part of an event on one CPU of each kind.
 */
#include "pmu/probe.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "host/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* An event and a CPU, and whether it could be opened there. */
struct key {
	uint64_t config, config1, config2;
	uint32_t type, cpu;
};

struct answer {
	struct key key;
	int error; /* 0 or errno */
	bool is_known;
};

struct pmu_probe {
	const struct host *host;
	const struct pmu_ops *ops;
	struct cpuset cpus;  /* one of each kind of core */
	struct dict answers; /* struct answer */
};

/* The first CPU that is online; of no CPUs: of all. */
static void add_first(const struct host *h, const struct cpuset *cpus, struct cpuset *out)
{
	const struct cpuset *from = cpuset_count(cpus) ? cpus : &h->online;
	int cpu = cpuset_next(from, 0);

	while (cpu >= 0 && !cpuset_has(&h->online, (unsigned)cpu))
		cpu = cpuset_next(from, (unsigned)cpu + 1);
	if (cpu >= 0)
		cpuset_add(out, (unsigned)cpu);
}

struct pmu_probe *pmu_probe_new(const struct host *host, const struct pmu_ops *ops)
{
	struct pmu_probe *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	dict_init(&p->answers, sizeof(struct answer), sizeof(struct key), DICT_MAX);
	p->host = host;
	p->ops = ops ? ops : &pmu_kernel_ops;
	for (size_t i = 0; i < host->nr_pmus; i++)
		if (host->pmus[i].is_core)
			add_first(host, &host->pmus[i].cpus, &p->cpus);
	if (!cpuset_count(&p->cpus))
		add_first(host, &host->online, &p->cpus);
	return p;
}

void pmu_probe_free(struct pmu_probe *p)
{
	if (!p)
		return;
	dict_fini(&p->answers);
	mem_free(p);
}

static int try_open(const struct pmu_probe *p, const struct event_part *part, uint32_t cpu)
{
	const struct event_use use = {0};
	struct perf_event_attr *attr = event_attr_new(part, &use);
	int fd;

	if (!attr)
		return ENOMEM;
	attr->disabled = 1;
	fd = p->ops->open(attr, -1, (int)cpu, -1, 0);
	mem_free(attr);
	if (fd < 0)
		return -fd;
	p->ops->close(fd);
	return 0;
}

int pmu_probe_switches(const struct pmu_probe *p)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
				       .sample_id_all = 1,
				       .context_switch = 1,
				       .exclude_kernel = 1,
				       .disabled = 1};
	int fd = p->ops->open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return fd;
	p->ops->close(fd);
	return 0;
}

/* Each combination is tried once; again only where there was no memory to remember the result. */
static int try_once(struct pmu_probe *p, const struct event_part *part, uint32_t cpu)
{
	const struct key key = {.type = part->type,
				.config = part->config,
				.config1 = part->config1,
				.config2 = part->config2,
				.cpu = cpu};
	struct answer unknown = {.is_known = false}, *a = dict_get(&p->answers, &key);

	if (!a)
		a = &unknown;
	if (!a->is_known)
		a->error = try_open(p, part, cpu);
	a->is_known = true;
	return a->error;
}

/* The CPUs on which an event was opened, or refused, so far. */
struct result {
	struct cpuset opened, refused;
	int error; /* the first refusal: errno */
};

static void try_on(struct pmu_probe *p, const struct event_part *part, const struct cpuset *cpus,
		   struct result *r)
{
	for (int cpu = cpuset_next(cpus, 0); cpu >= 0; cpu = cpuset_next(cpus, (unsigned)cpu + 1)) {
		int error = try_once(p, part, (uint32_t)cpu);

		cpuset_add(error ? &r->refused : &r->opened, (unsigned)cpu);
		r->error = r->error ? r->error : error;
	}
}

static void try_part(struct pmu_probe *p, const struct event_part *part, struct result *r)
{
	struct cpuset own;

	if (!part->cpus || !cpuset_count(part->cpus)) {
		try_on(p, part, &p->cpus, r);
		return;
	}
	cpuset_clear(&own);
	add_first(p->host, part->cpus, &own);
	try_on(p, part, &own, r);
	if (!cpuset_count(&own) && !r->error)
		r->error = ENODEV; /* all of its PMU's CPUs are offline */
}

void pmu_probe_event(struct pmu_probe *p, const struct event *ev, struct event_support *out)
{
	struct result r = {.error = 0};
	struct event_part part;
	char why[sizeof(out->reason)];
	int cpu;

	event_support_check(p->host, ev, 0, out);
	if (out->state != READING_OK || !event_is_perf(ev))
		return;
	for (uint32_t i = 0; i < event_nr_parts(ev); i++) {
		event_part(ev, i, &part);
		try_part(p, &part, &r);
	}
	if (!r.error)
		return;
	event_support_explain(p->host, ev, r.error, out);
	/* where one part is missing, a sum would be wrong */
	cpu = cpuset_next(&r.opened, 0);
	while (cpu >= 0 && cpuset_has(&r.refused, (unsigned)cpu))
		cpu = cpuset_next(&r.opened, (unsigned)cpu + 1);
	if (cpu < 0)
		return;
	out->state = READING_OK;
	memcpy(why, out->reason, sizeof(why));
	snprintf(out->reason, sizeof(out->reason), "not on every CPU: %.200s", why);
}
