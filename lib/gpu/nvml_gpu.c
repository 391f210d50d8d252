/*
 * A table: which calls have which fields. Each is made once for a reading, if a field is wanted.
 */
#include "gpu/nvml_gpu.h"

#include "base/array.h"
#include "gpu/gpu.h"

#include <errno.h>
#include <string.h>

#define BIT(f) (1u << (f))

enum { MHZ = 1000000, MILLI = 1000, KB = 1000, DEGREE = 1000, MAX_VALUES = 8 };

/* --- one call, one or two values ------------------------------------------------------------- */

static int ask_utilization(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	struct nvml_utilization u;
	int rc = n->utilization ? n->utilization(d->handle, &u) : NVML_ERROR_FUNCTION_NOT_FOUND;

	(void)wanted;
	if (rc)
		return rc;
	nvml_devices_set(d, GPU_BUSY, u.gpu);
	nvml_devices_set(d, GPU_MEMORY_BUSY, u.memory);
	return NVML_SUCCESS;
}

/* What version 1 has as used includes what the driver keeps for itself. */
static int ask_memory(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	struct nvml_memory_v2 v2 = {.version = NVML_VERSION(nvml_memory_v2, 2)};
	struct nvml_memory v1;
	int rc = n->memory_v2 ? n->memory_v2(d->handle, &v2) : NVML_ERROR_FUNCTION_NOT_FOUND;

	(void)wanted;
	if (rc && nvml_errno(rc) == -ENOTSUP && n->memory) {
		rc = n->memory(d->handle, &v1);
		v2.total = v1.total;
		v2.used = v1.used;
	}
	if (rc)
		return rc;
	nvml_devices_set(d, GPU_MEMORY_TOTAL, v2.total);
	nvml_devices_set(d, GPU_MEMORY_USED, v2.used);
	return NVML_SUCCESS;
}

static int ask_temperature(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	struct nvml_temperature t = {.version = NVML_VERSION(nvml_temperature, 1),
				     .sensor = NVML_TEMPERATURE_GPU};
	int rc = n->temperature_v ? n->temperature_v(d->handle, &t) : NVML_ERROR_FUNCTION_NOT_FOUND;
	unsigned celsius;

	(void)wanted;
	if (rc && nvml_errno(rc) == -ENOTSUP && n->temperature) {
		rc = n->temperature(d->handle, NVML_TEMPERATURE_GPU, &celsius);
		t.temperature = rc ? 0 : (int)celsius;
	}
	if (rc == NVML_SUCCESS)
		nvml_devices_set(d, GPU_TEMPERATURE, (uint64_t)((int64_t)t.temperature * DEGREE));
	return rc;
}

/* Not the speed in percent, which older libraries have. */
static int ask_fan(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	struct nvml_fan_speed fan = {.version = NVML_VERSION(nvml_fan_speed, 1)};
	int rc = n->fan ? n->fan(d->handle, &fan) : NVML_ERROR_FUNCTION_NOT_FOUND;

	(void)wanted;
	if (rc == NVML_SUCCESS)
		nvml_devices_set(d, GPU_FAN, fan.speed);
	return rc;
}

/* One number; rc: of the call that read it, if the library has the function. */
static int set_number(struct nvml_device *d, unsigned field, int rc, unsigned value, uint64_t scale)
{
	if (rc == NVML_SUCCESS)
		nvml_devices_set(d, field, value * scale);
	return rc;
}

#define ASK(function_, ...)                                                                        \
	(n->function_ ? n->function_(d->handle, __VA_ARGS__) : NVML_ERROR_FUNCTION_NOT_FOUND)
#define ASK_NUMBER(name_, field_, scale_, function_, ...)                                          \
	static int name_(const struct nvml *n, struct nvml_device *d, uint32_t wanted)             \
	{                                                                                          \
		unsigned value = 0, other = 0;                                                     \
		int rc = ASK(function_, __VA_ARGS__);                                              \
                                                                                                   \
		(void)wanted;                                                                      \
		(void)other;                                                                       \
		return set_number(d, field_, rc, value, scale_);                                   \
	}
