/*
 * Kernel code that was loaded and unloaded. Surveyed code existed before the session, unless the
 * kernel recorded when it was loaded.
 */
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes_internal.h"

#include <errno.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const struct profile_ksymbol_record *x = a, *y = b;

	return order_u64(x->start, y->start) ?: order_u64(x->time_ns, y->time_ns) ?: order_u64(x->place, y->place);
}

static int add(struct profile_processes *p, const struct profile_ksymbol_record *t,
	       uint64_t from_ns, uint64_t to_ns)
{
	struct profile_ksymbol *k = MEM_ADD(p->ksymbols, p->nr_ksymbols, p->ksymbols_room);

	if (!k)
		return -ENOMEM;
	*k = (struct profile_ksymbol){
	    .start = t->start, .len = t->len, .from_ns = from_ns, .to_ns = to_ns, .name = t->name};
	return 0;
}

/* The code at the current address. */
struct place {
	bool has_open;     /* the symbol added last is still loaded */
	uint64_t since_ns; /* no symbol is recorded here before this time */
};

static struct profile_ksymbol *last(struct profile_processes *p)
{
	return &p->ksymbols[p->nr_ksymbols - 1];
}

static void end_last(struct profile_processes *p, struct place *at, uint64_t time_ns)
{
	if (at->has_open)
		last(p)->to_ns = time_ns;
	at->has_open = false;
	at->since_ns = time_ns;
}

/* Code that is unloaded without a load existed from the start. */
static int apply(struct profile_processes *p, struct place *at,
		 const struct profile_ksymbol_record *t)
{
	bool is_known = at->has_open && last(p)->len == t->len && !strcmp(last(p)->name, t->name);
	uint64_t since_ns = at->since_ns;
	int rc;

	if (is_known && !t->is_gone)
		return 0;
	if (t->is_gone && !is_known) {
		rc = at->has_open || since_ns ? 0 : add(p, t, 0, t->time_ns);
		end_last(p, at, t->time_ns);
		return rc;
	}
	end_last(p, at, t->time_ns);
	if (t->is_gone)
		return 0;
	rc = add(p, t, t->is_made ? since_ns : t->time_ns, UINT64_MAX);
	at->has_open = rc == 0;
	return rc;
}

int profile_ksymbols_make(struct profile_processes *p, struct profile_gathered *g)
{
	struct place at = {0};
	int rc = 0;

	order_sort(g->ksymbols, g->nr_ksymbols, sizeof(*g->ksymbols), compare);
	for (size_t i = 0; i < g->nr_ksymbols && rc == 0; i++) {
		const struct profile_ksymbol_record *t = &g->ksymbols[i];

		if (i && t->start != t[-1].start)
			at = (struct place){0};
		rc = apply(p, &at, t);
	}
	return rc;
}
