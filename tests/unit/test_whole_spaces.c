/*
 * What processes have mapped at a time, from records in the order in which rings yield them.
 */
#include "inject.h"
#include "kit.h"

#include "base/buf.h"
#include "elf/build_id.h"
#include "proc/maps.h"
#include "survey/record.h"
#include "trace/record.h"
#include "whole/spaces.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PID = 10, CHILD = 11 };

static struct whole_spaces *spaces;
static struct unwind_maps maps;
static bool is_lacking; /* a record could not be made */

HOOK(before_each)
{
	spaces = whole_spaces_new();
	assert_non_null(spaces);
	maps = whole_spaces_maps(spaces);
}

HOOK(after_each)
{
	whole_spaces_free(spaces);
}

static void add(struct buf *b, bool is_made)
{
	is_lacking |= buf_error(b) != 0; /* the test's own */
	if (buf_error(b))
		return;
	whole_spaces_add(spaces, b->data, b->len, is_made);
}

static void map_as(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end, uint64_t offset,
		   const char *path, bool is_made)
{
	const struct survey_task task = {pid, pid, time_ns};
	const struct proc_mapping m = {.start = start,
				       .end = end,
				       .offset = offset,
				       .inode = 7,
				       .major = 8,
				       .prot = PROT_READ | PROT_EXEC,
				       .name = path,
				       .name_len = strlen(path)};
	BUF_AUTO(b, 1 << 16);

	survey_record_mmap2(&b, &task, &m, NULL);
	add(&b, is_made);
}

static void map(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end, const char *path)
{
	map_as(pid, time_ns, start, end, 0, path, false);
}

static void make_fork(uint32_t parent, uint32_t pid, uint64_t time_ns)
{
	const struct survey_task task = {pid, pid, time_ns};
	BUF_AUTO(b, 1 << 16);

	survey_record_fork(&b, &task, parent, parent);
	add(&b, false);
}

static void make_exec(uint32_t pid, uint64_t time_ns)
{
	const struct survey_task task = {pid, pid, time_ns};
	const uint16_t misc = PERF_RECORD_MISC_COMM_EXEC;
	BUF_AUTO(b, 1 << 16);

	survey_record_comm(&b, &task, "new", 3);
	if (b.data)
		memcpy(b.data + 4, &misc, sizeof(misc));
	add(&b, false);
}

/* The program of each test: an exec that is over. */
static void begin(uint32_t pid, uint64_t time_ns)
{
	make_exec(pid, time_ns);
	map(pid, time_ns + 1, 0x7000, 0x8000, "[vdso]");
}

/* "PATH+OFFSET" of an address, "none", or "unknown" of an unknown process. */
static const char *at(uint32_t pid, uint64_t time_ns, uint64_t address)
{
	static char text[256];
	const struct whole_life *life;
	struct unwind_mapping m;
	struct unwind_file f;

	whole_spaces_apply(spaces);
	life = whole_spaces_find(spaces, pid, time_ns);
	if (!life)
		return "unknown";
	if (!maps.find(maps.arg, life, address, time_ns, &m))
		return "none";
	maps.want(maps.arg, &m, &f);
	snprintf(text, sizeof(text), "%s+%" PRIx64, f.path, address - m.start + m.offset);
	return text;
}

TEST(a_later_mapping_covers_a_part)
{
	begin(PID, 1);
	map(PID, 10, 0x1000, 0x5000, "/a");
	map(PID, 20, 0x2000, 0x3000, "/b");
	assert_string_equal(at(PID, 15, 0x2500), "/a+1500");
	assert_string_equal(at(PID, 25, 0x2500), "/b+500");
	assert_string_equal(at(PID, 25, 0x1500), "/a+500");
	assert_string_equal(at(PID, 25, 0x3500), "/a+2500");
	assert_string_equal(at(PID, 25, 0x5000), "none");
	assert_string_equal(at(PID, 5, 0x1500), "none");
}

