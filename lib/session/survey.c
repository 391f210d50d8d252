/*
 * The walk over /proc: processes, their threads, their mappings, then kallsyms. What is read
 * becomes records in one buffer, which is given on when it is full. Must not know what becomes of
 * them.
 */
#include "session/survey.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "collect/proc_maps.h"
#include "collect/proc_task.h"
#include "session/survey_ids.h"
#include "session/survey_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* seq_file gives less than a page at a time, whatever is asked for; more costs no less. */
enum {
	READ_BYTES = 4096,
	MAX_LINE_BYTES = 65536, /* of maps */
	MAX_STAT_BYTES = 2048,
	MAX_COMM_BYTES = 128,
	MAX_PATH_BYTES = 64,
};

/* What may be missing, in the order of the note. */
enum missing {
	DENIED,
	NO_IDS,
	HIDDEN,
	NO_KALLSYMS,
	FAILED,
	ODD,
	TASKS,
	MAPPINGS,
	IDS,
	STOPPED,
	NR_MISSING
};

static const char *const missing_words[NR_MISSING] = {
    [DENIED] = "mappings of some processes (CAP_SYS_PTRACE)",
    [NO_IDS] = "build-ids (CAP_CHECKPOINT_RESTORE)",
    [HIDDEN] = "kernel symbols (kernel.kptr_restrict)",
    [NO_KALLSYMS] = "kernel symbols (no /proc/kallsyms)",
    [FAILED] = "what could not be read",
    [ODD] = "text that no kernel writes",
    [TASKS] = "tasks beyond the ceiling",
    [MAPPINGS] = "mappings beyond the ceiling",
    [IDS] = "build-ids beyond the ceiling",
    [STOPPED] = "the rest (stopped)",
};

struct survey {
	const struct survey_config *config;
	struct survey_result result;
	struct buf out;  /* not yet given on: records, later lines of kallsyms */
	struct buf text; /* of maps: what is not yet parsed */
	struct survey_ids ids;
	unsigned missing;        /* bits: 1 << enum missing */
	int rc;                  /* of what ends the survey; sticky */
	struct survey_task task; /* the process at hand */
	bool is_denied;          /* some of it may not be read */
};

static void miss(struct survey *s, enum missing what)
{
	s->missing |= 1u << what;
}

static void fail(struct survey *s, int rc)
{
	if (!s->rc)
		s->rc = rc;
}

/* It failed, or is to stop. */
static bool is_over(struct survey *s)
{
	if (s->config->stop && atomic_load(s->config->stop))
		miss(s, STOPPED);
	return s->rc || s->missing & 1u << STOPPED;
}

/* A file that cannot be opened or read; nothing to say if its process has gone. */
static void pass_over(struct survey *s, int rc)
{
	if (rc == -EACCES || rc == -EPERM)
		s->is_denied = true;
	else if (rc == -ENOMEM)
		fail(s, rc);
	else if (rc && rc != -ENOENT && rc != -ESRCH)
		miss(s, rc == -EFBIG ? ODD : FAILED); /* a line without end */
}

static ssize_t read_some(int fd, void *buf, size_t len)
{
	ssize_t n;

	do
		n = sys()->read(fd, buf, len);
	while (n == -EINTR);
	return n;
}

/* A file whose text the kernel gives with the first read; NUL-terminated. */
static ssize_t load_small(const struct survey *s, const char *path, char *text, size_t size)
{
	IO_AUTO_FD int fd = root_open(s->config->root, path);
	ssize_t n = fd < 0 ? fd : read_some(fd, text, size - 1);

	if (n >= 0)
		text[n] = '\0';
	return n;
}

/* More of the file; what read(2) gives. */
static ssize_t load_more(int fd, struct buf *b)
{
	char *p = buf_reserve(b, READ_BYTES);
	ssize_t n = p ? read_some(fd, p, READ_BYTES) : buf_error(b);

	if (n > 0)
		b->len += (size_t)n;
	return n;
}

/* How many bytes of it are whole lines; at the end of the file all. */
static size_t whole_lines(const struct buf *b, bool is_end)
{
	size_t len = b->len;

	while (!is_end && len && b->data[len - 1] != '\n')
		len--;
	return len;
}

static void drop_front(struct buf *b, size_t len)
{
	b->len -= len;
	memmove(b->data, b->data + len, b->len);
}

