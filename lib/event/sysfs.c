/*
 * PMUs in sysfs: packs terms by the PMU's format files, and reads the events that it publishes,
 * with scale and unit. Lengths of the kernel's text are checked.
 */
#include "event/sysfs.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PMU_FOLDER "/sys/bus/event_source/devices"

enum { MAX_TERMS = 64, MAX_TERMS_BYTES = 1024, MAX_PATH_BYTES = 320 };

/* Safe in a path and in a message: printable ASCII, no slash, no leading dot. */
static bool is_plain(const char *name)
{
	if (!*name || *name == '.')
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == '/')
			return false;
	return true;
}

/* The words of perf_event_attr that terms are packed into. */
static const struct word {
	const char *name;
	size_t offset;
} words[] = {
    {"config", offsetof(struct event_part, config)},
    {"config1", offsetof(struct event_part, config1)},
    {"config2", offsetof(struct event_part, config2)},
};

static uint64_t *find_word(struct event_part *part, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].name) == len && memcmp(words[i].name, name, len) == 0)
			return (uint64_t *)((char *)part + words[i].offset);
	return NULL;
}

/* Scans "0-7" or "32" at *p. */
static int scan_range(const char **p, const char *end, uint64_t *low, uint64_t *high)
{
	int rc = str_scan_u64(p, end, low);

	*high = *low;
	if (rc == 0 && *p != end && **p == '-') {
		++*p;
		rc = str_scan_u64(p, end, high);
	}
	return rc || *low > *high || *high > 63 ? -EINVAL : 0;
}

/* Spreads value over the bit ranges "0-7,32-35", lowest bits into the first range. -ERANGE if the
 * value has more bits. */
static int spread(const char *ranges, uint64_t value, uint64_t *word)
{
	const char *p = ranges, *end = ranges + strlen(ranges);
	uint64_t low, high;

	for (;; p++) {
		if (scan_range(&p, end, &low, &high))
			return -EINVAL;
		uint64_t mask = UINT64_MAX >> (63 - (high - low));

		*word |= (value & mask) << low;
		value = high - low == 63 ? 0 : value >> (high - low + 1);
		if (p == end)
			return value ? -ERANGE : 0;
		if (*p != ',')
			return -EINVAL;
	}
}

/* Parses the whole text: decimal, or hexadecimal after 0x. */
static int parse_value(const char *s, uint64_t *out)
{
	char *end;

	if (strncasecmp(s, "0x", 2) != 0)
		return str_parse_u64(s, out);
	s += 2;
	if (!*s || strspn(s, "0123456789abcdefABCDEF") != strlen(s))
		return -EINVAL;
	errno = 0;
	*out = strtoull(s, &end, 16);
	return errno ? -ERANGE : 0;
}

/* One term of a PMU, with what messages need. */
struct term {
	const struct host *h;
	const struct host_pmu *pmu;
	const char *name, *value;
	struct err *e;
};

/* The terms of a PMU, and the one nearest to an unknown name. */
struct known_terms {
	const char *name;
	char nearest[64];
	size_t distance;
	struct buf list;
};

static int add_known(const char *name, void *arg)
{
	struct known_terms *k = arg;
	const char *best = k->nearest[0] ? k->nearest : NULL;

	if (!is_plain(name) || strlen(name) >= sizeof(k->nearest))
		return 0;
	str_nearest_offer(k->name, name, &best, &k->distance);
	if (best == name)
		snprintf(k->nearest, sizeof(k->nearest), "%s", name);
	buf_printf(&k->list, "%s%s", k->list.len ? ", " : "", name);
	return 0;
}

static int refuse_unknown(const struct term *t)
{
	struct known_terms k = {.name = t->name};
	char folder[MAX_PATH_BYTES];

	err_set(t->e, -EINVAL, "\"%.60s\" is no term of the PMU %s", t->name, t->pmu->name);
	buf_init(&k.list, 4096);
	snprintf(folder, sizeof(folder), PMU_FOLDER "/%s/format", t->pmu->name);
	(void)root_each(&t->h->root, folder, add_known, &k);
	if (k.list.len)
		err_hint(t->e, "%s%s%sthere are %s", k.nearest[0] ? "did you mean " : "", k.nearest,
			 k.nearest[0] ? "? " : "", buf_str(&k.list));
	else
		err_hint(t->e, "there are config, config1 and config2");
	buf_fini(&k.list);
	return -EINVAL;
}

