#include "push/credentials.h"

#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct err *e, int rc, const char *path, const char *why)
{
	return err_set_at(e, rc, "--push-credentials", 0, 0, "%s: %s", path, why);
}

static int check_mode(const struct stat *st, const char *path, struct err *e)
{
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return fail(e, -EPERM, path, "belongs to another user");
	if (!(st->st_mode & (S_IRWXG | S_IRWXO)))
		return 0;
	fail(e, -EPERM, path, "others may read it");
	err_hint(e, "chmod 600, and change what it contains");
	return -EPERM;
}

static const char *skip(const char *text, const char *word)
{
	size_t len = strlen(word);

	return strncmp(text, word, len) == 0 ? text + len : NULL;
}

/* A header may contain it: visible ASCII, and blanks in a password. */
static bool is_secret(const char *s, bool is_basic)
{
	for (const char *at = s; *at; at++)
		if (*at < ' ' || *at > '~' || (*at == ' ' && !is_basic))
			return false;
	return is_basic ? strchr(s, ':') && *s != ':' : *s;
}

static int parse(const char *text, struct push_credentials *out)
{
	const char *basic = skip(text, "basic "), *bearer = skip(text, "bearer ");
	const char *secret = basic ? basic : bearer;

	if (!secret || !is_secret(secret, basic != NULL))
		return -EINVAL;
	out->is_basic = basic != NULL;
	memcpy(out->secret, secret, strlen(secret) + 1);
	return 0;
}

static int load(int fd, const char *path, struct push_credentials *out, struct err *e)
{
	char text[PUSH_SECRET_BYTES];
	ssize_t len = io_read_full(fd, text, sizeof(text) - 1);
	int rc = 0;

	if (len < 0)
		return fail(e, (int)len, path, strerror((int)-len));
	text[len] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if ((size_t)len == sizeof(text) - 1 || parse(text, out)) {
		rc = fail(e, -EINVAL, path,
			  "its first line is neither bearer TOKEN nor basic USER:PASSWORD");
	}
	explicit_bzero(text, sizeof(text));
	return rc;
}

int push_credentials_load(const char *path, struct push_credentials *out, struct err *e)
{
	IO_AUTO_FD int fd = -1;
	struct stat st;
	int rc;

	memset(out, 0, sizeof(*out));
	fd = io_open_regular(AT_FDCWD, path, 0, &st);
	if (fd < 0)
		return fail(e, fd, path, strerror(-fd));
	rc = check_mode(&st, path, e) ?: load(fd, path, out, e);
	if (rc)
		push_credentials_forget(out);
	return rc;
}

void push_credentials_forget(struct push_credentials *c)
{
	explicit_bzero(c, sizeof(*c));
}
