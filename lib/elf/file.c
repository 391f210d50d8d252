/*
 * Bytes to header, segments and sections. Where the fields are is a table of two rows, one per
 * class. Nothing is copied but the segments: a section is decoded when it is asked for.
 */
#include "elf/file.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MAX_SEGMENTS = 256,
	MAX_SECTIONS = 1 << 18,
	MAX_NOTE_BYTES = 64 << 10,
	MAX_NAME_BYTES = 256, /* of a section */
	/* What maps a segment begins at a page before it: of 4 KiB … 64 KiB (arm64). */
	MAX_PAGE_BYTES = 64 << 10,
};

enum owner { BORROWED, OWNED, MAPPED };

struct segment {
	uint64_t offset, address, file_bytes;
	uint64_t page_bytes;
	bool is_code, is_writable;
};

struct elf_file {
	char *name; /* owned */
	const uint8_t *data;
	size_t len;
	enum owner owner; /* of data */
	const struct layout *layout;
	uint16_t machine;
	struct elf_build_id build_id;
	uint64_t sections; /* offset of their headers */
	size_t nr_sections;
	const char *names; /* of sections; NULL: none */
	size_t names_len;
	size_t nr_segments;
	struct segment segment[MAX_SEGMENTS]; /* the loadable ones */
};

/* Offsets in the headers of 32 and 64 bits; word: bytes of an offset, size or address. */
struct layout {
	uint8_t word, ehdr_bytes, phdr_bytes, shdr_bytes;
	struct {
		uint8_t phoff, shoff, phentsize, phnum, shentsize, shnum, shstrndx;
	} e;
	struct {
		uint8_t flags, offset, vaddr, filesz, align;
	} p;
	struct {
		uint8_t flags, addr, offset, size, link, info, addralign, entsize;
	} s;
};

