/*
 * The log: one write per line.
 */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json_writer.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LINE_BYTES = 8192 }; /* longer lines are truncated */
enum { MAX_JSON_BYTES = 8 * LINE_BYTES };

#define NO_MEMORY "{\"level\":\"error\",\"message\":\"a message is dropped: out of memory\"}\n"

static struct {
	const char *program;
	int min_level, fd;
	bool is_json;
	log_write_fn *write; /* NULL: to fd */
	void *arg;
} sink = {.program = "cpuperf", .min_level = LOG_FATAL + 1, .fd = -1};

void log_open(const char *program, int min_level, int fd)
{
	sink.program = program;
	sink.min_level = min_level;
	sink.fd = fd;
}

void log_set_json(bool is_json)
{
	sink.is_json = is_json;
}

bool log_is_json(void)
{
	return sink.is_json;
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

static void write_out(const char *text, size_t len)
{
	if (sink.write)
		sink.write(text, len, sink.arg);
	else /* a failed write cannot be reported anywhere */
		(void)io_write_full(sink.fd, text, len);
}

void log_text(const char *text, size_t len)
{
	if (!sink.is_json)
		write_out(text, len);
}

static void write_line(char *text, size_t size, int len)
{
	size_t n = len < 0 ? 0 : (size_t)len;

	if (n > size - 2)
		n = size - 2;
	text[n] = '\n';
	write_out(text, n + 1);
}

static const char *level_name(int level)
{
	static const char *const names[] = {"info", "warning", "error", "fatal", "warning"};

	return level < LOG_INFO ? "verbose" : names[level];
}

static void add_time(struct json_writer *j)
{
	enum { NS_PER_S = 1000000000, NS_PER_US = 1000 };
	struct clock_triple now;
	struct tm tm = {0};
	char text[80];
	time_t s;

	clock_triple_now(&now);
	s = (time_t)(now.realtime_ns / NS_PER_S);
	gmtime_r(&s, &tm);
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%06uZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (unsigned)(now.realtime_ns % NS_PER_S / NS_PER_US));
	jsonw_text(j, "time", text);
}

/* hint and file may be NULL. */
static void write_json(int level, const char *message, const char *hint, const char *file, int line)
{
	BUF_AUTO(out, MAX_JSON_BYTES);
	struct json_writer j;

	jsonw_init(&j, &out, false);
	JSONW_OBJECT(&j, NULL) {
		add_time(&j);
		jsonw_text(&j, "level", level_name(level));
		jsonw_text(&j, "program", sink.program);
		jsonw_text(&j, "message", message);
		jsonw_text(&j, "hint", hint);
		jsonw_text(&j, "file", file);
		if (file)
			jsonw_u64(&j, "line", (uint64_t)line);
	}
	buf_addc(&out, '\n');
	if (buf_error(&out))
		write_out(NO_MEMORY, sizeof(NO_MEMORY) - 1);
	else
		write_out(buf_str(&out), out.len);
}

/* Source positions are for developers: only --verbose (a level below LOG_INFO) adds them. */
static int prefix(char *text, size_t size, int level, const char *file, int line)
{
	if (level >= LOG_WARNING)
		return snprintf(text, size, "%s: %s: ", sink.program, level_name(level));
	if (level < LOG_INFO)
		return snprintf(text, size, "[VERBOSE%d:%s(%d)] ", -level, file, line);
	if (sink.min_level < LOG_INFO)
		return snprintf(text, size, "[INFO:%s(%d)] ", file, line);
	return snprintf(text, size, "%s: ", sink.program);
}

void log_line(int level, const char *file, int line, const char *fmt, ...)
{
	const char *slash = strrchr(file, '/');
	char text[LINE_BYTES] = "";
	int len = 0, more;
	va_list ap;

	if (level < sink.min_level && level != LOG_ESSENTIAL)
		return;
	file = slash ? slash + 1 : file;
	if (!sink.is_json)
		len = prefix(text, sizeof(text), level, file, line);
	va_start(ap, fmt);
	more = vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, ap);
	va_end(ap);
	str_disarm(text);
	if (sink.is_json)
		write_json(level, text, NULL, sink.min_level < LOG_INFO ? file : NULL, line);
	else
		write_line(text, sizeof(text), len + (more > 0 ? more : 0));
}

void log_err(int level, const struct err *e)
{
	char text[LINE_BYTES], place[24] = "";
	const char *who = e->source[0] ? e->source : sink.program;
	int len;

	if (level < sink.min_level)
		return;
	if (e->line)
		snprintf(place, sizeof(place), ":%u:%u", e->line, e->column);
	if (sink.is_json) {
		snprintf(text, sizeof(text), "%s%s%s%s", e->source, place,
			 e->source[0] || e->line ? ": " : "", e->msg);
		str_disarm(text);
		write_json(level, text, e->hint[0] ? e->hint : NULL, NULL, 0);
		return;
	}
	len = snprintf(text, sizeof(text), "%s%s: %s: %s%s%s", who, place,
		       level >= LOG_ERROR ? "error" : "warning", e->msg,
		       e->hint[0] ? "\n  hint: " : "", e->hint);
	write_line(text, sizeof(text), len);
}
