/*
 * The memory of one object with marks, on the recorder's side.
 *
 * An object that dlclose unloads keeps its memory and its connection until its process ends: its
 * destructor also runs at exit, beside threads that still mark, and what it left open must end
 * with the process. When the recorder ends, each object disconnects at its next mark; when it was
 * killed, once a ring is full.
 */
#ifndef WIRE_MEMORY_H
#define WIRE_MEMORY_H

#include "base/dict.h"
#include "wire/wire.h"

#include <stdbool.h>

struct cpuperf_mark_header;
struct root;
struct wire_slot;

/* Two readings of the clocks, as close together as possible. */
struct wire_clocks {
	uint64_t cycles, ns;
};

/* The file that a process runs; 0: not known. */
struct wire_program {
	uint64_t device, inode;
};

struct wire_memory {
	struct cpuperf_mark_header *shared; /* owned mapping */
	struct wire_slot *slots;            /* owned */
	uint32_t *names; /* owned; of each place in the index: the number, or 0 */
	uint32_t pid, object;
	uint32_t clock; /* enum cpuperf_mark_clock */
	bool is_nested; /* its threads have other numbers, in a PID namespace of their own */
	uint32_t nr_counts;
	uint64_t connected_ns;
	uint64_t inode;              /* of its file */
	struct wire_program program; /* that had connected */
	uint32_t nr_owned, nr_left;  /* slots taken; and when ended threads were looked for */
};

struct wire_memory_config {
	uint32_t pid, object;
	uint32_t clock;
	bool is_nested;
	uint32_t nr_counts, chance;
};

/* Makes a file in memory whose size can never change. 0 or -errno. */
int wire_make_file(const char *name, uint64_t bytes, int *out);

/* What memories share. */
struct wire_reader {
	const struct wire_config *config;
	struct dict texts; /* const char *: number - 1 of each name */
	/* Times are converted by the first two, one line for all rings of a pass: marks of a thread
	 * that stand in several are some ns apart. None is later than now. */
	struct wire_clocks before, at, now;
	struct wire_totals totals;
	struct wire_mark *marks; /* owned; room for a batch */
	uint64_t *counts;        /* owned; of each mark of a batch */
};

int wire_reader_init(struct wire_reader *r, const struct wire_config *config);
void wire_reader_fini(struct wire_reader *r);
/* Passes on the names of counts, before all others. */
void wire_reader_name_counts(struct wire_reader *r);

/* The counter (enum cpuperf_mark_counter) that can be converted to CLOCK_MONOTONIC on this machine:
 * the one by which the kernel keeps time. */
uint32_t wire_counter(const struct root *root);
/* The clock of the memory of an object that can read that counter, where the recorder reads own. */
uint32_t wire_clock(uint32_t own, uint32_t of_object);
void wire_clocks_now(struct wire_clocks *out);

/* Makes memory for an object of a process. *fd: sealed against shrinking and growing, the caller's.
 * 0 or -errno. */
int wire_memory_init(struct wire_memory *m, const struct wire_memory_config *config, int *fd);
void wire_memory_fini(struct wire_memory *m);
/* A thread with that number in this PID namespace has taken the slot. counters: as
 * wire_config.counters_open returned them, now the memory's; NULL: none. -EINVAL: there is no such
 * slot. */
int wire_memory_greet(struct wire_memory *m, const struct wire_reader *r, uint32_t slot,
		      uint32_t tid, void *counters);
/* Begins a pass over all memories: reads the clocks. */
void wire_reader_begin(struct wire_reader *r);
/* Passes on what was written since. */
void wire_memory_drain(struct wire_memory *m, struct wire_reader *r);
/* Frees slots of threads that have ended, if they are drained. */
void wire_memory_free_slots(struct wire_memory *m, const struct wire_reader *r);
/* Ends the marks of threads that still were when the process ended, now. */
void wire_memory_end_threads(struct wire_memory *m, struct wire_reader *r);
/* Whether a thread's last mark left a region open, as far as it is drained. */
bool wire_memory_is_open(const struct wire_memory *m);
/* Whether the process may have run another program since, by exec: cheap, and no proof. */
bool wire_memory_runs_another(const struct wire_memory *m);
/* False: it has. True if that cannot be known. */
bool wire_memory_is_mapped(const struct wire_memory *m);
/* Whether many slots were taken since that was looked at. */
bool wire_memory_has_grown(const struct wire_memory *m);
/* Adds what was lost to the totals, and closes counters; the memory is read no more. */
void wire_memory_close(struct wire_memory *m, struct wire_reader *r);

#endif
