/*
 * Libraries that the static programs have linked in, where others load them.
 */
#ifndef LINKED_LINKED_H
#define LINKED_LINKED_H

#include <stddef.h>
#include <stdint.h>

struct linked_function {
	const char *name;
	void *at;
};

struct linked_library {
	const char *name; /* up to its version: "libz.so." */
	const struct linked_function *function;
	size_t nr;
};

extern const struct linked_library linked_capstone, linked_microhttpd, linked_pfm;

/* A row for the table of functions. What a function is does not matter here: its address does. */
#define LINKED_FUNCTION(symbol)                                                                    \
	{                                                                                          \
#symbol, (void *)symbol                                                            \
	}

#endif
