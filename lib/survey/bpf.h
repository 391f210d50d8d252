/*
 * The functions of loaded BPF programs, as /proc/kallsyms lists them under [bpf], with lengths.
 * Uses bpf(2), which requires CAP_SYS_ADMIN. Source: bpf_prog_ksym_set_name in kernel/bpf/core.c,
 * bpf_prog_get_info_by_fd in kernel/bpf/syscall.c. Trampolines belong to no program and are not
 * reported.
 */
#ifndef SURVEY_BPF_H
#define SURVEY_BPF_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SURVEY_MAX_PROGRAMS = 65536,
	SURVEY_MAX_FUNCTIONS = 1024,     /* per program; Linux 6.12 allows 256 */
	SURVEY_MAX_BTF_BYTES = 16 << 20, /* per program: the types with the functions' names */
};

struct survey_function {
	uint64_t address;
	uint32_t len;
	const char *name; /* valid during the callback */
};

struct survey_bpf {
	uint64_t nr_denied; /* calls that were refused for lack of privilege */
	bool has_failed;    /* some programs could not be read, for another reason */
	bool is_full;       /* more than SURVEY_MAX_PROGRAMS */
};

/*
 * Calls fn for each function of each program. 0; -errno: bpf(2) does not work here (-EPERM,
 * -ENOSYS), or -ENOMEM, and fn was not called; or the first non-zero result of fn, which ends the
 * walk.
 */
int survey_bpf_each(int (*fn)(const struct survey_function *f, void *arg), void *arg,
		    struct survey_bpf *out);

#endif
