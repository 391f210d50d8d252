/*
 * Header, contents, names, section headers.
 */
#include "elf/dwarf_image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 8 };

struct dwarf_image_part *dwarf_image_find(struct dwarf_image *m, const char *name)
{
	for (size_t i = 0; i < m->nr; i++)
		if (strcmp(m->names + m->part[i].name, name) == 0)
			return &m->part[i];
	return NULL;
}

void dwarf_image_add(struct dwarf_image *m, const char *name, const struct dwarf_image_part *part)
{
	size_t len = strlen(name) + 1;
	struct dwarf_image_part *p = &m->part[m->nr];

	if (m->nr == DWARF_IMAGE_PARTS || m->names_len + len > sizeof(m->names))
		return;
	*p = *part;
	p->name = (uint32_t)m->names_len;
	memcpy(m->names + m->names_len, name, len);
	m->names_len += len;
	m->nr++;
}

static size_t round_up(size_t n)
{
	return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static size_t image_len(const struct dwarf_image *m)
{
	size_t len = sizeof(Elf64_Ehdr) + round_up(m->names_len) + (m->nr + 2) * sizeof(Elf64_Shdr);

	for (size_t i = 0; i < m->nr; i++)
		len += round_up(m->part[i].before + m->part[i].len);
	return len;
}

/* The memory is zeroed, and of image_len(). */
static void write_image(const struct dwarf_image *m, uint16_t machine, uint8_t *out)
{
	const size_t headers = image_len(m) - (m->nr + 2) * sizeof(Elf64_Shdr);
	Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)out;
	Elf64_Shdr *s = (Elf64_Shdr *)(void *)(out + headers);
	size_t at = sizeof(*e);

	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_ident[EI_VERSION] = EV_CURRENT;
	e->e_type = ET_EXEC;
	e->e_machine = machine;
	e->e_version = EV_CURRENT;
	e->e_ehsize = sizeof(*e);
	e->e_shoff = headers;
	e->e_shentsize = sizeof(*s);
	e->e_shnum = (uint16_t)(m->nr + 2);
	e->e_shstrndx = 1;
	s[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = m->names_len};
	memcpy(out + at, m->names, m->names_len);
	at += round_up(m->names_len);
	for (size_t i = 0; i < m->nr; i++) {
		const struct dwarf_image_part *p = &m->part[i];

		s[i + 2] = (Elf64_Shdr){.sh_name = p->name,
					.sh_type = SHT_PROGBITS,
					.sh_offset = at,
					.sh_size = p->before + p->len,
					.sh_addralign = 1};
		memcpy(out + at + p->before, p->data, p->len);
		at += round_up(p->before + p->len);
	}
}

static void add_lent(struct dwarf_image *m, const struct elf_split_lent *lent)
{
	if (lent && lent->addresses)
		dwarf_image_add(m, ".debug_addr.dwo",
				&(struct dwarf_image_part){.data = lent->addresses,
							   .len = lent->addresses_len});
	if (lent && lent->ranges)
		dwarf_image_add(m, ".debug_ranges.dwo",
				&(struct dwarf_image_part){.data = lent->ranges,
							   .len = lent->ranges_len,
							   .before = ELF_SPLIT_RANGES_AT});
}

int dwarf_image_open(struct dwarf_image *m, const struct elf_file *from,
		     const struct elf_split_lent *lent, struct elf_dwarf *out)
{
	size_t len;
	void *p;

	if (!m->nr)
		return -ENODATA;
	add_lent(m, lent);
	len = image_len(m);
	if (!elf_file_pay(from, len))
		return -ENOMEM;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	write_image(m, elf_file_machine(from), p);
	return elf_dwarf_open_copy(p, len, out);
}
