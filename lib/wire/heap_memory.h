/*
 * The shared memory between a program whose heap is measured and the recorder: what the agent
 * (lib/agent/heap) writes and wire/heap.h reads. Layouts and arithmetic only: no libc.
 *
 * The agent connects to the socket that the variable CPUPERF_HEAP names, as cpuperf/mark.h does to
 * that of CPUPERF_MARKS, and asks for it (CPUPERF_MARK_ASK_HEAP): the answer has its descriptor.
 * One memory per process image, made by the recorder: a memfd, sealed against shrinking, of which
 * only the pages that are written exist. The agent adds up in it, so that nothing is lost however
 * the program ends. Everything the program writes is untrusted for the recorder; what it reads
 * while the program runs may be older by an update.
 *
 *     header | threads | classes | nodes | stacks | shards | arena
 *
 * A *node* is a function's address and the node of its caller: nodes make a tree, whose roots are
 * epochs (in each of which an address means the same code). A *stack* is a node at which memory was
 * allocated, with its sums. A *block* is an allocation that is tracked until it is freed: a record
 * of 12 bytes in a hash table, which is divided into shards, each with a lock. Their buckets and
 * directories lie in the arena, which is taken from its start.
 *
 * Samples: with a rate above 1 an allocation of s bytes is a sample with the probability p = 1 −
 * exp(−s / rate), and stands for 1/p allocations and s/p bytes. With rate 1 each one is a sample
 * and stands for itself.
 *
 * An adaptive program begins with rate 1 and takes fewer samples when they cost too much, as rare
 * as the header's rate says at most. A rate in between is a level. What a stack adds up is of one
 * level, so that a block's weight at its end is that of its beginning; a node has a stack for each
 * level at which memory was allocated there.
 */
#ifndef WIRE_HEAP_MEMORY_H
#define WIRE_HEAP_MEMORY_H

#include <stdint.h>

enum {
	HEAP_VERSION = 11,
	HEAP_MAGIC = 0x50454843, /* "CHEP" */
	HEAP_MAX_THREADS = 1024, /* with slots of their own; others share the last one */
	HEAP_NR_SHARDS = 8192,   /* a power of 2 */
	HEAP_MAX_FRAMES = 1024,  /* of a stack; the outermost ones of deeper stacks are missing */
	HEAP_BUCKET_BYTES = 512,
	HEAP_NAME_BYTES = HEAP_BUCKET_BYTES, /* with a zero byte, mangled */
	HEAP_BUCKET_BLOCKS = 42,
	HEAP_MAX_DEPTH = 16, /* of a directory */
	HEAP_MAX_NODES = 1 << 22,
	HEAP_MAX_STACKS = 1 << 20,
	HEAP_NR_PARTS = 16,     /* of a stack, and of a part */
	HEAP_NR_CLASSES = 42,   /* of sizes */
	HEAP_NR_LIVES = 8,      /* classes of lifetimes */
	HEAP_CALL = 1024,       /* weighted calls are in 1/1024 */
	HEAP_ROOT = 0xffffffff, /* as parent: the node is an epoch, and its pc a time in ns */
	HEAP_PAGES = 1u << 31,  /* of a size: the rest is in units of 4096 bytes, rounded up */
	HEAP_KEY_BITS = 32,
	HEAP_UNIT_SHIFT = 9,
	HEAP_STACK_BITS = 21,     /* HEAP_MAX_STACKS + 1 numbers */
	HEAP_UNIT_BITS = 39,      /* addresses of 48 bits */
	HEAP_FILL_MAX = 32 << 20, /* bytes of a block that is filled */
	HEAP_LEVEL_SHIFT = 24,    /* of a stack's parts: above is its level */
	HEAP_SQUARE = 1024,       /* square bytes are in these */
	HEAP_EXACT = 1,           /* the level at which each allocation is a sample */
	HEAP_MAX_LEVEL = 63,
};

