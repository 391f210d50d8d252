/*
 * Events of CPU models, from libpfm4's tables: EVENT, EVENT:UMASK and hardware modifiers, in the
 * vendor's spelling. raw.c has the kernel's names and raw encodings.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "event/catalogue.h"
#include "event/libpfm.h"
#include "event/model.h"
#include "event/parts.h"
#include "host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME_BYTES = 256, MAX_TEXT_BYTES = 4096 };

/* The selected models. */
struct models {
	const struct catalogue *c;
	const char *missing; /* of all rows, in the arena; NULL */
	pfm_pmu_info_t info[MODEL_MAX_SELECTED];
	size_t nr;
};

/* A name resolved in one model. */
struct resolved {
	char name[MAX_NAME_BYTES];  /* in the vendor's spelling */
	char masks[MAX_NAME_BYTES]; /* descriptions of its unit masks */
	pfm_event_info_t event;
	struct event_part part;
};

static int get_models(const struct catalogue *c, struct models *out)
{
	int pmus[MODEL_MAX_SELECTED];

	memset(out, 0, sizeof(*out));
	out->c = c;
	out->nr = event_model_select(c, pmus);
	for (size_t i = 0; i < out->nr; i++) {
		out->info[i].size = sizeof(out->info[i]);
		(void)libpfm()->get_pmu_info((pfm_pmu_t)pmus[i], &out->info[i]);
	}
	if (!out->nr || !event_model_is_foreign(c))
		return 0;
	out->missing = parts_foreign_reason(c);
	return out->missing ? 0 : -ENOMEM;
}

static void get_event(int idx, pfm_event_info_t *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	(void)libpfm()->get_event_info(idx, PFM_OS_PERF_EVENT_EXT, out);
}

static void get_attr(const pfm_event_info_t *event, int i, pfm_event_attr_info_t *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	(void)libpfm()->get_event_attr_info(event->idx, i, PFM_OS_PERF_EVENT_EXT, out);
}

static bool is_spelled(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && strncasecmp(name, text, len) == 0;
}

/* "A, B, C", truncated with "…". */
static void list_masks(const pfm_event_info_t *event, struct buf *out)
{
	pfm_event_attr_info_t attr;
	size_t start = out->len;

	for (int i = 0; i < event->nattrs; i++) {
		get_attr(event, i, &attr);
		if (attr.type != PFM_ATTR_UMASK)
			continue;
		if (out->len - start > 200) {
			buf_adds(out, ", …");
			return;
		}
		buf_printf(out, "%s%s%s", out->len > start ? ", " : "", attr.name,
			   attr.is_dfl ? " (default)" : "");
	}
}

/* err_set with a list of the event's unit masks. */
static int refuse_masks(const pfm_event_info_t *event, const char *why, struct err *e)
{
	BUF_AUTO(masks, MAX_TEXT_BYTES);

	if (!e)
		return -ENOENT;
	list_masks(event, &masks);
	err_set(e, -ENOENT, "%s: %s", why, masks.len ? buf_str(&masks) : "(none)");
	return -ENOENT;
}

/* Refuses modifiers that the kernel implements; the spec's flags set those. */
static int refuse_kernel_attr(const pfm_event_attr_info_t *attr, struct err *e)
{
	static const char *const privileges[] = {"u", "k", "h", "mg", "mh"};

	err_set(e, -ENOENT, "\":%s\" cannot be part of a name", attr->name);
	for (size_t i = 0; i < sizeof(privileges) / sizeof(*privileges); i++)
		if (strcmp(privileges[i], attr->name) == 0)
			err_hint(e, "use flags for the privilege level: os, user");
	err_hint(e, "use the spec's rate and flags to control measuring");
	return -ENOENT;
}

static int append(char name[MAX_NAME_BYTES], const char *separator, const char *text, size_t len)
{
	size_t at = strlen(name);
	int n = snprintf(name + at, MAX_NAME_BYTES - at, "%s%.*s", separator, (int)len, text);

	return n >= 0 && (size_t)n < MAX_NAME_BYTES - at ? 0 : -ENOENT;
}

