/*
 * What the loaders of programs share: why libbpf or the kernel refuse. Private to bpf/.
 */
#ifndef BPF_LOADING_H
#define BPF_LOADING_H

#include "base/err.h"

#include <stdbool.h>

/* Between _begin and _end the capabilities of the program's file are effective, and libbpf's
 * messages are stored, not printed. One thread. */
void loading_begin(void);
void loading_end(void);
/* Why the programs cannot be loaded, from libbpf's rc and its messages. Returns -EPERM, -ENOTSUP or
 * -ENOMEM. */
int loading_refuse(int rc, struct err *e);
/* The kernel has this tracepoint, with types. */
bool loading_has_trace(const char *name);
/* The number of its arguments; -1: there is no such tracepoint. */
int loading_nr_arguments(const char *name);

#endif
