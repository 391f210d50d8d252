/*
 * Finds and lists events over the groups' tables and makers.
 */
#include "event/catalogue.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "event/parts.h"
#include "event/synonyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SCRATCH_BYTES = 64 << 20, MAX_HINT_BYTES = 4096 };

uint32_t event_id(const struct event *ev)
{
	return (uint32_t)ev->group->id << 11 | ev->row->number;
}

bool event_is_perf(const struct event *ev)
{
	return ev->row->nr_parts > 0 || ev->group->is_perf;
}

unsigned event_alone(const struct event *ev, bool is_sampled)
{
	return ev->row->alone | (is_sampled ? ev->row->alone_sampled : 0);
}

uint32_t event_nr_parts(const struct event *ev)
{
	return ev->row->nr_parts ? ev->row->nr_parts : 1;
}

void event_part(const struct event *ev, uint32_t i, struct event_part *out)
{
	*out = ev->row->nr_parts ? ev->row->parts[i]
				 : (struct event_part){.pmu = "",
						       .type = ev->row->perf_type,
						       .config = ev->row->perf_config};
}

static const struct event_row *find_row(const struct event_group *g, const char *name)
{
	return ARRAY_FIND(row, g->rows, g->nr_rows,
			  strcmp(row->name, name) == 0 ||
			      (row->alias && strcmp(row->alias, name) == 0));
}

static const struct event_group *find_group(const struct catalogue *c, const char *name)
{
	for (size_t i = 0; i < c->nr_groups; i++)
		if (strcmp(c->groups[i]->name, name) == 0)
			return c->groups[i];
	return NULL;
}

static const char *nearest_group(const struct catalogue *c, const char *name)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < c->nr_groups; i++)
		str_nearest_offer(name, c->groups[i]->name, &best, &distance);
	return best;
}

/* The nearest name of a group so far. */
struct nearest {
	const char *name, *best;
	size_t distance;
};

static int offer_row(const struct event_row *row, void *arg)
{
	struct nearest *n = arg;

	str_nearest_offer(n->name, row->name, &n->best, &n->distance);
	if (row->alias)
		str_nearest_offer(n->name, row->alias, &n->best, &n->distance);
	return 0;
}

static void offer_group(const struct catalogue *c, const struct event_group *g, struct nearest *n)
{
	for (size_t i = 0; i < g->nr_rows; i++)
		offer_row(&g->rows[i], n);
	for (size_t i = 0; c->host && i < g->nr_makers; i++)
		(void)g->makers[i]->each(c, offer_row, n); /* out of memory: no suggestion */
}

static const char *nearest_row(const struct catalogue *c, const struct event_group *g,
			       const char *name)
{
	struct nearest n = {.name = name};

	offer_group(c, g, &n);
	return n.best;
}

/* The group to search for a suggestion: the one named, else the nearest name, else one that has the
 * event. */
static const struct event_group *meant_group(const struct catalogue *c, const char *group,
					     const char *name)
{
	const struct event_group *g = find_group(c, group);
	const char *nearest = g ? NULL : nearest_group(c, group);

	if (nearest)
		g = find_group(c, nearest);
	for (size_t i = 0; i < c->nr_groups && !(g && nearest_row(c, g, name)); i++)
		if (find_row(c->groups[i], name))
			return c->groups[i];
	return g;
}

/* "latency:block" for "disk_latency". False: the name is no common word. */
static bool hint_synonym(const char *name, struct err *e)
{
	const struct event_synonym *s = event_synonym_find(name);

	if (s && strcspn(s->events, ",") < strcspn(s->events, "*"))
		err_hint(e, "did you mean %.*s? (--list-events='%s' lists more)",
			 (int)strcspn(s->events, ","), s->events, name);
	else if (s)
		err_hint(e, "--list-events='%s' lists its events", name);
	return s;
}

/* Rows made only for comparison use an arena of their own. */
static void suggest(const struct catalogue *c, const char *group, const char *name, struct err *e)
{
	struct catalogue scratch = *c;
	const struct event_group *g;
	const char *best;
	ARENA_AUTO(arena, MAX_SCRATCH_BYTES);

	scratch.arena = &arena;
	g = meant_group(&scratch, group, name);
	best = g ? nearest_row(&scratch, g, name) : NULL;
	if (best)
		err_hint(e, "did you mean %s:%s? (--list-events lists all)", g->name, best);
	else if (!hint_synonym(name, e))
		err_hint(e, "--list-events lists all events of this machine");
}

/* A row of a table, spread over the core PMUs of this machine. */
static int fit_row(const struct catalogue *c, const struct event_group *g,
		   const struct event_row *row, const struct event_row **out)
{
	*out = row;
	return g->is_perf ? parts_spread(c, row, out) : 0;
}

