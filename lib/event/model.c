/*
 * libpfm4's CPU models, their product names, and which of them this machine is. pfm.c reads their
 * events.
 */
#include "event/model.h"

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "event/catalogue.h"
#include "event/libpfm.h"
#include "host/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PMUS = 1 << 16 };

/* Product names and libpfm4's tables for them. The installed libpfm4 may not have some: it is built
 * for another architecture, or is too old (4.13 has none of adl_glc, gnr, srf and zen5). */
static const struct {
	const char *alias, *model;
} aliases[] = {
    {"bonnell", "atom"},
    {"nehalem", "nhm"},
    {"nehalem-ex", "nhm_ex"},
    {"westmere", "wsm"},
    {"westmere-ep", "wsm_dp"},
    {"sandybridge", "snb"},
    {"sandybridge-ep", "snb_ep"},
    {"ivybridge", "ivb"},
    {"ivybridge-ep", "ivb_ep"},
    {"haswell", "hsw"},
    {"haswell-ep", "hsw_ep"},
    {"broadwell", "bdw"},
    {"broadwell-ep", "bdw_ep"},
    {"skylake", "skl"},
    {"kabylake", "skl"},
    {"coffeelake", "skl"},
    {"cometlake", "skl"},
    {"skylake-server", "skx"},
    {"cascadelake", "clx"},
    {"icelake", "icl"},
    {"tigerlake", "icl"},
    {"rocketlake", "icl"},
    {"icelake-server", "icx"},
    {"sapphirerapids", "spr"},
    {"alderlake", "adl_glc"}, /* its P-cores */
    {"raptorlake", "adl_glc"},
    {"graniterapids", "gnr"},
    {"sierraforest", "srf"},
    {"silvermont", "slm"},
    {"goldmont", "glm"},
    {"tremont", "tmt"},
    {"knights-landing", "knl"},
    {"knights-mill", "knm"},
    {"bulldozer", "amd64_fam15h_interlagos"},
    {"jaguar", "amd64_fam16h"},
    {"zen", "amd64_fam17h_zen1"},
    {"zen1", "amd64_fam17h_zen1"},
    {"zen2", "amd64_fam17h_zen2"},
    {"zen3", "amd64_fam19h_zen3"},
    {"zen4", "amd64_fam19h_zen4"},
    {"zen5", "amd64_fam1ah_zen5"},
    {"cortex-a7", "arm_ac7"},
    {"cortex-a8", "arm_ac8"},
    {"cortex-a9", "arm_ac9"},
    {"cortex-a15", "arm_ac15"},
    {"cortex-a53", "arm_ac53"},
    {"cortex-a55", "arm_ac55"},
    {"cortex-a57", "arm_ac57"},
    {"cortex-a72", "arm_ac72"},
    {"cortex-a76", "arm_ac76"},
    {"neoverse-n1", "arm_n1"},
    {"neoverse-n2", "arm_n2"},
    {"neoverse-v1", "arm_v1"},
    {"neoverse-v2", "arm_v2"},
    {"thunderx2", "arm_thunderx2"},
    {"a64fx", "arm_a64fx"},
    {"kunpeng", "arm_kunpeng"},
    {"xgene", "arm_xgene"},
};

/* The number of the first CPU model after pmu, or -1. Skips libpfm4's generic tables, and Intel's
 * architectural events, which the group arch has. The end is the loaded library's: PFM_PMU_MAX is
 * that of the header. */
static int next_model(int pmu, pfm_pmu_info_t *info)
{
	const struct libpfm *pfm = libpfm();

	while (pfm && ++pmu < MAX_PMUS) {
		int rc;

		memset(info, 0, sizeof(*info));
		info->size = sizeof(*info);
		rc = pfm->get_pmu_info((pfm_pmu_t)pmu, info);
		if (rc != PFM_SUCCESS && rc != PFM_ERR_NOTSUPP)
			break;
		if (rc == PFM_SUCCESS && info->name && info->type == PFM_PMU_TYPE_CORE &&
		    strcmp(info->name, "ix86arch") != 0)
			return pmu;
	}
	return -1;
}

