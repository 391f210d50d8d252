/*
 * The control protocol. The other end may be slow, silent or hostile: a line is bounded, an answer
 * that finds no room is dropped.
 */
#include "control.h"

#include "base/array.h"
#include "base/io.h"
#include "base/str.h"
#include "session/session.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] = "--control";

static int refuse(struct err *e, int rc, const char *name, const char *why)
{
	snprintf(e->source, sizeof(e->source), "%s", source);
	return err_set(e, rc, "%s: %s", name, why);
}

/* For reading and writing, so that the other end may come and go. */
static int open_fifo(const char *path, int *fd, struct err *e)
{
	struct stat st;

	if (lstat(path, &st))
		return refuse(e, -errno, path, strerror(errno));
	if (!S_ISFIFO(st.st_mode))
		return refuse(e, -EINVAL, path, "is not a FIFO");
	*fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (*fd < 0)
		return refuse(e, -errno, path, strerror(errno));
	if (fstat(*fd, &st) || !S_ISFIFO(st.st_mode))
		return refuse(e, -EINVAL, path, "is not a FIFO");
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return refuse(e, -EPERM, path, "belongs to another user");
	return 0;
}

/* What this process has opened itself is closed by exec, what was passed to it is not. */
static int open_number(const char *text, int *fd, struct err *e)
{
	struct stat st;
	uint64_t number;
	int flags;

	if (str_parse_u64(text, &number) || number > INT_MAX)
		return refuse(e, -EINVAL, text, "is not a descriptor");
	flags = fcntl((int)number, F_GETFD);
	if (flags < 0 || flags & FD_CLOEXEC)
		return refuse(e, -EBADF, text, "was not passed to cpuperf");
	if (fstat((int)number, &st))
		return refuse(e, -errno, text, strerror(errno));
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode))
		return refuse(e, -EINVAL, text, "is neither a pipe nor a socket");
	*fd = fcntl((int)number, F_DUPFD_CLOEXEC, 0);
	return *fd < 0 ? refuse(e, -errno, text, strerror(errno)) : 0;
}

int control_open(const char *text, struct control *out, struct err *e)
{
	int (*opens)(const char *, int *, struct err *) = open_fifo;
	char first[PATH_MAX];
	const char *comma;
	int rc;

	*out = (struct control){.fd = -1, .ack_fd = -1};
	if (!text)
		return 0;
	if (strncmp(text, "fd:", 3) == 0)
		opens = open_number;
	else if (strncmp(text, "fifo:", 5) != 0)
		return refuse(e, -EINVAL, text, "is neither fifo:CTL[,ACK] nor fd:CTL[,ACK]");
	text = strchr(text, ':') + 1;
	comma = strchrnul(text, ',');
	if (comma == text || (size_t)(comma - text) >= sizeof(first))
		return refuse(e, -EINVAL, text, "is neither fifo:CTL[,ACK] nor fd:CTL[,ACK]");
	memcpy(first, text, (size_t)(comma - text));
	first[comma - text] = 0;
	rc = opens(first, &out->fd, e);
	if (rc == 0 && *comma && comma[1])
		rc = opens(comma + 1, &out->ack_fd, e);
	if (rc)
		control_close(out);
	return rc;
}

void control_close(struct control *c)
{
	io_close(&c->fd);
	io_close(&c->ack_fd);
}

