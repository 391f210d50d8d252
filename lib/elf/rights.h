/*
 * With whose rights a file is opened whose name another user's data has. Root may read any file,
 * and must not show one because somebody wrote its name into a program, so it opens such a file
 * as that user: without root's capabilities and groups. For others nothing is limited: what they
 * may not read they cannot open.
 */
#ifndef ELF_RIGHTS_H
#define ELF_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct stat;

/* Zero-initialised: all that this process has. */
struct elf_rights {
	bool are_limited;
	uint32_t uid;
};

/* Those of whoever may have written the file: its owner, or nobody if anybody can. */
struct elf_rights elf_rights_of(const struct stat *st);
struct elf_rights elf_rights_of_user(uint32_t uid);
/* What both may: for what two have a part in. */
struct elf_rights elf_rights_of_both(struct elf_rights a, struct elf_rights b);

/* The calling thread opens files with these rights until elf_rights_return. Only in a process with
 * one thread. 0; -EPERM: they cannot be had (a user unknown in this user namespace): nothing was
 * taken. */
int elf_rights_take(struct elf_rights rights);
/* 0; -EPERM: its own rights cannot be had again, so it should end. */
int elf_rights_return(void);

#endif
