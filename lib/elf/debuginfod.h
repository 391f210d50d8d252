/*
 * Files of a build-id from the servers that DEBUGINFOD_URLS names, through elfutils' library if
 * this machine has it: it is loaded when first asked for. Only for who asked for it: it tells
 * servers what runs here. Not thread-safe.
 */
#ifndef ELF_DEBUGINFOD_H
#define ELF_DEBUGINFOD_H

#include "elf/build_id.h"

struct debuginfod;
struct err;

/* -ENOTSUP, with *e: the library is not there, or DEBUGINFOD_URLS names no server; -ENOMEM. */
int debuginfod_open(struct debuginfod **out, struct err *e);
void debuginfod_close(struct debuginfod *d); /* NULL is fine */

enum debuginfod_what { DEBUGINFOD_CODE, DEBUGINFOD_DEBUG };
/* The path of a file, to be freed with free; -errno. What came is not to be trusted. */
int debuginfod_find(struct debuginfod *d, const struct elf_build_id *id, enum debuginfod_what what,
		    char **path);

#endif