static int refuse_packing(const struct term *t, const char *format, int rc)
{
	if (rc == -ERANGE)
		err_set(t->e, -EINVAL, "%s=%.40s is too large for the PMU %s (its format is %s)",
			t->name, t->value, t->pmu->name, format);
	else if (rc == -ENOTSUP)
		err_set(t->e, rc, "the PMU %s stores %s in %s, which cpuperf does not support",
			t->pmu->name, t->name, format);
	else
		err_set(t->e, rc, "the PMU %s has an unknown format for %s: \"%s\"", t->pmu->name,
			t->name, format);
	return rc == -ENOTSUP ? rc : -EINVAL;
}

static int add_term(const struct term *t, struct event_part *out)
{
	char path[MAX_PATH_BYTES], format[128];
	uint64_t value, *word;
	const char *colon;
	int rc;

	if (!is_plain(t->name) || strlen(t->name) >= 64)
		return refuse_unknown(t);
	if (parse_value(t->value, &value))
		return err_set(t->e, -EINVAL, "%s=%.40s: not a number of 64 bits", t->name,
			       t->value);
	snprintf(path, sizeof(path), PMU_FOLDER "/%s/format/%s", t->pmu->name, t->name);
	rc = root_load_line(&t->h->root, path, format, sizeof(format));
	word = rc == -ENOENT ? find_word(out, t->name, strlen(t->name)) : NULL;
	if (word) {
		*word |= value;
		return 0;
	}
	if (rc == -ENOENT)
		return refuse_unknown(t);
	if (rc)
		return err_set_at(t->e, rc, path, 0, 0, "cannot be read: %s", strerror(-rc));
	colon = strchr(format, ':'); /* "config1:0-7,32-35" */
	if (!colon)
		return refuse_packing(t, format, -EINVAL);
	word = find_word(out, format, (size_t)(colon - format));
	rc = word ? spread(colon + 1, value, word) : -ENOTSUP;
	return rc ? refuse_packing(t, format, rc) : 0;
}

/* Adds "event=0xc0,umask=0x1,edge", which is split in place. */
static int add_terms(struct term *t, char *text, struct event_part *out)
{
	char *names[MAX_TERMS], *equals;
	int nr = 0, rc = 0;

	for (char *p = text; p; nr++) {
		if (nr == MAX_TERMS)
			return err_set(t->e, -EINVAL, "more than %d terms", MAX_TERMS);
		names[nr] = strsep(&p, ",");
	}
	for (int i = 0; i < nr && rc == 0; i++) {
		equals = strchr(names[i], '=');
		if (equals)
			*equals = '\0';
		t->name = names[i];
		t->value = equals ? equals + 1 : "1";
		for (int k = 0; k < i; k++)
			if (strcmp(names[k], names[i]) == 0)
				return err_set(t->e, -EINVAL, "the term %.60s appears twice",
					       names[i]);
		rc = add_term(t, out);
	}
	return rc;
}

int sysfs_encode(const struct host *h, const struct host_pmu *pmu, const char *terms,
		 struct event_part *out, struct err *e)
{
	struct term t = {.h = h, .pmu = pmu, .e = e};
	struct event_part part = {0};
	char text[MAX_TERMS_BYTES];
	int rc;

	if (!pmu)
		return err_set(e, -ENOENT, "this machine has no such PMU");
	if (strlen(terms) >= sizeof(text))
		return err_set(e, -EINVAL, "more than %d bytes of terms", MAX_TERMS_BYTES - 1);
	snprintf(text, sizeof(text), "%s", terms);
	rc = add_terms(&t, text, &part);
	if (rc)
		return rc;
	part.pmu = pmu->name;
	part.type = pmu->type;
	if (pmu->has_cpumask || cpuset_next(&pmu->cpus, 0) >= 0)
		part.cpus = &pmu->cpus;
	*out = part;
	return 0;
}

/* Files beside an event that describe it: tools/perf/Documentation and Documentation/ABI. */
static bool is_attribute(const char *name)
{
	static const char *const ends[] = {".scale", ".unit", ".snapshot", ".per-pkg"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t len = strlen(name), end = strlen(ends[i]);

		if (len >= end && strcasecmp(name + len - end, ends[i]) == 0)
			return true;
	}
	return false;
}

static bool is_event_name(const char *name)
{
	return is_plain(name) && !is_attribute(name) &&
	       strlen(name) < sizeof(((struct sysfs_event *)0)->name);
}

