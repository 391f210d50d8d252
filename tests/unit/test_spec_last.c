/*
 * The path of the last session: where it is kept, and what is not believed.
 */
#include "kit.h"

#include "spec/last.h"

#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct root root;
static struct passwd user;

/* In place of libc's. */
struct passwd *getpwuid(uid_t uid)
{
	return uid == geteuid() ? &user : NULL;
}

static void begin(bool is_home)
{
	root = tree_make();
	if (is_home) {
		unsetenv("XDG_STATE_HOME");
		setenv("HOME", root.dir, 1);
	} else {
		setenv("XDG_STATE_HOME", root.dir, 1);
		setenv("HOME", "/nowhere", 1);
	}
}

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root.dir, name);
	return path;
}

TEST(folder)
{
	static const char *const folders[] = {"/cpuperf", "/.local/state/cpuperf"};
	char path[PATH_MAX];
	struct stat st;

	for (int is_home = 0; is_home < 2; is_home++) {
		begin(is_home);
		assert_int_equal(last_folder(path), 0);
		assert_string_equal(path, path_of(folders[is_home]));
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode, S_IFDIR | 0700);
		assert_int_equal(chmod(path, 0722), 0);
		assert_int_equal(last_folder(path), -EPERM);
		tree_remove(&root);
	}
}

/* As the XDG specification says. */
TEST(base_is_made)
{
	char path[PATH_MAX];
	struct stat st;

	begin(false);
	setenv("XDG_STATE_HOME", path_of("/a/b/"), 1);
	assert_int_equal(last_read(path), -ENOENT);
	assert_int_equal(access(path_of("/a"), F_OK), -1);
	assert_int_equal(last_write("/c"), 0);
	assert_int_equal(last_read(path), 0);
	assert_string_equal(path, "/c");
	assert_int_equal(stat(path_of("/a"), &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(stat(path_of("/a/b"), &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(symlink("nowhere", path_of("/link")), 0);
	setenv("XDG_STATE_HOME", path_of("/link/b"), 1);
	assert_int_equal(last_folder(path), -ENOENT);
	assert_string_equal(path, path_of("/link/b/cpuperf"));
	setenv("XDG_STATE_HOME", path_of("/a/b/cpuperf/last/d"), 1);
	assert_int_equal(last_folder(path), -ENOTDIR);
	tree_remove(&root);

	begin(true);
	setenv("HOME", path_of("/a"), 1);
	assert_int_equal(last_write("/c"), -ENOENT); /* a home is not made */
	assert_int_equal(access(path_of("/a"), F_OK), -1);
	unsetenv("HOME");
	assert_int_equal(last_folder(path), -ENOENT);
	assert_string_equal(path, "");
	tree_remove(&root);
}

/* sudo may leave HOME as it was. */
TEST(home_of_another)
{
	char path[PATH_MAX];
	struct root theirs;

	if (geteuid())
		SKIP("another user's file: needs root");
	begin(true);
	theirs = root;
	assert_int_equal(chown(theirs.dir, 12345, 12345), 0);
	root = tree_make();
	user.pw_dir = root.dir;
	assert_int_equal(last_folder(path), 0);
	assert_string_equal(path, path_of("/.local/state/cpuperf"));
	assert_int_equal(last_write("/a"), 0);
	assert_int_equal(last_read(path), 0);
	user.pw_dir = (char[]){""};
	assert_int_equal(last_folder(path), -EPERM);
	tree_remove(&root);
	tree_remove(&theirs);
}

TEST(kept)
{
	static const char *const files[] = {"/cpuperf/last", "/.local/state/cpuperf/last"};
	char path[PATH_MAX] = "untouched";
	struct stat st;

	for (int is_home = 0; is_home < 2; is_home++) {
		begin(is_home);
		assert_int_equal(last_read(path), -ENOENT);
		assert_int_equal(last_write("/a/cpuperf.cpsession"), 0);
		assert_int_equal(last_write("/b"), 0);
		assert_int_equal(last_read(path), 0);
		assert_string_equal(path, "/b");
		assert_int_equal(stat(path_of(files[is_home]), &st), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
		tree_remove(&root);
	}
	assert_int_equal(last_write("relative"), -EINVAL);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_int_equal(last_write("/a"), -ENOENT);
}

/* What another user could have made, and links that he could have put there. */
TEST(not_believed)
{
	char path[PATH_MAX] = "untouched";
	struct stat st;

	begin(false);
	tree_put(&root, "/cpuperf/last", "relative", 8);
	assert_int_equal(last_read(path), -EINVAL);
	tree_put(&root, "/cpuperf/last", "", 0);
	assert_int_equal(last_read(path), -EINVAL);
	tree_put(&root, "/cpuperf/last", "/a\0b", 4);
	assert_int_equal(last_read(path), -EINVAL);
	tree_put(&root, "/cpuperf/last", "/a", 2);
	assert_int_equal(chmod(path_of("/cpuperf/last"), 0622), 0);
	assert_int_equal(last_read(path), -EPERM);
	assert_int_equal(unlink(path_of("/cpuperf/last")), 0);
	tree_put(&root, "/other", "/a", 2);
	assert_int_equal(symlink("../other", path_of("/cpuperf/last")), 0);
	assert_int_equal(last_read(path), -ELOOP);
	assert_string_equal(path, "untouched");
	assert_int_equal(last_write("/b"), 0); /* the link is replaced, not followed */
	assert_int_equal(last_read(path), 0);
	assert_string_equal(path, "/b");
	assert_int_equal(stat(path_of("/other"), &st), 0);
	assert_int_equal(st.st_size, 2);
	tree_remove(&root);

	begin(false);
	assert_int_equal(mkdir(path_of("/away"), 0700), 0);
	assert_int_equal(symlink("away", path_of("/cpuperf")), 0);
	assert_true(last_write("/b") < 0);
	assert_int_equal(access(path_of("/away/last"), F_OK), -1);
	assert_int_equal(unlink(path_of("/cpuperf")), 0);
	assert_int_equal(mkdir(path_of("/cpuperf"), 0700), 0);
	assert_int_equal(chmod(path_of("/cpuperf"), 0777), 0);
	assert_int_equal(last_write("/b"), -EPERM);
	tree_remove(&root);
}
