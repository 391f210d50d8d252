/*
 * libpfm4, loaded when a CPU model is looked for: its megabyte of tables has 46,000 pointers, which
 * the loader would set, a page fault for each page, in each program that starts.
 */
#ifndef EVENT_LIBPFM_H
#define EVENT_LIBPFM_H

/* after the kernel's header, so that libpfm4 does not define its copy */
#include "base/perf_abi.h"

#include <perfmon/pfmlib_perf_event.h>

#define LIBPFM_FUNCTIONS(X)                                                                        \
	X(initialize)                                                                              \
	X(get_pmu_info)                                                                            \
	X(get_event_next)                                                                          \
	X(get_event_info)                                                                          \
	X(get_event_attr_info)                                                                     \
	X(get_os_event_encoding)                                                                   \
	X(strerror)

/* Its functions, without pfm_. */
struct libpfm {
#define LIBPFM_POINTER(name) __typeof__(pfm_##name) *name;
	LIBPFM_FUNCTIONS(LIBPFM_POINTER)
#undef LIBPFM_POINTER
};

/* Loads it once, and starts it. NULL: it cannot be loaded. It remains loaded. Thread-safe. */
const struct libpfm *libpfm(void);

#endif
