/*
 * A file: a head of fixed size, the query, the body. Its name begins with the time at which it was
 * stored, so that names are in order of time. It appears complete, and is removed when it was sent:
 * processes need no lock but for sending.
 */
#include "push/spool.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/draft.h"
#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char magic[8] = "cpfpush1", suffix[] = ".push", state_name[] = "backoff";
enum { HEAD_BYTES = sizeof(magic) + 16, NAME_DIGITS = 20, MAX_STATE_BYTES = 64 + PUSH_WHY_BYTES };

static int fail(struct err *e, int rc, const char *path, const char *why)
{
	return err_set_at(e, rc, "--push-spool", 0, 0, "%s: %s", path, why);
}

/* --- folders ------------------------------------------------------------------------------------
 */

static int check_folder(int fd, const char *path, struct err *e)
{
	struct stat st;
	int rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);

	if (rc)
		return fail(e, rc, path, strerror(-rc));
	if (st.st_uid != geteuid())
		return fail(e, -EPERM, path, "belongs to another user");
	if (!(st.st_mode & (S_IRWXG | S_IRWXO)))
		return 0;
	fail(e, -EPERM, path, "others may enter this folder");
	err_hint(e, "chmod 700, or name a folder that does not exist");
	return -EPERM;
}

/* The folder name in dirfd; path: for messages. */
static int open_folder(int dirfd, const char *name, const char *path, struct err *e)
{
	int rc = sys()->mkdirat(dirfd, name, 0700), fd;

	fd = rc && rc != -EEXIST
		 ? rc
		 : sys()->openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return fail(e, fd, path, strerror(-fd));
	rc = check_folder(fd, path, e);
	if (rc)
		io_close(&fd);
	return rc ?: fd;
}

/* The name of a receiver's folder: readable, and of this URL alone. */
static void name_folder(char name[NAME_MAX + 1], const char *scheme, const char *base)
{
	int len = snprintf(name, NAME_MAX + 1, "%s-%08" PRIx32 "-%.100s", scheme,
			   crc32c(0, base, strlen(base)), strstr(base, "://") + 3);

	for (int i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-",
			    name[i]))
			name[i] = '_';
}

int push_spool_open(struct push_spool *s, const char *folder, const char *scheme, const char *base,
		    const struct push_limits *limits, struct err *e)
{
	IO_AUTO_FD int outer = -1;
	char name[NAME_MAX + 1];

	*s = (struct push_spool){.fd = -1, .limits = *limits};
	outer = open_folder(AT_FDCWD, folder, folder, e);
	if (outer < 0)
		return outer;
	name_folder(name, scheme, base);
	if (snprintf(s->path, sizeof(s->path), "%s/%s", folder, name) >= (int)sizeof(s->path))
		return fail(e, -ENAMETOOLONG, folder, strerror(ENAMETOOLONG));
	s->fd = open_folder(outer, name, s->path, e);
	return s->fd < 0 ? s->fd : 0;
}

void push_spool_close(struct push_spool *s)
{
	io_close(&s->fd); /* and the lock */
}

int push_spool_lock(struct push_spool *s)
{
	return sys()->flock(s->fd, LOCK_EX | LOCK_NB);
}

/* --- entries ------------------------------------------------------------------------------------
 */

/* "00001234567890123456-…push": the time; false: no entry has such a name. */
static bool parse_name(const char *name, uint64_t *time_ns)
{
	char digits[NAME_DIGITS + 1];
	size_t len = strlen(name);

	if (len <= NAME_DIGITS + sizeof(suffix) || name[NAME_DIGITS] != '-' ||
	    len >= sizeof(((struct push_entry *)0)->name) ||
	    strcmp(name + len - strlen(suffix), suffix) != 0)
		return false;
	snprintf(digits, sizeof(digits), "%.*s", NAME_DIGITS, name);
	return str_parse_u64(digits, time_ns) == 0;
}

/* What the folder holds. */
struct survey {
	int fd;
	uint64_t nr, bytes, oldest_ns;
	char oldest[sizeof(((struct push_entry *)0)->name)]; /* "": none */
};

