/*
 * Bytes to header, segments and sections. Where the fields are is a table of two rows, one per
 * class. A section is decoded when it is asked for. Of a file, there is an image of its size,
 * without memory behind it until a block is filled from the file: all pointers are into it.
 */
#include "elf/file.h"

#include "base/err.h"
#include "base/mem.h"
#include "elf/reader.h"

#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MAX_SEGMENTS = 256,
	MAX_SECTIONS = 1 << 18,
	MAX_NOTE_BYTES = 64 << 10,
	MAX_NAME_BYTES = 256, /* of a section */
	/* What maps a segment begins at a page before it: of 4 KiB … 64 KiB (arm64). */
	MAX_PAGE_BYTES = 64 << 10,
	BLOCK_BYTES = 64 << 10, /* of the image; a power of 2 */
};

static const uint64_t max_file_bytes = (uint64_t)64 << 30;

enum owner { BORROWED, OWNED, IMAGE };

/* What of a file there is. */
struct image {
	struct elf_reader *reader;     /* borrowed */
	struct elf_reader_file source; /* its path is the file's name */
	pthread_mutex_t lock;          /* of filling, and of source */
	bool is_open;                  /* from then on failures are told by whom they meet */
	_Atomic(int) rc;               /* of the first failure: nothing more is read */
	_Atomic(bool) *has;            /* owned; by block */
};

struct segment {
	uint64_t offset, address, file_bytes;
	uint64_t page_bytes;
	bool is_code, is_writable;
};

struct elf_file {
	char *name; /* owned */
	const uint8_t *data;
	size_t len;
	enum owner owner;    /* of data */
	struct image *image; /* owned; NULL: all of data is there */
	const struct layout *layout;
	uint16_t machine;
	struct elf_build_id build_id;
	uint64_t sections; /* offset of their headers */
	size_t nr_sections;
	const char *names; /* of sections; NULL: none */
	size_t names_len;
	size_t nr_segments;
	struct segment *segment; /* owned; the loadable ones */
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

/* The image. */

/* Without memory behind it: what is not written to costs nothing. Large pages would. */
static void *reserve(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_NOHUGEPAGE);
	return p;
}

static size_t nr_blocks(size_t len)
{
	return len / BLOCK_BYTES + (len % BLOCK_BYTES != 0);
}

static bool has_block(const struct image *m, size_t i)
{
	return atomic_load_explicit(&m->has[i], memory_order_acquire);
}

/* Blocks [from, to), none of which is there. */
static int fill_run(const struct elf_file *f, size_t from, size_t to)
{
	size_t at = from * BLOCK_BYTES, end = to * BLOCK_BYTES < f->len ? to * BLOCK_BYTES : f->len;
	uint8_t *image = (uint8_t *)(uintptr_t)f->data;
	int rc = elf_reader_read(f->image->reader, &f->image->source, at, end - at, image + at);

	for (size_t i = from; i < to && rc == 0; i++)
		atomic_store_explicit(&f->image->has[i], true, memory_order_release);
	return rc;
}

static int fill(const struct elf_file *f, size_t from, size_t to)
{
	int rc = 0;

	for (size_t i = from, stop; i < to && rc == 0; i = stop) {
		for (stop = i; stop < to && !has_block(f->image, stop);)
			stop++;
		if (stop > i)
			rc = fill_run(f, i, stop);
		else
			stop++;
	}
	return rc;
}

/* The first failure is told, and is the last. */
static void end_reading(const struct elf_file *f, int rc)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&f->image->rc, &none, rc) && f->image->is_open)
		elf_reader_tell(f->image->reader, rc, f->name);
}

static bool is_filled(const struct elf_file *f, size_t from, size_t to)
{
	while (from < to && has_block(f->image, from))
		from++;
	return from == to;
}

static bool have(const struct elf_file *f, uint64_t offset, uint64_t len)
{
	size_t from = (size_t)offset / BLOCK_BYTES, to = nr_blocks((size_t)(offset + len));
	int rc;

	if (!f->image || !len || is_filled(f, from, to))
		return true;
	if (atomic_load(&f->image->rc))
		return false;
	pthread_mutex_lock(&f->image->lock);
	rc = fill(f, from, to);
	pthread_mutex_unlock(&f->image->lock);
	if (rc)
		end_reading(f, rc);
	return rc == 0;
}

/* The bytes [offset, offset + len), if the file has them all. */
static const uint8_t *bytes_at(const struct elf_file *f, uint64_t offset, uint64_t len)
{
	if (offset > f->len || len > f->len - offset || !have(f, offset, len))
		return NULL;
	return f->data + offset;
}

/* Header, segments and sections. */

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
	f->segment = mem_calloc(nr, sizeof(*f->segment));
	if (!f->segment)
		return -ENOMEM;
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
	size_t head = f->len < sizeof(Elf64_Ehdr) ? f->len : sizeof(Elf64_Ehdr);
	int rc;

	f->layout = bytes_at(f, 0, head) ? find_layout(f->data, head) : NULL;
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

static void free_image(struct image *m)
{
	if (!m)
		return;
	pthread_mutex_destroy(&m->lock);
	mem_free((void *)m->has);
	mem_free(m);
}

/* But for data: that is its opener's. */
static void free_file(struct elf_file *f)
{
	free_image(f->image);
	mem_free(f->segment);
	mem_free(f->name);
	mem_free(f);
}

static struct elf_file *make(const char *name, enum owner owner)
{
	struct elf_file *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->owner = owner;
	f->name = mem_strdup(name);
	if (f->name)
		return f;
	free_file(f);
	return NULL;
}

