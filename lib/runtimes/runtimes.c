/*
 * Looking for processes and looking at what they have compiled have deadlines of their own.
 */
#include "runtimes/runtimes.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "runtimes/hotspot.h"
#include "trace/trace.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum {
	NS_PER_MS = 1000000,
	FIRST_PAUSE_MS = 10,
	MAX_LIST_PAUSE_MS = 1000, /* between two lists of the processes */
	MAX_LOOK_PAUSE_MS = 320,  /* between two looks at a runtime */
	MAX_ASK_PAUSE_MS = 60000, /* until a process is asked again that has none */
	TREE_ASK_PAUSE_MS = 1000, /* the same of a target, which has few */
	PRICE = 50,               /* a pause is so many times as long as what it follows took */
	LAST_MS = 2000,           /* for the last look */
	MAX_PROCESSES = 1 << 16,
	MAX_RUNTIMES = 256,
};
/* Of changes: a process may compile for ever. What comes later has no name. */
static const uint64_t max_changes = 1 << 22;

struct process {
	uint32_t pid; /* the key */
	uint32_t listed;
	uint64_t asked_ns, due_ns, pause_ns;
	struct hotspot *hotspot; /* owned; NULL: it has none */
	bool is_refused;         /* that was said */
};

struct runtimes {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_stopping, has_ended, is_left;
	bool is_new; /* the target is another one */
	runtimes_fn *add;
	void *arg;
	pthread_t thread;
	uint32_t *id; /* owned, under the lock */
	size_t nr_ids;
	bool has_children;
	/* of the thread */
	const struct root *root;
	struct dict processes; /* struct process */
	size_t nr_runtimes;
	uint32_t nr_lists;
	uint64_t list_due_ns, list_pause_ns, nr_changes;
	struct list {
		uint32_t *pid; /* owned */
		size_t nr, room;
	} list;
};

static void free_all(struct runtimes *r)
{
	for (size_t i = 0; i < r->processes.nr; i++)
		hotspot_close(((struct process *)dict_at(&r->processes, (uint32_t)i))->hotspot);
	dict_fini(&r->processes);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	mem_free(r->list.pid);
	mem_free(r->id);
	mem_free(r);
}

/* --- which processes */

static int add_pid(uint32_t pid, void *arg)
{
	struct list *l = &((struct runtimes *)arg)->list;
	uint32_t *to = l->nr < MAX_PROCESSES ? MEM_ADD(l->pid, l->nr, l->room) : NULL;

	if (!to)
		return -EFBIG;
	*to = pid;
	return 0;
}

struct parent {
	struct runtimes *runtimes;
	uint32_t pid;
};

static int add_children(uint32_t tid, void *arg)
{
	const struct parent *p = arg;

	(void)proc_each_child(PROC(p->runtimes->root, p->pid, tid), add_pid, p->runtimes);
	return 0;
}

/* Those of the target. A thread is that of its process. */
static void list_tree(struct runtimes *r)
{
	bool has_children;

	pthread_mutex_lock(&r->lock);
	has_children = r->has_children;
	for (size_t i = 0; i < r->nr_ids; i++)
		(void)add_pid(r->id[i], r);
	pthread_mutex_unlock(&r->lock);
	for (size_t i = 0; i < r->list.nr; i++) {
		struct parent p = {r, r->list.pid[i]};
		uint64_t process;

		if (!proc_status_number(PROC(r->root, p.pid), "Tgid", &process))
			continue;
		p.pid = r->list.pid[i] = (uint32_t)process;
		if (has_children)
			(void)proc_each_thread(PROC(r->root, p.pid), add_children, &p);
	}
}

static uint64_t longer(uint64_t pause_ns, uint64_t most_ms)
{
	pause_ns = pause_ns ? 2 * pause_ns : (uint64_t)FIRST_PAUSE_MS * NS_PER_MS;
	return pause_ns < most_ms * NS_PER_MS ? pause_ns : most_ms * NS_PER_MS;
}

/* When to do again what began when this thread had used so much CPU time. */
static uint64_t next_due(uint64_t began_ns, uint64_t pause_ns)
{
	const uint64_t price_ns = PRICE * (clock_thread_cpu_ns() - began_ns);

	return clock_monotonic_ns() + (pause_ns > price_ns ? pause_ns : price_ns);
}

static void list_processes(struct runtimes *r)
{
	const uint64_t began_ns = clock_thread_cpu_ns();

	r->list.nr = 0;
	r->nr_lists++;
	if (r->nr_ids)
		list_tree(r);
	else
		(void)proc_each(r->root, add_pid, r);
	for (size_t i = 0; i < r->list.nr; i++) {
		struct process *p = dict_get(&r->processes, &r->list.pid[i]);

		if (p)
			p->listed = r->nr_lists;
	}
	r->list_pause_ns = longer(r->list_pause_ns, MAX_LIST_PAUSE_MS);
	r->list_due_ns = next_due(began_ns, r->list_pause_ns);
}

/* --- a process */

static void on_change(void *arg, const struct trace_compiled *change)
{
	struct runtimes *r = arg;

	if (r->nr_changes++ >= max_changes)
		return;
	pthread_mutex_lock(&r->lock);
	if (!r->is_left)
		r->add(r->arg, change);
	pthread_mutex_unlock(&r->lock);
}

