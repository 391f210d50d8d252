/*
 * GPUs: which files have their values, by driver. things.c opens and reads them.
 */
#include "collect/gpu.h"

#include "base/err.h"
#include "base/mem.h"
#include "collect/listing.h"
#include "collect/things.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)GPU_NR_FIELDS <= (int)THINGS_MAX_FIELDS, "fields of a GPU");

#define FOLDER "/sys/class/drm"
#define BIT(f) (1u << (f))

enum { MHZ = 1000000, MS = 1000000 };

/* "active", "suspended", "suspending", "resuming"; "unsupported", which never sleeps. */
static int parse_status(const char *text, size_t len, uint64_t *values, uint32_t *has)
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
    {.name = "device/power/runtime_status", .fields = BIT(GPU_AWAKE), .parse = parse_status},
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
    NUMBER(GPU_TEMPERATURE, "device/hwmon/hwmon*/temp2_input", 1), /* xe: the package */
    NUMBER(GPU_FAN, "device/hwmon/hwmon*/fan1_input", 1),
    /* xe; i915, since Linux 5.16 and before */
    NUMBER(GPU_FREQUENCY, "device/tile0/gt0/freq0/act_freq", MHZ),
    NUMBER(GPU_FREQUENCY, "gt/gt0/rps_act_freq_mhz", MHZ),
    NUMBER(GPU_FREQUENCY, "gt_act_freq_mhz", MHZ),
    NUMBER(GPU_IDLE_TIME, "device/tile0/gt0/gtidle/idle_residency_ms", MS),
    NUMBER(GPU_IDLE_TIME, "gt/gt0/rc6_residency_ms", MS),
    NUMBER(GPU_IDLE_TIME, "power/rc6_residency_ms", MS),
    /* ARM's: panfrost, lima, msm */
    NUMBER(GPU_FREQUENCY, "device/devfreq/*/cur_freq", 1),
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

struct gpus {
	struct things things;
	struct collect_choice choice;
	struct listing listing;
	bool must_look; /* even if the listing has not changed */
};

/* "card0", not its outputs ("card0-DP-1"), nor the nodes for computing ("renderD128"). */
static bool is_card(const char *name)
{
	return strncmp(name, "card", 4) == 0 && name[4] &&
	       name[4 + strspn(name + 4, "0123456789")] == '\0';
}

static int find_or_add(struct gpus *g, const char *name)
{
	char folder[PATH_MAX];
	struct thing *thing;

	if (!is_card(name) || (g->choice.nr && !things_match(&g->choice, name)) ||
	    things_find(&g->things, name, strlen(name)))
		return 0;
	snprintf(folder, sizeof(folder), FOLDER "/%s", name);
	return things_open(&g->things, folder, name, &thing);
}

static int find_all(struct gpus *g)
{
	int rc = listing_look(&g->listing);
	const char *name;
	size_t at = 0;

	if (rc < 0)
		return rc;
	if (rc == 0 && !g->must_look)
		return 0;
	g->must_look = true; /* if this fails halfway */
	things_begin(&g->things);
	while ((name = listing_each(&g->listing, &at))) {
		rc = find_or_add(g, name);
		if (rc == -ENOMEM)
			return rc;
	}
	things_end(&g->things);
	g->must_look = false;
	return 0;
}

static void gpu_close(void *state)
{
	struct gpus *g = state;

	listing_close(&g->listing);
	things_fini(&g->things);
	mem_free(g);
}

static int gpu_open(const struct root *root, const struct collect_choice *choice, uint32_t wanted,
		    void **state, struct err *e)
{
	struct gpus *g = mem_zalloc(sizeof(*g));
	int rc;

	if (!g)
		return err_set(e, -ENOMEM, "GPUs: out of memory");
	things_init(&g->things, &kind, root, wanted);
	g->listing.fd = -1;
	g->choice = *choice;
	rc = things_check_words(&g->things, choice, e);
	if (rc == 0) {
		rc = listing_open(&g->listing, root, FOLDER) ?: find_all(g);
		if (rc == -ENOENT)
			err_set(e, rc, "there is no GPU with a driver of the kernel's (DRM)");
		else if (rc)
			err_set(e, rc, "GPUs: " FOLDER " cannot be read: %s", strerror(-rc));
	}
	if (rc) {
		gpu_close(g);
		return rc;
	}
	things_note_unmatched(&g->things, choice);
	if (!choice->nr && !g->things.nr)
		things_add_note(&g->things, "there is no GPU with a driver of the kernel's (DRM)");
	*state = g;
	return 0;
}

static int read_all(struct gpus *g)
{
	for (size_t i = g->things.nr; i-- > 0;) {
		int rc = things_read(&g->things, &g->things.list[i]);

		if (rc != -ENODEV && rc != 0)
			return rc;
		if (rc == 0)
			continue;
		things_drop(&g->things, &g->things.list[i]);
		g->must_look = true;
	}
	return 0;
}

static int gpu_read(void *state)
{
	struct gpus *g = state;
	int rc = find_all(g);

	return things_done(&g->things, rc ? rc : read_all(g));
}

const struct collect_many_source collect_gpu_source = {
    .name = "gpu",
    .open = gpu_open,
    .close = gpu_close,
    .read = gpu_read,
    .nr = things_nr,
    .get = things_get,
    .note = things_note,
};
