/*
 * Where stacks end: in the start function of a program or thread, or before it, and why. Counted by
 * task name.
 *
 * An event asks for as many addresses as the kernel allows, and its attr stores the limit in
 * force. Unwinding knows whether it reached the outermost function. A callchain has no such mark:
 * the name of its outermost function decides.
 */
#ifndef REPORT_ENDS_H
#define REPORT_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum report_end {
	REPORT_END_WHOLE,    /* it reaches the start function */
	REPORT_END_LIMIT,    /* the kernel stores no more addresses in a callchain */
	REPORT_END_AGENT,    /* deeper than the agent of the heap follows */
	REPORT_END_POINTERS, /* frame pointers lead no further */
	REPORT_END_PIECE,    /* nor do the short stack bytes recorded with them */
	REPORT_END_BYTES,    /* unwinding: the stack continues beyond the recorded bytes */
	REPORT_END_TABLE,    /* unwinding: no table, and no valid frame pointer */
	REPORT_END_INVALID,  /* unwinding: no progress toward the start, or outside the stack */
	REPORT_END_UNSEEN,   /* unwinding: a function needs a register that /proc did not show */
	REPORT_END_REGS,     /* unwinding: registers of an unknown kind (32-bit ARM) */
	REPORT_END_DEPTH,    /* deeper than a report can hold */
	REPORT_END_UNPROVEN, /* unwinding: a method of Java, whose caller is not certain */
	REPORT_NR_ENDS
};
/* The text after "stacks": "truncated at kernel.perf_event_max_stack" … */
const char *report_end_name(enum report_end end);

/* What a function implies about a stack whose outermost function it is. */
enum report_start {
	REPORT_START_NO,
	REPORT_START_YES, /* a program or a thread begins with it */
	/* Without a name. LIBRARY: in the C library; the start of a program or thread if it called
	 * a function. NAMELESS: in another object; the start of a program if it called the C
	 * library. */
	REPORT_START_LIBRARY,
	REPORT_START_NAMELESS,
	REPORT_START_ABOVE, /* no code: an invalid frame pointer led there */
};
/* True for the C library and the dynamic linker. object: its file name, without folders. */
bool report_is_library(const char *object);
enum report_start report_start_of(const char *name, const char *object, bool is_known);

/* True for a function of the kernel that switches tasks, or that is called there to measure it. */
bool report_is_switch(const char *name, const char *object);

/* Counts of a task's stacks that have a user part, recorded with callers. */
struct report_program {
	uint32_t comm; /* number of its text: report_functions_text */
	uint64_t nr[REPORT_NR_ENDS];
};
uint64_t report_program_all(const struct report_program *p);
/* The number of incomplete stacks. */
uint64_t report_program_incomplete(const struct report_program *p);

#endif
