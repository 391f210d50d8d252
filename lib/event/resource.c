/*
 * The group resource: what else a program takes and returns, added up in it by cpuperf's agent as
 * its heap is (event/heap.c).
 */
#include "base/array.h"
#include "base/perf_abi.h"
#include "event/event.h"

#define RESOURCE(number_, name_, kind_, unit_, source_, text, detail_)                             \
	{                                                                                          \
		.name = name_, .number = (number_)-EVENT_HEAP_FD_OPENED + 1, .kind = kind_,        \
		.scope = EVENT_SCOPE_CPU, .unit = unit_,                                           \
		.source = "libcpuperf-agent.so: " source_, .description = text, .detail = detail_, \
		.nr_parts = 1,                                                                     \
		.parts = &(const struct event_part){.pmu = "",                                     \
						    .type = PERF_TYPE_SOFTWARE,                    \
						    .config = PERF_COUNT_SW_DUMMY,                 \
						    .config1 = PERF_ABI_HEAP + (number_)},         \
	}
#define TARGET                                                                                     \
	"Of a command, or with --pid and --attach of processes that run; linked dynamically; of "  \
	"the\nprocesses that they start, too.\n"

#define FD(number, name, kind, text, detail)                                                       \
	RESOURCE(number, name, kind, "fds", "open, socket, close and the like", text, detail)
#define OF_FDS                                                                                     \
	TARGET "By calls of open, socket, accept, pipe, dup, fopen, opendir and the like: what "   \
	       "libc opens\nfor itself, system calls without it, and descriptors that a process "  \
	       "had at its start,\nor that it received over a socket, are not among them.\n"
#define BY_FDS "rate: 1, each descriptor. The sample's stack is that of the call that opened it."

#define READ(number, name, unit, text)                                                             \
	RESOURCE(number, name, EVENT_COUNT, unit, "read, recv, sendfile and the like", text,       \
		 OF_CALLS)
#define WRITTEN(number, name, unit, text)                                                          \
	RESOURCE(number, name, EVENT_COUNT, unit, "write, send, sendfile and the like", text,      \
		 OF_CALLS)
#define OF_CALLS                                                                                   \
	TARGET "Of files, sockets, pipes and terminals, by calls of read, readv, pread, recv, "    \
	       "recvmsg, write,\nsend and the like, and by the streams of stdio where they call "  \
	       "the system; sendfile, splice\nand copy_file_range do both. What the loader and "   \
	       "other functions of libc read or write for\nthemselves, system calls without "      \
	       "libc, io_uring and mapped files are not among them.\nCalls that fail are calls "   \
	       "of 0 bytes.\nrate: 1, each call. The sample's stack is that of the call."

#define THREAD(number, name, kind, text, detail)                                                   \
	RESOURCE(number, name, kind, "threads", "pthread_create, thrd_create", text, detail)
#define OF_THREADS                                                                                 \
	TARGET "By pthread_create and thrd_create, as std::thread, OpenMP and others call them: "  \
	       "a process's\nfirst thread, and clone without libc, are not among them.\n"
#define BY_THREADS "rate: 1, each thread. The sample's stack is that of the call that created it."

#define EXCEPTION(number, name, text)                                                              \
	RESOURCE(number, name, EVENT_COUNT, "calls", "__cxa_throw, __cxa_begin_catch", text,       \
		 OF_EXCEPTIONS)
#define OF_EXCEPTIONS                                                                              \
	TARGET "Of C++, with its runtime as a shared library. An exception that is thrown again "  \
	       "(throw;) is not\nthrown twice, but caught twice. Where no agent can be loaded "    \
	       "the probes usdt:libstdcxx:throw\nand usdt:libstdcxx:catch count them.\n"           \
	       "rate: 1, each. The sample's stack is that of the throw, or of the function that "  \
	       "catches, with\nthe exception's type as innermost name."