static int survey_name(const char *name, void *arg)
{
	struct survey *v = arg;
	uint64_t time_ns;
	struct stat st;

	if (!parse_name(name, &time_ns) || sys()->fstatat(v->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	v->nr++;
	v->bytes += (uint64_t)st.st_size;
	if (!*v->oldest || strcmp(name, v->oldest) < 0) {
		snprintf(v->oldest, sizeof(v->oldest), "%s", name);
		v->oldest_ns = time_ns;
	}
	return 0;
}

static int survey(const struct push_spool *s, struct survey *out)
{
	*out = (struct survey){.fd = s->fd};
	return io_each_name(s->fd, survey_name, out);
}

int push_spool_trim(struct push_spool *s, struct push_counts *counts)
{
	const uint64_t now_ns = clock_realtime_ns();

	for (;;) {
		struct survey v;
		int rc = survey(s, &v);
		bool is_old = v.oldest_ns < now_ns && now_ns - v.oldest_ns > s->limits.age_ns;
		bool is_full = v.bytes > s->limits.bytes;

		counts->waiting = v.nr;
		if (rc || !v.nr || (!is_old && !is_full))
			return rc;
		rc = sys()->unlinkat(s->fd, v.oldest, 0);
		if (rc && rc != -ENOENT)
			return rc;
		counts->old += !rc && is_old;
		counts->full += !rc && !is_old;
	}
}

static int write_entry(int fd, const char *query, const void *body, size_t len)
{
	BUF_AUTO(head, HEAD_BYTES + PUSH_VALUE_BYTES * 64);

	buf_add(&head, magic, sizeof(magic));
	buf_le64(&head, strlen(query));
	buf_le64(&head, len);
	buf_adds(&head, query);
	return buf_error(&head) ?: io_write_full(fd, head.data, head.len)
		     ?: io_write_full(fd, body, len);
}

int push_spool_add(struct push_spool *s, const char *query, const void *body, size_t len,
		   struct push_counts *counts, struct err *e)
{
	char path[PATH_MAX + 64];
	struct draft d = DRAFT_NONE;
	int rc;

	snprintf(path, sizeof(path), "%s/%0*" PRIu64 "-%d%s", s->path, NAME_DIGITS,
		 clock_realtime_ns(), (int)getpid(), suffix);
	rc = draft_open(&d, path, e);
	if (rc)
		return rc;
	rc = write_entry(d.fd, query, body, len);
	if (rc) {
		draft_drop(&d);
		return fail(e, rc, s->path, strerror(-rc));
	}
	rc = draft_publish(&d, NULL, e);
	counts->made += !rc;
	return rc ?: push_spool_trim(s, counts);
}

bool push_spool_remove(struct push_spool *s, const struct push_entry *entry)
{
	return sys()->unlinkat(s->fd, entry->name, 0) == 0;
}

/* The query becomes a text by moving it over the end of the head. */
static int parse_entry(struct buf *data, struct push_entry *out)
{
	uint64_t query_bytes, body_bytes;
	const uint8_t *begin;
	struct cursor c;

	cursor_init(&c, data->data, data->len);
	begin = cursor_bytes(&c, sizeof(magic));
	query_bytes = cursor_le64(&c);
	body_bytes = cursor_le64(&c);
	if (!cursor_ok(&c) || memcmp(begin, magic, sizeof(magic)) != 0 || query_bytes > c.left ||
	    body_bytes != c.left - query_bytes)
		return -EINVAL;
	out->query = data->data + HEAD_BYTES - 1;
	memmove(out->query, data->data + HEAD_BYTES, query_bytes);
	out->query[query_bytes] = '\0';
	out->body = data->data + HEAD_BYTES + query_bytes;
	out->body_bytes = body_bytes;
	return memchr(out->query, '\0', query_bytes) ? -EINVAL : 0;
}

int push_spool_first(struct push_spool *s, struct push_entry *out, struct buf *data,
		     struct push_counts *counts)
{
	for (;;) {
		struct survey v;
		int rc = survey(s, &v);

		if (rc || !v.nr)
			return rc;
		*out = (struct push_entry){.time_ns = v.oldest_ns};
		snprintf(out->name, sizeof(out->name), "%s", v.oldest);
		buf_reset(data);
		rc = io_load(s->fd, out->name, data);
		rc = rc ?: parse_entry(data, out);
		if (rc == 0)
			return 1;
		if (rc == -ENOMEM)
			return rc;
		if (push_spool_remove(s, out))
			counts->damaged++;
		else if (rc != -ENOENT)
			return rc;
	}
}

/* --- when to try next ---------------------------------------------------------------------------
 */

void push_spool_read_backoff(const struct push_spool *s, struct push_backoff *out)
{
	BUF_AUTO(text, MAX_STATE_BYTES);
	struct push_backoff b;
	char *second, *third;

	*out = (struct push_backoff){.failures = 0};
	if (io_load(s->fd, state_name, &text) || !text.len)
		return;
	text.data[strcspn(text.data, "\n")] = '\0';
	second = strchr(text.data, ' ');
	if (!second)
		return;
	*second++ = '\0';
	third = second + strcspn(second, " ");
	snprintf(b.why, sizeof(b.why), "%s", *third ? third + 1 : third);
	str_disarm(b.why);
	*third = '\0';
	if (str_parse_u64(text.data, &b.failures) == 0 &&
	    str_parse_u64(second, &b.not_before_ns) == 0)
		*out = b;
}

/* Without it the next program tries at once. */
void push_spool_write_backoff(const struct push_spool *s, const struct push_backoff *b)
{
	char text[MAX_STATE_BYTES];
	int len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %s\n", b->failures,
			   b->not_before_ns, b->why);

	if (b->failures)
		(void)io_write_atomic(s->fd, state_name, state_name, text, (size_t)len, NULL, NULL);
	else
		(void)sys()->unlinkat(s->fd, state_name, 0);
}
