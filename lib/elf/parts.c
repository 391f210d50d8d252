/*
 * By the section headers; what a range claims beyond the end of the file is not part of it.
 */
#include "elf/parts.h"

#include "base/array.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/sys.h"
#include "elf/layout.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
	MAX_PHDRS = 256,
	MAX_SECTIONS = 4096,
	MAX_NAMES_BYTES = 64 << 10, /* of sections */
	MAX_NOTE_SEGMENTS = 8,
	MAX_NOTE_BYTES = 64 << 10,
};

/* In the order in which they get room: a table of symbols with its names. Go has another, whose
 * addresses are in a section of their own. */
static const char *const wanted[][2] = {
    {".gnu_debuglink", NULL},
    {".gnu_debugaltlink", NULL},
    {".symtab", ".strtab"},
    {".dynsym", ".dynstr"},
    {".gnu_debugdata", NULL},
    {".gopclntab", ".go.module"},
    {".data.rel.ro.gopclntab", NULL},
    {".eh_frame_hdr", ".eh_frame"},
    {".debug_frame", NULL},
    {".sframe", NULL},
    {".plt", ".plt.sec"},
    {".plt.got", ".iplt"},
    {".rela.plt", ".rela.iplt"},
    {".rela.dyn", NULL},
};

struct search {
	int fd;
	const struct elf_layout *layout;
	uint64_t max_bytes;
	const uint8_t *sections; /* nr headers */
	size_t nr_sections;
	const char *names;
	size_t names_len;
	struct elf_parts *out;
	bool lacks_room;
};

/* 0, or -errno; -EINVAL: not all are in the file. */
static int read_at(const struct search *s, uint64_t offset, void *to, size_t len)
{
	ssize_t n = io_pread_full(s->fd, to, len, offset);

	return n < 0 ? (int)n : (size_t)n == len ? 0 : -EINVAL;
}

/* Adds what the file has of it. False: there is no room. */
static bool add(struct search *s, uint64_t offset, uint64_t len)
{
	struct elf_parts *p = s->out;

	if (offset >= p->file_bytes || !len)
		return true;
	if (len > p->file_bytes - offset)
		len = p->file_bytes - offset;
	if (p->nr == ELF_MAX_PARTS || len > s->max_bytes - p->bytes)
		return false;
	p->part[p->nr++] = (struct range){offset, len};
	p->bytes += len;
	return true;
}

static bool is_named(const struct search *s, const uint8_t *shdr, const char *name)
{
	const uint64_t at = elf_load(shdr, 4);
	const size_t size = strlen(name) + 1;

	return at < s->names_len && size <= s->names_len - at &&
	       memcmp(s->names + at, name, size) == 0;
}

/* NULL: there is none with content. */
static const uint8_t *find_section(const struct search *s, const char *name)
{
	const uint8_t *shdr = s->sections;

	for (size_t i = 0; name && i < s->nr_sections; i++, shdr += s->layout->shdr_bytes)
		if (elf_load(shdr + 4, 4) != SHT_NOBITS && is_named(s, shdr, name))
			return shdr;
	return NULL;
}

static bool add_section(struct search *s, const uint8_t *shdr)
{
	const struct elf_layout *l = s->layout;

	return !shdr ||
	       add(s, elf_load(shdr + l->s.offset, l->word), elf_load(shdr + l->s.size, l->word));
}

/* Both or none of a pair. True: one was added. */
static bool add_pair(struct search *s, const char *const pair[2])
{
	const uint8_t *first = find_section(s, pair[0]), *second = find_section(s, pair[1]);
	const struct elf_parts before = {.nr = s->out->nr, .bytes = s->out->bytes};

	if (add_section(s, first) && add_section(s, second))
		return s->out->nr > before.nr;
	s->out->nr = before.nr;
	s->out->bytes = before.bytes;
	s->lacks_room = true;
	return false;
}

