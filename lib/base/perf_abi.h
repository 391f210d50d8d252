/*
 * The kernel's perf ABI. The only file that includes linux/perf_event.h; adds what that header only
 * describes in comments: order and shape of the fields of records, and the bits of perf_event_attr.
 * Linux 4.14 to 6.19.
 */
#ifndef BASE_PERF_ABI_H
#define BASE_PERF_ABI_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Newer than some headers. */
#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4) /* Linux 6.0 */
#endif
#ifndef PERF_SAMPLE_BRANCH_COUNTERS
#define PERF_SAMPLE_BRANCH_COUNTERS (1U << 19) /* Linux 6.8 */
#endif

/* Linux 6.19. A sample's callchain ends in the mark and a cookie where the callers in the program
 * are recorded later, before the task returns to it: u64 cookie, u64 nr, u64 addresses[nr] (the
 * first is PERF_CONTEXT_USER), struct sample_id. Samples within one entry of the kernel share a
 * cookie. */
enum { PERF_ABI_RECORD_CALLCHAIN_DEFERRED = 22 };
#define PERF_ABI_CONTEXT_USER_DEFERRED ((uint64_t)-640)

enum {
	PERF_ABI_HEADER_BYTES = 8, /* struct perf_event_header */
	PERF_ABI_WORD_BYTES = 8,
	PERF_ABI_BRANCH_WORDS = 3, /* struct perf_branch_entry */
	PERF_ABI_MAX_RECORD_BYTES = 65528,
};

/* The bits that are described here. Records with others cannot be decoded. */
enum {
	PERF_ABI_SAMPLE_KNOWN = (1 << 25) - 1,
	PERF_ABI_READ_KNOWN = (1 << 5) - 1,
	PERF_ABI_BRANCH_KNOWN = (1 << 20) - 1,
};

/* The fields of a sample, in the order in which perf_output_sample() writes them. */
enum perf_abi_field {
	PERF_ABI_IDENTIFIER,
	PERF_ABI_IP,
	PERF_ABI_TID,
	PERF_ABI_TIME,
	PERF_ABI_ADDR,
	PERF_ABI_ID,
	PERF_ABI_STREAM_ID,
	PERF_ABI_CPU,
	PERF_ABI_PERIOD,
	PERF_ABI_READ,
	PERF_ABI_CALLCHAIN,
	PERF_ABI_RAW,
	PERF_ABI_BRANCH_STACK,
	PERF_ABI_REGS_USER,
	PERF_ABI_STACK_USER,
	PERF_ABI_WEIGHT,
	PERF_ABI_DATA_SRC,
	PERF_ABI_TRANSACTION,
	PERF_ABI_REGS_INTR,
	PERF_ABI_PHYS_ADDR,
	PERF_ABI_CGROUP,
	PERF_ABI_DATA_PAGE_SIZE,
	PERF_ABI_CODE_PAGE_SIZE,
	PERF_ABI_AUX,
	PERF_ABI_NR_FIELDS
};

/* Fields are one word, except the lists. */
enum perf_abi_shape {
	PERF_ABI_WORD, /* 64 bits: a number, or parts that are swapped together */
	PERF_ABI_PAIR, /* two 32-bit numbers */
	PERF_ABI_LIST, /* variable length; described in linux/perf_event.h */
};

struct perf_abi_row {
	uint32_t
	    asked; /* PERF_SAMPLE_…: a sample has the field if its type has one of these bits */
	enum perf_abi_shape shape;
};
extern const struct perf_abi_row perf_abi_fields[PERF_ABI_NR_FIELDS];

/* struct sample_id at the end of other records (with sample_id_all): words, in this order. */
enum { PERF_ABI_NR_ID_FIELDS = 6 };
extern const enum perf_abi_field perf_abi_id_fields[PERF_ABI_NR_ID_FIELDS];