/* Among the agent's constants: wire/stamp.h finds it in its file. */
#define HEAP_STAMP "cpuperf agent of heap version "
struct heap_stamp {
	char text[sizeof(HEAP_STAMP)];
	uint32_t version;
};

/* Bytes per sample: at level 0, the coarsest, as the header says, else a power of 2. */
static inline uint64_t heap_level_rate(uint32_t level, uint64_t rate)
{
	return level && level <= HEAP_MAX_LEVEL ? UINT64_C(1) << (level - 1) : rate;
}

/* Whether a has fewer samples than b. */
static inline _Bool heap_is_coarser(uint32_t a, uint32_t b)
{
	return a - 1 > b - 1;
}

/* What is wanted beyond calls and bytes by thread. */
enum heap_want {
	HEAP_WANTS_BLOCKS = 1 << 0,   /* blocks are tracked until they are freed */
	HEAP_WANTS_STACKS = 1 << 1,   /* without: all are of one stack, of node 0 */
	HEAP_WANTS_PEAK = 1 << 2,     /* the moment of the largest live amount; requires BLOCKS */
	HEAP_WANTS_OVERHEAD = 1 << 3, /* malloc_usable_size of each sample */
	/* pages that a block never touched, when it is freed; requires BLOCKS */
	HEAP_WANTS_UNTOUCHED = 1 << 4,
	HEAP_WANTS_REACH = 1 << 6, /* asks for a search at its end, and at dumps; requires BLOCKS */
	HEAP_WANTS_LIVES = 1 << 5, /* how long blocks lived that are freed; requires BLOCKS */
	/* blocks are filled, and UNTOUCHED is what still has the pattern; requires both */
	HEAP_WANTS_PATTERN = 1 << 7,
	HEAP_WANTS_FDS = 1 << 8, /* descriptors: where they are opened, until they are closed */
	HEAP_WANTS_IO = 1 << 9,  /* bytes that system calls read and wrote */
	HEAP_WANTS_THREADS = 1 << 10,
	HEAP_WANTS_EXCEPTIONS = 1 << 11,
	HEAP_WANTS_TIMES = 1 << 12,      /* how long threads ran, and how long they were there */
	HEAP_WANTS_PATHS = 1 << 13,      /* each stack's own peak; requires BLOCKS */
	HEAP_WANTS_LAST_PAGES = 1 << 14, /* a look at pages at its end; requires BLOCKS */
	HEAP_WANTS_ADAPTIVE = 1 << 15,   /* each allocation is a sample while that costs little */
};

/* What else is added up by stack, each exactly, whatever the rate: such a stack's node has this in
 * the place of an address, and the place of the call is its parent. A descriptor counts as one byte
 * and is tracked as a block at HEAP_FD_ADDRESS and 8 times its number; of what is read or written
 * each call is a sample. Peaks are without them. */
enum heap_resource {
	HEAP_RESOURCE_NONE, /* memory */
	HEAP_RESOURCE_FD,
	HEAP_RESOURCE_READ,
	HEAP_RESOURCE_WRITTEN,
	HEAP_RESOURCE_THREAD,
	HEAP_RESOURCE_THROWN,
	HEAP_RESOURCE_CAUGHT,
	HEAP_RESOURCE_CPU_TIME, /* samples by timers: each stands for its interval, in ns */
	HEAP_RESOURCE_REAL_TIME,
	HEAP_NR_RESOURCES
};

/* In the place of an address, too: the type of an exception, and its name's number in
 * HEAP_NAME_BYTES from the arena's start. Its parent is the place of the call. */
#define HEAP_TYPE (UINT64_C(1) << 63)

#define HEAP_FD_ADDRESS (UINT64_C(3) << 46) /* where no program's memory is */

static inline _Bool heap_is_fd(uint64_t address)
{
	return address - HEAP_FD_ADDRESS < UINT64_C(8) << 32;
}

