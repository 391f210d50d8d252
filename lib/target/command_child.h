/*
 * The process that becomes the command.
 */
#ifndef TARGET_COMMAND_CHILD_H
#define TARGET_COMMAND_CHILD_H

#include <sys/types.h>

/* What is written to go_fd. */
enum target_order { TARGET_EXEC, TARGET_FORK, TARGET_ARGV, TARGET_VARIABLE };

/*
 * In the child: waits for orders at go_fd, and ends at its end of file. Writes ints to result_fd.
 * TARGET_EXEC: writes its struct rusage and calls exec; if that fails, writes its errno.
 * TARGET_FORK: makes another child of its parent, which writes its pid and waits for TARGET_EXEC;
 * if that fails, writes -errno. Writes 0 when that child has called exec or has ended.
 * TARGET_ARGV: reads an argv to use from now on: a size_t, and strings of so many bytes in all.
 * TARGET_VARIABLE: reads a variable of the environment: a size_t, and "NAME=VALUE" of so many
 * bytes.
 */
_Noreturn void target_become(int go_fd, int result_fd, char *const *argv);

/* read(2), but again if a signal interrupts it. */
ssize_t target_read(int fd, void *to, size_t len);

#endif
