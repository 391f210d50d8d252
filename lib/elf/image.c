/*
 * Every length is checked against what was read. Addresses may be any: reading them fails.
 */
#include "elf/image.h"

#include "base/mem.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { MAX_HEADERS = 256, MAX_SEGMENTS = 8, MAX_NOTES_BYTES = 64 << 10 };

/* A segment of notes in memory. */
struct notes {
	uint64_t address;
	const uint8_t *bytes;
	size_t len;
};

struct wanted {
	const char *owner;
	uint32_t type;
	elf_image_note_fn *fn;
	void *arg;
};

static size_t round_up(uint64_t len)
{
	return (size_t)((len + 3) & ~(uint64_t)3);
}

static int walk_notes(const struct notes *n, const struct wanted *w)
{
	const size_t owner_bytes = strlen(w->owner) + 1;
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && n->len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head;
		size_t name, content, end;

		memcpy(&head, n->bytes + at, sizeof(head));
		name = at + sizeof(head);
		content = name + round_up(head.n_namesz);
		end = content + round_up(head.n_descsz);
		if (content + head.n_descsz > n->len)
			break;
		if (head.n_type == w->type && head.n_namesz == owner_bytes &&
		    memcmp(n->bytes + name, w->owner, owner_bytes) == 0)
			rc = w->fn(w->arg, n->address + content, n->bytes + content, head.n_descsz);
		if (end > n->len)
			break;
		at = end;
	}
	return rc;
}

static int read_notes(const struct elf_image *image, uint64_t address, uint64_t len,
		      const struct wanted *w)
{
	uint8_t *bytes;
	int rc;

	if (!len || len > MAX_NOTES_BYTES)
		return 0;
	bytes = mem_alloc(len);
	if (!bytes)
		return -ENOMEM;
	/* what is not in memory cannot be read: other segments may be */
	rc = image->read(image->arg, address, bytes, len)
		 ? 0
		 : walk_notes(&(struct notes){address, bytes, len}, w);
	mem_free(bytes);
	return rc;
}

static int read_header(const struct elf_image *image, Elf64_Ehdr *out)
{
	const uint16_t one = 1;
	const uint8_t order = *(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB;
	int rc = image->read(image->arg, image->start, out, sizeof(*out));

	if (rc)
		return rc;
	if (memcmp(out->e_ident, ELFMAG, SELFMAG) != 0 || out->e_ident[EI_CLASS] != ELFCLASS64 ||
	    out->e_ident[EI_DATA] != order || out->e_phentsize != sizeof(Elf64_Phdr) ||
	    !out->e_phnum || out->e_phnum > MAX_HEADERS)
		return -EINVAL;
	return 0;
}

/* What is added to addresses of the file: the first byte is that of the segment at offset 0. */
static int find_bias(const struct elf_image *image, const Elf64_Phdr *ph, size_t nr, uint64_t *bias)
{
	for (size_t i = 0; i < nr; i++)
		if (ph[i].p_type == PT_LOAD && !ph[i].p_offset) {
			*bias = image->start - ph[i].p_vaddr;
			return 0;
		}
	return -EINVAL;
}

int elf_image_each_note(const struct elf_image *image, const char *owner, uint32_t type,
			elf_image_note_fn *fn, void *arg)
{
	const struct wanted wanted = {.owner = owner, .type = type, .fn = fn, .arg = arg};
	Elf64_Phdr ph[MAX_HEADERS];
	uint64_t bias = 0;
	Elf64_Ehdr header;
	size_t nr = 0;
	int rc = read_header(image, &header);

	if (rc == 0)
		rc = image->read(image->arg, image->start + header.e_phoff, ph,
				 header.e_phnum * sizeof(*ph));
	rc = rc ?: find_bias(image, ph, header.e_phnum, &bias);
	for (size_t i = 0; rc == 0 && i < header.e_phnum && nr < MAX_SEGMENTS; i++) {
		if (ph[i].p_type != PT_NOTE)
			continue;
		nr++;
		rc = read_notes(image, bias + ph[i].p_vaddr, ph[i].p_filesz, &wanted);
	}
	return rc;
}
