/*
 * The fields of a perf.data sample from which other readers find the same callers as reports do.
 * Must not depend on files or filters.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PERF_DATA_STACKS_H
#define CPUPERF_PRINT_EXPORTS_PERF_DATA_STACKS_H

#include "export/perf_record.h"
#include "job.h"

struct profile_item;
struct profile_lookup;
struct symbol_living;

/* Zero-initialise by stacks_init. */
struct stacks {
	struct elf_finder *finder; /* owned; reports no missing files */
	struct profile_lookup *lookup;
	struct unwinder *unwinder;    /* owned; NULL: not supported on this machine */
	struct symbols *symbols;      /* owned */
	struct symbol_living *living; /* owned; NULL: none */
	const char *machine;
	bool has_dumps;             /* samples contain stack bytes */
	struct report_stack *stack; /* owned */
	uint64_t *chain;            /* owned */
};

/* The lookup is borrowed. 0 or -ENOMEM; then nothing is owned. */
int stacks_init(struct stacks *s, const struct job *j, const struct input *o,
		struct profile_lookup *lookup);
void stacks_fini(struct stacks *s);
/* Sets the address, the callchain and the stack of a sample. */
void stacks_set(struct stacks *s, const struct profile_item *item, struct perf_origin *o);
/* Call before a mapping of code is written: if samples have stacks, appends mappings of the file's
 * read-only data. Readers find unwind tables through them, but sessions record only mappings of
 * code. */
void stacks_put_data(const struct stacks *s, struct buf *out, const struct profile_item *item,
		     const struct perf_origin *o);

#endif
