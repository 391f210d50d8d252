/*
 * Reads /proc/kallsyms, or what was kept of it. Its first lines are read in any case: they say
 * whether addresses are shown to us, and are compared with those that were kept. Must not know what
 * becomes of the text.
 */
#include "survey/symbols.h"

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/io.h"
#include "base/log.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "survey/symbols_cache.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* seq_file gives less than a page at a time, whatever is asked for. */
enum { READ_BYTES = 4096 };

struct symbols {
	const struct survey_symbols_config *config;
	int fd;             /* owned; of kallsyms */
	int dirfd;          /* owned; where it is kept; -1: nowhere */
	struct buf text;    /* what is not given */
	struct buf file;    /* what was kept, or is to be */
	uint32_t start_crc; /* of the first lines */
	bool has_changing;  /* text begins with lines of what changes */
	struct survey_symbols_key key;
};

static bool is_stopped(const struct symbols *s)
{
	return s->config->stop && atomic_load(s->config->stop);
}

/* How a line ends that is not of the kernel or a module. */
static bool is_changing(const char *tab, size_t len)
{
	static const char *const ends[] = {"\t[__builtin__ftrace]\n", "\t[bpf]\n",
					   "\t[__builtin__kprobes]\n"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strlen(ends[i]) == len && memcmp(ends[i], tab, len) == 0)
			return true;
	return false;
}

static size_t whole_lines(const char *text, size_t len)
{
	const char *newline = memrchr(text, '\n', len);

	return newline ? (size_t)(newline + 1 - text) : 0;
}

/* How much of it comes before the first line of what changes. Only lines with a tab are looked at:
 * in those of the kernel itself, which are most, there is none. */
static size_t lasting_lines(const char *text, size_t len)
{
	const char *tab = text, *stop = text + len, *newline;

	while ((tab = memchr(tab, '\t', (size_t)(stop - tab)))) {
		newline = memchr(tab, '\n', (size_t)(stop - tab));
		if (!newline)
			break;
		if (is_changing(tab, (size_t)(newline + 1 - tab)))
			return whole_lines(text, (size_t)(tab - text));
		tab = newline;
	}
	return len;
}

/* More of the file; what read(2) gives. */
static ssize_t load_more(struct symbols *s)
{
	char *p = buf_reserve(&s->text, READ_BYTES);
	ssize_t n = p ? -EINTR : buf_error(&s->text);

	while (n == -EINTR)
		n = sys()->read(s->fd, p, READ_BYTES);
	if (n > 0)
		s->text.len += (size_t)n;
	return n;
}

/* With kptr_restrict all addresses are 0; without, those of per-CPU variables may be, and they come
 * first. */
static bool has_address(const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;

	while ((line = str_next_line(&text, end, &stop))) {
		while (line != stop && *line == '0')
			line++;
		if (line != stop && *line != ' ')
			return true;
	}
	return false;
}

/* As a piece, and keeps that; what cannot be packed is given as it is, and nothing is kept. */
static int pass_lines(struct symbols *s, const char *text, size_t len)
{
	const struct survey_symbols_config *c = s->config;
	const void *piece;
	size_t piece_len;

	if (s->dirfd >= 0 && c->pack(text, len, &piece, &piece_len, c->arg)) {
		survey_symbols_cache_add(&s->file, piece, piece_len);
		return c->pass_packed(piece, piece_len, c->arg);
	}
	io_close(&s->dirfd);
	return c->give(text, len, c->arg);
}

/* The whole lines there are; at the end of the file, also one that is not whole. */
static int give(struct symbols *s, bool is_end)
{
	size_t whole = is_end ? s->text.len : whole_lines(s->text.data, s->text.len);
	size_t len = s->config->wants_changing ? whole : lasting_lines(s->text.data, whole);
	int rc = len ? pass_lines(s, s->text.data, len) : 0;

	s->has_changing = len < whole;
	s->text.len -= len;
	memmove(s->text.data, s->text.data + len, s->text.len);
	return rc;
}

