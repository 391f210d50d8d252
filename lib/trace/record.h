/*
 * Decodes records as the kernel wrote them into a ring. Every record is untrusted: its size, counts
 * and strings are checked against the bytes there are. Layouts are those of base/perf_abi.h. Knows
 * nothing of files or processes.
 */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include "base/perf_abi.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The layout of the records of one perf event, from its perf_event_attr. */
struct trace_layout {
	uint64_t sample_type, read_format, branch_sample_type;
	uint64_t period; /* of each sample, if samples have none; 0: by frequency */
	unsigned nr_user_regs, nr_intr_regs;
	uint64_t user_regs, intr_regs; /* bits of perf_regs.h of the machine */
	bool is_freq, has_sample_id;   /* attr.freq (and not 0), attr.sample_id_all */
	bool is_inherited;             /* attr.inherit */
	bool is_selected;              /* sampled by the clocks of CPUs: perf_abi_is_selected */
	bool is_completed;     /* the reader makes samples of the rest: perf_abi_is_completed */
	bool excludes_kernel;  /* attr.exclude_kernel */
	bool stays_in_process; /* attr.inherit_thread */
	bool has_build_id; /* attr.build_id: otherwise PERF_RECORD_MISC_MMAP_BUILD_ID is checked for
			      plausibility */
	uint16_t max_stack; /* addresses of a callchain: the limit in force; 0: not stored */
	uint32_t type;      /* attr.type */
	uint64_t config;    /* attr.config */
	bool has_returns;   /* raw data has return addresses: trace_returns_find */
	bool is_of_ended;   /* calls: raw data has the function, and the rest is its caller's */
	bool has_waker;     /* raw data may have who ended the wait: trace/waker.h */
	bool is_heap; /* of a program's heap: perf_abi_heap; with a period of 1 each is a sample */
	bool is_sampled_time; /* of these: seen as often as there are samples, of any weight */
	bool is_maximum;      /* of these: weights do not add up, the largest one counts */
	bool is_wait; /* of a wait, whose weight is calculated from its raw data: perf_abi_wait */
	bool is_by_switches; /* of waits that the reader makes: each counts as what it lasted */
};
/* attr: bytes as a trace stores them. False if they are too short or inconsistent, or ask for
 * fields that are younger than this reader. */
bool trace_layout_init(struct trace_layout *l, const void *attr, size_t len);
struct trace_event;
/* Attr nr of an event, which has them one after the other; sets its size in bytes and its layout.
 * NULL: there is none that can be read. */
const uint8_t *trace_layout_nth(const struct trace_event *e, uint32_t nr, uint32_t *size,
				struct trace_layout *l);
/* The layout of records of tasks and mappings: TID and TIME at the end. is_made: they were made
 * from /proc, so a mapping marked as having a build-id has one; of the kernel's, see
 * holds_build_id. */
void trace_layout_side_band(struct trace_layout *l, bool is_made);
/* The event is sampled: it has a period or a frequency. */
bool trace_layout_is_sampled(const struct trace_layout *l);
/* Of a heap whose samples stand for different amounts by chance: their raw data says for which. */
static inline bool trace_layout_has_units(const struct trace_layout *l)
{
	return l->is_heap && l->sample_type & PERF_SAMPLE_RAW;
}
/* The event happens once for all who sample it (perf_abi_shares_data): in its samples Linux may
 * leave the id of another listener, and a size as if they had the other's fields, too (seen
 * with 6.18): what is behind their own has no meaning. */
bool trace_layout_shares_data(const struct trace_layout *l);
/* Its records contain the id of their event. */
bool trace_layout_has_id(const struct trace_layout *l);
/* Size of the id at the end of its records other than samples. */
size_t trace_layout_id_bytes(const struct trace_layout *l);
/* Where a word is in records: in samples its index from the first word after the header, in others
 * from the last word of the id back, which is 1. */
struct trace_place {
	unsigned of_sample, of_other;
	bool is_there;
	size_t id_bytes;
};
void trace_layout_id_place(const struct trace_layout *l, struct trace_place *out);
/* f: a field before READ; of other records than samples, one of perf_abi_id_fields. */
void trace_layout_place(const struct trace_layout *l, enum perf_abi_field f,
			struct trace_place *out);

enum { TRACE_MAX_BUILD_ID_BYTES = 20 };
/* A pid, tid or CPU that the record does not contain, or the kernel did not know: it writes this as
 * pid and tid of a task that has ended. */
enum { TRACE_UNKNOWN = UINT32_MAX };

/* What is known of a wait beside its event. */
enum trace_wait {
	TRACE_WAIT_OF_EVENT,   /* its state is the event's */
	TRACE_WAIT_BOTH,       /* blocked, and then for a CPU: in what shares is not known */
	TRACE_WAIT_IS_UNKNOWN, /* a record was lost: the task may have run */
	TRACE_WAIT_IS_SEEN,    /* no wait: at its time the task was seen blocked (session/seen.h) */
};

