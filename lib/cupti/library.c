/*
 * Finds and loads the vendor's libraries.
 */
#include "cupti/library.h"

#include "base/err.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the toolkit is that the loader does not know; "": as the loader finds it. */
static const char *const folders[] = {
    "",
    "/usr/local/cuda/extras/CUPTI/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/local/cuda/targets/sbsa-linux/lib",
    "/opt/cuda/extras/CUPTI/lib64",
};
static const char *const cuda_names[] = {"libcuda.so.1"};
static const char *const cupti_names[] = {"libcupti.so.13", "libcupti.so.12"};

#define NR(a_) (sizeof(a_) / sizeof((a_)[0]))

/* What is being looked for. */
struct search {
	const char *const *names;
	size_t nr_names;
	void *found;
	char path[PATH_MAX];    /* that was tried last */
	char refused[PATH_MAX]; /* to root; "": none */
	char reason[256];       /* the loader's, of a file that exists; "": none does */
};

/* Root's programs load nothing that another user can have written. Who may rename the folders above
 * (the group staff, in /usr/local of some systems) has no other folder of root's with such a file.
 */
static bool is_safe(const char *path)
{
	struct stat st;

	if (geteuid() != 0)
		return true;
	return stat(path, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static void try_path(struct search *s, const char *folder, size_t len, const char *name)
{
	char real[PATH_MAX], *slash;

	if (!len) {
		snprintf(s->path, sizeof(s->path), "%s", name);
	} else {
		snprintf(s->path, sizeof(s->path), "%.*s/%s", (int)len, folder, name);
		if (!realpath(s->path, real))
			return;
		snprintf(s->path, sizeof(s->path), "%s", real);
		slash = strrchr(real, '/');
		if (slash > real)
			*slash = '\0';
		if (!is_safe(s->path) || !is_safe(real)) {
			snprintf(s->refused, sizeof(s->refused), "%s", s->path);
			return;
		}
	}
	s->found = dlopen(s->path, RTLD_NOW | RTLD_GLOBAL);
	if (!s->found && len) {
		const char *why = dlerror();

		snprintf(s->reason, sizeof(s->reason), "%.255s", why ? why : "unknown");
	}
}

static void try_folder(struct search *s, const char *folder, size_t len)
{
	for (size_t i = 0; i < s->nr_names && !s->found; i++)
		try_path(s, folder, len, s->names[i]);
}

static void try_variable(struct search *s)
{
	const char *at = getenv(CUPTI_PATH_VARIABLE);

	while (at && *at && !s->found) {
		size_t len = strcspn(at, ":");

		if (len && at[0] == '/' && len < PATH_MAX / 2)
			try_folder(s, at, len);
		at += len + (at[len] == ':');
	}
}

static void *search(struct search *s)
{
	try_variable(s);
	for (size_t i = 0; i < NR(folders) && !s->found; i++)
		try_folder(s, folders[i], strlen(folders[i]));
	return s->found;
}

static int explain(const struct search *s, const char *what, const char *hint, struct err *e)
{
	if (s->refused[0]) {
		err_set(e, -EACCES,
			"%s is not loaded by root: others than root may write it or its folder",
			s->refused);
		err_hint(e, "make it root's, or measure as another user");
		return -EACCES;
	}
	if (s->reason[0])
		err_set(e, -ENOENT, "%s cannot be loaded: %s", what, s->reason);
	else
		err_set(e, -ENOENT, "%s is not installed", what);
	err_hint(e, "%s", hint);
	return -ENOENT;
}

/* A function pointer from an object's, which ISO C does not convert. */
static bool find(void *library, const char *name, void *out)
{
	void *symbol = dlsym(library, name);

	memcpy(out, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static int find_all(struct cupti_library *l, struct err *e)
{
	const struct {
		void *library;
		const char *name;
		void *out;
	} functions[] = {{l->cuda, "cuInit", &l->cuInit},
			 {l->cuda, "cuDeviceGetCount", &l->cuDeviceGetCount},
			 {l->cuda, "cuDeviceGet", &l->cuDeviceGet},
			 {l->cuda, "cuDeviceGetAttribute", &l->cuDeviceGetAttribute},
			 {l->cupti, "cuptiGetResultString", &l->cuptiGetResultString},
#define FUNCTION(name_, argument_) {l->cupti, #name_, &l->name_},
			 CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};

	for (size_t i = 0; i < NR(functions); i++) {
		if (find(functions[i].library, functions[i].name, functions[i].out))
			continue;
		err_set(e, -ENOSYS,
			"this CUPTI has no %s: PM sampling needs that of CUDA 12.6 or later",
			functions[i].name);
		err_hint(
		    e, "install a newer CUDA toolkit, or name its folder in " CUPTI_PATH_VARIABLE);
		return -ENOSYS;
	}
	return 0;
}

int cupti_library_load(struct cupti_library *l, struct err *e)
{
	struct search cuda = {.names = cuda_names, .nr_names = NR(cuda_names)};
	struct search cupti = {.names = cupti_names, .nr_names = NR(cupti_names)};

	*l = (struct cupti_library){.cuda = search(&cuda)};
	if (!l->cuda)
		return explain(&cuda, "NVIDIA's driver (libcuda.so.1)",
			       "install the driver, or name its folder in " CUPTI_PATH_VARIABLE, e);
	l->cupti = search(&cupti);
	if (!l->cupti)
		return explain(
		    &cupti, "CUPTI (libcupti.so.13 or .12)",
		    "install the CUDA toolkit, or name its folder in " CUPTI_PATH_VARIABLE, e);
	return find_all(l, e);
}
