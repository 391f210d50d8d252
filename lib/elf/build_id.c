/*
 * Finds the build-id in the note segments, by the program headers.
 */
#include "elf/build_id.h"

#include "base/cursor.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "elf/layout.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
	MAX_PHDRS = 256,
	MAX_NOTE_SEGMENTS = 8,
	MAX_NOTE_BYTES = 64 << 10,
	NHDR_BYTES = 12,
};

/* Name and content are padded to the segment's alignment. */
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
		if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0 &&
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

static int read_notes(int fd, const struct elf_layout *l, const uint8_t *phdr,
		      struct elf_build_id *out)
{
	uint64_t len = elf_load(phdr + l->p.filesz, l->word);
	MEM_AUTO uint8_t *notes = NULL;
	ssize_t n;

	if (len > MAX_NOTE_BYTES)
		len = MAX_NOTE_BYTES;
	if (len < NHDR_BYTES)
		return -ENODATA;
	notes = mem_alloc(len);
	if (!notes)
		return -ENOMEM;
	n = io_pread_full(fd, notes, len, elf_load(phdr + l->p.offset, l->word));
	if (n < 0)
		return (int)n;
	return elf_build_id_in_notes(notes, (size_t)n, elf_load(phdr + l->p.align, l->word), out)
		   ? 0
		   : -ENODATA;
}

static int read_program(int fd, struct elf_build_id *out)
{
	uint8_t ehdr[sizeof(Elf64_Ehdr)], phdrs[MAX_PHDRS * sizeof(Elf64_Phdr)];
	ssize_t n = io_pread_full(fd, ehdr, sizeof(ehdr), 0);
	const struct elf_layout *l;
	int rc = -ENODATA;
	uint64_t nr;

	if (n < 0)
		return (int)n;
	l = elf_layout_find(ehdr, (size_t)n);
	if (!l || elf_load(ehdr + l->e.phentsize, 2) != l->phdr_bytes)
		return -EINVAL;
	nr = elf_load(ehdr + l->e.phnum, 2);
	if (nr > MAX_PHDRS)
		return -EINVAL;
	n = io_pread_full(fd, phdrs, nr * l->phdr_bytes, elf_load(ehdr + l->e.phoff, l->word));
	if (n < 0)
		return (int)n;
	nr = (size_t)n / l->phdr_bytes;
	for (size_t i = 0, nr_notes = 0; i < nr && nr_notes < MAX_NOTE_SEGMENTS; i++) {
		const uint8_t *phdr = phdrs + i * l->phdr_bytes;

		if (elf_load(phdr, 4) != PT_NOTE)
			continue;
		nr_notes++;
		rc = read_notes(fd, l, phdr, out);
		if (rc != -ENODATA && rc != -EINVAL) /* an invalid segment does not hide the next */
			return rc;
	}
	return rc;
}

int elf_build_id_read(int fd, struct elf_build_id *out)
{
	struct elf_build_id id = {0};
	struct stat st;
	int rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH)
		     ?: (S_ISREG(st.st_mode) ? read_program(fd, &id) : -EINVAL);

	if (rc == 0)
		*out = id;
	return rc;
}
