/*
 * What the library has of a GPU, as the fields of collect/gpu.h.
 */
#ifndef COLLECT_NVML_GPU_H
#define COLLECT_NVML_GPU_H

#include "collect/nvml_devices.h"

extern const struct nvml_way nvml_gpu_way;

#endif
