/*
 * Names of threads in profiles that are pushed: receivers have a series for each.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PUSHED_H
#define CPUPERF_PRINT_EXPORTS_PUSHED_H

#include "base/dict.h"

struct pushed_names {
	struct dict names;
};

void pushed_names_init(struct pushed_names *n);
void pushed_names_fini(struct pushed_names *n);
/* The name, valid until the next call: of a kernel's worker without its CPU and work, and "[other]"
 * once there are 64 others. */
const char *pushed_name(struct pushed_names *n, const char *comm);

#endif
