/*
 * The sums of mappings by kind and object, of texts that the kernel writes and of others; which
 * maps of an iteration are kept.
 */
#include "kit.h"
#include "tree.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "collect/memory_map.h"
#include "proc/maps.h"
#include "proc/smaps.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PID = 5000000, OTHER = 5000001, WAIT_MS = 600000 };

static const struct {
	const char *mapping; /* permissions, and what follows the inode */
	const char *kind;
} kinds[] = {
    {"rw-p [heap]", "heap"},
    {"rw-p [stack]", "stack"},
    {"rw-p [stack:12]", "stack"},
    {"rw-p ", "anonymous"},
    {"rwxp ", "anonymous"},
    {"rw-p [anon:glibc: malloc]", "anonymous"},
    {"rw-s [anon_shmem:x]", "shared"},
    {"rw-p /anon_hugepage (deleted)", "anonymous"},
    {"rw-s /dev/zero (deleted)", "shared"},
    {"rw-s /memfd:x (deleted)", "shared"},
    {"rw-s /SYSV00000000 (deleted)", "shared"},
    {"rw-s /dev/shm/x", "shared"},
    {"r-xp /bin/x", "text"},
    {"rwxp /bin/x", "text"},
    {"rw-p /bin/x", "data"},
    {"r--p /bin/x", "file"},
    {"rw-s /x", "file"},
    {"rw-s /dev/dri/card0", "file"},
    {"rw-s anon_inode:[perf_event]", "file"},
    {"rw-p /heap]", "data"},
    {"r-xp [vdso]", "kernel"},
    {"--xp [vsyscall]", "kernel"},
    {"r--p [hea", "kernel"},
    {"r--p [", "kernel"},
};

TEST(what_a_mapping_is)
{
	for (size_t i = 0; i < ARRAY_NR(kinds); i++) {
		struct proc_mapping m;
		char line[128];

		snprintf(line, sizeof(line), "1000-2000 %.4s 0 0:0 0 %s", kinds[i].mapping,
			 kinds[i].mapping + 5);
		assert_int_equal(proc_maps_parse(line, strlen(line), &m), 0);
		assert_string_equal(mapping_kind_name(proc_smaps_kind(&m)), kinds[i].kind);
	}
	assert_string_equal(mapping_kind_name(MAPPING_NR_KINDS), "unknown");
}

static void put_smaps(const struct root *r, int pid, const char *text)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	tree_text(r, path, text);
}

/* "kind object: mappings size resident proportional dirty swapped huge" in KiB, a line each. */
static const char *rows_text(const struct mapping_row *row, size_t nr, struct buf *out)
{
	buf_reset(out);
	for (size_t i = 0; i < nr; i++) {
		const struct mapping_sums *s = &row[i].sums;
		const uint64_t amounts[] = {s->size,  s->resident, s->proportional,
					    s->dirty, s->swapped,  s->huge};

		buf_printf(out, "%s %s: %u", mapping_kind_name(row[i].kind), row[i].object,
			   row[i].nr);
		for (size_t k = 0; k < ARRAY_NR(amounts); k++)
			buf_printf(out, " %llu", (unsigned long long)(amounts[k] >> 10));
		buf_adds(out, "\n");
	}
	return buf_str(out);
}

static const char *sums(const struct proc_smaps *s, struct buf *out)
{
	MEM_AUTO struct mapping_row *rows = NULL;
	const size_t nr = proc_smaps_rows(s, &rows);

	assert_non_null(rows);
	return rows_text(rows, nr, out);
}

static const char two[] = "00400000-00401000 r-xp 00000000 fe:00 7           /bin/a b\n"
			  "Size:                  4 kB\n"
			  "KernelPageSize:        4 kB\n"
			  "Rss:                   3 kB\n"
			  "Pss:                   2 kB\n"
			  "Pss_Dirty:           900 kB\n"
			  "Shared_Clean:        900 kB\n"
			  "Shared_Dirty:          1 kB\n"
			  "Private_Dirty:         2 kB\n"
			  "AnonHugePages:         1 kB\n"
			  "ShmemPmdMapped:        2 kB\n"
			  "FilePmdMapped:         4 kB\n"
			  "Shared_Hugetlb:        8 kB\n"
			  "Private_Hugetlb:      16 kB\n"
			  "Swap:                  5 kB\n"
			  "SwapPss:             900 kB\n"
			  "THPeligible:           1\n"
			  "VmFlags: rd ex mr mw me\n"
			  "7f00000-7f10000 rw-p 00000000 00:00 0 \n"
			  "Size:                 64 kB\n"
			  "Rss:                  60 kB\n"
			  "7f20000-7f30000 rw-p 00000000 00:00 0\n"
			  "Size:                 64 kB\n";
static const char two_sums[] = "anonymous : 2 128 60 0 0 0 0\n"
			       "text /bin/a b: 1 4 3 2 3 5 31\n";

