/*
 * Reads and writes a session's manifest.
 */
#include "spec/cpsession.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/json_writer.h"
#include "base/sys.h"
#include "spec/diag.h"
#include "spec/doc.h"
#include "spec/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { ARENA_BYTES = 1 << 20 };

void cpsession_init(struct cpsession *s)
{
	*s = (struct cpsession){.num_iterations = 0};
	arena_init(&s->arena, ARENA_BYTES);
	keys_set_defaults(KEY_SESSION, s);
	keys_set_defaults(KEY_REMOVED, &s->removed);
	keys_set_defaults(KEY_EXPERIMENTS, &s->experiments);
}

void cpsession_fini(struct cpsession *s)
{
	arena_fini(&s->arena);
	cpsession_init(s);
}

/* Each says what was sped up. */
static void check_rows(struct doc *d, const struct cpsession *s)
{
	const struct cpsession_experiment *row = s->experiments.row.item;

	for (size_t i = 0; i < s->experiments.row.nr; i++)
		if (!*row[i].function && !*row[i].region)
			(void)diag_at(d->errs, d->source, (struct spec_pos){0},
				      "experiments: row %zu names neither a function nor a region",
				      i + 1);
}

static int read_text(struct doc *d, const char *text, size_t len, struct cpsession *s)
{
	size_t errors = diag_count(d->errs);
	int rc = doc_open(d, text, len, KEY_SESSION) ?: doc_read(d, d->root, 0, KEY_SESSION, s);

	doc_close(d);
	if (rc)
		return rc;
	check_rows(d, s);
	return diag_count(d->errs) == errors ? 0 : -EINVAL;
}

/* An empty text may be the begin of a manifest, and so may a comment. */
static bool is_of_another_kind(const char *text, size_t len)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	const char *end = text + len;

	if (len >= 3 && memcmp(text, byte_order_mark, 3) == 0)
		text += 3;
	while (text < end && (*text == ' ' || (*text >= '\t' && *text <= '\r')))
		text++;
	return text < end && *text != '{' && *text != '[' && *text != '/';
}

int cpsession_parse(const char *text, size_t len, const char *source, struct cpsession *s,
		    struct err_list *errs)
{
	struct cpsession fresh;
	struct doc d = {.source = source, .errs = errs, .arena = &fresh.arena};
	struct err e = {.code = 0};
	int rc;

	if (is_of_another_kind(text, len)) {
		rc = err_set_at(&e, -EINVAL, source, 0, 0,
				"is neither a manifest (.cpsession) nor a recording (perf.data)");
		err_list_insert(errs, &e);
		cpsession_fini(s);
		return rc;
	}
	cpsession_init(&fresh);
	rc = read_text(&d, text, len, &fresh);
	cpsession_fini(s);
	if (rc)
		cpsession_fini(&fresh);
	else
		*s = fresh;
	return rc;
}

int cpsession_load(const char *path, struct cpsession *s, struct err_list *errs)
{
	struct err e = {.code = 0};
	IO_AUTO_FD int fd = io_open_linked_input(path, &e);

	if (fd >= 0)
		return cpsession_load_fd(fd, path, s, errs);
	err_list_insert(errs, &e);
	return fd;
}

int cpsession_load_fd(int fd, const char *path, struct cpsession *s, struct err_list *errs)
{
	BUF_AUTO(text, SPEC_MAX_TEXT_BYTES);

	return doc_load_fd(fd, path, &text, errs)
		   ?: cpsession_parse(buf_str(&text), text.len, path, s, errs);
}

bool cpsession_is_locked(const char *path)
{
	char lock[PATH_MAX + sizeof(CPSESSION_LOCK)];
	IO_AUTO_FD int fd = -1;
	struct stat st;

	if ((size_t)snprintf(lock, sizeof(lock), "%s" CPSESSION_LOCK, path) >= sizeof(lock))
		return false;
	fd = io_open_regular(AT_FDCWD, lock, O_NOFOLLOW, &st);
	return fd >= 0 && sys()->flock(fd, LOCK_SH | LOCK_NB) == -EWOULDBLOCK;
}

const struct cpsession_experiment *cpsession_experiments(const struct cpsession *s, size_t *nr)
{
	*nr = s->experiments.row.nr;
	return s->experiments.row.item;
}

bool cpsession_is_causal(const struct cpsession *s)
{
	return s->experiments.row.nr || *s->experiments.why_none;
}

void cpsession_to_json(const struct cpsession *s, struct buf *out)
{
	struct json_writer w;

	jsonw_init(&w, out, false);
	write_object(&w, NULL, KEY_SESSION, s);
	buf_addc(out, '\n');
}
