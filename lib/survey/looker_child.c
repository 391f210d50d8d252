/*
 * The child. It was forked off a process of several threads: it has memory as it was then, and
 * nothing else of it. Must not touch anything of the session.
 */
#include "survey/looker_child.h"

#include "base/root.h"
#include "base/str.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(offsetof(struct survey_looker_message, at) == SURVEY_LOOKER_HEAD_BYTES, "no holes");

struct child {
	const struct survey_looker *looker;
	int fd;
	struct survey_mounts mounts;
	struct survey_looker_message message;
	struct survey_identify_question question;
};

/* The other side has gone, or wants no more: nobody needs this process then. */
static void say(struct child *c, enum survey_looker_kind kind, size_t len)
{
	ssize_t n;

	c->message.kind = kind;
	do
		n = send(c->fd, &c->message, SURVEY_LOOKER_HEAD_BYTES + len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		_exit(1);
}

static int say_records(const void *records, size_t len, void *arg)
{
	struct child *c = arg;

	if (len > SURVEY_LOOKER_RECORDS_BYTES)
		return -EFBIG;
	memcpy(c->message.records, records, len);
	say(c, SURVEY_LOOKER_RECORDS, len);
	return 0;
}

static void say_at(const struct survey_at *at, void *arg)
{
	struct child *c = arg;

	c->message.at = *at;
	say(c, SURVEY_LOOKER_AT, sizeof(*at));
}

static void look_through(struct child *c)
{
	const struct survey_looker *l = c->looker;
	const struct survey_config config = {
	    .root = l->config.root,
	    .wants_tasks = true,
	    .after = l->has_after ? &l->after : NULL,
	    .skipped = l->skipped,
	    .nr_skipped = l->nr_skipped,
	    .is_careful = l->nr_given_up >= SURVEY_LOOKER_MAX_CHILDREN / 2,
	    .max_tasks = l->config.max_tasks,
	    .max_bytes = SURVEY_LOOKER_RECORDS_BYTES,
	    .records = say_records,
	    .at = say_at,
	    .arg = c,
	};
	struct survey_result result = {0};

	c->message.error = survey_run(&config, &result);
	c->message.result = result;
	say(c, c->message.error ? SURVEY_LOOKER_FAILED : SURVEY_LOOKER_RESULT, sizeof(result));
}

static bool is_question(const struct survey_identify_question *q, ssize_t len)
{
	size_t head = offsetof(struct survey_identify_question, path);

	return len > (ssize_t)head && (size_t)len <= sizeof(*q) &&
	       q->path[(size_t)len - head - 1] == '\0';
}

static void answer_all(struct child *c)
{
	for (;;) {
		ssize_t n = recv(c->fd, &c->question, sizeof(c->question), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (!is_question(&c->question, n))
			return;
		survey_identify(&c->mounts, &c->question, &c->message.answer);
		say(c, SURVEY_LOOKER_ANSWER, sizeof(c->message.answer));
	}
}

/* The terminal's signals are for the session, which ends this process when it needs it no more. */
static void reset_signals(void)
{
	static const int not_ours[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	for (size_t i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++)
		(void)signal(not_ours[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* close_range(2), which older headers do not have; Linux 5.9. */
enum { CLOSE_RANGE = 436 };

static int close_some(const char *name, void *arg)
{
	uint64_t fd;

	if (str_parse_u64(name, &fd) == 0 && fd != (uint64_t) * (const int *)arg)
		close((int)fd);
	return 0;
}

/* Also those of the terminal and of pipes: who reads them waits for their end. */
static void close_all_but(int fd)
{
	long rc = fd > 0 ? syscall(CLOSE_RANGE, 0u, (unsigned)fd - 1, 0u) : 0;

	if (rc == 0)
		rc = syscall(CLOSE_RANGE, (unsigned)fd + 1, ~0u, 0u);
	if (rc)
		(void)root_each(&root_live, "/proc/self/fd", close_some, &fd);
}

_Noreturn void survey_looker_child(const struct survey_looker *l, int fd, pid_t parent)
{
	static struct child c; /* one: this process has no other use */

	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_all_but(fd);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "cpuperf-looker");
	if (l->config.root->dir[0] == '/' || !l->config.root->dir[0])
		(void)!chdir("/"); /* so that nothing stays mounted because of us */
	c = (struct child){.looker = l, .fd = fd};
	survey_mounts_init(&c.mounts, l->config.root);
	if (!l->is_surveyed)
		look_through(&c);
	answer_all(&c);
	_exit(0);
}
