/*
 * Two samples of each GPU, the last and the one before, in the library's memory.
 */
#include "gpu/gpm.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "gpu/gpu.h"
#include "gpu/nvml_devices.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

_Static_assert((int)GPM_NR_FIELDS <= (int)THINGS_MAX_FIELDS, "fields of GPM");

#define BIT(f) (1u << (f))

enum { PERIOD_NS = 100000000, MIB = 1 << 20, PERCENT = 1000 };

/* More than any of them can be: bytes per second, thousandths of a percent. */
#define MAX_VALUE 1e18

static const struct metric {
	unsigned field, id;
	double scale;
} metrics[] = {
    {GPM_GRAPHICS, NVML_GPM_GRAPHICS, PERCENT},   {GPM_SM, NVML_GPM_SM, PERCENT},
    {GPM_OCCUPANCY, NVML_GPM_OCCUPANCY, PERCENT}, {GPM_INTEGER, NVML_GPM_INTEGER, PERCENT},
    {GPM_TENSOR, NVML_GPM_TENSOR, PERCENT},       {GPM_FP64, NVML_GPM_FP64, PERCENT},
    {GPM_FP32, NVML_GPM_FP32, PERCENT},           {GPM_FP16, NVML_GPM_FP16, PERCENT},
    {GPM_DRAM, NVML_GPM_DRAM, PERCENT},           {GPM_PCIE_RX, NVML_GPM_PCIE_RX, MIB},
    {GPM_PCIE_TX, NVML_GPM_PCIE_TX, MIB},         {GPM_NVLINK_RX, NVML_GPM_NVLINK_RX, MIB},
    {GPM_NVLINK_TX, NVML_GPM_NVLINK_TX, MIB},
};
_Static_assert(ARRAY_NR(metrics) == GPM_NR_FIELDS - 1, "each field has a metric");

struct samples {
	void *samples[2]; /* the library's */
	unsigned last;    /* of them */
	bool has_last;
	uint64_t taken_ns; /* the last one */
	/* What the reading that took it has. */
	bool has_values;
	uint32_t has, denied, failed;
	uint64_t values[GPM_NR_FIELDS];
	struct nvml_gpm_metrics get;
};

/* Into the older one. */
static int take_sample(const struct nvml *n, struct nvml_device *d, struct samples *s)
{
	int rc = n->gpm_sample(d->handle, s->samples[!s->last]);

	if (rc)
		return rc;
	s->last = !s->last;
	s->taken_ns = clock_monotonic_ns();
	return NVML_SUCCESS;
}

static int make_samples(const struct nvml *n, struct samples **out)
{
	struct samples *s = mem_zalloc(sizeof(*s));
	int rc = s ? n->gpm_alloc(&s->samples[0]) : NVML_ERROR_MEMORY;

	if (rc == NVML_SUCCESS) {
		rc = n->gpm_alloc(&s->samples[1]);
		if (rc)
			(void)n->gpm_free(s->samples[0]);
	}
	if (rc)
		mem_free(s);
	else
		*out = s;
	return rc;
}

static int prepare(const struct nvml *n, struct nvml_device *d)
{
	bool has_functions =
	    n->gpm_query && n->gpm_alloc && n->gpm_free && n->gpm_sample && n->gpm_metrics;
	struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
	int rc = has_functions ? n->gpm_query(d->handle, &support) : NVML_ERROR_FUNCTION_NOT_FOUND;
	struct samples *s = d->own;

	if (rc == NVML_SUCCESS && !support.is_supported)
		rc = NVML_ERROR_NOT_SUPPORTED;
	if (rc == NVML_SUCCESS && !s)
		rc = make_samples(n, &s);
	if (rc)
		return rc;
	d->own = s;
	s->has_values = false;
	rc = take_sample(n, d, s);
	s->has_last = rc == NVML_SUCCESS;
	return rc;
}

/* If it fails, asking finds out why. */
static void begin(const struct nvml *n, struct nvml_device *d)
{
	(void)prepare(n, d);
}

static void end(const struct nvml *n, struct nvml_device *d)
{
	struct samples *s = d->own;

	if (!s)
		return;
	(void)n->gpm_free(s->samples[0]);
	(void)n->gpm_free(s->samples[1]);
	mem_free(s);
}

