/*
 * The cache of the dynamic loader, /etc/ld.so.cache: libraries by name. Files are hostile. Source:
 * sysdeps/generic/dl-cache.h of glibc.
 */
#ifndef ELF_LD_CACHE_H
#define ELF_LD_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* Calls fn for each library of the cache's bytes: its name, and its path, in the cache's order,
 * which is the loader's; both are borrowed. Stops at the first non-zero result and returns it; else
 * 0, also for what is no cache. */
int elf_ld_cache_each(const uint8_t *cache, size_t len,
		      int (*fn)(const char *name, const char *path, void *arg), void *arg);

#endif
