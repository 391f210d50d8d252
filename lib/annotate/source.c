/*
 * A list of files that were asked for, each with its text and where its lines begin, or nothing.
 */
#include "annotate/source.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/str.h"
#include "elf/finder.h"
#include "elf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 1 << 22, LINE_COST = sizeof(uint32_t) };

static const size_t max_path_bytes = (size_t)64 << 20;
static const char
    unreadable[] = "cannot be read",
    foreign[] = "is not in a folder named for it, as data of another user or container names it";

struct annotate_source {
	char *text; /* owned */
	uint32_t len;
	uint32_t *line; /* owned: where each begins */
	size_t nr_lines, room;
};

struct entry {
	const char *path;               /* the key */
	struct annotate_source *source; /* owned; NULL: none */
	const char *fault;              /* then */
};

struct annotate_sources {
	struct annotate_sources_config config;
	struct dict files; /* struct entry */
	const char *fault; /* of the last file that is there and cannot be read */
};

struct annotate_sources *annotate_sources_new(const struct annotate_sources_config *config)
{
	struct annotate_sources *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	dict_init_texts(&s->files, sizeof(struct entry), ANNOTATE_MAX_SOURCES, max_path_bytes);
	return s;
}

static void free_source(struct annotate_source *s)
{
	if (!s)
		return;
	mem_free(s->text);
	mem_free(s->line);
	mem_free(s);
}

void annotate_sources_free(struct annotate_sources *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->files.nr; i++)
		free_source(((struct entry *)dict_at(&s->files, (uint32_t)i))->source);
	dict_fini(&s->files);
	mem_free(s);
}

static bool find_lines(struct annotate_source *s)
{
	const char *at = s->text, *end = s->text + s->len;

	while (at < end && s->nr_lines < MAX_LINES) {
		uint32_t *line = MEM_ADD(s->line, s->nr_lines, s->room);
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (!line)
			return false;
		*line = (uint32_t)(at - s->text);
		at = stop ? stop + 1 : end;
	}
	return true;
}

/* NULL, or why it is no source. */
static const char *read_text(struct elf_reader *reader, struct elf_reader_file *f,
			     struct annotate_source *s)
{
	if (f->st.st_size <= 0)
		return "is empty";
	if (f->st.st_size > ANNOTATE_MAX_SOURCE_BYTES)
		return "is too large";
	s->len = (uint32_t)f->st.st_size;
	/* as many lines as bytes, at most */
	if (!elf_reader_pay(reader, f, (uint64_t)s->len * LINE_COST))
		return unreadable;
	s->text = mem_alloc(s->len);
	if (!s->text || elf_reader_read(reader, f, 0, s->len, s->text))
		return unreadable;
	return memchr(s->text, '\0', s->len) ? "is not text" : find_lines(s) ? NULL : unreadable;
}

static const char *fault_of(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR ? NULL
	       : rc == -EINVAL                 ? "is not a regular file"
	       : rc == -EACCES || rc == -EPERM ? "may not be read"
					       : unreadable;
}

/* NULL: not there, or no source. */
static struct annotate_source *open_source(struct annotate_sources *s, struct elf_reader_file *f)
{
	struct elf_reader *reader = elf_finder_reader(s->config.finder);
	struct annotate_source *source;
	int rc = elf_reader_look(reader, f);
	const char *fault;

	if (rc) {
		s->fault = fault_of(rc) ? fault_of(rc) : s->fault;
		return NULL;
	}
	source = mem_zalloc(sizeof(*source));
	fault = source ? read_text(reader, f, source) : unreadable;
	if (!fault)
		return source;
	s->fault = fault;
	free_source(source);
	return NULL;
}

/* Links in a folder of one's own may lead out of it. */
static struct annotate_source *open_below(struct annotate_sources *s, const char *dir,
					  const char *path, struct elf_rights rights)
{
	struct elf_reader_file f;
	char whole[PATH_MAX];
	int len = snprintf(whole, sizeof(whole), "%s%s%s", dir, *path == '/' ? "" : "/", path);

	if (len < 0 || (size_t)len >= sizeof(whole))
		return NULL;
	f = elf_finder_named(s->config.finder, whole, rights);
	if (f.rights.are_limited)
		f.root_len = strlen(dir);
	return open_source(s, &f);
}

/* Less and less of the path: whole trees are moved and renamed. */
static struct annotate_source *find_in(struct annotate_sources *s, const char *dir,
				       const char *path, struct elf_rights rights)
{
	struct annotate_source *found = NULL;

	for (const char *p = path; p && *p && !found; p = strchr(p, '/')) {
		while (*p == '/')
			p++;
		found = open_below(s, dir, p, rights);
	}
	return found;
}

static struct annotate_source *download(struct annotate_sources *s, const char *path,
					const struct elf_build_id *id)
{
	char *copy = elf_finder_source(s->config.finder, id, path);
	struct elf_reader_file f = elf_finder_copy(copy);
	struct annotate_source *found = copy ? open_source(s, &f) : NULL;

	free(copy); /* allocated by libdebuginfod */
	return found;
}

static struct annotate_source *find(struct annotate_sources *s, const char *path,
				    const struct annotate_namer *by)
{
	struct annotate_source *found = NULL;

	for (size_t i = 0; i < s->config.nr_dirs && !found; i++)
		found = find_in(s, s->config.dirs[i], path, by->rights);
	if (!found && *path == '/' && !by->rights.are_limited)
		found = open_below(s, elf_finder_sysroot(s->config.finder), path, by->rights);
	return found ? found : download(s, path, by->id);
}

/* Entries are by path and user: a source that one user may read is not shown for another who names
 * it. */
static struct entry *entry_of(struct annotate_sources *s, const char *path,
			      const struct annotate_namer *by)
{
	char key[PATH_MAX + 16] = ":";
	int len = snprintf(key + 1, sizeof(key) - 1, "%s", path);

	if (by->rights.are_limited)
		len = snprintf(key, sizeof(key), "%" PRIu32 ":%s", by->rights.uid, path);
	if (len < 0 || (size_t)len >= sizeof(key) - 1)
		return NULL;
	return dict_at(&s->files, dict_add_text(&s->files, key, strlen(key)));
}

const struct annotate_source *annotate_sources_find(struct annotate_sources *s, const char *path,
						    const struct annotate_namer *by)
{
	const size_t nr = s->files.nr;
	struct entry *e = entry_of(s, path, by);

	if (e && s->files.nr > nr) {
		s->fault = by->rights.are_limited ? foreign : "is not found";
		e->source = find(s, path, by);
		e->fault = s->fault;
	}
	return e ? e->source : NULL;
}

const char *annotate_sources_fault(struct annotate_sources *s, const char *path,
				   const struct annotate_namer *by)
{
	const struct entry *e = entry_of(s, path, by);

	return e && e->fault ? e->fault : unreadable;
}

const char *annotate_source_line(const struct annotate_source *s, uint32_t line,
				 char text[ANNOTATE_MAX_LINE_BYTES])
{
	const char *at, *end = s->text + s->len;
	size_t len = 0;

	*text = '\0';
	if (!line || line > s->nr_lines)
		return text;
	at = s->text + s->line[line - 1];
	for (; at < end && *at != '\n' && len + ANNOTATE_TAB < ANNOTATE_MAX_LINE_BYTES; at++) {
		if (*at == '\t')
			do
				text[len++] = ' ';
			while (len % ANNOTATE_TAB);
		else if (*at != '\r')
			text[len++] = *at;
	}
	while (len && text[len - 1] == ' ')
		len--;
	text[len] = '\0';
	str_disarm(text);
	return text;
}
