/*
 * The survey over a captured tree and made ones: these records and no others, whatever cannot be
 * read is said, and every ceiling holds.
 */
#include "test_survey.h"
#include "kit.h"

#include "elf/build_id.h"
#include "proc/maps.h"
#include "survey/ids.h"
#include "survey/record.h"
#include "survey/symbols.h"

static void expect_note(const struct tape *t, const char *words)
{
	print_message("note: %s\n", t->result.note);
	if (!*words)
		assert_string_equal(t->result.note, "");
	else
		assert_non_null(strstr(t->result.note, words));
}

/* One captured process with all that is odd in names and mappings, two threads of the kernel. */
TEST(captured)
{
	struct root r = tree_captured("tasks");
	struct buf symbols;
	struct tape t;

	tape_init(&t);
	assert_int_equal(tape_run(&t, &r, true), 0);
	tape_expect(&t, 0,
		    "fork 13/13 of 2/2\n"
		    "comm 13/13 kworker/R-mm_pe\n"
		    "fork 2/2 of 0/0\n"
		    "comm 2/2 kthreadd\n"
		    "fork 812/812 of 700/700\n"
		    "comm 812/812 odd (a) b\n"
		    "fork 812/814 of 812/812\n"
		    "comm 812/814 worker/0\n"
		    "fork 812/815 of 812/812\n"
		    "comm 812/815 tail) R 1 \n"
		    "mmap2 812/812 55f6e43f7000+1000 @1000 fe:0 10954527 5 2 /tmp/odd\n"
		    "mmap2 812/812 7fb59f33b000+10000 @0 0:0 0 7 2 //anon\n"
		    "mmap2 812/812 7fb59f374000+156000 @26000 fe:0 332835 5 2 "
		    "/usr/lib/x86_64-linux-gnu/libc.so.6\n"
		    "mmap2 812/812 7fb59f535000+1000 @0 0:1 2298 5 1 /memfd:jit (deleted)\n"
		    "mmap2 812/812 7fb59f536000+2000 @1000 fe:0 10954451 5 1 /tmp/libshared.so\n"
		    "mmap2 812/812 7fb59f538000+2000 @0 fe:0 10954436 5 2 "
		    "/tmp/lib\\012new\\line.so\n"
		    "mmap2 812/812 7fb59f53a000+2000 @0 fe:0 10954360 5 2 "
		    "/tmp/lib gone.so (deleted)\n"
		    "mmap2 812/812 7fb59f544000+2000 @0 0:0 0 5 2 [vdso]\n"
		    "mmap2 812/812 7fb59f547000+26000 @1000 fe:0 332383 5 2 "
		    "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n"
		    "mmap2 812/812 ffffffffff600000+1000 @0 0:0 0 4 2 [vsyscall]\n");
	buf_init(&symbols, 1 << 20);
	assert_int_equal(root_load(&r, "/proc/kallsyms", &symbols), 0);
	assert_string_equal(buf_str(&t.kallsyms), buf_str(&symbols));
	buf_fini(&symbols);
	assert_true(t.result.has_kallsyms);
	assert_int_equal(t.result.nr_processes, 3);
	assert_int_equal(t.result.nr_threads, 5);
	assert_int_equal(t.result.nr_mappings, 10);
	assert_int_equal(t.result.nr_build_ids, 0);
	assert_int_equal(t.result.nr_denied, 0);
	expect_note(&t, "");
	tape_fini(&t);
}

#define EXE   "00400000-00401000 r-xp 00001000 fd:00 77  /bin/a\n"
#define LIB   "7f0000000000-7f0000002000 r-xp 00000000 fd:00 78  /lib/b\n"
#define OTHER "7f0000004000-7f0000006000 r-xp 00000000 fd:00 78  /lib/other 2245\n"
#define TASK  "fork 7/7 of 1/1\ncomm 7/7 a\n"

/* A file is read once, under whatever address and by whomever it is mapped. Two of a device and
 * inode are told apart by their names, in one bucket too (as these are). */
