/*
 * Loading and reading the programs of exits.bpf.c.
 */
#include "bpf/exits.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/privilege.h"

#include <errno.h>

#include "bpf/follow_shared.h"
#include "bpf/loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/generated/exits.h"

struct exits {
	struct exits_bpf *programs; /* owned */
	struct ring_buffer *rings;  /* owned; older, then recent */
	exits_fn *fn;               /* of exits_read */
	void *arg;
};

static int pass(void *arg, void *data, size_t bytes)
{
	struct exits *x = arg;

	if (bytes >= sizeof(struct bpf_exits_process))
		x->fn(data, x->arg);
	return 0;
}

static int load(struct exits *x, const struct follow_config *c, struct err *e)
{
	int rc = loading_open(&exits_programs, &x->programs);
	struct exits_bpf *p = x->programs;

	if (rc)
		return rc;
	p->rodata->has_target = c->has_target;
	p->rodata->has_children = c->has_children;
	p->rodata->is_followed = c->is_command;
	rc = loading_follow(p->obj, c, c->has_target, &p->rodata->cgroup_id, e)
		 ?: loading_load(p->skeleton) ?: loading_attach(p->skeleton);
	if (rc)
		return rc;
	x->rings = ring_buffer__new(bpf_map__fd(p->maps.older), pass, x, NULL);
	if (!x->rings)
		return -errno;
	return ring_buffer__add(x->rings, bpf_map__fd(p->maps.recent), pass, x);
}

int exits_open(const struct follow_config *config, struct exits **out, struct err *e)
{
	struct exits *x = mem_zalloc(sizeof(*x));
	int rc;

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	loading_begin();
	if (!loading_has_trace("sched_process_free"))
		rc = err_set(e, -ENOTSUP, "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	else if ((rc = load(x, config, e)))
		rc = e->code ? e->code : loading_refuse(rc, e);
	loading_end();
	if (rc)
		exits_close(x);
	else
		*out = x;
	return rc;
}

void exits_close(struct exits *x)
{
	if (!x)
		return;
	ring_buffer__free(x->rings);
	loading_close(x->programs);
	mem_free(x);
}

int exits_add_process(struct exits *x, pid_t process)
{
	const struct bpf_follow member = {.is_member = 1};

	return loading_add_process(x->programs->maps.tasks, process, &member);
}

int exits_read(struct exits *x, exits_fn *fn, void *arg)
{
	int rc;

	x->fn = fn;
	x->arg = arg;
	rc = ring_buffer__consume(x->rings);
	return rc < 0 ? rc : 0;
}

int exits_commands(struct exits *x, exits_fn *fn, void *arg)
{
	int map = bpf_map__fd(x->programs->maps.commands), rc = 0;
	struct bpf_exits_process p = {.pid = 0};
	char *after = NULL;

	if (!__atomic_load_n(&x->programs->bss->nr_commands, __ATOMIC_ACQUIRE))
		return 0;
	privilege_raise();
	for (; rc == 0; after = p.comm) {
		rc = bpf_map_get_next_key(map, after, p.comm);
		if (rc == 0 && bpf_map_lookup_elem(map, p.comm, &p.sums) == 0)
			fn(&p, arg);
	}
	privilege_lower();
	return rc == -ENOENT ? 0 : rc;
}

/* Tasks are freed after a grace period of RCU, which this command waits for. */
void exits_settle(void)
{
	enum { MEMBARRIER_GLOBAL = 1 };
	const struct timespec freed = {.tv_nsec = 5000000};

	(void)syscall(SYS_membarrier, MEMBARRIER_GLOBAL, 0, 0);
	(void)nanosleep(&freed, NULL);
}

uint64_t exits_lost(const struct exits *x)
{
	return __atomic_load_n(&x->programs->bss->nr_lost, __ATOMIC_RELAXED);
}

void exits_begin(struct exits *x)
{
	__atomic_store_n(&x->programs->bss->read_ns, clock_monotonic_ns(), __ATOMIC_RELEASE);
}
