/*
 * Errors of the rooms as a program's struct cpuperf_error. The library is a guest in another's
 * process: it prints nothing, installs no handlers and sets nothing for the whole process; a
 * failure is returned. For the same reason jansson's allocator is set by our programs alone
 * (spec_use_own_heap), and its descriptors are closed by exec.
 *
 * cpuperf.map lists the public names by version; all others are hidden, in the shared library and
 * in the static one. Public structs are opaque, or begin with their size; rows are returned by
 * pointer, so that a later library may append fields. scripts/check-abi compares with the
 * interface that tests/data/abi has.
 */
#ifndef API_FAIL_H
#define API_FAIL_H

#include "base/err.h"
#include "cpuperf/cpuperf.h"

/* Each accepts NULL, and writes nothing into a struct whose size was not set. */

/* Empties it: each public function that can fail begins with this. */
void api_fail_clear(struct cpuperf_error *out);
/* Adds the error. The first one sets the fields; each is a line of the text, while there is room.
 * Returns its code. */
int api_fail(struct cpuperf_error *out, const struct err *e);
/* Adds all of them. Returns rc. */
int api_fail_list(struct cpuperf_error *out, const struct err_list *errs, int rc);
/* Adds "out of memory". Returns -ENOMEM. */
int api_fail_memory(struct cpuperf_error *out);
/* Copies all errors of from. */
void api_fail_copy(struct cpuperf_error *out, const struct cpuperf_error *from);
/* Adds an error of the caller's: a parameter, with what to do. Returns code. */
int api_fail_use(struct cpuperf_error *out, int code, const char *what, const char *hint);

#endif
