/*
 * elfutils' client, found at run time: who does not ask for it needs no such library. Must not know
 * what the files are for.
 */
#include "elf/debuginfod.h"

#include "base/err.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* elfutils/debuginfod.h; a build-id of len bytes (0 would be text); the path is malloc'd. */
typedef int find_fn(void *client, const unsigned char *id, int len, char **path);

struct debuginfod {
	void *library;
	void *client;
	void (*end)(void *client);
	find_fn *find[2]; /* by enum debuginfod_what */
};

/* POSIX lets a pointer to data be one to a function here; ISO C does not say so. */
static bool resolve(const struct debuginfod *d, const char *name, void *function)
{
	void *p = dlsym(d->library, name);

	memcpy(function, &p, sizeof(p));
	return p != NULL;
}

static bool begin(struct debuginfod *d)
{
	void *(*client_begin)(void);

	/* it stays: what it loads has memory of its own that would be lost */
	d->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!d->library || !resolve(d, "debuginfod_begin", &client_begin) ||
	    !resolve(d, "debuginfod_end", &d->end) ||
	    !resolve(d, "debuginfod_find_executable", &d->find[DEBUGINFOD_CODE]) ||
	    !resolve(d, "debuginfod_find_debuginfo", &d->find[DEBUGINFOD_DEBUG]))
		return false;
	d->client = client_begin();
	return d->client != NULL;
}

int debuginfod_open(struct debuginfod **out, struct err *e)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *d;

	if (!urls || !*urls) {
		err_set(e, -ENOTSUP, "debuginfod: no server is known");
		err_hint(e, "set DEBUGINFOD_URLS to your distribution's server");
		return -ENOTSUP;
	}
	d = mem_zalloc(sizeof(*d));
	if (!d)
		return err_set(e, -ENOMEM, "debuginfod: out of memory");
	if (!begin(d)) {
		debuginfod_close(d);
		err_set(e, -ENOTSUP, "debuginfod: libdebuginfod.so.1 cannot be loaded");
		err_hint(e, "install elfutils' debuginfod client library");
		return -ENOTSUP;
	}
	*out = d;
	return 0;
}

void debuginfod_close(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	if (d->library)
		dlclose(d->library);
	mem_free(d);
}

int debuginfod_find(struct debuginfod *d, const struct elf_build_id *id, enum debuginfod_what what,
		    char **path)
{
	char *found = NULL;
	int fd = d->find[what](d->client, id->bytes, id->len, &found);

	if (fd < 0)
		return fd;
	close(fd);
	if (!found)
		return -ENOMEM;
	*path = found;
	return 0;
}
