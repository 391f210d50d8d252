/*
 * A pid is dropped as a whole, once all its lives ended and no living one was forked from them; of
 * a process that is alive, the threads that ended.
 */
#include "profile/growth.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes_internal.h"
#include "profile/session_internal.h"
#include "trace/reader.h"

#include <errno.h>
#include <string.h>

enum { MAX_MAKERS = 64 }; /* threads that each made the next one, and ended */

struct profile_growth {
	struct profile_processes *p; /* owned; NULL: nothing was read */
	struct profile_gathered g;
};

/* A thread whose end is not needed any more. */
struct ended {
	uint32_t pid, tid; /* the key */
	uint64_t at_ns;
	bool is_needed; /* it named one that has not ended */
};

struct profile_growth *profile_growth_new(void)
{
	return mem_zalloc(sizeof(struct profile_growth));
}

static void reset(struct profile_growth *g)
{
	profile_processes_free(g->p);
	profile_gathered_fini(&g->g);
	*g = (struct profile_growth){.p = NULL};
}

void profile_growth_free(struct profile_growth *g)
{
	if (!g)
		return;
	reset(g);
	mem_free(g);
}

/* --- what is dropped ---------------------------------------------------------------------------
 */

/* A thread may run on when the main one has ended: some have not ended, since the last fork of the
 * process, over its execs. */
static bool has_threads(const struct profile_processes *p, size_t i)
{
	uint64_t nr_begun = 0, nr_ended = 0;

	if (i + 1 < p->nr_lives && p->lives[i + 1].process.pid == p->lives[i].process.pid)
		return false; /* another one has its pid */
	for (;; i--) {
		const struct profile_life *l = &p->lives[i];

		nr_begun += l->nr_begun + l->nr_surveyed;
		nr_ended += l->nr_ended;
		if (!l->is_exec)
			return nr_ended <= nr_begun;
	}
}

/* Those that are alive, and those that they were forked from. */
static void mark_needed(const struct profile_processes *p, uint64_t unused_ns, bool *is_needed)
{
	for (size_t i = 0; i < p->nr_lives; i++) {
		uint32_t at = (uint32_t)i;

		if (p->lives[i].process.to_ns < unused_ns && !has_threads(p, i))
			continue;
		for (; at != PROFILE_NONE && !is_needed[at]; at = p->lives[at].parent)
			is_needed[at] = true;
	}
}

static bool is_pid_needed(const struct profile_processes *p, const bool *is_needed, uint32_t pid)
{
	size_t i = ORDER_FIRST(n, p->nr_lives, p->lives[n].process.pid >= pid);
	bool found = false;

	for (; i < p->nr_lives && p->lives[i].process.pid == pid && !found; i++)
		found = is_needed[i];
	return found;
}

static bool is_of_thread(const struct profile_change *c)
{
	return c->tid != c->pid &&
	       (c->kind == PROFILE_FORK || c->kind == PROFILE_COMM || c->kind == PROFILE_EXIT);
}

static int find_ended(const struct profile_gathered *g, uint64_t unused_ns, struct dict *ended)
{
	for (size_t i = 0; i < g->nr_changes; i++) {
		const struct profile_change *c = &g->changes[i];
		const struct ended key = {.pid = c->pid, .tid = c->tid};
		struct ended *e;

		if (c->kind != PROFILE_EXIT || c->tid == c->pid || c->time_ns >= unused_ns)
			continue;
		e = dict_get(ended, &key);
		if (!e)
			return -ENOMEM;
		if (c->time_ns > e->at_ns)
			e->at_ns = c->time_ns;
	}
	return 0;
}

static bool has_ended(const struct dict *ended, const struct profile_change *c)
{
	const struct ended key = {.pid = c->pid, .tid = c->tid};
	const struct ended *e = is_of_thread(c) ? dict_at(ended, dict_find(ended, &key)) : NULL;

	return e && !e->is_needed && c->time_ns <= e->at_ns;
}

/* A thread has the name of the one that made it. True: one more is needed. */
static bool mark_makers(const struct profile_gathered *g, struct dict *ended)
{
	bool is_more = false;

	for (size_t i = 0; i < g->nr_changes; i++) {
		const struct profile_change *c = &g->changes[i];
		const struct ended key = {.pid = c->what, .tid = c->other};
		struct ended *e;

		if (c->kind != PROFILE_FORK || has_ended(ended, c))
			continue;
		e = dict_at(ended, dict_find(ended, &key));
		if (!e || e->is_needed || c->time_ns > e->at_ns)
			continue;
		e->is_needed = is_more = true;
	}
	return is_more;
}

