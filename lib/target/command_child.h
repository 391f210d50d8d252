/*
 * The process that becomes the command.
 */
#ifndef TARGET_COMMAND_CHILD_H
#define TARGET_COMMAND_CHILD_H

#include <sys/types.h>

/* In the child: calls exec when a byte arrives at go_fd, and ends at its end of file. If exec
 * fails, its errno is written to failed_fd. */
_Noreturn void target_become(int go_fd, int failed_fd, char *const *argv);

/* read(2), but again if a signal interrupts it. */
ssize_t target_read(int fd, void *to, size_t len);

#endif
