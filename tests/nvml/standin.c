/*
 * A stand-in for NVIDIA's libnvidia-ml.so.1, for tests: it answers what a script says. It is
 * written after the public header gpu/nvml.h, and shares no line with cpuperf's own declarations of
 * it.
 *
 * NVML_STANDIN names the script, which is read at each call. Its lines are WHICH CALL WORD..., of
 * which the first that fits counts:
 *
 *     0 device 0000:01:00.0           a GPU, its number here, and its address
 *     0 power 117000                  what a call returns; "!15": that error; no line:
 * NOT_SUPPORTED
 *     * init !9                       a call for no GPU, or for any
 *     0 power hang                    no answer, until another script says otherwise
 *
 * NVML_STANDIN_LOG names a file to which each call is added: "power 0".
 *
 * OLD: without what came later than drivers of 2016. BARE: nothing but the beginning.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

typedef int nvmlReturn_t;
typedef struct device *nvmlDevice_t;

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE };
enum { VERSION_MISMATCH = 25 };

enum { MAX_DEVICES = 80, MAX_WORDS = 512, MAX_LINE = 16384 };

static struct device {
	int index;
} devices[MAX_DEVICES];
static bool is_initialized;

/* --- the script ------------------------------------------------------------------------------ */

struct answer {
	char text[MAX_LINE];
	char *words[MAX_WORDS];
	int nr;
};

/* Splits the line into words. */
static void split(struct answer *a)
{
	char *rest = a->text, *word;

	a->nr = 0;
	while (a->nr < MAX_WORDS && (word = strsep(&rest, " \t\n")))
		if (*word)
			a->words[a->nr++] = word;
}

/* The first line for the call, its words behind both; false: there is none. */
static bool find_line(int index, const char *call, struct answer *a)
{
	const char *path = getenv("NVML_STANDIN");
	FILE *f = path ? fopen(path, "re") : NULL;
	bool is_found = false;

	while (f && !is_found && fgets(a->text, sizeof(a->text), f)) {
		split(a);
		is_found = a->nr >= 2 && strcmp(a->words[1], call) == 0 &&
			   (strcmp(a->words[0], "*") == 0 || atoi(a->words[0]) == index);
	}
	if (f)
		fclose(f);
	if (!is_found)
		return false;
	a->nr -= 2;
	memmove(a->words, a->words + 2, (size_t)a->nr * sizeof(a->words[0]));
	return true;
}

static void write_log(const char *call, int index)
{
	const char *path = getenv("NVML_STANDIN_LOG");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s %d\n", call, index);
	close(fd);
}

static nvmlReturn_t answer_of(int index, const char *call, struct answer *a)
{
	const struct timespec pause = {.tv_nsec = 2000000};

	for (;;) {
		if (!find_line(index, call, a))
			return NOT_SUPPORTED;
		if (a->nr == 0 || strcmp(a->words[0], "hang") != 0)
			break;
		nanosleep(&pause, NULL);
	}
	return a->nr && a->words[0][0] == '!' ? atoi(a->words[0] + 1) : SUCCESS;
}

/* --- the beginning --------------------------------------------------------------------------- */

static nvmlReturn_t init(void)
{
	struct answer a;
	nvmlReturn_t rc;

	for (int i = 0; i < MAX_DEVICES; i++)
		devices[i].index = i;
	write_log("init", -1);
	rc = answer_of(-1, "init", &a);
	is_initialized = rc == SUCCESS || rc == NOT_SUPPORTED;
	return is_initialized ? SUCCESS : rc;
}

static nvmlReturn_t find(const char *address, nvmlDevice_t *out)
{
	struct answer a;

	if (!is_initialized)
		return UNINITIALIZED;
	for (int i = 0; i < MAX_DEVICES; i++) {
		nvmlReturn_t rc;

		if (!find_line(i, "device", &a) || strcasecmp(a.words[0], address) != 0)
			continue;
		write_log("find", i);
		rc = answer_of(i, "find", &a);
		if (rc != SUCCESS && rc != NOT_SUPPORTED)
			return rc;
		*out = &devices[i];
		return SUCCESS;
	}
	return NOT_FOUND;
}

#ifdef OLD
API nvmlReturn_t nvmlInit(void);
API nvmlReturn_t nvmlInit(void)
{
	return init();
}

API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *address, nvmlDevice_t *out);
API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *address, nvmlDevice_t *out)
{
	return find(address, out);
}
#else
API nvmlReturn_t nvmlInit_v2(void);
API nvmlReturn_t nvmlInit_v2(void)
{
	return init();
}

