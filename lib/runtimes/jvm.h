/*
 * The structures of a HotSpot machine in the memory of its process, which runs meanwhile: what was
 * read may not be so any more, and is hostile.
 */
#ifndef RUNTIMES_JVM_H
#define RUNTIMES_JVM_H

#include "runtimes/vmstructs.h"

#include <stddef.h>

struct remote;

struct jvm {
	uint32_t pid;
	struct vmstructs at;
	struct remote *pages; /* borrowed: by which it is read; NULL: as it is now */
};

/* Of little-endian bytes. */
uint64_t jvm_number(const uint8_t *p, uint32_t bytes);
bool jvm_load(const struct jvm *m, uint64_t address, void *to, size_t bytes);
/* A member of a structure; false: it cannot be read, or there is no structure (0). */
bool jvm_follow(const struct jvm *m, uint64_t structure, enum vmstructs_field f, uint64_t *out);

enum { JVM_SYMBOL_BYTES = 240 }; /* a longer one is truncated */
/* The text of a symbol. False: it has none. */
bool jvm_symbol(const struct jvm *m, uint64_t symbol, char out[JVM_SYMBOL_BYTES]);
/* As programs spell a class: "java/lang/String" is java.lang.String; "A$$Lambda+0x00007f", whose
 * number differs from run to run, is A$$Lambda. */
void jvm_spell(char *class);

/* How often it has collected garbage. */
bool jvm_collections(const struct jvm *m, uint64_t *out);

#endif
