/*
 * The code of BPF programs that are loaded, under the names that the kernel has for it: what
 * /proc/kallsyms tells under [bpf], with its length. Asked with bpf(2), which needs CAP_SYS_ADMIN.
 * Source: bpf_prog_ksym_set_name in kernel/bpf/core.c, bpf_prog_get_info_by_fd in
 * kernel/bpf/syscall.c. Trampolines have no program and are not told.
 */
#ifndef SURVEY_BPF_H
#define SURVEY_BPF_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SURVEY_MAX_PROGRAMS = 65536,
	SURVEY_MAX_FUNCTIONS = 1024,     /* of a program; Linux 6.12 allows 256 */
	SURVEY_MAX_BTF_BYTES = 16 << 20, /* of a program: what its functions are called */
};

struct survey_function {
	uint64_t address;
	uint32_t len;
	const char *name; /* lives until the callback returns */
};

struct survey_bpf {
	uint64_t nr_denied; /* so often the kernel said that we may not look */
	bool has_failed;    /* some could not be asked, for another reason */
	bool is_full;       /* some were left out because of SURVEY_MAX_PROGRAMS */
};

/*
 * Calls fn for each function of each program. 0; -EPERM, -ENOSYS or another -errno: the kernel
 * cannot be asked, or -ENOMEM, and fn was not called; or what fn returned, non-zero, which ends it.
 */
int survey_bpf_each(int (*fn)(const struct survey_function *f, void *arg), void *arg,
		    struct survey_bpf *out);

#endif
