/*
 * The side of the child: nothing but system calls, since other threads of the parent may have held
 * locks.
 */
#include "target/command_child.h"

#include <errno.h>
#include <unistd.h>

ssize_t target_read(int fd, void *to, size_t len)
{
	ssize_t n;

	do
		n = read(fd, to, len);
	while (n < 0 && errno == EINTR);
	return n;
}

void target_become(int go_fd, int failed_fd, char *const *argv)
{
	int error;
	char go;

	if (target_read(go_fd, &go, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	error = errno;
	while (write(failed_fd, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(error == ENOENT ? 127 : 126);
}
