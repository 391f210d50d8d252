/*
 * What machines differ in: the registers of a stopped thread, how a system call goes on that was
 * interrupted, and the frame to which a call returns.
 *
 * On arm64 the kernel does not say how an interrupted call goes on, so the thread is led to where
 * it begins again; return addresses may be signed, and the first instruction of a call need be no
 * landing pad.
 *
 * Where a handler's stack begins is asked of the kernel. Of one that it disarmed (SS_AUTODISARM)
 * it is found in the handler's frame, so that nothing is written below a small one.
 */
#ifndef ATTACH_MACHINE_H
#define ATTACH_MACHINE_H

#include "attach/thread.h"

#include <sys/user.h>

enum { ATTACH_MAX_EXTENDED = 64 << 10 };

struct attach_state {
	struct attach_waiting before; /* it was stopped; where it goes on if it is repeated */
	struct user_regs_struct regs; /* its own */
	uint64_t tls;
	int64_t call;   /* the system call that was interrupted and goes on; -1: none */
	bool is_within; /* it is stopped where that begins, and has not begun */
	uint64_t mask;
	uint8_t extended[ATTACH_MAX_EXTENDED]; /* floating point and vectors */
	size_t extended_bytes;
	bool has_scalable;  /* of arm64: that is SVE's set */
	uint64_t frame;     /* of the call */
	uint64_t return_sp; /* where the call's return calls the kernel */
	bool has_result;    /* that is by the result in place of a number */
};

/* Those of a thread that is stopped: what it does, and where. 0; -EAGAIN: it has state that could
 * not be restored, or runs 32-bit code; -errno. */
int attach_state_take(struct attach_state *st, pid_t tid);
/* What else a call may change. 0, as above. */
int attach_state_keep(struct attach_state *st, pid_t tid);
void attach_state_fill(const struct attach_state *st, struct attach_place *out);

/* Whether the kernel ends the interrupted call by EINTR, but for us it would have gone on; the
 * registers with which it does. */
bool attach_state_repeats(const struct attach_state *st, struct user_regs_struct *out);
/* The registers with which the thread goes on where the kernel does not look at the interrupted
 * call. */
struct user_regs_struct attach_state_settled(const struct attach_state *st);
/* Whether the thread has to be led to where its interrupted call begins again: only there is known
 * how the call goes on. */
bool attach_state_must_enter(const struct attach_state *st);
/* The thread has been led there. */
void attach_state_entered(struct attach_state *st, pid_t tid);

/* Sets the registers; a system call that is about to begin is not made. 0 or -errno. */
int attach_regs_set(pid_t tid, const struct user_regs_struct *from);
void attach_extended_set(pid_t tid, struct attach_state *st);

/* Writes the frame below what the thread uses, and returns the registers for a call from there.
 * False: it cannot be written. */
bool attach_frame_push(const struct attach_space *s, struct attach_state *st,
		       const struct attach_ways *w, const struct attach_call *call,
		       struct user_regs_struct *out);
/* Finds the code that a call returns to. 0: it was not found. */
uint64_t attach_restorer(const struct attach_space *s);
uint64_t attach_returner(const struct attach_space *s);

/* A system call that begins. */
struct attach_entry {
	uint64_t number, argument, sp;
	uint64_t result; /* of the function that has returned to it */
};
int attach_entry_of(pid_t tid, struct attach_entry *out);

#endif
