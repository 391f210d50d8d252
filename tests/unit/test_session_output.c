/*
 * The files of a session: locks, what is in the way, what must not be followed or overwritten.
 */
#include "kit.h"
#include "test_session.h"

#include "base/str.h"
#include "base/sys.h"
#include "session/lock.h"
#include "session/output.h"

#include <signal.h>
#include <sys/wait.h>

static struct tape tape;
static struct rig rig;

enum { NR_CPUS = 2 };

static void begin(void)
{
	rig_init(&rig, NR_CPUS, "", SOFTWARE_2);
	rig_with_files(&rig);
	rig.spec.num_iterations = 2;
	tape = (struct tape){.nr_iterations = 0};
}

static int open_output(const char *prefix, const char *manifest, struct session_output **out,
		       struct err *e)
{
	static const uint8_t id[16] = {1};
	struct spec other = rig.spec;
	const struct session_output_config config = {
	    .spec = &other, .model_name = "", .id = id, .nr_traces = NR_CPUS};

	*e = (struct err){0};
	other.output_path_prefix = prefix;
	other.session_result_spec_path = manifest;
	return session_output_open(&config, out, e);
}

/* Another user renames the folder that was made for the session, and puts his own in its place. */
TEST(folder_exchanged)
{
	static const uint8_t id[16] = {1};
	struct session_output_config config = {
	    .spec = &rig.spec, .model_name = "", .id = id, .nr_traces = NR_CPUS};
	struct session_output *o;
	struct err e = {0};
	struct stat st;

	begin();
	config.folder = &st;
	assert_int_equal(stat(rig.folder.dir, &st), 0);
	assert_int_equal(session_output_open(&config, &o, &e), 0);
	session_output_close(o);
	st.st_ino++;
	assert_int_equal(session_output_open(&config, &o, &e), -ESTALE);
	assert_non_null(strstr(e.msg, "was moved to another folder"));
	rig_fini(&rig);
}

