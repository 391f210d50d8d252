/*
 * The name of --output=NAME, in which %h, %p, %d, %n and %% are replaced.
 */
#ifndef CPUPERF_OUTPUT_NAME_H
#define CPUPERF_OUTPUT_NAME_H

#include <limits.h>
#include <stdint.h>

struct err;

/* now_s: since 1970. 0; -EINVAL or -ENAMETOOLONG with *e. *out: untouched then. */
int output_name_make(const char *pattern, int64_t now_s, char out[PATH_MAX], struct err *e);

#endif
