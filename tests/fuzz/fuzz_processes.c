/*
 * Any records of tasks and mappings as a common file: the input is raw records of the two rings, or
 * (first byte odd) small numbers that become records which make sense, so that they meet. Then each
 * is asked for what it told: what is answered covers the address and had begun, and one who
 * remembers answers as one who does not.
 */
#include "base/buf.h"
#include "base/crc32c.h"
#include "base/err.h"
#include "profile/processes_internal.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 22, STEP_BYTES = 12, MAX_QUESTIONS = 16 };

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void add_frame(struct buf *b, uint16_t kind, const struct buf *payload)
{
	size_t at = b->len;
	uint32_t crc;

	buf_le32(b, TRACE_FRAME_SYNC);
	buf_le16(b, kind);
	buf_le16(b, 0);
	buf_le32(b, (uint32_t)payload->len);
	require(buf_error(b) == 0);
	crc = crc32c(crc32c(0, b->data + at + 4, 8), payload->data, payload->len);
	buf_le32(b, crc);
	buf_add(b, payload->data, payload->len);
	buf_fill(b, 0, -payload->len % 8);
}

static void add_header(struct buf *b)
{
	buf_add(b, TRACE_MAGIC, 8);
	buf_le32(b, TRACE_BYTE_ORDER);
	buf_le16(b, TRACE_VERSION);
	buf_le16(b, TRACE_HEADER_BYTES);
	buf_fill(b, 0, TRACE_HEADER_BYTES - 4 - b->len);
	buf_le32(b, crc32c(0, b->data, b->len));
}

static void begin_frame(struct buf *b, bool is_made)
{
	buf_init(b, MAX_BYTES);
	buf_le32(b, is_made ? TRACE_RING_MADE : TRACE_RING_SIDE_BAND);
	buf_le32(b, 0);
}

/* A step in small numbers. */
struct step {
	uint8_t kind, flags, pid, tid, parent, time, time2, start, len, offset, text, other;
};
_Static_assert(sizeof(struct step) == STEP_BYTES, "taken as it is");

enum { IS_MADE = 1, IS_EXEC = 2, HAS_BUILD_ID = 4, IS_GONE = 8 };

static uint64_t time_of(const struct step *s)
{
	return (uint64_t)s->time << 8 | s->time2;
}

static void put_task(struct buf *b, const struct step *s)
{
	buf_le32(b, s->pid);
	buf_le32(b, s->parent);
	buf_le32(b, s->tid);
	buf_le32(b, s->parent);
	buf_le64(b, time_of(s));
}

static void put_text(struct buf *b, const struct step *s)
{
	static const char *const texts[] = {"/a", "/b (deleted)", "[vdso]", "//anon"};

	buf_adds(b, s->text < 4 ? texts[s->text] : "/x");
	buf_addc(b, s->text < 4 ? '\0' : (char)s->text);
	buf_addc(b, '\0');
	buf_fill(b, 0, -b->len % 8);
}

static void put_comm(struct buf *b, const struct step *s)
{
	buf_le32(b, s->pid);
	buf_le32(b, s->tid);
	put_text(b, s);
}

static void put_map(struct buf *b, const struct step *s)
{
	buf_le32(b, s->pid);
	buf_le32(b, s->tid);
	buf_le64(b, s->start);
	buf_le64(b, s->len);
	buf_le64(b, s->offset);
	buf_le32(b, s->flags & HAS_BUILD_ID ? 20 : s->other);
	buf_fill(b, (char)s->other, 20);
	buf_le64(b, 5);
	put_text(b, s);
}

static void put_ksymbol(struct buf *b, const struct step *s)
{
	buf_le64(b, s->start);
	buf_le32(b, s->len);
	buf_le16(b, 1);
	buf_le16(b, !!(s->flags & IS_GONE));
	put_text(b, s);
}

static const struct {
	uint32_t kind;
	void (*put)(struct buf *b, const struct step *s);
} kinds[] = {{PERF_RECORD_MMAP2, put_map}, {PERF_RECORD_FORK, put_task},
	     {PERF_RECORD_COMM, put_comm}, {PERF_RECORD_EXIT, put_task},
	     {PERF_RECORD_MMAP2, put_map}, {PERF_RECORD_KSYMBOL, put_ksymbol},
	     {PERF_RECORD_MMAP2, put_map}, {PERF_RECORD_MMAP2, put_map}};

