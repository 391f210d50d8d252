/*
 * Other builds of libpfm4 than the one installed: older, newer, for another architecture; and none.
 * The functions below replace the library's.
 */
#include "kit.h"

#include "base/err.h"
#include "event/libpfm.h"
#include "event/model.h"

static const char *const *loaded; /* names by number, NULL where there is none */
static int nr_loaded;

static pfm_err_t get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *info)
{
	int i = (int)pmu;

	if (i < 0 || i >= nr_loaded)
		return PFM_ERR_INVAL;
	if (!loaded[i])
		return PFM_ERR_NOTSUPP;
	info->name = info->desc = loaded[i];
	info->type = PFM_PMU_TYPE_CORE;
	return PFM_SUCCESS;
}

const struct libpfm *libpfm(void)
{
	static const struct libpfm library = {.get_pmu_info = get_pmu_info};

	return loaded ? &library : NULL;
}

static const char *const old_x86[] = {NULL, "core", "nhm", NULL, "snb"};
static const char *const old_arm[] = {NULL, "arm_ac8", "arm_ac57"};
static const char *const none[] = {NULL};
/* Its last table has a number that the header of the installed version does not have. */
static const char *const new_x86[PFM_PMU_MAX + 3] = {[5] = "skl", [PFM_PMU_MAX + 2] = "adl_glc"};

#define OLD    "it is older than that CPU, or uses another name"
#define NO_ARM "it is built without ARM CPUs"
#define NO_X86 "it is built without x86 CPUs"
#define ABSENT "libpfm.so.4 cannot be loaded"

TEST(reasons)
{
	static const struct {
		const char *const *library;
		int nr;
		const char *model, *why; /* NULL: it has a table */
	} cases[] = {
	    {old_x86, NR(old_x86), "sandybridge", NULL},
	    {old_x86, NR(old_x86), "skylake", OLD},
	    {old_x86, NR(old_x86), "zen4", OLD},
	    {old_x86, NR(old_x86), "zen5", OLD},
	    {old_x86, NR(old_x86), "neoverse-n1", NO_ARM},
	    {old_arm, NR(old_arm), "cortex-a57", NULL},
	    {old_arm, NR(old_arm), "neoverse-v2", OLD},
	    {old_arm, NR(old_arm), "skylake", NO_X86},
	    {old_arm, NR(old_arm), "zen5", NO_X86},
	    {none, NR(none), "skylake", NO_X86},
	    {new_x86, NR(new_x86), "skylake", NULL},
	    {new_x86, NR(new_x86), "alderlake", NULL},
	    {new_x86, NR(new_x86), "zen5", OLD},
	    {new_x86, NR(new_x86), "cortex-a57", NO_ARM},
	    {NULL, 0, "skylake", ABSENT},
	    {NULL, 0, "neoverse-n1", ABSENT},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};
		char msg[256];
		int rc;

		loaded = cases[i].library;
		nr_loaded = cases[i].nr;
		rc = event_model_check(cases[i].model, &e);
		snprintf(msg, sizeof(msg), "libpfm4 has no table for the model %s: %s",
			 cases[i].model, cases[i].why ? cases[i].why : "");
		print_message("%s: %s\n", cases[i].model, e.msg);
		assert_int_equal(rc, cases[i].why ? -ENOTSUP : 0);
		assert_string_equal(e.msg, cases[i].why ? msg : "");
	}
}
