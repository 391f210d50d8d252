/*
 * Header, segments and sections; a section is decoded when it is requested. For a file there is an
 * image of its size: reserved address space that is filled block by block. All returned pointers
 * point into it.
 */
#include "elf/file.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "elf/layout.h"
#include "elf/parts.h"
#include "elf/reader.h"
#include "elf/unpack.h"

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
	MAX_NAME_BYTES = 256, /* of a section's name */
	/* The largest page size: 4 KiB … 64 KiB (arm64). A segment's mapping begins at a page. */
	MAX_PAGE_BYTES = 64 << 10,
	BLOCK_BYTES = 16 << 10, /* of the image; a power of 2 */
	CHECKED_BYTES = 1 << 20,
	MAX_CHECKS = 3, /* of a file whose time of change moves while it is read */
};

static const uint64_t max_file_bytes = (uint64_t)64 << 30;

enum owner { BORROWED, OWNED, IMAGE };

/* A section that was compressed. */
struct unpacked {
	struct unpacked *next;
	uint32_t number;
	size_t len;
	bool is_damaged;
	uint8_t *data; /* mapped; NULL: it cannot be unpacked, or has no memory */
};

struct unpacked_list {
	pthread_mutex_t lock;
	struct unpacked *first;
};

/* The part of a file that was read. */
struct image {
	struct elf_reader *reader;     /* borrowed */
	struct elf_reader_file source; /* its path is the file's name */
	pthread_mutex_t lock;          /* of filling, and of source */
	bool is_open;                  /* later failures are reported by the reader */
	_Atomic(int) rc;               /* of the first failure, after which nothing is read */
	_Atomic(bool) *has;            /* owned; per block; NULL: all that there is was read */
	struct range *part;            /* owned; then it is this */
	size_t nr_parts;
};

struct elf_file {
	char *name; /* owned */
	const uint8_t *data;
	size_t len;
	enum owner owner;    /* of data */
	struct image *image; /* owned; NULL: data is complete */
	const struct elf_layout *layout;
	uint16_t machine;
	struct elf_build_id build_id;
	uint64_t sections; /* offset of the section headers */
	size_t nr_sections;
	const char *names; /* of sections; NULL: none */
	size_t names_len;
	size_t nr_segments;
	struct elf_segment *segment;    /* owned; the loadable ones */
	struct unpacked_list *unpacked; /* owned */
};

/* --- the image --- */

/* Reserves address space only. Huge pages would allocate more than what is written. */
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

/* Reads the missing blocks of [from, to), each run of them at once. */
static int fill(const struct elf_file *f, size_t from, size_t to)
{
	uint8_t *bytes = (uint8_t *)(uintptr_t)f->data;
	struct image *m = f->image;
	int rc = 0;

	while (from < to && rc == 0) {
		size_t stop = from, at = from * BLOCK_BYTES, end;

		while (stop < to && !has_block(m, stop))
			stop++;
		if (stop == from) {
			from++;
			continue;
		}
		end = stop * BLOCK_BYTES < f->len ? stop * BLOCK_BYTES : f->len;
		rc = elf_reader_read(m->reader, &m->source, at, end - at, bytes + at);
		for (; from < stop && rc == 0; from++)
			atomic_store_explicit(&m->has[from], true, memory_order_release);
	}
	return rc;
}

/* Whether the bytes that are here are those of the file as it is now. buf has CHECKED_BYTES. */
static bool has_same_bytes(const struct elf_file *f, struct elf_reader_file *now, void *buf)
{
	const size_t most = CHECKED_BYTES / BLOCK_BYTES, nr = nr_blocks(f->len);

	for (size_t from = 0, to; from < nr; from = to) {
		size_t at = from * BLOCK_BYTES, len;

		to = from;
		while (to < nr && to - from < most && has_block(f->image, to))
			to++;
		len = (to * BLOCK_BYTES < f->len ? to * BLOCK_BYTES : f->len) - at;
		if (to == from)
			to++;
		else if (elf_reader_read(f->image->reader, now, at, len, buf) ||
			 memcmp(buf, f->data + at, len) != 0)
			return false;
	}
	return true;
}

