/*
 * What the program in the kernel and the program that loads it share.
 */
#ifndef BPF_FILES_SHARED_H
#define BPF_FILES_SHARED_H

#include <linux/types.h>

/* A descriptor. Numbers are those of the reader's PID namespace. */
struct bpf_files_file {
	__u32 pid, process; /* different: a thread with descriptors of its own */
	__u32 fd, minor;    /* the latter of the device */
	__u64 file;         /* the same for descriptors of the same open file; no address */
};

#endif