static void give_records(struct survey *s)
{
	int rc = buf_error(&s->out);

	if (rc == 0 && !s->rc && s->out.len)
		rc = s->config->records(s->out.data, s->out.len, s->config->arg);
	buf_reset(&s->out);
	fail(s, rc);
}

/* Room for one more record. */
static void make_room(struct survey *s)
{
	if (s->out.len > SURVEY_PIECE_BYTES - SURVEY_RECORD_MAX_BYTES)
		give_records(s);
}

static void add_task(struct survey *s, const struct survey_task *t, uint32_t parent_pid,
		     uint32_t parent_tid, const char *name, size_t len)
{
	make_room(s);
	survey_record_fork(&s->out, t, parent_pid, parent_tid);
	survey_record_comm(&s->out, t, name, len);
	s->result.nr_threads++;
}

static bool has_room_for_task(struct survey *s)
{
	uint32_t max = s->config->max_tasks ? s->config->max_tasks : SURVEY_MAX_TASKS;

	if (s->result.nr_threads < max)
		return true;
	miss(s, TASKS);
	return false;
}

/* The number that a folder of /proc is named by; 0: it is another. */
static uint32_t task_number(const char *name)
{
	uint64_t v;

	return str_parse_u64(name, &v) == 0 && v <= INT32_MAX ? (uint32_t)v : 0;
}

static int visit_thread(const char *name, void *arg)
{
	struct survey *s = arg;
	struct survey_task t = s->task;
	char path[MAX_PATH_BYTES], comm[MAX_COMM_BYTES];
	ssize_t len;

	t.tid = task_number(name);
	if (is_over(s) || !t.tid || t.tid == t.pid || !has_room_for_task(s))
		return is_over(s);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", t.pid, t.tid);
	len = load_small(s, path, comm, sizeof(comm));
	if (len < 0)
		pass_over(s, (int)len);
	else
		add_task(s, &t, t.pid, t.pid, comm, (size_t)len - (len && comm[len - 1] == '\n'));
	return is_over(s);
}

static void add_threads(struct survey *s)
{
	char path[MAX_PATH_BYTES];
	int rc;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", s->task.pid);
	rc = root_each(s->config->root, path, visit_thread, s);
	if (rc < 0)
		pass_over(s, rc);
}

static void add_mapping(struct survey *s, const struct proc_mapping *m, uint32_t *nr)
{
	if (*nr == SURVEY_MAX_MAPPINGS) {
		miss(s, MAPPINGS);
		return;
	}
	make_room(s);
	survey_record_mmap2(&s->out, &s->task, m,
			    m->inode ? survey_ids_find(&s->ids, s->task.pid, m) : NULL);
	++*nr;
	s->result.nr_mappings++;
}

/* The whole lines there are; at the end of the file, the last too. */
static void add_lines(struct survey *s, bool is_end, uint32_t *nr)
{
	const char *text = s->text.data, *end = text + whole_lines(&s->text, is_end), *line, *stop;
	struct proc_mapping m;

	while ((line = str_next_line(&text, end, &stop))) {
		if (proc_maps_parse(line, (size_t)(stop - line), &m))
			miss(s, ODD);
		else if (m.prot & PROC_MAPS_EXEC)
			add_mapping(s, &m, nr);
	}
	drop_front(&s->text, (size_t)(end - s->text.data));
}

static void add_mappings(struct survey *s)
{
	char path[MAX_PATH_BYTES];
	uint32_t nr = 0;
	ssize_t n = 1;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", s->task.pid);

	IO_AUTO_FD int fd = root_open(s->config->root, path);

	if (fd < 0)
		pass_over(s, fd);
	buf_reset(&s->text);
	while (fd >= 0 && n > 0 && !is_over(s)) {
		n = load_more(fd, &s->text);
		if (n < 0)
			pass_over(s, (int)n);
		else
			add_lines(s, n == 0, &nr);
	}
}

static int load_process(struct survey *s, char *text, size_t size, struct proc_task *t)
{
	char path[MAX_PATH_BYTES];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", s->task.pid);
	n = load_small(s, path, text, size);
	if (n < 0) {
		pass_over(s, (int)n);
		return (int)n;
	}
	if (proc_task_parse(text, (size_t)n, t) == 0 && t->parent <= INT32_MAX)
		return 0;
	miss(s, ODD);
	return -EINVAL;
}

