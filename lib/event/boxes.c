/*
 * One event counted by several PMUs of a kind, as the parts of one row.
 */
#include "event/boxes.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_BOX_EVENTS = 16, MAX_EVENTS_BYTES = 512 };

bool boxes_may_count(const struct host_pmu *pmu)
{
	/* the kernel's own PMUs (groups software and tracepoint), and PMUs that write traces */
	static const char *const others[] = {"software",  "tracepoint", "breakpoint", "kprobe",
					     "uprobe",    "intel_pt",   "intel_bts",  "cs_etm",
					     "arm_spe_*", "hisi_ptt*",  "ibs_*"};

	for (const char *p = pmu->name; *p; p++) /* the name must be one printable word */
		if (*p <= ' ' || *p > '~')
			return false;
	return !pmu->is_core &&
	       !ARRAY_ANY(x, others, ARRAY_NR(others), fnmatch(*x, pmu->name, 0) == 0);
}

const struct host_pmu *boxes_find_pmu(const struct host *h, const char *name)
{
	const struct host_pmu *pmu = host_find_pmu(h, name);

	for (size_t i = 0; i < h->nr_pmus && !pmu; i++)
		if (strcasecmp(h->pmus[i].name, name) == 0)
			pmu = &h->pmus[i];
	return pmu;
}

/* The suffix is a number ("_12") or a device address ("_10008c000"). An address has more than 4
 * digits, so that words such as _df and _cafe are not cut. */
size_t boxes_base_len(const char *pmu)
{
	const char *number = strrchr(pmu, '_');
	size_t digits, len = strlen(pmu);

	if (!number || number == pmu || !number[1])
		return len;
	digits = strlen(number + 1);
	if (strspn(number + 1, "0123456789") == digits ||
	    (digits > 4 && strspn(number + 1, "0123456789abcdef") == digits))
		return (size_t)(number - pmu);
	return len;
}

static bool is_box(const struct host_pmu *pmu, const char *pmus)
{
	char base[sizeof(pmu->name)];

	snprintf(base, sizeof(base), "%.*s", (int)boxes_base_len(pmu->name), pmu->name);
	return fnmatch(pmus, base, FNM_CASEFOLD) == 0 ||
	       fnmatch(pmus, pmu->name, FNM_CASEFOLD) == 0;
}

/* The kernel's units, and ours. */
static void use_our_unit(struct sysfs_event *ev)
{
	static const struct {
		const char *kernel, *unit;
		double factor;
	} units[] = {
	    {"Joules", "J", 1}, {"Bytes", "B", 1}, {"KiB", "B", 1024}, {"MiB", "B", 1048576}};

	for (size_t i = 0; i < ARRAY_NR(units); i++) {
		if (strcmp(ev->unit, units[i].kernel) != 0)
			continue;
		snprintf(ev->unit, sizeof(ev->unit), "%s", units[i].unit);
		ev->scale *= units[i].factor;
		return;
	}
}

/* The caller ensures room for one more part. */
static int add_part(const struct host *h, const struct host_pmu *pmu, const struct sysfs_event *ev,
		    struct boxes *b, struct err *e)
{
	struct sysfs_event ours = *ev;
	int rc;

	if (ev->problem)
		return err_set(e, -EINVAL, "%s/%s/: %s", pmu->name, ev->name, ev->problem);
	if (pmu->has_cpumask && cpuset_next(&pmu->cpus, 0) < 0)
		return err_set(e, -EINVAL, "the cpumask of the PMU %s is empty", pmu->name);
	use_our_unit(&ours);
	if (b->nr_parts &&
	    (b->event.scale < ours.scale || b->event.scale > ours.scale ||
	     strcmp(b->event.unit, ours.unit) != 0 || b->event.is_snapshot != ours.is_snapshot))
		return err_set(e, -EINVAL, "%s and %s count %s in different units", b->first->name,
			       pmu->name, ev->name);
	rc = sysfs_encode(h, pmu, ev->terms, &b->parts[b->nr_parts], e);
	if (rc)
		return rc;
	if (b->nr_parts++ == 0) {
		b->first = pmu;
		b->event = ours;
	}
	return 0;
}

/* Adds an event, given by a published name or by terms. */
static int find_event(const struct host *h, const struct host_pmu *pmu, const char *event,
		      struct sysfs_event *out)
{
	int rc = sysfs_find_event(h, pmu, event, out);

	if (rc != -ENOENT || !strchr(event, '=') || strlen(event) >= sizeof(out->terms))
		return rc;
	*out = (struct sysfs_event){.scale = 1};
	snprintf(out->name, sizeof(out->name), "%s", event);
	snprintf(out->terms, sizeof(out->terms), "%s", event);
	return 0;
}

/* Adds all of the events on one PMU, or none of them. */
static int add_box(const struct host *h, const struct host_pmu *pmu, char *const *events,
		   size_t nr_events, struct boxes *b, struct err *e)
{
	uint32_t nr_before = b->nr_parts;
	struct sysfs_event ev;
	int rc = 0;

	for (size_t i = 0; i < nr_events && rc == 0; i++) {
		rc = find_event(h, pmu, events[i], &ev) ?: add_part(h, pmu, &ev, b, e);
	}
	if (rc != -ENOENT)
		return rc;
	b->nr_parts = nr_before;
	return 0;
}

/* An exact PMU name selects that PMU only. */
static bool is_meant(const struct host_pmu *pmu, const char *pmus, const struct host_pmu *only)
{
	return boxes_may_count(pmu) && (only ? pmu == only : is_box(pmu, pmus));
}

int boxes_find(const struct host *h, struct arena *a, const char *pmus, const char *events,
	       struct boxes *out, struct err *e)
{
	char text[MAX_EVENTS_BYTES], *each[MAX_BOX_EVENTS];
	const struct host_pmu *only = boxes_find_pmu(h, pmus);
	struct boxes b = {0};
	uint32_t nr_boxes = 0;
	size_t nr_events = 0;
	char *save = NULL;
	int rc = 0;

	for (size_t i = 0; i < h->nr_pmus; i++)
		nr_boxes += is_meant(&h->pmus[i], pmus, only);
	if (!nr_boxes || strlen(events) >= sizeof(text))
		return -ENOENT;
	snprintf(text, sizeof(text), "%s", events);
	for (char *p = strtok_r(text, " ", &save); p && nr_events < MAX_BOX_EVENTS;
	     p = strtok_r(NULL, " ", &save))
		each[nr_events++] = p;
	b.parts = arena_calloc(a, nr_boxes * nr_events, sizeof(*b.parts));
	if (!b.parts)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < h->nr_pmus && rc == 0; i++)
		if (is_meant(&h->pmus[i], pmus, only))
			rc = add_box(h, &h->pmus[i], each, nr_events, &b, e);
	if (rc == 0 && !b.nr_parts)
		rc = -ENOENT;
	if (rc == 0)
		*out = b;
	return rc;
}

int boxes_of_event(const struct host *h, struct arena *a, const struct host_pmu *pmu,
		   const struct sysfs_event *ev, struct boxes *out, struct err *e)
{
	struct boxes b = {.parts = arena_calloc(a, 1, sizeof(*b.parts))};
	int rc = b.parts ? add_part(h, pmu, ev, &b, e) : err_set(e, -ENOMEM, "out of memory");

	if (rc == 0)
		*out = b;
	return rc;
}
