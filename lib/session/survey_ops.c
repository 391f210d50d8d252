/*
 * The real system calls, with -errno for -1. Must not know what they are asked for.
 */
#include "session/survey_ops.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int result(long rc)
{
	return rc < 0 ? -errno : (int)rc;
}

static int kernel_mkdir(const char *path, mode_t mode)
{
	return result(mkdir(path, mode));
}

static int kernel_bpf(int cmd, void *attr, size_t size)
{
	return result(syscall(SYS_bpf, cmd, attr, size));
}

static int kernel_ioctl(int fd, unsigned long request, void *arg)
{
	return result(ioctl(fd, request, arg));
}

const struct survey_ops survey_kernel_ops = {
    .mkdir = kernel_mkdir,
    .bpf = kernel_bpf,
    .ioctl = kernel_ioctl,
};

static const struct survey_ops *ops = &survey_kernel_ops;

const struct survey_ops *survey_ops(void)
{
	return ops;
}

void survey_set_ops(const struct survey_ops *o)
{
	ops = o ? o : &survey_kernel_ops;
}
