#include "exports/parquet/store.h"

#include "base/buf.h"
#include "base/draft.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sys.h"
#include "spec/cpsession.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	FLUSH_BYTES = 256 << 10,
	MAX_OUT_BYTES = 1 << 30,
	PLACE_BYTES = sizeof("day=2000-01-01/host=") + 3 * 64 + sizeof("/.parquet") + 32,
	NS_PER_S = 1000000000,
};
/* What readers of such folders take for NULL. */
#define NOT_KNOWN "__HIVE_DEFAULT_PARTITION__"

struct table {
	struct parquet *file;
	struct draft draft;
	char path[PATH_MAX];
	struct buf out;
	bool is_published;
};

struct store {
	const char *folder;
	struct store_session session;
	char place[PLACE_BYTES + sizeof(NOT_KNOWN)]; /* of its files, in a table's folder */
	struct table *tables[STORE_NR_TABLES];       /* NULL: no row yet */
	struct err problem;
	int error;
};

/* --- names ----------------------------------------------------------------------------------- */

static void put_day(struct buf *b, uint64_t realtime_ns)
{
	time_t s = (time_t)(realtime_ns / NS_PER_S);
	struct tm tm;

	buf_adds(b, "day=");
	if (realtime_ns && gmtime_r(&s, &tm))
		buf_printf(b, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
	else
		buf_adds(b, NOT_KNOWN);
}

/* Anything else as "%2F". */
static void put_host(struct buf *b, const char *host)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_";

	buf_adds(b, "/host=");
	if (!*host)
		buf_adds(b, NOT_KNOWN);
	for (; *host; host++)
		if (strchr(plain, *host))
			buf_addc(b, *host);
		else
			buf_printf(b, "%%%02X", (unsigned char)*host);
}

static int make_place(struct store *s)
{
	BUF_AUTO(place, sizeof(s->place) - 1);

	put_day(&place, s->session.realtime_ns);
	put_host(&place, s->session.host);
	buf_printf(&place, "/%s.parquet", s->session.id);
	memcpy(s->place, buf_str(&place), place.len + 1);
	return buf_error(&place);
}

