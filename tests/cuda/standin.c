/*
 * Stands in for NVIDIA's driver and CUPTI, where tests have no GPU: the functions that PM sampling
 * needs, as their public headers describe them. Sizes and places of fields are checked against
 * numbers from there, and calls against their order. It is built as libcuda.so.1 (CUDA defined),
 * libcupti.so.12, and one of an older CUPTI (OLD defined), which has no PM sampling.
 *
 * CPUPERF_STANDIN: words, divided by ','; N and CODE are numbers
 *   devices=N     GPUs (1)
 *   major=N minor=N  their compute capability (9.0)
 *   offset=N      the GPU's clock when CLOCK_MONOTONIC was 0 (1700000000000000000)
 *   ppm=N         by how much it is faster (0)
 *   passes=N      that the metrics need (1)
 *   broken=N      device N cannot be enabled
 *   gap=N         the Nth decoding lacks samples as with overflow, but does not say so
 *   CALL=CODE     that call returns it (of decoding: from=N calls on)
 *   hang=CALL, crash=CALL  (from=N)
 *   busy=N        the Nth decoding computes for a second first
 *   overflow=N    the Nth decoding finds that samples were lost: all but the newest
 *   image=N       a data image has room for so many samples
 *   samples=N     the times of samples are by another clock, which is so much ahead
 *   file=PATH     lines of two times of CLOCK_MONOTONIC (the second may be missing yet): when
 *                 metrics of "tensor" are 100
 *
 * The value of another metric is that of the sample's end by the GPU's clock: its microseconds in
 * the second, divided by 10,000.
 */
#include "cupti/abi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PLACE(type_, field_, at_)                                                                  \
	_Static_assert(offsetof(struct type_, field_) == (at_), #type_ "." #field_)

/* By the headers, on 64-bit machines. */
PLACE(cupti_chip, device, 16);
PLACE(cupti_chip, name, 24);
PLACE(cupti_availability, image_bytes, 24);
PLACE(cupti_availability, image, 32);
PLACE(cupti_host_init, profiler, 16);
PLACE(cupti_host_init, chip, 24);
PLACE(cupti_host_init, availability, 32);
PLACE(cupti_host_init, host, 40);
PLACE(cupti_add_metrics, names, 24);
PLACE(cupti_passes, bytes, 16);
PLACE(cupti_passes, nr, 32);
PLACE(cupti_evaluate, sample, 40);
PLACE(cupti_evaluate, values, 64);
PLACE(cupti_set_config, interval, 48);
PLACE(cupti_set_config, trigger, 56);
PLACE(cupti_data_size, max_samples, 40);
PLACE(cupti_data_size, bytes, 48);
PLACE(cupti_decode, stop_reason, 40);
PLACE(cupti_decode, overflow, 44);
PLACE(cupti_data_info, nr_total, 32);
PLACE(cupti_data_info, nr_completed, 48);
PLACE(cupti_sample_info, sample, 40);
PLACE(cupti_sample_info, end_ns, 56);

static const char *text_of(const char *key)
{
	const char *at = getenv("CPUPERF_STANDIN");
	size_t len = strlen(key);

	while (at && *at) {
		if (strncmp(at, key, len) == 0 && at[len] == '=')
			return at + len + 1;
		at += strcspn(at, ",");
		at += *at == ',';
	}
	return NULL;
}

static long long number_of(const char *key, long long otherwise)
{
	const char *text = text_of(key);

	return text ? atoll(text) : otherwise;
}

#ifdef CUDA

EXPORT int cuInit(unsigned flags);
EXPORT int cuDeviceGetCount(int *nr);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);

static bool is_initialised;

int cuInit(unsigned flags)
{
	is_initialised = flags == 0;
	return (int)number_of("cuInit", flags ? 1 : 0);
}

