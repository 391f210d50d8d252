/*
 * Demangles names of C++ and Rust functions. Symbol tables are hostile: time, stack and length are
 * bounded. Thread-safe.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>

/* The longest result, with its NUL. */
enum { SYMBOL_MAX_NAME_BYTES = 4096 };

/* The name in the source, without a symbol version and without Rust's hash; truncated names end
 * in "…". False if it is not mangled, or in an unknown way; then *out is the name without its
 * version. */
bool symbol_demangle(const char *linkage_name, char out[SYMBOL_MAX_NAME_BYTES]);

#endif
