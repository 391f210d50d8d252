/*
 * Notes in the memory of a process: a small object, whole, and with each field that a hostile
 * program may write.
 */
#include "kit.h"

#include "elf/image.h"

#include <elf.h>

enum { START = 0x10000, BYTES = 4096, NOTES = 512, NR_HEADERS = 3 };

static union {
	uint8_t bytes[BYTES];
	Elf64_Ehdr header;
} image;
static Elf64_Phdr *const ph = (void *)(image.bytes + sizeof(Elf64_Ehdr));

struct found {
	uint64_t address;
	uint8_t content[16];
	size_t nr;
};

static int read_image(void *arg, uint64_t address, void *to, size_t len)
{
	(void)arg;
	if (address < START || address > START + BYTES || len > START + BYTES - address)
		return -EIO;
	memcpy(to, image.bytes + (address - START), len);
	return 0;
}

static int on_note(void *arg, uint64_t address, const uint8_t *content, size_t len)
{
	struct found *f = arg;

	f->address = address;
	f->nr++;
	memcpy(f->content, content, len < sizeof(f->content) ? len : sizeof(f->content));
	return 0;
}

static size_t put_note(size_t at, const char *owner, uint32_t type, const char *content)
{
	Elf64_Nhdr head = {.n_namesz = (uint32_t)strlen(owner) + 1,
			   .n_descsz = (uint32_t)strlen(content),
			   .n_type = type};
	size_t name = at + sizeof(head), desc = name + (head.n_namesz + 3) / 4 * 4;

	memcpy(image.bytes + at, &head, sizeof(head));
	memcpy(image.bytes + name, owner, head.n_namesz);
	memcpy(image.bytes + desc, content, head.n_descsz);
	return desc + (head.n_descsz + 3) / 4 * 4;
}

HOOK(before_each)
{
	size_t end;

	memset(&image, 0, sizeof(image));
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] =
	    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	image.header.e_phoff = sizeof(Elf64_Ehdr);
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	image.header.e_phnum = NR_HEADERS;
	end = put_note(NOTES, "other", 1, "no");
	end = put_note(end, "cpuperf", 2, "no");
	end = put_note(end, "cpuperf", 1, "yes");
	ph[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = 0x400000000000}; /* not there */
	ph[0].p_filesz = 16;
	ph[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x400000};
	ph[2] =
	    (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = 0x400000 + NOTES, .p_filesz = end - NOTES};
}

static int look(struct found *f)
{
	const struct elf_image from = {.read = read_image, .start = START};

	*f = (struct found){.nr = 0};
	return elf_image_each_note(&from, "cpuperf", 1, on_note, f);
}

TEST(a_note_is_found)
{
	struct found f;

	assert_int_equal(look(&f), 0);
	assert_int_equal(f.nr, 1);
	assert_memory_equal(f.content, "yes", 3);
	assert_memory_equal(image.bytes + (f.address - START), "yes", 3);
}

TEST(hostile_headers_are_refused)
{
	struct found f;

	image.header.e_phnum = 0xffff;
	assert_int_equal(look(&f), -EINVAL);
	image.header.e_phnum = NR_HEADERS;
	image.header.e_phentsize = 1;
	assert_int_equal(look(&f), -EINVAL);
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	image.header.e_phoff = UINT64_MAX - 8;
	assert_int_equal(look(&f), -EIO);
	image.header.e_phoff = sizeof(Elf64_Ehdr);
	ph[1].p_offset = 4096; /* no segment has the first byte */
	assert_int_equal(look(&f), -EINVAL);
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(look(&f), -EINVAL);
	assert_int_equal(f.nr, 0);
}

TEST(hostile_lengths_are_refused)
{
	static const uint32_t lengths[] = {UINT32_MAX, UINT32_MAX - 3, 1u << 31, 4096, 60};
	Elf64_Nhdr *first = (void *)(image.bytes + NOTES);
	struct found f;

	for (size_t i = 0; i < 5; i++) {
		before_each();
		first->n_namesz = lengths[i];
		assert_int_equal(look(&f), 0);
		assert_int_equal(f.nr, 0);
		before_each();
		first->n_descsz = lengths[i];
		assert_int_equal(look(&f), 0);
		assert_int_equal(f.nr, 0);
	}
	before_each();
	ph[2].p_filesz = UINT64_MAX;
	assert_int_equal(look(&f), 0);
	for (uint64_t len = 0; len < 64; len++) { /* cut anywhere */
		ph[2].p_filesz = len;
		assert_int_equal(look(&f), 0);
		assert_int_equal(f.nr, 0);
	}
}
