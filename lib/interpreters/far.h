/*
 * Code whose name the kernel's program could not read, since its page was not in memory: names of
 * modules that are compiled into the interpreter. Read from outside, where reading brings the page.
 */
#ifndef INTERPRETERS_FAR_H
#define INTERPRETERS_FAR_H

#include "bpf/interpreted_shared.h"

#include <stdbool.h>

/* Fills *out as the kernel's program does. False: it cannot be read, or other code is there now. */
bool interpreters_far_read(const struct bpf_interpreted_far *far,
			   const struct bpf_interpreted_process *process,
			   struct bpf_interpreted_code *out);

#endif
