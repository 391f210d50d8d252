/*
 * The numbers of threads within their process, in the order of their creation. The main thread has
 * number 1, from a fork or an exec on. The kernel records the creation of a thread during the
 * session; those that the survey found existed before, in the order in which /proc lists them,
 * which is that of creation too.
 */
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes_internal.h"

#include <errno.h>

/* A recorded creation, or a thread that the survey found. */
struct found {
	uint64_t time_ns, from_ns;
	uint32_t pid, tid, life, place;
	bool is_made;
	bool is_recorded; /* of a made one: the kernel recorded its creation at time_ns */
	bool is_again;    /* of a made one: the survey found it before */
};

struct work {
	struct found *item; /* owned */
	size_t nr;
};

static int compare_tids(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return order_u64(x->pid, y->pid) ?: order_u64(x->tid, y->tid)
					 ?: order_u64(x->is_made, y->is_made)
					 ?: order_u64(x->time_ns, y->time_ns)
					 ?: order_u64(x->place, y->place);
}

/* Made ones first, as /proc lists them. */
static int compare_listed(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return order_u64(x->life, y->life) ?: order_u64(y->is_made, x->is_made)
					   ?: order_u64(x->place, y->place);
}

static int compare_created(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return order_u64(x->life, y->life) ?: order_u64(x->time_ns, y->time_ns)
					   ?: order_u64(x->is_made, y->is_made)
					   ?: order_u64(x->place, y->place);
}

static int compare_threads(const void *a, const void *b)
{
	const struct profile_thread *x = a, *y = b;

	return order_u64(x->tid, y->tid) ?: order_u64(x->from_ns, y->from_ns);
}

static bool is_thread(const struct profile_change *c)
{
	return c->kind == PROFILE_FORK && c->tid != c->pid;
}

static int gather(struct work *w, const struct profile_processes *p,
		  const struct profile_gathered *g)
{
	size_t nr = 0;

	for (size_t i = 0; i < g->nr_changes; i++)
		nr += is_thread(&g->changes[i]);
	w->item = mem_calloc(nr + 1, sizeof(*w->item));
	if (!w->item)
		return -ENOMEM;
	for (size_t i = 0; i < g->nr_changes; i++) {
		const struct profile_change *c = &g->changes[i];

		if (is_thread(c))
			w->item[w->nr++] = (struct found){
			    .time_ns = c->time_ns,
			    .from_ns = c->time_ns,
			    .pid = c->pid,
			    .tid = c->tid,
			    .life = profile_life_at(p, c->pid, c->time_ns),
			    .place = c->place,
			    .is_made = c->is_made,
			};
	}
	return 0;
}

/* Finds the recorded creation of each made one. A later creation is that of another thread with the
 * same tid. */
static void match(struct work *w, const struct profile_gathered *g)
{
	size_t first = 0; /* of the same pid and tid */

	order_sort(w->item, w->nr, sizeof(*w->item), compare_tids);
	for (size_t i = 0; i < w->nr; i++) {
		struct found *f = &w->item[i];
		uint64_t until_ns;

		if (f->pid != w->item[first].pid || f->tid != w->item[first].tid)
			first = i;
		f->is_again = f->is_made && i > first && f[-1].is_made;
		if (!f->is_made || f->is_again)
			continue;
		until_ns = profile_looked_until(g, f->time_ns);
		for (size_t k = first;
		     k < i && w->item[k].time_ns <= until_ns && !w->item[k].is_made; k++) {
			f->time_ns = w->item[k].time_ns;
			f->is_recorded = true;
		}
	}
}

/* A made one without a recorded creation was created after the one listed before it. */
static void place_listed(struct work *w, const struct profile_processes *p)
{
	uint64_t time_ns = 0;

	order_sort(w->item, w->nr, sizeof(*w->item), compare_listed);
	for (size_t i = 0; i < w->nr; i++) {
		struct found *f = &w->item[i];

		if (i == 0 || f->life != f[-1].life)
			time_ns = p->lives[f->life].process.from_ns;
		if (f->is_made && f->is_recorded && f->time_ns > time_ns)
			time_ns = f->time_ns;
		if (!f->is_made || f->is_recorded)
			continue;
		f->time_ns = time_ns;
		f->from_ns = p->lives[f->life].process.from_ns;
	}
}

static int number(struct work *w, struct profile_processes *p)
{
	uint32_t last = 0;

	order_sort(w->item, w->nr, sizeof(*w->item), compare_created);
	p->threads = mem_calloc(w->nr + 1, sizeof(*p->threads));
	if (!p->threads)
		return -ENOMEM;
	for (size_t i = 0; i < w->nr; i++) {
		const struct found *f = &w->item[i];

		if (i == 0 || f->life != f[-1].life)
			last = PROFILE_MAIN_THREAD;
		if (!f->is_recorded && !f->is_again)
			p->threads[p->nr_threads++] =
			    (struct profile_thread){f->from_ns, f->pid, f->tid, ++last};
	}
	order_sort(p->threads, p->nr_threads, sizeof(*p->threads), compare_threads);
	return 0;
}

int profile_threads_make(struct profile_processes *p, const struct profile_gathered *g)
{
	struct work w = {.nr = 0};
	int rc = gather(&w, p, g);

	if (rc == 0) {
		match(&w, g);
		place_listed(&w, p);
		rc = number(&w, p);
	}
	mem_free(w.item);
	return rc;
}

size_t profile_threads_until(const struct profile_processes *p, uint32_t tid, uint64_t time_ns)
{
	const struct profile_thread *t = p->threads;

	return ORDER_FIRST(i, p->nr_threads,
			   (order_u64(t[i].tid, tid) ?: order_u64(t[i].from_ns, time_ns)) > 0);
}