/* What is not measured, and why. */
enum heap_miss {
	HEAP_MISS_NONE,
	/* programs that were executed without the agent: by loadable.h, in its order */
	HEAP_MISS_UNREADABLE,
	HEAP_MISS_FOREIGN,
	HEAP_MISS_STATIC,
	HEAP_MISS_LOADER,
	HEAP_MISS_RIGHTS,
	HEAP_MISS_SANITIZER,
	HEAP_MISS_AGENT,  /* the agent's file cannot be read */
	HEAP_MISS_ROOM,   /* no memory for an environment with the agent */
	HEAP_MISS_FILTER, /* a filter of system calls that the agent does not survive */
	/* of this program, with such a filter: */
	HEAP_MISS_CHILDREN, /* children by fork */
	HEAP_MISS_PAGES,    /* blocks whose pages were not looked at when they were freed */
	HEAP_MISS_TIMES,    /* threads are sampled no more */
	HEAP_MISS_CONNECT,  /* children by fork that could not connect */
	HEAP_MISS_LIMIT,    /* RLIMIT_AS: there is room for fewer stacks and blocks */
	HEAP_NR_MISSES
};

enum { HEAP_NR_MISSED = 16, HEAP_MISSED_BYTES = 52 };

/* A reason, and the program's name if one was executed. */
struct heap_missed {
	uint32_t state; /* 0: free; 1: it is being written; 2: it is there */
	uint32_t nr;
	uint32_t why;
	char name[HEAP_MISSED_BYTES]; /* with a zero byte */
};

struct heap_header {
	/* written by the recorder before the program receives the memory */
	uint32_t magic, version;
	uint64_t bytes; /* of the whole memory */
	uint64_t rate;  /* bytes per sample; 1: each allocation; 0: none */
	uint32_t wants; /* enum heap_want */
	uint32_t max_nodes, max_stacks, max_threads;
	uint64_t threads, nodes, stacks, shards, arena, classes; /* offsets */
	uint32_t is_closed; /* by the recorder: it reads no more */
	uint32_t is_off;    /* by the recorder, at any time: what happens now is not measured */
	uint32_t readings; /* by the recorder: odd while it reads all for the end of an iteration */
	uint32_t nr_filters; /* as magic: of system calls, that the recorder has (loadable.h) */
	/* as magic: nanoseconds between two samples of a thread's CPU time, and of its real time;
	 * 0: there are none */
	uint64_t interval_ns[2];
	uint8_t more_unused[8];
	/* written by the program, with atomic operations */
	uint64_t mapped;     /* bytes that the program could map */
	uint64_t arena_used; /* from the arena's start */
	uint32_t nr_nodes, nr_stacks, nr_threads, nr_epochs;
	/* Bytes of live blocks, by weights: now, and the largest, to find the moment of the peak.
	 * Of more threads than one each adds what changed in steps, so that it may be missing here.
	 * If is_counted of all blocks, as malloc_usable_size has them. */
	uint64_t live, peak;
	uint64_t peak_ns; /* CLOCK_MONOTONIC of the peak, within some microseconds */
	uint64_t moment;  /* increases at each new peak */
	/* what found no room, or could not be done */
	uint64_t
	    no_node; /* samples without a stack, as there was no node or stack left: at stack 0 */
	uint64_t no_block; /* blocks that are not tracked */
	uint64_t nested;   /* calls within the agent, as of a signal handler: not measured */
	uint64_t unknown;  /* frees of blocks that are not known: of before, or of no room */
	uint64_t cut;      /* stacks that do not reach the program's start */
	uint64_t deep;     /* of these, deeper than HEAP_MAX_FRAMES */
	uint64_t invalid;  /* blocks whose address or size does not fit */
	/* CLOCK_MONOTONIC at or after the last sample of a new stack: all addresses of the last
	 * epoch are mapped then. 0: there is no stack. */
	uint64_t stacks_ns;
	/* With HEAP_WANTS_TIMES: */
	uint64_t cpu_base_ns; /* the process's CPU time when it connected */
	uint64_t cpu_ns;      /* CPU time since, when it was last looked at, at */
	uint64_t seen_ns;     /* CLOCK_MONOTONIC */
	uint64_t real_ns;     /* of threads that have ended: how long each was there */
	uint32_t is_counted;
	uint32_t is_bypassed; /* another library's malloc, or the program's, is called instead */
	struct heap_missed missed[HEAP_NR_MISSED];
	/* Of an adaptive program: the level now; while it was HEAP_EXACT so many allocations were
	 * samples, in that much CPU time of the process. */
	uint32_t level, level_unused;
	uint64_t exact_samples, exact_ns;
};

