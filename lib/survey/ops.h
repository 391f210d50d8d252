/*
 * The system calls of the survey that are neither in base/sys.h nor in pmu/ops.h, behind a table of
 * functions that tests replace.
 */
#ifndef SURVEY_OPS_H
#define SURVEY_OPS_H

#include <stddef.h>
#include <sys/types.h>

/* Each returns what the call returns, or -errno in place of -1. */
struct survey_ops {
	int (*mkdir)(const char *path, mode_t mode);
	int (*bpf)(int cmd, void *attr, size_t size);
	int (*ioctl)(int fd, unsigned long request, void *arg);
	/* Opens with O_PATH, following no links. */
	int (*open_place)(const char *path);
};

extern const struct survey_ops survey_kernel_ops; /* the real ones */

/* The table in force. */
const struct survey_ops *survey_ops(void);
/* Replaces it (tests only, before threads start); NULL restores the real ones. */
void survey_set_ops(const struct survey_ops *ops);

#endif
