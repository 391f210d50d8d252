/*
 * Whether the kernel's types (BTF) have a name, without the 50 ms that libbpf takes to read them
 * all. Private to bpf/.
 */
#ifndef BPF_BTF_TYPES_H
#define BPF_BTF_TYPES_H

#include <stdbool.h>
#include <stddef.h>

struct root;

/* All of them. */
struct btf_types {
	const void *data;
	size_t len;
	bool is_mapped; /* else they are in memory of our own */
};
/* 0 or -errno. Close what was opened. */
int btf_types_open(const struct root *root, struct btf_types *out);
void btf_types_close(struct btf_types *t);

/* 1: a type, member or parameter has this name, of less than 256 bytes; 0: none. -errno: the types
 * cannot be read; -EINVAL: they are not in this machine's form. */
int btf_types_have_name(const struct root *root, const char *name);

#endif
