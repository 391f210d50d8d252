/*
 * The processes that use GPUs as a source of many things: how long engines worked for each, and the
 * memory of its buffers. Fields: enum gpu_process_field of gpu/clients.h.
 *
 * They are chosen by the same words as processes (process.h). A process is a thing while it has a
 * client open. One whose clients are all new is a new thing: its number may have changed hands.
 * Whether it descends from a target is found out when it first appears.
 */
#ifndef GPU_PROCESS_H
#define GPU_PROCESS_H

#include "gpu/clients.h"

extern const struct things_source gpu_process_source;

#endif
