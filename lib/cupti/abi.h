/*
 * What is used of CUDA's driver interface and of CUPTI's PM sampling: numbers, functions and
 * structures, as their public headers of CUDA 12.6 have them (cuda.h, cupti_result.h,
 * cupti_target.h, cupti_profiler_target.h, cupti_profiler_host.h, cupti_pmsampling.h). They are
 * declared here since the libraries are loaded and never linked.
 *
 * Each structure begins with its size, up to the end of its last field: a newer library sees from
 * it which fields there are. Later fields are at their ends.
 */
#ifndef CUPTI_ABI_H
#define CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_INVALID_OPERATION = 7,
	CUPTI_OUT_OF_MEMORY = 8,
	CUPTI_HARDWARE = 9,
	CUPTI_INVALID_METRIC_NAME = 17,
	CUPTI_HARDWARE_BUSY = 26,
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_VIRTUALIZED = 33,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_VIRTUALIZED_PRIVILEGES = 40,
	CUPTI_CONFIDENTIAL = 41,
	CUPTI_MIG = 43,
	CUPTI_UNKNOWN = 999,
};

enum { CUDA_OK = 0, CUDA_NO_DEVICE = 100 };
/* Attributes of a device. */
enum { CUDA_CLOCK_RATE = 13 /* kHz */, CUDA_CAPABILITY_MAJOR = 75, CUDA_CAPABILITY_MINOR = 76 };

enum { CUPTI_PROFILER_PM_SAMPLING = 1 };
/* What an interval is counted in. */
enum { CUPTI_TRIGGER_CYCLES = 0, CUPTI_TRIGGER_NS = 1 };
enum { CUPTI_DECODE_OTHER = 0, CUPTI_DECODE_IS_FULL = 1, CUPTI_DECODE_END = 2 };

/* The number that structSize must have. */
#define CUPTI_SIZE(type_, last_) (offsetof(type_, last_) + sizeof(((type_ *)0)->last_))

struct cupti_profiler {
	size_t size;
	void *priv;
};

struct cupti_chip {
	size_t size;
	void *priv;
	size_t device;
	const char *name; /* out */
};

struct cupti_availability {
	size_t size;
	void *priv;
	size_t device;
	size_t image_bytes; /* out while image is NULL */
	uint8_t *image;
};

struct cupti_host_init {
	size_t size;
	void *priv;
	uint32_t profiler;
	const char *chip;
	const uint8_t *availability;
	void *host; /* out */
};

struct cupti_host {
	size_t size;
	void *priv;
	void *host;
};

struct cupti_add_metrics {
	size_t size;
	void *priv;
	void *host;
	const char **names;
	size_t nr;
};

struct cupti_config_size {
	size_t size;
	void *priv;
	void *host;
	size_t bytes; /* out */
};

struct cupti_config_image {
	size_t size;
	void *priv;
	void *host;
	size_t bytes;
	uint8_t *image;
};

struct cupti_passes {
	size_t size;
	void *priv;
	size_t bytes;
	uint8_t *image;
	size_t nr; /* out */
};

struct cupti_evaluate {
	size_t size;
	void *priv;
	void *host;
	const uint8_t *image;
	size_t image_bytes;
	size_t sample;
	const char **names;
	size_t nr;
	double *values;
};

struct cupti_enable {
	size_t size;
	void *priv;
	size_t device;
	void *sampler; /* out */
};

/* Of cuptiPmSamplingStart, Stop and Disable. */
struct cupti_sampler {
	size_t size;
	void *priv;
	void *sampler;
};

struct cupti_set_config {
	size_t size;
	void *priv;
	void *sampler;
	size_t config_bytes;
	const uint8_t *config;
	size_t buffer_bytes;
	uint64_t interval;
	uint32_t trigger;
};

struct cupti_data_size {
	size_t size;
	void *priv;
	void *sampler;
	const char **names;
	size_t nr;
	uint32_t max_samples;
	size_t bytes; /* out */
};

struct cupti_data_init {
	size_t size;
	void *priv;
	void *sampler;
	size_t bytes;
	uint8_t *image;
};

struct cupti_decode {
	size_t size;
	void *priv;
	void *sampler;
	uint8_t *image;
	size_t image_bytes;
	uint32_t stop_reason; /* out */
	uint8_t overflow;     /* out */
};

struct cupti_data_info {
	size_t size;
	void *priv;
	const uint8_t *image;
	size_t image_bytes;
	size_t nr_total, nr_populated, nr_completed; /* out */
};

struct cupti_sample_info {
	size_t size;
	void *priv;
	void *sampler;
	const uint8_t *image;
	size_t image_bytes;
	size_t sample;
	uint64_t start_ns, end_ns; /* out; of the GPU's clock */
};

/* The functions that must be there: F(name, its only argument). All return a result. */
#define CUPTI_FUNCTIONS(F)                                                                         \
	F(cuptiGetTimestamp, uint64_t)                                                             \
	F(cuptiProfilerInitialize, struct cupti_profiler)                                          \
	F(cuptiProfilerDeInitialize, struct cupti_profiler)                                        \
	F(cuptiDeviceGetChipName, struct cupti_chip)                                               \
	F(cuptiProfilerHostInitialize, struct cupti_host_init)                                     \
	F(cuptiProfilerHostDeinitialize, struct cupti_host)                                        \
	F(cuptiProfilerHostConfigAddMetrics, struct cupti_add_metrics)                             \
	F(cuptiProfilerHostGetConfigImageSize, struct cupti_config_size)                           \
	F(cuptiProfilerHostGetConfigImage, struct cupti_config_image)                              \
	F(cuptiProfilerHostGetNumOfPasses, struct cupti_passes)                                    \
	F(cuptiProfilerHostEvaluateToGpuValues, struct cupti_evaluate)                             \
	F(cuptiPmSamplingGetCounterAvailability, struct cupti_availability)                        \
	F(cuptiPmSamplingEnable, struct cupti_enable)                                              \
	F(cuptiPmSamplingDisable, struct cupti_sampler)                                            \
	F(cuptiPmSamplingSetConfig, struct cupti_set_config)                                       \
	F(cuptiPmSamplingStart, struct cupti_sampler)                                              \
	F(cuptiPmSamplingStop, struct cupti_sampler)                                               \
	F(cuptiPmSamplingGetCounterDataSize, struct cupti_data_size)                               \
	F(cuptiPmSamplingCounterDataImageInitialize, struct cupti_data_init)                       \
	F(cuptiPmSamplingDecodeData, struct cupti_decode)                                          \
	F(cuptiPmSamplingGetCounterDataInfo, struct cupti_data_info)                               \
	F(cuptiPmSamplingCounterDataGetSampleInfo, struct cupti_sample_info)

#endif
