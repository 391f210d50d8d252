/*
 * The survey of this machine: a child of known name and threads, its mappings and build-ids, in the
 * very bytes that the kernel writes of it. The child is this program, started with an argument.
 */
#include "kit.h"
#include "test_survey.h"

#include "survey/ops.h"
#include "survey/record.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILD_NAME "known child"

static void *wait_for_end(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

/* Tells that it is ready, and ends with its input. */
static int be_child(void)
{
	static const char *const names[] = {"one", "(two) "};
	pthread_t thread;
	char c = 'r';

	prctl(PR_SET_NAME, CHILD_NAME);
	for (size_t i = 0; i < NR(names); i++) {
		if (pthread_create(&thread, NULL, wait_for_end, NULL))
			return 1;
		pthread_setname_np(thread, names[i]);
	}
	return write(STDOUT_FILENO, &c, 1) == 1 && read(STDIN_FILENO, &c, 1) == 0 ? 0 : 1;
}

struct child {
	pid_t pid;
	int in, out; /* its input; what it says */
};

static void fork_child(struct child *c)
{
	int in[2], out[2];
	char go;

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		if (read(STDIN_FILENO, &go, 1) == 1)
			execl("/proc/self/exe", "test", "child", NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	c->in = in[1];
	c->out = out[0];
}

/* From now on it is the other program; when it is ready. */
static void exec_child(const struct child *c)
{
	char ready;

	assert_int_equal(write(c->in, "g", 1), 1);
	assert_int_equal(read(c->out, &ready, 1), 1);
}

static void end_child(const struct child *c)
{
	int status;

	close(c->in);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
	close(c->out);
}

static const uint8_t *record_at(const struct buf *records, size_t at, struct trace_record *r)
{
	struct trace_layout layout;
	const uint8_t *p = (const uint8_t *)records->data + at;

	trace_layout_side_band(&layout, true);
	assert_int_equal(trace_record_decode(&layout, p, records->len - at, r), 0);
	return p;
}

/* The record of the kind and process that has the name and, if not 0, holds the address; of kind 0
 * if there is none. */
static struct trace_record find_record(const struct buf *records, uint32_t kind, pid_t pid,
				       const char *name, uint64_t address)
{
	struct trace_record r;

	for (size_t at = 0; at < records->len; at += r.len) {
		record_at(records, at, &r);
		if (r.kind == kind && r.pid == (uint32_t)pid && strcmp(r.name, name) == 0 &&
		    (!address || address - r.start < r.length))
			return r;
	}
	return (struct trace_record){0};
}

static unsigned count_records(const struct buf *records, uint32_t kind, pid_t pid)
{
	struct trace_record r;
	unsigned nr = 0;

	for (size_t at = 0; at < records->len; at += r.len) {
		record_at(records, at, &r);
		nr += r.kind == kind && r.pid == (uint32_t)pid;
	}
	return nr;
}

static void survey_machine(struct tape *t)
{
	tape_init(t);
	assert_int_equal(tape_run(t, &root_live, false), 0);
	print_message("%" PRIu64 " processes, %" PRIu64 " threads, %" PRIu64 " mappings, %" PRIu64
		      " build-ids; %s\n",
		      t->result.nr_processes, t->result.nr_threads, t->result.nr_mappings,
		      t->result.nr_build_ids, t->result.note);
}

TEST(child)
{
	static const char *const names[] = {CHILD_NAME, "one", "(two) "};
	struct child c;
	struct tape t;
	struct trace_record r;
	size_t nr_fds = inject_open_fds();

	fork_child(&c);
	exec_child(&c);
	survey_machine(&t);
	end_child(&c);
	for (size_t i = 0; i < NR(names); i++) {
		r = find_record(&t.records, PERF_RECORD_COMM, c.pid, names[i], 0);
		assert_int_equal(r.kind, PERF_RECORD_COMM);
		assert_int_equal(r.tid == (uint32_t)c.pid, i == 0);
	}
	assert_int_equal(count_records(&t.records, PERF_RECORD_COMM, c.pid), 3);
	assert_int_equal(count_records(&t.records, PERF_RECORD_FORK, c.pid), 3);
	assert_true(count_records(&t.records, PERF_RECORD_MMAP2, c.pid) >= 3); /* ld.so, vdso */
	tape_fini(&t);
	assert_int_equal(inject_open_fds(), nr_fds);
}

/* This program's own code lies in a mapping of its file, with the build-id that readelf tells. */
TEST(own)
{
	char exe[4096] = "", expected[128], got[48] = "";
	bool has_readelf = test_own_build_id(expected, sizeof(expected));
	struct trace_record r;
	struct tape t;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	survey_machine(&t);
	r = find_record(&t.records, PERF_RECORD_MMAP2, getpid(), exe, (uintptr_t)be_child);
	assert_int_equal(r.kind, PERF_RECORD_MMAP2);
	assert_int_equal(r.prot, 5);
	for (unsigned i = 0; i < r.build_id_len; i++)
		snprintf(got + (size_t)2 * i, 3, "%02x", r.build_id[i]);
	tape_fini(&t);
	if (strstr(t.result.note, "CAP_CHECKPOINT_RESTORE") || !has_readelf)
		SKIP("%s", has_readelf ? t.result.note : "no readelf to ask");
	assert_string_equal(got, expected);
}

/* The kernel's records of the child's first thread: tasks, names, mappings. */
enum { RING_PAGES = 64 };

static int open_kernel(pid_t pid, bool wants_ids, struct perf_event_mmap_page **ring)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_DUMMY,
	    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	    .sample_id_all = 1,
	    .mmap = 1,
	    .mmap2 = 1,
	    .comm = 1,
	    .task = 1,
	    .build_id = wants_ids,
	    .exclude_kernel = 1,
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	size_t len = (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);

	if (fd < 0)
		return -errno;
	*ring = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(*ring, MAP_FAILED);
	return fd;
}

/* The kernel (6.18) forgets to take the mark of a build-id back when it has told another event, of
 * whomever, the same mapping with one. */
static void unmark_ids(struct buf *records)
{
	uint32_t kind;

	for (size_t at = 0, size; at < records->len; at += size) {
		uint8_t *p = (uint8_t *)records->data + at;

		size = trace_record_size(p, records->len - at, &kind);
		assert_true(size > 0);
		if (kind == PERF_RECORD_MMAP2)
			p[5] &= (uint8_t) ~(PERF_RECORD_MISC_MMAP_BUILD_ID >> 8);
	}
}

static void close_kernel(int fd, struct perf_event_mmap_page *ring, struct buf *records)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);

	assert_in_range(head, 1, RING_PAGES * page);
	buf_add(records, (const char *)ring + page, head);
	assert_int_equal(buf_error(records), 0);
	munmap(ring, (1 + RING_PAGES) * page);
	close(fd);
}

