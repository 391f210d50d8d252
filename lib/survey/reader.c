/*
 * The parent's side: receives the child's messages with a time limit, and validates them. Must
 * never wait for a child that does not answer, not even for its exit.
 */
#include "survey/reader.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "survey/reader_child.h"
#include "trace/record.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum {
	POLL_MS = 50,   /* between checks of config.stop */
	END_MS = 100,   /* for a child that does not block */
	MAX_NAMED = 4,  /* in the note; the rest is counted */
	MAX_READY = 10, /* times its patience: for a CPU, or in a loop */
};

static const struct survey_at watched = {.path = "files that were deleted or replaced"};

int survey_reader_init(struct survey_reader *r, const struct survey_reader_config *config)
{
	struct survey_reader_message *message = mem_alloc(sizeof(*message));
	struct survey_reader_question *question = mem_alloc(sizeof(*question));
	struct survey_reader_files *files = mem_zalloc(sizeof(*files));
	atomic_uint *nr_begun = mmap(NULL, sizeof(*nr_begun), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!message || !question || !files || nr_begun == MAP_FAILED) {
		if (nr_begun != MAP_FAILED)
			munmap(nr_begun, sizeof(*nr_begun));
		mem_free(message);
		mem_free(question);
		mem_free(files);
		return -ENOMEM;
	}
	*r = (struct survey_reader){.config = *config,
				    .child = CHILD_NONE,
				    .message = message,
				    .question = question,
				    .nr_begun = nr_begun,
				    .files = files};
	buf_init(&files->bytes, SURVEY_FILES_ONE_BYTES);
	if (!r->config.patience_ms)
		r->config.patience_ms = SURVEY_READER_PATIENCE_MS;
	return 0;
}

/* Skips this file or process from now on. */
static void abandon(struct survey_reader *r, const struct survey_at *at)
{
	unsigned nr = r->nr_abandoned++;

	child_end(&r->child, 1);
	r->silent[nr] = *at;
	if (at->is_file)
		r->skipped[r->nr_skipped++] = at->key;
}

void survey_reader_stop(const struct survey_reader *r)
{
	child_kill(&r->child);
}

void survey_reader_fini(struct survey_reader *r)
{
	child_end(&r->child, END_MS);
	mem_free(r->message);
	mem_free(r->question);
	if (r->files)
		buf_fini(&r->files->bytes);
	mem_free(r->files);
	if (r->nr_begun)
		munmap(r->nr_begun, sizeof(*r->nr_begun));
	*r = (struct survey_reader){.child = CHILD_NONE};
}

static bool is_stopped(const struct survey_reader *r)
{
	return r->config.stop && atomic_load(r->config.stop);
}

/* From now on all are silent, and none of them is to blame. */
static bool is_late(const struct survey_reader *r)
{
	return r->config.until_ns && clock_monotonic_ns() > r->config.until_ns;
}

static int start(struct survey_reader *r)
{
	if (r->nr_abandoned == SURVEY_READER_MAX_CHILDREN)
		return -EBUSY;
	if (is_late(r)) /* a child is dear */
		return -ETIMEDOUT;
	r->files->nr_left = 0;
	return child_start(&r->child, SOCK_SEQPACKET, "cpuperf-survey", survey_reader_child, r);
}

/* Whether p holds complete records of the kinds that a survey of tasks writes. */
static bool are_records(const uint8_t *p, size_t len)
{
	while (len) {
		uint32_t kind;
		size_t size = trace_record_size(p, len, &kind);

		if (!size || (kind != PERF_RECORD_FORK && kind != PERF_RECORD_COMM &&
			      kind != PERF_RECORD_MMAP2))
			return false;
		p += size;
		len -= size;
	}
	return true;
}

static bool is_file(const struct survey_reader_file *f)
{
	uint64_t bytes = 0;

	if (f->parts.nr > ELF_MAX_PARTS || f->parts.bytes > SURVEY_FILES_ONE_BYTES ||
	    f->id.len > ELF_MAX_BUILD_ID_BYTES || !memchr(f->what.path, '\0', sizeof(f->what.path)))
		return false;
	for (size_t i = 0; i < f->parts.nr; i++)
		bytes += f->parts.part[i].len <= f->parts.bytes ? f->parts.part[i].len : UINT32_MAX;
	return bytes == f->parts.bytes;
}

