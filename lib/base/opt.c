/*
 * The option parser.
 */
#include "base/opt.h"

#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static int refuse_unknown(const struct opt_table *t, const char *arg, size_t len, struct err *e)
{
	char name[64] = "";
	const char *best = NULL;
	size_t distance = 0;

	memcpy(name, arg + 2, len < sizeof(name) ? len : sizeof(name) - 1);
	for (size_t i = 0; i < t->nr_rows; i++)
		str_nearest_offer(name, t->rows[i].name, &best, &distance);
	err_set(e, -EINVAL, "unknown option --%.*s", (int)len, arg + 2);
	if (best)
		err_hint(e, "did you mean --%s? (--help lists all)", best);
	else
		err_hint(e, "--help lists all options");
	return -EINVAL;
}

/* Parses the option at argv[*i]; advances *i over a separate value. */
static int parse_one(const struct opt_table *t, int argc, char **argv, int *i, void *target,
		     struct err *e)
{
	const char *arg = argv[*i], *value;
	const struct opt_row *row = t->rows, *end = t->rows + t->nr_rows;
	size_t len;

	if (strncmp(arg, "--", 2) != 0 || !arg[2]) {
		err_set(e, -EINVAL, "unexpected argument \"%s\"", arg);
		err_hint(e, "%s accepts options only (--name=value); --help lists them",
			 t->program);
		return -EINVAL;
	}
	len = strcspn(arg + 2, "=");
	while (row < end && (strlen(row->name) != len || memcmp(row->name, arg + 2, len) != 0))
		row++;
	if (row == end)
		return refuse_unknown(t, arg, len, e);
	value = arg[2 + len] ? arg + 2 + len + 1 : NULL;
	if (row->arg == OPT_NONE && value)
		return err_set(e, -EINVAL, "--%s does not take a value", row->name);
	if (row->arg == OPT_REQUIRED && !value && *i + 1 < argc)
		value = argv[++*i];
	if (row->arg == OPT_REQUIRED && !value) {
		err_set(e, -EINVAL, "--%s needs a value", row->name);
		err_hint(e, "--%s=%s", row->name, row->metavar);
		return -EINVAL;
	}
	return row->set(row, value, target, e);
}

int opt_parse(const struct opt_table *t, int argc, char **argv, void *target, struct err *e)
{
	for (int i = 1; i < argc; i++) {
		int rc = parse_one(t, argc, argv, &i, target, e);

		if (rc)
			return rc;
	}
	return 0;
}

int opt_set_string(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	(void)e;
	memcpy((char *)target + row->offset, &value, sizeof(value));
	return 0;
}

int opt_set_flag(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	(void)value;
	(void)e;
	*(bool *)((char *)target + row->offset) = true;
	return 0;
}

int opt_add_string(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct opt_strings *list = (struct opt_strings *)((char *)target + row->offset);

	if (list->nr == OPT_MAX_STRINGS)
		return err_set(e, -E2BIG, "--%s: used more than %d times", row->name,
			       OPT_MAX_STRINGS);
	list->item[list->nr++] = value;
	return 0;
}
