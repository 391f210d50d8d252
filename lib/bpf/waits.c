/*
 * Loading and reading the programs of waits.bpf.c.
 */
#include "bpf/waits.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

#ifdef CPUPERF_HAS_BPF

#include "bpf/loading.h"
#include "bpf/waits_shared.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/waits.skel.h"

struct waits {
	struct waits_bpf *programs;  /* owned */
	struct bpf_waits_sums *sums; /* mapped; nr_cpus of them */
	size_t map_bytes;
	uint32_t nr_cpus;
	bool is_command, is_started;
};

static int configure(struct waits *w, const struct waits_config *c, struct err *e)
{
	struct waits_bpf *p = w->programs;
	bool is_sampled = c->mean_ns[WAITS_OFF_CPU] || c->mean_ns[WAITS_RUN_QUEUE];

	if (!loading_has_trace("sched_switch"))
		return err_set(e, -ENOTSUP, "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	if (is_sampled && !loading_has_trace("sched_exit_tp")) {
		return err_set(e, -ENOTSUP,
			       "waits can be counted but not sampled: the kernel has no tracepoint "
			       "sched_exit_tp");
	}
	bpf_program__set_autoload(p->progs.on_exit, is_sampled);
	p->rodata->mean_ns[BPF_WAIT_OFF_CPU] = c->mean_ns[WAITS_OFF_CPU];
	p->rodata->mean_ns[BPF_WAIT_RUN_QUEUE] = c->mean_ns[WAITS_RUN_QUEUE];
	p->rodata->counts_wakeups = c->counts_wakeups;
	p->rodata->has_target = c->has_target;
	p->rodata->has_children = c->has_children;
	return bpf_map__set_max_entries(p->maps.sums, w->nr_cpus)
		   ?: bpf_map__set_max_entries(p->maps.off_cpu, w->nr_cpus)
		   ?: bpf_map__set_max_entries(p->maps.run_queue, w->nr_cpus);
}

static int map_sums(struct waits *w)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base;

	w->map_bytes = (w->nr_cpus * sizeof(*w->sums) + page - 1) & ~(page - 1);
	base =
	    mmap(NULL, w->map_bytes, PROT_READ, MAP_SHARED, bpf_map__fd(w->programs->maps.sums), 0);
	if (base == MAP_FAILED)
		return -errno;
	w->sums = base;
	return 0;
}

int waits_open(const struct waits_config *config, struct waits **out, struct err *e)
{
	struct waits *w = mem_zalloc(sizeof(*w));
	int rc;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	loading_begin();
	w->is_command = config->is_command;
	rc = libbpf_num_possible_cpus();
	w->nr_cpus = rc > 0 ? (uint32_t)rc : 0;
	if (rc > 0) {
		w->programs = waits_bpf__open();
		rc = w->programs ? configure(w, config, e) : -errno;
	}
	if (rc == 0)
		rc = waits_bpf__load(w->programs);
	if (rc == 0)
		rc = map_sums(w);
	loading_end();
	if (rc) {
		waits_close(w);
		return e->code ? e->code : loading_refuse(rc, e);
	}
	*out = w;
	return 0;
}

void waits_close(struct waits *w)
{
	if (!w)
		return;
	if (w->sums)
		munmap(w->sums, w->map_bytes);
	waits_bpf__destroy(w->programs);
	mem_free(w);
}

/* 0 or -errno. Some kernels refuse bpf(2) altogether to programs without capabilities. */
static int update(const struct bpf_map *map, const void *key, const void *value)
{
	int rc;

	privilege_raise();
	rc = bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY);
	privilege_lower();
	return rc;
}

int waits_add_process(struct waits *w, pid_t process)
{
	struct bpf_waits_task member = {.is_member = w->is_command ? BPF_WAITS_STARTS : 1};
	int fd = (int)syscall(SYS_pidfd_open, process, 0), rc;

	if (fd < 0)
		return -errno;
	rc = update(w->programs->maps.tasks, &fd, &member);
	sys()->close(fd);
	return rc;
}

int waits_add_output(struct waits *w, enum waits_kind kind, uint32_t cpu, int fd)
{
	const struct bpf_map *const maps[] = {[WAITS_OFF_CPU] = w->programs->maps.off_cpu,
					      [WAITS_RUN_QUEUE] = w->programs->maps.run_queue};

	if (kind >= ARRAY_NR(maps))
		return 0;
	return update(maps[kind], &cpu, &fd);
}

int waits_start(struct waits *w, struct err *e)
{
	int rc = 0;

	loading_begin();
	if (!w->is_started)
		rc = waits_bpf__attach(w->programs);
	loading_end();

	w->is_started |= rc == 0;
	return rc ? loading_refuse(rc, e) : 0;
}

int waits_settle(struct waits *w)
{
	char unused[64];
	ssize_t n;
	int fd;

	privilege_raise();
	fd = bpf_iter_create(bpf_link__fd(w->programs->links.settle));
	privilege_lower();

	if (fd < 0)
		return fd;
	do
		n = sys()->read(fd, unused, sizeof(unused));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	n = n < 0 ? -errno : 0;
	sys()->close(fd);
	return (int)n;
}

uint64_t waits_sum(const struct waits *w, enum waits_kind kind, uint32_t cpu)
{
	const volatile struct bpf_waits_sums *s;

	if (cpu >= w->nr_cpus)
		return 0;
	s = &w->sums[cpu];
	return kind == WAITS_WAKEUPS ? s->wakeups : s->ns[kind] + s->settled[kind];
}

#else

int waits_open(const struct waits_config *config, struct waits **out, struct err *e)
{
	(void)config;
	(void)out;
	return err_set(e, -ENOTSUP, "this cpuperf was built without libbpf");
}

void waits_close(struct waits *w)
{
	(void)w;
}

int waits_add_process(struct waits *w, pid_t process)
{
	(void)w;
	(void)process;
	return -ENOTSUP;
}

int waits_add_output(struct waits *w, enum waits_kind kind, uint32_t cpu, int fd)
{
	(void)w;
	(void)kind;
	(void)cpu;
	(void)fd;
	return -ENOTSUP;
}

int waits_start(struct waits *w, struct err *e)
{
	(void)w;
	return err_set(e, -ENOTSUP, "this cpuperf was built without libbpf");
}

int waits_settle(struct waits *w)
{
	(void)w;
	return -ENOTSUP;
}

uint64_t waits_sum(const struct waits *w, enum waits_kind kind, uint32_t cpu)
{
	(void)w;
	(void)kind;
	(void)cpu;
	return 0;
}

#endif
