/*
 * The child that looks at what may not answer: it tells what a survey in this process tells; what
 * hangs costs a file or a process, said by name, and no more; it has nothing of ours. A read that
 * never returns stands for a file system that never answers.
 */
#include "kit.h"
#include "test_survey.h"

#include "survey/reader.h"
#include "survey/reader_child.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>

#define EXE   "00400000-00401000 r-xp 00001000 fd:00 77  /bin/a\n"
#define LIB   "7f0000000000-7f0000002000 r-xp 00000000 fd:00 78  /lib/b\n"
#define OTHER "7f0000004000-7f0000006000 r-xp 00000000 fd:00 79  /lib/c\n"

/* What hangs costs as much; a child that is only slow must not be taken for one that hangs. */
enum { PATIENCE_MS = 1000 };

/* In the child these never return. */
static const char *hangs_at[4];
static pid_t parent;

static bool hangs(const char *path)
{
	for (size_t i = 0; i < NR(hangs_at) && getpid() != parent; i++)
		if (hangs_at[i] && strstr(path, hangs_at[i]))
			return true;
	return false;
}

static int hang_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	while (hangs(path))
		pause();
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static int hang_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	while (hangs(path))
		pause();
	return sys_kernel_ops.fstatat(dirfd, path, st, flags);
}

static uint64_t busy_ns; /* the child is, where it would hang, for so long */

