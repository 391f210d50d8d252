/*
 * Writes through SQLite's library. The file is unlinked as soon as the library has opened it; it
 * needs no journal, because nobody sees it before it is complete.
 */
#include "exports/sqlite/file.h"

#include "base/digits.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 256 << 10, MESSAGE_BYTES = 256, SQL_BYTES = 256 };

struct sqlite_file {
	sqlite3 *db;
	int fd; /* own descriptor, to read it back */
	int error;
	char message[MESSAGE_BYTES];
};

static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_TOOBIG:
		return -EFBIG;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return -EIO;
	default:
		return -EINVAL;
	}
}

static void fail(struct sqlite_file *f, int code)
{
	if (f->error)
		return;
	f->error = errno_of(code);
	snprintf(f->message, sizeof(f->message), "%s",
		 f->db ? sqlite3_errmsg(f->db) : sqlite3_errstr(code));
}

int sqlite_file_error(const struct sqlite_file *f, struct err *e)
{
	if (!f->error)
		return 0;
	err_set(e, f->error, "the database cannot be written: %s", f->message);
	if (f->error == -ENOSPC || f->error == -EIO)
		err_hint(e, "it is built in TMPDIR, or /tmp: is there enough space?");
	return f->error;
}

void sqlite_file_run(struct sqlite_file *f, const char *sql)
{
	int code = f->error ? SQLITE_OK : sqlite3_exec(f->db, sql, NULL, NULL, NULL);

	if (code != SQLITE_OK)
		fail(f, code);
}

/* The library opens by name, so the file has one until then. */
static int open_database(struct sqlite_file *f, char *path)
{
	int code;

	f->fd = mkostemp(path, O_CLOEXEC); /* mode 0600 */
	if (f->fd < 0)
		return -errno;
	code =
	    sqlite3_open_v2(path, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none");
	unlink(path);
	if (code != SQLITE_OK)
		fail(f, code);
	return 0;
}

static int make_path(char path[PATH_MAX])
{
	const char *folder = getenv("TMPDIR");
	int len =
	    snprintf(path, PATH_MAX, "%s/cpuperf.XXXXXX", folder && *folder ? folder : "/tmp");

	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int sqlite_file_open(struct sqlite_file **out, struct err *e)
{
	struct sqlite_file *f = mem_zalloc(sizeof(*f));
	char path[PATH_MAX];
	int rc;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->fd = -1;
	rc = make_path(path);
	if (rc == 0)
		rc = open_database(f, path);
	if (rc)
		err_set_at(e, rc, path, 0, 0, "cannot be created: %s", strerror(-rc));
	if (rc == 0) {
		sqlite_file_run(f, "PRAGMA page_size=8192; PRAGMA journal_mode=OFF;"
				   "PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
				   "PRAGMA cache_size=-32768; BEGIN");
		rc = sqlite_file_error(f, e);
	}
	if (rc)
		sqlite_file_close(f);
	else
		*out = f;
	return rc;
}

void sqlite_file_close(struct sqlite_file *f)
{
	if (!f)
		return;
	sqlite3_close(f->db);
	io_close(&f->fd);
	mem_free(f);
}

static int copy(struct sqlite_file *f, struct job *j, struct err *e)
{
	int rc = 0;

	for (off_t at = 0; rc == 0;) {
		char *p = buf_reserve(&j->output->text, COPY_BYTES);
		ssize_t nr = p ? pread(f->fd, p, COPY_BYTES, at) : 0;

		if (nr < 0)
			return err_set(e, -errno, "the database cannot be read back: %s",
				       strerror(errno));
		if (nr == 0)
			break;
		buf_use(&j->output->text, (size_t)nr);
		at += nr;
		rc = output_write(j->output, e);
	}
	return rc ? rc : output_write(j->output, e);
}

int sqlite_file_write(struct sqlite_file *f, struct job *j, struct err *e)
{
	int code;

	sqlite_file_run(f, "COMMIT");
	if (f->error)
		return sqlite_file_error(f, e);
	code = sqlite3_close(f->db);
	if (code != SQLITE_OK) {
		fail(f, code);
		return sqlite_file_error(f, e);
	}
	f->db = NULL;
	return copy(f, j, e);
}

/* --- rows ------------------------------------------------------------------------------------ */

void sqlite_rows_open(struct sqlite_rows *r, struct sqlite_file *f, const char *table, unsigned nr)
{
	char sql[SQL_BYTES];
	int len = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?", table), code;

	*r = (struct sqlite_rows){.file = f, .nr = nr};
	for (unsigned i = 1; i < nr; i++)
		len += snprintf(sql + len, sizeof(sql) - (size_t)len, ",?");
	snprintf(sql + len, sizeof(sql) - (size_t)len, ")");
	code = f->error ? SQLITE_OK : sqlite3_prepare_v2(f->db, sql, -1, &r->stmt, NULL);
	if (code != SQLITE_OK)
		fail(f, code);
}

void sqlite_rows_close(struct sqlite_rows *r)
{
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
}

/* The number of the next cell; 0: an error occurred, nothing is written. */
static int next(struct sqlite_rows *r)
{
	return r->file->error ? 0 : (int)++r->at;
}

static void check(struct sqlite_rows *r, int code)
{
	if (code != SQLITE_OK)
		fail(r->file, code);
}

void sqlite_i64(struct sqlite_rows *r, int64_t v)
{
	int at = next(r);

	if (at)
		check(r, sqlite3_bind_int64(r->stmt, at, v));
}

void sqlite_u64(struct sqlite_rows *r, uint64_t v)
{
	char digits[DIGITS_ROOM];
	int at;

	if (v <= INT64_MAX) {
		sqlite_i64(r, (int64_t)v);
		return;
	}
	at = next(r);
	if (at)
		check(r,
		      sqlite3_bind_text(r->stmt, at, digits, (int)(digits_dec(digits, v) - digits),
					SQLITE_TRANSIENT));
}

void sqlite_real(struct sqlite_rows *r, double v)
{
	int at = next(r);

	if (at)
		check(r, sqlite3_bind_double(r->stmt, at, v));
}

void sqlite_none(struct sqlite_rows *r)
{
	int at = next(r);

	if (at)
		check(r, sqlite3_bind_null(r->stmt, at));
}

void sqlite_text(struct sqlite_rows *r, const char *text)
{
	int at;

	if (!text) {
		sqlite_none(r);
		return;
	}
	at = next(r);
	if (at)
		check(r, sqlite3_bind_text(r->stmt, at, text, -1, SQLITE_STATIC));
}

void sqlite_maybe(struct sqlite_rows *r, bool holds, uint64_t v)
{
	if (holds)
		sqlite_u64(r, v);
	else
		sqlite_none(r);
}

void sqlite_row_end(struct sqlite_rows *r)
{
	int code;

	if (r->file->error)
		return;
	code = r->at == r->nr ? sqlite3_step(r->stmt) : SQLITE_MISUSE;
	if (code != SQLITE_DONE)
		fail(r->file, code);
	sqlite3_reset(r->stmt);
	r->at = 0;
}
