/*
 * Finds the file for a recorded path and build-id and keeps it open: the program or library as it
 * was when recorded, never silently another one. Thread-safe.
 *
 * Where a path leads to nothing, or to another file, it asks which processes still have the file
 * mapped (symbol/living.h) and tries their map_files, exe and root; a file of another root names
 * nothing here but what is in that root (elf_file_root_len), and is opened as nobody. Last it
 * takes what the session stored of the file (profile/file_parts.c): an ELF file of which only
 * parts can be read (elf_file_open_parts), as hostile as the file was; names in it are opened as
 * nobody.
 */
#ifndef ELF_FINDER_H
#define ELF_FINDER_H

#include "elf/file.h"
#include "elf/rights.h"

struct elf_finder;
struct elf_reader;
struct elf_reader_file;

/* Strings are borrowed. */
struct elf_finder_config {
	const char *sysroot; /* prefix of recorded paths; NULL or "": / */
	const char *const
	    *debug_dirs; /* folders of separate debug files, searched before /usr/lib/debug */
	size_t nr_debug_dirs;
	bool use_debuginfod; /* query the servers in DEBUGINFOD_URLS for missing files */
	/* The rights of whoever made the recording: files that it names are opened with no more. */
	struct elf_rights rights;
	/* CLOCK_REALTIME of the recording: without a build-id, a file changed later is another one.
	 * 0: unknown. */
	uint64_t recorded_ns;
	/* The same of its beginning: a file with the recorded inode, of which nothing changed
	 * since, is the one that ran. 0: unknown. */
	uint64_t begun_ns;
	/* Borrowed: the reader of the run. NULL: creates one with the same problem function. */
	struct elf_reader *reader;
	/* NULL, or called once per file that is missing, unreadable, or changed (another build-id),
	 * with a hint. Called under the finder's lock. */
	void (*problem)(void *arg, const struct err *problem);
	void *arg;
};

/* Checks that the folders exist. -errno with *e, which names the option. */
int elf_finder_check(const struct elf_finder_config *config, struct err *e);
int elf_finder_new(const struct elf_finder_config *config, struct elf_finder **out);
void elf_finder_free(struct elf_finder *f); /* closes all its files; NULL is fine */

/* The file that was mapped. Strings are copied as needed. */
struct elf_wanted {
	const char *path; /* as recorded, possibly with the kernel's " (deleted)" */
	/* len 0: not recorded. Then the file at the path is used if it was not changed since and,
	 * without a sysroot, has the recorded inode; with a warning unless it has that, and nothing
	 * of it, as its name or mode, changed since. */
	struct elf_build_id build_id;
	uint32_t major, minor; /* inode 0: not recorded */
	uint64_t inode;
};

/* Processes that still have files mapped which their paths do not lead to: deleted or replaced
 * programs, those of other mount namespaces. */
struct elf_mapped {
	uint32_t pid;
	uint64_t start, end; /* of the mapping */
};
struct elf_living {
	struct elf_finder *finder; /* borrowed; NULL: of none */
	/* The i-th process that lives and had it mapped. False: there are no more. Called under
	 * the finder's lock. */
	bool (*find)(void *arg, const struct elf_wanted *w, size_t i, struct elf_mapped *out);
	/* NULL, or the parts that the recording has of it; borrowed by the finder until it returns.
	 * False: none. Called in the same way. */
	bool (*find_stored)(void *arg, const struct elf_wanted *w, struct elf_file_parts *out);
	void *arg;
	struct elf_living *next; /* private */
};
/* Asks it for what is not found at its path, and for parts of what is found nowhere, until it is
 * removed. Borrowed. */
void elf_finder_add_living(struct elf_living *l);
void elf_finder_remove_living(struct elf_living *l);

/* The file with the code; NULL: not found. */
const struct elf_file *elf_finder_code(struct elf_finder *f, const struct elf_wanted *w);
/* The file with full symbols or DWARF, found by build-id, then by .gnu_debuglink and its checksum.
 * May be the code's file. NULL: none. */
const struct elf_file *elf_finder_debug(struct elf_finder *f, const struct elf_wanted *w);
/* The debug file with this build-id: one that several share (.gnu_debugaltlink). by: the file that
 * has the id; NULL: the recording. Reports nothing if there is none. */
const struct elf_file *elf_finder_by_id(struct elf_finder *f, const struct elf_build_id *id,
					const struct elf_file *by);
/* The file of a unit of DWARF that is not in the program's debug file (-gsplit-dwarf). Borrowed. */
struct elf_wanted_split {
	const struct elf_file *by; /* the debug file */
	const char *folder;        /* in which the unit was compiled; NULL: unknown */
	const char *name;          /* as in the debug file: of any bytes */
};
/* Opens the file at the i-th of the places in which it may be; the caller closes it, and tells
 * whether it is the one. *out NULL: none is there. False: there are no more places. */
bool elf_finder_split(struct elf_finder *f, const struct elf_wanted_split *w, size_t i,
		      struct elf_file **out);
/* The same for the package of all such files of a program (its name with .dwp behind it), which is
 * beside the program or its debug file, or in a debug folder. */
bool elf_finder_package(struct elf_finder *f, const struct elf_file *program, size_t i,
			struct elf_file **out);
/* Downloads a source file of the program with this build-id, if servers may be asked; source is the
 * absolute path that its debug information has. The path of the copy, to be freed with free(3);
 * NULL: none. */
char *elf_finder_source(struct elf_finder *f, const struct elf_build_id *id, const char *source);
/* For reading other files of the recording. */
struct elf_reader *elf_finder_reader(const struct elf_finder *f);
/* The folder that stands for /, as configured; "": / itself. */
const char *elf_finder_sysroot(const struct elf_finder *f);
/* The rights to open a file that another file, or the recording, names; of_namer: those of whoever
 * wrote that one. */
struct elf_rights elf_finder_rights(const struct elf_finder *f, struct elf_rights of_namer);
/* The place of a copy that elf_finder_source returned, with the rights of whoever can write its
 * folder. Borrows path. */
struct elf_reader_file elf_finder_copy(const char *path);
/* The place of a file that another file names: in the sysroot, if its path (borrowed) begins with
 * that. */
struct elf_reader_file elf_finder_named(const struct elf_finder *f, const char *path,
					struct elf_rights of_namer);

#endif