API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *out);
API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *out)
{
	return find(address, out);
}
#endif

/* --- values of a GPU ------------------------------------------------------------------------- */

#ifndef BARE
static bool is_device(nvmlDevice_t d)
{
	return d >= devices && d < devices + MAX_DEVICES;
}

static nvmlReturn_t ask(nvmlDevice_t d, const char *call, struct answer *a)
{
	if (!is_initialized)
		return UNINITIALIZED;
	if (!is_device(d))
		return INVALID_ARGUMENT;
	write_log(call, d->index);
	return answer_of(d->index, call, a);
}

static unsigned long long word(const struct answer *a, int i)
{
	return i < a->nr ? strtoull(a->words[i], NULL, 10) : 0;
}

static nvmlReturn_t ask_number(nvmlDevice_t d, const char *call, unsigned *out)
{
	struct answer a;
	nvmlReturn_t rc = ask(d, call, &a);

	if (rc == SUCCESS)
		*out = (unsigned)word(&a, 0);
	return rc;
}

typedef struct {
	unsigned gpu, memory;
} nvmlUtilization_t;

API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *out);
API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *out)
{
	struct answer a;
	nvmlReturn_t rc = ask(d, "utilization", &a);

	if (rc == SUCCESS)
		*out = (nvmlUtilization_t){(unsigned)word(&a, 0), (unsigned)word(&a, 1)};
	return rc;
}

typedef struct {
	unsigned long long total, free, used;
} nvmlMemory_t;

/* total reserved used */
API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *out);
API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *out)
{
	struct answer a;
	nvmlReturn_t rc = ask(d, "memory", &a);

	if (rc == SUCCESS)
		*out = (nvmlMemory_t){word(&a, 0), word(&a, 0) - word(&a, 1) - word(&a, 2),
				      word(&a, 1) + word(&a, 2)};
	return rc;
}

#define NUMBER(function, call)                                                                     \
	API nvmlReturn_t function(nvmlDevice_t d, unsigned *out);                                  \
	API nvmlReturn_t function(nvmlDevice_t d, unsigned *out)                                   \
	{                                                                                          \
		return ask_number(d, call, out);                                                   \
	}
NUMBER(nvmlDeviceGetPowerUsage, "power")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit")
NUMBER(nvmlDeviceGetPcieReplayCounter, "replays")

#define PERIOD(function, call)                                                                     \
	API nvmlReturn_t function(nvmlDevice_t d, unsigned *out, unsigned *period_us);             \
	API nvmlReturn_t function(nvmlDevice_t d, unsigned *out, unsigned *period_us)              \
	{                                                                                          \
		*period_us = 167000;                                                               \
		return ask_number(d, call, out);                                                   \
	}
PERIOD(nvmlDeviceGetEncoderUtilization, "encoder")
PERIOD(nvmlDeviceGetDecoderUtilization, "decoder")

API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned *out);
API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned *out)
{
	return sensor ? INVALID_ARGUMENT : ask_number(d, "temperature", out);
}

API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned *out);
API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned *out)
{
	static const char *const calls[] = {"clock.gr", "clock.sm", "clock.mem", "clock.video"};

	return type < 0 || type > 3 ? INVALID_ARGUMENT : ask_number(d, calls[type], out);
}

API nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t d, int counter, unsigned *out);
API nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t d, int counter, unsigned *out)
{
	return counter < 0 || counter > 1 ? INVALID_ARGUMENT
					  : ask_number(d, counter ? "pcie.rx" : "pcie.tx", out);
}

static nvmlReturn_t reasons(nvmlDevice_t d, unsigned long long *out)
{
	struct answer a;
	nvmlReturn_t rc = ask(d, "reasons", &a);

	if (rc == SUCCESS)
		*out = word(&a, 0);
	return rc;
}

typedef struct {
	unsigned long long referenceTime, violationTime;
} nvmlViolationTime_t;

API nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t d, int policy, nvmlViolationTime_t *out);
API nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t d, int policy, nvmlViolationTime_t *out)
{
	struct answer a;
	nvmlReturn_t rc = policy < 0 || policy > 1
			      ? INVALID_ARGUMENT
			      : ask(d, policy ? "violation.thermal" : "violation.power", &a);

	if (rc == SUCCESS)
		*out = (nvmlViolationTime_t){1, word(&a, 0)};
	return rc;
}

/* --- processes: PID:BYTES ... ----------------------------------------------------------------- */

struct process {
	unsigned pid;
	unsigned long long memory;
#ifndef OLD
	unsigned gpu_instance, compute_instance;
#endif
};