/* Appends one attribute ("REPLACEMENT", "c=1", "0x1") in the vendor's spelling. */
static int add_attr(struct resolved *r, const char *text, size_t len, struct err *e)
{
	const char *value = memchr(text, '=', len);
	size_t name_len = value ? (size_t)(value - text) : len;
	pfm_event_attr_info_t attr;
	char why[MAX_NAME_BYTES];

	for (int i = 0; i < r->event.nattrs; i++) {
		get_attr(&r->event, i, &attr);
		if (!is_spelled(attr.name, text, name_len))
			continue;
		if (attr.ctrl == PFM_ATTR_CTRL_PERF_EVENT)
			return refuse_kernel_attr(&attr, e);
		if (attr.type == PFM_ATTR_UMASK) /* description only: may be truncated */
			(void)append(r->masks, ": ", attr.desc, strlen(attr.desc));
		return append(r->name, ":", attr.name, name_len) ||
			       append(r->name, "", text + name_len, len - name_len)
			   ? -ENOENT
			   : 0;
	}
	if (len > 2 && strncasecmp(text, "0x", 2) == 0) /* a raw unit mask; libpfm4 checks it */
		return append(r->name, ":", text, len);
	snprintf(why, sizeof(why), "no unit mask or modifier \"%.*s\"; unit masks", (int)len, text);
	return refuse_masks(&r->event, why, e);
}

static int encode(const struct models *m, const pfm_pmu_info_t *model, struct resolved *r,
		  struct err *e)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	const struct host_pmu *pmu;
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	char full[MAX_NAME_BYTES + 64];
	int rc;

	snprintf(full, sizeof(full), "%s::%s", model->name, r->name);
	rc = libpfm()->get_os_event_encoding(full, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (rc == PFM_ERR_UMASK)
		return refuse_masks(&r->event, "needs a unit mask", e);
	if (rc != PFM_SUCCESS)
		return err_set(e, -ENOENT, "libpfm4 rejects it: %s", libpfm()->strerror(rc));
	/* on ARM the PMU's own type, where libpfm4 may return PERF_TYPE_RAW */
	pmu = m->missing ? NULL : event_model_core_pmu(m->c->host, model->name, attr.type);
	r->part = (struct event_part){
	    .pmu = pmu ? pmu->name : "",
	    .type = pmu ? pmu->type : attr.type,
	    .config = attr.config,
	    .config1 = attr.config1,
	    .config2 = attr.config2,
	    .cpus = pmu && cpuset_next(&pmu->cpus, 0) >= 0 ? &pmu->cpus : NULL,
	};
	return 0;
}

/* Resolves a name in one model. Vendors also write EVENT.UMASK. */
static int resolve(const struct models *m, const pfm_pmu_info_t *model, const char *name,
		   struct resolved *out, struct err *e)
{
	size_t len = strcspn(name, ":.");
	int rc = -ENOENT;

	memset(out, 0, sizeof(*out));
	for (int i = model->first_event; i >= 0 && rc; i = libpfm()->get_event_next(i)) {
		get_event(i, &out->event);
		rc = is_spelled(out->event.name, name, len) ? 0 : -ENOENT;
	}
	if (rc == 0)
		rc = append(out->name, "", out->event.name, len);
	for (name += len; rc == 0 && *name; name += len) {
		len = strcspn(++name, ":.");
		rc = add_attr(out, name, len, e);
	}
	return rc ? rc : encode(m, model, out, e);
}

static void list_modifiers(const pfm_event_info_t *event, struct buf *out)
{
	const char *separator = "\nModifiers: ";
	pfm_event_attr_info_t attr;

	for (int i = 0; i < event->nattrs; i++) {
		get_attr(event, i, &attr);
		if (attr.type == PFM_ATTR_UMASK || attr.ctrl == PFM_ATTR_CTRL_PERF_EVENT)
			continue;
		buf_printf(out, "%s%s%s (%s)", separator, attr.name,
			   attr.type == PFM_ATTR_MOD_INTEGER ? "=N" : "", attr.desc);
		separator = ", ";
	}
}

static const char *detail_of(const struct catalogue *c, const pfm_pmu_info_t *model,
			     const pfm_event_info_t *event)
{
	BUF_AUTO(text, MAX_TEXT_BYTES);
	size_t len;

	buf_printf(&text, "Model: %s (%s)\nUnit masks: ", model->name, model->desc);
	len = text.len;
	list_masks(event, &text);
	if (text.len == len)
		buf_adds(&text, "none");
	list_modifiers(event, &text);
	return buf_error(&text) ? NULL : arena_strdup(c->arena, buf_str(&text));
}

/* "L1D cache: L1D data line replacements." */
static const char *description_of(const struct catalogue *c, const struct resolved *r)
{
	const char *event = r->event.desc ? r->event.desc : r->event.name;
	size_t len = strlen(event), masks_len = strlen(r->masks);

	len -= len && event[len - 1] == '.';
	masks_len -= masks_len && r->masks[masks_len - 1] == '.';
	return arena_printf(c->arena, "%.*s%.*s.", (int)len, event, (int)masks_len, r->masks);
}

