/*
 * elfutils' client library, loaded at run time, so that it need not be installed.
 */
#include "elf/debuginfod.h"

#include "base/array.h"
#include "base/err.h"
#include "base/library.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* elfutils/debuginfod.h; len: of the binary build-id (0: text); *path is malloc'd. */
typedef int find_fn(void *client, const unsigned char *id, int len, char **path);
typedef int find_source_fn(void *client, const unsigned char *id, int len, const char *source,
			   char **path);

struct elf_debuginfod {
	void *client;
	void (*end)(void *client);
	find_fn *find[2]; /* by enum elf_debuginfod_what */
	find_source_fn *find_source;
};

static bool begin(struct elf_debuginfod *d)
{
	void *(*client_begin)(void);

	const struct library_function functions[] = {
	    {"debuginfod_begin", &client_begin},
	    {"debuginfod_end", &d->end},
	    {"debuginfod_find_executable", &d->find[ELF_DEBUGINFOD_CODE]},
	    {"debuginfod_find_debuginfo", &d->find[ELF_DEBUGINFOD_DEBUG]},
	    {"debuginfod_find_source", &d->find_source},
	};

	if (library_load("libdebuginfod.so.1", functions, ARRAY_NR(functions)))
		return false;
	d->client = client_begin();
	return d->client != NULL;
}

int elf_debuginfod_open(struct elf_debuginfod **out, struct err *e)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS");
	struct elf_debuginfod *d;

	if (!urls || !*urls) {
		err_set(e, -ENOTSUP, "debuginfod: no server is known");
		err_hint(e, "set DEBUGINFOD_URLS to your distribution's server");
		return -ENOTSUP;
	}
	d = mem_zalloc(sizeof(*d));
	if (!d)
		return err_set(e, -ENOMEM, "debuginfod: out of memory");
	if (!begin(d)) {
		elf_debuginfod_close(d);
		err_set(e, -ENOTSUP, "debuginfod: libdebuginfod.so.1 cannot be loaded");
		err_hint(e, LIBRARY_HINT("elfutils' debuginfod client library"));
		return -ENOTSUP;
	}
	*out = d;
	return 0;
}

void elf_debuginfod_close(struct elf_debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	mem_free(d);
}

/* fd: of what was found. */
static int set_path(int fd, char *found, char **path)
{
	if (fd < 0)
		return fd;
	close(fd);
	if (!found)
		return -ENOMEM;
	*path = found;
	return 0;
}

int elf_debuginfod_find(struct elf_debuginfod *d, const struct elf_build_id *id,
			enum elf_debuginfod_what what, char **path)
{
	char *found = NULL;
	int fd = d->find[what](d->client, id->bytes, id->len, &found);

	return set_path(fd, found, path);
}

int elf_debuginfod_find_source(struct elf_debuginfod *d, const struct elf_build_id *id,
			       const char *source, char **path)
{
	char *found = NULL;
	int fd = d->find_source(d->client, id->bytes, id->len, source, &found);

	return set_path(fd, found, path);
}