/* Why the task was blocked, as the recorder saw it, or by the kernel's functions in its stack.
 * Files have these numbers. */
enum trace_reason {
	TRACE_REASON_NONE, /* not known */
	TRACE_REASON_CALL, /* a system call that has no reason here */
	TRACE_REASON_SLEEP,
	TRACE_REASON_FUTEX,
	TRACE_REASON_PIPE,
	TRACE_REASON_SOCKET,
	TRACE_REASON_EPOLL,
	TRACE_REASON_POLL,
	TRACE_REASON_SELECT,
	TRACE_REASON_CHILD,
	TRACE_REASON_SIGNAL,
	TRACE_REASON_FILE_LOCK,
	TRACE_REASON_SEMAPHORE,
	TRACE_REASON_MESSAGE_QUEUE,
	TRACE_REASON_DISK,
	TRACE_REASON_FILE,
	TRACE_REASON_IO_URING,
	TRACE_REASON_EVENTFD,
	TRACE_REASON_TIMERFD,
	TRACE_REASON_INOTIFY,
	TRACE_REASON_TERMINAL,
	TRACE_REASON_VFORK,
	TRACE_REASON_PAGE_FAULT,
	TRACE_REASON_STOPPED,
	TRACE_REASON_PREEMPTED, /* from here on only by the kernel's functions */
	TRACE_REASON_YIELD,
	TRACE_REASON_EXIT,
	TRACE_REASON_KERNEL_LOCK,
	TRACE_REASON_RCU,
	TRACE_REASON_FUSE,
	TRACE_REASON_PERF_EVENT,
	TRACE_REASON_NEW_THREAD,
	TRACE_REASON_KERNEL_THREAD,
	TRACE_NR_REASONS
};

/* The word after the ns in raw data of a wait by switches. is_seen: of the registers only those
 * are known that /proc shows of a blocked task. */
static inline uint32_t trace_wait_word(enum trace_wait wait, enum trace_reason reason, bool is_seen)
{
	return (uint32_t)wait | (uint32_t)reason << 8 | (uint32_t)is_seen << 16;
}

/* One branch of a sample, newest first; struct perf_branch_entry. */
struct trace_branch {
	uint64_t from, to;
	bool mispredicted, predicted, in_transaction, aborted; /* both false: not known */
	uint16_t cycles; /* since the previous one; 0: not known */
	uint8_t type;    /* PERF_BR_…; 0: not known */
	uint8_t speculation, new_type, privilege;
};

/*
 * A decoded record. Pointers go into its bytes. Fields that its kind does not have are 0, pid and
 * tid TRACE_UNKNOWN; the bits of has are set for the fields of a sample, or of the id at the end of
 * other records. A sample without PERIOD has the period of its layout, and no bit.
 */
enum {
	TRACE_HAS_TIME = 1 << 0,
	TRACE_HAS_TID = 1 << 1,
	TRACE_HAS_ID = 1 << 2,
	TRACE_HAS_IP = 1 << 3,
	TRACE_HAS_ADDR = 1 << 4,
	TRACE_HAS_CPU = 1 << 5,
	TRACE_HAS_PERIOD = 1 << 6,
	TRACE_HAS_READ = 1 << 7,
	TRACE_HAS_CALLCHAIN = 1 << 8,
	TRACE_HAS_RAW = 1 << 9,
	TRACE_HAS_BRANCHES = 1 << 10,
	TRACE_HAS_USER_REGS = 1 << 11,
	TRACE_HAS_USER_STACK = 1 << 12,
	TRACE_HAS_WEIGHT = 1 << 13,
	TRACE_HAS_DATA_SRC = 1 << 14,
	TRACE_HAS_HW_INDEX = 1 << 15,
	TRACE_HAS_PHYS_ADDR = 1 << 16,
	TRACE_HAS_WEIGHT_PARTS = 1 << 17, /* weight2 and weight3 */
	TRACE_HAS_TRANSACTION = 1 << 18,
	TRACE_HAS_CGROUP = 1 << 19,
	TRACE_HAS_DATA_PAGE = 1 << 20,
	TRACE_HAS_CODE_PAGE = 1 << 21,
	TRACE_HAS_AUX = 1 << 22,
	TRACE_HAS_INTR_REGS = 1 << 23,
	TRACE_HAS_STREAM = 1 << 24,
};
struct trace_record {
	uint32_t kind;   /* PERF_RECORD_…; of an unknown one only the bytes are set */
	uint16_t misc;   /* PERF_RECORD_MISC_MMAP_BUILD_ID only if it is right */
	uint8_t cpumode; /* PERF_RECORD_MISC_CPUMODE_… */
	bool is_exact_ip;
	const uint8_t *bytes; /* the whole record */
	size_t len;