int cuDeviceGetCount(int *nr)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	*nr = visible && !*visible ? 0 : (int)number_of("devices", 1);
	return is_initialised ? CUDA_OK : 3;
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal + 1000; /* a handle is no ordinal */
	return is_initialised ? CUDA_OK : 3;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	if (device < 1000)
		return 101;
	*value = attribute == CUDA_CAPABILITY_MAJOR   ? (int)number_of("major", 9)
		 : attribute == CUDA_CAPABILITY_MINOR ? (int)number_of("minor", 0)
		 : attribute == CUDA_CLOCK_RATE       ? 1500000
						      : 0;
	return CUDA_OK;
}

#else

enum { MAX_DEVICES = 16, IMAGE_BYTES = 64, MAGIC = 0x50e5, MAX_SPANS = 256 };
enum { SECOND_NS = 1000000000 };
enum { NO_STATE, ENABLED, CONFIGURED, STARTED, STOPPED };

struct host {
	uint64_t magic;
	size_t nr;
	bool is_bad;
};

struct sampler {
	uint64_t magic;
	size_t device;
	int state;
	uint64_t interval_ns, next_ns; /* the end of the next sample */
	long long nr_decodings;
	bool has_missed; /* samples, by "overflow" or "gap" */
};

/* A data image. */
struct image {
	uint64_t magic;
	uint64_t max, nr;
	struct {
		uint64_t start_ns, end_ns;
	} sample[];
};

#ifndef OLD
static struct sampler samplers[MAX_DEVICES];
static bool is_initialised;
#endif

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t gpu_of(uint64_t ns)
{
	__int128 extra = (__int128)ns * number_of("ppm", 0) / 1000000;

	return (uint64_t)number_of("offset", 1700000000000000000) + ns + (uint64_t)extra;
}

/* What the call is to return first of all. */
static int begin(const char *call, const size_t *size, size_t expected, long long nr)
{
	const char *text;
	bool is_due = nr >= number_of("from", 0);

	if (size && *size != expected) {
		fprintf(stderr, "%s: a structure of %zu bytes, not %zu\n", call, *size, expected);
		return CUPTI_INVALID_PARAMETER;
	}
	text = text_of("hang");
	while (is_due && text && strncmp(text, call, strlen(call)) == 0)
		sleep(1000);
	text = text_of("crash");
	if (is_due && text && strncmp(text, call, strlen(call)) == 0)
		abort();
	return is_due ? (int)number_of(call, CUPTI_OK) : CUPTI_OK;
}

#define BEGIN(p_, bytes_)                                                                          \
	do {                                                                                       \
		int begun_ = begin(__func__, &(p_)->size, bytes_, 0);                              \
		if (begun_ != CUPTI_OK)                                                            \
			return begun_;                                                             \
		if ((p_)->priv)                                                                    \
			return CUPTI_INVALID_PARAMETER;                                            \
	} while (0)
#define REQUIRE(condition_, result_)                                                               \
	do {                                                                                       \
		if (!(condition_))                                                                 \
			return result_;                                                            \
	} while (0)

EXPORT int cuptiGetResultString(int result, const char **text);
int cuptiGetResultString(int result, const char **text)
{
	static __thread char name[64];

	snprintf(name, sizeof(name), "CUPTI_RESULT_%d", result);
	*text = name;
	return CUPTI_OK;
}

#define DECLARE(name_, argument_) EXPORT int name_(argument_ *p);
#ifndef OLD
CUPTI_FUNCTIONS(DECLARE)
#endif

EXPORT int cuptiGetTimestamp(uint64_t *ns);
int cuptiGetTimestamp(uint64_t *ns)
{
	*ns = gpu_of(monotonic_ns());
	return begin("cuptiGetTimestamp", NULL, 0, 0);
}

#ifndef OLD

int cuptiProfilerInitialize(struct cupti_profiler *p)
{
	BEGIN(p, 16);
	is_initialised = true;
	return CUPTI_OK;
}