TEST(rings_are_out_of_order)
{
	begin(PID, 1);
	make_fork(PID, CHILD, 30); /* on the first CPU */
	map(CHILD, 40, 0x1000, 0x2000, "/b");
	map(PID, 20, 0x1000, 0x2000, "/a"); /* on the second one */
	assert_string_equal(at(CHILD, 35, 0x1500), "/a+500");
	assert_string_equal(at(CHILD, 45, 0x1500), "/b+500");
	assert_string_equal(at(PID, 45, 0x1500), "/a+500");
}

TEST(a_mapping_comes_after_a_newer_one)
{
	begin(PID, 1);
	map(PID, 40, 0x1000, 0x2000, "/b");
	assert_string_equal(at(PID, 45, 0x1500), "/b+500");
	map(PID, 20, 0x1000, 0x3000, "/a");
	assert_string_equal(at(PID, 30, 0x1500), "/a+500");
	assert_string_equal(at(PID, 45, 0x1500), "/b+500");
	assert_string_equal(at(PID, 45, 0x2500), "/a+1500");
}

TEST(during_an_exec_nothing_is_known)
{
	begin(PID, 1);
	map(PID, 10, 0x1000, 0x2000, "/a");
	make_exec(PID, 20);
	map(PID, 21, 0x1000, 0x2000, "/b");
	assert_string_equal(at(PID, 22, 0x1500), "unknown");
	map(PID, 23, 0x7000, 0x8000, "[vdso]");
	assert_string_equal(at(PID, 15, 0x1500), "/a+500");
	assert_string_equal(at(PID, 22, 0x1500), "unknown");
	assert_string_equal(at(PID, 24, 0x1500), "/b+500");
}

TEST(what_ran_before_is_known_by_the_survey)
{
	map(PID, 10, 0x3000, 0x4000, "/b"); /* something else may be missing */
	assert_string_equal(at(PID, 15, 0x3500), "unknown");
	make_fork(PID, CHILD, 20);
	assert_string_equal(at(CHILD, 25, 0x3500), "unknown");
	map_as(PID, 30, 0x1000, 0x2000, 0x100, "/a", true);
	map_as(PID, 30, 0x3000, 0x4000, 0, "/b", true);
	assert_string_equal(at(PID, 5, 0x1500), "/a+600");
	assert_string_equal(at(PID, 15, 0x3500), "/b+500");
	assert_string_equal(at(CHILD + 1, 15, 0x3500), "unknown");
}

TEST(two_build_ids_are_two_objects)
{
	const struct survey_task task = {PID, PID, 10};
	struct proc_mapping m = {
	    .start = 0x1000, .end = 0x2000, .prot = PROT_EXEC, .name = "/a", .name_len = 2};
	struct elf_build_id id = {.len = 20, .bytes = {1}};
	const struct whole_life *life;
	struct unwind_mapping first, second;
	struct unwind_file f;
	BUF_AUTO(b, 1 << 16);

	survey_record_mmap2(&b, &task, &m, &id);
	m.start = 0x2000;
	m.end = 0x3000;
	id.bytes[0] = 2;
	survey_record_mmap2(&b, &task, &m, &id);
	add(&b, true);
	whole_spaces_apply(spaces);
	life = whole_spaces_find(spaces, PID, 20);
	assert_non_null(life);
	assert_true(maps.find(maps.arg, life, 0x1500, 20, &first));
	assert_true(maps.find(maps.arg, life, 0x2500, 20, &second));
	assert_int_not_equal(first.object, second.object);
	maps.want(maps.arg, &second, &f);
	assert_int_equal(f.build_id_len, 20);
	assert_int_equal(f.build_id[0], 2);
}

