/*
 * Arguments are found in the table of options, and set by its rows.
 */
#include "navigator/query.h"

#include "base/array.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* Those that read, write or send nothing, and take no time of their own. */
static const char *const allowed[] = {
    "by-host",     "by-session", "comm",      "counts",   "cmdline",
    "cpu",         "event",      "from",      "function", "asm",
    "source",      "group-by",   "iteration", "lines",    "max-depth",
    "min-percent", "pid",        "region",    "sort",     "subtract-marks",
    "tid",         "to",         "top",       "tree-of",  "wakers",
};

static const struct opt_row *find_row(const char *name)
{
	const struct opt_table *t = &cpuperf_print_options;

	if (!ARRAY_ANY(x, allowed, ARRAY_NR(allowed), strcmp(*x, name) == 0))
		return NULL;
	return ARRAY_FIND(x, t->rows, t->nr_rows, strcmp(x->name, name) == 0);
}

/* What the command line chose for the option. */
static void clear(struct options *o, const struct opt_row *row)
{
	void *at = (char *)o + row->offset;

	if (row->set == opt_add_string)
		((struct opt_strings *)at)->nr = 0;
	else if (row->set == opt_set_flag)
		*(bool *)at = false;
	else
		*(const char **)at = NULL;
}

static int set(struct options *o, const struct opt_row *row, const char *value, struct err *e)
{
	const bool is_flag = row->set == opt_set_flag;

	if (is_flag && strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return err_set(e, -EINVAL, "%s=%s: not 0 or 1", row->name, value);
	if (!*value || (is_flag && *value == '0'))
		return 0;
	return row->set(row, value, o, e);
}

static int set_all(struct options *o, const struct http_request *r, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < r->nr_arguments && rc == 0; i++) {
		const struct http_argument *a = &r->arguments[i];
		const struct opt_row *row = find_row(a->name);

		if (!row) {
			err_set(e, -EINVAL, "%s: no such argument", a->name);
			err_hint(e, "arguments are options that select samples, names or rows");
			return -EINVAL;
		}
		if (!ARRAY_ANY(x, r->arguments, i, strcmp(x->name, a->name) == 0))
			clear(o, row);
		rc = set(o, row, a->value, e);
	}
	return rc;
}

int query_new(const struct options *base, const struct http_request *r, struct query **out,
	      struct err *e)
{
	struct query *q = *out = mem_zalloc(sizeof(*q));

	if (!q)
		return err_set(e, -ENOMEM, "out of memory");
	q->options = *base;
	return set_all(&q->options, r, e) ?: selection_init(&q->selection, &q->options, e);
}

void query_free(struct query *q)
{
	if (!q)
		return;
	selection_fini(&q->selection);
	mem_free(q);
}
