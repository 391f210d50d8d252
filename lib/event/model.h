/*
 * CPU models by libpfm4's names ("skl", "arm_n1"): valid values of a spec's model_name, which of
 * them this machine is, and why a model may have no events here. Product names are aliases.
 */
#ifndef EVENT_MODEL_H
#define EVENT_MODEL_H

#include <stdbool.h>
#include <stddef.h>

struct catalogue;
struct err;
struct host;

/* libpfm4's name for an alias ("skylake", ignoring case), else name itself; NULL for "default" and
 * "". */
const char *event_model_canonical(const char *name);
/* 0 if libpfm4 has a table for that name or alias, or name is "default". -ENOTSUP with *e if the
 * CPU is in our list but not in the loaded libpfm4 (built for another architecture, or too old);
 * the groups fixed and arch still work. Else -ENOENT with *e and the nearest name. */
int event_model_check(const char *name, struct err *e);
/* Writes the name of the CPU that this program runs on, truncated to size; "" if libpfm4 has none.
 */
void event_model_detect(char *name, size_t size);

/* libpfm4's numbers (pfm_pmu_t) of the models to use: the catalogue's model, or those of this
 * machine's cores. Returns how many; 0 if libpfm4 has no table. */
enum { MODEL_MAX_SELECTED = 4 };
size_t event_model_select(const struct catalogue *c, int pmus[MODEL_MAX_SELECTED]);
/* True if the catalogue's model is a CPU that this machine does not have. */
bool event_model_is_foreign(const struct catalogue *c);
/* True if the selected model (or, without one, the machine) is ARM. */
bool event_model_is_arm(const struct catalogue *c);
/* Writes this machine's CPU name for messages: libpfm4's, else the kernel's; truncated to size. */
void event_model_describe_host(const struct host *h, char *name, size_t size);
/* Writes why libpfm4 has no events for the group model; "" if it has. Truncated to size. */
void event_model_missing_reason(const struct catalogue *c, char *reason, size_t size);

/* Counters per CPU of the model: programmable ones and fixed ones. 0, or -ENOENT if libpfm4 does
 * not say. */
int event_model_counters(const struct catalogue *c, unsigned *nr_programmable, unsigned *nr_fixed);

struct host_pmu;
/* The core PMU for a model, given libpfm4's name and type: the one named after it (ARM:
 * armv8_cortex_a53), else the one of that type, else the only one; or NULL. */
const struct host_pmu *event_model_core_pmu(const struct host *h, const char *name, unsigned type);

#endif
