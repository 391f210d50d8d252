/*
 * One read(2): the kernel copies the arguments as far as they fit. While an exec is under way, and
 * for kernel threads, it returns nothing.
 */
#include "survey/cmdline.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/sys.h"
#include "proc/proc.h"

#include <errno.h>
#include <string.h>

void survey_cmdline_read(const struct root *root, uint32_t pid, struct survey_cmdline *out)
{
	char text[TRACE_CMDLINE_BYTES + 1];
	ssize_t n;

	memset(out, 0, offsetof(struct survey_cmdline, text));
	out->pid = pid;
	out->from_ns = clock_monotonic_ns();

	IO_AUTO_FD int fd = proc_open(PROC(root, pid), "cmdline");

	do
		n = fd < 0 ? fd : sys()->read(fd, text, sizeof(text));
	while (n == -EINTR);
	out->to_ns = clock_monotonic_ns();
	if (n <= 0)
		return;
	if (n > TRACE_CMDLINE_BYTES) {
		out->flags |= TRACE_CMDLINE_IS_CUT;
		n = TRACE_CMDLINE_BYTES;
	}
	out->len = (uint32_t)n;
	memcpy(out->text, text, (size_t)n);
}
