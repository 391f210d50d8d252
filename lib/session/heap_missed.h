/*
 * What is not measured of the heaps of processes, as their agents state it: by reason and by name
 * of a program, since the last notes.
 */
#ifndef SESSION_HEAP_MISSED_H
#define SESSION_HEAP_MISSED_H

#include "wire/heap.h"
#include "wire/heap_memory.h"

#include <stddef.h>
#include <stdint.h>

enum { SESSION_HEAP_MAX_MISSED = 64 }; /* further names are only counted */

/* Zeroes are fine. */
struct session_heap_missed {
	struct session_heap_miss {
		uint32_t why; /* enum heap_miss */
		uint64_t nr;
		char name[WIRE_HEAP_MISSED_BYTES];
	} item[SESSION_HEAP_MAX_MISSED];
	size_t nr;
	uint64_t more[HEAP_NR_MISSES];
};

/* Adds what the memory has more than seen, which is renewed. */
void session_heap_missed_add(struct session_heap_missed *to, const struct wire_heap *memory,
			     uint32_t seen[WIRE_HEAP_NR_MISSED]);
/* All but those of that reason. */
void session_heap_missed_forget(struct session_heap_missed *m, enum heap_miss but);
/* In words; "": nothing. */
void session_heap_missed_note(const struct session_heap_missed *from, enum heap_miss why,
			      char *text, size_t bytes);

#endif
