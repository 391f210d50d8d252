/*
 * GPUs, by the files of their drivers in /sys/class/drm/cardN and the sensors (hwmon) and frequency
 * governor (devfreq) of their devices. Source: drivers/gpu/drm/{amd,i915,xe,nouveau,panfrost,msm},
 * Documentation/gpu/amdgpu/thermal.rst, Documentation/ABI/testing/sysfs-driver-intel-*.
 *
 * Those of NVIDIA's own driver have few such files. They are asked by its library, if it can be
 * loaded (gpu/nvml.h), and named after their files in /dev ("nvidia0"); their cards are no
 * things then. Without it they are cards with what there is, and a note says so.
 *
 * words: these names ("card0", "nvidia0"), globs of them, or "all", which is the default.
 *
 * Nothing wakes a GPU: one whose device sleeps (power/runtime_status) is not read, since some
 * drivers wake it for that. It has no values then, but for GPU_AWAKE.
 *
 * They are things beside the cards (struct listed_others), or all there is (gpu/gpm.h).
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "things/many.h"

/* Instantaneous, but for energy, replays and times. Units are those of the files: */
enum gpu_field {
	GPU_AWAKE,            /* 1, or 0: its device sleeps */
	GPU_BUSY,             /* percent */
	GPU_MEMORY_BUSY,      /* percent */
	GPU_MEMORY_USED,      /* bytes of its own memory */
	GPU_MEMORY_TOTAL,     /* bytes */
	GPU_MEMORY_SHARED,    /* bytes of the machine's memory */
	GPU_POWER,            /* microwatts */
	GPU_ENERGY,           /* microjoules */
	GPU_TEMPERATURE,      /* thousandths of a degree Celsius; may be negative (int64_t) */
	GPU_FREQUENCY,        /* Hz */
	GPU_MEMORY_FREQUENCY, /* Hz */
	GPU_IDLE_TIME,        /* ns in which it was switched off for want of work (RC6) */
	GPU_FAN,              /* revolutions per minute */
	GPU_HOTSPOT,          /* as GPU_TEMPERATURE, where it is hottest */
	GPU_MEMORY_TEMPERATURE,
	GPU_MEDIA_BUSY,          /* percent: the busiest of what encodes and decodes video */
	GPU_THROTTLED,           /* 1: something keeps it from its full frequency; 0 */
	GPU_REQUESTED_FREQUENCY, /* Hz */
	GPU_LINK_SPEED,          /* transfers per second, of each lane of PCIe */
	/* Of NVIDIA's library alone */
	GPU_ENCODER_BUSY,           /* percent */
	GPU_DECODER_BUSY,           /* percent */
	GPU_POWER_LIMIT,            /* microwatts */
	GPU_THROTTLED_POWER_TIME,   /* ns */
	GPU_THROTTLED_THERMAL_TIME, /* ns */
	GPU_PCIE_RX,                /* bytes per second, of 20 ms, which a reading takes */
	GPU_PCIE_TX,                /* the same */
	GPU_PCIE_REPLAYS,           /* packets sent again */
	GPU_NR_FIELDS
};

extern const struct things_source gpu_source;

/* Of power/runtime_status: as things_file.parse. */
int gpu_parse_status(const char *text, size_t len, uint64_t *values, uint32_t *has);

#endif
