/*
 * The records, laid out as the kernel does, in the host's byte order.
 */
#include "survey/record.h"

#include "base/buf.h"
#include "elf/build_id.h"
#include "proc/maps.h"
#include "survey/bpf.h"
#include "trace/record.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a trace is little-endian");

enum { FLAGS_SHARED = 1, FLAGS_PRIVATE = 2 };        /* MAP_SHARED, MAP_PRIVATE of linux/mman.h */
enum { MAX_COMM_BYTES = 16, MAX_PATH_BYTES = 4096 }; /* with the NUL: TASK_COMM_LEN, PATH_MAX */

struct record_head {
	uint32_t kind;
	uint16_t misc, size;
};
_Static_assert(sizeof(struct record_head) == 8, "struct perf_event_header");

/* The end of each record, by sample_id_all with TID and TIME. */
struct record_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};
_Static_assert(sizeof(struct record_id) == 16, "sample_id");

struct record_fork {
	struct record_head head;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
	struct record_id id;
};
_Static_assert(sizeof(struct record_fork) == 48, "PERF_RECORD_FORK");

/* Followed by the name and the id. */
struct record_comm {
	struct record_head head;
	uint32_t pid, tid;
};
_Static_assert(sizeof(struct record_comm) == 16, "PERF_RECORD_COMM");

struct record_mmap2 {
	struct record_head head;
	uint32_t pid, tid;
	uint64_t start, len, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, inode_generation;
		} file;
		struct {
			uint8_t len, reserved[3], bytes[ELF_MAX_BUILD_ID_BYTES];
		} build_id;
	};
	uint32_t prot, flags;
};
_Static_assert(sizeof(struct record_mmap2) == 72, "PERF_RECORD_MMAP2");
_Static_assert(sizeof(struct record_mmap2) + MAX_PATH_BYTES + sizeof(struct record_id) <=
		   SURVEY_RECORD_MAX_BYTES,
	       "the longest record");

/* Followed by the name and the id. */
struct record_ksymbol {
	struct record_head head;
	uint64_t address;
	uint32_t len;
	uint16_t type, flags;
};
_Static_assert(sizeof(struct record_ksymbol) == 24, "PERF_RECORD_KSYMBOL");

/* A text is stored with its NUL, padded with zeros to a multiple of 8. */
static size_t text_bytes(size_t len)
{
	return (len + 8) & ~(size_t)7;
}

static void add_text_and_id(struct buf *out, const char *text, size_t len,
			    const struct survey_task *t)
{
	struct record_id id = {.pid = t->pid, .tid = t->tid, .time_ns = t->time_ns};

	buf_add(out, text, len);
	buf_fill(out, '\0', text_bytes(len) - len);
	buf_add(out, &id, sizeof(id));
}

void survey_record_fork(struct buf *out, const struct survey_task *t, uint32_t parent_pid,
			uint32_t parent_tid)
{
	struct record_fork r = {
	    .head = {.kind = PERF_RECORD_FORK, .size = sizeof(r)},
	    .pid = t->pid,
	    .ppid = parent_pid,
	    .tid = t->tid,
	    .ptid = parent_tid,
	    .time_ns = t->time_ns,
	    .id = {.pid = t->pid, .tid = t->tid, .time_ns = t->time_ns},
	};

	buf_add(out, &r, sizeof(r));
}

void survey_record_comm(struct buf *out, const struct survey_task *t, const char *name, size_t len)
{
	struct record_comm r = {.head.kind = PERF_RECORD_COMM, .pid = t->pid, .tid = t->tid};

	if (len >= MAX_COMM_BYTES)
		len = MAX_COMM_BYTES - 1;
	r.head.size = (uint16_t)(sizeof(r) + text_bytes(len) + sizeof(struct record_id));
	buf_add(out, &r, sizeof(r));
	add_text_and_id(out, name, len, t);
}

void survey_record_mmap2(struct buf *out, const struct survey_task *t, const struct proc_mapping *m,
			 const struct elf_build_id *id)
{
	struct record_mmap2 r = {
	    .head = {.kind = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER},
	    .pid = t->pid,
	    .tid = t->tid,
	    .start = m->start,
	    .len = m->end - m->start,
	    .offset = m->offset,
	    .prot = m->prot,
	    .flags = m->is_shared ? FLAGS_SHARED : FLAGS_PRIVATE,
	};
	const char *name = m->name;
	size_t len = m->name_len;

	if (len == 0 || len >= MAX_PATH_BYTES) { /* as the kernel does */
		name = len ? "//toolong" : "//anon";
		len = strlen(name);
	}
	if (id && id->len) {
		r.head.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		r.build_id.len = id->len;
		memcpy(r.build_id.bytes, id->bytes, id->len);
	} else {
		r.file.major = m->major;
		r.file.minor = m->minor;
		r.file.inode = m->inode;
	}
	r.head.size = (uint16_t)(sizeof(r) + text_bytes(len) + sizeof(struct record_id));
	buf_add(out, &r, sizeof(r));
	add_text_and_id(out, name, len, t);
}

void survey_record_ksymbol(struct buf *out, uint64_t time_ns, const struct survey_function *f)
{
	const struct survey_task nobody = {.time_ns = time_ns};
	size_t len = strlen(f->name);
	struct record_ksymbol r = {
	    .head = {.kind = PERF_RECORD_KSYMBOL,
		     .size = (uint16_t)(sizeof(r) + text_bytes(len) + sizeof(struct record_id))},
	    .address = f->address,
	    .len = f->len,
	    .type = PERF_RECORD_KSYMBOL_TYPE_BPF,
	};

	buf_add(out, &r, sizeof(r));
	add_text_and_id(out, f->name, len, &nobody);
}
