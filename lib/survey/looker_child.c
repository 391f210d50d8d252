/*
 * What the child does (base/child.h). Must not touch anything of the session.
 */
#include "survey/looker_child.h"

#include "base/root.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(offsetof(struct survey_looker_message, at) == SURVEY_LOOKER_HEAD_BYTES, "no holes");

struct child_side {
	const struct survey_looker *looker;
	int fd;
	struct survey_mounts mounts;
	struct survey_looker_message message;
	struct survey_identify_question question;
};

/* The other side has gone, or wants no more: nobody needs this process then. */
static void send_message(struct child_side *c, enum survey_looker_kind kind, size_t len)
{
	ssize_t n;

	c->message.kind = kind;
	do
		n = send(c->fd, &c->message, SURVEY_LOOKER_HEAD_BYTES + len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		_exit(1);
}

static int send_records(const void *records, size_t len, void *arg)
{
	struct child_side *c = arg;

	if (len > SURVEY_LOOKER_RECORDS_BYTES)
		return -EFBIG;
	memcpy(c->message.records, records, len);
	send_message(c, SURVEY_LOOKER_RECORDS, len);
	return 0;
}

static void send_place(const struct survey_at *at, void *arg)
{
	struct child_side *c = arg;

	c->message.at = *at;
	send_message(c, SURVEY_LOOKER_AT, sizeof(*at));
}

static void look_through(struct child_side *c)
{
	const struct survey_looker *l = c->looker;
	const struct survey_config config = {
	    .root = l->config.root,
	    .wants_tasks = true,
	    .after = l->has_after ? &l->after : NULL,
	    .skipped = l->skipped,
	    .nr_skipped = l->nr_skipped,
	    .is_careful = l->nr_abandoned >= SURVEY_LOOKER_MAX_CHILDREN / 2,
	    .max_tasks = l->config.max_tasks,
	    .max_bytes = SURVEY_LOOKER_RECORDS_BYTES,
	    .records = send_records,
	    .at = send_place,
	    .arg = c,
	};
	struct survey_result result = {0};

	c->message.error = survey_run(&config, &result);
	c->message.result = result;
	send_message(c, c->message.error ? SURVEY_LOOKER_FAILED : SURVEY_LOOKER_RESULT,
		     sizeof(result));
}

static bool is_question(const struct survey_identify_question *q, ssize_t len)
{
	size_t head = offsetof(struct survey_identify_question, path);

	return len > (ssize_t)head && (size_t)len <= sizeof(*q) &&
	       q->path[(size_t)len - head - 1] == '\0';
}

static void answer_all(struct child_side *c)
{
	for (;;) {
		ssize_t n = recv(c->fd, &c->question, sizeof(c->question), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (!is_question(&c->question, n))
			return;
		survey_identify(&c->mounts, &c->question, &c->message.answer);
		send_message(c, SURVEY_LOOKER_ANSWER, sizeof(c->message.answer));
	}
}

void survey_looker_child(int fd, const void *looker)
{
	static struct child_side c; /* one: this process has no other use */
	const struct survey_looker *l = looker;

	if (l->config.root->dir[0] == '/' || !l->config.root->dir[0])
		(void)!chdir("/"); /* so that nothing stays mounted because of us */
	c = (struct child_side){.looker = l, .fd = fd};
	survey_mounts_init(&c.mounts, l->config.root);
	if (!l->is_surveyed)
		look_through(&c);
	answer_all(&c);
}
