/*
 * Records of perf.data files, as in linux/perf_event.h: the kernel's, converted to a layout in
 * which each record names its event and CPU, so that many events can share one stream; and those
 * that the file needs besides. Errors of memory are the buffer's.
 */
#ifndef EXPORT_PERF_RECORD_H
#define EXPORT_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* The layout of a record, from the attr of its event. */
struct perf_layout {
	uint64_t sample_type, read_format;
	bool has_sample_id; /* sample_id_all: records other than samples end with task and time */
	bool has_weight;    /* samples have weights of their own, which are written as periods */
};
/* The layout that perf_record_add writes: IDENTIFIER and CPU in each record, an IP in each sample
 * and an id beside each count; with has_weight a PERIOD; with a copy of the stack also a callchain,
 * without which readers ignore the copy. */
struct perf_layout perf_layout_written(const struct perf_layout *l);

/* What a record belongs to, and how to change it. */
struct perf_origin {
	struct perf_layout layout; /* of the input */
	uint64_t id;
	uint32_t cpu; /* if the record has none */
	/* The id of the event whose count is at place i of a sample; 0: not known. */
	uint64_t (*member)(void *arg, uint64_t i);
	/* The count to write in place of a count of that id. NULL: the count itself. */
	uint64_t (*count)(void *arg, uint64_t id, uint64_t count);
	void *arg;
	/* Of a sample: */
	uint64_t ip; /* if it has none; its mode becomes user with is_user_ip */
	bool is_user_ip;
	uint64_t weight;      /* with has_weight */
	const uint8_t *stack; /* the copy of the user stack in the record; NULL: none */
	bool drops_user;      /* leave out the user part of the callchain, which readers unwind */
	/* A callchain, with its context marks, that replaces the record's; registers and stack,
	 * which are dump_len bytes from dump on (NULL: none), are then omitted. NULL: copy its
	 * own. */
	const uint64_t *chain;
	size_t nr_chain;
	const uint8_t *dump;
	size_t dump_len;
	/* It describes what existed before the session: its time becomes 0, so that readers apply
	 * it at once. A fork then does not copy the parent's mappings. */
	bool is_before;
};

/*
 * Appends the record at p (len bytes, a multiple of 8) in the layout of perf_layout_written. If it
 * became longer than a record can be, a sample's copy of the user stack is cut at its outer end. 0;
 * -EINVAL: its length does not match its layout; -E2BIG: too long without a stack to cut. Nothing
 * is appended after an error.
 */
int perf_record_add(struct buf *out, const struct perf_origin *o, const uint8_t *p, size_t len);

/* A range of kernel addresses: PERF_RECORD_MMAP without a process. The kernel itself is named
 * "[kernel.kallsyms]_text", with the address of that symbol as offset. id: of the event of
 * side-band records. */
struct perf_kernel_range {
	uint64_t start, len, offset;
	const char *name; /* cut at 4,095 bytes */
};
void perf_record_kernel(struct buf *out, const struct perf_kernel_range *r, uint64_t id);
/* PERF_RECORD_FINISHED_ROUND: no later record is older than the round before. */
void perf_record_round(struct buf *out);
/* Makes readers drop the mappings of a process, as needed before an exec: perf 6.1 does not drop
 * the old ones and confuses them with the new when it unwinds. Written as a fork of the process
 * from itself, which copies no mappings. */
void perf_record_forget(struct buf *out, uint32_t pid, uint64_t time_ns, uint32_t cpu, uint64_t id);
/* PERF_RECORD_LOST_SAMPLES: the kernel's count of lost samples. */
void perf_record_lost_samples(struct buf *out, uint64_t nr, uint64_t time_ns, uint32_t cpu,
			      uint64_t id);

#endif
