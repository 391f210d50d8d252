/*
 * likwid's marker macros as marks of cpuperf/mark.h: compile with the folder of this file before
 * likwid's (pkg-config --cflags cpuperf-compat), and nothing else. LIKWID_PERFMON need not be
 * defined; CPUPERF_NO_MARKS compiles all of it to nothing.
 *
 *     LIKWID_MARKER_START("name")  begins a region of this thread
 *     LIKWID_MARKER_STOP("name")   ends it; regions may overlap, as likwid's may
 *
 * cpuperf registers, initializes and writes by itself: the macros for that are nothing. Counts are
 * in the session, not in the program: LIKWID_MARKER_GET has no events, no time and no calls. The
 * markers of GPUs (NVMON_, ROCMON_) are nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LIKWID_MARKER_H
#define LIKWID_MARKER_H

#include "cpuperf/mark_keyed.h"

#define LIKWID_MARKER_INIT                   ((void)0)
#define LIKWID_MARKER_THREADINIT             ((void)0)
#define LIKWID_MARKER_REGISTER(regionTag)    ((void)(regionTag))
#define LIKWID_MARKER_START(regionTag)       cpuperf_keyed_begin_named(regionTag)
#define LIKWID_MARKER_STOP(regionTag)        cpuperf_keyed_end_named(regionTag)
#define LIKWID_MARKER_SWITCH                 ((void)0)
#define LIKWID_MARKER_RESET(regionTag)       ((void)(regionTag))
#define LIKWID_MARKER_WRITE_FILE(markerfile) ((void)(markerfile))
#define LIKWID_MARKER_CLOSE                  ((void)0)
#define LIKWID_MARKER_GET(regionTag, nevents, events, time, count)                                 \
	((void)(regionTag), (void)(events), *(nevents) = 0, *(time) = 0, *(count) = 0, (void)0)

#define NVMON_MARKER_INIT                  ((void)0)
#define NVMON_MARKER_THREADINIT            ((void)0)
#define NVMON_MARKER_REGISTER(regionTag)   ((void)0)
#define NVMON_MARKER_START(regionTag)      ((void)0)
#define NVMON_MARKER_STOP(regionTag)       ((void)0)
#define NVMON_MARKER_SWITCH                ((void)0)
#define NVMON_MARKER_RESET(regionTag)      ((void)0)
#define NVMON_MARKER_WRITE_FILE(filename)  ((void)0)
#define NVMON_MARKER_CLOSE                 ((void)0)
#define NVMON_MARKER_GET(...)              ((void)0)
#define ROCMON_MARKER_INIT                 ((void)0)
#define ROCMON_MARKER_THREADINIT           ((void)0)
#define ROCMON_MARKER_REGISTER(regionTag)  ((void)0)
#define ROCMON_MARKER_START(regionTag)     ((void)0)
#define ROCMON_MARKER_STOP(regionTag)      ((void)0)
#define ROCMON_MARKER_SWITCH               ((void)0)
#define ROCMON_MARKER_RESET(regionTag)     ((void)0)
#define ROCMON_MARKER_WRITE_FILE(filename) ((void)0)
#define ROCMON_MARKER_CLOSE                ((void)0)
#define ROCMON_MARKER_GET(...)             ((void)0)

#endif
