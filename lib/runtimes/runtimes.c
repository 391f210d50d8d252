/*
 * Looking for processes and looking at what they have compiled have deadlines of their own.
 */
#include "runtimes/runtimes.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/thread.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "runtimes/hotspot.h"
#include "runtimes/v8.h"
#include "runtimes/vmstructs.h"
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
	LAST_MS = 2000,           /* for the last look, where nothing else is asked for */
	MAX_PROCESSES = 1 << 16,
	MAX_RUNTIMES = 256,
	CHANGE_BYTES = 100, /* and its texts and data */
};
/* Of changes: a process may compile for ever. What it runs later has no name. */
static const uint64_t max_bytes = 256 << 20, max_process_bytes = 64 << 20;

struct process {
	uint32_t pid;       /* the key */
	uint8_t nr_refused; /* at most 2 */
	bool has_looked;
	bool has_names;            /* in the session, that apply until something else is passed */
	bool is_over;              /* changes are missing */
	uint64_t missing_ns;       /* since when */
	uint64_t bytes;            /* of its changes */
	uint64_t due_ns, asked_ns; /* when something is done next; when it was asked last */
	uint64_t ask_pause_ns, look_pause_ns;
	struct hotspot *hotspot; /* owned; NULL: it has none */
	struct v8 *v8;           /* the same */
};

struct runtimes {
	pthread_mutex_t passing; /* while add runs, which has locks of its own */
	pthread_mutex_t lock;    /* taken before passing; short, but at the end */
	pthread_cond_t changed;
	bool is_stopping, has_ended;
	bool is_new;  /* the target is another one */
	bool is_told; /* who maps a runtime's library; constant */
	bool is_lost; /* some of that */
	struct list {
		uint32_t *pid; /* owned */
		size_t nr, room;
	} seen; /* have mapped one */
	runtimes_fn *add;
	void *arg;
	pthread_t thread;
	uint32_t *id; /* owned, under the lock */
	size_t nr_ids;
	bool has_children;
	/* of the thread */
	struct root root;
	struct hotspot_shared shared;
	struct v8_shared v8;
	struct dict processes; /* struct process: of the last list, and those with a runtime */
	struct process *current;
	size_t nr_runtimes;
	uint64_t list_due_ns, list_pause_ns;
	uint64_t bytes, max_process_bytes; /* of changes */
	uint64_t last_ns;                  /* for the last look */
	struct list list;
};

/* --- the runtime of a process: one of them */

static bool has_runtime(const struct process *p)
{
	return p->hotspot || p->v8;
}

static void close_runtime(struct process *p)
{
	hotspot_close(p->hotspot);
	v8_close(p->v8);
	p->hotspot = NULL;
	p->v8 = NULL;
}

static void leave_runtime(struct process *p, hotspot_fn *fn, void *arg)
{
	if (p->hotspot)
		hotspot_leave(p->hotspot, fn, arg);
	else
		v8_leave(p->v8, fn, arg);
}

static int look_at_runtime(struct runtimes *r, struct process *p, hotspot_fn *fn, bool *has_changed)
{
	return p->hotspot ? hotspot_look(p->hotspot, fn, r, has_changed)
			  : v8_look(p->v8, r->shared.is_last, fn, r, has_changed);
}

static int open_runtime(struct runtimes *r, struct process *p)
{
	const int rc = hotspot_open(&r->shared, p->pid, p->asked_ns, &p->hotspot);

	return rc == -ENXIO ? v8_open(&r->v8, p->pid, p->asked_ns, &p->v8) : rc;
}

static void free_all(struct runtimes *r)
{
	for (size_t i = 0; i < r->processes.nr; i++)
		close_runtime(dict_at(&r->processes, (uint32_t)i));
	dict_fini(&r->processes);
	hotspot_shared_fini(&r->shared);
	v8_shared_fini(&r->v8);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->passing);
	pthread_cond_destroy(&r->changed);
	mem_free(r->list.pid);
	mem_free(r->seen.pid);
	mem_free(r->id);
	mem_free(r);
}

