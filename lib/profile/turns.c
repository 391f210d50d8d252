/*
 * How many processes ran at a time: the beginnings and ends of all, in order of time.
 */
#include "base/mem.h"
#include "base/order.h"
#include "profile/choice.h"
#include "profile/processes_internal.h"

#include <errno.h>

/* A process, from its fork to its end, whatever it execs meanwhile. */
struct span {
	uint64_t from_ns, to_ns;
	uint32_t origin;      /* the life that made it */
	uint32_t nr_children; /* that are alive */
	bool is_alive, has_children;
};

struct moment {
	uint64_t time_ns;
	uint32_t span;
	bool is_begin;
};

struct turns {
	const struct profile_processes *p;
	struct span *spans;     /* owned */
	uint32_t *span_of;      /* owned; by life; PROFILE_NONE: none */
	struct moment *moments; /* owned */
	size_t nr;              /* of spans: half of the moments */
	size_t nr_alive, nr_parents;
};

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return order_u64(x->time_ns, y->time_ns);
}

static uint32_t parent_of(const struct turns *t, const struct span *s)
{
	return s->origin == PROFILE_NONE ? PROFILE_NONE : t->span_of[s->origin];
}

static void add_child(struct turns *t, uint32_t span)
{
	struct span *s = span == PROFILE_NONE ? NULL : &t->spans[span];

	if (s)
		s->has_children = true;
	if (s && s->is_alive && !s->nr_children++)
		t->nr_parents++;
}

static void remove_child(struct turns *t, uint32_t span)
{
	struct span *s = span == PROFILE_NONE ? NULL : &t->spans[span];

	if (s && s->is_alive && s->nr_children && !--s->nr_children)
		t->nr_parents--;
}

static void step(struct turns *t, const struct moment *m)
{
	struct span *s = &t->spans[m->span];

	s->is_alive = m->is_begin;
	if (m->is_begin) {
		t->nr_alive++;
		add_child(t, parent_of(t, s));
		return;
	}
	t->nr_alive--;
	t->nr_parents -= s->nr_children != 0;
	remove_child(t, parent_of(t, s));
}

static void make_spans(struct turns *t, const struct profile_choice *tree, uint64_t start_ns,
		       uint64_t end_ns)
{
	for (size_t i = 0; i < t->p->nr_lives; i++) {
		const struct profile_life *l = &t->p->lives[i];
		const bool goes_on = l->is_exec && i && t->span_of[i - 1] != PROFILE_NONE &&
				     l[-1].process.pid == l->process.pid;
		const uint64_t to_ns = l->process.to_ns < end_ns ? l->process.to_ns : end_ns;

		t->span_of[i] = PROFILE_NONE;
		if (l->process.from_ns < start_ns || !profile_choice_has(tree, &l->process))
			continue;
		if (!goes_on)
			t->spans[t->nr++] =
			    (struct span){.from_ns = l->is_exec ? start_ns : l->process.from_ns,
					  .origin = l->is_exec ? PROFILE_NONE : l->origin};
		t->spans[t->nr - 1].to_ns = to_ns;
		t->span_of[i] = (uint32_t)t->nr - 1;
	}
}

static void make_moments(struct turns *t)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		const struct span *s = &t->spans[i];
		const uint64_t to_ns = s->to_ns > s->from_ns ? s->to_ns : s->from_ns + 1;

		t->moments[2 * i] = (struct moment){s->from_ns, i, true};
		t->moments[2 * i + 1] = (struct moment){to_ns, i, false};
	}
	order_sort(t->moments, 2 * t->nr, sizeof(*t->moments), by_time);
}

static void count(struct turns *t, struct profile_lifetime *out)
{
	for (size_t i = 0; i < 2 * t->nr; i++) {
		const uint64_t ns = i ? t->moments[i].time_ns - t->moments[i - 1].time_ns : 0;

		if (t->nr_alive - t->nr_parents == 1)
			out->alone_ns += ns;
		out->parents_ns += t->nr_parents * ns;
		step(t, &t->moments[i]);
	}
	for (size_t i = 0; i < t->nr; i++)
		out->nr_leaves += !t->spans[i].has_children;
	out->nr_processes = t->nr;
}

int profile_turns_add(const struct profile_processes *p, const struct profile_choice *tree,
		      uint64_t start_ns, uint64_t end_ns, struct profile_lifetime *out)
{
	struct turns t = {.p = p,
			  .spans = mem_calloc(p->nr_lives + 1, sizeof(*t.spans)),
			  .span_of = mem_calloc(p->nr_lives + 1, sizeof(*t.span_of)),
			  .moments = mem_calloc(2 * p->nr_lives + 1, sizeof(*t.moments))};
	int rc = t.spans && t.span_of && t.moments ? 0 : -ENOMEM;

	if (rc == 0) {
		make_spans(&t, tree, start_ns, end_ns);
		make_moments(&t);
		count(&t, out);
	}
	mem_free(t.spans);
	mem_free(t.span_of);
	mem_free(t.moments);
	return rc;
}
