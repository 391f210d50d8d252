#include "elf/ld_cache.h"

#include "base/cursor.h"

#include <string.h>

/* Two 20-byte words, then for each library its flags, the places of its name and of its path from
 * the start of the header, and what selects variants for CPUs, which all are returned. */
enum {
	MAGIC_BYTES = 20,
	HEADER_BYTES = 48,
	ENTRY_BYTES = 24,
	MAX_PATH_BYTES = 4096,
	MAX_LIBRARIES = 1 << 16,
};
static const char magic[MAGIC_BYTES + 1] = "glibc-ld.so.cache1.1";

/* NULL: outside, or endless. */
static const char *string_at(const uint8_t *cache, size_t len, uint32_t at)
{
	size_t left = at < len ? len - at : 0;

	if (left > MAX_PATH_BYTES)
		left = MAX_PATH_BYTES;
	return left && memchr(cache + at, '\0', left) ? (const char *)cache + at : NULL;
}

int elf_ld_cache_each(const uint8_t *cache, size_t len,
		      int (*fn)(const char *name, const char *path, void *arg), void *arg)
{
	/* ldconfig can write the format before this one in front of it */
	const uint8_t *start = len ? memmem(cache, len, magic, MAGIC_BYTES) : NULL;
	struct cursor c;
	uint32_t nr;
	int rc = 0;

	if (!start)
		return 0;
	len -= (size_t)(start - cache);
	cursor_init(&c, start, len);
	cursor_skip(&c, MAGIC_BYTES);
	nr = cursor_le32(&c);
	cursor_skip(&c, HEADER_BYTES - MAGIC_BYTES - sizeof(nr));
	for (uint32_t i = 0; i < nr && i < MAX_LIBRARIES && rc == 0; i++) {
		const char *name, *path;
		uint32_t name_at, path_at;

		cursor_skip(&c, 4);
		name_at = cursor_le32(&c);
		path_at = cursor_le32(&c);
		cursor_skip(&c, ENTRY_BYTES - 12);
		if (!cursor_ok(&c))
			break;
		name = string_at(start, len, name_at);
		path = string_at(start, len, path_at);
		if (name && path && path[0] == '/')
			rc = fn(name, path, arg);
	}
	return rc;
}
