/*
 * The USDT probes of a file: the notes that <sys/sdt.h> and its like write, stapsdt of type 3, in
 * the section .note.stapsdt. A probe is a NOP in the code. Files are hostile: notes with other
 * places or names than these have been are skipped. Source: UserSpaceProbeImplementation of the
 * SystemTap wiki, <sys/sdt.h>.
 */
#ifndef ELF_PROBES_H
#define ELF_PROBES_H

#include "elf/file.h"

enum { ELF_PROBE_NAME_BYTES = 128, ELF_PROBE_ARGUMENTS_BYTES = 512 };

/* The instruction of a probe, which decides what a hit costs, and whether it may be replaced. */
enum elf_probe_code {
	ELF_PROBE_NOP,      /* of one byte; on arm64 of four */
	ELF_PROBE_NOP5,     /* x86-64: 0f 1f 44 00 00, which kernels may replace by a call */
	ELF_PROBE_LONG_NOP, /* x86: another of several bytes */
	ELF_PROBE_OTHER,    /* no NOP, or one of another machine */
};

struct elf_probe {
	/* Without control characters, spaces and ":,@/"; at most ELF_PROBE_NAME_BYTES - 1. */
	char provider[ELF_PROBE_NAME_BYTES], name[ELF_PROBE_NAME_BYTES];
	char arguments[ELF_PROBE_ARGUMENTS_BYTES]; /* "4@%eax 8@-16(%rbp)"; "": none, or unreadable
						    */
	uint64_t address;                          /* of the instruction */
	uint64_t offset;                           /* its place in the file */
	/* The place in the file of the 16 bits that the program tests before the probe, and that
	 * count who listens; 0: none. */
	uint64_t semaphore;
	enum elf_probe_code code;
};

/* Calls fn for each probe, in the order of the notes. Stops at the first non-zero result and
 * returns it; else 0, also for a file without probes. */
int elf_probes_each(const struct elf_file *f, int (*fn)(const struct elf_probe *p, void *arg),
		    void *arg);
/* The same of the content of a section; base: the address of .stapsdt.base, 0: there is none. */
int elf_probes_in_notes(const struct elf_file *f, const uint8_t *notes, size_t len, uint64_t base,
			int (*fn)(const struct elf_probe *p, void *arg), void *arg);

#endif
