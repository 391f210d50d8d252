/*
 * The engines of GPUs as a source of many things ("card0 render"): how long each worked for all of
 * its clients. Fields: enum gpu_engine_field of gpu_clients.h.
 *
 * words: names of cards as in sysfs ("card0"), globs of them, or "all", which is the default. A GPU
 * that no card of sysfs fits has its PCI address as its name, or that of its driver. An engine is
 * known from the first client on that names it.
 */
#ifndef COLLECT_GPU_ENGINE_H
#define COLLECT_GPU_ENGINE_H

#include "collect/gpu_clients.h"

extern const struct collect_many_source collect_gpu_engine_source;

#endif
