/*
 * NVIDIA's GPUs as the driver's files show them. Nothing here wakes one.
 */
#ifndef GPU_NVIDIA_DRIVER_H
#define GPU_NVIDIA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

struct root;

/* A folder for each GPU, of its address. */
#define NVIDIA_GPUS "/proc/driver/nvidia/gpus"

enum { NVIDIA_ADDRESS_BYTES = 32, NVIDIA_NAME_BYTES = 32 };

/* Whether it can be an address ("0000:01:00.0"), and fits. */
bool nvidia_is_address(const char *name);
/* "nvidia0", after its file in /dev; without a number its address. */
void nvidia_name(const struct root *root, const char *address, char name[NVIDIA_NAME_BYTES]);
/* False only if the kernel says that it is suspended. */
bool nvidia_is_awake(const struct root *root, const char *address);
/* The addresses in their order, which is that of the bus: the least max. Returns their number; 0
 * also if they cannot be listed. */
size_t nvidia_list(const struct root *root, char addresses[][NVIDIA_ADDRESS_BYTES], size_t max);

#endif
