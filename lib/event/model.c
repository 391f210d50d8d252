/*
 * libpfm4's list of CPU models.
 */
#include "event/model.h"

#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <string.h>

/* The generic tables that libpfm4 always has are no CPU models. */
static int get_model(int pmu, pfm_pmu_info_t *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	if (pfm_get_pmu_info((pfm_pmu_t)pmu, info) != PFM_SUCCESS)
		return -ENOENT;
	return info->type == PFM_PMU_TYPE_CORE ? 0 : -ENOENT;
}

int model_check(const char *name, struct err *e)
{
	const char *best = NULL;
	size_t distance = 0;

	if (!*name || strcmp(name, "default") == 0)
		return 0;
	if (pfm_initialize() != PFM_SUCCESS)
		return err_set(e, -ENOSYS, "libpfm4 cannot be initialised");
	for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t info;

		if (get_model(pmu, &info))
			continue;
		if (strcmp(info.name, name) == 0)
			return 0;
		str_nearest_offer(name, info.name, &best, &distance);
	}
	err_set(e, -ENOENT, "Unknown model: %s", name);
	if (best)
		err_hint(e, "did you mean \"%s\"? Leave model_name out for the detected CPU", best);
	else
		err_hint(e, "leave model_name out for the detected CPU");
	return -ENOENT;
}

void model_detect(char *name, size_t size)
{
	snprintf(name, size, "%s", "");
	if (pfm_initialize() != PFM_SUCCESS)
		return;
	for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t info;

		if (get_model(pmu, &info) == 0 && info.is_present) {
			snprintf(name, size, "%s", info.name);
			return;
		}
	}
}
