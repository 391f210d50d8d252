/*
 * The marks that programs write (cpuperf/mark.h), received into the common file by a thread of the
 * wire's. Programs that run already are set to write them by another thread (marks/marked.h): at
 * the start those of the target or of the machine, then each process that maps a file for
 * execution.
 */
#ifndef MARKS_MARKS_H
#define MARKS_MARKS_H

#include "plan/source.h"

extern const struct source marks_source;

#endif
