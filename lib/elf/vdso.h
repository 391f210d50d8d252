/*
 * The vdso of this process. All programs of the same kind have the same since boot.
 */
#ifndef ELF_VDSO_H
#define ELF_VDSO_H

struct elf_file;

/* NULL: none, or no memory. Close with elf_file_close. */
struct elf_file *elf_vdso_open(void);

#endif
