/*
 * Work whose number of instructions is known, because it is written in them (arm64). Knows nothing
 * of counting.
 */
#ifndef PMU_WORK_H
#define PMU_WORK_H

#include <stdint.h>
#include <sys/syscall.h>

enum { WORK_INSTRUCTIONS_PER_TURN = 4 };

/* 4 × turns instructions, all of them in user mode. */
static inline void work_loop(uint64_t turns)
{
	if (turns)
		__asm__ volatile("1: nop\n"
				 "nop\n"
				 "subs %0, %0, #1\n"
				 "b.ne 1b\n"
				 : "+r"(turns)
				 :
				 : "cc");
}

/* As many in user mode, and a system call (getppid) in each turn. */
static inline void work_calls(uint64_t turns)
{
	register uint64_t number __asm__("x8") = SYS_getppid;
	register uint64_t result __asm__("x0");

	if (turns)
		__asm__ volatile("1: nop\n"
				 "svc #0\n"
				 "subs %0, %0, #1\n"
				 "b.ne 1b\n"
				 : "+r"(turns), "=r"(result)
				 : "r"(number)
				 : "cc", "memory");
}

#endif