static inline bool perf_abi_has(uint64_t sample_type, enum perf_abi_field f)
{
	return sample_type & perf_abi_fields[f].asked;
}
/* The number of words between the header of a sample and this field (READ or earlier). */
unsigned perf_abi_sample_place(uint64_t sample_type, enum perf_abi_field f);
/* The position of a field of struct sample_id, in words from the end of the record: 1 is the
 * last. */
unsigned perf_abi_id_place(uint64_t sample_type, enum perf_abi_field f);
/* Where the id of a record is that is no sample, in bytes from its beginning; at most len. The
 * kernel has written nothing behind the id. */
size_t perf_abi_body_bytes(const uint8_t *p, size_t len, size_t id_bytes);
unsigned perf_abi_id_words(uint64_t sample_type);

/* The bit-fields of struct perf_event_attr: the word after read_format. */
#define PERF_ABI_ATTR_BITS_AT        40
#define PERF_ABI_ATTR_INHERIT        (UINT64_C(1) << 1)
#define PERF_ABI_ATTR_PINNED         (UINT64_C(1) << 2)
#define PERF_ABI_ATTR_EXCLUDE_USER   (UINT64_C(1) << 4)
#define PERF_ABI_ATTR_EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define PERF_ABI_ATTR_EXCLUDE_IDLE   (UINT64_C(1) << 7)
#define PERF_ABI_ATTR_MMAP           (UINT64_C(1) << 8)
#define PERF_ABI_ATTR_COMM           (UINT64_C(1) << 9)
#define PERF_ABI_ATTR_FREQ           (UINT64_C(1) << 10)
#define PERF_ABI_ATTR_TASK           (UINT64_C(1) << 13)
#define PERF_ABI_ATTR_PRECISE_IP     (UINT64_C(3) << 15)
#define PERF_ABI_ATTR_SAMPLE_ID_ALL  (UINT64_C(1) << 18)
#define PERF_ABI_ATTR_MMAP2          (UINT64_C(1) << 23)
#define PERF_ABI_ATTR_COMM_EXEC      (UINT64_C(1) << 24)
#define PERF_ABI_ATTR_USE_CLOCKID    (UINT64_C(1) << 25)
#define PERF_ABI_ATTR_WRITE_BACKWARD (UINT64_C(1) << 27)
#define PERF_ABI_ATTR_KSYMBOL        (UINT64_C(1) << 29)
#define PERF_ABI_ATTR_BPF_EVENT      (UINT64_C(1) << 30)
#define PERF_ABI_ATTR_BUILD_ID       (UINT64_C(1) << 34)
#define PERF_ABI_ATTR_INHERIT_THREAD (UINT64_C(1) << 35)
#define PERF_ABI_ATTR_DEFERRED       (UINT64_C(3) << 38) /* defer_callchain, defer_output */

/* The event's data is shared by all listeners (tracepoints, software events except the clocks).
 * Linux 6.1 to 6.18 writes the id of the first listener for all. */
bool perf_abi_shares_data(uint32_t type, uint64_t config);

/* attr.config1 of our events bpf_output from which on it says what the programs in the kernel
 * measure; the kernel ignores it. */
enum { PERF_ABI_WAIT = 0x63707500, PERF_ABI_NR_WAITS = 3 };
enum { PERF_ABI_LATENCY = 0x63710000 }; /* and the number of event_latency */
enum { PERF_ABI_PROBE = 0x63720000 };   /* a probe of a program */
/* attr.config2 of a probe of functions, in whose raw data are the return addresses that the kernel
 * has replaced, if samples have some. */
enum { PERF_ABI_RETURNS = 0x63720001 };
/* The same of calls that are sampled when they end: the samples are of their callers, and the raw
 * data has the duration, the address of the function, words and texts of its arguments and result
 * (each text at its place among them), and at last these return addresses. */
