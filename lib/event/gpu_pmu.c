/*
 * Events of the PMUs of GPUs: i915 and xe, one PMU for each card. Their names begin with that of
 * the card: gpu:card0_rcs0_busy. Source: drivers/gpu/drm/i915/i915_pmu.c,
 * drivers/gpu/drm/xe/xe_pmu.c (Linux 6.14).
 */
#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "event/boxes.h"
#include "event/catalogue.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CARDS "/sys/class/drm"

enum { MAX_UEVENT_BYTES = 16384, MAX_NAME_BYTES = 160 };

/* A GPU with a PMU. */
struct gpu {
	const struct host_pmu *pmu;
	bool is_xe;
	char card[64];   /* "card0"; "": no card in sysfs is the PMU's */
	char prefix[64]; /* of the events' names: the card, else the PMU's name */
};

/* What an event of a PMU means. All engines of i915 are events of their own; of xe they are terms
 * of two events. The frequencies of i915 are sums of MHz times seconds: millions of cycles. */
struct meaning {
	const char *event; /* a glob of the kernel's names */
	const char *units; /* those that the kernel may publish; "": none */
	enum event_kind kind;
	const char *unit;
	double scale;
	const char *text;
	const char *missing; /* why it cannot be used; NULL: it can */
};

static const struct meaning of_i915[] = {
    {"*-busy", "ns", EVENT_SHARE, "%", 1, "Share of time in which the engine worked", NULL},
    {"*-sema", "ns", EVENT_SHARE, "%", 1,
     "Share of time in which the engine waited for a semaphore", NULL},
    {"*-wait", "ns", EVENT_SHARE, "%", 1,
     "Share of time in which the engine waited for an event, such as a line of the screen", NULL},
    {"actual-frequency*", "M MHz", EVENT_COUNT, "cycles", 1e6,
     "Cycles of the GPU's clock: those of a second are its mean frequency", NULL},
    {"requested-frequency*", "M MHz", EVENT_COUNT, "cycles", 1e6,
     "Cycles that the GPU's clock would have had at the requested frequency", NULL},
    {"interrupts*", "", EVENT_COUNT, "interrupts", 1, "Interrupts of the GPU", NULL},
    {"rc6-residency*", "ns", EVENT_COUNT, "ns", 1,
     "Time in which the GPU was switched off for want of work (RC6)", NULL},
    {"software-gt-awake-time*", "ns", EVENT_COUNT, "ns", 1,
     "Time in which the driver had the GPU awake", NULL},
};

#define NO_MEAN                                                                                    \
	"the kernel adds the frequency to the count at each read, so that it has no mean: use "    \
	"gpu:frequency and gpu:requested_frequency"

/* Events of each gt, a part of the GPU with clocks of its own. */
static const struct meaning of_xe[] = {
    {"gt-c6-residency", "ms", EVENT_COUNT, "ns", 1e6,
     "Time in which the GPU was switched off for want of work (C6)", NULL},
    {"gt-actual-frequency", "MHz", EVENT_COUNT, "cycles", 1e6, "Cycles of the GPU's clock",
     NO_MEAN},
    {"gt-requested-frequency", "MHz", EVENT_COUNT, "cycles", 1e6,
     "Cycles that the GPU's clock would have had at the requested frequency", NO_MEAN},
};

static const struct meaning of_xe_engine = {
    NULL, "", EVENT_SHARE, "%", 1, "Share of time in which the engine worked", NULL};
#define XE_ACTIVE "engine-active-ticks"
#define XE_TOTAL  "engine-total-ticks"
#define XE_ENGINES                                                                                 \
	"The kernel lists classes of engines, not engines: those of a class have the numbers "     \
	"from "                                                                                    \
	"0 on.\nWhile it is measured the GPU does not sleep."

/* Indexed by the enum of engine classes in include/uapi/drm/xe_drm.h. */
static const char *const xe_classes[] = {"rcs", "bcs", "vcs", "vecs", "ccs"};

static const struct class_text {
	const char *class, *text;
} class_texts[] = {
    {"rcs", "render"},  {"bcs", "copy"}, {"vcs", "video"}, {"vecs", "video enhancement"},
    {"ccs", "compute"},
};

/* The value of a line of a uevent file ("DRIVER=i915"): copied to out. False: there is none. */
static bool find_line(const char *text, const char *key, char *out, size_t size)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) != 0)
			continue;
		snprintf(out, size, "%.*s", (int)strcspn(line + len, "\n"), line + len);
		return true;
	}
	return false;
}