static bool is_same_but_ctime(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Whether a file that changed has the bytes that it had: another link to it, as perf's cache and
 * packagers make, or another mode moves its time of change (ctime), as writing does. */
static bool is_unchanged(const struct elf_file *f)
{
	struct elf_reader_file *source = &f->image->source, now = *source;
	void *buf;
	bool is_same;

	now.is_known = false;
	buf =
	    elf_reader_look(f->image->reader, &now) == 0 && is_same_but_ctime(&now.st, &source->st)
		? mem_alloc(CHECKED_BYTES)
		: NULL;
	is_same = buf && has_same_bytes(f, &now, buf);
	mem_free(buf);
	source->bytes = now.bytes;
	source->ns = now.ns;
	source->credit_ns = now.credit_ns;
	if (is_same)
		source->st.st_ctim = now.st.st_ctim;
	return is_same;
}

static int fill_checked(const struct elf_file *f, size_t from, size_t to)
{
	int rc = fill(f, from, to);

	for (int i = 0; i < MAX_CHECKS && rc == -ESTALE && is_unchanged(f); i++)
		rc = fill(f, from, to);
	return rc;
}

/* The first block, if these are all of its bytes. */
static void put_first(const struct elf_file *f, const uint8_t *first, uint64_t got)
{
	if (!first || !got || got != (f->len < BLOCK_BYTES ? f->len : BLOCK_BYTES))
		return;
	memcpy((uint8_t *)(uintptr_t)f->data, first, got);
	atomic_store_explicit(&f->image->has[0], true, memory_order_release);
}

/* The first failure ends reading, and is reported. */
static void end_reading(const struct elf_file *f, int rc)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&f->image->rc, &none, rc) && f->image->is_open)
		elf_reader_report(f->image->reader, rc, f->name);
}

/* Parts alone, of which no more can be had. */
static bool is_stored(const struct elf_file *f)
{
	return f->image && !f->image->has;
}

static bool is_in_part(const struct image *m, uint64_t offset, uint64_t len)
{
	return ARRAY_ANY(x, m->part, m->nr_parts,
			 offset >= x->offset && offset - x->offset <= x->len &&
			     len <= x->len - (offset - x->offset));
}

static bool have(const struct elf_file *f, uint64_t offset, uint64_t len)
{
	size_t from = (size_t)offset / BLOCK_BYTES, to = nr_blocks((size_t)(offset + len));
	int rc;

	if (!f->image || !len)
		return true;
	if (is_stored(f))
		return is_in_part(f->image, offset, len);
	while (from < to && has_block(f->image, from))
		from++;
	if (from == to)
		return true;
	if (atomic_load(&f->image->rc))
		return false;
	pthread_mutex_lock(&f->image->lock);
	rc = fill_checked(f, from, to);
	pthread_mutex_unlock(&f->image->lock);
	if (rc)
		end_reading(f, rc);
	return rc == 0;
}

/* The bytes [offset, offset + len); NULL: not all in the file, or not readable. */
static const uint8_t *bytes_at(const struct elf_file *f, uint64_t offset, uint64_t len)
{
	if (offset > f->len || len > f->len - offset || !have(f, offset, len))
		return NULL;
	return f->data + offset;
}

/* --- header, segments, sections --- */

static void add_segment(struct elf_file *f, const uint8_t *phdr)
{
	const struct elf_layout *l = f->layout;
	struct elf_segment s = {
	    .offset = elf_load(phdr + l->p.offset, l->word),
	    .address = elf_load(phdr + l->p.vaddr, l->word),
	    .file_bytes = elf_load(phdr + l->p.filesz, l->word),
	    .page_bytes = elf_load(phdr + l->p.align, l->word),
	    .is_code = elf_load(phdr + l->p.flags, 4) & PF_X,
	    .is_writable = elf_load(phdr + l->p.flags, 4) & PF_W,
	};

	if (s.page_bytes > MAX_PAGE_BYTES || (s.page_bytes & (s.page_bytes - 1)))
		s.page_bytes = MAX_PAGE_BYTES;
	if (!s.page_bytes)
		s.page_bytes = 1;
	if (s.offset > f->len)
		return;
	if (s.file_bytes > f->len - s.offset) /* truncated file */
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
	const struct elf_layout *l = f->layout;
	uint64_t at = elf_load(f->data + l->e.phoff, l->word);
	size_t nr = elf_load(f->data + l->e.phnum, 2);
	const uint8_t *phdr;

	if (!nr)
		return 0;
	if (nr > MAX_SEGMENTS || elf_load(f->data + l->e.phentsize, 2) != l->phdr_bytes)
		return -EINVAL;
	phdr = bytes_at(f, at, nr * l->phdr_bytes);
	if (!phdr)
		return -EINVAL;
	f->segment = mem_calloc(nr, sizeof(*f->segment));
	if (!f->segment)
		return -ENOMEM;
	for (; nr--; phdr += l->phdr_bytes) {
		uint64_t type = elf_load(phdr, 4);

		if (type == PT_LOAD)
			add_segment(f, phdr);
		else if (type == PT_NOTE)
			find_build_id(f, elf_load(phdr + l->p.offset, l->word),
				      elf_load(phdr + l->p.filesz, l->word),
				      elf_load(phdr + l->p.align, l->word));
	}
	return 0;
}

