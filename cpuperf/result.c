/*
 * Printing of results and errors, for all verbs.
 */
#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "program.h"

#include <string.h>
#include <unistd.h>

int print_buf(struct buf *out)
{
	int rc = buf_error(out);

	return rc ? rc : io_write_full(STDOUT_FILENO, buf_str(out), out->len);
}

int print_result(struct buf *out)
{
	int rc = print_buf(out);

	if (rc)
		log_error("standard output: %s", strerror(-rc));
	return rc ? EXIT_FAILED : EXIT_DONE;
}

void log_errors(const struct err_list *errs)
{
	for (size_t i = 0; i < errs->nr; i++)
		log_err(LOG_ERROR, &errs->item[i]);
	if (errs->dropped)
		log_error("and %zu more", errs->dropped);
}
