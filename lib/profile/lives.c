/*
 * Splits the records of each pid, in order of time, into lives: a fork and an exec begin one. A pid
 * without a recorded beginning existed before the session.
 */
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes_internal.h"

#include <errno.h>

struct work {
	struct profile_processes *p;
	struct profile_gathered *g;
	bool has_life, has_ended; /* the current pid has a life; its main thread has ended */
};

static struct profile_life *last(struct work *w)
{
	return &w->p->lives[w->p->nr_lives - 1];
}

static int begin(struct work *w, uint32_t pid, uint64_t time_ns)
{
	struct profile_processes *p = w->p;
	struct profile_life *l = MEM_ADD(p->lives, p->nr_lives, p->lives_room);

	if (!l)
		return -ENOMEM;
	if (w->has_life && l[-1].process.to_ns > time_ns)
		l[-1].process.to_ns = time_ns;
	*l = (struct profile_life){
	    .process = {.number = (uint32_t)p->nr_lives - 1,
			.pid = pid,
			.from_ns = time_ns,
			.to_ns = UINT64_MAX},
	    .parent = PROFILE_NONE,
	    .origin = PROFILE_NONE,
	    .first_map = w->g->nr_of_lives,
	};
	w->has_life = true;
	w->has_ended = false;
	return 0;
}

static int ensure(struct work *w, uint32_t pid)
{
	return w->has_life ? 0 : begin(w, pid, 0);
}

/* A fork of a thread is ignored: it shares its process's space. */
static int apply_fork(struct work *w, const struct profile_change *c)
{
	int rc;

	if (c->is_made || c->tid != c->pid) {
		rc = ensure(w, c->pid);
		if (rc == 0 && c->is_made)
			last(w)->nr_surveyed += c->tid != c->pid;
		if (rc == 0 && !c->is_made) {
			last(w)->nr_begun++;
			last(w)->begun_ns += c->time_ns - last(w)->process.from_ns;
		}
		if (rc == 0 && c->tid == c->pid && !last(w)->is_forked && !w->has_ended) {
			last(w)->parent_pid = c->what;
			last(w)->surveyed_ns = c->time_ns;
		}
		return rc;
	}
	rc = begin(w, c->pid, c->time_ns);
	if (rc)
		return rc;
	last(w)->is_forked = true;
	last(w)->parent_pid = c->what;
	return 0;
}

static int apply_comm(struct work *w, const struct profile_change *c)
{
	return ensure(w, c->pid);
}

static int apply_exec(struct work *w, const struct profile_change *c)
{
	int rc = ensure(w, c->pid) ?: begin(w, c->pid, c->time_ns);

	if (rc == 0)
		last(w)->is_exec = true;
	return rc;
}

/* Other threads may outlive the main thread: the last exit ends the process. */
static int apply_exit(struct work *w, const struct profile_change *c)
{
	int rc = ensure(w, c->pid);

	if (rc)
		return rc;
	last(w)->nr_ended++;
	last(w)->ended_ns += c->time_ns - last(w)->process.from_ns;
	w->has_ended |= c->tid == c->pid;
	if (w->has_ended)
		last(w)->process.to_ns = c->time_ns;
	return 0;
}

static int apply_map(struct work *w, const struct profile_change *c)
{
	int rc = ensure(w, c->pid);

	if (rc)
		return rc;
	w->g->of_lives[w->g->nr_of_lives++] = c->what;
	last(w)->nr_maps++;
	last(w)->has_mapped |= !c->is_made;
	return 0;
}

static int (*const apply[])(struct work *w, const struct profile_change *c) = {
    [PROFILE_FORK] = apply_fork, [PROFILE_COMM] = apply_comm, [PROFILE_EXEC] = apply_exec,
    [PROFILE_EXIT] = apply_exit, [PROFILE_MAP] = apply_map,
};

static int compare_changes(const void *a, const void *b)
{
	const struct profile_change *x = a, *y = b;

	return order_u64(x->pid, y->pid) ?: order_u64(x->time_ns, y->time_ns) ?: order_u64(x->place, y->place);
}

size_t profile_lives_until(const struct profile_processes *p, uint32_t pid, uint64_t time_ns)
{
	const struct profile_life *l = p->lives;

	return ORDER_FIRST(
	    i, p->nr_lives,
	    (order_u64(l[i].process.pid, pid) ?: order_u64(l[i].process.from_ns, time_ns)) > 0);
}

uint32_t profile_life_at(const struct profile_processes *p, uint32_t pid, uint64_t time_ns)
{
	size_t next = profile_lives_until(p, pid, time_ns);

	return next && p->lives[next - 1].process.pid == pid ? (uint32_t)next - 1 : PROFILE_NONE;
}

/* A parent must begin before its child, so hostile times cannot form a cycle of parents. What the
 * survey read of a program that was exec'd belongs to the process before the exec. */
static void find_parents(struct profile_processes *p)
{
	for (size_t i = p->nr_lives; i--;) {
		struct profile_life *l = &p->lives[i];

		if (l->is_exec) {
			l->origin = (uint32_t)i - 1;
			if (l->surveyed_ns && !l[-1].is_forked && !l[-1].surveyed_ns) {
				l[-1].parent_pid = l->parent_pid;
				l[-1].surveyed_ns = l->surveyed_ns;
			}
		} else if (l->is_forked) {
			l->parent_ns = l->process.from_ns;
			if (l->parent_ns)
				l->parent = profile_life_at(p, l->parent_pid, l->parent_ns - 1);
			l->origin = l->parent;
		} else if (l->surveyed_ns) {
			l->origin = profile_life_at(p, l->parent_pid, l->surveyed_ns);
		}
	}
}

int profile_lives_make(struct profile_processes *p, struct profile_gathered *g)
{
	struct work w = {.p = p, .g = g};
	int rc = 0;

	order_sort(g->changes, g->nr_changes, sizeof(*g->changes), compare_changes);
	mem_free(g->of_lives);
	g->nr_of_lives = 0;
	g->of_lives = mem_calloc(g->nr_maps, sizeof(*g->of_lives));
	if (!g->of_lives)
		return -ENOMEM;
	for (size_t i = 0; i < g->nr_changes && rc == 0; i++) {
		const struct profile_change *c = &g->changes[i];

		if (i && c->pid != c[-1].pid)
			w.has_life = false;
		rc = apply[c->kind](&w, c);
	}
	find_parents(p);
	return rc;
}

const struct profile_process *profile_next_alive(const struct profile_processes *p, size_t *at,
						 uint64_t from_ns)
{
	while (*at < p->nr_lives) {
		const struct profile_life *l = &p->lives[(*at)++];

		if ((l->is_forked || l->is_exec) && l->process.from_ns >= from_ns &&
		    l->process.to_ns == UINT64_MAX)
			return &l->process;
	}
	return NULL;
}