/* Exact, also where samples are taken. What a thread wrote stays when it has ended. */
struct heap_thread {
	uint32_t tid;
	uint32_t is_owned;     /* 0: free, to be taken by another thread, which adds to it */
	uint64_t calls, bytes; /* of allocations, as requested; a realloc is one, and a free */
	uint64_t frees;        /* calls with a pointer */
	uint64_t max_bytes;    /* the largest single one, as requested */
	/* With HEAP_WANTS_TIMES, CLOCK_MONOTONIC: */
	uint64_t since_ns;      /* the thread is there since; 0: there is none */
	uint64_t wait_since_ns; /* it waits since, if waits is not 0 */
	uint32_t waits;         /* 1 + the number of the stack with which it waits */
	uint32_t unused;
};

/* Sampled allocations by size: number 0 is of 0 bytes, i of 2^(i - 1) to 2^i - 1, and the last of
 * all that are larger. Each thread's slot has HEAP_NR_CLASSES of them, which its thread alone
 * writes; a further row, written with atomic operations, is that of all threads that have ended or
 * no slot of their own. Weighted as in struct heap_stack; if the header's rate is 1 calls are
 * samples. Squares: heap_square of each. */
struct heap_class {
	uint64_t calls, bytes, squares;
	uint64_t freed_calls, freed_bytes, freed_squares;
};

static inline unsigned heap_class_of(uint64_t bytes)
{
	unsigned bits = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;

	return bits < HEAP_NR_CLASSES ? bits : HEAP_NR_CLASSES - 1;
}

/* Number 0 is none: a stack there has no callers, as all have that are not wanted. */
struct heap_node {
	/* A return address; of an epoch its beginning in ns of CLOCK_MONOTONIC, which is not after
	 * the first unmapping of code that ended the epoch before. */
	uint64_t pc;
	uint32_t parent; /* the number of the caller's node, or HEAP_ROOT */
	uint32_t stack;  /* 1 + the number of its stack; 0: none */
};

/* Amounts since the connection; what is live is what was allocated less what was freed. Under the
 * lock of the stack. Weights in bytes and in 1/HEAP_CALL calls; with rate 1 calls are samples, and
 * their weights are 0.
 *
 * A node has several stacks where threads had to wait for the lock: parts of one, in each of which
 * some threads allocate; not with HEAP_WANTS_PATHS, as peaks of parts do not add up. Cache lines
 * are not shared; what each call changes is in the first. */
struct heap_stack {
	uint32_t node;
	uint32_t lock;
	/* 1 + the number of the first of HEAP_NR_PARTS; 0: there are none. Above, its level. */
	uint32_t parts;
	uint32_t waits; /* for the lock, to allocate */
	/* header.moment when the peak's amounts were last stored: before the stack changes after a
	 * new peak. With an older one nothing changed since the peak: they are what is live. */
	uint64_t moment;
	uint64_t samples, bytes; /* allocated */
	uint64_t freed_samples, freed_bytes;
	uint64_t max_bytes; /* the largest single one, not weighted */

	uint64_t temporary_samples, temporary_bytes;
	uint64_t peak_samples, peak_bytes; /* live at that moment */
	/* of those freed: the ones with pages that were never touched, and weighted bytes of these
	 */
	uint64_t untouched_samples, untouched;
	uint64_t lives;    /* offset of HEAP_NR_LIVES of struct heap_life; 0: there are none */
	uint64_t overhead; /* weighted bytes beyond those requested, of all samples */

