/*
 * A PERF_RECORD_SAMPLE of a wait or of an added up stack, as the ring of its event would have it.
 */
#ifndef SESSION_SAMPLE_RECORD_H
#define SESSION_SAMPLE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct perf_event_attr;

/* Lists are borrowed. */
struct sample_record {
	uint64_t id; /* of the event, where its samples have one */
	uint32_t pid, tid, cpu;
	uint64_t time_ns, period;
	uint64_t wait_ns; /* in the raw data */
	uint32_t wait_version;
	uint64_t futex; /* at which it waits, in the raw data; 0: none */
	uint32_t owner; /* of it */
	uint32_t nr_kernel, nr_user;
	const uint64_t *kernel, *user; /* innermost first; marks among them are skipped */
	uint64_t regs_abi;             /* PERF_SAMPLE_REGS_ABI_…; 0: none */
	const uint64_t *regs;          /* 64 of them, by bit of perf_regs.h */
	const uint8_t *stack;          /* from the stack pointer on */
	uint32_t stack_bytes;
	/* The raw data of a record of what it interprets (trace/interpreted.h), without its tail,
	 * and its id; NULL: none. */
	const uint8_t *interpreted;
	uint32_t interpreted_bytes;
	uint64_t interpreted_id;
};

/* Adds it to *out, directly behind that of what it interprets. attr: that of the event as it was
 * opened. False: its samples have fields that only the kernel knows, or the record would be too
 * long; nothing is added. Errors stick in *out.
 */
bool sample_record_add(struct buf *out, const struct perf_event_attr *attr,
		       const struct sample_record *r);

#endif
