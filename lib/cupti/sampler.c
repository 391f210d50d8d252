/*
 * The calls that PM sampling needs, in their order: availability, host, metrics, configuration;
 * enable, configure, data image; start, decode …, stop, disable.
 */
#include "cupti/sampler.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	BUFFER_BYTES = 64 << 20, /* of the hardware's records */
	MAX_SAMPLES = 4096,      /* of a data image */
	MAX_ROUNDS = 256,        /* of data images in one decoding */
	MAX_IMAGE_BYTES = 1 << 30,
};

/* What a result means to the user. */
static const struct {
	int result, code;
	const char *text, *hint;
} results[] = {
    {CUPTI_INSUFFICIENT_PRIVILEGES, -EPERM, "the GPU's counters are reserved for administrators",
     "measure as root, or load the driver's module with NVreg_RestrictProfilingToAdminUsers=0"},
    {CUPTI_VIRTUALIZED_PRIVILEGES, -EPERM, "the hypervisor reserves the GPU's counters", ""},
    {CUPTI_NOT_SUPPORTED, -EOPNOTSUPP, "this GPU, or its driver, has no PM sampling",
     "PM sampling needs a GPU of Turing (2018) or later"},
    {CUPTI_VIRTUALIZED, -EOPNOTSUPP, "a virtualized GPU has no PM sampling", ""},
    {CUPTI_CONFIDENTIAL, -EOPNOTSUPP, "a GPU in confidential mode has no PM sampling", ""},
    {CUPTI_MIG, -EOPNOTSUPP, "a GPU that is divided (MIG) has no PM sampling", ""},
    {CUPTI_HARDWARE_BUSY, -EBUSY, "the GPU's counters are in use by another program", ""},
    {CUPTI_OUT_OF_MEMORY, -ENOMEM, "CUPTI found no memory", ""},
    {CUPTI_INVALID_METRIC_NAME, -EINVAL, "this GPU has no such metric", ""},
    {CUPTI_HARDWARE, -EIO, "the GPU is lost", ""},
};

static int fail(const struct cupti_device *d, int result, const char *call, struct err *e)
{
	const char *text = NULL;

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		if (results[i].result != result)
			continue;
		err_set(e, results[i].code, "%s: %s (%s)", d->config.name, results[i].text, call);
		if (results[i].hint[0])
			err_hint(e, "%s", results[i].hint);
		return results[i].code;
	}
	(void)d->library->cuptiGetResultString(result, &text);
	err_set(e, -EIO, "%s: %s failed: %.64s (%d)", d->config.name, call,
		text ? text : "unknown result", result);
	return -EIO;
}