enum {
	PERF_ABI_ENDED = 0x63720002,
	PERF_ABI_ENDED_WORDS = 16, /* where they begin */
	PERF_ABI_ENDED_MAX_WORDS = 8,
	PERF_ABI_ENDED_TEXTS = PERF_ABI_ENDED_WORDS + 8 * PERF_ABI_ENDED_MAX_WORDS,
	PERF_ABI_ENDED_TEXT_BYTES = 120,
	PERF_ABI_ENDED_RETURNS =
	    PERF_ABI_ENDED_TEXTS + PERF_ABI_ENDED_MAX_WORDS * PERF_ABI_ENDED_TEXT_BYTES,
};
/* attr.config1 of our dummy events of the heap and of resources: this, and the number of
 * event_heap. */
enum {
	PERF_ABI_HEAP = 0x63730000,
	PERF_ABI_HEAP_MAX = 5,
	PERF_ABI_HEAP_CPU_TIME = 25,
	PERF_ABI_HEAP_REAL_TIME,
	PERF_ABI_HEAP_PATH_PEAK,
	PERF_ABI_NR_HEAPS
};
/* That number; -1: another event. */
int perf_abi_heap(uint32_t type, uint64_t config, uint64_t config1);
static inline bool perf_abi_heap_is_time(int heap)
{
	return heap == PERF_ABI_HEAP_CPU_TIME || heap == PERF_ABI_HEAP_REAL_TIME;
}
/* Amounts do not add up: the largest one counts. */
static inline bool perf_abi_heap_is_maximum(int heap)
{
	return heap == PERF_ABI_HEAP_MAX || heap == PERF_ABI_HEAP_PATH_PEAK;
}

/* The innermost address of samples of lifetimes is none of code but that of a class: this and its
 * number. */
#define PERF_ABI_LIVES ((UINT64_C(1) << 56) + (UINT64_C(1) << 48))
enum { PERF_ABI_NR_LIVES = 8, PERF_ABI_NR_BRIEF = 4 /* of these: less than 1 ms */ };
extern const char *const perf_abi_lives[PERF_ABI_NR_LIVES];
static inline bool perf_abi_is_life(uint64_t address)
{
	return address - PERF_ABI_LIVES < PERF_ABI_NR_LIVES;
}
/* A bit of config1: no program in the kernel sends samples. A reader makes them of the records of
 * the switches of the measured tasks. */
enum { PERF_ABI_WAIT_BY_SWITCHES = 16 };
/* attr.config2 of such an event whose samples may have a waker: trace/waker.h. */
enum { PERF_ABI_WAKER = 1 };
/* attr.config1 of a clock, which the kernel ignores: its tasks inherit what counts; a clock of each
 * CPU samples, of whose samples those of the tasks were selected. */
enum { PERF_ABI_CLOCK_SELECTED = 0x63740000 };
bool perf_abi_is_selected(uint32_t type, uint64_t config, uint64_t config1);
/* The same: of how long its tasks ran without a sample, a reader makes samples of the records of
 * their switches. */
enum { PERF_ABI_CLOCK_COMPLETED = 0x63740001 };
bool perf_abi_is_completed(uint32_t type, uint64_t config, uint64_t config1);
/* The number after PERF_ABI_WAIT, without the bit; -1: another event. */
int perf_abi_wait(uint32_t type, uint64_t config, uint64_t config1);

/* The bit-fields of the third word of struct perf_branch_entry. */
enum perf_abi_branch_flag {
	PERF_ABI_BRANCH_MISPREDICTED,
	PERF_ABI_BRANCH_PREDICTED,
	PERF_ABI_BRANCH_IN_TX,
	PERF_ABI_BRANCH_ABORT,
	PERF_ABI_BRANCH_CYCLES,
	PERF_ABI_BRANCH_TYPE,
	PERF_ABI_BRANCH_SPEC,
	PERF_ABI_BRANCH_NEW_TYPE,
	PERF_ABI_BRANCH_PRIV,
	PERF_ABI_NR_BRANCH_FLAGS
};
struct perf_abi_bits {
	uint8_t from, nr;
};
extern const struct perf_abi_bits perf_abi_branch_flags[PERF_ABI_NR_BRANCH_FLAGS];

#endif
