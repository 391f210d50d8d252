/*
 * The vdso ends with its section headers.
 */
#include "elf/vdso.h"

#include "elf/file.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

struct elf_file *elf_vdso_open(void)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct elf_file *file = NULL;
	Elf64_Ehdr head;
	uint64_t len;

	if (!at || sizeof(void *) != 8)
		return NULL;
	memcpy(&head, at, sizeof(head));
	len = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
	if (!head.e_shoff || elf_file_open_mem(at, len, false, "[vdso]", &file, NULL))
		return NULL;
	return file;
}