#define CALL(d_, name_, argument_, e_)                                                             \
	({                                                                                         \
		int result_ = (d_)->library->name_(argument_);                                     \
		result_ == CUPTI_OK ? 0 : fail(d_, result_, #name_, e_);                           \
	})

static int allocate(size_t bytes, uint8_t **out, struct err *e)
{
	if (bytes && bytes <= MAX_IMAGE_BYTES)
		*out = mem_zalloc(bytes);
	if (*out)
		return 0;
	err_set(e, -ENOMEM, "no memory for %zu bytes of CUPTI", bytes);
	return -ENOMEM;
}

static int make_host(struct cupti_device *d, struct err *e)
{
	struct cupti_chip chip = {.size = CUPTI_SIZE(struct cupti_chip, name),
				  .device = d->config.device};
	struct cupti_availability available = {.size = CUPTI_SIZE(struct cupti_availability, image),
					       .device = d->config.device};
	struct cupti_host_init init = {.size = CUPTI_SIZE(struct cupti_host_init, host),
				       .profiler = CUPTI_PROFILER_PM_SAMPLING};
	int rc = CALL(d, cuptiDeviceGetChipName, &chip, e)
	    ?: CALL(d, cuptiPmSamplingGetCounterAvailability, &available, e)
	    ?: allocate(available.image_bytes, &available.image, e)
	    ?: CALL(d, cuptiPmSamplingGetCounterAvailability, &available, e);

	if (rc == 0) {
		init.chip = chip.name;
		init.availability = available.image;
		rc = CALL(d, cuptiProfilerHostInitialize, &init, e);
	}
	if (rc == 0)
		d->host = init.host;
	mem_free(available.image);
	return rc;
}

/* "a, b, c" */
static void list_metrics(const struct cupti_sampler_config *c, char *out, size_t room)
{
	size_t at = 0;

	for (size_t i = 0; i < c->nr_metrics && at < room; i++)
		at += (size_t)snprintf(out + at, room - at, "%s%s", i ? ", " : "", c->metrics[i]);
}

static int add_metric(struct cupti_device *d, size_t first, size_t nr)
{
	struct cupti_add_metrics add = {
	    .size = CUPTI_SIZE(struct cupti_add_metrics, nr),
	    .host = d->host,
	    .names = &d->config.metrics[first],
	    .nr = nr,
	};

	return d->library->cuptiProfilerHostConfigAddMetrics(&add);
}

/* If one is unknown, each is tried alone, so that it is named. */
static int add_metrics(struct cupti_device *d, struct err *e)
{
	int result = add_metric(d, 0, d->config.nr_metrics);

	if (result == CUPTI_OK)
		return 0;
	for (size_t i = 0; i < d->config.nr_metrics; i++) {
		int alone = add_metric(d, i, 1);

		if (alone != CUPTI_INVALID_METRIC_NAME && alone != CUPTI_INVALID_PARAMETER)
			continue;
		err_set(e, -EINVAL, "%s has no metric %s", d->config.name, d->config.metrics[i]);
		err_hint(e, "ncu --query-metrics-collection pmsampling lists what there is");
		return -EINVAL;
	}
	return fail(d, result, "cuptiProfilerHostConfigAddMetrics", e);
}

static int make_config(struct cupti_device *d, struct err *e)
{
	struct cupti_config_size size = {.size = CUPTI_SIZE(struct cupti_config_size, bytes),
					 .host = d->host};
	struct cupti_config_image image = {.size = CUPTI_SIZE(struct cupti_config_image, image),
					   .host = d->host};
	struct cupti_passes passes = {.size = CUPTI_SIZE(struct cupti_passes, nr)};
	char names[256];
	int rc = CALL(d, cuptiProfilerHostGetConfigImageSize, &size, e)
		     ?: allocate(size.bytes, &d->config_image, e);

	if (rc)
		return rc;
	d->config_bytes = image.bytes = passes.bytes = size.bytes;
	image.image = passes.image = d->config_image;
	rc = CALL(d, cuptiProfilerHostGetConfigImage, &image, e)
		 ?: CALL(d, cuptiProfilerHostGetNumOfPasses, &passes, e);
	if (rc || passes.nr == 1)
		return rc;
	list_metrics(&d->config, names, sizeof(names));
	err_set(e, -EINVAL, "%s cannot count these at a time (they need %zu passes): %s",
		d->config.name, passes.nr, names);
	err_hint(e, "measure fewer of them in one session");
	return -EINVAL;
}

/* Turing and GA100 count intervals in cycles only. */
static int set_config(struct cupti_device *d, struct err *e)
{
	struct cupti_set_config set = {
	    .size = CUPTI_SIZE(struct cupti_set_config, trigger),
	    .sampler = d->sampler,
	    .config_bytes = d->config_bytes,
	    .config = d->config_image,
	    .buffer_bytes = BUFFER_BYTES,
	    .interval = d->config.interval_ns,
	    .trigger = CUPTI_TRIGGER_NS,
	};
	int device = 0, major = 0, minor = 0, khz = 0;
	const struct cupti_library *l = d->library;

	if (l->cuDeviceGet(&device, (int)d->config.device) == CUDA_OK) {
		(void)l->cuDeviceGetAttribute(&major, CUDA_CAPABILITY_MAJOR, device);
		(void)l->cuDeviceGetAttribute(&minor, CUDA_CAPABILITY_MINOR, device);
		(void)l->cuDeviceGetAttribute(&khz, CUDA_CLOCK_RATE, device);
	}
	d->is_in_cycles = major == 7 || (major == 8 && minor == 0);
	if (d->is_in_cycles) {
		set.trigger = CUPTI_TRIGGER_CYCLES;
		set.interval = (uint64_t)((double)set.interval * (khz > 0 ? khz : 1000000) / 1e6);
	}
	return CALL(d, cuptiPmSamplingSetConfig, &set, e);
}

static int empty_data(struct cupti_device *d, struct err *e)
{
	struct cupti_data_init init = {
	    .size = CUPTI_SIZE(struct cupti_data_init, image),
	    .sampler = d->sampler,
	    .bytes = d->data_bytes,
	    .image = d->data,
	};

	return CALL(d, cuptiPmSamplingCounterDataImageInitialize, &init, e);
}

static int make_data(struct cupti_device *d, struct err *e)
{
	struct cupti_data_size size = {
	    .size = CUPTI_SIZE(struct cupti_data_size, bytes),
	    .sampler = d->sampler,
	    .names = d->config.metrics,
	    .nr = d->config.nr_metrics,
	    .max_samples = MAX_SAMPLES,
	};
	int rc = CALL(d, cuptiPmSamplingGetCounterDataSize, &size, e)
		     ?: allocate(size.bytes, &d->data, e);

	d->data_bytes = size.bytes;
	return rc ?: empty_data(d, e);
}

static int start(struct cupti_device *d, struct err *e)
{
	struct cupti_enable enable = {.size = CUPTI_SIZE(struct cupti_enable, sampler),
				      .device = d->config.device};
	struct cupti_sampler begin = {.size = CUPTI_SIZE(struct cupti_sampler, sampler)};
	int rc;

	d->values = mem_calloc(d->config.nr_metrics, sizeof(*d->values));
	if (!d->values) {
		err_set(e, -ENOMEM, "no memory for the values of a sample");
		return -ENOMEM;
	}
	rc = make_host(d, e) ?: add_metrics(d, e) ?: make_config(d, e)
	    ?: CALL(d, cuptiPmSamplingEnable, &enable, e);
	if (rc)
		return rc;
	d->sampler = begin.sampler = enable.sampler;
	rc = set_config(d, e) ?: make_data(d, e) ?: CALL(d, cuptiPmSamplingStart, &begin, e);
	d->is_started = rc == 0;
	return rc;
}

int cupti_device_start(struct cupti_device *d, const struct cupti_library *l,
		       const struct cupti_sampler_config *config, struct err *e)
{
	int rc;

	*d = (struct cupti_device){.library = l, .config = *config};
	rc = start(d, e);
	if (rc)
		cupti_device_stop(d);
	return rc;
}

/* Passes the samples of the data image on. */
static int pass_samples(struct cupti_device *d,
			int (*fn)(uint64_t start_ns, uint64_t end_ns, const double *values,
				  void *arg),
			void *arg, struct err *e)
{
	struct cupti_data_info info = {.size = CUPTI_SIZE(struct cupti_data_info, nr_completed),
				       .image = d->data,
				       .image_bytes = d->data_bytes};
	int rc = CALL(d, cuptiPmSamplingGetCounterDataInfo, &info, e);

	for (size_t i = 0; i < info.nr_completed && i < MAX_SAMPLES && rc == 0; i++) {
		struct cupti_sample_info sample = {
		    .size = CUPTI_SIZE(struct cupti_sample_info, end_ns),
		    .sampler = d->sampler,
		    .image = d->data,
		    .image_bytes = d->data_bytes,
		    .sample = i,
		};
		struct cupti_evaluate evaluate = {
		    .size = CUPTI_SIZE(struct cupti_evaluate, values),
		    .host = d->host,
		    .image = d->data,
		    .image_bytes = d->data_bytes,
		    .sample = i,
		    .names = d->config.metrics,
		    .nr = d->config.nr_metrics,
		    .values = d->values,
		};

		rc = CALL(d, cuptiPmSamplingCounterDataGetSampleInfo, &sample, e)
		    ?: CALL(d, cuptiProfilerHostEvaluateToGpuValues, &evaluate, e)
		    ?: fn(sample.start_ns, sample.end_ns, d->values, arg);
	}
	return rc;
}

int cupti_device_decode(struct cupti_device *d,
			int (*fn)(uint64_t start_ns, uint64_t end_ns, const double *values,
				  void *arg),
			void *arg, bool *overflow, struct err *e)
{
	int rc = 0;

	*overflow = false;
	for (int round = 0; round < MAX_ROUNDS && rc == 0; round++) {
		struct cupti_decode decode = {
		    .size = CUPTI_SIZE(struct cupti_decode, overflow),
		    .sampler = d->sampler,
		    .image = d->data,
		    .image_bytes = d->data_bytes,
		};
		int result = d->library->cuptiPmSamplingDecodeData(&decode);

		/* so the header says of an overflow; the samples before it are there */
		*overflow |= decode.overflow || result == CUPTI_OUT_OF_MEMORY;
		if (result != CUPTI_OK && result != CUPTI_OUT_OF_MEMORY)
			return fail(d, result, "cuptiPmSamplingDecodeData", e);
		rc = pass_samples(d, fn, arg, e) ?: empty_data(d, e);
		if (decode.stop_reason != CUPTI_DECODE_IS_FULL)
			break;
	}
	return rc;
}

void cupti_device_stop(struct cupti_device *d)
{
	struct cupti_sampler sampler = {.size = CUPTI_SIZE(struct cupti_sampler, sampler),
					.sampler = d->sampler};
	struct cupti_host host = {.size = CUPTI_SIZE(struct cupti_host, host), .host = d->host};

	if (d->is_started)
		(void)d->library->cuptiPmSamplingStop(&sampler);
	if (d->sampler)
		(void)d->library->cuptiPmSamplingDisable(&sampler);
	if (d->host)
		(void)d->library->cuptiProfilerHostDeinitialize(&host);
	mem_free(d->config_image);
	mem_free(d->data);
	mem_free(d->values);
	*d = (struct cupti_device){.host = NULL};
}
