/*
 * Reads other people's files, for names, within a budget of memory and time for the whole run. A
 * child process reads, because a process that waits for a file system that does not answer cannot
 * even be killed. The child holds nothing; if it does not answer it is abandoned. What was read is
 * a copy that nobody can change or truncate. Several threads may use a reader at once.
 *
 * A file may use at most a quarter of what the others left, so that none exhausts the budget.
 */
#ifndef ELF_READER_H
#define ELF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct elf_reader;
struct err;

struct elf_reader_config {
	/* Told what is left out, and why; may be NULL. By one thread at a time. */
	void (*problem)(void *arg, const struct err *problem);
	void *arg;
	uint64_t max_bytes,
	    max_ns; /* 0: 8 GiB, or half of the memory if less (elf/memory.h); 20 s */
};

/* 0 or -ENOMEM. The child is made when it is first asked. */
int elf_reader_new(const struct elf_reader_config *config, struct elf_reader **out);
void elf_reader_free(struct elf_reader *r); /* NULL is fine */

/* A file, by its path, and what it took of the budget. Zero-initialise, but for path. */
struct elf_reader_file {
	const char *path;   /* borrowed */
	bool refuses_links; /* as the last part of the path */
	bool may_grow;      /* meanwhile: what it had when it was looked at is what counts */
	bool is_known;      /* looked at: from then on it must be what it was then, else -ESTALE */
	struct stat st;
	uint64_t bytes, ns, credit_ns; /* taken; and what it may take for its size */
};

/*
 * Looks at a file: fills st, and is_known. -EINVAL: not a regular file; -ESTALE: it changed;
 * -ETIMEDOUT: nobody answers, or it used up its time; -errno of the calls.
 */
int elf_reader_look(struct elf_reader *r, struct elf_reader_file *f);
/*
 * Copies its bytes [offset, offset + len), all of which it must have, and which are paid for.
 * Beside the above: -ENOMEM: more than it may take; -EFBIG: most of them are a hole, which costs
 * nobody anything to make.
 */
int elf_reader_read(struct elf_reader *r, struct elf_reader_file *f, uint64_t offset, uint64_t len,
		    void *out);
/* CRC-32 (that of zlib) of the whole file, of which nothing is kept. All files together may take
 * three times max_ns for it, each one half of what is left: else -ETIMEDOUT. */
int elf_reader_crc32(struct elf_reader *r, struct elf_reader_file *f, uint32_t *out);

/* Takes memory for what is made of a file. False: more than it may take; nothing was taken. */
bool elf_reader_pay(struct elf_reader *r, struct elf_reader_file *f, uint64_t bytes);
/* Tells that looking into a file took so long. False: it used up its time. */
bool elf_reader_spend(struct elf_reader *r, struct elf_reader_file *f, uint64_t ns);
/* The most that it may still take. */
uint64_t elf_reader_bytes_left(struct elf_reader *r, const struct elf_reader_file *f);

/* What is wrong, for a person, if rc is of reading. */
void elf_reader_explain(int rc, const char *path, struct err *e);
/* Tells that of the problem function. */
void elf_reader_tell(struct elf_reader *r, int rc, const char *path);

#endif
