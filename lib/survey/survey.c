/*
 * Surveys BPF programs and kernel symbols, then walks /proc: processes, threads, mappings. Records
 * are collected in a buffer, which is passed on when full.
 */
#include "survey/survey.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "host/host.h"
#include "proc/list.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "survey/bpf.h"
#include "survey/cmdline.h"
#include "survey/copies.h"
#include "survey/identify.h"
#include "survey/ids.h"
#include "survey/maps.h"
#include "survey/record.h"
#include "survey/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* seq_file returns less than a page per read, whatever is requested. */
enum {
	READ_BYTES = 4096,
	MAX_LINE_BYTES = 65536, /* of maps */
	MAX_COMM_BYTES = 128,
	MAX_PATH_BYTES = 64,
	MAX_FOLDER_BYTES = 256,
	MAX_DENIED_BYTES = 80,
	NR_NAMED = 3,
	TASK_NAME_BYTES = 16,
};

/* What can be missing, in the order of the note. */
enum missing {
	DENIED,
	NO_IDS,
	FOREIGN,
	SILENT,
	HIDDEN,
	NO_KALLSYMS,
	NO_BPF,
	FAILED,
	ODD,
	TASKS,
	MAPPINGS,
	IDS,
	PROGRAMS,
	STOPPED,
	NR_MISSING
};

static const char *const missing_words[NR_MISSING] = {
    [DENIED] = "mappings of",
    [NO_IDS] = "build-ids (CAP_CHECKPOINT_RESTORE)",
    [FOREIGN] = "build-ids on file systems that may not answer",
    [SILENT] = "build-ids on devices that do not answer",
    [HIDDEN] = "kernel symbols (kernel.kptr_restrict)",
    [NO_KALLSYMS] = "kernel symbols (no /proc/kallsyms)",
    [NO_BPF] = "BPF programs (CAP_SYS_ADMIN)",
    [FAILED] = "what could not be read",
    [ODD] = "malformed text",
    [TASKS] = "tasks beyond the limit",
    [MAPPINGS] = "mappings beyond the limit",
    [IDS] = "build-ids beyond the limit",
    [PROGRAMS] = "BPF programs beyond the limit",
    [STOPPED] = "the rest (stopped)",
};

