/*
 * What the library has of a GPU, as the fields of gpu/gpu.h.
 */
#ifndef GPU_NVML_GPU_H
#define GPU_NVML_GPU_H

#include "gpu/nvml_devices.h"

extern const struct nvml_way nvml_gpu_way;

#endif
