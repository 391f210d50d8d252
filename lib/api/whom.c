/*
 * From what a program names to what the kernel counts.
 */
#include "api/whom.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/root.h"
#include "pmu/group.h"
#include "proc/list.h"
#include "proc/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int refuse_absent(const char *what, int id, struct err *e)
{
	return err_set(e, -ESRCH, "there is no %s %d", what, id);
}

/* Also of threads, which /proc does not list. */
static bool is_thread(int id)
{
	return proc_is_there(PROC(&root_live, (uint32_t)id));
}

static int check_cpu(const struct api_whom *w, const struct host *h, struct err *e)
{
	if (cpuset_has(&h->online, (unsigned)w->id))
		return 0;
	return err_set(e, -ENODEV, "CPU %d is not online", w->id);
}

static int check_process(struct api_whom *w, struct err *e)
{
	if (!w->id)
		w->id = getpid();
	if (kill(w->id, 0) && errno == ESRCH)
		return refuse_absent("process", w->id, e);
	if (w->flags & CPUPERF_CHILDREN || pmu_has_inherit_thread(&pmu_kernel_ops))
		return 0;
	err_set(e, -ENOTSUP,
		"this kernel (before 5.13) cannot count a process without the "
		"processes that it creates");
	err_hint(e, "count both: CPUPERF_CHILDREN");
	return -ENOTSUP;
}

int api_whom_check(struct api_whom *w, const struct host *h, struct err *e)
{
	if (w->id < 0 || w->flags & ~(unsigned)CPUPERF_CHILDREN)
		return err_set(e, -EINVAL, "%s: not valid", w->id < 0 ? "id" : "flags");
	if (w->scope == CPUPERF_CPU && w->flags)
		return err_set(e, -EINVAL, "flags: a CPU has no children");
	if (w->scope == CPUPERF_CPU)
		return check_cpu(w, h, e);
	w->is_user_only = pmu_is_user_only(&pmu_kernel_ops);
	if (w->scope == CPUPERF_PROCESS)
		return check_process(w, e);
	if (w->scope != CPUPERF_THREAD)
		return err_set(e, -EINVAL, "scope: not valid: %d", (int)w->scope);
	return !w->id || is_thread(w->id) ? 0 : refuse_absent("thread", w->id, e);
}

static int add_id(struct api_whom *w, pid_t id)
{
	pid_t *new = MEM_ADD(w->ids, w->nr_ids, w->id_room);

	if (!new)
		return -ENOMEM;
	*new = id;
	return 0;
}

static int add_thread(uint32_t tid, void *arg)
{
	const struct api_whom *w = arg;

	return (pid_t)tid == w->except ? 0 : add_id(arg, (pid_t)tid);
}

static int list_threads(struct api_whom *w)
{
	return proc_each_thread(PROC(&root_live, (uint32_t)w->id), add_thread, w);
}

int api_whom_list(struct api_whom *w, struct err *e)
{
	int rc = 0;

	w->nr_ids = 0;
	if (w->scope == CPUPERF_THREAD || (int)w->scope == CPUPERF_CGROUP)
		rc = add_id(w, w->id);
	else if (w->scope == CPUPERF_PROCESS)
		rc = list_threads(w);
	if (rc == -ENOENT || rc == -ESRCH)
		return refuse_absent("process", w->id, e);
	return rc ? err_set(e, rc, "the threads of process %d cannot be listed: %s", w->id,
			    strerror(-rc))
		  : 0;
}

static bool has_id(const struct api_whom *w, pid_t id)
{
	return ARRAY_ANY(own, w->ids, w->nr_ids, *own == id);
}

bool api_whom_has_new(const struct api_whom *w)
{
	struct api_whom now = {.id = w->id, .except = w->except};
	bool has_new = false;

	if (w->scope == CPUPERF_PROCESS && list_threads(&now) == 0)
		for (size_t i = 0; i < now.nr_ids; i++)
			has_new |= !has_id(w, now.ids[i]);
	api_whom_fini(&now);
	return has_new;
}

void api_whom_fini(struct api_whom *w)
{
	mem_free(w->ids);
	w->ids = NULL;
	w->nr_ids = w->id_room = 0;
}

bool api_whom_is_inherited(const struct api_whom *w)
{
	return w->scope == CPUPERF_PROCESS || w->flags & CPUPERF_CHILDREN;
}

bool api_whom_stays_in_process(const struct api_whom *w)
{
	return w->scope == CPUPERF_PROCESS && !(w->flags & CPUPERF_CHILDREN);
}
