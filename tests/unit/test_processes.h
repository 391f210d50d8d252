/*
 * What the tests of profile/processes.h share: common files made in memory of what was told, and
 * the tables made of them. Only for tests.
 */
#ifndef TEST_PROCESSES_H
#define TEST_PROCESSES_H

#include "kit.h"
#include "test_record.h"
#include "test_trace.h"

#include "profile/processes_internal.h"
#include "trace/record.h"

#include <sys/mman.h>

enum { FILE_MAX_BYTES = 512 << 20, MISC_EXEC = 1 << 13, MISC_BUILD_ID = 1 << 14 };

enum op { FORK = 1, COMM, EXEC, EXIT, MAP, SYMBOL, NO_SYMBOL };

/* What is told: by the kernel, or made by the survey. */
struct step {
	enum op op;
	bool is_made;
	uint64_t time_ns;
	uint32_t pid, tid, ppid, ptid;
	uint64_t start, end, offset;
	const char *text;
	uint32_t inode; /* 0: a build-id of this byte in its place: */
	uint8_t build_id;
	uint32_t prot; /* of a mapping; 0: to read and to execute */
};

/* Records of one ring, to be put into a frame when there are many. */
struct tape {
	struct buf file, records[2];
};

static inline void tape_flush(struct tape *t, bool is_made)
{
	struct buf *r = &t->records[is_made];

	assert_int_equal(buf_error(r), 0);
	if (r->len > 8)
		add_frame(&t->file, TRACE_FRAME_RECORDS, 0, r->data, (uint32_t)r->len);
	buf_reset(r);
	buf_le32(r, is_made ? TRACE_RING_MADE : TRACE_RING_SIDE_BAND);
	buf_le32(r, is_made ? UINT32_MAX : 0);
}

static inline void tape_init(struct tape *t)
{
	*t = (struct tape){0};
	buf_init(&t->file, FILE_MAX_BYTES);
	add_header_bytes(&t->file, TRACE_VERSION, 0, TRACE_HEADER_BYTES);
	for (int i = 0; i < 2; i++) {
		buf_init(&t->records[i], FILE_MAX_BYTES);
		tape_flush(t, i);
	}
}

static inline void tape_fini(struct tape *t)
{
	buf_fini(&t->file);
	buf_fini(&t->records[0]);
	buf_fini(&t->records[1]);
}

static inline void step_task(struct buf *b, const struct step *s)
{
	buf_le32(b, s->pid);
	buf_le32(b, s->ppid);
	buf_le32(b, s->tid);
	buf_le32(b, s->ptid);
	buf_le64(b, s->time_ns);
}

static inline void step_name(struct buf *b, const struct step *s)
{
	buf_le32(b, s->pid);
	buf_le32(b, s->tid);
	record_name(b, s->text);
}

static inline void step_map(struct buf *b, const struct step *s)
{
	buf_le32(b, s->pid);
	buf_le32(b, s->tid);
	buf_le64(b, s->start);
	buf_le64(b, s->end - s->start);
	buf_le64(b, s->offset);
	if (s->build_id) {
		buf_le32(b, 20);
		buf_fill(b, (char)s->build_id, 20);
	} else {
		buf_le32(b, 8);
		buf_le32(b, 1);
		buf_le64(b, s->inode);
		buf_le64(b, 0);
	}
	buf_le32(b, s->prot ? s->prot : PROT_READ | PROT_EXEC);
	buf_le32(b, MAP_PRIVATE);
	record_name(b, s->text);
}

static inline void step_symbol(struct buf *b, const struct step *s)
{
	buf_le64(b, s->start);
	buf_le32(b, (uint32_t)(s->end - s->start));
	buf_le16(b, 1);
	buf_le16(b, s->op == NO_SYMBOL);
	record_name(b, s->text);
}

static const struct {
	uint32_t kind;
	uint16_t misc;
	void (*put)(struct buf *b, const struct step *s);
} step_kinds[] = {
    [FORK] = {PERF_RECORD_FORK, 0, step_task},
    [COMM] = {PERF_RECORD_COMM, 0, step_name},
    [EXEC] = {PERF_RECORD_COMM, MISC_EXEC, step_name},
    [EXIT] = {PERF_RECORD_EXIT, 0, step_task},
    [MAP] = {PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, step_map},
    [SYMBOL] = {PERF_RECORD_KSYMBOL, 0, step_symbol},
    [NO_SYMBOL] = {PERF_RECORD_KSYMBOL, 0, step_symbol},
};

static inline void tape_add(struct tape *t, const struct step *s)
{
	struct buf *b = &t->records[s->is_made];
	uint16_t misc = step_kinds[s->op].misc | (s->op == MAP && s->build_id ? MISC_BUILD_ID : 0);
	size_t at = record_begin(b, step_kinds[s->op].kind, misc);

	step_kinds[s->op].put(b, s);
	record_id(b, s->pid, s->tid, s->time_ns);
	record_end(b, at);
	if (b->len > 1 << 20)
		tape_flush(t, s->is_made);
}

static inline void tape_end(struct tape *t)
{
	tape_flush(t, true);
	tape_flush(t, false);
	assert_int_equal(buf_error(&t->file), 0);
}

/* What was told of the file. */
struct tape_told {
	size_t nr_losses, nr_others;
	char text[1024];
};

static inline void tape_problem(void *arg, bool is_loss, const struct err *e)
{
	struct tape_told *t = arg;
	size_t len = strlen(t->text);

	*(is_loss ? &t->nr_losses : &t->nr_others) += 1;
	snprintf(t->text + len, sizeof(t->text) - len, "%s: %s\n", e->source, e->msg);
}

/* 0 or -ENOMEM, or what kallsyms returned. */
static inline int tape_try(const struct tape *t, struct tape_told *told,
			   profile_kallsyms_fn *kallsyms, void *arg, struct profile_processes **out)
{
	struct profile_faults faults = {.name = "common", .problem = tape_problem, .arg = told};
	struct trace_reader *r;
	int rc = trace_reader_open_mem(t->file.data, t->file.len, "common", &r, NULL);

	if (rc)
		return rc;
	rc = profile_processes_read(r, NULL, &faults, kallsyms, arg, out);
	trace_reader_close(r);
	return rc;
}

/* Nothing is told but that the file has no end frame; and, if it is to be, that not all fits. */
static inline struct profile_processes *tape_read(struct tape *t, bool is_too_much)
{
	struct profile_processes *p = NULL;
	struct tape_told told = {0};

	tape_end(t);
	assert_int_equal(tape_try(t, &told, NULL, NULL, &p), 0);
	tape_fini(t);
	assert_string_equal(told.text, is_too_much
					   ? "common: truncated: its end is missing\n"
					     "common: has more tasks, mappings or symbols than "
					     "can be stored: the rest is skipped\n"
					   : "common: truncated: its end is missing\n");
	return p;
}

static inline struct profile_processes *steps_read(const struct step *steps, size_t nr)
{
	struct tape t;

	tape_init(&t);
	for (size_t i = 0; i < nr && steps[i].op; i++)
		tape_add(&t, &steps[i]);
	return tape_read(&t, false);
}

#endif
