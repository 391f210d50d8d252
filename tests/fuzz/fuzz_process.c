/*
 * Any text as a file of /proc/PID, or as a word that chooses processes. The first byte says which.
 * A parser gives numbers or an error, and writes nothing then; what is a word's error is said.
 */
#include "base/err.h"
#include "collect/proc_pid_text.h"
#include "collect/process_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static int same(const void *a, const void *b, size_t len)
{
	return memcmp(a, b, len) == 0;
}

/* A parse into out, which is unchanged if it fails; whether it did not. */
#define PARSE(fn, text, len, out)                                                                  \
	({                                                                                         \
		__typeof__(out) before = (out);                                                    \
		int rc = fn(text, len, &(out));                                                    \
		require(rc == 0 || rc == -EINVAL || rc == -ERANGE);                                \
		require(rc == 0 || same(&before, &(out), sizeof(before)));                         \
		rc == 0;                                                                           \
	})

/* Numbers that were read, written as the kernel does, are read as the same. */
static void check_statm(const char *text, size_t len)
{
	struct proc_pid_statm m = {1, 2, 3}, again = {0};
	char written[100];

	if (!PARSE(proc_pid_statm_parse, text, len, m))
		return;
	snprintf(written, sizeof(written), "%" PRIu64 " %" PRIu64 " %" PRIu64 " 0\n", m.size,
		 m.resident, m.shared);
	require(PARSE(proc_pid_statm_parse, written, strlen(written), again));
	require(memcmp(&m, &again, sizeof(m)) == 0);
}

static void check_io(const char *text, size_t len)
{
	struct proc_pid_io io = {1, 2}, again = {0};
	char written[100];

	if (!PARSE(proc_pid_io_parse, text, len, io))
		return;
	snprintf(written, sizeof(written), "read_bytes: %" PRIu64 "\nwrite_bytes: %" PRIu64 "\n",
		 io.read_bytes, io.write_bytes);
	require(PARSE(proc_pid_io_parse, written, strlen(written), again));
	require(memcmp(&io, &again, sizeof(io)) == 0);
}

static void check_schedstat(const char *text, size_t len)
{
	struct proc_pid_schedstat s = {1, 2, 3};

	(void)PARSE(proc_pid_schedstat_parse, text, len, s);
}

static void check_stat(const char *text, size_t len)
{
	struct proc_pid_stat s = {1, 2, 3};

	if (PARSE(proc_pid_stat_parse, text, len, s))
		require(memchr(text, ')', len) != NULL);
}

static void check_family(const char *text, size_t len)
{
	struct proc_pid_family f = {.parent = 1};

	if (PARSE(proc_pid_family_parse, text, len, f))
		require(memchr(text, ')', len) != NULL);
}

static void check_status(const char *text, size_t len)
{
	struct proc_pid_status s = {1, 2};

	if (PARSE(proc_pid_status_parse, text, len, s))
		require(s.nr_namespaces <= len);
}

static void check_word(const char *text, size_t len)
{
	char *word = strndup(text, len);
	const struct collect_choice words = {(const char *const[]){word}, 1};
	struct process_choice c;
	struct err e = {0};
	int rc = process_choice_init(&c, &words, 77, &e);

	require(rc == 0 || rc == -EINVAL);
	require(rc == e.code && (rc == 0) == !e.msg[0]);
	if (rc == 0) {
		require(c.all + c.nr_numbers + c.nr_globs == 1);
		require(!c.nr_numbers || process_choice_has(&c, c.numbers[0], NULL));
		(void)process_choice_has(&c, 5, "worker pool aaaaaaaaaaaaaaaaaaaaaaaaab");
		process_choice_fini(&c);
	}
	free(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(const char *text, size_t len) = {
	    check_statm,  check_io,     check_schedstat, check_stat,
	    check_family, check_status, check_word};

	if (size)
		checks[*data % (sizeof(checks) / sizeof(checks[0]))]((const char *)data + 1,
								     size - 1);
	return 0;
}
