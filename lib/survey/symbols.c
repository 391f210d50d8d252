/*
 * Reads /proc/kallsyms, or the cached copy.
 */
#include "survey/symbols.h"

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/io.h"
#include "base/log.h"
#include "base/privilege.h"
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

/* seq_file returns less than a page per read, whatever is requested. */
enum { READ_BYTES = 4096 };

struct symbols {
	const struct survey_symbols_config *config;
	int fd;             /* owned; kallsyms */
	int dirfd;          /* owned; the cache's folder; -1: no cache */
	struct buf text;    /* read, and not yet passed */
	struct buf file;    /* the cached file, read or to be written */
	uint32_t start_crc; /* of the first lines */
	bool has_changing;  /* text begins with lines that may change */
	struct survey_symbols_key key;
};

static bool is_stopped(const struct symbols *s)
{
	return s->config->stop && atomic_load(s->config->stop);
}

static size_t whole_lines(const char *text, size_t len)
{
	const char *newline = memrchr(text, '\n', len);

	return newline ? (size_t)(newline + 1 - text) : 0;
}

/* The length of the lines before the first one that may change. Only lines with a tab are compared:
 * those of the kernel itself, which are most, have none. */
static size_t lasting_lines(const char *text, size_t len)
{
	static const char *const changing[] = {"\t[__builtin__ftrace]\n", "\t[bpf]\n",
					       "\t[__builtin__kprobes]\n"};
	const char *tab = text, *stop = text + len, *newline;

	while ((tab = memchr(tab, '\t', (size_t)(stop - tab)))) {
		newline = memchr(tab, '\n', (size_t)(stop - tab));
		if (!newline)
			break;
		for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++)
			if (strlen(changing[i]) == (size_t)(newline + 1 - tab) &&
			    memcmp(changing[i], tab, (size_t)(newline + 1 - tab)) == 0)
				return whole_lines(text, (size_t)(tab - text));
		tab = newline;
	}
	return len;
}

/* Reads more of the file. The result of read(2). */
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

/* With kptr_restrict all addresses are 0. Without it, those of per-CPU variables may be, and they
 * come first. */
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

/* Passes and caches the packed text; if it cannot be packed, passes it as text and stops
 * caching. */
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
	return c->pass_text(text, len, c->arg);
}

/* Passes the complete lines that do not change; at the end of the file, also an incomplete one. */
static int pass_text(struct symbols *s, bool is_end)
{
	size_t whole = is_end ? s->text.len : whole_lines(s->text.data, s->text.len);
	size_t len = s->config->wants_changing ? whole : lasting_lines(s->text.data, whole);
	int rc = len ? pass_lines(s, s->text.data, len) : 0;

	s->has_changing = len < whole;
	s->text.len -= len;
	memmove(s->text.data, s->text.data + len, s->text.len);
	return rc;
}

/* Reads and passes the rest of the file, up to the lines that may change. */
static int read_text(struct symbols *s)
{
	ssize_t n = 1;
	int rc;

	while (n > 0 && !s->has_changing && !is_stopped(s)) {
		size_t before = s->text.len;

		if (before > SURVEY_SYMBOLS_PIECE_BYTES - READ_BYTES) {
			rc = pass_text(s, false);
			if (rc == 0 && !s->has_changing && s->text.len == before)
				rc = -EFBIG;
			if (rc)
				return rc;
		}
		n = s->has_changing ? 0 : load_more(s);
	}
	rc = s->has_changing ? 0 : pass_text(s, n == 0);
	if (rc || s->has_changing || n == 0)
		return rc;
	return n < 0 ? (int)n : -ECANCELED;
}

static void log_not_cached(int rc)
{
	if (rc < 0)
		log_verbose(1, "the kernel's symbols cannot be cached: %s", strerror(-rc));
}

/* Stores the file, unless modules were loaded or unloaded meanwhile. */
static void store(struct symbols *s)
{
	struct survey_symbols_key now;
	int rc = survey_symbols_key_init(&now, s->config->root, s->start_crc);

	if (rc == 0 && strcmp(now.text, s->key.text) != 0)
		rc = -ESTALE;
	log_not_cached(rc ? rc : survey_symbols_cache_store(s->dirfd, &s->key, &s->file));
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

/* Reads the first lines in any case: they show whether addresses are hidden, and whether the cache
 * is current. */
static int pass_all(struct symbols *s)
{
	const struct survey_symbols_config *c = s->config;
	ssize_t n;
	int rc;

	privilege_raise(); /* the kernel checks at open(2) whether addresses are hidden */
	s->fd = root_open(c->root, "/proc/kallsyms");
	privilege_lower();
	if (s->fd < 0)
		return s->fd;
	n = load_more(s);
	if (n < 0)
		return (int)n;
	if (n > 0 && !has_address(s->text.data, s->text.len))
		return -EACCES;
	s->start_crc = crc32c(0, s->text.data, lasting_lines(s->text.data, s->text.len));
	if (c->folder && !c->wants_changing) {
		rc = survey_symbols_key_init(&s->key, c->root, s->start_crc);
		s->dirfd = rc ? rc : survey_symbols_cache_open(c->folder);
		log_not_cached(s->dirfd);
	}
	if (s->dirfd >= 0 && survey_symbols_cache_load(s->dirfd, &s->key, &s->file) == 0)
		return pass_cached(s);
	buf_reset(&s->file);
	rc = read_text(s);
	if (rc == 0 && s->dirfd >= 0 && s->file.len)
		store(s);
	return rc;
}

int survey_symbols_run(const struct survey_symbols_config *c)
{
	struct symbols s = {.config = c, .fd = -1, .dirfd = -1};
	int rc;

	buf_init(&s.text, 2 * SURVEY_SYMBOLS_PIECE_BYTES);
	buf_init(&s.file, SURVEY_SYMBOLS_MAX_BYTES);
	rc = pass_all(&s);
	io_close(&s.dirfd);
	io_close(&s.fd);
	buf_fini(&s.text);
	buf_fini(&s.file);
	return rc;
}

bool survey_symbols_range(const char *text, size_t len, uint64_t *first, uint64_t *last)
{
	const char *end = text + len, *line, *stop;

	*first = UINT64_MAX;
	*last = 0;
	while ((line = str_next_line(&text, end, &stop))) {
		uint64_t address;

		if (str_scan_hex(&line, stop, &address))
			continue;
		*first = address < *first ? address : *first;
		*last = address > *last ? address : *last;
	}
	return *first <= *last;
}

bool survey_symbols_folder(char *path, size_t size)
{
	const char *base = geteuid() == 0 ? "/run" : secure_getenv("XDG_RUNTIME_DIR");
	int len = base && *base == '/' ? snprintf(path, size, "%s/cpuperf", base) : -1;

	return len >= 0 && (size_t)len < size;
}
