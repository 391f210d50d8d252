#include "wire/stamp.h"

#include "base/buf.h"
#include "base/io.h"
#include "wire/heap_memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 64 << 20 };

uint32_t wire_stamp_own(void)
{
	return HEAP_VERSION;
}

/* An ELF file whose table of sections, which linkers write last, does not end within it: the loader
 * would refuse it, or fault. */
static bool is_truncated(const uint8_t *file, size_t len)
{
	Elf64_Ehdr h = {0};
	Elf32_Ehdr narrow;

	if (len < EI_NIDENT || memcmp(file, ELFMAG, SELFMAG) != 0)
		return false;
	if (file[EI_CLASS] == ELFCLASS32 && len >= sizeof(narrow)) {
		memcpy(&narrow, file, sizeof(narrow));
		h.e_shoff = narrow.e_shoff;
		h.e_shnum = narrow.e_shnum;
		h.e_shentsize = narrow.e_shentsize;
	} else if (len >= sizeof(h)) {
		memcpy(&h, file, sizeof(h));
	} else {
		return true;
	}
	return h.e_shoff > len || len - h.e_shoff < (size_t)h.e_shnum * h.e_shentsize;
}

int wire_stamp_read(const char *path, uint32_t *version)
{
	static const char text[] = HEAP_STAMP;
	struct heap_stamp stamp;
	BUF_AUTO(file, MAX_BYTES);
	const char *found;
	struct stat st;
	IO_AUTO_FD int fd = io_open_regular(AT_FDCWD, path, 0, &st);
	int rc = fd < 0 ? fd : io_load_fd(fd, &file);

	if (rc)
		return rc;
	if (is_truncated((const uint8_t *)buf_str(&file), file.len))
		return -ENODATA;
	found = memmem(buf_str(&file), file.len, text, sizeof(text));
	if (!found || file.len - (size_t)(found - buf_str(&file)) < sizeof(stamp))
		return -ENODATA;
	memcpy(&stamp, found, sizeof(stamp));
	*version = stamp.version;
	return 0;
}