static bool is_cmdline(const struct survey_cmdline *c, size_t len)
{
	return len >= offsetof(struct survey_cmdline, text) && c->len <= TRACE_CMDLINE_BYTES &&
	       len >= survey_cmdline_bytes(c);
}

static const struct survey_cmdline *cmdline_at(const struct survey_reader_message *m, size_t at)
{
	return (const struct survey_cmdline *)(const void *)(m->bytes + at);
}

static bool are_cmdlines(const struct survey_reader_message *m, size_t len)
{
	size_t at = 0;

	while (at < len && is_cmdline(cmdline_at(m, at), len - at))
		at += survey_cmdline_step(cmdline_at(m, at));
	return at == len;
}

static bool are_answers(const struct survey_reader_message *m, size_t len)
{
	const size_t nr = len / sizeof(m->answers[0]);

	return len == nr * sizeof(m->answers[0]) && nr <= SURVEY_READER_MAX_FILES &&
	       !ARRAY_ANY(a, m->answers, nr, a->id.len > ELF_MAX_BUILD_ID_BYTES);
}

static bool is_message(struct survey_reader_message *m, size_t len)
{
	static const size_t sizes[] = {
	    [SURVEY_READER_AT] = sizeof(m->at),
	    [SURVEY_READER_RESULT] = sizeof(m->result),
	    [SURVEY_READER_FAILED] = sizeof(m->result),
	    [SURVEY_READER_FILE] = sizeof(m->file),
	    [SURVEY_READER_LOOKED] = 0,
	};

	if (m->kind == SURVEY_READER_RECORDS)
		return are_records(m->records, len);
	if (m->kind == SURVEY_READER_BYTES)
		return true;
	if (m->kind == SURVEY_READER_CMDLINE)
		return is_cmdline(&m->cmdline, len) && len == survey_cmdline_bytes(&m->cmdline);
	if (m->kind == SURVEY_READER_CMDLINES)
		return are_cmdlines(m, len);
	if (m->kind == SURVEY_READER_ANSWERS)
		return are_answers(m, len);
	if (m->kind >= sizeof(sizes) / sizeof(sizes[0]) || !m->kind || len != sizes[m->kind])
		return false;
	switch (m->kind) {
	case SURVEY_READER_AT:
		m->at.name[sizeof(m->at.name) - 1] = m->at.path[sizeof(m->at.path) - 1] = '\0';
		return true;
	case SURVEY_READER_FILE:
		return is_file(&m->file);
	case SURVEY_READER_RESULT:
	case SURVEY_READER_FAILED:
		m->result.note[sizeof(m->result.note) - 1] = '\0';
		return true;
	default:
		return true;
	}
}

/* Whether the child does not wait for what it reads. */
static bool is_ready(const struct survey_reader *r)
{
	return proc_is_ready(PROC(&root_live, (uint32_t)r->child.pid));
}

/* 0; -ECANCELED; -ETIMEDOUT: the child is silent, and reads the same for so long. */
static int wait_for_message(const struct survey_reader *r)
{
	const unsigned patience_ms = r->config.patience_ms;
	struct pollfd p = {.fd = r->child.fd, .events = POLLIN};
	unsigned blocked_ms = 0, ready_ms = 0, nr_begun = 0;

	for (;;) {
		if (nr_begun != atomic_load(r->nr_begun)) {
			nr_begun = atomic_load(r->nr_begun);
			blocked_ms = ready_ms = 0;
		}
		if (is_stopped(r))
			return -ECANCELED;
		if (blocked_ms >= patience_ms || ready_ms >= MAX_READY * patience_ms || is_late(r))
			return -ETIMEDOUT;
		if (poll(&p, 1, POLL_MS) > 0)
			return 0;
		*(is_ready(r) ? &ready_ms : &blocked_ms) += POLL_MS;
	}
}

/* Receives a message into r->message; *len: its bytes after the head. 0; -ECANCELED; -ETIMEDOUT:
 * the child is silent, has exited, or sent an invalid message. */
static int receive(const struct survey_reader *r, size_t *len)
{
	int rc = wait_for_message(r);
	ssize_t n;

	if (rc)
		return rc;
	n = recv(r->child.fd, r->message, sizeof(*r->message), MSG_DONTWAIT);
	if (n < SURVEY_READER_HEAD_BYTES ||
	    !is_message(r->message, (size_t)n - SURVEY_READER_HEAD_BYTES))
		return -ETIMEDOUT;
	*len = (size_t)n - SURVEY_READER_HEAD_BYTES;
	return 0;
}