int cuptiProfilerDeInitialize(struct cupti_profiler *p)
{
	BEGIN(p, 16);
	is_initialised = false;
	return CUPTI_OK;
}

int cuptiDeviceGetChipName(struct cupti_chip *p)
{
	BEGIN(p, 32);
	REQUIRE(p->device < (size_t)number_of("devices", 1), 2);
	p->name = "GH100";
	return CUPTI_OK;
}

int cuptiPmSamplingGetCounterAvailability(struct cupti_availability *p)
{
	BEGIN(p, 40);
	REQUIRE(is_initialised, CUPTI_INVALID_OPERATION);
	if (!p->image)
		p->image_bytes = IMAGE_BYTES;
	else
		memset(p->image, 'a', IMAGE_BYTES);
	return CUPTI_OK;
}

int cuptiProfilerHostInitialize(struct cupti_host_init *p)
{
	struct host *h;

	BEGIN(p, 48);
	REQUIRE(p->profiler == CUPTI_PROFILER_PM_SAMPLING && strcmp(p->chip, "GH100") == 0,
		CUPTI_INVALID_PARAMETER);
	REQUIRE(p->availability[IMAGE_BYTES - 1] == 'a', CUPTI_INVALID_PARAMETER);
	h = calloc(1, sizeof(*h));
	h->magic = MAGIC;
	p->host = h;
	return CUPTI_OK;
}

int cuptiProfilerHostDeinitialize(struct cupti_host *p)
{
	struct host *h = p->host;

	BEGIN(p, 24);
	REQUIRE(h && h->magic == MAGIC, CUPTI_INVALID_PARAMETER);
	h->magic = 0;
	free(h);
	return CUPTI_OK;
}

int cuptiProfilerHostConfigAddMetrics(struct cupti_add_metrics *p)
{
	struct host *h = p->host;

	BEGIN(p, 40);
	REQUIRE(h && h->magic == MAGIC && p->nr, CUPTI_INVALID_PARAMETER);
	for (size_t i = 0; i < p->nr; i++)
		if (!strstr(p->names[i], "__")) {
			h->is_bad = true;
			return CUPTI_INVALID_METRIC_NAME;
		}
	h->nr += p->nr;
	return CUPTI_OK;
}

int cuptiProfilerHostGetConfigImageSize(struct cupti_config_size *p)
{
	struct host *h = p->host;

	BEGIN(p, 32);
	REQUIRE(h && h->magic == MAGIC && h->nr && !h->is_bad, CUPTI_INVALID_OPERATION);
	p->bytes = IMAGE_BYTES;
	return CUPTI_OK;
}

int cuptiProfilerHostGetConfigImage(struct cupti_config_image *p)
{
	struct host *h = p->host;

	BEGIN(p, 40);
	REQUIRE(h && h->nr && p->bytes == IMAGE_BYTES, CUPTI_INVALID_PARAMETER);
	memset(p->image, 'c', IMAGE_BYTES);
	return CUPTI_OK;
}

int cuptiProfilerHostGetNumOfPasses(struct cupti_passes *p)
{
	BEGIN(p, 40);
	REQUIRE(p->bytes == IMAGE_BYTES && p->image[0] == 'c', CUPTI_INVALID_PARAMETER);
	p->nr = (size_t)number_of("passes", 1);
	return CUPTI_OK;
}

int cuptiPmSamplingEnable(struct cupti_enable *p)
{
	struct sampler *s;

	BEGIN(p, 32);
	REQUIRE(is_initialised && p->device < MAX_DEVICES, CUPTI_INVALID_PARAMETER);
	REQUIRE((long long)p->device != number_of("broken", -1), 999);
	s = &samplers[p->device];
	REQUIRE(s->state == NO_STATE, CUPTI_INVALID_OPERATION);
	*s = (struct sampler){.magic = MAGIC, .device = p->device, .state = ENABLED};
	p->sampler = s;
	return CUPTI_OK;
}

static struct sampler *in_state(void *sampler, int state)
{
	struct sampler *s = sampler;

