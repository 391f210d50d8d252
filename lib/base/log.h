/*
 * What a program says on the way: levels, one sink. A library is silent until
 * the program opens the sink; results never go through here.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>

enum log_level { LOG_VERBOSE = -1, LOG_INFO = 0, LOG_WARNING = 1, LOG_ERROR = 2, LOG_FATAL = 3 };

/* Starts logging of min_level and above to fd (not owned). program is put before warnings and
 * errors. The strings must outlive the log. Not thread-safe; call once at the start. */
void log_open(const char *program, int min_level, int fd);

/* The descriptor; -1 before log_open. */
int log_fd(void);

/* From now on whole lines are handed to write, in place of the descriptor; NULL: no longer. While
 * one thread logs. */
typedef void log_write_fn(const char *line, size_t len, void *arg);
void log_divert(log_write_fn *write, void *arg);

/* One line, one write. Thread-safe. */
void log_line(int level, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#define log_verbose(n, ...) log_line(-(n), __FILE__, __LINE__, __VA_ARGS__)
#define log_info(...)       log_line(LOG_INFO, __FILE__, __LINE__, __VA_ARGS__)
#define log_warning(...)    log_line(LOG_WARNING, __FILE__, __LINE__, __VA_ARGS__)
#define log_error(...)      log_line(LOG_ERROR, __FILE__, __LINE__, __VA_ARGS__)

struct err;
/* An error (or, at LOG_WARNING, a warning) in the form "source:line:column: error: msg" and its
 * hint on a line of its own. */
void log_err(int level, const struct err *e);

#endif
