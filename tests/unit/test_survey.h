/*
 * What the tests of the survey share: a tape of what it gives, in words, and made trees of tasks
 * whose files answer with an error where a test wants it. Only for tests.
 */
#ifndef TEST_SURVEY_H
#define TEST_SURVEY_H

#include "kit.h"
#include "test_elf.h"

#include "base/clock.h"
#include "survey/survey.h"
#include "trace/record.h"

#include <inttypes.h>

/* What a survey gave. */
struct tape {
	struct buf records, kallsyms;
	unsigned nr_pieces; /* of both */
	unsigned fail_at;   /* the piece, from 1, at which the callback returns fail_rc */
	int fail_rc;
	atomic_bool stop;
	uint32_t max_tasks;
	const uint32_t *pids;
	size_t nr_pids;
	bool has_no_ids;
	uint64_t start_ns, end_ns;
	struct survey_result result;
};

static inline void tape_init(struct tape *t)
{
	*t = (struct tape){0};
	buf_init(&t->records, 64 << 20);
	buf_init(&t->kallsyms, 64 << 20);
}

static inline void tape_fini(struct tape *t)
{
	buf_fini(&t->records);
	buf_fini(&t->kallsyms);
}

static inline int tape_take(struct tape *t, struct buf *b, const void *data, size_t len)
{
	assert_in_range(len, 1, SURVEY_PIECE_BYTES);
	assert_true(!t->fail_at || t->nr_pieces < t->fail_at); /* never again after it failed */
	buf_add(b, data, len);
	return ++t->nr_pieces == t->fail_at ? t->fail_rc : 0;
}

static inline int tape_records(const void *data, size_t len, void *arg)
{
	struct tape *t = arg;
	const uint8_t *p = data;
	uint32_t kind;
	size_t size;

	for (size_t left = len; left; left -= size, p += size) {
		size = trace_record_size(p, left, &kind);
		assert_in_range(size, 8, left);
	}
	return tape_take(t, &t->records, data, len);
}

static inline int tape_kallsyms(const char *text, size_t len, void *arg)
{
	struct tape *t = arg;

	return tape_take(t, &t->kallsyms, text, len);
}

static inline int tape_run(struct tape *t, const struct root *r, bool wants_kernel)
{
	struct survey_config c = {
	    .root = r,
	    .wants_kernel = wants_kernel,
	    .wants_tasks = true,
	    .max_tasks = t->max_tasks,
	    .pids = t->pids,
	    .nr_pids = t->nr_pids,
	    .has_no_ids = t->has_no_ids,
	    .records = tape_records,
	    .kallsyms = tape_kallsyms,
	    .arg = t,
	    .stop = &t->stop,
	};
	int rc;

	t->start_ns = clock_monotonic_ns();
	rc = survey_run(&c, &t->result);
	t->end_ns = clock_monotonic_ns();
	return rc;
}

static inline void tape_describe_mmap2(struct buf *out, const struct trace_record *r)
{
	buf_printf(out, "mmap2 %u/%u %" PRIx64 "+%" PRIx64 " @%" PRIx64 " ", r->pid, r->tid,
		   r->start, r->length, r->offset);
	if (r->build_id_len)
		buf_adds(out, "id");
	else
		buf_printf(out, "%x:%x %" PRIu64, r->major, r->minor, r->inode);
	for (unsigned i = 0; i < r->build_id_len; i++)
		buf_printf(out, "%s%02x", i ? "" : " ", r->build_id[i]);
	buf_printf(out, " %x %x %s\n", r->prot, r->flags, r->name);
	assert_int_equal(r->cpumode, PERF_RECORD_MISC_USER);
	assert_int_equal(r->inode_generation, 0);
}

/* One line for each record of the process (0: of all), as the trace's reader understands it. */
static inline void tape_describe(const struct tape *t, uint32_t pid, struct buf *out)
{
	struct trace_layout layout;
	struct trace_record r;

	trace_layout_side_band(&layout, true);
	for (size_t at = 0; at < t->records.len; at += r.len) {
		const uint8_t *p = (const uint8_t *)t->records.data + at;

		assert_int_equal(trace_record_decode(&layout, p, t->records.len - at, &r), 0);
		assert_in_range(r.time_ns, t->start_ns, t->end_ns);
		assert_int_equal(r.has, TRACE_HAS_TID | TRACE_HAS_TIME);
		if (pid && r.pid != pid)
			continue;
		if (r.kind == PERF_RECORD_FORK)
			buf_printf(out, "fork %u/%u of %u/%u\n", r.pid, r.tid, r.ppid, r.ptid);
		else if (r.kind == PERF_RECORD_COMM)
			buf_printf(out, "comm %u/%u %s\n", r.pid, r.tid, r.name);
		else
			tape_describe_mmap2(out, &r);
	}
}