/* Parses "2.3283064365386962890625e-10" in the C locale. */
static int parse_scale(const char *s, double *out)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end = NULL;
	double v = 0;

	if (c == (locale_t)0)
		return -ENOMEM;
	if (strspn(s, "0123456789.eE+-") == strlen(s))
		v = strtod_l(s, &end, c);
	freelocale(c);
	if (!end || end == s || *end || !isfinite(v) || v <= 0)
		return -EINVAL;
	*out = v;
	return 0;
}

/* Reads the first line of events/NAME<suffix>. */
static int load_line(const struct host *h, const struct host_pmu *pmu, const char *name,
		     const char *suffix, char *line, size_t size)
{
	char path[MAX_PATH_BYTES];

	snprintf(path, sizeof(path), PMU_FOLDER "/%s/events/%s%s", pmu->name, name, suffix);
	return root_load_line(&h->root, path, line, size);
}

/* 0 or -ENOENT; other failures are stored in out->problem. */
static int load_event(const struct host *h, const struct host_pmu *pmu, const char *name,
		      struct sysfs_event *out)
{
	struct sysfs_event ev = {.scale = 1};
	char line[64];
	int rc;

	snprintf(ev.name, sizeof(ev.name), "%s", name);
	rc = load_line(h, pmu, name, "", ev.terms, sizeof(ev.terms));
	if (rc == -ENOENT)
		return rc;
	if (rc) {
		ev.problem = "its file cannot be read";
	} else {
		rc = load_line(h, pmu, name, ".scale", line, sizeof(line))
			 ?: parse_scale(line, &ev.scale);
		if (rc && rc != -ENOENT)
			ev.problem = "its scale is not a number";
	}
	if (!ev.problem) {
		rc = load_line(h, pmu, name, ".unit", ev.unit, sizeof(ev.unit));
		str_disarm(ev.unit);
		if (rc && rc != -ENOENT)
			ev.problem = "its unit cannot be read";
	}
	ev.is_snapshot =
	    load_line(h, pmu, name, ".snapshot", line, sizeof(line)) == 0 && strcmp(line, "1") == 0;
	*out = ev;
	return 0;
}

struct walk {
	const struct host *h;
	const struct host_pmu *pmu;
	const char *name; /* the name to find; NULL: call fn for each */
	struct sysfs_event *found;
	int (*fn)(const struct sysfs_event *ev, void *arg);
	void *arg;
	bool is_stopped; /* by fn */
};

static int walk_events(struct walk *w, int (*visit)(const char *name, void *arg))
{
	char folder[MAX_PATH_BYTES];

	snprintf(folder, sizeof(folder), PMU_FOLDER "/%s/events", w->pmu->name);
	return root_each(&w->h->root, folder, visit, w);
}

enum { FOUND = 1 };

static int find_any_case(const char *name, void *arg)
{
	const struct walk *w = arg;

	if (strcasecmp(name, w->name) != 0)
		return 0;
	return load_event(w->h, w->pmu, name, w->found) == 0 ? FOUND : 0;
}

int sysfs_find_event(const struct host *h, const struct host_pmu *pmu, const char *name,
		     struct sysfs_event *out)
{
	struct walk w = {.h = h, .pmu = pmu, .name = name, .found = out};
	int rc;

	if (!pmu || !is_event_name(name))
		return -ENOENT;
	if (load_event(h, pmu, name, out) == 0)
		return 0;
	rc = walk_events(&w, find_any_case);
	return rc == FOUND ? 0 : rc == 0 ? -ENOENT : rc;
}

static int visit_event(const char *name, void *arg)
{
	struct walk *w = arg;
	struct sysfs_event ev;
	int rc = 0;

	if (is_event_name(name) && load_event(w->h, w->pmu, name, &ev) == 0)
		rc = w->fn(&ev, w->arg);
	w->is_stopped = rc != 0;
	return rc;
}

int sysfs_each_event(const struct host *h, const struct host_pmu *pmu,
		     int (*fn)(const struct sysfs_event *ev, void *arg), void *arg)
{
	struct walk w = {.h = h, .pmu = pmu, .fn = fn, .arg = arg};
	int rc = walk_events(&w, visit_event);

	/* PMUs that trace usually have no such folder */
	return w.is_stopped || rc == -ENOMEM ? rc : 0;
}