/* In the order of kinds, then as they come. */
static void assert_sums(const struct proc_smaps *s, const char *wanted)
{
	BUF_AUTO(text, 1 << 20);
	const char *found = sums(s, &text);

	for (const char *line = wanted, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!memmem(found, strlen(found), line, (size_t)(end - line) + 1))
			fail_msg("%.*s is missing:\n%s", (int)(end - line), line, found);
	}
	assert_int_equal(strlen(found), strlen(wanted));
}

TEST(mappings_are_added_up)
{
	struct root r = tree_make();
	struct proc_smaps s;

	proc_smaps_init(&s);
	put_smaps(&r, PID, two);
	assert_int_equal(proc_smaps_read(&s, &r, PID), 0);
	assert_sums(&s, two_sums);
	assert_int_equal(proc_smaps_read(&s, &r, PID), 0); /* as another process */
	assert_sums(&s, "anonymous : 4 256 120 0 0 0 0\ntext /bin/a b: 2 8 6 4 6 10 62\n");
	put_smaps(&r, PID, ""); /* it has ended */
	assert_int_equal(proc_smaps_read(&s, &r, PID), -ESRCH);
	assert_int_equal(proc_smaps_read(&s, &r, OTHER), -ESRCH);
	assert_sums(&s, "anonymous : 4 256 120 0 0 0 0\ntext /bin/a b: 2 8 6 4 6 10 62\n");
	proc_smaps_fini(&s);
	tree_remove(&r);
}

/* What no kernel writes. */
TEST(hostile_texts)
{
	static const struct {
		const char *text, *sums;
	} rows[] = {
	    {"Rss: 7 kB\n", ""},
	    {"Rss: 7 kB", ""},
	    {"1-2 rw-p 0 0:0 0\nRss: 7 kB", "anonymous : 1 0 0 0 0 0 0\n"}, /* no whole line */
	    {"1-2 rw-p 0 0:0 0\nRss 7 kB\nRss:\nRss: x\nRss: -1 kB\n:\n\n:7\nRss:7\n",
	     "anonymous : 1 0 7 0 0 0 0\n"},
	    {"1-2 rw-p 0 0:0 0\nRss: 99999999999999999999 kB\n", "anonymous : 1 0 0 0 0 0 0\n"},
	    {"1-2 rw-p 0 0:0 0\nRss: 18014398509481985 kB\nSize: 1 kB\n",
	     "anonymous : 1 1 18014398509481983 0 0 0 0\n"},
	    {"1-2 rw-p 0 0:0 7 /a\\012Rss: 7 kB\nRss: 1 kB\n",
	     "data /a\\012Rss: 7 kB: 1 0 1 0 0 0 0\n"},
	    {"2-1 rw-p 0 0:0 0\nRss: 1 kB\n", ""},
	};

	for (size_t i = 0; i < ARRAY_NR(rows); i++) {
		struct root r = tree_make();
		struct proc_smaps s;

		proc_smaps_init(&s);
		put_smaps(&r, PID, rows[i].text);
		assert_int_equal(proc_smaps_read(&s, &r, PID), 0);
		assert_sums(&s, rows[i].sums);
		proc_smaps_fini(&s);
		tree_remove(&r);
	}
}

/* A longer line is skipped, with the fields that follow. */
TEST(long_lines)
{
	BUF_AUTO(text, 1 << 20);
	struct root r = tree_make();
	struct proc_smaps s;

	proc_smaps_init(&s);
	buf_adds(&text, "1-2 rw-p 0 0:0 0\nRss: 1 kB\n3-4 rw-p 0 0:0 7 /");
	buf_fill(&text, 'x', PROC_SMAPS_LINE_BYTES);
	buf_adds(&text, "\nRss: 2 kB\n5-6 rw-p 0 0:0 0\nRss: 4 kB\n7-8 rw-p 0 0:0 7 /");
	buf_fill(&text, 'y', 5000);
	buf_adds(&text, "\nRss: 8 kB\n");
	put_smaps(&r, PID, buf_str(&text));
	assert_int_equal(proc_smaps_read(&s, &r, PID), 0);
	{
		MEM_AUTO struct mapping_row *rows = NULL;

		assert_int_equal(proc_smaps_rows(&s, &rows), 2);
		assert_int_equal(rows[0].sums.resident, 5 << 10);
		assert_int_equal(rows[1].sums.resident, 8 << 10);
		assert_int_equal(strlen(rows[1].object), 4095); /* cut */
	}
	proc_smaps_fini(&s);
	tree_remove(&r);
}