static int be_busy(int dirfd, const char *path, int flags, mode_t mode)
{
	const uint64_t until_ns = clock_monotonic_ns() + (hangs(path) ? busy_ns : 0);

	while (clock_monotonic_ns() < until_ns)
		;
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static void start_hanging(const char *a, const char *b)
{
	static struct sys_ops ops;

	parent = getpid();
	hangs_at[0] = a;
	hangs_at[1] = b;
	ops = sys_kernel_ops;
	ops.openat = hang_openat;
	ops.fstatat = hang_fstatat;
	sys_set_ops(&ops);
}

/* The trees of these tests have none but where they say so. */
static int no_cmdlines(const struct survey_cmdline *const *list, size_t nr, void *arg)
{
	(void)arg;
	fail_msg("the command lines of %u and %zu more", list[0]->pid, nr - 1);
	return -EINVAL;
}

static int look(struct tape *t, const struct root *r, struct buf *note,
		int (*records)(const void *, size_t, void *))
{
	const struct survey_reader_config c = {.root = r,
					       .patience_ms = PATIENCE_MS,
					       .records = records,
					       .cmdlines = no_cmdlines,
					       .arg = t,
					       .stop = &t->stop};
	struct survey_reader l;
	int rc;

	assert_int_equal(survey_reader_init(&l, &c), 0);
	t->start_ns = clock_monotonic_ns();
	rc = survey_reader_survey(&l, &t->result);
	t->end_ns = clock_monotonic_ns();
	survey_reader_note(&l, 0, note);
	survey_reader_fini(&l);
	sys_set_ops(NULL);
	return rc;
}

static struct root make_tree(void)
{
	struct root r = tree_make();

	put_process(&r, 6, "x", 1, EXE);
	put_process(&r, 7, "a", 1, EXE LIB OTHER);
	put_process(&r, 8, "b", 1, LIB OTHER);
	put_mapped(&r, 6, "400000-401000", "i");
	put_mapped(&r, 7, "7f0000000000-7f0000002000", "j");
	put_mapped(&r, 7, "7f0000004000-7f0000006000", "k");
	put_mapped(&r, 8, "7f0000000000-7f0000002000", "j");
	return r;
}

#define SIX                                                                                        \
	"fork 6/6 of 1/1\ncomm 6/6 x\n"                                                            \
	"mmap2 6/6 400000+1000 @1000 id 69 5 2 /bin/a\n"
#define SEVEN "fork 7/7 of 1/1\ncomm 7/7 a\n"
#define EIGHT "fork 8/8 of 1/1\ncomm 8/8 b\n"
#define EXE7  "mmap2 7/7 400000+1000 @1000 id 69 5 2 /bin/a\n"

static const struct {
	const char *what, *a, *b, *records, *note;
} cases[] = {
    {"all is well", NULL, NULL,
     SIX SEVEN EXE7 "mmap2 7/7 7f0000000000+2000 @0 id 6a 5 2 /lib/b\n"
		    "mmap2 7/7 7f0000004000+2000 @0 id 6b 5 2 /lib/c\n" EIGHT
		    "mmap2 8/8 7f0000000000+2000 @0 id 6a 5 2 /lib/b\n"
		    "mmap2 8/8 7f0000004000+2000 @0 id 6b 5 2 /lib/c\n",
     ""},
    {"a file, of two processes; all else is there", "7/map_files/7f0000000000", NULL,
     SIX SEVEN EXE7 "mmap2 7/7 7f0000000000+2000 @0 fd:0 78 5 2 /lib/b\n"
		    "mmap2 7/7 7f0000004000+2000 @0 id 6b 5 2 /lib/c\n" EIGHT
		    "mmap2 8/8 7f0000000000+2000 @0 fd:0 78 5 2 /lib/b\n"
		    "mmap2 8/8 7f0000004000+2000 @0 id 6b 5 2 /lib/c\n",
     "not surveyed, because they do not answer: process 7 (a): /lib/b"},
    {"a process's mappings", "7/maps", NULL,
     SIX SEVEN EIGHT "mmap2 8/8 7f0000000000+2000 @0 id 6a 5 2 /lib/b\n"
		     "mmap2 8/8 7f0000004000+2000 @0 fd:0 79 5 2 /lib/c\n",
     "not surveyed, because they do not answer: process 7 (a)"},
    {"all of it, and another's file", "7/stat", "8/map_files/7f0000000000",
     SIX EIGHT "mmap2 8/8 7f0000000000+2000 @0 fd:0 78 5 2 /lib/b\n"
	       "mmap2 8/8 7f0000004000+2000 @0 fd:0 79 5 2 /lib/c\n",
     "not surveyed, because they do not answer: process 7; process 8 "
     "(b): /lib/b"},
};

/* What was told before the file that hangs is not told again. */
TEST(hangs)
{
	struct root r = make_tree();
	size_t nr_fds = inject_open_fds();

	for (size_t i = 0; i < NR(cases); i++) {
		struct buf note;
		struct tape t;

		print_message("%s\n", cases[i].what);
		buf_init(&note, SURVEY_NOTE_BYTES);
		tape_init(&t);
		start_hanging(cases[i].a, cases[i].b);
		assert_int_equal(look(&t, &r, &note, tape_records), 0);
		tape_expect(&t, 0, cases[i].records);
		assert_string_equal(buf_str(&note), cases[i].note);
		buf_fini(&note);
		tape_fini(&t);
		assert_int_equal(inject_open_fds(), nr_fds);
	}
	tree_remove(&r);
}

/* A child that has no CPU, as one that computes, does not hang: not for some times its patience. */
TEST(busy)
{
	static const struct {
		uint64_t busy_ns;
		const char *note;
	} of[] = {{2000000000, ""},
		  {UINT64_MAX / 2, "not surveyed, because they do not answer: process 7"}};
	struct root r = make_tree();
	struct sys_ops ops = sys_kernel_ops;

	for (size_t i = 0; i < NR(of); i++) {
		struct survey_reader_config c = {
		    .root = &r, .patience_ms = i ? 50 : 500, .records = tape_records};
		struct survey_reader l;
		struct buf note;
		struct tape t;

		buf_init(&note, SURVEY_NOTE_BYTES);
		tape_init(&t);
		c.arg = &t;
		busy_ns = of[i].busy_ns;
		start_hanging("7/stat", NULL);
		ops.openat = be_busy;
		sys_set_ops(&ops);
		assert_int_equal(survey_reader_init(&l, &c), 0);
		t.start_ns = clock_monotonic_ns();
		assert_int_equal(survey_reader_survey(&l, &t.result), 0);
		t.end_ns = clock_monotonic_ns();
		survey_reader_note(&l, 0, &note);
		survey_reader_fini(&l);
		sys_set_ops(NULL);
		assert_string_equal(buf_str(&note), of[i].note);
		tape_expect(&t, 6, SIX);
		tape_fini(&t);
		buf_fini(&note);
	}
	tree_remove(&r);
}

/* Many that hang do not make it last for ever: from half of the children on names alone are read;
 * those of all processes are there. */
TEST(many_hang)
{
	struct root r = tree_make();
	struct buf note;
	struct tape t;

	for (uint32_t pid = 100; pid < 120; pid++)
		put_process(&r, pid, "evil", 1, EXE);
	put_process(&r, 99, "good", 1, EXE); /* comes last */
	buf_init(&note, SURVEY_NOTE_BYTES);
	tape_init(&t);
	start_hanging("/maps", NULL);
	assert_int_equal(look(&t, &r, &note, tape_records), 0);
	print_message("%s\n", buf_str(&note));
	assert_int_equal(t.nr_pieces, 21);
	tape_expect(&t, 99, "fork 99/99 of 1/1\ncomm 99/99 good\n");
	tape_expect(&t, 119, "fork 119/119 of 1/1\ncomm 119/119 evil\n");
	assert_non_null(strstr(buf_str(&note), "process 103 (evil); and 2 more; and mappings"));
	buf_fini(&note);
	tape_fini(&t);
	tree_remove(&r);
}

/* Each file that hangs costs the time limit: after two of a device its others are not read. */
TEST(device_hangs)
{
	struct root r = tree_make();
	char maps[512] = "", mapped[64];
	struct survey_reader_config c = {
	    .root = &r, .patience_ms = PATIENCE_MS, .records = tape_records};
	struct survey_identify_question q = {.pid = 9, .start = 1, .end = 2, .path = "/lib/new"};
	struct survey_identify_answer a;
	struct survey_reader l;
	struct buf note;
	struct tape t;

	for (unsigned i = 0; i < 6; i++)
		snprintf(maps + strlen(maps), sizeof(maps) - strlen(maps),
			 "%x0000-%x1000 r-xp 00000000 fd:00 %u /lib/%u\n", 16 + i, 16 + i, 70 + i,
			 i);
	strcat(maps, "900000-901000 r-xp 00000000 fd:01 77 /lib/other\n");
	put_process(&r, 9, "x", 1, maps);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(mapped, sizeof(mapped), "%x0000-%x1000", 16 + i, 16 + i);
		put_mapped(&r, 9, mapped, "i");
	}
	put_mapped(&r, 9, "900000-901000", "k");
	buf_init(&note, SURVEY_NOTE_BYTES);
	tape_init(&t);
	c.arg = &t;
	assert_int_equal(survey_reader_init(&l, &c), 0);
	start_hanging("map_files/1", NULL);
	t.start_ns = clock_monotonic_ns();
	assert_int_equal(survey_reader_survey(&l, &t.result), 0);
	assert_int_equal(l.nr_abandoned, 2);
	survey_reader_note(&l, 0, &note);
	assert_string_equal(buf_str(&note),
			    "not surveyed, because they do not answer: process 9 (x): /lib/0; "
			    "process 9 (x): /lib/1");
	assert_string_equal(t.result.note,
			    "not surveyed: build-ids on devices that do not answer (4 files)");
	assert_int_equal(t.result.nr_build_ids, 1); /* of the other device */
	q.major = 0xfd;
	assert_int_equal(survey_reader_ask(&l, &q, 1, &a), 0);
	assert_int_equal(a.state, SURVEY_IDENTIFY_FOREIGN);
	survey_reader_fini(&l);
	sys_set_ops(NULL);
	buf_fini(&note);
	tape_fini(&t);
	tree_remove(&r);
}

