/*
 * Marks of this library, libcpuperf_marks.so: the writer of cpuperf/mark.h once, for the
 * interfaces of other tools beside this file (nvtx.c, itt.c, ompt.c, kokkos.c, roctx.c, coz.c), and
 * for languages that call C (bindings/). The names are exported and stay what they are. A program
 * that has loaded this library is connected at its first mark.
 *
 * Guests, as this library and the agent of the heap are, run inside other people's programs. Their
 * rules: no lock, no allocation from the program's heap, no thread, no output; errno, signals and
 * the exit status stay; any thread, also in signal handlers. Thread-local memory is made with the
 * thread (initial-exec), since a mark may stand in an allocator.
 *
 * A program's own NVTX or ITT part loads the library at its first mark, and the runtimes of OpenMP
 * and Kokkos as they start, because cpuperf sets variables that name it for the command
 * (cpuperf/guests.c); ROCTX and coz need LD_PRELOAD.
 * cpuperf/mark_keyed.h adds ends by key, as those interfaces and likwid have them, by begin and
 * end alone. Structures follow the published ABIs; tests/system/guests_*.c are callers that share
 * no line with them. bindings/ needs these functions: the ring's clock may be the cycle counter,
 * which Python and Fortran cannot read.
 */
#ifndef AGENT_MARKS_H
#define AGENT_MARKS_H

#include <stdint.h>

#define AGENT_EXPORTED __attribute__((visibility("default")))

/* 0: marks are not received, and calls do nothing. */
AGENT_EXPORTED int cpuperf_marks_are_on(void);

/* The time that marks have, of the clock of the connection; 0: marks are off. */
AGENT_EXPORTED uint64_t cpuperf_marks_now(void);
/* The next marks of this thread are of that time. 0: they are to be left out, and one is counted as
 * lost, since it lies before a mark of the thread, or in the future; that of an end is moved
 * instead. */
AGENT_EXPORTED int cpuperf_marks_at(uint64_t time, int is_end);
/* The next ones are of their own time again. */
AGENT_EXPORTED void cpuperf_marks_at_once(void);

/* As the functions of cpuperf/mark.h without "marks_". */
AGENT_EXPORTED void cpuperf_marks_begin(const char *name);
AGENT_EXPORTED void cpuperf_marks_begin_number(const char *name, int64_t number);
AGENT_EXPORTED void cpuperf_marks_end(void);
AGENT_EXPORTED void cpuperf_marks_instant(const char *name);
AGENT_EXPORTED void cpuperf_marks_int(const char *name, int64_t value);
AGENT_EXPORTED void cpuperf_marks_thread_name(const char *name);
AGENT_EXPORTED void cpuperf_marks_pause(void);
AGENT_EXPORTED void cpuperf_marks_resume(void);
AGENT_EXPORTED void cpuperf_marks_pause_thread(void);
AGENT_EXPORTED void cpuperf_marks_resume_thread(void);

/* As CPUPERF_REGION: the end of what the beginning returned is none if another recorder, or none,
 * received that, and it also ends what was left open inside. */
AGENT_EXPORTED uint64_t cpuperf_marks_begin_block(const char *name);
AGENT_EXPORTED uint64_t cpuperf_marks_begin_number_block(const char *name, int64_t number);
AGENT_EXPORTED void cpuperf_marks_end_block(uint64_t begun);

/* As the functions of cpuperf/mark_keyed.h. */
AGENT_EXPORTED void cpuperf_marks_begin_named(const char *name);
AGENT_EXPORTED void cpuperf_marks_end_named(const char *name);
AGENT_EXPORTED void cpuperf_marks_begin_keyed(uint32_t key, const char *name);
AGENT_EXPORTED void cpuperf_marks_begin_number_keyed(uint32_t key, const char *name,
						     int64_t number);
AGENT_EXPORTED void cpuperf_marks_end_keyed(uint32_t key);
AGENT_EXPORTED void cpuperf_marks_end_keyed_anywhere(uint32_t key);
AGENT_EXPORTED void cpuperf_marks_drop_keyed(uint32_t key);

#endif