/* Finds a made row: 0, -ENOENT (with *e if a maker set a reason) or -ENOMEM. The last maker's
 * reason wins: earlier makers only look the name up, later ones parse it. */
static int find_made(const struct catalogue *c, const struct event_group *g, const char *name,
		     const struct event_row **out, struct err *e)
{
	int rc = -ENOENT;

	for (size_t i = 0; c->host && i < g->nr_makers && rc == -ENOENT; i++) {
		struct err why = {0};

		rc = g->makers[i]->find(c, name, out, &why);
		if (why.code)
			*e = why;
	}
	return rc;
}

static int find_in_group(const struct catalogue *c, const struct event_group *g, const char *name,
			 const struct event_row **out, struct err *e)
{
	const struct event_row *r = find_row(g, name);

	return r ? fit_row(c, g, r, out) : find_made(c, g, name, out, e);
}

/* Length of a name without the modifiers of perf(1): ":u", ":uk", or "k" after the slash that
 * closes terms. */
static size_t len_without_privilege(const char *name)
{
	size_t len = strlen(name), at = len;

	while (at && strchr("ukh", name[at - 1]))
		at--;
	if (at == len || !at || (name[at - 1] != ':' && name[at - 1] != '/'))
		return len;
	return name[at - 1] == '/' ? at : at - 1;
}

/* A valid name followed by a privilege modifier: report the modifier, not the makers' reason. */
static void explain_privilege(const struct catalogue *c, const struct event_group *g,
			      const char *name, struct err *e)
{
	size_t len = len_without_privilege(name);
	struct catalogue scratch = *c;
	const struct event_row *row;
	struct err unused = {0};
	ARENA_AUTO(arena, MAX_SCRATCH_BYTES);
	char *bare;

	if (!name[len])
		return;
	scratch.arena = &arena;
	bare = arena_strndup(&arena, name, len);
	if (bare && find_in_group(&scratch, g, bare, &row, &unused) == 0) {
		err_clear(e);
		err_set(e, -ENOENT, "\"%s\" cannot be part of a name", name + len);
		err_hint(e, "use flags for the privilege level: os, user");
	}
}

/* The group and the row, or *why there is none. */
static int look_up(const struct catalogue *c, const char *group, const char *name,
		   struct event *out, struct err *why)
{
	out->group = find_group(c, group);
	return out->group ? find_in_group(c, out->group, name, &out->row, why) : -ENOENT;
}

/* rc: of look_up. */
static int refuse(const struct catalogue *c, const char *group, const char *name,
		  const struct event_group *g, int rc, struct err *why, struct err *e)
{
	if (rc != -ENOENT)
		return err_set(e, rc, "%s:%s: %s", group, name, strerror(-rc));
	if (g)
		explain_privilege(c, g, name, why);
	err_set(e, -ENOENT, "Unknown event: %s:%s%s%s", group, name, why->code ? ": " : "",
		why->msg);
	if (why->hint[0])
		err_hint(e, "%s", why->hint);
	suggest(c, group, name, e);
	return -ENOENT;
}

int catalogue_find(const struct catalogue *c, const char *group, const char *name,
		   struct event *out, struct err *e)
{
	struct event found;
	struct err why = {0};
	int rc = look_up(c, group, name, &found, &why);

	if (rc)
		return refuse(c, group, name, found.group, rc, &why, e);
	*out = found;
	return 0;
}

int catalogue_find_optional(const struct catalogue *c, const char *group, const char *name,
			    struct event *out, struct err *e)
{
	struct event_row *row;
	struct err why = {0};
	int rc = look_up(c, group, name, out, &why);

	if (rc == 0)
		return 0;
	if (rc != -ENOENT || !out->group)
		return refuse(c, group, name, out->group, rc, &why, e);
	row = arena_alloc(c->arena, sizeof(*row));
	if (!row)
		return err_set(e, -ENOMEM, "out of memory");
	*row = (struct event_row){.name = arena_strdup(c->arena, name),
				  .kind = EVENT_COUNT,
				  .scope = EVENT_SCOPE_CPU,
				  .missing = why.code ? arena_strdup(c->arena, why.msg)
						      : "there is no such event"};
	out->row = row;
	return row->name && row->missing ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* Lists the events of that name with their groups: "arch:x or fixed:x". */
static void add_namesakes(const struct catalogue *c, const char *name, struct buf *out)
{
	for (size_t i = 0; *name && i < c->nr_groups; i++) {
		const struct event_row *row;
		struct err unused = {0};

		if (find_in_group(c, c->groups[i], name, &row, &unused) == 0)
			buf_printf(out, "%s%s:%s", out->len ? " or " : "", c->groups[i]->name,
				   row->name);
	}
}

static int refuse_unqualified(const struct catalogue *c, const char *name, struct err *e)
{
	struct catalogue scratch = *c;
	ARENA_AUTO(arena, MAX_SCRATCH_BYTES);
	BUF_AUTO(found, MAX_HINT_BYTES);

	err_set(e, -EINVAL, "\"%s\" is not of the form group:name", name);
	scratch.arena = &arena;
	add_namesakes(&scratch, name, &found);
	if (found.len)
		err_hint(e, "did you mean %s?", buf_str(&found));
	else
		err_hint(e, "for example fixed:instructions_retired");
	return -EINVAL;
}

int catalogue_find_spelled(const struct catalogue *c, const char *spelled, struct event *out,
			   struct err *e)
{
	const char *colon = strchr(spelled, ':');
	MEM_AUTO char *group = NULL;

