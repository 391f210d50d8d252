/*
 * Kokkos: the functions that it looks for in the libraries that KOKKOS_TOOLS_LIBS names (KokkosP;
 * names and types are those of the published interface; nothing is copied). Kernels, regions,
 * sections, fences and copies become regions, by the names that the program gave them; events
 * become instants.
 */
#include "agent/marks.h"
#include "agent/names.h"

#include <stdbool.h>
#include <stddef.h>

/* Regions end in order; kernels and the rest by the number that we return. */
enum { KEY_REGION = AGENT_FIRST_RANGE - 32, KEY_COPY, KIND_SECTION = 0x4b53 };

struct settings {
	bool waits_for_devices, padding[255];
};

struct space {
	char name[64];
};

/* What a tool wants: by itself Kokkos would wait for the device at both ends of each kernel. */
AGENT_EXPORTED void kokkosp_request_tool_settings(uint32_t nr, struct settings *settings);
AGENT_EXPORTED void kokkosp_request_tool_settings(uint32_t nr, struct settings *settings)
{
	(void)nr;
	settings->waits_for_devices = false;
}

static void begin(uint32_t key, const char *what, const char *name)
{
	char joined[AGENT_TEXT_BYTES];

	cpuperf_marks_begin_keyed(key,
				  agent_join(joined, what, name && *name ? name : "[no name]"));
}

static uint64_t begin_kernel(const char *what, const char *name)
{
	const uint32_t key = agent_next_range();

	begin(key, what, name);
	return key;
}

static void end_kernel(uint64_t key)
{
	if (key >= AGENT_FIRST_RANGE && key <= UINT32_MAX)
		cpuperf_marks_end_keyed_anywhere((uint32_t)key);
}

#define KERNEL(kind, what)                                                                         \
	AGENT_EXPORTED void kokkosp_begin_##kind(const char *name, uint32_t device,                \
						 uint64_t *kernel);                                \
	AGENT_EXPORTED void kokkosp_begin_##kind(const char *name, uint32_t device,                \
						 uint64_t *kernel)                                 \
	{                                                                                          \
		(void)device;                                                                      \
		*kernel = begin_kernel(what, name);                                                \
	}                                                                                          \
	AGENT_EXPORTED void kokkosp_end_##kind(uint64_t kernel);                                   \
	AGENT_EXPORTED void kokkosp_end_##kind(uint64_t kernel)                                    \
	{                                                                                          \
		end_kernel(kernel);                                                                \
	}

KERNEL(parallel_for, "parallel_for")
KERNEL(parallel_reduce, "parallel_reduce")
KERNEL(parallel_scan, "parallel_scan")
KERNEL(fence, "fence")

AGENT_EXPORTED void kokkosp_push_profile_region(const char *name);
AGENT_EXPORTED void kokkosp_push_profile_region(const char *name)
{
	cpuperf_marks_begin_keyed(KEY_REGION, name ? name : "[no name]");
}

AGENT_EXPORTED void kokkosp_pop_profile_region(void);
AGENT_EXPORTED void kokkosp_pop_profile_region(void)
{
	cpuperf_marks_end_keyed(KEY_REGION);
}

AGENT_EXPORTED void kokkosp_create_profile_section(const char *name, uint32_t *number);
AGENT_EXPORTED void kokkosp_create_profile_section(const char *name, uint32_t *number)
{
	*number = agent_number(KIND_SECTION, name ? name : "[no name]");
}

/* Sections may cross. */
AGENT_EXPORTED void kokkosp_start_profile_section(uint32_t number);
AGENT_EXPORTED void kokkosp_start_profile_section(uint32_t number)
{
	const struct agent_name *n = agent_name_of(KIND_SECTION, number);

	if (n)
		cpuperf_marks_begin_keyed(n->key, n->text);
}

AGENT_EXPORTED void kokkosp_stop_profile_section(uint32_t number);
AGENT_EXPORTED void kokkosp_stop_profile_section(uint32_t number)
{
	const struct agent_name *n = agent_name_of(KIND_SECTION, number);

	if (n)
		cpuperf_marks_end_keyed_anywhere(n->key);
}

AGENT_EXPORTED void kokkosp_begin_deep_copy(struct space to, const char *to_name, const void *to_at,
					    struct space from, const char *from_name,
					    const void *from_at, uint64_t bytes);
AGENT_EXPORTED void kokkosp_begin_deep_copy(struct space to, const char *to_name, const void *to_at,
					    struct space from, const char *from_name,
					    const void *from_at, uint64_t bytes)
{
	char joined[AGENT_TEXT_BYTES];

	(void)to, (void)to_at, (void)from, (void)from_name, (void)from_at;
	cpuperf_marks_begin_number_keyed(
	    KEY_COPY, agent_join(joined, "deep_copy", to_name && *to_name ? to_name : "[no name]"),
	    (int64_t)bytes);
}

AGENT_EXPORTED void kokkosp_end_deep_copy(void);
AGENT_EXPORTED void kokkosp_end_deep_copy(void)
{
	cpuperf_marks_end_keyed(KEY_COPY);
}

AGENT_EXPORTED void kokkosp_profile_event(const char *name);
AGENT_EXPORTED void kokkosp_profile_event(const char *name)
{
	if (name)
		cpuperf_marks_instant(name);
}
