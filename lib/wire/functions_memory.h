/*
 * The memory in which a program adds up its calls by function: what the recorder and the agent of
 * functions (lib/agent/functions) share. One for each process image, made by the recorder
 * (wire/functions.h), which writes the header before the program receives it.
 *
 * A function has a number, which is an index into the rows of each thread. A place has the address
 * and the number in one word, so that a thread that finds it needs no lock, and one that was
 * interrupted while it added one hinders nobody. Each thread has a slot, which it alone writes; the
 * last one is that of all threads for which there is no other, which write it by atomic operations.
 * A slot whose thread has ended stays as it is, until another thread takes it and goes on there:
 * numbers only increase.
 *
 * Times are those of the CPU's counter (or ns); the recorder converts them. The calls in progress
 * of a thread are here too, as the agent has no other memory: only the agent reads them.
 */
#ifndef WIRE_FUNCTIONS_MEMORY_H
#define WIRE_FUNCTIONS_MEMORY_H

#include <stdint.h>

enum {
	FUNCTIONS_MEMORY_VERSION = 4,
	FUNCTIONS_MEMORY_MAGIC = 0x4b4e4643, /* "CFNK" */
	FUNCTIONS_MEMORY_NUMBER_BITS = 16,   /* of a place's word, above it the address */
	FUNCTIONS_MEMORY_MAX = 1 << 15,      /* functions */
	FUNCTIONS_MEMORY_OUT = FUNCTIONS_MEMORY_MAX + 1, /* the number of what is not measured */
	FUNCTIONS_MEMORY_PLACES = 1 << 17,               /* a power of 2 */
	FUNCTIONS_MEMORY_SLOTS = 128,
	FUNCTIONS_MEMORY_OBJECTS = 256,
	FUNCTIONS_MEMORY_PATH = 472,
	FUNCTIONS_MEMORY_MOVED = 19, /* bytes of a wanted place: PATCH_MOVED_BYTES */
	/* As a trace's histogram: TRACE_HISTOGRAM_BITS, TRACE_HISTOGRAM_BUCKETS. */
	FUNCTIONS_MEMORY_BITS = 4,
	FUNCTIONS_MEMORY_OCTAVES = 39, /* of 2^bits buckets each */
	FUNCTIONS_MEMORY_OCTAVE = 1 << FUNCTIONS_MEMORY_BITS,
	FUNCTIONS_MEMORY_CHUNKS = 1 << 17, /* of a slot */
	FUNCTIONS_MEMORY_DEPTH = 1 << 16,  /* calls in progress of a thread that have times */
};

enum functions_memory_want {
	FUNCTIONS_MEMORY_TIMES = 1 << 0,
	FUNCTIONS_MEMORY_CYCLES = 1 << 1, /* the time is that of the CPU's counter */
};

/* Code that was mapped when the program connected, or when it was first called. */
struct functions_object {
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	char path[FUNCTIONS_MEMORY_PATH]; /* NUL-terminated; "": too long */
};

struct functions_header {
	uint32_t magic, version;
	uint64_t bytes;
	uint32_t wants; /* enum functions_memory_want */
	uint32_t nr_slots;
	uint64_t factor; /* ns of a unit of time, times 2^32 */
	/* Offsets. Of slots the first one, and of its parts from its beginning. */
	uint64_t objects, places, addresses, slots, slot_bytes;
	uint64_t rows, octaves, chunks, frames; /* without times rows alone */
	/* A byte of each function, by the recorder: 1 of a replaced one that is only counted now.
	 */
	uint64_t untimed;
	uint32_t is_closed; /* by the recorder: it reads no more */
	uint32_t recorder;  /* a random number: which one has made the memory */
	uint8_t gap[24];
	/* written by the program */
	uint32_t nr_objects, nr_functions; /* may be beyond the limit */
	uint32_t nr_mapped;    /* slots for which the program has addresses; 0: it maps none yet */
	uint32_t nr_patched;   /* entries that were prepared for it by the compiler */
	uint32_t nr_unpatched; /* and remain as they are */
	uint32_t nr_joined;    /* threads that share the last slot, so far */
	uint64_t missed;       /* calls of functions without a number, or while it connected */
	/* What measuring itself adds, in units of time, for 16 calls: inside their time; and to the
	 * time of their caller, which includes that; without times the latter alone, in ns. Tried
	 * with the function of number 0, which is the agent's own. 0: not tried. */
	uint64_t inner, outer;
	/* Wanted places where the program's instructions were replaced, and those where this could
	 * not be done, with the last error. */
	uint32_t nr_placed, nr_unplaced;
	uint32_t unplaced_error; /* as errno has it */
	/* Instructions are being replaced. Written before is_closed is read, as the recorder reads
	 * it after it has written that: so one of both sees the other. */
	uint32_t is_placing;
	uint32_t nr_timed; /* of nr_placed: those whose ends were replaced, too */
	uint32_t nr_half;  /* those whose ends could not be, as nr_unplaced; they are counted */
};

