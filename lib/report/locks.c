/*
 * Locks, and of each its threads, places and holders: one table of all these parts.
 */
#include "report/locks.h"

#include "base/array.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/samples.h"
#include "report/functions.h"
#include "report/own.h"
#include "report/states.h"
#include "report/waker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lock {
	uint64_t futex; /* the key, with the next */
	uint32_t process, zero;
	struct report_lock sum;
};

enum part_kind { THREAD, PLACE, HOLDER };

struct part {
	uint32_t lock, kind, what, tid; /* the key: the number of a function, or of a text */
	uint32_t lock_kind;             /* of a place: in kinds */
	uint64_t ended_ns,
	    lasts_ns; /* of a thread: its last samples, of a wait that had ended or not */
	struct report_weight weight;
};

struct task {
	uint32_t pid, tid, comm; /* the key */
	struct report_weight used, all;
};

/* Of the threads of a process. */
struct name {
	uint32_t pid, comm; /* the key */
	uint32_t tid;       /* of one that has it; 0: none does */
	bool is_of_several;
};

struct report_locks {
	const struct report_functions *functions;
	struct report_sink sink;
	struct dict locks, parts, tasks, names;
	struct report_weight unknown;
	struct report_lock *rows; /* owned */
};

/* What a function of the C library waits for, by how its name begins without underscores; and
 * whether the word says who that is. What stands in front of another goes before. */
static const struct {
	const char *function;
	const char *kind; /* NULL: what others call */
	bool has_owner;
} kinds[] = {
    {"", "futex", false},
    {"pthread_mutex_", "mutex", true},
    {"lll_lock_wait_private", "mutex", false}, /* of the C library's own, which has no owner */
    {"lll_lock_wait", "mutex", true},
    {"lll_mutex_", "mutex", true},
    {"pthread_rwlock_", "rwlock", false},
    {"pthread_cond_", "condition", false},
    {"sem_", "semaphore", false},
    {"new_sem_", "semaphore", false},
    {"pthread_barrier_", "barrier", false},
    {"pthread_join", "thread end", true},
    {"pthread_clockjoin", "thread end", true},
    {"pthread_timedjoin", "thread end", true},
    {"pthread_once", "once", false},
    {"std::shared_mutex::", "rwlock", false},
    {"std::shared_timed_mutex::", "rwlock", false},
    {"futex_", NULL, false},
    {"do_futex_wait", NULL, false},
    {"lll_", NULL, false},
    {"syscall_c", NULL, false}, /* __syscall_cancel, __syscall_cp */
    {"internal_syscall_cancel", NULL, false},
    {"timedwait", NULL, false}, /* of musl */
};

/* Its row; 0: another function. */
static uint32_t find_kind(const char *name)
{
	name += strspn(name, "_");
	if (strncmp(name, "GI_", 3) == 0)
		name += 3 + strspn(name + 3, "_");
	for (uint32_t k = 1; k < ARRAY_NR(kinds); k++)
		if (strncmp(name, kinds[k].function, strlen(kinds[k].function)) == 0)
			return k;
	return 0;
}

struct place {
	size_t frame;  /* of the program */
	uint32_t kind; /* in kinds */
};

/* By the functions of libraries from the innermost on, which a static program has in its own file:
 * they end at the program's own. */
static struct place find_place(const struct report_frame *frames, size_t nr)
{
	const size_t own = report_own_frame(frames, nr, false);
	uint32_t kind = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct report_function *f = frames[i].function;
		const uint32_t k = f->is_kernel ? 0 : find_kind(f->name);

		if (!k && report_own_rank(f) >= REPORT_OWN_OF_PROGRAM && i >= own)
			return (struct place){i, kind};
		if (!kind && kinds[k].kind)
			kind = k;
	}
	return (struct place){own, kind};
}

const char *report_lock_kind(const struct report_frame *frames, size_t nr)
{
	const uint32_t kind = find_place(frames, nr).kind;

	return kind ? kinds[kind].kind : "";
}

bool report_lock_is_held(const struct report_lock *l)
{
	return strcmp(l->kind, "mutex") == 0 || strcmp(l->kind, "rwlock") == 0;
}

/* How many waits a sample stands for that ended: of one that is cut to a range of time, its part is
 * a wait, too, so that it has part in the mean and the longest. */
static double waits_of(const struct report_entry *e)
{
	return e->wait->lasts || !e->wait->ns ? 0 : (double)e->weight.weight / (double)e->wait->ns;
}

