/*
 * NVIDIA's library for its GPUs, libnvidia-ml.so.1: loaded by dlopen, never linked. Its functions
 * are optional: those of newer drivers are missing in older ones.
 *
 * With the capabilities of cpuperf's file (base/privilege.h) the loader ignores LD_LIBRARY_PATH.
 *
 * The library opens what it asks, which wakes a sleeping GPU, and a call may never return. So GPUs
 * are found in /proc/driver/nvidia/gpus, without it; it is loaded only if that exists, and begun
 * only if one of them is awake. A table (gpu/nvml_gpu.c) says which call has which fields: each is
 * made once for a reading, and what the GPU does not have is not asked again. Where a newer
 * function is missing the older one stands in.
 */
#ifndef GPU_NVML_H
#define GPU_NVML_H

#include "gpu/nvml_abi.h"

struct err;
struct root;

struct nvml {
#define NVML_POINTER(name, symbol, parameters) int(*name) parameters; /* or NULL */
	NVML_FUNCTIONS(NVML_POINTER)
#undef NVML_POINTER
};

/* Loads the library by its name, or below a root of tests by /libnvidia-ml.so.1; it remains loaded.
 * That starts nothing: nvml_init does. 0, or -ENOTSUP with *why. */
int nvml_load(const struct root *root, struct nvml *out, struct err *why);
/* An NVML result. The library counts these calls; it is never told to end, since that and the next
 * beginning take seconds where no other program holds the GPUs. */
int nvml_init(const struct nvml *nvml);

/* 0; -ENOTSUP: this library, driver or GPU has no such value; -EACCES; -ENODEV: the GPU is lost;
 * -EIO: any other. */
int nvml_errno(int result);
/* "the GPU is lost" */
const char *nvml_reason(int result);

#endif
