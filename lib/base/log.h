/*
 * Log messages: levels and one sink. Silent until the program opens the log. Results are not
 * logged.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LOG_VERBOSE = -1,
	LOG_INFO = 0,
	LOG_WARNING = 1,
	LOG_ERROR = 2,
	LOG_FATAL = 3,
	LOG_ESSENTIAL = 4, /* a warning that --quiet does not hide, about the location of results */
};

/* Logs messages of min_level and above to fd (not owned). Messages start with program, or, where
 * min_level is below LOG_INFO, informational ones with their source file and line. program must
 * outlive the log. Not thread-safe; call at the start. */
void log_open(const char *program, int min_level, int fd);

/* Lines are JSON objects: {"time":"2026-01-02T03:04:05.678901Z","level":"warning",
 * "program":"cpuperf","message":"...","hint":"..."}. time is UTC; level is verbose, info, warning,
 * error or fatal; hint only where there is one; "file" and "line" of the source only where
 * min_level is below LOG_INFO. Valid before and after log_open. Not thread-safe; call at the start.
 */
void log_set_json(bool is_json);
bool log_is_json(void);

/* Text for people that has its own form, whole lines: where the log's lines go, at any level; not
 * where they are JSON. */
void log_text(const char *text, size_t len);

/* The descriptor; -1 before log_open. */
int log_fd(void);

/* Passes each line to write instead of the descriptor; NULL: back to the descriptor. Only while a
 * single thread logs. */
typedef void log_write_fn(const char *line, size_t len, void *arg);
void log_divert(log_write_fn *write, void *arg);

/* One line, one write. Thread-safe. */
void log_line(int level, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#define log_verbose(n, ...) log_line(-(n), __FILE_NAME__, __LINE__, __VA_ARGS__)
#define log_info(...)       log_line(LOG_INFO, __FILE_NAME__, __LINE__, __VA_ARGS__)
#define log_warning(...)    log_line(LOG_WARNING, __FILE_NAME__, __LINE__, __VA_ARGS__)
#define log_error(...)      log_line(LOG_ERROR, __FILE_NAME__, __LINE__, __VA_ARGS__)

struct err;
/* Logs an error (at LOG_WARNING, a warning) as "source:line:column: error: msg", with its hint on
 * a second line. */
void log_err(int level, const struct err *e);

#endif