const char *event_model_canonical(const char *name)
{
	if (!name || !*name || strcasecmp(name, "default") == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_NR(aliases); i++)
		if (strcasecmp(aliases[i].alias, name) == 0)
			return aliases[i].model;
	return name;
}

/* libpfm4's number of a model, ignoring case, or -ENOENT. */
static int find_model(const char *canonical, pfm_pmu_info_t *info)
{
	for (int pmu = next_model(-1, info); pmu >= 0; pmu = next_model(pmu, info))
		if (strcasecmp(info->name, canonical) == 0)
			return pmu;
	return -ENOENT;
}

static bool is_arm(const char *canonical)
{
	return strncasecmp(canonical, "arm_", 4) == 0;
}

/* Why libpfm4 has no table for a CPU in our list; NULL if it is not in the list. */
static const char *why_no_table(const char *canonical)
{
	pfm_pmu_info_t info;
	bool is_listed = false;

	for (size_t i = 0; i < ARRAY_NR(aliases); i++)
		is_listed |= strcasecmp(aliases[i].model, canonical) == 0;
	if (!is_listed)
		return NULL;
	if (!libpfm())
		return "libpfm.so.4 cannot be loaded";
	for (int pmu = next_model(-1, &info); pmu >= 0; pmu = next_model(pmu, &info))
		if (is_arm(info.name) == is_arm(canonical))
			return "it is older than that CPU, or uses another name";
	return is_arm(canonical) ? "it is built without ARM CPUs" : "it is built without x86 CPUs";
}

static const char *nearest_model(const char *name)
{
	const char *best = NULL;
	pfm_pmu_info_t info;
	size_t distance = 0;

	for (int pmu = next_model(-1, &info); pmu >= 0; pmu = next_model(pmu, &info))
		str_nearest_offer(name, info.name, &best, &distance);
	for (size_t i = 0; i < ARRAY_NR(aliases); i++)
		str_nearest_offer(name, aliases[i].alias, &best, &distance);
	return best;
}

int event_model_check(const char *name, struct err *e)
{
	const char *canonical = event_model_canonical(name), *best, *why;
	pfm_pmu_info_t info;

	if (!canonical || find_model(canonical, &info) >= 0)
		return 0;
	why = why_no_table(canonical);
	if (why) {
		err_set(e, -ENOTSUP, "libpfm4 has no table for the model %s: %s", name, why);
		err_hint(e, "the groups fixed and arch work without one");
		return -ENOTSUP;
	}
	best = nearest_model(name);
	err_set(e, -ENOENT, "Unknown model: %s", name);
	if (best)
		err_hint(e, "did you mean \"%s\"? Omit model_name for the detected CPU", best);
	else
		err_hint(e, "omit model_name for the detected CPU");
	return -ENOENT;
}

/* libpfm4 detects the CPU that it runs on unless LIBPFM_FORCE_PMU names another. Of Zen 1's two
 * identical tables the deprecated one is skipped. */
static bool is_detected(const pfm_pmu_info_t *info)
{
	return info->is_present &&
	       (!strstr(info->desc, "deprecated") || getenv("LIBPFM_FORCE_PMU"));
}

void event_model_detect(char *name, size_t size)
{
	pfm_pmu_info_t info;
	int pmu = next_model(-1, &info);

	while (pmu >= 0 && !is_detected(&info))
		pmu = next_model(pmu, &info);
	snprintf(name, size, "%s", pmu >= 0 ? info.name : "");
}

/* On device-tree machines the kernel names a PMU after its core: armv8_cortex_a53. */
static bool is_named_after(const char *pmu, const char *alias)
{
	size_t pmu_len = strlen(pmu), len = strlen(alias);
	const char *tail;

	if (pmu_len <= len)
		return false;
	tail = pmu + pmu_len - len;
	if (tail[-1] != '_')
		return false;
	for (size_t i = 0; i < len; i++)
		if (tail[i] != (alias[i] == '-' ? '_' : alias[i]))
			return false;
	return true;
}

static bool is_pmu_of(const char *pmu, const char *model)
{
	return ARRAY_ANY(x, aliases, ARRAY_NR(aliases),
			 is_named_after(pmu, x->alias) && strcmp(model, x->model) == 0);
}

