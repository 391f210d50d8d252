/*
 * The engines of GPUs as a source of many things ("card0 render"): how long each worked for all of
 * its clients. Fields: enum gpu_engine_field of gpu/clients.h.
 *
 * words: names of cards as in sysfs ("card0"), globs of them, or "all", which is the default. A GPU
 * that no card of sysfs fits has its PCI address as its name, or that of its driver. An engine is
 * known from the first client on that names it.
 */
#ifndef GPU_ENGINE_H
#define GPU_ENGINE_H

#include "gpu/clients.h"

extern const struct things_source gpu_engine_source;

#endif