static void add_step(struct buf *b, const struct step *s)
{
	uint32_t kind = kinds[s->kind & 7].kind;
	uint16_t misc =
	    PERF_RECORD_MISC_USER | (s->flags & IS_EXEC ? PERF_RECORD_MISC_COMM_EXEC : 0);
	size_t at = b->len;

	if (kind == PERF_RECORD_MMAP2)
		misc = PERF_RECORD_MISC_USER |
		       (s->flags & HAS_BUILD_ID ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	buf_le32(b, kind);
	buf_le16(b, misc);
	buf_le16(b, 0);
	kinds[s->kind & 7].put(b, s);
	buf_le32(b, s->pid);
	buf_le32(b, s->tid);
	buf_le64(b, time_of(s));
	require(buf_error(b) == 0);
	b->data[at + 6] = (char)(b->len - at);
	b->data[at + 7] = (char)((b->len - at) >> 8);
}

static void add_steps(struct buf *file, const uint8_t *data, size_t size)
{
	struct buf frame;
	struct step s;

	for (; size >= STEP_BYTES; data += STEP_BYTES, size -= STEP_BYTES) {
		memcpy(&s, data, sizeof(s));
		begin_frame(&frame, s.flags & IS_MADE);
		add_step(&frame, &s);
		add_frame(file, TRACE_FRAME_RECORDS, &frame);
		buf_fini(&frame);
	}
}

/* ring, length, records. */
static void add_raw(struct buf *file, const uint8_t *data, size_t size)
{
	while (size >= 4) {
		size_t len = data[2] | (size_t)data[3] << 8;
		struct buf frame;

		if (len > size - 4)
			len = size - 4;
		len -= len % 8;
		begin_frame(&frame, data[0] & 1);
		buf_add(&frame, data + 4, len);
		add_frame(file, TRACE_FRAME_RECORDS, &frame);
		buf_fini(&frame);
		data += 4 + len;
		size -= 4 + len;
	}
}

static void no_problem(void *arg, bool is_loss, const struct err *problem)
{
	(void)arg;
	(void)is_loss;
	(void)problem;
}

static void ask(struct profile_lookup *all, const struct profile_processes *p, uint32_t pid,
		uint32_t tid, uint64_t address, uint64_t time_ns)
{
	struct profile_lookup *alone = profile_lookup_new(p);
	struct profile_task task, again;
	const struct profile_mapping *m;

	require(alone != NULL);
	profile_lookup_task(alone, pid, tid, time_ns, &task);
	profile_lookup_task(all, pid, tid, time_ns, &again);
	require(task.process == again.process && task.comm == again.comm);
	require(task.process->pid == pid);
	require(task.process->from_ns <= time_ns);
	require(task.comm == profile_comm(p, task.comm->number));
	m = profile_lookup_mapping(alone, task.process, address, time_ns);
	require(m == profile_lookup_mapping(all, task.process, address, time_ns));
	if (m) {
		require(m->start <= address && address < m->end && m->from_ns <= time_ns);
		require(m->object == profile_object(p, m->object->number));
	}
	profile_lookup_free(alone);
}

static void ask_steps(const struct profile_processes *p, const uint8_t *data, size_t size)
{
	struct profile_lookup *all = profile_lookup_new(p);
	struct step s;

	require(all != NULL);
	for (int i = 0; i < MAX_QUESTIONS && size >= STEP_BYTES; i++) {
		memcpy(&s, data, sizeof(s));
		for (uint64_t k = 0; k < 4; k++) {
			ask(all, p, s.pid, s.tid, s.start + (k & 1) * s.len, time_of(&s) + k / 2);
			ask(all, p, s.pid, s.tid, s.start + k, (k & 1) << 15);
		}
		data += STEP_BYTES;
		size -= STEP_BYTES;
	}
	profile_lookup_free(all);
}

static void check_tables(const struct profile_processes *p)
{
	for (uint32_t i = 0; i < profile_nr_objects(p); i++) {
		const struct profile_object *o = profile_object(p, i);

		require(o->number == i && o->kind && o->name && o->shown_path);
		require(o->build_id_len <= PROFILE_MAX_BUILD_ID_BYTES);
	}
	for (size_t i = 0; i < profile_nr_ksymbols(p); i++)
		require(profile_ksymbol(p, i)->from_ns <= profile_ksymbol(p, i)->to_ns);
	for (size_t i = 0; i < p->nr_lives; i++)
		require(p->lives[i].process.from_ns <= p->lives[i].process.to_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_faults faults = {.name = "input", .problem = no_problem};
	struct profile_processes *p = NULL;
	struct trace_reader *r;
	struct buf file;

	if (!size || size > MAX_BYTES / 16)
		return 0;
	buf_init(&file, MAX_BYTES);
	add_header(&file);
	if (data[0] & 1)
		add_steps(&file, data + 1, size - 1);
	else
		add_raw(&file, data + 1, size - 1);
	require(buf_error(&file) == 0);
	require(trace_reader_open_mem(file.data, file.len, "input", &r, NULL) == 0);
	require(profile_processes_read(r, NULL, &faults, NULL, NULL, &p) == 0);
	trace_reader_close(r);
	check_tables(p);
	ask_steps(p, data + 1, size - 1);
	profile_processes_free(p);
	buf_fini(&file);
	return 0;
}
