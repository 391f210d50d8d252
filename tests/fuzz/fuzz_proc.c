/*
 * Any bytes as each file of /proc/PID that is parsed. What is understood makes sense and, written
 * again, is understood as the same; a parser that refuses writes nothing.
 */
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "proc/call.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/maps.h"
#include "proc/smaps.h"
#include "proc/stat.h"
#include "proc/text.h"

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

/* ---- maps, smaps */

static int is_same(const struct proc_mapping *a, const struct proc_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->prot == b->prot && a->is_shared == b->is_shared && b->name_len == 0;
}

static void check_line(const char *line, size_t len)
{
	struct proc_mapping m, again;
	char text[128];
	int n, rc = proc_maps_parse(line, len, &m);

	require(rc == 0 || rc == -EINVAL);
	if (rc)
		return;
	require(m.start < m.end && m.prot < 8 && m.name + m.name_len == line + len);
	require(m.name_len == 0 || *m.name != ' ');
	n = snprintf(text, sizeof(text),
		     "%" PRIx64 "-%" PRIx64 " %c%c%c%c %" PRIx64 " %x:%x %" PRIu64, m.start, m.end,
		     m.prot & PROC_MAPS_READ ? 'r' : '-', m.prot & PROC_MAPS_WRITE ? 'w' : '-',
		     m.prot & PROC_MAPS_EXEC ? 'x' : '-', m.is_shared ? 's' : 'p', m.offset,
		     m.major, m.minor, m.inode);
	require(proc_maps_parse(text, (size_t)n, &again) == 0 && is_same(&m, &again));
}

static void check_maps(const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;

	while ((line = str_next_line(&text, end, &stop)))
		check_line(line, (size_t)(stop - line));
}

/* Each mapping is in one row. */
static void check_smaps(const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;
	MEM_AUTO struct mapping_row *rows = NULL;
	struct proc_smaps s;
	struct proc_smaps_parser p = {.to = &s, .row = DICT_NONE};
	struct proc_mapping m;
	size_t nr_mappings = 0, nr;

	proc_smaps_init(&s);
	while ((line = str_next_line(&text, end, &stop))) {
		proc_smaps_add_line(&p, line, (size_t)(stop - line));
		nr_mappings += proc_maps_parse(line, (size_t)(stop - line), &m) == 0;
	}
	nr = proc_smaps_rows(&s, &rows);
	for (size_t i = 0; i < nr; i++) {
		require(rows[i].kind < MAPPING_NR_KINDS && rows[i].nr <= nr_mappings);
		nr_mappings -= rows[i].nr;
	}
	require(!nr_mappings);
	proc_smaps_fini(&s);
}

/* ---- numbers */

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
	struct proc_statm m = {1, 2, 3}, again = {0};
	char written[100];

	if (!PARSE(proc_statm_parse, text, len, m))
		return;
	snprintf(written, sizeof(written), "%" PRIu64 " %" PRIu64 " %" PRIu64 " 0\n", m.size,
		 m.resident, m.shared);
	require(PARSE(proc_statm_parse, written, strlen(written), again));
	require(memcmp(&m, &again, sizeof(m)) == 0);
}

static void check_io(const char *text, size_t len)
{
	struct proc_io io = {1, 2}, again = {0};
	char written[100];

	if (!PARSE(proc_io_parse, text, len, io))
		return;
	snprintf(written, sizeof(written), "read_bytes: %" PRIu64 "\nwrite_bytes: %" PRIu64 "\n",
		 io.read_bytes, io.write_bytes);
	require(PARSE(proc_io_parse, written, strlen(written), again));
	require(memcmp(&io, &again, sizeof(io)) == 0);
}

static void check_schedstat(const char *text, size_t len)
{
	struct proc_schedstat s = {1, 2, 3};

	(void)PARSE(proc_schedstat_parse, text, len, s);
}

static void check_stat(const char *text, size_t len)
{
	uint64_t parent, start;
	const struct proc_number numbers[] = {{PROC_STAT_PARENT, &parent},
					      {PROC_STAT_START_TICKS, &start}};
	struct proc_stat s = {.state = 'a'};
	int rc = proc_stat_parse(text, len, &s, numbers, ARRAY_NR(numbers));

	require(rc == 0 || rc == -EINVAL || rc == -ERANGE);
	require(rc == 0 || (s.state == 'a' && !s.name));
	require(rc || (s.name > text && s.name[-1] == '(' && s.name[s.name_len] == ')' &&
		       s.name + s.name_len + 2 < text + len));
}

static void check_keys(const char *text, size_t len)
{
	uint64_t out[4][PROC_MAX_NAMESPACES] = {0};
	struct proc_key keys[] = {{"Pid", out[0]},
				  {"NSpid", out[1], PROC_MAX_NAMESPACES},
				  {"VmHWM", out[2], .kind = PROC_KIB},
				  {"CapPrm", out[3], .kind = PROC_HEX},
				  {"State", out[3] + 1, .kind = PROC_LETTER}};
	int rc = proc_keys_parse(text, len, keys, ARRAY_NR(keys));

	require(rc == 0 || rc == -EINVAL || rc == -ERANGE);
	for (size_t i = 0; i < ARRAY_NR(keys); i++)
		require(rc || (keys[i].nr <= len && (!keys[i].nr || memmem(text, len, keys[i].name,
									   strlen(keys[i].name)))));
	require(!out[0][1] && !out[2][1] && !out[3][2]);
}

/* ---- lines and lists */

static void check_call(const char *text, size_t len)
{
	MEM_AUTO char *line = mem_zalloc(len + 1);
	struct proc_call c = {.number = 7};
	int rc;

	require(line != NULL);
	memcpy(line, text, len);
	rc = proc_call_parse(line, &c);
	require(rc == 0 ? c.is_running || c.number <= INT32_MAX : rc == -EINVAL && c.number == 7);
}

static int count(uint32_t id, void *arg)
{
	size_t *left = arg;

	require(id && id <= INT32_MAX && *left);
	--*left;
	return 0;
}

static void check_list(const char *text, size_t len)
{
	size_t left = len;

	require(proc_each_number(text, len, count, &left) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(const char *text, size_t len) = {
	    check_maps, check_smaps, check_statm, check_io,  check_schedstat,
	    check_stat, check_keys,  check_call,  check_list};

	for (size_t i = 0; i < ARRAY_NR(checks); i++)
		checks[i]((const char *)data, size);
	return 0;
}