/* Looks for the card of a PMU among the entries of CARDS. */
struct card_search {
	const struct catalogue *c;
	struct gpu *gpu;
	const char *address; /* "0000:03:00.0"; "": the PMU has none in its name */
};

/* A card of the driver whose PMU has no address: the one without a PMU of its own. */
static bool has_own_pmu(const struct host *h, const char *address)
{
	char name[128];

	snprintf(name, sizeof(name), "i915_%s", address);
	for (char *p = name; *p; p++)
		*p = *p == ':' ? '_' : *p;
	return host_find_pmu(h, name);
}

static bool is_card(const char *name)
{
	return strncmp(name, "card", 4) == 0 && name[4] &&
	       name[4 + strspn(name + 4, "0123456789")] == '\0';
}

enum { FOUND = 1 };

static int try_card(const char *name, void *arg)
{
	const struct card_search *s = arg;
	char path[PATH_MAX], driver[64] = "", address[64] = "";
	BUF_AUTO(text, MAX_UEVENT_BYTES);
	int rc;

	if (!is_card(name) || strlen(name) >= sizeof(s->gpu->card))
		return 0;
	snprintf(path, sizeof(path), CARDS "/%s/device/uevent", name);
	rc = root_load(&s->c->host->root, path, &text);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	(void)find_line(buf_str(&text), "DRIVER=", driver, sizeof(driver));
	(void)find_line(buf_str(&text), "PCI_SLOT_NAME=", address, sizeof(address));
	if (*s->address ? strcmp(address, s->address) != 0
			: strcmp(driver, "i915") != 0 || has_own_pmu(s->c->host, address))
		return 0;
	snprintf(s->gpu->card, sizeof(s->gpu->card), "%s", name);
	return FOUND;
}

/* "i915_0000_03_00.0": the address after the driver's name. */
static void address_of(const char *pmu, char *out, size_t size)
{
	const char *at = strchr(pmu, '_');

	snprintf(out, size, "%s", at ? at + 1 : "");
	for (char *p = out; *p; p++)
		*p = *p == '_' ? ':' : *p;
}

static void make_prefix(struct gpu *g)
{
	snprintf(g->prefix, sizeof(g->prefix), "%s", *g->card ? g->card : g->pmu->name);
	for (char *p = g->prefix; *p; p++)
		*p = isalnum((unsigned char)*p) ? *p : '_';
}

static bool is_gpu(const struct host_pmu *pmu)
{
	return boxes_may_count(pmu) &&
	       (strcmp(pmu->name, "i915") == 0 || strncmp(pmu->name, "i915_", 5) == 0 ||
		strncmp(pmu->name, "xe_", 3) == 0);
}

/* 0 or -ENOMEM. */
static int make_gpu(const struct catalogue *c, const struct host_pmu *pmu, struct gpu *out)
{
	char address[sizeof(pmu->name)];
	struct card_search s = {.c = c, .gpu = out, .address = address};

	*out = (struct gpu){.pmu = pmu, .is_xe = strncmp(pmu->name, "xe_", 3) == 0};
	address_of(pmu->name, address, sizeof(address));
	if (root_each(&c->host->root, CARDS, try_card, &s) == -ENOMEM)
		return -ENOMEM;
	make_prefix(out);
	return 0;
}

/* A walk over all events of a GPU: each, or those of one name, with or without the card. */
struct walk {
	const struct catalogue *c;
	const struct gpu *gpu;
	const char *asked; /* NULL: all */
	int (*fn)(const struct event_row *row, void *arg);
	void *arg;
	unsigned gt; /* of xe, the one in hand */
	int rc;      /* of fn, the last time */
};

/* rest: the name without the card. */
static bool is_asked(const struct walk *w, const char *rest)
{
	const char *prefix = w->gpu->prefix;
	size_t len = strlen(prefix);

	if (!w->asked || strcasecmp(w->asked, rest) == 0)
		return true;
	return strncasecmp(w->asked, prefix, len) == 0 && w->asked[len] == '_' &&
	       strcasecmp(w->asked + len + 1, rest) == 0;
}

/* One event, or for a share the part and the whole. */
struct counted {
	const char *rest; /* its name without the card */
	const char *engine;
	const struct meaning *meaning;
	const struct sysfs_event *event, *whole;
	const char *detail;
};

