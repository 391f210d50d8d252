/*
 * Which files a program consists of when it starts: itself, its dynamic loader, and the libraries
 * that the loader finds by DT_NEEDED. Files are hostile. What a program loads later (dlopen) is not
 * among them. Source: ld.so(8).
 */
#ifndef ELF_OBJECTS_H
#define ELF_OBJECTS_H

#include "base/arena.h"
#include "base/dict.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_reader;

/* A file once, whatever its names. */
struct elf_object {
	uint64_t device, inode; /* the key */
	const char *path;       /* one by which it can be opened */
	bool is_program;        /* as the caller says */
};

struct elf_objects {
	struct dict files; /* struct elf_object */
	struct arena paths;
	struct elf_reader *reader; /* borrowed */
	const char *library_path;  /* LD_LIBRARY_PATH; borrowed; NULL or "": none */
	const uint8_t *cache;      /* the bytes of /etc/ld.so.cache; borrowed; NULL: none */
	size_t cache_bytes;
};

/* Allocates nothing yet. The other members are set by the caller. */
void elf_objects_init(struct elf_objects *o, struct elf_reader *reader);
void elf_objects_fini(struct elf_objects *o);
static inline size_t elf_objects_nr(const struct elf_objects *o)
{
	return o->files.nr;
}
static inline const struct elf_object *elf_objects_at(const struct elf_objects *o, size_t i)
{
	return (const struct elf_object *)dict_at(&o->files, (uint32_t)i);
}

/* Adds a regular file. 0, also if it was added before or is none; -ENOMEM. */
int elf_objects_add(struct elf_objects *o, const char *path);
/* Adds a program and all that its loader maps; of a script its interpreter. At most 1,024 files. 0
 * or -ENOMEM; what cannot be read is missing. */
int elf_objects_add_program(struct elf_objects *o, const char *path);
/* Adds the libraries of the loader's cache, or those whose path is wanted. 0 or -ENOMEM. */
int elf_objects_add_cache(struct elf_objects *o, bool (*is_wanted)(const char *path, void *arg),
			  void *arg);

#endif
