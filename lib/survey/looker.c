/*
 * The parent's side: what the child says is taken with a time limit, and checked. Must not wait
 * for a child that does not answer, not even for its end.
 */
#include "survey/looker.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "survey/looker_child.h"
#include "trace/record.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
	LOOK_EVERY_MS = 50, /* at whether to stop */
	END_MS = 100,       /* for a child that has nothing to wait for */
	MAX_NAMED = 4,      /* of what was left out, by name */
};

int survey_looker_init(struct survey_looker *l, const struct survey_looker_config *config)
{
	struct survey_looker_message *message = mem_alloc(sizeof(*message));

	if (!message)
		return -ENOMEM;
	*l = (struct survey_looker){.config = *config, .child = CHILD_NONE, .message = message};
	if (!l->config.patience_ms)
		l->config.patience_ms = SURVEY_LOOKER_PATIENCE_MS;
	return 0;
}

/* The file, or the process, is left out from here on. */
static void leave_out(struct survey_looker *l, const struct survey_at *at)
{
	unsigned nr = l->nr_abandoned++;

	child_end(&l->child, 1);
	l->silent[nr] = *at;
	if (at->is_file)
		l->skipped[l->nr_skipped++] = at->key;
}

void survey_looker_fini(struct survey_looker *l)
{
	child_end(&l->child, END_MS);
	mem_free(l->message);
	*l = (struct survey_looker){.child = CHILD_NONE};
}

static int start(struct survey_looker *l)
{
	if (l->nr_abandoned == SURVEY_LOOKER_MAX_CHILDREN)
		return -EBUSY;
	return child_start(&l->child, SOCK_SEQPACKET, "cpuperf-looker", survey_looker_child, l);
}

/* Kinds of records that a survey of tasks makes, one behind the other. */
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

static bool is_message(struct survey_looker_message *m, size_t len)
{
	static const size_t sizes[] = {
	    [SURVEY_LOOKER_AT] = sizeof(m->at),
	    [SURVEY_LOOKER_RESULT] = sizeof(m->result),
	    [SURVEY_LOOKER_FAILED] = sizeof(m->result),
	    [SURVEY_LOOKER_ANSWER] = sizeof(m->answer),
	};

	if (m->kind == SURVEY_LOOKER_RECORDS)
		return are_records(m->records, len);
	if (m->kind >= sizeof(sizes) / sizeof(sizes[0]) || !m->kind || len != sizes[m->kind])
		return false;
	if (m->kind == SURVEY_LOOKER_AT)
		m->at.name[sizeof(m->at.name) - 1] = m->at.path[sizeof(m->at.path) - 1] = '\0';
	else if (m->kind == SURVEY_LOOKER_ANSWER)
		return m->answer.id.len <= ELF_MAX_BUILD_ID_BYTES;
	else
		m->result.note[sizeof(m->result.note) - 1] = '\0';
	return true;
}

static bool is_stopped(const struct survey_looker *l)
{
	return l->config.stop && atomic_load(l->config.stop);
}

/* 0: there is something to take. */
static int wait_for(const struct survey_looker *l)
{
	struct pollfd p = {.fd = l->child.fd, .events = POLLIN};

	for (unsigned ms = 0; ms < l->config.patience_ms; ms += LOOK_EVERY_MS) {
		if (is_stopped(l))
			return -ECANCELED;
		if (poll(&p, 1, LOOK_EVERY_MS) > 0)
			return 0;
	}
	return -ETIMEDOUT;
}

/* 0 and the bytes behind the head; -ECANCELED; -ETIMEDOUT: the child is silent, has ended, or sent
 * an invalid message. */
static int take(const struct survey_looker *l, struct survey_looker_message *m, size_t *len)
{
	int rc = wait_for(l);
	ssize_t n = rc ? rc : recv(l->child.fd, m, sizeof(*m), MSG_DONTWAIT);

	if (rc)
		return rc;
	if (n < SURVEY_LOOKER_HEAD_BYTES || !is_message(m, (size_t)n - SURVEY_LOOKER_HEAD_BYTES))
		return -ETIMEDOUT;
	*len = (size_t)n - SURVEY_LOOKER_HEAD_BYTES;
	return 0;
}

