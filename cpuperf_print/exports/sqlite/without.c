/*
 * Replaces sqlite.c in builds without libsqlite3.
 */
#include "base/err.h"
#include "exports/exports.h"

#include <errno.h>

int export_sqlite(struct job *j, struct err *e)
{
	(void)j;
	err_set(e, -ENOTSUP, "--output-format=sqlite: this cpuperf_print was built without sqlite");
	err_hint(e, "build it with the headers of libsqlite3 installed (Debian: "
		    "libsqlite3-dev); --version lists what is built in");
	return -ENOTSUP;
}
