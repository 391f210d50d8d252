/*
 * The memory of an experiment: what cpuperf --causal and its agent in the program
 * (lib/agent/causal) share. The recorder makes it, sealed against shrinking; each process of the
 * command asks for it at the recorder's socket, so nothing is left behind when the recorder is
 * killed. Behind the header are the objects, their ranges by address, the candidates (functions, or
 * lines) whose ranges these are, the points, and the regions: if these are tried, the candidates
 * are those of the same numbers, as the program begins them, and there are no ranges; else there is
 * one at most, that of the progress point, whose name the recorder has written.
 *
 * Which candidate is faster, and by how much, is one word: the recorder may change it while the
 * program runs, and the agent reads it once for each sample. A word of the recorder's thread is in
 * its list of robust futexes: the kernel sets CAUSAL_MEMORY_DIED there when it dies, however it
 * does, and from then on nothing is slowed down.
 */
#ifndef WIRE_CAUSAL_MEMORY_H
#define WIRE_CAUSAL_MEMORY_H

#include <stdint.h>

/* The name of the recorder's socket, as that of marks. */
#define CAUSAL_MEMORY_VARIABLE "CPUPERF_EXPERIMENT"

enum {
	CAUSAL_MEMORY_MAGIC = 0x344c5343, /* "CSL4" */
	CAUSAL_MEMORY_OBJECTS = 256,
	CAUSAL_MEMORY_CANDIDATES = 1 << 17,
	CAUSAL_MEMORY_RANGES = 1 << 20,
	CAUSAL_MEMORY_POINTS = 64,
	CAUSAL_MEMORY_NAME_BYTES = 104,
	CAUSAL_MEMORY_REGIONS = 1024,
	CAUSAL_MEMORY_REGION_BYTES = 256, /* of a name: those of cpuperf/mark.h, and 0 */
	CAUSAL_MEMORY_NONE = UINT32_MAX,  /* no candidate */
	CAUSAL_MEMORY_DIED = 1 << 30,     /* FUTEX_OWNER_DIED */
};

struct causal_memory {
	uint32_t magic, nr_objects, nr_ranges, nr_candidates;
	/* The recorder's thread, and FUTEX_WAITERS; or CAUSAL_MEMORY_DIED. Threads that sleep wait
	 * for it to change. */
	uint32_t owner;
	uint32_t first_pid;    /* the process that was started; 0: the agent is not in it */
	uint64_t experiment;   /* causal_memory_experiment() */
	uint64_t all_ns;       /* causal/debts.h */
	uint64_t behind_ns;    /* of the thread with which the first process ends */
	uint64_t sampled_ns;   /* CPU time of all samples */
	uint64_t queued_ns;    /* for which threads that have ended waited for a CPU */
	uint32_t nr_threads;   /* that are sampled */
	uint32_t nr_unsampled; /* for which there is no timer, or no signal */
	uint32_t nr_regions;   /* for which there is room; 0: no marks are read */
	uint32_t are_regions;  /* candidates; 0: they are code */
};

struct causal_memory_object {
	uint64_t device, inode;
	uint32_t first, nr; /* of its ranges */
};

struct causal_memory_range {
	uint64_t address; /* in the file */
	uint32_t size, candidate;
};

struct causal_memory_candidate {
	uint64_t ns; /* CPU time of samples in it; written by the program */
};

/* Of coz's macros. Written by the program; several may have the same name. */
enum causal_memory_kind {
	CAUSAL_MEMORY_FREE = 0,
	CAUSAL_MEMORY_TAKEN = 1, /* is written right now */
	CAUSAL_MEMORY_POINT = 2, /* COZ_PROGRESS */
	CAUSAL_MEMORY_BEGIN = 3, /* COZ_BEGIN */
	CAUSAL_MEMORY_END = 4,   /* COZ_END */
};
struct causal_memory_point {
	uint64_t count, unused; /* coz_counter_t */
	uint32_t kind;
	char name[CAUSAL_MEMORY_NAME_BYTES]; /* truncated */
	uint32_t unused_too;
};

/* Of marks. The name is written once; each is there once. */
struct causal_memory_region {
	uint32_t kind;      /* CAUSAL_MEMORY_FREE, TAKEN or POINT: it has its name */
	uint32_t left_open; /* how often it did not end in its thread, as far as is known */
	/* What threads slept, or were spared, while it was open on them, for each that was: by so
	 * much less it has lasted in virtual time. */
	uint64_t paid_ns;
	char name[CAUSAL_MEMORY_REGION_BYTES];
};

static inline uint64_t causal_memory_experiment(uint32_t chosen, uint32_t percent)
{
	return (uint64_t)percent << 32 | chosen;
}

static inline uint64_t causal_memory_ranges_at(uint32_t nr_objects)
{
	return sizeof(struct causal_memory) + nr_objects * sizeof(struct causal_memory_object);
}

static inline uint64_t causal_memory_candidates_at(uint32_t nr_objects, uint32_t nr_ranges)
{
	return causal_memory_ranges_at(nr_objects) + nr_ranges * sizeof(struct causal_memory_range);
}

static inline uint64_t causal_memory_points_at(uint32_t nr_objects, uint32_t nr_ranges,
					       uint32_t nr_candidates)
{
	return causal_memory_candidates_at(nr_objects, nr_ranges) +
	       nr_candidates * sizeof(struct causal_memory_candidate);
}

static inline uint64_t causal_memory_regions_at(uint32_t nr_objects, uint32_t nr_ranges,
						uint32_t nr_candidates)
{
	return causal_memory_points_at(nr_objects, nr_ranges, nr_candidates) +
	       CAUSAL_MEMORY_POINTS * sizeof(struct causal_memory_point);
}

static inline uint64_t causal_memory_bytes(uint32_t nr_objects, uint32_t nr_ranges,
					   uint32_t nr_candidates, uint32_t nr_regions)
{
	return causal_memory_regions_at(nr_objects, nr_ranges, nr_candidates) +
	       nr_regions * sizeof(struct causal_memory_region);
}

#endif
