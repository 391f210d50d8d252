/*
 * The part of the interface of NVIDIA's libnvidia-ml.so.1 that is used: numbers and layouts of its
 * public header gpu/nvml.h (of NVML 13; those of older functions are as old as these). The library
 * is never linked.
 */
#ifndef GPU_NVML_ABI_H
#define GPU_NVML_ABI_H

#include <stddef.h>

/* nvmlReturn_t, an int */
enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NO_PERMISSION = 4,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_TIMEOUT = 10,
	NVML_ERROR_FUNCTION_NOT_FOUND = 13,
	NVML_ERROR_GPU_IS_LOST = 15,
	NVML_ERROR_RESET_REQUIRED = 16,
	NVML_ERROR_OPERATING_SYSTEM = 17, /* blocked, as by control groups */
	NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
	NVML_ERROR_MEMORY = 20,
	NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
	NVML_ERROR_DEPRECATED = 26,
	NVML_ERROR_UNKNOWN = 999
};

/* nvmlClockType_t, nvmlTemperatureSensors_t, nvmlPcieUtilCounter_t, nvmlPerfPolicyType_t */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };
enum { NVML_POLICY_POWER = 0, NVML_POLICY_THERMAL = 1 };

/* Why clocks are lower than they could be. All but those that are a choice or want of work: not
 * idle (1), set clocks (2) and clocks of the display (0x100). */
enum {
	NVML_REASON_POWER_CAP = 0x4,
	NVML_REASON_HW_SLOWDOWN = 0x8,
	NVML_REASON_SYNC_BOOST = 0x10,
	NVML_REASON_SW_THERMAL = 0x20,
	NVML_REASON_HW_THERMAL = 0x40,
	NVML_REASON_POWER_BRAKE = 0x80,
	NVML_REASONS_THROTTLED = 0xfc
};

/* Fields of nvmlDeviceGetFieldValues */
enum {
	NVML_FIELD_POLICY_POWER = 74,
	NVML_FIELD_POLICY_THERMAL = 75,
	NVML_FIELD_MEMORY_TEMPERATURE = 82,
	NVML_FIELD_ENERGY = 83,
	NVML_FIELD_PCIE_REPLAYS = 94
};

/* nvmlValueType_t */
enum {
	NVML_VALUE_DOUBLE,
	NVML_VALUE_UNSIGNED,
	NVML_VALUE_UNSIGNED_LONG,
	NVML_VALUE_UNSIGNED_LONG_LONG,
	NVML_VALUE_SIGNED_LONG_LONG,
	NVML_VALUE_SIGNED,
	NVML_VALUE_UNSIGNED_SHORT
};

/* nvmlGpmMetricId_t: percents, and MiB/s. */
enum {
	NVML_GPM_GRAPHICS = 1,
	NVML_GPM_SM = 2,
	NVML_GPM_OCCUPANCY = 3,
	NVML_GPM_INTEGER = 4,
	NVML_GPM_TENSOR = 5,
	NVML_GPM_DRAM = 10,
	NVML_GPM_FP64 = 11,
	NVML_GPM_FP32 = 12,
	NVML_GPM_FP16 = 13,
	NVML_GPM_PCIE_TX = 20,
	NVML_GPM_PCIE_RX = 21,
	NVML_GPM_NVLINK_RX = 60,
	NVML_GPM_NVLINK_TX = 61,
	NVML_GPM_MAX = 333 /* room for later ones: the library's array has as many */
};

struct nvml_utilization {
	unsigned gpu, memory; /* percent */
};

struct nvml_memory {
	unsigned long long total, free, used; /* used: with what is reserved */
};

struct nvml_memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct nvml_temperature {
	unsigned version;
	int sensor, temperature;
};

struct nvml_fan_speed {
	unsigned version, fan, speed; /* rpm */
};

struct nvml_violation_time {
	unsigned long long reference_us, violation_ns;
};

struct nvml_field_value {
	unsigned field, scope;
	long long time_us, latency_us;
	int type, result;
	union {
		double d;
		int i;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
		long long ll;
		unsigned short us;
	} value;
};

struct nvml_process_v1 {
	unsigned pid;
	unsigned long long memory;
};

/* Of _v2 and _v3 */
struct nvml_process {
	unsigned pid;
	unsigned long long memory; /* NVML_NOT_AVAILABLE: unknown */
	unsigned gpu_instance, compute_instance;
};
#define NVML_NOT_AVAILABLE (~0ULL)

struct nvml_process_sample {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder; /* percent */
};

struct nvml_gpm_support {
	unsigned version, is_supported;
};

struct nvml_gpm_metric {
	unsigned metric;
	int result;
	double value;
	char *short_name, *long_name, *unit; /* the library's */
};

struct nvml_gpm_metrics {
	unsigned version, nr;
	void *first, *second; /* samples */
	struct nvml_gpm_metric metrics[NVML_GPM_MAX];
};

/* What stands in versions: the size, and the number above it; those of GPM are the number alone. */
#define NVML_VERSION(type, number) ((unsigned)sizeof(struct type) | (unsigned)(number) << 24)
enum { NVML_GPM_VERSION = 1 };