static atomic_bool *stopped;

static void stop_it(int number)
{
	(void)number;
	atomic_store(stopped, true);
}

/* Process 7 is the one that hangs: what comes before it has come. */
static int stop_at_seven(const void *data, size_t len, void *arg)
{
	const uint8_t *p = data;
	uint32_t kind, pid;
	size_t size;

	for (size_t left = len; left; left -= size, p += size) {
		size = trace_record_size(p, left, &kind);
		memcpy(&pid, p + 8, sizeof(pid));
		if (kind == PERF_RECORD_COMM && pid == 7)
			ualarm(1000, 0);
	}
	return tape_records(data, len, arg);
}

/* A session that ends does not wait for it. */
TEST(stopped)
{
	struct root r = make_tree();
	struct buf note;
	struct tape t;

	buf_init(&note, SURVEY_NOTE_BYTES);
	tape_init(&t);
	stopped = &t.stop;
	signal(SIGALRM, stop_it);
	start_hanging("7/maps", NULL);
	assert_int_equal(look(&t, &r, &note, stop_at_seven), -ECANCELED);
	signal(SIGALRM, SIG_DFL);
	tape_expect(&t, 0, SIX SEVEN);
	buf_fini(&note);
	tape_fini(&t);
	tree_remove(&r);
}

/* A question that was canceled does not delay the next, and its late answer is not read as that to
 * the next. */
TEST(canceled)
{
	struct root r = make_tree();
	struct survey_identify_question q = {
	    .pid = 9, .major = 0xfd, .start = 1, .end = 2, .path = "/lib/a"};
	struct survey_identify_answer a;
	struct survey_reader l;
	struct tape t;
	struct survey_reader_config c = {
	    .root = &r, .patience_ms = 30000, .records = tape_records, .arg = &t, .stop = &t.stop};

	tape_init(&t);
	assert_int_equal(survey_reader_init(&l, &c), 0);
	start_hanging("9/map_files", NULL);
	assert_int_equal(survey_reader_survey(&l, &t.result), 0);
	stopped = &t.stop;
	signal(SIGALRM, stop_it);
	ualarm(100000, 0);
	assert_int_equal(survey_reader_ask(&l, &q, 1, &a), -ECANCELED);
	signal(SIGALRM, SIG_DFL);
	atomic_store(&t.stop, false);
	q.pid = 6;
	assert_int_equal(survey_reader_ask(&l, &q, 1, &a), 0);
	assert_int_equal(l.nr_abandoned, 0);
	survey_reader_fini(&l);
	sys_set_ops(NULL);
	tape_fini(&t);
	tree_remove(&r);
}

