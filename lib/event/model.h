/*
 * CPU models by libpfm4's names ("skl", "arm_n1"): what a spec's model_name may be.
 */
#ifndef EVENT_MODEL_H
#define EVENT_MODEL_H

#include <stddef.h>

struct err;

/* 0 if libpfm4 has a table of that name or name is "default"; else -ENOENT with *e and the nearest.
 */
int model_check(const char *name, struct err *e);
/* The detected model's name ("" if libpfm4 knows none for this CPU), cut at size. */
void model_detect(char *name, size_t size);

#endif
