/*
 * The option parser.
 */
#include "base/opt.h"

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct opt_row *find_row(const struct opt_table *t, const char *name, size_t len)
{
	return ARRAY_FIND(row, t->rows, t->nr_rows,
			  strlen(row->name) == len && memcmp(row->name, name, len) == 0);
}

static const struct opt_row *find_letter(const struct opt_table *t, char letter)
{
	return ARRAY_FIND(row, t->rows, t->nr_rows, row->letter == letter);
}

/* What does the same here as a word of another program. It stays if another hint follows. */
static void hint_foreign(const struct opt_table *t, const char *arg, struct err *e)
{
	const struct opt_choice *f =
	    ARRAY_FIND(row, t->foreign, t->nr_foreign, strcmp(row->name, arg) == 0);

	if (f)
		err_hint(e, "%s", f->help);
}

static void refuse_unknown(const struct opt_table *t, const char *arg, size_t len, struct err *e)
{
	char name[64] = "";
	const char *best = NULL;
	size_t distance = 0;

	memcpy(name, arg + 2, len < sizeof(name) ? len : sizeof(name) - 1);
	for (size_t i = 0; i < t->nr_rows; i++)
		str_nearest_offer(name, t->rows[i].name, &best, &distance);
	err_set(e, -EINVAL, "unknown option --%.*s", (int)len, arg + 2);
	hint_foreign(t, arg, e);
	if (best)
		err_hint(e, "did you mean --%s? (--help=all lists all)", best);
	else
		err_hint(e, "--help=all lists all options");
}

static const struct opt_row *find_short(const struct opt_table *t, const char *arg,
					const char **value, struct err *e)
{
	const struct opt_row *row = find_letter(t, arg[1]);

	if (!row) {
		err_set(e, -EINVAL, "unknown option -%c", arg[1]);
		hint_foreign(t, arg, e);
		err_hint(e, "--help=all lists all options");
	}
	*value = arg[2] ? arg + 2 + (arg[2] == '=') : NULL;
	return row;
}

static const struct opt_row *find_long(const struct opt_table *t, const char *arg,
				       const char **value, struct err *e)
{
	size_t len = strcspn(arg + 2, "=");
	const struct opt_row *row = find_row(t, arg + 2, len);

	if (!row)
		refuse_unknown(t, arg, len, e);
	*value = arg[2 + len] ? arg + 2 + len + 1 : NULL;
	return row;
}

static void refuse_plain(const struct opt_table *t, const char *arg, struct err *e)
{
	err_set(e, -EINVAL, "unexpected argument \"%s\"", arg);
	hint_foreign(t, arg, e);
	if (t->plain_hint)
		err_hint(e, "%s", t->plain_hint);
	else
		err_hint(e, "%s accepts options only (--name=value); --help=all lists them",
			 t->program);
}

/* The option at argv[*i] and its value; advances *i over a separate value. NULL with *e. */
static const struct opt_row *find_option(const struct opt_table *t, int argc, char **argv, int *i,
					 const char **value, struct err *e)
{
	const char *arg = argv[*i];
	const struct opt_row *row;

	if (arg[0] != '-' && t->plain) {
		*value = arg;
		return find_row(t, t->plain, strlen(t->plain));
	}
	if (arg[0] != '-' || !arg[1] || (arg[1] == '-' && !arg[2])) {
		refuse_plain(t, arg, e);
		return NULL;
	}
	row = arg[1] == '-' ? find_long(t, arg, value, e) : find_short(t, arg, value, e);
	if (!row)
		return NULL;
	if (row->arg == OPT_NONE && *value) {
		err_set(e, -EINVAL, "--%s does not take a value", row->name);
		return NULL;
	}
	if (row->arg == OPT_REQUIRED && !*value && *i + 1 < argc)
		*value = argv[++*i];
	if (row->arg == OPT_REQUIRED && !*value) {
		err_set(e, -EINVAL, "--%s needs a value", row->name);
		err_hint(e, "--%s=%s", row->name, row->metavar);
		return NULL;
	}
	return row;
}

int opt_end(const struct opt_table *t, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct err ignored = {0};
		const char *value;

		if (argv[i][0] != '-')
			return i;
		if (!find_option(t, argc, argv, &i, &value, &ignored))
			break;
	}
	return argc;
}

const char *opt_value(const struct opt_table *t, const char *name, int argc, char **argv)
{
	const char *found = NULL;

	for (int i = 1; i < argc; i++) {
		struct err ignored = {0};
		const char *value;
		const struct opt_row *row = find_option(t, argc, argv, &i, &value, &ignored);

		if (!row)
			break;
		if (strcmp(row->name, name) == 0)
			found = value;
	}
	return found;
}

size_t opt_copy(const struct opt_table *t, int argc, char **argv,
		bool (*is_left_out)(const struct opt_row *row), char **out)
{
	size_t nr = 0;

	for (int i = 1; i < argc; i++) {
		struct err ignored = {0};
		const int from = i;
		const char *value;
		const struct opt_row *row = find_option(t, argc, argv, &i, &value, &ignored);

		for (int k = from; row && !is_left_out(row) && k <= i; k++)
			out[nr++] = argv[k];
	}
	return nr;
}

