/*
 * Printing results and errors, for all verbs.
 */
#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "program.h"

#include <string.h>
#include <unistd.h>

int print_result(const struct buf *out)
{
	int rc = buf_error(out);

	rc = rc ? rc : io_write_full(STDOUT_FILENO, buf_str(out), out->len);
	if (rc)
		log_error("standard output: %s", strerror(-rc));
	return rc ? EXIT_FAILED : EXIT_DONE;
}

int fail(int status, const struct err *e)
{
	log_err(LOG_ERROR, e);
	return status;
}

void log_errors(const struct err_list *errs)
{
	for (size_t i = 0; i < errs->nr; i++)
		log_err(LOG_ERROR, &errs->item[i]);
	if (errs->dropped)
		log_error("and %zu more", errs->dropped);
}
