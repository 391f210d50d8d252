/*
 * The text of /proc/PID/fdinfo/FD of a GPU's device file: what one client of the GPU used. Source:
 * Documentation/gpu/drm-usage-stats.rst, and drivers/gpu/drm: i915, xe, amdgpu, panfrost, msm.
 */
#ifndef GPU_FDINFO_H
#define GPU_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GPU_FDINFO_NAME_BYTES = 32,
	GPU_FDINFO_MAX_ENGINES = 32,
	GPU_FDINFO_MAX_REGIONS = 16,
	GPU_FDINFO_MAX_BYTES = 16384
};

/* Values of an engine. All but the last three are cumulative; they may go back a little. */
enum gpu_fdinfo_of_engine {
	GPU_FDINFO_NS,           /* busy for this client */
	GPU_FDINFO_CYCLES,       /* the same */
	GPU_FDINFO_TOTAL_CYCLES, /* the engine's clock in the same unit, busy or not */
	GPU_FDINFO_MAX_HZ,
	GPU_FDINFO_HZ,       /* now */
	GPU_FDINFO_CAPACITY, /* alike engines that have this name; at least 1 */
	GPU_FDINFO_NR_OF_ENGINE
};

/* Bytes of buffers in a region of memory. */
enum gpu_fdinfo_of_region {
	GPU_FDINFO_RESIDENT, /* that are there */
	GPU_FDINFO_MEMORY,   /* the same, of older kernels */
	GPU_FDINFO_TOTAL,    /* that may be there */
	GPU_FDINFO_SHARED,
	GPU_FDINFO_PURGEABLE,
	GPU_FDINFO_ACTIVE,
	GPU_FDINFO_NR_OF_REGION
};

struct gpu_fdinfo_engine {
	char name[GPU_FDINFO_NAME_BYTES]; /* the driver's: "render", "rcs", "gfx", "fragment" … */
	uint32_t has;                     /* bits of what the text has */
	uint64_t of[GPU_FDINFO_NR_OF_ENGINE];
};

struct gpu_fdinfo_region {
	char name[GPU_FDINFO_NAME_BYTES]; /* "vram0", "system", "gtt", "memory" … */
	uint32_t has;
	uint64_t of[GPU_FDINFO_NR_OF_REGION];
};

struct gpu_fdinfo {
	char driver[GPU_FDINFO_NAME_BYTES];
	char pdev[GPU_FDINFO_NAME_BYTES]; /* "0000:03:00.0"; "": not on PCI */
	bool has_client;
	uint64_t client; /* unique on the device */
	struct gpu_fdinfo_engine engines[GPU_FDINFO_MAX_ENGINES];
	size_t nr_engines;
	struct gpu_fdinfo_region regions[GPU_FDINFO_MAX_REGIONS];
	size_t nr_regions;
};

/* Other keys are ignored. 0; -ENOENT: the text is of no GPU, or its driver writes no such keys;
 * -EINVAL, -ERANGE, or -E2BIG: more engines or regions than there is room for. *out is undefined
 * then. */
int gpu_fdinfo_parse(const char *text, size_t len, struct gpu_fdinfo *out);

/* The bytes of this client that are present in the GPU's own memory, and in that of the machine.
 * False: the text has none. Regions with other names than those of known drivers are in neither. */
bool gpu_fdinfo_own_memory(const struct gpu_fdinfo *f, uint64_t *bytes);
bool gpu_fdinfo_machine_memory(const struct gpu_fdinfo *f, uint64_t *bytes);

#endif