TEST(locks)
{
	struct session_output *a, *b;
	mode_t old = umask(0);
	struct stat st;
	struct err e;

	begin();
	assert_int_equal(open_output(rig_path(&rig, "a"), rig_path(&rig, "m"), &a, &e), 0);
	umask(old);
	assert_int_equal(stat(rig_path(&rig, "a.traces.lock"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(open_output(rig_path(&rig, "a"), rig_path(&rig, "n"), &b, &e), -EBUSY);
	assert_non_null(strstr(e.msg, "another cpuperf session"));
	assert_non_null(strstr(e.msg, rig_path(&rig, "a")));
	assert_non_null(strstr(e.hint, "--output-path-prefix"));
	assert_int_equal(open_output(rig_path(&rig, "b"), rig_path(&rig, "m"), &b, &e), -EBUSY);
	assert_non_null(strstr(e.msg, "another cpuperf session"));
	assert_non_null(strstr(e.hint, "--session-result-spec-path"));
	assert_int_equal(open_output("", rig_path(&rig, "m"), &b, &e), -EBUSY);
	assert_int_equal(open_output(rig_path(&rig, "b"), rig_path(&rig, "n"), &b, &e), 0);
	session_output_close(b);
	assert_int_equal(open_output("", "", &b, &e), 0);
	assert_false(session_output_has_traces(b));
	session_output_close(b);
	session_output_close(a);
	/* traces and manifest of one name are two places */
	assert_int_equal(open_output(rig_path(&rig, "m"), rig_path(&rig, "m"), &a, &e), 0);
	session_output_close(a);
	assert_files(&rig, 0, 0); /* and no lock is left */
	rig_fini(&rig);
}

static void assert_state(const char *state)
{
	static struct err_list errs;
	struct cpsession s;

	cpsession_init(&s);
	assert_int_equal(cpsession_load(rig.spec.session_result_spec_path, &s, &errs), 0);
	assert_string_equal(s.state, state);
	cpsession_fini(&s);
}

static int check_recording(struct tape *t, uint32_t iteration)
{
	(void)t;
	(void)iteration;
	assert_state(CPSESSION_RECORDING);
	return 0;
}

/* A session that was killed is one whose manifest says that it is recorded. */
TEST(state)
{
	begin();
	tape.each = check_recording;
	assert_run(&tape, &rig);
	assert_state("");
	rig_fini(&rig);
}

static int check_strict(struct tape *t, uint32_t iteration)
{
	char text[512], want[512];
	IO_AUTO_FD int fd = open(rig.spec.session_result_spec_path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	(void)t;
	assert_true(n > 0);
	text[n] = '\0';
	/* the thread that writes may be one iteration further */
	for (uint32_t nr = iteration ? iteration : 1; nr <= iteration + 1; nr++) {
		snprintf(want, sizeof(want),
			 "{\"num_iterations\":%u,\"num_traces\":2,\"output_path_prefix\":\"%s\"}\n",
			 nr, rig.spec.output_path_prefix);
		if (strcmp(text, want) == 0)
			return 0;
	}
	assert_string_equal(text, want);
	return 0;
}

/* For readers that refuse keys which the original has not, also while it is recorded. */
TEST(strict)
{
	begin();
	rig.spec.manifest = "strict";
	tape.each = check_strict;
	assert_run(&tape, &rig);
	(void)check_strict(&tape, (uint32_t)rig.spec.num_iterations);
	rig_fini(&rig);
}

/* Readers would take an older session's common file for this one's. */
TEST(older_common_file)
{
	char common[512], first[512];

	begin();
	assert_run(&tape, &rig);
	snprintf(common, sizeof(common), "%s/t.common.cpuperf", rig.folder.dir);
	snprintf(first, sizeof(first), "%s/t.0.0.cpuperf", rig.folder.dir);
	assert_int_equal(link(first, common), 0);
	tape = (struct tape){.nr_iterations = 0};
	assert_run(&tape, &rig);
	assert_int_equal(access(common, F_OK), -1);
	assert_int_equal(access(first, F_OK), 0);
	rig_fini(&rig);
}

static int nr_to_remove;

/* The last holder removes the file after it was opened here, before it is locked. */
static int openat_of_removed(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = sys_kernel_ops.openat(dirfd, path, flags, mode);

	if (flags & O_CREAT && nr_to_remove && nr_to_remove--)
		assert_int_equal(unlinkat(dirfd, path, 0), 0);
	return fd;
}

/* The file that is locked is the one of that name: another session would lock a new one. */
TEST(lock_of_removed_file)
{
	struct sys_ops ops = sys_kernel_ops;
	struct stat by_fd, by_name;
	struct err e = {0};
	struct lock l;
	int dirfd;

	begin();
	dirfd = open(rig.folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ops.openat = openat_of_removed;
	sys_set_ops(&ops);
	for (int nr = 1; nr < 32; nr += 30) { /* once; and ever again */
		int rc;

		nr_to_remove = nr;
		rc = lock_acquire(&l, dirfd, "x.lock", "x.lock", &e);
		assert_int_equal(rc, nr == 1 ? 0 : -EBUSY);
		if (rc)
			continue;
		assert_int_equal(fstat(l.fd, &by_fd), 0);
		assert_int_equal(fstatat(dirfd, "x.lock", &by_name, 0), 0);
		assert_true(by_fd.st_ino == by_name.st_ino);
		lock_release(&l);
	}
	sys_set_ops(NULL);
	close(dirfd);
	rig_fini(&rig);
}

static void hold_until_killed(int tell)
{
	struct session_output *o;
	struct err e;

	if (open_output(rig.spec.output_path_prefix, "", &o, &e) == 0 && write(tell, "", 1) == 1)
		pause();
	_exit(1);
}

TEST(holder_killed)
{
	struct session_output *o;
	int told[2], status;
	struct err e;
	char byte;
	pid_t pid;

	begin();
	assert_int_equal(pipe(told), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		hold_until_killed(told[1]);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(open_output(rig.spec.output_path_prefix, "", &o, &e), -EBUSY);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(check_files(&rig).nr_strays, 1); /* its lock, which nobody holds */
	assert_int_equal(open_output(rig.spec.output_path_prefix, "", &o, &e), 0);
	session_output_close(o);
	assert_files(&rig, 0, 0);
	close(told[0]);
	close(told[1]);
	rig_fini(&rig);
}

TEST(owner_only)
{
	struct stat st;
	mode_t old;

	begin();
	old = umask(0);
	assert_run(&tape, &rig);
	umask(old);
	assert_int_equal(stat(rig_path(&rig, "t.1.1.cpuperf"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(stat(rig_path(&rig, "s.cpsession"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_files(&rig, 4, 2);
	tape.nr_iterations = 0; /* what is ours is replaced */
	rig.spec.num_iterations = 1;
	assert_run(&tape, &rig);
	assert_files(&rig, 4, 1); /* and the older ones stay: the printer names them */
	rig_fini(&rig);
}

/* What is in the way. */
enum way { FOREIGN, EMPTY, TO_FILE, TO_NOTHING, FOLDER, FIFO, OTHER_USERS };

static const char foreign[] = "{\"a\": \"file of somebody's own\"}\n";

static void put(const char *name, enum way way)
{
	const char *path = rig_path(&rig, name), *target = rig_path(&rig, "target");
	char in_tree[64];

	snprintf(in_tree, sizeof(in_tree), "/%s", name);
	if (way == TO_FILE)
		tree_put(&rig.folder, "/target", foreign, sizeof(foreign) - 1);
	if (way == TO_FILE || way == TO_NOTHING)
		assert_int_equal(symlink(target, path), 0);
	else if (way == FOLDER)
		assert_int_equal(mkdir(path, 0700), 0);
	else if (way == FIFO)
		assert_int_equal(mkfifo(path, 0600), 0);
	else
		tree_put(&rig.folder, in_tree, foreign, way == FOREIGN ? sizeof(foreign) - 1 : 0);
	if (way == OTHER_USERS)
		assert_int_equal(chown(path, 65534, 65534), 0);
}

/* It is as it was. */
static void check_untouched(const char *name, enum way way)
{
	struct stat st;
	struct buf b;

	assert_int_equal(lstat(rig_path(&rig, name), &st), 0);
	assert_int_equal(S_ISLNK(st.st_mode), way == TO_FILE || way == TO_NOTHING);
	assert_int_equal(S_ISDIR(st.st_mode), way == FOLDER);
	assert_int_equal(S_ISFIFO(st.st_mode), way == FIFO);
	assert_int_equal(st.st_uid, way == OTHER_USERS ? 65534 : geteuid());
	if (way == TO_NOTHING)
		assert_int_equal(access(rig_path(&rig, "target"), F_OK), -1);
	if (way != FOREIGN && way != TO_FILE)
		return;
	buf_init(&b, 4096);
	assert_int_equal(io_load(AT_FDCWD, rig_path(&rig, name), &b), 0);
	assert_string_equal(buf_str(&b), foreign);
	buf_fini(&b);
}

static bool may_make_foreign_files(void)
{
	if (geteuid() != 0)
		print_message("skip: files of another user: not root\n");
	return geteuid() == 0;
}

TEST(in_the_way)
{
	static const char prefix[] = "--output-path-prefix";
	static const char manifest[] = "--session-result-spec-path";
	static const struct {
		const char *name, *option;
		unsigned ways;
	} cases[] = {
	    {"t.0.0.cpuperf", prefix, ~0u},
	    {"t.0.1.cpuperf", prefix, ~0u},
	    {"t.1.0.cpuperf", prefix, ~0u},
	    {"t.1.1.cpuperf", prefix, ~0u},
	    {"t.common.cpuperf", prefix, ~0u},
	    {"t.s0.1.cpuperf", prefix, ~0u},
	    {"t.traces.lock", prefix, ~(1u << EMPTY)},
	    {"s.cpsession", manifest, ~0u},
	    {"s.cpsession.lock", manifest, ~(1u << EMPTY)},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (enum way way = FOREIGN; way <= OTHER_USERS; way++) {
			struct err e = {0};

			if (!(cases[i].ways >> way & 1) || (way == OTHER_USERS && geteuid() != 0))
				continue;
			begin();
			put(cases[i].name, way);
			assert_true(tape_run(&tape, &rig, &e) < 0);
			if (!strstr(e.msg, rig_path(&rig, cases[i].name)) ||
			    !strstr(e.hint, cases[i].option) ||
			    (way == OTHER_USERS && !strstr(e.msg, "another user")))
				fail_msg("%s, %d: %s; %s", cases[i].name, way, e.msg, e.hint);
			assert_int_equal(tape.nr_iterations, 0);
			check_untouched(cases[i].name, way);
			assert_int_equal(access(rig_path(&rig, "t.0.1.cpuperf"), F_OK) == 0,
					 strcmp(cases[i].name, "t.0.1.cpuperf") == 0 &&
					     way != TO_NOTHING);
			rig_fini(&rig);
		}
	may_make_foreign_files();
}

/* Names that the session does not use are nobody's business. */
TEST(beside_the_way)
{
	static const char *const names[] = {"t.2.0.cpuperf",  "t.0.2.cpuperf", "t.00.0.cpuperf",
					    "t.x.0.cpuperf",  "t.0.cpuperf",   "t.0.0.0.cpuperf",
					    "tt.0.0.cpuperf", "t.0.0.cpuper",  "t.0.-1.cpuperf",
					    "t.s1.0.cpuperf"};

	begin();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put(names[i], geteuid() ? FOREIGN : OTHER_USERS);
	assert_run(&tape, &rig);
	rig_fini(&rig);
}

/* A name that somebody takes while the session runs. */
static struct taken {
	const char *name;
	enum way way;
} taken;

static int take_name(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 0) {
		if (strcmp(taken.name, "s.cpsession") == 0)
			assert_int_equal(unlink(rig_path(&rig, taken.name)), 0);
		put(taken.name, taken.way);
	}
	return 0;
}

static bool was_told(const char *text)
{
	for (unsigned i = 0; i < tape.nr_notes && i < MAX_NOTES; i++)
		if (strstr(tape.notes[i], text))
			return true;
	return false;
}

static bool is_there(const char *name)
{
	return access(rig_path(&rig, name), F_OK) == 0;
}

static const char *const mode_events[] = {
    SOFTWARE_2,
    "{\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"rate\":1000000,"
    "\"flags\":[\"timebase\"]}," EV("misc", "cpu_user"),
};

/* Costs that file, and ends no session. */
static void check_taken_trace(const char *events, enum way way)
{
	struct err e = {0};
	int rc;

	rig_init(&rig, NR_CPUS, "", events);
	rig_with_files(&rig);
	rig.spec.num_iterations = 3;
	tape = (struct tape){.each = take_name};
	taken = (struct taken){"t.1.0.cpuperf", way};
	rc = tape_run(&tape, &rig, &e);
	assert_int_equal(rc, way == OTHER_USERS ? -EPERM : -EEXIST);
	assert_int_equal(tape.nr_iterations, 3);
	assert_non_null(strstr(e.msg, "1 file(s) of the session are missing"));
	assert_non_null(strstr(e.msg, rig_path(&rig, taken.name)));
	assert_non_null(strstr(e.hint, "--output-path-prefix"));
	assert_true(was_told(rig_path(&rig, taken.name)));
	check_untouched(taken.name, way);
	assert_true(is_there("t.1.1.cpuperf") && is_there("t.2.0.cpuperf") &&
		    is_there("t.2.1.cpuperf"));
	unlinkat(AT_FDCWD, rig_path(&rig, taken.name), way == FOLDER ? AT_REMOVEDIR : 0);
	unlink(rig_path(&rig, "target"));
	assert_files(&rig, 5 + (events == mode_events[1]), 3);
	rig_fini(&rig);
}

TEST(trace_taken_meanwhile)
{
	for (int mode = 0; mode < 2; mode++)
		for (enum way way = FOREIGN; way <= OTHER_USERS; way++)
			if (way != OTHER_USERS || geteuid() == 0)
				check_taken_trace(mode_events[mode], way);
}

/* The segments of the next iteration have the next number. */
TEST(segment_taken_meanwhile)
{
	struct err e = {0};

	begin();
	rig.spec.num_iterations = 1003; /* a segment has 1,000 */
	tape = (struct tape){.each = take_name};
	taken = (struct taken){"t.s1.1.cpuperf", FOLDER};
	assert_int_equal(tape_run(&tape, &rig, &e), -EEXIST);
	assert_int_equal(tape.nr_iterations, 1003);
	assert_non_null(strstr(e.msg, "1 file(s)"));
	assert_true(is_there("t.s0.1.cpuperf") && is_there("t.s1.0.cpuperf"));
	assert_true(is_there("t.s2.0.cpuperf") && is_there("t.s2.1.cpuperf"));
	check_untouched(taken.name, taken.way);
	rig_fini(&rig);
}

/* What is written under another name first is written all the same. */
TEST(temporary_taken)
{
	static const char *const names[] = {".t.1.0.cpuperf.tmp", ".s.cpsession.tmp"};

	for (size_t i = 0; i < 2; i++)
		for (enum way way = TO_FILE; way <= OTHER_USERS; way++) {
			struct err e = {0};

			if (way == OTHER_USERS && geteuid() != 0)
				continue;
			begin();
			rig.spec.num_iterations = 3;
			tape = (struct tape){.each = take_name};
			taken = (struct taken){names[i], way};
			if (tape_run(&tape, &rig, &e))
				fail_msg("%s: %s", names[i], e.msg);
			check_untouched(names[i], way);
			unlinkat(AT_FDCWD, rig_path(&rig, names[i]),
				 way == FOLDER ? AT_REMOVEDIR : 0);
			unlink(rig_path(&rig, "target"));
			assert_files(&rig, 6, 3);
			rig_fini(&rig);
		}
}

TEST(manifest_taken)
{
	struct err e = {0};

	begin();
	rig.spec.num_iterations = 3;
	tape = (struct tape){.each = take_name};
	taken = (struct taken){"s.cpsession", FOLDER};
	assert_int_equal(tape_run(&tape, &rig, &e), -EISDIR);
	assert_int_equal(tape.nr_iterations, 3);
	assert_non_null(strstr(e.msg, "1 file(s)"));
	assert_non_null(strstr(e.msg, rig_path(&rig, "s.cpsession")));
	assert_true(is_there("t.2.1.cpuperf"));
	rig_fini(&rig);
}

/* The paths are the default ones, and a name belongs to another user. */
TEST(moved)
{
	static const char *const names[] = {"t.0.0.cpuperf", "t.1.1.cpuperf", "t.common.cpuperf",
					    "t.traces.lock", "s.cpsession",   "s.cpsession.lock"};
	static const uint8_t id[16] = {1};

	if (!may_make_foreign_files())
		skip();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct session_output_config config = {
		    .spec = &rig.spec, .model_name = "", .id = id, .nr_traces = NR_CPUS};
		struct session_output *o;
		struct err e = {0};

		begin();
		setenv("XDG_STATE_HOME", rig.folder.dir, 1);
		put(names[i], OTHER_USERS);
		assert_int_equal(session_output_open(&config, &o, &e), -EPERM);
		config.may_move_traces = config.may_move_manifest = true;
		assert_int_equal(session_output_open(&config, &o, &e), 0);
		assert_non_null(strstr(session_output_moved(o), rig_path(&rig, names[i])));
		assert_non_null(strstr(session_output_moved(o), "uid 65534"));
		assert_non_null(strstr(session_output_moved(o), "/s.cpsession"));
		session_output_close(o);
		assert_false(is_there("cpuperf/cpuperf.session")); /* an empty folder goes */
		check_untouched(names[i], OTHER_USERS);
		rig_fini(&rig);
	}
}

/* The prefix was chosen, the path of the manifest was not, and belongs to another user: the
 * manifest goes beside the traces. A trace's name that is taken refuses the session all the same.
 */
TEST(manifest_follows)
{
	static const char *const names[] = {"s.cpsession", "s.cpsession.lock", "t.0.0.cpuperf"};
	static const uint8_t id[16] = {1};

	if (!may_make_foreign_files())
		skip();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct session_output_config config = {.spec = &rig.spec,
						       .model_name = "",
						       .id = id,
						       .nr_traces = NR_CPUS,
						       .may_move_manifest = true};
		struct session_output *o;
		struct err e = {0};
		int rc;

		begin();
		put(names[i], OTHER_USERS);
		rc = session_output_open(&config, &o, &e);
		if (names[i][0] == 't') {
			assert_int_equal(rc, -EPERM);
			assert_false(is_there("t.cpsession"));
		} else {
			assert_int_equal(rc, 0);
			assert_non_null(strstr(session_output_moved(o), "uid 65534"));
			assert_non_null(strstr(session_output_moved(o), "/t.cpsession shows this"));
			assert_int_equal(session_output_begin(o, &e), 0);
			session_output_close(o);
			assert_true(is_there("t.cpsession"));
		}
		check_untouched(names[i], OTHER_USERS);
		rig_fini(&rig);
	}
}

TEST(folders)
{
	static const struct {
		const char *path, *msg;
		int rc;
	} cases[] = {
	    {"no/t", "No such file or directory", -ENOENT},
	    {"file/t", "Not a directory", -ENOTDIR},
	    {"", "is a folder", -EINVAL},
	};
	struct session_output *o;
	struct err e;

	begin();
	tree_put(&rig.folder, "/file", "", 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int which = 0; which < 2; which++) {
			const char *path = rig_path(&rig, cases[i].path);

			assert_int_equal(open_output(which ? path : "", which ? "" : path, &o, &e),
					 cases[i].rc);
			if (!strstr(e.msg, cases[i].msg) || !strstr(e.msg, path) || !e.hint[0])
				fail_msg("%s: %s; %s", path, e.msg, e.hint);
		}
	rig_fini(&rig);
}

/* A folder that is a link is a place like any other; only names are not followed. */
TEST(folder_is_link)
{
	begin();
	assert_int_equal(symlink(".", rig_path(&rig, "link")), 0);
	rig.spec.output_path_prefix = rig_path(&rig, "link/t");
	assert_run(&tape, &rig);
	assert_files(&rig, 4, 2);
	rig_fini(&rig);
}

/* What the names of the older session hold. */
static void load_all(const char *const name[], size_t nr, struct buf *out)
{
	buf_init(out, 1 << 20);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(io_load(AT_FDCWD, rig_path(&rig, name[i]), out), 0);
}

/* A session that is refused leaves the one before it as it was, whatever refuses it. */
TEST(refused_leaves_older)
{
	static const char *const names[] = {"t.0.0.cpuperf", "t.0.1.cpuperf", "t.common.cpuperf",
					    "t.1.1.cpuperf", "s.cpsession"};
	enum { NR_NAMES = sizeof(names) / sizeof(names[0]) };
	static const struct {
		const char *manifest, *blocked;
		enum way way;
		bool is_twice; /* the name belongs to a running session */
	} cases[] = {
	    {"no/s.cpsession", NULL, 0, false},
	    {"x.cpuperf", NULL, 0, false},
	    {"other.cpsession", "other.cpsession", FOREIGN, false},
	    {"other.cpsession", "other.cpsession", FOLDER, false},
	    {"s.cpsession", "s.cpsession.lock", FOLDER, false},
	    {"s.cpsession", NULL, 0, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct session_output *other = NULL;
		struct buf before, after;
		struct err e = {0};

		begin();
		assert_run(&tape, &rig);
		/* as a session that samples leaves it */
		assert_int_equal(link(rig_path(&rig, names[0]), rig_path(&rig, names[2])), 0);
		load_all(names, NR_NAMES, &before);
		if (cases[i].blocked)
			put(cases[i].blocked, cases[i].way);
		if (cases[i].is_twice)
			assert_int_equal(open_output("", rig_path(&rig, "s.cpsession"), &other, &e),
					 0);
		rig.spec.session_result_spec_path = rig_path(&rig, cases[i].manifest);
		tape = (struct tape){.nr_iterations = 0};
		assert_true(tape_run(&tape, &rig, &e) < 0);
		assert_int_equal(tape.nr_iterations, 0);
		session_output_close(other);
		load_all(names, NR_NAMES, &after);
		assert_int_equal(before.len, after.len);
		assert_memory_equal(before.data, after.data, before.len);
		buf_fini(&before);
		buf_fini(&after);
		rig_fini(&rig);
	}
}

/* Whether the manifest has the id of a trace's session. */
static bool manifest_is_of(const char *trace)
{
	IO_AUTO_FD int dirfd = open(rig.folder.dir, O_RDONLY | O_DIRECTORY);
	struct err_list errs = {0};
	struct trace_reader *r;
	struct cpsession s;
	char id[33];
	bool is_same;

	cpsession_init(&s);
	assert_int_equal(cpsession_load(rig_path(&rig, "s.cpsession"), &s, &errs), 0);
	assert_int_equal(trace_reader_open(dirfd, trace, &r, NULL), 0);
	str_hex16(trace_reader_head(r)->session_id, id);
	is_same = strcmp(id, s.session_id) == 0;
	trace_reader_close(r);
	cpsession_fini(&s);
	return is_same;
}

/* The manifest says whose traces it means. */
TEST(id)
{
	begin();
	assert_run(&tape, &rig);
	assert_true(manifest_is_of("t.0.0.cpuperf"));
	tape = (struct tape){.nr_iterations = 0};
	rig.spec.num_iterations = 1;
	assert_run(&tape, &rig);
	assert_true(manifest_is_of("t.0.1.cpuperf"));
	assert_false(manifest_is_of("t.1.0.cpuperf"));
	rig_fini(&rig);
}

/* Every system call of a start fails once: until the new manifest is in its place, the older
 * session is whole. */
TEST(failing_start)
{
	static const char *const names[] = {"t.0.0.cpuperf", "t.0.1.cpuperf"};
	struct session_output *o;
	unsigned nr_kept = 0;
	struct err e;

	for (unsigned n = 1; n == 1 || inject.fired; n++) {
		int rc;

		begin();
		assert_run(&tape, &rig);
		inject_sys(n, -EIO);
		rc = open_output(rig.spec.output_path_prefix, rig.spec.session_result_spec_path, &o,
				 &e);
		if (rc == 0) {
			rc = session_output_begin(o, &e);
			session_output_close(o);
		}
		inject_stop();
		if (rc && access(rig_path(&rig, names[0]), F_OK) == 0 && manifest_is_of(names[0])) {
			nr_kept++;
			assert_int_equal(access(rig_path(&rig, names[1]), F_OK), 0);
		} else if (rc) {
			assert_false(manifest_is_of("t.1.0.cpuperf"));
		}
		rig_fini(&rig);
	}
	assert_true(nr_kept > 10);
}

enum { NR_RETAINED = 3 };

/* The trace of iteration 0 on CPU 0 is replaced by one of another session, that on CPU 1 by a link
 * to a trace of this one. */
static int replace_first(struct tape *t, uint32_t iteration)
{
	char first[512], other[512], second[512];

	(void)t;
	if (iteration)
		return 0;
	snprintf(first, sizeof(first), "%s/t.0.0.cpuperf", rig.folder.dir);
	snprintf(other, sizeof(other), "%s/other", rig.folder.dir);
	snprintf(second, sizeof(second), "%s/t.0.1.cpuperf", rig.folder.dir);
	assert_int_equal(rename(first, rig_path(&rig, "own")), 0);
	assert_int_equal(link(other, first), 0);
	assert_int_equal(unlink(second), 0);
	assert_int_equal(symlink("own", second), 0);
	return 0;
}

/* Only the session's own files are removed, and no link is followed. */
TEST(retain_removes_its_own)
{
	static struct err_list errs;
	char name[512], other[512];
	struct cpsession s;
	struct stat st;

	begin();
	assert_run(&tape, &rig);
	snprintf(name, sizeof(name), "%s/t.0.0.cpuperf", rig.folder.dir);
	snprintf(other, sizeof(other), "%s/other", rig.folder.dir);
	assert_int_equal(rename(name, other), 0);
	rig.spec.num_iterations = 8;
	rig.spec.retain.iterations = NR_RETAINED;
	tape = (struct tape){.each = replace_first};
	assert_run(&tape, &rig);
	for (int i = 0; i < 8; i++)
		for (int cpu = 0; cpu < NR_CPUS; cpu++) {
			bool remains = i == 0 || i >= 8 - NR_RETAINED;

			snprintf(name, sizeof(name), "%s/t.%d.%d.cpuperf", rig.folder.dir, i, cpu);
			assert_int_equal(lstat(name, &st), remains ? 0 : -1);
		}
	assert_int_equal(access(rig_path(&rig, "own"), F_OK), 0);
	cpsession_init(&s);
	assert_int_equal(cpsession_load(rig.spec.session_result_spec_path, &s, &errs), 0);
	assert_int_equal(s.num_iterations, 8);
	assert_int_equal(s.removed.iterations, 8 - NR_RETAINED);
	cpsession_fini(&s);
	rig_fini(&rig);
}
