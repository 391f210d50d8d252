/*
 * The table of metrics that amdgpu publishes in device/gpu_metrics: a header with size and version,
 * then numbers whose places differ by version. Source: drivers/gpu/drm/amd/include/
 * kgd_pp_interface.h, versions 1.0 to 1.9, 2.0 to 2.4 and 3.0. A number whose bits are all ones is
 * one that this GPU does not have.
 *
 * What has no defined unit in a version is not decoded: the energy before 1.4 and in 1.9;
 * temperature, load and power of 2.0 to 2.3 (which differ by chip); temperature and load of 3.0;
 * the bandwidth of PCIe, which is in GB/s in one header and in Mb/s in the next.
 */
#ifndef GPU_METRICS_H
#define GPU_METRICS_H

#include "gpu/gpu.h"

#include <stddef.h>
#include <stdint.h>

struct buf;

/* Bits of those that some version has. */
enum {
	GPU_METRICS_FIELDS = 1u << GPU_BUSY | 1u << GPU_MEMORY_BUSY | 1u << GPU_POWER |
			     1u << GPU_ENERGY | 1u << GPU_TEMPERATURE | 1u << GPU_FREQUENCY |
			     1u << GPU_MEMORY_FREQUENCY | 1u << GPU_HOTSPOT |
			     1u << GPU_MEMORY_TEMPERATURE | 1u << GPU_MEDIA_BUSY |
			     1u << GPU_THROTTLED | 1u << GPU_LINK_SPEED
};

/* As struct things_file has them: values and bits by enum gpu_field. -EINVAL: no table, or a
 * truncated one. A version or a size that is not known has no field. */
int gpu_metrics_parse(const char *table, size_t len, uint64_t *values, uint32_t *has);
void gpu_metrics_explain(const char *table, size_t len, struct buf *out);

#endif
