/*
 * Samples that agree, counted together: a table of a fixed size, which is emptied into the report
 * when it is full. So memory does not grow with the number of samples, and the report, which is
 * behind a lock, is met once for many of them. One per thread.
 */
#ifndef REPORT_FOLD_H
#define REPORT_FOLD_H

#include "report/entry.h"

struct report_fold;

enum {
	REPORT_MAX_FRAMES = 2048, /* of a stack */
	REPORT_FOLD_FULL = UINT32_MAX,
};

/* What entries are given to. */
typedef int report_folded_fn(void *arg, const struct report_entry *e);

struct report_fold *report_fold_new(report_folded_fn *empty, void *arg); /* NULL: no memory */
void report_fold_free(struct report_fold *f);                            /* NULL is fine */
/* The place of the entry of these frames (at most REPORT_MAX_FRAMES), which is made without samples
 * if it is not there; REPORT_FOLD_FULL: empty it first. */
uint32_t report_fold_place(struct report_fold *f, const struct report_key *key,
			   const struct report_frame *frames, size_t nr_frames);
/* One more sample of the entry at a place; places hold until the table is emptied. */
void report_fold_count(struct report_fold *f, uint32_t place, uint64_t weight);
/* 0, or what empty returned. */
int report_fold_empty(struct report_fold *f);

#endif
