/*
 * What the tests of records share: records and attrs built word by word as linux/perf_event.h lays
 * them out. Only for tests; numbers of the ABI are written out here, not taken from the code.
 */
#ifndef TEST_RECORD_H
#define TEST_RECORD_H

#include "kit.h"

#include "base/buf.h"

/* PERF_SAMPLE_… */
enum {
	S_IP = 1 << 0,
	S_TID = 1 << 1,
	S_TIME = 1 << 2,
	S_ADDR = 1 << 3,
	S_READ = 1 << 4,
	S_CALLCHAIN = 1 << 5,
	S_ID = 1 << 6,
	S_CPU = 1 << 7,
	S_PERIOD = 1 << 8,
	S_STREAM_ID = 1 << 9,
	S_RAW = 1 << 10,
	S_BRANCH_STACK = 1 << 11,
	S_REGS_USER = 1 << 12,
	S_STACK_USER = 1 << 13,
	S_WEIGHT = 1 << 14,
	S_DATA_SRC = 1 << 15,
	S_IDENTIFIER = 1 << 16,
	S_TRANSACTION = 1 << 17,
	S_REGS_INTR = 1 << 18,
	S_PHYS_ADDR = 1 << 19,
	S_AUX = 1 << 20,
	S_CGROUP = 1 << 21,
	S_DATA_PAGE_SIZE = 1 << 22,
	S_CODE_PAGE_SIZE = 1 << 23,
	S_WEIGHT_STRUCT = 1 << 24,
};

/* PERF_FORMAT_… */
enum { F_ENABLED = 1, F_RUNNING = 2, F_ID = 4, F_GROUP = 8, F_LOST = 16 };

/* PERF_SAMPLE_BRANCH_… */
enum { B_HW_INDEX = 1 << 17, B_COUNTERS = 1 << 19 };

enum { ATTR_BYTES = 128, ATTR_INHERIT = 1 << 1, ATTR_FREQ = 1 << 10, ATTR_SAMPLE_ID_ALL = 1 << 18 };
#define ATTR_BUILD_ID (UINT64_C(1) << 34)

struct attr {
	uint32_t type;
	uint64_t period, sample_type, read_format, bits, branch_sample_type, user_regs, intr_regs;
	uint64_t config;
};

static inline void put_word(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline void attr_bytes(const struct attr *a, uint8_t out[ATTR_BYTES])
{
	memset(out, 0, ATTR_BYTES);
	put_word(out, a->type | (uint64_t)ATTR_BYTES << 32);
	put_word(out + 8, a->config);
	put_word(out + 16, a->period);
	put_word(out + 24, a->sample_type);
	put_word(out + 32, a->read_format);
	put_word(out + 40, a->bits);
	put_word(out + 72, a->branch_sample_type);
	put_word(out + 80, a->user_regs);
	put_word(out + 96, a->intr_regs);
}

/* The start of a record, for record_end. */
static inline size_t record_begin(struct buf *b, uint32_t kind, uint16_t misc)
{
	size_t at = b->len;

	buf_le32(b, kind);
	buf_le16(b, misc);
	buf_le16(b, 0);
	return at;
}

static inline void record_end(struct buf *b, size_t at)
{
	size_t len = b->len - at;

	b->data[at + 6] = (char)len;
	b->data[at + 7] = (char)(len >> 8);
}

/* With its NUL, filled up to a multiple of 8. */
static inline void record_name(struct buf *b, const char *name)
{
	size_t len = strlen(name);

	buf_add(b, name, len);
	buf_fill(b, 0, 8 - len % 8);
}

/* TID and TIME, which end records of tasks and mappings. */
static inline void record_id(struct buf *b, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	buf_le32(b, pid);
	buf_le32(b, tid);
	buf_le64(b, time_ns);
}

#endif