#define AT(type, field) offsetof(type, field)
#define LAYOUT(w)                                                                                  \
	{                                                                                          \
		.word = sizeof(Elf##w##_Off), .ehdr_bytes = sizeof(Elf##w##_Ehdr),                 \
		.phdr_bytes = sizeof(Elf##w##_Phdr), .shdr_bytes = sizeof(Elf##w##_Shdr),          \
		.e = {AT(Elf##w##_Ehdr, e_phoff),     AT(Elf##w##_Ehdr, e_shoff),                  \
		      AT(Elf##w##_Ehdr, e_phentsize), AT(Elf##w##_Ehdr, e_phnum),                  \
		      AT(Elf##w##_Ehdr, e_shentsize), AT(Elf##w##_Ehdr, e_shnum),                  \
		      AT(Elf##w##_Ehdr, e_shstrndx)},                                              \
		.p = {AT(Elf##w##_Phdr, p_flags), AT(Elf##w##_Phdr, p_offset),                     \
		      AT(Elf##w##_Phdr, p_vaddr), AT(Elf##w##_Phdr, p_filesz),                     \
		      AT(Elf##w##_Phdr, p_align)},                                                 \
		.s = {AT(Elf##w##_Shdr, sh_flags),     AT(Elf##w##_Shdr, sh_addr),                 \
		      AT(Elf##w##_Shdr, sh_offset),    AT(Elf##w##_Shdr, sh_size),                 \
		      AT(Elf##w##_Shdr, sh_link),      AT(Elf##w##_Shdr, sh_info),                 \
		      AT(Elf##w##_Shdr, sh_addralign), AT(Elf##w##_Shdr, sh_entsize)},             \
	}

static const struct layout layouts[] = {LAYOUT(32), LAYOUT(64)};

static uint64_t load(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static const struct layout *find_layout(const uint8_t *data, size_t len)
{
	const struct layout *l;

	if (len < EI_NIDENT || memcmp(data, ELFMAG, SELFMAG) != 0 || data[EI_DATA] != ELFDATA2LSB ||
	    data[EI_CLASS] < ELFCLASS32 || data[EI_CLASS] > ELFCLASS64)
		return NULL;
	l = &layouts[data[EI_CLASS] - ELFCLASS32];
	return len < l->ehdr_bytes ? NULL : l;
}

/* The bytes [offset, offset + len), if the file has them all. */
static const uint8_t *bytes_at(const struct elf_file *f, uint64_t offset, uint64_t len)
{
	return offset <= f->len && len <= f->len - offset ? f->data + offset : NULL;
}

static void add_segment(struct elf_file *f, const uint8_t *phdr)
{
	const struct layout *l = f->layout;
	struct segment s = {
	    .offset = load(phdr + l->p.offset, l->word),
	    .address = load(phdr + l->p.vaddr, l->word),
	    .file_bytes = load(phdr + l->p.filesz, l->word),
	    .page_bytes = load(phdr + l->p.align, l->word),
	    .is_code = load(phdr + l->p.flags, 4) & PF_X,
	    .is_writable = load(phdr + l->p.flags, 4) & PF_W,
	};

	if (s.page_bytes > MAX_PAGE_BYTES || (s.page_bytes & (s.page_bytes - 1)))
		s.page_bytes = MAX_PAGE_BYTES;
	if (!s.page_bytes)
		s.page_bytes = 1;
	if (s.offset > f->len)
		return;
	if (s.file_bytes > f->len - s.offset) /* cut off: what is there */
		s.file_bytes = f->len - s.offset;
	if (s.file_bytes > UINT64_MAX - s.address)
		return;
	f->segment[f->nr_segments++] = s;
}

static void find_build_id(struct elf_file *f, uint64_t offset, uint64_t len, uint64_t align)
{
	const uint8_t *notes;

	if (offset > f->len)
		return;
	if (len > f->len - offset)
		len = f->len - offset;
	if (len > MAX_NOTE_BYTES)
		len = MAX_NOTE_BYTES;
	notes = bytes_at(f, offset, len);
	if (notes && !f->build_id.len)
		elf_build_id_in_notes(notes, len, align, &f->build_id);
}

static int decode_segments(struct elf_file *f)
{
	const struct layout *l = f->layout;
	uint64_t at = load(f->data + l->e.phoff, l->word);
	size_t nr = load(f->data + l->e.phnum, 2);
	const uint8_t *phdr;

	if (!nr)
		return 0;
	if (nr > MAX_SEGMENTS || load(f->data + l->e.phentsize, 2) != l->phdr_bytes)
		return -EINVAL;
	phdr = bytes_at(f, at, nr * l->phdr_bytes);
	if (!phdr)
		return -EINVAL;
	for (; nr--; phdr += l->phdr_bytes) {
		uint64_t type = load(phdr, 4);

		if (type == PT_LOAD)
			add_segment(f, phdr);
		else if (type == PT_NOTE)
			find_build_id(f, load(phdr + l->p.offset, l->word),
				      load(phdr + l->p.filesz, l->word),
				      load(phdr + l->p.align, l->word));
	}
	return 0;
}

/* Numbers that do not fit the header stand in section 0. A table that makes no sense is none: what
 * runs needs no sections. */
static void decode_sections(struct elf_file *f)
{
	const struct layout *l = f->layout;
	uint64_t nr = load(f->data + l->e.shnum, 2), names = load(f->data + l->e.shstrndx, 2);
	const uint8_t *first;

	f->sections = load(f->data + l->e.shoff, l->word);
	first = bytes_at(f, f->sections, l->shdr_bytes);
	if (!f->sections || !first || load(f->data + l->e.shentsize, 2) != l->shdr_bytes)
		return;
	if (!nr)
		nr = load(first + l->s.size, l->word);
	if (names == SHN_XINDEX)
		names = load(first + l->s.link, 4);
	if (nr > MAX_SECTIONS || !bytes_at(f, f->sections, nr * l->shdr_bytes))
		return;
	f->nr_sections = nr;
	if (names < nr) {
		const uint8_t *shdr = first + names * l->shdr_bytes;

		f->names_len = load(shdr + l->s.size, l->word);
		f->names =
		    (const char *)bytes_at(f, load(shdr + l->s.offset, l->word), f->names_len);
	}
}

/* Separate debug files may have it in a section only. */
static void find_build_id_in_sections(struct elf_file *f)
{
	const struct layout *l = f->layout;

	for (size_t i = 0; i < f->nr_sections && !f->build_id.len; i++) {
		const uint8_t *shdr = f->data + f->sections + i * l->shdr_bytes;

		if (load(shdr + 4, 4) == SHT_NOTE)
			find_build_id(f, load(shdr + l->s.offset, l->word),
				      load(shdr + l->s.size, l->word),
				      load(shdr + l->s.addralign, l->word));
	}
}

static int decode(struct elf_file *f)
{
	int rc;

	f->layout = find_layout(f->data, f->len);
	if (!f->layout)
		return -EINVAL;
	f->machine = (uint16_t)load(f->data + offsetof(Elf64_Ehdr, e_machine), 2);
	rc = decode_segments(f);
	if (rc)
		return rc;
	decode_sections(f);
	find_build_id_in_sections(f);
	return 0;
}

static void release(const void *data, size_t len, enum owner owner)
{
	if (owner == MAPPED)
		munmap((void *)(uintptr_t)data, len);
	else if (owner == OWNED)
		mem_free((void *)(uintptr_t)data);
}

/* Takes data over when it succeeds. */
static int open_bytes(const void *data, size_t len, enum owner owner, const char *name,
		      struct elf_file **out, struct err *e)
{
	struct elf_file *f = mem_zalloc(sizeof(*f));
	int rc = -ENOMEM;

	if (f)
		f->name = mem_strdup(name);
	if (!f || !f->name) {
		err_set(e, rc, "no memory");
		goto fail;
	}
	f->data = data;
	f->len = len;
	f->owner = owner;
	rc = decode(f);
	if (rc) {
		err_set_at(e, rc, name, 0, 0,
			   "not a little-endian ELF file, or one that makes no sense");
		goto fail;
	}
	*out = f;
	return 0;
fail:
	if (f)
		mem_free(f->name);
	mem_free(f);
	return rc;
}

int elf_file_open_mem(const void *data, size_t len, bool is_owned, const char *name,
		      struct elf_file **out, struct err *e)
{
	return open_bytes(data, len, is_owned ? OWNED : BORROWED, name, out, e);
}

static int map(int fd, const char *name, void **data, size_t *len, struct err *e)
{
	struct stat st;
	int rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);

	if (rc)
		return err_set_at(e, rc, name, 0, 0, "cannot be read: %s", strerror(-rc));
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return err_set_at(e, -EINVAL, name, 0, 0, "%s",
				  S_ISREG(st.st_mode) ? "is empty" : "is not a regular file");
	*data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (*data == MAP_FAILED) {
		rc = -errno;
		return err_set_at(e, rc, name, 0, 0, "cannot be mapped: %s", strerror(-rc));
	}
	*len = (size_t)st.st_size;
	return 0;
}

int elf_file_open_fd(int fd, const char *name, struct elf_file **out, struct err *e)
{
	void *data = NULL;
	size_t len = 0;
	int rc = map(fd, name, &data, &len, e);

	if (rc)
		return rc;
	rc = open_bytes(data, len, MAPPED, name, out, e);
	if (rc)
		release(data, len, MAPPED);
	return rc;
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	release(f->data, f->len, f->owner);
	mem_free(f->name);
	mem_free(f);
}

const char *elf_file_name(const struct elf_file *f)
{
	return f->name;
}

bool elf_file_is_64(const struct elf_file *f)
{
	return f->layout->word == 8;
}

uint16_t elf_file_machine(const struct elf_file *f)
{
	return f->machine;
}

const struct elf_build_id *elf_file_build_id(const struct elf_file *f)
{
	return &f->build_id;
}

const uint8_t *elf_file_data(const struct elf_file *f, size_t *len)
{
	*len = f->len;
	return f->data;
}

/* How well a segment claims a place in the file: what lies in it exactly before what its first or
 * last page maps besides, and code before data. 0: not at all. */
static int claim(const struct segment *s, uint64_t offset)
{
	uint64_t slack = s->offset & (s->page_bytes - 1);

	if (offset >= s->offset && offset - s->offset < s->file_bytes)
		return 3 + s->is_code;
	if (offset < s->offset && s->offset - offset <= slack)
		return 1 + s->is_code;
	return 0;
}

bool elf_file_address(const struct elf_file *f, uint64_t offset, uint64_t *address)
{
	const struct segment *best = NULL;
	int best_claim = 0;

	for (size_t i = 0; i < f->nr_segments; i++) {
		int c = claim(&f->segment[i], offset);

		if (c > best_claim) {
			best_claim = c;
			best = &f->segment[i];
		}
	}
	if (!best)
		return false;
	*address = best->address + (offset - best->offset);
	return true;
}

size_t elf_file_nr_segments(const struct elf_file *f)
{
	return f->nr_segments;
}

void elf_file_segment(const struct elf_file *f, size_t i, struct elf_segment *out)
{
	const struct segment *s = &f->segment[i];

	*out =
	    (struct elf_segment){s->offset, s->address, s->file_bytes, s->is_code, s->is_writable};
}

const uint8_t *elf_file_bytes(const struct elf_file *f, uint64_t address, size_t *len)
{
	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct segment *s = &f->segment[i];

		if (address >= s->address && address - s->address < s->file_bytes) {
			*len = (size_t)(s->file_bytes - (address - s->address));
			return f->data + s->offset + (address - s->address);
		}
	}
	return NULL;
}

size_t elf_file_nr_sections(const struct elf_file *f)
{
	return f->nr_sections;
}

/* "" for one that has no end where a name may have it. */
static const char *section_name(const struct elf_file *f, uint64_t at)
{
	size_t left;

	if (!f->names || at >= f->names_len)
		return "";
	left = f->names_len - at < MAX_NAME_BYTES ? f->names_len - at : MAX_NAME_BYTES;
	return memchr(f->names + at, '\0', left) ? f->names + at : "";
}

bool elf_file_section(const struct elf_file *f, size_t i, struct elf_section *out)
{
	const struct layout *l = f->layout;
	const uint8_t *shdr;

	if (i >= f->nr_sections)
		return false;
	shdr = f->data + f->sections + i * l->shdr_bytes;
	*out = (struct elf_section){
	    .name = section_name(f, load(shdr, 4)),
	    .number = (uint32_t)i,
	    .type = (uint32_t)load(shdr + 4, 4),
	    .flags = load(shdr + l->s.flags, l->word),
	    .address = load(shdr + l->s.addr, l->word),
	    .offset = load(shdr + l->s.offset, l->word),
	    .size = load(shdr + l->s.size, l->word),
	    .entry_bytes = load(shdr + l->s.entsize, l->word),
	    .link = (uint32_t)load(shdr + l->s.link, 4),
	    .info = (uint32_t)load(shdr + l->s.info, 4),
	};
	if (out->type != SHT_NOBITS)
		out->data = bytes_at(f, out->offset, out->size);
	return true;
}

bool elf_file_find_section(const struct elf_file *f, const char *name, struct elf_section *out)
{
	struct elf_section s;

	for (size_t i = 0; i < f->nr_sections; i++)
		if (elf_file_section(f, i, &s) && strcmp(s.name, name) == 0) {
			*out = s;
			return true;
		}
	return false;
}