TEST(lost_records_make_all_unknown)
{
	const uint64_t lost[] = {PERF_RECORD_LOST | 40ull << 48, 1, 5, PID | (uint64_t)PID << 32,
				 15};

	begin(PID, 1);
	map(PID, 10, 0x1000, 0x2000, "/a");
	assert_string_equal(at(PID, 12, 0x1500), "/a+500");
	whole_spaces_add(spaces, lost, sizeof(lost), false);
	assert_string_equal(at(PID, 20, 0x1500), "unknown");
	begin(PID, 30);
	map(PID, 32, 0x1000, 0x2000, "/b");
	assert_string_equal(at(PID, 35, 0x1500), "/b+500");
}

TEST(what_was_replaced_is_forgotten)
{
	begin(PID, 1);
	map(PID, 10, 0x1000, 0x2000, "/a");
	begin(PID, 20);
	map(PID, 30, 0x1000, 0x2000, "/b");
	assert_string_equal(at(PID, 15, 0x1500), "/a+500");
	whole_spaces_forget(spaces, 15); /* samples of then may still come */
	assert_string_equal(at(PID, 15, 0x1500), "/a+500");
	whole_spaces_forget(spaces, 35);
	assert_string_equal(at(PID, 15, 0x1500), "unknown");
	assert_string_equal(at(PID, 35, 0x1500), "/b+500");
}

/* Code that was made at run time is left by its frame pointer, unless it may have tables or
 * trampolines; other code is not. */
TEST(guesses)
{
	const struct whole_life *life;
	struct unwind_mapping m;
	char path[64];
	FILE *f;

	begin(PID, 1);
	map(PID, 10, 0x1000, 0x2000, "//anon");
	map(PID, 10, 0x3000, 0x4000, "/a");
	whole_spaces_apply(spaces);
	life = whole_spaces_find(spaces, PID, 20);
	assert_true(maps.find(maps.arg, life, 0x1500, 20, &m));
	assert_true(maps.may_guess(maps.arg, life, &m));
	assert_true(maps.find(maps.arg, life, 0x3500, 20, &m));
	assert_false(maps.may_guess(maps.arg, life, &m));
	assert_false(maps.may_guess(maps.arg, life, NULL));
	map(PID, 30, 0x5000, 0x6000, "/x/jit-10.dump");
	whole_spaces_apply(spaces);
	life = whole_spaces_find(spaces, PID, 40);
	assert_true(maps.find(maps.arg, life, 0x1500, 40, &m));
	assert_false(maps.may_guess(maps.arg, life, &m));

	begin((uint32_t)getpid(), 1);
	map((uint32_t)getpid(), 10, 0x1000, 0x2000, "//anon");
	make_fork((uint32_t)getpid(), CHILD, 20);
	whole_spaces_apply(spaces);
	life = whole_spaces_find(spaces, CHILD, 30);
	assert_true(maps.find(maps.arg, life, 0x1500, 30, &m));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "we");
	assert_non_null(f);
	fclose(f);
	assert_false(maps.may_guess(maps.arg, life, &m));
	unlink(path);
}

static void make_exit(uint32_t pid, uint64_t time_ns)
{
	const struct survey_task task = {pid, pid, time_ns};
	const uint32_t kind = PERF_RECORD_EXIT;
	BUF_AUTO(b, 1 << 16);

	survey_record_fork(&b, &task, PID, PID); /* the same layout */
	memcpy(b.data, &kind, sizeof(kind));
	add(&b, false);
}

/* The objects of processes that were forgotten have no numbers any more; what is left has its own.
 */
