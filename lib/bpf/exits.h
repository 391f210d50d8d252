/*
 * What each process has used in all when it has ended, also if it lived too short to be read.
 * Programs in the kernel measure it.
 */
#ifndef BPF_EXITS_H
#define BPF_EXITS_H

#include "bpf/exits_shared.h"
#include "bpf/follow.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct exits;

/* Loads and starts the programs, which do nothing before exits_begin. 0 or -errno with *e: -EPERM:
 * not permitted; -ENOTSUP: this kernel, or this build, cannot do it; -ENOMEM. One thread, like all.
 */
int exits_open(const struct follow_config *config, struct exits **out, struct err *e);
void exits_close(struct exits *x); /* NULL is fine */

/* A process of the target, which may have ended. 0 or -errno. */
int exits_add_process(struct exits *x, pid_t process);

/*
 * Passes each process that is gone since the last call, and was waited for, first those that began
 * before exits_begin. It may be late by some 10 ms, so the latter are also passed as soon as they
 * have ended, with what they have used but for the last tick (is_whole is 0). comm ends with a NUL.
 * Processes for which the ring had no room are in exits_commands or, if they began before
 * exits_begin, in exits_lost.
 */
typedef void exits_fn(const struct bpf_exits_process *p, void *arg);
int exits_read(struct exits *x, exits_fn *fn, void *arg);
/* The sums by command: cumulative. Of each, pid is 0. */
int exits_commands(struct exits *x, exits_fn *fn, void *arg);
/* Waits until those that were waited for until now are most likely gone: some 20 ms. Any thread. */
void exits_settle(void);
uint64_t exits_lost(const struct exits *x);
/* From now on processes that begin are new ones: after those that run have been read. */
void exits_begin(struct exits *x);

#endif
