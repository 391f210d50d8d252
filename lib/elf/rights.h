/*
 * The rights with which a file is opened that another user's data names. Root may read any file,
 * and must not show one because somebody wrote its name into a program. So it opens such a file as
 * that user: without root's capabilities and groups. Nothing is limited for others, who cannot
 * open what they may not read.
 *
 * Both count: who made the recording, and who wrote the file that contains the name
 * (elf_file_rights). Lines may come from several files (symbols_rights). A file of a debug folder
 * is opened with the rights of the file that has the build-id and of the folder's owner, a copy of
 * debuginfod's with those of the cache's owner. Sources of others are looked for only in folders
 * that the user names.
 *
 * What is read without the child (manifests, traces, perf.data, host.json) has one rule for links
 * and second names (io_open_linked), and a session is trusted as much as the least trusted of its
 * files (profile_session_writer).
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

/* The rights of the user who may have written the file: its owner, or nobody if everybody may. */
struct elf_rights elf_rights_of(const struct stat *st);
struct elf_rights elf_rights_of_user(uint32_t uid);
/* The rights that both have: for a file that two users lead to. */
struct elf_rights elf_rights_of_both(struct elf_rights a, struct elf_rights b);

/* The calling thread opens files with these rights until elf_rights_return. Only in a process with
 * one thread. 0; -EPERM: they cannot be had (a user unknown in this user namespace): nothing was
 * taken. */
int elf_rights_take(struct elf_rights rights);
/* 0; -EPERM: its own rights cannot be had again, so it should end. */
int elf_rights_return(void);

#endif