static bool is_stopping(struct runtimes *r)
{
	bool is;

	pthread_mutex_lock(&r->lock);
	is = r->is_stopping;
	pthread_mutex_unlock(&r->lock);
	return is;
}

/* --- which processes */

static int add_to(struct list *l, uint32_t pid)
{
	uint32_t *to = l->nr < MAX_PROCESSES ? MEM_ADD(l->pid, l->nr, l->room) : NULL;

	if (!to)
		return -EFBIG;
	*to = pid;
	return 0;
}

static int add_pid(uint32_t pid, void *arg)
{
	return add_to(&((struct runtimes *)arg)->list, pid);
}

struct parent {
	struct runtimes *runtimes;
	uint32_t pid;
};

static int add_children(uint32_t tid, void *arg)
{
	const struct parent *p = arg;

	(void)proc_each_child(PROC(&p->runtimes->root, p->pid, tid), add_pid, p->runtimes);
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
	for (size_t i = 0; i < r->list.nr && !is_stopping(r); i++) {
		struct parent p = {r, r->list.pid[i]};
		uint64_t process;

		if (!proc_status_number(PROC(&r->root, p.pid), "Tgid", &process))
			continue;
		p.pid = r->list.pid[i] = (uint32_t)process;
		if (has_children)
			(void)proc_each_thread(PROC(&r->root, p.pid), add_children, &p);
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

static void init_processes(struct runtimes *r)
{
	dict_init(&r->processes, sizeof(struct process), DICT_KEY(struct process, pid),
		  MAX_PROCESSES + MAX_RUNTIMES);
}

static bool keep(struct runtimes *r, const struct process *p)
{
	struct process *to = dict_get(&r->processes, &p->pid);

	if (to)
		*to = *p;
	return to;
}

/* Forgets those that were not listed again: their numbers may be used again. Of a runtime a look
 * finds that it has ended. */
static void follow_list(struct runtimes *r)
{
	struct dict old = r->processes;

	init_processes(r);
	for (size_t i = 0; i < old.nr; i++) {
		struct process *p = dict_at(&old, (uint32_t)i);

		if (has_runtime(p) && !keep(r, p)) {
			close_runtime(p);
			r->nr_runtimes--;
		}
	}
	for (size_t i = 0; i < r->list.nr; i++) {
		const struct process *p = dict_at(&old, dict_find(&old, &r->list.pid[i]));

		if (p)
			(void)keep(r, p);
		else
			(void)dict_add(&r->processes, &r->list.pid[i]);
	}
	dict_fini(&old);
}

static void list_processes(struct runtimes *r)
{
	const uint64_t began_ns = clock_thread_cpu_ns();

	r->list.nr = 0;
	if (r->nr_ids)
		list_tree(r);
	else
		(void)proc_each(&r->root, add_pid, r);
	follow_list(r);
	r->list_pause_ns = longer(r->list_pause_ns, MAX_LIST_PAUSE_MS);
	r->list_due_ns = r->is_told ? UINT64_MAX : next_due(began_ns, r->list_pause_ns);
}

/* As if it had not been asked: it may be another process by now. What it had compiled before has
 * its names until then. */
static void renew(struct process *p)
{
	if (!has_runtime(p))
		*p = (struct process){.pid = p->pid, .asked_ns = p->asked_ns};
}

/* Those that have mapped a library are asked now. */
static void follow_seen(struct runtimes *r)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->seen.nr; i++) {
		struct process *p = dict_get(&r->processes, &r->seen.pid[i]);

		if (p)
			renew(p);
		r->is_lost |= !p; /* a new list is without those that have ended */
	}
	r->seen.nr = 0;
	pthread_mutex_unlock(&r->lock);
}

/* Where it is not known who has mapped one, all are asked. */
static bool has_lost(struct runtimes *r)
{
	bool has;

	pthread_mutex_lock(&r->lock);
	has = r->is_lost;
	r->is_lost = false;
	pthread_mutex_unlock(&r->lock);
	for (size_t i = 0; has && i < r->processes.nr; i++)
		renew(dict_at(&r->processes, (uint32_t)i));
	return has;
}

