/*
 * Whether the kernel's types (BTF) have a name, without the 50 ms that libbpf takes to read them
 * all. Private to bpf/.
 */
#ifndef BPF_KERNEL_TYPES_H
#define BPF_KERNEL_TYPES_H

struct root;

/* 1: a type, member or parameter has this name, of less than 256 bytes; 0: none. -errno: the types
 * cannot be read; -EINVAL: they are not in this machine's form. */
int kernel_types_have_name(const struct root *root, const char *name);

#endif
