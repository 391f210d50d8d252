#include "wire/stamp.h"

#include "base/buf.h"
#include "base/io.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20 };

uint32_t wire_stamp_own(void)
{
	return HEAP_VERSION;
}

int wire_stamp_read(const char *path, uint32_t *version)
{
	static const char text[] = HEAP_STAMP;
	struct heap_stamp stamp;
	BUF_AUTO(file, MAX_BYTES);
	const char *found;
	int rc = io_load(AT_FDCWD, path, &file);

	if (rc)
		return rc;
	found = memmem(buf_str(&file), file.len, text, sizeof(text));
	if (!found || file.len - (size_t)(found - buf_str(&file)) < sizeof(stamp))
		return -ENODATA;
	memcpy(&stamp, found, sizeof(stamp));
	*version = stamp.version;
	return 0;
}
