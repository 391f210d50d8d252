/*
 * The memory of a process, which may be anything, and changes meanwhile. It is read without the
 * process being stopped, by who may trace it (ptrace(2)).
 */
#ifndef PROC_MEMORY_H
#define PROC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads all of it. False, with errno: some of it cannot be read (EFAULT), the process may not be
 * read (EPERM), or has ended (ESRCH). */
bool proc_memory_read(uint32_t pid, uint64_t address, void *to, size_t bytes);

#endif
