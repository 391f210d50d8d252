/*
 * Reads with as few calls as possible: a last call that only finds the end is avoided.
 */
#include "collect/reread.h"

#include "base/buf.h"
#include "base/sys.h"

#include <errno.h>

/*
 * The kernel fills a page (at least 4 KiB) with whole lines: a piece with room for another line is
 * the last. The longest lines of files that it returns in pieces are far below 1 KiB (a network
 * interface); files with longer lines (the interrupts of /proc/stat) are returned in one piece.
 */
static bool is_last(size_t n, size_t asked, bool is_one)
{
	enum { ROOM_LEFT = 4096 - 1024 };

	return n < asked && (is_one || n < ROOM_LEFT);
}

int reread(int fd, bool is_one, struct buf *text)
{
	enum { STEP_BYTES = 8192 };
	ssize_t n;

	buf_reset(text);
	do {
		char *p = buf_reserve(text, STEP_BYTES);

		if (!p)
			return buf_error(text);
		n = sys()->pread(fd, p, STEP_BYTES, (off_t)text->len);
		if (n > 0)
			text->len += (size_t)n;
	} while (n == -EINTR || (n > 0 && !is_last((size_t)n, STEP_BYTES, is_one)));
	return n < 0 ? (int)n : 0;
}
