/*
 * Names in BTF, the types of a BPF program as the kernel gives them back. Every byte is hostile.
 * Source: Documentation/bpf/btf.rst, linux/btf.h.
 */
#ifndef SURVEY_BTF_H
#define SURVEY_BTF_H

#include <stddef.h>
#include <stdint.h>

/* The name of the type of that number, in data; NULL: there is none. */
const char *survey_btf_name(const void *data, size_t len, uint32_t type);

#endif
