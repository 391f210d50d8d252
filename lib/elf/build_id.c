/*
 * From the bytes of an ELF file to its build-id: header, program headers, notes. Where the fields
 * are is a table of two rows, one per class.
 */
#include "elf/build_id.h"

#include "base/cursor.h"
#include "base/mem.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
	MAX_EHDR_BYTES = 64,
	MAX_PHDRS = 256,
	MAX_NOTE_SEGMENTS = 8,
	MAX_NOTE_BYTES = 64 << 10,
	NHDR_BYTES = 12,
};

/* linux/elf.h */
enum { AT_CLASS = 4, AT_DATA = 5, LITTLE_ENDIAN_DATA = 1, SEGMENT_NOTE = 4, NOTE_BUILD_ID = 3 };

/* Offsets in Elf32_Ehdr, Elf32_Phdr and their like of 64 bits; word: bytes of an offset or size. */
struct layout {
	uint8_t word, ehdr_bytes, phoff, phentsize, phnum;
	uint8_t phdr_bytes, offset, filesz, align;
};

static const struct layout *find_layout(const uint8_t *ehdr, size_t len)
{
	static const struct layout rows[] = {
	    {4, 52, 28, 42, 44, 32, 4, 16, 28},
	    {8, 64, 32, 54, 56, 56, 8, 32, 48},
	};
	const struct layout *l;

	if (len <= AT_DATA || memcmp(ehdr,
				     "\x7f"
				     "ELF",
				     4) != 0)
		return NULL;
	if (ehdr[AT_DATA] != LITTLE_ENDIAN_DATA || ehdr[AT_CLASS] < 1 || ehdr[AT_CLASS] > 2)
		return NULL;
	l = &rows[ehdr[AT_CLASS] - 1];
	return len < l->ehdr_bytes ? NULL : l;
}

static uint64_t load(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

/* How many of the bytes there are, or -errno: the kernel knows which offsets there can be. */
static ssize_t read_at(int fd, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n =
		    sys()->pread(fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n == -EINTR)
			continue;
		if (n < 0)
			return n;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Name and content are each padded to the alignment of the segment. */
bool elf_build_id_in_notes(const uint8_t *notes, size_t len, uint64_t segment_align,
			   struct elf_build_id *out)
{
	unsigned align = segment_align == 8 ? 8 : 4;
	struct cursor c;

	cursor_init(&c, notes, len);
	while (c.left >= NHDR_BYTES) {
		uint32_t name_len = cursor_le32(&c), desc_len = cursor_le32(&c);
		uint32_t type = cursor_le32(&c);
		const uint8_t *name = cursor_bytes(&c, name_len), *desc;

		cursor_skip(&c, -(NHDR_BYTES + name_len) % align);
		desc = cursor_bytes(&c, desc_len);
		if (!cursor_ok(&c))
			return false;
		if (type == NOTE_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0 &&
		    desc_len > 0 && desc_len <= ELF_MAX_BUILD_ID_BYTES) {
			out->len = (uint8_t)desc_len;
			memcpy(out->bytes, desc, desc_len);
			return true;
		}
		cursor_skip(&c, -desc_len % align);
	}
	return false;
}

bool elf_build_id_equal(const struct elf_build_id *a, const struct elf_build_id *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static int read_notes(int fd, const struct layout *l, const uint8_t *phdr, struct elf_build_id *out)
{
	uint64_t len = load(phdr + l->filesz, l->word);
	MEM_AUTO uint8_t *notes = NULL;
	ssize_t n;

	if (len > MAX_NOTE_BYTES)
		len = MAX_NOTE_BYTES;
	if (len < NHDR_BYTES)
		return -ENODATA;
	notes = mem_alloc(len);
	if (!notes)
		return -ENOMEM;
	n = read_at(fd, load(phdr + l->offset, l->word), notes, len);
	if (n < 0)
		return (int)n;
	return elf_build_id_in_notes(notes, (size_t)n, load(phdr + l->align, l->word), out)
		   ? 0
		   : -ENODATA;
}

/* A segment that makes no sense does not hide the next. */
static int read_segments(int fd, const struct layout *l, const uint8_t *phdrs, size_t nr,
			 struct elf_build_id *out)
{
	int rc = -ENODATA;

	for (size_t i = 0, nr_notes = 0; i < nr && nr_notes < MAX_NOTE_SEGMENTS; i++) {
		const uint8_t *phdr = phdrs + i * l->phdr_bytes;

		if (load(phdr, 4) != SEGMENT_NOTE)
			continue;
		nr_notes++;
		rc = read_notes(fd, l, phdr, out);
		if (rc != -ENODATA && rc != -EINVAL)
			return rc;
	}
	return rc;
}

static int read_program(int fd, struct elf_build_id *out)
{
	uint8_t ehdr[MAX_EHDR_BYTES], phdrs[MAX_PHDRS * 56];
	ssize_t n = read_at(fd, 0, ehdr, sizeof(ehdr));
	const struct layout *l;
	uint64_t nr;

	if (n < 0)
		return (int)n;
	l = find_layout(ehdr, (size_t)n);
	if (!l || load(ehdr + l->phentsize, 2) != l->phdr_bytes)
		return -EINVAL;
	nr = load(ehdr + l->phnum, 2);
	if (nr > MAX_PHDRS)
		return -EINVAL;
	n = read_at(fd, load(ehdr + l->phoff, l->word), phdrs, nr * l->phdr_bytes);
	if (n < 0)
		return (int)n;
	return read_segments(fd, l, phdrs, (size_t)n / l->phdr_bytes, out);
}

int elf_build_id_read(int fd, struct elf_build_id *out)
{
	struct elf_build_id id = {0};
	struct stat st;
	int rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);

	if (rc == 0)
		rc = S_ISREG(st.st_mode) ? read_program(fd, &id) : -EINVAL;
	if (rc == 0)
		*out = id;
	return rc;
}
