/*
 * The tasks of running processes, by one pass over /proc. It can miss a process that is created
 * meanwhile: the caller compares two passes.
 */
#include "target/tasks.h"

#include "base/mem.h"
#include "base/str.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "proc/stat.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct process {
	pid_t pid, parent;
	bool is_chosen, is_wanted, is_refused, is_zombie;
};

struct list {
	pid_t *item;
	size_t nr, room;
};

struct scan {
	const struct root *root;
	const struct target_choice *choice;
	struct process *process; /* owned; sorted by pid */
	size_t nr, room;
};

static int compare_processes(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int compare_pids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int append(struct list *l, pid_t pid)
{
	pid_t *new = MEM_ADD(l->item, l->nr, l->room);

	if (!new)
		return -ENOMEM;
	*new = pid;
	return 0;
}

static int add_process(uint32_t pid, void *arg)
{
	struct scan *s = arg;
	struct process made = {.pid = (pid_t)pid}, *new;
	char text[PROC_STAT_BYTES], comm[64];
	uint64_t parent;
	const struct proc_number number = {PROC_STAT_PARENT, &parent};
	struct proc_stat stat;

	if (proc_stat_load(PROC(s->root, pid), text, &stat, &number, 1) || parent > INT_MAX)
		return 0; /* it has ended */
	made.parent = (pid_t)parent;
	made.is_zombie = stat.state == 'Z';
	snprintf(comm, sizeof(comm), "%.*s", (int)stat.name_len, stat.name);
	for (size_t i = 0; i < s->choice->nr_comms; i++)
		made.is_chosen |= fnmatch(s->choice->comms[i], comm, 0) == 0;
	new = MEM_ADD(s->process, s->nr, s->room);
	if (!new)
		return -ENOMEM;
	*new = made;
	return 0;
}

static struct process *find(const struct scan *s, pid_t pid)
{
	const struct process key = {.pid = pid};

	return s->nr ? bsearch(&key, s->process, s->nr, sizeof(key), compare_processes) : NULL;
}

/* Chosen by name: not this process, nor the shell or the sudo that started it. */
static void exclude_own(struct scan *s)
{
	struct process *p = find(s, getpid());

	for (size_t i = 0; p && i < s->nr; i++) {
		p->is_chosen = false;
		p = find(s, p->parent);
	}
}

static int add_thread(uint32_t tid, void *arg)
{
	return append(arg, (pid_t)tid);
}

static int list_threads(const struct scan *s, pid_t pid, struct list *out)
{
	return proc_each_thread(PROC(s->root, (uint32_t)pid), add_thread, out);
}

/* A zombie; but one whose other threads still run has not ended. */
static bool has_ended(const struct scan *s, const struct process *p)
{
	struct list threads = {0};

	if (p->is_zombie)
		(void)list_threads(s, p->pid, &threads);
	mem_free(threads.item);
	return p->is_zombie && threads.nr <= 1;
}

static bool is_refused(const struct scan *s, const struct process *p)
{
	return s->choice->may_measure && !s->choice->may_measure(p->pid);
}

static int choose_pids(struct scan *s, struct err *e)
{
	for (size_t i = 0; i < s->choice->nr_pids; i++) {
		const char *text = s->choice->pids[i];
		struct process *p;
		uint64_t pid;

		if (str_parse_u64(text, &pid) || !pid || pid > INT_MAX)
			return err_set(e, -EINVAL, "\"%s\" is not a process number", text);
		p = find(s, (pid_t)pid);
		if (!p)
			return err_set(e, -ESRCH, "there is no process %d", (int)pid);
		if (has_ended(s, p))
			return err_set(e, -ESRCH, "process %d has ended", (int)pid);
		if (is_refused(s, p))
			return err_set(e, -EACCES,
				       "process %d belongs to another user, or has more rights",
				       (int)pid);
		p->is_chosen = true;
	}
	return 0;
}

/* Marks the chosen processes and all below them. A parent's number can be above its child's, so
 * this repeats until nothing changes. */
static void want(struct scan *s)
{
	bool has_changed = s->choice->has_children;
	pid_t self = getpid();

	for (size_t i = 0; i < s->nr; i++)
		s->process[i].is_wanted = s->process[i].is_chosen;
	while (has_changed) {
		has_changed = false;
		for (size_t i = 0; i < s->nr; i++) {
			struct process *p = &s->process[i];
			const struct process *parent = find(s, p->parent);

			if (p->is_wanted || !parent || !parent->is_wanted || p->pid == self)
				continue;
			p->is_wanted = has_changed = true;
		}
	}
	for (size_t i = 0; i < s->nr; i++)
		s->process[i].is_refused = s->process[i].is_wanted && is_refused(s, &s->process[i]);
}

/* Its end is awaited: that of the others follows, or they are below it. */
static bool is_awaited(const struct scan *s, const struct process *p)
{
	const struct process *parent = find(s, p->parent);

	return p->is_chosen || (parent && parent->is_refused);
}

static int list_all(struct scan *s, struct target_tasks *out)
{
	struct list chosen = {0}, processes = {0}, threads = {0}, refused = {0};
	int rc = 0;

	for (size_t i = 0; i < s->nr && rc == 0; i++) {
		const struct process *p = &s->process[i];

		if (!p->is_wanted)
			continue;
		rc = append(p->is_refused ? &refused : &processes, p->pid);
		if (rc || p->is_refused)
			continue;
		rc = is_awaited(s, p) ? append(&chosen, p->pid) : 0;
		if (rc == 0 && list_threads(s, p->pid, &threads) == -ENOMEM)
			rc = -ENOMEM;
	}
	*out = (struct target_tasks){.chosen = chosen.item,
				     .nr_chosen = chosen.nr,
				     .processes = processes.item,
				     .nr_processes = processes.nr,
				     .threads = threads.item,
				     .nr_threads = threads.nr,
				     .refused = refused.item,
				     .nr_refused = refused.nr};
	if (threads.nr)
		qsort(threads.item, threads.nr, sizeof(*threads.item), compare_pids);
	if (rc)
		target_tasks_fini(out);
	return rc;
}

/* Nothing can be measured. */
static int refuse(struct target_tasks *t, const struct target_choice *choice, struct err *e)
{
	const char *name = choice->nr_comms ? choice->comms[0] : "";
	size_t nr = t->nr_refused;

	target_tasks_fini(t);
	if (!nr)
		return err_set(e, -ESRCH, "no process has the name \"%s\"", name);
	return err_set(
	    e, -EACCES,
	    "all processes with the name \"%s\" (%zu) belong to other users, or have more rights",
	    name, nr);
}

int target_tasks_find(const struct root *root, const struct target_choice *choice,
		      struct target_tasks *out, struct err *e)
{
	struct scan s = {.root = root, .choice = choice};
	int rc;

	*out = (struct target_tasks){0};
	rc = proc_each(root, add_process, &s);
	if (rc) {
		err_set(e, rc, "/proc cannot be read: %s", strerror(-rc));
	} else {
		qsort(s.process, s.nr, sizeof(*s.process), compare_processes);
		exclude_own(&s);
		rc = choose_pids(&s, e);
	}
	if (rc == 0) {
		want(&s);
		rc = list_all(&s, out);
		if (rc)
			err_set(e, rc, "out of memory");
		else if (!out->nr_processes)
			rc = refuse(out, choice, e);
	}
	mem_free(s.process);
	return rc;
}

void target_tasks_fini(struct target_tasks *t)
{
	mem_free(t->chosen);
	mem_free(t->processes);
	mem_free(t->threads);
	mem_free(t->refused);
	*t = (struct target_tasks){0};
}

int target_tasks_check_own(const struct root *root, const struct target_tasks *t, struct err *e)
{
	char ignored[2];

	for (size_t i = 0; i < t->nr_processes; i++) {
		const struct proc *p = PROC(root, (uint32_t)t->processes[i]);
		ssize_t rc = proc_read_link(p, "exe", ignored, sizeof(ignored));

		if (rc >= 0)
			continue;
		if (rc != -ENOENT && rc != -ESRCH) {
			err_set(e, -EACCES,
				"process %d belongs to another user, or has more rights",
				t->processes[i]);
			err_hint(
			    e, "the rights of cpuperf's file are for one's own processes, and for "
			       "the whole machine");
			return -EACCES;
		}
		if (!proc_is_there(p)) /* one that waits to be reaped has no exe */
			return err_set(e, -ESRCH, "there is no process %d any more",
				       t->processes[i]);
	}
	return 0;
}

size_t target_tasks_new(const struct target_tasks *before, const struct target_tasks *now)
{
	size_t nr = 0;

	for (size_t i = 0; i < now->nr_threads; i++)
		nr += !before->nr_threads ||
		      !bsearch(&now->threads[i], before->threads, before->nr_threads,
			       sizeof(*before->threads), compare_pids);
	return nr;
}
