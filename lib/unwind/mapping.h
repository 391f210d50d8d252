/*
 * What is mapped at an address, as whoever asks for stacks knows it: the tables of a session that
 * is read, or of one that is being recorded.
 */
#ifndef UNWIND_MAPPING_H
#define UNWIND_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

enum unwind_object_kind {
	UNWIND_OBJECT_FILE = 1,
	UNWIND_OBJECT_MEMORY, /* no file: code made at run time */
	UNWIND_OBJECT_VDSO,
};

struct unwind_mapping {
	uint64_t start, offset; /* its address, and in the object's file */
	uint32_t prot;          /* PROT_… bits */
	uint32_t object;        /* its number, from 0, dense */
	enum unwind_object_kind kind;
	const void *of; /* the finder's own */
};

/* What is known of a file that was mapped. */
struct unwind_file {
	const char *path; /* borrowed; as recorded */
	const uint8_t *build_id;
	uint8_t build_id_len;  /* 0: not known */
	uint32_t major, minor; /* with inode 0: not known */
	uint64_t inode;
};

/* Finds what a process had mapped. */
struct unwind_maps {
	/* The mapping that covers the address. False: none is known. */
	bool (*find)(void *arg, const void *process, uint64_t address, uint64_t time_ns,
		     struct unwind_mapping *out);
	/* The file of a mapping of kind UNWIND_OBJECT_FILE. */
	void (*want)(void *arg, const struct unwind_mapping *m, struct unwind_file *out);
	/* Whether code of the mapping (NULL: none is known), whose table is not known, may be left
	 * by its frame pointer. NULL: always. */
	bool (*may_guess)(void *arg, const void *process, const struct unwind_mapping *m);
	void *arg;
};

#endif