static inline void tape_expect(const struct tape *t, uint32_t pid, const char *expected)
{
	struct buf got;

	buf_init(&got, 1 << 20);
	tape_describe(t, pid, &got);
	assert_string_equal(buf_str(&got), expected);
	buf_fini(&got);
}

/* System calls on paths that hold this part fail so; the nth read of such a file (from 1) does. */
static struct hook {
	const char *part;
	int open_error, stat_error, read_error;
	unsigned read_at;
	atomic_bool *stop; /* NULL, or set by that read */
	int fd;
	unsigned nr_opens, nr_stats, nr_reads;
} hook;

static inline bool hook_is_for(const char *path)
{
	return strstr(path, hook.part) != NULL;
}

static inline int hook_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	bool is_mine = hook_is_for(path);
	int fd = is_mine && hook.open_error ? hook.open_error
					    : sys_kernel_ops.openat(dirfd, path, flags, mode);

	if (is_mine) {
		hook.fd = fd;
		hook.nr_opens++;
	}
	return fd;
}

static inline ssize_t hook_read(int fd, void *buf, size_t len)
{
	if (fd != hook.fd || ++hook.nr_reads != hook.read_at)
		return sys_kernel_ops.read(fd, buf, len);
	if (hook.stop)
		atomic_store(hook.stop, true);
	return hook.read_error ? hook.read_error : sys_kernel_ops.read(fd, buf, len);
}

static inline int hook_close(int fd)
{
	if (fd == hook.fd)
		hook.fd = -1;
	return sys_kernel_ops.close(fd);
}

static inline int hook_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	bool is_mine = hook_is_for(path);

	hook.nr_stats += is_mine;
	return is_mine && hook.stat_error ? hook.stat_error
					  : sys_kernel_ops.fstatat(dirfd, path, st, flags);
}

/* Until hook_stop. */
static inline void hook_start(struct hook h)
{
	static struct sys_ops ops;

	hook = h;
	hook.fd = -1;
	ops = sys_kernel_ops;
	ops.openat = hook_openat;
	ops.read = hook_read;
	ops.close = hook_close;
	ops.fstatat = hook_fstatat;
	sys_set_ops(&ops);
}

static inline void hook_stop(void)
{
	sys_set_ops(NULL);
}

static inline void put_text(const struct root *r, const char *path, const char *text)
{
	tree_put(r, path, text, strlen(text));
}

/* A process of the tree: its /proc/PID/stat, and its maps, if not NULL. */
static inline void put_process(const struct root *r, uint32_t pid, const char *name,
			       unsigned nr_threads, const char *maps)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	snprintf(text, sizeof(text), "%u (%s) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 %u 0 0 %u 0 0\n",
		 pid, name, nr_threads, maps ? 4096 : 0);
	put_text(r, path, text);
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (maps)
		put_text(r, path, maps);
	put_text(r, "/proc/self/mountinfo",
		 "20 1 253:0 / / rw - ext4 /dev/a rw\n21 20 253:1 / /b rw - xfs /dev/b rw\n");
}

/* A mapped file with this build-id (under 256 bytes; NULL: no ELF file). */
static inline void put_mapped(const struct root *r, uint32_t pid, const char *range, const char *id)
{
	struct test_segment s = {.type = TEST_NOTE, .align = 4};
	char path[128], note[272] = TEST_GNU("\0", "\3");
	struct buf b;
	size_t id_len;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%s", pid, range);
	if (!id) {
		put_text(r, path, "#!/bin/sh\n");
		return;
	}
	id_len = strlen(id);
	note[4] = (char)id_len;
	memcpy(note + 16, id, id_len);
	s.bytes = note;
	s.len = 16 + id_len;
	buf_init(&b, 1 << 16);
	test_elf(&b, 64, &s, 1);
	tree_put(r, path, b.data, b.len);
	buf_fini(&b);
}

#endif
