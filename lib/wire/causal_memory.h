/*
 * The memory of an experiment: what cpuperf --causal and its agent in the program
 * (lib/agent/causal) share. A file that the recorder makes, and writes and reads before and after
 * each run; all processes of the run map it. Behind the header are the objects, then the functions:
 * those of an object by address.
 */
#ifndef WIRE_CAUSAL_MEMORY_H
#define WIRE_CAUSAL_MEMORY_H

#include <stdint.h>

#define CAUSAL_MEMORY_VARIABLE "CPUPERF_CAUSAL_MEMORY"

enum {
	CAUSAL_MEMORY_MAGIC = 0x4c534143, /* "CASL" */
	CAUSAL_MEMORY_OBJECTS = 256,
	CAUSAL_MEMORY_FUNCTIONS = 1 << 17,
	CAUSAL_MEMORY_NONE = UINT32_MAX, /* no function */
};

struct causal_memory {
	uint32_t magic, nr_objects, nr_functions;
	/* Of a run. */
	uint32_t chosen;  /* the number of the function that is virtually faster */
	uint32_t percent; /* by which its time is cut */
	/* Written by the program; 0 before the run. */
	uint32_t first_pid;    /* the process that was started; 0: the agent is not in it */
	uint64_t all_ns;       /* causal/debts.h */
	uint64_t behind_ns;    /* of the thread with which the first process ends */
	uint64_t sampled_ns;   /* CPU time of all samples */
	uint64_t queued_ns;    /* for which threads that have ended waited for a CPU */
	uint32_t nr_threads;   /* that are sampled */
	uint32_t nr_unsampled; /* for which there is no timer, or no signal */
};

struct causal_memory_object {
	uint64_t device, inode;
	uint32_t first, nr; /* of its functions */
};

struct causal_memory_function {
	uint64_t address, size; /* in the file */
	uint64_t ns;            /* CPU time of samples in it, of all runs; written by the program */
};

static inline uint64_t causal_memory_functions_at(uint32_t nr_objects)
{
	return sizeof(struct causal_memory) + nr_objects * sizeof(struct causal_memory_object);
}

static inline uint64_t causal_memory_bytes(uint32_t nr_objects, uint32_t nr_functions)
{
	return causal_memory_functions_at(nr_objects) +
	       nr_functions * sizeof(struct causal_memory_function);
}

#endif