	return s && s->magic == MAGIC && s->state == state ? s : NULL;
}

int cuptiPmSamplingSetConfig(struct cupti_set_config *p)
{
	struct sampler *s = in_state(p->sampler, ENABLED);
	bool in_cycles = number_of("major", 9) == 7 ||
			 (number_of("major", 9) == 8 && number_of("minor", 0) == 0);

	BEGIN(p, 60);
	REQUIRE(s && p->config_bytes == IMAGE_BYTES && p->config[0] == 'c' && p->buffer_bytes,
		CUPTI_INVALID_OPERATION);
	REQUIRE(number_of("passes", 1) == 1, CUPTI_NOT_SUPPORTED);
	REQUIRE((p->trigger == CUPTI_TRIGGER_CYCLES) == in_cycles, CUPTI_NOT_SUPPORTED);
	s->interval_ns = in_cycles ? p->interval * 2 / 3 : p->interval;
	REQUIRE(s->interval_ns >= 1000, CUPTI_INVALID_PARAMETER);
	s->state = CONFIGURED;
	return CUPTI_OK;
}

int cuptiPmSamplingGetCounterDataSize(struct cupti_data_size *p)
{
	BEGIN(p, 56);
	REQUIRE(in_state(p->sampler, CONFIGURED) && p->nr && p->max_samples,
		CUPTI_INVALID_OPERATION);
	p->bytes = sizeof(struct image) +
		   (size_t)p->max_samples * sizeof(((struct image *)NULL)->sample[0]);
	return CUPTI_OK;
}

int cuptiPmSamplingCounterDataImageInitialize(struct cupti_data_init *p)
{
	struct image *i = (void *)p->image;

	BEGIN(p, 40);
	REQUIRE(p->bytes > sizeof(*i), CUPTI_INVALID_PARAMETER);
	i->magic = MAGIC;
	i->nr = 0;
	i->max = (p->bytes - sizeof(*i)) / sizeof(i->sample[0]);
	if (i->max > (uint64_t)number_of("image", 1 << 20))
		i->max = (uint64_t)number_of("image", 1 << 20);
	return CUPTI_OK;
}

int cuptiPmSamplingStart(struct cupti_sampler *p)
{
	struct sampler *s = in_state(p->sampler, CONFIGURED);

	BEGIN(p, 24);
	REQUIRE(s, CUPTI_INVALID_OPERATION);
	s->state = STARTED;
	s->next_ns = gpu_of(monotonic_ns()) + s->interval_ns;
	return CUPTI_OK;
}

int cuptiPmSamplingStop(struct cupti_sampler *p)
{
	struct sampler *s = in_state(p->sampler, STARTED);

	BEGIN(p, 24);
	REQUIRE(s, CUPTI_INVALID_OPERATION);
	s->state = STOPPED;
	return CUPTI_OK;
}

int cuptiPmSamplingDisable(struct cupti_sampler *p)
{
	struct sampler *s = p->sampler;

	BEGIN(p, 24);
	REQUIRE(s && s->magic == MAGIC && s->state != STARTED, CUPTI_INVALID_OPERATION);
	*s = (struct sampler){.state = NO_STATE};
	return CUPTI_OK;
}

/* From the decoding of that number on, the first one at which there is something to miss. */
static bool is_missed(const struct sampler *s, const char *what, uint64_t now_ns)
{
	const long long from = number_of(what, 0);

	return from && s->nr_decodings >= from && !s->has_missed &&
	       s->next_ns + s->interval_ns <= now_ns;
}