TEST(build_ids)
{
	struct root r = tree_make();
	struct tape t;

	put_process(&r, 7, "a", 1,
		    EXE "00401000-00402000 r-xp 00002000 fd:00 77  /bin/a\n" LIB OTHER
			"7f0000006000-7f0000007000 r-xp 00000000 00:00 0\n"
			"7f0000008000-7f0000009000 r-xp 00000000 fd:01 77  /bin/a\n");
	put_process(&r, 8, "b", 1, EXE LIB);
	put_mapped(&r, 7, "400000-401000", "\1\2\xff");
	put_mapped(&r, 7, "401000-402000", "never read");
	put_mapped(&r, 7, "7f0000000000-7f0000002000", "twenty bytes, I say.");
	put_mapped(&r, 7, "7f0000004000-7f0000006000", "z");
	put_mapped(&r, 7, "7f0000008000-7f0000009000", NULL);
	tape_init(&t);
	hook_start((struct hook){.part = "map_files"});
	assert_int_equal(tape_run(&t, &r, false), 0);
	hook_stop();
	tape_expect(&t, 0,
		    TASK "mmap2 7/7 400000+1000 @1000 id 0102ff 5 2 /bin/a\n"
			 "mmap2 7/7 401000+1000 @2000 id 0102ff 5 2 /bin/a\n"
			 "mmap2 7/7 7f0000000000+2000 @0 "
			 "id 7477656e74792062797465732c2049207361792e 5 2 /lib/b\n"
			 "mmap2 7/7 7f0000004000+2000 @0 id 7a 5 2 /lib/other 2245\n"
			 "mmap2 7/7 7f0000006000+1000 @0 0:0 0 5 2 //anon\n"
			 "mmap2 7/7 7f0000008000+1000 @0 fd:1 77 5 2 /bin/a\n"
			 "fork 8/8 of 1/1\ncomm 8/8 b\n"
			 "mmap2 8/8 400000+1000 @1000 id 0102ff 5 2 /bin/a\n"
			 "mmap2 8/8 7f0000000000+2000 @0 "
			 "id 7477656e74792062797465732c2049207361792e 5 2 /lib/b\n");
	assert_int_equal(hook.nr_stats, 4);
	assert_int_equal(hook.nr_opens, 4);
	assert_int_equal(t.result.nr_build_ids, 3);
	expect_note(&t, "");
	tape_fini(&t);
	tree_remove(&r);
}

/* What the kernel answers about the files of process 7; process 8 has the same in its tree. */
static const struct {
	const char *what, *part;
	int stat_error, open_error;
	unsigned nr_stats, nr_opens;
	const char *id, *note;
} answers[] = {
    {"may not read any: not asked again", "map_files", -EPERM, 0, 1, 0, "fd:0 77",
     "build-ids (CAP_CHECKPOINT_RESTORE)"},
    {"the mapping has gone, and its file, too: the next may have it", "/7/map_files", -ENOENT, 0, 2,
     0, "id 69", ""},
    {"the process has gone", "/7/map_files", 0, -ESRCH, 2, 1, "id 69", ""},
    {"may not read this one", "map_files", 0, -EACCES, 1, 1, "fd:0 77", "what could not be read"},
    {"no descriptors", "map_files", 0, -EMFILE, 1, 1, "fd:0 77", "what could not be read"},
    {"all is well", "map_files", 0, 0, 1, 1, "id 69", ""},
};

TEST(answers)
{
	struct root r = tree_make();

	put_process(&r, 7, "a", 1, "");
	put_process(&r, 8, "b", 1, EXE);
	put_mapped(&r, 8, "400000-401000", "i");
	put_mapped(&r, 7, "400000-401000", "i");
	put_process(&r, 7, "a", 1, EXE);
	for (size_t i = 0; i < NR(answers); i++) {
		char expected[128];
		struct tape t;

		print_message("%s\n", answers[i].what);
		tape_init(&t);
		hook_start((struct hook){.part = answers[i].part,
					 .stat_error = answers[i].stat_error,
					 .open_error = answers[i].open_error});
		assert_int_equal(tape_run(&t, &r, false), 0);
		hook_stop();
		snprintf(expected, sizeof(expected),
			 "fork 8/8 of 1/1\ncomm 8/8 b\nmmap2 8/8 400000+1000 @1000 %s 5 2 /bin/a\n",
			 answers[i].id);
		tape_expect(&t, 8, expected);
		assert_int_equal(hook.nr_stats, answers[i].nr_stats);
		assert_int_equal(hook.nr_opens, answers[i].nr_opens);
		expect_note(&t, answers[i].note);
		tape_fini(&t);
	}
	tree_remove(&r);
}

/* What is no regular file is not opened: a device might do something. */
TEST(not_opened)
{
	struct root r = tree_make();
	char path[512];
	struct tape t;

	put_process(&r, 7, "a", 1, EXE);
	tree_put(&r, "/proc/7/map_files/x", "", 0);
	snprintf(path, sizeof(path), "%s/proc/7/map_files/400000-401000", r.dir);
	assert_int_equal(mkfifo(path, 0600), 0); /* to open it would wait for a writer */
	tape_init(&t);
	assert_int_equal(tape_run(&t, &r, false), 0);
	tape_expect(&t, 0, TASK "mmap2 7/7 400000+1000 @1000 fd:0 77 5 2 /bin/a\n");
	expect_note(&t, "");
	tape_fini(&t);
	tree_remove(&r);
}

/* A file system of the network may not answer: its files are not opened. */
TEST(foreign)
{
	struct root r = tree_make();
	struct tape t;

	put_process(&r, 7, "a", 1, EXE);
	put_mapped(&r, 7, "400000-401000", "i");
	put_text(&r, "/proc/self/mountinfo", "20 1 253:0 / / rw - nfs4 host:/x rw\n");
	tape_init(&t);
	hook_start((struct hook){.part = "map_files"});
	assert_int_equal(tape_run(&t, &r, false), 0);
	hook_stop();
	tape_expect(&t, 0, TASK "mmap2 7/7 400000+1000 @1000 fd:0 77 5 2 /bin/a\n");
	assert_int_equal(hook.nr_stats + hook.nr_opens, 0);
	expect_note(&t, "build-ids on file systems that may not answer (1 files, nfs4)");
	tape_fini(&t);
	tree_remove(&r);
}

