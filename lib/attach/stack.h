/*
 * Whether a stopped thread can call what takes the locks of the loader and of the allocator.
 */
#ifndef ATTACH_STACK_H
#define ATTACH_STACK_H

#include "attach/space.h"
#include "cfi/frame.h"

struct attach_place {
	const struct cfi_machine *machine;
	uint64_t reg[CFI_MAX_REGS]; /* by DWARF number; all are known */
	uint64_t pc;
	uint64_t tls;      /* the thread's own memory, above its stack */
	int64_t call;      /* the number of the system call that waits; -1: none */
	bool is_main;      /* the process's first thread */
	uint64_t main_low; /* the lowest address that its stack may reach */
};

/* Marks the objects that have an allocator, and loads what is needed for all threads. */
void attach_prepare(struct attach_space *s);
/* Whether it may wait for long, and loses nothing when it is interrupted. */
bool attach_is_wait(int64_t call);
/* NULL: it can; else why not, after "it". */
const char *attach_judge(struct attach_space *s, const struct attach_place *p);

#endif