static int decode_told(struct elf_file *f, struct err *e)
{
	int rc = decode(f);

	if (f->image && atomic_load(&f->image->rc)) {
		rc = atomic_load(&f->image->rc);
		elf_reader_explain(rc, f->name, e);
		return rc;
	}
	if (rc == -ENOMEM)
		return err_set_at(e, rc, f->name, 0, 0, "cannot be read: no memory");
	return rc ? err_set_at(e, rc, f->name, 0, 0,
			       "not a little-endian ELF file, or a malformed one")
		  : 0;
}

int elf_file_open_mem(const void *data, size_t len, bool is_owned, const char *name,
		      struct elf_file **out, struct err *e)
{
	struct elf_file *f = make(name, is_owned ? OWNED : BORROWED);
	int rc;

	if (!f)
		return err_set_at(e, -ENOMEM, name, 0, 0, "cannot be read: no memory");
	f->data = data;
	f->len = len;
	rc = decode_told(f, e);
	if (rc)
		free_file(f);
	else
		*out = f;
	return rc;
}

static struct image *make_image(struct elf_reader *reader, const struct elf_reader_file *source)
{
	struct image *m = mem_zalloc(sizeof(*m));

	if (!m)
		return NULL;
	m->has = mem_calloc(nr_blocks((size_t)source->st.st_size), sizeof(*m->has));
	if (!m->has) {
		mem_free(m);
		return NULL;
	}
	m->reader = reader;
	m->source = *source;
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

static int open_image(struct elf_reader *reader, const struct elf_reader_file *source,
		      struct elf_file **out, struct err *e)
{
	struct elf_file *f = make(source->path, IMAGE);
	int rc = -ENOMEM;

	if (f)
		f->image = make_image(reader, source);
	if (f && f->image) {
		f->image->source.path = f->name;
		f->len = (size_t)source->st.st_size;
		f->data = reserve(f->len);
	}
	if (!f || !f->data)
		err_set_at(e, rc, source->path, 0, 0, "cannot be read: no memory");
	else
		rc = decode_told(f, e);
	if (rc) {
		elf_file_close(f);
		return rc;
	}
	f->image->is_open = true;
	*out = f;
	return 0;
}

int elf_file_open(struct elf_reader *reader, const char *path, struct elf_file **out,
		  struct stat *st, struct err *e)
{
	struct elf_reader_file source = {.path = path};
	int rc = elf_reader_look(reader, &source);

	if (rc) {
		elf_reader_explain(rc, path, e);
		return rc;
	}
	if (source.st.st_size <= 0 || (uint64_t)source.st.st_size > max_file_bytes)
		return err_set_at(e, -EINVAL, path, 0, 0, "%s",
				  source.st.st_size > 0 ? "is too large" : "is empty");
	rc = open_image(reader, &source, out, e);
	if (rc == 0)
		*st = source.st;
	return rc;
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	if (f->owner == IMAGE && f->data)
		munmap((void *)(uintptr_t)f->data, f->len);
	else if (f->owner == OWNED)
		mem_free((void *)(uintptr_t)f->data);
	free_file(f);
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

void *elf_file_copy(const struct elf_file *f, size_t *len)
{
	uint8_t *copy = reserve(f->len);

	for (size_t at = 0, n; copy && at < f->len; at += n) {
		n = f->len - at < BLOCK_BYTES ? f->len - at : BLOCK_BYTES;
		if (!f->image || has_block(f->image, at / BLOCK_BYTES))
			memcpy(copy + at, f->data + at, n);
	}
	*len = f->len;
	return copy;
}

bool elf_file_crc32(const struct elf_file *f, uint32_t *out)
{
	int rc;

	if (!f->image) {
		*out = lzma_crc32(f->data, f->len, 0);
		return true;
	}
	if (atomic_load(&f->image->rc))
		return false;
	pthread_mutex_lock(&f->image->lock);
	rc = elf_reader_crc32(f->image->reader, &f->image->source, out);
	pthread_mutex_unlock(&f->image->lock);
	if (rc)
		end_reading(f, rc);
	return rc == 0;
}

bool elf_file_pay(const struct elf_file *f, uint64_t bytes)
{
	bool is_paid;

	if (!f->image)
		return true;
	is_paid = elf_reader_pay(f->image->reader, &f->image->source, bytes);
	if (!is_paid)
		end_reading(f, -ENOMEM);
	return is_paid;
}

bool elf_file_spend(const struct elf_file *f, uint64_t ns)
{
	bool has_enough;

	if (!f->image)
		return true;
	has_enough = elf_reader_spend(f->image->reader, &f->image->source, ns);
	if (!has_enough)
		end_reading(f, -ETIMEDOUT);
	return has_enough;
}

uint64_t elf_file_bytes_left(const struct elf_file *f)
{
	return f->image ? elf_reader_bytes_left(f->image->reader, &f->image->source) : UINT64_MAX;
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

const uint8_t *elf_file_bytes(const struct elf_file *f, uint64_t address, size_t max, size_t *len)
{
	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct segment *s = &f->segment[i];
		uint64_t at = address - s->address;

		if (address < s->address || at >= s->file_bytes)
			continue;
		*len = s->file_bytes - at < max ? (size_t)(s->file_bytes - at) : max;
		return bytes_at(f, s->offset + at, *len);
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
	out->is_held =
	    out->type != SHT_NOBITS && out->offset <= f->len && out->size <= f->len - out->offset;
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

bool elf_file_load(const struct elf_file *f, struct elf_section *s)
{
	s->data = s->is_held ? bytes_at(f, s->offset, s->size) : NULL;
	return s->data != NULL;
}

bool elf_file_load_section(const struct elf_file *f, const char *name, struct elf_section *out)
{
	return elf_file_find_section(f, name, out) && elf_file_load(f, out);
}
