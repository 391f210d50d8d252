/*
 * Which files --send takes from a folder that nobody named: hosts run what they have.
 */
#include "kit.h"

#include "base/err.h"
#include "hosts/send.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/cpuperf-test.XXXXXX";
static char file[sizeof(folder) + 64];

static int add(struct err *e)
{
	struct hosts_send s = {0};
	int rc = hosts_send_add_folder(&s, folder, e);

	rc = rc ?: (int)s.nr;
	hosts_send_fini(&s);
	return rc;
}

static void make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_int_equal(write(fd, "\x1f\x8b", 2), 2);
	assert_int_equal(fchmod(fd, 0644), 0);
	close(fd);
}

TEST(files_of_others_are_refused)
{
	struct err e = {0};
	char other[sizeof(file) + 8];

	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/cpuperf-aarch64-linux.tar.gz", folder);
	snprintf(other, sizeof(other), "%s.other", file);
	assert_int_equal(add(&e), 0);
	make(file);
	assert_int_equal(add(&e), 1);
	assert_int_equal(chmod(file, 0664), 0);
	assert_int_equal(add(&e), -EPERM);
	assert_non_null(strstr(e.hint, "--send=FILE"));
	assert_int_equal(chmod(file, 0646), 0);
	assert_int_equal(add(&e), -EPERM);
	assert_int_equal(chmod(file, 0644), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(file, 65534, 65534), 0);
		assert_int_equal(add(&e), -EPERM);
		assert_int_equal(chown(file, 0, 0), 0);
	}
	assert_int_equal(rename(file, other), 0);
	assert_int_equal(symlink(other, file), 0);
	assert_int_equal(add(&e), -ELOOP);
	unlink(file);
	unlink(other);
	rmdir(folder);
}
