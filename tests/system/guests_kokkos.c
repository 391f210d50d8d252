/*
 * A caller of the tools' interface of Kokkos by its published names (KokkosP), which loads the
 * library of KOKKOS_TOOLS_LIBS.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct space {
	char name[64];
};

static void *library;

static void *find(const char *name)
{
	void *at = dlsym(library, name);

	if (!at) {
		printf("no %s\n", name);
		exit(1);
	}
	return at;
}

#define CALL(name, types, ...)                                                                     \
	do {                                                                                       \
		void(*f) types;                                                                    \
		*(void **)&f = find("kokkosp_" name);                                              \
		f(__VA_ARGS__);                                                                    \
	} while (0)

int main(void)
{
	const char *path = getenv("KOKKOS_TOOLS_LIBS");
	struct space host = {"Host"};
	uint64_t kernel, inner;
	uint32_t section;
	unsigned char settings[256] = {1};

	library = path ? dlopen(path, RTLD_NOW) : NULL;
	if (!library) {
		printf("no tool\n");
		return 7;
	}
	CALL("request_tool_settings", (uint32_t, unsigned char *), 1, settings);
	if (*settings)
		printf("waits for devices\n");
	CALL("push_profile_region", (const char *), "solve");
	CALL("begin_parallel_for", (const char *, uint32_t, uint64_t *), "axpy", 0, &kernel);
	CALL("end_parallel_for", (uint64_t), kernel);
	CALL("begin_parallel_reduce", (const char *, uint32_t, uint64_t *), "dot", 0, &kernel);
	CALL("begin_fence", (const char *, uint32_t, uint64_t *), "", 0, &inner);
	CALL("end_fence", (uint64_t), inner);
	CALL("end_parallel_reduce", (uint64_t), kernel);
	CALL("begin_parallel_scan", (const char *, uint32_t, uint64_t *), "sums", 0, &kernel);
	CALL("end_parallel_scan", (uint64_t), kernel);
	CALL("end_parallel_scan", (uint64_t), 12345);
	CALL("begin_deep_copy",
	     (struct space, const char *, const void *, struct space, const char *, const void *,
	      uint64_t),
	     host, "to", NULL, host, "from", NULL, 4096);
	CALL("end_deep_copy", (void));
	CALL("pop_profile_region", (void));
	CALL("create_profile_section", (const char *, uint32_t *), "part", &section);
	CALL("start_profile_section", (uint32_t), section);
	CALL("stop_profile_section", (uint32_t), section);
	CALL("start_profile_section", (uint32_t), 99);
	CALL("profile_event", (const char *), "here");
	return 7;
}
