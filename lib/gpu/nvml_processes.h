/*
 * The processes that use one of NVIDIA's GPUs, by its library: their memory there, and how busy
 * they kept it in the last moments.
 */
#ifndef GPU_NVML_PROCESSES_H
#define GPU_NVML_PROCESSES_H

#include "gpu/nvml_devices.h"

/* NVML_PROCESSES_MAX: of a GPU; with more it cannot be read. */
enum { NVML_PROCESSES_MAX = 4096 };

struct nvml_process_use {
	uint32_t pid;
	bool has_memory, has_busy;
	uint64_t memory; /* bytes, of all parts of a divided GPU */
	uint32_t busy;   /* percent of time in which its kernels ran, as last sampled */
};

struct nvml_processes {
	struct nvml_process_use *list; /* owned; ascending by pid */
	size_t nr, room;
	uint64_t seen_us; /* the last sample */
	/* private: what the library fills */
	struct nvml_process *found;
	struct nvml_process_sample *samples;
	size_t found_room, samples_room;
};

void nvml_processes_fini(struct nvml_processes *p);
/* Reads them anew. An NVML result; unless it is NVML_SUCCESS the list is empty. Samples are those
 * since the call before; who has none has no value of busy. */
int nvml_processes_read(const struct nvml *nvml, void *device, struct nvml_processes *p);

#endif