/* Before more is read. */
static int make_room(struct symbols *s)
{
	size_t before = s->text.len;
	int rc;

	if (before <= SURVEY_SYMBOLS_PIECE_BYTES - READ_BYTES)
		return 0;
	rc = give(s, false);
	return rc || s->has_changing || s->text.len < before ? rc : -EFBIG;
}

/* Gives the rest of the file; of what changes nothing. */
static int read_text(struct symbols *s)
{
	ssize_t n = 1;
	int rc;

	while (n > 0 && !s->has_changing && !is_stopped(s)) {
		rc = make_room(s);
		if (rc)
			return rc;
		n = s->has_changing ? 0 : load_more(s);
	}
	rc = s->has_changing ? 0 : give(s, n == 0);
	if (rc || s->has_changing || n == 0)
		return rc;
	return n < 0 ? (int)n : -ECANCELED;
}

/* Says in the log why later sessions have to read it again; nobody else minds. */
static void say_not_kept(int rc)
{
	if (rc < 0)
		log_verbose(1, "the kernel's symbols cannot be cached: %s", strerror(-rc));
}

/* If modules did not come or go meanwhile. */
static void keep(struct symbols *s)
{
	struct survey_symbols_key now;
	int rc = survey_symbols_key_init(&now, s->config->root, s->start_crc);

	if (rc == 0 && strcmp(now.text, s->key.text) != 0)
		rc = -ESTALE;
	say_not_kept(rc ? rc : survey_symbols_cache_keep(s->dirfd, &s->key, &s->file));
}

static int pass_read(struct symbols *s)
{
	int rc;

	buf_reset(&s->file);
	rc = read_text(s);
	if (rc == 0 && s->dirfd >= 0 && s->file.len)
		keep(s);
	return rc;
}

static int pass_cached(const struct symbols *s)
{
	size_t at = SURVEY_SYMBOLS_HEAD_BYTES, len;
	const void *piece;
	int rc = 0;

	while (rc == 0 && survey_symbols_cache_next(&s->file, &at, &piece, &len))
		rc =
		    is_stopped(s) ? -ECANCELED : s->config->pass_packed(piece, len, s->config->arg);
	return rc;
}

/* Opens kallsyms, and reads what it begins with. */
static int begin(struct symbols *s)
{
	ssize_t n;

	s->fd = root_open(s->config->root, "/proc/kallsyms");
	if (s->fd < 0)
		return s->fd;
	n = load_more(s);
	if (n < 0)
		return (int)n;
	if (n > 0 && !has_address(s->text.data, s->text.len))
		return -EACCES;
	s->start_crc = crc32c(0, s->text.data, lasting_lines(s->text.data, s->text.len));
	return 0;
}

static void open_folder(struct symbols *s)
{
	const struct survey_symbols_config *c = s->config;
	int rc;

	if (!c->folder || c->wants_changing)
		return;
	rc = survey_symbols_key_init(&s->key, c->root, s->start_crc);
	s->dirfd = rc ? rc : survey_symbols_cache_open(c->folder);
	say_not_kept(s->dirfd);
}

static int pass_all(struct symbols *s)
{
	open_folder(s);
	if (s->dirfd >= 0 && survey_symbols_cache_load(s->dirfd, &s->key, &s->file) == 0)
		return pass_cached(s);
	return pass_read(s);
}

int survey_symbols_run(const struct survey_symbols_config *c)
{
	struct symbols s = {.config = c, .fd = -1, .dirfd = -1};
	int rc;

	buf_init(&s.text, 2 * SURVEY_SYMBOLS_PIECE_BYTES);
	buf_init(&s.file, SURVEY_SYMBOLS_MAX_BYTES);
	rc = begin(&s);
	rc = rc ? rc : pass_all(&s);
	io_close(&s.dirfd);
	io_close(&s.fd);
	buf_fini(&s.text);
	buf_fini(&s.file);
	return rc;
}

bool survey_symbols_folder(char *path, size_t size)
{
	const char *base = geteuid() == 0 ? "/run" : secure_getenv("XDG_RUNTIME_DIR");
	int len = base && *base == '/' ? snprintf(path, size, "%s/cpuperf", base) : -1;

	return len >= 0 && (size_t)len < size;
}