static void ask(struct runtimes *r, struct process *p)
{
	const uint64_t began_ns = clock_thread_cpu_ns(), now_ns = clock_monotonic_ns();
	int rc =
	    r->nr_runtimes < MAX_RUNTIMES ? hotspot_open(p->pid, p->asked_ns, &p->hotspot) : -EFBIG;

	p->pause_ns = longer(p->pause_ns, r->nr_ids ? TREE_ASK_PAUSE_MS : MAX_ASK_PAUSE_MS);
	if (rc == 0) {
		r->nr_runtimes++;
		p->pause_ns = 0;
	} else if (rc != -ENOENT && !p->is_refused && rc != -EPERM) {
		p->is_refused = true;
		log_verbose(1, "process %u: methods of its Java machine have no names: %s", p->pid,
			    rc == -ENOTSUP ? "its version is not known" : strerror(-rc));
	}
	p->asked_ns = now_ns;
	p->due_ns = rc ? next_due(began_ns, p->pause_ns) : now_ns;
}

/* The machine has ended: what it compiled is no more. */
static void end(struct runtimes *r, struct process *p)
{
	hotspot_leave(p->hotspot, on_change, r);
	hotspot_close(p->hotspot);
	p->hotspot = NULL;
	p->asked_ns = p->due_ns = clock_monotonic_ns();
	p->pause_ns = 0;
	r->nr_runtimes--;
}

static void look(struct runtimes *r, struct process *p)
{
	const uint64_t began_ns = clock_thread_cpu_ns();
	bool has_changed = false;

	if (hotspot_look(p->hotspot, on_change, r, &has_changed)) {
		end(r, p);
		return;
	}
	p->pause_ns = longer(has_changed ? 0 : p->pause_ns, MAX_LOOK_PAUSE_MS);
	p->due_ns = next_due(began_ns, p->pause_ns);
}

static bool is_stopping(struct runtimes *r)
{
	bool is;

	pthread_mutex_lock(&r->lock);
	is = r->is_stopping;
	pthread_mutex_unlock(&r->lock);
	return is;
}

/* Processes of another target are looked for as often as those of the first were. */
static bool is_new(struct runtimes *r)
{
	bool is;

	pthread_mutex_lock(&r->lock);
	is = r->is_new;
	r->is_new = false;
	pthread_mutex_unlock(&r->lock);
	if (is)
		r->list_pause_ns = 0;
	return is;
}

/* Whatever is due; the time of what is due next. */
static uint64_t do_due(struct runtimes *r)
{
	uint64_t next_ns;

	if (is_new(r) || clock_monotonic_ns() >= r->list_due_ns)
		list_processes(r);
	next_ns = r->list_due_ns;
	for (size_t i = 0; i < r->processes.nr && !is_stopping(r); i++) {
		struct process *p = dict_at(&r->processes, (uint32_t)i);

		if (p->listed != r->nr_lists && !p->hotspot)
			continue;
		if (clock_monotonic_ns() >= p->due_ns) {
			if (!p->hotspot)
				ask(r, p);
			if (p->hotspot)
				look(r, p);
		}
		next_ns = p->due_ns < next_ns ? p->due_ns : next_ns;
	}
	return next_ns;
}

static void look_last(struct runtimes *r)
{
	for (size_t i = 0; i < r->processes.nr; i++) {
		struct process *p = dict_at(&r->processes, (uint32_t)i);

		if (p->hotspot)
			look(r, p);
	}
}

/* --- the thread */

static void *run(void *arg)
{
	struct runtimes *r = arg;
	bool is_left;

	while (!is_stopping(r)) {
		const uint64_t next_ns = do_due(r);

		pthread_mutex_lock(&r->lock);
		if (!r->is_stopping && !r->is_new)
			(void)thread_cond_wait(&r->changed, &r->lock, next_ns);
		pthread_mutex_unlock(&r->lock);
	}
	look_last(r);
	pthread_mutex_lock(&r->lock);
	r->has_ended = true;
	is_left = r->is_left;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (is_left)
		free_all(r);
	return NULL;
}

static int copy_ids(struct runtimes *r, const struct runtimes_of *of)
{
	r->id = mem_calloc(of->nr_ids ? of->nr_ids : 1, sizeof(*r->id));
	if (!r->id)
		return -ENOMEM;
	for (size_t i = 0; i < of->nr_ids; i++)
		r->id[i] = (uint32_t)of->ids[i];
	r->nr_ids = of->nr_ids;
	return 0;
}

int runtimes_start(struct runtimes **out, const struct runtimes_of *of, runtimes_fn *add, void *arg)
{
	struct runtimes *r = mem_zalloc(sizeof(*r));
	int rc = r ? thread_cond_init(&r->changed) : -ENOMEM;

	if (rc) {
		mem_free(r);
		return rc;
	}
	pthread_mutex_init(&r->lock, NULL);
	dict_init(&r->processes, sizeof(struct process), DICT_KEY(struct process, pid),
		  MAX_PROCESSES);
	r->root = of->root;
	r->has_children = of->has_children;
	r->add = add;
	r->arg = arg;
	rc = copy_ids(r, of) ?: thread_start_blocked(&r->thread, run, r);
	if (rc)
		free_all(r);
	else
		*out = r;
	return rc;
}

void runtimes_follow(struct runtimes *r, pid_t id)
{
	pthread_mutex_lock(&r->lock);
	if (r->nr_ids == 1)
		r->id[0] = (uint32_t)id;
	r->is_new = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void runtimes_stop(struct runtimes *r)
{
	const uint64_t until_ns = clock_monotonic_ns() + (uint64_t)LAST_MS * NS_PER_MS;
	bool has_ended;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_stopping = true;
	pthread_cond_broadcast(&r->changed);
	while (!r->has_ended && clock_monotonic_ns() < until_ns)
		(void)thread_cond_wait(&r->changed, &r->lock, until_ns);
	has_ended = r->has_ended;
	r->is_left = !has_ended;
	pthread_mutex_unlock(&r->lock);
	if (!has_ended) {
		pthread_detach(r->thread);
		return;
	}
	pthread_join(r->thread, NULL);
	free_all(r);
}