/* Where the kernel names no CPU, one will do: the counters are those of the device. */
static int use_one_cpu(const struct walk *w, struct event_part *part)
{
	int first = cpuset_next(&w->c->host->online, 0);
	struct cpuset *one;

	if (part->cpus || first < 0)
		return 0;
	one = arena_calloc(w->c->arena, 1, sizeof(*one));
	if (!one)
		return -ENOMEM;
	cpuset_add(one, (unsigned)first);
	part->cpus = one;
	return 0;
}

static int add_part(const struct walk *w, const struct sysfs_event *ev, struct event_part *out,
		    struct err *why)
{
	struct boxes b;
	int rc = boxes_of_event(w->c->host, w->c->arena, w->gpu->pmu, ev, &b, why);

	if (rc)
		return rc;
	*out = b.parts[0];
	return use_one_cpu(w, out);
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; (p = strstr(p, word)); p += len)
		if ((p == words || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
			return true;
	return false;
}

/* Why the event cannot be used, or NULL: it can. 0 or -ENOMEM. */
static int find_reason(const struct walk *w, const struct counted *k, const struct err *why,
		       const char **out)
{
	const char *unit = k->event->unit;

	*out = k->meaning->missing;
	if (*out)
		return 0;
	if (*unit ? !has_word(k->meaning->units, unit) : *k->meaning->units)
		*out = arena_printf(w->c->arena, "the kernel publishes it in %s, not in %s",
				    *unit ? unit : "no unit", k->meaning->units);
	else if (why->code)
		*out = arena_strdup(w->c->arena, why->msg);
	else
		return 0;
	return *out ? 0 : -ENOMEM;
}

static const char *describe(const struct walk *w, const struct counted *k)
{
	const char *of = *w->gpu->card ? w->gpu->card : w->gpu->pmu->name;
	const struct class_text *t =
	    k->engine ? ARRAY_FIND(x, class_texts, ARRAY_NR(class_texts),
				   strncmp(x->class, k->engine, strlen(x->class)) == 0)
		      : NULL;

	if (!k->engine)
		return arena_printf(w->c->arena, "%s (%s).", k->meaning->text, of);
	return arena_printf(w->c->arena, "%s (%s: engine %s%s%s).", k->meaning->text, of, k->engine,
			    t ? ", " : "", t ? t->text : "");
}

static bool is_complete(const struct event_row *row)
{
	return row->name && row->source && row->description;
}

static int emit(struct walk *w, const struct counted *k)
{
	const struct sysfs_event *events[] = {k->event, k->whole};
	uint32_t nr_parts = k->whole ? 2 : 1;
	struct event_row *row;
	struct event_part *parts;
	struct err why = {0};
	int rc = 0;

	if (!is_asked(w, k->rest))
		return 0;
	row = arena_calloc(w->c->arena, 1, sizeof(*row));
	parts = arena_calloc(w->c->arena, ARRAY_NR(events), sizeof(*parts));
	if (!row || !parts)
		return -ENOMEM;
	*row = (struct event_row){
	    .name = arena_printf(w->c->arena, "%s_%s", w->gpu->prefix, k->rest),
	    .kind = k->meaning->kind,
	    .scope = EVENT_SCOPE_PACKAGE,
	    .unit = k->meaning->unit,
	    .scale = k->event->scale * k->meaning->scale,
	    .source = arena_printf(w->c->arena, "%s/%s/", w->gpu->pmu->name, k->event->name),
	    .description = describe(w, k),
	    .detail = k->detail,
	};
	for (uint32_t i = 0; i < nr_parts && rc == 0; i++)
		rc = add_part(w, events[i], &parts[i], &why);
	if (rc == -ENOMEM || !is_complete(row) || find_reason(w, k, &why, &row->missing))
		return -ENOMEM;
	row->parts = row->missing ? NULL : parts;
	row->nr_parts = row->missing ? 0 : nr_parts;
	w->rc = w->fn(row, w->arg);
	return w->rc;
}

/* "rcs0-busy" becomes "rcs0_busy". */
static void spell(char out[MAX_NAME_BYTES], const char *event)
{
	snprintf(out, MAX_NAME_BYTES, "%s", event);
	for (char *p = out; *p; p++)
		*p = isalnum((unsigned char)*p) ? *p : '_';
}

static int visit_i915(const struct sysfs_event *ev, void *arg)
{
	const struct meaning *m =
	    ARRAY_FIND(x, of_i915, ARRAY_NR(of_i915), fnmatch(x->event, ev->name, 0) == 0);
	char rest[MAX_NAME_BYTES], engine[MAX_NAME_BYTES];
	bool is_of_engine = m && m->kind == EVENT_SHARE;

	if (!m)
		return 0;
	spell(rest, ev->name);
	snprintf(engine, sizeof(engine), "%.*s", (int)strcspn(ev->name, "-"), ev->name);
	return emit(arg, &(struct counted){.rest = rest,
					   .engine = is_of_engine ? engine : NULL,
					   .meaning = m,
					   .event = ev});
}

/* Adds terms to a published event. -E2BIG: they have no room. */
static int add_terms(struct sysfs_event *ev, const char *terms)
{
	size_t len = strlen(ev->terms), name_len = strlen(ev->name), more = strlen(terms);

	if (len + more >= sizeof(ev->terms) || name_len + more >= sizeof(ev->name))
		return -E2BIG;
	memcpy(ev->terms + len, terms, more + 1);
	memcpy(ev->name + name_len, terms, more + 1);
	return 0;
}

/* -ENOENT: the PMU does not have the event. */
static int find_xe(const struct walk *w, const char *event, const char *terms,
		   struct sysfs_event *out)
{
	int rc = sysfs_find_event(w->c->host, w->gpu->pmu, event, out) ?: add_terms(out, terms);

	return rc == 0 || rc == -ENOMEM ? rc : -ENOENT;
}

static int emit_xe_event(struct walk *w, const struct meaning *m)
{
	char rest[MAX_NAME_BYTES], spelled[MAX_NAME_BYTES], terms[32];
	struct sysfs_event ev;
	int rc;

	spell(spelled, m->event + strlen("gt-"));
	snprintf(rest, sizeof(rest), "gt%u_%.*s", w->gt, MAX_NAME_BYTES / 2, spelled);
	snprintf(terms, sizeof(terms), ",gt=%u", w->gt);
	rc = find_xe(w, m->event, terms, &ev);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	return emit(w, &(struct counted){.rest = rest, .meaning = m, .event = &ev});
}

static int emit_xe_engine(struct walk *w, unsigned class, unsigned instance)
{
	char rest[MAX_NAME_BYTES], engine[32], terms[96];
	struct sysfs_event active, total;
	int rc;

	snprintf(engine, sizeof(engine), "%s%u", xe_classes[class], instance);
	snprintf(rest, sizeof(rest), "gt%u_%s_busy", w->gt, engine);
	snprintf(terms, sizeof(terms), ",gt=%u,engine_class=%u,engine_instance=%u", w->gt, class,
		 instance);
	rc = find_xe(w, XE_ACTIVE, terms, &active) ?: find_xe(w, XE_TOTAL, terms, &total);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	return emit(w, &(struct counted){.rest = rest,
					 .engine = engine,
					 .meaning = &of_xe_engine,
					 .event = &active,
					 .whole = &total,
					 .detail = XE_ENGINES});
}

static int list_class(const char *name, void *arg)
{
	for (unsigned i = 0; i < ARRAY_NR(xe_classes); i++)
		if (strcmp(xe_classes[i], name) == 0)
			return emit_xe_engine(arg, i, 0);
	return 0;
}

/* A folder that cannot be read has no entries. */
static int each_entry(const struct walk *w, const char *path,
		      int (*fn)(const char *name, void *arg), void *arg)
{
	int rc = root_each(&w->c->host->root, path, fn, arg);

	return w->rc ? w->rc : rc == -ENOMEM ? rc : 0;
}

/* engines: their folder; NULL: none. */
static int list_gt(struct walk *w, const char *engines)
{
	int rc = ARRAY_RUN(i, ARRAY_NR(of_xe), emit_xe_event(w, &of_xe[i]));

	return rc || !engines ? rc : each_entry(w, engines, list_class, w);
}

/* "gt0" in a folder of the card's device. */
struct tile {
	struct walk *walk;
	char path[PATH_MAX / 2];
	unsigned nr_gts;
};

/* The number after a word ("gt12"), up to most. False: the name is another. */
static bool scan_number(const char **name, const char *word, unsigned most, unsigned *out)
{
	size_t len = strlen(word);
	const char *p = *name + len;
	uint64_t value;

	if (strncasecmp(*name, word, len) != 0 || !isdigit((unsigned char)*p) ||
	    str_scan_u64(&p, p + strlen(p), &value) || value > most)
		return false;
	*out = (unsigned)value;
	*name = p;
	return true;
}

enum { MAX_GT = 15, MAX_INSTANCE = 255 }; /* as the terms have bits */

static int try_gt(const char *name, void *arg)
{
	const char *rest = name;
	struct tile *t = arg;
	char path[PATH_MAX];

	if (!scan_number(&rest, "gt", MAX_GT, &t->walk->gt) || *rest)
		return 0;
	t->nr_gts++;
	snprintf(path, sizeof(path), "%s/%s/engines", t->path, name);
	return list_gt(t->walk, path);
}

static int try_tile(const char *name, void *arg)
{
	struct tile *all = arg, one = {.walk = all->walk};
	int rc;

	if (fnmatch("tile*", name, 0) != 0 || (size_t)snprintf(one.path, sizeof(one.path), "%s/%s",
							       all->path, name) >= sizeof(one.path))
		return 0;
	rc = each_entry(all->walk, one.path, try_gt, &one);
	all->nr_gts += one.nr_gts;
	return rc;
}

/* All parts of the GPU that sysfs has; the first, if it has none. */
static int list_xe(struct walk *w)
{
	struct tile device = {.walk = w};
	int rc = 0;

	snprintf(device.path, sizeof(device.path), CARDS "/%s/device", w->gpu->card);
	if (*w->gpu->card)
		rc = each_entry(w, device.path, try_tile, &device);
	if (rc || device.nr_gts)
		return rc;
	w->gt = 0;
	return list_gt(w, NULL);
}

/* An engine, or an event of a gt, that sysfs need not list: "card0_gt1_vcs3_busy". */
static int find_xe_named(struct walk *w)
{
	size_t len = strlen(w->gpu->prefix);
	const char *p = w->asked;
	int rc = 0;

	if (strncasecmp(p, w->gpu->prefix, len) == 0 && p[len] == '_')
		p += len + 1;
	if (!scan_number(&p, "gt", MAX_GT, &w->gt) || *p++ != '_')
		return 0;
	for (unsigned class = 0; class < ARRAY_NR(xe_classes) && rc == 0; class ++) {
		const char *rest = p;
		unsigned instance;

		if (scan_number(&rest, xe_classes[class], MAX_INSTANCE, &instance))
			rc = emit_xe_engine(w, class, instance);
	}
	return rc ? rc : list_gt(w, NULL);
}

static int walk_gpu(struct walk *w)
{
	if (w->gpu->is_xe)
		return w->asked ? find_xe_named(w) : list_xe(w);
	return sysfs_each_event(w->c->host, w->gpu->pmu, visit_i915, w);
}

static int walk_all(const struct catalogue *c, const char *asked,
		    int (*fn)(const struct event_row *row, void *arg), void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < c->host->nr_pmus && rc == 0; i++) {
		struct gpu gpu;
		struct walk w = {.c = c, .gpu = &gpu, .asked = asked, .fn = fn, .arg = arg};

		if (is_gpu(&c->host->pmus[i]))
			rc = make_gpu(c, &c->host->pmus[i], &gpu) ?: walk_gpu(&w);
	}
	return rc;
}

static int each_row(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		    void *arg)
{
	return walk_all(c, NULL, fn, arg);
}

/* The rows of one name: more than one if it is without the card, and several cards have it. */
struct search {
	const struct event_row *first, *second;
};

static int keep_row(const struct event_row *row, void *arg)
{
	struct search *s = arg;

	if (s->first)
		s->second = row;
	else
		s->first = row;
	return s->second ? FOUND : 0;
}

static int find_row(const struct catalogue *c, const char *name, const struct event_row **out,
		    struct err *e)
{
	struct search s = {NULL, NULL};
	int rc = walk_all(c, name, keep_row, &s);

	if (s.second) {
		err_set(e, -ENOENT, "several GPUs have it: %s and %s", s.first->name,
			s.second->name);
		return -ENOENT;
	}
	if (rc < 0 || !s.first)
		return rc < 0 ? rc : -ENOENT;
	*out = s.first;
	return 0;
}

const struct event_maker event_gpu_pmu_maker = {.find = find_row, .each = each_row};
