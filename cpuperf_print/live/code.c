/*
 * This program runs itself on the session, which may be in progress.
 */
#include "live/code.h"

#include "base/io.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TEXT_BYTES = 16 << 20, MAX_OPTIONS_BYTES = 64 << 10, MAX_OPTIONS = 16 };

/* A glob that matches this text alone: one without a bracket would match a part of a name. */
static void add_exactly(struct buf *out, const char *text)
{
	if (isalnum((unsigned char)*text) || *text == '_')
		buf_printf(out, "[%c]", *text++);
	for (; *text; text++) {
		if (strchr("*?[]\\", *text))
			buf_addc(out, '\\');
		buf_addc(out, *text);
	}
}

/* A glob of the text in capital or small letters, as the filter has it. */
static void add_in_any_case(struct buf *out, const char *text)
{
	for (; *text; text++) {
		const int small = tolower((unsigned char)*text);

		if (small != toupper(small))
			buf_printf(out, "[%c%c]", small, toupper(small));
		else
			buf_printf(out, strchr("*?[]\\", small) ? "\\%c" : "%c", small);
	}
}

static void add_ranges(struct buf *out, const char *option, const struct profile_ranges *r)
{
	for (size_t i = 0; i < r->nr; i++)
		buf_printf(out, "%s%" PRIu64 "-%" PRIu64, i ? "," : option, r->item[i].first,
			   r->item[i].last);
	if (r->nr)
		buf_addc(out, '\0');
}

/* Options, each ended by NUL. */
static void add_options(struct buf *out, const struct code_request *r)
{
	static const char fixed[] = "cpuperf_print\0--report=annotate\0--no-pager\0--quiet=2\0"
				    "--threads=1\0--output-format=text";

	buf_add(out, fixed, sizeof(fixed));
	buf_printf(out, "--session=%s", r->session);
	buf_addc(out, '\0');
	buf_adds(out, "--event=");
	add_exactly(out, r->event);
	buf_addc(out, '\0');
	buf_adds(out, "--function=");
	add_exactly(out, r->function);
	buf_addc(out, '\0');
	if (r->first < r->end) {
		buf_printf(out, "--iteration=%" PRIu32 "-%" PRIu32, r->first, r->end - 1);
		buf_addc(out, '\0');
	}
	add_ranges(out, "--pid=", &r->filter->pids);
	add_ranges(out, "--tid=", &r->filter->tids);
	add_ranges(out, "--cpu=", &r->filter->cpus);
	if (*r->filter->name) {
		buf_adds(out, "--comm=*");
		add_in_any_case(out, r->filter->name);
		buf_addc(out, '*');
		buf_addc(out, '\0');
	}
}

static int spawn(struct code *c, char *const argv[], int output)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int failed;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	failed = posix_spawn(&c->pid, "/proc/self/exe", &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -failed;
}

int code_start(struct code *c, const struct code_request *r)
{
	BUF_AUTO(options, MAX_OPTIONS_BYTES);
	char *argv[MAX_OPTIONS + 1];
	size_t nr = 0;
	int ends[2], rc;

	code_stop(c);
	add_options(&options, r);
	if (buf_error(&options))
		return buf_error(&options);
	for (char *at = options.data, *end = at + options.len; at < end && nr < MAX_OPTIONS;
	     at += strlen(at) + 1)
		argv[nr++] = at;
	argv[nr] = NULL;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	buf_init(&c->text, MAX_TEXT_BYTES);
	rc = spawn(c, argv, ends[1]);
	close(ends[1]);
	c->fd = ends[0];
	if (rc) {
		c->pid = 0;
		io_close(&c->fd);
		return rc;
	}
	io_set_nonblocking(c->fd);
	return 0;
}

int code_fd(const struct code *c)
{
	return c->pid ? c->fd : -1;
}

static void reap(struct code *c)
{
	io_close(&c->fd);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
}

int code_read(struct code *c)
{
	char data[16 << 10];
	ssize_t len;

	while ((len = read(c->fd, data, sizeof(data))) > 0)
		buf_add(&c->text, data, (size_t)len);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	reap(c);
	return 1;
}

void code_stop(struct code *c)
{
	if (c->pid) {
		(void)kill(c->pid, SIGKILL);
		reap(c);
	}
	buf_fini(&c->text);
}
