/*
 * The marks that programs write (cpuperf/mark.h), received into the common file by a thread of the
 * wire's. Programs that run already are set to write them by another thread (session/marked.h): at
 * the start those of the target or of the machine, then each process that maps a file for
 * execution.
 */
#ifndef SESSION_REGIONS_H
#define SESSION_REGIONS_H

#include "session/source.h"

extern const struct source session_regions_source;

#endif