/* --- a process */

static void pass(void *arg, const struct trace_compiled *change)
{
	struct runtimes *r = arg;
	const uint64_t bytes = CHANGE_BYTES + strlen(change->name) + strlen(change->file) +
			       change->data_bytes + change->scopes_bytes;

	r->current->bytes += bytes;
	r->bytes += bytes;
	pthread_mutex_lock(&r->passing);
	if (!atomic_load(&r->shared.is_left))
		r->add(r->arg, change);
	pthread_mutex_unlock(&r->passing);
}

/* What is inlined takes at most half of the room, so that later code still has names. */
static void pass_named(struct runtimes *r, const struct trace_compiled *change)
{
	struct trace_compiled named = *change;

	if (r->current->bytes >= r->max_process_bytes / 2 || r->bytes >= max_bytes / 2)
		named.scopes_bytes = 0;
	pass(r, &named);
}

static void on_change(void *arg, const struct trace_compiled *change)
{
	struct runtimes *r = arg;
	struct process *p = r->current;

	if (p->bytes < r->max_process_bytes && r->bytes < max_bytes && !p->is_over) {
		p->has_names = true;
		pass_named(r, change);
		return;
	}
	if (!p->is_over || change->time_ns < p->missing_ns)
		p->missing_ns = change->time_ns;
	p->is_over = true;
}

static int ask(struct runtimes *r, struct process *p)
{
	const uint64_t now_ns = clock_monotonic_ns();
	int rc = r->nr_runtimes < MAX_RUNTIMES ? open_runtime(r, p) : -EFBIG;

	p->ask_pause_ns = longer(p->ask_pause_ns, r->nr_ids ? TREE_ASK_PAUSE_MS : MAX_ASK_PAUSE_MS);
	if (rc == 0) {
		r->nr_runtimes++;
		p->look_pause_ns = 0;
	} else if (rc != -ENXIO && rc != -ENOENT && rc != -EPERM && p->nr_refused < 2 &&
		   ++p->nr_refused == 2) {
		/* at first it may be that the loader has not come so far */
		log_verbose(1, "process %u: methods of its Java machine have no names: %s", p->pid,
			    rc == -ENOTSUP ? "its version is not known" : strerror(-rc));
	}
	p->asked_ns = now_ns;
	return rc;
}

/* No older name applies from a time on. */
static void forget(struct runtimes *r, const struct process *p, uint64_t time_ns)
{
	const struct trace_compiled none = {.time_ns = time_ns, .end = UINT64_MAX, .pid = p->pid};

	pass(r, &none);
}

/* The machine has ended: what it compiled is no more. Or changes are missing: names that were
 * passed before may be wrong since then, those passed after it, from now on. */
static void end(struct runtimes *r, struct process *p)
{
	p->asked_ns = clock_monotonic_ns();
	if (p->has_names && p->is_over) {
		forget(r, p, p->missing_ns);
		forget(r, p, p->asked_ns);
	} else if (p->has_names) {
		leave_runtime(p, pass, r);
	}
	close_runtime(p);
	p->has_names = false;
	r->nr_runtimes--;
}

static void look(struct runtimes *r, struct process *p)
{
	bool has_changed = false;
	int rc = look_at_runtime(r, p, on_change, &has_changed);

	if (rc || p->is_over)
		end(r, p);
	else
		p->look_pause_ns = longer(has_changed ? 0 : p->look_pause_ns, MAX_LOOK_PAUSE_MS);
}

/* What has only the look of a runtime is asked ever more rarely: pauses after it grow, too. What is
 * read once, which has a limit, is no price. */
