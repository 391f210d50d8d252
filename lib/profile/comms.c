/*
 * The names of threads: each text once, and the intervals in which threads had them. A thread
 * starts with the name of the thread that forked it.
 */
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "profile/processes_internal.h"

#include <errno.h>
#include <string.h>

enum { MAX_NAME_BYTES = 64 }; /* TASK_COMM_LEN is 16 */

int profile_comms_add(struct profile_comms *all, const char *name, uint32_t *out)
{
	char clean[MAX_NAME_BYTES];
	uint32_t number;
	struct profile_comm *c;

	strncpy(clean, name, sizeof(clean) - 1);
	clean[sizeof(clean) - 1] = '\0';
	str_disarm(clean);
	number = dict_add(&all->items, clean);
	if (number == DICT_NONE) {
		all->is_full |= all->items.nr == PROFILE_MAX_COMMS;
		return all->is_full ? -EFBIG : -ENOMEM;
	}
	c = dict_at(&all->items, number);
	c->number = *out = number;
	return 0;
}

int profile_comms_init(struct profile_comms *all)
{
	static const char *const fixed[] = {[PROFILE_COMM_UNKNOWN] = "[unknown]",
					    [PROFILE_COMM_IDLE] = "swapper",
					    [PROFILE_COMM_ENDED] = "[ended]"};
	uint32_t number;
	int rc = 0;

	*all = (struct profile_comms){0};
	dict_init_texts(&all->items, sizeof(struct profile_comm), PROFILE_MAX_COMMS,
			PROFILE_TEXT_MAX_BYTES);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]) && rc == 0; i++)
		rc = profile_comms_add(all, fixed[i], &number);
	if (rc)
		profile_comms_fini(all);
	return rc;
}

void profile_comms_fini(struct profile_comms *all)
{
	dict_fini(&all->items);
}

/* A change of the name of a thread. */
struct renaming {
	uint64_t time_ns;
	uint32_t tid, place, comm;
	uint32_t parent_tid; /* for a fork */
	bool is_made, is_fork;
};

/* A naming by fork: its name is that of the parent thread. */
struct heir {
	uint64_t time_ns;
	uint32_t naming, parent_tid;
};

struct work {
	struct profile_processes *p;
	const struct profile_gathered *g;
	struct renaming *item; /* owned; by tid, then time */
	size_t nr;
	struct heir *heirs; /* owned */
	size_t nr_heirs, heirs_room;
};

static int compare_renamings(const void *a, const void *b)
{
	const struct renaming *x = a, *y = b;

	return order_u64(x->tid, y->tid) ?: order_u64(x->time_ns, y->time_ns) ?: order_u64(x->place, y->place);
}

static int compare_heirs(const void *a, const void *b)
{
	const struct heir *x = a, *y = b;

	return order_u64(x->time_ns, y->time_ns);
}

static bool is_renaming(const struct profile_change *c)
{
	return c->kind == PROFILE_COMM || c->kind == PROFILE_EXEC ||
	       (c->kind == PROFILE_FORK && !c->is_made);
}

static int gather(struct work *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->g->nr_changes; i++)
		nr += is_renaming(&w->g->changes[i]);
	w->item = mem_calloc(nr, sizeof(*w->item));
	if (!w->item)
		return -ENOMEM;
	for (size_t i = 0; i < w->g->nr_changes; i++) {
		const struct profile_change *c = &w->g->changes[i];

		if (!is_renaming(c))
			continue;
		w->item[w->nr++] = (struct renaming){
		    .time_ns = c->time_ns,
		    .tid = c->tid,
		    .place = c->place,
		    .comm = c->kind == PROFILE_FORK ? PROFILE_COMM_UNKNOWN : c->what,
		    .parent_tid = c->other,
		    .is_made = c->is_made,
		    .is_fork = c->kind == PROFILE_FORK,
		};
	}
	order_sort(w->item, w->nr, sizeof(*w->item), compare_renamings);
	return 0;
}

static int add_naming(struct work *w, const struct renaming *r, uint64_t from_ns)
{
	struct profile_processes *p = w->p;
	struct profile_naming *naming = MEM_ADD(p->namings, p->nr_namings, p->namings_room);
	struct heir *heir;

	if (!naming)
		return -ENOMEM;
	*naming = (struct profile_naming){.from_ns = from_ns, .tid = r->tid, .comm = r->comm};
	if (!r->is_fork)
		return 0;
	heir = MEM_ADD(w->heirs, w->nr_heirs, w->heirs_room);
	if (!heir)
		return -ENOMEM;
	*heir = (struct heir){.time_ns = r->time_ns,
			      .naming = (uint32_t)p->nr_namings - 1,
			      .parent_tid = r->parent_tid};
	return 0;
}

/* The survey may have read a name that was set just after its timestamp. */
static bool is_recorded_after(const struct work *w, size_t i)
{
	const struct renaming *r = &w->item[i], *next = r + 1;

	return i + 1 < w->nr && next->tid == r->tid && !next->is_fork && !next->is_made &&
	       next->comm == r->comm && next->time_ns <= profile_looked_until(w->g, r->time_ns);
}

/* The names of one thread, from item i on; *i becomes the index of the next thread's. A surveyed
 * name holds from the start, unless the kernel recorded one since. */
static int name_thread(struct work *w, size_t *i)
{
	uint32_t tid = w->item[*i].tid;
	size_t begun = PROFILE_NONE; /* the naming by the fork that began the thread */
	bool is_recorded = false;
	int rc = 0;

	for (; *i < w->nr && w->item[*i].tid == tid && rc == 0; ++*i) {
		const struct renaming *r = &w->item[*i];

		if (r->is_made && (is_recorded || is_recorded_after(w, *i)))
			continue;
		if (r->is_made && begun != PROFILE_NONE) {
			w->p->namings[begun].comm = r->comm;
			is_recorded = true;
			continue;
		}
		rc = add_naming(w, r, r->is_made ? 0 : r->time_ns);
		begun = r->is_fork ? w->p->nr_namings - 1 : PROFILE_NONE;
		is_recorded = !r->is_fork;
	}
	return rc;
}

/* In order of time, so that the parent's names are complete. */
static void inherit(struct work *w)
{
	struct profile_naming *n = w->p->namings;

	order_sort(w->heirs, w->nr_heirs, sizeof(*w->heirs), compare_heirs);
	for (size_t i = 0; i < w->nr_heirs; i++) {
		const struct heir *h = &w->heirs[i];
		size_t from =
		    h->time_ns ? profile_namings_until(w->p, h->parent_tid, h->time_ns - 1) : 0;

		if (n[h->naming].comm == PROFILE_COMM_UNKNOWN && from &&
		    n[from - 1].tid == h->parent_tid)
			n[h->naming].comm = n[from - 1].comm;
	}
}

int profile_namings_make(struct profile_processes *p, const struct profile_gathered *g)
{
	struct work w = {.p = p, .g = g};
	int rc = gather(&w);

	for (size_t i = 0; rc == 0 && i < w.nr;)
		rc = name_thread(&w, &i);
	if (rc == 0)
		inherit(&w);
	mem_free(w.item);
	mem_free(w.heirs);
	return rc;
}

size_t profile_namings_until(const struct profile_processes *p, uint32_t tid, uint64_t time_ns)
{
	const struct profile_naming *n = p->namings;

	return ORDER_FIRST(i, p->nr_namings,
			   (order_u64(n[i].tid, tid) ?: order_u64(n[i].from_ns, time_ns)) > 0);
}
