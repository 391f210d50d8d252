/*
 * Where the values of processes come from, as a table of functions: /proc, or an iterator in the
 * kernel (process/tasks.h). process/members.c chooses and names processes.
 *
 * process/tasks.h is the quick one: an iterator over tasks (bpf/tasks.h), run when processes are
 * listed. The kernel walks the threads of the reader's PID namespace by number, and writes a
 * record of each process, whose threads it adds up as /proc does, and of each further thread,
 * whose run delay the reader sums, as the kernel keeps none of threads that ended. Memory counters
 * are added up over the CPUs; where the data of each CPU is, the program finds by a map of its
 * own. What it does not read, and all once it fails, comes from process/proc.c, which it contains;
 * numbers and counters go on.
 *
 * Bytes of a process are its own. signal->ioac, and so /proc/PID/io, has those of children that
 * were waited for: programs read inblock and oublock, process/proc.c the files of threads from the
 * first child on.
 */
#ifndef PROCESS_READER_H
#define PROCESS_READER_H

#include "proc/ids.h"
#include "process/process.h"

struct root;

/* Why a wanted field has no value; PARTIAL: the value is too small. */
enum process_trouble {
	PROCESS_DENIED,
	PROCESS_ABSENT, /* this kernel does not report it */
	PROCESS_FAILED,
	PROCESS_PARTIAL, /* without threads that started and ended between readings */
	PROCESS_NR_TROUBLES
};

struct process_values {
	uint64_t time_ns;  /* CLOCK_MONOTONIC, when they were read */
	uint64_t clock_ns; /* the process's CPU time, wanted or not; 0: unknown */
	uint64_t of[PROCESS_NR_FIELDS];
	uint32_t has;                          /* bits of fields, like the next */
	uint32_t trouble[PROCESS_NR_TROUBLES]; /* of wanted fields */
	int error;                             /* -errno of a field in FAILED */
	uint32_t missed;                       /* as of struct things_one, like the next */
	uint64_t nr_missed;
	bool is_reopened; /* too few descriptors: its files are opened for each reading */
};

/* What /proc/PID/stat has of others than the process itself. */
struct process_family {
	uint32_t parent;                    /* that created it, or that it was given to */
	bool is_zombie;                     /* it has ended, and its parent has not waited for it */
	uint32_t has;                       /* bits of fields */
	uint32_t has_own;                   /* the same: with what it used itself */
	uint64_t waited[PROCESS_NR_FIELDS]; /* what those used that it has waited for, with those
					       that these had; of CPU time whole ticks of user and
					       of system time */
};

enum { PROCESS_COMMAND_BYTES = 64 }; /* threads of the kernel have the longest */

struct process_reader {
	/* wanted: bits of the fields to read. 0 or -errno. */
	int (*open)(const struct root *root, uint32_t wanted, void **state);
	void (*close)(void *state);
	/* The caller's number in this /proc; 0: unknown. */
	uint32_t (*self)(const void *state);
	/* True if it reads the CPU time of each process that runs on this machine now. */
	bool (*is_of_machine)(const void *state);
	/* All processes, ascending. 0 or -errno. */
	int (*list)(void *state, struct proc_ids *out);
	/* Reads the command name. 0 or -errno. */
	int (*command)(void *state, uint32_t pid, char out[PROCESS_COMMAND_BYTES]);
	/* The process that created it, or that it was given to; 0: unknown. */
	uint32_t (*parent)(void *state, uint32_t pid);
	/* process: attached; NULL: not. 0 or -errno. */
	int (*family)(void *state, uint32_t pid, void *process, struct process_family *out);
	/* The process's CPU time in ns; 0: unknown. */
	uint64_t (*clock)(const void *state, uint32_t pid);
	/* Opens a process for reading. 0, -ESRCH (there is none) or -ENOMEM. */
	int (*attach)(void *state, uint32_t pid, void **process);
	void (*detach)(void *state, void *process);
	/* Updates values, which hold the previous reading (zeroes before the first). 0; -ESRCH: the
	 * attached process ended, even if its number is in use again; -ENOMEM: values are invalid.
	 */
	int (*read)(void *state, void *process, struct process_values *values);
};

extern const struct process_reader process_proc_reader;

#endif
