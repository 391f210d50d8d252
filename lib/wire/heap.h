/*
 * The recorder's end of the memory that a program's heap is added up in (wire/heap_memory.h).
 *
 * The program may write anything there, at any time: each word is read once and checked. At worst
 * the program's own numbers are wrong.
 *
 * Threads: one at a time uses a heap.
 *
 * Both sides have one layout, also where the agent has 32 bits (agent/i386): all fields have the
 * same width, words that the recorder may read meanwhile are written at once (agent_set), and a
 * pointer is made a uintptr_t before it is widened, as its sign would be.
 */
#ifndef WIRE_HEAP_H
#define WIRE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_heap;

struct wire_heap_config {
	/* bytes per sample; 1: each allocation; 0: nothing but sums of threads; with
	 * HEAP_WANTS_ADAPTIVE so many at most */
	uint64_t rate;
	uint32_t wants;          /* enum heap_want */
	uint64_t interval_ns[2]; /* between samples of CPU time, and of real time; 0: none */
};

/* Makes the memory, with its header. *fd: for the program, to be closed. 0 or -errno. */
int wire_heap_new(const struct wire_heap_config *config, struct wire_heap **out, int *fd);
/* The program sees by a word in the memory that nobody reads it any more. NULL is fine. */
void wire_heap_free(struct wire_heap *h);
/* The program has ended: the memory of its blocks is returned to the system. */
void wire_heap_end(struct wire_heap *h);

/* The program reads that all is read, for a dump that it waits for. */
void wire_heap_begin_reading(struct wire_heap *h);
void wire_heap_end_reading(struct wire_heap *h);

/* Cumulative, but for live. Of threads, exact: */
struct wire_heap_sums {
	uint64_t calls, bytes, frees, max_bytes;
	/* of samples, weighted */
	uint64_t live, peak, peak_ns;
	uint64_t
	    counted_peak; /* when it was: by what was counted; peak is by the stacks' samples */
	bool is_bypassed;
	bool is_counted; /* the moment of the peak is not by samples; live is of all blocks */
	uint64_t rate;   /* now */
	/* How long the rate was 1, in an adaptive program in which it is not any more. */
	uint64_t exact_samples, exact_ns; /* ns of CPU time */
	/* see struct heap_header */
	uint64_t no_node, no_block, nested, unknown, cut, deep, invalid;
};
void wire_heap_sums(const struct wire_heap *h, struct wire_heap_sums *out);

/* Sums of the sampled allocations of a size, as struct heap_class; cumulative, of all threads. */
enum { WIRE_HEAP_NR_CLASSES = 42 };
struct wire_heap_class {
	uint64_t calls, bytes, freed_calls, freed_bytes;
	uint64_t squares, freed_squares; /* as heap_square has them */
};
void wire_heap_classes(const struct wire_heap *h, struct wire_heap_class out[WIRE_HEAP_NR_CLASSES]);

enum { WIRE_HEAP_NR_MISSED = 16, WIRE_HEAP_MISSED_BYTES = 52 };

/* Something that is not measured of the program, or of what it executed, by its own words. */
struct wire_heap_missed {
	uint32_t why; /* enum heap_miss */
	uint32_t nr;  /* so often: it may become less when a program cannot be executed */
	char name[WIRE_HEAP_MISSED_BYTES]; /* of a program; printable */
};

/* Number i. False: there is none. */
bool wire_heap_missed(const struct wire_heap *h, size_t i, struct wire_heap_missed *out);

struct wire_heap_amount {
	uint64_t samples, bytes; /* weighted bytes; without samples there are none */
};

enum { WIRE_HEAP_NR_LIVES = 8 };

/* How long threads ran, and how long they were there: cumulative, by the program's own words. */
struct wire_heap_times {
	uint64_t cpu_ns, real_ns;
};
/* cpu_ns: the CPU time of the process at now_ns (CLOCK_MONOTONIC); both 0: it has ended. */
void wire_heap_times(const struct wire_heap *h, uint64_t cpu_ns, uint64_t now_ns,
		     struct wire_heap_times *out);

/* A thread that waits. */
struct wire_heap_wait {
	uint32_t stack; /* its number */
	uint64_t ns;
};
/* Of thread *i and following: the next one that waits, if it does so since an interval at least; *i
 * becomes the one after it. now_ns as above. False: there is none. */
bool wire_heap_wait(const struct wire_heap *h, uint32_t *i, uint64_t now_ns,
		    struct wire_heap_wait *out);

enum wire_heap_kind {
	WIRE_HEAP_ALLOCATED,
	WIRE_HEAP_FREED,     /* at most what was allocated */
	WIRE_HEAP_TEMPORARY, /* at most what was freed */
	WIRE_HEAP_OVERHEAD,
	WIRE_HEAP_UNTOUCHED, /* of those freed: at most their bytes */
	WIRE_HEAP_LIFE,      /* of those freed, each class of lifetimes; see struct heap_life */
	WIRE_HEAP_NR_CUMULATIVE = WIRE_HEAP_LIFE + WIRE_HEAP_NR_LIVES,
	WIRE_HEAP_LIVE = WIRE_HEAP_NR_CUMULATIVE,
	WIRE_HEAP_PEAK,     /* live at the moment of the peak */
	WIRE_HEAP_OWN_PEAK, /* the most that the stack had live at one time */
	WIRE_HEAP_RESIDENT, /* for the reader: they are not in the memory */
	WIRE_HEAP_UNREACHABLE,
	WIRE_HEAP_NR_KINDS
};

struct wire_heap_stack {
	uint32_t node;
	uint32_t resource;  /* enum heap_resource: what its amounts are of */
	uint64_t rate;      /* of its samples of memory, at most that of the configuration */
	uint64_t max_bytes; /* of one allocation, not weighted */
	struct wire_heap_amount amount[WIRE_HEAP_NR_KINDS];
};

/* The number of stacks so far. */
uint32_t wire_heap_nr_stacks(const struct wire_heap *h);
/* Reads stack number i. */
void wire_heap_stack(const struct wire_heap *h, uint32_t i, struct wire_heap_stack *out);

struct wire_heap_block {
	uint64_t address;
	uint32_t stack : 31; /* its number */
	uint32_t is_filled : 1;
	uint32_t size; /* for heap_size */
};

/* The tracked blocks of memory of at least so many bytes, in no order; *out: owned. While the
 * program runs some may be missing or there twice. 0, or -ENOMEM with those that found room. */
int wire_heap_blocks(const struct wire_heap *h, uint64_t min_bytes, struct wire_heap_block **out,
		     size_t *nr);

/* When the addresses of an epoch meant what they did. */
struct wire_heap_epoch {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end 0: it has not ended */
	uint64_t at_ns;            /* at that time; 0: not known */
};

enum { WIRE_HEAP_MAX_FRAMES = 1024, WIRE_HEAP_TYPE_BYTES = 512 };

/* Reads the stack that ends at the node: return addresses, the innermost first, where a stack of a
 * resource has this; of a deeper one the first so many. Returns their number, which may be 0, or
 * -EINVAL: the program has written no stack there. */
int wire_heap_callers(struct wire_heap *h, uint32_t node, uint64_t pcs[WIRE_HEAP_MAX_FRAMES],
		      struct wire_heap_epoch *epoch);

/* The name of a type that stands in the place of an address, mangled; false: there is none. */
bool wire_heap_type(const struct wire_heap *h, uint64_t pc, char name[WIRE_HEAP_TYPE_BYTES]);

#endif