	if (!colon)
		return refuse_unqualified(c, spelled, e);
	group = mem_strdup(spelled);
	if (!group)
		return err_set(e, -ENOMEM, "out of memory");
	group[colon - spelled] = '\0';
	return catalogue_find(c, group, colon + 1, out, e);
}

static const char *const bare_groups[] = {"fixed", "arch",     "software", "sched", "latency",
					  "heap",  "resource", "misc",     "gpu"};

enum { NR_BARE_GROUPS = ARRAY_NR(bare_groups) };

/* "software:page_faults", the nearest name of all the groups; false: none is near. */
static bool add_nearest(const struct catalogue *c, const char *name, struct buf *out)
{
	const struct event_group *of = NULL;
	struct nearest n = {.name = name};

	for (size_t i = 0; i < NR_BARE_GROUPS; i++) {
		const struct event_group *g = find_group(c, bare_groups[i]);
		const char *before = n.best;

		if (g)
			offer_group(c, g, &n);
		of = n.best == before ? of : g;
	}
	if (of)
		buf_printf(out, "%s:%s", of->name, n.best);
	return of;
}

static int refuse_bare(const struct catalogue *c, const char *name, struct err *e)
{
	struct catalogue scratch = *c;
	ARENA_AUTO(arena, MAX_SCRATCH_BYTES);
	BUF_AUTO(found, MAX_HINT_BYTES);

	err_set(e, -ENOENT, "Unknown event: %s", name);
	scratch.arena = &arena;
	add_namesakes(&scratch, name, &found);
	if (found.len || add_nearest(&scratch, name, &found))
		err_hint(e, "did you mean %s? (--list-events lists all)", buf_str(&found));
	else if (!hint_synonym(name, e))
		err_hint(e, "--list-events lists all events of this machine");
	return -ENOENT;
}

int catalogue_find_bare(const struct catalogue *c, const char *name, struct event *out,
			struct err *e)
{
	for (size_t i = 0; i < NR_BARE_GROUPS; i++) {
		const struct event_group *g = find_group(c, bare_groups[i]);
		struct err unused = {0};
		int rc = g ? find_in_group(c, g, name, &out->row, &unused) : -ENOENT;

		if (rc == 0)
			out->group = g;
		if (rc != -ENOENT)
			return rc ? err_set(e, rc, "%s: %s", name, strerror(-rc)) : 0;
	}
	return refuse_bare(c, name, e);
}

/* The rows of a group, collected for sorting; borrowed. */
struct rows {
	const struct event_row **row; /* owned */
	size_t nr, cap;
};

static int add_row(const struct event_row *row, void *arg)
{
	struct rows *rows = arg;

	if (rows->nr == rows->cap) {
		size_t cap = rows->cap ? 2 * rows->cap : 64;
		const struct event_row **grown = mem_resize(rows->row, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		rows->row = grown;
		rows->cap = cap;
	}
	rows->row[rows->nr++] = row;
	return 0;
}

static int gather(const struct catalogue *c, const struct event_group *g, struct rows *out)
{
	const struct event_row *row;
	int rc = 0;

	for (size_t i = 0; i < g->nr_rows && rc == 0; i++) {
		rc = fit_row(c, g, &g->rows[i], &row) ?: add_row(row, out);
	}
	for (size_t i = 0; c->host && i < g->nr_makers && rc == 0; i++)
		rc = g->makers[i]->each(c, add_row, out);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	const struct event_row *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

int catalogue_each_of(const struct catalogue *c, const struct event_group *g,
		      int (*fn)(const struct event *ev, void *arg), void *arg)
{
	struct rows rows = {0};
	int rc = gather(c, g, &rows);

	if (rows.nr)
		qsort(rows.row, rows.nr, sizeof(*rows.row), by_name);
	for (size_t i = 0; i < rows.nr && rc == 0; i++) {
		struct event ev = {.group = g, .row = rows.row[i]};

		rc = fn(&ev, arg);
	}
	mem_free(rows.row);
	return rc;
}

int catalogue_each(const struct catalogue *c, int (*fn)(const struct event *ev, void *arg),
		   void *arg)
{
	return ARRAY_RUN(i, c->nr_groups, catalogue_each_of(c, c->groups[i], fn, arg));
}