	uint32_t has; /* of the sample, or of the id at the end of other records */
	uint32_t pid, tid;
	uint64_t time_ns, id, ip, addr, period, weight, data_src, phys_addr;
	uint64_t stream;           /* which of the events that tasks inherit took the sample */
	uint64_t weight2, weight3; /* 16 bits each, with WEIGHT_STRUCT; weight is 32 bits then */
	uint64_t transaction, cgroup, data_page_bytes, code_page_bytes;
	uint32_t cpu;

	/* samples; values are 8 bytes each, unaligned: read with trace_word */
	uint64_t nr_read; /* READ with a group: members */
	uint64_t read_enabled_ns, read_running_ns;
	const uint8_t *read_values; /* nr_read times read_stride words, the count first */
	unsigned read_stride;
	uint64_t nr_callchain;
	const uint8_t *callchain; /* addresses, and PERF_CONTEXT_… marks from -4095 up */
	const uint8_t *raw;
	uint32_t raw_len;
	uint32_t returns_at;  /* where return addresses begin in it, if the layout has_returns */
	uint32_t wait;        /* of a wait: enum trace_wait */
	uint32_t wait_reason; /* below TRACE_NR_REASONS */
	uint64_t wait_ns;     /* how long it was, up to about its time; 0: not known */
	bool is_seen;         /* see trace_wait_word */
	uint64_t nr_branches;
	uint64_t hw_index; /* UINT64_MAX: not known */
	const uint8_t *branches;
	uint64_t regs_abi;   /* 0: none, 1: 32, 2: 64 bits */
	const uint8_t *regs; /* nr_user_regs words of the layout */
	unsigned nr_regs;
	uint64_t intr_regs_abi;
	const uint8_t *intr_regs; /* nr_intr_regs words of the layout */
	unsigned nr_intr_regs;
	uint64_t aux_len; /* bytes of AUX */
	const uint8_t *stack;
	uint64_t stack_len; /* bytes that were really copied, by dyn_size */

	/* COMM, MMAP, MMAP2, FORK, EXIT, KSYMBOL, BPF_EVENT …; pid and tid are the record's own,
	 * not those of the id at the end */
	uint32_t ppid, ptid;            /* SWITCH_CPU_WIDE: the next or the previous task */
	uint64_t start, length, offset; /* of the mapping, of the symbol */
	uint32_t major, minor, prot, flags;
	uint64_t inode, inode_generation;
	uint8_t build_id[TRACE_MAX_BUILD_ID_BYTES];
	unsigned build_id_len; /* 0: none */
	const char *name; /* command, file, symbol; NUL-terminated in the record, not cleaned */
	uint64_t lost;    /* LOST, LOST_SAMPLES */
	uint16_t type; /* KSYMBOL, BPF_EVENT: enum perf_record_ksymbol_type, perf_bpf_event_type */
	uint64_t object; /* id of a BPF program, of a cgroup, of hardware; cookie of a callchain */
	uint64_t nr_namespaces;
	const uint8_t *namespaces; /* device and inode of each, by the index of the kind */
};

/* The record at p, of at most len bytes, in the layout of its event (records other than samples: of
 * any event of the ring). 0; -EINVAL: invalid (out->len is its size, to find the next one, or 0 if
 * that is invalid too). */
int trace_record_decode(const struct trace_layout *l, const uint8_t *p, size_t len,
			struct trace_record *out);
/* Size and kind without a layout: the size (a multiple of 8), or 0 if there is no record. */
size_t trace_record_size(const uint8_t *p, size_t len, uint32_t *kind);
/* The word at that place; 0 if the record is too short for it. */
uint64_t trace_record_word(const struct trace_place *place, const uint8_t *p, size_t len);
static inline uint64_t trace_word(const uint8_t *words, uint64_t i)
{
	uint64_t v;

	memcpy(&v, words + i * sizeof(v), sizeof(v));
	return le64toh(v);
}
/* "kernel", "user" … for a mark in a callchain, "unknown" for one that is younger than this reader;
 * NULL: it is an address. At most 15 bytes. */
const char *trace_context_name(uint64_t address);
/* Of a sample whose layout has_returns: what was at the word of the stack below sp, or at sp,
 * before the kernel wrote this there. False: it wrote nothing else there. */
bool trace_returns_find(const struct trace_record *sample, uint64_t written, uint64_t sp,
			uint64_t *out);
/* Of a sample whose layout is_of_ended: the function that was called. */
bool trace_record_ended(const struct trace_layout *l, const struct trace_record *r,
			uint64_t *address);
/* The instruction of the sample, or the first address of its callchain. */
bool trace_record_pc(const struct trace_record *r, uint64_t *pc);
void trace_record_branch(const struct trace_record *r, uint64_t i, struct trace_branch *out);
/* "sample", "mmap2" …; NULL: unknown. */
const char *trace_record_kind_name(uint32_t kind);

#endif