static int make_path(const struct store *s, enum store_table table, char path[PATH_MAX])
{
	int len =
	    snprintf(path, PATH_MAX, "%s/%s/%s", s->folder, store_schemas[table].name, s->place);

	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int cannot_write(const char *path, int rc, struct err *e)
{
	return err_set_at(e, rc, path, 0, 0, "cannot be written: %s", strerror(-rc));
}

/* The folders of path, from its first len characters on. */
static int make_folders(const char *path, size_t len, struct err *e)
{
	char folder[PATH_MAX];

	for (const char *end = path + len; end; end = strchr(end + 1, '/')) {
		int rc;

		snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
		rc = sys()->mkdirat(AT_FDCWD, folder, 0700);
		if (rc && rc != -EEXIST)
			return cannot_write(folder, rc, e);
	}
	return 0;
}

/* --- a store --------------------------------------------------------------------------------- */

static int check_folder(const char *folder, struct err *e)
{
	char path[PATH_MAX];
	struct stat st;

	if (sys()->fstatat(AT_FDCWD, folder, &st, 0) == 0 && !S_ISDIR(st.st_mode)) {
		err_set_at(e, -ENOTDIR, folder, 0, 0, "is not a folder");
		err_hint(e, "a store is a folder of many files: name a new one");
		return -ENOTDIR;
	}
	snprintf(path, sizeof(path), "%s/" CPSESSION_FOLDER_MANIFEST, folder);
	if (sys()->fstatat(AT_FDCWD, path, &st, 0) == 0) {
		err_set_at(e, -EEXIST, folder, 0, 0, "is the folder of a session: not a store");
		err_hint(e, "choose another name for --output-file");
		return -EEXIST;
	}
	return 0;
}

int store_open(const char *folder, const struct store_session *session, struct store **out,
	       struct err *e)
{
	struct store *s = mem_zalloc(sizeof(*s));
	char path[PATH_MAX];
	struct stat st;
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->folder = folder;
	s->session = *session;
	rc = make_place(s) ?: make_path(s, STORE_SESSIONS, path);
	if (rc)
		cannot_write(folder, rc, e);
	else
		rc = check_folder(folder, e);
	if (rc == 0 && sys()->fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		rc = 1;
	if (rc)
		store_close(s);
	else
		*out = s;
	return rc;
}

static void close_table(struct table *t)
{
	if (!t)
		return;
	parquet_free(t->file);
	draft_drop(&t->draft);
	buf_fini(&t->out);
	mem_free(t);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < STORE_NR_TABLES; i++)
		close_table(s->tables[i]);
	mem_free(s);
}

int store_error(const struct store *s, struct err *e)
{
	if (s->error && !e->code)
		*e = s->problem;
	return s->error;
}

static void fail(struct store *s, const char *path, int rc)
{
	if (s->error)
		return;
	s->error = rc;
	if (!s->problem.code)
		cannot_write(path, rc, &s->problem);
}

static int open_table(struct store *s, enum store_table table, struct table *t)
{
	const struct store_schema *schema = &store_schemas[table];

	t->file = parquet_new(schema->columns, store_schema_nr_columns(schema));
	return (t->file ? 0 : -ENOMEM) ?:
	       make_path(s, table, t->path) ?:
	       make_folders(t->path, strlen(s->folder), &s->problem) ?:
	       draft_open(&t->draft, t->path, &s->problem);
}

static struct table *find_table(struct store *s, enum store_table table)
{
	struct table *t = s->tables[table];
	int rc;

	if (t)
		return t;
	t = mem_zalloc(sizeof(*t));
	if (!t) {
		fail(s, s->folder, -ENOMEM);
		return NULL;
	}
	t->draft = (struct draft)DRAFT_NONE;
	buf_init(&t->out, MAX_OUT_BYTES);
	rc = open_table(s, table, t);
	if (rc)
		fail(s, s->folder, rc);
	s->tables[table] = t;
	return t;
}

static int write_out(struct table *t, size_t least)
{
	int rc = t->out.len >= least ? io_write_full(t->draft.fd, t->out.data, t->out.len) : 0;

	if (t->out.len >= least)
		buf_reset(&t->out);
	return rc;
}

void store_row(struct store *s, enum store_table table, const struct parquet_cell *cells, size_t nr)
{
	struct parquet_cell row[STORE_MAX_COLUMNS] = {parquet_text(s->session.id),
						      parquet_text(s->session.host)};
	struct table *t = s->error ? NULL : find_table(s, table);
	int rc;

	if (s->error)
		return;
	memcpy(row + STORE_COMMON_COLUMNS, cells, nr * sizeof(*cells));
	rc = parquet_row(t->file, row, &t->out) ?: write_out(t, FLUSH_BYTES);
	if (rc)
		fail(s, t->path, rc);
}

static int end_table(const struct store *s, enum store_table table)
{
	struct table *t = s->tables[table];
	const struct parquet_fact facts[] = {{"cpuperf.store", STORE_VERSION},
					     {"cpuperf.table", store_schemas[table].name},
					     {"cpuperf.version", CPUPERF_VERSION},
					     {"cpuperf.session", s->session.id},
					     {"cpuperf.spec", s->session.config_name}};

	return parquet_end(t->file, facts, sizeof(facts) / sizeof(facts[0]), &t->out)
		   ?: write_out(t, 1);
}

/* Of an addition of the same session that was killed. */
static int may_replace(int fd)
{
	char begin[4];

	return io_pread_full(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
	       memcmp(begin, "PAR1", sizeof(begin)) == 0;
}

static void withdraw(struct store *s)
{
	for (size_t i = 0; i < STORE_NR_TABLES; i++)
		if (s->tables[i] && s->tables[i]->is_published)
			sys()->unlinkat(AT_FDCWD, s->tables[i]->path, 0);
}

int store_publish(struct store *s, struct err *e)
{
	if (!s->error)
		find_table(s, STORE_LOSSES);
	for (enum store_table i = 0; i < STORE_NR_TABLES && !s->error; i++) {
		int rc = s->tables[i] ? end_table(s, i) : 0;

		if (rc)
			fail(s, s->tables[i]->path, rc);
	}
	for (enum store_table i = 0; i < STORE_NR_TABLES && !s->error; i++) {
		struct table *t = s->tables[i];
		int rc = t ? draft_publish(&t->draft, may_replace, &s->problem) : 0;

		if (rc)
			fail(s, t->path, rc);
		else if (t)
			t->is_published = true;
	}
	if (s->error)
		withdraw(s);
	return store_error(s, e);
}
