/*
 * The folder of one session: what is made, what becomes of the session before, what is refused.
 */
#include "kit.h"

#include "session/folder.h"
#include "session/lock.h"

#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>

struct place {
	struct root root;
	char path[sizeof(((struct root *)0)->dir) + 8];
};

static void place_init(struct place *p)
{
	p->root = tree_make();
	snprintf(p->path, sizeof(p->path), "%s/s", p->root.dir);
}

static void put(struct place *p, const char *name, const char *text)
{
	tree_put(&p->root, name, text, strlen(text));
}

static bool is_there(const struct place *p, const char *name)
{
	char path[sizeof(p->root.dir) + 64];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", p->root.dir, name);
	return lstat(path, &st) == 0;
}

static int make(struct place *p, bool keeps_old, struct err *e)
{
	*e = (struct err){0};
	int fd, rc = session_folder_make(p->path, keeps_old, &fd, e);

	if (rc) {
		assert_int_equal(fd, -1);
	} else {
		struct stat st, made;

		assert_int_equal(stat(p->path, &st), 0);
		assert_int_equal(fstat(fd, &made), 0);
		assert_true(st.st_ino == made.st_ino && st.st_dev == made.st_dev);
		close(fd);
	}
	return rc;
}

TEST(made)
{
	struct place p;
	struct stat st;
	struct err e;

	place_init(&p);
	umask(0);
	assert_int_equal(session_folder_check(p.path, &e), 0);
	assert_false(is_there(&p, "/s"));
	assert_int_equal(make(&p, true, &e), 0);
	assert_int_equal(stat(p.path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(chmod(p.path, 0755), 0);
	assert_int_equal(make(&p, false, &e), 0);
	assert_int_equal(stat(p.path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	tree_remove(&p.root);
}

static void put_session(struct place *p, const char *text)
{
	static const char *const names[] = {
	    "/s/cpuperf.0.0.cpuperf",      "/s/cpuperf.common.cpuperf",
	    "/s/cpuperf.cpsession",        "/s/.cpuperf.cpsession.tmp",
	    "/s/.cpuperf.0.1.cpuperf.tmp", "/s/cpuperf.cpsession.lock"};

	for (size_t i = 0; i < NR(names); i++)
		put(p, names[i], strstr(names[i], ".lock") ? "" : text);
}

/* The session before is kept, the one before that is not. */
TEST(old)
{
	struct place p;
	struct err e;

	place_init(&p);
	put_session(&p, "first");
	assert_int_equal(make(&p, true, &e), 0);
	assert_true(is_there(&p, "/s.old/cpuperf.cpsession"));
	assert_false(is_there(&p, "/s/cpuperf.cpsession"));
	put(&p, "/s/cpuperf.7.0.cpuperf", "second");
	assert_int_equal(make(&p, true, &e), 0);
	assert_true(is_there(&p, "/s.old/cpuperf.7.0.cpuperf"));
	assert_false(is_there(&p, "/s.old/cpuperf.cpsession"));
	put_session(&p, "third"); /* a folder that was named is used again */
	assert_int_equal(session_folder_check(p.path, &e), 0);
	assert_true(is_there(&p, "/s/cpuperf.0.0.cpuperf"));
	assert_int_equal(make(&p, false, &e), 0);
	assert_true(is_there(&p, "/s"));
	assert_false(is_there(&p, "/s/cpuperf.0.0.cpuperf"));
	assert_true(is_there(&p, "/s.old/cpuperf.7.0.cpuperf"));
	tree_remove(&p.root);
}

static void expect_refusal(struct place *p, int code, const char *why)
{
	struct err checked = {0};

	assert_int_equal(session_folder_check(p->path, &checked), code);
	assert_non_null(strstr(checked.msg, why));
	for (int keeps_old = 0; keeps_old < 2; keeps_old++) {
		struct err e;

		assert_int_equal(make(p, keeps_old, &e), code);
		assert_non_null(strstr(e.msg, why));
		assert_true(is_there(p, "/s"));
		assert_false(is_there(p, "/s.old"));
	}
}

/* What could be anything else is left alone, with all beside it. */
TEST(refused)
{
	static const char *const names[] = {"/s/thesis.tex", "/s/cpuperf", "/s/cpuperf.c",
					    "/s/xcpuperf.0.0.cpuperf", "/s/cpuperf.sub/x"};
	char path[sizeof(((struct place *)0)->path) + 32];
	struct place p;

	for (size_t i = 0; i < NR(names); i++) {
		place_init(&p);
		put_session(&p, "x");
		put(&p, names[i], "precious");
		expect_refusal(&p, -EEXIST, "not");
		assert_true(is_there(&p, names[i]) && is_there(&p, "/s/cpuperf.0.0.cpuperf"));
		tree_remove(&p.root);
	}
	place_init(&p);
	put(&p, "/s", "a file");
	expect_refusal(&p, -EEXIST, "it is not a folder");
	tree_remove(&p.root);
	place_init(&p);
	put(&p, "/other/cpuperf.cpsession", "x");
	assert_int_equal(symlink("other", p.path), 0);
	expect_refusal(&p, -EEXIST, "it is not a folder");
	assert_true(is_there(&p, "/other/cpuperf.cpsession"));
	tree_remove(&p.root);
	place_init(&p);
	put_session(&p, "x");
	snprintf(path, sizeof(path), "%s/cpuperf.9.0.cpuperf", p.path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	expect_refusal(&p, -EEXIST, "is not a regular file");
	if (geteuid() == 0) {
		assert_int_equal(unlink(path), 0);
		put(&p, "/s/cpuperf.9.0.cpuperf", "x");
		assert_int_equal(chown(path, 65534, 65534), 0);
		expect_refusal(&p, -EPERM, "belongs to another user");
		assert_int_equal(chown(p.path, 65534, 65534), 0);
		expect_refusal(&p, -EPERM, "it belongs to another user");
	}
	tree_remove(&p.root);
}

static void expect_reason(struct place *p, const char *end)
{
	char why[700], expected[700];
	struct err e;

	assert_true(session_folder_is_foreign(make(p, true, &e)));
	session_folder_explain(p->path, &e, why, sizeof(why));
	snprintf(expected, sizeof(expected), "%s%s", p->path, end);
	assert_string_equal(why, expected);
}

/* Each form in which another user may hold the name. */
TEST(foreign)
{
	char path[sizeof(((struct place *)0)->path) + 32];
	/* the emulated machine has no list of users */
	const char *old_is_theirs =
	    getpwuid(65534) ? ".old belongs to nobody" : ".old belongs to user 65534";
	const char *is_theirs = old_is_theirs + strlen(".old");
	struct place p;

	if (geteuid() != 0)
		SKIP("another user's folder: needs root");
	place_init(&p);
	put_session(&p, "x");
	assert_int_equal(chown(p.path, 65534, 65534), 0);
	expect_reason(&p, is_theirs);
	assert_int_equal(chown(p.path, 12345678, 0), 0);
	expect_reason(&p, " belongs to user 12345678");
	assert_int_equal(chown(p.path, 0, 0), 0);
	put(&p, "/s.old/cpuperf.cpsession", "x");
	snprintf(path, sizeof(path), "%s.old", p.path);
	assert_int_equal(chown(path, 65534, 65534), 0);
	expect_reason(&p, old_is_theirs);
	assert_true(is_there(&p, "/s/cpuperf.cpsession"));
	tree_remove(&p.root);
	place_init(&p);
	put(&p, "/precious", "x");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(symlink(i ? "nowhere" : "precious", p.path), 0);
		assert_int_equal(lchown(p.path, 65534, 65534), 0);
		expect_reason(&p, is_theirs);
		assert_int_equal(unlink(p.path), 0);
	}
	tree_remove(&p.root);
}

/* Beside the last session, where the one before becomes .old; with a random name while that is
 * being recorded, and without a home. */
TEST(own)
{
	char path[PATH_MAX], lock_path[PATH_MAX + 32];
	struct err e = {0};
	struct lock lock;
	struct place p;
	struct stat st;
	int fd, other;

	place_init(&p);
	setenv("XDG_STATE_HOME", p.root.dir, 1);
	assert_int_equal(session_folder_make_private(path, &fd, &e), 0);
	assert_true(is_there(&p, "/cpuperf/cpuperf.session"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	close(fd);
	put(&p, "/cpuperf/cpuperf.session/cpuperf.cpsession", "first");
	assert_int_equal(session_folder_make_private(path, &fd, &e), 0);
	assert_true(is_there(&p, "/cpuperf/cpuperf.session.old/cpuperf.cpsession"));
	snprintf(lock_path, sizeof(lock_path), "%s/cpuperf.cpsession.lock", path);
	assert_int_equal(lock_acquire(&lock, fd, "cpuperf.cpsession.lock", lock_path, &e), 0);
	assert_int_equal(session_folder_make_private(path, &other, &e), 0);
	assert_non_null(strstr(path, "/cpuperf/cpuperf-"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	lock_release(&lock);
	close(fd);
	close(other);
	assert_int_equal(chmod(p.root.dir, 0777), 0); /* anybody may exchange what is in it */
	assert_int_equal(session_folder_make_private(path, &fd, &e), 0);
	assert_int_equal(strncmp(path, "/tmp/cpuperf-", 13), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	close(fd);
	assert_int_equal(rmdir(path), 0);
	tree_remove(&p.root);
}

/* One that is being recorded. */
TEST(busy)
{
	struct place p;
	struct lock lock;
	struct err e = {0};
	int fd;

	place_init(&p);
	put_session(&p, "x");
	fd = open(p.path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(lock_acquire(&lock, fd, "cpuperf.cpsession.lock", "lock", &e), 0);
	expect_refusal(&p, -EBUSY, "another cpuperf session");
	assert_true(is_there(&p, "/s/cpuperf.0.0.cpuperf"));
	lock_release(&lock);
	assert_int_equal(make(&p, true, &e), 0);
	close(fd);
	tree_remove(&p.root);
}

/* Beside a session that runs, the first folder that may be replaced; its session before is kept. */
TEST(beside)
{
	struct place p;
	struct err e = {0};
	char expected[PATH_MAX], beside[PATH_MAX];
	int fd;

	place_init(&p);
	put(&p, "/s.2/thesis.tex", "x");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(session_folder_make_beside(p.path, beside, &fd, &e), 0);
		snprintf(expected, sizeof(expected), "%s.3", p.path);
		assert_string_equal(beside, expected);
		assert_int_equal(is_there(&p, "/s.3.old/cpuperf.0.0.cpuperf"), i);
		put(&p, "/s.3/cpuperf.0.0.cpuperf", "x");
		close(fd);
	}
	assert_true(is_there(&p, "/s.2/thesis.tex"));
	for (unsigned i = 3; i < 100; i++) {
		char name[32];

		snprintf(name, sizeof(name), "/s.%u/thesis.tex", i);
		put(&p, name, "x");
	}
	assert_int_equal(session_folder_make_beside(p.path, beside, &fd, &e), -EEXIST);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(e.msg, "thesis.tex"));
	tree_remove(&p.root);
}

static void put_job(struct place *p)
{
	put(p, "/s/a/host.json", "x");
	put(p, "/s/a/cpuperf.cpsession", "x");
	put(p, "/s/b/host.json", "x");
}

/* A job is replaced like a session, and by one. */
TEST(job)
{
	struct place p;
	struct err e;

	place_init(&p);
	put_job(&p);
	assert_int_equal(make(&p, true, &e), 0);
	assert_true(is_there(&p, "/s.old/a/cpuperf.cpsession"));
	assert_false(is_there(&p, "/s/a"));
	put_job(&p);
	assert_int_equal(make(&p, true, &e), 0);
	put_session(&p, "x");
	assert_int_equal(make(&p, true, &e), 0);
	assert_false(is_there(&p, "/s.old/a"));
	put_job(&p);
	assert_int_equal(make(&p, false, &e), 0);
	assert_false(is_there(&p, "/s/a"));
	tree_remove(&p.root);
}

TEST(job_refused)
{
	static const char *const names[] = {"/s/a/thesis.tex", "/s/c/cpuperf.cpsession",
					    "/s/a/sub/host.json"};
	char path[sizeof(((struct place *)0)->path) + 32];
	struct lock lock;
	struct place p;
	struct err e = {0};
	int fd;

	for (size_t i = 0; i < NR(names); i++) {
		place_init(&p);
		put_job(&p);
		put(&p, names[i], "precious");
		expect_refusal(&p, -EEXIST, "not");
		assert_true(is_there(&p, names[i]) && is_there(&p, "/s/a/cpuperf.cpsession"));
		tree_remove(&p.root);
	}
	place_init(&p);
	put_job(&p);
	put(&p, "/other/host.json", "x");
	snprintf(path, sizeof(path), "%s/link", p.path);
	assert_int_equal(symlink("../other", path), 0);
	expect_refusal(&p, -EEXIST, "not");
	assert_true(is_there(&p, "/other/host.json"));
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/a", p.path);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(lock_acquire(&lock, fd, "cpuperf.cpsession.lock", "lock", &e), 0);
	expect_refusal(&p, -EBUSY, "being recorded");
	lock_release(&lock);
	assert_int_equal(make(&p, false, &e), 0);
	close(fd);
	tree_remove(&p.root);
}
