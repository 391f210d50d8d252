/*
 * The head is a function of the key and the content, so a reader computes the expected head and
 * compares.
 */
#include "survey/symbols_cache.h"

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "survey/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FILE_NAME "symbols"

enum { MAX_MODULES_BYTES = 4 << 20 };

/* A number that changes when a module of this name is loaded again; 0: unknown. */
static uint64_t module_number(const struct root *root, const char *name, size_t len)
{
	char path[sizeof(root->dir) + 128];
	struct stat st;

	if (len > 64)
		return 0;
	snprintf(path, sizeof(path), "%s/sys/module/%.*s", root->dir, (int)len, name);
	return sys()->fstatat(AT_FDCWD, path, &st, 0) ? 0 : st.st_ino;
}

/* A line is "name size uses users state address". Skips uses and users, which change. */
static uint32_t add_module(uint32_t crc, const struct root *root, const char *line,
			   const char *stop)
{
	enum { NAME, USES = 2, USERS = 3 };
	uint64_t number;

	for (unsigned field = NAME; line < stop; field++) {
		const char *space = memchr(line, ' ', (size_t)(stop - line));
		const char *end = space ? space + 1 : stop;

		if (field == NAME) {
			number = module_number(root, line, (size_t)(end - line) - !!space);
			crc = crc32c(crc, &number, sizeof(number));
		}
		if (field != USES && field != USERS)
			crc = crc32c(crc, line, (size_t)(end - line));
		line = end;
	}
	return crc32c(crc, "\n", 1);
}

/* Of all modules. A kernel without loadable modules has no such file. */
static int hash_modules(const struct root *root, uint32_t *out)
{
	const char *at, *line, *stop;
	uint32_t crc = 0;
	BUF_AUTO(text, MAX_MODULES_BYTES);
	int rc;

	rc = root_load(root, "/proc/modules", &text);
	at = buf_str(&text);
	while ((line = str_next_line(&at, buf_str(&text) + text.len, &stop)))
		crc = add_module(crc, root, line, stop);
	if (rc && rc != -ENOENT)
		return rc;
	*out = crc;
	return 0;
}

int survey_symbols_key_init(struct survey_symbols_key *key, const struct root *root,
			    uint32_t start_crc)
{
	char boot[64], release[128];
	uint32_t modules;
	int rc = root_load_line(root, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));

	rc = rc ? rc : root_load_line(root, "/proc/sys/kernel/osrelease", release, sizeof(release));
	rc = rc ? rc : hash_modules(root, &modules);
	if (rc)
		return rc;
	snprintf(key->text, sizeof(key->text), "cpuperf-symbols 2 %s %s %08" PRIx32 " %08" PRIx32,
		 boot, release, modules, start_crc);
	return 0;
}

/* Owned by the effective user, without access for others. */
static bool is_private(const struct stat *st, mode_t type)
{
	return (st->st_mode & S_IFMT) == type && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IRWXG | S_IRWXO));
}

int survey_symbols_cache_open(const char *folder)
{
	int rc = survey_ops()->mkdir(folder, 0700), fd;
	struct stat st;

	if (rc && rc != -EEXIST)
		return rc;
	fd = sys()->openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);
	if (rc == 0 && is_private(&st, S_IFDIR))
		return fd;
	io_close(&fd);
	return rc ? rc : -EPERM;
}

static void make_head(char head[SURVEY_SYMBOLS_HEAD_BYTES], const struct survey_symbols_key *key,
		      const struct buf *file)
{
	size_t len = file->len - SURVEY_SYMBOLS_HEAD_BYTES;
	char line[SURVEY_SYMBOLS_HEAD_BYTES];
	int n = snprintf(line, sizeof(line), "%s %zu %08" PRIx32, key->text, len,
			 crc32c(0, file->data + SURVEY_SYMBOLS_HEAD_BYTES, len));

	memset(head, ' ', SURVEY_SYMBOLS_HEAD_BYTES);
	memcpy(head, line, (size_t)n);
	head[SURVEY_SYMBOLS_HEAD_BYTES - 1] = '\n';
}

bool survey_symbols_cache_next(const struct buf *file, size_t *at, const void **piece, size_t *len)
{
	struct cursor c;
	uint32_t bytes;
	const void *p;

	cursor_init(&c, file->data + *at, file->len - *at);
	bytes = cursor_le32(&c);
	p = cursor_bytes(&c, bytes);
	if (!cursor_ok(&c))
		return false;
	*piece = p;
	*len = bytes;
	*at += sizeof(bytes) + bytes;
	return true;
}

/* Whether the head matches, and the pieces fill the file. */
static bool is_sound(const struct buf *file, const struct survey_symbols_key *key)
{
	char head[SURVEY_SYMBOLS_HEAD_BYTES];
	size_t at = sizeof(head), len;
	const void *piece;

	make_head(head, key, file);
	if (memcmp(head, file->data, sizeof(head)) != 0)
		return false;
	while (survey_symbols_cache_next(file, &at, &piece, &len))
		;
	return at == file->len;
}

int survey_symbols_cache_load(int dirfd, const struct survey_symbols_key *key, struct buf *file)
{
	/* O_NONBLOCK: do not hang if it is a FIFO */
	IO_AUTO_FD int fd = sys()->openat(dirfd, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;
	int rc = fd < 0 ? fd : sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);
	ssize_t n;
	void *p;

	if (rc)
		return rc;
	if (!is_private(&st, S_IFREG) || st.st_nlink != 1 || st.st_size < SURVEY_SYMBOLS_HEAD_BYTES)
		return -EINVAL;
	p = buf_reserve(file, (size_t)st.st_size);
	if (!p)
		return buf_error(file);
	mem_populate(p, (size_t)st.st_size);
	n = io_read_full(fd, p, (size_t)st.st_size);
	if (n < 0)
		return (int)n;
	file->len = (size_t)n;
	return n == st.st_size && is_sound(file, key) ? 0 : -EINVAL;
}

void survey_symbols_cache_add(struct buf *file, const void *piece, size_t len)
{
	if (!file->len)
		buf_fill(file, ' ', SURVEY_SYMBOLS_HEAD_BYTES);
	buf_le32(file, (uint32_t)len);
	buf_add(file, piece, len);
}

int survey_symbols_cache_store(int dirfd, const struct survey_symbols_key *key, struct buf *file)
{
	struct err e = {0};
	int rc = buf_error(file);

	rc = rc ? rc : sys()->flock(dirfd, LOCK_EX | LOCK_NB); /* until the descriptor is closed */
	if (rc)
		return rc;
	make_head(file->data, key, file);
	return io_write_atomic(dirfd, FILE_NAME, FILE_NAME, file->data, file->len, NULL, &e);
}
