/*
 * Reads with as few calls as possible: a last call that only finds the end is avoided.
 */
#include "things/reread.h"

#include "base/buf.h"
#include "base/sys.h"

#include <errno.h>

int reread(int fd, bool is_one, struct buf *text)
{
	/* The kernel fills a page (at least 4 KiB) with whole lines: a piece with room for another
	 * line is the last. The longest lines of files that it returns in pieces are far below 1
	 * KiB (a network interface); files with longer lines (the interrupts of /proc/stat) are
	 * returned in one piece. */
	enum { STEP_BYTES = 8192, ROOM_LEFT = 4096 - 1024 };
	ssize_t n;

	buf_reset(text);
	do {
		char *p = buf_reserve(text, STEP_BYTES);

		if (!p)
			return buf_error(text);
		n = sys()->pread(fd, p, STEP_BYTES, (off_t)text->len);
		if (n > 0)
			text->len += (size_t)n;
	} while (n == -EINTR || n == STEP_BYTES || (n >= ROOM_LEFT && !is_one));
	return n < 0 ? (int)n : 0;
}
