/*
 * --list-specs: the specs that are found by name, with the first comment of each.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/opt_std.h"
#include "base/root.h"
#include "base/str.h"
#include "program.h"
#include "screen/field.h"
#include "screen/number.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	MAX_LIST_BYTES = 1 << 20,
	MAX_HEAD_BYTES = 4096, /* of a file: what the comment must end in */
	NAME_WIDTH = 30,
	MIN_COMMENT_WIDTH = 24,
};

struct entry {
	const char *name, *path, *comment;
};

struct list_format;

struct listing {
	struct buf out;
	const struct list_format *format;
	unsigned width; /* of the terminal; 0: none */
	const char *folder;
	bool has_folder; /* it is in the text */
};

struct list_format {
	const char *name;
	bool has_header;
	void (*add)(struct listing *l, const struct entry *e);
};

/* --- the comment -------------------------------------------------------------------------------
 */

/* Takes the marks of a comment off a line. False: it is none. */
static bool strip(const char **line, size_t *len, bool *is_block)
{
	const char *s = *line, *end = s + *len;

	while (s < end && isspace((unsigned char)*s))
		s++;
	if (end - s >= 2 && s[0] == '/' && (s[1] == '/' || s[1] == '*')) {
		*is_block = s[1] == '*';
		s += 2;
	} else if (s < end && (*is_block ? *s == '*' && (end - s < 2 || s[1] != '/') : *s == '#')) {
		s++;
	} else if (!*is_block) {
		return false;
	}
	while (s < end && isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	*line = s;
	*len = (size_t)(end - s);
	return true;
}

/* The first paragraph of the comment that text begins with, in one line. */
static void add_comment(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;
	bool is_block = false, is_end = false;

	while (!is_end && (line = str_next_line(&text, end, &stop))) {
		size_t n = (size_t)(stop - line);
		const char *close;

		if (!strip(&line, &n, &is_block) && (n || out->len))
			return;
		close = is_block ? memmem(line, n, "*/", 2) : NULL;
		n = close ? (size_t)(close - line) : n;
		while (n && line[n - 1] == ' ')
			n--;
		if ((!n && out->len) || strncmp(line, "models:", 7) == 0)
			return;
		buf_adds(out, n && out->len ? " " : "");
		buf_shown(out, line, n);
		is_end = close;
	}
}

/* Without one, or unreadable: empty. */
static void read_comment(struct buf *out, const char *path)
{
	char head[MAX_HEAD_BYTES + 1];
	struct stat st;
	IO_AUTO_FD int fd = io_open_regular(AT_FDCWD, path, 0, &st);
	ssize_t len = fd >= 0 ? io_read_full(fd, head, MAX_HEAD_BYTES) : -1;

	if (len <= 0)
		return;
	head[len] = '\0';
	add_comment(out, head, strlen(head));
}

/* --- formats -----------------------------------------------------------------------------------
 */

static const char *name_of(const void *entry)
{
	return ((const struct entry *)entry)->name;
}

static const char *path_of(const void *entry)
{
	return ((const struct entry *)entry)->path;
}

static const char *comment_of(const void *entry)
{
	return ((const struct entry *)entry)->comment;
}

static const struct screen_field fields[] = {
    {"name", name_of, NULL}, {"path", path_of, NULL}, {"comment", comment_of, NULL}};

/* The comment beside the name, on as many lines as it needs. */
static void add_text(struct listing *l, const struct entry *e)
{
	const unsigned beside = NAME_WIDTH + 3;
	const unsigned room = l->width > beside + MIN_COMMENT_WIDTH ? l->width - beside : UINT_MAX;
	BUF_AUTO(lines, MAX_LIST_BYTES);
	size_t nr = 0;

	if (!l->has_folder)
		buf_printf(&l->out, "%s%s:\n", l->out.len ? "\n" : "", l->folder);
	l->has_folder = true;
	screen_wrap(&lines, e->comment, strlen(e->comment), room);
	for (char *line = (char *)buf_str(&lines), *next; line; line = next, nr++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		buf_printf(&l->out, "  %-*s%s%s\n", *line ? NAME_WIDTH : 0, nr ? "" : e->name,
			   *line ? " " : "", line);
	}
}

static void add_csv(struct listing *l, const struct entry *e)
{
	screen_write_csv(&l->out, fields, ARRAY_NR(fields), e);
}

static void add_ndjson(struct listing *l, const struct entry *e)
{
	screen_write_json(&l->out, fields, ARRAY_NR(fields), e);
}

static void add_name(struct listing *l, const struct entry *e)
{
	buf_printf(&l->out, "%s\n", e->name);
}

static const struct list_format formats[] = {
    {"text", false, add_text},
    {"csv", true, add_csv},
    {"ndjson", false, add_ndjson},
    {OPTIONS_FORMAT_NAMES, false, add_name},
};

/* --- the list ----------------------------------------------------------------------------------
 */

static int list_file(const char *name, void *arg)
{
	BUF_AUTO(comment, 8 * MAX_HEAD_BYTES);
	BUF_AUTO(shown, 8 * PATH_MAX);
	struct listing *l = arg;
	char path[PATH_MAX];

	if (!str_stem(name, SPEC_SUFFIX) ||
	    snprintf(path, sizeof(path), "%s/%s", l->folder, name) >= (int)sizeof(path))
		return 0;
	if (l->format->add != add_name)
		read_comment(&comment, path);
	buf_shown(&shown, name, strlen(name));
	l->format->add(l, &(struct entry){buf_str(&shown), path, buf_str(&comment)});
	return 0;
}

static int list_folder(const char *folder, void *arg)
{
	struct listing *l = arg;
	char resolved[PATH_MAX];

	l->folder = realpath(folder, resolved) ? resolved : folder;
	l->has_folder = false;
	(void)root_each(&root_live, l->folder, list_file, l); /* a missing folder contains none */
	return 0;
}

int list_specs(const char *format)
{
	struct listing l = {.width = opt_std_terminal_width()};
	int status;

	l.format = ARRAY_FIND(x, formats, ARRAY_NR(formats), strcmp(x->name, format) == 0);
	l.format = l.format ? l.format : &formats[0];
	buf_init(&l.out, MAX_LIST_BYTES);
	if (l.format->has_header)
		screen_write_csv_header(&l.out, fields, ARRAY_NR(fields));
	each_spec_folder(list_folder, &l);
	status = print_result(&l.out);
	buf_fini(&l.out);
	return status;
}
