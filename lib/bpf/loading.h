/*
 * What the loaders of programs share: why libbpf or the kernel refuse. Private to bpf/.
 */
#ifndef BPF_LOADING_H
#define BPF_LOADING_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct bpf_map;
struct bpf_object;
struct bpf_object_open_opts;
struct bpf_object_skeleton;
struct follow_config;

/* Between _begin and _end the capabilities of the program's file are effective, and libbpf's
 * messages are stored, not printed. One thread. */
void loading_begin(void);
void loading_end(void);
/* With which a skeleton is opened, between _begin and _end; one at a time. NULL: there is no memory
 * for them: libbpf then reads all of the kernel's types. */
const struct bpf_object_open_opts *loading_options(void);
/* Loads the programs. libbpf knows sections of programs by the kernel's tracepoints and iterators,
 * for which it reads all of the kernel's types, which takes 40 ms. Sections with a name of our own
 * are loaded with the types that they need: "cpuperf_trace/NAME", "cpuperf_iter/NAME" and
 * "cpuperf_iter.s/NAME", as tp_btf, iter and iter.s. 0 or -errno. */
int loading_load(struct bpf_object_skeleton *s);
/* Attaches those of these sections that were loaded and are not attached. 0 or -errno. */
int loading_attach(struct bpf_object_skeleton *s);
/* Why the programs cannot be loaded, from libbpf's rc and its messages. Returns -EPERM, -ENOTSUP or
 * -ENOMEM. */
int loading_refuse(int rc, struct err *e);
/* Stores a value in a map. 0 or -errno. Some kernels refuse bpf(2) altogether to programs without
 * capabilities: those of the program's file are effective meanwhile. */
int loading_update(const struct bpf_map *map, const void *key, const void *value);
/* The same for a process that exists, in its task storage. -ESRCH: it has ended. */
int loading_add_process(const struct bpf_map *tasks, pid_t process, const void *value);
/* Prepares the programs of follow.bpf.h, before they are loaded; needs_tasks: for all tasks there
 * are values. cgroup_id: theirs. 0 or -errno with *e. */
int loading_follow(const struct bpf_object *programs, const struct follow_config *config,
		   bool needs_tasks, unsigned long long *cgroup_id, struct err *e);
/* Runs an iterator over all tasks, whose output is ignored, and closes it. fd: of bpf_iter_create,
 * whose error is returned. 0 or -errno. */
int loading_run(int fd);
/* The kernel has this tracepoint, with types. */
bool loading_has_trace(const char *name);
/* The number of its arguments; -1: there is no such tracepoint. */
int loading_nr_arguments(const char *name);

#endif