ASK_NUMBER(ask_power, GPU_POWER, MILLI, power, &value)
ASK_NUMBER(ask_power_limit, GPU_POWER_LIMIT, MILLI, power_limit, &value)
ASK_NUMBER(ask_clock, GPU_FREQUENCY, MHZ, clock, NVML_CLOCK_SM, &value)
ASK_NUMBER(ask_memory_clock, GPU_MEMORY_FREQUENCY, MHZ, clock, NVML_CLOCK_MEM, &value)
ASK_NUMBER(ask_encoder, GPU_ENCODER_BUSY, 1, encoder, &value, &other)
ASK_NUMBER(ask_decoder, GPU_DECODER_BUSY, 1, decoder, &value, &other)
ASK_NUMBER(ask_pcie_rx, GPU_PCIE_RX, KB, pcie_throughput, NVML_PCIE_RX, &value)
ASK_NUMBER(ask_pcie_tx, GPU_PCIE_TX, KB, pcie_throughput, NVML_PCIE_TX, &value)

static int ask_reasons(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	unsigned long long bits = 0;
	int rc = n->reasons ? n->reasons(d->handle, &bits) : ASK(reasons_old, &bits);

	(void)wanted;
	if (rc == NVML_SUCCESS)
		nvml_devices_set(d, GPU_THROTTLED, (bits & NVML_REASONS_THROTTLED) != 0);
	return rc;
}

/* --- many values by one call; older libraries have a call for each ---------------------------- */

static int ask_energy(const struct nvml *n, struct nvml_device *d)
{
	unsigned long long mj = 0;
	int rc = ASK(energy, &mj);

	if (rc == NVML_SUCCESS)
		nvml_devices_set(d, GPU_ENERGY, mj * MILLI);
	return rc;
}

static int ask_violation(const struct nvml *n, struct nvml_device *d, int policy, unsigned field)
{
	struct nvml_violation_time t = {0};
	int rc = ASK(violation, policy, &t);

	if (rc == NVML_SUCCESS)
		nvml_devices_set(d, field, t.violation_ns);
	return rc;
}

static int ask_power_violation(const struct nvml *n, struct nvml_device *d)
{
	return ask_violation(n, d, NVML_POLICY_POWER, GPU_THROTTLED_POWER_TIME);
}

static int ask_thermal_violation(const struct nvml *n, struct nvml_device *d)
{
	return ask_violation(n, d, NVML_POLICY_THERMAL, GPU_THROTTLED_THERMAL_TIME);
}

static int ask_replays(const struct nvml *n, struct nvml_device *d)
{
	unsigned value = 0;
	int rc = ASK(pcie_replays, &value);

	return set_number(d, GPU_PCIE_REPLAYS, rc, value, 1);
}

/* alone: by a function of its own, where the field is not known; NULL: there is none. */
static const struct value {
	unsigned field, id;
	uint64_t scale;
	int (*alone)(const struct nvml *n, struct nvml_device *d);
} values[] = {
    {GPU_ENERGY, NVML_FIELD_ENERGY, MILLI, ask_energy},
    {GPU_THROTTLED_POWER_TIME, NVML_FIELD_POLICY_POWER, 1, ask_power_violation},
    {GPU_THROTTLED_THERMAL_TIME, NVML_FIELD_POLICY_THERMAL, 1, ask_thermal_violation},
    {GPU_PCIE_REPLAYS, NVML_FIELD_PCIE_REPLAYS, 1, ask_replays},
    {GPU_MEMORY_TEMPERATURE, NVML_FIELD_MEMORY_TEMPERATURE, DEGREE, NULL},
};
_Static_assert(ARRAY_NR(values) <= MAX_VALUES, "values of one call");

/* False: it is no whole number, or of a type that is not known. */
static bool get_number(const struct nvml_field_value *v, uint64_t *out)
{
	switch (v->type) {
	case NVML_VALUE_UNSIGNED:
		*out = v->value.u;
		return true;
	case NVML_VALUE_UNSIGNED_LONG:
		*out = v->value.ul;
		return true;
	case NVML_VALUE_UNSIGNED_LONG_LONG:
		*out = v->value.ull;
		return true;
	case NVML_VALUE_SIGNED_LONG_LONG:
		*out = (uint64_t)v->value.ll;
		return v->value.ll >= 0;
	case NVML_VALUE_SIGNED:
		*out = (uint64_t)v->value.i;
		return v->value.i >= 0;
	case NVML_VALUE_UNSIGNED_SHORT:
		*out = v->value.us;
		return true;
	default:
		return false;
	}
}

