/*
 * What is not measured of the heaps of processes, as their agents state it: by reason and by name
 * of a program, since the last notes.
 */
#ifndef HEAP_MISSED_H
#define HEAP_MISSED_H

#include "wire/heap.h"
#include "wire/heap_memory.h"

#include <stddef.h>
#include <stdint.h>

enum { HEAP_MAX_MISSED = 64 }; /* further names are only counted */

/* Zeroes are fine. */
struct heap_missed_all {
	struct heap_missed_one {
		uint32_t why; /* enum heap_miss */
		uint64_t nr;
		char name[WIRE_HEAP_MISSED_BYTES];
	} item[HEAP_MAX_MISSED];
	size_t nr;
	uint64_t more[HEAP_NR_MISSES];
};

/* Adds what the memory has more than seen, which is renewed. */
void heap_missed_add(struct heap_missed_all *to, const struct wire_heap *memory,
		     uint32_t seen[WIRE_HEAP_NR_MISSED]);
/* All but those of that reason. */
void heap_missed_forget(struct heap_missed_all *m, enum heap_miss but);
/* In words; "": nothing. */
void heap_missed_note(const struct heap_missed_all *from, enum heap_miss why, char *text,
		      size_t bytes);

#endif
