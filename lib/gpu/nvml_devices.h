/*
 * NVIDIA's GPUs as things: found without waking them, by /proc/driver/nvidia/gpus and sysfs, named
 * after their files in /dev ("nvidia0"), and asked by the library in a thread of its own, since a
 * driver may not answer. A GPU that sleeps is not asked, and one that is lost not again.
 */
#ifndef GPU_NVML_DEVICES_H
#define GPU_NVML_DEVICES_H

#include "gpu/nvidia_driver.h"
#include "gpu/nvml.h"
#include "things/listed.h"

struct err;

/* NVML_DEVICES_MAX: more are ignored, with a note. */
enum { NVML_DEVICES_MAX = 64 };

/* A GPU as the thread has it. */
struct nvml_device {
	char address[NVIDIA_ADDRESS_BYTES]; /* "0000:01:00.0" */
	void *handle;                       /* the library's; NULL: not found yet */
	bool is_asked;                      /* now */
	bool is_lost, is_divided;           /* divided: MIG */
	bool has_slept;   /* since it was asked last: for the way, which clears it */
	int result;       /* NVML's, why the GPU as a whole has no values */
	uint32_t unknown; /* fields that it does not have: they are not asked for again */
	uint64_t time_ns; /* when it was asked */
	uint32_t has, denied, absent, failed; /* as of struct things_one */
	uint64_t values[THINGS_MAX_FIELDS];
	void *own; /* of the way */
};

/* What is asked: all of it in the thread. */
struct nvml_way {
	uint32_t fields; /* that there may be */
	/* Optional: right after the device is found. */
	void (*begin)(const struct nvml *nvml, struct nvml_device *d);
	/* Sets fields of wanted by nvml_devices_set and nvml_devices_miss. */
	void (*ask)(const struct nvml *nvml, struct nvml_device *d, uint32_t wanted);
	/* Optional: releases what it owns. */
	void (*end)(const struct nvml *nvml, struct nvml_device *d);
};

void nvml_devices_set(struct nvml_device *d, unsigned field, uint64_t value);
/* These fields have no value for that reason: an NVML result. */
void nvml_devices_miss(struct nvml_device *d, uint32_t fields, int result);

struct nvml_devices;

/* Finds the GPUs, loads the library if there is one, and begins it if one is awake. 0; -ENODEV:
 * NVIDIA's driver is not there, and nothing is loaded; -ENOTSUP with *why: it is, but the library
 * is not; else -errno. */
int nvml_devices_open(const struct root *root, const struct nvml_way *way, uint32_t wanted,
		      struct nvml_devices **out, struct err *why);
void nvml_devices_close(void *devices);

/* GPU i of the last reading: false if there are no more. *name: as of its thing. *d: what was read,
 * until the next reading; NULL: it was not, since it sleeps, is lost or gone, or, *is_silent, since
 * the driver does not answer. */
bool nvml_devices_get(const struct nvml_devices *n, size_t i, const char **name,
		      const struct nvml_device **d, bool *is_silent);

/* For struct listed: the things of the GPUs. Their kind must read power/runtime_status. */
extern const struct listed_others nvml_devices_others;

#endif