static nvmlReturn_t list(nvmlDevice_t d, const char *call, unsigned *nr, struct process *out)
{
	unsigned room = *nr;
	struct answer a;
	nvmlReturn_t rc = ask(d, call, &a);

	if (rc)
		return rc;
	*nr = (unsigned)a.nr;
	if (room < *nr)
		return INSUFFICIENT_SIZE;
	for (int i = 0; i < a.nr; i++) {
		char *at;

		memset(&out[i], 0xff, sizeof(out[i]));
		out[i].pid = (unsigned)strtoul(a.words[i], &at, 10);
		if (*at == ':')
			out[i].memory = strtoull(at + 1, NULL, 10);
	}
	return SUCCESS;
}

#ifdef OLD
#define PROCESSES(function) function
#else
#define PROCESSES(function) function##_v3
#endif

API nvmlReturn_t PROCESSES(nvmlDeviceGetComputeRunningProcesses)(nvmlDevice_t d, unsigned *nr,
								 struct process *out);
API nvmlReturn_t PROCESSES(nvmlDeviceGetComputeRunningProcesses)(nvmlDevice_t d, unsigned *nr,
								 struct process *out)
{
	return list(d, "compute", nr, out);
}

API nvmlReturn_t PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)(nvmlDevice_t d, unsigned *nr,
								  struct process *out);
API nvmlReturn_t PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)(nvmlDevice_t d, unsigned *nr,
								  struct process *out)
{
	return list(d, "graphics", nr, out);
}

#ifdef OLD
API nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *out);
API nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *out)
{
	return reasons(d, out);
}

API nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *out);
API nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *out)
{
	struct answer a;
	nvmlReturn_t rc = ask(d, "energy", &a);

	if (rc == SUCCESS)
		*out = word(&a, 0);
	return rc;
}
#else

/* --- what came later ------------------------------------------------------------------------- */

API nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *out);
API nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *out)
{
	return reasons(d, out);
}

typedef struct {
	unsigned version;
	unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *out);
API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *out)
{
	struct answer a;
	nvmlReturn_t rc;

	if (out->version != (sizeof(*out) | 2u << 24))
		return VERSION_MISMATCH;
	rc = ask(d, "memory", &a);
	if (rc)
		return rc;
	out->total = word(&a, 0);
	out->reserved = word(&a, 1);
	out->used = word(&a, 2);
	out->free = out->total - out->reserved - out->used;
	return SUCCESS;
}

typedef struct {
	unsigned version;
	int sensor, temperature;
} nvmlTemperature_v1_t;

API nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t d, nvmlTemperature_v1_t *out);
API nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t d, nvmlTemperature_v1_t *out)
{
	struct answer a;
	nvmlReturn_t rc;

	if (out->version != (sizeof(*out) | 1u << 24))
		return VERSION_MISMATCH;
	rc = out->sensor ? INVALID_ARGUMENT : ask(d, "temperature", &a);
	if (rc == SUCCESS)
		out->temperature = atoi(a.words[0]);
	return rc;
}

typedef struct {
	unsigned version, fan, speed;
} nvmlFanSpeedInfo_v1_t;

API nvmlReturn_t nvmlDeviceGetFanSpeedRPM(nvmlDevice_t d, nvmlFanSpeedInfo_v1_t *out);
API nvmlReturn_t nvmlDeviceGetFanSpeedRPM(nvmlDevice_t d, nvmlFanSpeedInfo_v1_t *out)
{
	if (out->version != (sizeof(*out) | 1u << 24))
		return VERSION_MISMATCH;
	return out->fan ? INVALID_ARGUMENT : ask_number(d, "fan", &out->speed);
}

API nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *pending);
API nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *pending)
{
	*pending = 0;
	return ask_number(d, "mig", now);
}

typedef struct {
	unsigned fieldId, scopeId;
	long long timestamp, latencyUsec;
	int valueType;
	nvmlReturn_t nvmlReturn;
	union {
		double dVal;
		int siVal;
		unsigned uiVal;
		unsigned long ulVal;
		unsigned long long ullVal;
		unsigned short usVal;
	} value;
} nvmlFieldValue_t;

