/*
 * The log: one write per line.
 */
#include "base/log.h"

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 8192 }; /* longer lines are truncated */

static struct {
	const char *program;
	int min_level, fd;
	log_write_fn *write; /* NULL: to fd */
	void *arg;
} sink = {.program = "cpuperf", .min_level = LOG_FATAL + 1, .fd = -1};

void log_open(const char *program, int min_level, int fd)
{
	sink.program = program;
	sink.min_level = min_level;
	sink.fd = fd;
}

int log_fd(void)
{
	return sink.fd;
}

void log_divert(log_write_fn *write, void *arg)
{
	sink.write = write;
	sink.arg = arg;
}

static void write_line(char *text, size_t size, int len)
{
	size_t n = len < 0 ? 0 : (size_t)len;

	if (n > size - 2)
		n = size - 2;
	text[n] = '\n';
	if (sink.write)
		sink.write(text, n + 1, sink.arg);
	else /* a failed write cannot be reported anywhere */
		(void)io_write_full(sink.fd, text, n + 1);
}

/* Source positions are for developers: only --verbose (a level below LOG_INFO) adds them. */
static int prefix(char *text, size_t size, int level, const char *file, int line)
{
	static const char *const names[] = {"INFO", "warning", "error", "fatal", "warning"};
	const char *slash = strrchr(file, '/');

	if (slash)
		file = slash + 1;
	if (level >= LOG_WARNING)
		return snprintf(text, size, "%s: %s: ", sink.program, names[level]);
	if (level < LOG_INFO)
		return snprintf(text, size, "[VERBOSE%d:%s(%d)] ", -level, file, line);
	if (sink.min_level < LOG_INFO)
		return snprintf(text, size, "[%s:%s(%d)] ", names[0], file, line);
	return snprintf(text, size, "%s: ", sink.program);
}

void log_line(int level, const char *file, int line, const char *fmt, ...)
{
	char text[LINE_BYTES];
	int len, more;
	va_list ap;

	if (level < sink.min_level && level != LOG_ESSENTIAL)
		return;
	len = prefix(text, sizeof(text), level, file, line);
	va_start(ap, fmt);
	more = vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, ap);
	va_end(ap);
	str_disarm(text);
	write_line(text, sizeof(text), len + (more > 0 ? more : 0));
}

void log_err(int level, const struct err *e)
{
	char text[LINE_BYTES], place[24] = "";
	const char *word = level >= LOG_ERROR ? "error" : "warning";
	const char *who = e->source[0] ? e->source : sink.program;
	int len;

	if (level < sink.min_level)
		return;
	if (e->line)
		snprintf(place, sizeof(place), ":%u:%u", e->line, e->column);
	len = snprintf(text, sizeof(text), "%s%s: %s: %s%s%s", who, place, word, e->msg,
		       e->hint[0] ? "\n  hint: " : "", e->hint);
	write_line(text, sizeof(text), len);
}