TEST(renewed)
{
	enum { NR_OBJECTS = 300 };
	const struct whole_life *life;
	struct unwind_mapping m;
	char path[32];

	begin(PID, 1);
	map(PID, 2, 0x1000, 0x2000, "/first");
	begin(PID + 2, 1);
	for (uint64_t i = 0; i < NR_OBJECTS; i++) {
		snprintf(path, sizeof(path), "/x%" PRIu64, i);
		map(PID + 2, 3 + i, 0x1000, 0x2000, path);
	}
	map(PID, 400, 0x1000, 0x2000, "/a");
	map(PID, 401, 0x3000, 0x4000, "/b");
	make_fork(PID, CHILD, 402);
	make_exit(PID + 2, 403);
	assert_string_equal(at(PID, 410, 0x3500), "/b+500");
	whole_spaces_forget(spaces, 405);
	whole_spaces_renew(spaces);
	assert_string_equal(at(PID + 2, 410, 0x1500), "unknown");
	for (uint32_t pid = PID; pid <= CHILD; pid++) {
		assert_string_equal(at(pid, 410, 0x1500), "/a+500");
		assert_string_equal(at(pid, 410, 0x3500), "/b+500");
	}
	assert_string_equal(at(PID, 399, 0x1500), "/first+500"); /* a sample of then */
	life = whole_spaces_find(spaces, PID, 410);
	assert_true(maps.find(maps.arg, life, 0x3500, 410, &m));
	assert_true(m.object < 4);
	map(PID, 420, 0x5000, 0x6000, "/c");
	assert_string_equal(at(PID, 430, 0x5500), "/c+500");
	assert_string_equal(at(CHILD, 430, 0x3500), "/b+500");
	assert_false(whole_spaces_is_low(spaces));
}

TEST(processes_that_ended_make_room)
{
	uint64_t time_ns = 100;

	begin(PID, 1);
	map(PID, 10, 0x1000, 0x2000, "/a");
	for (uint32_t pid = 1000; pid < 1000 + 2 * WHOLE_MAX_PIDS; pid++) {
		make_fork(PID, pid, ++time_ns);
		make_exit(pid, ++time_ns);
		if (pid % 4096)
			continue;
		assert_string_equal(at(pid, time_ns, 0x1500), "/a+500");
		whole_spaces_forget(spaces, time_ns + 1);
		assert_string_equal(at(pid, time_ns, 0x1500), "unknown");
	}
	assert_string_equal(at(PID, time_ns, 0x1500), "/a+500");
}

/* What a failed allocation loses is not known; nothing is made up. */
static int run_all(void *arg)
{
	struct whole_spaces *before = spaces;
	const char *found;

	(void)arg;
	is_lacking = false;
	spaces = whole_spaces_new();
	if (!spaces) {
		spaces = before;
		return -ENOMEM;
	}
	maps = whole_spaces_maps(spaces);
	begin(PID, 1);
	map(PID, 10, 0x1000, 0x5000, "/a");
	make_fork(PID, CHILD, 15);
	map(CHILD, 20, 0x2000, 0x3000, "/b");
	found = at(CHILD, 25, 0x2500);
	assert_true(is_lacking || !strcmp(found, "/b+500") || !strcmp(found, "unknown") ||
		    !strcmp(found, "none"));
	whole_spaces_free(spaces);
	spaces = before;
	return strcmp(found, "/b+500") ? -ENOMEM : 0;
}

TEST(without_memory)
{
	for (unsigned n = 1; n < 60; n++) {
		inject_mem(n);
		(void)run_all(NULL);
		inject_stop();
		assert_int_equal(inject.nr_live, 0);
	}
	assert_int_equal(run_all(NULL), 0);
	maps = whole_spaces_maps(spaces);
}

TEST(hostile_records)
{
	uint64_t words[64];

	for (uint64_t seed = 1; seed < 2000; seed++) {
		uint64_t x = seed * 0x9e3779b97f4a7c15u;

		for (size_t i = 0; i < NR(words); i++)
			words[i] = x = x * 6364136223846793005u + 1442695040888963407u;
		words[0] = seed % 12 | (uint64_t)(8 * (seed % 64)) << 48;
		whole_spaces_add(spaces, words, sizeof(words), seed & 1);
		(void)at((uint32_t)words[1], words[2], words[3]);
	}
}
