/*
 * Which methods HotSpot has inlined where in code that it compiled, by what it keeps to go on in
 * its interpreter. It says so of some instructions: where calls return to, where the code may be
 * stopped, and where it may fault. What is before one of them, back to the last, is ascribed to it:
 * so a return address is exact, and another address may be of a method beside.
 */
#ifndef RUNTIMES_SCOPES_H
#define RUNTIMES_SCOPES_H

#include "runtimes/jvm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a block says of it. Addresses of the process: where each part is. */
struct scopes_of {
	uint64_t places, places_end;   /* PcDesc */
	uint64_t scopes, scopes_end;   /* compressed */
	uint64_t methods, methods_end; /* pointers */
	uint64_t method;               /* that was compiled: all scopes end there */
	uint32_t code_bytes;
};

/* The parts by the head of a block: blob, of so many bytes, is at that address. False: this version
 * does not say. code_bytes and method remain. */
bool scopes_place(const struct jvm *jvm, uint64_t at, const uint8_t *blob, size_t bytes,
		  struct scopes_of *out);

struct scopes;
/* NULL: no memory. */
struct scopes *scopes_new(void);
void scopes_free(struct scopes *s); /* NULL is fine */
/* A look begins, at the code that is there now: what was read of methods is read again. jvm:
 * borrowed until the next one. */
void scopes_begin(struct scopes *s, const struct jvm *jvm);
/* *out: as sessions have them (trace/scopes.h), valid until the next call. False: there are none,
 * or they cannot be read, or contradict each other, or the thread has used until_ns of CPU time
 * (clock_thread_cpu_ns) before all are read. The code has been there since scopes_begin; if it
 * still is afterwards, so were all its methods. */
bool scopes_find(struct scopes *s, const struct scopes_of *of, uint64_t until_ns,
		 const uint8_t **out, uint32_t *out_bytes);
/* How much of the process that has read, whatever it returned. */
size_t scopes_nr_read(const struct scopes *s);

#endif
