/*
 * What dlopen finds in the static programs (CMake's CPUPERF_STATIC): libraries that are linked in,
 * by a table, and no others. The dlopen of a static glibc would load libraries of whatever machine
 * it runs on, together with that machine's own C library: where the versions differ, the program
 * crashes. Those who load libraries stay as they are, and see one that is not installed.
 *
 * For the same reason users and hosts are looked up in files and by DNS alone: by no other module
 * that nsswitch.conf names.
 */
#include "linked/linked.h"

#include "base/array.h"

#include <dlfcn.h>
#include <nss.h>
#include <stddef.h>
#include <string.h>

/* Weak: a program has those that it links. */
#pragma weak linked_capstone
#pragma weak linked_microhttpd
#pragma weak linked_pfm
static const struct linked_library *const libraries[] = {&linked_capstone, &linked_microhttpd,
							 &linked_pfm};

static const char *error;

static void refuse(void)
{
	error = "the static cpuperf loads no libraries";
}

void *dlopen(const char *path, int flags)
{
	(void)flags;
	for (size_t i = 0; path && i < ARRAY_NR(libraries); i++) {
		const struct linked_library *l = libraries[i];

		/* without its version, which is that of the header */
		if (l && strncmp(path, l->name, strlen(l->name)) == 0)
			return (void *)(uintptr_t)l;
	}
	refuse();
	return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
	const struct linked_library *l = handle;

	for (size_t i = 0; l && i < l->nr; i++)
		if (strcmp(name, l->function[i].name) == 0)
			return l->function[i].at;
	refuse();
	return NULL;
}

char *dlerror(void)
{
	const char *text = error;

	error = NULL;
	return (char *)(uintptr_t)text;
}

int dlclose(void *handle)
{
	(void)handle;
	return 0;
}

__attribute__((constructor)) static void look_up_in_files(void)
{
	static const char *const databases[][2] = {{"passwd", "files"},
						   {"group", "files"},
						   {"initgroups", "files"},
						   {"hosts", "files dns"},
						   {"services", "files"}};

	for (size_t i = 0; i < ARRAY_NR(databases); i++)
		(void)__nss_configure_lookup(databases[i][0], databases[i][1]);
}
