/*
 * Reads what the iterator of waits.bpf.c writes. Private to bpf/.
 *
 * If waits are sampled, the iterator treats the part of a wait up to the boundary as a wait that
 * ended, and writes the stack of each that a sample is due of. session/sample_record.h makes of it
 * the record that the kernel would have written, which the sampler puts between those of the ring,
 * by time. The iterator may sleep, so it can read the memory of programs, but does so only where
 * that is anonymous: a file's could hang.
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