	uint64_t calls, freed_calls, temporary_calls, peak_calls;
	uint64_t own_peak_samples, own_peak_bytes; /* the most bytes that it had live at a time */
	uint64_t unused[2];
};

/* Of what was freed: blocks that lived so long. Number 0 is of less than 1 us, each further one of
 * ten times as much, the last of all that lived longer. */
struct heap_life {
	uint64_t samples, bytes, calls;
};

static inline unsigned heap_life_of(uint64_t ns)
{
	unsigned i = 0;

	for (uint64_t end = 1000; i + 1 < HEAP_NR_LIVES && ns >= end; end *= 10)
		i++;
	return i;
}

#define HEAP_FILLED (UINT32_C(1) << 31) /* of a block's stack: it was filled with heap_pattern */

/* A tracked block. */
struct heap_block {
	uint32_t key;
	/* 1 + its number, in HEAP_STACK_BITS; 0: the place is free. What is above is the agent's,
	 * but for HEAP_FILLED. */
	uint32_t stack;
	uint32_t size; /* bytes as requested, or HEAP_PAGES + pages */
};

/* Blocks whose keys begin with the same `depth` bits. Within it open addressing, by the low bits.
 */
struct heap_bucket {
	uint32_t nr;
	uint32_t depth;
	struct heap_block block[HEAP_BUCKET_BLOCKS];
};

/* Extendible hashing: the first `depth` bits of a key are an index of the directory, whose entries
 * are numbers of buckets: 1 + their distance from the arena's start in HEAP_BUCKET_BYTES. A bucket
 * of a lesser depth has several entries in a row. A full one is divided, at times after the
 * directory has doubled; nothing is moved but half of a bucket. */
struct heap_shard {
	uint32_t lock;
	uint32_t depth;
	uint64_t directory; /* offset of 1 << depth entries of 32 bits */
	uint32_t bucket;    /* the directory while depth is 0; 0: there is no bucket */
	uint32_t changes;   /* odd while blocks are moved */
	uint64_t nr;        /* blocks */
};

/* A bijection of HEAP_UNIT_BITS bits. */
static inline uint64_t heap_mix(uint64_t x)
{
	const uint64_t mask = ((uint64_t)1 << HEAP_UNIT_BITS) - 1;

	x = x * UINT64_C(0x9e3779b97f4a7c15) & mask;
	x ^= x >> 20;
	return x * UINT64_C(0xd6e8feb86659fd93) & mask;
}

/* The inverse of an odd number modulo a power of 2: each step doubles the right bits. */
static inline uint64_t heap_inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

static inline uint64_t heap_unmix(uint64_t x)
{
	const uint64_t mask = ((uint64_t)1 << HEAP_UNIT_BITS) - 1;

	x = x * heap_inverse(UINT64_C(0xd6e8feb86659fd93)) & mask;
	x ^= x >> 20;
	return x * heap_inverse(UINT64_C(0x9e3779b97f4a7c15)) & mask;
}

/* Where a block is. Blocks of one unit of 512 bytes have a shard, and mostly a bucket, in common,
 * so that allocations one after the other find it in the CPU's caches: a key is 10 bits of the
 * mixed number of the unit, the place in it in units of 8 bytes (6 bits), and the number's last 16
 * bits. False: the block cannot be tracked. */
static inline _Bool heap_place(uint64_t address, uint32_t *shard, uint32_t *key)
{
	uint64_t unit = address >> HEAP_UNIT_SHIFT, x;

	if (address & 7 || unit >> HEAP_UNIT_BITS)
		return 0;
	x = heap_mix(unit);
	*shard = (uint32_t)(x >> 26);
	*key = (uint32_t)((x >> 16 & 1023) << 22 | (address >> 3 & 63) << 16 | (x & 0xffff));
	return 1;
}

