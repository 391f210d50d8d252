/*
 * GPUs: which files have their values, by driver. listed.c lists and reads them.
 */
#include "gpu/gpu.h"

#include "base/buf.h"
#include "base/err.h"
#include "gpu/cards.h"
#include "gpu/metrics.h"
#include "gpu/nvml_gpu.h"
#include "things/listed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)GPU_NR_FIELDS <= (int)THINGS_MAX_FIELDS, "fields of a GPU");

#define BIT(f) (1u << (f))

enum { MHZ = 1000000, MS = 1000000 };

/* "active", "suspended", "suspending", "resuming"; "unsupported", which never sleeps. */
int gpu_parse_status(const char *text, size_t len, uint64_t *values, uint32_t *has)
{
	values[GPU_AWAKE] = len < 7 || memcmp(text, "suspend", 7) != 0;
	*has |= BIT(GPU_AWAKE);
	return values[GPU_AWAKE] ? 0 : THINGS_NOT_NOW;
}

#define NUMBER(field_, name_, scale_)                                                              \
	{                                                                                          \
		.name = name_, .fields = BIT(field_), .scale = scale_, .field = field_             \
	}

/* Of a field, the first file that there is. A * is one entry of a folder: the first by name. */
static const struct things_file files[] = {
    {.name = "device/power/runtime_status", .fields = BIT(GPU_AWAKE), .parse = gpu_parse_status},
    /* the same in the folder of a PCI device: NVIDIA's */
    {.name = "power/runtime_status", .fields = BIT(GPU_AWAKE), .parse = gpu_parse_status},
    /* amdgpu */
    NUMBER(GPU_BUSY, "device/gpu_busy_percent", 1),
    NUMBER(GPU_MEMORY_BUSY, "device/mem_busy_percent", 1),
    NUMBER(GPU_MEMORY_USED, "device/mem_info_vram_used", 1),
    NUMBER(GPU_MEMORY_TOTAL, "device/mem_info_vram_total", 1),
    NUMBER(GPU_MEMORY_SHARED, "device/mem_info_gtt_used", 1),
    NUMBER(GPU_FREQUENCY, "device/hwmon/hwmon*/freq1_input", 1),
    NUMBER(GPU_MEMORY_FREQUENCY, "device/hwmon/hwmon*/freq2_input", 1),
    /* any with sensors; the power is the mean of a time, or that of now */
    NUMBER(GPU_POWER, "device/hwmon/hwmon*/power1_average", 1),
    NUMBER(GPU_POWER, "device/hwmon/hwmon*/power1_input", 1),
    NUMBER(GPU_ENERGY, "device/hwmon/hwmon*/energy1_input", 1),
    NUMBER(GPU_TEMPERATURE, "device/hwmon/hwmon*/temp1_input", 1),
    NUMBER(GPU_TEMPERATURE, "device/hwmon/hwmon*/temp2_input", 1),        /* xe: the package */
    NUMBER(GPU_MEMORY_TEMPERATURE, "device/hwmon/hwmon*/temp3_input", 1), /* amdgpu and xe */
    NUMBER(GPU_FAN, "device/hwmon/hwmon*/fan1_input", 1),
    /* xe; i915, since Linux 5.16 and before */
    NUMBER(GPU_FREQUENCY, "device/tile0/gt0/freq0/act_freq", MHZ),
    NUMBER(GPU_FREQUENCY, "gt/gt0/rps_act_freq_mhz", MHZ),
    NUMBER(GPU_FREQUENCY, "gt_act_freq_mhz", MHZ),
    NUMBER(GPU_REQUESTED_FREQUENCY, "device/tile0/gt0/freq0/cur_freq", MHZ),
    NUMBER(GPU_REQUESTED_FREQUENCY, "gt/gt0/rps_cur_freq_mhz", MHZ),
    NUMBER(GPU_REQUESTED_FREQUENCY, "gt_cur_freq_mhz", MHZ),
    NUMBER(GPU_THROTTLED, "device/tile0/gt0/freq0/throttle/status", 1),
    NUMBER(GPU_THROTTLED, "gt/gt0/throttle_reason_status", 1),
    NUMBER(GPU_IDLE_TIME, "device/tile0/gt0/gtidle/idle_residency_ms", MS),
    NUMBER(GPU_IDLE_TIME, "gt/gt0/rc6_residency_ms", MS),
    NUMBER(GPU_IDLE_TIME, "power/rc6_residency_ms", MS),
    /* ARM's: panfrost, lima, msm */
    NUMBER(GPU_FREQUENCY, "device/devfreq/*/cur_freq", 1),
    /* amdgpu again: what no file above has */
    {.name = "device/gpu_metrics",
     .fields = GPU_METRICS_FIELDS,
     .parse = gpu_metrics_parse,
     .explain = gpu_metrics_explain},
};
_Static_assert(sizeof(files) / sizeof(files[0]) <= THINGS_MAX_FILES, "files of a GPU");

/* The residency of i915 is 32 bits of ms: it wraps after 50 days. */
static const struct things_kind kind = {
    .name = "GPU",
    .files = files,
    .nr_files = sizeof(files) / sizeof(files[0]),
    .always = BIT(GPU_AWAKE),
    .wrapping = BIT(GPU_IDLE_TIME),
    .wrap = (UINT64_C(1) << 32) * MS,
};

/* Its card is one of NVIDIA's own driver: card0/device/uevent says DRIVER=nvidia. */
static bool is_nvidia(const struct root *root, const char *name)
{
	static const char line[] = "DRIVER=nvidia\n";
	char path[PATH_MAX];
	BUF_AUTO(text, 4096);

	snprintf(path, sizeof(path), "/sys/class/drm/%s/device/uevent", name);
	return root_load(root, path, &text) == 0 && strstr(buf_str(&text), line);
}

static bool is_chosen(const struct listed *l, const char *name)
{
	return gpu_cards_is_card(name) && (!l->choice.nr || things_match(&l->choice, name)) &&
	       !(l->others && is_nvidia(&l->things.root, name));
}

static int gpu_open(const struct root *root, const struct things_choice *choice, uint32_t wanted,
		    void **state, struct err *e)
{
	static const char none[] = "there is no GPU with a driver of the kernel's (DRM)";
	struct listed draft = {
	    .choice = *choice, .folder = "/sys/class/drm", .is_chosen = is_chosen};
	struct nvml_devices *nvidia = NULL;
	struct err why = {0}, of_cards = {0};
	struct listed *l;
	int rc = nvml_devices_open(root, &nvml_gpu_way, wanted, &nvidia, &why);

	if (rc == -ENOMEM)
		return err_set(e, rc, "GPUs: out of memory");
	if (nvidia) {
		draft.others = &nvml_devices_others;
		draft.others_state = nvidia;
	}
	rc = listed_open(&draft, &kind, root, wanted, "GPUs", state, &of_cards);
	if (rc == -ENOENT)
		return err_set(e, why.code ?: rc, "%s", why.code ? why.msg : none);
	if (rc)
		return err_set(e, rc, "%s", of_cards.msg);
	l = *state;
	if (why.code)
		things_add_note(&l->things, "NVIDIA's GPUs are not read by its library: %s",
				why.msg);
	else if (!choice->nr && !l->things.nr)
		things_add_note(&l->things, "%s", none);
	return 0;
}

const struct things_source gpu_source = {
    .name = "gpu",
    .open = gpu_open,
    .close = listed_close,
    .read = listed_read,
    .nr = things_nr,
    .get = things_get,
    .note = things_note,
};