static void attend(struct runtimes *r, struct process *p)
{
	const uint64_t began_ns = clock_thread_cpu_ns(), once_ns = r->shared.once_ns;
	bool is_first;
	int rc = 0;

	r->current = p;
	if (!has_runtime(p))
		rc = ask(r, p);
	is_first = has_runtime(p) && !p->has_looked;
	if (has_runtime(p))
		look(r, p);
	p->due_ns = next_due(began_ns + (r->shared.once_ns - once_ns),
			     has_runtime(p) ? p->look_pause_ns : p->ask_pause_ns);
	if (is_first && has_runtime(p)) /* it reads all names, once */
		p->due_ns = clock_monotonic_ns() + p->look_pause_ns;
	p->has_looked |= is_first;
	if (p->is_over || (r->is_told && rc == -ENXIO))
		p->due_ns = UINT64_MAX;
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
	uint64_t now_ns, next_ns;

	if (is_new(r) || has_lost(r) || clock_monotonic_ns() >= r->list_due_ns)
		list_processes(r);
	follow_seen(r);
	now_ns = clock_monotonic_ns();
	next_ns = r->list_due_ns;
	for (size_t i = 0; i < r->processes.nr; i++) {
		struct process *p = dict_at(&r->processes, (uint32_t)i);

		if (now_ns >= p->due_ns) {
			if (is_stopping(r))
				break;
			attend(r, p);
		}
		next_ns = p->due_ns < next_ns ? p->due_ns : next_ns;
	}
	return next_ns;
}

/* Of a target, which has few processes, also at those that were not asked lately. */
static void look_last(struct runtimes *r)
{
	r->shared.is_last = true;
	if (!r->list_pause_ns)
		list_processes(r);
	for (size_t i = 0; i < r->processes.nr; i++) {
		struct process *p = dict_at(&r->processes, (uint32_t)i);

		r->current = p;
		if (!has_runtime(p) && r->nr_ids && !p->is_over)
			ask(r, p);
		if (has_runtime(p))
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
		if (!r->is_stopping && !r->is_new && !r->seen.nr && !r->is_lost)
			(void)thread_cond_wait(&r->changed, &r->lock, next_ns);
		pthread_mutex_unlock(&r->lock);
	}
	look_last(r);
	pthread_mutex_lock(&r->lock);
	r->has_ended = true;
	is_left = atomic_load(&r->shared.is_left);
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
	pthread_mutex_init(&r->passing, NULL);
	init_processes(r);
	r->root = *of->root;
	r->max_process_bytes = of->max_process_bytes ?: max_process_bytes;
	r->last_ns = of->last_ns ?: (uint64_t)LAST_MS * NS_PER_MS;
	r->has_children = of->has_children;
	r->is_told = of->is_told;
	r->shared.wants_methods = of->wants_methods;
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

void runtimes_see(struct runtimes *r, uint32_t pid, const char *path)
{
	if (!r->is_told || (!vmstructs_is_library(path) && !v8_is_program(path)))
		return;
	pthread_mutex_lock(&r->lock);
	r->is_lost |= add_to(&r->seen, pid) != 0;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void runtimes_lose(struct runtimes *r)
{
	if (!r->is_told)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_lost = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

int runtimes_stop(struct runtimes *r)
{
	uint64_t until_ns;
	pthread_t thread;
	bool has_ended;

	if (!r)
		return 0;
	until_ns = clock_monotonic_ns() + r->last_ns;
	thread = r->thread; /* one that is left frees *r */
	pthread_mutex_lock(&r->lock);
	r->is_stopping = true;
	pthread_cond_broadcast(&r->changed);
	while (!r->has_ended && clock_monotonic_ns() < until_ns)
		(void)thread_cond_wait(&r->changed, &r->lock, until_ns);
	has_ended = r->has_ended;
	pthread_mutex_lock(&r->passing);
	atomic_store(&r->shared.is_left, !has_ended);
	pthread_mutex_unlock(&r->passing);
	pthread_mutex_unlock(&r->lock);
	if (!has_ended) {
		pthread_detach(thread);
		return -ETIMEDOUT;
	}
	pthread_join(thread, NULL);
	free_all(r);
	return 0;
}
