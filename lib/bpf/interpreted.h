/*
 * What threads interpret, and labels of goroutines, written by a program in the kernel beside each
 * sample of a perf event.
 *
 * The program asks once what each process is (enum in bpf/interpreted_shared.h), and says once what
 * each code is called: both are messages, which a thread of the recorder reads. The record of a
 * sample goes into the ring of the CPU's events, by an event of the CPU that is connected.
 *
 * What walks over frames takes the verifier 10 ms for each language in each program that does it,
 * and few programs have an interpreter: it is loaded when one is found (interpreted_begin), for the
 * languages that were found, here and in programs that share the maps (struct interpreted_user).
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

/* Loads what walks over frames of these languages, 1 << BPF_INTERPRETED_PYTHON and so on, and of
 * those before, and has the users begin; nothing if it does so already. 0 or -errno with *e, as
 * interpreted_open: then those before are walked over as ever, and these are not tried again. */
int interpreted_begin(struct interpreted *i, uint32_t languages, struct err *e);

/* Other programs that interpret. begin is called by the thread of interpreted_begin, each time that
 * there are more languages. */
struct interpreted_user {
	void (*begin)(struct interpreted_user *u);
	struct interpreted_user *next; /* set by interpreted_add */
};
/* Between both no user is called; i may be NULL. The same thread does not lock it twice. */
void interpreted_lock(struct interpreted *i);
void interpreted_unlock(struct interpreted *i);
/* While it is locked. The program that walks, for the same kind of event; -1: not yet. */
int interpreted_walk(const struct interpreted *i);
/* begin is not called for languages that are there already. The user is borrowed until
 * interpreted_remove, which may be called of one that was not added. */
void interpreted_add(struct interpreted *i, struct interpreted_user *u);
void interpreted_remove(struct interpreted *i, const struct interpreted_user *u);
/* What the constant languages of programs that walk must be; 0: none was found yet. */
uint32_t interpreted_languages(const struct interpreted *i);

/* Before they are loaded: has other programs that include programs/interpreted.bpf.h use the maps
 * of these; walks: and make those that a walk needs. NULL: they do not interpret, and need none. 0
 * or -errno. */
int interpreted_share(const struct interpreted *i, const struct bpf_object *programs, bool walks);

/* Loads what asks for an event that no other program selects from: the descriptor for
 * PERF_EVENT_IOC_SET_BPF, borrowed; -1: it cannot be loaded. One thread. */
int interpreted_program(struct interpreted *i);
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