static void set_metric(struct nvml_device *d, const struct metric *m,
		       const struct nvml_gpm_metric *from)
{
	double value = from->value * m->scale;

	if (from->result)
		nvml_devices_miss(d, BIT(m->field), from->result);
	else if (value >= 0 && value <= MAX_VALUE)
		nvml_devices_set(d, m->field, (uint64_t)llround(value));
	else
		nvml_devices_miss(d, BIT(m->field), NVML_ERROR_UNKNOWN);
}

/* Of the last two samples. */
static void get_metrics(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	struct samples *s = d->own;
	const struct metric *which[ARRAY_NR(metrics)];
	unsigned nr = 0;
	int rc;

	memset(&s->get, 0, sizeof(s->get));
	for (size_t i = 0; i < ARRAY_NR(metrics); i++) {
		if (!(wanted & BIT(metrics[i].field)))
			continue;
		which[nr] = &metrics[i];
		s->get.metrics[nr].result = NVML_ERROR_UNKNOWN;
		s->get.metrics[nr++].metric = metrics[i].id;
	}
	s->get.version = NVML_GPM_VERSION;
	s->get.nr = nr;
	s->get.first = s->samples[!s->last];
	s->get.second = s->samples[s->last];
	rc = n->gpm_metrics(&s->get);
	if (rc)
		nvml_devices_miss(d, wanted, rc);
	for (unsigned i = 0; i < nr && !rc; i++)
		set_metric(d, which[i], &s->get.metrics[i]);
}

static void store(const struct nvml_device *d, struct samples *s)
{
	s->has_values = true;
	s->has = d->has;
	s->denied = d->denied;
	s->failed = d->failed;
	memcpy(s->values, d->values, sizeof(s->values));
}

/* The values of the reading before, and their time. */
static void repeat(struct nvml_device *d, const struct samples *s)
{
	d->has = s->has;
	d->denied = s->denied;
	d->failed = s->failed;
	d->time_ns = s->taken_ns;
	memcpy(d->values, s->values, sizeof(s->values));
}

static void wait_for(uint64_t ns)
{
	struct timespec t = {.tv_nsec = (long)ns};

	while (nanosleep(&t, &t))
		;
}

static void ask(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	struct samples *s = d->own;
	uint64_t age = s ? clock_monotonic_ns() - s->taken_ns : 0;
	int rc = s && s->has_last && !d->has_slept ? NVML_SUCCESS : prepare(n, d);

	/* a new sample has nothing to be compared with before the next reading */
	if (rc || !s || d->has_slept) {
		nvml_devices_miss(d, rc ? wanted : 0, rc);
		d->has_slept = false;
		return;
	}
	if (age < PERIOD_NS && s->has_values) {
		repeat(d, s);
		return;
	}
	if (age < PERIOD_NS)
		wait_for(PERIOD_NS - age);
	rc = take_sample(n, d, s);
	if (rc) {
		nvml_devices_miss(d, wanted, rc);
		return;
	}
	d->time_ns = s->taken_ns;
	get_metrics(n, d, wanted);
	store(d, s);
}

static const struct nvml_way way = {
    .fields = (BIT(GPM_NR_FIELDS) - 1) & ~BIT(GPM_AWAKE),
    .begin = begin,
    .ask = ask,
    .end = end,
};

static const struct things_file files[] = {
    {.name = "power/runtime_status", .fields = BIT(GPM_AWAKE), .parse = gpu_parse_status},
};
_Static_assert((int)GPM_AWAKE == (int)GPU_AWAKE, "the same parser");

static const struct things_kind kind = {
    .name = "GPU",
    .files = files,
    .nr_files = ARRAY_NR(files),
    .always = BIT(GPM_AWAKE),
};

static int gpm_open(const struct root *root, const struct things_choice *choice, uint32_t wanted,
		    void **state, struct err *e)
{
	struct listed draft = {.choice = *choice, .others = &nvml_devices_others};
	struct err why = {0};
	struct nvml_devices *devices;
	int rc = nvml_devices_open(root, &way, wanted, &devices, &why);

	if (rc == -ENODEV)
		return err_set(e, -ENOENT, "there is no GPU with NVIDIA's own driver");
	if (rc)
		return err_set(e, rc, "%s", why.code ? why.msg : "GPUs: out of memory");
	draft.others_state = devices;
	return listed_open(&draft, &kind, root, wanted, "GPUs", state, e);
}

const struct things_source gpm_source = {
    .name = "gpm",
    .open = gpm_open,
    .close = listed_close,
    .read = listed_read,
    .nr = things_nr,
    .get = things_get,
    .note = things_note,
};
