/*
 * Downloads files by build-id from the servers in DEBUGINFOD_URLS, with elfutils' client library if
 * it is installed. Only on request, because it reveals to the servers what runs here. Not
 * thread-safe.
 */
#ifndef ELF_DEBUGINFOD_H
#define ELF_DEBUGINFOD_H

#include "elf/build_id.h"

struct elf_debuginfod;
struct err;

/* -ENOTSUP with *e: the library is missing, or DEBUGINFOD_URLS is empty; -ENOMEM. */
int elf_debuginfod_open(struct elf_debuginfod **out, struct err *e);
void elf_debuginfod_close(struct elf_debuginfod *d); /* NULL is fine */

enum elf_debuginfod_what { ELF_DEBUGINFOD_CODE, ELF_DEBUGINFOD_DEBUG };
/* *path: of the file, to be freed with free(3). 0 or -errno. The file is not trusted. */
int elf_debuginfod_find(struct elf_debuginfod *d, const struct elf_build_id *id,
			enum elf_debuginfod_what what, char **path);
/* The same for a source file, by the absolute path that the debug information has. */
int elf_debuginfod_find_source(struct elf_debuginfod *d, const struct elf_build_id *id,
			       const char *source, char **path);

#endif