#define TIME(number, name, text, detail)                                                           \
	RESOURCE(number, name, EVENT_COUNT, "ns", "timer_create, CLOCK_THREAD_CPUTIME_ID", text,   \
		 detail)
#define OF_TIMES                                                                                   \
	"The count is that of the clocks.\nThreads are sampled from pthread_create on, or from "   \
	"their first call of malloc. The signal is one\nof real time that the program does not "   \
	"use: SIGPROF stays the program's. The kernel looks at the\ntimers once a tick (100 to "   \
	"1000 a second): a sample counts for all that expired.\n"
#define BY_TIME "rate: ns per sample, or a frequency. The sample's stack is that of the thread."

static const struct event_row rows[] = {
    FD(EVENT_HEAP_FD_OPENED, "fd_opened", EVENT_COUNT,
       "File descriptors that programs opened: files, sockets, pipes and all others.",
       OF_FDS BY_FDS),
    FD(EVENT_HEAP_FD_LIVE, "fd_live", EVENT_VALUE,
       "File descriptors opened in this session and not closed yet, at the end of the iteration.",
       OF_FDS "Of a process that ended in the iteration: when it ended.\n" BY_FDS),
    FD(EVENT_HEAP_FD_LEAKED, "fd_leaked", EVENT_COUNT,
       "File descriptors that were open when their process ended.", OF_FDS BY_FDS),
    READ(EVENT_HEAP_IO_READ, "io_read", "B", "Bytes that system calls of programs read."),
    READ(EVENT_HEAP_IO_READ_CALLS, "io_read_calls", "calls",
	 "System calls by which programs read, or tried to."),
    WRITTEN(EVENT_HEAP_IO_WRITTEN, "io_written", "B", "Bytes that system calls of programs wrote."),
    WRITTEN(EVENT_HEAP_IO_WRITE_CALLS, "io_write_calls", "calls",
	    "System calls by which programs wrote, or tried to."),
    THREAD(EVENT_HEAP_THREAD_CREATED, "thread_created", EVENT_COUNT,
	   "Threads that programs created.", OF_THREADS BY_THREADS),
    THREAD(EVENT_HEAP_THREAD_LIVE, "thread_live", EVENT_VALUE,
	   "Threads created in this session and not ended yet, at the end of the iteration.",
	   OF_THREADS "Of a process that ended in the iteration: when it ended.\n" BY_THREADS),
    EXCEPTION(EVENT_HEAP_EXCEPTION_THROWN, "exception_thrown", "Exceptions that programs threw."),
    EXCEPTION(EVENT_HEAP_EXCEPTION_CAUGHT, "exception_caught", "Exceptions that programs caught."),
    TIME(EVENT_HEAP_CPU_TIME, "cpu_time",
	 "Time that threads ran, sampled by timers in the program: without perf events.",
	 TARGET
	 "Works where perf_event_open is refused: in containers, and for all users. " OF_TIMES
	     BY_TIME),
    TIME(EVENT_HEAP_REAL_TIME, "real_time",
	 "Time that threads were there, running or waiting, sampled in the program.",
	 TARGET
	 "Works where perf_event_open is refused. A wait has the stack of the function that "
	 "waits; no timer\ninterrupts it. Waits of system calls without libc, those within other "
	 "functions of libc, and\nwaits for a CPU count where the thread runs next.\n" OF_TIMES
	     BY_TIME),
};

const struct event_group event_resource_group = {
    .name = "resource",
    .description =
	"What a program opens, reads, writes, creates and throws, by the functions that do.",
    .id = EVENT_GROUP_RESOURCE,
    .is_perf = true,
    .rows = rows,
    .nr_rows = ARRAY_NR(rows),
};

bool event_is_time(const struct event *ev)
{
	return event_heap(ev) == EVENT_HEAP_CPU_TIME || event_heap(ev) == EVENT_HEAP_REAL_TIME;
}

bool event_is_resource(const struct event *ev)
{
	return ev->group->id == EVENT_GROUP_RESOURCE;
}