/* The child ends, which is as no answer, if it finds a descriptor that is not its own. */
static int report_fds(int dirfd, const char *path, int flags, mode_t mode)
{
	struct stat st;

	if (getpid() == parent || !strstr(path, "7/stat"))
		return sys_kernel_ops.openat(dirfd, path, flags, mode);
	for (int fd = 0; fd < 256; fd++)
		if (fstat(fd, &st) == 0 && !S_ISSOCK(st.st_mode))
			_exit(1);
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

TEST(has_nothing)
{
	static struct sys_ops ops;
	struct root r = make_tree();
	struct buf note;
	struct tape t;
	int pipes[2];

	assert_int_equal(pipe(pipes), 0); /* also without O_CLOEXEC */
	assert_int_equal(dup2(pipes[0], 200), 200);
	buf_init(&note, SURVEY_NOTE_BYTES);
	tape_init(&t);
	start_hanging(NULL, NULL);
	ops = sys_kernel_ops;
	ops.openat = report_fds;
	sys_set_ops(&ops);
	assert_int_equal(look(&t, &r, &note, tape_records), 0);
	assert_string_equal(buf_str(&note), "");
	tape_expect(&t, 7,
		    SEVEN EXE7 "mmap2 7/7 7f0000000000+2000 @0 id 6a 5 2 /lib/b\n"
			       "mmap2 7/7 7f0000004000+2000 @0 id 6b 5 2 /lib/c\n");
	close(pipes[0]);
	close(pipes[1]);
	close(200);
	buf_fini(&note);
	tape_fini(&t);
	tree_remove(&r);
}

/* A lock of ours is free as soon as we let it go, though the child hangs. */
TEST(locks)
{
	struct root r = make_tree();
	struct buf note;
	struct tape t;
	char path[512];
	int fd, other;

	snprintf(path, sizeof(path), "%s/lock", r.dir);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	other = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	buf_init(&note, SURVEY_NOTE_BYTES);
	tape_init(&t);
	start_hanging("7/maps", "8/stat");
	assert_int_equal(look(&t, &r, &note, tape_records), 0);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	close(fd);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	buf_fini(&note);
	tape_fini(&t);
	tree_remove(&r);
}

static int note_cmdlines(const struct survey_cmdline *const *list, size_t nr, void *arg)
{
	struct buf *out = arg;

	for (size_t i = 0; i < nr; i++) {
		assert_true(list[i]->from_ns && list[i]->from_ns <= list[i]->to_ns);
		buf_printf(out, "%u:%.*s\n", list[i]->pid, (int)list[i]->len, list[i]->text);
	}
	return 0;
}

static int no_records(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	(void)arg;
	return 0;
}

/* In the survey, and when one is asked for later; what does not answer is abandoned. */
TEST(command_lines)
{
	struct root r = make_tree();
	struct survey_reader_config c = {.root = &r,
					 .patience_ms = PATIENCE_MS,
					 .records = no_records,
					 .cmdlines = note_cmdlines};
	const uint32_t all[] = {6, 7, 8};
	struct survey_result result;
	struct survey_reader l;
	struct buf out;

	buf_init(&out, 100000);
	c.arg = &out;
	put_text(&r, "/proc/6/cmdline", "six -v");
	put_text(&r, "/proc/8/cmdline", "eight");
	assert_int_equal(survey_reader_init(&l, &c), 0);
	assert_int_equal(survey_reader_survey(&l, &result), 0);
	assert_string_equal(buf_str(&out), "6:six -v\n8:eight\n");
	buf_reset(&out);
	assert_int_equal(survey_reader_ask_cmdlines(&l, all, 3), 0);
	assert_string_equal(buf_str(&out), "6:six -v\n8:eight\n");
	assert_int_equal(survey_reader_ask_cmdlines(&l, all + 1, 1), 0);
	survey_reader_fini(&l);
	start_hanging("8/cmdline", NULL);
	assert_int_equal(survey_reader_init(&l, &c), 0);
	l.is_surveyed = true;
	buf_reset(&out);
	/* the others of that question, too, and only the one is to blame */
	assert_int_equal(survey_reader_ask_cmdlines(&l, all, 3), 0);
	assert_int_equal(survey_reader_ask_cmdlines(&l, all, 2), 0);
	assert_string_equal(buf_str(&out), "6:six -v\n6:six -v\n");
	buf_reset(&out);
	assert_int_equal(survey_reader_note(&l, 0, &out), 1);
	assert_string_equal(buf_str(&out), "not surveyed, because they do not answer: process 8");
	survey_reader_fini(&l);
	sys_set_ops(NULL);
	buf_fini(&out);
	tree_remove(&r);
}

static int full_disk(const struct survey_cmdline *const *list, size_t nr, void *arg)
{
	(void)list;
	(void)nr;
	(void)arg;
	return -ENOSPC;
}

/* As many as were asked for, in as many messages as they need, once; also if one hangs behind some
 * messages, and if the rest of the messages before was not wanted. */
TEST(many_command_lines)
{
	enum { FIRST = 1000, NR_PIDS = SURVEY_READER_MAX_PIDS, HANGS = 250 };
	static char text[TRACE_CMDLINE_BYTES + 1];
	struct root r = tree_make();
	struct survey_reader_config c = {
	    .root = &r, .patience_ms = PATIENCE_MS, .records = no_records};
	uint32_t pid[NR_PIDS];
	char path[64], begin[32];
	struct survey_reader l;
	const char *at;
	struct buf out;

	memset(text, 'x', TRACE_CMDLINE_BYTES);
	buf_init(&out, (size_t)NR_PIDS * (TRACE_CMDLINE_BYTES + 32));
	c.arg = &out;
	for (uint32_t i = 0; i < NR_PIDS; i++) {
		pid[i] = FIRST + i;
		snprintf(path, sizeof(path), "/proc/%u/cmdline", pid[i]);
		put_text(&r, path, i % 8 ? "short" : text);
	}
	assert_int_equal(survey_reader_init(&l, &c), 0);
	l.is_surveyed = true;
	for (uint32_t hangs = 0; hangs < 2; hangs++) {
		buf_reset(&out);
		l.config.cmdlines = full_disk;
		assert_int_equal(survey_reader_ask_cmdlines(&l, pid, NR_PIDS), -ENOSPC);
		start_hanging(hangs ? "1250/cmdline" : NULL, NULL);
		l.config.cmdlines = note_cmdlines;
		assert_int_equal(survey_reader_ask_cmdlines(&l, pid, NR_PIDS), 0);
		at = buf_str(&out);
		for (uint32_t i = 0; i < NR_PIDS; i++) {
			if (hangs && i == HANGS)
				continue;
			snprintf(begin, sizeof(begin), "%u:%s", pid[i], i % 8 ? "short\n" : "xxx");
			assert_int_equal(strncmp(at, begin, strlen(begin)), 0);
			at = strchr(at, '\n') + 1;
		}
		assert_int_equal(*at, 0);
		assert_int_equal(l.nr_abandoned, hangs);
	}
	survey_reader_fini(&l);
	sys_set_ops(NULL);
	buf_fini(&out);
	tree_remove(&r);
}

/* A child that ended before it came to the question blames none of those that are asked for. */
TEST(child_ends)
{
	const struct survey_identify_question q = {.pid = 6, .path = "/a"};
	const uint32_t pid[] = {6, 8};
	struct root r = make_tree();
	struct survey_reader_config c = {.root = &r,
					 .patience_ms = PATIENCE_MS,
					 .records = no_records,
					 .cmdlines = note_cmdlines};
	struct survey_identify_answer a;
	struct survey_reader l;
	struct buf out;

	buf_init(&out, SURVEY_NOTE_BYTES);
	c.arg = &out;
	put_text(&r, "/proc/6/cmdline", "six");
	put_text(&r, "/proc/8/cmdline", "eight");
	assert_int_equal(survey_reader_init(&l, &c), 0);
	l.is_surveyed = true;
	assert_int_equal(survey_reader_ask(&l, &q, 1, &a), 0);
	kill(l.child.pid, SIGKILL);
	assert_int_equal(survey_reader_ask_cmdlines(&l, pid, NR(pid)), 0);
	kill(l.child.pid, SIGKILL);
	assert_int_equal(survey_reader_ask(&l, &q, 1, &a), 0);
	assert_int_equal(a.state, SURVEY_IDENTIFY_NONE);
	assert_string_equal(buf_str(&out), "6:six\n8:eight\n");
	buf_reset(&out);
	assert_int_equal(survey_reader_note(&l, 0, &out), 2);
	assert_string_equal(buf_str(&out),
			    "not surveyed, because they do not answer: files that were deleted or "
			    "replaced; files that were deleted or replaced");
	survey_reader_fini(&l);
	buf_fini(&out);
	tree_remove(&r);
}

/* One that does not answer costs the others their answer only until they are asked for again. */
TEST(several_files)
{
	const struct survey_identify_question q[] = {
	    {.pid = 6, .major = 0xfd, .start = 1, .end = 2, .path = "/lib/of/six"},
	    {.pid = 9, .major = 0xfd, .start = 1, .end = 2, .path = "/lib/that/hangs"},
	    {.pid = 8, .major = 0xfe, .start = 1, .end = 2, .path = "/lib/of/a/device/that/hangs"},
	    {.pid = 7, .major = 0xfd, .start = 1, .end = 2, .path = "/lib/of/seven"},
	};
	const struct survey_key silent = {.major = 0xfe};
	struct root r = make_tree();
	struct survey_reader_config c = {
	    .root = &r, .patience_ms = PATIENCE_MS, .records = no_records};
	struct survey_identify_answer a[NR(q)];
	struct survey_reader l;
	struct buf note;

	buf_init(&note, SURVEY_NOTE_BYTES);
	assert_int_equal(survey_reader_init(&l, &c), 0);
	l.is_surveyed = true;
	while (l.nr_skipped < SURVEY_SILENT_FILES)
		l.skipped[l.nr_skipped++] = silent;
	start_hanging("9/map_files", NULL);
	for (size_t i = 0; i < 2; i++) {
		memset(a, 0xff, sizeof(a));
		assert_int_equal(survey_reader_ask(&l, q, NR(q), a), 0);
		assert_int_equal(a[0].state, SURVEY_IDENTIFY_NONE);
		assert_int_equal(a[1].state, i ? SURVEY_IDENTIFY_NONE : SURVEY_IDENTIFY_SILENT);
		assert_int_equal(a[2].state, SURVEY_IDENTIFY_FOREIGN);
		assert_int_equal(a[3].state, SURVEY_IDENTIFY_NONE);
		assert_int_equal(l.nr_abandoned, 1);
		sys_set_ops(NULL);
		child_end(&l.child, 1);
	}
	assert_int_equal(survey_reader_note(&l, 0, &note), 1);
	assert_string_equal(buf_str(&note),
			    "not surveyed, because they do not answer: process 9: /lib/that/hangs");
	survey_reader_fini(&l);
	buf_fini(&note);
	tree_remove(&r);
}

static pid_t failing_fork(void)
{
	return -EAGAIN;
}

/* When the time for all is over, none of those that were asked for is to blame, and no child is
 * started for them. */
TEST(late)
{
	const struct survey_identify_question q[] = {{.pid = 6, .path = "/a"},
						     {.pid = 7, .path = "/b"}};
	const uint32_t pid[] = {6, 7, 8};
	struct root r = make_tree();
	struct survey_reader_config c = {
	    .root = &r, .patience_ms = 300, .records = no_records, .until_ns = 1};
	struct child_ops no_child = child_kernel_ops;
	struct survey_identify_answer a[NR(q)];
	struct survey_reader l;
	struct buf note;

	no_child.fork = failing_fork;
	child_set_ops(&no_child);
	buf_init(&note, SURVEY_NOTE_BYTES);
	assert_int_equal(survey_reader_init(&l, &c), 0);
	l.is_surveyed = true;
	assert_int_equal(survey_reader_ask(&l, q, NR(q), a), -ETIMEDOUT);
	assert_int_equal(a[0].state, SURVEY_IDENTIFY_SILENT);
	assert_int_equal(a[1].state, SURVEY_IDENTIFY_SILENT);
	assert_int_equal(survey_reader_ask_cmdlines(&l, pid, NR(pid)), -ETIMEDOUT);
	assert_int_equal(survey_reader_note(&l, 0, &note), 2);
	assert_string_equal(buf_str(&note),
			    "not surveyed, because they do not answer: files that were mapped "
			    "last; processes that began last");
	buf_reset(&note);
	l.nr_abandoned = SURVEY_READER_MAX_CHILDREN;
	memset(a, 0xff, sizeof(a));
	assert_int_equal(survey_reader_ask(&l, q, NR(q), a), -EBUSY);
	assert_int_equal(a[1].state, SURVEY_IDENTIFY_SILENT);
	survey_reader_note(&l, 1, &note);
	assert_non_null(strstr(buf_str(&note), "; and what was mapped or began after them"));
	survey_reader_fini(&l);
	child_set_ops(NULL);
	buf_fini(&note);
	tree_remove(&r);
}

static struct survey_reader *late_reader;
static unsigned nr_forks;

/* The first child hangs; with the second one the time is over. */
static pid_t last_fork(void)
{
	if (++nr_forks == 2)
		late_reader->config.until_ns = 1;
	return child_kernel_ops.fork();
}

/* The time is over while one of several is asked for again: the rest is not. */
TEST(late_again)
{
	const struct survey_identify_question q[] = {
	    {.pid = 6, .major = 0xfd, .start = 1, .end = 2, .path = "/a"},
	    {.pid = 9, .major = 0xfd, .start = 1, .end = 2, .path = "/b"},
	    {.pid = 7, .major = 0xfd, .start = 1, .end = 2, .path = "/c"},
	};
	const uint32_t pid[] = {6, 9, 7};
	struct root r = make_tree();
	struct survey_reader_config c = {
	    .root = &r, .patience_ms = PATIENCE_MS, .records = no_records};
	struct child_ops forks = child_kernel_ops;

	forks.fork = last_fork;
	child_set_ops(&forks);
	start_hanging("9/map_files", "9/cmdline");
	for (size_t i = 0; i < 2; i++) {
		struct survey_identify_answer a[NR(q)];
		struct survey_reader l;
		struct buf note;

		buf_init(&note, SURVEY_NOTE_BYTES);
		assert_int_equal(survey_reader_init(&l, &c), 0);
		late_reader = &l;
		nr_forks = 0;
		l.is_surveyed = true;
		assert_int_equal(i ? survey_reader_ask(&l, q, NR(q), a)
				   : survey_reader_ask_cmdlines(&l, pid, NR(pid)),
				 -ETIMEDOUT);
		for (size_t n = 0; i && n < NR(a); n++)
			assert_int_equal(a[n].state, SURVEY_IDENTIFY_SILENT);
		assert_int_equal(nr_forks, 2);
		survey_reader_note(&l, 0, &note);
		assert_string_equal(
		    buf_str(&note),
		    i ? "not surveyed, because they do not answer: process 9: /b; files "
			"that were mapped last"
		      : "not surveyed, because they do not answer: process 9; processes "
			"that began last");
		survey_reader_fini(&l);
		buf_fini(&note);
	}
	sys_set_ops(NULL);
	child_set_ops(NULL);
	tree_remove(&r);
}

enum { SLOW_MS = PATIENCE_MS / 5, NR_SLOW = 6 };

static int be_slow(int dirfd, const char *path, int flags, mode_t mode)
{
	if (hangs(path))
		usleep(SLOW_MS * 1000);
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

/* Together they take longer than the patience for each: the child lives, with what it watches. */
TEST(slow)
{
	struct survey_identify_question q[NR_SLOW] = {{.pid = 0}};
	uint32_t pid[NR_SLOW];
	struct root r = make_tree();
	struct survey_reader_config c = {
	    .root = &r, .patience_ms = PATIENCE_MS, .records = no_records};
	struct sys_ops ops = sys_kernel_ops;

	for (uint32_t i = 0; i < NR_SLOW; i++) {
		pid[i] = 100 + i;
		q[i] = (struct survey_identify_question){
		    .pid = pid[i], .major = 0xfd, .start = 1, .end = 2, .path = "/lib/slow"};
	}
	start_hanging("map_files", "cmdline");
	ops.openat = be_slow;
	sys_set_ops(&ops);
	for (size_t i = 0; i < 2; i++) {
		struct survey_identify_answer a[NR_SLOW];
		struct survey_reader l;

		assert_int_equal(survey_reader_init(&l, &c), 0);
		l.is_surveyed = true;
		assert_int_equal(i ? survey_reader_ask(&l, q, NR(q), a)
				   : survey_reader_ask_cmdlines(&l, pid, NR(pid)),
				 0);
		for (size_t n = 0; i && n < NR(a); n++)
			assert_int_equal(a[n].state, SURVEY_IDENTIFY_NONE);
		assert_int_equal(l.nr_abandoned, 0);
		survey_reader_fini(&l);
	}
	sys_set_ops(NULL);
	tree_remove(&r);
}

TEST(long_command_line)
{
	struct root r = tree_make();
	static char text[TRACE_CMDLINE_BYTES + 2];
	struct survey_cmdline c;

	for (int more = 0; more < 2; more++) {
		memset(text, 'x', (size_t)TRACE_CMDLINE_BYTES + (size_t)more);
		put_text(&r, "/proc/5/cmdline", text);
		survey_cmdline_read(&r, 5, &c);
		assert_int_equal(c.len, TRACE_CMDLINE_BYTES);
		assert_int_equal(c.flags, more ? TRACE_CMDLINE_IS_CUT : 0);
		assert_int_equal(c.text[TRACE_CMDLINE_BYTES - 1], 'x');
	}
	put_text(&r, "/proc/5/cmdline", "");
	survey_cmdline_read(&r, 5, &c);
	assert_int_equal(c.len, 0);
	tree_remove(&r);
}

static int failing_socketpair(int type, int fds[2])
{
	(void)type;
	(void)fds;
	return -EMFILE;
}

/* A child that says what none of ours would. */
static uint8_t said[SURVEY_READER_HEAD_BYTES + sizeof(struct survey_cmdline)];
static size_t said_len;
static int said_fd;

static int noted_socketpair(int type, int fds[2])
{
	int rc = child_kernel_ops.socketpair(type, fds);

	said_fd = type == SOCK_SEQPACKET ? fds[1] : said_fd;
	return rc;
}

static pid_t lying_fork(void)
{
	pid_t pid = child_kernel_ops.fork();

	if (pid == 0) {
		(void)!send(said_fd, said, said_len, MSG_NOSIGNAL);
		_exit(0);
	}
	return pid;
}

TEST(no_child)
{
	struct root r = make_tree();
	struct child_ops ops;
	struct buf note;
	struct tape t;

	buf_init(&note, SURVEY_NOTE_BYTES);
	tape_init(&t);
	ops = child_kernel_ops;
	ops.fork = failing_fork;
	child_set_ops(&ops);
	assert_int_equal(look(&t, &r, &note, tape_records), -EAGAIN);
	ops.socketpair = failing_socketpair;
	assert_int_equal(look(&t, &r, &note, tape_records), -EMFILE);
	assert_int_equal(t.nr_pieces, 0);
	child_set_ops(NULL);
	buf_fini(&note);
	tape_fini(&t);
	tree_remove(&r);
}

/* One that has ended before starts no child. */
TEST(stopped_before)
{
	struct child_ops no_child = child_kernel_ops;
	struct root r = make_tree();
	struct buf note;
	struct tape t;

	buf_init(&note, SURVEY_NOTE_BYTES);
	tape_init(&t);
	no_child.fork = failing_fork;
	child_set_ops(&no_child);
	assert_int_equal(look(&t, &r, &note, tape_records), -EAGAIN);
	atomic_store(&t.stop, true);
	assert_int_equal(look(&t, &r, &note, tape_records), -ECANCELED);
	child_set_ops(NULL);
	buf_fini(&note);
	tape_fini(&t);
	tree_remove(&r);
}

/* Each is taken for one that does not answer; nothing of it is given on. */
TEST(lies)
{
	static const struct {
		uint32_t kind;
		size_t len;
		uint64_t words[4];
	} lies[] = {
	    {0, 8, {0}},
	    {99, 8, {0}},
	    {SURVEY_READER_AT, 8, {0}},
	    {SURVEY_READER_RESULT, 24, {0}},
	    {SURVEY_READER_ANSWERS, 8, {0}},
	    {SURVEY_READER_RECORDS, 8, {0}},
	    {SURVEY_READER_FILE, 24, {0}},
	    {SURVEY_READER_BYTES, 8, {0}}, /* of no file */
	    {SURVEY_READER_LOOKED, 0, {0}},
	    {SURVEY_READER_CMDLINE, 24, {0}},
	    {SURVEY_READER_CMDLINE, 32, {0, 0, 0, 5}},
	    {SURVEY_READER_CMDLINE, 32, {0, 0, 0, UINT32_MAX}},
	    {SURVEY_READER_CMDLINE,
	     offsetof(struct survey_cmdline, text) + TRACE_CMDLINE_BYTES + 1,
	     {0, 0, 0, TRACE_CMDLINE_BYTES + 1}},
	    {SURVEY_READER_RECORDS, 16, {7 | 24ull << 48}},
	    {SURVEY_READER_RECORDS, 16, {9 | 16ull << 48}},
	    {SURVEY_READER_RECORDS, 16, {7 | 12ull << 48}},
	    {SURVEY_READER_RECORDS, 4, {0}},
	};
	struct root r = make_tree();
	struct child_ops ops;

	ops = child_kernel_ops;
	ops.socketpair = noted_socketpair;
	ops.fork = lying_fork;
	for (size_t i = 0; i < NR(lies); i++) {
		struct buf note;
		struct tape t;

		memcpy(said, &lies[i].kind, 4);
		memcpy(said + SURVEY_READER_HEAD_BYTES, lies[i].words, sizeof(lies[i].words));
		said_len = i + 1 == NR(lies) ? 4 : SURVEY_READER_HEAD_BYTES + lies[i].len;
		buf_init(&note, SURVEY_NOTE_BYTES);
		tape_init(&t);
		child_set_ops(&ops);
		(void)look(&t, &r, &note, tape_records);
		child_set_ops(NULL);
		assert_int_equal(t.nr_pieces, 0);
		assert_non_null(strstr(buf_str(&note), "not surveyed"));
		buf_fini(&note);
		tape_fini(&t);
	}
	tree_remove(&r);
}