_Static_assert(sizeof(struct nvml_utilization) == 8, "nvmlUtilization_t");
_Static_assert(sizeof(struct nvml_memory) == 24, "nvmlMemory_t");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(NVML_VERSION(nvml_memory_v2, 2) == 0x2000028, "nvmlMemory_v2");
_Static_assert(sizeof(struct nvml_temperature) == 12, "nvmlTemperature_v1_t");
_Static_assert(sizeof(struct nvml_fan_speed) == 12, "nvmlFanSpeedInfo_v1_t");
_Static_assert(sizeof(struct nvml_violation_time) == 16, "nvmlViolationTime_t");
_Static_assert(sizeof(struct nvml_field_value) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_process_v1) == 16, "nvmlProcessInfo_v1_t");
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct nvml_process_sample) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(struct nvml_gpm_support) == 8, "nvmlGpmSupport_t");
_Static_assert(sizeof(void *) != 8 || sizeof(struct nvml_gpm_metric) == 40, "nvmlGpmMetric_t");
_Static_assert(sizeof(void *) != 8 ||
		   sizeof(struct nvml_gpm_metrics) == 24 + 40 * (size_t)NVML_GPM_MAX,
	       "nvmlGpmMetricsGet_t");

/* name in struct nvml, the library's, its parameters. Devices and samples are pointers. */
#define NVML_FUNCTIONS(X)                                                                          \
	X(init, nvmlInit_v2, (void))                                                               \
	X(init_v1, nvmlInit, (void))                                                               \
	X(find, nvmlDeviceGetHandleByPciBusId_v2, (const char *address, void **device))            \
	X(find_v1, nvmlDeviceGetHandleByPciBusId, (const char *address, void **device))            \
	X(mig_mode, nvmlDeviceGetMigMode, (void *device, unsigned *now, unsigned *pending))        \
	X(utilization, nvmlDeviceGetUtilizationRates,                                              \
	  (void *device, struct nvml_utilization *out))                                            \
	X(memory_v2, nvmlDeviceGetMemoryInfo_v2, (void *device, struct nvml_memory_v2 *out))       \
	X(memory, nvmlDeviceGetMemoryInfo, (void *device, struct nvml_memory *out))                \
	X(power, nvmlDeviceGetPowerUsage, (void *device, unsigned *mw))                            \
	X(power_limit, nvmlDeviceGetEnforcedPowerLimit, (void *device, unsigned *mw))              \
	X(energy, nvmlDeviceGetTotalEnergyConsumption, (void *device, unsigned long long *mj))     \
	X(temperature_v, nvmlDeviceGetTemperatureV,                                                \
	  (void *device, struct nvml_temperature *inout))                                          \
	X(temperature, nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius))    \
	X(clock, nvmlDeviceGetClockInfo, (void *device, int clock, unsigned *mhz))                 \
	X(fan, nvmlDeviceGetFanSpeedRPM, (void *device, struct nvml_fan_speed *inout))             \
	X(encoder, nvmlDeviceGetEncoderUtilization,                                                \
	  (void *device, unsigned *percent, unsigned *period_us))                                  \
	X(decoder, nvmlDeviceGetDecoderUtilization,                                                \
	  (void *device, unsigned *percent, unsigned *period_us))                                  \
	X(reasons, nvmlDeviceGetCurrentClocksEventReasons,                                         \
	  (void *device, unsigned long long *bits))                                                \
	X(reasons_old, nvmlDeviceGetCurrentClocksThrottleReasons,                                  \
	  (void *device, unsigned long long *bits))                                                \
	X(violation, nvmlDeviceGetViolationStatus,                                                 \
	  (void *device, int policy, struct nvml_violation_time *out))                             \
	X(field_values, nvmlDeviceGetFieldValues,                                                  \
	  (void *device, int nr, struct nvml_field_value *inout))                                  \
	X(pcie_throughput, nvmlDeviceGetPcieThroughput,                                            \
	  (void *device, int counter, unsigned *kb_per_s))                                         \
	X(pcie_replays, nvmlDeviceGetPcieReplayCounter, (void *device, unsigned *nr))              \
	X(compute_v3, nvmlDeviceGetComputeRunningProcesses_v3,                                     \
	  (void *device, unsigned *nr, struct nvml_process *out))                                  \
	X(compute_v2, nvmlDeviceGetComputeRunningProcesses_v2,                                     \
	  (void *device, unsigned *nr, struct nvml_process *out))                                  \
	X(compute_v1, nvmlDeviceGetComputeRunningProcesses,                                        \
	  (void *device, unsigned *nr, struct nvml_process_v1 *out))                               \
	X(graphics_v3, nvmlDeviceGetGraphicsRunningProcesses_v3,                                   \
	  (void *device, unsigned *nr, struct nvml_process *out))                                  \
	X(graphics_v2, nvmlDeviceGetGraphicsRunningProcesses_v2,                                   \
	  (void *device, unsigned *nr, struct nvml_process *out))                                  \
	X(graphics_v1, nvmlDeviceGetGraphicsRunningProcesses,                                      \
	  (void *device, unsigned *nr, struct nvml_process_v1 *out))                               \
	X(process_samples, nvmlDeviceGetProcessUtilization,                                        \
	  (void *device, struct nvml_process_sample *out, unsigned *nr,                            \
	   unsigned long long after_us))                                                           \
	X(gpm_query, nvmlGpmQueryDeviceSupport, (void *device, struct nvml_gpm_support *inout))    \
	X(gpm_alloc, nvmlGpmSampleAlloc, (void **sample))                                          \
	X(gpm_free, nvmlGpmSampleFree, (void *sample))                                             \
	X(gpm_sample, nvmlGpmSampleGet, (void *device, void *sample))                              \
	X(gpm_metrics, nvmlGpmMetricsGet, (struct nvml_gpm_metrics * inout))

#endif
