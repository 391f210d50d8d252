/*
 * Loading and reading the program of probes.bpf.c.
 */
#include "bpf/probes.h"

#include "base/cpuset.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/perf_abi.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bpf/loading.h"
#include "bpf/probes_shared.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/generated/probes.h"

_Static_assert((int)PROBES_MAX_EVENTS == (int)BPF_PROBES_NR_SLOTS &&
		   (int)CPUSET_MAX_CPU == (int)BPF_PROBES_MAX_CPUS,
	       "what the programs share");

struct probes {
	struct probes_bpf *programs;      /* owned */
	struct bpf_probes_counts *counts; /* mapped; for each event nr_cpus of them */
	size_t map_bytes, nr_events;
	uint32_t nr_cpus;
	bool is_command;
	struct bpf_link **links; /* owned; each with its breakpoint */
	size_t nr_links;
};

static int configure(struct probes *p, const struct probes_config *c, struct err *e)
{
	struct probes_bpf *b = p->programs;
	bool follows = c->follow.has_target || c->follow.has_cgroup;
	uint32_t nr = (uint32_t)c->nr_events * p->nr_cpus;

	if (!loading_has_trace("sched_switch"))
		return err_set(e, -ENOTSUP, "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	b->rodata->nr_cpus = p->nr_cpus;
	for (size_t i = 0; i < c->nr_events; i++)
		b->rodata->rates[i] = c->rates[i];
	b->rodata->has_target = c->follow.has_target;
	b->rodata->has_children = c->follow.has_children;
	b->rodata->is_followed = c->follow.is_command;
	b->rodata->has_cpus = c->cpus;
	if (c->cpus)
		memcpy(b->rodata->measured_cpus, c->cpus->bits, sizeof(b->rodata->measured_cpus));
	return loading_follow(b->obj, &c->follow, follows, &b->rodata->cgroup_id, e)
		   ?: bpf_map__set_max_entries(b->maps.counts, nr)
		   ?: bpf_map__set_max_entries(b->maps.outputs, nr);
}

static int map_counts(struct probes *p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base;

	p->map_bytes = (p->nr_events * p->nr_cpus * sizeof(*p->counts) + page - 1) & ~(page - 1);
	base = mmap(NULL, p->map_bytes, PROT_READ, MAP_SHARED,
		    bpf_map__fd(p->programs->maps.counts), 0);
	if (base == MAP_FAILED)
		return -errno;
	p->counts = base;
	return 0;
}

int probes_open(const struct probes_config *config, struct probes **out, struct err *e)
{
	struct probes *p = mem_zalloc(sizeof(*p));
	int rc;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	loading_begin();
	p->is_command = config->follow.is_command;
	p->nr_events = config->nr_events;
	p->links = mem_calloc(config->nr_places, sizeof(struct bpf_link *));
	rc = p->links ? libbpf_num_possible_cpus() : -ENOMEM;
	if (rc > 0) {
		p->nr_cpus = (uint32_t)rc;
		rc = loading_open(&probes_programs, &p->programs) ?: configure(p, config, e);
	}
	if (rc == 0)
		rc = loading_load(p->programs->skeleton) ?: map_counts(p);
	loading_end();
	if (rc) {
		probes_close(p);
		return e->code ? e->code : loading_refuse(rc, e);
	}
	*out = p;
	return 0;
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	while (p->links && p->nr_links)
		(void)bpf_link__destroy(p->links[--p->nr_links]);
	if (p->counts)
		munmap(p->counts, p->map_bytes);
	loading_close(p->programs);
	mem_free(p->links);
	mem_free(p);
}

int probes_add_process(struct probes *p, pid_t process)
{
	struct bpf_probes_task member = {.follow.is_member = p->is_command ? BPF_FOLLOW_STARTS : 1};

	return loading_add_process(p->programs->maps.tasks, process, &member);
}

int probes_add_output(struct probes *p, size_t event, uint32_t cpu, int fd)
{
	uint32_t at = (uint32_t)event * p->nr_cpus + cpu;

	return loading_update(p->programs->maps.outputs, &at, &fd);
}

/* An event of the PMU, for all processes: on one CPU, since the breakpoint is the same on all. The
 * descriptor or -errno. */
static int open_event(const struct probes_config *c, const struct probes_place *place)
{
	struct perf_event_attr attr = {.type = c->pmu,
				       .size = sizeof(attr),
				       .config = place->semaphore << 32,
				       .config1 = (uintptr_t)place->path,
				       .config2 = place->offset};
	long fd = syscall(SYS_perf_event_open, &attr, -1, (int)c->cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int attach(struct probes *p, const struct probes_config *c, const struct probes_place *place)
{
	DECLARE_LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = place->event);
	int fd = open_event(c, place);
	struct bpf_link *link;

	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event_opts(p->programs->progs.on_hit, fd, &opts);
	if (!link) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	p->links[p->nr_links++] = link; /* it owns fd */
	return 0;
}

static int refuse_place(const struct probes_place *place, int rc, struct err *e)
{
	if (rc == -EPERM || rc == -EACCES)
		return err_set(e, -EPERM, "probing programs (uprobes) is not permitted");
	return err_set(e, rc == -ENOMEM ? rc : -ENOTSUP,
		       "the kernel sets no breakpoint at %.150s+0x%" PRIx64 ": %s", place->path,
		       place->offset, strerror(-rc));
}

static int follow(struct probes *p)
{
	const struct bpf_program *const programs[] = {p->programs->progs.on_fork,
						      p->programs->progs.on_exec};
	struct bpf_link **const links[] = {&p->programs->links.on_fork,
					   &p->programs->links.on_exec};

	for (size_t i = 0; i < 2; i++) {
		if (*links[i] || !bpf_program__autoload(programs[i]))
			continue;
		*links[i] = bpf_program__attach_trace(programs[i]);
		if (!*links[i])
			return -errno;
	}
	return 0;
}

int probes_start(struct probes *p, const struct probes_config *config, struct err *e)
{
	int rc;

	loading_begin();
	rc = follow(p);
	if (rc)
		rc = loading_refuse(rc, e);
	for (size_t i = p->nr_links; i < config->nr_places && rc == 0; i++) {
		rc = attach(p, config, &config->places[i]);
		if (rc)
			rc = refuse_place(&config->places[i], rc, e);
	}
	loading_end();
	return rc;
}

void probes_switch(struct probes *p, size_t event, bool is_enabled)
{
	__atomic_store_n(&p->programs->bss->is_off[event], !is_enabled, __ATOMIC_RELEASE);
}

uint64_t probes_count(const struct probes *p, size_t event, uint32_t cpu, uint64_t *lost)
{
	const volatile struct bpf_probes_counts *c;

	*lost = 0;
	if (cpu >= p->nr_cpus)
		return 0;
	c = &p->counts[event * p->nr_cpus + cpu];
	*lost = c->lost;
	return c->hits;
}
