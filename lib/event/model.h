/*
 * CPU models by libpfm4's names ("skl", "arm_n1"): what a spec's model_name may be, which of them
 * this machine is, and why a model may have no events here. Product names are aliases.
 */
#ifndef EVENT_MODEL_H
#define EVENT_MODEL_H

#include <stdbool.h>
#include <stddef.h>

struct catalogue;
struct err;
struct host;

/* libpfm4's name of the CPU: that of an alias ("skylake", any case), else name itself; NULL for
 * "default" and "". */
const char *event_model_canonical(const char *name);
/* 0 if libpfm4 has a table of that name or alias, or name is "default"; -ENOTSUP with *e for a
 * CPU that we know and this build of libpfm4 does not (it is built for one architecture, or is
 * older than the CPU: fixed and arch still serve); else -ENOENT with *e and the nearest. */
int event_model_check(const char *name, struct err *e);
/* The name of the CPU this program runs on ("" if libpfm4 knows none for it), cut at size. */
void event_model_detect(char *name, size_t size);

/* libpfm4's numbers (pfm_pmu_t) of the models whose events are meant: the catalogue's model, or
 * those of this machine's cores. How many; 0 if libpfm4 has no table for them. */
enum { MODEL_MAX_SELECTED = 4 };
size_t event_model_select(const struct catalogue *c, int pmus[MODEL_MAX_SELECTED]);
/* True if the catalogue's model is a CPU that this machine has not; else it can be measured. */
bool event_model_is_foreign(const struct catalogue *c);
/* True if the model meant (or, without one, the machine) is an ARM one. */
bool event_model_is_arm(const struct catalogue *c);
/* Names this machine's CPU for messages: libpfm4's name, else the kernel's; cut at size. */
void event_model_describe_host(const struct host *h, char *name, size_t size);
/* Why the group model has no events of libpfm4's, in words; "" if it has. Cut at size. */
void event_model_missing_reason(const struct catalogue *c, char *reason, size_t size);

/* How many counters each CPU of the model has, for any event and for one event each. 0, or -ENOENT
 * if libpfm4 does not know. */
int event_model_counters(const struct catalogue *c, unsigned *nr_programmable, unsigned *nr_fixed);

struct host_pmu;
/* The core PMU that counts for the model (libpfm4's name, and the type libpfm4 says): the one named
 * after it (ARM: armv8_cortex_a53), the one of that type, or the only one. NULL if there is none,
 * or it cannot be told. */
const struct host_pmu *event_model_core_pmu(const struct host *h, const char *name, unsigned type);

#endif