TEST(more_objects_than_rows)
{
	struct proc_smaps s;
	struct proc_smaps_parser p = {.to = &s, .row = DICT_NONE};
	uint64_t resident = 0;

	proc_smaps_init(&s);
	for (int i = 0; i < 2 * PROC_SMAPS_MAX_ROWS; i++) {
		char line[64];

		snprintf(line, sizeof(line), "1-2 rw-p 0 0:0 7 /%d", i);
		proc_smaps_add_line(&p, line, strlen(line));
		proc_smaps_add_line(&p, "Rss: 4 kB", 9);
	}
	{
		MEM_AUTO struct mapping_row *rows = NULL;
		const size_t nr = proc_smaps_rows(&s, &rows);

		assert_true(nr <= PROC_SMAPS_MAX_ROWS);
		assert_string_equal(rows[0].object, "[others]");
		assert_true(rows[0].nr > PROC_SMAPS_MAX_ROWS);
		for (size_t i = 0; i < nr; i++)
			resident += rows[i].sums.resident;
	}
	assert_int_equal(resident, UINT64_C(4096) * 2 * PROC_SMAPS_MAX_ROWS);
	proc_smaps_fini(&s);
}

static void read_kib(struct memory_map *m, const struct root *r, unsigned kib)
{
	char text[64];

	snprintf(text, sizeof(text), "1-2 rw-p 0 0:0 0\nRss: %u kB\n", kib);
	put_smaps(r, PID, text);
	memory_map_end_pause(m);
	memory_map_read(m, (const pid_t[]){PID, OTHER}, 2);
}

/* The resident KiB of the maps, and their flags: "1b 3p 2e". */
static const char *taken(struct memory_map *m, struct buf *out)
{
	const struct mapping_map *maps;
	const size_t nr = memory_map_take(m, &maps);

	buf_reset(out);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(maps[i].nr, 1);
		assert_int_equal(maps[i].nr_processes, 1);
		assert_true(!i || maps[i].time_ns >= maps[i - 1].time_ns);
		buf_printf(out, "%s%u%s%s%s", i ? " " : "",
			   (unsigned)(maps[i].row->sums.resident >> 10),
			   maps[i].flags & MAPPING_IS_BEGIN ? "b" : "",
			   maps[i].flags & MAPPING_IS_PEAK ? "p" : "",
			   maps[i].flags & MAPPING_IS_END ? "e" : "");
	}
	return buf_str(out);
}

/* A pipe stands for a process that waits for ever with its memory locked. */
TEST(a_reading_that_never_ends)
{
	struct root r = tree_make();
	struct memory_map *m;
	BUF_AUTO(text, 256);
	char path[512];
	int fd;

	assert_int_equal(memory_map_new(&r, 1, &m), 0);
	tree_put(&r, "/proc/5000000", NULL, 0);
	snprintf(path, sizeof(path), "%.255s/proc/5000000/smaps", r.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	memory_map_read(m, (const pid_t[]){PID}, 1);
	while ((fd = open(path, O_WRONLY | O_NONBLOCK)) < 0) /* until the reader has opened it */
		assert_int_equal(errno, ENXIO);
	memory_map_read(m, (const pid_t[]){PID}, 1);
	assert_string_equal(taken(m, &text), "");
	memory_map_free(m);
	close(fd);
	tree_remove(&r);
}

/* It is taken once it has ended. */
TEST(a_reading_that_was_not_waited_for)
{
	struct root r = tree_make();
	const struct mapping_map *maps;
	struct memory_map *m;
	size_t nr = 0;

	assert_int_equal(memory_map_new(&r, 0, &m), 0);
	read_kib(m, &r, 1);
	for (int i = 0; i < 100000 && !nr; i++) {
		nr = memory_map_take(m, &maps);
		usleep(100);
	}
	assert_int_equal(nr, 1);
	assert_int_equal(maps[0].row->sums.resident, 1 << 10);
	memory_map_free(m);
	tree_remove(&r);
}

TEST(maps_of_an_iteration)
{
	struct root r = tree_make();
	struct memory_map *m;
	BUF_AUTO(text, 256);

	assert_int_equal(memory_map_new(&r, WAIT_MS, &m), 0);
	assert_string_equal(taken(m, &text), "");
	memory_map_read(m, (const pid_t[]){PID}, 1); /* there is none */
	assert_string_equal(taken(m, &text), "");
	read_kib(m, &r, 1);
	assert_string_equal(taken(m, &text), "1bpe");
	read_kib(m, &r, 3);
	read_kib(m, &r, 2);
	assert_string_equal(taken(m, &text), "1b 3p 2e");
	assert_string_equal(taken(m, &text), "2bpe"); /* nothing new */
	read_kib(m, &r, 2);
	read_kib(m, &r, 1);
	assert_string_equal(taken(m, &text), "2bp 1e");
	read_kib(m, &r, 5);
	assert_string_equal(taken(m, &text), "1b 5pe");
	memory_map_free(m);
	memory_map_free(NULL);
	tree_remove(&r);
}
