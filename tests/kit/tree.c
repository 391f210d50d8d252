#include "kit.h"

#include "paths.h"

#include <ftw.h>

struct root tree_captured(const char *name)
{
	char dir[4096];
	struct root r;

	snprintf(dir, sizeof(dir), "%s/hosts/%s", TEST_DATA_DIR, name);
	assert_int_equal(root_init(&r, dir), 0);
	return r;
}

struct root tree_make(void)
{
	const char *base = getenv("TMPDIR");
	char dir[200];
	struct root r;

	snprintf(dir, sizeof(dir), "%s/cpuperf-test.XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(root_init(&r, dir), 0);
	return r;
}

void tree_put(const struct root *r, const char *path, const void *data, size_t len)
{
	char full[4096];
	int fd;

	snprintf(full, sizeof(full), "%s%s", r->dir, path);
	for (char *p = full + strlen(r->dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
	}
	if (!data) {
		assert_int_equal(mkdir(full, 0700), 0);
		return;
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tree_remove(const struct root *r)
{
	assert_int_equal(nftw(r->dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void tree_text(const struct root *r, const char *path, const char *text)
{
	tree_put(r, path, text, strlen(text));
}

void tree_drop(const struct root *r, const char *path)
{
	char full[4096];

	snprintf(full, sizeof(full), "%s%s", r->dir, path);
	assert_int_equal(nftw(full, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void tree_rename(const struct root *r, const char *from, const char *to)
{
	char a[4096], b[4096];

	snprintf(a, sizeof(a), "%s%s", r->dir, from);
	snprintf(b, sizeof(b), "%s%s", r->dir, to);
	assert_int_equal(rename(a, b), 0);
}