/* They are ordered by pid. */
static void drop_changes(struct profile_growth *g, const bool *is_needed, const struct dict *ended)
{
	struct profile_gathered *all = &g->g;
	bool is_kept = false;
	uint32_t pid = 0;
	size_t nr = 0;

	for (size_t i = 0; i < all->nr_changes; i++) {
		const struct profile_change c = all->changes[i];

		if (!i || c.pid != pid)
			is_kept = is_pid_needed(g->p, is_needed, c.pid);
		pid = c.pid;
		if (is_kept && !has_ended(ended, &c))
			all->changes[nr++] = c;
	}
	all->nr_changes = nr;
}

static void drop_cmdlines(struct profile_growth *g, const bool *is_needed)
{
	struct profile_gathered *all = &g->g;
	size_t nr = 0;

	for (size_t i = 0; i < all->nr_cmdlines; i++)
		if (is_pid_needed(g->p, is_needed, all->cmdlines[i].pid))
			all->cmdlines[nr++] = all->cmdlines[i];
	all->nr_cmdlines = nr;
}

/* Those that no change names. */
static int drop_maps(struct profile_gathered *g)
{
	uint32_t *number = mem_calloc(g->nr_maps + 1, sizeof(*number)), nr = 0;

	if (!number)
		return -ENOMEM;
	for (size_t i = 0; i < g->nr_changes; i++)
		if (g->changes[i].kind == PROFILE_MAP)
			number[g->changes[i].what] = 1;
	for (size_t i = 0; i < g->nr_maps; i++) {
		if (!number[i])
			continue;
		g->maps[nr] = g->maps[i];
		number[i] = nr++;
	}
	for (size_t i = 0; i < g->nr_changes; i++)
		if (g->changes[i].kind == PROFILE_MAP)
			g->changes[i].what = number[g->changes[i].what];
	g->nr_maps = nr;
	mem_free(number);
	return 0;
}

/* The tables that were made stay as they are. */
static int drop_unused(struct profile_growth *g, uint64_t unused_ns)
{
	bool *is_needed = mem_calloc(g->p->nr_lives + 1, sizeof(*is_needed));
	struct dict ended;
	int rc = is_needed ? 0 : -ENOMEM;

	dict_init(&ended, sizeof(struct ended), DICT_KEY(struct ended, tid), DICT_MAX);
	rc = rc ?: find_ended(&g->g, unused_ns, &ended);
	if (rc == 0) {
		mark_needed(g->p, unused_ns, is_needed);
		for (int i = 0; i < MAX_MAKERS && mark_makers(&g->g, &ended); i++)
			;
		drop_changes(g, is_needed, &ended);
		drop_cmdlines(g, is_needed);
		rc = drop_maps(&g->g);
	}
	dict_fini(&ended);
	mem_free(is_needed);
	return rc;
}

/* --- reading -----------------------------------------------------------------------------------
 */

static int begin(struct profile_growth *g)
{
	reset(g);
	profile_build_ids_init(&g->g.build_ids);
	g->g.grows = true;
	g->p = profile_processes_new();
	return g->p ? 0 : -ENOMEM;
}

/* r: NULL: there is no common file. */
static int gather(struct profile_growth *g, struct trace_reader *r, struct profile_faults *faults,
		  profile_kallsyms_fn *kallsyms, void *arg)
{
	const bool continues =
	    g->p && r && !g->g.has_marks && trace_reader_skip_to(r, g->g.read_bytes);
	int rc = continues ? 0 : begin(g);

	if (rc == 0 && r)
		rc = profile_gather(g->p, &g->g, r, faults, kallsyms, arg);
	return rc ?: !continues;
}

int profile_growth_add(struct profile_growth *g, struct trace_reader *r,
		       const struct profile_session *session, struct profile_faults *faults,
		       uint64_t unused_ns, profile_kallsyms_fn *kallsyms, void *arg,
		       struct profile_processes **out)
{
	const int is_new = gather(g, r, faults, kallsyms, arg);
	int rc = is_new < 0 ? is_new : 0;

	if (rc == 0) {
		profile_processes_unmake(g->p);
		rc = profile_processes_make(g->p, &g->g, session) ?: drop_unused(g, unused_ns);
	}
	if (rc == 0 && r)
		profile_gathered_report(g->p, &g->g, faults, r);
	if (rc) {
		reset(g);
		return rc;
	}
	*out = g->p;
	return is_new;
}

int profile_growth_read(struct profile_growth *g, struct profile_session *session,
			uint64_t unused_ns, profile_kallsyms_fn *kallsyms, void *arg,
			struct profile_processes **out)
{
	struct trace_reader *r = NULL;
	struct profile_faults faults;
	int rc = profile_session_open_common(session, &faults, &r);

	if (rc < 0)
		return rc;
	rc = profile_growth_add(g, r, session, &faults, unused_ns, kallsyms, arg, out);
	trace_reader_close(r);
	return rc;
}
