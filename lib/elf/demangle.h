/*
 * Demangles names of C++ and Rust functions. Symbol tables are hostile: time, stack and length are
 * bounded. Thread-safe.
 */
#ifndef ELF_DEMANGLE_H
#define ELF_DEMANGLE_H

#include <stdbool.h>

/* The longest result, with its NUL. */
enum { ELF_MAX_NAME_BYTES = 4096 };

/* The name in the source, without a symbol version and without Rust's hash; truncated names end
 * in "…". False if it is not mangled, or in an unknown way; then *out is the name without its
 * version. */
bool elf_demangle(const char *linkage_name, char out[ELF_MAX_NAME_BYTES]);

#endif
