/*
 * Printing results and errors, for all verbs.
 */
#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "program.h"
#include "spec/spec.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void add_length(struct buf *out, const struct spec *spec, bool until_end)
{
	const char *what = spec->runs ? "run(s)" : *spec->windows ? "window(s)" : NULL;
	char duration[32];

	str_format_duration(spec->flight.span_ns ? spec->flight.span_ns : spec->duration_ns,
			    duration, sizeof(duration));
	if (spec->flight.span_ns)
		buf_printf(out, "a flight recorder of %s", duration);
	else if (what)
		buf_printf(out, "%" PRIu64 " %s", spec->num_iterations, what);
	else if (until_end)
		buf_adds(out, "until the target ends");
	else if (spec->num_iterations)
		buf_printf(out, "%" PRIu64 " iteration(s) of %s", spec->num_iterations, duration);
	else
		buf_printf(out, "iterations of %s until stopped", duration);
}

int print_result(const struct buf *out)
{
	int rc = buf_error(out);

	rc = rc ? rc : io_write_full(STDOUT_FILENO, buf_str(out), out->len);
	if (rc == -EPIPE) /* the reader has read enough */
		return EXIT_DONE;
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
