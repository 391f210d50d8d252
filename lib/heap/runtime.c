#include "heap/runtime.h"

#include "elf/probes.h"
#include "event/usdt_files.h"
#include "proc/proc.h"

#include <limits.h>
#include <string.h>

static int is_throw(const struct elf_probe *p, void *arg)
{
	(void)arg;
	return strcmp(p->provider, "libstdcxx") == 0 && strcmp(p->name, "throw") == 0;
}

static int has_throw(const struct elf_file *f, const char *path, void *arg)
{
	(void)path;
	return elf_probes_each(f, is_throw, arg);
}

bool heap_runtime_is_within(const struct root *root, uint32_t pid)
{
	char path[PATH_MAX];

	return proc_path(PROC(root, pid), "exe", path, sizeof(path)) > 0 &&
	       usdt_files_read(path, has_throw, NULL) > 0;
}
