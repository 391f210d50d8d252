/*
 * The vdso of this process: what the kernel maps into all programs of the same kind since its boot.
 */
#ifndef ELF_VDSO_H
#define ELF_VDSO_H

struct elf_file;

/* NULL: there is none, or no memory. elf_file_close closes it. */
struct elf_file *elf_vdso_open(void);

#endif
