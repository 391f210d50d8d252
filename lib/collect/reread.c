/*
 * Each piece costs a call, and so does asking whether there is another one.
 */
#include "collect/reread.h"

#include "base/buf.h"
#include "base/sys.h"

#include <errno.h>

/*
 * The kernel puts lines into a page (4 KiB at least) for as long as they fit, and gives that: a
 * piece that leaves room for another line is the last one. The longest lines that come in pieces
 * are far below 1 KiB (that of a network interface); longer ones (the interrupts in /proc/stat) are
 * of files that come as one.
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
