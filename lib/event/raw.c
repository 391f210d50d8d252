/*
 * Events without a table: raw encodings (r01c2), terms of a core PMU (cpu/term=1/) and the names
 * that the kernel publishes for it. uncore.c has the events of other PMUs. Source: perf-list(1),
 * "RAW HARDWARE EVENT DESCRIPTOR" and "ARBITRARY PMUS".
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/perf_abi.h"
#include "base/str.h"
#include "event/boxes.h"
#include "event/catalogue.h"
#include "event/model.h"
#include "event/parts.h"
#include "event/sysfs.h"
#include "host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_PARTS = 8, MAX_NAME_BYTES = 512 };

/* An event being made: its PMUs, and the parts on them. */
struct raw {
	const struct catalogue *c;
	const struct host_pmu *pmus[MAX_PARTS];
	uint32_t nr_pmus;
	struct event_part parts[MAX_PARTS];
	uint32_t nr_parts;
	struct sysfs_event published; /* of the first part; name is "" if not published */
	char terms[MAX_NAME_BYTES];   /* of the first part */
};

static void add_core_pmus(struct raw *r)
{
	const struct host *h = r->c->host;

	for (size_t i = 0; i < h->nr_pmus && r->nr_pmus < MAX_PARTS; i++)
		if (h->pmus[i].is_core)
			r->pmus[r->nr_pmus++] = &h->pmus[i];
}

/* Encodes a published name or terms on one PMU. */
static int add_part(struct raw *r, const struct host_pmu *pmu, const char *text,
		    bool only_published, struct err *e)
{
	struct sysfs_event ev;
	int rc = sysfs_find_event(r->c->host, pmu, text, &ev);
	bool is_published = rc == 0;
	const char *terms = is_published ? ev.terms : text;

	if (only_published && !is_published)
		return rc;
	rc = sysfs_encode(r->c->host, pmu, terms, &r->parts[r->nr_parts], e);
	if (rc)
		return rc;
	if (r->nr_parts++ == 0) {
		snprintf(r->terms, sizeof(r->terms), "%s", terms);
		if (is_published)
			r->published = ev;
	}
	return 0;
}

/* On a hybrid CPU, core types without the event are skipped. */
static int add_parts(struct raw *r, const char *text, bool only_published, struct err *e)
{
	for (uint32_t i = 0; i < r->nr_pmus; i++)
		if (add_part(r, r->pmus[i], text, only_published, e) == -ENOMEM)
			return -ENOMEM;
	return r->nr_parts ? 0 : -ENOENT;
}

static int new_row(const struct raw *r, const char *name, const struct event_row **out)
{
	struct arena *a = r->c->arena;
	struct event_row *row = parts_row(r->c, name, r->parts, r->nr_parts);
	const char *pmu = r->pmus[0]->name;

	if (!row)
		return -ENOMEM;
	if (r->published.name[0]) {
		row->kind = r->published.is_snapshot ? EVENT_VALUE : EVENT_COUNT;
		row->scale = r->published.scale;
		row->missing = r->published.problem;
	}
	if (r->published.unit[0])
		row->unit = arena_strdup(a, r->published.unit);
	row->description =
	    r->published.name[0]
		? arena_printf(a, "The kernel's own event %s of the PMU %s: %s.", r->published.name,
			       pmu, r->terms)
		: arena_printf(a, "An event of the PMU %s by its terms: %s.", pmu, r->terms);
	if (!row->unit || !row->description)
		return -ENOMEM;
	*out = row;
	return 0;
}

/* "r" and hexadecimal digits. */
static bool is_raw(const char *name)
{
	return (*name == 'r' || *name == 'R') && name[1] &&
	       strspn(name + 1, "0123456789abcdefABCDEF") == strlen(name + 1);
}

static int find_raw(const struct catalogue *c, const char *name, const struct event_row **out,
		    struct err *e)
{
	struct raw r = {.c = c};
	struct event_part part = {.pmu = "", .type = PERF_TYPE_RAW};
	bool is_foreign = event_model_is_foreign(c);
	struct event_row *row;

	if (strlen(name + 1) > 16)
		return err_set(e, -ENOENT, "more than 64 bits");
	part.config = strtoull(name + 1, NULL, 16);
	if (!is_foreign)
		add_core_pmus(&r);
	for (uint32_t i = 0; i < r.nr_pmus; i++) {
		r.parts[i] = part;
		r.parts[i].pmu = r.pmus[i]->name;
		r.parts[i].type = r.pmus[i]->type;
		if (cpuset_next(&r.pmus[i]->cpus, 0) >= 0)
			r.parts[i].cpus = &r.pmus[i]->cpus;
	}
	row = r.nr_pmus ? parts_row(c, name, r.parts, r.nr_pmus) : parts_row(c, name, &part, 1);
	if (!row)
		return -ENOMEM;
	row->description =
	    arena_printf(c->arena, "An event of the core's PMU by its raw encoding, 0x%" PRIx64 ".",
			 part.config);
	row->missing = is_foreign ? parts_foreign_reason(c) : NULL;
	if (!row->description || (is_foreign && !row->missing))
		return -ENOMEM;
	*out = row;
	return 0;
}

