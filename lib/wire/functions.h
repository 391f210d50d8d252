/*
 * The recorder's end of the memory in which a program adds up its calls by function
 * (wire/functions_memory.h).
 *
 * The program may write anything there, at any time: each word is read once and checked. At worst
 * the program's own numbers are wrong.
 *
 * Threads: one at a time uses a memory.
 */
#ifndef WIRE_FUNCTIONS_H
#define WIRE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_FUNCTIONS_BUCKETS = 624, WIRE_FUNCTIONS_PATH = 472, WIRE_FUNCTIONS_MOVED = 19 };

struct wire_functions;
struct wire_functions_pages;

/* Of the memory, as mappings show it. */
#define WIRE_FUNCTIONS_FILE "cpuperf-functions"

struct wire_functions_config {
	uint32_t wants;    /* enum functions_memory_want */
	uint64_t factor;   /* ns of a unit of time, times 2^32 */
	int wanted;        /* a descriptor of wire_functions_want, borrowed */
	uint32_t recorder; /* as wire_number has it */
};

/* What is replaced in a file (patch/plan.h). depth: how many bytes deeper than at the function's
 * begin the stack is there, where that has ends. */
struct wire_functions_site {
	uint64_t offset;
	uint8_t len, moved_len, depth, old[WIRE_FUNCTIONS_MOVED];
};
/* A file in which calls are measured, and where in it. */
struct wire_functions_place {
	uint64_t offset, size;            /* in the file; size 0: at the offset alone */
	struct wire_functions_site begin; /* len 0: the compiler has put a call there */
	/* Where calls end, if they have times. */
	const struct wire_functions_site *exit; /* borrowed */
	size_t nr_exits;
};
struct wire_functions_file {
	const char *path;
	uint32_t major, minor;
	uint64_t inode;
	const struct wire_functions_place *place; /* by offset */
	size_t nr;
};
/* Makes the list of what is measured, for programs to read. *fd: the caller's. 0 or -errno. */
int wire_functions_want(const struct wire_functions_file *files, size_t nr, int *fd);

/* For all programs of a session: all but wanted, which becomes -1: nothing is measured. Takes 2 ms
 * if times are wanted. */
void wire_functions_configure(struct wire_functions_config *config, bool has_times);

/* Makes the memory, with its header. *fd: for the program, to be closed. 0 or -errno. */
int wire_functions_new(const struct wire_functions_config *config, struct wire_functions **out,
		       int *fd);
/* The program sees by a word in the memory that nobody reads it any more, and replaces no
 * instruction from then on. True: it is doing so; to be asked again. */
bool wire_functions_end(struct wire_functions *f);
/* Ends it, too. NULL is fine. */
void wire_functions_free(struct wire_functions *f);

/* Begins a reading, which what follows here is part of, but for wire_functions_leave_out. What the
 * program has not written is not read, as that would make pages. pages: borrowed until the end. */
void wire_functions_look(struct wire_functions *f, struct wire_functions_pages *pages);
/* Ends it. False: there was more to look at than a program's threads and functions need, and the
 * rest was not read. */
bool wire_functions_rest(struct wire_functions *f);
/* For one reading at a time. To be freed by mem_free. NULL: no memory. */
struct wire_functions_pages *wire_functions_pages_new(void);

/* Numbers of functions are below this one. */
uint32_t wire_functions_nr(const struct wire_functions *f);
/* The address that stands for the function, in the program; 0: the number is none. That of the
 * beginning of the function, or of a place behind it. */
uint64_t wire_functions_address(const struct wire_functions *f, uint32_t number);

/* The program measures the function no longer, or again. One whose instructions were replaced is
 * counted on, without times. */
void wire_functions_leave_out(struct wire_functions *f, uint32_t number, bool is_out);

/* Of a function in all threads, cumulative. */
struct wire_functions_sum {
	uint64_t calls; /* that began */
	/* of those that ended: */
	uint64_t wall_ns, self_ns, max_ns;
	uint64_t cost_ns; /* of measuring, in wall_ns: an estimate */
};
/* Adds to *sum, and to the buckets: as a trace's histogram. NULL: without them. */
void wire_functions_add(const struct wire_functions *f, uint32_t number,
			struct wire_functions_sum *sum, uint64_t bucket[WIRE_FUNCTIONS_BUCKETS]);

/* What a call costs, as the program has tried it: ns; 0: it has not. */
double wire_functions_price(const struct wire_functions *f);

/* What the program has mapped at an address. */
struct wire_functions_object {
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	char path[WIRE_FUNCTIONS_PATH]; /* as the kernel wrote it, and without control characters */
};
/* False: the program does not say. */
bool wire_functions_object(const struct wire_functions *f, uint64_t address,
			   struct wire_functions_object *out);

/* What limits the numbers. */
struct wire_functions_limits {
	uint64_t missed;  /* calls that are not counted */
	uint64_t untimed; /* calls that began and whose end was not seen, or without a time */
	uint32_t joined;  /* threads whose calls have no times, as there were too many */
	uint32_t patched, unpatched; /* entries that the compiler prepared */
	uint32_t placed, unplaced;   /* places where instructions were replaced, and others */
	uint32_t timed, half;        /* of placed: with all their ends; those that should be */
	int unplaced_error;          /* why, of the last one: as errno; 0: not known */
};
void wire_functions_limits(const struct wire_functions *f, struct wire_functions_limits *out);

#endif
