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
	sqlite3_stmt *inserts[SQLITE_NR_TABLES]; /* of a row; NULL: no row yet */
	int fd;                                  /* own descriptor, to read it back */
	uint32_t host;                           /* 0: none */
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
	rc = make_path(path) ?: open_database(f, path);
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

static void end_inserts(struct sqlite_file *f)
{
	for (size_t i = 0; i < SQLITE_NR_TABLES; i++) {
		sqlite3_finalize(f->inserts[i]);
		f->inserts[i] = NULL;
	}
}

void sqlite_file_close(struct sqlite_file *f)
{
	if (!f)
		return;
	end_inserts(f);
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
	return rc ?: output_write(j->output, e);
}

int sqlite_file_write(struct sqlite_file *f, struct job *j, struct err *e)
{
	int code;

	end_inserts(f);
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

static int bind(sqlite3_stmt *stmt, int at, const struct sqlite_cell *c)
{
	char digits[DIGITS_ROOM];

	switch (c->kind) {
	case SQLITE_CELL_I64:
		return sqlite3_bind_int64(stmt, at, c->v.i64);
	case SQLITE_CELL_U64:
		return sqlite3_bind_text(stmt, at, digits,
					 (int)(digits_dec(digits, c->v.u64) - digits),
					 SQLITE_TRANSIENT);
	case SQLITE_CELL_REAL:
		return sqlite3_bind_double(stmt, at, c->v.real);
	case SQLITE_CELL_TEXT:
		return sqlite3_bind_text(stmt, at, c->v.text, -1, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(stmt, at);
	}
}

static int prepare(struct sqlite_file *f, enum sqlite_table table, size_t nr_cells)
{
	char sql[SQL_BYTES];
	int len = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?", sqlite_schemas[table].name);

	for (size_t i = 1; i < nr_cells; i++)
		len += snprintf(sql + len, sizeof(sql) - (size_t)len, ",?");
	snprintf(sql + len, sizeof(sql) - (size_t)len, ")");
	return sqlite3_prepare_v2(f->db, sql, -1, &f->inserts[table], NULL);
}

void sqlite_file_set_host(struct sqlite_file *f, uint32_t host)
{
	f->host = host;
}

void sqlite_file_row(struct sqlite_file *f, enum sqlite_table table,
		     const struct sqlite_cell *cells, size_t nr)
{
	const struct sqlite_cell host = sqlite_maybe(f->host, f->host);
	const bool has_host = sqlite_schemas[table].has_host;
	int code = SQLITE_OK;

	if (f->error)
		return;
	if (!f->inserts[table])
		code = prepare(f, table, nr + has_host);
	for (size_t i = 0; i < nr && code == SQLITE_OK; i++)
		code = bind(f->inserts[table], (int)i + 1, &cells[i]);
	if (has_host && code == SQLITE_OK)
		code = bind(f->inserts[table], (int)nr + 1, &host);
	if (code == SQLITE_OK)
		code = sqlite3_step(f->inserts[table]);
	if (code != SQLITE_DONE)
		fail(f, code);
	sqlite3_reset(f->inserts[table]);
}
