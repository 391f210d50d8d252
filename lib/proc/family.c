#include "proc/family.h"

#include "base/array.h"
#include "base/mem.h"
#include "proc/list.h"
#include "proc/proc.h"

#include <errno.h>

void proc_family_fini(struct proc_family *f)
{
	mem_free(f->pid);
	*f = (struct proc_family){.nr = 0};
}

int proc_family_add(struct proc_family *f, uint32_t pid)
{
	uint32_t *to;

	if (ARRAY_ANY(x, f->pid, f->nr, *x == pid))
		return 0;
	to = MEM_ADD(f->pid, f->nr, f->room);
	if (!to)
		return -ENOMEM;
	*to = pid;
	return 0;
}

struct thread {
	struct proc_family *to;
	const struct root *root;
	uint32_t pid;
};

static int add_child(uint32_t pid, void *arg)
{
	return proc_family_add(arg, pid);
}

static int add_children(uint32_t tid, void *arg)
{
	const struct thread *t = arg;
	int rc = proc_each_child(PROC(t->root, t->pid, tid), add_child, t->to);

	return rc == -ENOMEM ? rc : 0;
}

int proc_family_grow(struct proc_family *f, const struct root *root)
{
	int rc = 0;

	for (size_t i = 0; i < f->nr && rc == 0; i++) {
		struct thread t = {f, root, f->pid[i]};

		rc = proc_each_thread(PROC(root, t.pid), add_children, &t);
		rc = rc == -ENOMEM ? rc : 0;
	}
	return rc;
}
