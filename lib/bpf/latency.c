/*
 * Loading and reading the programs of latency.bpf.c.
 */
#include "bpf/latency.h"

#include "base/cpuset.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

#include "bpf/latency_shared.h"
#include "bpf/loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/generated/latency.h"

_Static_assert((int)LATENCY_SYSCALL == (int)BPF_LATENCY_SYSCALL &&
		   (int)LATENCY_MAX_EVENTS == (int)BPF_LATENCY_NR_SLOTS &&
		   (int)LATENCY_MAX_SYSCALLS == (int)BPF_LATENCY_NR_SYSCALLS &&
		   (int)CPUSET_MAX_CPU == (int)BPF_LATENCY_MAX_CPUS &&
		   (int)LATENCY_BITS == (int)BPF_LATENCY_BITS &&
		   (int)LATENCY_NR_BUCKETS == (int)BPF_LATENCY_NR_BUCKETS,
	       "what the programs share");

enum {
	MAX_PROCESSES = 1024, /* with their system calls: histograms */
	MAX_DISKS = 256,      /* with their operations */
	MAX_IRQS = 32,        /* of a CPU */
	MAX_REQUESTS = 16384, /* at a time */
	BATCH = 32,           /* histograms read at once */
};

struct latency {
	struct latency_bpf *programs;      /* owned */
	struct bpf_latency_counts *counts; /* mapped; nr_cpus of them */
	size_t map_bytes;
	uint32_t nr_cpus;
	bool is_command, needs_seed, is_started;
	/* owned; BATCH of each */
	struct bpf_latency_key *keys;
	struct bpf_latency_histogram *histograms;
};

/* The kinds that are measured, and how many histograms they may need. */
struct needs {
	bool of_kind[LATENCY_SYSCALL + 1];
	uint32_t nr_histograms;
};

static void add_needs(const struct latency *l, const struct latency_event *ev, struct needs *n)
{
	const uint32_t nr[] = {[LATENCY_RUN_QUEUE] = l->nr_cpus,
			       [LATENCY_BLOCK] = MAX_DISKS,
			       [LATENCY_IRQ] = l->nr_cpus * MAX_IRQS,
			       [LATENCY_SOFTIRQ] = l->nr_cpus * BPF_LATENCY_NR_SOFTIRQS,
			       [LATENCY_SYSCALL] = MAX_PROCESSES};

	if (ev->kind != LATENCY_SYSCALL || !n->of_kind[ev->kind])
		n->nr_histograms += nr[ev->kind];
	n->nr_histograms += 2; /* others */
	n->of_kind[ev->kind] = true;
}

static void choose_programs(const struct latency *l, const struct needs *n)
{
	struct latency_bpf *p = l->programs;
	bool is_run_queue = n->of_kind[LATENCY_RUN_QUEUE], is_block = n->of_kind[LATENCY_BLOCK];
	bool is_irq = n->of_kind[LATENCY_IRQ], is_softirq = n->of_kind[LATENCY_SOFTIRQ];
	bool is_syscall = n->of_kind[LATENCY_SYSCALL];
	bool has_queue = is_block && loading_nr_arguments("block_rq_issue") == 2;
	const struct {
		struct bpf_program *program;
		bool is_needed;
	} all[] = {
	    {p->progs.seed, l->needs_seed},
	    {p->progs.on_wakeup, is_run_queue},
	    {p->progs.on_new, is_run_queue},
	    {p->progs.on_switch, is_run_queue},
	    {p->progs.on_enter, is_syscall},
	    {p->progs.on_exit, is_syscall},
	    {p->progs.on_issue, is_block && !has_queue},
	    {p->progs.on_issue_of_queue, has_queue},
	    {p->progs.on_complete, is_block},
	    {p->progs.on_irq, is_irq},
	    {p->progs.on_irq_end, is_irq},
	    {p->progs.on_softirq, is_softirq},
	    {p->progs.on_softirq_end, is_softirq},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		bpf_program__set_autoload(all[i].program, all[i].is_needed);
}

static int configure(struct latency *l, const struct latency_config *c, struct err *e)
{
	struct latency_bpf *p = l->programs;
	struct needs needs = {.nr_histograms = 0};

	if (!loading_has_trace("sched_switch"))
		return err_set(e, -ENOTSUP, "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	for (size_t i = 0; i < c->nr_events; i++) {
		const struct latency_event *ev = &c->events[i];
		uint8_t slot = (uint8_t)(i + 1);

		add_needs(l, ev, &needs);
		if (ev->kind == LATENCY_SYSCALL)
			p->rodata->slot_of_syscall[ev->syscall] = slot;
		else
			p->rodata->slot_of_kind[ev->kind] = slot;
	}
	p->rodata->has_target = c->follow.has_target;
	p->rodata->has_children = c->follow.has_children;
	p->rodata->is_followed = c->follow.is_command;
	p->rodata->has_cpus = c->cpus;
	if (c->cpus)
		memcpy(p->rodata->measured_cpus, c->cpus->bits, sizeof(p->rodata->measured_cpus));
	l->needs_seed = needs.of_kind[LATENCY_RUN_QUEUE] ||
			(c->follow.has_target && needs.of_kind[LATENCY_SYSCALL]);
	choose_programs(l, &needs);
	return loading_follow(p->obj, &c->follow, l->needs_seed, &p->rodata->cgroup_id,
			      e)
		   ?: bpf_map__set_max_entries(p->maps.counts, l->nr_cpus)
		   ?: bpf_map__set_max_entries(p->maps.histograms, needs.nr_histograms)
		   ?: bpf_map__set_max_entries(p->maps.requests,
					       needs.of_kind[LATENCY_BLOCK] ? MAX_REQUESTS : 1);
}

static int map_counts(struct latency *l)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base;

	l->map_bytes = (l->nr_cpus * sizeof(*l->counts) + page - 1) & ~(page - 1);
	base = mmap(NULL, l->map_bytes, PROT_READ, MAP_SHARED,
		    bpf_map__fd(l->programs->maps.counts), 0);
	if (base == MAP_FAILED)
		return -errno;
	l->counts = base;
	return 0;
}