/* What two records of the same thing have in common, up to the id that ends them: not what is not
 * in /proc (the inode's generation, more flags of the mapping), not that a name is of an exec. */
static void normalize(const uint8_t *p, const struct trace_record *r, uint8_t *out)
{
	enum { MISC_AT = 4, TIME_AT = 24, GENERATION_AT = 56, FLAGS_AT = 68 };

	memcpy(out, p, r->len - 16);
	if (r->kind == PERF_RECORD_FORK)
		memset(out + TIME_AT, 0, 8);
	if (r->kind == PERF_RECORD_COMM)
		memset(out + MISC_AT, 0, 2);
	if (r->kind == PERF_RECORD_MMAP2) {
		out[FLAGS_AT] &= 3;
		memset(out + FLAGS_AT + 1, 0, 3);
		if (!r->build_id_len)
			memset(out + GENERATION_AT, 0, 8);
	}
}

static bool has_same(const struct buf *kernel, const uint8_t *p, const struct trace_record *r)
{
	uint8_t mine[SURVEY_RECORD_MAX_BYTES], its[SURVEY_RECORD_MAX_BYTES];
	struct trace_record k;

	normalize(p, r, mine);
	for (size_t at = 0; at < kernel->len; at += k.len) {
		const uint8_t *q = record_at(kernel, at, &k);

		if (k.kind != r->kind || k.len != r->len)
			continue;
		normalize(q, &k, its);
		if (memcmp(mine, its, r->len - 16) == 0)
			return true;
	}
	return false;
}

/* vsyscall is mapped from the start, and the event came after the child. */
static bool is_told_by_kernel(const struct trace_record *r)
{
	if (r->kind == PERF_RECORD_FORK)
		return r->tid != r->pid;
	return r->kind != PERF_RECORD_MMAP2 || strcmp(r->name, "[vsyscall]") != 0;
}

static void compare_with_kernel(const struct buf *kernel, const struct buf *made, pid_t pid)
{
	unsigned nr = 0;
	struct trace_record r;

	for (size_t at = 0; at < made->len; at += r.len) {
		const uint8_t *p = record_at(made, at, &r);

		if (r.pid != (uint32_t)pid || !is_told_by_kernel(&r))
			continue;
		if (!has_same(kernel, p, &r))
			fail_msg("not the kernel's: %s of %u, %s", trace_record_kind_name(r.kind),
				 r.tid, r.name ? r.name : "");
		nr++;
	}
	assert_true(nr >= 8); /* 2 threads, 3 names, program, loader, vdso */
}

static int before_6_11(int fd, unsigned long request, void *arg)
{
	(void)fd;
	(void)request;
	(void)arg;
	return -ENOTTY;
}

/* From text, and without the right to read build-ids. */
static void hook_text(void)
{
	static struct survey_ops ops;

	ops = survey_kernel_ops;
	ops.ioctl = before_6_11;
	survey_set_ops(&ops);
	hook_start((struct hook){.part = "map_files", .stat_error = -EPERM});
}

static void check_kernel(bool wants_ids)
{
	struct perf_event_mmap_page *ring = NULL;
	struct buf kernel;
	struct child c;
	struct tape t;
	int fd;

	buf_init(&kernel, 16 << 20);
	fork_child(&c);
	fd = open_kernel(c.pid, wants_ids, &ring);
	exec_child(&c);
	if (!wants_ids)
		hook_text();
	survey_machine(&t);
	hook_stop();
	survey_set_ops(NULL);
	end_child(&c);
	if (fd >= 0)
		close_kernel(fd, ring, &kernel);
	if (!wants_ids)
		unmark_ids(&kernel);
	if (fd >= 0 && (!wants_ids || t.result.nr_build_ids))
		compare_with_kernel(&kernel, &t.records, c.pid);
	else
		print_message("skip: %s\n", fd < 0 ? strerror(-fd) : t.result.note);
	buf_fini(&kernel);
	tape_fini(&t);
	if (fd < 0 || (wants_ids && !t.result.nr_build_ids))
		skip();
}

TEST(kernel_ids)
{
	check_kernel(true);
}

TEST(kernel_inodes)
{
	check_kernel(false);
}

int main(int argc, char **argv)
{
	(void)argv;
	return argc > 1 ? be_child() : kit_run(argv[0]);
}
