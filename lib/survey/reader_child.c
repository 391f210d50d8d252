/*
 * The child's side (base/child.h). Must not touch the session.
 */
#include "survey/reader_child.h"

#include "base/root.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(offsetof(struct survey_reader_message, at) == SURVEY_READER_HEAD_BYTES, "no holes");

struct child_side {
	const struct survey_reader *reader;
	int fd;
	struct survey_mounts mounts;
	struct survey_reader_message message;
	struct survey_identify_question question;
};

/* Exits if the parent has gone or closed the socket. */
static void send_message(struct child_side *c, enum survey_reader_kind kind, size_t len)
{
	ssize_t n;

	c->message.kind = kind;
	do
		n = send(c->fd, &c->message, SURVEY_READER_HEAD_BYTES + len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		_exit(1);
}

static int send_records(const void *records, size_t len, void *arg)
{
	struct child_side *c = arg;

	if (len > SURVEY_READER_RECORDS_BYTES)
		return -EFBIG;
	memcpy(c->message.records, records, len);
	send_message(c, SURVEY_READER_RECORDS, len);
	return 0;
}

static int send_cmdline(const struct survey_cmdline *cmdline, void *arg)
{
	struct child_side *c = arg;

	memcpy(&c->message.cmdline, cmdline, survey_cmdline_bytes(cmdline));
	send_message(c, SURVEY_READER_CMDLINE, survey_cmdline_bytes(cmdline));
	return 0;
}

static void answer_cmdline(struct child_side *c)
{
	struct survey_cmdline *answer = &c->message.cmdline;

	survey_cmdline_read(c->reader->config.root, c->question.pid, answer);
	send_message(c, SURVEY_READER_CMDLINE, survey_cmdline_bytes(answer));
}

static void send_place(const struct survey_at *at, void *arg)
{
	struct child_side *c = arg;

	c->message.at = *at;
	send_message(c, SURVEY_READER_AT, sizeof(*at));
}

static void survey_tasks(struct child_side *c)
{
	const struct survey_reader *r = c->reader;
	const struct survey_config config = {
	    .root = r->config.root,
	    .wants_tasks = true,
	    .after = r->has_after ? &r->after : NULL,
	    .skipped = r->skipped,
	    .nr_skipped = r->nr_skipped,
	    .is_careful = r->nr_abandoned >= SURVEY_READER_MAX_CHILDREN / 2,
	    .max_tasks = r->config.max_tasks,
	    .max_bytes = SURVEY_READER_RECORDS_BYTES,
	    .records = send_records,
	    .cmdline = r->config.cmdline ? send_cmdline : NULL,
	    .at = send_place,
	    .arg = c,
	};
	struct survey_result result = {0};

	c->message.error = survey_run(&config, &result);
	c->message.result = result;
	send_message(c, c->message.error ? SURVEY_READER_FAILED : SURVEY_READER_RESULT,
		     sizeof(result));
}

/* Until the parent closes the socket, or sends an invalid question. A question is a file to
 * identify, or a pid alone, whose command line is to be read. */
static void answer_all(struct child_side *c)
{
	const ssize_t head = offsetof(struct survey_identify_question, path);

	for (;;) {
		ssize_t n = recv(c->fd, &c->question, sizeof(c->question), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == sizeof(c->question.pid)) {
			memcpy(&c->question.pid, &c->question, sizeof(c->question.pid));
			answer_cmdline(c);
			continue;
		}
		if (n <= head || c->question.path[n - head - 1] != '\0')
			return;
		survey_identify(&c->mounts, &c->question, &c->message.answer);
		send_message(c, SURVEY_READER_ANSWER, sizeof(c->message.answer));
	}
}

void survey_reader_child(int fd, const void *reader)
{
	static struct child_side c; /* static: large, and the only one in this process */
	const struct survey_reader *r = reader;

	if (r->config.root->dir[0] == '/' || !r->config.root->dir[0])
		(void)!chdir("/"); /* do not keep a file system from being unmounted */
	c.reader = r;
	c.fd = fd;
	survey_mounts_init(&c.mounts, r->config.root);
	if (!r->is_surveyed)
		survey_tasks(&c);
	answer_all(&c);
}