/* Numbers too large for the header are stored in section 0. Ignores an invalid table: a program
 * runs without sections. */
static void decode_sections(struct elf_file *f)
{
	const struct elf_layout *l = f->layout;
	uint64_t nr = elf_load(f->data + l->e.shnum, 2),
		 names = elf_load(f->data + l->e.shstrndx, 2);
	const uint8_t *first;

	f->sections = elf_load(f->data + l->e.shoff, l->word);
	first = bytes_at(f, f->sections, l->shdr_bytes);
	if (!f->sections || !first || elf_load(f->data + l->e.shentsize, 2) != l->shdr_bytes)
		return;
	if (!nr)
		nr = elf_load(first + l->s.size, l->word);
	if (names == SHN_XINDEX)
		names = elf_load(first + l->s.link, 4);
	if (nr > MAX_SECTIONS || !bytes_at(f, f->sections, nr * l->shdr_bytes))
		return;
	f->nr_sections = nr;
	if (names < nr) {
		const uint8_t *shdr = first + names * l->shdr_bytes;

		f->names_len = elf_load(shdr + l->s.size, l->word);
		f->names =
		    (const char *)bytes_at(f, elf_load(shdr + l->s.offset, l->word), f->names_len);
	}
}

static int decode(struct elf_file *f)
{
	size_t head = f->len < sizeof(Elf64_Ehdr) ? f->len : sizeof(Elf64_Ehdr);
	const struct elf_layout *l = bytes_at(f, 0, head) ? elf_layout_find(f->data, head) : NULL;
	int rc;

	if (!l)
		return -EINVAL;
	f->layout = l;
	f->machine = (uint16_t)elf_load(f->data + offsetof(Elf64_Ehdr, e_machine), 2);
	rc = decode_segments(f);
	if (rc)
		return rc;
	decode_sections(f);

	/* Separate debug files may have the build-id in a section only. */
	for (size_t i = 0; i < f->nr_sections && !f->build_id.len; i++) {
		const uint8_t *shdr = f->data + f->sections + i * l->shdr_bytes;

		if (elf_load(shdr + 4, 4) == SHT_NOTE)
			find_build_id(f, elf_load(shdr + l->s.offset, l->word),
				      elf_load(shdr + l->s.size, l->word),
				      elf_load(shdr + l->s.addralign, l->word));
	}
	return 0;
}

static void free_unpacked(struct unpacked_list *l)
{
	if (!l)
		return;
	for (struct unpacked *u = l->first, *next; u; u = next) {
		next = u->next;
		if (u->data)
			munmap(u->data, u->len);
		mem_free(u);
	}
	pthread_mutex_destroy(&l->lock);
	mem_free(l);
}

/* Except data. */
static void free_file(struct elf_file *f)
{
	free_unpacked(f->unpacked);
	if (f->image) {
		pthread_mutex_destroy(&f->image->lock);
		mem_free((void *)f->image->has);
		mem_free(f->image->part);
		mem_free(f->image);
	}
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
	f->unpacked = mem_zalloc(sizeof(*f->unpacked));
	if (f->unpacked)
		pthread_mutex_init(&f->unpacked->lock, NULL);
	if (f->name && f->unpacked)
		return f;
	free_file(f);
	return NULL;
}