static void add_process(struct survey *s)
{
	char text[MAX_STAT_BYTES];
	struct proc_task t;

	if (load_process(s, text, sizeof(text), &t))
		return;
	s->result.nr_processes++;
	add_task(s, &s->task, (uint32_t)t.parent, (uint32_t)t.parent, t.name, t.name_len);
	if (t.nr_threads > 1)
		add_threads(s);
	if (t.memory_bytes)
		add_mappings(s);
}

/* The time is taken before anything is read: what changes while we read has a record of the kernel
 * with a later time, which then holds. */
static int visit_process(const char *name, void *arg)
{
	struct survey *s = arg;
	uint32_t pid = task_number(name);

	if (is_over(s) || !pid || !has_room_for_task(s))
		return is_over(s);
	s->task = (struct survey_task){.pid = pid, .tid = pid, .time_ns = clock_monotonic_ns()};
	s->is_denied = false;
	add_process(s);
	if (s->is_denied) {
		s->result.nr_denied++;
		miss(s, DENIED);
	}
	return is_over(s);
}

static void survey_processes(struct survey *s)
{
	int rc = root_each(s->config->root, "/proc", visit_process, s);

	if (rc < 0)
		fail(s, rc);
	give_records(s);
	if (s->ids.is_denied)
		miss(s, NO_IDS);
	if (s->ids.is_full)
		miss(s, IDS);
	if (s->ids.has_failed)
		miss(s, FAILED);
	s->result.nr_build_ids = s->ids.nr_ids;
}

/* With kptr_restrict all addresses are 0; without, those of per-CPU variables may be, and they come
 * first. */
static bool has_address(const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;

	while ((line = str_next_line(&text, end, &stop))) {
		while (line != stop && *line == '0')
			line++;
		if (line != stop && *line != ' ')
			return true;
	}
	return false;
}

static void give_lines(struct survey *s, bool is_end)
{
	size_t len = whole_lines(&s->out, is_end);

	if (!len || s->rc)
		return;
	fail(s, s->config->kallsyms(s->out.data, len, s->config->arg));
	drop_front(&s->out, len);
}

/* 0, or -errno of why it is not all. */
static int copy_kallsyms(struct survey *s, int fd)
{
	ssize_t n = load_more(fd, &s->out);

	if (n > 0 && !has_address(s->out.data, s->out.len))
		return -EACCES;
	while (n > 0 && !is_over(s)) {
		if (s->out.len > SURVEY_PIECE_BYTES - READ_BYTES)
			give_lines(s, false);
		n = load_more(fd, &s->out);
	}
	give_lines(s, n == 0);
	return n > 0 ? -ECANCELED : (int)n;
}

static void survey_kernel(struct survey *s)
{
	IO_AUTO_FD int fd = root_open(s->config->root, "/proc/kallsyms");
	int rc = fd < 0 ? fd : copy_kallsyms(s, fd);

	s->result.has_kallsyms = rc == 0 && !s->rc;
	if (rc == -EACCES || rc == -EPERM)
		miss(s, HIDDEN);
	else if (rc == -ENOENT)
		miss(s, NO_KALLSYMS);
	else if (rc != -ECANCELED)
		pass_over(s, rc);
}

static void write_note(const struct survey *s, char *note, size_t size)
{
	const char *before = "not surveyed: ";
	size_t len = 0;

	for (unsigned i = 0; i < NR_MISSING && len < size; i++)
		if (s->missing & 1u << i) {
			len += (size_t)snprintf(note + len, size - len, "%s%s", before,
						missing_words[i]);
			before = "; ";
		}
}

int survey_run(const struct survey_config *c, struct survey_result *out)
{
	struct survey *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->config = c;
	buf_init(&s->out, SURVEY_PIECE_BYTES);
	buf_init(&s->text, MAX_LINE_BYTES);
	survey_ids_init(&s->ids, c->root);
	survey_processes(s);
	if (c->wants_kernel && !is_over(s))
		survey_kernel(s);
	write_note(s, s->result.note, sizeof(s->result.note));
	rc = s->rc;
	if (rc == 0)
		*out = s->result;
	survey_ids_fini(&s->ids);
	buf_fini(&s->text);
	buf_fini(&s->out);
	mem_free(s);
	return rc;
}
