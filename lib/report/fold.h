/*
 * Samples that agree, counted before anything is known of their addresses: a table of a fixed size,
 * which is emptied into what resolves them when it is full. So the work of a sample is a hash of
 * its stack, and that of names is done once for many samples, while memory does not grow with their
 * number. One per thread.
 */
#ifndef REPORT_FOLD_H
#define REPORT_FOLD_H

#include "report/entry.h"

struct report_fold;

/* All that samples must agree in. Compared as bytes: no padding. */
struct report_fold_key {
	struct report_key key;
	uint32_t process; /* number of its life */
	uint32_t epoch;   /* which mappings it had: see profile_lookup_epoch */
	uint32_t kernel_epoch;
	uint32_t nr_kernel; /* the first of the addresses */
	uint32_t nr_addresses;
};

enum { REPORT_MAX_DEPTH = 1024 }; /* addresses of a stack; what is deeper is cut */

struct report_folded {
	struct report_fold_key key;
	const uint64_t *addresses; /* nr_addresses */
	struct report_weight weight;
	uint64_t time_ns;    /* of one of them */
	const void *process; /* of one of them: what was given */
};
typedef int report_folded_fn(void *arg, const struct report_folded *f);

struct report_fold *report_fold_new(report_folded_fn *empty, void *arg); /* NULL: no memory */
void report_fold_free(struct report_fold *f);                            /* NULL is fine */
/* 0, or what emptying returned. */
int report_fold_add(struct report_fold *f, const struct report_fold_key *key,
		    const uint64_t *addresses, uint64_t weight, uint64_t time_ns,
		    const void *process);
/* Empties it. */
int report_fold_flush(struct report_fold *f);

#endif
