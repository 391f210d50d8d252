/*
 * Replaces code that other threads may be executing, and puts it back.
 *
 * A thread that fetches bytes while they change must see the old or the new instruction, never a
 * mixture. Two ways, of which the caller chooses:
 * - PATCH_BY_TRAP: the first byte becomes INT3, then the others are written, then the first. Before
 *   each step all processors are made to fetch anew (membarrier). This is what Intel and AMD
 *   describe, and Linux does. A thread that meets the INT3 receives SIGTRAP: the handler asks
 *   patch_trapped where it goes on. A thread that blocks SIGTRAP is killed by it with its process,
 *   and so is a program that has set another handler since: the caller looks (SigBlk in /proc), and
 *   takes the other way, or stops the threads, if there is one.
 * - PATCH_AT_ONCE: one store of 8 or 16 aligned bytes, where these contain all. Needs no handler.
 *   AMD's manual allows it; Intel's has no word on it. Others are refused.
 *
 * Neither helps a thread that stands between the instructions that are replaced: the caller has to
 * stop the threads, or to be the only one (a program's start), and to move those that stand there
 * (patch_moved_to). A plan that replaces a single instruction (a redirected call, or a first
 * instruction of 5 bytes) has no such place. Taking back needs none of this: nobody stands within a
 * jump. But a trampoline may still be in use then, and must stay.
 *
 * One thread at a time writes; the handler may run in any.
 */
#ifndef PATCH_WRITE_H
#define PATCH_WRITE_H

#include "patch/move.h"

struct patch_site {
	uint64_t address;
	uint64_t instead;    /* where a thread that meets the INT3 goes on: the trampoline */
	uint64_t returns_to; /* with that return address on the stack; 0: as it is */
	uint8_t len;         /* at most PATCH_SITE_BYTES */
	uint8_t old[PATCH_SITE_BYTES], new[PATCH_SITE_BYTES];
};

/* What the room does not do itself, as it is used where there is no C library to rely on. */
struct patch_system {
	/* As mprotect(2). 0, or -errno. */
	int (*protect)(void *arg, uint64_t address, uint64_t len, int prot);
	/* Makes all processors that run this process fetch anew. 0, or -errno. */
	int (*fetch_anew)(void *arg);
	void *arg;
};

/* By system calls alone; errno stays. -ENOSYS of a kernel without membarrier (before 4.16) or
 * architecture without an implementation. */
extern const struct patch_system patch_calls;

enum patch_way { PATCH_BY_TRAP, PATCH_AT_ONCE };

/* A mapping with code, and how it is protected, which it is again afterwards. */
struct patch_text {
	uint64_t address, len;
	int prot;
};

/* The site of a plan. */
void patch_site_init(struct patch_site *s, const struct patch_plan *plan,
		     const struct patch_trampoline *t);

/*
 * Writes the new bytes of all sites, which are sorted and lie in the text; undo: the old ones
 * again. With PATCH_BY_TRAP the sites stay where they are and readable as long as the handler may
 * be called. Negative: the error, and nothing was written: -EACCES, -EPERM, -ENOMEM the text may
 * not be made writable (SELinux, MDWE); -ESTALE a site has other bytes than it should have; -ERANGE
 * it is not in the text, or not within one store; -ENOSYS no way to make processors fetch anew.
 * Positive: all was written, but the text stayed writable, for that reason.
 */
int patch_write(const struct patch_system *system, const struct patch_text *text,
		const struct patch_site *sites, size_t nr, bool undo, enum patch_way way);

/*
 * For a handler of SIGTRAP, with the instruction pointer, which is behind the INT3, and the stack
 * pointer of the thread: changes them to where it goes on. Where a call is redirected, it does what
 * that does: it puts the return address on the stack (not on a shadow stack: where there is one,
 * such plans are written at once, or while all threads are stopped). False: the INT3 is not ours.
 * Also right if all was written meanwhile. Async-signal-safe.
 */
bool patch_trapped(uint64_t *ip, uint64_t *sp);

#endif
