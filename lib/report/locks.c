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

struct report_locks {
	const struct report_functions *functions;
	struct report_sink sink;
	struct dict locks, parts;
	struct report_lock *rows; /* owned */
};

/* What a function of the C library waits for, by how its name begins without underscores. */
static const struct {
	const char *function, *kind;
} kinds[] = {
    {"", "futex"},
    {"pthread_mutex_", "mutex"},
    {"lll_lock_wait", "mutex"},
    {"lll_mutex_", "mutex"},
    {"pthread_rwlock_", "rwlock"},
    {"pthread_cond_", "condition"},
    {"sem_", "semaphore"},
    {"new_sem_", "semaphore"},
    {"pthread_barrier_", "barrier"},
    {"pthread_join", "thread end"},
    {"pthread_clockjoin", "thread end"},
    {"pthread_timedjoin", "thread end"},
    {"pthread_once", "once"},
};

static uint32_t kind_of(const struct report_frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const char *name = frames[i].function->name;

		name += strspn(name, "_");
		for (uint32_t k = 1; k < ARRAY_NR(kinds); k++)
			if (strncmp(name, kinds[k].function, strlen(kinds[k].function)) == 0)
				return k;
	}
	return 0;
}

bool report_lock_is_held(const struct report_lock *l)
{
	return strcmp(l->kind, "mutex") == 0 || strcmp(l->kind, "rwlock") == 0;
}

/* How many waits a sample stands for that ended: of one that is cut to a range of time, a part. */
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
static int add_holder(struct report_locks *l, uint32_t lock, const struct report_entry *e)
{
	const bool has_owner = e->wait->owner != TRACE_UNKNOWN;
	const bool has_waker = l->sink.parts & REPORT_BY_WAKER &&
			       is_task(report_functions_text(l->functions, e->key.waker));
	struct part *p;

	if (!has_owner && !has_waker)
		return 0;
	p = get_part(l, lock, HOLDER, has_owner ? e->wait->owner_comm : e->key.waker,
		     e->wait->owner);
	if (p)
		report_weight_add(&p->weight, &e->weight);
	return p ? 0 : -ENOMEM;
}

static int add_parts(struct report_locks *l, uint32_t lock, const struct report_entry *e)
{
	const size_t waker = report_waker_frames(e->frames, e->nr_frames);
	const struct report_frame *frames = e->frames + waker;
	const size_t own = report_own_frame(frames, e->nr_frames - waker, false);
	struct part *thread = get_part(l, lock, THREAD, 0, e->key.tid), *place;
	uint64_t *last;

	if (!thread)
		return -ENOMEM;
	last = e->wait->lasts ? &thread->lasts_ns : &thread->ended_ns;
	*last = e->wait->time_ns > *last ? e->wait->time_ns : *last;
	place = get_part(l, lock, PLACE, frames[own].function->number, 0);
	if (!place)
		return -ENOMEM;
	report_weight_add(&place->weight, &e->weight);
	place->lock_kind = kind_of(frames, own + 1);
	return add_holder(l, lock, e);
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_locks *l = arg;
	struct report_lock *sum;
	struct lock key = {.zero = 0};
	uint32_t number;

	if (!e->wait)
		return 0;
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
	l->sink = (struct report_sink){.parts = REPORT_BY_FUTEX | REPORT_BY_STACK | REPORT_BY_PID |
						REPORT_BY_TID | (with_wakers ? REPORT_BY_WAKER : 0),
				       .entry = add_entry,
				       .arg = l};
	dict_init(&l->locks, sizeof(struct lock), DICT_KEY(struct lock, zero), DICT_MAX);
	dict_init(&l->parts, sizeof(struct part), DICT_KEY(struct part, tid), DICT_MAX);
	return l;
}

void report_locks_free(struct report_locks *l)
{
	if (!l)
		return;
	dict_fini(&l->locks);
	dict_fini(&l->parts);
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

static int compare(const void *a, const void *b)
{
	const struct report_lock *x = a, *y = b;

	return order_u64(y->weight.weight, x->weight.weight)
		   ?: order_u64(x->process, y->process) ?: order_u64(x->futex, y->futex);
}

const struct report_lock *report_locks_rows(struct report_locks *l, size_t *nr)
{
	MEM_AUTO struct report_weight *places = mem_calloc(l->locks.nr + 1, sizeof(*places));

	l->rows = mem_calloc(l->locks.nr + 1, sizeof(*l->rows));
	if (!places || !l->rows)
		return NULL;
	for (uint32_t i = 0; i < l->locks.nr; i++)
		l->rows[i] = ((const struct lock *)dict_at(&l->locks, i))->sum;
	for (uint32_t i = 0; i < l->parts.nr; i++) {
		const struct part *p = dict_at(&l->parts, i);

		add_part(l, p, &l->rows[p->lock], &places[p->lock]);
	}
	qsort(l->rows, l->locks.nr, sizeof(*l->rows), compare);
	*nr = l->locks.nr;
	return l->rows;
}
