/*
 * Names in BTF, the type information of a BPF program. The data is hostile. Source:
 * Documentation/bpf/btf.rst, linux/btf.h.
 */
#ifndef SURVEY_BTF_H
#define SURVEY_BTF_H

#include <stddef.h>
#include <stdint.h>

/* The name of type number type, within data; NULL: it has none, or data is invalid. */
const char *survey_btf_name(const void *data, size_t len, uint32_t type);

#endif