struct functions_slot {
	uint32_t owner; /* its thread, as gettid(2) returns it; 0: none yet */
	uint32_t nr_chunks;
	uint32_t depth; /* calls in progress, of the frames */
	uint32_t unused;
	uint64_t deep; /* calls that were too deep to have times */
	uint64_t cut;  /* calls that ended without a return that was seen */
	uint64_t full; /* calls without times, as there was no chunk */
};

/* Of a function in a thread. */
struct functions_row {
	uint64_t calls;
	/* with times, of those that ended: */
	uint64_t wall, self, max;
	uint64_t inner; /* measured calls within them, at any depth */
	uint64_t unused[3];
};

/* 1 + the number of the chunk with its buckets; 0: they have no call. */
struct functions_octaves {
	uint32_t chunk[FUNCTIONS_MEMORY_OCTAVES + 1];
};

struct functions_chunk {
	uint64_t bucket[FUNCTIONS_MEMORY_OCTAVE];
};

/* A call in progress. */
struct functions_frame {
	uint64_t begin, children; /* time */
	uint64_t inner;           /* calls that have ended in it */
	uintptr_t stack;          /* the stack pointer where the compiler's call is */
	/* Which follows that call, and the function's address. Of one whose instructions were
	 * replaced both are its number. */
	uintptr_t where, function;
	uint32_t number;
	uint32_t unused[3];
};

/* What is measured: a second file, which the recorder writes once, and all programs read. So what
 * is not measured costs next to nothing, and its time is that of its caller. It begins with this
 * head; then come the files, the places of each by offset, and the ends of each place. */
struct functions_wanted {
	uint32_t magic, nr_files;
	uint64_t nr_places, nr_exits;
};

struct functions_wanted_file {
	uint64_t inode;
	uint32_t major, minor;
	uint64_t first, nr; /* places */
	char path[FUNCTIONS_MEMORY_PATH];
	uint64_t unused;
};

/* What the agent replaces, as patch/plan.h has it: where in the file, how many bytes, and what is
 * there. */
struct functions_wanted_site {
	uint64_t offset;
	uint8_t len, moved_len;
	uint8_t old[FUNCTIONS_MEMORY_MOVED];
	uint8_t depth; /* of the begin of a place with ends */
	uint8_t unused[2];
};

struct functions_wanted_place {
	uint64_t offset, size;              /* in the file */
	struct functions_wanted_site begin; /* len 0: the compiler has put a call there */
	uint64_t first_exit, nr_exits;      /* of its ends; 0: its calls are only counted */
};

/* Where a function's word is, or behind it, in order. */
static inline uint32_t functions_memory_place(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 40) % FUNCTIONS_MEMORY_PLACES;
}

/* The bucket of a trace's histogram. */
static inline unsigned functions_memory_bucket(uint64_t ns)
{
	unsigned k, n;

	if (ns < FUNCTIONS_MEMORY_OCTAVE)
		return (unsigned)ns;
	k = 63 - (unsigned)__builtin_clzll(ns) - FUNCTIONS_MEMORY_BITS;
	n = (k << FUNCTIONS_MEMORY_BITS) + (unsigned)(ns >> k);
	return n < FUNCTIONS_MEMORY_OCTAVES * FUNCTIONS_MEMORY_OCTAVE
		   ? n
		   : FUNCTIONS_MEMORY_OCTAVES * FUNCTIONS_MEMORY_OCTAVE - 1;
}

static inline uint64_t functions_memory_ns(uint64_t time, uint64_t factor)
{
	return (uint64_t)((unsigned __int128)time * factor >> 32);
}

#endif
