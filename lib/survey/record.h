/*
 * What was there before the session, as records: those that the kernel would have written into
 * the side-band's ring, had it been there. Source: linux/perf_event.h (enum perf_event_type),
 * perf_event_comm_output and its like in kernel/events/core.c.
 */
#ifndef SURVEY_RECORD_H
#define SURVEY_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct elf_build_id;
struct proc_mapping;
struct survey_function;

/* No record is longer. */
enum { SURVEY_RECORD_MAX_BYTES = 8192 };

/* Whom a record is about, and CLOCK_MONOTONIC when that was so. */
struct survey_task {
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* Each appends one whole record to *out; failures stick there. */
void survey_record_fork(struct buf *out, const struct survey_task *t, uint32_t parent_pid,
			uint32_t parent_tid);
/* A name longer than the kernel's is cut as the kernel cuts it: at 15 bytes. */
void survey_record_comm(struct buf *out, const struct survey_task *t, const char *name, size_t len);
/* id: NULL or none: the file's device and inode are told in its place. Memory without a name is
 * "//anon", a name of more than 4,095 bytes "//toolong". */
void survey_record_mmap2(struct buf *out, const struct survey_task *t, const struct proc_mapping *m,
			 const struct elf_build_id *id);
/* Code of a BPF program; of no task. */
void survey_record_ksymbol(struct buf *out, uint64_t time_ns, const struct survey_function *f);

#endif
