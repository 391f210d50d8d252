/*
 * Records of perf.data files, as linux/perf_event.h lays them out: those of the kernel in a layout
 * in which many events can lie in one stream, so that each says by itself which event and CPU it is
 * of; and those that a file needs besides. Knows bytes, not sessions.
 *
 * Failures to find memory are the buffer's (buf_error).
 */
#ifndef EXPORT_PERF_RECORD_H
#define EXPORT_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* What the attr of a record's event says of its layout. */
struct perf_layout {
	uint64_t sample_type, read_format;
	bool has_sample_id; /* sample_id_all: records that are no samples end with who and when */
};
/* What perf_record_add makes of it: IDENTIFIER and CPU in each record, an IP in each sample, and an
 * id beside each count that it holds; with a copy of the stack, which readers look into only then,
 * a callchain. */
struct perf_layout perf_layout_told(const struct perf_layout *l);

/* Whose a record is. */
struct perf_origin {
	struct perf_layout layout; /* as it stands */
	uint64_t id;
	uint32_t cpu; /* where the record does not say */
	/* The id of the event whose count is at place i of a sample; 0: not known. */
	uint64_t (*member)(void *arg, uint64_t i);
	/* What is told in place of a count of that id: what readers shall find since the sample
	 * before. NULL: the count. */
	uint64_t (*count)(void *arg, uint64_t id, uint64_t count);
	void *arg;
	/* Of a sample: */
	uint64_t ip; /* where it has none; then with a mode: user, or as it is */
	bool is_user_ip;
	const uint8_t *stack; /* the copy of the user's stack in the record; NULL: there is none */
	bool drops_user;      /* of its callchain, the program's part: the stack tells it */
	/* A callchain in place of its own, with its marks; then without registers and stack, which
	 * are dump_len bytes from dump on (NULL: there are none). NULL: its own. */
	const uint64_t *chain;
	size_t nr_chain;
	const uint8_t *dump;
	size_t dump_len;
	/* It tells of what was there before all that is measured: it has the time 0 then, at which
	 * readers take it at once. Of a fork: the space of the parent is not the child's. */
	bool is_before;
};

/*
 * Appends the record at p (len bytes: all of it, a multiple of 8) as perf_layout_told has it. Where
 * it would be longer than a record can be, a sample's copy of the user's stack is cut at its far
 * end. 0; -EINVAL: it is not as long as its layout says; -E2BIG: it has no stack that could be cut.
 * Nothing is appended then.
 */
int perf_record_add(struct buf *out, const struct perf_origin *o, const uint8_t *p, size_t len);

/* A range of the kernel's addresses: PERF_RECORD_MMAP of no process. Of the kernel itself name is
 * "[kernel.kallsyms]_text" with the address of that symbol as offset. id: the event of side-band
 * records (whose layout is TID, TIME, CPU, IDENTIFIER). */
struct perf_kernel_range {
	uint64_t start, len, offset;
	const char *name; /* cut at 4,095 bytes */
};
void perf_record_kernel(struct buf *out, const struct perf_kernel_range *r, uint64_t id);
/* Readers may give what they hold back: nothing that comes is older than the round before. */
void perf_record_round(struct buf *out);
/* Before an exec: perf 6.1 keeps what a process had mapped then beside what it maps after, and
 * takes the one for the other when it unwinds. A process that forks itself off, without its
 * mappings, has none. */
void perf_record_forget(struct buf *out, uint32_t pid, uint64_t time_ns, uint32_t cpu, uint64_t id);
/* The kernel's own count of samples that were lost: PERF_RECORD_LOST_SAMPLES. */
void perf_record_lost_samples(struct buf *out, uint64_t nr, uint64_t time_ns, uint32_t cpu,
			      uint64_t id);

#endif