#define GOOD "mmap2 7/7 400000+1000 @1000 fd:0 77 5 2 /bin/a\n"

/* Process 7, of two threads and one mapping, where one file answers so. */
static const struct {
	const char *what, *part;
	int open_error, read_error;
	unsigned read_at;
	const char *records;
	unsigned nr_denied;
	const char *note;
} troubles[] = {
    {"none", "none", 0, 0, 0, TASK "fork 7/9 of 7/7\ncomm 7/9 t\n" GOOD, 0, ""},
    {"mappings denied", "7/maps", -EACCES, 0, 0, TASK "fork 7/9 of 7/7\ncomm 7/9 t\n", 1,
     "mappings of 1 process (needs CAP_SYS_PTRACE): 7 (a)"},
    {"reading them denied", "7/maps", 0, -EACCES, 1, TASK "fork 7/9 of 7/7\ncomm 7/9 t\n", 1,
     "mappings of 1 process (needs CAP_SYS_PTRACE): 7 (a)"},
    {"all denied", "7/stat", -EPERM, 0, 0, "", 1,
     "mappings of 1 process (needs CAP_SYS_PTRACE): 7 (?)"},
    {"gone at once", "7/stat", -ENOENT, 0, 0, "", 0, ""},
    {"gone when read", "7/stat", 0, -ESRCH, 1, "", 0, ""},
    {"gone later", "7/maps", 0, -ESRCH, 1, TASK "fork 7/9 of 7/7\ncomm 7/9 t\n", 0, ""},
    {"a thread gone", "comm", -ENOENT, 0, 0, TASK GOOD, 0, ""},
    {"an error of reading", "7/maps", 0, -EIO, 1, TASK "fork 7/9 of 7/7\ncomm 7/9 t\n", 0,
     "what could not be read"},
    {"an error after it", "7/maps", 0, -EIO, 2, TASK "fork 7/9 of 7/7\ncomm 7/9 t\n" GOOD, 0,
     "what could not be read"},
    {"no descriptors", "7/stat", -EMFILE, 0, 0, "", 0, "what could not be read"},
    {"interrupted", "7/maps", 0, -EINTR, 1, TASK "fork 7/9 of 7/7\ncomm 7/9 t\n" GOOD, 0, ""},
    {"interrupted early", "7/stat", 0, -EINTR, 1, TASK "fork 7/9 of 7/7\ncomm 7/9 t\n" GOOD, 0, ""},
};

TEST(troubles)
{
	struct root r = tree_make();
	size_t nr_fds = inject_open_fds();

	put_process(&r, 7, "a", 2, EXE);
	put_process(&r, 8, "b", 1, EXE);
	put_text(&r, "/proc/7/task/7/comm", "a\n");
	put_text(&r, "/proc/7/task/9/comm", "t\n");
	for (size_t i = 0; i < NR(troubles); i++) {
		struct tape t;

		print_message("%s\n", troubles[i].what);
		tape_init(&t);
		hook_start((struct hook){.part = troubles[i].part,
					 .open_error = troubles[i].open_error,
					 .read_error = troubles[i].read_error,
					 .read_at = troubles[i].read_at});
		assert_int_equal(tape_run(&t, &r, false), 0);
		hook_stop();
		tape_expect(&t, 7, troubles[i].records);
		tape_expect(&t, 8,
			    "fork 8/8 of 1/1\ncomm 8/8 b\n"
			    "mmap2 8/8 400000+1000 @1000 fd:0 77 5 2 /bin/a\n");
		assert_int_equal(t.result.nr_denied, troubles[i].nr_denied);
		expect_note(&t, troubles[i].note);
		tape_fini(&t);
		assert_int_equal(inject_open_fds(), nr_fds);
	}
	tree_remove(&r);
}

