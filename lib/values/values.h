/*
 * The source of values: events of misc and gpu that collectors read, at boundaries and in between,
 * and that no perf event carries. It maps events of the plan to those of a struct collect.
 */
#ifndef VALUES_VALUES_H
#define VALUES_VALUES_H

#include "plan/source.h"

extern const struct source values_source;

#endif
