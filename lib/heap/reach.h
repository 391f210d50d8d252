/*
 * Which live blocks of a program nothing points to: a conservative search from its registers,
 * stacks and writable memory, through the blocks themselves, as of a leak checker. The program's
 * threads are stopped meanwhile (ptrace), and go on as if nothing had been.
 *
 * What looks like an address of a block, or within it, is one. What the allocator keeps is not
 * searched, as far as it is known to be the allocator's: memory between small blocks.
 *
 * The wire's thread searches, while the process waits for the answer. Roots are registers, stacks
 * above their pointers, thread-local and static memory. The C library's lists of free memory may
 * have the address of the last bytes of the block before: such a word reaches no block.
 *
 * A list whose items lie at random costs a system call for each step. So small blocks are read
 * before anything is followed (heap/links.h), in order of addresses, in pieces of 512 KiB: what
 * one points to remains as one record, whose links are places of other records, and a step of a
 * list is one look at memory. Large blocks, and what could not be read so, are read when they are
 * reached. heap/index.h says which block an address is in, and sorts.
 */
#ifndef HEAP_REACH_H
#define HEAP_REACH_H

#include "wire/heap.h"

#include <stddef.h>
#include <stdint.h>

struct root;

enum { HEAP_REACH_SECONDS = 10 };

/* How far a search came: of so many blocks, those that were reached and searched in turn. */
struct heap_searched {
	uint64_t blocks, searched;
};

/* Passes the amounts of unreachable blocks by the number of their stack, nr of them, to keep, which
 * owns them, before the program goes on. 0 or -errno: -EPERM: the program may not be stopped;
 * -ETIMEDOUT: it takes longer than limit_ns, and *searched says how far it came, without blocks if
 * the threads did not stop. Any thread, one at a time for a process. */
struct heap_reach {
	const struct root *root;
	uint32_t pid;
	uint64_t limit_ns;
	const struct wire_heap *memory;
	void (*keep)(void *arg, struct wire_heap_amount *unreachable, size_t nr);
	void *arg;
	struct heap_searched *searched;
};
int heap_reach(const struct heap_reach *what);

#endif
