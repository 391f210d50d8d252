#include "proc/memory.h"

#include <errno.h>
#include <sys/types.h>
#include <sys/uio.h>

bool proc_memory_read(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
	const struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	const ssize_t n = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	if (n >= 0 && n != (ssize_t)bytes)
		errno = EFAULT;
	return n == (ssize_t)bytes;
}