static int refuse_pmu(const struct catalogue *c, const char *name, struct err *e)
{
	const struct host_pmu *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < c->host->nr_pmus; i++) {
		const struct host_pmu *pmu = &c->host->pmus[i];
		const char *was = best ? best->name : NULL, *nearest = was;

		if (!pmu->is_core && !boxes_may_count(pmu))
			continue;
		str_nearest_offer(name, pmu->name, &nearest, &distance);
		best = nearest != was ? pmu : best;
	}
	err_set(e, -ENOENT, "this machine has no PMU \"%s\"", name);
	if (best)
		err_hint(e, "did you mean %s%s/…/?", best->is_core ? "" : "misc:", best->name);
	return -ENOENT;
}

/* Splits "PMU/terms/"; false if the text has another form. */
static bool split(const char *name, char *pmu, size_t pmu_size, char *terms, size_t terms_size)
{
	const char *slash = strchr(name, '/');
	size_t len = strlen(name);

	if (!slash || slash == name || (size_t)(slash - name) >= pmu_size || len >= terms_size)
		return false;
	snprintf(pmu, pmu_size, "%.*s", (int)(slash - name), name);
	snprintf(terms, terms_size, "%s", slash + 1);
	len = strlen(terms);
	if (len < 2 || terms[len - 1] != '/')
		return false;
	terms[len - 1] = '\0';
	return true;
}

static int find_terms(const struct catalogue *c, const char *name, const struct event_row **out,
		      struct err *e)
{
	char pmu[64], terms[MAX_NAME_BYTES], spelled[2 * MAX_NAME_BYTES];
	struct raw r = {.c = c};
	int rc;

	if (!split(name, pmu, sizeof(pmu), terms, sizeof(terms))) {
		err_set(e, -ENOENT, "not of the form PMU/term=value,…/");
		err_hint(e, "for example cpu/event=0xc0,umask=0x1/");
		return -ENOENT;
	}
	if (event_model_is_foreign(c))
		return err_set(e, -ENOENT, "the PMUs of this machine are not those of model %s",
			       event_model_canonical(c->model));
	for (size_t i = 0; i < c->host->nr_pmus && !r.nr_pmus; i++)
		if (strcasecmp(c->host->pmus[i].name, pmu) == 0)
			r.pmus[r.nr_pmus++] = &c->host->pmus[i];
	if (!r.nr_pmus && strcasecmp(pmu, "cpu") == 0)
		add_core_pmus(&r);
	if (!r.nr_pmus)
		return refuse_pmu(c, pmu, e);
	if (!r.pmus[0]->is_core) {
		err_set(e, -ENOENT, "%s is not a core PMU", r.pmus[0]->name);
		if (boxes_may_count(r.pmus[0]))
			err_hint(e, "did you mean misc:%s/%s/?", r.pmus[0]->name, terms);
		return -ENOENT;
	}
	rc = add_parts(&r, terms, false, e);
	if (rc)
		return rc;
	snprintf(spelled, sizeof(spelled), "%s/%s/", r.nr_pmus == 1 ? r.pmus[0]->name : "cpu",
		 r.published.name[0] ? r.published.name : terms);
	return new_row(&r, spelled, out);
}

static int find_published(const struct catalogue *c, const char *name, const struct event_row **out,
			  struct err *e)
{
	struct raw r = {.c = c};

	if (event_model_is_foreign(c))
		return -ENOENT;
	add_core_pmus(&r);
	return add_parts(&r, name, true, e) ?: new_row(&r, r.published.name, out);
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	if (is_raw(name))
		return find_raw(c, name, out, e);
	if (strchr(name, '/'))
		return find_terms(c, name, out, e);
	return find_published(c, name, out, e);
}

struct walk {
	const struct catalogue *c;
	size_t pmu; /* index in host->pmus */
	int (*fn)(const struct event_row *row, void *arg);
	void *arg;
	int rc; /* of fn, or -ENOMEM; separate from the result of reading folders */
};

/* libpfm4 has an event of this name: that one is found first, and listed. */
static bool is_in_tables(const struct catalogue *c, const char *name)
{
	const struct event_row *row;
	struct catalogue scratch = *c;
	ARENA_AUTO(arena, 1 << 20);

	scratch.arena = &arena;
	return event_pfm_maker.find(&scratch, name, &row, NULL) == 0;
}

static int visit(const struct sysfs_event *ev, void *arg)
{
	const struct event_row *row;
	struct sysfs_event listed;
	struct walk *w = arg;
	const struct host *h = w->c->host;

	for (size_t i = 0; i < w->pmu; i++) /* an earlier PMU has it */
		if (h->pmus[i].is_core && sysfs_find_event(h, &h->pmus[i], ev->name, &listed) == 0)
			return 0;
	if (is_raw(ev->name) || is_in_tables(w->c, ev->name))
		return 0;
	w->rc = find_published(w->c, ev->name, &row, NULL);
	if (w->rc == 0)
		w->rc = w->fn(row, w->arg);
	else if (w->rc == -ENOENT)
		w->rc = 0; /* terms that cannot be packed: do not list it */
	return w->rc;
}

static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	struct walk w = {.c = c, .fn = fn, .arg = arg};

	if (event_model_is_foreign(c))
		return 0;
	for (; w.pmu < c->host->nr_pmus && w.rc == 0; w.pmu++)
		if (c->host->pmus[w.pmu].is_core)
			(void)sysfs_each_event(c->host, &c->host->pmus[w.pmu], visit, &w);
	return w.rc;
}

const struct event_maker event_raw_maker = {.find = find, .each = each};
