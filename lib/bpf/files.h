/*
 * The descriptors of all processes that are open on devices of one kind, found by an iterator in
 * the kernel, without /proc.
 */
#ifndef BPF_FILES_H
#define BPF_FILES_H

#include "bpf/files_shared.h"

struct err;
struct files;

/* Loads the program. major: of the character devices. 0 or -errno with *e: -EPERM: not permitted;
 * -ENOTSUP: this kernel, or this build, cannot do it; -ENOMEM. */
int files_open(unsigned major, struct files **out, struct err *e);
void files_close(struct files *f); /* NULL is fine */

/* 0 to go on, or -errno, which files_read returns. */
typedef int files_fn(const struct bpf_files_file *file, void *arg);
/* Passes the descriptors of the caller's PID namespace, by thread and number, ascending. What is
 * opened or closed meanwhile may be missing. 0 or -errno. One thread at a time. */
int files_read(struct files *f, files_fn *fn, void *arg);

#endif