/* 1: there is more to come. */
static int survey_on(struct survey_looker *l, struct survey_result *out)
{
	const struct survey_looker_message *m = l->message;
	size_t len;
	int rc = take(l, l->message, &len);

	if (rc)
		return rc;
	switch (m->kind) {
	case SURVEY_LOOKER_RESULT:
		*out = m->result;
		return 0;
	case SURVEY_LOOKER_FAILED:
		return m->error < 0 ? m->error : -EIO;
	case SURVEY_LOOKER_AT:
		l->at = m->at;
		return 1;
	case SURVEY_LOOKER_RECORDS:
		rc = l->config.records(m->records, len, l->config.arg);
		return rc ? rc : 1;
	default:
		return -ETIMEDOUT;
	}
}

/* By one child. */
static int survey_once(struct survey_looker *l, struct survey_result *out)
{
	int rc = start(l);

	if (rc)
		return rc;
	do
		rc = survey_on(l, out);
	while (rc == 1);
	return rc;
}

int survey_looker_survey(struct survey_looker *l, struct survey_result *out)
{
	int rc = survey_once(l, out);

	while (rc == -ETIMEDOUT) {
		leave_out(l, &l->at);
		l->after = l->at;
		l->has_after = l->at.pid != 0;
		rc = survey_once(l, out);
	}
	if (rc)
		child_end(&l->child, END_MS);
	l->is_surveyed = true;
	return rc == -EBUSY ? 0 : rc;
}

static int ask(struct survey_looker *l, const struct survey_identify_question *q,
	       struct survey_identify_answer *out)
{
	size_t len = offsetof(struct survey_identify_question, path) + strlen(q->path) + 1;
	int rc;

	if (send(l->child.fd, q, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
		return -ETIMEDOUT;
	rc = take(l, l->message, &len);
	if (rc == 0 && l->message->kind != SURVEY_LOOKER_ANSWER)
		rc = -ETIMEDOUT;
	if (rc == 0)
		*out = l->message->answer;
	return rc;
}

int survey_looker_ask(struct survey_looker *l, const struct survey_identify_question *q,
		      struct survey_identify_answer *out)
{
	struct survey_at at = {
	    .pid = q->pid,
	    .is_file = true,
	    .key = {.inode = q->inode, .major = q->major, .minor = q->minor},
	};
	int rc;

	if (survey_device_is_silent(l->skipped, l->nr_skipped, q->major, q->minor)) {
		*out = (struct survey_identify_answer){.state = SURVEY_IDENTIFY_FOREIGN};
		return 0;
	}
	rc = l->child.fd < 0 ? start(l) : 0;
	rc = rc ? rc : ask(l, q, out);
	if (rc == -ECANCELED) /* an answer that comes later is none to the next question */
		child_end(&l->child, END_MS);
	if (rc != -ETIMEDOUT)
		return rc;
	snprintf(at.path, sizeof(at.path), "%.*s", (int)sizeof(at.path) - 1, q->path);
	leave_out(l, &at);
	return rc;
}

static void add_silent(struct buf *note, const struct survey_at *at)
{
	buf_printf(note, "process %u", at->pid);
	if (at->name[0])
		buf_printf(note, " (%s)", at->name);
	if (at->path[0])
		buf_printf(note, ": %s", at->path);
}

unsigned survey_looker_note(const struct survey_looker *l, unsigned from, struct buf *note)
{
	unsigned nr = l->nr_abandoned - from, nr_named = nr < MAX_NAMED ? nr : MAX_NAMED;

	for (unsigned i = 0; i < nr_named; i++) {
		buf_adds(note, i ? "; " : "not surveyed, because they do not answer: ");
		add_silent(note, &l->silent[from + i]);
	}
	if (nr > nr_named)
		buf_printf(note, "; and %u more", nr - nr_named);
	if (!from && nr >= SURVEY_LOOKER_MAX_CHILDREN / 2)
		buf_adds(note, "; and mappings of the processes after them");
	if (note->len)
		str_clean(note->data, note->len);
	return l->nr_abandoned;
}
