/*
 * The option parser.
 */
#include "base/opt.h"

#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct opt_row *find_row(const struct opt_table *t, const char *name, size_t len)
{
	for (size_t i = 0; i < t->nr_rows; i++)
		if (strlen(t->rows[i].name) == len && memcmp(t->rows[i].name, name, len) == 0)
			return &t->rows[i];
	return NULL;
}

static const struct opt_row *find_letter(const struct opt_table *t, char letter)
{
	for (size_t i = 0; i < t->nr_rows; i++)
		if (t->rows[i].letter == letter)
			return &t->rows[i];
	return NULL;
}

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
	const struct opt_row *row;
	size_t len;

	if (arg[0] == '-' && arg[1] && arg[1] != '-') {
		row = find_letter(t, arg[1]);
		if (!row) {
			err_set(e, -EINVAL, "unknown option -%c", arg[1]);
			err_hint(e, "--help lists all options");
			return -EINVAL;
		}
		value = arg[2] ? arg + 2 + (arg[2] == '=') : NULL;
	} else {
		if (arg[0] != '-' && t->plain) {
			row = find_row(t, t->plain, strlen(t->plain));
			return row->set(row, arg, target, e);
		}
		if (arg[0] != '-' || !arg[1] || !arg[2]) {
			err_set(e, -EINVAL, "unexpected argument \"%s\"", arg);
			if (t->plain_hint)
				err_hint(e, "%s", t->plain_hint);
			else
				err_hint(e,
					 "%s accepts options only (--name=value); --help lists "
					 "them",
					 t->program);
			return -EINVAL;
		}
		len = strcspn(arg + 2, "=");
		row = find_row(t, arg + 2, len);
		if (!row)
			return refuse_unknown(t, arg, len, e);
		value = arg[2 + len] ? arg + 2 + len + 1 : NULL;
	}
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
