/*
 * The name of --output=NAME, in which %h, %p, %d, %n and %% are replaced.
 */
#ifndef CPUPERF_OUTPUT_NAME_H
#define CPUPERF_OUTPUT_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct err;

/* now_s: since 1970. A folder with a number is made, empty, so that nobody else takes it: *is_made.
 * 0; -EINVAL, -ENAMETOOLONG or -errno with *e. *out: untouched then. */
int output_name_make(const char *pattern, int64_t now_s, char out[PATH_MAX], bool *is_made,
		     struct err *e);

#endif