/* "0 field.83 VALUE [TYPE]" for each; "0 fields !3" for the call. */
API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int nr, nvmlFieldValue_t *values);
API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int nr, nvmlFieldValue_t *values)
{
	struct answer a;
	nvmlReturn_t rc = nr <= 0 ? INVALID_ARGUMENT : ask(d, "fields", &a);

	if (rc && (rc != NOT_SUPPORTED || find_line(d->index, "fields", &a)))
		return rc;
	for (int i = 0; i < nr; i++) {
		nvmlFieldValue_t *v = &values[i];
		char call[32];

		snprintf(call, sizeof(call), "field.%u", v->fieldId);
		v->nvmlReturn = answer_of(d->index, call, &a);
		if (v->nvmlReturn)
			continue;
		v->valueType = a.nr > 1 ? atoi(a.words[1]) : 3;
		v->value.ullVal = ~0ULL;
		if (v->valueType == 0)
			v->value.dVal = strtod(a.words[0], NULL);
		else if (v->valueType == 1)
			v->value.uiVal = (unsigned)word(&a, 0);
		else if (v->valueType == 5)
			v->value.siVal = atoi(a.words[0]);
		else if (v->valueType == 6)
			v->value.usVal = (unsigned short)word(&a, 0);
		else
			v->value.ullVal = word(&a, 0);
	}
	return SUCCESS;
}

typedef struct {
	unsigned pid;
	unsigned long long timeStamp;
	unsigned smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;

/* PID:TIME:PERCENT ..., of which those after that time are returned. */
API nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t d,
						 nvmlProcessUtilizationSample_t *out, unsigned *nr,
						 unsigned long long after);
API nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t d,
						 nvmlProcessUtilizationSample_t *out, unsigned *nr,
						 unsigned long long after)
{
	unsigned room = *nr, found = 0;
	struct answer a;
	nvmlReturn_t rc = ask(d, "samples", &a);

	if (rc)
		return rc;
	for (int i = 0; i < a.nr; i++) {
		nvmlProcessUtilizationSample_t s = {0};

		if (sscanf(a.words[i], "%u:%llu:%u", &s.pid, &s.timeStamp, &s.smUtil) != 3 ||
		    s.timeStamp <= after)
			continue;
		if (out && found < room)
			out[found] = s;
		found++;
	}
	*nr = found;
	if (!found)
		return NOT_FOUND;
	return !out || found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

/* --- GPM: "0 gpm 1", and "0 gpm.5 37.25" for each metric -------------------------------------- */

typedef struct sample {
	int index;
	unsigned long taken; /* 0: not yet */
} * nvmlGpmSample_t;

typedef struct {
	unsigned version, isSupportedDevice;
} nvmlGpmSupport_t;

typedef struct {
	unsigned metricId;
	nvmlReturn_t nvmlReturn;
	double value;
	struct {
		char *shortName, *longName, *unit;
	} metricInfo;
} nvmlGpmMetric_t;

typedef struct {
	unsigned version, numMetrics;
	nvmlGpmSample_t sample1, sample2;
	nvmlGpmMetric_t metrics[333];
} nvmlGpmMetricsGet_t;

API nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t d, nvmlGpmSupport_t *out);
API nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t d, nvmlGpmSupport_t *out)
{
	nvmlReturn_t rc;

	if (out->version != 1)
		return VERSION_MISMATCH;
	rc = ask_number(d, "gpm", &out->isSupportedDevice);
	return rc;
}

API nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *out);
API nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *out)
{
	write_log("gpm_alloc", -1);
	*out = calloc(1, sizeof(**out));
	return *out ? SUCCESS : 20;
}

API nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample);
API nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
	write_log("gpm_free", -1);
	free(sample);
	return SUCCESS;
}

static unsigned long nr_samples_taken;

API nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t d, nvmlGpmSample_t sample);
API nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t d, nvmlGpmSample_t sample)
{
	struct answer a;
	nvmlReturn_t rc = ask(d, "gpm_sample", &a);

	if (rc != SUCCESS && rc != NOT_SUPPORTED)
		return rc;
	sample->index = d->index;
	sample->taken = ++nr_samples_taken;
	return SUCCESS;
}

API nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get);
API nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
	struct answer a;

	if (get->version != 1 || get->numMetrics > 333)
		return VERSION_MISMATCH;
	if (!get->sample1->taken || get->sample1->index != get->sample2->index ||
	    get->sample1->taken >= get->sample2->taken)
		return INVALID_ARGUMENT;
	write_log("gpm_metrics", get->sample1->index);
	for (unsigned i = 0; i < get->numMetrics; i++) {
		nvmlGpmMetric_t *m = &get->metrics[i];
		char call[32];

		snprintf(call, sizeof(call), "gpm.%u", m->metricId);
		m->nvmlReturn = answer_of(get->sample1->index, call, &a);
		m->value = m->nvmlReturn ? -1 : strtod(a.words[0], NULL);
		memset(&m->metricInfo, 0, sizeof(m->metricInfo));
	}
	return SUCCESS;
}
#endif
#endif
