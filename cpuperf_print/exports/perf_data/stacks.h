/*
 * What a sample of a perf.data file must have so that other readers find its callers as we do.
 * Knows nothing of files and filters.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PERF_DATA_STACKS_H
#define CPUPERF_PRINT_EXPORTS_PERF_DATA_STACKS_H

#include "export/perf_record.h"
#include "job.h"

struct profile_item;
struct profile_lookup;

/* Zero-initialise by stacks_init. */
struct stacks {
	struct elf_finder *finder; /* owned; it tells nobody what it does not find */
	struct profile_lookup *lookup;
	struct unwinder *unwinder; /* owned; NULL: of this machine there is none */
	const char *machine;
	bool has_dumps;             /* samples have pieces of the program's stack */
	struct report_stack *stack; /* owned */
	uint64_t *chain;            /* owned */
};

/* The lookup is borrowed. 0 or -ENOMEM; then nothing is owned. */
int stacks_init(struct stacks *s, const struct job *j, const struct input *o,
		struct profile_lookup *lookup);
void stacks_fini(struct stacks *s);
/* Sets the address, the callchain and the stack of a sample. */
void stacks_set(struct stacks *s, const struct profile_item *item, struct perf_origin *o);
/* Of a mapping of code, which goes out next: appends, if samples have stacks, those of the file's
 * data that are only read. Readers find unwind tables by them, but the kernel is asked to tell
 * mappings of code alone. */
void stacks_put_data(const struct stacks *s, struct buf *out, const struct profile_item *item,
		     const struct perf_origin *o);

#endif
