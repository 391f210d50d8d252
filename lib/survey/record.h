/*
 * What existed before the session, as the records that the kernel would have written to the
 * side-band. Source: linux/perf_event.h (enum perf_event_type), perf_event_comm_output and others
 * in kernel/events/core.c.
 */
#ifndef SURVEY_RECORD_H
#define SURVEY_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct elf_build_id;
struct proc_mapping;
struct survey_function;

/* The longest record. */
enum { SURVEY_RECORD_MAX_BYTES = 8192 };

/* The task that a record describes, and CLOCK_MONOTONIC when that was read. */
struct survey_task {
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* Each appends one complete record to *out. Failures stick in the buffer. */
void survey_record_fork(struct buf *out, const struct survey_task *t, uint32_t parent_pid,
			uint32_t parent_tid);
/* Names are truncated to 15 bytes, as by the kernel. */
void survey_record_comm(struct buf *out, const struct survey_task *t, const char *name, size_t len);
/* Without an id (NULL or empty), the record has device and inode. A mapping without a name is
 * called "//anon", one with a name of more than 4,095 bytes "//toolong". */
void survey_record_mmap2(struct buf *out, const struct survey_task *t, const struct proc_mapping *m,
			 const struct elf_build_id *id);
/* A function of a BPF program; belongs to no task. */
void survey_record_ksymbol(struct buf *out, uint64_t time_ns, const struct survey_function *f);

#endif