static struct part *get_part(struct report_locks *l, uint32_t lock, enum part_kind kind,
			     uint32_t what, uint32_t tid)
{
	const struct part key = {.lock = lock, .kind = kind, .what = what, .tid = tid};

	return dict_get(&l->parts, &key);
}

/* Of the names of wakers: "actor (10/11)", not "timer" or "[not recorded]". */
static bool is_task(const char *waker)
{
	const size_t len = strlen(waker);

	return len && waker[len - 1] == ')';
}

/* 0 or -ENOMEM. */
static int add_holder(struct report_locks *l, uint32_t lock, uint32_t kind,
		      const struct report_entry *e)
{
	const bool has_owner = kinds[kind].has_owner && e->wait->owner != TRACE_UNKNOWN;
	const bool has_waker = l->sink.parts & REPORT_BY_WAKER &&
			       is_task(report_functions_text(l->functions, e->key.waker));
	struct part *p;

	if (!has_owner && !has_waker)
		return 0;
	p = get_part(l, lock, HOLDER, has_owner ? e->wait->owner_comm : e->key.waker,
		     has_owner ? e->wait->owner : TRACE_UNKNOWN);
	if (p)
		report_weight_add(&p->weight, &e->weight);
	return p ? 0 : -ENOMEM;
}

static int add_parts(struct report_locks *l, uint32_t lock, const struct report_entry *e)
{
	const size_t waker = report_waker_frames(e->frames, e->nr_frames);
	const struct report_frame *frames = e->frames + waker;
	const struct place at = find_place(frames, e->nr_frames - waker);
	struct part *thread = get_part(l, lock, THREAD, 0, e->key.tid), *place;
	uint64_t *last;

	if (!thread)
		return -ENOMEM;
	last = e->wait->lasts ? &thread->lasts_ns : &thread->ended_ns;
	*last = e->wait->time_ns > *last ? e->wait->time_ns : *last;
	place = get_part(l, lock, PLACE, frames[at.frame].function->number, 0);
	if (!place)
		return -ENOMEM;
	report_weight_add(&place->weight, &e->weight);
	place->lock_kind = at.kind;
	return add_holder(l, lock, at.kind, e);
}

/* 0 or -ENOMEM. */
static int add_task(struct report_locks *l, const struct report_entry *e)
{
	const struct task key = {.pid = e->key.pid, .tid = e->key.tid, .comm = e->key.comm};
	const struct name name_key = {.pid = e->key.pid, .comm = e->key.comm};
	struct name *name = dict_get(&l->names, &name_key);
	struct task *task;

	if (!name)
		return -ENOMEM;
	name->is_of_several |= name->tid && name->tid != e->key.tid;
	name->tid = e->key.tid;
	if (e->key.state == REPORT_NO_STATE)
		return 0;
	task = dict_get(&l->tasks, &key);
	if (!task)
		return -ENOMEM;
	report_weight_add(&task->all, &e->weight);
	if (e->key.state == REPORT_ON_CPU || e->key.state == REPORT_IN_QUEUE)
		report_weight_add(&task->used, &e->weight);
	return 0;
}

static void add_unknown(struct report_locks *l, const struct report_entry *e)
{
	if (e->key.state == REPORT_BLOCKED &&
	    strcmp(report_functions_text(l->functions, e->key.reason), "futex") == 0)
		report_weight_add(&l->unknown, &e->weight);
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_locks *l = arg;
	struct report_lock *sum;
	struct lock key = {.zero = 0};
	uint32_t number;

	if (add_task(l, e))
		return -ENOMEM;
	if (!e->wait) {
		add_unknown(l, e);
		return 0;
	}
	key.futex = e->wait->futex;
	key.process = e->wait->process;
	number = dict_add(&l->locks, &key);
	if (number == DICT_NONE)
		return -ENOMEM;
	sum = &((struct lock *)dict_at(&l->locks, number))->sum;
	sum->futex = key.futex;
	sum->process = key.process;
	sum->pid = e->key.pid;
	sum->time_ns = e->wait->time_ns;
	sum->waits += waits_of(e);
	sum->max_ns = e->wait->ns > sum->max_ns ? e->wait->ns : sum->max_ns;
	report_weight_add(&sum->weight, &e->weight);
	return add_parts(l, number, e);
}