static const struct host_pmu *named_pmu(const struct host *h, const char *model)
{
	return ARRAY_FIND(pmu, h->pmus, h->nr_pmus, pmu->is_core && is_pmu_of(pmu->name, model));
}

const struct host_pmu *event_model_core_pmu(const struct host *h, const char *name, unsigned type)
{
	const struct host_pmu *named = named_pmu(h, name), *only = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < h->nr_pmus && !named; i++) {
		if (!h->pmus[i].is_core)
			continue;
		if (h->pmus[i].type == type)
			return &h->pmus[i];
		only = &h->pmus[i];
		nr++;
	}
	return nr == 1 ? only : named;
}

/* libpfm4's detection applies to the live machine only, not to a captured tree. */
static bool is_here(const struct host *h, const pfm_pmu_info_t *info)
{
	bool is_live = !h->root.dir[0] || getenv("LIBPFM_FORCE_PMU");

	return (is_live && is_detected(info)) || named_pmu(h, info->name);
}

size_t event_model_select(const struct catalogue *c, int pmus[MODEL_MAX_SELECTED])
{
	const char *canonical = event_model_canonical(c->model);
	pfm_pmu_info_t info;
	size_t nr = 0;

	for (int pmu = next_model(-1, &info); pmu >= 0 && nr < MODEL_MAX_SELECTED;
	     pmu = next_model(pmu, &info))
		if (canonical ? strcasecmp(info.name, canonical) == 0 : is_here(c->host, &info))
			pmus[nr++] = pmu;
	return nr;
}

bool event_model_is_foreign(const struct catalogue *c)
{
	const char *canonical = event_model_canonical(c->model);
	pfm_pmu_info_t info;

	return canonical && (find_model(canonical, &info) < 0 || !is_here(c->host, &info));
}

bool event_model_is_arm(const struct catalogue *c)
{
	const char *canonical = event_model_canonical(c->model);

	if (canonical)
		return is_arm(canonical);
	for (size_t i = 0; i < c->host->nr_pmus; i++)
		if (c->host->pmus[i].is_core)
			return strncmp(c->host->pmus[i].name, "arm", 3) == 0;
	return strcmp(c->host->machine, "aarch64") == 0;
}

void event_model_describe_host(const struct host *h, char *name, size_t size)
{
	struct catalogue here = {.host = h};
	int pmus[MODEL_MAX_SELECTED];
	pfm_pmu_info_t info;

	if (event_model_select(&here, pmus) && next_model(pmus[0] - 1, &info) == pmus[0])
		snprintf(name, size, "%s", info.name);
	else
		snprintf(name, size, "%s", h->cpu_model[0] ? h->cpu_model : "an unknown CPU");
}

void event_model_missing_reason(const struct catalogue *c, char *reason, size_t size)
{
	const char *canonical = event_model_canonical(c->model);
	int pmus[MODEL_MAX_SELECTED];
	char cpu[128];

	snprintf(reason, size, "%s", "");
	if (event_model_select(c, pmus))
		return;
	if (canonical) {
		struct err e = {0};

		(void)event_model_check(canonical, &e);
		snprintf(reason, size, "%s", e.msg);
		return;
	}
	event_model_describe_host(c->host, cpu, sizeof(cpu));
	snprintf(reason, size,
		 "libpfm4 has no event table for %s; use the kernel's own names, raw "
		 "encodings (r01c2, cpu/event=0xc0/), fixed or arch",
		 cpu);
}

int event_model_counters(const struct catalogue *c, unsigned *nr_programmable, unsigned *nr_fixed)
{
	int pmus[MODEL_MAX_SELECTED];
	pfm_pmu_info_t info;

	if (event_model_select(c, pmus) == 0 || next_model(pmus[0] - 1, &info) != pmus[0] ||
	    info.num_cntrs <= 0)
		return -ENOENT;
	*nr_programmable = (unsigned)info.num_cntrs;
	*nr_fixed = info.num_fixed_cntrs > 0 ? (unsigned)info.num_fixed_cntrs : 0;
	return 0;
}
