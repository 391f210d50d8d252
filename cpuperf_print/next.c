/*
 * The first row of a table whose condition holds; each is of an answer's numbers that are sure.
 */
#include "next.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "conclusion.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1024 };
static const double half = 0.5, notable = 0.2;

/* Another thread or process ends these waits: who waits, and, where it was recorded, for whom. */
static bool waits_for_others(const struct conclusion *c)
{
	static const char *const reasons[] = {"futex",     "pipe",      "socket",        "child",
					      "file lock", "semaphore", "message queue", "eventfd"};

	return conclusion_is_of_waits(c) && !conclusion_may_be_for_idle(c) &&
	       ARRAY_ANY(reason, reasons, ARRAY_NR(reasons), strcmp(c->reason, *reason) == 0);
}

/* Which lock, and who has it, though that may be no sentence: who has it may wait itself. */
static bool waits_for_lock(const struct conclusion *c)
{
	return conclusion_lock_share(c) >= notable;
}

static bool has_many_processes(const struct conclusion *c)
{
	return c->nr_processes >= CONCLUSION_MANY_PROCESSES;
}

static bool waits_for_cpu(const struct conclusion *c)
{
	return conclusion_queue_share(c) >= half;
}

static bool has_faults(const struct conclusion *c)
{
	return c->least_faults >= notable;
}

/* --function takes a pattern. */
static bool has_hot_function(const struct conclusion *c)
{
	return c->least_hot >= half && !strpbrk(c->hot, "*?[]\\");
}

static bool is_any(const struct conclusion *c)
{
	(void)c;
	return true;
}

static const struct {
	bool (*holds)(const struct conclusion *c);
	const char *options;
	size_t function; /* of the function that follows, in struct conclusion; 0: none */
} rows[] = {
    {has_many_processes, "--report=flat --sort=cmdline,function", 0},
    {waits_for_lock, "--report=locks", 0},
    {waits_for_others, "--report=waits", 0},
    {waits_for_cpu, "--report=waits", 0},
    {has_faults, "--report=calls --function=", offsetof(struct conclusion, faults)},
    {has_hot_function, "--report=annotate --function=", offsetof(struct conclusion, hot)},
    {is_any, "--report=tree", 0},
};

static size_t find_row(const struct conclusion *c)
{
	size_t i = 0;

	while (!rows[i].holds(c))
		i++;
	return i;
}

void next_put(const struct conclusion *c, struct buf *out)
{
	const size_t i = find_row(c);

	buf_adds(out, rows[i].options);
	if (rows[i].function)
		buf_shell_word(out, (const char *)c + rows[i].function);
}

void next_put_words(const struct conclusion *c, struct json_writer *json)
{
	const size_t i = find_row(c);
	const char *at = rows[i].options;
	BUF_AUTO(word, MAX_BYTES);
	size_t len;

	for (; *at; at += len + (at[len] == ' ')) {
		len = strcspn(at, " ");
		buf_reset(&word);
		buf_add(&word, at, len);
		if (!at[len] && rows[i].function)
			buf_adds(&word, (const char *)c + rows[i].function);
		jsonw_text(json, NULL, buf_str(&word));
	}
}

void next_write(const struct conclusion *c)
{
	const char *text = secure_getenv(NEXT_VARIABLE);
	BUF_AUTO(out, MAX_BYTES);
	uint64_t fd;

	if (!text || str_parse_u64(text, &fd) || fd > INT32_MAX)
		return;
	next_put(c, &out);
	if (!buf_error(&out))
		(void)io_write_full((int)fd, buf_str(&out), out.len);
}
