/*
 * The capability by which a program's file permits its users to measure (setcap). It is effective
 * only from privilege_raise to privilege_lower, so that files are opened with the caller's rights.
 * For a program started as usual, by root too, all of this does nothing.
 *
 * Those that measuring needs are permitted all the time, and effective around perf_event_open
 * (pmu/ops.c), bpf(2) (bpf/) and the open of kallsyms alone. Every process that is created drops
 * them. cpuperf/rights.c empties the environment after the command's process is made. With them
 * the loader finds libraries only in the system's folders.
 */
#ifndef BASE_PRIVILEGE_H
#define BASE_PRIVILEGE_H

#include "base/err.h"

#include <stdbool.h>

/* In main, before anything else. Of the capabilities of the file keeps CAP_PERFMON (without it
 * CAP_SYS_ADMIN, for Linux before 5.8), CAP_BPF, for programs in the kernel, CAP_SYSLOG, for the
 * kernel's addresses, and CAP_IPC_LOCK, for rings beyond the limit of locked memory; drops all
 * others. 0, or -errno with *e: -EPERM if the file is set-user-ID or set-group-ID. */
int privilege_init(struct err *e);
/* True if the file permits its users to measure what they otherwise may not. */
bool privilege_is_held(void);
/* In the calling thread only. errno is unchanged. */
void privilege_raise(void);
void privilege_lower(void);
/* Drops the capabilities of the calling thread, and of what it creates: in a new process, before
 * it does anything for the caller. */
void privilege_drop(void);

#endif
