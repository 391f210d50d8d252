/*
 * The text of the files of a control group, and of mountinfo.
 */
#ifndef THINGS_CGROUP_TEXT_H
#define THINGS_CGROUP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Of cpu.stat, memory.current and io.stat, as struct things_file has them: values and bits by enum
 * cgroup_field. */
int cgroup_parse_cpu(const char *text, size_t len, uint64_t *values, uint32_t *has);
int cgroup_parse_memory(const char *text, size_t len, uint64_t *values, uint32_t *has);
int cgroup_parse_io(const char *text, size_t len, uint64_t *values, uint32_t *has);

/* Where cgroup2 is mounted, of the text of mountinfo: a whole hierarchy rather than a part of one.
 * 0, or -ENOENT (also if it does not fit). */
int cgroup_find_mount(const char *text, size_t len, char *out, size_t size);

#endif
