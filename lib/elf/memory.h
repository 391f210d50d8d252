/*
 * The memory available to this process.
 */
#ifndef ELF_MEMORY_H
#define ELF_MEMORY_H

#include <stdint.h>

struct root;

/* The minimum of the machine's memory, RLIMIT_AS, and the limits of the process's cgroup (v1 or v2)
 * and its parents. root: of /proc and /sys/fs/cgroup. */
uint64_t elf_memory_bytes(const struct root *root);

#endif
