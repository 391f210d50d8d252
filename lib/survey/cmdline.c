/*
 * One read(2): the kernel copies the arguments as far as they fit. While an exec is under way, and
 * for kernel threads, it returns nothing.
 */
#include "survey/cmdline.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void survey_cmdline_read(const struct root *root, uint32_t pid, struct survey_cmdline *out)
{
	char path[64], text[TRACE_CMDLINE_BYTES + 1];
	ssize_t n;

	memset(out, 0, offsetof(struct survey_cmdline, text));
	out->pid = pid;
	out->from_ns = clock_monotonic_ns();
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", pid);

	IO_AUTO_FD int fd = root_open(root, path);

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
