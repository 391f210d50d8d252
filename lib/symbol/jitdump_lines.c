/*
 * The lines of a function. V8 writes names of files that it has freed (also in versions of today),
 * so that they begin with two words of the allocator, which may hold zeros: such entries have one
 * length, or all after the first name the same file, and the name of the function has that of the
 * file, too.
 */
#include "base/mem.h"
#include "base/order.h"
#include "symbol/jitdump.h"

#include <errno.h>

static const char same[] = "\xff"; /* the file of the entry before */

enum { NUMBER = 8, FREED_BYTES = 16, SAME_BYTES = JITDUMP_LINE_FILE + sizeof(same), WORD = 8 };

struct parse {
	const struct jitdump *d;
	const struct jitdump_code *c;
	size_t len;
	struct jitdump_lines *l;
};

static int by_address(const void *x, const void *y)
{
	const struct jitdump_line *a = x, *b = y;

	return order_u64(a->address, b->address) ?: order_u64(a->order, b->order);
}

/* 0; -EINVAL: its address is not of the code, or behind its end; -ENOMEM. */
static int add(const struct parse *p, const char *at, const char *file)
{
	const struct jitdump *d = p->d;
	struct jitdump_lines *l = p->l;
	const uint64_t address =
	    jitdump_64(d, at) - (d->has_plain_lines ? 0 : JITDUMP_ELF_HEADER_BYTES);
	const int32_t number = (int32_t)jitdump_32(d, at + NUMBER);
	struct jitdump_line *line;

	if (address - p->c->start > p->c->size)
		return -EINVAL;
	line = MEM_ADD(l->item, l->nr, l->room);
	if (!line)
		return -ENOMEM;
	*line = (struct jitdump_line){.address = address,
				      .file = file && *file ? file : NULL,
				      .line = number > 0 ? (uint32_t)number : 0,
				      .order = (uint32_t)l->nr};
	return 0;
}

static int parse_entries(const struct parse *p)
{
	const char *at = p->l->text, *end = at + p->len, *file = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < p->c->nr_lines && rc == 0; i++) {
		const char *name = at + JITDUMP_LINE_FILE, *stop;

		stop =
		    end - at > JITDUMP_LINE_FILE ? memchr(name, '\0', (size_t)(end - name)) : NULL;
		if (!stop)
			return p->len == JITDUMP_MAX_LINES_BYTES ? 0 : -EINVAL;
		file = strcmp(name, same) ? name : file;
		rc = add(p, at, file);
		at = stop + 1;
	}
	return rc;
}

/* The len bytes of the name before its last colons if they may be the file of the first entry:
 * those after the freed ones are the same. Set in the text of that entry. */
static const char *recover(const struct parse *p, size_t len, unsigned colons)
{
	const char *name = jitdump_name(p->d, p->c), *end = name + strlen(name);
	char *file = p->l->text + JITDUMP_LINE_FILE;

	for (; colons; colons--)
		do
			if (end == name)
				return NULL;
		while (*--end != ':');
	if ((size_t)(end - name) < len || file[len])
		return NULL;
	if (len <= FREED_BYTES) /* all of it was freed */
		return (size_t)(end - name) > len && end[-(ptrdiff_t)len - 1] == ' '
			   ? memcpy(file, end - len, len)
			   : NULL;
	if (memcmp(end - len + FREED_BYTES, file + FREED_BYTES, len - FREED_BYTES) != 0)
		return NULL;
	return memcpy(file, end - len, len);
}

/* The first entry has so many bytes, and each after it. The file is that of the function's name:
 * "JS:*name FILE:LINE:COLUMN", in Node 18 "LazyCompile:*name FILE:LINE". */
static int parse_freed(const struct parse *p, size_t first, size_t other)
{
	const size_t len = first - JITDUMP_LINE_FILE - 1;
	const char *file;
	int rc = 0;

	if (first <= JITDUMP_LINE_FILE + 1)
		return -EINVAL;
	file = recover(p, len, 2) ?: recover(p, len, 1);
	if (!file)
		return -EINVAL;
	for (uint32_t i = 0; i < p->c->nr_lines && rc == 0; i++)
		rc = add(p, p->l->text + (i ? first + (i - 1) * other : 0), file);
	return rc;
}

static bool name_the_same(const struct parse *p, size_t first)
{
	for (uint32_t i = 1; i < p->c->nr_lines; i++)
		if (memcmp(p->l->text + first + (i - 1) * (size_t)SAME_BYTES + JITDUMP_LINE_FILE,
			   same, sizeof(same)) != 0)
			return false;
	return true;
}

/* Whatever the names of files are. The record may be padded to words. */
static int parse_by_lengths(const struct parse *p)
{
	const size_t nr = p->c->nr_lines;
	const size_t others = nr ? (nr - 1) * SAME_BYTES : 0;
	int rc = nr ? parse_freed(p, p->len / nr, p->len / nr) : -EINVAL;

	for (size_t padding = 0; nr > 1 && rc == -EINVAL && padding < WORD; padding++) {
		p->l->nr = 0;
		if (p->len > others + padding && name_the_same(p, p->len - others - padding))
			rc = parse_freed(p, p->len - others - padding, SAME_BYTES);
	}
	return rc;
}

int jitdump_lines_read(const struct jitdump *d, const struct jitdump_code *c,
		       const struct jitdump_source *source, struct jitdump_lines *out)
{
	const size_t len =
	    c->lines_len < JITDUMP_MAX_LINES_BYTES ? (size_t)c->lines_len : JITDUMP_MAX_LINES_BYTES;
	const struct parse p = {d, c, len, out};
	int rc;

	*out = (struct jitdump_lines){.nr = 0};
	if (!len)
		return 0;
	/* an entry has at least JITDUMP_LINE_FILE + 1 bytes, and costs two such */
	if (!source->pay(source->arg, 5 * (uint64_t)len))
		return -ENOMEM;
	out->text = mem_alloc(len);
	rc = out->text ? source->read(source->arg, c->lines_offset, len, out->text) : -ENOMEM;
	rc = rc ?: parse_entries(&p);
	if (rc == -EINVAL) {
		out->nr = 0;
		rc = parse_by_lengths(&p);
	}
	if (rc) {
		jitdump_lines_fini(out);
		return rc == -EINVAL ? 0 : rc;
	}
	if (out->nr)
		order_sort(out->item, out->nr, sizeof(*out->item), by_address);
	return 0;
}

void jitdump_lines_fini(struct jitdump_lines *l)
{
	mem_free(l->item);
	mem_free(l->text);
	*l = (struct jitdump_lines){.nr = 0};
}

const struct jitdump_line *jitdump_lines_find(const struct jitdump_lines *l, uint64_t address)
{
	const size_t next = ORDER_FIRST(i, l->nr, l->item[i].address > address);

	return next ? &l->item[next - 1] : NULL;
}