static int add_segments(struct search *s, const uint8_t *ehdr)
{
	const struct elf_layout *l = s->layout;
	const uint64_t at = elf_load(ehdr + l->e.phoff, l->word);
	const size_t nr = elf_load(ehdr + l->e.phnum, 2);
	uint8_t phdrs[MAX_PHDRS * sizeof(Elf64_Phdr)];
	size_t nr_notes = 0;
	int rc;

	if (nr > MAX_PHDRS || elf_load(ehdr + l->e.phentsize, 2) != l->phdr_bytes)
		return -EINVAL;
	rc = read_at(s, at, phdrs, nr * l->phdr_bytes);
	if (rc == 0 && !add(s, at, nr * l->phdr_bytes))
		rc = -EFBIG;
	for (size_t i = 0; i < nr && rc == 0 && nr_notes < MAX_NOTE_SEGMENTS; i++) {
		const uint8_t *phdr = phdrs + i * l->phdr_bytes;
		const uint64_t len = elf_load(phdr + l->p.filesz, l->word);

		if (elf_load(phdr, 4) != PT_NOTE)
			continue;
		nr_notes++;
		if (!add(s, elf_load(phdr + l->p.offset, l->word),
			 len < MAX_NOTE_BYTES ? len : MAX_NOTE_BYTES))
			rc = -EFBIG;
	}
	return rc;
}

/* sections, names: to be freed. */
static int load_sections(struct search *s, const uint8_t *ehdr, uint8_t **sections, char **names)
{
	const struct elf_layout *l = s->layout;
	const uint64_t at = elf_load(ehdr + l->e.shoff, l->word);
	const size_t nr = elf_load(ehdr + l->e.shnum, 2), of = elf_load(ehdr + l->e.shstrndx, 2);
	const uint8_t *shdr;
	uint64_t names_at;
	int rc;

	if (!nr || of >= nr)
		return -ENODATA;
	if (nr > MAX_SECTIONS || elf_load(ehdr + l->e.shentsize, 2) != l->shdr_bytes)
		return -EINVAL;
	*sections = mem_alloc(nr * l->shdr_bytes);
	rc = *sections ? read_at(s, at, *sections, nr * l->shdr_bytes) : -ENOMEM;
	if (rc)
		return rc;
	shdr = *sections + of * l->shdr_bytes;
	names_at = elf_load(shdr + l->s.offset, l->word);
	s->names_len = elf_load(shdr + l->s.size, l->word);
	if (!s->names_len || s->names_len > MAX_NAMES_BYTES)
		return -EINVAL;
	*names = mem_alloc(s->names_len);
	s->sections = *sections;
	s->nr_sections = nr;
	s->names = *names;
	rc = *names ? read_at(s, names_at, *names, s->names_len) : -ENOMEM;
	return rc ?: add(s, at, nr * l->shdr_bytes) && add(s, names_at, s->names_len) ? 0 : -EFBIG;
}

static int by_offset(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return order_u64(x->offset, y->offset);
}

/* A hostile file's parts may overlap. */
static void join(struct elf_parts *p)
{
	size_t nr = 0;

	order_sort(p->part, p->nr, sizeof(p->part[0]), by_offset);
	for (size_t i = 0; i < p->nr; i++) {
		const struct range r = p->part[i];
		struct range *last = nr ? &p->part[nr - 1] : NULL;

		if (!last || r.offset > last->offset + last->len)
			p->part[nr++] = r;
		else if (r.offset + r.len > last->offset + last->len)
			last->len = r.offset + r.len - last->offset;
	}
	p->nr = nr;
	p->bytes = 0;
	for (size_t i = 0; i < nr; i++)
		p->bytes += p->part[i].len;
}

static int search(struct search *s)
{
	uint8_t ehdr[sizeof(Elf64_Ehdr)];
	MEM_AUTO uint8_t *sections = NULL;
	MEM_AUTO char *names = NULL;
	bool has_some = false;
	int rc = read_at(s, 0, ehdr, sizeof(ehdr));

	if (rc)
		return rc;
	s->layout = elf_layout_find(ehdr, sizeof(ehdr));
	if (!s->layout)
		return -EINVAL;
	rc = add(s, 0, sizeof(ehdr)) ? add_segments(s, ehdr) : -EFBIG;
	rc = rc ?: load_sections(s, ehdr, &sections, &names);
	for (size_t i = 0; i < ARRAY_NR(wanted) && rc == 0; i++)
		has_some |= add_pair(s, wanted[i]);
	return rc ?: has_some ? 0 : s->lacks_room ? -EFBIG : -ENODATA;
}

int elf_parts_find(int fd, uint64_t max_bytes, struct elf_parts *out)
{
	struct elf_parts parts = {.nr = 0};
	struct search s = {.fd = fd, .max_bytes = max_bytes, .out = &parts};
	struct stat st;
	int rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);

	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_size <= 0))
		rc = -EINVAL;
	if (rc)
		return rc;
	parts.file_bytes = (uint64_t)st.st_size;
	rc = search(&s);
	if (rc)
		return rc;
	join(&parts);
	*out = parts;
	return 0;
}
