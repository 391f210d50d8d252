/*
 * perf.data as one of the sessions: opening it, and where the kernel's symbols come from, which it
 * does not hold.
 */
#ifndef CPUPERF_PRINT_PERF_DATA_H
#define CPUPERF_PRINT_PERF_DATA_H

#include "job.h"

/* -errno with *e. */
int perf_data_open(struct job *j, struct opened *o, struct err *e);
/* True if it was recorded here since the last boot: the host and the kernel are the same ones, and
 * the kernel is where it was. */
bool perf_data_is_same_boot(struct job *j, const struct opened *o);
/* An import_known_fn; arg is the job. Begins to read the symbols of the kernel that runs, by a
 * thread of its own: it takes as long as to look through a file. Once, if names will be asked for
 * and it is the kernel of the file. */
struct import_facts;
void perf_data_read_ahead(void *arg, const struct import_facts *f);
void perf_data_end_reading(struct job *j);
/* Gives o->symbols what is known of the kernel; what is not is told. 0 or -ENOMEM. */
int perf_data_add_kernel(struct job *j, struct opened *o);
/* Its summary: who recorded what, and what became of it. 0 or -errno with *e. */
int report_perf_data_print(struct job *j, size_t first, struct err *e);

#endif