struct survey {
	const struct survey_config *config;
	struct survey_result result;
	struct buf out;                 /* records not yet passed on */
	struct buf text;                /* of maps: not yet parsed */
	char name[SURVEY_PATH_BYTES];   /* of the current mapping */
	char copied[SURVEY_PATH_BYTES]; /* of the file that it is a copy of */
	struct survey_ids ids;
	unsigned missing;        /* bits: 1 << enum missing */
	int rc;                  /* 0, or what ended the survey */
	struct survey_task task; /* the current process */
	char task_name[TASK_NAME_BYTES];
	struct survey_at at;
	struct survey_cmdline cmdline;
	struct survey_identify_question file;
	bool is_denied;                /* some of the current process is not readable */
	char denied[MAX_DENIED_BYTES]; /* the first of them: "1 (init), 7 (sshd)" */
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

/* Failed or stopped. */
static bool is_over(struct survey *s)
{
	if (s->config->stop && atomic_load(s->config->stop))
		miss(s, STOPPED);
	return s->rc || s->missing & 1u << STOPPED;
}

/* Notes why a file could not be read. A process that has ended is no failure. */
static void note_failure(struct survey *s, int rc)
{
	if (rc == -EACCES || rc == -EPERM)
		s->is_denied = true;
	else if (rc == -ENOMEM)
		fail(s, rc);
	else if (rc && rc != -ENOENT && rc != -ESRCH)
		miss(s, rc == -EFBIG ? ODD : FAILED); /* a line without an end */
}

static ssize_t read_some(int fd, void *buf, size_t len)
{
	ssize_t n;

	do
		n = sys()->read(fd, buf, len);
	while (n == -EINTR);
	return n;
}

/* Reads a file that fits into one read. Adds a NUL. */
static ssize_t load_small(const struct proc *p, const char *name, char *text, size_t size)
{
	IO_AUTO_FD int fd = proc_open(p, name);
	ssize_t n = fd < 0 ? fd : read_some(fd, text, size - 1);

	if (n >= 0)
		text[n] = '\0';
	return n;
}

static void pass_records(struct survey *s)
{
	int rc = buf_error(&s->out);

	if (rc == 0 && !s->rc && s->out.len)
		rc = s->config->records(s->out.data, s->out.len, s->config->arg);
	buf_reset(&s->out);
	fail(s, rc);
}

/* Ensures room for one more record. */
static void make_room(struct survey *s)
{
	size_t max = s->config->max_bytes ? s->config->max_bytes : SURVEY_PIECE_BYTES;

	if (s->out.len > max - SURVEY_RECORD_MAX_BYTES)
		pass_records(s);
}

static void report_place(struct survey *s)
{
	if (!s->config->at)
		return;
	pass_records(s);
	s->config->at(&s->at, s->config->arg);
}

static void report_process(struct survey *s, const char *name, size_t len)
{
	s->at = (struct survey_at){.pid = s->task.pid};
	memcpy(s->at.name, name, len < sizeof(s->at.name) ? len : sizeof(s->at.name) - 1);
	report_place(s);
}

static void report_file(const struct proc_mapping *m, void *arg)
{
	struct survey *s = arg;
	size_t max = sizeof(s->at.path) - 1, skipped = m->name_len > max ? m->name_len - max : 0;

	s->at.is_file = true;
	s->at.address = m->start;
	s->at.key = survey_key(m);
	snprintf(s->at.path, sizeof(s->at.path), "%.*s", (int)(m->name_len - skipped),
		 m->name + skipped);
	report_place(s);
	s->at.is_file = false;
}

static void pass_file(uint32_t pid, const struct proc_mapping *m, const struct elf_build_id *id,
		      void *arg)
{
	struct survey *s = arg;
	struct survey_identify_question *q = &s->file;

	if (!s->config->file || m->name_len >= sizeof(q->path))
		return;
	*q = (struct survey_identify_question){.inode = m->inode,
					       .start = m->start,
					       .end = m->end,
					       .major = m->major,
					       .minor = m->minor,
					       .pid = pid};
	memcpy(q->path, m->name, m->name_len);
	s->config->file(q, id, s->config->arg);
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

static int visit_thread(uint32_t tid, void *arg)
{
	struct survey *s = arg;
	struct survey_task t = s->task;
	char comm[MAX_COMM_BYTES];
	ssize_t len;

	t.tid = tid;
	if (is_over(s) || t.tid == t.pid || !has_room_for_task(s))
		return is_over(s);
	len = load_small(PROC(s->config->root, t.pid, t.tid), "comm", comm, sizeof(comm));
	if (len < 0)
		note_failure(s, (int)len);
	else
		add_task(s, &t, t.pid, t.pid, comm, (size_t)len - (len && comm[len - 1] == '\n'));
	return is_over(s);
}

/* /proc/PID/maps of the current process. */
struct maps {
	int fd;
	uint64_t from; /* skip mappings that begin before */
	uint32_t nr;
};

static void add_mapping(struct survey *s, const struct proc_mapping *m, struct maps *maps)
{
	const bool wants_file = !s->config->has_no_ids;
	const struct proc_mapping *read = m;
	struct proc_mapping beside, copy;

	if (maps->nr == SURVEY_MAX_MAPPINGS) {
		miss(s, MAPPINGS);
		return;
	}
	copy = *m;
	if (wants_file &&
	    survey_copy_find(&s->ids, s->task.pid, maps->fd, m, s->copied, &beside, &copy.offset)) {
		copy.inode = beside.inode;
		copy.major = beside.major;
		copy.minor = beside.minor;
		copy.name = beside.name;
		copy.name_len = beside.name_len;
		m = &copy;
		read = &beside;
	}
	make_room(s);
	survey_record_mmap2(
	    &s->out, &s->task, m,
	    m->inode && wants_file ? survey_ids_find(&s->ids, s->task.pid, maps->fd, read) : NULL);
	maps->nr++;
	s->result.nr_mappings++;
}

/* The text of the mappings, in whole lines. */
static void read_mappings(struct survey *s, struct maps *maps)
{
	struct buf *b = &s->text;
	ssize_t n = 1;

	buf_reset(b);
	while (n > 0 && !is_over(s)) {
		char *p = buf_reserve(b, READ_BYTES);
		const char *text, *end, *line, *stop;
		struct proc_mapping m;

		n = p ? read_some(maps->fd, p, READ_BYTES) : buf_error(b);
		if (n < 0) {
			note_failure(s, (int)n);
			return;
		}
		b->len += (size_t)n;
		text = b->data;
		end = text + b->len;
		while (n && end != text && end[-1] != '\n')
			end--;
		while ((line = str_next_line(&text, end, &stop))) {
			if (proc_maps_parse(line, (size_t)(stop - line), &m))
				miss(s, ODD);
			else if (m.prot & PROC_MAPS_EXEC && m.start >= maps->from)
				add_mapping(s, &m, maps);
		}
		b->len -= (size_t)(end - b->data);
		memmove(b->data, end, b->len);
	}
}

/* From that address on. */
static void add_mappings(struct survey *s, uint64_t from)
{
	IO_AUTO_FD int fd = proc_open(PROC(s->config->root, s->task.pid), "maps");
	struct proc_mapping m;
	int rc;
	struct maps maps = {.fd = fd, .from = from};

	if (fd < 0) {
		note_failure(s, fd);
		return;
	}
	while ((rc = survey_maps_next(fd, maps.from, s->name, &m)) == 0 && !is_over(s)) {
		add_mapping(s, &m, &maps);
		maps.from = m.end;
	}
	if (rc != -ENOENT) /* the query is not available (before Linux 6.11) */
		read_mappings(s, &maps);
}

static void add_cmdline(struct survey *s)
{
	if (!s->config->cmdline)
		return;
	survey_cmdline_read(s->config->root, s->task.pid, &s->cmdline);
	if (s->cmdline.len)
		fail(s, s->config->cmdline(&s->cmdline, s->config->arg));
}

static void add_process(struct survey *s)
{
	const struct proc *p = PROC(s->config->root, s->task.pid);
	char text[PROC_STAT_BYTES];
	uint64_t parent, nr_threads, memory_bytes;
	const struct proc_number numbers[] = {{PROC_STAT_PARENT, &parent},
					      {PROC_STAT_NR_THREADS, &nr_threads},
					      {PROC_STAT_MEMORY_BYTES, &memory_bytes}};
	struct proc_stat t;
	ssize_t n;
	int rc;

	n = load_small(p, "stat", text, sizeof(text));
	if (n < 0) {
		note_failure(s, (int)n);
		return;
	}
	if (proc_stat_parse(text, (size_t)n, &t, numbers, ARRAY_NR(numbers)) ||
	    parent > INT32_MAX) {
		miss(s, ODD);
		return;
	}
	s->result.nr_processes++;
	snprintf(s->task_name, sizeof(s->task_name), "%.*s", (int)t.name_len, t.name);
	add_task(s, &s->task, (uint32_t)parent, (uint32_t)parent, t.name, t.name_len);
	if (nr_threads > 1) {
		rc = proc_each_thread(p, visit_thread, s);
		if (rc < 0)
			note_failure(s, rc);
	}
	if (!memory_bytes || s->config->is_careful)
		return;
	report_process(s, t.name, t.name_len);
	add_cmdline(s);
	add_mappings(s, 0);
}

/* True: an earlier survey has read the process. If that survey stopped at one of its files, adds
 * the rest of its mappings. */
static bool is_done(struct survey *s, uint32_t pid)
{
	const struct survey_at *after = s->config->after;
	char name[MAX_PATH_BYTES], last[MAX_PATH_BYTES];
	int order;

	if (!after)
		return false;
	snprintf(name, sizeof(name), "%" PRIu32, pid);
	snprintf(last, sizeof(last), "%" PRIu32, after->pid);
	order = strcmp(name, last); /* the order of proc_each */
	if (order == 0 && after->is_file && !s->config->is_careful) {
		report_process(s, after->name, strnlen(after->name, sizeof(after->name)));
		add_mappings(s, after->address);
	}
	return order <= 0;
}

static bool is_wanted(const struct survey_config *c, uint32_t pid)
{
	const size_t at = ORDER_FIRST(i, c->nr_pids, c->pids[i] >= pid);

	return !c->nr_pids || (at < c->nr_pids && c->pids[at] == pid);
}

/* The time is read first: later changes then have records of the kernel with later times, which
 * take precedence. */
static int visit_process(uint32_t pid, void *arg)
{
	struct survey *s = arg;
	size_t len;

	if (is_over(s) || !has_room_for_task(s))
		return is_over(s);
	if (!is_wanted(s->config, pid))
		return 0;
	s->task = (struct survey_task){.pid = pid, .tid = pid, .time_ns = clock_monotonic_ns()};
	s->is_denied = false;
	s->task_name[0] = '\0';
	if (!is_done(s, pid)) {
		report_process(s, "", 0);
		add_process(s);
	}
	if (!s->is_denied)
		return is_over(s);
	miss(s, DENIED);
	len = strlen(s->denied);
	if (++s->result.nr_denied <= NR_NAMED)
		snprintf(s->denied + len, sizeof(s->denied) - len, "%s%" PRIu32 " (%s)",
			 len ? ", " : "", pid, *s->task_name ? s->task_name : "?");
	return is_over(s);
}

static void survey_processes(struct survey *s)
{
	int rc;

	s->ids.before = report_file;
	s->ids.after = pass_file;
	s->ids.arg = s;
	survey_ids_skip(&s->ids, s->config->skipped, s->config->nr_skipped);
	rc = proc_each(s->config->root, visit_process, s);
	if (rc < 0)
		fail(s, rc);
	pass_records(s);
	if (s->ids.nr_foreign)
		miss(s, FOREIGN);
	if (s->ids.nr_unasked)
		miss(s, SILENT);
	if (s->ids.is_denied)
		miss(s, NO_IDS);
	if (s->ids.is_full)
		miss(s, IDS);
	if (s->ids.has_failed)
		miss(s, FAILED);
	s->result.nr_build_ids = s->ids.nr_ids;
}

static int add_function(const struct survey_function *f, void *arg)
{
	struct survey *s = arg;

	make_room(s);
	survey_record_ksymbol(&s->out, s->task.time_ns, f);
	return is_over(s);
}

/* Surveys the BPF programs of this machine. False: the kernel cannot list them. */
static bool survey_programs(struct survey *s)
{
	struct survey_bpf found = {0};
	int rc;

	if (s->config->root->dir[0])
		return false;
	s->task.time_ns = clock_monotonic_ns();
	rc = survey_bpf_each(add_function, s, &found);
	pass_records(s);
	if (rc == -ENOMEM)
		fail(s, rc);
	if (found.nr_denied)
		miss(s, NO_BPF);
	if (found.has_failed)
		miss(s, FAILED);
	if (found.is_full)
		miss(s, PROGRAMS);
	return rc >= 0;
}

static int pass_symbols(const char *text, size_t len, void *arg)
{
	struct survey *s = arg;

	fail(s, s->config->kallsyms(text, len, s->config->arg));
	return s->rc;
}

static bool pack_symbols(const char *text, size_t len, const void **piece, size_t *piece_len,
			 void *arg)
{
	const struct survey_config *c = ((struct survey *)arg)->config;

	return c->pack(text, len, piece, piece_len, c->arg);
}

static int pass_packed(const void *piece, size_t len, void *arg)
{
	struct survey *s = arg;

	fail(s, s->config->packed(piece, len, s->config->arg));
	return s->rc;
}

static void survey_symbols(struct survey *s, bool wants_changing)
{
	char folder[MAX_FOLDER_BYTES];
	struct survey_symbols_config c = {
	    .root = s->config->root,
	    .wants_changing = wants_changing,
	    .pass_text = pass_symbols,
	    .pack = pack_symbols,
	    .pass_packed = pass_packed,
	    .arg = s,
	    .stop = s->config->stop,
	};
	int rc;

	if (s->config->pack && survey_symbols_folder(folder, sizeof(folder)))
		c.folder = folder;
	rc = survey_symbols_run(&c);
	s->result.has_kallsyms = rc == 0;
	if (s->rc || is_over(s))
		return;
	if (rc == -EACCES || rc == -EPERM)
		miss(s, HIDDEN);
	else if (rc == -ENOENT)
		miss(s, NO_KALLSYMS);
	else
		note_failure(s, rc);
}

static size_t write_denied(const struct survey *s, char *note, size_t size)
{
	uint64_t nr = s->result.nr_denied;

	return (size_t)snprintf(note, size, " %" PRIu64 " %s (%s): %s%s", nr,
				nr == 1 ? "process" : "processes",
				host_may_trace(s->config->root) ? "refused despite CAP_SYS_PTRACE"
								: "needs CAP_SYS_PTRACE",
				s->denied, nr > NR_NAMED ? " …" : "");
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
			if (i == DENIED && len < size)
				len += write_denied(s, note + len, size - len);
			if (i == FOREIGN && len < size)
				len += (size_t)snprintf(
				    note + len, size - len, " (%u files, %s)", s->ids.nr_foreign,
				    *s->ids.foreign_type ? s->ids.foreign_type : "not mounted");
			if (i == SILENT && len < size)
				len += (size_t)snprintf(note + len, size - len, " (%u files)",
							s->ids.nr_unasked);
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
	if (c->wants_kernel && !is_over(s)) {
		bool has_programs = survey_programs(s);

		if (!is_over(s)) /* kallsyms contains programs too, with fewer details */
			survey_symbols(s, !has_programs);
	}
	if (c->wants_programs && !is_over(s))
		(void)survey_programs(s);
	if (c->wants_tasks && !is_over(s))
		survey_processes(s);
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