static int begin_file(struct survey_reader *r)
{
	struct survey_reader_files *files = r->files;
	struct survey_reader_file *f = &files->arriving;

	*f = r->message->file;
	survey_files_add(&files->stored, &f->what, &f->id, f->parts.bytes);
	buf_reset(&files->bytes);
	files->nr_left = f->parts.bytes;
	return 0;
}

static int pass_file(struct survey_reader *r)
{
	const struct survey_reader_files *files = r->files;
	const struct survey_reader_file *f = &files->arriving;
	const struct trace_file_parts parts = {
	    .major = f->what.major,
	    .minor = f->what.minor,
	    .inode = f->what.inode,
	    .file_bytes = f->parts.file_bytes,
	    .id = f->id.bytes,
	    .id_len = f->id.len,
	    .path = f->what.path,
	    .path_len = (uint32_t)strlen(f->what.path),
	    .part = f->parts.part,
	    .nr = f->parts.nr,
	    .bytes = (const uint8_t *)files->bytes.data,
	    .len = files->bytes.len,
	};

	return r->config.file ? r->config.file(&parts, r->config.arg) : 0;
}

/* len: 0: no more can be read of it. Without memory it is not stored. */
static int add_bytes(struct survey_reader *r, size_t len)
{
	struct survey_reader_files *files = r->files;

	if (len > files->nr_left)
		return -ETIMEDOUT;
	buf_add(&files->bytes, r->message->bytes, len);
	files->nr_left = len ? files->nr_left - len : 0;
	return len && !files->nr_left && !buf_error(&files->bytes) ? pass_file(r) : 0;
}

/* True: it was part of a file. */
static bool take_file(struct survey_reader *r, size_t len, int *rc)
{
	const bool is_file = r->message->kind == SURVEY_READER_FILE;

	if (!is_file && r->message->kind != SURVEY_READER_BYTES)
		return false;
	*rc = is_file ? begin_file(r) : add_bytes(r, len);
	return true;
}

static int pass_cmdline(const struct survey_reader *r, const struct survey_cmdline *c)
{
	return r->config.cmdlines ? r->config.cmdlines(&c, 1, r->config.arg) : 0;
}

/* With one child process. */
static int survey_once(struct survey_reader *r, struct survey_result *out)
{
	const struct survey_reader_message *m = r->message;
	size_t len;
	int rc = start(r);

	while (rc == 0 && (rc = receive(r, &len)) == 0) {
		if (take_file(r, len, &rc))
			continue;
		switch (m->kind) {
		case SURVEY_READER_RESULT:
			*out = m->result;
			return 0;
		case SURVEY_READER_FAILED:
			return m->error < 0 ? m->error : -EIO;
		case SURVEY_READER_AT:
			r->at = m->at;
			break;
		case SURVEY_READER_RECORDS:
			rc = r->config.records(m->records, len, r->config.arg);
			break;
		case SURVEY_READER_CMDLINE:
			rc = pass_cmdline(r, &m->cmdline);
			break;
		default:
			return -ETIMEDOUT;
		}
	}
	return rc;
}

int survey_reader_survey(struct survey_reader *r, struct survey_result *out)
{
	int rc = is_stopped(r) ? -ECANCELED : survey_once(r, out); /* a child is dear */

	while (rc == -ETIMEDOUT) {
		abandon(r, &r->at);
		r->after = r->at;
		r->has_after = r->at.pid != 0;
		rc = survey_once(r, out);
	}
	if (rc)
		child_end(&r->child, END_MS);
	r->is_surveyed = true;
	return rc == -EBUSY ? 0 : rc;
}

/* The answer, or its next part, is in r->message, *len its bytes behind the head. */
static int receive_answer(struct survey_reader *r, size_t *len, enum survey_reader_kind kind)
{
	int rc;

	do
		rc = receive(r, len);
	while (rc == 0 && take_file(r, *len, &rc));
	if (rc == 0 && r->message->kind != kind)
		rc = -ETIMEDOUT;
	if (rc && rc != -ETIMEDOUT) /* its late answer would be read as that to the next question */
		child_end(&r->child, END_MS);
	return rc;
}