__attribute__((format(printf, 2, 3))) static void warn(const struct control *c, const char *fmt,
						       ...)
{
	char text[2 * CONTROL_LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->on_message(text, false, c->arg);
}

/* perf sends the NUL too, and clients read 5 bytes. */
static void acknowledge(struct control *c)
{
	static const char ack[] = "ack\n";
	struct pollfd room = {.fd = c->ack_fd, .events = POLLOUT};
	ssize_t n;

	if (c->ack_fd < 0)
		return;
	n = send(c->ack_fd, ack, sizeof(ack), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno == ENOTSOCK) /* a pipe that may block: it has room for a page */
		n = poll(&room, 1, 0) == 1 ? write(c->ack_fd, ack, sizeof(ack)) : -1;
	if (n == sizeof(ack) || c->has_warned)
		return;
	c->has_warned = true;
	warn(c, "--control: answers are not read: some are dropped");
}

/* Names differ from perf's in '_'. */
static bool is_same_name(const char *a, const char *b)
{
	while (*a && (*a == '-' ? '_' : tolower((unsigned char)*a)) == *b) {
		a++;
		b++;
	}
	return !*a && !*b;
}

static bool is_named(const struct plan_event *p, const char *name)
{
	const char *group = p->event.group->name;
	size_t len = strlen(group);

	if (strncmp(name, group, len) == 0 && name[len] == ':')
		return is_same_name(name + len + 1, p->event.row->name);
	return strcmp(name, p->label) == 0 || is_same_name(name, p->event.row->name);
}

static void set_event(const struct control *c, struct session *s, const char *name, bool is_enabled)
{
	const struct plan *plan = session_plan(s);
	bool is_any = false;

	for (size_t i = 0; i < plan->nr_events; i++) {
		if (!is_named(&plan->events[i], name))
			continue;
		is_any = true;
		if (session_enable(s, i, is_enabled))
			warn(c, "--control: %s cannot be enabled or disabled alone: it is %s", name,
			     plan->events[i].set == PLAN_NO_SET
				 ? "no perf event"
				 : "read in the samples of the timebase");
	}
	if (!is_any)
		warn(c, "--control: no event \"%s\"", name);
}

/* argument: NULL: none. */
static void enable(struct control *c, struct session *s, const char *argument)
{
	if (argument)
		set_event(c, s, argument, true);
	else
		session_enable_all(s, true);
}

static void disable(struct control *c, struct session *s, const char *argument)
{
	if (argument)
		set_event(c, s, argument, false);
	else
		session_enable_all(s, false);
}

static void list(struct control *c, struct session *s, const char *argument)
{
	const struct plan *plan = session_plan(s);
	char text[CONTROL_LINE_BYTES];

	if (argument && strcmp(argument, "-F") != 0) {
		warn(c, "--control: \"evlist %s\" is not supported, only evlist and evlist -F",
		     argument);
		return;
	}
	for (size_t i = 0; i < plan->nr_events; i++) {
		const struct plan_event *p = &plan->events[i];
		bool is_frequency = p->asked->frequency;
		uint64_t pace = is_frequency ? p->asked->frequency : p->asked->rate;
		int len =
		    snprintf(text, sizeof(text), "%s:%s", p->event.group->name, p->event.row->name);

		if (argument && pace && len < (int)sizeof(text))
			snprintf(text + len, sizeof(text) - (size_t)len, ": %s=%llu",
				 is_frequency ? "sample_freq" : "sample_period",
				 (unsigned long long)pace);
		c->on_message(text, true, c->arg);
	}
}

static void snapshot(struct control *c, struct session *s, const char *argument)
{
	(void)argument;
	c->has_request = true;
	session_request(s, CAUSE_REQUEST, true);
}

static void stop(struct control *c, struct session *s, const char *argument)
{
	(void)argument;
	if (c->is_until_end)
		session_finish(s);
	else
		session_stop(s);
}

static void ping(struct control *c, struct session *s, const char *argument)
{
	(void)c;
	(void)s;
	(void)argument;
}

static const struct command {
	const char *name;
	void (*run)(struct control *c, struct session *s, const char *argument);
	bool has_argument; /* it may have one */
} commands[] = {
    {"enable", enable, true}, {"disable", disable, true},
    {"evlist", list, true},   {"snapshot", snapshot},
    {"stop", stop},           {"ping", ping},
};

/* The command with which the line begins; NULL: none. *rest: what follows its name. */
static const struct command *find(const char *line, const char **rest)
{
	for (size_t i = 0; i < ARRAY_NR(commands); i++) {
		*rest = line + strlen(commands[i].name);
		if (strncmp(line, commands[i].name, strlen(commands[i].name)) == 0)
			return &commands[i];
	}
	return NULL;
}

/* A line that begins as a command is answered, even if it is refused: nobody waits in vain. */
static void run_line(struct control *c, struct session *s)
{
	const struct command *command;
	const char *rest;

	c->line[c->len] = 0;
	str_disarm(c->line);
	command = find(c->line, &rest);
	if (command && !c->is_too_long && (!*rest || (*rest == ' ' && command->has_argument)))
		command->run(c, s, *rest ? rest + 1 : NULL);
	else
		warn(c, "--control: \"%s\"%s is not a command", c->line,
		     c->is_too_long ? "..." : "");
	if (command)
		acknowledge(c);
}

static void end_line(struct control *c, struct session *s)
{
	if (c->len)
		run_line(c, s);
	c->len = 0;
	c->is_too_long = false;
}

static void add_byte(struct control *c, struct session *s, char byte)
{
	if (byte == '\n' || byte == 0)
		end_line(c, s);
	else if (c->len == CONTROL_LINE_BYTES - 1)
		c->is_too_long = true;
	else
		c->line[c->len++] = byte;
}

int control_read(struct control *c, struct session *s)
{
	enum { MAX_READS = 16 }; /* then the session goes on, and calls again */
	bool is_all = false;
	const char *rest;
	char bytes[256];

	c->has_request = false;
	for (int i = 0; i < MAX_READS && !c->has_request; i++) {
		struct pollfd ready = {.fd = c->fd, .events = POLLIN};
		ssize_t n;

		is_all = poll(&ready, 1, 0) <= 0;
		if (is_all)
			break;
		n = read(c->fd, bytes, sizeof(bytes));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0) {
			end_line(c, s);
			return 1;
		}
		for (ssize_t k = 0; k < n; k++)
			add_byte(c, s, bytes[k]);
	}
	c->line[c->len] = 0;
	if (is_all && !c->is_too_long && find(c->line, &rest) && (!*rest || *rest == ' '))
		end_line(c, s);
	return 0;
}