/* Decodes; sets *e on failure. */
static int decode_file(struct elf_file *f, struct err *e)
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
	rc = decode_file(f, e);
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

int elf_file_open(struct elf_reader *reader, const char *path, struct elf_file **out,
		  struct stat *st, struct err *e)
{
	return elf_file_open_as(reader, &(struct elf_reader_file){.path = path}, out, st, e);
}

/* first: got bytes of the file, which is known. */
static int open_image(struct elf_reader *reader, const struct elf_reader_file *source,
		      const uint8_t *first, uint64_t got, struct elf_file **out, struct err *e)
{
	const char *path = source->path;
	struct elf_file *f;
	int rc;

	if (source->st.st_size <= 0 || (uint64_t)source->st.st_size > max_file_bytes)
		return err_set_at(e, -EINVAL, path, 0, 0, "%s",
				  source->st.st_size > 0 ? "is too large" : "is empty");
	f = make(path, IMAGE);
	if (f)
		f->image = make_image(reader, source);
	if (f && f->image) {
		f->image->source.path = f->name;
		f->len = (size_t)source->st.st_size;
		f->data = reserve(f->len);
	}
	if (f && f->data)
		put_first(f, first, got);
	rc = f && f->data ? decode_file(f, e)
			  : err_set_at(e, -ENOMEM, path, 0, 0, "cannot be read: no memory");
	if (rc) {
		elf_file_close(f);
		return rc;
	}
	f->image->is_open = true;
	*out = f;
	return 0;
}

int elf_file_open_as(struct elf_reader *reader, const struct elf_reader_file *where,
		     struct elf_file **out, struct stat *st, struct err *e)
{
	struct elf_reader_file source = *where;
	const char *path = where->path;
	uint8_t *first = mem_alloc(BLOCK_BYTES);
	uint64_t got = 0;
	int rc = elf_reader_look_at(reader, &source, first, first ? BLOCK_BYTES : 0, &got);

	if (rc)
		elf_reader_explain(rc, path, e);
	else
		rc = open_image(reader, &source, first, got, out, e);
	if (rc == 0)
		*st = source.st;
	mem_free(first);
	return rc;
}

/* They ascend, do not overlap, and lie in the file. */
static bool are_valid(const struct elf_file_parts *p)
{
	uint64_t end = 0;

	if (!p->nr || p->nr > ELF_MAX_PARTS || !p->file_bytes || p->file_bytes > max_file_bytes)
		return false;
	for (size_t i = 0; i < p->nr; i++) {
		const struct range *r = &p->part[i];

		if (r->offset < end || r->offset > p->file_bytes ||
		    r->len > p->file_bytes - r->offset)
			return false;
		end = r->offset + r->len;
	}
	return true;
}

/* Names in it lead to what everybody may read: who wrote it is not known. */
static struct image *make_stored(struct elf_reader *reader, const struct elf_file_parts *p)
{
	struct image *m = mem_zalloc(sizeof(*m));

	if (!m)
		return NULL;
	m->part = mem_calloc(p->nr, sizeof(*m->part));
	if (!m->part) {
		mem_free(m);
		return NULL;
	}
	memcpy(m->part, p->part, p->nr * sizeof(*m->part));
	m->nr_parts = p->nr;
	m->reader = reader;
	m->source.rights = elf_rights_of_user(IO_NOBODY);
	m->source.is_known = true;
	m->source.st.st_size = (off_t)p->file_bytes;
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

/* Charges them first. */
static int copy_parts(struct elf_file *f, const struct elf_file_parts *p)
{
	const uint8_t *from = p->bytes;
	uint8_t *to = NULL;
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->nr; i++)
		bytes += p->part[i].len;
	if (!elf_reader_pay(f->image->reader, &f->image->source, bytes))
		return -ENOMEM;
	to = reserve((size_t)p->file_bytes);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr; from += p->part[i++].len)
		memcpy(to + p->part[i].offset, from, (size_t)p->part[i].len);
	f->data = to;
	f->len = (size_t)p->file_bytes;
	return 0;
}

