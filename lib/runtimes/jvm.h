/*
 * The structures of a HotSpot machine in the memory of its process, which runs meanwhile: what was
 * read may not be so any more, and is hostile.
 */
#ifndef RUNTIMES_JVM_H
#define RUNTIMES_JVM_H

#include "runtimes/lines.h"
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

enum {
	JVM_SYMBOL_BYTES = 240,        /* a longer one is truncated */
	JVM_MAX_CONST_WORDS = 1 << 15, /* of a method's constants; what has more is none */
};
/* The text of a symbol. False: it has none. */
bool jvm_symbol(const struct jvm *m, uint64_t symbol, char out[JVM_SYMBOL_BYTES]);
/* As programs spell a class: "java/lang/String" is java.lang.String; "A$$Lambda+0x00007f", whose
 * number differs from run to run, is A$$Lambda. */
void jvm_spell(char *class);

/* Of what describes a method: "java.lang.String.length", truncated to size; and its file, "" if
 * that is not known. False: it is none. */
bool jvm_method_name(const struct jvm *m, uint64_t method, char *out, size_t size);
bool jvm_method_file(const struct jvm *m, uint64_t method, char out[JVM_SYMBOL_BYTES]);
/* The table of lines behind its bytecodes, as lines_convert. version: of Java. False: it has none.
 */
bool jvm_method_lines(const struct jvm *m, uint64_t method, uint64_t version,
		      uint8_t out[LINES_MAX_BYTES], uint32_t *out_bytes, uint32_t *first_line);

/* How often it has collected garbage. */
bool jvm_collections(const struct jvm *m, uint64_t *out);

#endif
