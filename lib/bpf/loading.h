/*
 * What the loaders of programs share: why libbpf or the kernel refuse. Private to bpf/.
 *
 * Programs are built into cpuperf as bytes (generated/, made by scripts/generate), so building
 * needs no clang. Starts must be quick: libbpf takes 50 ms each time it reads all types of the
 * kernel. So whether a tracepoint exists is looked up in the names of the types (btf_types.h);
 * sections have names of our own (cpuperf_trace/, cpuperf_iter/), so that libbpf does not look for
 * them; it relocates programs by the few types that they name (reduced_types.h); and numbers of
 * types and of kernel functions (kernel_functions.h) are put in before a program is passed to the
 * kernel.
 *
 * Each start also waits for the verifier, which follows each way through a program. So arithmetic
 * there has no branches (bits_shared.h), what repeats is called by bpf_loop, and pointers whose
 * type the verifier knows are loaded seldom: for each it searches all types, which takes 0.5 ms.
 */
#ifndef BPF_LOADING_H
#define BPF_LOADING_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct bpf_link;
struct bpf_map;
struct bpf_object;
struct bpf_object_skeleton;
struct bpf_program;
struct follow_config;

/* Kinds of attachment that are newer than the headers that this is built with. */
enum {
	LOADING_UPROBE_MULTI = 48,   /* Linux 6.6 */
	LOADING_UPROBE_SESSION = 57, /* Linux 6.13 */
};

/* Between _begin and _end the capabilities of the program's file are effective, and libbpf's
 * messages are stored, not printed. A second thread waits. */
void loading_begin(void);
void loading_end(void);
/* Programs of an object: what generated/NAME.h describes. The struct that is opened has only
 * pointers: the skeleton and the object of libbpf; each map; each program; each program's link; the
 * memory of each map of variables, whose name has a dot. */
struct loading_programs {
	const char *name;
	const char *const *maps, *const *programs; /* up to NULL */
	const char *object, *end;                  /* its bytes */
	size_t bytes;                              /* of the struct */
};
/* Opens them, between _begin and _end; one at a time. out: where the pointer to the struct is. 0 or
 * -errno. */
int loading_open(const struct loading_programs *programs, void *out);
/* Unloads them, if they were opened. */
void loading_close(void *opened);
/* Loads the programs. libbpf knows sections of programs by the kernel's tracepoints and iterators,
 * for which it reads all of the kernel's types, which takes 40 ms. Sections with a name of our own
 * are loaded with the types that they need: "cpuperf_trace/NAME", "cpuperf_iter/NAME" and
 * "cpuperf_iter.s/NAME", as tp_btf, iter and iter.s; "cpuperf_session" as kprobe.session for
 * uprobes. 0 or -errno. */
int loading_load(struct bpf_object_skeleton *s);
/* Attaches those of these sections that were loaded and are not attached. 0 or -errno. */
int loading_attach(struct bpf_object_skeleton *s);
/* Why the programs cannot be loaded, from libbpf's rc and its messages. Returns -EPERM, -ENOTSUP or
 * -ENOMEM. */
int loading_refuse(int rc, struct err *e);
/* Stores a value in a map. 0 or -errno. Some kernels refuse bpf(2) altogether to programs without
 * capabilities: those of the program's file are effective meanwhile. */
int loading_update(const struct bpf_map *map, const void *key, const void *value);
/* The same for a process that exists, in its task storage; 0 also if it has ended, or is a thread.
 */
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
