/*
 * Who woke the task whose wait a sample is of, from the sample's raw data, as a sample of its own
 * that unwinding and reports process like any other. If an interrupt woke it, that is the task that
 * was interrupted, and the kernel's part of the callchain begins with the interrupt. Untrusted, as
 * all records.
 */
#ifndef TRACE_WAKER_H
#define TRACE_WAKER_H

#include "trace/record.h"

enum {
	TRACE_WAKER_MAX_WORDS = 256,
	TRACE_WAKER_MAX_USER = 120,    /* words of the program's part */
	TRACE_WAKER_USER_BYTES = 704,  /* raw data up to them, */
	TRACE_WAKER_STACK_BYTES = 1664 /* and to the stack bytes */
};

struct trace_waker {
	char comm[16]; /* NUL-terminated, not cleaned */
	/* Callchain, registers and stack bytes; pid and tid of the waker; when it woke. Registers
	 * and bytes are borrowed from the raw data, the callchain from words. */
	struct trace_record record;
	struct trace_layout layout;
	uint64_t words[TRACE_WAKER_MAX_WORDS];
};

/* The version of raw data of a wait that had not ended: nobody has woken the task yet. */
enum { TRACE_WAKER_LASTS = 2 };
/* True of a sample with that version, in a layout whose samples have wakers. */
bool trace_waker_lasts(const struct trace_layout *l, const struct trace_record *sample);

/* Of a sample in that layout. False: it has none, or it is invalid. */
bool trace_waker_decode(const struct trace_layout *l, const struct trace_record *sample,
			struct trace_waker *out);
/* How many words of the program's part, and bytes of the stack, raw data says that it has. Of at
 * least USER_BYTES, which trace_waker_decode accepted. */
void trace_waker_set_user(uint8_t *raw, uint32_t nr);
void trace_waker_set_stack(uint8_t *raw, uint32_t bytes);

#endif