static int send_question(struct survey_reader *r, size_t len)
{
	int rc = r->child.fd < 0 ? start(r) : 0;

	len += SURVEY_READER_HEAD_BYTES;
	atomic_store(r->nr_begun, 0);
	if (rc == 0 &&
	    send(r->child.fd, r->question, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
		rc = -ETIMEDOUT;
	return rc;
}

/* The file or process of the question that is silent, by number; the first nr_done have answered.
 * SIZE_MAX: the child did not come to it, as it read what it watches, which is abandoned. False:
 * time is over; the last ones are abandoned. */
static bool find_silent(struct survey_reader *r, const struct survey_at *last, size_t nr_done,
			size_t *silent)
{
	const uint32_t nr = atomic_load(r->nr_begun);

	if (is_late(r)) {
		abandon(r, last);
		return false;
	}
	*silent = nr > nr_done && nr <= r->question->nr ? nr - 1 : SIZE_MAX;
	if (*silent == SIZE_MAX)
		abandon(r, &watched);
	return true;
}

/* Those of devices that do not answer are answered here. Returns the bytes of the question. */
static size_t ask_for_files(const struct survey_reader *r, const struct survey_identify_question *q,
			    size_t nr, struct survey_identify_answer *out)
{
	struct survey_reader_question *asked = r->question;
	size_t len = 0;

	asked->kind = SURVEY_READER_ASK_FILES;
	asked->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		const size_t path_len = strlen(q[i].path);

		out[i] = (struct survey_identify_answer){.state = SURVEY_IDENTIFY_FOREIGN};
		if (survey_device_is_silent(r->skipped, r->nr_skipped, q[i].major, q[i].minor))
			continue;
		out[i].state = SURVEY_IDENTIFY_SILENT; /* until there is an answer */
		memcpy(asked->bytes + len, &q[i], survey_reader_file_bytes(path_len));
		len += survey_reader_file_step(path_len);
		asked->nr++;
	}
	return len;
}

static int take_answers(const struct survey_reader *r, size_t len,
			struct survey_identify_answer *out, size_t nr)
{
	const struct survey_identify_answer *next = r->message->answers;

	if (len != r->question->nr * sizeof(*next))
		return -ETIMEDOUT;
	for (size_t i = 0; i < nr; i++)
		if (out[i].state == SURVEY_IDENTIFY_SILENT)
			out[i] = *next++;
	return 0;
}

static void abandon_file(struct survey_reader *r, const struct survey_identify_question *q)
{
	struct survey_at at = {
	    .pid = q->pid,
	    .is_file = true,
	    .key = {.inode = q->inode, .major = q->major, .minor = q->minor},
	};

	snprintf(at.path, sizeof(at.path), "%.*s", (int)sizeof(at.path) - 1, q->path);
	abandon(r, &at);
}

/* Of those that were asked for. */
static size_t number_of(const struct survey_identify_answer *out, size_t asked)
{
	size_t i = 0;

	while (out[i].state != SURVEY_IDENTIFY_SILENT || asked--)
		i++;
	return i;
}

/* The one that is silent is left out, and named; the others are asked for again. */
int survey_reader_ask(struct survey_reader *r, const struct survey_identify_question *q, size_t nr,
		      struct survey_identify_answer *out)
{
	static const struct survey_at last = {.path = "files that were mapped last"};
	size_t len = ask_for_files(r, q, nr, out), silent;
	int rc = len ? send_question(r, len) : 0;

	if (!len)
		return 0;
	rc = rc ?: receive_answer(r, &len, SURVEY_READER_ANSWERS) ?: take_answers(r, len, out, nr);
	if (rc != -ETIMEDOUT || !find_silent(r, &last, 0, &silent))
		return rc;
	if (silent == SIZE_MAX)
		return survey_reader_ask(r, q, nr, out);
	silent = number_of(out, silent);
	abandon_file(r, q + silent);
	rc = survey_reader_ask(r, q, silent, out);
	return rc ?: survey_reader_ask(r, q + silent + 1, nr - silent - 1, out + silent + 1);
}

static int pass_cmdlines(const struct survey_reader *r, size_t len)
{
	const struct survey_cmdline *list[SURVEY_READER_MAX_PIDS];
	size_t nr = 0;

	for (size_t at = 0; at < len; at += survey_cmdline_step(list[nr++]))
		if (nr < ARRAY_NR(list))
			list[nr] = cmdline_at(r->message, at);
		else
			return -ETIMEDOUT;
	return nr && r->config.cmdlines ? r->config.cmdlines(list, nr, r->config.arg) : 0;
}

/* *nr_done: of how many processes the answer has come. */
static int receive_cmdlines(struct survey_reader *r, size_t *nr_done)
{
	const uint32_t nr = r->question->nr;
	size_t len;
	int rc;

	do {
		rc = receive_answer(r, &len, SURVEY_READER_CMDLINES) ?: pass_cmdlines(r, len);
		if (rc == 0 && r->message->nr_left <= nr - *nr_done)
			*nr_done = nr - r->message->nr_left;
		else
			rc = rc ?: -ETIMEDOUT;
	} while (rc == 0 && *nr_done < nr);
	if (rc && rc != -ETIMEDOUT)
		child_end(&r->child, END_MS);
	return rc;
}

/* The one that is silent is left out, and named; those that have not come are asked for again. */
int survey_reader_ask_cmdlines(struct survey_reader *r, const uint32_t *pid, size_t nr)
{
	static const struct survey_at last = {.path = "processes that began last"};
	struct survey_at at = {.pid = 0};
	size_t nr_done = 0, silent;
	int rc;

	if (!nr)
		return 0;
	r->question->kind = SURVEY_READER_ASK_PIDS;
	r->question->nr = (uint32_t)nr;
	memcpy(r->question->bytes, pid, nr * sizeof(*pid));
	rc = send_question(r, nr * sizeof(*pid)) ?: receive_cmdlines(r, &nr_done);
	if (rc != -ETIMEDOUT || !find_silent(r, &last, nr_done, &silent))
		return rc;
	if (silent == SIZE_MAX)
		return survey_reader_ask_cmdlines(r, pid + nr_done, nr - nr_done);
	at.pid = pid[silent];
	abandon(r, &at);
	rc = survey_reader_ask_cmdlines(r, pid + nr_done, silent - nr_done);
	return rc ?: survey_reader_ask_cmdlines(r, pid + silent + 1, nr - silent - 1);
}

/* What has come since the last question. */
static int receive_files(struct survey_reader *r)
{
	struct pollfd p = {.fd = r->child.fd, .events = POLLIN};
	int rc = 0;
	size_t len;

	while (rc == 0 && poll(&p, 1, 0) > 0) {
		rc = receive(r, &len);
		if (rc == 0 && !take_file(r, len, &rc))
			rc = -ETIMEDOUT;
	}
	return rc;
}

static int ask_to_look(struct survey_reader *r)
{
	size_t len;

	r->question->kind = SURVEY_READER_ASK_LOOK;
	r->question->nr = 0;
	return send_question(r, 0) ?: receive_answer(r, &len, SURVEY_READER_LOOKED);
}

int survey_reader_look(struct survey_reader *r, bool is_last)
{
	int rc;

	if (r->child.fd < 0)
		return 0; /* nothing is watched */
	rc = is_last ? ask_to_look(r) : receive_files(r);
	if (rc == -ETIMEDOUT)
		abandon(r, &watched);
	return rc;
}

unsigned survey_reader_left_out(const struct survey_reader *r)
{
	return r->files->stored.nr_left_out;
}

unsigned survey_reader_note(const struct survey_reader *r, unsigned from, struct buf *note)
{
	unsigned nr = r->nr_abandoned - from, nr_named = nr < MAX_NAMED ? nr : MAX_NAMED;

	for (unsigned i = 0; i < nr_named; i++) {
		const struct survey_at *at = &r->silent[from + i];

		buf_adds(note, i ? "; " : "not surveyed, because they do not answer: ");
		if (at->pid)
			buf_printf(note, "process %u", at->pid);
		else if (!at->path[0]) /* before the first one */
			buf_adds(note, "processes");
		if (at->name[0])
			buf_printf(note, " (%s)", at->name);
		if (at->path[0])
			buf_printf(note, "%s%s", at->pid ? ": " : "", at->path);
	}
	if (nr > nr_named)
		buf_printf(note, "; and %u more", nr - nr_named);
	if (!from && nr >= SURVEY_READER_MAX_CHILDREN / 2)
		buf_adds(note, "; and mappings of the processes after them");
	if (nr && r->nr_abandoned == SURVEY_READER_MAX_CHILDREN)
		buf_adds(note, "; and what was mapped or began after them");
	if (note->len)
		str_clean(note->data, note->len);
	return r->nr_abandoned;
}