int cuptiPmSamplingDecodeData(struct cupti_decode *p)
{
	struct sampler *s = in_state(p->sampler, STARTED);
	struct image *i = (void *)p->image;
	uint64_t now_ns = gpu_of(monotonic_ns());
	int rc;

	REQUIRE(s, CUPTI_INVALID_OPERATION);
	s->nr_decodings++;
	if (s->nr_decodings == number_of("busy", 0))
		for (uint64_t begun_ns = monotonic_ns(); monotonic_ns() < begun_ns + SECOND_NS;)
			;
	rc = begin("cuptiPmSamplingDecodeData", &p->size, 45, s->nr_decodings);
	REQUIRE(rc == CUPTI_OK, rc);
	REQUIRE(i->magic == MAGIC, CUPTI_INVALID_PARAMETER);
	p->overflow = is_missed(s, "overflow", now_ns);
	if (p->overflow || is_missed(s, "gap", now_ns)) {
		s->has_missed = true;
		while (s->next_ns + s->interval_ns <= now_ns)
			s->next_ns += s->interval_ns;
	}
	for (; i->nr < i->max && s->next_ns <= now_ns; s->next_ns += s->interval_ns) {
		i->sample[i->nr].start_ns = s->next_ns - s->interval_ns;
		i->sample[i->nr++].end_ns = s->next_ns;
	}
	p->stop_reason = s->next_ns <= now_ns ? CUPTI_DECODE_IS_FULL : CUPTI_DECODE_END;
	return CUPTI_OK;
}

int cuptiPmSamplingGetCounterDataInfo(struct cupti_data_info *p)
{
	const struct image *i = (const void *)p->image;

	BEGIN(p, 56);
	REQUIRE(i->magic == MAGIC, CUPTI_INVALID_PARAMETER);
	p->nr_total = i->max;
	p->nr_populated = p->nr_completed = i->nr;
	return CUPTI_OK;
}

int cuptiPmSamplingCounterDataGetSampleInfo(struct cupti_sample_info *p)
{
	const struct image *i = (const void *)p->image;

	BEGIN(p, 64);
	REQUIRE(in_state(p->sampler, STARTED) && i->magic == MAGIC && p->sample < i->nr,
		CUPTI_INVALID_PARAMETER);
	p->start_ns = i->sample[p->sample].start_ns + (uint64_t)number_of("samples", 0);
	p->end_ns = i->sample[p->sample].end_ns + (uint64_t)number_of("samples", 0);
	return CUPTI_OK;
}

/* The inverse, to about a nanosecond. */
static uint64_t monotonic_of(uint64_t gpu_ns)
{
	uint64_t since = gpu_ns - (uint64_t)number_of("offset", 1700000000000000000);

	return (uint64_t)((__int128)since * 1000000 / (1000000 + number_of("ppm", 0)));
}

/* Whether a line of the file has the time. */
static bool is_in_file(uint64_t ns)
{
	const char *text = text_of("file");
	unsigned long long from, to;
	char path[4096], line[128];
	bool is_in = false;
	FILE *f;

	snprintf(path, sizeof(path), "%.*s", text ? (int)strcspn(text, ",") : 0, text ? text : "");
	f = fopen(path, "r");
	while (f && !is_in && fgets(line, sizeof(line), f)) {
		int nr = sscanf(line, "%llu %llu", &from, &to);

		is_in = nr >= 1 && ns >= from && (nr < 2 || ns <= to);
	}
	if (f)
		fclose(f);
	return is_in;
}

int cuptiProfilerHostEvaluateToGpuValues(struct cupti_evaluate *p)
{
	const struct image *i = (const void *)p->image;
	struct host *h = p->host;

	BEGIN(p, 72);
	REQUIRE(h && h->magic == MAGIC && i->magic == MAGIC && p->sample < i->nr,
		CUPTI_INVALID_PARAMETER);
	for (size_t k = 0; k < p->nr; k++) {
		uint64_t end_ns = i->sample[p->sample].end_ns;

		p->values[k] = strstr(p->names[k], "tensor")
				   ? is_in_file(monotonic_of(end_ns)) * 100.0
				   : (double)(end_ns / 1000 % 1000000) / 10000;
	}
	return CUPTI_OK;
}

#endif
#endif
