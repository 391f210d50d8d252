/*
 * Finds the file that a recorded path and build-id mean, and keeps it open: the program or library
 * as it was when recorded, never another one silently. May be asked by several threads at once.
 * Knows nothing of symbols.
 */
#ifndef ELF_FINDER_H
#define ELF_FINDER_H

#include "elf/file.h"

struct elf_finder;
struct elf_reader;

/* Strings are borrowed. */
struct elf_finder_config {
	const char *sysroot; /* before each recorded path; NULL or "": / */
	const char *const
	    *debug_dirs; /* of separate debug files: nr of them, then /usr/lib/debug */
	size_t nr_debug_dirs;
	bool use_debuginfod; /* ask servers, as DEBUGINFOD_URLS says, for what is not here */
	/* When it was recorded, CLOCK_REALTIME: a file changed later is another one, if no build-id
	 * can tell. 0: not known. */
	uint64_t recorded_ns;
	/* Borrowed: the reader of the run. NULL: one of its own, which tells problems as below. */
	struct elf_reader *reader;
	/* Told once of each file that is not there, cannot be read, or changed since (another
	 * build-id), with a hint. Called under the finder's lock. */
	void (*problem)(void *arg, const struct err *problem);
	void *arg;
};

/* -errno, with *e by the name of the option, if a folder is not there. */
int elf_finder_check(const struct elf_finder_config *config, struct err *e);
int elf_finder_new(const struct elf_finder_config *config, struct elf_finder **out);
void elf_finder_free(struct elf_finder *f); /* with all its files; NULL is fine */

/* What was mapped; strings are copied where they are kept. */
struct elf_wanted {
	const char *path; /* as recorded, with " (deleted)" where the kernel says so */
	/* len 0: not recorded. Then the file at the path is taken, with a word of doubt, if it did
	 * not change since, and, without a sysroot, has the inode below. */
	struct elf_build_id build_id;
	uint32_t major, minor; /* inode 0: not recorded */
	uint64_t inode;
};

/* The file with the code. NULL: there is none that may be used. */
const struct elf_file *elf_finder_code(struct elf_finder *f, const struct elf_wanted *w);
/* The file that has its full symbols or DWARF (by build-id, then by .gnu_debuglink with its
 * checksum), which may be the code's own; NULL: there is none. */
const struct elf_file *elf_finder_debug(struct elf_finder *f, const struct elf_wanted *w);
/* The debug file of this build-id, wherever its code is: what several share (.gnu_debugaltlink).
 * Nothing is told if there is none. */
const struct elf_file *elf_finder_by_id(struct elf_finder *f, const struct elf_build_id *id);
/* For other files that belong to what was recorded. */
struct elf_reader *elf_finder_reader(const struct elf_finder *f);
/* As configured; "" for /. */
const char *elf_finder_sysroot(const struct elf_finder *f);

#endif