/* Refusals despite the capability are not explained by its lack; names are bounded. */
TEST(refusals)
{
	static const struct {
		const char *status, *note;
	} cases[] = {
	    {"Name:\tx\nCapEff:\t000001fffeffffff\n", "refused despite CAP_SYS_PTRACE"},
	    {"Name:\tx\nCapEff:\t0000000000080000\n", "refused despite CAP_SYS_PTRACE"},
	    {"Name:\tx\nCapEff:\t0000000000040000\n", "needs CAP_SYS_PTRACE"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct root r = tree_make();
		char whole[160];
		struct tape t;

		put_text(&r, "/proc/self/status", cases[i].status);
		for (uint32_t pid = 1; pid <= 9; pid++)
			put_process(&r, pid, "fifteen-bytes-1", 1, EXE);
		tape_init(&t);
		hook_start((struct hook){.part = "/maps", .open_error = -EACCES});
		assert_int_equal(tape_run(&t, &r, false), 0);
		hook_stop();
		assert_int_equal(t.result.nr_denied, 9);
		snprintf(whole, sizeof(whole),
			 "not surveyed: mappings of 9 processes (%s): 1 (fifteen-bytes-1), 2 "
			 "(fifteen-bytes-1), 3 (fifteen-bytes-1) …",
			 cases[i].note);
		assert_string_equal(t.result.note, whole);
		tape_fini(&t);
		tree_remove(&r);
	}
}

/* What a user without privileges meets is said whole. */
TEST(whole_note)
{
	struct root r = tree_make();
	struct tape t;

	put_process(&r, 7, "a", 1, EXE);
	put_process(&r, 8, "b", 1, EXE);
	put_text(&r, "/proc/kallsyms", "0000000000000000 T _text\n");
	tape_init(&t);
	/* the third read is that of the second process's mappings */
	hook_start((struct hook){
	    .part = "/map", .stat_error = -EPERM, .read_at = 3, .read_error = -EACCES});
	assert_int_equal(tape_run(&t, &r, true), 0);
	hook_stop();
	assert_string_equal(
	    t.result.note,
	    "not surveyed: mappings of 1 process (needs CAP_SYS_PTRACE): 8 (b); "
	    "build-ids (CAP_CHECKPOINT_RESTORE); kernel symbols (kernel.kptr_restrict)");
	tape_fini(&t);
	tree_remove(&r);
}

/* Text that no kernel writes: what is good in it is kept. */
static const struct {
	const char *what, *path, *text, *records;
} oddities[] = {
    {"a line between two", "/proc/7/maps", "7f00-7e00 r-xp 0 0:0 0\n" EXE "?\n", TASK GOOD},
    {"no newline at the end", "/proc/7/maps", "?\n00400000-00401000 r-xp 00001000 fd:00 77  /bin/a",
     TASK GOOD},
    {"no numbers", "/proc/7/stat", "7 (a) S\n", ""},
    {"nothing", "/proc/7/stat", "", ""},
    {"a parent beyond", "/proc/7/stat",
     "7 (a) S 2147483648 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 1", ""},
};

TEST(oddities)
{
	for (size_t i = 0; i < NR(oddities); i++) {
		struct root r = tree_make();
		struct tape t;

		print_message("%s\n", oddities[i].what);
		put_process(&r, 7, "a", 1, EXE);
		put_process(&r, 8, "b", 1, NULL);
		put_text(&r, "/proc/8/maps", EXE); /* without memory or threads: not read */
		put_text(&r, "/proc/8/task/9/comm", "t\n");
		put_text(&r, "/proc/4294967303/stat", "7 in 32 bits");
		put_text(&r, "/proc/bus", "no folder");
		put_text(&r, oddities[i].path, oddities[i].text);
		tape_init(&t);
		assert_int_equal(tape_run(&t, &r, false), 0);
		tape_expect(&t, 7, oddities[i].records);
		tape_expect(&t, 8, "fork 8/8 of 1/1\ncomm 8/8 b\n");
		expect_note(&t, "malformed text");
		tape_fini(&t);
		tree_remove(&r);
	}
}

/* Names up to the kernel's own length; a line without end does not end us. */
TEST(long_names)
{
	static const struct {
		size_t len;
		bool is_whole;
		const char *note;
	} cases[] = {
	    {1, true, ""},
	    {7, true, ""},
	    {8, true, ""},
	    {4095, true, ""},
	    {4096, false, ""},
	    {60000, false, ""},
	    {70000, false, "malformed text"},
	};
	struct root r = tree_make();

	for (size_t i = 0; i < NR(cases); i++) {
		struct buf maps, expected;
		struct tape t;

		buf_init(&maps, 1 << 20);
		buf_init(&expected, 1 << 20);
		buf_adds(&maps, "400000-401000 r-xp 1000 fd:0 77 ");
		buf_fill(&maps, 'x', cases[i].len);
		put_process(&r, 7, "a", 1, buf_str(&maps));
		put_process(&r, 8, "b", 1, EXE);
		buf_adds(&expected, TASK);
		if (!*cases[i].note)
			buf_adds(&expected, "mmap2 7/7 400000+1000 @1000 fd:0 77 5 2 ");
		if (cases[i].is_whole)
			buf_fill(&expected, 'x', cases[i].len);
		else if (!*cases[i].note)
			buf_adds(&expected, "//toolong");
		if (!*cases[i].note)
			buf_adds(&expected, "\n");
		tape_init(&t);
		assert_int_equal(tape_run(&t, &r, false), 0);
		tape_expect(&t, 7, buf_str(&expected));
		assert_int_equal(t.result.nr_mappings, *cases[i].note ? 1 : 2);
		expect_note(&t, cases[i].note);
		tape_fini(&t);
		buf_fini(&maps);
		buf_fini(&expected);
	}
	tree_remove(&r);
}

/* 15 bytes, as the kernel's own records have them; nothing else is taken off. */
TEST(task_names)
{
	static const struct {
		const char *comm, *name;
	} cases[] = {
	    {"fifteen bytes..", "fifteen bytes.."},
	    {"sixteen bytes...", "sixteen bytes.."},
	    {"seven..", "seven.."},
	    {"eight...", "eight..."},
	    {"", ""},
	    {"\n \xff", "\n \xff"},
	    {"kworker/u8:2-events_unbound and much more than any name that a kernel gives to a "
	     "thread, so much that it does not fit where it is read",
	     "kworker/u8:2-ev"},
	};
	struct root r = tree_make();

	for (size_t i = 0; i < NR(cases); i++) {
		char expected[128], comm[256];
		struct tape t;

		snprintf(comm, sizeof(comm), "%s\n", cases[i].comm);
		put_process(&r, 7, cases[i].comm, 2, NULL);
		put_text(&r, "/proc/7/task/9/comm", comm);
		snprintf(expected, sizeof(expected),
			 "fork 7/7 of 1/1\ncomm 7/7 %s\nfork 7/9 of 7/7\ncomm 7/9 %s\n",
			 cases[i].name, cases[i].name);
		tape_init(&t);
		assert_int_equal(tape_run(&t, &r, false), 0);
		tape_expect(&t, 0, expected);
		tape_fini(&t);
	}
	tree_remove(&r);
}

/* Lines of executable mappings of different files; inode 0: of none. */
static void add_many(struct buf *maps, unsigned nr, uint64_t inode)
{
	for (unsigned i = 0; i < nr; i++)
		buf_printf(maps, "%x000-%x000 r-xp 0 fd:0 %" PRIu64 " /f\n", i + 1, i + 2,
			   inode ? inode + i : 0);
}

TEST(max_mappings)
{
	struct root r = tree_make();

	for (unsigned over = 0; over <= 1; over++) {
		struct buf maps;
		struct tape t;

		buf_init(&maps, 16 << 20);
		add_many(&maps, SURVEY_MAX_MAPPINGS + over, 0);
		put_process(&r, 7, "a", 1, buf_str(&maps));
		put_process(&r, 8, "b", 1, EXE);
		tape_init(&t);
		assert_int_equal(tape_run(&t, &r, false), 0);
		assert_int_equal(t.result.nr_mappings, SURVEY_MAX_MAPPINGS + 1);
		assert_true(t.nr_pieces >= 6); /* 104 bytes each */
		expect_note(&t, over ? "mappings beyond the limit" : "");
		tape_fini(&t);
		buf_fini(&maps);
	}
	tree_remove(&r);
}

/* Files that are known are known still when there is room for no more. */
TEST(max_files)
{
	struct root r = tree_make();
	struct buf maps;

	buf_init(&maps, 16 << 20);
	add_many(&maps, SURVEY_MAX_FILES - 1, 1000);
	put_process(&r, 6, "many", 1, buf_str(&maps));
	put_process(&r, 7, "a", 1, EXE);
	put_mapped(&r, 7, "400000-401000", "i");
	put_mapped(&r, 8, "7f0000000000-7f0000002000", "l");
	for (unsigned over = 0; over <= 1; over++) {
		struct tape t;

		put_process(&r, 8, "b", 1, over ? LIB EXE : EXE);
		tape_init(&t);
		hook_start((struct hook){.part = "/6/map_files/", .stat_error = -EINVAL});
		assert_int_equal(tape_run(&t, &r, false), 0);
		hook_stop();
		assert_int_equal(hook.nr_stats, SURVEY_MAX_FILES - 1);
		tape_expect(&t, 8,
			    over ? "fork 8/8 of 1/1\ncomm 8/8 b\n"
				   "mmap2 8/8 7f0000000000+2000 @0 fd:0 78 5 2 /lib/b\n"
				   "mmap2 8/8 400000+1000 @1000 id 69 5 2 /bin/a\n"
				 : "fork 8/8 of 1/1\ncomm 8/8 b\n"
				   "mmap2 8/8 400000+1000 @1000 id 69 5 2 /bin/a\n");
		expect_note(&t, over ? "build-ids beyond the limit" : "");
		tape_fini(&t);
	}
	buf_fini(&maps);
	tree_remove(&r);
}

/* Processes and threads together. */
TEST(max_tasks)
{
	static const char *const tasks[] = {
	    "fork 6/6 of 1/1\ncomm 6/6 x\n", "fork 7/7 of 1/1\ncomm 7/7 a\n",
	    "fork 7/9 of 7/7\ncomm 7/9 t\n", GOOD, "fork 8/8 of 1/1\ncomm 8/8 b\n"};
	static const struct {
		uint32_t max;
		unsigned is_there; /* bits */
	} cases[] = {{1, 1}, {2, 1 | 2 | 8}, {3, 1 | 2 | 4 | 8}, {4, 31}, {5, 31}, {0, 31}};
	struct root r = tree_make();

	put_process(&r, 6, "x", 1, NULL);
	put_process(&r, 7, "a", 2, EXE);
	put_process(&r, 8, "b", 1, NULL);
	put_text(&r, "/proc/7/task/9/comm", "t\n");
	for (size_t i = 0; i < NR(cases); i++) {
		struct buf expected;
		struct tape t;

		buf_init(&expected, 1000);
		for (unsigned k = 0; k < NR(tasks); k++)
			buf_adds(&expected, cases[i].is_there & 1u << k ? tasks[k] : "");
		tape_init(&t);
		t.max_tasks = cases[i].max;
		assert_int_equal(tape_run(&t, &r, false), 0);
		tape_expect(&t, 0, buf_str(&expected));
		expect_note(&t, cases[i].is_there == 31 ? "" : "tasks beyond the limit");
		tape_fini(&t);
		buf_fini(&expected);
	}
	tree_remove(&r);
}

#define SYMBOL "ffffffff81000000 T _text\n"

/* Stopped before, between two files, between two reads: what was read until then is given. */
TEST(stop)
{
	static const struct {
		const char *part;
		unsigned read_at;
		const char *records, *symbols;
	} cases[] = {
	    {"none", 0, "", ""},
	    {"kallsyms", 1, "", SYMBOL},
	    {"6/stat", 1, "fork 6/6 of 1/1\ncomm 6/6 x\n", SYMBOL},
	    {"7/stat", 1, "fork 6/6 of 1/1\ncomm 6/6 x\n" TASK, SYMBOL},
	    {"7/maps", 1, "fork 6/6 of 1/1\ncomm 6/6 x\n" TASK GOOD, SYMBOL},
	};
	struct root r = tree_make();

	put_process(&r, 6, "x", 1, NULL);
	put_process(&r, 7, "a", 1, EXE);
	put_process(&r, 8, "b", 1, NULL);
	put_text(&r, "/proc/kallsyms", SYMBOL);
	for (size_t i = 0; i < NR(cases); i++) {
		struct tape t;

		tape_init(&t);
		atomic_store(&t.stop, cases[i].read_at == 0);
		hook_start((struct hook){
		    .part = cases[i].part, .read_at = cases[i].read_at, .stop = &t.stop});
		assert_int_equal(tape_run(&t, &r, true), 0);
		hook_stop();
		tape_expect(&t, 0, cases[i].records);
		assert_string_equal(buf_str(&t.kallsyms), cases[i].symbols);
		assert_int_equal(t.result.has_kallsyms, i > 1);
		expect_note(&t, "the rest (stopped)");
		tape_fini(&t);
	}
	tree_remove(&r);
}

/* The survey ends with what the callback returned, and does not call again. */
TEST(callbacks_fail)
{
	static const int codes[] = {-EIO, -ECANCELED, 1, 77};
	struct root r = tree_make();
	struct buf maps, symbols;
	unsigned nr_pieces = 2;

	buf_init(&maps, 16 << 20);
	buf_init(&symbols, 16 << 20);
	add_many(&maps, 20000, 0);          /* two pieces of records */
	for (unsigned i = 0; i < 6000; i++) /* two of kallsyms */
		buf_printf(&symbols, "ffffffff%08x T symbol_%u\n", i, i);
	put_process(&r, 7, "a", 1, buf_str(&maps));
	put_text(&r, "/proc/kallsyms", buf_str(&symbols));
	for (unsigned at = 1; at <= nr_pieces; at++)
		for (size_t i = 0; i < NR(codes); i++) {
			struct tape t;

			tape_init(&t);
			assert_int_equal(tape_run(&t, &r, true), 0);
			nr_pieces = t.nr_pieces;
			tape_fini(&t);
			tape_init(&t);
			t.fail_at = at;
			t.fail_rc = codes[i];
			t.result.nr_threads = 99;
			assert_int_equal(tape_run(&t, &r, true), codes[i]);
			assert_int_equal(t.nr_pieces, at);
			assert_int_equal(t.result.nr_threads, 99); /* untouched */
			tape_fini(&t);
		}
	assert_int_equal(nr_pieces, 4);
	buf_fini(&maps);
	buf_fini(&symbols);
	tree_remove(&r);
}

#define ZEROS "0000000000000000 A fixed_percpu_data\n0000000000000000 D __per_cpu_start\n"

static const struct {
	const char *what, *text;
	bool is_given;
	const char *note;
} kallsyms[] = {
    {"as ever", "ffffffff81000000 T _text\nffffffff81000010 t x\t[mod]\n", true, ""},
    {"variables of CPUs first", ZEROS "0000000000001000 D gdt_page\n", true, ""},
    {"of 32 bits", "c0008000 T stext\n", true, ""},
    {"no newline at the end", "ffffffff81000000 T _text", true, ""},
    {"hidden", ZEROS "0000000000000000 T _text\n", false, "kernel symbols (kernel.kptr_restrict)"},
    {"hidden, of 32 bits", "00000000 T stext\n", false, "kernel symbols (kernel.kptr_restrict)"},
    {"not there", NULL, false, "kernel symbols (no /proc/kallsyms)"},
};

TEST(kallsyms)
{
	for (size_t i = 0; i < NR(kallsyms); i++) {
		struct root r = tree_make();
		struct tape t;

		print_message("%s\n", kallsyms[i].what);
		put_process(&r, 7, "a", 1, NULL);
		if (kallsyms[i].text)
			put_text(&r, "/proc/kallsyms", kallsyms[i].text);
		tape_init(&t);
		assert_int_equal(tape_run(&t, &r, true), 0);
		assert_string_equal(buf_str(&t.kallsyms),
				    kallsyms[i].is_given ? kallsyms[i].text : "");
		assert_int_equal(t.result.has_kallsyms, kallsyms[i].is_given);
		expect_note(&t, kallsyms[i].note);
		tape_fini(&t);
		tape_init(&t);
		hook_start((struct hook){.part = "kallsyms"}); /* and if nobody wants it */
		assert_int_equal(tape_run(&t, &r, false), 0);
		hook_stop();
		assert_int_equal(hook.nr_opens + t.kallsyms.len, 0);
		expect_note(&t, "");
		tape_fini(&t);
		tree_remove(&r);
	}
}

/* Reads that fail; and that nobody may open it. What was read before is given. */
TEST(kallsyms_fails)
{
	static const struct {
		int open_error, read_error;
		unsigned read_at;
		const char *text, *note;
	} cases[] = {
	    {-EACCES, 0, 0, "", "kernel symbols (kernel.kptr_restrict)"},
	    {0, -EPERM, 1, "", "kernel symbols (kernel.kptr_restrict)"},
	    {0, -EIO, 1, "", "what could not be read"},
	    {0, -EIO, 2, "ffffffff81000000 T _text\n", "what could not be read"},
	    {0, -EINTR, 1, "ffffffff81000000 T _text\nffffffff81000010 T cut", ""},
	    {0, -EINTR, 2, "ffffffff81000000 T _text\nffffffff81000010 T cut", ""},
	};
	struct root r = tree_make();

	put_text(&r, "/proc/kallsyms", "ffffffff81000000 T _text\nffffffff81000010 T cut");
	for (size_t i = 0; i < NR(cases); i++) {
		struct tape t;

		tape_init(&t);
		hook_start((struct hook){.part = "kallsyms",
					 .open_error = cases[i].open_error,
					 .read_error = cases[i].read_error,
					 .read_at = cases[i].read_at});
		assert_int_equal(tape_run(&t, &r, true), 0);
		hook_stop();
		assert_string_equal(buf_str(&t.kallsyms), cases[i].text);
		assert_int_equal(t.result.has_kallsyms, !*cases[i].note);
		expect_note(&t, cases[i].note);
		tape_fini(&t);
	}
	tree_remove(&r);
}

static int take_whole_lines(const char *text, size_t len, void *arg)
{
	assert_int_equal(text[len - 1], '\n');
	return tape_kallsyms(text, len, arg);
}

/* In pieces, together what the file says; one line without end is no kernel's. */
TEST(kallsyms_pieces)
{
	struct root r = tree_make();
	struct survey_result result;
	struct buf text;
	struct tape t;
	struct survey_config c = {.root = &r,
				  .wants_kernel = true,
				  .records = tape_records,
				  .kallsyms = take_whole_lines,
				  .arg = &t};

	buf_init(&text, 16 << 20);
	for (unsigned i = 0; i < 100000; i++)
		buf_printf(&text, "ffffffff%08x T symbol_%u\n", i, i);
	put_text(&r, "/proc/kallsyms", buf_str(&text));
	tape_init(&t);
	assert_int_equal(survey_run(&c, &result), 0);
	assert_int_equal(t.kallsyms.len, text.len);
	assert_memory_equal(t.kallsyms.data, text.data, text.len);
	assert_in_range(t.nr_pieces, text.len / SURVEY_SYMBOLS_PIECE_BYTES,
			text.len / SURVEY_SYMBOLS_PIECE_BYTES * 11 / 10 + 1);
	assert_true(result.has_kallsyms);
	buf_fill(&text, 'x', SURVEY_PIECE_BYTES);
	put_text(&r, "/proc/kallsyms", buf_str(&text));
	assert_int_equal(survey_run(&c, &result), 0);
	assert_false(result.has_kallsyms);
	assert_string_equal(result.note, "not surveyed: malformed text");
	tape_fini(&t);
	buf_fini(&text);
	tree_remove(&r);
}

TEST(no_proc)
{
	struct survey_result result = {.nr_threads = 99};
	struct survey_config c = {
	    .wants_tasks = true, .records = tape_records, .kallsyms = tape_kallsyms};
	struct root r = tree_make();

	c.root = &r;
	assert_int_equal(survey_run(&c, &result), -ENOENT);
	assert_int_equal(result.nr_threads, 99);
	tree_put(&r, "/proc", NULL, 0); /* and no stop: NULL */
	assert_int_equal(survey_run(&c, &result), 0);
	assert_int_equal(result.nr_threads, 0);
	tree_remove(&r);
}

/* Those that are there, without the others, and without a look at their files. */
TEST(some_processes)
{
	static const uint32_t pids[] = {7, 9, 10, 12};
	struct root r = tree_make();
	struct tape t;

	for (int pid = 8; pid < 14; pid++) {
		put_process(&r, pid, "a", 1, EXE);
		put_mapped(&r, pid, "400000-401000", "i");
	}
	tape_init(&t);
	t.pids = pids;
	t.nr_pids = 4;
	t.has_no_ids = true;
	assert_int_equal(tape_run(&t, &r, false), 0);
	assert_int_equal(t.result.nr_build_ids, 0);
	tape_expect(&t, 0,
		    "fork 10/10 of 1/1\ncomm 10/10 a\n"
		    "mmap2 10/10 400000+1000 @1000 fd:0 77 5 2 /bin/a\n"
		    "fork 12/12 of 1/1\ncomm 12/12 a\n"
		    "mmap2 12/12 400000+1000 @1000 fd:0 77 5 2 /bin/a\n"
		    "fork 9/9 of 1/1\ncomm 9/9 a\n"
		    "mmap2 9/9 400000+1000 @1000 fd:0 77 5 2 /bin/a\n");
	tape_fini(&t);
	tree_remove(&r);
}

static int count(const void *data, size_t len, void *arg)
{
	assert_non_null(data);
	*(size_t *)arg += len;
	return 0;
}

static int count_text(const char *text, size_t len, void *arg)
{
	return count(text, len, arg);
}

struct counted {
	const struct root *root;
	size_t all; /* bytes without failures; 0: not known yet */
};

/* Everything omitted is reported. */
static int survey_all(void *arg)
{
	struct counted *counted = arg;
	struct survey_result result = {.nr_threads = 99};
	size_t len = 0;
	struct survey_config c = {.root = counted->root,
				  .wants_kernel = true,
				  .wants_tasks = true,
				  .records = count,
				  .kallsyms = count_text,
				  .arg = &len};
	int rc = survey_run(&c, &result);

	if (rc)
		assert_int_equal(result.nr_threads, 99);
	else if (!counted->all)
		counted->all = len;
	else if (len < counted->all || result.nr_build_ids < 2)
		assert_string_not_equal(result.note, "");
	return rc;
}

TEST(failures)
{
	struct root r = tree_make();
	struct counted counted = {.root = &r};

	put_process(&r, 7, "a", 2, EXE LIB);
	put_mapped(&r, 7, "400000-401000", "i");
	put_mapped(&r, 7, "7f0000000000-7f0000002000", "l");
	put_text(&r, "/proc/7/task/9/comm", "t\n");
	put_process(&r, 8, "b", 1, EXE);
	put_text(&r, "/proc/kallsyms", "ffffffff81000000 T _text\n");
	assert_int_equal(survey_all(&counted), 0);
	inject_every(survey_all, &counted, 6, 30);
	tree_remove(&r);
}

/* The bytes, as linux/perf_event.h says. */
TEST(bytes)
{
	static const struct survey_task task = {
	    .pid = 0x102, .tid = 0x103, .time_ns = 0x0908070605040302};
	static const struct proc_mapping file = {.start = 0x400000,
						 .end = 0x403000,
						 .offset = 0x1000,
						 .inode = 0x1122334455667788,
						 .major = 0xfd,
						 .minor = 0x10,
						 .prot = 7,
						 .is_shared = true,
						 .name = "/bin/abc",
						 .name_len = 8};
	static const struct elf_build_id id = {.len = 3, .bytes = {0xa, 0xb, 0xc}};
	static const char expected[] =
#define ID "\2\1\0\0\3\1\0\0\2\3\4\5\6\7\10\11"
	    "\7\0\0\0\0\0\60\0\2\1\0\0\4\1\0\0\3\1\0\0\5\1\0\0\2\3\4\5\6\7\10\11" ID
	    "\3\0\0\0\0\0\50\0\2\1\0\0\3\1\0\0seven..\0" ID
	    "\3\0\0\0\0\0\60\0\2\1\0\0\3\1\0\0eight...\0\0\0\0\0\0\0\0" ID
#define MMAP2(misc)                                                                                \
	"\12\0\0\0\2" misc "\150\0\2\1\0\0\3\1\0\0\0\0\100\0\0\0\0\0\0\60\0\0\0\0\0\0"             \
	"\0\20\0\0\0\0\0\0"
		MMAP2("\0") "\375\0\0\0\20\0\0\0\210\167\146\125\104\63\42\21\0\0\0\0\0\0\0\0"
			    "\7\0\0\0\1\0\0\0/bin/abc\0\0\0\0\0\0\0\0" ID MMAP2(
				"\100") "\3\0\0\0\12\13\14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
					"\7\0\0\0\1\0\0\0/bin/abc\0\0\0\0\0\0\0\0" ID;
	struct buf b;

	buf_init(&b, 4096);
	survey_record_fork(&b, &task, 0x104, 0x105);
	survey_record_comm(&b, &task, "seven..", 7);
	survey_record_comm(&b, &task, "eight...", 8);
	survey_record_mmap2(&b, &task, &file, NULL);
	survey_record_mmap2(&b, &task, &file, &id);
	assert_int_equal(b.len, sizeof(expected) - 1);
	assert_memory_equal(b.data, expected, b.len);
	buf_fini(&b);
}
