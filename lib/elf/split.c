/*
 * An image of an ELF file: header, contents, names, section headers.
 */
#include "elf/split.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MAX_PARTS = 16, /* sections, with those that are lent */
	MAX_NAMES_BYTES = 512,
	ALIGNMENT = 8,
};

struct part {
	const uint8_t *data;
	size_t len, before; /* zeros before the data */
	uint64_t flags;
	uint32_t name; /* in names */
};

struct image {
	struct part part[MAX_PARTS];
	size_t nr;
	char names[MAX_NAMES_BYTES]; /* the first one is empty */
	size_t names_len;
};

static struct part *find(struct image *m, const char *name)
{
	for (size_t i = 0; i < m->nr; i++)
		if (strcmp(m->names + m->part[i].name, name) == 0)
			return &m->part[i];
	return NULL;
}

static void add(struct image *m, const char *name, const struct part *part)
{
	size_t len = strlen(name) + 1;
	struct part *p = &m->part[m->nr];

	if (m->nr == MAX_PARTS || m->names_len + len > sizeof(m->names))
		return;
	*p = *part;
	p->name = (uint32_t)m->names_len;
	memcpy(m->names + m->names_len, name, len);
	m->names_len += len;
	m->nr++;
}

/* Those that a query of functions needs. The files that it names are those of the skeleton's table
 * of lines. */
static bool is_wanted(const char *name)
{
	static const char *const wanted[] = {
	    "info.dwo", "abbrev.dwo", "str.dwo", "str_offsets.dwo", "rnglists.dwo",
	};
	size_t i = 0;

	if (strncmp(name, ".debug_", 7) != 0)
		return false;
	while (i < sizeof(wanted) / sizeof(wanted[0]) && strcmp(wanted[i], name + 7) != 0)
		i++;
	return i < sizeof(wanted) / sizeof(wanted[0]);
}

/* The unit itself, and not one of types, which have sections of their own before it. */
static bool is_compile_unit(const struct elf_section *s)
{
	enum { VERSION_AT = 4, TYPE_AT = 6, FIRST_WITH_TYPE = 5 };

	return s->size > TYPE_AT && !(s->flags & SHF_COMPRESSED) &&
	       (s->data[VERSION_AT] < FIRST_WITH_TYPE || s->data[TYPE_AT] == DW_UT_split_compile);
}

static void add_section(struct image *m, const struct elf_section *s)
{
	struct part part = {.data = s->data, .len = s->size, .flags = s->flags}, *same;

	same = find(m, s->name);
	if (!same) {
		add(m, s->name, &part);
	} else if (is_compile_unit(s)) {
		part.name = same->name;
		*same = part;
	}
}

static void add_sections(struct image *m, const struct elf_file *dwo)
{
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(dwo); i++) {
		if (!elf_file_section(dwo, i, &s) || !s.is_held || !s.size || !is_wanted(s.name))
			continue;
		/* a packed one begins with a header of its class */
		if ((s.flags & SHF_COMPRESSED) && !elf_file_is_64(dwo))
			continue;
		if (elf_file_load(dwo, &s))
			add_section(m, &s);
	}
}

static size_t round_up(size_t n)
{
	return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static size_t image_len(const struct image *m)
{
	size_t len = sizeof(Elf64_Ehdr) + round_up(m->names_len) + (m->nr + 2) * sizeof(Elf64_Shdr);

	for (size_t i = 0; i < m->nr; i++)
		len += round_up(m->part[i].before + m->part[i].len);
	return len;
}

/* The memory is zeroed, and of image_len(). */
static void write_image(const struct image *m, uint16_t machine, uint8_t *out)
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
		const struct part *p = &m->part[i];

		s[i + 2] = (Elf64_Shdr){.sh_name = p->name,
					.sh_type = SHT_PROGBITS,
					.sh_flags = p->flags & SHF_COMPRESSED,
					.sh_offset = at,
					.sh_size = p->before + p->len,
					.sh_addralign = 1};
		memcpy(out + at + p->before, p->data, p->len);
		at += round_up(p->before + p->len);
	}
}

int elf_split_open(const struct elf_file *dwo, const struct elf_split_lent *lent,
		   struct elf_dwarf *out)
{
	struct image m = {.names_len = 1};
	size_t len;
	void *p;

	add_sections(&m, dwo);
	if (!m.nr)
		return -ENODATA;
	if (lent->addresses)
		add(&m, ".debug_addr.dwo",
		    &(struct part){.data = lent->addresses, .len = lent->addresses_len});
	if (lent->ranges)
		add(&m, ".debug_ranges.dwo",
		    &(struct part){.data = lent->ranges,
				   .len = lent->ranges_len,
				   .before = ELF_SPLIT_RANGES_AT});
	len = image_len(&m);
	if (!elf_file_pay(dwo, len))
		return -ENOMEM;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	write_image(&m, elf_file_machine(dwo), p);
	return elf_dwarf_open_copy(dwo, p, len, out);
}
