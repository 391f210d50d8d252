/*
 * Reads other users' files (for symbols), within a budget of memory and time for the whole run. A
 * child process reads, because a process blocked in a file system that does not answer cannot be
 * killed; it holds no resources and is abandoned if it does not answer. What was read is a copy
 * that cannot change. Thread-safe.
 *
 * A file may use at most a quarter of what is left, so that no file exhausts the budget.
 *
 * Names come from files that others may have crafted, or may change during the run. One reader per
 * run reads them all, only ranges with data, since holes cost nothing to make. Compressed sections
 * are unpacked by us (unpack.h), within what they can have become, as libelf unpacks by the
 * methods of its own build; libdw gets an image of them (dwarf_image.h) and never opens a file.
 */
#ifndef ELF_READER_H
#define ELF_READER_H

#include "elf/rights.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct elf_reader;
struct err;

struct elf_reader_config {
	/* NULL, or receives what was skipped and why. Never called by two threads at once. */
	void (*problem)(void *arg, const struct err *problem);
	void *arg;
	uint64_t max_bytes,
	    max_ns; /* 0: 8 GiB, or half of the memory if that is less (elf/memory.h); 20 s */
};

/* 0 or -ENOMEM. Starts the child on first use. */
int elf_reader_new(const struct elf_reader_config *config, struct elf_reader **out);
void elf_reader_free(struct elf_reader *r); /* NULL is fine */

/* A file and what it has used of the budget. Zero-initialise all but path. */
struct elf_reader_file {
	const char *path; /* borrowed */
	/* > 0: the first bytes of path are a folder that is not left, as if it were /: links in it
	 * lead to places in it */
	size_t root_len;
	bool is_own_root;  /* this process chose that folder, and opens it with its own rights */
	bool is_of_kernel; /* the path is a link that shows what a process has opened */
	struct elf_rights rights; /* with which it is opened */
	bool is_elsewhere;        /* of another root: what it names is not here */
	bool refuses_links;       /* if the path itself is one */
	bool may_grow;            /* a file that grows is still the same file */
	bool is_known;            /* st is valid; if the file changes, -ESTALE */
	struct stat st;
	uint64_t bytes, ns, credit_ns; /* used; and granted for its size */
};

/*
 * Sets st and is_known. -EINVAL: not a regular file; -EPERM: its rights cannot be had;
 * -ESTALE: it changed; -ETIMEDOUT: no answer, or
 * its time is used up; -errno of the system calls.
 */
int elf_reader_look(struct elf_reader *r, struct elf_reader_file *f);
/* The same, and reads the first bytes at once, at most len: *got of them, which are charged. 0:
 * they could not be read, or are over the budget: elf_reader_read returns why. */
int elf_reader_look_at(struct elf_reader *r, struct elf_reader_file *f, void *out, uint64_t len,
		       uint64_t *got);
/*
 * Reads its bytes [offset, offset + len), which must exist, and charges them. In addition to the
 * above: -ENOMEM: over the budget; -EFBIG: mostly a hole in the file, which anybody can create for
 * free.
 */
int elf_reader_read(struct elf_reader *r, struct elf_reader_file *f, uint64_t offset, uint64_t len,
		    void *out);
/* CRC-32 of the whole file (as zlib's), without storing it. All files together may take three times
 * max_ns for this, each one half of what is left; else -ETIMEDOUT. */
int elf_reader_crc32(struct elf_reader *r, struct elf_reader_file *f, uint32_t *out);

/* Charges memory made from the file's content. False: over the budget; nothing was charged. */
bool elf_reader_pay(struct elf_reader *r, struct elf_reader_file *f, uint64_t bytes);
/* Charges time spent on the file's content. False: its time is used up. */
bool elf_reader_spend(struct elf_reader *r, struct elf_reader_file *f, uint64_t ns);
/* The memory left for the file. */
uint64_t elf_reader_bytes_left(struct elf_reader *r, const struct elf_reader_file *f);

/* Half of the memory, or of the time, is used: who runs for long makes a new one. */
bool elf_reader_is_low(struct elf_reader *r);

/* Sets *e to the reason of rc. */
void elf_reader_explain(int rc, const char *path, struct err *e);
/* Passes the reason of rc to the problem function. */
void elf_reader_report(struct elf_reader *r, int rc, const char *path);

#endif
