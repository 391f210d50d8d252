/*
 * Reads what the iterator of waits.bpf.c writes. Private to bpf/.
 */
#ifndef BPF_LASTING_H
#define BPF_LASTING_H

#include "bpf/waits.h"

/* Words of struct pt_regs. */
struct lasting_regs {
	uint32_t bytes;  /* that are read; 0: this architecture is not known */
	uint32_t fp, sp; /* the frame pointer, and the stack pointer */
};
void lasting_get_regs(struct lasting_regs *out);

/* Runs the iterator, passes its records to fn, and closes it. fd: of bpf_iter_create, whose error
 * is returned. 0 or -errno: -EIO: a record is invalid. */
int lasting_read(int fd, waits_fn *fn, void *arg);

#endif