struct report_locks *report_locks_new(const struct report_functions *functions, bool with_wakers)
{
	struct report_locks *l = mem_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	l->functions = functions;
	l->sink =
	    (struct report_sink){.parts = REPORT_BY_FUTEX | REPORT_BY_STACK | REPORT_BY_PID |
					  REPORT_BY_TID | REPORT_BY_COMM | REPORT_BY_STATE |
					  REPORT_BY_REASON | (with_wakers ? REPORT_BY_WAKER : 0),
				 .entry = add_entry,
				 .arg = l};
	dict_init(&l->locks, sizeof(struct lock), DICT_KEY(struct lock, zero), DICT_MAX);
	dict_init(&l->parts, sizeof(struct part), DICT_KEY(struct part, tid), DICT_MAX);
	dict_init(&l->tasks, sizeof(struct task), DICT_KEY(struct task, comm), DICT_MAX);
	dict_init(&l->names, sizeof(struct name), DICT_KEY(struct name, comm), DICT_MAX);
	return l;
}

void report_locks_free(struct report_locks *l)
{
	if (!l)
		return;
	dict_fini(&l->locks);
	dict_fini(&l->parts);
	dict_fini(&l->tasks);
	dict_fini(&l->names);
	mem_free(l->rows);
	mem_free(l);
}

const struct report_sink *report_locks_sink(const struct report_locks *l)
{
	return &l->sink;
}

/* Of parts with the same weight, the one whose name comes first. */
static bool is_more(const char *name, uint64_t weight, const char *than, uint64_t its_weight)
{
	return weight != its_weight ? weight > its_weight : strcmp(name, than) < 0;
}

static void add_part(const struct report_locks *l, const struct part *p, struct report_lock *row,
		     struct report_weight *place)
{
	const struct report_functions *f = l->functions;

	row->threads += p->kind == THREAD;
	row->waits += p->kind == THREAD && p->lasts_ns > p->ended_ns;
	if (p->kind == PLACE &&
	    (!place->samples ||
	     is_more(report_functions_at(f, p->what)->name, p->weight.weight,
		     report_functions_at(f, row->function)->name, place->weight))) {
		*place = p->weight;
		row->function = p->what;
		row->kind = kinds[p->lock_kind].kind;
	}
	if (p->kind == HOLDER &&
	    (!row->holder.weight.samples ||
	     is_more(report_functions_text(f, p->what), p->weight.weight,
		     report_functions_text(f, row->holder.text), row->holder.weight.weight)))
		row->holder =
		    (struct report_holder){.text = p->what, .tid = p->tid, .weight = p->weight};
}

static void find_namesake(const struct report_locks *l, struct report_lock *row)
{
	const struct name key = {.pid = row->pid, .comm = row->holder.text};
	const uint32_t number = dict_find(&l->names, &key);
	const struct name *name = number == DICT_NONE ? NULL : dict_at(&l->names, number);

	row->holder.has_namesake = row->holder.tid != TRACE_UNKNOWN && name &&
				   (name->is_of_several || name->tid != row->holder.tid);
}

static int compare(const void *a, const void *b)
{
	const struct report_lock *x = a, *y = b;

	return order_u64(y->weight.weight, x->weight.weight)
		   ?: order_u64(x->process, y->process) ?: order_u64(x->futex, y->futex);
}

const struct report_lock *report_locks_rows(struct report_locks *l, size_t *nr)
{
	MEM_AUTO struct report_weight *places = mem_calloc(l->locks.nr + 1, sizeof(*places));

	mem_free(l->rows);
	l->rows = mem_calloc(l->locks.nr + 1, sizeof(*l->rows));
	if (!places || !l->rows)
		return NULL;
	for (uint32_t i = 0; i < l->locks.nr; i++)
		l->rows[i] = ((const struct lock *)dict_at(&l->locks, i))->sum;
	for (uint32_t i = 0; i < l->parts.nr; i++) {
		const struct part *p = dict_at(&l->parts, i);

		add_part(l, p, &l->rows[p->lock], &places[p->lock]);
	}
	for (uint32_t i = 0; i < l->locks.nr; i++)
		find_namesake(l, &l->rows[i]);
	qsort(l->rows, l->locks.nr, sizeof(*l->rows), compare);
	*nr = l->locks.nr;
	return l->rows;
}

void report_locks_holder_task(const struct report_locks *l, const struct report_lock *row,
			      struct report_holder_task *out)
{
	*out = (struct report_holder_task){.used = {0}};
	for (uint32_t i = 0; i < l->tasks.nr; i++) {
		const struct task *task = dict_at(&l->tasks, i);

		if (task->pid != row->pid || task->tid != row->holder.tid)
			continue;
		report_weight_add(&out->used, &task->used);
		report_weight_add(&out->all, &task->all);
	}
}

const struct report_weight *report_locks_unknown(const struct report_locks *l)
{
	return &l->unknown;
}