static inline uint64_t heap_address(uint32_t shard, uint32_t key)
{
	uint64_t x = (uint64_t)shard << 26 | (uint64_t)(key >> 22) << 16 | (key & 0xffff);

	return heap_unmix(x) << HEAP_UNIT_SHIFT | (key >> 16 & 63) << 3;
}

/* A size as blocks have it. Sums contain heap_size of it, so that they agree. */
static inline uint32_t heap_pack_size(uint64_t bytes)
{
	uint64_t pages = (bytes + 4095) >> 12;

	if (bytes < HEAP_PAGES)
		return (uint32_t)bytes;
	return HEAP_PAGES | (uint32_t)(pages < HEAP_PAGES ? pages : HEAP_PAGES - 1);
}

static inline uint64_t heap_size(uint32_t packed)
{
	return packed & HEAP_PAGES ? (uint64_t)(packed & ~HEAP_PAGES) << 12 : packed;
}

/* What a word of a block has until it is written: another value at each address, so that a copy of
 * it is none; and never a user's address. */
static inline uint64_t heap_pattern(uint64_t address)
{
	return address * UINT64_C(0x9e3779b97f4a7c15) | UINT64_C(1) << 63;
}

/* The bytes of those of nr words that still have it, which were read at that address. */
static inline uint64_t heap_unwritten(const uint64_t *word, uint64_t nr, uint64_t address)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < nr; i++)
		sum += word[i] == heap_pattern(address + i * sizeof(*word));
	return sum * sizeof(*word);
}

/* The whole pages of a block: their bytes, and *begin. A size in pages was rounded up. */
static inline uint64_t heap_whole_pages(uint64_t address, uint32_t packed, uint64_t page,
					uint64_t *begin)
{
	uint64_t end = address + heap_size(packed) - (packed & HEAP_PAGES ? 4095 : 0);

	*begin = (address + page - 1) & ~(page - 1);
	end &= ~(page - 1);
	return end > *begin ? end - *begin : 0;
}

/* What a sampled allocation of that many bytes stands for. */
struct heap_weight {
	uint64_t bytes, calls; /* calls in 1/HEAP_CALL */
};

/* 1 − exp(−x) for x > 0, without a library. */
static inline double heap_chance(double x)
{
	double square, e;
	int halves = 0;

	if (x > 40)
		return 1;
	for (; x > 0.25; halves++)
		x /= 2;
	/* expm1 of −x, to 1e-16 of it; then (1 − p)² = 1 − p (2 − p) */
	e = x *
	    (1 -
	     x / 2 *
		 (1 -
		  x / 3 *
		      (1 -
		       x / 4 *
			   (1 -
			    x / 5 *
				(1 -
				 x / 6 *
				     (1 - x / 7 * (1 - x / 8 * (1 - x / 9 * (1 - x / 10)))))))));
	for (; halves; halves--) {
		square = e * (2 - e);
		e = square;
	}
	return e;
}

static inline struct heap_weight heap_weigh(uint64_t bytes, uint64_t rate)
{
	struct heap_weight w = {bytes, 0};
	double p;

	if (rate <= 1)
		return w;
	p = heap_chance((double)(bytes ? bytes : 1) / (double)rate);
	w.bytes = (uint64_t)((double)bytes / p + 0.5);
	w.calls = (uint64_t)(HEAP_CALL / p + 0.5);
	return w;
}

/* How much the sum of weights varies by a sample of that many bytes: its weight times what of it is
 * left to chance, in units of HEAP_SQUARE, at least one. */
static inline uint64_t heap_square(uint64_t weight, uint64_t bytes)
{
	const double most = (double)(UINT64_C(1) << 56);
	double square =
	    (double)weight * (double)(weight > bytes ? weight - bytes : 0) / HEAP_SQUARE;

	return (uint64_t)(square < most ? square : most) + 1;
}

#endif