static const char *unit_of(const char *name)
{
	static const struct {
		const char *part, *unit;
		bool starts;
	} units[] = {
	    {"CYCLES", "cycles", false},
	    {"CLK_UNHALTED", "cycles", false},
	    {"CLK_THREAD_UNHALTED", "cycles", false},
	    {"INST_RETIRED", "instructions", true},
	    {"INSTRUCTION_RETIRED", "instructions", true},
	    {"INSTRUCTIONS_RETIRED", "instructions", true},
	    {"RETIRED_INSTRUCTIONS", "instructions", true},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		const char *at = strstr(name, units[i].part);

		if (at && (!units[i].starts || at == name))
			return units[i].unit;
	}
	return "events";
}

/* No PMU implements it: the kernel opens it all the same, and it counts nothing. */
static bool lack(const struct host *h, const struct event_part *parts, uint32_t nr)
{
	uint32_t nr_lack = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct host_pmu *pmu = parts[i].pmu ? host_find_pmu(h, parts[i].pmu) : NULL;

		nr_lack += pmu && event_armv8_lacks(h, pmu, parts[i].config);
	}
	return nr_lack == nr;
}

/* Makes the row of an encoded name, with a part for each later model that has the event too. */
static int new_row(const struct models *m, size_t first, const struct resolved *r,
		   const char *detail, const struct event_row **out)
{
	struct event_part parts[MODEL_MAX_SELECTED] = {r->part};
	struct resolved other;
	struct event_row *row;
	uint32_t nr = 1;

	for (size_t i = first + 1; i < m->nr; i++)
		if (resolve(m, &m->info[i], r->name, &other, NULL) == 0)
			parts[nr++] = other.part;
	row = parts_row(m->c, r->name, parts, nr);
	if (!row)
		return -ENOMEM;
	row->unit = unit_of(r->name);
	row->missing = m->missing;
	if (!m->missing && lack(m->c->host, parts, nr))
		row->missing = EVENT_ARMV8_LACKS;
	if (!m->missing && !(parts->pmu && *parts->pmu) && parts_nr_core_pmus(m->c->host))
		row->missing = "cannot determine which of this machine's core PMUs has this model";
	row->description = description_of(m->c, r);
	row->detail = detail;
	if (!row->description || !detail)
		return -ENOMEM;
	*out = row;
	return 0;
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	struct models m;
	struct resolved r;
	int rc = get_models(c, &m);
	char reason[256];

	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < m.nr && rc == -ENOENT; i++) {
		rc = resolve(&m, &m.info[i], name, &r, e)
			 ?: new_row(&m, i, &r, detail_of(c, &m.info[i], &r.event), out);
	}
	if (m.nr || strchr(name, '/'))
		return rc;
	event_model_missing_reason(c, reason, sizeof(reason));
	return err_set(e, -ENOENT, "%s", reason);
}

/* State of a walk over all events. */
struct walk {
	const struct models *m;
	size_t model;
	const char *detail; /* of the event; its unit masks share it */
	int (*fn)(const struct event_row *row, void *arg);
	void *arg;
};

static int visit(const struct walk *w, struct resolved *r)
{
	const struct event_row *row;
	struct resolved listed;
	int rc = encode(w->m, &w->m->info[w->model], r, NULL);

	if (rc)
		return 0;
	for (size_t i = 0; i < w->model; i++) /* it is listed there already */
		if (resolve(w->m, &w->m->info[i], r->name, &listed, NULL) == 0)
			return 0;
	return new_row(w->m, w->model, r, w->detail, &row) ?: w->fn(row, w->arg);
}

/* An event without a unit mask is a name if libpfm4 can encode it: it has no unit masks, or a
 * default one. The names with masks are concatenated, not resolved, since an event may have 150. */
static int visit_event(struct walk *w, const pfm_event_info_t *event)
{
	struct resolved r = {.event = *event};
	pfm_event_attr_info_t attr;
	int rc = append(r.name, "", event->name, strlen(event->name));

	w->detail = detail_of(w->m->c, &w->m->info[w->model], event);
	if (rc == 0)
		rc = visit(w, &r);
	for (int i = 0; i < event->nattrs && rc == 0; i++) {
		get_attr(event, i, &attr);
		if (attr.type != PFM_ATTR_UMASK)
			continue;
		snprintf(r.name, sizeof(r.name), "%s:%s", event->name, attr.name);
		snprintf(r.masks, sizeof(r.masks), ": %s", attr.desc);
		rc = visit(w, &r);
	}
	return rc;
}

static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	struct models m;
	struct walk w = {.m = &m, .fn = fn, .arg = arg};
	int rc = get_models(c, &m);

	for (; w.model < m.nr && rc == 0; w.model++)
		for (int i = m.info[w.model].first_event; i >= 0 && rc == 0;
		     i = libpfm()->get_event_next(i)) {
			pfm_event_info_t event;

			get_event(i, &event);
			rc = visit_event(&w, &event);
		}
	return rc;
}

const struct event_maker event_pfm_maker = {.find = find, .each = each};
