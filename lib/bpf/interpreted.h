/*
 * What threads interpret, written by a program in the kernel beside each sample of a perf event.
 *
 * The program asks once what each process is (enum in bpf/interpreted_shared.h), and says once what
 * each code is called: both are messages, which a thread of the recorder reads. The record of a
 * sample goes into the ring of the CPU's events, by an event of the CPU that is connected.
 */
#ifndef BPF_INTERPRETED_H
#define BPF_INTERPRETED_H

#include "bpf/interpreted_shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct err;
struct interpreted;

/* Loads the program. 0 or -errno with *e: -EPERM: not permitted; -ENOTSUP: this kernel, or this
 * build, cannot do it; -ENOMEM. */
int interpreted_open(struct interpreted **out, struct err *e);
void interpreted_close(struct interpreted *i); /* NULL is fine */

/* Before they are loaded: has other programs that include programs/interpreted.bpf.h use the maps
 * of these. NULL: they do not interpret, and need none. 0 or -errno. */
int interpreted_share(const struct interpreted *i, const struct bpf_object *programs);

/* The descriptor of the program for PERF_EVENT_IOC_SET_BPF; borrowed. */
int interpreted_program(const struct interpreted *i);
/* Sends the records of the CPU through an event of it, of the kind PERF_COUNT_SW_BPF_OUTPUT, with
 * the descriptor fd. 0 or -errno. */
int interpreted_connect(struct interpreted *i, uint32_t cpu, int fd);

/* Says what a process is. 0 or -errno. */
int interpreted_set(struct interpreted *i, uint32_t process,
		    const struct bpf_interpreted_process *is);

/* What was said of it. False: nothing. */
bool interpreted_find(const struct interpreted *i, uint32_t process,
		      struct bpf_interpreted_process *out);

/* Readable when there are messages; borrowed. */
int interpreted_fd(const struct interpreted *i);
/* Each is called for a message: bytes are those of it that are there. */
struct interpreted_receiver {
	void (*who)(void *arg, const struct bpf_interpreted_who *who);
	void (*code)(void *arg, const struct bpf_interpreted_code *code);
	void (*far)(void *arg, const struct bpf_interpreted_far *far);
	void *arg;
};
/* Passes the messages. 0 or -errno. One thread. */
int interpreted_read(struct interpreted *i, const struct interpreted_receiver *to);

#endif