const struct opt_row *opt_first(const struct opt_table *t, int argc, char **argv,
				bool (*is_one)(const struct opt_row *row))
{
	for (int i = 1; i < argc; i++) {
		struct err ignored = {0};
		const char *value;
		const struct opt_row *row = find_option(t, argc, argv, &i, &value, &ignored);

		if (row && is_one(row))
			return row;
	}
	return NULL;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (; words && *words; words += strspn(words, " ")) {
		size_t part = strcspn(words, " ");

		if (part == len && memcmp(words, word, len) == 0)
			return true;
		words += part;
	}
	return false;
}

/* "-g dwarf": the value of an option that needs none must follow an equals sign. 0 or -EINVAL. */
static int check_apart(const struct opt_row *before, const char *arg, struct err *e)
{
	if (!before || before->arg != OPT_OPTIONAL || !before->words ||
	    !has_word(before->words, arg))
		return 0;
	err_set(e, -EINVAL, "unexpected argument \"%s\"", arg);
	err_hint(e, "as the value of --%s it follows an equals sign: --%s=%s", before->name,
		 before->name, arg);
	return e->code;
}

/* Marks the options of argv in seen, and calls set for each, unless target is NULL. */
static int parse(const struct opt_table *t, int argc, char **argv, void *target, bool *seen,
		 struct err *e)
{
	const struct opt_row *before = NULL;

	for (int i = 1; i < argc; i++) {
		const char *value = NULL;
		const struct opt_row *row = NULL;
		int rc = check_apart(before, argv[i], e);

		if (rc == 0) {
			row = find_option(t, argc, argv, &i, &value, e);
			rc = row ? 0 : -EINVAL;
		}
		if (row)
			seen[row - t->rows] = true;
		if (row && target)
			rc = row->set(row, value, target, e);
		if (rc)
			return rc;
		before = value ? NULL : row;
	}
	return 0;
}

/* "PROG_SOME_NAME" */
static void write_variable(const struct opt_table *t, const char *name, char out[OPT_MAX_ORIGIN])
{
	size_t len = (size_t)snprintf(out, OPT_MAX_ORIGIN, "%s%s", t->variables, name);

	for (size_t i = strlen(t->variables); i < len && i < OPT_MAX_ORIGIN - 1; i++)
		out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
}

const char *opt_origin(const struct opt_table *t, const char *name, const char *value,
		       char origin[OPT_MAX_ORIGIN])
{
	if (t->variables) {
		write_variable(t, name, origin);
		if (value && value == secure_getenv(origin))
			return origin;
	}
	snprintf(origin, OPT_MAX_ORIGIN, "--%s", name);
	return origin;
}

/* Whether the command line has the option, or one that excludes it. */
static bool is_settled(const struct opt_table *t, const struct opt_row *row, const bool *seen)
{
	for (size_t i = 0; i < t->nr_rows; i++)
		if (seen[i] && (&t->rows[i] == row || has_word(row->excludes, t->rows[i].name) ||
				has_word(t->rows[i].excludes, row->name)))
			return true;
	return false;
}

/* *is_set: there is such a variable. */
static int set_from_variable(const struct opt_table *t, const struct opt_row *row, void *target,
			     bool *is_set, struct err *e)
{
	char variable[OPT_MAX_ORIGIN];
	const char *value;
	int rc;

	write_variable(t, row->name, variable);
	value = secure_getenv(variable);
	if (!value || !*value)
		return 0;
	if (row->arg == OPT_NONE) {
		if (strcmp(value, "0") == 0)
			return 0;
		if (strcmp(value, "1") != 0)
			return err_set_at(e, -EINVAL, variable, 0, 0, "must be 0 or 1, not \"%s\"",
					  value);
		value = NULL;
	}
	*is_set = true;
	rc = row->set(row, value, target, e);
	if (rc)
		snprintf(e->source, sizeof(e->source), "%s", variable);
	return rc;
}

/* Two that exclude each other are both on the command line, or both variables. */
static int check_exclusive(const struct opt_table *t, const bool *seen, const char *prefix,
			   struct err *e)
{
	for (size_t i = 0; i < t->nr_rows; i++)
		for (size_t k = 0; k < t->nr_rows; k++)
			if (seen[i] && seen[k] && has_word(t->rows[i].excludes, t->rows[k].name))
				return err_set(e, -EINVAL, "%s%s and %s%s are mutually exclusive",
					       prefix, t->rows[i].name, prefix, t->rows[k].name);
	return 0;
}

int opt_parse(const struct opt_table *t, int argc, char **argv, void *target, struct err *e)
{
	bool seen[OPT_MAX_ROWS] = {false}, set[OPT_MAX_ROWS] = {false};
	int rc = t->variables ? parse(t, argc, argv, NULL, seen, e) : 0;

	for (size_t i = 0; t->variables && i < t->nr_rows && rc == 0; i++)
		if (!t->rows[i].has_no_variable && !is_settled(t, &t->rows[i], seen))
			rc = set_from_variable(t, &t->rows[i], target, &set[i], e);
	return rc ?: parse(t, argc, argv, target, seen, e) ?: check_exclusive(t, seen, "--", e)
		  ?: check_exclusive(t, set, "the variables of --", e);
}

int opt_set_string(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	(void)e;
	memcpy((char *)target + row->offset, &value, sizeof(value));
	return 0;
}

int opt_set_word(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	if (has_word(row->words, value))
		return opt_set_string(row, value, target, e);
	return err_set(e, -EINVAL, "--%s=%s: not one of %s", row->name, value, row->words);
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