static int set_value(const struct nvml *n, struct nvml_device *d, const struct value *value,
		     const struct nvml_field_value *v)
{
	uint64_t number = 0;

	if (v->result && nvml_errno(v->result) == -ENOTSUP)
		return value->alone ? value->alone(n, d) : v->result;
	if (v->result)
		return v->result;
	if (!get_number(v, &number) || __builtin_mul_overflow(number, value->scale, &number))
		return NVML_ERROR_UNKNOWN;
	nvml_devices_set(d, value->field, number);
	return NVML_SUCCESS;
}

/* Each has its own result. */
static int ask_values(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	struct nvml_field_value asked[MAX_VALUES] = {0};
	const struct value *which[MAX_VALUES];
	int nr = 0, rc;

	for (size_t i = 0; i < ARRAY_NR(values); i++) {
		if (!(wanted & BIT(values[i].field)))
			continue;
		which[nr] = &values[i];
		asked[nr++] = (struct nvml_field_value){.field = values[i].id,
							.result = NVML_ERROR_NOT_SUPPORTED};
	}
	rc = ASK(field_values, nr, asked);
	if (rc && nvml_errno(rc) != -ENOTSUP)
		return rc;
	for (int i = 0; i < nr && !d->is_lost; i++) {
		if (rc)
			asked[i].result = rc;
		asked[i].result = set_value(n, d, which[i], &asked[i]);
		if (asked[i].result)
			nvml_devices_miss(d, BIT(which[i]->field), asked[i].result);
	}
	return NVML_SUCCESS;
}

/* --- all of them ------------------------------------------------------------------------------ */

static const struct call {
	uint32_t fields;
	int (*ask)(const struct nvml *n, struct nvml_device *d, uint32_t wanted);
} calls[] = {
    {BIT(GPU_BUSY) | BIT(GPU_MEMORY_BUSY), ask_utilization},
    {BIT(GPU_MEMORY_USED) | BIT(GPU_MEMORY_TOTAL), ask_memory},
    {BIT(GPU_POWER), ask_power},
    {BIT(GPU_POWER_LIMIT), ask_power_limit},
    {BIT(GPU_TEMPERATURE), ask_temperature},
    {BIT(GPU_FREQUENCY), ask_clock},
    {BIT(GPU_MEMORY_FREQUENCY), ask_memory_clock},
    {BIT(GPU_FAN), ask_fan},
    {BIT(GPU_ENCODER_BUSY), ask_encoder},
    {BIT(GPU_DECODER_BUSY), ask_decoder},
    {BIT(GPU_THROTTLED), ask_reasons},
    {BIT(GPU_ENERGY) | BIT(GPU_THROTTLED_POWER_TIME) | BIT(GPU_THROTTLED_THERMAL_TIME) |
	 BIT(GPU_PCIE_REPLAYS) | BIT(GPU_MEMORY_TEMPERATURE),
     ask_values},
    /* at the end: each takes 20 ms */
    {BIT(GPU_PCIE_RX), ask_pcie_rx},
    {BIT(GPU_PCIE_TX), ask_pcie_tx},
};

static void ask(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	for (size_t i = 0; i < ARRAY_NR(calls); i++) {
		uint32_t fields = calls[i].fields & wanted;
		int rc;

		if (!fields)
			continue;
		rc = d->is_lost ? NVML_ERROR_GPU_IS_LOST : calls[i].ask(n, d, fields);
		if (rc)
			nvml_devices_miss(d, fields, rc);
	}
}

const struct nvml_way nvml_gpu_way = {
    .fields = BIT(GPU_BUSY) | BIT(GPU_MEMORY_BUSY) | BIT(GPU_MEMORY_USED) | BIT(GPU_MEMORY_TOTAL) |
	      BIT(GPU_POWER) | BIT(GPU_POWER_LIMIT) | BIT(GPU_TEMPERATURE) | BIT(GPU_FREQUENCY) |
	      BIT(GPU_MEMORY_FREQUENCY) | BIT(GPU_FAN) | BIT(GPU_ENCODER_BUSY) |
	      BIT(GPU_DECODER_BUSY) | BIT(GPU_THROTTLED) | BIT(GPU_ENERGY) |
	      BIT(GPU_THROTTLED_POWER_TIME) | BIT(GPU_THROTTLED_THERMAL_TIME) |
	      BIT(GPU_PCIE_REPLAYS) | BIT(GPU_MEMORY_TEMPERATURE) | BIT(GPU_PCIE_RX) |
	      BIT(GPU_PCIE_TX),
    .ask = ask,
};
