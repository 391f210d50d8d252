/*
 * A thread of another process that is stopped, and made to call functions.
 *
 * Who holds the loader's lock may wait for this thread: so a wait for that lock is seen as it
 * begins, and undone. A result (of dlerror, and where errno is) reaches the recorder as the number
 * of a system call that does nothing.
 */
#ifndef ATTACH_THREAD_H
#define ATTACH_THREAD_H

#include "attach/stack.h"

/* A system call of a thread, as the kernel lists it. number -1: it is in none. */
struct attach_waiting {
	int64_t number;
	uint64_t argument, sp, pc;
};

/* That of a thread which is to be stopped. */
struct attach_waiting attach_waiting_of(pid_t tid);
/* For who stops a thread by PTRACE_INTERRUPT, otherwise: a call that only this stop has ended
 * begins again when the thread goes on. */
void attach_repeat(pid_t tid, const struct attach_waiting *before);

struct attach_thread {
	pid_t tid;
	uint64_t lock; /* the word of the loader's lock, if a call found it held */
	void *state;   /* owned: its registers; of the machine */
};

/* Where calls return to, and what tells that one waits for the loader. */
struct attach_ways {
	uint64_t restorer; /* code that returns from a signal's handler */
	uint64_t returner; /* code by which a result is seen; 0: there is none, or none is needed */
	uint64_t lock_start, lock_end; /* the loader's data */
};

/* Finds them. False: this C library is not known. */
bool attach_find_ways(struct attach_space *s, struct attach_ways *out);

/* Stops the thread, if it runs code of this machine outside of a restartable sequence. 0; -EAGAIN:
 * not now; -errno. One that cannot stop now stays traced until it does, and is stopped by a later
 * call, or until the thread ends that calls this. */
int attach_thread_stop(struct attach_thread *t, pid_t tid);
/* The same, wherever it is, also if its process is stopped: it can be released, and not made to
 * call. */
int attach_thread_halt(struct attach_thread *t, pid_t tid);
void attach_thread_place(const struct attach_thread *t, struct attach_place *out);
/* Goes on as if nothing had been. */
void attach_thread_release(struct attach_thread *t);

enum { ATTACH_MAX_ARGUMENTS = 3, ATTACH_TEXT_BYTES = 4096 };

struct attach_call {
	uint64_t function;
	uint64_t argument[ATTACH_MAX_ARGUMENTS];
	bool has_mask;    /* the second argument is the signals that the thread blocks */
	const char *text; /* NULL, or the first argument, copied to the stack */
	uint64_t *result; /* NULL, or for the pointer that it returns; 0: that cannot be seen */
};

/* Calls, and prepares another call or the release. 0; -EAGAIN: the loader's lock is held, the
 * function did nothing; -EBUSY: its registers or its stack do not allow a call; -ETIMEDOUT: it goes
 * on by itself, and is released; -EINTR: a signal came first, and it is released; -ESRCH: it has
 * ended. */
int attach_thread_call(struct attach_thread *t, struct attach_space *s, const struct attach_ways *w,
		       const struct attach_call *call);

#endif
