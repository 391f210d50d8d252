/*
 * The files that perf copies from tracefs for tracepoints: the format of each. Source:
 * trace-event-read.c in tools/perf/util. Must not trust a size, nor that a text ends.
 */
#include "import/internal.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { MAX_FORMAT_BYTES = 60 << 10, TRACEPOINT = 2 };

/* A text up to its NUL; "" and underflow if there is none. */
static const char *read_text(struct import_bytes *b)
{
	const void *nul = b->c.left ? memchr(b->c.at, '\0', b->c.left) : NULL;
	const char *s = (const char *)b->c.at;

	if (!nul) {
		b->c.underflow = true;
		return "";
	}
	cursor_skip(&b->c, (size_t)((const uint8_t *)nul - b->c.at) + 1);
	return s;
}

/* A size of 64 bits, and so many bytes. */
static const char *read_file(struct import_bytes *b, size_t *len)
{
	uint64_t size = import_u64(b);

	*len = (size_t)size;
	b->c.underflow |= size > b->c.left;
	return (const char *)cursor_bytes(&b->c, *len);
}

struct format {
	const char *name; /* name_len bytes; NULL: unknown */
	size_t name_len;
	uint64_t id;
	bool has_id;
	struct buf fields; /* the lines of its fields */
};

static bool begins(const char *line, const char *stop, const char *with)
{
	size_t len = strlen(with);

	return (size_t)(stop - line) >= len && !memcmp(line, with, len);
}

static void read_line(struct format *f, const char *line, const char *stop)
{
	const char *p = line + sizeof("ID: ") - 1;

	if (begins(line, stop, "name: ")) {
		f->name = line + sizeof("name: ") - 1;
		f->name_len = (size_t)(stop - f->name);
	} else if (begins(line, stop, "ID: ")) {
		f->has_id = str_scan_u64(&p, stop, &f->id) == 0;
	} else if (begins(line, stop, "\tfield:")) {
		buf_add(&f->fields, line, (size_t)(stop - line));
		buf_addc(&f->fields, '\n');
	}
}

static void add_format(struct import *im, const char *system, const struct format *f)
{
	for (size_t i = 0; i < im->nr_events && f->has_id; i++) {
		struct import_event *ev = &im->events[i];

		if (ev->layout.type != TRACEPOINT || ev->layout.config != f->id)
			continue;
		/* raw bytes of the other byte order are not decoded */
		if (!ev->format && !im->facts.is_big_endian)
			ev->format = arena_strdup(&im->arena, buf_str(&f->fields));
		if (!ev->name && f->name)
			ev->name =
			    arena_printf(&im->arena, "%.100s:%.*s", system,
					 (int)(f->name_len < 200 ? f->name_len : 200), f->name);
	}
}

static void read_format(struct import *im, const char *system, const char *text, size_t len)
{
	const char *at = text, *end = text + len, *line, *stop;
	struct format f = {0};

	buf_init(&f.fields, MAX_FORMAT_BYTES);
	while ((line = str_next_line(&at, end, &stop)))
		read_line(&f, line, stop);
	if (!buf_error(&f.fields))
		add_format(im, system, &f);
	buf_fini(&f.fields);
}

static void read_system(struct import *im, struct import_bytes *b, const char *system)
{
	uint32_t nr = import_u32(b);

	for (uint32_t i = 0; i < nr && cursor_ok(&b->c); i++) {
		size_t len;
		const char *text = read_file(b, &len);

		if (text)
			read_format(im, system, text, len);
	}
}

static void skip_files(struct import_bytes *b, uint32_t nr)
{
	size_t len;

	for (uint32_t i = 0; i < nr && cursor_ok(&b->c); i++)
		read_file(b, &len);
}

void import_tracing(struct import *im, const void *data, size_t len)
{
	static const char magic[] = "\x17\x08\x44tracing";
	struct import_bytes b = import_bytes(data, len, im->facts.is_big_endian);
	const uint8_t *p;
	uint32_t nr;

	p = cursor_bytes(&b.c, sizeof(magic) - 1);
	if (!p || memcmp(p, magic, sizeof(magic) - 1) != 0)
		return;
	read_text(&b);                /* version */
	cursor_skip(&b.c, 2);         /* byte order, bytes of a long */
	import_u32(&b);               /* of a page */
	for (int i = 0; i < 2; i++) { /* header_page, header_event */
		read_text(&b);
		skip_files(&b, 1);
	}
	skip_files(&b, import_u32(&b)); /* ftrace's own */
	nr = import_u32(&b);
	for (uint32_t i = 0; i < nr && cursor_ok(&b.c); i++)
		read_system(im, &b, read_text(&b));
}