/* The histograms of others must exist: their table may be full when they are needed. */
static int add_others(struct latency *l, const struct latency_config *c)
{
	int fd = bpf_map__fd(l->programs->maps.histograms), rc = 0;

	memset(l->histograms, 0, sizeof(*l->histograms));
	for (size_t i = 0; i < 2 * c->nr_events && rc == 0; i++) {
		struct bpf_latency_key key = {
		    .slot = (uint16_t)(i / 2), .part = (uint16_t)(i % 2), .id = BPF_LATENCY_OTHERS};

		rc = bpf_map_update_elem(fd, &key, l->histograms, BPF_ANY);
	}
	return rc;
}

int latency_open(const struct latency_config *config, struct latency **out, struct err *e)
{
	struct latency *l = mem_zalloc(sizeof(*l));
	int rc;

	if (!l)
		return err_set(e, -ENOMEM, "out of memory");
	loading_begin();
	l->is_command = config->follow.is_command;
	l->keys = mem_calloc(BATCH, sizeof(*l->keys));
	l->histograms = mem_calloc(BATCH, sizeof(*l->histograms));
	rc = l->keys && l->histograms ? libbpf_num_possible_cpus() : -ENOMEM;
	if (rc > 0) {
		l->nr_cpus = (uint32_t)rc;
		rc = loading_open(&latency_programs, &l->programs) ?: configure(l, config, e);
	}
	if (rc == 0)
		rc = loading_load(l->programs->skeleton) ?: map_counts(l) ?: add_others(l, config);
	loading_end();
	if (rc) {
		latency_close(l);
		return e->code ? e->code : loading_refuse(rc, e);
	}
	*out = l;
	return 0;
}

void latency_close(struct latency *l)
{
	if (!l)
		return;
	if (l->counts)
		munmap(l->counts, l->map_bytes);
	loading_close(l->programs);
	mem_free(l->keys);
	mem_free(l->histograms);
	mem_free(l);
}

int latency_add_process(struct latency *l, pid_t process)
{
	struct bpf_latency_task member = {.follow.is_member =
					      l->is_command ? BPF_FOLLOW_STARTS : 1};

	return loading_add_process(l->programs->maps.tasks, process, &member);
}

/* Runs the iterator over all tasks. */
static int find_tasks(const struct latency *l)
{
	return loading_run(bpf_iter_create(bpf_link__fd(l->programs->links.seed)));
}

int latency_start(struct latency *l, struct err *e)
{
	int rc = 0;

	loading_begin();
	if (!l->is_started)
		rc = loading_attach(l->programs->skeleton);
	if (rc == 0 && !l->is_started && l->needs_seed)
		rc = find_tasks(l);
	loading_end();
	l->is_started |= rc == 0;
	return rc ? loading_refuse(rc, e) : 0;
}

void latency_switch(struct latency *l, size_t event, bool is_enabled)
{
	if (event < BPF_LATENCY_NR_SLOTS)
		__atomic_store_n(&l->programs->bss->is_off[event], !is_enabled, __ATOMIC_RELAXED);
}

uint64_t latency_count(const struct latency *l, size_t event, uint32_t cpu)
{
	const volatile struct bpf_latency_counts *c = &l->counts[cpu];

	return cpu < l->nr_cpus && event < BPF_LATENCY_NR_SLOTS ? c->nr[event] : 0;
}

static int pass(const struct bpf_latency_key *key, const struct bpf_latency_histogram *h,
		int (*fn)(const struct latency_row *row, void *arg), void *arg)
{
	uint64_t buckets[LATENCY_NR_BUCKETS], all = 0;
	struct latency_row row = {.event = key->slot,
				  .part = key->part,
				  .cpu = key->cpu,
				  .id = key->id,
				  .sum_ns = h->sum_ns,
				  .max_ns = h->max_ns,
				  .buckets = buckets};

	for (size_t i = 0; i < LATENCY_NR_BUCKETS; i++)
		all |= buckets[i] = h->bucket[i];
	memcpy(row.name, h->name, sizeof(row.name));
	row.name[sizeof(row.name) - 1] = '\0';
	return all ? fn(&row, arg) : 0;
}

int latency_read(struct latency *l, int (*fn)(const struct latency_row *row, void *arg), void *arg)
{
	int fd = bpf_map__fd(l->programs->maps.histograms), rc = 0, last = 0;
	uint32_t at = 0;

	for (bool is_first = true; !last && rc == 0; is_first = false) {
		uint32_t nr = BATCH;

		loading_begin();
		last = bpf_map_lookup_batch(fd, is_first ? NULL : &at, &at, l->keys, l->histograms,
					    &nr, NULL);
		loading_end();
		if (last && last != -ENOENT)
			return last;
		for (uint32_t i = 0; i < nr && rc == 0; i++)
			rc = pass(&l->keys[i], &l->histograms[i], fn, arg);
	}
	return rc;
}

void latency_forget(struct latency *l, const struct latency_row *row)
{
	const struct bpf_latency_key key = {.slot = (uint16_t)row->event,
					    .part = (uint16_t)row->part,
					    .cpu = row->cpu,
					    .id = row->id};

	(void)bpf_map_delete_elem(bpf_map__fd(l->programs->maps.histograms), &key);
}
