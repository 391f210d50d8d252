/*
 * coz's progress points as marks of cpuperf/mark.h: compile with the folder of this file before
 * coz's (pkg-config --cflags cpuperf-compat), and nothing else. (Programs that were built with
 * coz's own header run with libcpuperf_marks.so, see cpuperf-regions(7).)
 *
 *     COZ_PROGRESS, COZ_PROGRESS_NAMED("name")  an instant
 *     COZ_BEGIN("name"), COZ_END("name")        a region of this thread; it may end in another
 *
 * The macros by which coz delays threads are nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COZ_H
#define COZ_H

#include "cpuperf/mark_keyed.h"

#define CPUPERF_COZ_TEXT_(line) #line
#define CPUPERF_COZ_TEXT(line)  CPUPERF_COZ_TEXT_(line)

#define COZ_PROGRESS_NAMED(name) CPUPERF_INSTANT(name)
#define COZ_PROGRESS             CPUPERF_INSTANT(__FILE__ ":" CPUPERF_COZ_TEXT(__LINE__))
#define COZ_BEGIN(name)          cpuperf_keyed_begin_named(name)
#define COZ_END(name)            cpuperf_keyed_end_named_anywhere(name)

#define COZ_PRE_BLOCK               ((void)0)
#define COZ_CATCH_UP                ((void)0)
#define COZ_POST_BLOCK(skip_delays) ((void)(skip_delays))

#endif
