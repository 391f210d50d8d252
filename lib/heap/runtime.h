/*
 * Whether a program has the C++ runtime within its own file. Then the agent, which stands before
 * functions of libraries, does not see its exceptions.
 */
#ifndef HEAP_RUNTIME_H
#define HEAP_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

struct root;

/* By the probes that libstdc++ brings with it. False also where the file cannot be read. */
bool heap_runtime_is_within(const struct root *root, uint32_t pid);

#endif