int elf_file_open_parts(struct elf_reader *reader, const struct elf_file_parts *parts,
			const char *name, struct elf_file **out, struct err *e)
{
	struct elf_file *f;
	int rc;

	if (!are_valid(parts))
		return err_set_at(e, -EINVAL, name, 0, 0, "the stored parts of it are invalid");
	f = make(name, IMAGE);
	if (f)
		f->image = make_stored(reader, parts);
	rc = f && f->image ? copy_parts(f, parts) : -ENOMEM;
	rc = rc ? err_set_at(e, rc, name, 0, 0, "cannot be read: no memory") : decode_file(f, e);
	if (rc) {
		elf_file_close(f);
		return rc;
	}
	f->image->source.path = f->name;
	f->image->is_open = true;
	*out = f;
	return 0;
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

struct elf_rights elf_file_rights(const struct elf_file *f)
{
	const struct elf_reader_file *source = f->image ? &f->image->source : NULL;
	struct elf_rights rights = {.are_limited = false};

	if (source)
		rights = elf_rights_of_both(source->rights, elf_rights_of(&source->st));
	return source && source->is_elsewhere
		   ? elf_rights_of_both(rights, elf_rights_of_user(IO_NOBODY))
		   : rights;
}

size_t elf_file_root_len(const struct elf_file *f)
{
	const struct elf_reader_file *source = f->image ? &f->image->source : NULL;

	return source && source->is_elsewhere ? source->root_len : 0;
}

bool elf_file_is_64(const struct elf_file *f)
{
	return f->layout->word == 8;
}

bool elf_file_is_truncated(const struct elf_file *f)
{
	const struct elf_layout *l = f->layout;
	const uint64_t table_bytes =
	    elf_load(f->data + l->e.shnum, 2) * elf_load(f->data + l->e.shentsize, 2);

	return f->sections > f->len || table_bytes > f->len - f->sections;
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

bool elf_file_crc32(const struct elf_file *f, uint32_t *out)
{
	int rc;

	if (!f->image) {
		*out = lzma_crc32(f->data, f->len, 0);
		return true;
	}
	if (is_stored(f) || atomic_load(&f->image->rc))
		return false;
	pthread_mutex_lock(&f->image->lock);
	rc = elf_reader_crc32(f->image->reader, &f->image->source, out);
	if (rc == -ESTALE && is_unchanged(f))
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

/* How well a segment matches a file offset: its own bytes rank above others on its first page, code
 * above data. 0: not at all. */
static int claim(const struct elf_segment *s, uint64_t offset)
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
	const struct elf_segment *best = NULL;
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

/* Whether a mapping of a segment begins at an offset (2: with it, 1: inside; 0: not at all). */
static int begin_claim(const struct elf_segment *s, uint64_t offset)
{
	const uint64_t slack = s->offset & (s->page_bytes - 1);

	if (offset <= s->offset && s->offset - offset <= slack)
		return 2;
	return offset > s->offset && offset - s->offset < s->file_bytes;
}

bool elf_file_mapping_address(const struct elf_file *f, uint64_t offset, bool is_code,
			      uint64_t *address)
{
	const struct elf_segment *best = NULL;
	int best_claim = 0;

	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segment[i];
		const int c = s->is_code == is_code ? begin_claim(s, offset) : 0;

		if (c > best_claim) {
			best_claim = c;
			best = s;
		}
	}
	if (!best)
		return elf_file_address(f, offset, address);
	*address = best->address + (offset - best->offset);
	return true;
}

size_t elf_file_nr_segments(const struct elf_file *f)
{
	return f->nr_segments;
}

void elf_file_segment(const struct elf_file *f, size_t i, struct elf_segment *out)
{
	*out = f->segment[i];
}

const uint8_t *elf_file_bytes(const struct elf_file *f, uint64_t address, size_t max, size_t *len)
{
	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segment[i];
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

/* "" if it is outside the table or too long. */
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
	const struct elf_layout *l = f->layout;
	const uint8_t *shdr;

	if (i >= f->nr_sections)
		return false;
	shdr = f->data + f->sections + i * l->shdr_bytes;
	*out = (struct elf_section){
	    .name = section_name(f, elf_load(shdr, 4)),
	    .number = (uint32_t)i,
	    .type = (uint32_t)elf_load(shdr + 4, 4),
	    .flags = elf_load(shdr + l->s.flags, l->word),
	    .address = elf_load(shdr + l->s.addr, l->word),
	    .offset = elf_load(shdr + l->s.offset, l->word),
	    .size = elf_load(shdr + l->s.size, l->word),
	    .entry_bytes = elf_load(shdr + l->s.entsize, l->word),
	    .link = (uint32_t)elf_load(shdr + l->s.link, 4),
	    .info = (uint32_t)elf_load(shdr + l->s.info, 4),
	};
	out->is_packed =
	    out->flags & SHF_COMPRESSED || strncmp(out->name, ".zdebug_", strlen(".zdebug_")) == 0;
	out->is_held = out->type != SHT_NOBITS && out->offset <= f->len &&
		       out->size <= f->len - out->offset &&
		       (!is_stored(f) || have(f, out->offset, out->size));
	return true;
}

const char *elf_section_name_in(const struct elf_section *s, const char *const *names, size_t nr)
{
	const bool is_gnu = strncmp(s->name, ".z", 2) == 0; /* .zdebug_NAME */

	for (size_t i = 0; i < nr; i++)
		if (strcmp(s->name, names[i]) == 0 ||
		    (is_gnu && strncmp(names[i], ".debug_", strlen(".debug_")) == 0 &&
		     strcmp(s->name + 2, names[i] + 1) == 0))
			return names[i];
	return NULL;
}

bool elf_file_find_section(const struct elf_file *f, const char *name, struct elf_section *out)
{
	struct elf_section s;

	for (size_t i = 0; i < f->nr_sections; i++)
		if (elf_file_section(f, i, &s) && elf_section_name_in(&s, &name, 1)) {
			*out = s;
			return true;
		}
	return false;
}

/* Charges the memory first. */
static void unpack(const struct elf_file *f, const struct elf_section *s, struct unpacked *u)
{
	const unsigned word = s->flags & SHF_COMPRESSED ? f->layout->word : 0;
	const uint8_t *packed = bytes_at(f, s->offset, s->size);
	struct elf_packed p;

	if (!packed)
		return;
	u->is_damaged = !elf_packed_decode(packed, s->size, word, &p);
	if (u->is_damaged || !elf_file_pay(f, p.unpacked_len))
		return;
	u->data = reserve(p.unpacked_len);
	u->len = p.unpacked_len;
	if (u->data && !elf_unpack(&p, u->data)) {
		munmap(u->data, u->len);
		u->data = NULL;
		u->is_damaged = true;
	}
}

/* Under the lock. NULL: no memory. */
static const struct unpacked *get_unpacked(const struct elf_file *f, const struct elf_section *s)
{
	struct unpacked *u = f->unpacked->first;

	while (u && u->number != s->number)
		u = u->next;
	if (u)
		return u;
	u = mem_zalloc(sizeof(*u));
	if (!u)
		return NULL;
	u->number = s->number;
	unpack(f, s, u);
	u->next = f->unpacked->first;
	f->unpacked->first = u;
	return u;
}

static void load_packed(const struct elf_file *f, struct elf_section *s)
{
	const struct unpacked *u;

	pthread_mutex_lock(&f->unpacked->lock);
	u = get_unpacked(f, s);
	pthread_mutex_unlock(&f->unpacked->lock);
	if (!u)
		return;
	s->is_damaged = u->is_damaged;
	s->data = u->data;
	if (s->data)
		s->size = u->len;
}

bool elf_file_load(const struct elf_file *f, struct elf_section *s)
{
	s->data = NULL;
	if (s->is_held && s->is_packed)
		load_packed(f, s);
	else if (s->is_held)
		s->data = bytes_at(f, s->offset, s->size);
	return s->data != NULL;
}

bool elf_file_load_part(const struct elf_file *f, struct elf_section *s, uint64_t at, uint64_t len)
{
	if (s->is_packed && !elf_file_load(f, s))
		return false;
	if (!len || at > s->size || len > s->size - at)
		return false;
	s->data = s->is_packed ? s->data + at : bytes_at(f, s->offset + at, len);
	s->size = len;
	return s->data != NULL;
}

bool elf_file_load_section(const struct elf_file *f, const char *name, struct elf_section *out)
{
	return elf_file_find_section(f, name, out) && elf_file_load(f, out);
}
