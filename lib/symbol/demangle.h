/*
 * The names that compilers give to functions of C++ and Rust, as the source has them. Symbol tables
 * are hostile: time, stack and length are bounded. Thread-safe.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>

/* Of a result, with its NUL. */
enum { SYMBOL_MAX_NAME_BYTES = 4096 };

/* The name in the source, without the version that a linker appended and without a hash of Rust;
 * one that is too long ends in "…". False, and the name itself (without version), if it is not
 * mangled, or not in a way that is known. */
bool symbol_demangle(const char *linkage_name, char out[SYMBOL_MAX_NAME_BYTES]);

#endif
