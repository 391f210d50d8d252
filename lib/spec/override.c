/*
 * Sets a scalar key of the spec from an option's text, with the limits of the file.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "spec/diag.h"
#include "spec/keys.h"
#include "spec/spec.h"

#include <errno.h>
#include <string.h>

static int refuse(const struct key_row *row, const char *value, const char *source, int rc,
		  struct err *e)
{
	char wanted[128];

	diag_wanted(row, wanted, sizeof(wanted));
	err_set_at(e, rc, source, 0, 0, "%s must be %s, not \"%.*s\"", row->name, wanted,
		   diag_cut(value), value);
	if (row->type == KEY_SECONDS)
		err_hint(e, "units are allowed: 10s, 0.5s, 10ms, 2m");
	return rc;
}

static int set_number(struct spec *s, const struct key_row *row, const char *value,
		      const char *source, struct err *e)
{
	bool is_seconds = row->type == KEY_SECONDS;
	uint64_t unit = is_seconds ? KEY_NS_PER_S : 1, v;
	int rc = is_seconds ? str_parse_duration_ns(value, &v) : str_parse_u64(value, &v);

	if (rc == 0 && !key_fits(row, v, unit))
		rc = -ERANGE;
	if (rc)
		return refuse(row, value, source, rc, e);
	memcpy((char *)s + row->offset, &v, sizeof(v));
	return 0;
}

static int set_string(struct spec *s, const struct key_row *row, const char *value,
		      const char *source, struct err *e)
{
	size_t len = strlen(value);
	const char *copy;

	if (len < row->min || len > row->max)
		return refuse(row, value, source, -ERANGE, e);
	if (!key_ends_well(row, value, len))
		return refuse(row, value, source, -EINVAL, e);
	if (!str_is_utf8(value, len)) /* JSON, and so the manifest, cannot hold it */
		return err_set_at(e, -EINVAL, source, 0, 0, "%s must be UTF-8", row->name);
	copy = arena_strdup(&s->arena, value);
	if (!copy)
		return err_set_at(e, -ENOMEM, source, 0, 0, "out of memory");
	memcpy((char *)s + row->offset, &copy, sizeof(copy));
	return 0;
}

static int set_word(struct spec *s, const struct key_row *row, const char *value,
		    const char *source, struct err *e)
{
	const char *word = key_word(row, value);

	if (!word)
		return refuse(row, value, source, -EINVAL, e);
	memcpy((char *)s + row->offset, &word, sizeof(word));
	return 0;
}

int spec_override(struct spec *s, const char *key, const char *value, const char *source,
		  struct err *e)
{
	const struct key_row *row = key_find(KEY_SPEC, key);

	if (!row || !row->metavar)
		return err_set_at(e, -EINVAL, source, 0, 0, "no option sets the key \"%s\"", key);
	if (row->type == KEY_STRING)
		return set_string(s, row, value, source, e);
	if (row->type == KEY_WORD)
		return set_word(s, row, value, source, e);
	return set_number(s, row, value, source, e);
}
